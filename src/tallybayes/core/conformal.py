"""Prediction sets: the classes that cannot be ruled out, such that a promised share of the sets holds the right one.

Held-out rows show how probable the right class of a row usually is. Let t be the probability that all but 10 % of them
reach. The classes of a new row with a probability of at least t include the right one in 90 % of the cases, whatever
the distribution, as long as new rows come from where the old ones did (split conformal prediction; Vovk 2005, Sadinle,
Lei and Wasserman 2019). Of n rows the (n + 1)·10 %-th smallest is taken, which makes it hold for few rows too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.equality import ByValue
from tallybayes.core.schema import Level, plural
from tallybayes.errors import SettingError

MOST_LEVELS, MOST_BY_CLASS = 1000, 200  # probabilities that are kept of all rows, and of each class
MOST_CLASSES = 100  # that are kept by themselves
USUAL = 0.9  # the coverage that an evaluation shows


@dataclass(frozen=True, eq=False)
class Quantiles(ByValue):
    """How probable the right class of rows was found.

    Parameters
    ----------
    own : ndarray of shape (m,)
        Probabilities, rising: all of them, or those at so many ranks, the low ones more closely.
    share : ndarray of shape (m,)
        The share of the rows up to each of them, rising to at most 1.
    n : float
        Number of rows, or of rows of equal weight that tell as much.
    """

    own: Array
    share: Array
    n: float

    def __post_init__(self) -> None:
        rising = all(a.ndim == 1 and (np.diff(a) >= 0).all() for a in (self.own, self.share))
        if not rising or self.own.shape != self.share.shape or not 0 <= self.n < math.inf:
            raise SettingError("probabilities and shares of a prediction set must rise together")
        if len(self.own) and not (self.own[0] >= 0 and self.own[-1] <= 1 and self.share[0] > 0 and self.share[-1] <= 1):
            raise SettingError("probabilities and shares of a prediction set must be between 0 and 1")

    @classmethod
    def of(cls, own: Array, weight: Array, most: int) -> Quantiles:
        """The quantiles of the probabilities of rows."""
        own, weight = own[weight > 0], weight[weight > 0]
        if not len(own):
            return cls(np.zeros(0), np.zeros(0), 0.0)
        order = np.argsort(own, kind="stable")
        share = np.minimum(np.cumsum(weight[order]) / weight.sum(), 1.0)
        places = np.arange(len(order))
        if len(order) > most:  # closer at the low end, where thresholds are
            places = np.unique((len(order) * (np.arange(1, most + 1) / most) ** 2).astype(np.intp).clip(1) - 1)
        scaled = weight / weight.max()  # so that squares are neither all zero nor infinite
        return cls(own[order][places], share[places], float(scaled.sum() ** 2 / (scaled**2).sum()))

    def threshold(self, coverage: float) -> float:
        """The probability from which a class cannot be ruled out."""
        # A new row is one more among them: (n + 1)/n of the share that may be missed, never more than that of n rows.
        reach = (1.0 - coverage) * (self.n + 1.0) / max(self.n, 1.0) * (1.0 + 1e-12)
        place = int(np.searchsorted(self.share, reach, side="right")) - 1
        return float(self.own[place]) if place >= 0 else 0.0


@dataclass(frozen=True, eq=False)
class Conformity(ByValue):
    """How probable the right class of held-out rows was: of all rows, and of the rows of each class.

    Parameters
    ----------
    all : Quantiles
    classes : tuple of Quantiles
        By class; none where there are more than 100 classes.
    """

    all: Quantiles
    classes: tuple[Quantiles, ...] = ()

    @classmethod
    def of(cls, own: Array, codes: NDArray[Any], weight: Array, n_classes: int) -> Conformity:
        """From the probability (n,) of the right class of each row."""
        each = range(n_classes if n_classes <= MOST_CLASSES else 0)
        by_class = (Quantiles.of(own[codes == k], weight[codes == k], MOST_BY_CLASS) for k in each)
        return cls(Quantiles.of(own, weight, MOST_LEVELS), tuple(by_class))

    def thresholds(self, coverage: float, by_class: bool, n_classes: int) -> Array:
        """The probability (K,) from which each class cannot be ruled out."""
        if isinstance(coverage, bool) or not (isinstance(coverage, (int, float, np.number)) and 0 < coverage < 1):
            raise SettingError(f"coverage must be between 0 and 1, such as 0.9, not {coverage!r}")
        if not by_class:
            return np.full(n_classes, self.all.threshold(float(coverage)))
        if len(self.classes) != n_classes:
            raise SettingError(f"sets by class are for at most {MOST_CLASSES} classes; there are {n_classes}")
        return np.array([each.threshold(float(coverage)) for each in self.classes])


@dataclass(frozen=True, eq=False)
class PredictionSets(ByValue):
    """The classes of each row that cannot be ruled out; a sequence of tuples of labels, and an array of booleans.

    Parameters
    ----------
    member : ndarray of bool, shape (n, K)
        Whether a class is in the set of a row.
    classes : tuple
        Class labels.
    thresholds : ndarray of shape (K,)
        The probability from which each class is in a set.

    Examples
    --------
    >>> sets = PredictionSets(np.array([[True, False], [True, True]]), ("no", "yes"), np.array([0.2, 0.2]))
    >>> list(sets), sets.size.tolist()
    ([('no',), ('no', 'yes')], [1, 2])
    """

    member: NDArray[np.bool_]
    classes: tuple[Level, ...]
    thresholds: Array

    @classmethod
    def of(cls, posterior: Array, classes: tuple[Level, ...], thresholds: Array, allow_empty: bool) -> PredictionSets:
        """The sets of rows with such probabilities (n, K)."""
        member = posterior >= thresholds
        if not allow_empty and len(posterior):
            member[np.arange(len(posterior)), posterior.argmax(axis=1)] = True
        return cls(member, classes, thresholds)

    @property
    def size(self) -> NDArray[np.intp]:
        """Number of classes (n,) in each set."""
        return np.asarray(self.member.sum(axis=1), dtype=np.intp)

    def __len__(self) -> int:
        return len(self.member)

    def __getitem__(self, row: int) -> tuple[Level, ...]:
        return tuple(self.classes[k] for k in np.flatnonzero(self.member[row]))

    def __iter__(self) -> Iterator[tuple[Level, ...]]:
        return (self[row] for row in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.member.copy() if dtype is None and copy else self.member.astype(dtype or np.bool_, copy=False)

    def __repr__(self) -> str:
        size = float(self.size.mean()) if len(self) else 0.0
        return f"PredictionSets({plural(len(self), 'row')}, {size:.2f} classes on average)"


@dataclass(frozen=True)
class SetFigures:
    """Prediction sets of labelled rows.

    Parameters
    ----------
    asked : float
        The share of the sets that should hold the right class.
    covered : float
        The share that did: of test rows, or leave-one-out of the rows that the threshold comes from.
    size : float
        Mean number of classes in a set.
    empty : float
        Share of the sets without a class: doubtful rows, where the model is right more often than was asked for.
    """

    asked: float
    covered: float
    size: float
    empty: float

    def __post_init__(self) -> None:
        if not (0 < self.asked < 1 and 0 <= self.covered <= 1 and 0 <= self.empty <= 1 and 0 <= self.size < math.inf):
            raise SettingError("the figures of prediction sets are shares between 0 and 1, and a mean size")

    @classmethod
    def of(
        cls, posterior: Array, codes: NDArray[Any], weight: Array, own: Conformity, is_own: bool, asked: float = USUAL
    ) -> SetFigures:
        """The figures of rows with such probabilities; ``is_own``: the thresholds come from the same rows."""
        thresholds = own.thresholds(asked, False, posterior.shape[1])
        member, right = posterior >= thresholds, posterior[np.arange(len(codes)), codes]
        held = right >= thresholds[0]
        at = np.flatnonzero(right == thresholds[0])
        if is_own and len(at) == 1:  # the row that the threshold comes from; without it, the next larger one is
            held[at] = False
        total = float(weight.sum())
        size = member.sum(axis=1)
        covered, empty = (min(float(weight[which].sum()) / total, 1.0) for which in (held, size == 0))
        return cls(asked, covered, float((weight * size).sum()) / total, empty)
