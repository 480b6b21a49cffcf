"""How well the probability of a class ranks rows: ROC, precision and recall, gain, and the cost of a threshold.

Sums are sums and no products of vectors: BLAS would wake threads for less work than that takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.equality import ByValue
from tallybayes.errors import SettingError

MOST_THRESHOLDS = 200  # that are kept of a class, evenly by rows
ROUND = np.linspace(1.0, 0.0, 201)  # and those at which the rows above are known exactly
MOST_RANKED = 20  # classes


@dataclass(frozen=True, eq=False)
class Ranking(ByValue):
    """Rows by the probability of one class, from the highest to the lowest, as sums at some thresholds.

    Parameters
    ----------
    threshold : ndarray of shape (m,)
        Probabilities, falling.
    positive, negative : ndarray of shape (m,)
        Weight of the rows of the class, and of all others, with at least that probability. The last are all rows.
    area : float
        Area under the ROC curve, of all thresholds: the chance that a row of the class is ranked above another one.
    precision : float
        Average precision: the mean of the precision over the rows of the class.

    Examples
    --------
    >>> found = Ranking.of(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, False, True, False]), np.ones(4))
    >>> found.area, round(found.precision, 4)
    (0.75, 0.8333)
    """

    threshold: Array
    positive: Array
    negative: Array
    area: float
    precision: float

    def __post_init__(self) -> None:
        arrays = (-self.threshold, self.positive, self.negative)
        alike = all(a.ndim == 1 and len(a) == len(self.threshold) > 0 for a in arrays)
        if not alike or not all(np.isfinite(a).all() and (np.diff(a) >= 0).all() for a in arrays):
            raise SettingError("the thresholds of a ranking must fall, and the rows above them grow")
        if min(self.positive[0], self.negative[0]) < 0 or not (0 <= self.area <= 1 and 0 <= self.precision <= 1):
            raise SettingError(
                "the areas of a ranking must be between 0 and 1, and its rows have weights of at least 0"
            )

    @classmethod
    def of(cls, p: Array, of_class: NDArray[np.bool_], weight: Array) -> Ranking:
        """The ranking of rows with such probabilities of the class."""
        order = np.argsort(-p)  # in any order where they are equal:
        ranked = p[order]
        last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))  # rows of one probability are one step
        own, weights = of_class[order], weight[order]
        positive, negative = (np.cumsum(np.where(own == is_it, weights, 0.0))[last] for is_it in (True, False))
        kept = _spread(ranked[last], positive + negative)
        return cls(
            ranked[last[kept]],
            positive[kept],
            negative[kept],
            _area(positive, negative),
            _precision(positive, negative),
        )

    def above(self, threshold: Array) -> tuple[Array, Array]:
        """Weight of the rows of the class, and of all others, at or above thresholds; exact at half percents."""
        place = np.searchsorted(-self.threshold, -threshold, side="right")
        return np.append(0.0, self.positive)[place], np.append(0.0, self.negative)[place]

    @property
    def recall(self) -> Array:
        """Share (m,) of the rows of the class at or above each threshold: the true positive rate."""
        return _share(self.positive, self.positive[-1])

    @property
    def false_positive_rate(self) -> Array:
        """Share (m,) of the other rows at or above each threshold."""
        return _share(self.negative, self.negative[-1])

    @property
    def precisions(self) -> Array:
        """Share (m,) of the rows at or above each threshold that are of the class."""
        return _share(self.positive, self.positive + self.negative)

    @property
    def selected(self) -> Array:
        """Share (m,) of all rows at or above each threshold."""
        return (self.positive + self.negative) / (self.positive[-1] + self.negative[-1])

    def costs(self, missed: float, false_alarm: float) -> Array:
        """Mean cost (m,) of a row, if the class is predicted from each threshold on."""
        total = self.positive[-1] + self.negative[-1]
        return (missed * (self.positive[-1] - self.positive) + false_alarm * self.negative) / total

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        names = ("threshold", "recall", "false_positive_rate", "precisions", "selected")
        return {"area": self.area, "average_precision": self.precision} | {n: getattr(self, n).tolist() for n in names}


def rankings(posterior: Array, codes: NDArray[Any], weight: Array) -> tuple[Ranking, ...]:
    """The ranking of each class against the others: of two classes that of the second alone; of many classes none."""
    n_classes = posterior.shape[1]
    if not 2 <= n_classes <= MOST_RANKED:
        return ()
    rows = weight > 0
    each = range(1, 2) if n_classes == 2 else range(n_classes)
    return tuple(Ranking.of(posterior[rows, k], codes[rows] == k, weight[rows]) for k in each)


def _spread(threshold: Array, total: Array) -> NDArray[np.intp]:
    """Some of the steps, evenly by the rows above them, and the last at or above each round threshold."""
    if len(total) <= MOST_THRESHOLDS:
        return np.arange(len(total))
    by_rows = np.searchsorted(total, np.linspace(total[0], total[-1], MOST_THRESHOLDS))
    by_threshold = np.searchsorted(-threshold, -ROUND, side="right") - 1
    return np.unique(np.concatenate((by_rows, by_threshold, (len(total) - 1,))).clip(0, len(total) - 1))


def _area(positive: Array, negative: Array) -> float:
    total = float(positive[-1] * negative[-1])
    if not total:
        return 0.5
    below = np.append(0.0, positive[:-1])
    steps = np.diff(negative, prepend=0.0)
    return min(max(float((steps * (positive + below)).sum()) / (2.0 * total), 0.0), 1.0)


def _precision(positive: Array, negative: Array) -> float:
    gained = np.diff(positive, prepend=0.0)
    if not positive[-1]:
        return 0.0
    return min(float((gained * _share(positive, positive + negative)).sum() / positive[-1]), 1.0)


def _share(part: Array, whole: Any) -> Array:
    return np.divide(part, whole, out=np.zeros_like(part), where=np.broadcast_to(whole, part.shape) > 0)
