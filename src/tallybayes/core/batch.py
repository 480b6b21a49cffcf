"""Encoded rows: what a source hands to the families.

A batch is columns grouped into blocks, each block a matrix for one family: a NumPy array of numbers, a `Csr` of
sparse counts or `Codes` of categories. Sources may make their matrices only when a range of rows is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import keys
from tallybayes.core.schema import Column, Schema
from tallybayes.errors import DataError

Array = NDArray[np.float64]

MISSING = -1  # code of a missing value
UNSEEN = -2  # code of an unseen category


@dataclass(frozen=True, slots=True)
class Csr:
    """Sparse rows: the entries of row i are ``start[i]:start[i + 1]``."""

    data: NDArray[Any]  # (nnz,) float32 or float64
    column: NDArray[Any]  # (nnz,) int32 or int64
    start: NDArray[Any]  # (n + 1,) same type as column
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.start) - 1, self.n_columns

    def rows(self, first: int, last: int) -> Csr:
        """A range of rows, without copying the entries."""
        lo, hi = int(self.start[first]), int(self.start[last])
        start = self.start[first : last + 1] - self.start[first]
        return replace(self, data=self.data[lo:hi], column=self.column[lo:hi], start=start)

    def take(self, rows: NDArray[Any]) -> Csr:
        """Some rows, by number."""
        first, length = self.start[:-1][rows], np.diff(self.start)[rows]
        start = np.concatenate(([0], np.cumsum(length))).astype(self.start.dtype)
        entry = np.repeat(first - start[:-1], length) + np.arange(start[-1])
        return replace(self, data=self.data[entry], column=self.column[entry], start=start)

    def summed(self) -> Csr:
        """The same with the entries of a row in the order of the columns, and those of one cell added up."""
        row = np.repeat(np.arange(self.shape[0]), np.diff(self.start))
        cell, place = np.unique(row * np.int64(max(self.n_columns, 1)) + self.column, return_inverse=True)
        row, column = np.divmod(cell, max(self.n_columns, 1))
        data = np.bincount(place, weights=self.data, minlength=len(cell)).astype(self.data.dtype, copy=False)
        start = np.searchsorted(row, np.arange(self.shape[0] + 1))
        return Csr(data, column.astype(self.column.dtype), start.astype(self.start.dtype), self.n_columns)

    def check_columns(self) -> None:
        """Refuse entries of columns that the matrix does not have."""
        if len(self.column) and not (self.column.min() >= 0 and self.column.max() < self.n_columns):
            raise DataError(f"the sparse matrix is damaged: it points at a column beyond its {self.n_columns}")

    def dense(self) -> Array:
        """The same as a full matrix, duplicates summed."""
        self.check_columns()
        full = np.zeros(self.shape)
        np.add.at(full, (np.repeat(np.arange(self.shape[0]), np.diff(self.start)), self.column), self.data)
        return full


@dataclass(frozen=True, slots=True)
class Documents(Csr):
    """The words of one column of text: a row for each document, and all cells are the column's."""

    missing: NDArray[np.bool_] | None = None  # (n,) where there is no document at all

    def rows(self, first: int, last: int) -> Documents:
        """A range of documents, without copying the entries."""
        missing = None if self.missing is None else self.missing[first:last]
        return replace(Csr.rows(self, first, last), missing=missing)  # type: ignore[call-arg, return-value]

    def take(self, rows: NDArray[Any]) -> Documents:
        """Some documents, by number."""
        missing = None if self.missing is None else self.missing[rows]
        return replace(Csr.take(self, rows), missing=missing)  # type: ignore[call-arg, return-value]

    def renumbered(self, column: NDArray[Any], n_columns: int) -> Documents:
        """The same with other numbers (n_columns,) for the words; those whose number is −1 are left out."""
        column = column[self.column] if len(column) else self.column
        return replace(self, column=column, n_columns=n_columns).kept(column >= 0)

    def kept(self, kept: NDArray[np.bool_]) -> Documents:
        """Some of the entries."""
        if kept.all():
            return self
        before = np.concatenate(([0], np.cumsum(kept)))
        start = before[self.start].astype(self.start.dtype)
        return replace(self, data=self.data[kept], column=self.column[kept], start=start)

    def sums(self, scores: Array) -> Array:
        """The scores (nnz, K) of the words, added up for each document (n, K)."""
        total = np.concatenate((np.zeros((1, scores.shape[1])), np.cumsum(scores, axis=0, dtype=np.float64)))
        return np.asarray(total[self.start[1:]] - total[self.start[:-1]])

    @classmethod
    def none(cls, n_rows: int, n_columns: int) -> Self:
        """So many missing documents."""
        start = np.zeros(n_rows + 1, dtype=np.int64)
        return cls(np.zeros(0, np.float32), np.zeros(0, np.int64), start, n_columns, np.ones(n_rows, dtype=bool))


