"""Tallies as lists of cells: what was counted, each number under an address that stays when levels and classes grow.

A batch of few rows touches few cells of a tally. Its record holds those alone: amounts, which add up, and centred
moments, which are merged about their common mean. An address has the number of a class, the position of a column, a
field of its summary and a cell of the column; classes and levels are numbered in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.levels import positions
from tallybayes.core.scatter import Scatter
from tallybayes.core.schema import Column, Level, Schema
from tallybayes.core.summaries import Counts, Moments, Summary, cell_grid
from tallybayes.core.tally import Block, Tally
from tallybayes.core.tokens import Vocabulary
from tallybayes.errors import LedgerError, ModelFileError

Ids = NDArray[np.uint64]

CELL, FIELD, COLUMN, CLASS = 24, 6, 20, 14  # bits of an address, from the lowest
SIDE = CELL // 2  # of a pair, or of two columns of a scatter
COUNT, WEIGHT, HAVING, CENTRED, SHARED = range(5)  # fields of a part of a summary
PART = 8  # fields that a part may have
CLASS_WEIGHT, ROWS = 62, 63  # fields of the whole tally
CLASSES = "y"  # where classes are numbered
ERASED = object()  # a level whose name went with the last key that had it


class Entries(NamedTuple):
    """The numbers of some batches."""

    owner: NDArray[np.int64]  # the batch of each amount
    address: Ids
    amount: Array
    centred_owner: NDArray[np.int64]  # the batch of each moment
    centred_address: Ids
    centred: Array  # (n, 3) weight, mean and sum of squares, or of products


class Names:
    """The numbers of classes and levels, by where they occur: those of the plan first, then in the order they came."""

    def __init__(self, schema: Schema) -> None:
        self.new: list[tuple[str, int, Level]] = []  # those that the ledger's file does not have yet
        self.values: dict[str, list[Any]] = {}
        self.ids: dict[str, dict[Level, int]] = {}
        self.numbers(CLASSES, schema.classes)
        for column in () if schema.is_numbered else schema.columns:
            for each in (column, *(column.parts or ())):
                if is_open(each):
                    self.numbers(scope(each), each.levels or ())
        self.new.clear()  # the file has those of its schema

    def numbers(self, place: str, levels: Sequence[Level]) -> Ids:
        """The numbers of levels; new ones get the next."""
        known, values = self.ids.setdefault(place, {}), self.values.setdefault(place, [])
        try:
            return np.fromiter(map(known.__getitem__, levels), dtype=np.uint64, count=len(levels))
        except KeyError:
            for level in levels:
                if level not in known:
                    known[level] = len(values)
                    self.new.append((place, len(values), level))
                    values.append(level)
            return self.numbers(place, levels)

    def restore(self, place: str, number: int, level: Any) -> None:
        """Take in a level of the file."""
        values = self.values.setdefault(place, [])
        if number != len(values):
            raise ModelFileError("its levels are not numbered one after another")
        values.append(level)
        if level is not ERASED:
            self.ids.setdefault(place, {})[level] = number


def is_open(column: Column) -> bool:
    """Whether later rows may add levels to a column."""
    return column.levels is not None and not isinstance(column.levels, range) and column.edges is None


def scope(column: Column) -> str:
    """Where the levels of a column are numbered; a part of a pair shares those of its column."""
    return f"c:{column.name}"


def parts_of(summary: Summary) -> list[Any]:
    """The counts, moments or scatters that a summary is made of."""
    if isinstance(summary, Counts | Moments | Scatter):
        return [summary]
    return [getattr(summary, field.name) for field in fields(summary)]  # type: ignore[arg-type]


def address(classes: Any, column: Any, field: int, cell: Any) -> Ids:
    """The addresses of cells."""
    found = np.asarray(classes, dtype=np.uint64) << np.uint64(CELL + FIELD + COLUMN)
    found = found | (np.asarray(column, dtype=np.uint64) << np.uint64(CELL + FIELD))
    return found | np.uint64(field << CELL) | np.asarray(cell, dtype=np.uint64)


def _bits(addresses: Ids, first: int, size: int) -> NDArray[np.int64]:
    return ((addresses >> np.uint64(first)) & np.uint64((1 << size) - 1)).astype(np.int64)


def _cell_numbers(column: Column, names: Names) -> Ids:
    """The number of each cell of a column."""
    if column.kind == "pair" and column.parts is not None:
        left, right = (_cell_numbers(part, names) for part in column.parts)
        _refuse_more(max(left.max(initial=0), right.max(initial=0)), SIDE, "levels of a pair of columns")
        return ((left[:, None] << np.uint64(SIDE)) | right[None, :]).ravel()
    if is_open(column):
        return names.numbers(scope(column), column.levels or ())
    return np.arange(column.n_cells, dtype=np.uint64)


def _refuse_more(number: Any, bits: int, what: str) -> None:
    if int(number) >= 1 << bits:
        raise LedgerError(f"a ledger holds at most {1 << bits:,} {what}")


# ------------------------------------------------------------------------------------------------ from tallies


def entries_of(tally: Tally, classes: Sequence[Level], rows: NDArray[np.int64], names: Names) -> Entries:
    """The cells of batches that were counted as one tally, of which each batch has so many ``classes``."""
    n_batches, schema = len(rows), tally.schema
    _refuse_more(len(schema.columns) - 1, COLUMN, "columns")
    own = np.tile(names.numbers(CLASSES, classes), n_batches)
    _refuse_more(own.max(initial=0), CLASS, "classes")
    amounts: list[tuple[Any, Ids, Array]] = [
        (np.arange(n_batches), address(0, 0, ROWS, np.zeros(n_batches)), rows.astype(np.float64))
    ]
    centred: list[tuple[Any, Ids, Array]] = []
    finder = _Finder(own, max(len(classes), 1))
    amounts.append(finder.amounts(tally.class_weight[:, None], np.zeros(1), np.zeros(1), CLASS_WEIGHT))
    for block in tally.blocks.values():
        places = np.asarray(list(block.columns), dtype=np.uint64)
        for p, part in enumerate(parts_of(block.summary)):
            if isinstance(part, Counts):
                amounts += _of_counts(part, [schema.columns[c] for c in block.columns], places, p, names, finder)
            else:
                centred.append(_of_moments(part, places, p, finder))
    owner, where, amount = (np.concatenate(each) for each in zip(*amounts, strict=True))
    if not centred:
        nothing = np.zeros(0, dtype=np.int64)
        return Entries(owner, where, amount, nothing, nothing.astype(np.uint64), np.zeros((0, 3)))
    return Entries(owner, where, amount, *(np.concatenate(each) for each in zip(*centred, strict=True)))


class _Finder:
    """Finds the cells that are not zero in tables whose first axis is that of batches and classes."""

    def __init__(self, classes: Ids, per_batch: int) -> None:
        self.classes, self.per_batch = classes, per_batch

    def amounts(self, table: Array, columns: Any, cells: Any, field: int) -> tuple[NDArray[np.int64], Ids, Array]:
        row, place = np.nonzero(table)
        where = address(self.classes[row], np.asarray(columns)[place], field, np.asarray(cells)[place])
        return row // self.per_batch, where, table[row, place]


def _of_counts(
    part: Counts, columns: Sequence[Column], places: Ids, p: int, names: Names, finder: _Finder
) -> Iterable[tuple[Any, Ids, Array]]:
    if part.n_levels is None:
        of, cells = places, np.zeros(len(places), dtype=np.uint64)
    else:
        numbers = [_cell_numbers(column, names) for column in columns]
        of, cells = np.repeat(places, [len(each) for each in numbers]), np.concatenate(numbers)
        _refuse_more(cells.max(initial=0), CELL, "levels of a column")
    yield finder.amounts(part.count, of, cells, PART * p + COUNT)
    shared = part.weight.shape[1] == 1 and len(places) > 1
    zeros = np.zeros(part.weight.shape[1], dtype=np.uint64)
    yield finder.amounts(part.weight, places[: len(zeros)], zeros, PART * p + (SHARED if shared else WEIGHT))
    if part.having is not None:
        yield finder.amounts(part.having, of, cells, PART * p + HAVING)


def _of_moments(part: Moments | Scatter, places: Ids, p: int, finder: _Finder) -> tuple[Any, Ids, Array]:
    if isinstance(part, Moments):
        row, place = np.nonzero(part.weight)
        values = np.stack((part.weight[row, place], part.mean[row, place], part.m2[row, place]), axis=1)
        return row // finder.per_batch, address(finder.classes[row], places[place], PART * p + CENTRED, 0), values
    shape = part.product.shape
    _refuse_more(shape[1], SIDE, "columns of a block")
    weight, mean = np.broadcast_to(part.weight, shape), np.broadcast_to(part.mean, shape)
    row, i, j = np.nonzero(weight)
    values = np.stack((weight[row, i, j], mean[row, i, j], part.product[row, i, j]), axis=1)
    cell = (i.astype(np.uint64) << np.uint64(SIDE)) | j.astype(np.uint64)
    return row // finder.per_batch, address(finder.classes[row], places[0], PART * p + CENTRED, cell), values


def mates(addresses: Ids) -> Ids:
    """The address of the product of the same two columns the other way round; of a moment, its own."""
    cell = addresses & np.uint64((1 << CELL) - 1)
    low = np.uint64((1 << SIDE) - 1)
    return (addresses & ~np.uint64((1 << CELL) - 1)) | ((cell & low) << np.uint64(SIDE)) | (cell >> np.uint64(SIDE))


# ------------------------------------------------------------------------------------------------ to tallies


@dataclass(frozen=True)
class Totals:
    """Sums of cells, by address; nothing is zero."""

    address: Ids
    amount: Array
    centred_address: Ids
    centred: Array  # (n, 3)


def tally_of(totals: Totals, plan: Tally, names: Names) -> Tally:
    """The tally of the rows of a slice: the plan's classes and levels, and those that the rows have."""
    schema = _schema_of(totals, plan.schema, names)
    reader = _Reader(totals, schema, names)
    blocks = {}
    for name, block in plan.blocks.items():
        columns = [schema.columns[c] for c in block.columns]
        found = [reader.part(like, p, list(block.columns), columns) for p, like in enumerate(parts_of(block.summary))]
        simple = isinstance(block.summary, Counts | Moments | Scatter)
        blocks[name] = Block(block.columns, found[0] if simple else type(block.summary)(*found))
    weight = reader.table(CLASS_WEIGHT, [0], np.zeros(1, dtype=np.int64), 1, None)[:, 0]
    return Tally(schema, weight, blocks)


