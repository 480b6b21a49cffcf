"""Labelled rows, wherever they are: the few verbs that learning needs of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Batch, Labels, Rows, SomeRows, in_key_order
from tallybayes.core.family import Family
from tallybayes.core.levels import united
from tallybayes.core.schema import Column, Level, Schema
from tallybayes.core.tally import Tally, count
from tallybayes.data.columns import grown, inferred
from tallybayes.data.finding import find
from tallybayes.data.frames import Table
from tallybayes.data.labels import row_weights
from tallybayes.data.overrides import Overrides
from tallybayes.data.reading import measured_table, read_as, with_readings
from tallybayes.data.tables import TableBatch
from tallybayes.data.targets import Target, coded
from tallybayes.data.vocabularies import with_chosen_words, with_own_words
from tallybayes.errors import DataError

# Of tables; texts come as a dict, too, which says nothing.
KINDS = {"pandas": "pandas DataFrame", "polars": "Polars DataFrame", "pyarrow": "PyArrow table", "dict": ""}

Places = Mapping[str, Sequence[int]]  # block → positions of its columns in the schema


@dataclass(frozen=True)
class Facts:
    """What is known of the rows of a source besides their columns."""

    target: str | None  # the column that holds the labels, where it is one
    labels: str  # NumPy's name of the type of the labels
    n_rows: int  # rows that have a label
    unlabelled: int  # rows without a label that are left out
    made_by: str  # what holds the rows
    named: bool  # whether the columns have names of their own
    is_single: bool = False  # whether the numbers are of single precision
    class_rows: tuple[int, ...] = ()  # rows of each class, whatever they weigh
    source: str = ""  # the name of what holds the rows, for people: of a file without its folder


class Source(Protocol):
    """Rows with class labels: a frame, a matrix, files, or the table of an engine.

    A column of text whose vocabulary is open (``levels`` is None) gets the words of the rows that are read.
    """

    @property
    def facts(self) -> Facts: ...
    def profile(self, overrides: Overrides, stream: bool = False) -> Schema:
        """What each column is, as given or as its values suggest, and the classes."""

    def grown(self, schema: Schema) -> Schema:
        """A model's schema with the levels and classes that these rows add."""

    def sample(self, schema: Schema, places: Places, most: int) -> Rows:
        """At most so many labelled rows, drawn by what they hold, in the order of their keys."""

    def count(self, schema: Schema, places: Places, families: Mapping[str, Family]) -> Tally:
        """The tally of all labelled rows."""

    def all_rows(self, schema: Schema, places: Places) -> Rows:
        """All rows in memory, those without a label too: their class code is −1."""


def evidence(schema: Schema) -> tuple[str, ...]:
    """The columns of a table that are evidence, by which its rows are drawn."""
    return tuple(column.name for column in schema.columns if column.is_evidence)


def counting(rows: SomeRows) -> SomeRows:
    """The rows that count: one of weight zero is no row."""
    assert rows.labels is not None
    counts = rows.labels.weight > 0
    return rows if counts.all() else rows.take(np.flatnonzero(counts))


