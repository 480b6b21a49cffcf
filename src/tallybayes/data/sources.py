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
from tallybayes.core.schema import Level, Schema
from tallybayes.core.tally import Tally, count
from tallybayes.data.columns import Overrides, inferred
from tallybayes.data.tables import Table, TableBatch

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


class Source(Protocol):
    """Rows with class labels: a frame, a matrix, files, or the table of an engine."""

    @property
    def facts(self) -> Facts: ...
    def profile(self, overrides: Overrides, stream: bool = False) -> Schema:
        """What each column is, as given or as its values suggest, and the classes."""

    def sample(self, schema: Schema, places: Places, most: int) -> Rows:
        """At most so many labelled rows, drawn by what they hold, in the order of their keys."""

    def count(self, schema: Schema, places: Places, families: Mapping[str, Family]) -> Tally:
        """The tally of all labelled rows."""

    def all_rows(self, schema: Schema, places: Places) -> Rows:
        """All rows in memory, those without a label too: their class code is −1."""


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

    def profile(self, overrides: Overrides, stream: bool = False) -> Schema:
        return Schema(inferred(self.table, overrides, not stream, self.n_jobs), self.classes)

    @cached_property
    def _labelled(self) -> tuple[Table, Labels]:
        assert self.labels.codes is not None
        known = self.labels.codes >= 0
        if known.all():
            return self.table, self.labels
        rows = np.flatnonzero(known)
        return self.table.take(rows), self.labels.take(rows)

    def sample(self, schema: Schema, places: Places, most: int) -> TableBatch:
        return in_key_order(counting(TableBatch(schema, self._labelled[0], places, self._labelled[1])), most)

    def count(self, schema: Schema, places: Places, families: Mapping[str, Family]) -> Tally:
        return count(TableBatch(schema, self._labelled[0], places, self._labelled[1]), families, self.n_jobs)

    def all_rows(self, schema: Schema, places: Places) -> TableBatch:
        return TableBatch(schema, self.table, places, self.labels)


@dataclass(frozen=True)
class MatrixSource:
    """A matrix whose columns are all of one family, encoded, with the labels of its rows."""

    batch: Batch  # the class code of each row is −1 where there is none and it is to be estimated
    facts: Facts
    n_jobs: int | None = None

    def profile(self, overrides: Overrides, stream: bool = False) -> Schema:
        return self.batch.schema

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
