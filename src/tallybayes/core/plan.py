"""How a model scores plain columns: numbers are put into bins, bins and levels are combined, and tables are added up.

The blocks of levels, bins and pairs of a model, and the offsets of its numbers, are one sum over the same few columns.
A plan is made once for a model. One call then scores a million rows or a single one; each column is read once, and
each number is searched once among all the edges that some block has for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native
from tallybayes.core.batch import MISSING, Array, PlainCells
from tallybayes.core.family import Family
from tallybayes.core.kernels import starts
from tallybayes.core.offsets import Lookup
from tallybayes.core.schema import Column
from tallybayes.core.tally import Tally
from tallybayes.errors import CellError

WIDTHS = (2, 4, 8)  # classes that compiled code adds at once


class _Term(NamedTuple):
    """A table (cells + 1, K) that a feature, or two together, point into."""

    features: tuple[int, ...]
    table: Array


@dataclass
class _Features:
    """The columns of numbers and levels that are read, and the bins and levels that tables are looked up by."""

    numbers: dict[str, int]
    levels: dict[Hashable, Column] = field(default_factory=dict)
    edges: dict[str, tuple[float, ...]] = field(default_factory=dict)  # all that a number is searched among
    known: dict[Hashable, int] = field(default_factory=dict)
    bins: list[tuple[str, tuple[float, ...]] | None] = field(default_factory=list)  # of each feature; None for levels
    place: list[int] = field(default_factory=list)  # of each feature of levels, among the levels

    def of(self, column: Column) -> int:
        """The feature of a column of levels or bins, or of a part of a pair."""
        if column.edges is not None:
            return self.of_bins(column.name, column.edges)
        key = column.name, tuple(column.levels or ())
        if key not in self.known:
            self.known[key] = len(self.bins)
            self.bins.append(None)
            self.place.append(len(self.levels))
            self.levels[key] = column
        return self.known[key]

    def of_bins(self, name: str, edges: tuple[float, ...]) -> int:
        """The feature of a number in bins."""
        found = self.known.setdefault((name, edges, True), len(self.bins))  # once: many edges take long to hash
        if found == len(self.bins):
            self.bins.append((name, edges))
            self.place.append(-1)
            self.numbers.setdefault(name, len(self.numbers))
            before = self.edges.get(name, edges)
            self.edges[name] = edges if before is edges else tuple(sorted({*before, *edges}))
        return found


@dataclass(frozen=True, eq=False)
class Plan:
    """How the tables of a model are looked up by the plain columns of rows.

    Parameters
    ----------
    numbers : tuple of str
        The columns that are read as numbers, one block of the others after another, then those that only have bins.
    levels : tuple of Column
        The columns that are read as levels.
    blocks : mapping of str to slice
        The numbers of each block that is scored by its family and not by tables.
    texts : mapping of str to sequence of int
        The blocks of text and the places of their columns.
    columns : mapping of str to Column
        The columns that a table has.
    """

    numbers: tuple[str, ...]
    levels: tuple[Column, ...]
    blocks: Mapping[str, slice]
    texts: Mapping[str, Sequence[int]]
    columns: Mapping[str, Column]
    _searched: tuple[str, ...]
    _native: Any

    @classmethod
    def of(
        cls, tally: Tally, families: Mapping[str, Family], scoring: Mapping[str, Any], offsets: Mapping[str, Lookup]
    ) -> Plan | None:
        """The plan of a model, or None where there is nothing to look up."""
        schema = tally.schema
        if schema.is_numbered:
            return None
        columns = {name: [schema.columns[c] for c in block.columns] for name, block in tally.blocks.items()}
        texts = {name: tally.blocks[name].columns for name, own in columns.items() if own[0].is_text}
        plain = {name: own for name, own in columns.items() if name not in texts and not families[name].is_coded}
        inputs = {name: [part.name for column in own for part in column.inputs] for name, own in plain.items()}
        ends = starts(np.array([len(names) for names in inputs.values()], dtype=np.int64)).tolist()
        blocks = {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(inputs)}
        listed = [name for names in inputs.values() for name in names]
        features = _Features({name: j for j, name in reversed(list(enumerate(listed)))})
        coded = {name: own for name, own in columns.items() if families[name].is_coded}
        terms = [term for name, own in coded.items() for term in _of_tables(scoring[name], own, features)]
        shifted = {name: lookup for name, lookup in offsets.items() if name in plain}
        terms += [term for name, each in shifted.items() for term in _of_offsets(each, inputs[name], features)]
        if not terms:
            return None
        more = [name for name, place in features.numbers.items() if place >= len(listed)]
        searched, native = _compiled(features, terms)
        table = {column.name: column for column in schema.columns if not column.is_derived}
        return cls((*listed, *more), tuple(features.levels.values()), blocks, texts, table, searched, native)

    def add(self, cells: PlainCells, first: int, scores: Array) -> None:
        """Add what the tables say to the scores (n, K) of rows, of which the first has this number."""
        bad = self._native.scores(cells.numbers, cells.levels, scores)
        if bad >= 0:
            row, searched = divmod(bad, len(self._searched))
            name = self._searched[searched]
            value = cells.numbers[row, self.numbers.index(name)]
            raise CellError(f"holds {value:g}", "Replace infinite values.", row, 0).named([name], first)

    @cached_property
    def is_direct(self) -> bool:
        """Whether all columns are read as they are: none is text or, like a month, a part of another."""
        read = {*self.numbers, *(column.name for column in self.levels)}
        plain = all(column.reading is None for column in self.columns.values())
        return plain and not self.texts and read <= self.columns.keys()

    @cached_property
    def codes(self) -> tuple[tuple[str, Mapping[Any, int], type], ...]:
        """The names of the levels, the code of each value and their type; `type` where there are several."""
        found = []
        for column in self.levels:
            levels = tuple(column.levels or ())
            kinds = {type(level) for level in levels if level is not None}
            codes = {None: MISSING, **{level: p for p, level in enumerate(levels)}}
            found.append((column.name, codes, kinds.pop() if len(kinds) == 1 else type))
        return tuple(found)


def _of_tables(params: Any, columns: Sequence[Column], features: _Features) -> Iterator[_Term]:
    """The terms of a block of levels, bins or pairs."""
    for j, column in enumerate(columns):
        parts = (column,) if column.parts is None else column.parts
        yield _Term(tuple(map(features.of, parts)), params.table[params.start[j] : params.start[j + 1]])


def _of_offsets(lookup: Lookup, names: Sequence[str], features: _Features) -> Iterator[_Term]:
    """The terms of the offsets of a block of numbers of these names."""
    for each in lookup.by_column():
        yield _Term((features.of_bins(names[each.columns[0]], tuple(each.edges.tolist())),), each.table)


def _compiled(features: _Features, terms: Sequence[_Term]) -> tuple[tuple[str, ...], Any]:
    """The numbers that are searched, and the plan as compiled code has it."""
    searched = {name: s for s, name in enumerate(features.edges)}
    edges = [np.array(own, dtype=np.float64) for own in features.edges.values()]
    maps, source = [np.zeros(0, dtype=np.int32)], []
    for bins, place in zip(features.bins, features.place, strict=True):
        source.append(len(searched) + place if bins is None else searched[bins[0]])
        if bins is None:
            maps.append(np.zeros(0, dtype=np.int32))
        else:
            own = edges[searched[bins[0]]]
            map_ = np.arange(MISSING, len(own) + 1, dtype=np.int32)
            if len(own) > len(bins[1]):  # as a rule a number has one set of edges
                map_[2:] = np.searchsorted(np.array(bins[1]), own, side="right")
            maps.append(map_)
    numbers = [features.numbers[name] for name in searched]
    places = (np.array(each, dtype=np.int64) for each in (numbers, _starts(edges), source, _starts(maps)[1:-1]))
    column, edge_start, source_, map_start = places
    search = column, edge_start, np.concatenate([np.zeros(0), *edges]), source_, map_start, np.concatenate(maps)
    return tuple(searched), _native.Plan(*search, *_looked_up(features, terms))


def _looked_up(features: _Features, terms: Sequence[_Term]) -> tuple[NDArray[Any], ...]:
    """The features of the terms, where each term begins, and the tables of all, one after another."""
    left = [term.features[0] for term in terms]
    right = [term.features[1] if len(term.features) > 1 else -1 for term in terms]
    n_right = [1 if r < 0 else _n_codes(features, r) for r in right]
    start, n_classes = _starts([term.table for term in terms]), terms[0].table.shape[1]
    table = np.zeros((start[-1] + 1, next((width for width in WIDTHS if width >= n_classes), n_classes)))
    np.concatenate([term.table for term in terms], out=table[:-1, :n_classes])
    return *(np.array(each, dtype=np.int64) for each in (left, right, n_right, start)), table


def _n_codes(features: _Features, feature: int) -> int:
    """Bins or levels of a feature."""
    bins = features.bins[feature]
    if bins is not None:
        return len(bins[1]) + 1
    return list(features.levels.values())[features.place[feature]].n_cells


def _starts(arrays: Sequence[NDArray[Any]]) -> list[int]:
    return starts(np.array([len(each) for each in arrays], dtype=np.int64)).tolist()
