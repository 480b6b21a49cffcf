"""Rows counted as a model counts them, to be compared with what it learned: labelled or not, of a table or a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes.core.batch import Array, Labels
from tallybayes.core.levels import united
from tallybayes.core.model import Model
from tallybayes.core.schema import Schema
from tallybayes.core.tally import Tally, count
from tallybayes.data.columns import grown
from tallybayes.data.columns import rows as rows_of
from tallybayes.data.files import File, open_file
from tallybayes.data.known import as_learned, check_columns, with_retyping
from tallybayes.data.labels import distinct, encode_labels, is_missing, objects
from tallybayes.data.tables import TableBatch
from tallybayes.errors import DataError

MOST_SCORES = 20_000_000  # rows times classes whose scores are kept for the class mix


@dataclass(frozen=True)
class Sample:
    """Rows as a model counts them; without labels all of them are counted in the first class."""

    tally: Tally
    n_rows: int
    labelled: bool
    scores: Array | None = None  # (n, K) log joint of the rows, where they have no labels

    def __add__(self, other: Sample) -> Sample:
        scores = None
        if self.scores is not None and other.scores is not None:
            room = self.scores.size + other.scores.size <= MOST_SCORES
            scores = np.concatenate((self.scores, other.scores)) if room else self.scores
        labelled = self.labelled and other.labelled
        return Sample(self.tally + other.tally, self.n_rows + other.n_rows, labelled, scores)


def counted(model: Model, data: Any, labelled: bool | None = None) -> Sample:
    """Rows of a table or a file, with the labels that they have in the column that the model learned them from.

    ``labelled=False`` leaves labels aside.
    """
    if isinstance(data, File | str | os.PathLike):
        file = data if isinstance(data, File) else open_file(data)
        target = model.provenance.target
        use = target is not None and target in file.types and labelled is not False
        with_labels = use and not _lacks_labels(file, str(target))
        return with_retyping(file, lambda each: _of_file(model, each, with_labels))
    batch = data if isinstance(data, TableBatch) else rows_of(model, data)
    return count_table(model, batch, labelled)


def _lacks_labels(file: File, target: str) -> bool:
    name = '"' + target.replace('"', '""') + '"'
    return bool(file.query(f"SELECT count(*) FROM {{scan}} WHERE {name} IS NULL")[0][0])


def _of_file(model: Model, file: File, labelled: bool) -> Sample:
    target = model.provenance.target
    file = as_learned(file, model.schema, target if labelled else None)
    check_columns(file, model.schema, [name for name in file.names if name not in model.schema.names])
    total = None
    for batch in _batches(model, file, labelled):
        part = count_table(model, batch, labelled)
        total = part if total is None else total + part
    if total is None:
        raise DataError(f"{file.name} has no rows")
    return total


def _batches(model: Model, file: File, labelled: bool) -> Iterator[TableBatch]:
    import pyarrow as pa

    from tallybayes.data import arrow

    target = model.provenance.target
    wanted = [name for name in file.names if name in model.schema.names or (labelled and name == target)]
    sources = {c.reading.source for c in model.schema.columns if c.reading is not None}
    wanted += [name for name in file.names if name in sources and name not in wanted]
    for batch in file.batches(wanted):
        if batch.num_rows:
            yield TableBatch(model.schema, arrow.arrow_table(pa.Table.from_batches([batch])), model.tally.places)


def count_table(model: Model, batch: TableBatch, labelled: bool | None = None) -> Sample:
    """The same of rows that were read."""
    target, table = model.provenance.target, batch.table
    if not batch.n_rows:
        raise DataError("there are no rows to compare")
    schema = Schema(grown(model.schema.columns, table), model.schema.classes)
    if batch.labels is not None and labelled is not False:
        own = replace(batch, schema=replace(schema, classes=batch.schema.classes), places=model.tally.places)
        return Sample(count(own, model.settings.families), batch.n_rows, True)
    values = table.columns[target].as_labels() if target is not None and target in table.columns else None
    if labelled is False or values is None or any(is_missing(value) for value in values.tolist()):
        codes = np.zeros(batch.n_rows, dtype=np.int32)
        rows = replace(batch, schema=schema, labels=Labels.hard(codes))
        scores = model.log_joint(replace(batch, labels=None)) if model.n_classes > 1 else None
        return Sample(count(rows, model.settings.families), batch.n_rows, False, scores)
    classes = tuple(united(schema.classes, tuple(distinct(objects(values.tolist())).tolist())))
    codes = encode_labels(objects(values.tolist()), objects(classes))
    rows = replace(batch, schema=replace(schema, classes=classes), labels=Labels.hard(codes))
    return Sample(count(rows, model.settings.families), batch.n_rows, True)
