"""Grouped: levels of a category, merged into few groups in which the classes are mixed alike.

The levels are ordered by their smoothed evidence, of more than two classes along the direction in which it differs
most, and then merged as bins are: by the MODL criterion (Boullé 2006), exactly. The merged counts are smoothed as
hierarchical ones. Unlike bins, the groups have no order of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.family import per_column
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.errors import NotAvailableError
from tallybayes.families._few import few_groups
from tallybayes.families._merged import Merged
from tallybayes.families._tables import Tables, pooled_tables

ORDERED_WITH = 8.0  # strength of the smoothing that levels are ordered by: rare ones lie in the middle


@dataclass(frozen=True)
class Grouped(Merged):
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
    >>> from tallybayes.core.batch import Codes, Labels
    >>> family = Grouped()
    >>> x = Codes(np.repeat(np.arange(4), 20)[:, None], np.array([4]))
    >>> yes = Labels.hard(np.repeat([0, 1, 0, 1], 20).astype(np.int32))
    >>> family.estimate(family.tally(x, yes, 2)).group
    array([0, 1, 0, 1])
    """

    max_bins: float | tuple[float, ...] = 8.0
    name: ClassVar[str] = "grouped"
    kind: ClassVar[Kind] = "category"
    reads: ClassVar[tuple[Kind, ...]] = ("category", "boolean")
    by_column: ClassVar[frozenset[str]] = frozenset({"strength", "max_bins"})

    def linear(self, params: Tables) -> tuple[Array, Array]:
        raise NotAvailableError("a table of levels is linear in one-hot columns, not in the codes")

    def described(self) -> str:
        return f"levels in {float(np.ravel(self.max_bins)[0]):g} groups at most"

    def groups(self, summary: Counts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
