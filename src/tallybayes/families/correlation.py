"""Correlation: the evidence of numbers together beyond that of each by itself.

log t₅(z; μ_k, Σ_k) − Σ_d log t₅(z_d; μ_kd, Σ_k,dd) with Student's t of five degrees of freedom, whose tails keep one
unusual row from outweighing all other evidence. The numbers are standardised by fixed units and clipped:
z = (x − centre) / scale within ±5, so that tallies of different rows add up. The matrix of a class is shrunk towards
that within all classes, W: Σ_k = (n_k C_k + νD W) / (n_k + νD). A row that lacks one of the numbers adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels
from tallybayes.core.batch import Array, Labels
from tallybayes.core.family import Family, left_of
from tallybayes.core.levels import few_of
from tallybayes.core.scatter import PRODUCTS, Scatter, numbers_of, standard_scatter
from tallybayes.core.schema import Column, Kind, plural
from tallybayes.core.summaries import check_numbers
from tallybayes.core.terms import DEGREES, FARTHEST, Together
from tallybayes.errors import NotAvailableError, SchemaError, SettingError
from tallybayes.families._students import SLICE, Shrunk, Students, log_norm_of, rows_at_once, together_beyond

RIDGE = 1e-3  # variance that the matrix within all classes has in every direction besides its own
CLEAR = 1e-3  # share of a determinant that must stay without a row; below it the matrix is factorised anew


def together(columns: Sequence[Column], taken: Collection[str] = ()) -> Column:
    """The block of several numeric columns, in the order of their names, under a name that is not taken.

    Examples
    --------
    >>> together([Column(name, "numeric") for name in ("length", "width", "height")])
    Column(height, length and width together: block)
    """
    names = sorted(column.name for column in columns)
    parts = tuple(Column(name, "numeric") for name in names)
    called = next(name for word in count() if (name := f"{few_of(names)} {'taken ' * word}together") not in taken)
    return Column(called, "block", parts=parts, reason="numbers that vary together")


def standardised(x: Array, weight: Array | None = None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The mean and the standard deviation of each column, over its finite values; the order of the rows is irrelevant.

    Examples
    --------
    >>> standardised(np.array([[1.0, 5e10], [3.0, np.nan], [5.0, 1e10]]))
    ((3.0, 30000000000.0), (1.632993161855452, 20000000000.0))
    """
    x = np.asarray(x, dtype=np.float64)
    weight = np.ones(len(x)) if weight is None else weight
    found = [column_kernels.units_of(column, weight) for column in x.T]
    return tuple(mean for mean, _ in found), tuple(deviation for _, deviation in found)


