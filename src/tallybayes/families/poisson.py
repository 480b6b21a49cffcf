"""Poisson: how often something happened, a rate per class and column.

P(x | k) = Π_d λ_kd^x_d e^(−λ_kd) / x_d!, λ_kd = (t_kd + a) / (n_kd + a): a rows of one event each are added, the MAP
estimate under a Gamma prior. The factorials are the same for all classes and are `log_base`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Csr, Labels
from tallybayes.core.family import MOST_DRAWN, Counting, Family, left_of, per_column, quiet_log, weighted_logs
from tallybayes.core.schema import Column, Kind
from tallybayes.core.summaries import Counts
from tallybayes.core.terms import Line
from tallybayes.errors import NotAvailableError
from tallybayes.families._linear import Dense, Linear, Slopes, log_factorials, times_log, vetoes
from tallybayes.families._variances import HALF


@dataclass(frozen=True)
class Rates(Linear):
    """Parameters of a Poisson block."""

    rate: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (K, d)


@dataclass(frozen=True)
class Poisson(Family):
    """A rate of events, per class and column.

    Parameters
    ----------
    alpha : float or tuple of float, default=1.0
        Rows of one event that are added to every class; one number, or one a column.

    Examples
    --------
    >>> from tallybayes.core.batch import Labels
    >>> family = Poisson(alpha=0.0)
    >>> x = np.array([[1.0], [2.0], [6.0]])
    >>> family.estimate(family.tally(x, Labels.hard(np.zeros(3, np.int32)), 1)).rate
    array([[3.]])
    """

    alpha: float | tuple[float, ...] = 1.0
    name: ClassVar[str] = "poisson"
    kind: ClassVar[Kind] = "count"
    reads: ClassVar[tuple[Kind, ...]] = ("count", "numeric")
    textbook: ClassVar[tuple[Kind, ...]] = ("count",)
    summary: ClassVar[type[Counts]] = Counts
    least: ClassVar[float] = 0.0
    by_column: ClassVar[frozenset[str]] = frozenset({"alpha"})

    def counted_by(self) -> Counting:
        return "sums"

    def tally(self, x: NDArray[Any] | Csr, labels: Labels, n_classes: int) -> Counts:
        return Counts(*kernels.event_sums(x, labels, n_classes, None))

    def estimate(self, summary: Counts) -> Rates:
        rate = _rates(summary.count, summary.weight, per_column(self.alpha, summary.count.shape[1]))
        columns_first = np.ascontiguousarray(rate.T)
        never = columns_first == 0.0
        return Rates(Slopes(np.log(np.where(never, 1.0, columns_first)), -columns_first), vetoes(never), rate)

    def log_prob(self, params: Rates, x: NDArray[Any] | Csr) -> Array:
        return params.log_prob(x)

    def contributions(self, params: Rates, x: NDArray[Any] | Csr) -> Array:
        return params.contributions(x)

    def variances(self, summary: Counts, params: Rates, x: NDArray[Any] | Csr, weights: Array) -> Array:
        values = np.asarray(x.dense() if isinstance(x, Csr) else x, dtype=np.float64)[:, None, :]
        rate = np.maximum(params.rate, HALF / np.maximum(summary.weight, 1.0))
        rows = np.maximum(summary.weight + per_column(self.alpha, params.rate.shape[1]), 1.0)
        return np.where(np.isnan(values), 0.0, (values - rate) ** 2 / (rate * rows) * np.square(weights))

    def leave_one_out(self, summary: Counts, params: Rates, x: NDArray[Any] | Csr, labels: Labels) -> Array:
        assert labels.codes is not None
        out, k, w = params.log_prob(x), labels.codes, labels.weight
        alpha = per_column(self.alpha, summary.count.shape[1])
        uneven = summary.weight.shape[1] > 1 or np.ptp(alpha) > 0  # dense rows with missing values were learned as well
        if isinstance(x, Csr) and uneven:
            x = x.dense()
        if isinstance(x, Csr):
            words, length = kernels.words_without(x, labels, summary.count.T, alpha[:1])
            rest = left_of(summary.weight[k, 0], w)
            mass = rest + alpha[0]
            own = np.where(mass > 0, words - times_log(length, np.where(mass > 0, mass, 1.0)), 0.0)
            # Σ_d λ_d in one piece: every column has the same weight.
            total = left_of(summary.class_total[k], w * length)
            own -= x.n_columns * _rates(total / x.n_columns, rest, alpha[0])
        else:
            values, seen = Dense.of(x, None)
            took = w[:, None] * (np.ones_like(values) if seen is None else seen)
            left = left_of(summary.count[k], took * values)
            rate = _rates(left, left_of(summary.weight[k] + 0.0 * took, took), alpha)
            own = ((times_log(values, rate) - rate) * (1.0 if seen is None else seen)).sum(axis=1)
        out[np.arange(len(out)), k] = own
        return out

    def log_base(self, x: NDArray[Any] | Csr) -> Array:
        return -log_factorials(x)

    def log_penalty(self, params: Rates) -> float:
        alpha = per_column(self.alpha, params.rate.shape[1])
        return weighted_logs(alpha, quiet_log(params.rate) - params.rate)

    def linear(self, params: Rates) -> tuple[Array, Array]:
        return params.weights()

    def sample(self, params: Rates, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        return rng.poisson(np.minimum(params.rate[codes], MOST_DRAWN)).astype(np.float64)

    def n_parameters(self, params: Rates) -> int:
        return params.rate.size

    def joint_size(self, params: Rates) -> int:
        raise NotAvailableError("counts have no upper end, so their full joint has no finite number of parameters")

    def terms(self, params: Rates, columns: Sequence[Column]) -> Iterator[tuple[int, Line]]:
        return params.lines(columns)


def _rates(count: Array, weight: Array, alpha: Array | float) -> Array:
    """Smoothed events per row; one, the prior's mean, where there is neither a row nor smoothing."""
    mass = weight + alpha
    return np.where(mass > 0, (count + alpha) / np.where(mass > 0, mass, 1.0), 1.0)
