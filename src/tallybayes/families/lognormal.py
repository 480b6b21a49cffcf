"""Lognormal: positive numbers whose logarithm is a bell curve per class, such as incomes, sizes and waiting times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels
from tallybayes.core.batch import Array, Labels
from tallybayes.core.family import Counting, refuse_below_least
from tallybayes.core.schema import Column, Kind
from tallybayes.core.summaries import Moments
from tallybayes.core.terms import Normal
from tallybayes.families._compiled import Compiled
from tallybayes.families.gaussian import Gaussian, Normals


@dataclass(frozen=True)
class Lognormal(Compiled):
    """A normal distribution of log x, per class and column; a number that is not positive is no evidence.

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        Fraction of a column's variance (of the logs, over all rows) that is added to every class's.

    Examples
    --------
    >>> family = Lognormal()
    >>> x = np.exp([[1.0], [2.0], [3.0]])
    >>> family.estimate(family.tally(x, Labels.hard(np.zeros(3, np.int32)), 1)).mean.round(6)
    array([[2.]])
    """

    var_smoothing: float = 1e-9
    name: ClassVar[str] = "lognormal"
    kind: ClassVar[Kind] = "numeric"
    reads: ClassVar[tuple[Kind, ...]] = ("numeric", "count")
    summary: ClassVar[type[Moments]] = Moments
    least: ClassVar[float] = 0.0
    above_least: ClassVar[bool] = True

    @property
    def of_logs(self) -> bool:
        return True

    def counted_by(self) -> Counting:
        return "moments"

    @property
    def _normal(self) -> Gaussian:
        return Gaussian(self.var_smoothing, ignore_constants=True, floor="own")

    def tally(self, x: NDArray[Any], labels: Labels, n_classes: int) -> Moments:
        refuse_below_least(self, x)
        return self._normal.tally(_logs(x), labels, n_classes)

    def estimate(self, summary: Moments) -> Normals:
        return self._normal.estimate(summary)

    def log_prob(self, params: Normals, x: NDArray[Any]) -> Array:
        return self._normal.log_prob(params, _logs(x))

    def contributions(self, params: Normals, x: NDArray[Any]) -> Array:
        return self._normal.contributions(params, _logs(x))

    def variances(self, summary: Moments, params: Normals, x: NDArray[Any], weights: Array) -> Array:
        return self._normal.variances(summary, params, _logs(x), weights)

    def leave_one_out(self, summary: Moments, params: Normals, x: NDArray[Any], labels: Labels) -> Array:
        return self._normal.leave_one_out(summary, params, _logs(x), labels)

    def _columns(self, summary: Moments) -> column_kernels.Tallied:
        return column_kernels.normal(summary, self.var_smoothing, shared=False, ignore_constants=True, of_logs=True)

    def log_base(self, x: NDArray[Any]) -> Array:
        return np.asarray(-np.nansum(_logs(x), axis=1))  # d log x / dx = 1 / x

    def sample(self, params: Normals, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        return np.asarray(np.exp(self._normal.sample(params, codes, rng)))

    def n_parameters(self, params: Normals) -> int:
        return self._normal.n_parameters(params)

    def joint_size(self, params: Normals) -> int:
        return self._normal.joint_size(params)

    def terms(self, params: Normals, columns: Sequence[Column]) -> Iterator[tuple[int, Normal]]:
        for j, column in enumerate(columns):
            if (term := params.term(column.name, j, log=True)) is not None:
                yield j, term

    def factors(self, params: Normals, column: int, value: Any) -> tuple[str, ...] | None:
        return params.factors(column, f"log {value:g}")

    def nodes(self, params: Normals, most: int) -> tuple[Array, Array]:
        logs, share = params.nodes(most)
        return np.exp(np.clip(logs, -700.0, 700.0)), share

    def reach(self, params: Normals, values: Array) -> tuple[Array, Array]:
        low, high = super().reach(params, values)
        low = np.where(low < 0.1 * high, 0.0, low)
        return low, np.minimum(
            high, np.exp(np.minimum(params.mean + 2.0 * np.sqrt(params.variance), 700.0)).max(axis=0)
        )


def _logs(x: NDArray[Any]) -> Array:
    x = np.asarray(x, dtype=np.float64)
    return np.log(x, out=np.full_like(x, np.nan), where=x > 0)
