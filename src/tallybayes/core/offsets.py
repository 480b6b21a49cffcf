"""Corrections of the scores that were learned from rows: a number for every cell of a column and every class.

score_k = prior_k + Σ_d [ w_d·e_dk(x_d) + offset_d[cell(x_d), k] ]. A missing value, an unseen category and a text
without known words have no cell, so they add no offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import MISSING, Array, Codes, Csr, Documents, Matrix
from tallybayes.core.equality import ByValue, same_value
from tallybayes.core.family import Family
from tallybayes.core.levels import united
from tallybayes.core.schema import Column, Level, Schema
from tallybayes.core.tally import Tally
from tallybayes.errors import SchemaError

CORRECTION = "correction learned from rows"
CONSTANT = "constant that keeps the class shares"
MOST = 1e100  # that a cell adds to a score: sums of offsets are numbers, too


@dataclass(frozen=True, eq=False)
class Offset(ByValue):
    """What the cells of one column add to the scores of the classes.

    Parameters
    ----------
    cells : Column
        The column as its cells are distinguished: by levels, by the edges of bins, or by the parts of a pair. Without
        any of these there is one cell: the offset is added wherever the column has a value.
    classes : tuple
        The classes that it was learned for.
    table : ndarray of shape (cells, classes)

    Examples
    --------
    >>> offset = Offset(Column("wind", "category", ("strong", "weak")), ("no", "yes"), np.array([[0.5, -0.5], [0, 0]]))
    >>> offset.among(Column("wind", "category", ("calm", "strong")), ("no", "perhaps", "yes"))
    array([[ 0. ,  0. ,  0. ],
           [ 0.5,  0. , -0.5]])
    """

    cells: Column
    classes: tuple[Level, ...]
    table: Array

    def __repr__(self) -> str:
        return f"Offset({self.cells!r}, {len(self.classes)} classes)"

    @property
    def is_constant(self) -> bool:
        """Whether every value of the column adds the same: what centring shares out, not a correction of a cell."""
        return self.cells.levels is None and self.cells.edges is None and self.cells.parts is None

    def among(self, column: Column, classes: Sequence[Level]) -> Array:
        """The offsets (C, K) of the cells of a column and the classes, as they are now; zero for those not known.

        A bin with other edges than the offset's has the mean of the cells that it covers.
        """
        table = _for_cells(self.table, self.cells, column)
        if tuple(classes) == self.classes:
            return table
        return np.ascontiguousarray(_by_name(table.T, self.classes, classes).T)

    def mean(self, other: Offset, share: float) -> Offset:
        """The offsets of two tables together, of which the other has this share of the rows.

        A cell or a class that one side does not have counts as zero there.
        """
        cells, classes = _all_cells(self.cells, other.cells), tuple(united(self.classes, other.classes))
        mine, theirs = (each.among(cells, classes) for each in (self, other))
        return Offset(cells, classes, (1.0 - share) * mine + share * theirs)

    def scaled(self, factor: float) -> Offset:
        """The same, each number times the factor."""
        return replace(self, table=self.table * factor)

    def within(self, column: Column, classes: Sequence[Level]) -> Offset:
        """The offset without the levels and classes that are gone."""
        cells, left = _left_of(self.cells, column), tuple(k for k in self.classes if k in set(classes))
        if cells == self.cells and left == self.classes:
            return self
        return Offset(cells, left, self.among(cells, left))

    def check(self, column: Column) -> None:
        """Refuse an offset that does not fit its column, or whose table does not fit its cells."""
        # The table first: levels that are a range may be many more than a file has numbers.
        if self.table.shape != (self.cells.n_cells, len(self.classes)) or not (np.abs(self.table) < MOST).all():
            raise SchemaError(f"the offset of column {column.name!r} has no finite number for every cell and class")
        if not _fits(self.cells, column) or len(set(self.classes)) < len(self.classes):
            raise SchemaError(f"the offset of column {column.name!r} is not for this column")


def described(offsets: Mapping[str, Offset]) -> dict[str, list[str]]:
    """The columns that have offsets, by what these are called."""
    found: dict[str, list[str]] = {}
    for name, offset in offsets.items():
        found.setdefault(CONSTANT if offset.is_constant else CORRECTION, []).append(name)
    return found


def averaged(mine: Mapping[str, Offset], theirs: Mapping[str, Offset], share: float) -> Mapping[str, Offset]:
    """The offsets of two tables together, of which the other has this share of the rows; none counts as zero."""
    if share in (0.0, 1.0) or same_value(mine, theirs):
        return theirs if share == 1.0 else mine
    found = {}
    for name in dict.fromkeys((*mine, *theirs)):
        if name in mine and name in theirs:
            found[name] = mine[name].mean(theirs[name], share)
        else:
            found[name] = mine[name].scaled(1.0 - share) if name in mine else theirs[name].scaled(share)
    return found


@dataclass(frozen=True)
class Lookup:
    """The offsets of the columns of one block, ready to be added to the scores of its rows."""

    columns: NDArray[np.int64]  # (m,) places in the block
    edges: Array  # of the bins of numbers, one column's after another's; none of codes
    start: NDArray[np.int64]  # (m + 1,) first cell of each column
    table: Array  # (cells + m, K); the last of each column is for values without a cell: zero
    is_coded: bool  # the table has the shape of the block's own

    @classmethod
    def of(
        cls, offsets: Mapping[str, Offset], columns: Sequence[Column], classes: Sequence[Level], coded: bool
    ) -> Self | None:
        """Those of a block of columns, or None; of codes for every column, so that the cells are those of its table."""
        places = [j for j, column in enumerate(columns) if column.name in offsets]
        if not places:
            return None
        given = (
            [offsets.get(column.name) for column in columns] if coded else [offsets[columns[j].name] for j in places]
        )
        cells = columns if coded else [offset.cells for offset in given if offset is not None]
        start = kernels.starts(np.array([column.n_cells + 1 for column in cells], dtype=np.int64))
        table, edges, known = np.zeros((int(start[-1]), len(classes))), list[float](), tuple(classes)
        for offset, column, (first, end) in zip(given, cells, pairwise(start.tolist()), strict=True):
            if offset is not None:
                is_plain = offset.is_constant and offset.classes == known
                table[first : end - 1] = offset.table if is_plain else offset.among(column, classes)
            edges += () if coded else column.edges or ()
        places = list(range(len(columns))) if coded else places
        return cls(np.array(places, dtype=np.int64), np.array(edges), start, table, coded)

    def scores(self, x: Matrix) -> Array:
        """What the rows get (n, K)."""
        if isinstance(x, Documents):
            return kernels.table_scores(np.where(np.diff(x.start) > 0, 0, MISSING)[:, None], self.start, self.table)
        if isinstance(x, Codes):
            return kernels.table_scores(x.matrix[:, self.columns], self.start, self.table)
        x = x.dense() if isinstance(x, Csr) else x
        return kernels.bin_scores(x, self.columns, self.start, self.edges, self.table)

    def added(self, scores: Array, x: Matrix) -> Array:
        """Scores (n, K) of the block, or of each of its columns (n, K, d), and the offsets."""
        if scores.ndim == 2:
            return scores + self.scores(x)
        for column in self.by_column():
            scores[:, :, column.columns[0]] += column.scores(x)
        return scores

    def by_column(self) -> Iterator[Lookup]:
        """The same for each column alone."""
        for i, (first, last) in enumerate(pairwise(self.start.tolist())):
            edges = self.edges[first - 2 * i : last - 2 * i - 2]
            yield Lookup(
                self.columns[i : i + 1], edges, np.array([0, last - first]), self.table[first:last], self.is_coded
            )


# ------------------------------------------------------------------------------------------ those of a model


def lookups(given: Mapping[str, Offset], tally: Tally, families: Mapping[str, Family]) -> dict[str, Lookup]:
    """The offsets of each block that has some."""
    columns, classes = tally.schema.columns, tally.schema.classes
    blocks = {name: [columns[c] for c in block.columns] for name, block in tally.blocks.items()} if given else {}
    found = {name: Lookup.of(given, own, classes, families[name].is_coded) for name, own in blocks.items()}
    return {name: lookup for name, lookup in found.items() if lookup is not None}


def offsets_within(given: Mapping[str, Offset], schema: Schema) -> Mapping[str, Offset]:
    """The offsets without the columns, levels and classes that are gone."""
    columns = {column.name: column for column in schema.columns} if given else {}
    return {name: each.within(columns[name], schema.classes) for name, each in given.items() if name in columns}


def check_offsets(given: Mapping[str, Offset], tally: Tally) -> None:
    """Refuse offsets that do not fit their columns, or of columns that are no evidence."""
    places = (c for block in tally.blocks.values() for c in block.columns) if given else ()
    columns = {column.name: column for column in map(tally.schema.columns.__getitem__, places)}
    for name, offset in given.items():
        if name not in columns:
            raise SchemaError(f"it has an offset of {name!r}, which is no evidence")
        offset.check(columns[name])


# ------------------------------------------------------------------------------------------ cells of two columns


def _for_cells(table: Array, mine: Column, wanted: Column) -> Array:
    """The rows (C, …) of a table (cells of mine, …) for the cells of another column."""
    if mine is wanted:
        return table
    if mine.parts is not None and wanted.parts is not None:
        (a, b), (left, right) = mine.parts, wanted.parts
        by_left = _for_cells(table.reshape(a.n_cells, -1), a, left).reshape(left.n_cells, b.n_cells, -1)
        by_right = np.ascontiguousarray(by_left.swapaxes(0, 1)).reshape(b.n_cells, -1)
        both = _for_cells(by_right, b, right).reshape(right.n_cells, left.n_cells, -1)
        return np.ascontiguousarray(both.swapaxes(0, 1)).reshape(wanted.n_cells, -1)
    if mine.edges is not None and (wanted.edges is not None or wanted.levels is None):
        return _by_bin(table, mine.edges, wanted.edges or ())
    if mine.levels is not None and mine.edges is None:
        return _by_name(table, mine.levels, wanted.levels or ())
    return np.repeat(table, wanted.n_cells, axis=0)


def _by_name(table: Array, mine: Sequence[Level], wanted: Sequence[Level]) -> Array:
    if mine == wanted:
        return table
    place = {value: p for p, value in enumerate(mine)}
    found = np.fromiter((place.get(value, len(mine)) for value in wanted), dtype=np.intp, count=len(wanted))
    return np.asarray(np.concatenate((table, np.zeros((1, table.shape[1]))))[found])


def _by_bin(table: Array, mine: tuple[float, ...], wanted: tuple[float, ...]) -> Array:
    """For each wanted bin the mean of the bins that it covers, in whole or in part."""
    if mine == wanted:
        return table
    every = np.array(sorted({*mine, *wanted}))
    covering = np.searchsorted(np.array(mine), np.concatenate(([-np.inf], every)), side="right")
    first = np.concatenate(([0], np.searchsorted(every, np.array(wanted)) + 1)).astype(np.intp)
    sums = np.add.reduceat(table[covering], first, axis=0)
    return np.asarray(sums / np.diff(np.append(first, len(every) + 1))[:, None])


def _all_cells(mine: Column, theirs: Column) -> Column:
    """The column with the cells of both: all levels, all edges."""
    if mine.parts is not None and theirs.parts is not None:
        left, right = map(_all_cells, mine.parts, theirs.parts)
        return replace(mine, parts=(left, right))
    if mine.edges is not None or theirs.edges is not None:
        return replace(mine, edges=tuple(sorted({*(mine.edges or ()), *(theirs.edges or ())})))
    if mine.levels is None or theirs.levels is None:
        return mine if theirs.levels is None else theirs
    return replace(mine, levels=united(mine.levels, theirs.levels))


def _left_of(cells: Column, column: Column) -> Column:
    """The cells without the levels that the column does not have."""
    if cells.parts is not None and column.parts is not None:
        left, right = map(_left_of, cells.parts, column.parts)
        return replace(cells, parts=(left, right))
    if cells.levels is None or cells.edges is not None:
        return cells
    known = set(column.levels or ())
    return replace(cells, levels=tuple(level for level in cells.levels if level in known))


def _fits(cells: Column, column: Column) -> bool:
    """Whether the cells are such as the column can have."""
    if (cells.name, cells.kind) != (column.name, column.kind):
        return False
    if cells.parts is not None:
        return column.parts is not None and all(map(_fits, cells.parts, column.parts))
    if cells.edges is not None:
        in_order = bool(np.isfinite(cells.edges).all() and np.all(np.diff(cells.edges) > 0))
        is_number = column.edges is not None or (column.levels is None and column.parts is None)
        return in_order and is_number and not column.is_text
    if cells.levels is not None:
        if column.levels is None or column.edges is not None or len(cells.levels) > len(column.levels):
            return False
        return len(set(cells.levels)) == len(cells.levels)
    return True
