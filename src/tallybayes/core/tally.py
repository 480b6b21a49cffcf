"""Tallies and their algebra: what was counted.

Fitting is tallying. A tally of rows is added (``a + b``: rows of both), subtracted (``a - b``: rows taken back) and
scaled (``0.5 * a``: rows that count half).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, sub
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Documents, Encoded, Labels, Rows, mask_labels
from tallybayes.core.equality import ByValue
from tallybayes.core.levels import MOST_SHOWN, positions
from tallybayes.core.notebook import Bar, folded, grid, panel
from tallybayes.core.schema import Column, Kind, Level, NumberedColumns, Schema, amount, plural
from tallybayes.core.summaries import MOST_WEIGHT, Counts, Index, Summary, cell_grid, check_numbers, take_back
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.errors import NEVER_LEARNED, CellError, DataError, SchemaError, UnlearnError, nearest

MANY_CELLS = 10  # times the size of the rows from which on a table of words is large


@dataclass(frozen=True, eq=False)
class Block(ByValue):
    """The summary of one block and the positions of its columns in the schema."""

    columns: Sequence[int]
    summary: Summary

    def check(self, schema: Schema) -> None:
        """Refuse a block that is not one of such columns."""
        columns, sizes = self.columns, [array.size for array in self.summary.arrays().values()]
        # Every summary has a number for each column: that bounds a range before it is unrolled.
        if len(columns) > max(sizes, default=0) or len(set(columns)) < len(columns):
            raise SchemaError("it counts a column twice, or columns that it does not have")
        if columns and not 0 <= min(columns) <= max(columns) < len(schema.columns):
            raise SchemaError("it counts a column that the schema does not have")
        self.summary.check(len(schema.classes), [schema.columns[c] for c in columns])


class Counter(Protocol):
    """What a tally needs of a family."""

    def tally(self, x: Any, labels: Labels, n_classes: int) -> Summary: ...


@dataclass(frozen=True, eq=False)
class Tally(ByValue):
    """All that a model learned from rows: class weights and one summary per block of columns.

    Parameters
    ----------
    schema : Schema
        Columns and classes; where two vocabularies meet, they are united by name.
    class_weight : ndarray of shape (K,)
        Σ w over the rows of each class.
    blocks : mapping of str to Block
        Summaries by block name.

    Examples
    --------
    >>> from tallybayes import families, tally
    >>> north = tally(np.array([[1.0], [3.0]]), ["no", "yes"], families.Gaussian())
    >>> south = tally(np.array([[5.0]]), ["yes"], families.Gaussian())
    >>> north + south
    Tally(3 rows; no: 1, yes: 2; 1 column)
    >>> north + south - south
    Tally(2 rows; no: 1, yes: 1; 1 column)
    """

    schema: Schema
    class_weight: Array
    blocks: Mapping[str, Block]

    @classmethod
    def empty(cls) -> Tally:
        """The tally of no rows: adding it changes nothing."""
        return cls(Schema((), ()), np.zeros(0), {})

    def __add__(self, other: Tally) -> Tally:
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        schema = self.schema.unite(other.schema)
        return self.align(schema)._joined(other.align(schema))

    def _joined(self, other: Tally, combine: Callable[[Any, Any], Any] = add) -> Tally:
        """The rows of both, where both have the same schema."""
        return replace(self, class_weight=self.class_weight + other.class_weight, blocks=self._paired(other, combine))

    def __radd__(self, start: int) -> Tally:
        return self if start == 0 else NotImplemented  # so that sum() works

    def __sub__(self, other: Tally) -> Tally:
        if other.is_empty:
            return self
        if not self.schema.covers(other.schema):
            raise UnlearnError(f"{NEVER_LEARNED} (they hold columns, classes or levels that it has never seen)")
        return replace(self.taken_back(other.align(self.schema)), schema=self.schema.restated())

    def taken_back(self, other: Tally) -> Tally:
        """The tally without rows that were counted by the same schema, whose reasons stay as they are."""
        class_weight = take_back(self.class_weight, other.class_weight)
        return replace(self, class_weight=class_weight, blocks=self._paired(other, sub))

    def __mul__(self, factor: float) -> Tally:
        if not (np.isfinite(factor) and factor >= 0):
            raise DataError(f"a tally can be scaled by a number of at least 0, not by {factor!r}")
        blocks = {name: Block(b.columns, b.summary * factor) for name, b in self.blocks.items()}
        return replace(self, class_weight=self.class_weight * factor, blocks=blocks)

    __rmul__ = __mul__

    def weighted(self, factors: Mapping[Level, float]) -> Tally:
        """The tally in which the rows of a class count so many times; those of a class not named count once."""
        groups: dict[float, list[Level]] = {}
        for label in self.schema.classes:
            groups.setdefault(float(factors.get(label, 1.0)), []).append(label)
        if list(groups) in ([], [1.0]):
            return self
        parts = [
            (self.restrict(replace(self.schema, classes=tuple(labels), declared=())) * factor).align(self.schema)
            for factor, labels in groups.items()
        ]
        total = reduce(lambda mine, theirs: mine._joined(theirs), parts)
        return replace(total, schema=self.schema)

    @property
    def places(self) -> dict[str, Sequence[int]]:
        """Which columns each block counts, by position."""
        return {name: block.columns for name, block in self.blocks.items()}

    @property
    def is_empty(self) -> bool:
        """Whether this is the tally of no rows over no columns."""
        return not self.blocks and not self.schema.classes

    def align(self, schema: Schema) -> Tally:
        """Re-index onto a schema that has at least the classes and levels of this one."""
        if schema == self.schema:
            return replace(self, schema=schema)
        classes = Index(positions(self.schema.classes, schema.classes), len(schema.classes))
        blocks = {
            name: Block(b.columns, b.summary.align(classes, _cells(b.columns, self.schema, schema)))
            for name, b in self.blocks.items()
        }
        return Tally(schema, classes.spread(self.class_weight, 0), blocks)

    def trimmed(self, keep: Collection[Level] = ()) -> Tally:
        """The tally without the classes, levels and words that no row has any more: they leave with their last row.

        What was declared stays, and so do bins, hashed words and a vocabulary that was chosen; of the classes those to
        ``keep``, and all where no row is left.
        """
        stay = {*keep, *self.schema.declared} if self.class_weight.any() else set(self.schema.classes)
        seen = zip(self.schema.classes, self.class_weight.tolist(), strict=True)
        classes = tuple(label for label, weight in seen if weight > 0 or label in stay)
        columns = self.schema.columns
        if not isinstance(columns, NumberedColumns):
            columns = self._trimmed_columns()
        return self.restrict(replace(self.schema, columns=columns, classes=classes))

    def _trimmed_columns(self) -> tuple[Column, ...]:
        columns = list(self.schema.columns)
        pairs: list[tuple[int, NDArray[np.bool_]]] = []
        for block in self.blocks.values():
            if not isinstance(block.summary, Counts) or block.summary.n_levels is None:
                continue
            cells = np.split(block.summary.cell_total > 0, np.cumsum(block.summary.n_levels)[:-1])
            for p, used in zip(block.columns, cells, strict=True):
                if columns[p].parts is not None:
                    pairs.append((p, used))
                else:
                    columns[p] = columns[p].trimmed(used)
        by_name = {column.name: column for column in columns}
        for p, used in pairs:  # their parts have the levels of the columns that they are of
            columns[p] = _trimmed_pair(columns[p], used, by_name)
        return tuple(columns)

    def restrict(self, schema: Schema) -> Tally:
        """Re-index onto a schema that has some of the classes and levels of this one: the inverse of `align`."""
        if schema == self.schema:
            return replace(self, schema=schema)
        classes = Index(positions(schema.classes, self.schema.classes), len(self.schema.classes))
        blocks = {
            name: Block(b.columns, b.summary.restrict(classes, _cells(b.columns, schema, self.schema, smaller=True)))
            for name, b in self.blocks.items()
        }
        return Tally(schema, classes.gather(self.class_weight, 0), blocks)

    def check(self) -> None:
        """Refuse a tally whose parts do not belong together, or that no rows can have."""
        self.schema.check()
        check_numbers("the class weight", self.class_weight, (len(self.schema.classes),), 0.0, MOST_WEIGHT)
        taken: set[int] = set()
        for name, block in self.blocks.items():
            try:
                block.check(self.schema)
            except SchemaError as error:
                raise SchemaError(f"the block {name!r}: {error}") from None
            if taken & set(block.columns):
                raise SchemaError(f"a column of {name!r} is counted twice")
            taken |= set(block.columns)

    def select(self, names: Sequence[str]) -> Tally:
        """The tally of some columns, by name: nothing is counted again."""
        place = {column.name: p for p, column in enumerate(self.schema.columns)}
        unknown = [name for name in names if name not in place]
        if unknown:
            raise SchemaError(f"there is no column {unknown[0]!r}; {nearest(unknown[0], place, 'the tally')}")
        kept = {place[name]: p for p, name in enumerate(names)}
        blocks = {}
        for name, block in self.blocks.items():
            within = [i for i, c in enumerate(block.columns) if c in kept]
            if within:
                columns, summary = [kept[block.columns[i]] for i in within], block.summary
                if len(within) < len(block.columns):
                    summary = summary.select(np.array(within, dtype=np.intp))
                blocks[name] = Block(columns, summary)
        schema = replace(self.schema, columns=tuple(self.schema.columns[p] for p in kept))
        return Tally(schema, self.class_weight, blocks)

    def without(self, kind: Kind) -> Tally:
        """The tally without the columns of a kind."""
        if isinstance(self.schema.columns, NumberedColumns):
            return self
        return self.select([column.name for column in self.schema.columns if column.kind != kind])

    def _paired(self, other: Tally, combine: Callable[[Any, Any], Any]) -> dict[str, Block]:
        if self.blocks.keys() != other.blocks.keys():
            raise SchemaError(
                f"a tally of {sorted(self.blocks)} meets a tally of {sorted(other.blocks)}; count both alike"
            )
        return {
            name: Block(mine.columns, combine(mine.summary, other.blocks[name].summary))
            for name, mine in self.blocks.items()
        }

    def __repr__(self) -> str:
        shown = [
            f"{label}: {amount(weight)}" for label, weight in zip(self.schema.classes, self.class_weight, strict=True)
        ]
        classes = ", ".join(shown[:8] + (["…"] if len(shown) > 8 else []))
        rows = "1 row" if self.class_weight.sum() == 1 else f"{amount(self.class_weight.sum())} rows"
        return f"Tally({rows}; {classes}; {plural(len(self.schema.columns), 'column')})"

    def _repr_html_(self) -> str:
        total, names = float(self.class_weight.sum()), self.schema.classes
        title = f"{amount(total)} row{'' if total == 1 else 's'} counted, {plural(len(self.schema.columns), 'column')}"
        each = list(zip(names, self.class_weight.tolist(), strict=True))[:MOST_SHOWN]
        rows = [(str(label), amount(weight), Bar(weight / total if total else 0.0)) for label, weight in each]
        more = f"<p>and {plural(len(names) - len(rows), 'other class')}</p>" if len(rows) < len(names) else ""
        blocks = [
            (name, f"{len(block.columns):,}", type(block.summary).__name__) for name, block in self.blocks.items()
        ]
        counted = folded("what was counted", grid(("family", "columns", "summary"), blocks))
        return panel(title, grid(("class", "rows", ""), rows), more, counted)


def count(batch: Rows, families: Mapping[str, Counter], n_jobs: int | None = None) -> Tally:
    """Tally a batch: ranges of rows on all cores, each its own tally, added up."""
    if batch.n_rows == 0:
        return _count_rows(batch, families, 0, 0)
    threads = min(threads_for(batch.size, n_jobs), batch.n_rows)
    if threads > 1 and _n_word_cells(batch.schema) > MANY_CELLS * batch.size:
        threads = 1  # a table for each thread would take longer to add up than the rows to count
    step = max(1, min(-(-batch.n_rows // threads), batch.most_rows or batch.n_rows))
    parts = map_rows(lambda a, b: _count_rows(batch, families, a, b), batch.n_rows, step, threads)
    return reduce(lambda mine, theirs: mine._joined(theirs, _added_in_place), parts)


def _n_word_cells(schema: Schema) -> int:
    """Cells of the columns of text in all classes."""
    if schema.is_numbered:
        return 0
    return len(schema.classes) * sum(column.n_cells for column in schema.columns if column.is_text)


def _added_in_place(mine: Any, theirs: Any) -> Any:
    """Add to a summary that nobody else has seen yet, in place: a large vocabulary has no pages to spare."""
    if not isinstance(mine, Counts) or mine.having is not None:
        return mine + theirs
    np.add(mine.count, theirs.count, out=mine.count)
    return replace(mine, weight=mine.weight + theirs.weight)


def _count_rows(batch: Rows, families: Mapping[str, Counter], first: int, last: int) -> Tally:
    part, n_classes = batch.rows(first, last), len(batch.schema.classes)
    assert part.labels is not None
    labels = part.labels

    def summary(name: str, block: Encoded) -> Block:
        tallied = named_cells(families[name].tally, batch.schema, block.columns, first)
        found = tallied(block.x, mask_labels(block.x, labels), n_classes)
        if isinstance(block.x, Documents):  # all words are cells of one column
            found = replace(found, n_levels=np.array([block.x.n_columns], dtype=np.int64))
        return Block(block.columns, found)

    blocks = {name: summary(name, block) for name, block in part.blocks.items()}
    return Tally(batch.schema, labels.class_weight(n_classes), blocks)


def named_cells(work: Callable[..., Any], schema: Schema, columns: Sequence[int], first: int) -> Callable[..., Any]:
    """Make a family's complaint about a cell name the column and the row of the whole data."""

    def run(*args: Any) -> Any:
        try:
            return work(*args)
        except CellError as error:
            names = [part.name for c in columns for part in schema.columns[c].inputs]
            raise error.named(names, first) from None

    return run


