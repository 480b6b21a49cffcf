"""Binned: numbers counted in fine bins, of which neighbours are merged where the classes do not differ.

The partition minimises the MODL criterion (Boullé 2006), the description length of the labels given the bins:
log C(N+I−1, I−1) + Σ_i [ log C(N_i+K−1, K−1) + log N_i! / (N_i1! … N_iK!) ]. It is found exactly, from the fine counts
alone, by dynamic programming. The merged counts are then smoothed as hierarchical ones. Where the evidence is to be
monotone, neighbours that are out of order are merged further (pool adjacent violators, Ayer et al. 1955).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels, kernels
from tallybayes.core.batch import MISSING, Array, Codes, Labels
from tallybayes.core.family import Evidence, per_column
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.core.trials import Trial, least
from tallybayes.errors import SettingError
from tallybayes.families._few import few_groups
from tallybayes.families._tables import (
    STRENGTHS,
    OfLevels,
    Tables,
    pooled_known,
    pooled_leave_one_out,
    pooled_tables,
)

MOST_BINS = 32  # that a column is merged into


@dataclass(frozen=True)
class Bins(Tables):
    """Tables over the fine bins, in which merged bins have the same logs."""

    group: NDArray[np.int64]  # (cells,) number of the merged bin, counted in each column from zero
    n_groups: NDArray[np.int64]  # (d,)


@dataclass(frozen=True)
class Binned(OfLevels):
    """A probability for every merged bin, per class and column.

    Leave-one-out keeps the partition that all rows prefer.

    Parameters
    ----------
    strength : float or tuple of float, default=2.0
        How many rows the pooled distribution weighs as much as; one number, or one a column.
    max_bins : float or tuple of float, default=32
        How many bins neighbours are merged into at most; one number, or one a column.
    monotone : float or tuple of float, default=0
        1 where the evidence for the second of two classes must not fall as the number grows, −1 where it must not
        rise, 0 where it is free; one number, or one a column.

    Examples
    --------
    >>> family = Binned()
    >>> x = Codes(np.repeat(np.arange(6), 20)[:, None], np.array([6]))
    >>> low = Labels.hard((np.arange(120) >= 60).astype(np.int32))
    >>> family.estimate(family.tally(x, low, 2)).group
    array([0, 0, 0, 1, 1, 1])
    """

    strength: float | tuple[float, ...] = 2.0
    max_bins: float | tuple[float, ...] = float(MOST_BINS)
    monotone: float | tuple[float, ...] = 0.0
    name: ClassVar[str] = "binned"
    kind: ClassVar[Kind] = "numeric"
    reads: ClassVar[tuple[Kind, ...]] = ("numeric", "count")
    in_bins: ClassVar[bool] = True
    by_column: ClassVar[frozenset[str]] = frozenset({"strength", "max_bins", "monotone"})

    def described(self) -> str:
        direction = float(np.ravel(self.monotone)[0])
        return "binned" + (f", {'rising' if direction > 0 else 'falling'}" if direction else "")

    def tuned(self, summary: Counts, trial: Trial) -> tuple[list[Binned], Array]:
        assert isinstance(trial.x, Codes)
        group, n_groups = self._partitions(summary)
        coarse = trial.coded(coarse_codes(trial.x, summary, group, n_groups))
        tried = [replace(self, strength=s) for s in STRENGTHS]
        merged = _merged(summary, group, n_groups)
        families, losses = least(tried, column_kernels.pooled_losses(merged, coarse, STRENGTHS))
        return families, losses + partition_cost(n_groups, summary.weight.sum(axis=0))

    def estimate(self, summary: Counts) -> Bins:
        assert summary.n_levels is not None
        group, n_groups = self._partitions(summary)
        merged = _merged(summary, group, n_groups)
        coarse = pooled_tables(merged.count.T, n_groups, per_column(self.strength, len(n_groups)))
        log_prob = coarse.table[group + np.repeat(coarse.start[:-1], summary.n_levels)]
        fine = Tables.of(log_prob, summary.n_levels, 0.0, n_groups, shared_by(group, n_groups, summary.n_levels))
        return Bins(fine.table, fine.start, fine.n_effective, fine.sharing, group, n_groups)

    def known(self, summary: Counts, params: Tables) -> tuple[Array, Array, Array]:
        assert isinstance(params, Bins)
        merged = _merged(summary, params.group, params.n_groups)
        return merged_known(summary, merged, params, per_column(self.strength, len(params.n_groups)))

    def leave_one_out(self, summary: Counts, params: Bins, x: Codes, labels: Labels) -> Array:
        merged = _merged(summary, params.group, params.n_groups)
        codes = coarse_codes(x, summary, params.group, params.n_groups)
        return pooled_leave_one_out(merged, codes, labels, per_column(self.strength, x.shape[1]), 1.0)

    def evidence_without(self, summary: Counts, x: Codes, labels: Labels, out: Evidence, places: Sequence[int]) -> None:
        group, n_groups = self._partitions(summary)
        codes, merged = coarse_codes(x, summary, group, n_groups), _merged(summary, group, n_groups)
        strength = per_column(self.strength, x.shape[1])
        column_kernels.pooled_evidence(merged, codes, labels, strength, None, out, places)

    def _partitions(self, summary: Counts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The merged bin (cells,) of each fine bin, counted in each column from zero, and how many there are (d,)."""
        assert summary.n_levels is not None
        n_levels, d = summary.n_levels, len(summary.n_levels)
        most, directions = per_column(self.max_bins, d), per_column(self.monotone, d)
        group = column_kernels.partitions(summary.count.T, n_levels, MOST_BINS)
        n_groups, ends = np.zeros(d, dtype=np.int64), np.cumsum(n_levels)
        some = n_levels > 0
        n_groups[some] = group[ends[some] - 1] + 1
        for j in np.flatnonzero(some & ((most < MOST_BINS) | (directions != 0))).tolist():
            cells, strength = slice(ends[j] - n_levels[j], ends[j]), float(per_column(self.strength, d)[j])
            count = np.ascontiguousarray(summary.count[:, cells].T)
            group[cells] = few_groups(count, max(int(most[j]), 1))
            if directions[j]:
                group[cells] = monotone_groups(count, group[cells], float(directions[j]), strength)
            n_groups[j] = group[ends[j] - 1] + 1
        return group, n_groups


