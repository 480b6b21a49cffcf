"""One entry a family: the rows that the laws try it on, the matrices it takes and the settings it is tried with.

Rows are drawn as a grid of small integers, -1 for a hole. An entry turns the grid into the cells its family reads,
with values that float32 holds exactly, so that every form of the same matrix means exactly the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tallybayes.core.batch import MISSING, Batch, Codes, Csr, Encoded, Labels, Matrix
from tallybayes.core.levels import positions
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Kind, Schema
from tallybayes.core.settings import Settings
from tallybayes.core.tally import Tally, count
from tallybayes.data.arrays import one_block
from tallybayes.families import (
    Bernoulli,
    Binned,
    Categorical,
    Clues,
    Complement,
    Correlation,
    Cyclic,
    Exponential,
    Family,
    Gamma,
    Gaussian,
    Grouped,
    Hierarchical,
    Kernel,
    Lognormal,
    Multinomial,
    Multinormal,
    Ordered,
    Pair,
    Poisson,
    ZeroInflated,
)

CLASSES = ("p", "q", "r")
LEVELS = (("no", "yes"), ("low", "mid", "top"), ("a", "b", "c", "d", "e"))
WIDTH = len(LEVELS)  # columns of every table

WHOLE = (0.0, 1.0, 2.0, 3.0)
FRACTIONAL = (0.0, 0.1, 1 / 3, 0.5, 1.0, 2.7)


@dataclass(frozen=True, repr=False)
class Table:
    """Rows before they are encoded: cells as floats with NaN for missing values, class codes and weights."""

    x: NDArray[np.float64]  # (n, WIDTH)
    codes: NDArray[np.int32]  # (n,) positions in CLASSES
    weight: NDArray[np.float64]  # (n,)

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: Any) -> Table:
        """The rows at these positions, in this order."""
        return Table(self.x[rows], self.codes[rows], self.weight[rows])

    def with_unlabelled_weight(self, weight: Any) -> Table:
        """The same rows with other weights."""
        return replace(self, weight=np.broadcast_to(weight, len(self)).astype(np.float64))

    def __add__(self, other: Table) -> Table:
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return Table(*(np.concatenate(pair) for pair in both))

    def __repr__(self) -> str:  # what hypothesis shows of a counterexample
        return f"Table(x={self.x.tolist()}, codes={self.codes.tolist()}, weight={self.weight.tolist()})"


# ---------------------------------------------------------------------------------------------- forms of a matrix


@dataclass(frozen=True)
class Form:
    """A way to hold a matrix, and what has to be done to cells so that it can hold them."""

    make: Callable[[NDArray[Any]], Matrix]
    fit: Callable[[NDArray[Any]], NDArray[Any]] = lambda x: x


def _apart(x: NDArray[Any]) -> NDArray[Any]:
    """Every second cell of a larger matrix, backwards: strides that are neither one nor positive."""
    larger = np.full((2 * x.shape[0], 2 * x.shape[1]), 7, dtype=x.dtype)
    larger[::2, ::2] = x
    larger[::2] = larger[::2][::-1]
    return larger[::2, ::2][::-1]


def _packed(x: NDArray[Any]) -> NDArray[Any]:
    """The matrix as a field of packed records: strides that are no multiple of the cell."""
    records = np.zeros(len(x), dtype=np.dtype([("flag", "i1"), ("cells", x.dtype, (x.shape[1],))]))
    records["cells"] = x
    return records["cells"]


def _read_only(x: NDArray[Any]) -> NDArray[Any]:
    x = x.copy()
    x.flags.writeable = False
    return x


def _integers(dtype: type) -> Form:
    limits = np.iinfo(dtype)

    def fit(x: NDArray[Any]) -> NDArray[Any]:
        return np.clip(np.rint(np.nan_to_num(x)), limits.min, min(limits.max, 1e9))

    return Form(lambda x: x.astype(dtype), fit)


def _csr(values: type, indices: type) -> Form:
    def make(x: NDArray[Any]) -> Csr:
        stored = x != 0
        stored[:, 0] = True  # zeros may be stored, too
        row, column = np.nonzero(stored)
        start = np.concatenate(([0], np.cumsum(stored.sum(axis=1))))
        return Csr(x[row, column].astype(values), column.astype(indices), start.astype(indices), x.shape[1])

    return Form(make, np.nan_to_num)


N_LEVELS = np.array([len(levels) for levels in LEVELS], dtype=np.int64)
EDGES = ((0.5,), (0.5, 1.5), (0.5, 1.5, 2.5, 3.5))  # bins as many as there are levels
GRIDS = ((2, 2), (2, 3), (3, 2))  # levels of the two columns of each pair


def _codes(dtype: type, lay: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray) -> Form:
    """Categories in integers of one width; unsigned ones have no code for a missing value."""

    def make(x: NDArray[Any]) -> Codes:
        return Codes(lay(np.nan_to_num(x, nan=MISSING).astype(dtype)), N_LEVELS)

    return Form(make, np.nan_to_num if np.iinfo(dtype).min == 0 else lambda x: x)


def _pairs(dtype: type, lay: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray) -> Form:
    cells, right = np.array([a * b for a, b in GRIDS]), np.array([b for _, b in GRIDS])
    return Form(lambda x: Codes(lay(np.nan_to_num(x, nan=MISSING).astype(dtype)), cells, right))


DENSE = {
    "float64": Form(lambda x: x),
    "float32": Form(lambda x: x.astype(np.float32)),
    "float16": Form(lambda x: x.astype(np.float16), lambda x: x.astype(np.float16).astype(np.float64)),
    "object": Form(lambda x: x.astype(object)),
    "fortran": Form(np.asfortranarray),
    "fortran32": Form(lambda x: np.asfortranarray(x, dtype=np.float32)),
    "apart": Form(_apart),
    "packed": Form(_packed),
    "read-only": Form(_read_only),
    "bool": Form(lambda x: x > 0, lambda x: (x > 0).astype(np.float64)),
    **{t.__name__: _integers(t) for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint64)},
}
FLOATS = ("float64", "float32", "float16", "object", "fortran", "fortran32", "apart", "packed", "read-only")
SPARSE = {
    "csr": _csr(np.float64, np.int32),
    "csr-float32": _csr(np.float32, np.int32),
    "csr-int64": _csr(np.float64, np.int64),
    "csr-float32-int64": _csr(np.float32, np.int64),
}
CODED = {
    "int64": _codes(np.int64),
    "fortran": _codes(np.int64, np.asfortranarray),
    "apart": _codes(np.int16, _apart),
    "read-only": _codes(np.int32, _read_only),
    **{t.__name__: _codes(t) for t in (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64)},
}


PAIRED = {"int64": _pairs(np.int64), "int32": _pairs(np.int32, np.asfortranarray), "apart": _pairs(np.int16, _apart)}


# ---------------------------------------------------------------------------------------------- entries


@dataclass(frozen=True)
class Entry:
    """What the laws need to know of a family."""

    kind: Kind
    cells: Callable[[NDArray[np.float64]], NDArray[np.float64]]  # what a grid of 0 … 4 means to the family
    forms: Mapping[str, Form]  # the first one is the plain one
    settings: tuple[Family, ...]  # the first one is the default
    takes_missing: bool = True
    anchor: tuple[tuple[int, ...], ...] = ()  # grid of rows that stay when one is left out
    edges: tuple[tuple[float, ...], ...] | None = None  # of the columns, where they are numbers in bins
    keeps_structure: bool = False  # leave-one-out keeps a part of the parameters that all rows had a say in


def _numbers(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    # Scales and offsets apart: the square of an int16 in the last column overflows.
    return grid * (1.0, 0.25, 1000.0) + (-2.0, 3.0, 1e4)


def _amounts(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    return grid * (1.0, 1.0, 0.5)  # fractional counts are counts, too


def _signed(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    return grid - 2.0


def _levels(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    return grid % N_LEVELS


def _positive(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp2(grid) * (1.0, 0.25, 8.0)


def _combinations(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    return grid % [a * b for a, b in GRIDS]


SPREAD = ((0, 1, 4), (3, 4, 0), (1, 0, 2))  # the spread of a column must not hang on a single row

ENTRIES = {
    "gaussian": Entry(
        "numeric",
        _numbers,
        DENSE,
        (Gaussian(), Gaussian(variance="shared"), Gaussian(var_smoothing=0.1)),
        anchor=SPREAD,
    ),
    "multinormal": Entry(
        "numeric",
        _numbers,
        DENSE,
        (
            Multinormal(),
            Multinormal("full"),
            Multinormal("diagonal"),
            Multinormal("spherical"),
            Multinormal(shrinkage=0.3),
            Multinormal("full", shrinkage="auto"),
        ),
        anchor=((0, 1, 4), (3, 4, 0), (1, 0, 2)),
    ),
    "bernoulli": Entry(
        "boolean", _signed, DENSE | SPARSE, (Bernoulli(), Bernoulli(0.0), Bernoulli(0.3), Bernoulli(threshold=0.5))
    ),
    "categorical": Entry(
        "category",
        _levels,
        CODED,
        (
            Categorical(),
            Categorical(0.0),
            Categorical(0.3),
            Categorical((0.0, 0.5, 1.0)),
            Categorical(unseen="smooth"),
            Categorical(min_count=1.55),  # a weight that no sum of the drawn weights hits
        ),
    ),
    "multinomial": Entry(
        "count",
        _amounts,
        DENSE | SPARSE,
        (Multinomial(), Multinomial(0.0), Multinomial(0.3), Multinomial(0.3, document_length=3.0)),
        takes_missing=False,
    ),
    "complement": Entry(
        "count",
        _amounts,
        DENSE | SPARSE,
        (
            Complement(),
            Complement(0.0),
            Complement(0.3),
            Complement(norm=True),
            Complement(0.3, norm=True),
            Complement(0.0, norm=True),
        ),
        takes_missing=False,
    ),
    "clues": Entry(
        "count", _amounts, DENSE | SPARSE, (Clues(), Clues(0.3, most=1), Clues(1.0, most=2)), takes_missing=False
    ),
    "poisson": Entry("count", _amounts, DENSE | SPARSE, (Poisson(), Poisson(0.0), Poisson(0.3))),
    "hierarchical": Entry(
        "category",
        _levels,
        CODED,
        (Hierarchical(), Hierarchical(0.5), Hierarchical((0.5, 8.0, 100.0)), Hierarchical(unseen="smooth")),
    ),
    "kernel": Entry(
        "numeric",
        _levels,
        CODED,
        (Kernel(), Kernel(0.0), Kernel(0.5, 8.0), Kernel((0.0, 1.0, 3.0), (1.0, 2.0, 3.0))),
        edges=EDGES,
    ),
    "ordered": Entry(
        "category",
        _levels,
        CODED,
        (Ordered(), Ordered(0.0), Ordered(1.0, 8.0), Ordered((0.0, 1.0, 3.0), (1.0, 2.0, 3.0))),
    ),
    "cyclic": Entry("category", _levels, CODED, (Cyclic(), Cyclic(1.0, 8.0), Cyclic((0.0, 1.0, 3.0), (1.0, 2.0, 3.0)))),
    # Leave-one-out keeps the partition, so the law of it holds where one more row cannot change it.
    "binned": Entry(
        "numeric", _levels, CODED, (Binned(), Binned(8.0), Binned(max_bins=2.0)), edges=EDGES, keeps_structure=True
    ),
    "grouped": Entry("category", _levels, CODED, (Grouped(), Grouped(8.0, 2.0)), keeps_structure=True),
    "lognormal": Entry(
        "numeric", _positive, {name: DENSE[name] for name in FLOATS}, (Lognormal(), Lognormal(0.1)), anchor=SPREAD
    ),
    "gamma": Entry("numeric", _positive, {name: DENSE[name] for name in FLOATS}, (Gamma(), Gamma(0.1)), anchor=SPREAD),
    "exponential": Entry("numeric", _amounts, DENSE, (Exponential(), Exponential(0.3))),
    "zero_inflated": Entry(
        "numeric", _signed, DENSE, (ZeroInflated(), ZeroInflated(alpha=0.3, var_smoothing=0.1)), anchor=SPREAD
    ),
    "pair": Entry("pair", _combinations, PAIRED, (Pair(), Pair(0.5), Pair((1.0, 8.0, 30.0)))),
    "correlation": Entry(
        "block",
        _numbers,
        DENSE,
        tuple(Correlation((-0.5, 3.25, 1.1e4), (0.75, 0.125, 500.0), shrinkage) for shrinkage in (8.0, 0.5, math.inf)),
    ),
}


@dataclass(frozen=True, repr=False)
class Case:
    """A family with one choice of settings."""

    entry: Entry
    family: Family

    def __repr__(self) -> str:
        return repr(self.family)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # hypothesis would otherwise print the whole entry

    # ------------------------------------------------------------------------------------------ rows

    def table(self, grid: NDArray[Any], codes: NDArray[Any], weight: NDArray[Any]) -> Table:
        """Rows from a grid of small integers; -1 is a missing value where the family takes any, else 0."""
        cells = self.entry.cells(np.maximum(grid, 0).astype(np.float64))
        return Table(np.where(grid < 0, np.nan, cells) if self.entry.takes_missing else cells, codes, weight)

    def tables(
        self, min_rows: int = 1, max_rows: int = 8, weights: tuple[float, ...] = FRACTIONAL
    ) -> st.SearchStrategy[Table]:
        """Any few rows."""
        width, choices = WIDTH + 2, np.array(weights)

        def made(drawn: tuple[int, bytes]) -> Table:  # drawing cell by cell takes ten times as long as most laws
            rows = np.frombuffer(drawn[1], dtype=np.uint8).reshape(-1, width)[: drawn[0]]
            grid, codes = rows[:, :WIDTH] % 6 - 1.0, (rows[:, WIDTH] % len(CLASSES)).astype(np.int32)
            return self.table(grid, codes, choices[rows[:, -1] % len(choices)])

        size = width * max_rows
        return st.tuples(st.integers(min_rows, max_rows), st.binary(min_size=size, max_size=size)).map(made)

    def anchored_tables(self) -> st.SearchStrategy[Table]:
        """Any few rows, of which one can be left out: what the family cannot do without stays."""
        if not self.entry.anchor:
            return self.tables(min_rows=2)
        codes = np.arange(len(self.entry.anchor), dtype=np.int32) % 2
        anchor = self.table(np.array(self.entry.anchor), codes, np.ones(len(codes)))
        return self.tables().map(lambda table: table + anchor)

    def random_table(self, n: int, seed: int = 0, weights: tuple[float, ...] = FRACTIONAL) -> Table:
        """Many rows, every class with its own habits."""
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, len(CLASSES), n).astype(np.int32)
        grid = rng.binomial(4, np.array([0.3, 0.5, 0.7])[codes, None], (n, WIDTH))
        return self.table(np.where(rng.random(grid.shape) < 0.1, -1, grid), codes, rng.choice(weights, n))

    # ------------------------------------------------------------------------------------------ records

    @property
    def schema(self) -> Schema:
        """All classes and all levels."""
        if self.entry.kind == "block":
            parts = tuple(Column(f"c{j}", "numeric") for j in range(WIDTH))
            return Schema((Column("all", "block", parts=parts),), CLASSES)
        return Schema(tuple(map(self._column, range(WIDTH))), CLASSES)

    def _column(self, j: int) -> Column:
        name, kind = f"c{j}", self.entry.kind
        if kind == "pair":
            left, right = (Column(f"{name}{side}", "category", tuple(range(n))) for side, n in enumerate(GRIDS[j]))
            return Column(name, kind, parts=(left, right))
        edges = None if self.entry.edges is None else self.entry.edges[j]
        return Column(name, kind, LEVELS[j] if kind == "category" else None, edges=edges)

    def matrix(self, x: NDArray[np.float64], form: str | None = None) -> Matrix:
        """Cells in one of the forms, the plain one if none is named."""
        return self.entry.forms[form or next(iter(self.entry.forms))].make(x)

    def batch(self, table: Table, form: str | None = None, labels: Labels | None = None) -> Batch:
        """Rows as the core takes them."""
        return self.encoded(self.matrix(table.x, form), labels or Labels.hard(table.codes, table.weight))

    def encoded(self, matrix: Matrix, labels: Labels | None = None) -> Batch:
        """A batch of this matrix."""
        if self.entry.kind == "block":
            return Batch(self.schema, {self.family.name: Encoded(range(1), matrix)}, matrix.shape[0], labels)
        return one_block(self.family.name, self.schema, matrix, labels)

    def retold(self, table: Table) -> Batch:
        """The same rows under a schema of only the classes and levels that occur, in another order."""
        present = np.unique(table.codes)[::-1]
        classes = tuple(CLASSES[k] for k in present)
        codes = positions([CLASSES[k] for k in table.codes], classes).astype(np.int32)
        batch = replace(self.batch(table), labels=Labels.hard(codes, table.weight))
        schema = replace(self.schema, classes=classes)
        if self.entry.kind != "category":
            return replace(batch, schema=schema)
        columns, matrix = [], np.full(table.x.shape, MISSING)
        for j, column in enumerate(self.schema.columns):
            seen = np.flatnonzero(~np.isnan(table.x[:, j]))
            values = [LEVELS[j][int(code)] for code in table.x[seen, j]]
            # A column without a value keeps one level that never occurs.
            columns.append(replace(column, levels=tuple(sorted({*values} or {LEVELS[j][0]}, reverse=True))))
            matrix[seen, j] = positions(values, columns[-1].levels)
        block = Encoded(range(WIDTH), Codes(matrix, np.array([len(c.levels) for c in columns])))
        return replace(batch, schema=replace(schema, columns=tuple(columns)), blocks={self.family.name: block})

    def count(self, batch: Batch, n_jobs: int | None = 1) -> Tally:
        """Tally encoded rows."""
        return count(batch, {self.family.name: self.family}, n_jobs)

    def tally(self, table: Table, form: str | None = None, n_jobs: int | None = 1) -> Tally:
        """Tally rows."""
        return self.count(self.batch(table, form), n_jobs)

    def model(self, table: Table, **settings: Any) -> Model:
        """Fit a model."""
        return Model(Settings({self.family.name: self.family}, **settings), self.tally(table))

    def summary(self, table: Table) -> Any:
        """What the family counted in the rows."""
        return self.tally(table).blocks[self.family.name].summary


CASES = [Case(entry, family) for entry in ENTRIES.values() for family in entry.settings]
FAMILY_CASES = [Case(entry, entry.settings[0]) for entry in ENTRIES.values()]  # where settings make no difference
FORMED_CASES = [(case, form) for case in FAMILY_CASES for form in case.entry.forms]