def _schema_of(totals: Totals, plan: Schema, names: Names) -> Schema:
    """The plan's schema with the classes and levels of some cells."""
    field = _bits(totals.address, CELL, FIELD)
    labels = np.unique(_bits(totals.address[field == CLASS_WEIGHT], CELL + FIELD + COLUMN, CLASS))
    classes = tuple(_named(names, CLASSES, labels.tolist()))
    if plan.is_numbered:
        return plan.unite(replace(plan, classes=classes))
    counted = totals.address[(field < CLASS_WEIGHT) & (field % PART == COUNT)]
    column, cell = _bits(counted, CELL + FIELD, COLUMN), _bits(counted, 0, CELL)
    used: dict[str, set[int]] = {}
    for c, each in enumerate(plan.columns):
        if is_open(each) and each.kind != "pair":
            used[scope(each)] = set(np.unique(cell[column == c]).tolist())

    def more(each: Column) -> Column:
        if each.parts is not None:
            return replace(each, parts=tuple(map(more, each.parts)))
        if not is_open(each) or scope(each) not in used:
            return each
        levels = list(_named(names, scope(each), sorted(used[scope(each)])))
        if None in levels:  # the level of the missing is always the last
            levels = [*(level for level in levels if level is not None), None]
        if isinstance(each.levels, Vocabulary):
            return replace(each, levels=Vocabulary.of([str(word) for word in levels]))
        return replace(each, levels=tuple(levels))

    return plan.unite(Schema(tuple(map(more, plan.columns)), classes))


