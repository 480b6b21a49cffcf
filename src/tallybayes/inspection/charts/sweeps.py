"""Sweeps: the posterior by the prior, accuracy by the number of rows, likelihood by EM step."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.evaluation import Evaluation
from tallybayes.core.metrics import score
from tallybayes.core.model import Model
from tallybayes.core.schema import Level, plural
from tallybayes.core.tally import Tally, count
from tallybayes.errors import DataError, SettingError
from tallybayes.inspection.charts._model import (
    AsDict,
    listed,
    model_of,
    place_of,
    prior_of,
    rows_of,
    rows_with_labels,
    spark,
)
from tallybayes.learning.folds import as_read
from tallybayes.learning.learn import learned_again
from tallybayes.learning.options import Options


@dataclass(frozen=True)
class PriorSweep(AsDict):
    """The posterior of one row as the prior of one class goes from 0 to 1, the others keeping their proportions."""

    label: Level
    classes: tuple[Level, ...]
    prior: Array  # (m,) of the label
    posterior: Array  # (m, K)
    learned: float  # the label's prior in the model
    found: float  # its posterior there
    turning: float | None  # the least prior at which the label is the likeliest class

    def __str__(self) -> str:
        k = self.classes.index(self.label)
        turn = "never" if self.turning is None else f"from {self.turning:.3g}"
        return "\n".join(
            [
                f"P({self.label} | row) = {self.found:.4g} with the prior {self.learned:.4g}",
                f"  {spark(self.posterior[:: max(1, len(self.prior) // 48), k], 1.0)}",
                f"  the likeliest class {turn}, as its prior goes from 0 to 1",
            ]
        )


def prior_sweep(model: Any, row: Any, label: Level | None = None, points: int = 201) -> PriorSweep:
    """How much the posterior of a row depends on the prior.

    Parameters
    ----------
    model : Model or estimator
    row : mapping of column to value, or a table or Rows of one row
    label : class, optional
        Whose prior changes; the likeliest class if not given.
    points : int
        Priors to try.

    Returns
    -------
    PriorSweep

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> model = NaiveBayes(classical=True).fit(datasets.tennis(), target="play")
    >>> sweep = prior_sweep(model, {"outlook": "sunny", "humidity": "high"})
    >>> sweep.label, round(sweep.learned, 3), round(sweep.found, 3), round(sweep.turning, 2)
    ('no', 0.357, 0.686, 0.21)
    """
    model = model_of(model)
    if getattr(row, "ndim", 0) == 1 and hasattr(row, "to_dict"):
        row = row.to_dict()  # a row of a pandas frame
    if isinstance(row, dict) and not any(isinstance(v, (list, tuple, np.ndarray)) for v in row.values()):
        row = [row]
    rows = rows_of(model, row)
    if rows.n_rows != 1:
        raise DataError(f"a prior sweep is that of one row, this table has {rows.n_rows}")
    posterior = model.posterior(rows)[0]
    k = int(posterior.argmax()) if label is None else place_of(model, label)
    learned = prior_of(model)
    rest = np.delete(learned, k)
    rest = rest / rest.sum() if rest.sum() > 0 else np.full(len(rest), 1.0 / max(1, len(rest)))
    evidence = model.log_joint(rows)[0] - np.where(np.isneginf(model.prior_score), 0.0, model.prior_score)
    chosen, found = np.linspace(0.0, 1.0, points), []
    for p in chosen.tolist():
        mix = dict(zip(model.schema.classes, np.insert((1.0 - p) * rest, k, p).tolist(), strict=True))
        found.append(_posterior(model, evidence + model.with_prior(mix).prior_score))
    table = np.array(found)
    first = np.flatnonzero(table.argmax(axis=1) == k)
    turning = float(chosen[first[0]]) if len(first) else None
    classes = model.schema.classes
    return PriorSweep(classes[k], classes, chosen, table, float(learned[k]), float(posterior[k]), turning)


def _posterior(model: Model, joint: Array) -> Array:
    if np.isneginf(joint).all():
        return prior_of(model)
    logs = (joint - np.logaddexp.reduce(joint))[None]
    return np.asarray(np.exp(logs if model.settings.calibration is None else model.settings.calibration.apply(logs))[0])


@dataclass(frozen=True)
class LearningCurve:
    """Performance on held-out rows by the number of training rows."""

    n_rows: tuple[int, ...]
    evaluations: tuple[Evaluation, ...]  # on the held-out rows
    n_held_out: int

    @property
    def accuracy(self) -> Array:
        """Accuracy (m,) on the held-out rows."""
        return np.array([float(e.accuracy) for e in self.evaluations])

    @property
    def log_loss(self) -> Array:
        """Log loss (m,) on the held-out rows."""
        return np.array([float(e.log_loss) for e in self.evaluations])

    def __str__(self) -> str:
        lines = [
            f"evaluated on {plural(self.n_held_out, 'held-out row')}",
            f"{'rows':>10} {'accuracy':>9} {'log loss':>9}",
        ]
        for n, a, loss in zip(self.n_rows, self.accuracy, self.log_loss, strict=True):
            lines.append(f"{n:10,} {a:9.4f} {loss:9.4f}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "n_rows": list(self.n_rows),
            "n_held_out": self.n_held_out,
            "accuracy": listed(self.accuracy),
            "log_loss": listed(self.log_loss),
        }


def learning_curve(
    model: Any, X: Any = None, y: Any = None, *, test: Any = None, sizes: Sequence[int] | None = None, seed: int = 0
) -> LearningCurve:
    """Performance by the number of training rows, on rows that had no part in the models.

    Where settings were chosen from rows, each model is learned anew from its rows, choices included, without
    calibration. Of textbook models the tallies are merged, which gives the same as fitting.

    Parameters
    ----------
    model : Model or estimator
    X, y : table and labels, or labelled Rows
        Labelled rows; a fifth is held out as the test set.
    test : Rows or (X, y), optional
        Labelled rows of a test set instead.
    sizes : sequence of int, optional
        Numbers of training rows to evaluate after; doubling from 10 if not given.
    seed : int
        The order in which rows come.

    Returns
    -------
    LearningCurve
    """
    data = rows_with_labels(model, X, y)
    test = rows_with_labels(model, *test) if isinstance(test, tuple) else rows_with_labels(model, test)
    model = model_of(model)
    if getattr(data, "labels", None) is None or data.labels.codes is None:
        raise DataError(
            "a learning curve needs labelled rows: X and y for an estimator, or estimator.labelled_rows(X, y)"
        )
    order = np.random.default_rng(seed).permutation(data.n_rows)
    if test is None:
        held, order = np.sort(order[: max(1, data.n_rows // 5)]), order[max(1, data.n_rows // 5) :]
        test = data.take(held)
    if not len(order):
        raise DataError("a learning curve needs at least two rows")
    asked = _doubling(len(order)) if sizes is None else sorted({int(n) for n in sizes})
    if not asked or asked[0] < 1 or asked[-1] > len(order):
        raise SettingError(f"sizes must lie between 1 and the {plural(len(order), 'row')} there are to learn")
    with warnings.catch_warnings():  # of few rows there may be classes that nothing is known of yet
        warnings.simplefilter("ignore")
        scores = [each.log_posterior(as_read(each, test)) for each in _growing(model, data, order, asked)]
    labels = test.labels
    found = (score(each, labels.codes, model.schema.classes, labels.weight) for each in scores)
    return LearningCurve(tuple(asked), tuple(found), test.n_rows)


def _growing(model: Model, data: Any, order: NDArray[Any], sizes: Sequence[int]) -> Iterator[Model]:
    """The models of so many of the rows, in an order."""
    if model.is_chosen:
        learned = learned_again(model, Options(**(model.provenance.options or {})))
        yield from (learned(data.take(np.sort(order[:n]))) for n in sizes)
        return
    tally = Tally.empty()
    for first, n in itertools.pairwise([0, *sizes]):
        tally = tally + count(data.take(np.sort(order[first:n])), model.settings.families)
        yield replace(model, tally=tally if tally.schema == model.schema else tally.align(model.schema))


def _doubling(n: int) -> list[int]:
    sizes = [min(10, n)]
    while 2 * sizes[-1] < n:
        sizes.append(2 * sizes[-1])
    return [*sizes, n] if sizes[-1] < n else sizes


@dataclass(frozen=True)
class EMPath(AsDict):
    """The penalised log likelihood after each step of expectation-maximisation."""

    log_likelihood: Array
    converged: bool

    def __str__(self) -> str:
        path = self.log_likelihood
        end = "converged" if self.converged else "not converged"
        rise = path - path.min()
        return f"{plural(len(path), 'step')}, {end}: {path[0]:.6g} to {path[-1]:.6g}\n  {spark(rise)}"


def em_path(learned: Any) -> EMPath:
    """The path of an estimator that learned by expectation-maximisation, or of what `em.learn` gave.

    Parameters
    ----------
    learned : estimator or em.Learned

    Returns
    -------
    EMPath
    """
    path = getattr(learned, "log_likelihood_path_", getattr(learned, "log_likelihood_path", None))
    if path is None or not len(path):
        raise DataError("there is no path: the model was not learned by expectation-maximisation (unlabelled='em')")
    converged = bool(getattr(learned, "converged_", getattr(learned, "converged", True)))
    return EMPath(np.asarray(path, dtype=np.float64), converged)
