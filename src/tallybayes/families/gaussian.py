"""Gaussian: numbers, each column a bell curve per class.

log P(x | k) = Σ_d [ −½ log(2π σ²_kd) − (x_d − μ_kd)² / (2 σ²_kd) ], μ and σ² by maximum likelihood (÷ N_k), plus a
floor on the variance. With one σ²_d for all classes the log odds are linear in x.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels, kernels
from tallybayes.core.batch import Array, Labels
from tallybayes.core.family import Counting
from tallybayes.core.records import changed
from tallybayes.core.schema import Column, Kind
from tallybayes.core.summaries import Moments
from tallybayes.core.terms import Normal
from tallybayes.errors import CellError, NotAvailableError
from tallybayes.families._compiled import Compiled
from tallybayes.families._variances import of_normal


@dataclass(frozen=True)
class Normals:
    """Parameters of a Gaussian block, (K, d) each; a column that was never seen has zero precision and norm."""

    mean: Array
    variance: Array  # with the floor
    precision: Array  # 1 / variance
    log_norm: Array  # −½ log(2π variance)
    total: Array  # (K,) Σ_d log_norm
    epsilon: float | Array  # the floor that was added, for all columns or (1, d)

    def weighted(self, weights: Array) -> Normals:
        """The same, each column's logs times its weight (d,)."""
        log_norm = self.log_norm * weights
        return changed(self, precision=self.precision * weights, log_norm=log_norm, total=log_norm.sum(axis=1))

    def term(self, column: str, j: int, log: bool) -> Normal | None:
        """What one column adds to the scores; None where it is no evidence."""
        parts = self.mean[:, j], self.precision[:, j], self.log_norm[:, j]
        return Normal(column, *parts, log) if parts[1].any() or parts[2].any() else None

    def nodes(self, most: int) -> tuple[Array, Array]:
        """The nodes (K, m, d) and weights (m,) of Gauss and Hermite."""
        return normal_nodes(self.mean, np.where(self.precision > 0, self.variance, 0.0), most)

    def factors(self, j: int, x: str) -> tuple[str, ...] | None:
        """The densities of a number as they are written by hand."""
        if not self.precision[:, j].any():
            return None
        spread = np.sqrt(self.variance[:, j])
        return tuple(f"N({x}; {m:.4g}, {s:.3g})" for m, s in zip(self.mean[:, j], spread, strict=True))


