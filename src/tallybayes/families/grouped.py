"""Grouped: levels of a category, merged into few groups in which the classes are mixed alike.

The levels are ordered by their smoothed evidence, of more than two classes along the direction in which it differs
most, and then merged as bins are: by the MODL criterion (Boullé 2006), exactly. The merged counts are smoothed as
hierarchical ones. Unlike bins, the groups have no order of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels
from tallybayes.core.batch import Array, Codes, Labels
from tallybayes.core.family import Evidence, per_column
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.core.trials import Trial, least
from tallybayes.errors import NotAvailableError
from tallybayes.families._few import few_groups
from tallybayes.families._tables import (
    STRENGTHS,
    OfLevels,
    Tables,
    pooled_leave_one_out,
    pooled_tables,
)
from tallybayes.families.binned import Bins, coarse_codes, merged_known, partition_cost, shared_by

ORDERED_WITH = 8.0  # strength of the smoothing that levels are ordered by: rare ones lie in the middle


@dataclass(frozen=True)
class Grouped(OfLevels):
    """A probability for every group of levels, per class and column.

    Leave-one-out keeps the groups that all rows prefer.

    Parameters
    ----------
    strength : float or tuple of float, default=2.0
        How many rows the pooled distribution weighs as much as; one number, or one a column.
    max_bins : float or tuple of float, default=8
        How many groups there are at most; one number, or one a column.

    Examples
    --------
    >>> family = Grouped()
    >>> x = Codes(np.repeat(np.arange(4), 20)[:, None], np.array([4]))
    >>> yes = Labels.hard(np.repeat([0, 1, 0, 1], 20).astype(np.int32))
    >>> family.estimate(family.tally(x, yes, 2)).group
    array([0, 1, 0, 1])
    """

    strength: float | tuple[float, ...] = 2.0
    max_bins: float | tuple[float, ...] = 8.0
    name: ClassVar[str] = "grouped"
    kind: ClassVar[Kind] = "category"
    reads: ClassVar[tuple[Kind, ...]] = ("category", "boolean")
    by_column: ClassVar[frozenset[str]] = frozenset({"strength", "max_bins"})

    def tuned(self, summary: Counts, trial: Trial) -> tuple[list[Grouped], Array]:
        assert isinstance(trial.x, Codes)
        group, n_groups = self._groups(summary)
        coarse = trial.coded(coarse_codes(trial.x, summary, group, n_groups))
        tried = [replace(self, strength=s) for s in STRENGTHS]
        found, losses = least(tried, column_kernels.pooled_losses(_merged(summary, group, n_groups), coarse, STRENGTHS))
        return found, losses + partition_cost(n_groups, summary.weight.sum(axis=0))

    def estimate(self, summary: Counts) -> Bins:
        assert summary.n_levels is not None
        group, n_groups = self._groups(summary)
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
        group, n_groups = self._groups(summary)
        codes, merged = coarse_codes(x, summary, group, n_groups), _merged(summary, group, n_groups)
        strength = per_column(self.strength, x.shape[1])
        column_kernels.pooled_evidence(merged, codes, labels, strength, None, out, places)

    def linear(self, params: Tables) -> tuple[Array, Array]:
        raise NotAvailableError("a table of levels is linear in one-hot columns, not in the codes")

    def described(self) -> str:
        return f"levels in {float(np.ravel(self.max_bins)[0]):g} groups at most"

    def _groups(self, summary: Counts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The group (cells,) of each level, counted in each column from zero, and how many a column has (d,)."""
        assert summary.n_levels is not None
        n_levels, most = summary.n_levels, per_column(self.max_bins, len(summary.n_levels))
        group, n_groups, ends = np.zeros(int(n_levels.sum()), np.int64), np.zeros_like(n_levels), np.cumsum(n_levels)
        for j, (n, end) in enumerate(zip(n_levels.tolist(), ends.tolist(), strict=True)):
            if n:
                count = np.ascontiguousarray(summary.count[:, end - n : end].T)
                order = _order(count)
                found = few_groups(count[order], max(int(most[j]), 1))
                group[end - n + order] = found
                n_groups[j] = found[-1] + 1
        return group, n_groups


def _order(count: Array) -> NDArray[np.intp]:
    """The levels of a column (C, K) in the order of their evidence."""
    table = pooled_tables(count, np.array([len(count)]), np.array([ORDERED_WITH])).of_column(0).T
    said = table - table.mean(axis=1)[:, None]
    if said.shape[1] > 2:
        centred = np.sqrt(count.sum(axis=1))[:, None] * (said - said.mean(axis=0))
        said = said @ np.linalg.svd(centred, full_matrices=False)[2][0][:, None]
    return np.argsort(said[:, -1], kind="stable")


def _merged(summary: Counts, group: NDArray[np.int64], n_groups: NDArray[np.int64]) -> Counts:
    """The counts of the groups."""
    assert summary.n_levels is not None
    place = group + np.repeat(np.cumsum(n_groups) - n_groups, summary.n_levels)
    count = np.stack([np.bincount(place, of_class, int(n_groups.sum())) for of_class in summary.count])
    return Counts(count.astype(np.float64), summary.weight, n_groups)
