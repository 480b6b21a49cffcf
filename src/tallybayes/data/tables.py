"""Tables as rows to be counted or scored: encoded by a schema, a range of rows at a time, and their keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels, keys
from tallybayes.core.batch import (
    MISSING,
    UNSEEN,
    Batch,
    Codes,
    Documents,
    Encoded,
    Labels,
    Matrix,
    PlainCells,
    Reader,
    keys_of_labels,
)
from tallybayes.core.plan import Plan
from tallybayes.core.schema import Column, Schema
from tallybayes.core.summaries import cell_grid
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.data.frames import Table
from tallybayes.data.plain import as_batch
from tallybayes.data.reading import read_as
from tallybayes.data.truths import by_meaning
from tallybayes.data.values import Values
from tallybayes.data.words import WORDS
from tallybayes.errors import CellError, DataError
from tallybayes.families import family_of

SLICE = 1 << 16  # rows encoded at a time
TEXTS = 1 << 10  # documents tokenised at a time


@dataclass(frozen=True)
class TableBatch:
    """A table ready to be counted or scored; matrices are made for a range of rows at a time.

    Columns that the table lacks are missing in every row.
    """

    schema: Schema
    table: Table
    places: Mapping[str, Sequence[int]]  # block → positions of its columns in the schema
    labels: Labels | None = None

    def __post_init__(self) -> None:
        if not self.schema.is_numbered:
            object.__setattr__(self, "table", read_as(self.table, self.schema.columns))

    @property
    def most_rows(self) -> int:
        """Rows worth encoding at a time: fewer where texts have yet to be tokenised."""
        return TEXTS if any(not self._is_tokenised(column) for column in self._texts()) else SLICE

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    @property
    def size(self) -> int:
        """Number of cells that a pass over the batch touches."""
        return self.n_rows * (sum(map(len, self.places.values())) + WORDS * len(self._texts()))

    def _texts(self) -> list[Column]:
        columns = (self.schema.columns[p] for places in self.places.values() for p in places)
        return [column for column in columns if column.is_text]

    def _is_tokenised(self, column: Column) -> bool:
        return column.name not in self.table.columns or self.table.columns[column.name].is_tokenised(column.tokens)

    def rows(self, first: int, last: int) -> Batch:
        """A range of rows, encoded."""
        blocks = {name: Encoded(places, self.matrix(name, places, first, last)) for name, places in self.places.items()}
        labels = None if self.labels is None else self.labels.rows(first, last)
        return Batch(self.schema, blocks, last - first, labels)

    def take(self, rows: NDArray[Any]) -> TableBatch:
        """Some rows, by number."""
        return replace(
            self, table=self.table.take(rows), labels=None if self.labels is None else self.labels.take(rows)
        )

    def keys(self, ranges: Ranges | None = None) -> keys.RowKeys:
        """The keys of the rows, by the columns that are evidence, their labels and their weights.

        ``ranges`` are the smallest and the largest number of each column, where these rows are not all there are.
        """
        both = keys_of_labels(self.labels, self.schema.classes, self.n_rows)
        measured = keys.RowKeys(np.zeros_like(both), np.zeros_like(both))
        known = self.ranges() if ranges is None else ranges
        evidence = [c for c in self.schema.columns if c.is_evidence and c.name in self.table.columns]
        columns = {c.name: self.table.columns[c.name] for c in evidence if _varies(c, known)}
        own = {} if self.table.named else self.digests(known)
        work = [
            _keys_of(c, values, known, own.get(c.name)) for c in evidence if (values := columns.get(c.name)) is not None
        ]

        def add(first: int, last: int) -> None:
            for each in work:
                each(keys.RowKeys(*(total[first:last] for total in measured)), both[first:last], first)

        for _ in map_rows(add, self.n_rows, SLICE, threads_for(self.size, None)):
            pass
        return keys.RowKeys(*(total + both for total in measured))

    def digests(self, ranges: Ranges | None = None) -> dict[str, int]:
        """A number for each column by what it holds beside which label, in any order of the rows and any unit.

        The columns of an array have no names of their own: these stand for them, so that their places do not matter.
        """
        labels = keys_of_labels(self.labels, self.schema.classes, self.n_rows)
        known, found = self.ranges() if ranges is None else ranges, {}
        for column in self.schema.columns:
            values = self.table.columns.get(column.name)
            if values is None or not column.is_evidence:
                continue
            measured, both = keys.RowKeys(np.zeros_like(labels), np.zeros_like(labels)), np.zeros_like(labels)
            _keys_of(column, values, known, 0)(measured, both, 0)
            with np.errstate(over="ignore"):
                found[column.name] = int(keys.mixed(measured.unit_free + both + labels).sum(dtype=np.uint64))
        return found

    def ranges(self) -> Ranges:
        """The smallest and the largest number of each column whose unit does not matter."""
        found: dict[str, Range] = {}
        for column in self.schema.columns:
            values = self.table.columns.get(column.name)
            if values is not None and column.is_evidence and _is_measured(column, values):
                numbers = values.numbers(0, len(values))
                known = numbers[np.isfinite(numbers)]
                found |= {column.name: (float(known.min()), float(known.max()))} if len(known) else {}
        return found

    def unseen(self) -> list[str]:
        """A sentence on each category of which no value was ever seen: such a column would be lost in silence."""
        coded = (
            c
            for c in self.schema.columns
            if c.kind not in ("ignored", "date", "text", "tags", "pair") and len(c.levels or ()) > 1
        )
        found = ((c, self._never_seen(c)) for c in coded if c.name in self.table.columns)
        return [
            f"no value of column {c.name!r} was seen in training, so it is no evidence: it holds "
            f"{self.table.columns[c.name].value(row)!r}, the model knows {', '.join(map(repr, (c.levels or ())[:5]))}"
            for c, row in found
            if row is not None
        ]

    def _never_seen(self, column: Column) -> int | None:
        """The first row that has a value, where no value is a level."""
        row = None
        for first in range(0, self.n_rows, TEXTS):  # mostly, the first few rows are enough
            codes = self.codes(column, first, min(first + TEXTS, self.n_rows), {})
            if (codes >= 0).any():
                return None
            if row is None and (codes == UNSEEN).any():
                row = first + int(np.argmax(codes == UNSEEN))
        return row

    def read_by(self, plan: Plan, columns: Sequence[Column], places: Mapping[str, Sequence[int]]) -> Reader | None:
        """What reads ranges of rows for the plan of a model of such columns and blocks; None if these are others."""
        if self.places != places or (self.schema.columns is not columns and self.schema.columns != columns):
            return None
        return partial(self._planned, plan)

    def _planned(self, plan: Plan, first: int, last: int) -> Batch:
        """A range of rows as a plan reads them."""
        numbers = np.empty((last - first, len(plan.numbers)), order="F")
        for j, name in enumerate(plan.numbers):
            numbers[:, j] = self.numbers(name, first, last) if name in self.table.columns else np.nan
        levels = np.empty((last - first, len(plan.levels)), dtype=np.int32, order="F")
        for j, column in enumerate(plan.levels):
            levels[:, j] = self.codes(column, first, last, {})
        texts = {name: Encoded(places, self.matrix(name, places, first, last)) for name, places in plan.texts.items()}
        return as_batch(self.schema, self.places, plan, PlainCells(numbers, levels), texts)

    def matrix(self, name: str, places: Sequence[int], first: int, last: int) -> Matrix:
        """The matrix of a block, for a range of rows."""
        columns = [part for p in places for part in self.schema.columns[p].inputs]
        if columns and columns[0].is_text:
            return self._documents(columns[0], first, last)
        if family_of(name).is_coded:
            codes = np.full((last - first, len(columns)), MISSING, dtype=np.int32, order="F")
            parts: dict[str, NDArray[np.int32]] = {}  # a column may be part of many pairs
            for j, column in enumerate(columns):
                codes[:, j] = self.codes(column, first, last, parts)
            return Codes(codes, *cell_grid(columns))
        whole = self.table.matrix is not None and len(columns) == len(places) == self.table.matrix.shape[1]
        if self.table.matrix is not None and whole and list(places) == list(range(len(places))):
            return self.table.matrix[first:last]
        numbers = np.full((last - first, len(columns)), np.nan, order="F")
        for j, column in enumerate(columns):
            if column.name in self.table.columns:
                numbers[:, j] = self.numbers(column.name, first, last)
        return numbers

    def _documents(self, column: Column, first: int, last: int) -> Documents:
        """The words of a range of rows."""
        assert column.tokens is not None
        assert column.levels is not None
        values = self.table.columns.get(column.name)
        if values is None or values.storage == "empty":
            return Documents.none(last - first, len(column.levels))
        if values.storage != "text":
            raise DataError(
                f"column {column.name!r} was learned as {column.kind}, but holds {values.storage}: {_example(values)}; "
                "convert it to strings"
            )
        return values.words(column.tokens, column.levels, first, last)

    def codes(self, column: Column, first: int, last: int, parts: dict[str, NDArray[np.int32]]) -> NDArray[np.int32]:
        """Codes of a range of rows: levels, bins or combinations of two columns; ``parts`` keeps those for others."""
        if column.parts is not None:
            for part in column.parts:
                if part.name not in parts:
                    parts[part.name] = self.codes(part, first, last, parts)
            a, b = (parts[part.name] for part in column.parts)
            both = a * np.int32(column.parts[1].n_cells) + b
            if min(a.min(initial=0), b.min(initial=0)) >= 0:
                return both
            return np.where((a < 0) | (b < 0), np.minimum(a, b), both)  # a missing value or an unseen level in either
        if column.name not in self.table.columns:
            return np.full(last - first, MISSING, dtype=np.int32)
        if column.edges is not None:
            numbers = self.numbers(column.name, first, last)
            bins, row = column_kernels.bin_codes(numbers, column.edges)
            if row >= 0:
                error = CellError(f"holds {float(numbers[row]):g}", "Replace infinite values.", row, 0)
                raise error.named([column.name], first)
            return bins
        try:
            values, levels = self.table.columns[column.name], column.levels or ()
            return by_meaning(values.codes(first, last, levels), values, first, levels)
        except TypeError:
            raise DataError(
                f"column {column.name!r} holds lists or records, which cannot be levels; unpack it"
            ) from None

    def numbers(self, name: str, first: int, last: int) -> NDArray[Any]:
        """The numbers of a column, for a range of rows."""
        values = self.table.columns[name]
        if values.storage in ("number", "integer", "boolean", "empty"):
            return values.numbers(first, last)
        if (numbers := _enumerated_numbers(values, first, last)) is not None:
            return numbers
        raise DataError(
            f"column {name!r} was learned as numbers, but holds {values.storage}: {_example(values)}; convert "
            f"it, or learn it with kind={{{name!r}: 'category'}}"
        )


def _enumerated_numbers(values: Values, first: int, last: int) -> NDArray[Any] | None:
    """The numbers of an enumeration (a category of pandas, a dictionary of Arrow) that holds nothing else."""
    if values.storage != "text" or values.are_lists:
        return None
    listed = values.listed
    if listed is None or not all(value is None or isinstance(value, Real) for value in listed.values):
        return None
    known = [np.nan if value is None else value for value in (*listed.values, None)]  # the last for a missing place
    return np.array(known, dtype=np.float64)[listed.places[first:last]]


Range = tuple[float, float]
Ranges = Mapping[str, Range]  # smallest and largest number of a column


def _is_measured(column: Column, values: Values) -> bool:
    """Whether a column holds numbers, whose unit does not matter."""
    return column.levels is None and values.storage in ("number", "integer")


def _varies(column: Column, ranges: Ranges) -> bool:
    """Whether a column can distinguish rows: one with a single value is no evidence, and no part of a key."""
    if column.is_text or column.levels is not None:
        return column.is_text or len(column.levels or ()) > 1
    low, high = ranges.get(column.name, (0.0, 1.0))
    return high > low


def _keys_of(
    column: Column, values: Values, ranges: Ranges, digest: int | None = None
) -> Callable[[keys.RowKeys, keys.Keys, int], None]:
    """What adds the keys of a column to those of some rows: the same for the same value, whatever holds it.

    Those of numbers whose range is known go into two keys, others into one that is part of both. A column is known by
    its name, or by a digest where it has no name of its own.
    """
    own = keys.key_of(column.name) if digest is None else digest

    def numbers(measured: keys.RowKeys, both: keys.Keys, first: int) -> None:
        found = values.numbers(first, first + len(both))
        if _is_measured(column, values) and column.name in ranges:
            keys.add_places(measured, found, ranges[column.name], own)
        else:
            keys.add_numbers(both, found, own)

    if values.storage in ("number", "integer", "boolean"):
        return numbers
    if values.storage != "text":
        return lambda measured, both, first: keys.add_numbers(both, np.full(len(both), np.nan), own)
    listed = None if column.is_text else values.listed
    if listed is None:
        texts = values.texts()
        return lambda measured, both, first: keys.add_texts(both, texts, first, own)
    return lambda measured, both, first: keys.add_levels(
        both, listed.places[first : first + len(both)], listed.values, own
    )


def _example(values: Values) -> str:
    return repr(values.value(0)) if len(values) else "nothing"
