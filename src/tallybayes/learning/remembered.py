"""Rows that are read many times while a model is learned: their codes and matrices are found once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Matrix
from tallybayes.core.schema import Column
from tallybayes.data.tables import TableBatch
from tallybayes.families import family_of

Key = tuple[str, int, int]
FEW_CELLS = 1 << 20  # of a matrix that is kept


@dataclass(frozen=True)
class Kept:
    """Codes (n,) that were found, by the column and the very levels or edges that it had."""

    codes: dict[Key, tuple[Column, NDArray[np.int32]]] = field(default_factory=dict)
    numbers: dict[str, Array] = field(default_factory=dict)  # finite ones in rising order, by column
    matrices: dict[Any, tuple[Sequence[Column], Matrix]] = field(default_factory=dict)  # of all rows, by the columns
    plain: dict[tuple[str, ...], Array] = field(default_factory=dict)  # numbers of all rows, by the columns
    lock: Any = field(default_factory=RLock)

    def take(self, rows: NDArray[Any]) -> Kept:
        """Those of some rows, where they are levels; edges are each fold's own."""
        known = {key: (column, codes[rows]) for key, (column, codes) in self.codes.items() if column.edges is None}
        return Kept(known)


@dataclass(frozen=True)
class RememberedBatch(TableBatch):
    """A table that is read again and again."""

    kept: Kept = field(default_factory=Kept, compare=False, repr=False)

    @classmethod
    def of(cls, batch: TableBatch) -> RememberedBatch:
        """The same rows, remembered."""
        return cls(batch.schema, batch.table, batch.places, batch.labels)

    def take(self, rows: NDArray[Any]) -> RememberedBatch:
        """Some rows, by number; the same where they are all, which are not kept twice."""
        if len(rows) == self.n_rows and np.array_equal(rows, np.arange(self.n_rows)):
            return self
        labels = None if self.labels is None else self.labels.take(rows)
        return replace(self, table=self.table.take(rows), labels=labels, kept=self.kept.take(rows))

    def matrix(self, name: str, places: Sequence[int], first: int, last: int) -> Matrix:
        """The matrix of a block: families that read the same columns share one."""
        columns = [self.schema.columns[p] for p in places]
        is_whole = first == 0 and last == self.n_rows and self.n_rows * len(columns) <= FEW_CELLS
        if not is_whole or any(column.is_text for column in columns):
            return super().matrix(name, places, first, last)
        # The columns are kept, so that no other can take the place of one in memory.
        key = family_of(name).is_coded, *map(id, columns)
        with self.kept.lock:
            if key not in self.kept.matrices:
                self.kept.matrices[key] = columns, super().matrix(name, places, first, last)
            return self.kept.matrices[key][1]

    def plain_numbers(self, names: Sequence[str], first: int, last: int) -> Array:
        """The numbers of a plan: models of the same columns share them."""
        if first > 0 or last < self.n_rows or self.n_rows * len(names) > FEW_CELLS:
            return super().plain_numbers(names, first, last)
        key = tuple(names)
        if key not in self.kept.plain:
            self.kept.plain[key] = super().plain_numbers(names, first, last)
        return self.kept.plain[key]

    def codes(self, column: Column, first: int, last: int, parts: dict[str, NDArray[np.int32]]) -> NDArray[np.int32]:
        """Codes of a range of rows, from those of all rows that were found before."""
        if column.parts is not None:
            return super().codes(column, first, last, parts)
        with self.kept.lock:
            # Which live as long as the column that is kept.
            key = column.name, id(column.levels), id(column.edges)
            if key not in self.kept.codes:
                self.kept.codes[key] = column, super().codes(column, 0, self.n_rows, {})
            return self.kept.codes[key][1][first:last]


def sorted_numbers(batch: TableBatch, name: str) -> Array:
    """The finite numbers of a column in rising order."""
    kept = batch.kept.numbers if isinstance(batch, RememberedBatch) else {}
    if name not in kept:
        values = np.array(batch.table.columns[name].numbers(0, batch.n_rows), dtype=np.float64)
        values.sort()  # missing ones come last
        if len(values) and not np.isfinite((values[0], values[-1])).all():
            values = values[np.isfinite(values)]
        kept[name] = values
    return kept[name]
