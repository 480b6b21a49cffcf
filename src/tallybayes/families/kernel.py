"""Kernel: numbers counted in fine bins, each row's weight spread over the neighbouring bins.

ñ_kb = Σ_b' n_kb' · φ((b − b') / h), normalised over b, and from there as hierarchical smoothing: the density has any
shape, and h (in bins, of which each holds about as many rows) is its bandwidth. With h = 0 every bin is by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Codes, Labels
from tallybayes.core.family import Family, per_column
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.families._tables import (
    STRENGTHS,
    OfLevels,
    Tables,
    best_setting,
    pooled_leave_one_out,
    pooled_tables,
)

BANDWIDTHS = (0.0, 1.0, 2.0, 4.0, 8.0)  # that are tried


@dataclass(frozen=True)
class Kernel(OfLevels):
    """A smooth curve over fine bins, per class and column.

    Parameters
    ----------
    bandwidth : float or tuple of float, default=2.0
        Standard deviation of the normal kernel, in bins; one number, or one a column.
    strength : float or tuple of float, default=2.0
        How many rows the pooled distribution weighs as much as.

    Examples
    --------
    >>> family = Kernel(bandwidth=1.0, strength=0.5)
    >>> x = Codes(np.array([[0], [0], [4], [4]]), np.array([5]))
    >>> params = family.estimate(family.tally(x, Labels.hard(np.array([0, 0, 1, 1], np.int32)), 2))
    >>> np.exp(params.of_column(0)[0]).round(2)
    array([0.51, 0.31, 0.08, 0.04, 0.05])
    """

    bandwidth: float | tuple[float, ...] = 2.0
    strength: float | tuple[float, ...] = 2.0
    name: ClassVar[str] = "kernel"
    kind: ClassVar[Kind] = "numeric"
    reads: ClassVar[tuple[Kind, ...]] = ("numeric", "count")
    in_bins: ClassVar[bool] = True
    by_column: ClassVar[frozenset[str]] = frozenset({"bandwidth", "strength"})

    def tuned(self, summary: Counts, loss: Callable[[Family], float]) -> Kernel:
        assert summary.n_levels is not None
        widths = BANDWIDTHS if int(summary.n_levels[0]) > 3 else (0.0,)
        smooth = best_setting(self, "bandwidth", widths, loss)  # how smooth first, then how strongly pooled
        return best_setting(smooth, "strength", STRENGTHS, loss)

    def described(self) -> str:
        width = float(np.ravel(self.bandwidth)[0])
        return f"kernel {width:g} bin{'' if width == 1 else 's'} wide" if width else "every bin by itself"

    def estimate(self, summary: Counts) -> Tables:
        assert summary.n_levels is not None
        smooth, strength = self._smoothed(summary)[0], per_column(self.strength, len(summary.n_levels))
        return pooled_tables(smooth.count.T, summary.n_levels, strength)

    def leave_one_out(self, summary: Counts, params: Tables, x: Codes, labels: Labels) -> Array:
        smooth, kept = self._smoothed(summary)
        return pooled_leave_one_out(smooth, x, labels, per_column(self.strength, x.shape[1]), kept)

    def _smoothed(self, summary: Counts) -> tuple[Counts, Array]:
        """The counts spread over the neighbouring bins, and the share (cells,) that a row keeps in its own."""
        assert summary.n_levels is not None
        widths, start = per_column(self.bandwidth, len(summary.n_levels)), kernels.starts(summary.n_levels)
        # In one order of memory, so that a product is the same to the last digit wherever the counts come from.
        count, kept = np.array(summary.count, order="C"), np.ones(summary.count.shape[1])
        for j in np.flatnonzero((widths > 0) & (summary.n_levels > 1)).tolist():
            cells = slice(start[j], start[j + 1])
            spread = spread_matrix(int(summary.n_levels[j]), float(widths[j]))
            count[:, cells], kept[cells] = np.ascontiguousarray(count[:, cells]) @ spread, spread.diagonal()
        return replace(summary, count=count), kept


@lru_cache(maxsize=64)
def spread_matrix(n_bins: int, bandwidth: float) -> Array:
    """How a row in one bin (first axis) is spread over all (second axis); rows sum to one."""
    bins = np.arange(n_bins)
    near = np.exp(-0.5 * ((bins[:, None] - bins) / bandwidth) ** 2)
    return np.asarray(near / near.sum(axis=1, keepdims=True))
