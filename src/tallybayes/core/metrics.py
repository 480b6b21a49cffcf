"""Performance of predictions: accuracy, log loss, Brier score, confusion and calibration, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.conformal import Conformity, SetFigures
from tallybayes.core.costs import cheapest
from tallybayes.core.evaluation import BINS, Bin, Evaluation, Interval, most_frequent
from tallybayes.core.ranking import rankings
from tallybayes.core.schema import Level
from tallybayes.errors import DataError

Z = 1.959963984540054  # the normal quantile of 95 % intervals
EPS = float(np.finfo(np.float64).eps)  # probabilities of 0 count as this much, as in scikit-learn


def score(
    log_posterior: Array,
    codes: NDArray[Any],
    classes: Sequence[Level],
    weight: Array | None = None,
    method: str = "test",
    conformity: Conformity | None = None,
    costs: Array | None = None,
) -> Evaluation:
    """Compare log posteriors with the true classes.

    Parameters
    ----------
    log_posterior : ndarray of shape (n, K)
        Log P(y | x).
    codes : ndarray of shape (n,)
        Position of each row's class in ``classes``.
    classes : sequence
        Class labels.
    weight : ndarray of shape (n,), optional
        How much each row counts; one if not given.
    method : str
        How the rows were held out, for the title.
    conformity : Conformity, optional
        That of other rows, which prediction sets of these rows are made from.
    costs : ndarray of shape (K, K), optional
        The cost of each true class (first axis) and prediction.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> posterior = np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])
    >>> print(score(np.log(posterior), np.array([0, 1, 1, 1]), ["ham", "spam"]))
    test: 4 rows, 2 classes
    <BLANKLINE>
                              value    95 % interval  baseline
    accuracy                 0.7500  0.3006 – 0.9544    0.7500
    log loss                 0.4004  0.0000 – 1.1137    0.5623
    Brier score              0.2500  0.0000 – 0.8221
    balanced accuracy        0.8333
    macro F1                 0.7333
    calibration error (ECE)  0.3000
    area under ROC curve     1.0000
    coverage of 90% sets     1.0000
    mean size of these sets  2.0000
    <BLANKLINE>
    class  precision  recall      F1  rows
    ham       0.5000  1.0000  0.6667     1
    spam      1.0000  0.6667  0.8000     3
    <BLANKLINE>
    true \\ predicted  ham  spam
    ham                 1     0
    spam                1     2
    <BLANKLINE>
    confidence   rows  mean confidence  accuracy
    0.53 – 0.60     1           0.6000    0.0000
    0.67 – 0.73     1           0.7000    1.0000
    0.73 – 0.80     1           0.8000    1.0000
    0.87 – 0.93     1           0.9000    1.0000
    """
    codes, n_classes = np.asarray(codes, dtype=np.intp), len(classes)
    weight = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
    _check(log_posterior, codes, n_classes, weight)
    rows, predicted = np.arange(len(codes)), log_posterior.argmax(axis=1)
    own = np.clip(log_posterior[rows, codes], math.log(EPS), math.log1p(-EPS))
    error = np.exp(log_posterior)
    hit, confidence = predicted == codes, error[rows, predicted]
    found = Conformity.of(np.minimum(error[rows, codes], 1.0), codes, weight, n_classes)
    sets = SetFigures.of(error, codes, weight, conformity or found, conformity is None)
    ranked = rankings(error, codes, weight)
    cost, fixed = (None, 0.0) if costs is None else _cost(error, codes, weight, costs)
    error[rows, codes] -= 1.0
    n = float(weight.sum()) ** 2 / float((weight**2).sum())  # how many rows of equal weight count as much (Kish 1965)
    n_guess = max(len(np.unique(codes)), 2)  # classes to guess from
    confusion, margins = _confusion(codes, predicted, weight, n_classes)
    return Evaluation(
        method,
        tuple(classes),
        len(codes),
        wilson(float(weight[hit].sum()) / float(weight.sum()), n),
        _mean(-own, weight, n, math.log(n_guess)),
        _mean((error**2).sum(axis=1), weight, n, 1.0 - 1.0 / n_guess),
        confusion,
        _reliability(confidence, hit, weight),
        margins,
        sets,
        found,
        ranked,
        cost,
        fixed,
    )


def _cost(posterior: Array, codes: NDArray[Any], weight: Array, costs: Array) -> tuple[Interval, float]:
    """Mean cost of the decisions of least expected cost, and of always making the best single one."""
    own, total = costs[codes, cheapest(posterior, costs)], float(weight.sum())
    mean = float(weight @ own) / total
    half = Z * math.sqrt(float(weight**2 @ (own - mean) ** 2)) / total
    fixed = (np.bincount(codes, weight, len(costs)) @ costs).min() / total
    return Interval(mean, mean - half, mean + half), float(fixed)


def _confusion(
    codes: NDArray[Any], predicted: NDArray[Any], weight: Array, n_classes: int
) -> tuple[Array, Array | None]:
    """The confusion matrix of the most frequent classes, and the margins of all where these are more."""
    by = ((codes, weight), (predicted, weight), (codes, weight * (codes == predicted)))
    margins = np.array([np.bincount(which, much, n_classes) for which, much in by])
    kept = most_frequent(margins[0])
    place = np.full(n_classes, -1)
    place[kept] = np.arange(len(kept))
    true, said = place[codes], place[predicted]
    both = (true >= 0) & (said >= 0)
    cells = np.bincount((true * len(kept) + said)[both], weight[both], len(kept) ** 2).reshape(len(kept), -1)
    return cells.astype(np.float64), None if len(kept) == n_classes else margins


def _check(log_posterior: Array, codes: NDArray[Any], n_classes: int, weight: Array) -> None:
    if log_posterior.shape != (len(codes), n_classes) or weight.shape != (len(codes),):
        raise DataError(
            f"the log posteriors have the shape {log_posterior.shape}, the weights {weight.shape}; "
            f"expected {(len(codes), n_classes)} and {(len(codes),)}"
        )
    if not weight.sum() > 0:
        raise DataError("an evaluation needs rows of positive weight; there are none")
    if codes.min() < 0 or codes.max() >= n_classes:
        raise DataError(f"class codes must be between 0 and {n_classes - 1}; unlabelled rows cannot be evaluated")


def wilson(p: float, n: float) -> Interval:
    """A proportion of so many rows with Wilson's score interval (1927), which behaves near 0 and 1."""
    p, z2 = min(max(p, 0.0), 1.0), Z**2 / n  # a sum of weights may be a rounding error more than all of them
    centre, half = (p + z2 / 2) / (1 + z2), math.sqrt(p * (1 - p) * z2 + z2**2 / 4) / (1 + z2)
    return Interval(p, max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half)))


