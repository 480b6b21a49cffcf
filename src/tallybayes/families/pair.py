"""Pair: the evidence of two columns together beyond that of each by itself.

log P(a, b | k) − log P(a | k) − log P(b | k), with the joint smoothed towards the product of its margins:
(n_kab + s·m_kab) / (n_k + s) ÷ m_kab, m_kab = P(a | k)·P(b | k). Added to the evidence of the two columns it makes up
their joint evidence; where they are independent, or rows are too few, it adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels, pair_kernels
from tallybayes.core.batch import Array, Codes, Labels
from tallybayes.core.family import Evidence, per_column
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.errors import NotAvailableError
from tallybayes.families._tables import Coded, Tables

MARGIN = 0.5  # pseudocount of the levels of each column alone


@dataclass(frozen=True)
class Pair(Coded):
    """A correction for every combination of two columns' levels, per class.

    Parameters
    ----------
    strength : float or tuple of float, default=8.0
        How many rows the product of the margins weighs as much as; one number, or one a pair.

    Examples
    --------
    >>> family = Pair(strength=1.0)
    >>> same = np.array([0, 3])[np.arange(40) % 2][:, None]  # both columns 0, or both 1
    >>> x = Codes(same, np.array([4]), np.array([2]))
    >>> params = family.estimate(family.tally(x, Labels.hard(np.zeros(40, np.int32)), 1))
    >>> np.exp(params.of_column(0)).round(2)
    array([[1.98, 0.02, 0.02, 1.98]])
    """

    strength: float | tuple[float, ...] = 8.0
    name: ClassVar[str] = "pair"
    kind: ClassVar[Kind] = "pair"
    is_correction: ClassVar[bool] = True
    by_column: ClassVar[frozenset[str]] = frozenset({"strength"})

    def estimate(self, summary: Counts) -> Tables:
        assert summary.n_levels is not None
        assert summary.n_right is not None
        strength = per_column(self.strength, len(summary.n_levels))
        lifts = pair_kernels.pair_lifts(summary.n_levels, summary.n_right, summary.count, summary.weight, strength)
        return Tables.of(lifts, summary.n_levels)

    def known(self, summary: Counts, params: Tables) -> tuple[Array, Array, Array]:
        assert summary.n_levels is not None
        assert summary.n_right is not None
        strength, start = per_column(self.strength, len(summary.n_levels)), kernels.starts(summary.n_levels)
        count, pseudo = summary.count.T, np.zeros(summary.count.T.shape)
        for j, n_right in enumerate(summary.n_right.tolist()):
            cells = slice(start[j], start[j + 1])
            grid = count[cells].reshape(-1, n_right, count.shape[1])
            pseudo[cells] = (strength[j] * _expected(grid)).reshape(-1, count.shape[1])
        return count, count + pseudo, summary.weight.T + strength[:, None]

    def leave_one_out(self, summary: Counts, params: Tables, x: Codes, labels: Labels) -> Array:
        assert summary.n_levels is not None
        out, strength = params.log_prob(x), per_column(self.strength, x.shape[1])
        known = Codes(x.matrix, summary.n_levels, summary.n_right)
        own = pair_kernels.pair_leave_one_out(known, labels, summary.count, summary.weight, strength)
        out[np.arange(len(out)), labels.codes] = own
        return out

    def evidence_without(self, summary: Counts, x: Codes, labels: Labels, out: Evidence, places: Sequence[int]) -> None:
        assert summary.n_levels is not None
        known, strength = Codes(x.matrix, summary.n_levels, summary.n_right), per_column(self.strength, x.shape[1])
        table = self.estimate(summary).table
        pair_kernels.pair_evidence(known, labels, summary.count, summary.weight, strength, table, places, out)

    def linear(self, params: Tables) -> tuple[Array, Array]:
        raise NotAvailableError("pairs are linear in their combinations, not in the codes")

    def sample(self, params: Tables, codes: NDArray[Any], rng: np.random.Generator) -> Codes:
        raise NotAvailableError("pairs correct the evidence of other columns; they have no values of their own")

    def joint_size(self, params: Tables) -> int:
        return 1  # they are part of the joint of the columns already


def _expected(both: Array) -> Array:
    """The product of the shares (A, B, K) of both margins."""
    left, right, total = both.sum(axis=1)[:, None], both.sum(axis=0)[None], both.sum(axis=(0, 1))
    n_left, n_right = both.shape[:2]
    shares = (left + MARGIN) / (total + MARGIN * n_left) * (right + MARGIN) / (total + MARGIN * n_right)
    return np.asarray(shares)
