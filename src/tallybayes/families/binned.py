"""Binned: numbers counted in fine bins, of which neighbours are merged where the classes do not differ.

The partition minimises the MODL criterion (Boullé 2006), the description length of the labels given the bins:
log C(N+I−1, I−1) + Σ_i [ log C(N_i+K−1, K−1) + log N_i! / (N_i1! … N_iK!) ]. It is found exactly, from the fine counts
alone, by dynamic programming. The merged counts are then smoothed as hierarchical ones. Where the evidence is to be
monotone, neighbours that are out of order are merged further (pool adjacent violators, Ayer et al. 1955).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels
from tallybayes.core.batch import Array
from tallybayes.core.family import per_column
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.errors import SettingError
from tallybayes.families._few import few_groups
from tallybayes.families._merged import Merged
from tallybayes.families._tables import pooled_tables

MOST_BINS = 32  # that a column is merged into


@dataclass(frozen=True)
class Binned(Merged):
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
    >>> from tallybayes.core.batch import Codes, Labels
    >>> family = Binned()
    >>> x = Codes(np.repeat(np.arange(6), 20)[:, None], np.array([6]))
    >>> low = Labels.hard((np.arange(120) >= 60).astype(np.int32))
    >>> family.estimate(family.tally(x, low, 2)).group
    array([0, 0, 0, 1, 1, 1])
    """

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

    def groups(self, summary: Counts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The merged bin (cells,) of each fine bin, counted in each column from zero, and how many there are (d,)."""
        assert summary.n_levels is not None
        n_levels, d = summary.n_levels, len(summary.n_levels)
        most, directions = per_column(self.max_bins, d), per_column(self.monotone, d)
        group = free_groups(summary).copy()
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


def free_groups(summary: Counts) -> NDArray[np.int64]:
    """The merged bin (cells,) of each fine bin where nothing but the description length counts; found once."""
    known: dict[str, Any] = vars(summary)
    if "free_groups" not in known:
        assert summary.n_levels is not None
        known["free_groups"] = column_kernels.partitions(summary.count.T, summary.n_levels, MOST_BINS)
    return np.asarray(known["free_groups"])


def selected(summary: Counts, columns: NDArray[np.intp]) -> Counts:
    """The counts of some columns, which keep their merged bins: these are found by column, and only once."""
    found = summary.select(columns)
    if found is not summary and summary.n_levels is not None:
        ends, group = np.cumsum(summary.n_levels), free_groups(summary)
        vars(found)["free_groups"] = np.concatenate([group[ends[c] - summary.n_levels[c] : ends[c]] for c in columns])
    return found


def partition(count: Array) -> NDArray[np.int64]:
    """Number of the merged bin (B,) of each fine bin, for counts (B, K)."""
    return column_kernels.partitions(count, np.array([len(count)]), MOST_BINS)