def _mean(values: Array, weight: Array, n: float, guess: float) -> Interval:
    """A mean of values that cannot be negative, with Student's interval of so many rows.

    Values that hardly differ do not show that the next one will not: the interval is at least what one row that is off
    by the loss of a guess would make of it.
    """
    total = float(weight.sum())
    mean = float((weight * values).sum()) / total
    error = math.sqrt(float((weight**2 * (values - mean) ** 2).sum()) / total**2 + (guess / n) ** 2)
    half = _student(max(n - 1.0, 1.0)) * error
    return Interval(mean, max(0.0, mean - half), mean + half)


def _student(freedom: float) -> float:
    """The 97.5 % quantile of Student's distribution, by its expansion around the normal one (Cornish and Fisher)."""
    return Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)


def _reliability(confidence: Array, hit: NDArray[np.bool_], weight: Array) -> tuple[Bin, ...]:
    edges = np.linspace(0.0, 1.0, BINS + 1)
    place = np.clip(np.searchsorted(edges, confidence) - 1, 0, BINS - 1)
    total, confident, right = (
        np.bincount(place, weights=weight * values, minlength=BINS) for values in (1.0, confidence, hit)
    )
    return tuple(
        Bin(float(low), float(high), float(w), float(c / w), float(r / w))
        for low, high, w, c, r in zip(edges[:-1], edges[1:], total, confident, right, strict=True)
        if w > 0
    )
