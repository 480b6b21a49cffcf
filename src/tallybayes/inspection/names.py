"""Names in a released tally: which classes, levels and words may be shown.

A name that only one row has would betray it. Where names are not known beforehand, one is shown only if a cell of it is
above what one row and its noise reach but with a small chance (Korolova, Kenthapadi, Mishra and Ntoulas 2009).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.schema import Column, NumberedColumns, Schema
from tallybayes.core.summaries import Counts
from tallybayes.core.tally import Block, Tally
from tallybayes.core.tokens import Vocabulary
from tallybayes.errors import SettingError
from tallybayes.inspection.noise import Noise

Rule = Callable[[Column, Array], NDArray[np.bool_]]  # a column and its cells (K, m) → which of them stay


def is_coded(schema: Schema, block: Block) -> bool:
    """Whether the cells of a block are levels, bins or pairs: a row is in one cell of each column."""
    counts = isinstance(block.summary, Counts) and block.summary.n_levels is not None
    return counts and all(not schema.columns[c].is_text for c in block.columns)


def by_column(count: Array, n_levels: NDArray[np.int64]) -> Array:
    """Weight (K, d) of the columns from that of their cells."""
    ends = np.cumsum(n_levels)
    return np.stack([count[:, end - n : end].sum(axis=1) for end, n in zip(ends, n_levels, strict=True)], axis=1)


def has_names(column: Column) -> bool:
    """Whether the levels of a column were read off the rows: true and false are known, and hashes are no names."""
    is_hashed = column.tokens is not None and column.tokens.hashed is not None
    return column.levels is not None and column.kind not in ("ignored", "boolean") and not is_hashed


def are_known(tally: Tally) -> bool:
    """Whether nothing is left to hide: the classes and all levels were declared when the rows were counted."""
    return n_groups(tally.schema) == 0


def n_groups(schema: Schema) -> int:
    """Of how many lists of names one row can lengthen each: the classes, and each column of levels or words."""
    classes = not set(schema.classes) <= set(schema.declared)
    return classes + (0 if isinstance(schema.columns, NumberedColumns) else sum(map(has_names, schema.columns)))


def common(tally: Tally, noise: Noise, tokens: Mapping[str, float], chance: float) -> Tally:
    """The tally with the names alone that more rows have than one, but with the given chance of an error.

    Parameters
    ----------
    tally : Tally
        With noise.
    noise : Noise
        Which it was made with.
    tokens : mapping of column to float
        The most tokens of one text: a row can bring that many new words.
    chance : float
        That a name which only one row has is released, all lists of names together.
    """
    share = chance / n_groups(tally.schema)
    classes = tally.schema.classes
    limit = noise.most_weight + noise.exceeded(1.0, len(classes), share)
    kept = tuple(label for label, weight in zip(classes, tally.class_weight, strict=True) if weight >= limit)
    kept = classes if set(classes) <= set(tally.schema.declared) else kept
    if not kept:
        raise SettingError(
            f"no class has the {limit:,.0f} rows that it takes to release its name with this epsilon and delta; pass "
            "schema= with classes that were known beforehand"
        )
    tally = tally.restrict(replace(tally.schema, classes=kept))
    if isinstance(tally.schema.columns, NumberedColumns):
        return tally

    def is_common(column: Column, cells: Array) -> NDArray[np.bool_]:
        most = tokens.get(column.name, 1.0)
        reached = noise.exceeded(most, len(classes) * cells.shape[1], share / (len(classes) * max(most, 1.0)))
        return np.asarray((cells >= most * noise.most_weight + reached).any(axis=0))

    return _with_levels(tally, is_common)


def suppressed(tally: Tally, min_cell: float) -> Tally:
    """The tally without rare levels, and without the small counts of the others."""
    if isinstance(tally.schema.columns, NumberedColumns):
        found = tally
    else:
        found = _with_levels(tally, lambda _, cells: np.asarray(cells.sum(axis=0) >= min_cell))
    blocks = dict(found.blocks)
    for name, block in found.blocks.items():
        if isinstance(block.summary, Counts) and is_coded(found.schema, block):
            count = np.where(block.summary.count < min_cell, 0.0, block.summary.count)
            blocks[name] = Block(block.columns, _counted(block.summary, count))
    return replace(found, blocks=blocks)


def _with_levels(tally: Tally, is_kept: Rule) -> Tally:
    """The tally with those levels and words alone for which a rule on the column and its cells (K, m) holds."""
    columns = list(tally.schema.columns)
    for block in tally.blocks.values():
        if isinstance(block.summary, Counts) and block.summary.n_levels is not None:
            parts = np.split(block.summary.count, np.cumsum(block.summary.n_levels)[:-1], axis=1)
            for place, cells in zip(block.columns, parts, strict=True):
                columns[place] = _smaller(columns[place], cells, is_kept)
    found = tally.restrict(replace(tally.schema, columns=tuple(columns)))
    blocks = {
        name: Block(block.columns, _counted(block.summary, block.summary.count))
        if is_coded(found.schema, block) and isinstance(block.summary, Counts)
        else block
        for name, block in found.blocks.items()
    }
    return replace(found, blocks=blocks)


def _counted(summary: Counts, count: Array) -> Counts:
    assert summary.n_levels is not None
    return replace(summary, count=count, weight=by_column(count, summary.n_levels))


def _smaller(column: Column, cells: Array, is_kept: Rule) -> Column:
    if column.parts is not None:
        grid = cells.reshape(len(cells), column.parts[0].n_cells, -1)
        left, right = column.parts
        return replace(
            column, parts=(_smaller(left, grid.sum(axis=2), is_kept), _smaller(right, grid.sum(axis=1), is_kept))
        )
    if not has_names(column):
        return column
    keep = is_kept(column, cells)
    if isinstance(column.levels, Vocabulary):
        return replace(column, levels=column.levels.select(keep))
    levels = column.levels or ()
    if isinstance(levels, range):  # numbered from 0, so only the last can go
        return replace(column, levels=levels[: int(np.flatnonzero(keep).max(initial=-1)) + 1], declared=())
    return replace(column, levels=tuple(levels[i] for i in np.flatnonzero(keep).tolist()), declared=())