def _named(names: Names, place: str, numbers: Iterable[int]) -> Iterable[Level]:
    values = names.values.get(place, [])
    for number in numbers:
        if number >= len(values) or values[number] is ERASED:
            raise ModelFileError("it counts a level that it has no name for")
        yield values[number]


class _Reader:
    """Puts sums into the arrays of summaries."""

    def __init__(self, totals: Totals, schema: Schema, names: Names) -> None:
        self.totals, self.schema, self.names = totals, schema, names
        self.class_place = self._places(CLASSES, schema.classes)
        self.amounts = _decoded(totals.address)
        self.centred = _decoded(totals.centred_address)

    def _places(self, place: str, levels: Sequence[Level]) -> NDArray[np.int64]:
        """The position of each number among levels; −1 where it is none of them."""
        values = self.names.values.get(place, [])
        found = np.full(len(values), -1, dtype=np.int64)
        numbers = self.names.ids.get(place, {})
        for position, level in enumerate(levels):
            if level in numbers:
                found[numbers[level]] = position
        return found

    def _cells(self, column: Column) -> Any:
        """The position of the cells of a column, from their numbers."""
        if column.kind == "pair" and column.parts is not None:
            left, right = (self._cells(part) for part in column.parts)
            n_right = column.parts[1].n_cells
            low = (1 << SIDE) - 1
            return lambda cell: _both(left(cell >> SIDE), right(cell & low), n_right)
        if not is_open(column):
            return lambda cell: np.where(cell < column.n_cells, cell, -1)
        places = self._places(scope(column), column.levels or ())
        return lambda cell: np.where(
            cell < len(places), places[np.minimum(cell, len(places) - 1)] if len(places) else -1, -1
        )

    def table(self, field: int, places: Sequence[int], starts: NDArray[np.int64], size: int, makers: Any) -> Array:
        """The table (K, size) of a field; a maker gives the position of a cell in its column, None is one cell each."""
        klass, column, of, cell = self.amounts
        chosen = np.flatnonzero(of == field)
        if field != CLASS_WEIGHT:
            chosen = chosen[np.isin(column[chosen], places)]
        order = np.argsort(places)
        position = order[np.searchsorted(np.asarray(places)[order], column[chosen])]
        within = np.zeros(len(chosen), dtype=np.int64)
        for each in np.unique(position).tolist() if makers is not None else ():
            mine = position == each
            within[mine] = makers[each](cell[chosen[mine]])
        where, rows = starts[position] + within, self.class_place[klass[chosen]]
        if (within < 0).any() or (rows < 0).any() or (where >= size).any():
            raise ModelFileError("it counts a cell that its columns do not have")
        found = np.zeros((len(self.schema.classes), size))
        found[rows, where] = self.totals.amount[chosen]
        return found

    def part(self, like: Any, p: int, places: list[int], columns: Sequence[Column]) -> Any:
        if isinstance(like, Counts):
            return self._counts(like, p, places, columns)
        klass, column, of, cell = self.centred
        if (self.class_place[klass] < 0).any():
            raise ModelFileError("it counts a class that it has no name for")
        mine = np.flatnonzero((of == PART * p + CENTRED) & np.isin(column, places))
        values, rows = self.totals.centred[mine], self.class_place[klass[mine]]
        n_classes = len(self.schema.classes)
        if isinstance(like, Moments):
            found = np.zeros((3, n_classes, len(places)))
            found[:, rows, positions(column[mine].tolist(), places)] = values.T
            return Moments(*found)
        d = like.product.shape[1]
        i, j = cell[mine] >> SIDE, cell[mine] & ((1 << SIDE) - 1)
        if (np.maximum(i, j) >= d).any():
            raise ModelFileError("it counts a cell that its columns do not have")
        found = np.zeros((3, n_classes, d, d))
        found[:, rows, i, j] = values.T
        return _compressed(Scatter(*found), like)

    def _counts(self, like: Counts, p: int, places: list[int], columns: Sequence[Column]) -> Counts:
        n_levels, n_right = (None, None) if like.n_levels is None else cell_grid(columns)
        widths = np.ones(len(places), dtype=np.int64) if n_levels is None else n_levels
        starts, size = np.cumsum(widths) - widths, int(widths.sum())
        makers = None if n_levels is None else [self._cells(column) for column in columns]
        count = self.table(PART * p + COUNT, places, starts, size, makers)
        each = np.arange(len(places))
        weight = self.table(PART * p + WEIGHT, places, each, len(places), None)
        if len(places) > 1:
            shared = self.table(PART * p + SHARED, places[:1], each[:1], 1, None)
            weight = shared if not weight.any() and like.weight.shape[1] == 1 else weight + shared
        having = None if like.having is None else self.table(PART * p + HAVING, places, starts, size, makers)
        return Counts(count, weight, n_levels, n_right, having)


