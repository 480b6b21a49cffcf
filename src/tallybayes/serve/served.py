"""What was served, as a tally: the rows of predictions are counted, and none of them is kept."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tallybayes.core.model import Model
from tallybayes.data.tables import TableBatch
from tallybayes.errors import DataError, TallybayesError
from tallybayes.inspection.drift import drift
from tallybayes.inspection.drift_counts import Sample, count_table, counted

MOST_LEVELS = 10_000  # different levels of a column that are counted: rows may hold anything


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
            self.refused += 1
            return
        self._join(model, Sample(read.tally, read.n_rows, False))

    def _join(self, model: Model, part: Sample) -> None:
        with self.lock:
            if self.model is not model:
                self.model, self.sample = model, None
            joined = part if self.sample is None else self.sample + part
            levels = max((len(c.levels or ()) for c in joined.tally.schema.columns if c.tokens is None), default=0)
            if levels > MOST_LEVELS:
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
