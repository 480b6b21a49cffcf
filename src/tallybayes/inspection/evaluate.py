"""Evaluate a model on labelled rows, by models without them where it was trained on them.

Leave-one-out and k-fold take rows out of the tally instead of fitting again: of a textbook model that is exact and
costs one pass. Settings that were chosen from rows have seen them all the same, so the folds of such a model are
learned anew, choices included, or its stored figures are given, which came about like that.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Rows
from tallybayes.core.calibration import cross_fitted
from tallybayes.core.class_weights import as_array
from tallybayes.core.conformal import Conformity
from tallybayes.core.costs import cost_matrix
from tallybayes.core.evaluation import LEAVE_ONE_OUT, Evaluation
from tallybayes.core.metrics import score
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.tally import count
from tallybayes.errors import DataError, SchemaError, SettingError, UnlearnError
from tallybayes.learning.folds import N_FOLDS, dealt, leave_one_out_of, method_of, refitted_folds
from tallybayes.learning.learn import learned_again
from tallybayes.learning.options import Options

FLATTERS = (
    "leave-one-out takes each row out of the counts, but the settings of this model were chosen with the row in: the "
    "figures flatter; a number of folds (method=5) learns each fold anew"
)


@dataclass(frozen=True)
class Scored:
    """Labelled rows with their log posteriors (n, K), and how they were held out."""

    model: Model
    batch: Rows
    log_posterior: Array
    method: str
    n_folds: int = 0
    conformity: Conformity | None = None  # of other rows, which prediction sets are made from

    def evaluation(self, costs: Any = None, rows: NDArray[Any] | None = None) -> Evaluation:
        """The figures of all rows, or of some."""
        codes, weight = _labels(self.model, self.batch)
        classes, own = self.model.schema.classes, slice(None) if rows is None else rows
        matrix = None if costs is None else cost_matrix(costs, classes)
        found = score(
            self.log_posterior[own], codes[own], classes, weight[own], self.method, self.conformity, costs=matrix
        )
        return replace(found, n_folds=self.n_folds)


def are_learned(model: Model, batch: Rows, n_jobs: int | None = None) -> bool:
    """Whether these labelled rows are exactly those that a model was trained on: they have its tally."""
    try:
        counted = count(batch, model.settings.families, n_jobs).weighted(model.provenance.class_weight)
    except DataError:  # the model could not have learned them
        return False
    if counted.blocks.keys() != model.tally.blocks.keys() or not _alike(counted.class_weight, model.tally.class_weight):
        return False
    pairs = [(counted.blocks[name].summary.arrays(), b.summary.arrays()) for name, b in model.tally.blocks.items()]
    return all(mine.keys() == theirs.keys() and all(_alike(mine[n], theirs[n]) for n in mine) for mine, theirs in pairs)


def _alike(mine: Array, theirs: Array) -> bool:
    """Whether sums are equal up to the order of the summands."""
    far = 1e-6 * float(np.abs(theirs).max(initial=0.0))
    return mine.shape == theirs.shape and bool(np.allclose(mine, theirs, rtol=1e-6, atol=far, equal_nan=True))


def leave_one_out(model: Model, batch: Rows, n_jobs: int | None = None) -> Evaluation:
    """Evaluate a model on its training rows by leave-one-out.

    Exact for a model of counts alone. Where settings were chosen from rows they stay as they are, which flatters: the
    method is then named "leave-one-out of the counts, choices kept".

    Parameters
    ----------
    model : Model
    batch : Rows
        The labelled rows that the model was fitted on, or some of them.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from tallybayes import Settings, families, tally
    >>> from tallybayes.core.batch import Labels
    >>> from tallybayes.data.arrays import one_block
    >>> x, codes, family = np.array([[1.0], [2.0], [3.0], [7.0], [9.0]]), np.array([0, 0, 0, 1, 1]), families.Gaussian()
    >>> model = Model(Settings({"gaussian": family}), tally(x, codes, family))
    >>> leave_one_out(model, one_block("gaussian", model.schema, x, Labels.hard(codes.astype(np.int32))))
    Evaluation(leave-one-out, 5 rows: accuracy 0.6000, log loss 14.4175, ECE 0.4000)
    """
    return _leave_one_out(model, batch, n_jobs).evaluation()


def _leave_one_out(model: Model, batch: Rows, n_jobs: int | None) -> Scored:
    codes, weight = _labels(model, batch)
    _check_learned(model, codes, weight)
    return Scored(model, batch, model.leave_one_out(batch, n_jobs), leave_one_out_of(model))


def k_fold(
    model: Model, batch: Rows, folds: int | NDArray[Any] = 5, seed: int = 0, n_jobs: int | None = None
) -> Evaluation:
    """Evaluate a model on its training rows by k-fold cross-validation.

    Of a model of counts alone, the rows of a fold are counted and subtracted from its tally, which is what fitting
    without them gives. A model whose settings were chosen from rows is learned anew from the rows of the other folds.

    Parameters
    ----------
    model : Model
    batch : Rows
        The labelled rows that the model was fitted on, or some of them.
    folds : int or ndarray of shape (n,)
        Number of folds, each with its share of every class; or the fold of each row.
    seed : int
        Which folds; they follow from what the rows hold, not from their order.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from tallybayes import Settings, families, tally
    >>> from tallybayes.core.batch import Labels
    >>> from tallybayes.data.arrays import one_block
    >>> codes, family = np.repeat([0, 1], 50), families.Gaussian()
    >>> x = np.random.default_rng(0).normal(size=(100, 2)) + 3.0 * codes[:, None]
    >>> model = Model(Settings({"gaussian": family}), tally(x, codes, family))
    >>> k_fold(model, one_block("gaussian", model.schema, x, Labels.hard(codes.astype(np.int32))))
    Evaluation(5-fold, 100 rows: accuracy 0.9600, log loss 0.0714, ECE 0.0318)
    """
    return _k_fold(model, batch, folds, seed, n_jobs).evaluation()


def _k_fold(model: Model, batch: Rows, folds: int | NDArray[Any], seed: int, n_jobs: int | None) -> Scored:
    codes, weight = _labels(model, batch)
    model.provenance.refuse_guesses("k-fold")
    fold = dealt(batch, int(folds), seed) if isinstance(folds, (int, np.integer)) else _given(folds, len(codes))
    n_folds = int(fold.max()) + 1
    if model.is_chosen:
        options = Options(**(model.provenance.options or {}), n_jobs=n_jobs)
        log_posterior = refitted_folds(batch, learned_again(model, options), fold)
        method = method_of(n_folds, repeated=True)
        if options.calibration is not None:
            method = f"{method}; calibration cross-fitted"
            log_posterior = cross_fitted(options.calibration, log_posterior, codes, weight, fold)
    else:
        log_posterior, method = _by_subtraction(model, batch, fold, n_jobs), f"{n_folds}-fold"
    return Scored(model, batch, log_posterior, method, n_folds)


def _by_subtraction(model: Model, batch: Rows, fold: NDArray[np.intp], n_jobs: int | None) -> Array:
    """Log posteriors (n, K) of each fold by the model without its rows."""
    log_posterior = np.empty((batch.n_rows, model.n_classes))
    for number in range(int(fold.max()) + 1):
        rows = np.flatnonzero(fold == number)
        part = batch.take(rows)
        log_posterior[rows] = _without(model, part, n_jobs).log_posterior(part, n_jobs)
    return log_posterior


def _without(model: Model, part: Rows, n_jobs: int | None) -> Model:
    """The model without some rows; classes and levels stay, so that all folds have the same."""
    counted = count(part, model.settings.families, n_jobs).weighted(model.provenance.class_weight)
    try:
        return replace(model, tally=model.tally - counted)
    except UnlearnError:
        raise UnlearnError(
            "the model has not learned these rows: k-fold needs the rows, labels and weights that it was fitted on"
        ) from None


def _given(folds: NDArray[Any], n_rows: int) -> NDArray[np.intp]:
    """Fold of each row as given, numbered from 0."""
    names, fold = np.unique(folds, return_inverse=True)
    if np.shape(folds) != (n_rows,) or len(names) < 2:
        raise SettingError(
            f"folds must be a number, or at least two different folds for {plural(n_rows, 'row')}; "
            f"got {plural(len(names), 'fold')} in an array of shape {np.shape(folds)}"
        )
    return fold


def _labels(model: Model, batch: Rows) -> tuple[NDArray[Any], Array]:
    """The class codes and weights of a batch that can be evaluated."""
    labels = batch.labels
    if labels is None or labels.codes is None:
        raise DataError("an evaluation needs the label of each row")
    if batch.schema.classes != model.schema.classes:
        raise SchemaError(
            f"the rows are labelled with the classes {list(batch.schema.classes)}, the model knows "
            f"{list(model.schema.classes)}; encode them with the model's schema"
        )
    return labels.codes, labels.weight


def _check_learned(model: Model, codes: NDArray[Any], weight: Array) -> None:
    """Refuse more rows of a class than were learned: some of them were not."""
    factors = as_array(model.provenance.class_weight, model.schema)
    given, have = np.bincount(codes, weight, model.n_classes) * factors, model.tally.class_weight
    if (given > have * (1 + 1e-9)).any():
        k = int((given - have).argmax())
        raise UnlearnError(
            f"the rows of class {model.schema.classes[k]!r} have a weight of {given[k]:,.6g}, those that were learned "
            f"{have[k]:,.6g}: leave-one-out needs the rows that it was fitted on"
        )


def evaluated(
    model: Model,
    batch: Rows,
    method: Any = "auto",
    seed: int = 0,
    n_jobs: int | None = None,
    learned: bool | None = None,
    costs: Any = None,
) -> Evaluation:
    """Evaluate a model on labelled rows: by models without them where they were learned, otherwise as they are.

    ``learned`` is whether they are, where that is known, as of a sample of all rows that were learned; ``costs`` are
    those of predictions (`core.costs.cost_matrix`).
    """
    if costs is None and isinstance(method, str) and method == "auto":
        method = _method(model, batch, n_jobs, learned)
        stored = model.provenance.evaluation
        if not isinstance(method, str) and stored is not None and stored.n_learned == model.provenance.rows:
            return stored
    return scored_rows(model, batch, method, seed, n_jobs, learned).evaluation(costs)


def scored_rows(
    model: Model,
    batch: Rows,
    method: Any = "auto",
    seed: int = 0,
    n_jobs: int | None = None,
    learned: bool | None = None,
) -> Scored:
    """Labelled rows with their log posteriors, held out as `evaluated` does."""
    if isinstance(method, str) and method == "auto":
        method = _method(model, batch, n_jobs, learned)
    if not isinstance(method, str):
        folds = int(method) if isinstance(method, Integral) else np.asarray(method)
        return _k_fold(model, batch, folds, seed, n_jobs)
    if method == LEAVE_ONE_OUT:
        try:
            found = _leave_one_out(model, batch, n_jobs)
        except UnlearnError as error:
            raise UnlearnError(f"{error}; evaluate other rows with method='test'") from None
        if model.is_chosen:
            warnings.warn(FLATTERS, UserWarning, stacklevel=4)
        return found
    if method != "test":
        raise SettingError(f"method must be 'auto', 'leave-one-out', 'test' or a number of folds, not {method!r}")
    _labels(model, batch)
    stored = model.provenance.evaluation
    known = None if stored is None or stored.classes != model.schema.classes else stored.conformity
    return Scored(model, batch, model.log_posterior(batch, n_jobs), "test", conformity=known)


def _method(model: Model, batch: Rows, n_jobs: int | None, learned: bool | None) -> Any:
    """How rows are held out where nothing is given."""
    # Rows without a label are in the tally of a guessed model, too: no rows are recognised, and all are scored.
    if model.provenance.guessed or not (are_learned(model, batch, n_jobs) if learned is None else learned):
        return "test"
    return min(N_FOLDS, batch.n_rows) if model.is_chosen else LEAVE_ONE_OUT