def mask_labels(x: Matrix, labels: Labels) -> Labels:
    """The labels for a block: a row whose document is missing has weight zero in it."""
    if not isinstance(x, Documents) or x.missing is None or not x.missing.any():
        return labels
    present = ~x.missing
    return replace(labels, weight=labels.weight * (present if labels.weight.ndim == 1 else present[:, None]))


def mask_scores(x: Matrix, scores: Array) -> Array:
    """Scores (n, K) of a block, zero where the document is missing."""
    if isinstance(x, Documents) and x.missing is not None:
        scores[x.missing] = 0.0
    return scores


@dataclass(frozen=True, slots=True)
class Codes:
    """Categories as integers: the position of the level, `MISSING` or `UNSEEN`."""

    matrix: NDArray[Any]  # (n, d) integers of any width
    n_levels: NDArray[np.int64]  # (d,)
    n_right: NDArray[np.int64] | None = None  # (d,) of pairs: the levels of the second column, which runs faster

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def rows(self, first: int, last: int) -> Codes:
        """A range of rows, without copying."""
        return Codes(self.matrix[first:last], self.n_levels, self.n_right)

    def take(self, rows: NDArray[Any]) -> Codes:
        """Some rows, by number."""
        return Codes(self.matrix[rows], self.n_levels, self.n_right)


Matrix = NDArray[Any] | Csr | Codes


def rows_of(x: Matrix, first: int, last: int) -> Matrix:
    """A range of rows of any matrix, without copying."""
    return x[first:last] if isinstance(x, np.ndarray) else x.rows(first, last)


def columns_of(x: Matrix, columns: Sequence[int]) -> Matrix:
    """Some columns of any matrix; a view where they are one after another."""
    is_range = len(columns) > 0 and list(columns) == list(range(columns[0], columns[0] + len(columns)))
    chosen: Any = slice(columns[0], columns[0] + len(columns)) if is_range else columns
    if isinstance(x, Codes):
        n_right = None if x.n_right is None else x.n_right[chosen]
        return Codes(x.matrix[:, chosen], x.n_levels[chosen], n_right)
    return (x.dense() if isinstance(x, Csr) else x)[:, chosen]


@dataclass(frozen=True, slots=True)
class Labels:
    """Which class each row belongs to and how much it counts.

    Hard labels have a code and a weight a row; soft labels (EM's responsibilities) have a weight for every class.
    """

    codes: NDArray[np.int32] | None  # (n,) class codes; None for soft labels
    weight: Array  # (n,) or, for soft labels, (n, K)

    @classmethod
    def hard(cls, codes: NDArray[np.int32], weight: Array | None = None) -> Self:
        """Labels with one class a row; the weight of a row is one by default."""
        return cls(codes, np.ones(len(codes)) if weight is None else weight)

    @classmethod
    def soft(cls, weight: Array) -> Self:
        """Labels with a weight for every class."""
        return cls(None, np.ascontiguousarray(weight, dtype=np.float64))

    def rows(self, first: int, last: int) -> Labels:
        """A range of rows, without copying."""
        return Labels(None if self.codes is None else self.codes[first:last], self.weight[first:last])

    def take(self, rows: NDArray[Any]) -> Labels:
        """Some rows, by number."""
        return Labels(None if self.codes is None else self.codes[rows], self.weight[rows])

    def class_weight(self, n_classes: int) -> Array:
        """Total weight of each class."""
        if self.codes is None:
            return np.asarray(self.weight.sum(axis=0))
        return np.bincount(self.codes, weights=self.weight, minlength=n_classes).astype(np.float64, copy=False)


def keys_of_labels(labels: Labels | None, classes: Sequence[Any], n_rows: int) -> keys.Keys:
    """The keys that the class and the weight of each row give it."""
    total = np.zeros(n_rows, dtype=np.uint64)
    if labels is not None and labels.codes is not None:
        keys.add_levels(total, labels.codes, classes, keys.key_of("class"))
        keys.add_numbers(total, labels.weight, keys.key_of("weight"))
    return total


def keys_of_matrix(x: Matrix) -> keys.Keys:
    """The keys of the rows of a matrix, all columns together."""
    if isinstance(x, Csr):
        return _keys_of_sparse(x)
    matrix = x.matrix if isinstance(x, Codes) else x
    total = np.zeros(matrix.shape[0], dtype=np.uint64)
    for j in range(matrix.shape[1]):
        keys.add_numbers(total, matrix[:, j], keys.key_of(j))
    return total


