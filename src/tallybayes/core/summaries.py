"""Summaries: the sufficient statistics of one block of columns, and their algebra.

Counts are exact below 2**53; moments are centred and merged with the between-means term (Chan, Golub and LeVeque
1979), never as raw sums of squares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import moment_kernels
from tallybayes.core.batch import Array
from tallybayes.core.equality import ByValue, same_value
from tallybayes.core.records import changed
from tallybayes.core.schema import Column, amount, plural
from tallybayes.errors import NEVER_LEARNED, SchemaError, UnlearnError

EPS = float(np.finfo(float).eps)
MOST_WEIGHT = 1e100  # that can have been counted: products of counts are numbers, too


@dataclass(frozen=True)
class Index:
    """Where the entries of an axis are in a larger one; the rest of the larger one is zero."""

    places: NDArray[np.intp]  # position of each entry of the smaller axis
    size: int  # length of the larger axis
    n_levels: NDArray[np.int64] | None = None  # (d,) cells of each column afterwards, where the axis is one of cells
    n_right: NDArray[np.int64] | None = None  # (d,) of pairs: cells of their second columns

    def spread(self, table: Array, axis: int) -> Array:
        """The table with its entries moved to their places; entries that share one are added."""
        if len(self.places) == self.size and np.array_equal(self.places, np.arange(self.size)):
            return table
        # The cells of a word lie together, and stay so; a table of one class is of both orders.
        order: Any = "F" if table.flags.f_contiguous and not table.flags.c_contiguous else "C"
        larger = np.zeros((*table.shape[:axis], self.size, *table.shape[axis + 1 :]), order=order)
        where: Any = (*(slice(None),) * axis, self.places)
        if np.all(self.places[1:] > self.places[:-1]):  # no two share a place, as where a vocabulary grows
            larger[where] = table
        else:
            np.add.at(larger, where, table)
        return larger

    def gather(self, table: Array, axis: int) -> Array:
        """The entries at the places of a larger table: what `spread` was given."""
        if np.array_equal(self.places, np.arange(table.shape[axis])):
            return table
        where: Any = (*(slice(None),) * axis, self.places)
        return table[where]


class Summary(Protocol):
    """Statistics of one block of columns; frozen; the class is always the first axis."""

    def __add__(self, other: Any, /) -> Self: ...
    def __sub__(self, other: Any, /) -> Self: ...
    def __mul__(self, factor: float, /) -> Self: ...
    def align(self, classes: Index, cells: Index) -> Self: ...
    def restrict(self, classes: Index, cells: Index) -> Self: ...
    def select(self, columns: NDArray[np.intp]) -> Self: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    @property
    def column_weight(self) -> Array: ...  # (K, d) Σ w of the values of each column, or (K, 1) where all share it
    def check(self, n_classes: int, columns: Sequence[Column]) -> None: ...


def totals(table: Array) -> Array:
    """Sum of the rows (K,) of a tall narrow table, many rows at a stride.

    Not as a product with ones: the threads of a BLAS keep spinning after it and take the cores from ours.
    """
    n_rows, n_columns = table.shape
    tall = n_rows // 64 * 64
    if not table.flags.c_contiguous or tall == 0:
        return np.asarray(table.sum(axis=0))
    folded = table[:tall].reshape(-1, 64 * n_columns).sum(axis=0)
    return folded.reshape(64, n_columns).sum(axis=0) + table[tall:].sum(axis=0)


@dataclass(frozen=True, eq=False)
class Counts(ByValue):
    """Weighted counts of levels, words or events.

    Examples
    --------
    >>> Counts(np.array([[2.0, 3.0]]), np.array([[5.0]])) - Counts(np.array([[1.0, 0.0]]), np.array([[1.0]]))
    Counts(1 class, 2 cells, weight 4)
    """

    count: Array  # (K, m) Σ w·x: a cell for every level of every categorical column, or one a column
    weight: Array  # (K, d) Σ w over the rows where the column has a value; (K, 1) when all columns share it
    n_levels: NDArray[np.int64] | None = None  # (d,) cells of each column; None when every column is one cell
    n_right: NDArray[np.int64] | None = None  # (d,) of pairs: cells that belong to one level of the first column
    having: Array | None = None  # (K, m) Σ w over the rows in which the cell is not zero, where a family asks for it

    def __add__(self, other: Counts) -> Counts:
        return self._paired(other, np.add)

    def __sub__(self, other: Counts) -> Counts:
        return self._paired(other, take_back)

    def _paired(self, other: Counts, combine: Callable[[Array, Array], Array]) -> Counts:
        having = None
        if self.having is not None and other.having is not None:
            having = combine(self.having, other.having)
        count, weight = combine(self.count, other.count), combine(self.weight, other.weight)
        return changed(self, count=count, weight=weight, having=having)

    def __mul__(self, factor: float) -> Counts:
        having = None if self.having is None else self.having * factor
        return replace(self, count=self.count * factor, weight=self.weight * factor, having=having)

    def align(self, classes: Index, cells: Index) -> Counts:
        """Re-index onto a larger set of classes and levels."""
        count = cells.spread(classes.spread(self.count, 0), 1)
        grid = (None, None) if self.n_levels is None else (cells.n_levels, cells.n_right)
        having = None if self.having is None else cells.spread(classes.spread(self.having, 0), 1)
        return Counts(count, classes.spread(self.weight, 0), *grid, having)

    def restrict(self, classes: Index, cells: Index) -> Counts:
        """The counts of some classes and levels; the inverse of `align`."""
        count = cells.gather(classes.gather(self.count, 0), 1)
        grid = (None, None) if self.n_levels is None else (cells.n_levels, cells.n_right)
        having = None if self.having is None else cells.gather(classes.gather(self.having, 0), 1)
        return Counts(count, classes.gather(self.weight, 0), *grid, having)

    def select(self, columns: NDArray[np.intp]) -> Counts:
        """The counts of some columns."""
        d = self.count.shape[1] if self.n_levels is None else len(self.n_levels)
        if np.array_equal(columns, np.arange(d)):
            return self
        weight = self.weight if self.weight.shape[1] == 1 else self.weight[:, columns]
        having = self.having
        if self.n_levels is None:
            return Counts(self.count[:, columns], weight, having=None if having is None else having[:, columns])
        ends = np.cumsum(self.n_levels)
        cells = np.concatenate([np.arange(ends[c] - self.n_levels[c], ends[c]) for c in columns])
        n_right = None if self.n_right is None else self.n_right[columns]
        having = None if having is None else having[:, cells]
        return Counts(self.count[:, cells], self.weight[:, columns], self.n_levels[columns], n_right, having)

    @cached_property
    def cell_total(self) -> Array:
        """Σ w·x of each cell (m,), all classes together."""
        return np.asarray(self.count.sum(axis=0))

    @cached_property
    def class_total(self) -> Array:
        """Σ w·x of each class (K,), all cells together."""
        return totals(self.count.T)

    def with_cells(self, kept: NDArray[np.bool_]) -> Counts:
        """The counts of some of the cells of a single column."""
        having = None if self.having is None else self.having[:, kept]
        return replace(self, count=self.count[:, kept], n_levels=np.array([kept.sum()], dtype=np.int64), having=having)

    @property
    def column_weight(self) -> Array:
        """Weight of the values of each column."""
        return self.weight

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was counted, by name."""
        grid = {"n_levels": self.n_levels, "n_right": self.n_right, "having": self.having}
        return {"count": self.count, "weight": self.weight, **{k: v for k, v in grid.items() if v is not None}}

    def check(self, n_classes: int, columns: Sequence[Column]) -> None:
        """Refuse counts that are not those of such columns, or that no rows can have."""
        cells = len(columns)
        if self.n_levels is not None:
            n_levels, n_right = cell_grid(columns)
            if not (same_value(self.n_levels, n_levels) and same_value(self.n_right, n_right)):
                raise SchemaError("it counts other levels than its columns have")
            cells = int(n_levels.sum())
        most = np.inf if self.n_levels is None else MOST_WEIGHT  # sums of numbers are as large as these are
        check_numbers("count", self.count, (n_classes, cells), 0.0, most)
        shared = self.weight.shape == (n_classes, 1)
        check_numbers("weight", self.weight, (n_classes, 1 if shared else len(columns)), 0.0, MOST_WEIGHT)
        if self.having is not None:
            check_numbers("having", self.having, (n_classes, cells), 0.0, MOST_WEIGHT)

    def __repr__(self) -> str:
        n_classes, cells = self.count.shape
        total = amount(self.weight.max(axis=1, initial=0.0).sum())
        return f"Counts({plural(n_classes, 'class')}, {plural(cells, 'cell')}, weight {total})"


