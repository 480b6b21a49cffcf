"""Categorical: one of a list of levels, a probability table per class and column.

θ_kc = (n_kc + a) / (n_k + a·C): a = 0 is maximum likelihood, a > 0 the MAP estimate (Laplace for a = 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.batch import MISSING, Array, Codes, Labels
from tallybayes.errors import NotAvailableError
from tallybayes.families._family import per_column, quiet_log
from tallybayes.tally import Counts


@dataclass(frozen=True)
class Tables:
    """Parameters of a categorical block; each column has one cell more than levels, for unseen values."""

    log_prob: Array  # (cells + d, K)
    start: NDArray[np.int64]  # (d + 1,) first cell of each column

    def of_column(self, column: int) -> Array:
        """Log probabilities (K, C) of the levels of one column."""
        return self.log_prob[self.start[column] : self.start[column + 1] - 1].T


@dataclass(frozen=True)
class Categorical:
    """A probability for every level, per class and column.

    Parameters
    ----------
    alpha : float or tuple of float, default=1.0
        Pseudocount of every level; one number, or one a column.
    unseen : {"ignore", "smooth"}, default="ignore"
        What a value that is none of the levels is worth: nothing, or the smoothing's mass for one level.

    Examples
    --------
    >>> from tallybayes.batch import Codes, Labels
    >>> family = Categorical(alpha=0.0)
    >>> x = Codes(np.array([[0], [1], [1], [1]]), np.array([2]))
    >>> params = family.estimate(family.tally(x, Labels.hard(np.zeros(4, np.int32)), 1))
    >>> np.exp(params.of_column(0))
    array([[0.25, 0.75]])
    """

    alpha: float | tuple[float, ...] = 1.0
    unseen: Literal["ignore", "smooth"] = "ignore"
    name: ClassVar[str] = "categorical"

    def tally(self, x: Codes, labels: Labels, n_classes: int) -> Counts:
        count = kernels.code_counts(x, labels, n_classes)
        return Counts(count.T, _column_sums(count, x.n_levels).T, x.n_levels)

    def estimate(self, summary: Counts) -> Tables:
        assert summary.n_levels is not None
        n_levels, alpha = summary.n_levels, per_column(self.alpha, len(summary.n_levels))
        count = summary.count.T + np.repeat(alpha, n_levels)[:, None]
        # With no smoothing and no row the ratio is 0/0; its limit as the smoothing vanishes is one in C.
        empty = np.repeat(summary.weight.T + (alpha * n_levels)[:, None] == 0.0, n_levels, axis=0)
        count[empty] = 1.0
        mass = _column_sums(count, n_levels)
        start = kernels.starts(n_levels + 1)
        table = np.zeros((int(start[-1]), count.shape[1]))
        is_level = np.ones(len(table), dtype=bool)
        is_level[start[1:] - 1] = False
        table[is_level] = quiet_log(count) - np.log(np.repeat(mass, n_levels, axis=0))
        if self.unseen == "smooth":
            table[~is_level] = quiet_log(np.broadcast_to(alpha[:, None], mass.shape)) - np.log(mass)
        return Tables(table, start)

    def log_prob(self, params: Tables, x: Codes) -> Array:
        return kernels.table_scores(x.matrix, params.start, params.log_prob)

    def contributions(self, params: Tables, x: Codes) -> Array:
        last = params.start[1:] - params.start[:-1] - 1
        codes = x.matrix.astype(np.int64)
        cell = params.start[:-1] + np.where((codes < 0) | (codes >= last), last, codes)
        parts = params.log_prob[cell].transpose(0, 2, 1)
        return np.where((codes == MISSING)[:, None, :], 0.0, parts)

    def leave_one_out(self, summary: Counts, params: Tables, x: Codes, labels: Labels) -> Array:
        assert summary.n_levels is not None
        assert labels.codes is not None
        out = self.log_prob(params, x)
        alpha = per_column(self.alpha, x.shape[1])
        count, weight = np.ascontiguousarray(summary.count.T), np.ascontiguousarray(summary.weight)
        codes = Codes(x.matrix, summary.n_levels)
        out[np.arange(len(out)), labels.codes] = kernels.table_leave_one_out(codes, labels, count, weight, alpha)
        return out

    def log_base(self, x: Codes) -> Array:
        return np.zeros(x.shape[0])

    def linear(self, params: Tables) -> tuple[Array, Array]:
        raise NotAvailableError(
            "a categorical model is linear in one-hot columns, not in the codes; read the tables in feature_log_prob_"
        )

    def sample(self, params: Tables, codes: NDArray[Any], rng: np.random.Generator) -> Codes:
        n_levels = np.diff(params.start) - 1
        drawn = np.empty((len(codes), len(n_levels)), dtype=np.int64)
        for j in range(len(n_levels)):
            below = np.exp(params.of_column(j)).cumsum(axis=1)[codes]
            drawn[:, j] = (rng.random((len(codes), 1)) * below[:, -1:] >= below).sum(axis=1)
        return Codes(drawn, n_levels)

    def n_parameters(self, params: Tables) -> int:
        return params.log_prob.shape[1] * int((np.diff(params.start) - 2).sum())

    def joint_size(self, params: Tables) -> int:
        return math.prod(int(levels) for levels in np.diff(params.start) - 1)


def _column_sums(cells: Array, n_levels: NDArray[np.int64]) -> Array:
    """Sum (d, K) of the cells of each column."""
    return np.add.reduceat(cells, kernels.starts(n_levels)[:-1], axis=0)
