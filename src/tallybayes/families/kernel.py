"""Kernel: numbers counted in fine bins, each row's weight spread over the neighbouring bins.

ñ_kb = Σ_b' n_kb' · φ((b − b') / h), normalised over b, and from there as hierarchical smoothing: the density has any
shape, and h (in bins, of which each holds about as many rows) is its bandwidth. With h = 0 every bin is by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tallybayes.core import column_kernels
from tallybayes.core.batch import Array, Codes, Labels
from tallybayes.core.family import Evidence, per_column
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.core.trials import Trial
from tallybayes.families._tables import (
    STRENGTHS,
    OfLevels,
    Tables,
    pooled_known,
    pooled_leave_one_out,
    pooled_tables,
)


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
    widths: ClassVar[tuple[float, ...]] = (0.0, 1.0, 2.0, 4.0, 8.0)  # that are tried
    fewest: ClassVar[int] = 4  # bins that are worth smoothing

    def tuned(self, summary: Counts, trial: Trial) -> tuple[list[Kernel], Array]:
        assert summary.n_levels is not None
        # How smooth first, then how strongly pooled.
        strength = per_column(self.strength, len(summary.n_levels))
        place, losses = column_kernels.smoothed_losses(summary, trial, self.widths, self.fewest, strength, STRENGTHS)
        best = losses.argmin(axis=1)
        chosen = list(zip(place.tolist(), best.tolist(), strict=True))
        made = {(w, s): replace(self, bandwidth=self.widths[w], strength=STRENGTHS[s]) for w, s in set(chosen)}
        families = [made[each] for each in chosen]
        return families, losses[np.arange(len(best)), best]

    def described(self) -> str:
        width = float(np.ravel(self.bandwidth)[0])
        return f"kernel {width:g} bin{'' if width == 1 else 's'} wide" if width else "every bin by itself"

    def estimate(self, summary: Counts) -> Tables:
        assert summary.n_levels is not None
        smooth, strength = self._smoothed(summary)[0], per_column(self.strength, len(summary.n_levels))
        return pooled_tables(smooth.count.T, summary.n_levels, strength)

    def known(self, summary: Counts, params: Tables) -> tuple[Array, Array, Array]:
        """A bin is known by the rows of its neighbours, too: n = c / Σ s², where s are the shares that it gets."""
        assert summary.n_levels is not None
        strength = per_column(self.strength, len(summary.n_levels))
        count, smoothed, mass = pooled_known(self._smoothed(summary)[0].count.T, summary.n_levels, strength)
        wider = tuple((math.sqrt(2.0) * per_column(self.bandwidth, len(summary.n_levels))).tolist())
        share = replace(self, bandwidth=wider)._smoothed(summary)[1][:, None]  # the square of a normal curve is one
        return count / share, smoothed / share, mass

    def leave_one_out(self, summary: Counts, params: Tables, x: Codes, labels: Labels) -> Array:
        smooth, kept = self._smoothed(summary)
        return pooled_leave_one_out(smooth, x, labels, per_column(self.strength, x.shape[1]), kept)

    def evidence_without(self, summary: Counts, x: Codes, labels: Labels, out: Evidence, places: Sequence[int]) -> None:
        smooth, kept = self._smoothed(summary)
        column_kernels.pooled_evidence(smooth, x, labels, per_column(self.strength, x.shape[1]), kept, out, places)

    def _smoothed(self, summary: Counts) -> tuple[Counts, Array]:
        """The counts spread over the neighbouring bins, and the share (cells,) that a row keeps in its own."""
        assert summary.n_levels is not None
        widths = per_column(self.bandwidth, len(summary.n_levels))
        count, kept = column_kernels.spread_counts(summary.count.T, summary.n_levels, widths)
        return replace(summary, count=count.T), kept
