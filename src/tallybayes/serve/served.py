"""What was served, as a tally: the rows of predictions are counted, and none of them is kept."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tallybayes.core.model import Model
from tallybayes.core.schema import Schema
from tallybayes.core.tokens import Vocabulary
from tallybayes.data.tables import TableBatch
from tallybayes.errors import DataError, TallybayesError
from tallybayes.inspection.drift import drift
from tallybayes.inspection.drift_counts import Sample, count_table, counted

MOST_LEVELS = 10_000  # levels that the model does not know: rows may hold anything
MOST_WORDS = 200_000  # words of texts that it does not know
MOST_CHARACTERS = 4_000_000  # of all of them


@dataclass
class Served:
    """The rows that were served by one model, counted as it counts; another model starts again."""

    model: Model | None = None
    sample: Sample | None = None
    refused: int = 0  # rows that could not be counted
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, model: Model, rows: TableBatch | Path) -> None:
        """Count rows, or those of a file; what cannot be counted is left out, since the prediction was made."""
        try:
            read = count_table(model, rows, False) if isinstance(rows, TableBatch) else counted(model, str(rows), False)
        except TallybayesError:
            with self.lock:
                self.refused += rows.n_rows if isinstance(rows, TableBatch) else 1
            return
        self._join(model, Sample(read.tally, read.n_rows, False))

    def _join(self, model: Model, part: Sample) -> None:
        with self.lock:
            if self.model is not model:
                self.model, self.sample = model, None
            joined = part if self.sample is None else self.sample + part
            before = model if self.sample is None else self.sample
            grows = _sizes(joined.tally.schema) != _sizes(before.tally.schema)
            if grows and _is_too_much(model.schema, joined.tally.schema):
                self.refused += part.n_rows
            else:
                self.sample = joined

    def record(self, model: Model) -> dict[str, Any]:
        """How the rows differ from those that the model learned."""
        with self.lock:
            sample = self.sample if self.model is model else None
        if sample is None:
            raise DataError("no rows were served since the model was read")
        return {"served": sample.n_rows, "refused": self.refused, **drift(model, sample).as_dict()}


def _sizes(schema: Schema) -> tuple[int, int]:
    """How many levels and how many words the columns have."""
    words = sum(len(c.levels or ()) for c in schema.columns if c.tokens is not None)
    return sum(len(c.levels or ()) for c in schema.columns if not c.is_derived) - words, words


def _is_too_much(known: Schema, counted: Schema) -> bool:
    """Whether rows brought more levels, words or characters of them than are kept."""
    more = [new - old for new, old in zip(_sizes(counted), _sizes(known), strict=True)]
    return more[0] > MOST_LEVELS or more[1] > MOST_WORDS or _characters(counted) - _characters(known) > MOST_CHARACTERS


def _characters(schema: Schema) -> int:
    levels = [c.levels for c in schema.columns if c.levels is not None and not c.is_derived]
    return sum(
        len(each.text) if isinstance(each, Vocabulary) else sum(len(level) for level in each if isinstance(level, str))
        for each in levels
        if not isinstance(each, range)
    )