@dataclass(frozen=True)
class Gaussian(Compiled):
    """A normal distribution per class and column.

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        Fraction of the largest column variance (over all rows) that is added to every variance.
    variance : {"class", "shared"}, default="class"
        A variance for each class, or one a column for all classes.
    ignore_constants : bool, default=False
        A column that never varied is no evidence. Otherwise it is a spike as wide as the floor, the same for every
        class, as in scikit-learn; where nothing varies at all there is no floor and it is no evidence either.
    floor : {"largest", "own"}, default="largest"
        What `var_smoothing` is a fraction of: the largest variance of the block's columns, as in scikit-learn, or each
        column's own, so that no column's parameters depend on the others.

    Examples
    --------
    >>> from tallybayes.core.batch import Labels
    >>> family = Gaussian()
    >>> x = np.array([[1e8], [1e8 + 1], [1e8 + 2]])
    >>> family.estimate(family.tally(x, Labels.hard(np.zeros(3, np.int32)), 1)).variance.round(6)
    array([[0.666667]])
    """

    var_smoothing: float = 1e-9
    variance: Literal["class", "shared"] = "class"
    ignore_constants: bool = False
    floor: Literal["largest", "own"] = "largest"
    name: ClassVar[str] = "gaussian"
    kind: ClassVar[Kind] = "numeric"
    reads: ClassVar[tuple[Kind, ...]] = ("numeric", "count")
    textbook: ClassVar[tuple[Kind, ...]] = ("numeric",)
    summary: ClassVar[type[Moments]] = Moments

    @classmethod
    def usual(cls) -> Gaussian:
        return cls(ignore_constants=True, floor="own")

    def by_itself(self) -> Gaussian:
        return replace(self, floor="own")

    def counted_by(self) -> Counting:
        return "moments"

    def tally(self, x: NDArray[Any], labels: Labels, n_classes: int) -> Moments:
        summary = Moments(*kernels.moments(x, labels, n_classes))
        if not np.isfinite(summary.m2).all():
            column = int(np.argwhere(~np.isfinite(summary.m2))[0, 1])
            row = int(np.nanargmax(np.abs(x[:, column])))
            raise CellError(f"holds {x[row, column]:g}, whose square overflows", "Rescale the column.", row, column)
        return summary

    def estimate(self, summary: Moments) -> Normals:
        merged = summary.merged()
        known, ever = summary.weight > 0, merged.weight > 0
        spread = np.divide(merged.m2, merged.weight, out=np.zeros_like(merged.m2), where=ever)
        # A class without a value in a column knows only what the column looks like over all classes.
        mean = np.where(known, summary.mean, merged.mean)
        if self.variance == "shared":
            within = summary.m2.sum(axis=0, keepdims=True)
            variance = np.divide(within, merged.weight, out=np.zeros_like(within), where=ever) + np.zeros_like(mean)
        else:
            own = np.divide(summary.m2, summary.weight, out=np.zeros_like(summary.m2), where=known)
            variance = np.where(known, own, spread)
        epsilon = self.var_smoothing * (spread if self.floor == "own" else float(spread.max(initial=0.0)))
        varied = spread > 0 if self.ignore_constants else spread + epsilon > 0
        ever = ever & varied
        variance = np.maximum(variance + epsilon, kernels.LEAST_VARIANCE)
        precision = np.where(ever, 1.0 / variance, 0.0)
        log_norm = np.where(ever, -0.5 * np.log(2.0 * np.pi * variance), 0.0)
        return Normals(mean, variance, precision, log_norm, log_norm.sum(axis=1), epsilon)

    def log_prob(self, params: Normals, x: NDArray[Any]) -> Array:
        return kernels.gaussian_scores(x, params.mean, params.precision, params.log_norm, params.total)

    def contributions(self, params: Normals, x: NDArray[Any]) -> Array:
        z = np.asarray(x, dtype=np.float64)[:, None, :] - params.mean
        with np.errstate(over="ignore"):  # beyond all measure is −inf
            return np.where(np.isnan(z), 0.0, params.log_norm - 0.5 * z**2 * params.precision)

    def variances(self, summary: Moments, params: Normals, x: NDArray[Any], weights: Array) -> Array:
        z = (np.asarray(x, dtype=np.float64)[:, None, :] - params.mean) * np.sqrt(params.precision)
        found = of_normal(z, summary.weight) * np.square(weights)
        return np.where(np.isnan(z) | (params.precision == 0.0), 0.0, found)

    def leave_one_out(self, summary: Moments, params: Normals, x: NDArray[Any], labels: Labels) -> Array:
        if self.floor == "own" and x.shape[1] > 1:  # each column by itself is a block whose largest variance is its own
            parts = [(summary.select(np.array([j])), np.asarray(x)[:, j : j + 1]) for j in range(x.shape[1])]
            return np.sum([self.leave_one_out(s, self.estimate(s), c, labels) for s, c in parts], axis=0)
        merged = np.concatenate([*summary.merged().arrays().values()])
        moments = (summary.weight, summary.mean, summary.m2)
        shared = self.variance == "shared"
        settings = self.var_smoothing, float(np.max(params.epsilon, initial=0.0)), shared, self.ignore_constants
        return kernels.gaussian_leave_one_out(x, labels, moments, merged, *settings)

    def _columns(self, summary: Moments) -> column_kernels.Tallied:
        """Each column as a block of its own."""
        return column_kernels.normal(summary, self.var_smoothing, self.variance == "shared", self.ignore_constants)

    def linear(self, params: Normals) -> tuple[Array, Array]:
        if self.variance != "shared":
            raise NotAvailableError(
                "Gaussian classes with their own variances have a quadratic boundary, so there are no linear weights; "
                "use variance='shared'"
            )
        return params.mean * params.precision, -0.5 * (params.mean**2 * params.precision).sum(axis=1)

    def sample(self, params: Normals, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        return rng.normal(params.mean[codes], np.sqrt(params.variance[codes]))

    def n_parameters(self, params: Normals) -> int:
        n_classes, d = params.mean.shape
        return n_classes * d + (d if self.variance == "shared" else n_classes * d)

    def joint_size(self, params: Normals) -> int:
        d = params.mean.shape[1]
        return 1 + d + d * (d + 1) // 2  # a mean and a full covariance matrix

    def terms(self, params: Normals, columns: Sequence[Column]) -> Iterator[tuple[int, Normal]]:
        for j, column in enumerate(columns):
            if (term := params.term(column.name, j, self.of_logs)) is not None:
                yield j, term

    def factors(self, params: Normals, column: int, value: Any) -> tuple[str, ...] | None:
        return params.factors(column, f"{value:g}")

    def nodes(self, params: Normals, most: int) -> tuple[Array, Array]:
        return params.nodes(most)

    def normal(self, params: Normals, columns: Sequence[int]) -> tuple[Array, Array]:
        chosen = list(columns)
        return params.mean[:, chosen], params.variance[:, chosen, None] * np.eye(len(chosen))


def normal_nodes(mean: Array, variance: Array, most: int) -> tuple[Array, Array]:
    """Values (K, m, d) that stand for normal distributions (K, d), and how much each of them counts (m,)."""
    z, share = np.polynomial.hermite_e.hermegauss(most)
    return mean[:, None, :] + np.sqrt(variance)[:, None, :] * z[:, None], share / share.sum()
