"""A table read with pairs: those that were given, or those that improve leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Schema
from tallybayes.core.tally import Block, Tally, count
from tallybayes.data.tables import TableBatch
from tallybayes.errors import SettingError
from tallybayes.families import Family, Pair
from tallybayes.learning.columns import fine_edges_of
from tallybayes.learning.evidence import HeldOut
from tallybayes.learning.options import Options
from tallybayes.learning.reading import Reading, places_of, settings_of
from tallybayes.learning.screening import (
    MOST_COLUMNS,
    Candidate,
    Grid,
    joining_words,
    pair_column,
    part_of,
    screened,
    with_reason,
)

ROWS_A_LEVEL = 4  # with a value, on average, of a column that may be paired
USUAL_STRENGTH = 8.0  # of the smoothing of pairs that were given, or that only have corrections


def found_pairs(
    read: Reading,
    batch: TableBatch,
    sample: TableBatch,
    rows: HeldOut,
    names: Sequence[str],
    weights: Array,
    options: Options,
) -> tuple[Paired | None, HeldOut, Sequence[Column]]:
    """The pairs that were given, or that gain beside the weighted columns; the evidence with theirs; and all parts.

    The parts are the columns that may be paired, as they are; none where pairs were given.
    """
    given = options.given_pairs is not None
    many = len(names) > MOST_COLUMNS  # of fewer all are paired, however little each says
    losses = {} if given else dict(zip(names, rows.single_losses().tolist() if many else repeat(0.0), strict=many))
    losses = {name: loss for name, loss in losses.items() if name not in options.monotone}
    grid = _grid(read, batch, sample, losses) if given or losses else None
    if grid is None:
        return None, rows, ()
    found = _given(read.model, grid, options) if given else _found(grid, rows, weights, options.pairs_for(len(names)))
    parts = () if given else grid.parts
    if not found:
        return None, rows, parts
    words = joining_words(read.model.schema.names)
    named = [pair_column(grid.parts[c.left], grid.parts[c.right], words) for c in found]
    columns = [with_reason(column, c.gain) for column, c in zip(named, found, strict=True)]
    pairs = Paired.counted(columns, [c.strength for c in found], batch, read.model, options.n_jobs)
    return pairs, rows.joined(pairs.model, sample, pairs.places, range(len(found))), parts


# ---------------------------------------------------------------------------------------------- which pairs


def _grid(read: Reading, batch: TableBatch, sample: TableBatch, losses: Mapping[str, float]) -> Grid | None:
    """The columns that can be paired, in the levels or bins that pairs have; None where there are none.

    With losses by name these are the columns of the least ones, without all.
    """
    assert sample.labels is not None
    columns = read.model.schema.columns
    order = range(len(columns))
    if losses:
        used = [p for p in order if columns[p].name in losses]
        order = sorted(used, key=lambda p: losses[columns[p].name])  # type: ignore[assignment]
    found: dict[int, tuple[Column, NDArray[np.int32]]] = {}
    seen: dict[str, NDArray[np.int32]] = {}
    for p in order:
        part = _part(read, batch, p, columns[p])
        if part is None:
            continue
        codes = sample.codes(part, 0, sample.n_rows, seen)
        # What nearly identifies rows says nothing of other rows, and seems to say most together with another column.
        if not losses or part.n_cells * ROWS_A_LEVEL <= np.count_nonzero(codes >= 0):
            found[p] = part, codes
        if losses and len(found) == MOST_COLUMNS:
            break
    if not found:
        return None
    # In the order of the table, which does not depend on that of the user.
    parts, coded = zip(*(found[p] for p in sorted(found)), strict=True)
    return Grid(list(parts), np.stack(coded, axis=1), sample.labels, read.model.n_classes)


def _part(read: Reading, batch: TableBatch, p: int, column: Column) -> Column | None:
    """A column as it is paired; None where it has a single level."""
    if column.kind in ("ignored", "date", "text", "tags") or (column.levels is None and p not in read.fine):
        return None
    if p in read.fine and column.edges is None:
        column = replace(column, edges=fine_edges_of(batch, p))
    part = part_of(column, read.fine.get(p))
    return part if part.n_cells > 1 else None


def _found(grid: Grid, rows: HeldOut, weights: Array, most: int) -> list[Candidate]:
    """The pairs of these columns that gain more than chance would."""
    found = screened(grid, rows.log_posterior(weights), range(len(grid.parts)), most)
    return [_by_name(c, grid) for c in sorted(found, key=lambda c: (c.left, c.right))]


def _by_name(pair: Candidate, grid: Grid) -> Candidate:
    """The pair with the part first whose name comes first, so that tables with the same pairs can be added."""
    in_order = grid.parts[pair.left].name <= grid.parts[pair.right].name
    return pair if in_order else replace(pair, left=pair.right, right=pair.left)


def _given(model: Model, grid: Grid, options: Options) -> list[Candidate]:
    """The pairs that were given."""
    pairs = options.given_pairs or ()
    found = [_given_pair(pair, model.schema.names, [part.name for part in grid.parts]) for pair in pairs]
    repeated = [pair for i, pair in enumerate(pairs) if set(pair) in map(set, pairs[:i])]
    if repeated:
        raise SettingError(f"pairs names {repeated[0]!r} twice")
    return found


def _given_pair(pair: tuple[str, str], names: tuple[str, ...], paired: list[str]) -> Candidate:
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise SettingError(f"a pair is two different columns, such as ('age', 'sex'), not {pair!r}")
    for name in pair:
        if name not in names:
            raise SettingError(f"pairs names the column {name!r}, but the table has {', '.join(names[:20])}")
        if name not in paired:
            raise SettingError(f"pairs names the column {name!r}, which is no evidence or has a single level")
    return Candidate(paired.index(pair[0]), paired.index(pair[1]), USUAL_STRENGTH, 0.0)


@dataclass(frozen=True)
class Paired:
    """A model of pairs alone."""

    families: Mapping[str, Pair]  # by name of the pair
    model: Model
    places: Mapping[str, list[int]]
    known: dict[tuple[str, ...], tuple[Model, Tally, Mapping[str, Family]]] = field(default_factory=dict)  # once joined

    @classmethod
    def counted(
        cls, columns: Sequence[Column], strengths: Sequence[Any], batch: TableBatch, base: Model, n_jobs: int | None
    ) -> Paired:
        families = {c.name: Pair(s) for c, s in zip(columns, strengths, strict=True)}
        schema = Schema(tuple(columns), base.schema.classes)
        settings = replace(settings_of(families, schema, base.settings), weights=None)
        places = places_of(families, schema)
        tally = count(replace(batch, schema=schema, places=places), settings.families, n_jobs)
        return cls(families, Model(settings, tally), places)

    def joined_by(self, columns: Sequence[Column], batch: TableBatch, n_jobs: int | None) -> Paired:
        """The same with more pairs."""
        strengths = [self.families[name].strength for name in self.names] + [USUAL_STRENGTH] * len(columns)
        return Paired.counted([*self.model.schema.columns, *columns], strengths, batch, self.model, n_jobs)

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.schema.names

    def joined(self, read: Model, names: list[str]) -> tuple[Tally, Mapping[str, Family]]:
        """The tally of the other columns with some of the pairs, and the families of its blocks."""
        if not names:
            return read.tally, read.settings.families
        known = self.known.get(tuple(names))
        if known is None or known[0] is not read:
            known = self.known[tuple(names)] = (read, *self._joined(read, names))
        return known[1:]

    def _joined(self, read: Model, names: list[str]) -> tuple[Tally, Mapping[str, Family]]:
        tally, families = read.tally, read.settings.families
        chosen, first = self.model.tally.select(names), len(tally.schema.columns)
        schema = Schema((*tally.schema.columns, *chosen.schema.columns), tally.schema.classes)
        block = chosen.blocks[Pair.name]
        pairs = Block([first + c for c in block.columns], block.summary)
        own = settings_of({name: self.families[name] for name in names}, chosen.schema, read.settings).families
        return Tally(schema, tally.class_weight, {**tally.blocks, Pair.name: pairs}), {**families, **own}
