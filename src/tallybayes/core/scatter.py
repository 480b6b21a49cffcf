"""Weighted scatter matrices: what discriminant analysis counts, in the same algebra as every other summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native
from tallybayes.core.batch import Array, Labels, is_readable
from tallybayes.core.equality import ByValue
from tallybayes.core.schema import Column, amount, plural
from tallybayes.core.summaries import EPS, MOST_WEIGHT, Index, Moments, check_numbers, take_back
from tallybayes.errors import bad_number

FEW = 32  # rows of a class: of fewer, all classes are summed together
PRODUCTS = 1 << 19  # that are summed at a time: a BLAS starts no threads for them that get in the way of ours


@dataclass(frozen=True, eq=False)
class Scatter(ByValue):
    """Weighted centred products of every two columns: `Moments` of pairs.

    A pair of columns is counted over the rows that have a value in both (pairwise complete). Where no value is
    missing all pairs have the same rows, and weight and mean are kept once.

    Examples
    --------
    >>> one = Scatter(np.full((1, 1, 1), 2.0), np.ones((1, 1, 1)), np.full((1, 1, 1), 2.0))  # the values 0 and 2
    >>> one + one
    Scatter(1 class, 1 column, weight 4)
    """

    weight: Array  # (K, d, d) or (K, 1, 1) Σ w over the rows in which both columns have a value
    mean: Array  # (K, d, d) or (K, d, 1); entry (k, i, j) is the mean of column i over those rows
    product: Array  # (K, d, d) Σ w (x_i − mean_ij) (x_j − mean_ji)
    rounding: Array | None = field(default=None, compare=False)  # (2, K, d) of means and squares, as in `Moments`

    def __add__(self, other: Scatter) -> Scatter:
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        delta = other.mean - self.mean
        mean = np.where(self.weight > 0, self.mean + delta * share, other.mean)
        product = self.product + other.product + _squared(delta) * (self.weight * share)
        return Scatter(weight, mean, product, (self.columns() + other.columns()).rounding)

    def __sub__(self, other: Scatter) -> Scatter:
        mine, theirs = np.broadcast_arrays(self.weight, other.weight)
        weight = take_back(mine, theirs)
        left = weight > 0
        ratio = np.divide(theirs, weight, out=np.zeros_like(weight), where=left)
        delta = np.where(left, self.mean - other.mean, 0.0)
        product = np.where(left, self.product - other.product - _squared(delta) * (mine * ratio), 0.0)
        before = self.columns()
        rounding = (before - other.columns()).rounding  # refuses rows that cannot have been there
        found = Scatter(weight, np.where(left, self.mean + delta * ratio, 0.0), product, rounding)
        return found._without_rounding(before)

    def _without_rounding(self, before: Moments) -> Scatter:
        """What rounding leaves of a column's variation is nothing, and neither are its products with others."""
        now = self.columns()
        whole, all_before = now.merged(), before.merged()
        noise = 4 * EPS * np.abs(all_before.mean) * np.sqrt(all_before.m2 * all_before.weight)
        flat = (now.m2 <= 1e-13 * before.m2) | (whole.m2 <= 1e-13 * all_before.m2 + noise)
        if not flat.any():
            return self
        product = np.where(flat[:, :, None] | flat[:, None, :], 0.0, self.product)
        everywhere = (whole.m2 <= 1e-13 * all_before.m2 + noise) & (now.weight > 0)
        mean = np.where((everywhere[:, :, None]) & (self.weight > 0), whole.mean[:, :, None], self.mean)
        return Scatter(self.weight, mean, product, self.rounding)

    def __mul__(self, factor: float) -> Scatter:
        if factor == 0:
            return Scatter(self.weight * 0.0, self.mean * 0.0, self.product * 0.0)
        rounding = None if self.rounding is None else self.rounding * np.reshape((1.0, factor), (2, 1, 1))
        return Scatter(self.weight * factor, self.mean, self.product * factor, rounding)

    def align(self, classes: Index, cells: Index) -> Scatter:
        """Re-index onto a larger set of classes; numbers have no levels."""
        return self._mapped(lambda table: classes.spread(table, 0))

    def restrict(self, classes: Index, cells: Index) -> Scatter:
        """The scatter of some classes; the inverse of `align`."""
        return self._mapped(lambda table: classes.gather(table, 0))

    def _mapped(self, change: Callable[[Array], Array]) -> Scatter:
        rounding = None if self.rounding is None else np.stack([change(table) for table in self.rounding])
        return Scatter(change(self.weight), change(self.mean), change(self.product), rounding)

    def select(self, columns: NDArray[np.intp]) -> Scatter:
        """The scatter of some columns."""

        def some(table: Array) -> Array:
            table = table if table.shape[1] == 1 else table[:, columns]
            return np.ascontiguousarray(table if table.shape[2] == 1 else table[:, :, columns])

        if len(self.product[0]) == 1:  # one column is not to be taken for one that stands for all
            return self
        rounding = None if self.rounding is None else self.rounding[:, :, columns]
        return Scatter(some(self.weight), some(self.mean), self.product[:, columns][:, :, columns], rounding)

    @property
    def column_weight(self) -> Array:
        """Weight of the values of each column."""
        return self.columns().weight

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was counted, by name."""
        return {"weight": self.weight, "mean": self.mean, "product": self.product}

    def check(self, n_classes: int, columns: Sequence[Column]) -> None:
        """Refuse a scatter that is not one of such columns, or that no rows can have."""
        d = sum(len(column.inputs) for column in columns)
        check_numbers("product", self.product, (n_classes, d, d), -np.inf)
        check_numbers("squares", _diagonal(self.product), (n_classes, d), 0.0)
        complete = self.weight.shape == (n_classes, 1, 1)
        check_numbers("weight", self.weight, (n_classes, 1, 1) if complete else (n_classes, d, d), 0.0, MOST_WEIGHT)
        shared = self.mean.shape == (n_classes, d, 1)
        check_numbers("mean", self.mean, (n_classes, d, 1 if shared else d), -np.inf)
        if self.rounding is not None:
            check_numbers("rounding", self.rounding, (2, n_classes, d), 0.0)

    @property
    def complete(self) -> bool:
        """Whether no value was missing."""
        return self.weight.shape[1:] == (1, 1)

    def columns(self) -> Moments:
        """The moments (K, d) of the columns alone."""
        squares = np.maximum(_diagonal(self.product), 0.0)
        weight, mean = (
            field[:, :, 0] + np.zeros_like(squares) if field.shape[2] == 1 else _diagonal(field)
            for field in (self.weight, self.mean)
        )
        return Moments(weight, mean, squares, self.rounding)

    def covariance(self) -> Array:
        """Σ w (x − mean)(x − mean)ᵀ / Σ w of each class, shape (K, d, d); zero where two columns never met."""
        weight = np.broadcast_to(self.weight, self.product.shape)
        return np.divide(self.product, weight, out=np.zeros_like(self.product), where=weight > 0)

    def pooled(self) -> Array:
        """The same about the means of the classes, all classes together, shape (d, d)."""
        product = self.product.sum(axis=0)
        weight = np.broadcast_to(self.weight.sum(axis=0), product.shape)
        return np.divide(product, weight, out=np.zeros_like(product), where=weight > 0)

    def __repr__(self) -> str:
        n_classes, d, _ = self.product.shape
        total = amount(self.weight.max(axis=(1, 2), initial=0.0).sum())
        return f"Scatter({plural(n_classes, 'class')}, {plural(d, 'column')}, weight {total})"


def _squared(delta: Array) -> Array:
    """The product of each pair's differences, (K, d, d)."""
    return delta * delta.swapaxes(1, 2)


