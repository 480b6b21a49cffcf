"""Binned: numbers counted in fine bins, of which neighbours are merged where the classes do not differ.

The partition minimises the MODL criterion (Boullé 2006), the description length of the labels given the bins:
log C(N+I−1, I−1) + Σ_i [ log C(N_i+K−1, K−1) + log N_i! / (N_i1! … N_iK!) ]. It is found exactly, from the fine counts
alone, by dynamic programming. The merged counts are then smoothed as hierarchical ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import MISSING, Array, Codes, Labels
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

    Examples
    --------
    >>> family = Binned()
    >>> x = Codes(np.repeat(np.arange(6), 20)[:, None], np.array([6]))
    >>> low = Labels.hard((np.arange(120) >= 60).astype(np.int32))
    >>> family.estimate(family.tally(x, low, 2)).group
    array([0, 0, 0, 1, 1, 1])
    """

    strength: float | tuple[float, ...] = 2.0
    name: ClassVar[str] = "binned"
    kind: ClassVar[Kind] = "numeric"
    reads: ClassVar[tuple[Kind, ...]] = ("numeric", "count")
    in_bins: ClassVar[bool] = True
    by_column: ClassVar[frozenset[str]] = frozenset({"strength"})

    def tuned(self, summary: Counts, loss: Callable[[Family], float]) -> Binned:
        return best_setting(self, "strength", STRENGTHS, loss)

    def choice_cost(self, summary: Counts) -> float:
        return partition_cost(self.estimate(summary).n_groups[0], float(summary.weight.sum()))

    def estimate(self, summary: Counts) -> Bins:
        assert summary.n_levels is not None
        start = kernels.starts(summary.n_levels)
        cells = [slice(a, b) for a, b in pairwise(start.tolist())]
        groups = [partition(summary.count[:, c].T) for c in cells]
        n_groups = np.array([g[-1] + 1 for g in groups], dtype=np.int64)
        group = np.concatenate(groups) if groups else np.zeros(0, dtype=np.int64)
        merged = _merged(summary, group, n_groups)
        coarse = pooled_tables(merged.count.T, n_groups, per_column(self.strength, len(n_groups)))
        log_prob = np.concatenate([coarse.of_column(j).T[g] for j, g in enumerate(groups)]) if groups else coarse.table
        fine = Tables.of(log_prob, summary.n_levels, 0.0, n_groups, _sharing(group, n_groups, summary.n_levels))
        return Bins(fine.table, fine.start, fine.n_effective, fine.sharing, group, n_groups)

    def leave_one_out(self, summary: Counts, params: Bins, x: Codes, labels: Labels) -> Array:
        assert summary.n_levels is not None
        start = kernels.starts(summary.n_levels)[:-1]
        fine = x.matrix.astype(np.int64)
        inside = (fine >= 0) & (fine < summary.n_levels)
        codes = np.where(inside, params.group[start + np.where(inside, fine, 0)], fine)
        codes = np.where(inside | (fine == MISSING), codes, params.n_groups)  # still none of the bins
        merged = _merged(summary, params.group, params.n_groups)
        return pooled_leave_one_out(
            merged, Codes(codes, params.n_groups), labels, per_column(self.strength, x.shape[1]), 1.0
        )


def _merged(summary: Counts, group: NDArray[np.int64], n_groups: NDArray[np.int64]) -> Counts:
    assert summary.n_levels is not None
    place = group + np.repeat(kernels.starts(n_groups)[:-1], summary.n_levels)
    count = np.zeros((len(summary.count), int(n_groups.sum())))
    np.add.at(count, (slice(None), place), summary.count)  # type: ignore[arg-type]
    return Counts(count, summary.weight, n_groups)


def _sharing(group: NDArray[Any], n_groups: NDArray[Any], n_levels: NDArray[Any]) -> Array:
    """How many fine bins (cells,) share the probability of their merged bin."""
    place = group + np.repeat(kernels.starts(n_groups)[:-1], n_levels)
    return np.bincount(place, minlength=int(n_groups.sum()))[place].astype(np.float64)


def coarse_edges(edges: tuple[float, ...], group: NDArray[np.int64]) -> tuple[float, ...]:
    """The edges at which the number of the merged bin changes."""
    return tuple(edge for edge, starts in zip(edges, np.diff(group) > 0, strict=True) if starts)


def partition_cost(n_groups: int, rows: float) -> float:
    """Description length of a partition into so many bins, in nats a row."""
    from scipy.special import gammaln

    return float((gammaln(rows + n_groups) - gammaln(n_groups) - gammaln(rows + 1)) / max(rows, 1.0))


def partition(count: Array) -> NDArray[np.int64]:
    """Number of the merged bin that each fine bin (B, K) belongs to in the best partition, and 0 for all of none."""
    return _partition(np.ascontiguousarray(count, dtype=np.float64).tobytes(), *count.shape)


@lru_cache(maxsize=64)  # every pseudocount that is tried asks for the same one
def _partition(data: bytes, n_bins: int, n_classes: int) -> NDArray[np.int64]:
    from scipy.special import gammaln  # slow to import

    count = np.frombuffer(data).reshape(n_bins, n_classes)
    if n_bins < 2:
        return np.zeros(n_bins, dtype=np.int64)
    below = np.vstack((np.zeros(n_classes), np.cumsum(count, axis=0)))
    inside = below[None] - below[:, None]  # [i, j] counts of the bins i … j − 1
    size = inside.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        cost = gammaln(size + n_classes) - gammaln(n_classes) - gammaln(inside + 1).sum(axis=2)
    ends = np.arange(n_bins + 1)
    cost[ends[:, None] >= ends] = np.inf
    total = size[0, -1]
    best, origins, lengths = cost[0], [np.zeros(n_bins + 1, dtype=np.int64)], [cost[0, -1]]
    for n_groups in range(2, min(MOST_BINS, n_bins) + 1):
        through = best[:, None] + cost
        origin = through.argmin(axis=0)
        best = through[origin, ends]
        origins.append(origin)
        lengths.append(best[-1] + gammaln(total + n_groups) - gammaln(n_groups) - gammaln(total + 1))
        if lengths[-1] > min(lengths) + 20.0:  # it only gets longer from here
            break
    edge, edges = n_bins, []
    for origin in reversed(origins[: int(np.argmin(lengths)) + 1]):
        edge = int(origin[edge])
        edges.append(edge)
    starts = np.zeros(n_bins, dtype=np.int64)
    starts[[e for e in edges if e]] = 1
    group = np.cumsum(starts)
    group.flags.writeable = False  # it is remembered
    return group
