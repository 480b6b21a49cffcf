"""Categorical: one of a list of levels, a probability table per class and column.

θ_kc = (n_kc + a) / (n_k + a·C): a = 0 is maximum likelihood, a > 0 the MAP estimate (Laplace for a = 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Codes, Labels
from tallybayes.core.family import left_of, per_column, quiet_log, weighted_logs
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.errors import NotAvailableError
from tallybayes.families._tables import OfLevels, Tables, column_sums, each_column


@dataclass(frozen=True)
class Categorical(OfLevels):
    """A probability for every level, per class and column.

    Parameters
    ----------
    alpha : float or tuple of float, default=1.0
        Pseudocount of every level; one number, or one a column.
    unseen : {"ignore", "smooth"}, default="ignore"
        Evidence of an unseen category: none, or the probability that the smoothing gives one level.
    min_count : float, default=0.0
        Levels that weigh less than this over all classes are rare: they share one probability. The counts stay as
        they are, so a level can become common when more rows come.

    Examples
    --------
    >>> from tallybayes.core.batch import Codes, Labels
    >>> family = Categorical(alpha=0.0)
    >>> x = Codes(np.array([[0], [1], [1], [1]]), np.array([2]))
    >>> params = family.estimate(family.tally(x, Labels.hard(np.zeros(4, np.int32)), 1))
    >>> np.exp(params.of_column(0))
    array([[0.25, 0.75]])
    """

    alpha: float | tuple[float, ...] = 1.0
    unseen: Literal["ignore", "smooth"] = "ignore"
    min_count: float = 0.0
    name: ClassVar[str] = "categorical"
    kind: ClassVar[Kind] = "category"
    reads: ClassVar[tuple[Kind, ...]] = ("category", "boolean")
    textbook: ClassVar[tuple[Kind, ...]] = ("category", "boolean")
    by_column: ClassVar[frozenset[str]] = frozenset({"alpha"})

    def estimate(self, summary: Counts) -> Tables:
        assert summary.n_levels is not None
        count, n_levels = summary.count.T, summary.n_levels
        alpha = per_column(self.alpha, len(n_levels))
        rare = count.sum(axis=1) < self.min_count
        n_rare = column_sums(rare.astype(np.int64), n_levels)
        n_effective = n_levels - n_rare + (n_rare > 0)
        pool = np.repeat(column_sums(np.where(rare[:, None], count, 0.0), n_levels), n_levels, axis=0)
        mass = summary.weight.T + (alpha * n_effective)[:, None]
        log_prob = _log_ratio(
            np.where(rare[:, None], pool, count) + np.repeat(alpha, n_levels)[:, None],
            np.repeat(mass, n_levels, axis=0),
            np.repeat(n_effective, n_levels)[:, None],
        )
        unseen: Array | float = 0.0
        if self.unseen == "smooth":
            least = np.maximum(n_effective, 1)[:, None]
            unseen = _log_ratio(np.broadcast_to(alpha[:, None], mass.shape), mass, least)
        return Tables.of(log_prob, n_levels, unseen, n_effective, np.where(rare, np.repeat(n_rare, n_levels), 1))

    def known(self, summary: Counts, params: Tables) -> tuple[Array, Array, Array]:
        assert summary.n_levels is not None
        rare = summary.count.sum(axis=0) < self.min_count
        pool = column_sums(np.where(rare, summary.count, 0.0).T, summary.n_levels)
        count = np.where(rare[:, None], np.repeat(pool, summary.n_levels, axis=0), summary.count.T)
        alpha = per_column(self.alpha, len(summary.n_levels))
        mass = summary.weight.T + (alpha * params.n_effective)[:, None]
        return count, count + np.repeat(alpha, summary.n_levels)[:, None], mass

    def leave_one_out(self, summary: Counts, params: Tables, x: Codes, labels: Labels) -> Array:
        assert summary.n_levels is not None
        assert labels.codes is not None
        if self.min_count > 0:
            return self._leave_one_out_with_rare(summary, x, labels.codes, labels.weight)
        out = self.log_prob(params, x)
        alpha = per_column(self.alpha, x.shape[1])
        count, weight = np.ascontiguousarray(summary.count.T), np.ascontiguousarray(summary.weight)
        codes = Codes(x.matrix, summary.n_levels)
        out[np.arange(len(out)), labels.codes] = kernels.table_leave_one_out(codes, labels, count, weight, alpha)
        return out

    def _leave_one_out_with_rare(self, summary: Counts, x: Codes, y: NDArray[np.int32], w: Array) -> Array:
        """Without its row a level may turn rare, and then every class's probability of it is another."""
        assert summary.n_levels is not None
        alpha = per_column(self.alpha, x.shape[1])
        taken = np.zeros((len(y), len(summary.count)))  # (n, K) what the row takes from its own class
        taken[np.arange(len(y)), y] = w
        out = np.zeros_like(taken)
        for j, (cells, code, seen) in enumerate(each_column(summary, x)):
            n_levels = int(summary.n_levels[j])
            if not n_levels:
                continue
            count = summary.count[:, cells].T  # (C, K)
            rare = count.sum(axis=1) < self.min_count
            at = count[code]
            now_rare = at.sum(axis=1) - w < self.min_count
            turned = now_rare & ~rare[code]
            pool = count[rare].sum(axis=0) + np.where(turned[:, None], at, 0.0)
            n_rare = rare.sum() + turned
            n_effective = n_levels - n_rare + (n_rare > 0)
            left = left_of(np.where(now_rare[:, None], pool, at), taken * seen[:, None])
            mass = (
                left_of(summary.weight[:, j] + 0.0 * taken, taken * seen[:, None]) + (alpha[j] * n_effective)[:, None]
            )
            out += np.where(seen[:, None], _log_ratio(left + alpha[j], mass, n_effective[:, None]), 0.0)
        return out

    def log_penalty(self, params: Tables) -> float:
        n_cells = np.diff(params.start)
        alpha = np.repeat(per_column(self.alpha, len(n_cells)), n_cells)
        alpha[params.start[1:] - 1] = 0.0  # the cell for unseen values is no level
        return weighted_logs((alpha / params.sharing)[:, None], params.table)

    def linear(self, params: Tables) -> tuple[Array, Array]:
        raise NotAvailableError(
            "a categorical model is linear in one-hot columns, not in the codes; read the tables in feature_log_prob_"
        )


def _log_ratio(count: Array, mass: Array, n_levels: NDArray[Any]) -> Array:
    """Log of count / mass; where there is neither a row nor smoothing, its limit as the smoothing vanishes: 1 in C."""
    nothing = mass == 0.0
    return np.where(nothing, -np.log(n_levels), quiet_log(count) - np.log(np.where(nothing, 1.0, mass)))
