"""Hierarchical: one of a list of levels, smoothed towards how common the level is over all classes.

θ_kc = (n_kc + s·p_c) / (n_k + s) with p_c = (n_c + 1/C) / (N + 1): a level that is rare in a class is about as probable
there as over all classes, which is no evidence. So zip codes and other long lists of levels do not overfit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from tallybayes.core import column_kernels
from tallybayes.core.batch import Array, Codes, Labels
from tallybayes.core.family import Evidence, per_column
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.core.trials import Trial, least
from tallybayes.errors import NotAvailableError
from tallybayes.families._tables import (
    STRENGTHS,
    OfLevels,
    Tables,
    pooled_known,
    pooled_leave_one_out,
    pooled_tables,
)

# What nearly identifies rows says nothing of others, and seems to say much: a class with fewer rows has fewer levels.
STRONGER = (1e4, 1e6)
ROWS_A_LEVEL = 4  # on average, of a column of fewer levels, which needs none of these


@dataclass(frozen=True)
class Hierarchical(OfLevels):
    """A probability for every level, per class and column, drawn towards the level's share of all rows.

    Parameters
    ----------
    strength : float or tuple of float, default=2.0
        How many rows the pooled distribution weighs as much as; one number, or one a column.
    unseen : {"ignore", "smooth"}, default="ignore"
        Evidence of an unseen category: none, or the probability that the smoothing leaves for it.

    Examples
    --------
    >>> family = Hierarchical(strength=2.0)
    >>> x = Codes(np.array([[0], [1], [1], [1]]), np.array([2]))
    >>> params = family.estimate(family.tally(x, Labels.hard(np.array([0, 0, 1, 1], np.int32)), 2))
    >>> np.exp(params.of_column(0)).round(3)
    array([[0.4 , 0.6 ],
           [0.15, 0.85]])
    """

    strength: float | tuple[float, ...] = 2.0
    unseen: Literal["ignore", "smooth"] = "ignore"
    name: ClassVar[str] = "hierarchical"
    kind: ClassVar[Kind] = "category"
    reads: ClassVar[tuple[Kind, ...]] = ("category", "boolean")
    by_column: ClassVar[frozenset[str]] = frozenset({"strength"})

    def tuned(self, summary: Counts, trial: Trial) -> tuple[list[Hierarchical], Array]:
        assert summary.n_levels is not None
        many = summary.n_levels * ROWS_A_LEVEL > summary.weight.sum(axis=0)
        strengths = (*STRENGTHS, *(STRONGER if many.any() else ()))
        losses = column_kernels.pooled_losses(summary, trial, strengths)
        losses[~many, len(STRENGTHS) :] = np.inf
        return least([replace(self, strength=s) for s in strengths], losses)

    def evidence_without(self, summary: Counts, x: Codes, labels: Labels, out: Evidence, places: Sequence[int]) -> None:
        strength = per_column(self.strength, x.shape[1])
        column_kernels.pooled_evidence(summary, x, labels, strength, None, out, places)

    def estimate(self, summary: Counts) -> Tables:
        assert summary.n_levels is not None
        strength = per_column(self.strength, len(summary.n_levels))
        return pooled_tables(summary.count.T, summary.n_levels, strength, self.unseen == "smooth")

    def known(self, summary: Counts, params: Tables) -> tuple[Array, Array, Array]:
        assert summary.n_levels is not None
        return pooled_known(summary.count.T, summary.n_levels, per_column(self.strength, len(summary.n_levels)))

    def leave_one_out(self, summary: Counts, params: Tables, x: Codes, labels: Labels) -> Array:
        return pooled_leave_one_out(summary, x, labels, per_column(self.strength, x.shape[1]), 1.0)

    def linear(self, params: Tables) -> tuple[Array, Array]:
        raise NotAvailableError("a table of levels is linear in one-hot columns, not in the codes")
