"""Rows as a plan reads them; a single row of plain values is read without making a table of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes.core.batch import Batch, Encoded, PlainCells
from tallybayes.core.model import Model
from tallybayes.core.plan import Plan
from tallybayes.core.schema import Schema


def as_batch(
    schema: Schema, places: Mapping[str, Sequence[int]], plan: Plan, cells: PlainCells, texts: dict[str, Encoded]
) -> Batch:
    """A batch of numbers and levels side by side, as a plan reads them, and of texts."""
    blocks = {name: Encoded(places[name], cells.numbers[:, own]) for name, own in plan.blocks.items()}
    return Batch(schema, blocks | texts, len(cells.numbers), cells=cells)


def one_row(model: Model, data: Any) -> Batch | None:
    """A single row of known columns, each with a number, a level or None; anything else is None, to be read as usual.

    A table of one row has nothing to be read at once, so all its time would go into objects for its columns.
    """
    plan = model.plan
    if plan is None or not plan.is_direct:
        return None
    row = _values(data, plan, model.provenance.named)
    if row is None or row.keys() != plan.columns.keys():
        return None
    numbers = []
    for name in plan.numbers:
        value = row[name]
        if value is None:
            value = np.nan
        elif type(value) is not float and type(value) is not int:
            return None
        numbers.append(value)
    levels = []
    for name, codes, kind in plan.codes:
        value = row[name]
        if type(value) is float and value != value:
            value = None
        if value is not None and (type(value) is not kind or value not in codes):
            return None
        levels.append(codes[value])
    try:
        cells = PlainCells(np.array([numbers], dtype=np.float64), np.array([levels], dtype=np.int32))
    except OverflowError:
        return None
    return as_batch(model.schema, model.tally.places, plan, cells, {})


def _values(data: Any, plan: Plan, named: bool) -> Mapping[str, Any] | None:
    """The values of the only row by column."""
    kind = type(data)
    if kind is np.ndarray:
        is_row = not named and data.shape == (1, len(plan.columns)) and data.dtype.kind in "fi"
        return dict(zip(plan.columns, data[0].tolist(), strict=True)) if is_row else None
    if not named:
        return None
    if kind is dict:
        row = {}
        for name, column in data.items():  # in one go: a row has no microseconds to spare
            if type(column) is not list or len(column) != 1:
                return None
            row[name] = column[0]
        return row
    if kind is list:
        return data[0] if len(data) == 1 and type(data[0]) is dict else None
    library = kind.__module__.partition(".")[0] if kind.__name__ == "DataFrame" and len(data) == 1 else ""
    if library == "pandas":
        return dict(zip(data.columns, data.to_numpy(dtype=object)[0].tolist(), strict=True))
    return data.row(0, named=True) if library == "polars" else None
