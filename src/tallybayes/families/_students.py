"""Student's t of five degrees of freedom for numbers together, against that of each alone; see `correlation`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.records import changed
from tallybayes.core.scatter import PRODUCTS, Scatter
from tallybayes.core.terms import DEGREES

SLICE = 1 << 16  # numbers worked on at a time, so that they stay in the cache
GROUP = 16  # factors that are multiplied before the logarithm of their product is taken: no product overflows


@dataclass(frozen=True)
class Students:
    """Parameters of a block of numbers: a centre and a matrix per class, in standard units."""

    mean: Array  # (K, d)
    matrix: Array  # (K, d, d)
    power: float = 1.0  # weight of the evidence

    def weighted(self, weights: Array) -> Students:
        """The same with a weight (1,) on the evidence."""
        return changed(self, power=self.power * float(weights[0]))

    @cached_property
    def axes(self) -> Array:
        """What turns deviations into independent ones of spread one, shape (K, d, d): the last axis is the column."""
        return np.tril(np.linalg.inv(np.linalg.cholesky(self.matrix)))

    @cached_property
    def precision(self) -> Array:
        """One over the squared scale (K, d) of each number alone."""
        return np.asarray(1.0 / np.einsum("kii->ki", self.matrix))

    @cached_property
    def log_norm(self) -> Array:
        """Log (K,) of the norm of the numbers together over the product of those of each alone."""
        alone, together = np.log(self.precision).sum(axis=1), np.linalg.slogdet(self.matrix)[1]
        return np.asarray(log_norm_of(self.mean.shape[1]) - 0.5 * (alone + together))


def log_norm_of(d: int) -> float:
    """The part of the log of the norms that has no matrix in it; zero for a single number."""
    half = DEGREES / 2.0
    return math.lgamma(half + d / 2.0) - math.lgamma(half) - d * (math.lgamma(half + 0.5) - math.lgamma(half))


@dataclass(frozen=True)
class Shrunk:
    """Parameters of a block for several shrinkages, whose matrices have the same axes.

    With W = LLᵀ and L⁻¹(n_k C_k)L⁻ᵀ = QΛQᵀ, the axes of class k are QᵀL⁻¹ for every shrinkage ν, and the square of the
    spread along each is (λ + νD) / (n_k + νD).
    """

    mean: Array  # (K, d)
    axes: Array  # (K, d, d)
    closeness: Array  # (K, S, d) one over the squared spread along each axis
    precision: Array  # (S, K, d) one over the squared scale of each number alone
    log_norm: Array  # (S, K)

    @classmethod
    def of(cls, summary: Scatter, shared: Students, shrinkages: Sequence[float]) -> Shrunk:
        """From what was counted, the parameters of one matrix for all classes, and the shrinkages."""
        d, whole = shared.mean.shape[1], np.isinf(shrinkages)[:, None, None]
        axes = shared.axes[:1]
        own, turn = np.linalg.eigh(axes @ summary.product @ axes.swapaxes(1, 2))
        rows = np.array([each * d if math.isfinite(each) else 1.0 for each in shrinkages])[:, None, None]
        mass = summary.weight[:, :, 0] + rows  # (S, K, 1)
        spread = np.where(whole, 1.0, (np.maximum(own, 0.0) + rows) / mass)
        squares = np.einsum("kii->ki", summary.product) + rows / shared.precision
        precision = np.where(whole, shared.precision, mass / squares)
        log_det = np.log(spread).sum(axis=2) - 2.0 * np.log(np.diagonal(axes[0])).sum()
        log_norm = log_norm_of(d) - 0.5 * (np.log(precision).sum(axis=2) + log_det)
        closeness = np.ascontiguousarray((1.0 / spread).swapaxes(0, 1))
        return cls(shared.mean, turn.swapaxes(1, 2) @ axes, closeness, precision, log_norm)

    def log_probs(self, z: Array) -> list[Array]:
        """Scores (n, K) of numbers in standard units for each shrinkage; a row that lacks one has none."""
        (n_classes, d), n_shrinkages = self.mean.shape, len(self.precision)
        found, step = np.empty((n_shrinkages, len(z), n_classes)), rows_at_once(d)
        for first in range(0, len(z), step):
            x = z[first : first + step].T
            width = max(1, SLICE // max(x.size, 1))  # classes at a time
            for some in (slice(low, low + width) for low in range(0, n_classes, width)):
                u = x - self.mean[some, :, None]
                far = self.closeness[some] @ np.square(self.axes[some] @ u)
                np.square(u, out=u)
                for s in range(n_shrinkages):
                    score = together_beyond(far[:, s], u * self.precision[s, some, :, None])
                    found[s, first : first + step, some] = score.T + self.log_norm[s, some]
        found[:, np.isnan(z).any(axis=1)] = 0.0
        return list(found)


def rows_at_once(d: int) -> int:
    """Rows worked on at a time."""
    return max(64, min(SLICE // max(d, 1), PRODUCTS // max(d * d, 1)))


def together_beyond(far: Array, square: Array) -> Array:
    """What depends on the row (…, n) of a score: its squared distance (…, n), and that of each number (…, d, n)."""
    alone, d = np.zeros_like(far), square.shape[-2]
    square /= DEGREES
    square += 1.0
    for first in range(0, d, GROUP):
        alone += np.log(np.multiply.reduce(square[..., first : first + GROUP, :], axis=-2))
    return np.asarray(0.5 * (DEGREES + 1.0) * alone - 0.5 * (DEGREES + d) * np.log1p(far / DEGREES))
