"""The cells that corrections are learned for: levels, bins of numbers and combinations of pairs."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.core.offsets import Offset
from tallybayes.core.schema import Column
from tallybayes.data.tables import TableBatch
from tallybayes.learning.bins import even_groups
from tallybayes.learning.columns import fine_edges_of
from tallybayes.learning.corrections import Cells, smooth_shape
from tallybayes.learning.options import Options

BINS = 32  # of a number
ROWS_A_LEVEL = 4  # with a value, on average, of a column whose levels are corrected

Known = dict[tuple[tuple[str, int, int], ...], tuple[Column, NDArray[np.int32]]]  # codes (n,) of pairs, by their parts


def cells_of_columns(
    model: Model, batch: TableBatch, options: Options, names: Container[str] | None = None
) -> Cells | None:
    """Those of the columns that are evidence by themselves, and free of constraints; None where there are none.

    With ``names`` those of these columns alone.
    """
    every, known = sorted(p for block in model.tally.blocks.values() for p in block.columns), model.schema.columns
    used = [p for p in every if not options.is_table(known[p].name) and (names is None or known[p].name in names)]
    documents = {p for name, b in model.tally.blocks.items() if model.is_document(name) for p in b.columns}
    columns, codes, shapes = [], [], []
    for p in used:
        column = known[p]
        if p in documents:
            continue
        if column.levels is None:
            column = replace(column, edges=column.edges or fine_edges_of(batch, p))
            column, shape = _coarse(batch, column)
        else:
            shape = None
        coded = batch.codes(column, 0, batch.n_rows, {})
        many = column.levels is not None and column.n_cells * ROWS_A_LEVEL > np.count_nonzero(coded >= 0)
        if column.n_cells > 1 and not many:
            columns.append(column)
            codes.append(coded)
            shapes.append(shape)
    return Cells.of(columns, np.stack(codes, axis=1), shapes) if columns else None


def cells_of_pairs(columns: Sequence[Column], batch: TableBatch, known: Known | None = None) -> Cells:
    """Those of pairs; ``known`` keeps codes for others who ask for pairs of the same rows."""
    seen, codes, known = dict[str, NDArray[np.int32]](), [], {} if known is None else known
    for column in columns:
        key = tuple((part.name, id(part.levels), id(part.edges)) for part in column.parts or ())
        if key not in known:  # the column is kept, so that no other can take the place of its levels in memory
            known[key] = column, batch.codes(column, 0, batch.n_rows, seen)
        codes.append(known[key][1])
    return Cells.of(columns, np.stack(codes, axis=1), [None] * len(columns))


def _coarse(batch: TableBatch, column: Column) -> tuple[Column, Array]:
    """A number in few bins of about the same weight, whose edges are some of the fine ones; and Φ of them."""
    assert batch.labels is not None
    values = np.asarray(batch.table.columns[column.name].numbers(0, batch.n_rows), dtype=np.float64)
    known = np.isfinite(values)
    fine = np.searchsorted(column.edges or (), values[known], side="right")
    weight = np.bincount(fine, batch.labels.weight[known], len(column.edges or ()) + 1).astype(np.float64)
    group = even_groups(weight, BINS)
    edges = tuple(np.array(column.edges or ())[group[1:] > group[:-1]].tolist())
    heavy = np.bincount(group, weight).astype(np.float64)
    largest = float(np.abs(values[known]).max(initial=0.0)) or 1.0
    sums = np.bincount(group[fine], batch.labels.weight[known] * (values[known] / largest), len(heavy))
    centre = np.divide(sums, heavy, out=np.zeros_like(sums), where=heavy > 0)
    return replace(column, edges=edges), smooth_shape(heavy, centre)


def offsets_of(model: Model, cells: Cells, tables: Sequence[Array]) -> Mapping[str, Offset]:
    """The offsets of a model with corrections added to what its columns add already."""
    found, classes = dict(model.settings.offsets), model.schema.classes
    for column, table in zip(cells.columns, tables, strict=True):
        table = table - table.mean(axis=1)[:, None]
        cell = Column(column.name, column.kind, column.levels, edges=column.edges, parts=column.parts)
        before = found.get(column.name)
        found[column.name] = Offset(cell, classes, table if before is None else table + before.among(cell, classes))
    return found