def _keys_of_sparse(x: Csr) -> keys.Keys:
    with np.errstate(over="ignore"):
        cells = np.asarray(x.data, dtype=np.float64).view(np.uint64)
        cells = keys.mixed(cells + keys.mixed(x.column.astype(np.uint64)))
        cells[x.data == 0] = 0  # a stored zero is a zero
        total = np.concatenate((np.zeros(1, np.uint64), np.cumsum(cells, dtype=np.uint64)))
        return total[x.start[1:]] - total[x.start[:-1]]


@runtime_checkable
class Rows(Protocol):
    """Rows that can be counted or scored, a range at a time."""

    @property
    def schema(self) -> Schema: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def labels(self) -> Labels | None: ...
    @property
    def most_rows(self) -> int | None: ...  # rows worth encoding at a time; None when they are encoded already
    @property
    def size(self) -> int: ...
    def rows(self, first: int, last: int) -> Batch: ...
    def take(self, rows: NDArray[Any]) -> Self: ...
    def keys(self) -> keys.RowKeys: ...  # by what the rows hold, see `core.keys`
    def read_by(self, plan: Any, columns: Sequence[Column], places: Mapping[str, Sequence[int]]) -> Reader | None:
        """What reads ranges of rows for the plan of a model of such columns and blocks; None if they are read."""


Reader = Callable[[int, int], "Batch"]
SomeRows = TypeVar("SomeRows", bound=Rows)


def in_key_order(rows: SomeRows, most: int) -> SomeRows:
    """At most so many of the rows, drawn by what they hold, in the order of their keys.

    Whatever is done with the rows by position afterwards, a slice or every third of them, does not depend on the order
    in which they came.
    """
    return rows.take(keys.smallest(keys.copy_keys(rows.keys()), most))


def every_nth(rows: SomeRows, most: int) -> SomeRows:
    """At most so many of the rows, evenly spread: of rows in the order of their keys, a random draw."""
    step = max(1, -(-rows.n_rows // most))
    return rows if step == 1 else rows.take(np.arange(0, rows.n_rows, step))


class PlainCells(NamedTuple):
    """Rows as a plan reads them, see `core.plan`."""

    numbers: Array  # (n, numbers of the plan); NaN for a missing value
    levels: NDArray[np.int32]  # (n, levels of the plan)


class Encoded(NamedTuple):
    """The matrix of one block and the positions of its columns in the schema."""

    columns: Sequence[int]
    x: Matrix


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows ready to be counted or scored."""

    schema: Schema
    blocks: Mapping[str, Encoded]
    n_rows: int
    labels: Labels | None = None
    cells: PlainCells | None = None  # of rows that a plan reads: what its tables are looked up by

    @property
    def most_rows(self) -> None:
        """All rows are encoded already, so any range will do."""

    def read_by(self, plan: Any, columns: Sequence[Column], places: Mapping[str, Sequence[int]]) -> None:
        """They are read already."""

    def rows(self, first: int, last: int) -> Batch:
        """A range of rows."""
        if first == 0 and last == self.n_rows:
            return self
        return replace(
            self,
            blocks={name: Encoded(b.columns, rows_of(b.x, first, last)) for name, b in self.blocks.items()},
            n_rows=last - first,
            labels=None if self.labels is None else self.labels.rows(first, last),
        )

    def take(self, rows: NDArray[Any]) -> Batch:
        """Some rows, by number."""

        def taken(x: Matrix) -> Matrix:
            return x[rows] if isinstance(x, np.ndarray) else x.take(rows)

        blocks = {name: Encoded(b.columns, taken(b.x)) for name, b in self.blocks.items()}
        return replace(
            self, blocks=blocks, n_rows=len(rows), labels=None if self.labels is None else self.labels.take(rows)
        )

    def keys(self) -> keys.RowKeys:
        """The keys of the rows, by their cells, labels and weights as they are."""
        total = keys_of_labels(self.labels, self.schema.classes, self.n_rows)
        for name, block in self.blocks.items():
            with np.errstate(over="ignore"):
                total += keys.mixed(keys_of_matrix(block.x) + np.uint64(keys.key_of(name)))
        return keys.RowKeys(total, total)

    @property
    def size(self) -> int:
        """Number of cells that a pass over the batch touches."""
        return sum(len(b.x.data) if isinstance(b.x, Csr) else self.n_rows * b.x.shape[1] for b in self.blocks.values())


def is_readable(x: NDArray[Any], types: str = "df") -> bool:
    """Whether the kernels can read the matrix as it is."""
    dtype, flags = x.dtype, x.flags
    whole = flags.c_contiguous or flags.f_contiguous or all(s % x.itemsize == 0 for s in x.strides)
    return dtype.char in types and dtype.isnative and flags.aligned and whole