def merged_known(summary: Counts, merged: Counts, params: Bins, strength: Array) -> tuple[Array, Array, Array]:
    """How many rows the probability of each fine bin comes from: those of its merged bin (see `Coded.known`)."""
    assert summary.n_levels is not None
    count, smoothed, mass = pooled_known(merged.count.T, params.n_groups, strength)
    place = params.group + np.repeat(kernels.starts(params.n_groups)[:-1], summary.n_levels)
    return count[place], smoothed[place], mass


def coarse_codes(x: Codes, summary: Counts, group: NDArray[np.int64], n_groups: NDArray[np.int64]) -> Codes:
    """The merged bins of some rows; a code that is no fine bin is no merged bin either."""
    assert summary.n_levels is not None
    fine = x.matrix.astype(np.int64)
    inside = (fine >= 0) & (fine < summary.n_levels)
    codes = np.where(inside, group[kernels.starts(summary.n_levels)[:-1] + np.where(inside, fine, 0)], fine)
    return Codes(np.where(inside | (fine == MISSING), codes, n_groups), n_groups)


def _merged(summary: Counts, group: NDArray[np.int64], n_groups: NDArray[np.int64]) -> Counts:
    assert summary.n_levels is not None
    place = group + np.repeat(kernels.starts(n_groups)[:-1], summary.n_levels)
    first = np.flatnonzero(np.diff(place, prepend=-1))  # merged bins are neighbours
    count = np.add.reduceat(summary.count.T, first, axis=0) if len(first) else summary.count.T
    return Counts(count.T, summary.weight, n_groups)


def shared_by(group: NDArray[Any], n_groups: NDArray[Any], n_levels: NDArray[Any]) -> Array:
    """How many fine bins (cells,) share the probability of their merged bin."""
    place = group + np.repeat(kernels.starts(n_groups)[:-1], n_levels)
    return np.bincount(place, minlength=int(n_groups.sum()))[place].astype(np.float64)


def monotone_groups(count: Array, group: NDArray[np.int64], direction: float, strength: float) -> NDArray[np.int64]:
    """The merged bins (B,) of counts (B, 2), neighbours pooled until the evidence of the second class never turns.

    Examples
    --------
    >>> count = np.array([[8.0, 2.0], [5.0, 5.0], [6.0, 4.0], [1.0, 9.0]])
    >>> monotone_groups(count, np.arange(4), 1.0, 2.0)
    array([0, 1, 1, 2])
    """
    if count.shape[1] != 2:
        raise SettingError("monotone evidence is that of one class against the other: it needs two classes")
    while group[-1] > 0:
        merged = np.stack([np.bincount(group, count[:, k]) for k in range(2)], axis=1).astype(np.float64)
        table = pooled_tables(merged, np.array([len(merged)]), np.array([strength])).of_column(0)
        falls = -np.diff(direction * (table[1] - table[0]))
        worst = int(falls.argmax())
        if not falls[worst] > 0:
            break
        group = np.where(group > worst, group - 1, group)
    return group


def coarse_edges(edges: tuple[float, ...], group: NDArray[np.int64]) -> tuple[float, ...]:
    """The edges at which the number of the merged bin changes."""
    return tuple(edge for edge, starts in zip(edges, np.diff(group) > 0, strict=True) if starts)


def partition_cost(n_groups: NDArray[Any] | int, rows: Array | float) -> Any:
    """Description length of a partition into so many bins, in nats a row."""
    from scipy.special import gammaln  # slow to import

    length = gammaln(rows + n_groups) - gammaln(n_groups) - gammaln(np.add(rows, 1))
    return length / np.maximum(rows, 1.0)


def partition(count: Array) -> NDArray[np.int64]:
    """Number of the merged bin (B,) of each fine bin, for counts (B, K)."""
    return column_kernels.partitions(count, np.array([len(count)]), MOST_BINS)