def _diagonal(table: Array) -> Array:
    n_classes, d, _ = table.shape
    return np.ascontiguousarray(table).reshape(n_classes, -1)[:, :: d + 1].copy()


def scatter_of(x: Array, weight: Array) -> Scatter:
    """The scatter of one class: rows (n, d), NaN if missing, and the weight (n,) of each."""
    if not (weight > 0).all():
        x, weight = x[weight > 0], weight[weight > 0]
    d, total, w = x.shape[1], float(weight.sum()), weight[:, None]
    if not len(x):
        return nothing(1, d)
    if is_complete(x):
        plain = bool((weight == 1.0).all())
        mean = (x if plain else w * x).sum(axis=0) / total
        z = x - mean
        mean = mean + (z if plain else w * z).sum(axis=0) / total  # takes out what the first pass rounded away
        z = np.subtract(x, mean, out=z)  # nothing at all where all rows are alike
        return Scatter(np.full((1, 1, 1), total), mean[None, :, None], _summed(z if plain else w * z, z)[None])
    seen = ~np.isnan(x)
    there = seen.astype(np.float64)
    counted = (w * there).sum(axis=0)
    middle = np.divide((w * np.where(seen, x, 0.0)).sum(axis=0), counted, out=np.zeros(d), where=counted > 0)
    z = np.where(seen, x - middle, 0.0)
    met = (w * there).T @ there
    off = np.divide((w * z).T @ there, met, out=np.zeros((d, d)), where=met > 0)  # how far the pair's mean is off
    mean = np.where(met > 0, middle[:, None] + off, 0.0)
    return Scatter(met[None], mean[None], ((w * z).T @ z - met * off * off.T)[None])


