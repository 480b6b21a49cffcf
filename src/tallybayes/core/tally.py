"""Sufficient statistics and their algebra: what was counted.

Fitting is tallying. A tally of rows is added (``a + b``: rows of both), subtracted (``a - b``: rows taken back) and
scaled (``0.5 * a``: rows that count half). Counts are exact below 2**53; moments are centred and merged with the
between-means term (Chan, Golub and LeVeque 1979), never as raw sums of squares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from importlib import import_module
from operator import add
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Documents, Encoded, Labels, Rows, heard
from tallybayes.core.schema import Column, NumberedColumns, Schema, amount, plural, positions
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.core.tokens import Vocabulary
from tallybayes.errors import CellError, DataError, SchemaError, UnlearnError

ROUNDING = 1e-9  # share of fractional weights that a subtraction may leave and still mean "nothing"


@dataclass(frozen=True)
class Index:
    """Where the entries of an axis go in a larger one; the rest of the larger one is zero."""

    places: NDArray[np.intp]  # position of each old entry
    size: int  # length of the larger axis
    n_levels: NDArray[np.int64] | None = None  # (d,) cells of each column, where the axis is one of cells
    n_right: NDArray[np.int64] | None = None  # (d,) of pairs: cells of their second columns

    def spread(self, table: Array, axis: int) -> Array:
        """The table with its entries moved to their places; entries that share one are added."""
        if len(self.places) == self.size and np.array_equal(self.places, np.arange(self.size)):
            return table
        order: Any = "F" if table.flags.f_contiguous else "C"  # the cells of a word lie together, and stay so
        larger = np.zeros((*table.shape[:axis], self.size, *table.shape[axis + 1 :]), order=order)
        where: Any = (*(slice(None),) * axis, self.places)
        if np.all(self.places[1:] > self.places[:-1]):  # no two share a place, as where a vocabulary grows
            larger[where] = table
        else:
            np.add.at(larger, where, table)
        return larger


class Summary(Protocol):
    """Statistics of one block of columns; frozen; the class is always the first axis."""

    def __add__(self, other: Any, /) -> Self: ...
    def __sub__(self, other: Any, /) -> Self: ...
    def __mul__(self, factor: float, /) -> Self: ...
    def align(self, classes: Index, cells: Index) -> Self: ...
    def select(self, columns: NDArray[np.intp]) -> Self: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    @property
    def column_weight(self) -> Array: ...  # (K, d) Σ w of the values of each column, or (K, 1) where all share it


@dataclass(frozen=True)
class Counts:
    """Weighted counts of levels, words or events.

    Parameters
    ----------
    count : ndarray of shape (K, m)
        Σ w·x over the rows of each class: a cell for every level of every categorical column, or one a column.
    weight : ndarray of shape (K, d) or (K, 1)
        Σ w over the rows where the column has a value; one column when all columns share it.
    n_levels : ndarray of shape (d,), optional
        Number of cells of each column; None when every column is one cell.
    n_right : ndarray of shape (d,), optional
        Of pairs: how many of their cells belong to one level of the first column.
    having : ndarray of shape (K, m), optional
        Σ w over the rows in which the cell is not zero, where the family asks for it.

    Examples
    --------
    >>> Counts(np.array([[2.0, 3.0]]), np.array([[5.0]])) - Counts(np.array([[1.0, 0.0]]), np.array([[1.0]]))
    Counts(1 class, 2 cells, weight 4)
    """

    count: Array
    weight: Array
    n_levels: NDArray[np.int64] | None = None
    n_right: NDArray[np.int64] | None = None
    having: Array | None = None

    def __add__(self, other: Counts) -> Counts:
        return self._paired(other, np.add)

    def __sub__(self, other: Counts) -> Counts:
        return self._paired(other, take_back)

    def _paired(self, other: Counts, combine: Callable[[Array, Array], Array]) -> Counts:
        having = None
        if self.having is not None and other.having is not None:
            having = combine(self.having, other.having)
        count, weight = combine(self.count, other.count), combine(self.weight, other.weight)
        return replace(self, count=count, weight=weight, having=having)

    def __mul__(self, factor: float) -> Counts:
        having = None if self.having is None else self.having * factor
        return replace(self, count=self.count * factor, weight=self.weight * factor, having=having)

    def align(self, classes: Index, cells: Index) -> Counts:
        """Re-index onto a larger set of classes and levels."""
        count = cells.spread(classes.spread(self.count, 0), 1)
        grid = (None, None) if self.n_levels is None else (cells.n_levels, cells.n_right)
        having = None if self.having is None else cells.spread(classes.spread(self.having, 0), 1)
        return Counts(count, classes.spread(self.weight, 0), *grid, having)

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

    def with_cells(self, kept: NDArray[np.bool_]) -> Counts:
        """The counts of some of the cells of a single column."""
        having = None if self.having is None else self.having[:, kept]
        return replace(self, count=self.count[:, kept], n_levels=np.array([kept.sum()], dtype=np.int64), having=having)

    @property
    def column_weight(self) -> Array:
        """Weight of the values of each column."""
        return self.weight

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The fields by name, for the file."""
        grid = {"n_levels": self.n_levels, "n_right": self.n_right, "having": self.having}
        return {"count": self.count, "weight": self.weight, **{k: v for k, v in grid.items() if v is not None}}

    def __repr__(self) -> str:
        n_classes, cells = self.count.shape
        total = amount(self.weight.max(axis=1, initial=0.0).sum())
        return f"Counts({plural(n_classes, 'class')}, {plural(cells, 'cell')}, weight {total})"


