"""Rows counted as a ledger's plan reads them: many small batches in one pass.

The class is the first axis of every summary. So batches are counted at once as if each batch and class were a class of
its own, and the tables are cut afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes.core.batch import Labels
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Level, Schema
from tallybayes.core.tally import Tally, count
from tallybayes.data.columns import bag_of, grown, matched, split_target
from tallybayes.data.engines import is_lazy
from tallybayes.data.files import is_file
from tallybayes.data.frames import Table, read_table
from tallybayes.data.labels import row_weights
from tallybayes.data.opening import open_source
from tallybayes.data.sources import counting
from tallybayes.data.tables import TableBatch
from tallybayes.data.targets import Target, coded
from tallybayes.data.vocabularies import opened, with_own_words
from tallybayes.errors import DataError, PlanError

MOST_CELLS = 4_000_000  # of the tables that are counted at a time
LONE = "a ledger counts rows of named columns; count an array elsewhere and add its tally"


@dataclass(frozen=True)
class Pending:
    """Rows that are to be added as one batch."""

    rows: Any  # a table, a path or a tally
    labels: Any
    weight: Any
    period: int
    key: str
    batch: str | None
    unlabelled: str = "error"


@dataclass(frozen=True)
class Counted:
    """Batches counted as one tally, in which each has so many classes."""

    batches: Sequence[Pending]
    tally: Tally
    classes: tuple[Level, ...]
    rows: np.ndarray[Any, np.dtype[np.int64]]
    losses: Sequence[bytes] = ()


def counted(plan: Model, pending: Sequence[Pending]) -> Iterator[Counted]:
    """Count batches as the plan does; those in memory together."""
    together = [each for each in pending if not _is_apart(each.rows)]
    if together:
        yield from in_groups(plan, *_joined(plan, together), together)
    for each in pending:
        if isinstance(each.rows, Tally):
            yield of_tally(plan, each)
        elif _is_apart(each.rows):
            yield _of_file(plan, each)


def _is_apart(rows: Any) -> bool:
    if isinstance(rows, Mapping) or (isinstance(rows, list) and rows and isinstance(rows[0], Mapping)):
        return False  # to ask whether it is an engine's table takes longer than to count it
    return isinstance(rows, Tally) or is_file(rows) or is_lazy(rows)


def of_tally(plan: Model, each: Pending) -> Counted:
    """A tally that was counted elsewhere, by this plan."""
    tally: Tally = each.rows
    known, given = plan.schema, tally.schema
    if tally.blocks.keys() != plan.tally.blocks.keys() or len(known.columns) != len(given.columns):
        raise PlanError("the tally has other columns or families than the ledger's plan; count the rows by that plan")
    if not known.is_numbered:
        for mine, theirs in zip(known.columns, given.columns, strict=True):
            if not _alike(mine, theirs):
                raise PlanError(
                    f"column {theirs.name!r} of the tally was not counted as the ledger's plan reads {mine.name!r}: "
                    "other kind, bins, words or order; count the rows by that plan"
                )
    if any(list(tally.blocks[name].columns) != list(block.columns) for name, block in plan.tally.blocks.items()):
        raise PlanError("the tally has its columns in other places than the ledger's plan; count the rows by that plan")
    tally.check()
    if not tally.class_weight.any():
        raise DataError("there are no rows to add")
    rows = np.array([max(round(float(tally.class_weight.sum())), 1)])
    return Counted([each], tally, tally.schema.classes, rows)


def _alike(mine: Any, theirs: Any) -> bool:
    """Whether two columns are read alike; levels may differ."""
    same = (mine.name, mine.kind, mine.edges, mine.tokens) == (theirs.name, theirs.kind, theirs.edges, theirs.tokens)
    if not same or (mine.parts is None) != (theirs.parts is None) or (mine.levels is None) != (theirs.levels is None):
        return False
    if isinstance(mine.levels, range) and mine.levels != theirs.levels:
        return False
    parts = (mine.parts or (), theirs.parts or ())
    return len(parts[0]) == len(parts[1]) and all(map(_alike, *parts))


def _of_file(plan: Model, each: Pending) -> Counted:
    """The rows of a file or of an engine's table, counted where they are."""
    if plan.schema.is_numbered:
        raise PlanError(LONE)
    target = each.labels if each.labels is not None else plan.provenance.target
    if target is None:
        raise DataError("the plan has no name for the column of labels; give it with labels=…")
    source = open_source(each.rows, target, each.weight, each.unlabelled)
    schema = source.grown(plan.schema)
    tally = source.count(schema, plan.tally.places, plan.settings.families)
    return Counted([each], tally, tally.schema.classes, np.array([source.facts.n_rows]))


def _joined(plan: Model, pending: Sequence[Pending]) -> tuple[TableBatch, np.ndarray[Any, Any]]:
    """All rows of some batches as one table, and the batch of each."""
    if plan.schema.is_numbered:
        raise PlanError(LONE)
    parts = [_labelled(plan, each) for each in _merged(pending)]
    sizes = np.concatenate([size for *_, size in parts])
    table = Table.joined(_same_columns([table for table, *_ in parts]))
    labels = np.concatenate([np.asarray(label, dtype=object) for _, label, _, _ in parts])
    weight = np.concatenate([weight for _, _, weight, _ in parts])
    classes, codes = coded(labels)
    schema = Schema(_grown(plan.schema, table), tuple(classes.tolist()))
    batch = TableBatch(schema, table, plan.tally.places, Labels.hard(codes, row_weights(weight, table.n_rows)))
    return batch, np.repeat(np.arange(len(sizes)), sizes)