@dataclass(frozen=True)
class TableSource:
    """A table in memory and the labels of its rows."""

    table: Table
    classes: tuple[Level, ...]
    labels: Labels  # the class code of each row; −1 where there is none and it is to be estimated
    facts: Facts
    n_jobs: int | None = None
    schema: Schema | None = None  # what each column is, where that is known already

    @classmethod
    def of(cls, table: Table, target: Target, weight: Any, name: str | None, n_jobs: int | None) -> TableSource:
        """A table and its labels; ``name`` is that of the column which held them."""
        if table.n_rows != len(target.labels):
            sizes = [table.n_rows, len(target.labels)]
            raise DataError(f"Found input variables with inconsistent numbers of samples: {sizes}")
        classes, codes = coded(target.labels)
        n_rows = table.n_rows
        if target.known is not None:
            codes, n_rows = np.where(target.known, codes, np.int32(-1)), int(target.known.sum())
        rows = tuple(np.bincount(codes[codes >= 0], minlength=len(classes)).tolist())
        source = KINDS.get(table.made_by, table.made_by)
        facts = Facts(name, classes.dtype.str, n_rows, target.left_out, table.made_by, table.named, False, rows, source)
        labels = Labels.hard(codes, row_weights(weight, table.n_rows))
        return cls(table, tuple(classes.tolist()), labels, facts, n_jobs)

    def counted(self) -> TableSource:
        """The same without the rows of weight zero: their levels, dates and classes go too."""
        codes = self.labels.codes
        assert codes is not None
        counts = self.labels.weight > 0
        of_each = np.bincount(codes[counts & (codes >= 0)], minlength=len(self.classes))
        if counts.all() or not of_each.any():
            return self
        rows, there = np.flatnonzero(counts), of_each > 0
        new = np.where(codes >= 0, (np.cumsum(there) - 1)[codes], -1)[rows].astype(codes.dtype)
        facts = replace(self.facts, n_rows=int(of_each.sum()), class_rows=tuple(of_each[there].tolist()))
        classes = tuple(label for label, is_there in zip(self.classes, there, strict=True) if is_there)
        labels = Labels.hard(new, self.labels.weight[rows])
        return replace(self, table=self.table.take(rows), classes=classes, labels=labels, facts=facts)

    def profile(self, overrides: Overrides, stream: bool = False) -> Schema:
        schema = self.schema or Schema(self._inferred(overrides, not stream), self.classes)
        return with_chosen_words(schema, [read_as(self.table, schema.columns)], self.n_jobs)

    def _inferred(self, overrides: Overrides, whole: bool) -> tuple[Column, ...]:
        found = find(self.table, overrides, whole and self.table.named, measured_table(self.table))
        table = with_readings(self.table, found.columns)
        return inferred(table, overrides, whole, self.n_jobs, found)

    def grown(self, schema: Schema) -> Schema:
        columns = grown(schema.columns, self.table, self.n_jobs)
        return Schema(columns, tuple(united(schema.classes, self.classes)))

    @cached_property
    def _labelled(self) -> tuple[Table, Labels]:
        assert self.labels.codes is not None
        known = self.labels.codes >= 0
        if known.all():
            return self.table, self.labels
        rows = np.flatnonzero(known)
        return self.table.take(rows), self.labels.take(rows)

    @cached_property
    def _samples(self) -> dict[Any, TableBatch]:
        return {}

    def sample(self, schema: Schema, places: Places, most: int) -> TableBatch:
        table, labels = self._labelled
        drawn = self._samples.get((most, evidence(schema)))
        if drawn is None:
            drawn = in_key_order(counting(TableBatch(schema, table, places, labels)), most)
            self._samples[most, evidence(schema)] = drawn
        return with_own_words(replace(drawn, schema=schema, places=places), n_jobs=self.n_jobs)

    def count(self, schema: Schema, places: Places, families: Mapping[str, Family]) -> Tally:
        table, labels = self._labelled
        batch = counting(TableBatch(schema, table, places, labels))
        whole = None if table is self.table else self.table  # with the words of rows whose labels are to be estimated
        return count(with_own_words(batch, whole, self.n_jobs), families, self.n_jobs)

    def all_rows(self, schema: Schema, places: Places) -> TableBatch:
        return with_own_words(TableBatch(schema, self.table, places, self.labels), n_jobs=self.n_jobs)


@dataclass(frozen=True)
class MatrixSource:
    """A matrix whose columns are all of one family, encoded, with the labels of its rows."""

    batch: Batch  # the class code of each row is −1 where there is none and it is to be estimated
    facts: Facts
    n_jobs: int | None = None

    def profile(self, overrides: Overrides, stream: bool = False) -> Schema:
        return self.batch.schema

    def grown(self, schema: Schema) -> Schema:
        return schema.unite(self.batch.schema)

    @cached_property
    def _labelled(self) -> Batch:
        assert self.batch.labels is not None
        assert self.batch.labels.codes is not None
        known: NDArray[Any] = self.batch.labels.codes >= 0
        return self.batch if known.all() else self.batch.take(np.flatnonzero(known))

    def sample(self, schema: Schema, places: Places, most: int) -> Batch:
        return in_key_order(counting(replace(self._labelled, schema=schema)), most)

    def count(self, schema: Schema, places: Places, families: Mapping[str, Family]) -> Tally:
        return count(replace(self._labelled, schema=schema), families, self.n_jobs)

    def all_rows(self, schema: Schema, places: Places) -> Batch:
        return replace(self.batch, schema=schema)