@dataclass(frozen=True, eq=False)
class Moments(ByValue):
    """Weighted centred moments of numbers, shape (K, d) each.

    ``rounding`` follows the spread and the number of sums, so that rows that were never there are refused wherever the
    column lies, and rows that were there are not.

    Examples
    --------
    >>> one = Moments(np.array([[2.0]]), np.array([[1.0]]), np.array([[2.0]]))  # the values 0 and 2
    >>> (one + one).m2
    array([[4.]])
    """

    weight: Array  # Σ w over the rows with a value; missing cells add none, so columns of a class may differ
    mean: Array  # Σ w·x / Σ w; zero where nothing was seen
    m2: Array  # Σ w·(x − mean)²
    rounding: Array | None = field(default=None, compare=False)  # (2, K, d) how far mean and m2 may be off

    def __add__(self, other: Moments) -> Moments:
        return Moments(*moment_kernels.joined(self._tables, other._tables))

    def __sub__(self, other: Moments) -> Moments:
        left = moment_kernels.without(self._tables, other._tables, take_back(self.weight, other.weight))
        if left is None:
            raise UnlearnError(NEVER_LEARNED)
        return Moments(*left)

    @property
    def _tables(self) -> tuple[Array, Array, Array, Array | None]:
        return self.weight, self.mean, self.m2, self.rounding

    def __mul__(self, factor: float) -> Moments:
        if factor == 0:
            return Moments(*np.zeros((3, *self.weight.shape)))
        rounding = None if self.rounding is None else self.rounding * np.reshape((1.0, factor), (2, 1, 1))
        return Moments(self.weight * factor, self.mean, self.m2 * factor, rounding)

    def align(self, classes: Index, cells: Index) -> Moments:
        """Re-index onto a larger set of classes; numbers have no levels."""
        return self._mapped(lambda table: classes.spread(table, 0))

    def restrict(self, classes: Index, cells: Index) -> Moments:
        """The moments of some classes; the inverse of `align`."""
        return self._mapped(lambda table: classes.gather(table, 0))

    def select(self, columns: NDArray[np.intp]) -> Moments:
        """The moments of some columns."""
        return self._mapped(lambda table: np.ascontiguousarray(table[:, columns]))

    def _mapped(self, change: Callable[[Array], Array]) -> Moments:
        """The same change of classes or columns made to every table (K, d)."""
        rounding = None if self.rounding is None else np.stack([change(table) for table in self.rounding])
        return Moments(change(self.weight), change(self.mean), change(self.m2), rounding)

    @property
    def column_weight(self) -> Array:
        """Weight of the values of each column."""
        return self.weight

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was counted, by name."""
        return {"weight": self.weight, "mean": self.mean, "m2": self.m2}

    def check(self, n_classes: int, columns: Sequence[Column]) -> None:
        """Refuse moments that are not those of such columns, or that no rows can have."""
        for name, least, most in (("weight", 0.0, MOST_WEIGHT), ("mean", -np.inf, np.inf), ("m2", 0.0, np.inf)):
            check_numbers(name, getattr(self, name), (n_classes, len(columns)), least, most)
        if self.rounding is not None:
            check_numbers("rounding", self.rounding, (2, n_classes, len(columns)), 0.0)
        with np.errstate(over="ignore", invalid="ignore"):  # what adds up to no number was never added up
            check_numbers("the sum of squares", self.merged().m2 + self.mean[:1] ** 2, (1, len(columns)), 0.0)

    def merged(self) -> Moments:
        """The moments with all classes taken as one, shape (1, d)."""
        return Moments(*moment_kernels.merged(self.weight, self.mean, self.m2)[:, None])

    def __repr__(self) -> str:
        n_classes, d = self.weight.shape
        total = amount(self.weight.max(axis=1, initial=0.0).sum())
        return f"Moments({plural(n_classes, 'class')}, {plural(d, 'column')}, weight {total})"


def take_back(mine: Array, theirs: Array) -> Array:
    """Subtract weights; what rounding leaves is zero, and less than that was never there.

    Whole numbers are exact. Fractional weights summed in another order differ in the last digits, by a share of the
    sums they are part of.
    """
    if mine.shape != theirs.shape:
        mine, theirs = np.broadcast_arrays(mine, theirs)
    left = moment_kernels.weights_without(mine, theirs)
    if left is None:
        raise UnlearnError(NEVER_LEARNED)
    return left


def cell_grid(columns: Sequence[Column]) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Cells of each column (d,), and of pairs those of their second columns (d,)."""
    n_right = [column.parts[1].n_cells for column in columns if column.kind == "pair" and column.parts is not None]
    n_levels = np.array([column.n_cells for column in columns], dtype=np.int64)
    return n_levels, np.array(n_right, dtype=np.int64) if n_right else None


def check_numbers(what: str, array: NDArray[Any], shape: tuple[int, ...], least: float, most: float = np.inf) -> None:
    """Refuse an array of another shape, and numbers that are not finite, too small or too large."""
    if array.shape != shape:
        raise SchemaError(f"{what} has the shape {array.shape}, not {shape}")
    if not np.isfinite(array).all() or array.min(initial=0.0) < least or array.max(initial=0.0) > most:
        raise SchemaError(f"{what} holds a number that cannot have been counted")
