"""Exponential: numbers from zero on that are the rarer the larger, such as waiting times and amounts.

log P(x | k) = −log μ_k − x / μ_k with the mean μ_kd = (Σ x + a·μ̄_d) / (n_kd + a), drawn towards the mean μ̄ of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels, kernels
from tallybayes.core.batch import Array, Csr, Labels
from tallybayes.core.family import Counting, left_of, per_column, refuse_below_least
from tallybayes.core.schema import Column, Kind
from tallybayes.core.summaries import Counts
from tallybayes.core.terms import Line
from tallybayes.families._compiled import Compiled
from tallybayes.families._linear import Dense, Linear, Slopes, Sparse


@dataclass(frozen=True)
class Means(Linear):
    """Slopes of x, and the means (K, d) they come from; one where every number is zero."""

    mean: Array = None  # type: ignore[assignment]

    least: ClassVar[float | None] = 0.0

    def _events(self, x: NDArray[Any] | Csr, threshold: float | None) -> Dense | Sparse:
        return super()._events(x if isinstance(x, Csr) else _held(x), threshold)


@dataclass(frozen=True)
class Exponential(Compiled):
    """A mean per class and column.

    Parameters
    ----------
    alpha : float or tuple of float, default=1.0
        How many rows the mean over all classes weighs as much as.

    Examples
    --------
    >>> family = Exponential(alpha=0.0)
    >>> x = np.array([[1.0], [2.0], [6.0]])
    >>> family.estimate(family.tally(x, Labels.hard(np.zeros(3, np.int32)), 1)).mean
    array([[3.]])
    """

    alpha: float | tuple[float, ...] = 1.0
    name: ClassVar[str] = "exponential"
    kind: ClassVar[Kind] = "numeric"
    reads: ClassVar[tuple[Kind, ...]] = ("numeric", "count")
    summary: ClassVar[type[Counts]] = Counts
    least: ClassVar[float] = 0.0
    by_column: ClassVar[frozenset[str]] = frozenset({"alpha"})

    def counted_by(self) -> Counting:
        return "sums"

    def tally(self, x: NDArray[Any], labels: Labels, n_classes: int) -> Counts:
        refuse_below_least(self, x)
        return Counts(*kernels.event_sums(x, labels, n_classes, None))

    def estimate(self, summary: Counts) -> Means:
        pooled = summary.count.sum(axis=0), summary.weight.sum(axis=0)
        mean = _means(summary.count, summary.weight, pooled, per_column(self.alpha, summary.count.shape[1]))
        return Means(Slopes(np.ascontiguousarray(-1.0 / mean.T), np.ascontiguousarray(-np.log(mean.T))), None, mean)

    def log_prob(self, params: Means, x: NDArray[Any]) -> Array:
        return params.log_prob(x)

    def contributions(self, params: Means, x: NDArray[Any]) -> Array:
        return params.contributions(x)

    def variances(self, summary: Counts, params: Means, x: NDArray[Any], weights: Array) -> Array:
        values = np.asarray(_held(x), dtype=np.float64)[:, None, :]
        rows = np.maximum(summary.weight + per_column(self.alpha, params.mean.shape[1]), 1.0)
        return np.where(np.isnan(values), 0.0, (values / params.mean - 1.0) ** 2 / rows * np.square(weights))

    def leave_one_out(self, summary: Counts, params: Means, x: NDArray[Any], labels: Labels) -> Array:
        assert labels.codes is not None
        rows, y, alpha = np.arange(len(x)), labels.codes, per_column(self.alpha, x.shape[1])
        x = np.asarray(x, dtype=np.float64)
        out = np.zeros((len(x), len(summary.count)))
        for j in range(x.shape[1]):
            seen = np.isfinite(x[:, j])
            value, w = np.where(seen, x[:, j], 0.0), np.where(seen, labels.weight, 0.0)
            count, weight = (np.repeat(have[:, j][None], len(x), axis=0) for have in (summary.count, summary.weight))
            count[rows, y], weight[rows, y] = left_of(count[rows, y], w * value), left_of(weight[rows, y], w)
            pooled = count.sum(axis=1, keepdims=True), weight.sum(axis=1, keepdims=True)
            mean = _means(count, weight, pooled, alpha[j : j + 1])
            out += np.where(seen[:, None], -np.log(mean) - value[:, None] / mean, 0.0)
        return out

    def _columns(self, summary: Counts) -> column_kernels.Tallied:
        return column_kernels.exponential(summary, per_column(self.alpha, summary.count.shape[1]))

    def linear(self, params: Means) -> tuple[Array, Array]:
        return params.weights()

    def sample(self, params: Means, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        return rng.exponential(params.mean[codes])

    def n_parameters(self, params: Means) -> int:
        return params.mean.size

    def terms(self, params: Means, columns: Sequence[Column]) -> Iterator[tuple[int, Line]]:
        return params.lines(columns)


def _held(x: NDArray[Any]) -> NDArray[Any]:
    """The numbers that are waiting times or amounts; one below zero is no evidence."""
    x = np.asarray(x, dtype=np.float64) if x.dtype == object else x
    below = x < 0
    return np.where(below, np.nan, x) if below.any() else x


def _means(count: Array, weight: Array, pooled: tuple[Array, Array], alpha: Array) -> Array:
    """Means drawn towards that of all rows; one, which is no evidence, where all numbers are zero or there is none."""
    overall = np.divide(pooled[0], pooled[1], out=np.zeros_like(pooled[0]), where=pooled[1] > 0)
    mass = weight + alpha
    own = np.divide(count + alpha * overall, mass, out=np.zeros_like(count), where=mass > 0)
    # A class without a row, or all of whose numbers are zero without smoothing, knows only the mean of all.
    mean = np.where(own > 0, own, overall)
    return np.where(mean > 0, mean, 1.0)