def _summed(a: Array, b: Array) -> Array:
    """The products aᵀb (d, d) of columns of rows (n, d), some rows at a time."""
    step = max(64, PRODUCTS // max(a.shape[1] ** 2, 1))
    found = a[:step].T @ b[:step]
    for first in range(step, len(a), step):
        found += a[first : first + step].T @ b[first : first + step]
    return np.asarray(found)


def scatter_by_class(x: Array, labels: Labels, n_classes: int) -> Scatter:
    """The scatter (K, d, d) of rows (n, d)."""
    if labels.codes is None:
        return stacked([scatter_of(x, labels.weight[:, k]) for k in range(n_classes)])
    order = np.argsort(labels.codes.astype(np.min_scalar_type(n_classes)), kind="stable")  # fast where they are small
    few = len(x) < FEW * n_classes and len(x) * x.shape[1] ** 2 <= PRODUCTS
    if few and is_complete(x) and (labels.weight > 0).all():
        return _of_groups(x[order], labels.weight[order, None], labels.codes[order], n_classes)
    ends = np.searchsorted(labels.codes[order], np.arange(n_classes + 1))
    own = [order[first:last] for first, last in pairwise(ends.tolist())]
    return stacked([scatter_of(x[rows], labels.weight[rows]) for rows in own])


def standard_scatter(
    x: NDArray[Any], labels: Labels, n_classes: int, centre: Array, scale: Array, farthest: float
) -> Scatter:
    """The scatter (K, d, d) of rows (n, d) in standard units, z = (x − centre) / scale within ± ``farthest``.

    A row that lacks one of the numbers is left out; an infinite one is an error that names it.
    """
    values, d = x if is_readable(x, "d") else x.astype(np.float64), x.shape[1]
    weight, mean, product = np.empty((n_classes, 1)), np.empty((n_classes, d)), np.empty((n_classes, d, d))
    found = centre, scale, farthest, weight, mean, product
    if labels.codes is None:
        bad = _native.scatter_soft(values, labels.weight, *found)
    else:
        bad = _native.scatter(values, labels.codes, labels.weight, *found)
    if bad >= 0:
        row, column = divmod(bad, d)
        raise bad_number(float(values[row, column]), row, column)
    return Scatter(weight[:, :, None], mean[:, :, None], product)


def _of_groups(x: Array, w: Array, codes: NDArray[Any], n_classes: int) -> Scatter:
    """The same of complete rows in the order of their classes, all classes at once."""
    used, first, group = np.unique(codes, return_index=True, return_inverse=True)
    found = nothing(n_classes, x.shape[1])
    if not len(used):
        return found
    total = np.add.reduceat(w, first)
    mean = np.add.reduceat(w * x, first) / total
    mean += np.add.reduceat(w * (x - mean[group]), first) / total  # as in `scatter_of`
    z = x - mean[group]
    found.weight[used, :, 0], found.mean[used, :, 0] = total, mean
    found.product[used] = np.add.reduceat((w * z)[:, :, None] * z[:, None, :], first)
    return found


def numbers_of(x: NDArray[Any], first: int = 0) -> Array:
    """The cells as floats; an infinite one is an error that names it. ``first`` is the number of the first row."""
    values = np.asarray(x, dtype=np.float64)
    if np.isinf(values).any():
        row, column = (int(i) for i in np.argwhere(np.isinf(values))[0])
        raise bad_number(float(values[row, column]), first + row, column)
    return values


def is_complete(x: Array) -> bool:
    """Whether no number is NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isnan(x.sum()) or not np.isnan(x).any()


def nothing(n_classes: int, d: int) -> Scatter:
    """The scatter of no rows."""
    return Scatter(np.zeros((n_classes, 1, 1)), np.zeros((n_classes, d, 1)), np.zeros((n_classes, d, d)))


def stacked(parts: Sequence[Scatter]) -> Scatter:
    """The scatters of several classes as one; if any has missing values, all have a weight for each pair."""
    names = ("weight", "mean", "product")
    if all(part.complete for part in parts):
        return Scatter(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    fields = ([np.broadcast_to(getattr(part, name), part.product.shape) for part in parts] for name in names)
    return Scatter(*(np.concatenate(field) for field in fields))
