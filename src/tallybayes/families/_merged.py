"""What the families have in common whose cells are merged into groups: neighbouring bins, or levels of a category."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels, kernels
from tallybayes.core.batch import MISSING, Array, Codes, Labels
from tallybayes.core.family import Evidence, per_column
from tallybayes.core.summaries import Counts
from tallybayes.core.trials import Trial, least
from tallybayes.families._tables import (
    STRENGTHS,
    OfLevels,
    Tables,
    pooled_known,
    pooled_leave_one_out,
    pooled_tables,
)


@dataclass(frozen=True)
class Bins(Tables):
    """Tables over the fine bins, in which merged bins have the same logs."""

    group: NDArray[np.int64]  # (cells,) number of the merged bin, counted in each column from zero
    n_groups: NDArray[np.int64]  # (d,)


@dataclass(frozen=True)
class Merged(OfLevels):
    """Counts of groups, smoothed as hierarchical ones; leave-one-out keeps the groups that all rows prefer."""

    strength: float | tuple[float, ...] = 2.0

    @abstractmethod
    def groups(self, summary: Counts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The group (cells,) of each cell, counted in each column from zero, and how many a column has (d,)."""

    def tuned(self, summary: Counts, trial: Trial) -> tuple[list[Any], Array]:
        assert summary.n_levels is not None
        group, n_groups = self.groups(summary)
        tried, groups = [replace(self, strength=s) for s in STRENGTHS], column_kernels.Groups(group, summary.n_levels)
        merged = merged_counts(summary, group, n_groups)
        families, losses = least(tried, column_kernels.pooled_losses(merged, trial, STRENGTHS, groups))
        return families, losses + partition_cost(n_groups, summary.weight.sum(axis=0))

    def estimate(self, summary: Counts) -> Bins:
        assert summary.n_levels is not None
        group, n_groups = self.groups(summary)
        merged = merged_counts(summary, group, n_groups)
        coarse = pooled_tables(merged.count.T, n_groups, per_column(self.strength, len(n_groups)))
        log_prob = coarse.table[group + np.repeat(coarse.start[:-1], summary.n_levels)]
        fine = Tables.of(log_prob, summary.n_levels, 0.0, n_groups, shared_by(group, n_groups, summary.n_levels))
        return Bins(fine.table, fine.start, fine.n_effective, fine.sharing, group, n_groups)

    def known(self, summary: Counts, params: Tables) -> tuple[Array, Array, Array]:
        assert isinstance(params, Bins)
        merged = merged_counts(summary, params.group, params.n_groups)
        return merged_known(summary, merged, params, per_column(self.strength, len(params.n_groups)))

    def leave_one_out(self, summary: Counts, params: Bins, x: Codes, labels: Labels) -> Array:
        merged = merged_counts(summary, params.group, params.n_groups)
        codes = coarse_codes(x, summary, params.group, params.n_groups)
        return pooled_leave_one_out(merged, codes, labels, per_column(self.strength, x.shape[1]), 1.0)

    def evidence_without(self, summary: Counts, x: Codes, labels: Labels, out: Evidence, places: Sequence[int]) -> None:
        group, n_groups = self.groups(summary)
        codes, merged = coarse_codes(x, summary, group, n_groups), merged_counts(summary, group, n_groups)
        strength = per_column(self.strength, x.shape[1])
        column_kernels.pooled_evidence(merged, codes, labels, strength, None, out, places)


def merged_counts(summary: Counts, group: NDArray[np.int64], n_groups: NDArray[np.int64]) -> Counts:
    """The counts of the groups."""
    assert summary.n_levels is not None
    place = group + np.repeat(kernels.starts(n_groups)[:-1], summary.n_levels)
    count = np.stack([np.bincount(place, of_class, int(n_groups.sum())) for of_class in summary.count])
    return Counts(count.astype(np.float64), summary.weight, n_groups)


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


def shared_by(group: NDArray[Any], n_groups: NDArray[Any], n_levels: NDArray[Any]) -> Array:
    """How many fine bins (cells,) share the probability of their merged bin."""
    place = group + np.repeat(kernels.starts(n_groups)[:-1], n_levels)
    return np.bincount(place, minlength=int(n_groups.sum()))[place].astype(np.float64)


def partition_cost(n_groups: NDArray[Any] | int, rows: Array | float) -> Any:
    """Description length of a partition into so many bins, in nats a row."""
    from scipy.special import gammaln  # slow to import

    length = gammaln(rows + n_groups) - gammaln(n_groups) - gammaln(np.add(rows, 1))
    return length / np.maximum(rows, 1.0)