@dataclass(frozen=True)
class Correlation(Family):
    """A correction for how numbers vary together, per class.

    Parameters
    ----------
    centre, scale : tuple of float, default=()
        The units of the numbers: z = (x − centre) / scale; none if they are standardised already.
    shrinkage : float, default=8.0
        How far the matrix of each class is moved towards the one within all classes, as if that had been seen in so
        many rows for each number; with ``inf`` all classes share one.

    Examples
    --------
    >>> family = Correlation(shrinkage=0.1)
    >>> x = np.array([[1.0, 1.0], [-1.0, -1.0], [2.0, 2.0], [-2.0, -2.0]])
    >>> params = family.estimate(family.tally(x, Labels.hard(np.zeros(4, np.int32)), 1))
    >>> family.log_prob(params, np.array([[1.0, 1.0], [1.0, -1.0], [1.0, np.nan]])).round(2)
    array([[  5.38],
           [-25.98],
           [  0.  ]])
    """

    centre: tuple[float, ...] = field(default=(), repr=False)
    scale: tuple[float, ...] = field(default=(), repr=False)
    shrinkage: float = 8.0
    name: ClassVar[str] = "correlation"
    kind: ClassVar[Kind] = "block"
    summary: ClassVar[type[Scatter]] = Scatter
    is_correction: ClassVar[bool] = True
    is_document: ClassVar[bool] = True
    counts_by: ClassVar[frozenset[str]] = frozenset({"centre", "scale"})

    def __post_init__(self) -> None:
        units = np.array([self.centre, self.scale]) if len(self.centre) == len(self.scale) else np.full((2, 1), np.nan)
        if not (np.isfinite(units).all() and (units[1] > 0).all() and self.shrinkage > 0):
            raise SettingError("each number needs a centre and a scale above 0, and shrinkage must be above 0")

    def check(self, columns: Sequence[Column], summary: Scatter) -> None:
        super().check(columns, summary)
        most = 2.0 * FARTHEST  # no mean of clipped numbers is near it, however it was rounded
        check_numbers("mean", summary.mean, summary.mean.shape, -most, most)
        if len(columns) != 1:
            raise SchemaError(f"{self.name} reads one block of numbers, not {len(columns)}")

    def tally(self, x: NDArray[Any], labels: Labels, n_classes: int) -> Scatter:
        centre, scale = np.array(self.centre), np.array(self.scale)
        if not self.centre:  # they are standardised already
            centre, scale = np.zeros(x.shape[1]), np.ones(x.shape[1])
        return standard_scatter(x, labels, n_classes, centre, scale, FARTHEST)

    def estimate(self, summary: Scatter) -> Students:
        weight, product = summary.weight[:, 0, 0], summary.product
        d = product.shape[1]
        if len(self.centre) not in (0, d):
            raise SettingError(f"there are units of {plural(len(self.centre), 'number')} for a block of {d}")
        within = summary.pooled() + RIDGE * np.eye(d)
        mean = np.where(weight[:, None] > 0, summary.mean[:, :, 0], summary.columns().merged().mean)
        rows = self.shrinkage * d
        matrix = (product + rows * within) / (weight + rows)[:, None, None] if math.isfinite(rows) else within
        params = Students(mean, np.broadcast_to(matrix, product.shape))
        params.axes  # noqa: B018  what has no root is an error now, not at the first prediction
        return params

    def log_prob(self, params: Students, x: NDArray[Any]) -> Array:
        (n_classes, d), axes, precision = params.mean.shape, params.axes, params.precision
        out, step = np.zeros((len(x), n_classes)), rows_at_once(d)
        for first in range(0, len(x), step):
            z = self.standard(x[first : first + step], first).T
            score = out[first : first + step]
            width = max(1, SLICE // max(z.size, 1))  # classes at a time
            for low in range(0, n_classes, width):
                some = slice(low, low + width)
                u = z - params.mean[some, :, None]
                far = np.square(axes[some] @ u).sum(axis=1)
                score[:, some] = together_beyond(far, np.square(u, out=u) * precision[some, :, None]).T
            score += params.log_norm
            score[np.isnan(z).any(axis=0)] = 0.0
        return out * params.power

    def log_probs(self, summary: Scatter, x: NDArray[Any], shrinkages: Sequence[float]) -> list[Array]:
        """The same (n, K) for several shrinkages, for each of which the numbers are neither read nor turned again."""
        shared = replace(self, shrinkage=math.inf).estimate(summary)
        return Shrunk.of(summary, shared, shrinkages).log_probs(self.standard(x))

    def contributions(self, params: Students, x: NDArray[Any]) -> Array:
        return self.log_prob(params, x)[:, :, None]

    def variances(self, summary: Scatter, params: Students, x: NDArray[Any], weights: Array) -> Array:
        """By the derivatives in the mean, g, and in the matrix, A: gᵀΣg/n + 2 tr(AΣAΣ)/n."""
        z = self.standard(x)
        out, d = np.zeros((len(z), len(params.mean))), z.shape[1]
        rows = summary.weight[:, 0, 0] + (self.shrinkage * d if math.isfinite(self.shrinkage) else 0.0)
        for k, (matrix, mean) in enumerate(zip(params.matrix, params.mean, strict=True)):
            u, inverse, alone = z - mean, np.linalg.inv(matrix), params.precision[k]
            solved = u @ inverse
            pull = (DEGREES + d) / (DEGREES + (u * solved).sum(axis=1, keepdims=True))
            own = (DEGREES + 1.0) / (DEGREES + u**2 * alone)
            by_mean = pull * solved - own * u * alone
            by_matrix = 0.5 * (pull[:, :, None] * solved[:, :, None] * solved[:, None, :] - inverse)
            by_matrix[:, range(d), range(d)] += 0.5 * alone * (1.0 - own * u**2 * alone)
            turned = by_matrix @ matrix
            total = np.einsum("ni,ij,nj->n", by_mean, matrix, by_mean) + 2.0 * np.einsum("nij,nji->n", turned, turned)
            out[:, k] = total / max(rows[k], 1.0)
        missing = np.isnan(z).any(axis=1, keepdims=True)
        return np.where(missing, 0.0, out) * float(weights[0]) ** 2

    def leave_one_out(self, summary: Scatter, params: Students, x: NDArray[Any], labels: Labels) -> Array:
        """Without a row each matrix changes by a multiple of one product d dᵀ, d the row's deviation from its class."""
        assert labels.codes is not None
        z, out = self.standard(x), np.zeros((len(x), len(params.mean)))
        complete = ~np.isnan(z).any(axis=1)
        for weight in np.unique(labels.weight[complete]):  # rows of one weight leave the same matrices behind
            rows = np.flatnonzero(complete & (labels.weight == weight))
            step = rows_at_once(z.shape[1])
            for first in range(0, len(rows), step):
                some = rows[first : first + step]
                out[some] = self._without(summary, z[some], labels.codes[some], float(weight))
        return out

    def _without(self, summary: Scatter, z: Array, y: NDArray[Any], weight: float) -> Array:
        """Scores (n, K) of complete rows of one weight, each without itself."""
        have, mean = summary.weight[:, 0, 0], summary.mean[:, :, 0]
        (n, d), n_classes = z.shape, len(have)
        rest, total = left_of(have[y], weight), float(left_of(have.sum(), weight))
        is_last = rest == 0.0  # of its class: there is no deviation, and no spread that it takes away
        off = np.where(is_last[:, None], 0.0, z - mean[y])
        taken = np.divide(weight * have[y], rest, out=np.zeros(n), where=~is_last)
        others = have @ mean - weight * z  # sum of all rows but this: the centre of classes without any
        others = others / total if total > 0 else np.zeros_like(others)
        within = (summary.product.sum(axis=0) / total if total > 0 else 0.0) + RIDGE * np.eye(d)
        pooled = taken / total if total > 0 else np.zeros(n)
        out, width = np.empty((n, n_classes)), max(1, PRODUCTS // max(n * d, 1))  # classes at a time
        for some in (slice(first, first + width) for first in range(0, n_classes, width)):
            own = y == np.arange(n_classes)[some, None]
            left = np.where(own, rest, have[some, None])
            own_mean = mean[some, None] - own[:, :, None] * (taken / np.maximum(have[y], 1e-300))[:, None] * off
            centre = np.where((left > 0)[:, :, None], own_mean, others)
            base, change, size = within[None], np.broadcast_to(pooled, own.shape), np.ones(own.shape)
            if not math.isinf(self.shrinkage):
                rows = self.shrinkage * d
                base = summary.product[some] + rows * within
                change, size = rows * pooled + np.where(own, taken, 0.0), left + rows
            out[:, some] = _changed(base, change, size, off, z - centre).T
        return out

    def standard(self, x: NDArray[Any], first: int = 0) -> Array:
        """The numbers in standard units, clipped; NaN where one is missing."""
        values = numbers_of(x, first)
        if not self.centre:
            return np.clip(values, -FARTHEST, FARTHEST)
        with np.errstate(over="ignore"):  # what is beyond all measure is clipped
            z = values - self.centre
            z /= self.scale
        return np.clip(z, -FARTHEST, FARTHEST, out=z)

    def sample(self, params: Students, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        raise NotAvailableError("a block corrects the evidence of other columns; it has no values of its own")

    def n_parameters(self, params: Students) -> int:
        n_classes, d = params.mean.shape
        return n_classes * d + (1 if math.isinf(self.shrinkage) else n_classes) * d * (d + 1) // 2

    def joint_size(self, params: Students) -> int:
        return 1  # they are part of the joint of the columns already

    def described(self) -> str:
        return "how they vary together"

    def terms(self, params: Students, columns: Sequence[Column]) -> Iterator[tuple[int, Together]]:
        d = params.mean.shape[1]
        centre, scale = np.array([self.centre or (0.0,) * d, self.scale or (1.0,) * d])
        names = tuple(part.name for part in columns[0].inputs)
        axes = params.axes.transpose(0, 2, 1)
        yield 0, Together(names, centre, scale, params.mean, axes, params.precision, params.log_norm, params.power)


def _changed(base: Array, change: Array, size: Array, off: Array, e: Array) -> Array:
    """Scores (k, n) at deviations e (k, n, d) under the matrices (base − change · off offᵀ) / size.

    The base (k, d, d) is of a class, or one of all; change and size (k, n) are of both, off (n, d) is of a row.
    """
    d = base.shape[-1]
    white = np.linalg.inv(np.linalg.cholesky(base)).swapaxes(1, 2)
    u, v = e @ white, off @ white
    left = 1.0 - change * (v**2).sum(axis=2)  # what of the determinant the row leaves (Sherman and Morrison 1950)
    diagonal = np.einsum("kii->ki", base)[:, None] - change[:, :, None] * off**2
    with np.errstate(divide="ignore", invalid="ignore"):  # those rows follow
        far = size * ((u**2).sum(axis=2) + change * (u * v).sum(axis=2) ** 2 / left)
        log_det = np.log(left) - 2.0 * np.log(np.einsum("kii->ki", white)).sum(axis=1)[:, None]
    near, matrices = np.argwhere(left < CLEAR), np.broadcast_to(base, (len(e), d, d))
    for first in range(0, len(near), 256):
        k, rows = near[first : first + 256].T
        product = off[rows, :, None] * off[rows, None, :]
        root = np.linalg.cholesky(matrices[k] - change[k, rows, None, None] * product)
        far[k, rows] = size[k, rows] * (np.linalg.solve(root, e[k, rows, :, None])[:, :, 0] ** 2).sum(axis=1)
        log_det[k, rows] = 2.0 * np.log(np.einsum("nii->ni", root)).sum(axis=1)
    norm = log_norm_of(d) + 0.5 * (np.log(diagonal).sum(axis=2) - log_det)  # the sizes cancel
    return np.asarray(norm + together_beyond(far, (e**2 * size[:, :, None] / diagonal).swapaxes(1, 2)))