def _grown(schema: Schema, table: Table) -> tuple[Column, ...]:
    """The plan's columns with the levels that rows add; texts bring words of their own."""
    columns = opened(schema).columns
    others = iter(grown([c for c in columns if c.tokens is None or c.levels is not None], table))
    return tuple(next(others) if c.tokens is None or c.levels is not None else c for c in columns)


def _merged(pending: Sequence[Pending]) -> Iterator[tuple[Pending, Any]]:
    """Batches of plain lists put together, so that they are read once; all others one by one."""
    simple: list[tuple[Pending, Any]] = []
    for each in pending:
        is_usual = each.labels is None and each.weight is None and each.unlabelled == "error"
        if is_usual and (columns := _columns_of(each.rows)):
            simple.append((each, columns))
            continue
        if simple:
            yield _as_one(simple)
            simple = []
        yield each, None
    if simple:
        yield _as_one(simple)


def _columns_of(rows: Any) -> Any:
    """The columns of rows that are plain lists; None where they are not."""
    if isinstance(rows, Mapping):
        values = list(rows.values())
        same = values and all(isinstance(v, list) for v in values) and len(set(map(len, values))) == 1
        return dict(rows) if same else None
    if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows):
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: [row.get(name) for row in rows] for name in names}
    return None


def _as_one(pending: Sequence[tuple[Pending, Any]]) -> tuple[Pending, Any]:
    columns: dict[str, list[Any]] = {}
    sizes, total = [], 0
    for _, own in pending:
        size = len(next(iter(own.values())))
        for name, values in own.items():
            column = columns.setdefault(name, [])
            column.extend([None] * (total - len(column)))
            column.extend(values)
        sizes.append(size)
        total += size
    for column in columns.values():
        column.extend([None] * (total - len(column)))
    return replace(pending[0][0], rows=columns), sizes


def _labelled(plan: Model, part: tuple[Pending, Any]) -> tuple[Table, Any, Any, Any]:
    """A table under the plan's names, its labels, its weights and the sizes of its batches."""
    each, sizes = part
    table = read_table(each.rows)
    target = each.labels if each.labels is not None else plan.provenance.target
    if target is None:
        raise DataError("the plan has no name for the column of labels; give them with labels=…")
    weight = each.weight
    if isinstance(weight, str):
        table, weight = split_target(table, weight)
    if isinstance(target, str):
        table, target = split_target(table, target)
    known = Target.of(target, each.unlabelled)
    if known.nothing_known:
        raise DataError("there are no rows to add: none has a label")
    weights = row_weights(weight, table.n_rows)
    if known.keep is not None:
        table, weights = table.take(known.keep), weights[known.keep]
    if table.n_rows == 0:
        raise DataError("there are no rows to add")
    if table.n_rows != len(known.labels):
        raise DataError(f"there are {table.n_rows:,} rows and {len(known.labels):,} labels")
    provenance = plan.provenance
    table = matched(table, plan.schema, bag_of(plan), provenance.named, False, provenance.target, "the ledger")
    return table, known.labels.tolist(), weights, np.array([table.n_rows] if sizes is None else sizes)


def _same_columns(tables: Sequence[Table]) -> list[Table]:
    """Tables with the columns that any of them has; a column that one lacks is missing in its rows."""
    names = list(dict.fromkeys(name for table in tables for name in table.columns))
    if all(list(table.columns) == names for table in tables):
        return list(tables)
    missing = [{name: [None] * t.n_rows for name in names if name not in t.columns} for t in tables]
    filled = [{**t.columns, **read_table(gaps).columns} for t, gaps in zip(tables, missing, strict=True)]
    return [
        replace(t, columns={name: columns[name] for name in names}, matrix=None)
        for t, columns in zip(tables, filled, strict=True)
    ]


def in_groups(
    plan: Model, batch: TableBatch, group: np.ndarray[Any, Any], pending: Sequence[Pending]
) -> Iterator[Counted]:
    """Count rows that belong to batches: the batch of each row in order, from 0 on."""
    assert batch.labels is not None
    assert batch.labels.codes is not None
    order = np.argsort(group, kind="stable")
    if not np.array_equal(order, np.arange(len(order))):
        batch, group = batch.take(order), group[order]
    classes = batch.schema.classes
    cells = sum(column.n_cells for column in batch.schema.columns) + 1
    at_once = max(1, MOST_CELLS // (cells * len(classes)))
    for first in range(0, len(pending), at_once):
        last = min(first + at_once, len(pending))
        a, b = np.searchsorted(group, (first, last))
        part = batch.take(np.arange(a, b)) if b - a < batch.n_rows else batch
        assert part.labels is not None
        assert part.labels.codes is not None
        codes = (group[a:b] - first) * len(classes) + part.labels.codes
        many = replace(part.schema, classes=tuple(range((last - first) * len(classes))), declared=())
        labels = Labels.hard(codes.astype(np.int32), part.labels.weight)
        found = with_own_words(replace(part, schema=many, labels=labels), n_jobs=1)
        tally = count(counting(found), plan.settings.families, None if last - first == 1 else 1)
        rows = np.bincount(group[a:b] - first, minlength=last - first)
        if (np.add.reduceat(tally.class_weight, np.arange(0, len(tally.class_weight), len(classes))) <= 0).any():
            raise DataError("there are no rows to add: all of a batch weigh nothing")
        yield Counted(pending[first:last], tally, classes, rows)
