"""Evaluate a model on labelled rows, by leave-one-out and k-fold where it was trained on them.

Leave-one-out and k-fold take rows out of the tally instead of fitting again, so they are exact and cost one pass.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Rows
from tallybayes.core.evaluation import Evaluation
from tallybayes.core.metrics import score
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.tally import count
from tallybayes.errors import DataError, SchemaError, SettingError, UnlearnError


def are_learned(model: Model, batch: Rows, n_jobs: int | None = None) -> bool:
    """Whether these labelled rows are exactly those that a model was trained on: they have its tally."""
    try:
        counted = count(batch, model.settings.families, n_jobs)
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
    codes, weight = _labels(model, batch)
    _check_learned(model, codes, weight)
    return score(model.leave_one_out(batch, n_jobs), codes, model.schema.classes, weight, "leave-one-out")


def k_fold(
    model: Model, batch: Rows, folds: int | NDArray[Any] = 5, seed: int = 0, n_jobs: int | None = None
) -> Evaluation:
    """Evaluate a model on its training rows by k-fold cross-validation.

    The rows of a fold are counted and subtracted from the model's tally, which is what fitting without them gives.

    Parameters
    ----------
    model : Model
    batch : Rows
        The labelled rows that the model was fitted on, or some of them.
    folds : int or ndarray of shape (n,)
        Number of folds, each with its share of every class; or the fold of each row.
    seed : int
        Seed of the shuffle; the same seed gives the same folds.
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
    Evaluation(5-fold, 100 rows: accuracy 0.9600, log loss 0.0772, ECE 0.0340)
    """
    codes, weight = _labels(model, batch)
    fold = _dealt(codes, int(folds), seed) if isinstance(folds, (int, np.integer)) else _given(folds, len(codes))
    log_posterior = np.empty((batch.n_rows, model.n_classes))
    for number in range(int(fold.max()) + 1):
        rows = np.flatnonzero(fold == number)
        part = batch.take(rows)
        log_posterior[rows] = _without(model, part, n_jobs).log_posterior(part, n_jobs)
    return score(log_posterior, codes, model.schema.classes, weight, f"{fold.max() + 1}-fold")


def _without(model: Model, part: Rows, n_jobs: int | None) -> Model:
    """The model without some rows; classes and levels stay, so that all folds have the same."""
    model.provenance.refuse_guesses("k-fold")
    try:
        return replace(model, tally=model.tally - count(part, model.settings.families, n_jobs))
    except UnlearnError:
        raise UnlearnError(
            "the model has not learned these rows: k-fold needs the rows, labels and weights that it was fitted on"
        ) from None


def _dealt(codes: NDArray[Any], n_folds: int, seed: int) -> NDArray[np.intp]:
    """Fold of each row: rows are shuffled, sorted by class and dealt out in turn."""
    if not 2 <= n_folds <= len(codes):
        raise SettingError(f"folds must be between 2 and the {plural(len(codes), 'row')} of the data, not {n_folds}")
    order = np.random.default_rng(seed).permutation(len(codes))
    fold = np.empty(len(codes), dtype=np.intp)
    fold[order[np.argsort(codes[order], kind="stable")]] = np.arange(len(codes)) % n_folds
    return fold


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
    given, have = np.bincount(codes, weight, model.n_classes), model.tally.class_weight
    if (given > have * (1 + 1e-9)).any():
        k = int((given - have).argmax())
        raise UnlearnError(
            f"the rows of class {model.schema.classes[k]!r} have a weight of {given[k]:,.6g}, those that were learned "
            f"{have[k]:,.6g}: leave-one-out needs the rows that it was fitted on"
        )


def evaluated(model: Model, batch: Rows, method: Any = "auto", seed: int = 0, n_jobs: int | None = None) -> Evaluation:
    """Evaluate a model on labelled rows, by leave-one-out, by k-fold or as they are."""
    if isinstance(method, str) and method == "auto":
        # Rows without a label are in the tally of a guessed model, too: no rows are recognised, and all are scored.
        learned = not model.provenance.guessed and are_learned(model, batch, n_jobs)
        method = "leave-one-out" if learned else "test"
    if not isinstance(method, str):
        folds = int(method) if isinstance(method, Integral) else np.asarray(method)
        return k_fold(model, batch, folds, seed, n_jobs)
    if method == "leave-one-out":
        try:
            return leave_one_out(model, batch, n_jobs)
        except UnlearnError as error:
            raise UnlearnError(f"{error}; evaluate other rows with method='test'") from None
    if method != "test":
        raise SettingError(f"method must be 'auto', 'leave-one-out', 'test' or a number of folds, not {method!r}")
    assert batch.labels is not None
    assert batch.labels.codes is not None
    log_posterior = model.log_posterior(batch, n_jobs)
    return score(log_posterior, batch.labels.codes, model.schema.classes, batch.labels.weight)
