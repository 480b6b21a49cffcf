"""Multinormal: numbers that vary together, a normal distribution over all columns per class.

log P(x | k) = −½ log|2π Σ_k| − ½ (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k), μ and Σ by maximum likelihood (÷ N_k). With one Σ for all
classes the log odds are linear in x: Gaussian discriminant analysis. It is the one family that is not naive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

import tallybayes.families._downdate as _downdate
from tallybayes.core.batch import Array, Labels
from tallybayes.core.family import Family
from tallybayes.core.scatter import Scatter, nothing, numbers_of, scatter_by_class
from tallybayes.core.schema import Column, Kind
from tallybayes.core.terms import Ellipsoid
from tallybayes.errors import CellError, NotAvailableError, RowError, UnlearnError
from tallybayes.families._ellipsoids import LEAST, Ellipsoids
from tallybayes.families.gaussian import normal_nodes

SLICE = 1 << 14  # rows summed at a time


@dataclass(frozen=True)
class Multinormal(Family):
    """A mean and a covariance matrix per class.

    Parameters
    ----------
    covariance : {"shared", "full", "diagonal", "spherical"}, default="shared"
        One matrix for all classes, one for each, only its diagonal, or only the mean of that.
    shrinkage : float in [0, 1], "auto" or None, default=None
        How far a matrix is moved towards the mean of its diagonal; "auto" takes the oracle approximating shrinkage
        (Chen et al. 2010) of the standardised columns, which needs nothing but the tally.

    Examples
    --------
    >>> from tallybayes.core.batch import Labels
    >>> family = Multinormal()
    >>> x = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 2.0], [2.0, 0.0]])
    >>> family.estimate(family.tally(x, Labels.hard(np.zeros(4, np.int32)), 1)).covariance
    array([[[1., 0.],
            [0., 1.]]])
    """

    covariance: Literal["shared", "full", "diagonal", "spherical"] = "shared"
    shrinkage: float | Literal["auto"] | None = None
    name: ClassVar[str] = "multinormal"
    kind: ClassVar[Kind] = "numeric"
    summary: ClassVar[type[Scatter]] = Scatter

    def tally(self, x: NDArray[Any], labels: Labels, n_classes: int) -> Scatter:
        found = nothing(n_classes, x.shape[1])
        for first in range(0, len(x), SLICE):
            part, these = numbers_of(x[first : first + SLICE], first), labels.rows(first, first + SLICE)
            found = found + scatter_by_class(part, these, n_classes)
        if not np.isfinite(found.product).all():
            column = int(np.argwhere(~np.isfinite(found.product))[0, 1])
            row = int(np.nanargmax(np.abs(x[:, column])))
            raise CellError(f"holds {x[row, column]:g}, whose square overflows", "Rescale the column.", row, column)
        return found

    def estimate(self, summary: Scatter) -> Ellipsoids:
        columns = summary.columns()
        whole = columns.merged()
        spread = np.sqrt(np.divide(whole.m2, whole.weight, out=np.zeros_like(whole.m2), where=whole.weight > 0))[0]
        mean = np.where(columns.weight > 0, columns.mean, whole.mean)
        matrices = summary.pooled()[None] if self.covariance == "shared" else summary.covariance()
        weight = columns.weight.max(axis=1, initial=0.0)
        if self.covariance == "shared":
            weight = weight.sum(keepdims=True)
        else:  # a class without rows knows only what all rows look like
            matrices = np.where((weight > 0)[:, None, None], matrices, summary.pooled())
        shaped = [self._shaped(matrix, spread, n) for matrix, n in zip(matrices, weight.tolist(), strict=True)]
        covariance, rank, shrinkage = (np.array(part) for part in zip(*shaped, strict=True))
        return Ellipsoids(mean, covariance, spread, rank, shrinkage)

    def _shaped(self, matrix: Array, spread: Array, weight: float) -> tuple[Array, int, float]:
        """The matrix in the form that was asked for, shrunk, and with some variance in every direction."""
        if self.covariance == "diagonal":
            matrix = np.diag(np.diag(matrix))
        seen = spread > 0
        unit = np.where(seen, spread, 1.0)
        scaled = (matrix / np.outer(unit, unit))[np.ix_(seen, seen)]
        if self.covariance == "spherical" and seen.any():
            scaled = np.diag(np.diag(matrix)[seen].mean() / unit[seen] ** 2)
        scaled, shrinkage = self._shrunk(scaled, unit[seen], weight)
        value, direction = np.linalg.eigh(scaled)
        rank = int((value > LEAST).sum())
        if rank < len(value):
            scaled = (direction * np.maximum(value, LEAST)) @ direction.T
        out = np.eye(len(matrix))
        out[np.ix_(seen, seen)] = scaled * np.outer(unit[seen], unit[seen])
        return out, rank, shrinkage

    def _shrunk(self, scaled: Array, unit: Array, weight: float) -> tuple[Array, float]:
        d = len(scaled)
        if self.shrinkage is None or not d or self.covariance == "spherical":  # which is shrunk all the way
            return scaled, 0.0
        if self.shrinkage != "auto":  # as in scikit-learn: towards the mean variance in the columns' own units
            target = np.mean(np.diag(scaled) * unit**2) / unit**2
            return (1.0 - self.shrinkage) * scaled + self.shrinkage * np.diag(target), self.shrinkage
        mean, square = float(np.trace(scaled)) / d, float(np.mean(scaled**2))
        excess = (weight + 1.0) * (square - mean**2 / d)
        share = min((square + mean**2) / excess, 1.0) if excess > 0 else 1.0
        return (1.0 - share) * scaled + share * mean * np.eye(d), share

    def log_prob(self, params: Ellipsoids, x: NDArray[Any]) -> Array:
        out = np.zeros((len(x), len(params.mean)))
        for rows, columns, z in params.patterns(numbers_of(x)):
            for k, (white, log_norm) in enumerate(params.whitened(columns)):
                deviation = (z - params.mean[k, columns]) / params.scale[columns]
                with np.errstate(over="ignore"):  # beyond all measure is −inf
                    out[rows, k] = log_norm - 0.5 * ((deviation @ white) ** 2).sum(axis=1)
        return out

    def contributions(self, params: Ellipsoids, x: NDArray[Any]) -> Array:
        """Each column's part in the sum z_i (Σ⁻¹ z)_i, and an even share of the constant."""
        out = np.zeros((len(x), *params.mean.shape))
        for rows, columns, z in params.patterns(numbers_of(x)):
            for k, (white, log_norm) in enumerate(params.whitened(columns)):
                deviation = (z - params.mean[k, columns]) / params.scale[columns]
                parts = log_norm / max(len(columns), 1) - 0.5 * deviation * (deviation @ white @ white.T)
                out[rows[:, None], k, columns] = parts
        return out

    def variances(self, summary: Scatter, params: Ellipsoids, x: NDArray[Any], weights: Array) -> Array:
        """In even parts: D²/n of the means and (D⁴ − 2D² + d)/2n of the matrix, where D is Mahalanobis' distance."""
        out = np.zeros((len(x), *params.mean.shape))
        rows_of = summary.columns().weight.max(axis=1, initial=1.0)
        for rows, columns, z in params.patterns(numbers_of(x)):
            for k, (white, _) in enumerate(params.whitened(columns)):
                square = (((z - params.mean[k, columns]) / params.scale[columns] @ white) ** 2).sum(axis=1)
                n_matrix = rows_of.sum() if self.covariance == "shared" else rows_of[k]
                found = square / rows_of[k] + (square**2 - 2.0 * square + len(columns)) / (2.0 * n_matrix)
                out[rows[:, None], k, columns] = (found / len(columns))[:, None] * np.square(weights[columns])
        return out

    def leave_one_out(self, summary: Scatter, params: Ellipsoids, x: NDArray[Any], labels: Labels) -> Array:
        """In closed form where taking a row out moves a matrix by a rank of one; otherwise row by row."""
        assert labels.codes is not None
        x = numbers_of(x)
        out, done = np.zeros((len(x), len(params.mean))), np.zeros(len(x), dtype=bool)
        if summary.complete and self.shrinkage != "auto":
            shrinkage = float(self.shrinkage or 0.0)
            out, done = _downdate.leave_one_out(summary, self.covariance, shrinkage, x, labels)
        for i in np.flatnonzero(~done):
            own = Labels.hard(labels.codes[i : i + 1], labels.weight[i : i + 1])
            try:
                without = summary - self.tally(x[i : i + 1], own, len(params.mean))
            except UnlearnError:
                raise RowError(int(i)) from None
            out[i] = self.log_prob(self.estimate(without), x[i : i + 1])[0]
        return out

    def linear(self, params: Ellipsoids) -> tuple[Array, Array]:
        if len(params.covariance) != 1 or self.covariance != "shared":
            raise NotAvailableError(
                "classes with covariance matrices of their own have a quadratic boundary, so there are no linear "
                "weights; use covariance='shared'"
            )
        columns = params.evidence
        white, _ = params.whitened(columns)[0]
        weights = np.zeros_like(params.mean)
        unit = params.scale[columns]
        weights[:, columns] = (params.mean[:, columns] / unit) @ white @ white.T / unit
        return weights, -0.5 * (weights * params.mean).sum(axis=1)

    def sample(self, params: Ellipsoids, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        drawn, columns = params.mean[codes].copy(), params.evidence
        noise = rng.standard_normal((len(codes), len(columns)))
        for k in np.unique(codes):
            own, matrix = codes == k, params.covariance[k % len(params.covariance)][np.ix_(columns, columns)]
            value, direction = np.linalg.eigh(matrix)
            root = direction * np.sqrt(np.maximum(value, 0.0))
            drawn[np.ix_(own, columns)] += noise[own] @ root.T
        return drawn

    def n_parameters(self, params: Ellipsoids) -> int:
        n_classes, d = params.mean.shape
        free = {"shared": d * (d + 1) // 2, "full": n_classes * d * (d + 1) // 2, "diagonal": n_classes * d}
        return n_classes * d + free.get(self.covariance, n_classes)

    def joint_size(self, params: Ellipsoids) -> int:
        d = params.mean.shape[1]
        return 1 + d + d * (d + 1) // 2

    def terms(self, params: Ellipsoids, columns: Sequence[Column]) -> Iterator[tuple[int, Ellipsoid]]:
        chosen = params.evidence
        axes, log_norm = zip(*params.whitened(chosen), strict=True)
        names = tuple(columns[c].name for c in chosen)
        yield (
            0,
            Ellipsoid(names, params.mean[:, chosen], params.scale[chosen], np.stack(axes), np.array(log_norm)),
        )

    def marginals(self, params: Ellipsoids, x: Array) -> Array:
        variance = params.variance
        wide = np.where(variance > 0, variance, 1.0)
        logs = -0.5 * (np.log(2.0 * np.pi * wide) + (x[:, None, :] - params.mean) ** 2 / wide)
        return np.where(variance > 0, logs, 0.0)

    def nodes(self, params: Ellipsoids, most: int) -> tuple[Array, Array]:
        return normal_nodes(params.mean, params.variance, most)

    def normal(self, params: Ellipsoids, columns: Sequence[int]) -> tuple[Array, Array]:
        chosen = list(columns)
        covariance = np.broadcast_to(params.covariance, (len(params.mean), *params.covariance.shape[1:]))
        return params.mean[:, chosen], covariance[:, chosen][:, :, chosen]