def _trimmed_pair(pair: Column, used: NDArray[np.bool_], columns: Mapping[str, Column]) -> Column:
    """The pair with the levels that its columns have; with those in use where a column is not there."""
    assert pair.parts is not None
    grid = used.reshape(pair.parts[0].n_cells, -1)
    left = _part_of(pair.parts[0], np.asarray(grid.any(axis=1)), columns)
    right = _part_of(pair.parts[1], np.asarray(grid.any(axis=0)), columns)
    return replace(pair, parts=(left, right))


def _part_of(part: Column, used: NDArray[np.bool_], columns: Mapping[str, Column]) -> Column:
    of = columns.get(part.name)
    if part.levels is None or part.edges is not None:
        return part
    if of is None or of.levels is None:
        return part.trimmed(used)
    known = set(of.levels)
    return replace(part, levels=tuple(level for level in part.levels if level in known))


def _cells(columns: Sequence[int], mine: Schema, larger: Schema, smaller: bool = False) -> Index:
    """Where each cell of a block is in a larger schema: a column has a cell for every level, or one.

    The numbers of levels are those of the larger schema or, if they are to be taken out of it, of the ``smaller`` one.
    """
    if isinstance(larger.columns, NumberedColumns):
        return Index(np.arange(len(columns)), len(columns), np.ones(len(columns), dtype=np.int64))
    n_levels, n_right = cell_grid([larger.columns[c] for c in columns])
    starts, size = np.cumsum(n_levels) - n_levels, int(n_levels.sum())
    places = [s + mine.columns[c].cells_in(larger.columns[c]) for s, c in zip(starts, columns, strict=True)]
    if smaller:
        n_levels, n_right = cell_grid([mine.columns[c] for c in columns])
    return Index(np.concatenate(places), size, n_levels, n_right)