@dataclass(frozen=True)
class Moments:
    """Weighted centred moments of numbers, shape (K, d) each.

    Parameters
    ----------
    weight : ndarray
        Σ w over the rows where the column has a value. Missing cells add none, so columns of a class may differ.
    mean : ndarray
        Σ w·x / Σ w; zero where nothing was seen.
    m2 : ndarray
        Σ w·(x − mean)².

    Examples
    --------
    >>> one = Moments(np.array([[2.0]]), np.array([[1.0]]), np.array([[2.0]]))  # the values 0 and 2
    >>> (one + one).m2
    array([[4.]])
    """

    weight: Array
    mean: Array
    m2: Array

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        delta = other.mean - self.mean
        mean = np.where(self.weight > 0, self.mean + delta * share, other.mean)
        return Moments(weight, mean, self.m2 + other.m2 + delta**2 * self.weight * share)

    def __sub__(self, other: Moments) -> Moments:
        weight = take_back(self.weight, other.weight)
        left = weight > 0
        ratio = np.divide(other.weight, weight, out=np.zeros_like(weight), where=left)
        delta = np.where(left, self.mean - other.mean, 0.0)
        m2 = np.where(left, self.m2 - other.m2 - delta**2 * self.weight * ratio, 0.0)
        # What rounding may leave: a share of the squares that went in, or of the values they came from.
        slack = 1e-9 * self.m2 + 1e-12 * self.weight * self.mean**2 + np.finfo(float).tiny
        # The last rows of a class must be those that are in it, not others of the same weight.
        strange = ~left & ((self.mean - other.mean) ** 2 * np.minimum(self.weight, other.weight) > slack)
        if np.any(m2 < -slack) or np.any(strange):
            raise UnlearnError(NEVER_LEARNED)
        m2 = np.where(m2 > 1e-13 * self.m2, m2, 0.0)  # what rounding leaves of nothing is nothing
        return Moments(weight, np.where(left, self.mean + delta * ratio, 0.0), m2)._flattened(self)

    def _flattened(self, before: Moments) -> Moments:
        """Where taking rows back left a column that does not vary, rounding must not pass for variation."""
        all_before, whole = before.merged(), self.merged()
        noise = 4 * np.finfo(float).eps * np.abs(all_before.mean) * np.sqrt(all_before.m2 * all_before.weight)
        flat = (whole.m2 <= 1e-13 * all_before.m2 + noise) & (self.weight > 0)
        return Moments(self.weight, np.where(flat, whole.mean, self.mean), np.where(flat, 0.0, self.m2))

    def __mul__(self, factor: float) -> Moments:
        return Moments(self.weight * factor, self.mean if factor else self.mean * 0.0, self.m2 * factor)

    def align(self, classes: Index, cells: Index) -> Moments:
        """Re-index onto a larger set of classes; numbers have no levels."""
        return Moments(*(classes.spread(field, 0) for field in (self.weight, self.mean, self.m2)))

    def select(self, columns: NDArray[np.intp]) -> Moments:
        """The moments of some columns."""
        return Moments(*(np.ascontiguousarray(field[:, columns]) for field in (self.weight, self.mean, self.m2)))

    @property
    def column_weight(self) -> Array:
        """Weight of the values of each column."""
        return self.weight

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The fields by name, for the file."""
        return {"weight": self.weight, "mean": self.mean, "m2": self.m2}

    def merged(self) -> Moments:
        """The moments with all classes taken as one, shape (1, d)."""
        weight = self.weight.sum(axis=0)
        known = weight > 0
        mean = np.divide((self.weight * self.mean).sum(axis=0), weight, out=np.zeros_like(weight), where=known)
        # Σ w·mean / Σ w once more about that mean: the second pass takes out what the first rounded away.
        step = (self.weight * (self.mean - mean)).sum(axis=0)
        mean = mean + np.divide(step, weight, out=np.zeros_like(weight), where=known)
        between = (self.weight * (self.mean - mean) ** 2).sum(axis=0)
        return Moments(weight[None], mean[None], (self.m2.sum(axis=0) + between)[None])

    def __repr__(self) -> str:
        n_classes, d = self.weight.shape
        total = amount(self.weight.max(axis=1, initial=0.0).sum())
        return f"Moments({plural(n_classes, 'class')}, {plural(d, 'column')}, weight {total})"


@dataclass(frozen=True)
class Block:
    """The summary of one block and the positions of its columns in the schema."""

    columns: Sequence[int]
    summary: Summary


class Counter(Protocol):
    """What a tally needs of a family."""

    def tally(self, x: Any, labels: Labels, n_classes: int) -> Summary: ...


@dataclass(frozen=True)
class Tally:
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
    >>> from tallybayes import Tally, families
    >>> north = Tally.of(np.array([[1.0], [3.0]]), ["no", "yes"], families.Gaussian())
    >>> south = Tally.of(np.array([[5.0]]), ["yes"], families.Gaussian())
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

    @classmethod
    def of(cls, data: Any, /, target: Any = None, *args: Any, **options: Any) -> Tally:
        """Count data of any kind that a source knows.

        Parameters
        ----------
        data : array or sparse matrix of shape (n, d), path, frame or lazy table
            A path, or a pattern of paths, is that of CSV, Parquet, JSON lines or Arrow files. A lazy table (DuckDB
            relation, Polars LazyFrame, Ibis table, Spark or Dask DataFrame) is counted by its engine.
        target : array-like of shape (n,), or str
            Class labels; of files and tables, the name of the column that holds them.
        *args, **options
            Passed to the source; for arrays the family, and ``weight``, ``names``, ``classes``, ``n_jobs``; for files
            and tables ``kind``, ``family``, ``drop``, ``missing``, ``weight`` (a column), ``unlabelled``.

        Returns
        -------
        Tally
        """
        for accepts, count in SOURCES:
            if accepts(data):
                return count(data, target, *args, **options)
        raise DataError(f"cannot count a {type(data).__name__}; pass an array, a sparse matrix, a table or a path")

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
        theirs = other.align(self.schema)
        class_weight = take_back(self.class_weight, theirs.class_weight)
        blocks = self._paired(theirs, lambda a, b: a - b)
        return Tally(self.schema.restated(), class_weight, blocks)

    def __mul__(self, factor: float) -> Tally:
        if not (np.isfinite(factor) and factor >= 0):
            raise DataError(f"a tally can be scaled by a number of at least 0, not by {factor!r}")
        blocks = {name: Block(b.columns, b.summary * factor) for name, b in self.blocks.items()}
        return replace(self, class_weight=self.class_weight * factor, blocks=blocks)

    __rmul__ = __mul__

    @property
    def places(self) -> dict[str, Sequence[int]]:
        """The positions in the schema of the columns of each block."""
        return {name: block.columns for name, block in self.blocks.items()}

    @property
    def is_empty(self) -> bool:
        """Whether this is the tally of no rows over no columns."""
        return not self.blocks and not self.schema.classes

    def align(self, schema: Schema) -> Tally:
        """Re-index onto a schema that has at least the classes and levels of this one."""
        if schema == self.schema:
            return self
        classes = Index(positions(self.schema.classes, schema.classes), len(schema.classes))
        blocks = {
            name: Block(b.columns, b.summary.align(classes, _cells(b.columns, self.schema, schema)))
            for name, b in self.blocks.items()
        }
        return Tally(schema, classes.spread(self.class_weight, 0), blocks)

    def trimmed(self) -> Tally:
        """The tally without the words that no row has any more: who takes back a text takes back its words.

        A vocabulary that was chosen stays as it is, and so does one that is hashed.
        """
        if isinstance(self.schema.columns, NumberedColumns):
            return self
        columns, blocks = list(self.schema.columns), dict(self.blocks)
        for name, block in self.blocks.items():
            column = columns[block.columns[0]]
            if column.tokens is None or column.tokens.is_chosen or not isinstance(column.levels, Vocabulary):
                continue
            assert isinstance(block.summary, Counts)
            used = block.summary.cell_total > 0
            if not used.all():
                levels = column.levels.select(used)
                columns[block.columns[0]] = replace(column, levels=levels).restated()
                blocks[name] = Block(block.columns, block.summary.with_cells(used))
        return replace(self, schema=replace(self.schema, columns=tuple(columns)), blocks=blocks)

    def select(self, names: Sequence[str]) -> Tally:
        """The tally of some columns, by name: nothing is counted again."""
        place = {column.name: p for p, column in enumerate(self.schema.columns)}
        strange = [name for name in names if name not in place]
        if strange:
            raise SchemaError(f"there is no column {strange[0]!r}; the tally has {', '.join(list(place)[:20])}")
        kept = {place[name]: p for p, name in enumerate(names)}
        blocks = {}
        for name, block in self.blocks.items():
            within = [i for i, c in enumerate(block.columns) if c in kept]
            if within:
                columns = [kept[block.columns[i]] for i in within]
                blocks[name] = Block(columns, block.summary.select(np.array(within, dtype=np.intp)))
        return Tally(
            Schema(tuple(self.schema.columns[p] for p in kept), self.schema.classes), self.class_weight, blocks
        )

    def private(self, epsilon: float | None, delta: float = 0.0, **options: Any) -> Tally:
        """Return a tally that may be shown: with noise of differential privacy on everything that was counted.

        `tallybayes.inspection.privacy.release` tells the parameters, and what it does and does not protect.
        """
        return import_module("tallybayes.inspection.privacy").private(self, epsilon, delta, **options)  # a layer above

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


NEVER_LEARNED = "these rows were not in the tally, so they cannot be taken back"

# Where rows come from: (accepts(data), count(data, target, …)); `tallybayes.sources` fills the list.
SOURCES: list[tuple[Callable[[Any], bool], Callable[..., Tally]]] = []


def count(batch: Rows, families: Mapping[str, Counter], n_jobs: int | None = None) -> Tally:
    """Tally a batch: ranges of rows on all cores, each its own tally, added up."""
    if batch.n_rows == 0:
        return _count_rows(batch, families, 0, 0)
    threads = min(threads_for(batch.size, n_jobs), batch.n_rows)
    step = max(1, min(-(-batch.n_rows // threads), batch.most_rows or batch.n_rows))
    parts = map_rows(lambda a, b: _count_rows(batch, families, a, b), batch.n_rows, step, threads)
    return reduce(lambda mine, theirs: mine._joined(theirs, _poured), parts)


def _poured(mine: Any, theirs: Any) -> Any:
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
        found = tallied(block.x, heard(block.x, labels), n_classes)
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
            raise error.named([schema.columns[c].name for c in columns], first) from None

    return run


def take_back(mine: Array, theirs: Array) -> Array:
    """Subtract weights; what rounding leaves is zero, and less than that was never there.

    Whole numbers are exact. Fractional weights summed in another order differ in the last digits, by a share of the
    sums they are part of.
    """
    left = mine - theirs
    if np.array_equal(mine, np.rint(mine)) and np.array_equal(theirs, np.rint(theirs)):
        slack: Array | float = 0.0
    else:
        largest = max(float(mine.max(initial=0.0)), float(theirs.max(initial=0.0)))
        slack = ROUNDING * (np.maximum(mine, theirs) + 1e-3 * largest)
    if np.any(left < -slack):
        raise UnlearnError(NEVER_LEARNED)
    return np.where(left <= slack, 0.0, left)


def _cells(columns: Sequence[int], mine: Schema, larger: Schema) -> Index:
    """Where each cell of a block goes: a column has a cell for every level, or one."""

    if isinstance(larger.columns, NumberedColumns):
        return Index(np.arange(len(columns)), len(columns), np.ones(len(columns), dtype=np.int64))
    n_levels, n_right = cell_grid([larger.columns[c] for c in columns])
    starts = np.cumsum(n_levels) - n_levels
    places = [s + mine.columns[c].cells_in(larger.columns[c]) for s, c in zip(starts, columns, strict=True)]
    return Index(np.concatenate(places), int(n_levels.sum()), n_levels, n_right)


def cell_grid(columns: Sequence[Column]) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Cells of each column (d,), and of pairs those of their second columns (d,)."""
    n_right = [column.parts[1].n_cells for column in columns if column.parts is not None]
    n_levels = np.array([column.n_cells for column in columns], dtype=np.int64)
    return n_levels, np.array(n_right, dtype=np.int64) if n_right else None
