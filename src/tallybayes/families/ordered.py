"""Ordered: levels that follow one another, each row's weight spread over the neighbouring levels.

ñ_kc = Σ_c' n_kc' · φ(d(c, c') / h), normalised over c, and from there as hierarchical smoothing: what is rare between
two common levels is not improbable. The distance d is the number of steps between two levels; of months, days of the
week and hours it is the shorter way around the circle. With h = 0 every level is by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.family import per_column
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.errors import NotAvailableError
from tallybayes.families._tables import Tables
from tallybayes.families.kernel import Kernel


@dataclass(frozen=True)
class Ordered(Kernel):
    """A probability for every level, per class and column, drawn towards those of its neighbours.

    Parameters
    ----------
    bandwidth : float or tuple of float, default=0.5
        Standard deviation of the normal kernel, in levels; one number, or one a column.
    strength : float or tuple of float, default=2.0
        How many rows the pooled distribution weighs as much as.

    Examples
    --------
    >>> from tallybayes.core.batch import Codes, Labels
    >>> family = Ordered(bandwidth=1.0, strength=0.5)
    >>> x = Codes(np.array([[0], [0], [4], [4]]), np.array([5]))
    >>> params = family.estimate(family.tally(x, Labels.hard(np.array([0, 0, 1, 1], np.int32)), 2))
    >>> np.exp(params.of_column(0)[0]).round(2)
    array([0.51, 0.31, 0.08, 0.04, 0.05])
    """

    bandwidth: float | tuple[float, ...] = 0.5
    strength: float | tuple[float, ...] = 2.0
    name: ClassVar[str] = "ordered"
    kind: ClassVar[Kind] = "category"
    reads: ClassVar[tuple[Kind, ...]] = ("category",)
    in_bins: ClassVar[bool] = False
    widths: ClassVar[tuple[float, ...]] = (0.0, 0.4, 0.7, 1.0, 2.0)
    fewest: ClassVar[int] = 3
    is_circle: ClassVar[bool] = False

    def described(self) -> str:
        width = float(np.ravel(self.bandwidth)[0])
        return f"neighbours smooth each other (kernel {width:g} wide)" if width else "every level by itself"

    def linear(self, params: Tables) -> tuple[Array, Array]:
        raise NotAvailableError("a table of levels is linear in one-hot columns, not in the codes")

    def _smoothed(self, summary: Counts) -> tuple[Counts, Array]:
        assert summary.n_levels is not None
        widths = per_column(self.bandwidth, len(summary.n_levels))
        count, kept = np.array(summary.count, dtype=np.float64), np.ones(summary.count.shape[1])
        ends = np.cumsum(summary.n_levels)
        for n, end, width in zip(summary.n_levels.tolist(), ends.tolist(), widths.tolist(), strict=True):
            if width > 0 and n > 1:
                spread = _spread(n, width, self.is_circle)
                count[:, end - n : end] = summary.count[:, end - n : end] @ spread
                kept[end - n : end] = np.diag(spread)
        return replace(summary, count=count), kept


@dataclass(frozen=True)
class Cyclic(Ordered):
    """The same for levels in a circle: after December comes January.

    Parameters
    ----------
    bandwidth : float or tuple of float, default=0.5
        Standard deviation of the normal kernel, in levels; one number, or one a column.
    strength : float or tuple of float, default=2.0
        How many rows the pooled distribution weighs as much as.

    Examples
    --------
    >>> from tallybayes.core.batch import Codes, Labels
    >>> family = Cyclic(bandwidth=1.0, strength=0.5)
    >>> x = Codes(np.array([[0], [0], [3], [3]]), np.array([6]))
    >>> params = family.estimate(family.tally(x, Labels.hard(np.array([0, 0, 1, 1], np.int32)), 2))
    >>> np.exp(params.of_column(0)[0]).round(2)
    array([0.36, 0.22, 0.07, 0.04, 0.07, 0.22])
    """

    name: ClassVar[str] = "cyclic"
    is_circle: ClassVar[bool] = True


def _spread(n_levels: int, width: float, is_circle: bool) -> NDArray[Any]:
    """The share (C, C) of a row of each level that each other gets."""
    at = np.arange(n_levels)
    distance = np.abs(at[:, None] - at).astype(np.float64)
    if is_circle:
        distance = np.minimum(distance, n_levels - distance)
    shares = np.exp(-0.5 * (distance / width) ** 2)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
