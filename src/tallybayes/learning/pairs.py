"""A table read with pairs: those that were given, or those that improve leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Schema, plural
from tallybayes.core.settings import EvidenceWeights
from tallybayes.core.tally import Block, Tally, count
from tallybayes.data.tables import TableBatch
from tallybayes.errors import SettingError
from tallybayes.families import Family, Pair
from tallybayes.learning.columns import fine_edges_of
from tallybayes.learning.evidence import HeldOut, held_out
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
from tallybayes.learning.weights import Weighted, column_weights, held_out_losses, is_better, learn

NO_WEIGHT = 1e-3  # found pairs of a smaller weight are left out
GIVEN_STRENGTH = 8.0  # of the smoothing of pairs that were given


def with_pairs(read: Reading, weighted: Weighted, batch: TableBatch, options: Options) -> Reading:
    """How the table is read with pairs, and with weights for all columns; without both if no pair improves it."""
    grid = _grid(read, batch, weighted.sample)
    if grid is None:
        return read
    given = options.given_pairs is not None
    found = _given(read.model, grid, options) if given else _found(grid, weighted, options.most_pairs)
    if not found:
        return read
    pairs = _Pairs.counted(grid, found, batch, read.model, options.n_jobs)
    joint = weighted.rows.joined(held_out(pairs.model, weighted.sample, pairs.places, range(len(found))))
    weights = _weights(joint, weighted, must=given)
    if weights is None:
        return read.noted("pairs would not improve leave-one-out log loss: none")
    first = len(weighted.names) + 1
    kept = [name for name, w in zip(pairs.names, weights[first:], strict=True) if given or w > NO_WEIGHT]
    n_parts = len(grid.parts)
    note = (
        f"{plural(len(kept), 'pair')} of {plural(n_parts * (n_parts - 1) // 2, 'candidate')}; "
        f"weights learned from {plural(weighted.sample.n_rows, 'row')}"
    )
    by_name = dict(zip(pairs.names, weights[first:].tolist(), strict=True))
    of_all = column_weights(read.model, weighted.names, weights) | {name: by_name[name] for name in kept}
    families = {**read.families, **{name: pairs.families[name] for name in kept}}
    tally = pairs.joined(read.model.tally, kept)
    model = replace(read.model, settings=settings_of(families, tally.schema, read.model.settings), tally=tally)
    importance = _importance(joint, weights, [*weighted.names, *pairs.names], {*weighted.names, *kept})
    found_so = replace(read, families=families, model=model).ranked(importance)
    return found_so.weighted(EvidenceWeights(of_all, float(weights[0])), note)


# ---------------------------------------------------------------------------------------------- which pairs


def _grid(read: Reading, batch: TableBatch, sample: TableBatch) -> Grid | None:
    """The columns that can be paired, in the levels or bins that pairs have; None where there are none."""
    assert sample.labels is not None
    parts = [part for p, column in enumerate(read.model.schema.columns) if (part := _part(read, batch, p, column))]
    parts.sort(key=lambda part: part.name)  # so that the order of the columns makes no difference
    if not parts:
        return None
    seen: dict[str, NDArray[np.int32]] = {}
    codes = np.stack([sample.codes(part, 0, sample.n_rows, seen) for part in parts], axis=1)
    return Grid(parts, codes, sample.labels, read.model.n_classes)


def _part(read: Reading, batch: TableBatch, p: int, column: Column) -> Column | None:
    """A column as it is paired; None where it has a single level."""
    if column.kind in ("ignored", "text") or (column.levels is None and p not in read.fine):
        return None
    if p in read.fine and column.edges is None:
        column = replace(column, edges=fine_edges_of(batch, column))
    part = part_of(column, read.fine.get(p, np.zeros((0, 0))))
    return part if part.n_cells > 1 else None


def _found(grid: Grid, weighted: Weighted, most: int) -> list[Candidate]:
    """The pairs of the most informative columns that gain more than chance would."""
    losses = _single_losses(weighted)
    informative = sorted(range(len(grid.parts)), key=lambda i: (losses[grid.parts[i].name], i))[:MOST_COLUMNS]
    found = screened(grid, weighted.rows.log_posterior(weighted.weights), sorted(informative), most)
    # In the order of the names, so that tables with the same pairs can be added.
    return sorted(found, key=lambda c: (c.left, c.right))


def _single_losses(weighted: Weighted) -> dict[str, float]:
    """Mean loss of each column's evidence by itself."""
    few = weighted.rows.take(slice(None, None, max(1, len(weighted.rows.codes) // 5000)))
    found = {}
    for d, name in enumerate(weighted.names):
        weights = np.zeros(few.n_terms)
        weights[[0, d + 1]] = 1.0
        found[name] = float(few.losses(weights).mean())
    return found


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
    return Candidate(paired.index(pair[0]), paired.index(pair[1]), GIVEN_STRENGTH, 0.0)


# ---------------------------------------------------------------------------------------------- their weights


def _weights(joint: HeldOut, weighted: Weighted, must: bool) -> Array | None:
    """Weights of the prior, the columns and the pairs; None if pairs are not better than none and were not given.

    Where no weights of columns were kept, the columns stay as they are and only the pairs are weighted.
    """
    n, n_pairs = len(weighted.weights), joint.n_terms - len(weighted.weights)
    centre = np.concatenate((np.ones(n), np.zeros(n_pairs)))
    start = np.concatenate((weighted.weights, np.zeros(n_pairs)))
    fixed = None if weighted.kept else n
    if not must:
        few = joint.subsample()
        after = held_out_losses(few, centre, weighted.pull, start, fixed)
        if not is_better(weighted.losses, after, few.weight):
            return None
    return learn(joint, centre, start, weighted.pull, fixed)


def _importance(joint: HeldOut, weights: Array, names: list[str], of: set[str]) -> dict[str, float]:
    """How much loss rises without each of some columns and pairs."""
    rises = joint.subsample().loss_increases(weights)[1:].tolist()
    return {name: rise for name, rise in zip(names, rises, strict=True) if name in of}


@dataclass(frozen=True)
class _Pairs:
    """A model of pairs alone."""

    families: Mapping[str, Family]  # by name of the pair
    model: Model
    places: Mapping[str, list[int]]

    @classmethod
    def counted(cls, grid: Grid, found: list[Candidate], batch: TableBatch, base: Model, n_jobs: int | None) -> _Pairs:
        words, parts = joining_words(base.schema.names), grid.parts
        columns = tuple(with_reason(pair_column(parts[c.left], parts[c.right], words), c.gain) for c in found)
        families: dict[str, Any] = {column.name: Pair(c.strength) for column, c in zip(columns, found, strict=True)}
        schema = Schema(columns, base.schema.classes)
        settings = replace(settings_of(families, schema, base.settings), weights=None)
        places = places_of(families, schema)
        tally = count(replace(batch, schema=schema, places=places), settings.families, n_jobs)
        return cls(families, Model(settings, tally), places)

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.schema.names

    def joined(self, tally: Tally, names: list[str]) -> Tally:
        """The tally of the other columns with some of the pairs."""
        if not names:
            return tally
        chosen, first = self.model.tally.select(names), len(tally.schema.columns)
        schema = Schema((*tally.schema.columns, *chosen.schema.columns), tally.schema.classes)
        block = chosen.blocks[Pair.name]
        pairs = Block([first + c for c in block.columns], block.summary)
        return Tally(schema, tally.class_weight, {**tally.blocks, Pair.name: pairs})
