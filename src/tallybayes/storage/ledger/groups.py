"""Tables whose rows are of several periods and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.core.model import Model
from tallybayes.data.columns import split_target
from tallybayes.data.files import is_file, open_file
from tallybayes.data.frames import Table, read_table
from tallybayes.data.known import as_learned, with_retyping
from tallybayes.data.labels import is_missing
from tallybayes.errors import DataError, row_number
from tallybayes.storage.ledger.counting import Counted, Pending, _joined, in_groups
from tallybayes.storage.ledger.periods import Calendar
from tallybayes.storage.ledger.selection import checked_key


def table_groups(
    plan: Model, calendar: Calendar, rows: Any, period: str, key: str | None, batch_id: str | None
) -> tuple[Sequence[Pending], Sequence[Counted]]:
    """The batches of a table, one for each period and key, counted."""
    table = table_of(plan, rows)
    table, periods = _asked(plan, table, period)
    keys: Any = np.full(table.n_rows, "all", dtype=object)
    if key is not None:
        table, keys = _asked(plan, table, key)
    if not table.n_rows:
        raise DataError("there are no rows to add")
    numbers = _coded(periods, calendar.one, period)
    names = _coded(keys, lambda value: checked_key(str(value)), key or "")
    pairs: dict[tuple[int, str], int] = {}
    group = np.array([pairs.setdefault(pair, len(pairs)) for pair in zip(numbers, names, strict=True)])
    pending = [
        Pending(table, None, None, number, name, None if batch_id is None else f"{batch_id}/{number}/{name}")
        for number, name in pairs
    ]
    batch, _ = _joined(plan, pending[:1])
    return pending, list(in_groups(plan, batch, group, pending))


def _asked(plan: Model, table: Table, column: str) -> tuple[Table, Any]:
    """The table and a column that says where its rows belong; it stays where it is evidence besides."""
    others, values = split_target(table, column)
    return table if column in plan.schema.names else others, values


def _coded(values: Any, read: Any, column: str) -> list[Any]:
    """Each value as it is read; equal ones once."""
    known: dict[Any, Any] = {}
    found = []
    for row, value in enumerate(np.asarray(values).tolist()):
        if is_missing(value):
            raise DataError(
                f"column {column!r} is missing in row {row_number(row):,}; each row needs a period and a key"
            )
        if value not in known:
            known[value] = read(value)
        found.append(known[value])
    return found


def table_of(plan: Model, rows: Any) -> Table:
    """Rows in memory; those of a file are read as the plan learned them."""
    if not is_file(rows):
        return read_table(rows)
    file = as_learned(open_file(rows, ()), plan.schema, plan.provenance.target)
    return with_retyping(file, lambda each: Table.joined(list(each.tables())))


def labelled_rows(plan: Model, each: Pending) -> tuple[Table, list[Any]]:
    """The rows of a batch and their labels."""
    batch, _ = _joined(plan, [replace(each, rows=table_of(plan, each.rows))])
    assert batch.labels is not None
    assert batch.labels.codes is not None
    classes = batch.schema.classes
    return batch.table, [classes[code] for code in batch.labels.codes.tolist()]