def _decoded(addresses: Ids) -> tuple[NDArray[np.int64], ...]:
    """Class, column, field and cell."""
    first = (CELL + FIELD + COLUMN, CELL + FIELD, CELL, 0)
    return tuple(_bits(addresses, *each) for each in zip(first, (CLASS, COLUMN, FIELD, CELL), strict=True))


def _both(left: Any, right: Any, n_right: int) -> Any:
    return np.where((left < 0) | (right < 0), -1, left * n_right + right)


def _compressed(found: Scatter, like: Scatter) -> Scatter:
    """With the weight and the mean once, where no value was missing."""
    if not like.complete:
        return found
    weight, mean = found.weight[:, :1, :1], found.mean[:, :, :1]
    if (found.weight == weight).all():
        return Scatter(weight, mean, found.product)
    return found


def used_names(totals: Totals, names: Names, plan: Schema) -> Mapping[str, set[int]]:
    """The numbers of the classes and levels that some cells have, by where they are numbered."""
    klass, column, field, cell = _decoded(totals.address)
    found = {CLASSES: set(np.unique(klass).tolist())}
    counted = (field < CLASS_WEIGHT) & (field % PART == COUNT)
    for c, each in enumerate(() if plan.is_numbered else plan.columns):
        if is_open(each) and each.kind != "pair":
            found.setdefault(scope(each), set()).update(np.unique(cell[counted & (column == c)]).tolist())
    return found
