"""Families of numbers whose parameters are a function of each column's moments: all but the formula and the sample.

Such a family declares its log density as an expression of the moments; scoring, leave-one-out, counting in an engine,
export and pictures follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Labels
from tallybayes.core.family import Counting, Family, refuse_below_least
from tallybayes.core.schema import Column, Kind
from tallybayes.core.summaries import Moments
from tallybayes.core.terms import Expression, Formula, at_column, evaluated
from tallybayes.errors import bad_number
from tallybayes.families.gaussian import Gaussian


@dataclass(frozen=True)
class Densities:
    """Log densities as an expression whose constants are of shape (K, d), and the parameters by name."""

    log_density: Expression
    by_name: Mapping[str, Array]  # (K, d) each

    def weighted(self, weights: Array) -> Densities:
        """The same, each column's logs times its weight (d,)."""
        return replace(self, log_density=("mul", weights, self.log_density))

    def of_column(self, column: int, x: Array) -> Array:
        """Log density (n, K) of the numbers (n,) of one column; zero where there is none."""
        missing = np.isnan(x)
        with np.errstate(over="ignore"):  # beyond all measure is −inf
            logs = evaluated(at_column(self.log_density, column), np.where(missing, 1.0, x)[:, None])
        return np.where(missing[:, None], 0.0, logs)


class OfMoments(Family):
    """A family of numbers that is estimated from the moments of each column by itself."""

    kind: ClassVar[Kind] = "numeric"
    reads: ClassVar[tuple[Kind, ...]] = ("numeric", "count")
    summary: ClassVar[type[Moments]] = Moments

    def counted_by(self) -> Counting:
        return "moments"

    def tally(self, x: NDArray[Any], labels: Labels, n_classes: int) -> Moments:
        refuse_below_least(self, x)
        return Gaussian().tally(x, labels, n_classes)

    def log_prob(self, params: Densities, x: NDArray[Any]) -> Array:
        numbers = self._held(x)
        return np.sum([params.of_column(j, numbers[:, j]) for j in range(x.shape[1])], axis=0)

    def contributions(self, params: Densities, x: NDArray[Any]) -> Array:
        numbers = self._held(x)
        return np.stack([params.of_column(j, numbers[:, j]) for j in range(x.shape[1])], axis=2)

    def leave_one_out(self, summary: Moments, params: Densities, x: NDArray[Any], labels: Labels) -> Array:
        """For each column the moments without each row, side by side as if they were columns."""
        assert labels.codes is not None
        numbers, rows = self._held(x), np.arange(len(x))
        out = np.zeros((len(x), len(summary.weight)))
        for j in range(x.shape[1]):
            value, seen = np.nan_to_num(numbers[:, j]), ~np.isnan(numbers[:, j])
            weight, mean = np.zeros((2, len(summary.weight), len(x)))
            weight[labels.codes, rows], mean[labels.codes, rows] = np.where(seen, labels.weight, 0.0), value
            mean = np.where(weight > 0, mean, 0.0)
            each = summary.select(np.full(len(x), j)) - Moments(weight, mean, np.zeros_like(mean))
            logs = evaluated(self.estimate(each).log_density, np.where(seen, value, 1.0))
            out += np.where(seen, logs, 0.0).T
        return out

    def _held(self, x: NDArray[Any]) -> Array:
        """The numbers that the family can hold; others are no evidence, and an infinite one is an error."""
        values = np.asarray(x, dtype=np.float64)
        if np.isinf(values).any():
            row, column = (int(i) for i in np.argwhere(np.isinf(values))[0])
            raise bad_number(float(values[row, column]), row, column)
        if self.least == -np.inf:
            return values
        return np.where(values > self.least if self.above_least else values >= self.least, values, np.nan)

    def n_parameters(self, params: Densities) -> int:
        return sum(each.size for each in params.by_name.values())

    def terms(self, params: Densities, columns: Sequence[Column]) -> Iterator[tuple[int, Formula]]:
        for j, column in enumerate(columns):
            yield j, Formula(column.name, at_column(params.log_density, j), self.least if self.above_least else None)


def location_and_variance(summary: Moments, var_smoothing: float) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Mean and variance (K, d), the latter with a share of the column's own added, and which columns are evidence."""
    normal = Gaussian(var_smoothing, ignore_constants=True, floor="own").estimate(summary)
    return normal.mean, normal.variance, normal.precision > 0
