"""Typical rows of each class for the what-if form: likely ones, never an impossible mix of values.

Where the report was given labelled rows they are rows of the table, otherwise rows that the model draws column by
column. Of either they are among the tenth whose values its columns, pairs and blocks find likeliest in the class, and
there not the clearest but those of middling probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Rows, every_nth
from tallybayes.core.model import Model
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch
from tallybayes.errors import NotAvailableError
from tallybayes.inspection.sampling import sampled

MOST_ROWS = 2_000  # that typical ones are chosen from
DRAWN = 1_000
MOST_CLASSES = 60
MOST_VALUES = 6_000  # in the page
PER_CLASS = 3
LIKELIEST = 10  # one in so many rows is likely enough
LONGEST = 1_000  # characters of a value


def typical_rows(model: Model, rows: Rows | None) -> list[list[dict[str, str]]]:
    """Some rows of each class, as the what-if spells values; of a class without any an empty list."""
    if model.n_classes < 2 or model.n_classes > MOST_CLASSES:
        return [[] for _ in model.schema.classes]
    per_class = min(PER_CLASS, MOST_VALUES // (model.n_classes * max(len(model.schema.columns), 1)))
    if not per_class:
        return [[] for _ in model.schema.classes]
    found = _real(model, rows, per_class) if rows is not None else None
    return found or _drawn(model, per_class) or [[] for _ in model.schema.classes]


def _real(model: Model, rows: Rows, per_class: int) -> list[list[dict[str, str]]] | None:
    few = every_nth(rows, MOST_ROWS)
    table, labels = getattr(few, "table", None), few.labels
    if table is None or labels is None or labels.codes is None:
        return None
    return _chosen(model, few, table, labels.codes, per_class)


def _drawn(model: Model, per_class: int) -> list[list[dict[str, str]]] | None:
    if model.texts:
        return None  # drawn words make no text
    try:
        columns, codes = sampled(model, DRAWN, np.random.default_rng(0))
    except NotAvailableError:
        return None
    table = read_table(columns)
    batch = TableBatch(model.schema, table, model.tally.places)
    return _chosen(model, batch, table, codes, per_class)


def _chosen(model: Model, batch: Rows, table: Any, codes: NDArray[Any], per_class: int) -> list[list[dict[str, str]]]:
    posterior, found = model.posterior(batch), []
    parts = None if model.texts else model.contributions(batch)  # a short text is not a likelier one
    for k in range(model.n_classes):
        own = np.flatnonzero(codes == k)
        own = own if parts is None else own[_likely(parts[own, k], per_class)]
        found.append([_spelled(model, table.row(int(i))) for i in _middling(posterior[own, k], own, per_class)])
    return found


def _likely(parts: Array, least: int) -> NDArray[Any]:
    """The rows (m, D) whose values are likeliest, of those that have most of them: what is missing adds nothing."""
    known = (parts != 0.0).sum(axis=1)
    full = np.flatnonzero(known >= np.median(known)) if len(known) else np.zeros(0, dtype=np.intp)
    likely = np.argsort(-parts[full].sum(axis=1), kind="stable")
    return full[likely[: max(least, len(known) // LIKELIEST)]]


def _middling(p: Array, rows: NDArray[Any], most: int) -> list[int]:
    """The rows in the middle by the probability of their own class, where that is the likelier half."""
    right = rows[p > 0.5] if (p > 0.5).any() else rows
    p = p[p > 0.5] if (p > 0.5).any() else p
    order = right[np.argsort(p, kind="stable")]
    middle = max(0, len(order) // 2 - most // 2)
    return [int(i) for i in order[middle : middle + most]]


def _spelled(model: Model, row: Mapping[str, Any]) -> dict[str, str]:
    """The values of a row as the address of the page has them, without those that are missing."""
    used = [c for c in model.schema.columns if c.parts is None and c.is_evidence]  # a name of a person is no evidence
    sources = {c.parent if c.parent is not None else c.name for c in used}
    spelled = {name: _text(value) for name, value in row.items() if name in sources}
    return {name: text for name, text in spelled.items() if text is not None and len(text) <= LONGEST}


def _text(value: Any) -> str | None:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)
