"""What the pictures share: the model behind an estimator, rows from a table, and how numbers are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tallybayes.core.batch import Array, Rows
from tallybayes.core.model import Model
from tallybayes.core.schema import Level
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch
from tallybayes.errors import DataError, nearest

TICKS = "▁▂▃▄▅▆▇█"


def model_of(model: Any) -> Model:
    """The model itself, or the one inside an estimator."""
    found = getattr(model, "model_", model)
    if not isinstance(found, Model):
        raise DataError(f"expected a fitted model, got {type(model).__name__}; call fit first")
    return found


def rows_with_labels(model: Any, X: Any, y: Any = None) -> Any:
    """Rows and labels as the model reads them; a table without labels, or labelled rows, as they are."""
    if X is None or isinstance(X, Rows):
        return X
    if isinstance(X, tuple):
        raise DataError("pass the rows and their labels as two arguments, X and y, not as a tuple")
    if not hasattr(model, "labelled_rows"):
        return X
    from tallybayes.data.opening import is_stored  # which loads what reads files

    target = model_of(model).provenance.target
    if y is None and (target is None or is_stored(X) or target not in read_table(X).columns):
        return X
    return model.labelled_rows(X, y)


def rows_of(model: Model, data: Any) -> Rows:
    """Rows as the model reads them: they are already, or come as any table."""
    if isinstance(data, Rows):
        return data
    return TableBatch(model.schema, read_table(data), model.tally.places)


def place_of(model: Model, label: Level) -> int:
    """Position of a class."""
    classes = model.schema.classes
    if label not in classes:
        raise DataError(f"there is no class {label!r}; {nearest(label, classes)}")
    return classes.index(label)


def prior_of(model: Model) -> Array:
    """P(y), summing to one whatever the model's prior."""
    prior = np.exp(model.log_prior)
    return np.asarray(prior / prior.sum())


class AsDict:
    """What a record prints as JSON: its fields, where it does not define otherwise."""

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {field.name: listed(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


def listed(value: Any) -> Any:
    """Numbers and records as plain lists and dicts, for JSON."""
    if isinstance(value, tuple | list):
        return [listed(each) for each in value]
    if is_dataclass(value):
        return AsDict.as_dict(value)  # type: ignore[arg-type]
    return value.tolist() if isinstance(value, np.ndarray) else value


def spark(heights: Sequence[float] | Array, top: float | None = None) -> str:
    """A curve drawn with eighths of a letter.

    Examples
    --------
    >>> spark([0.0, 1.0, 2.0, 1.0])
    '▁▅█▅'
    """
    values = np.asarray(heights, dtype=np.float64)
    most = float(values.max(initial=0.0)) if top is None else top
    if not most > 0:
        return TICKS[0] * len(values)
    return "".join(TICKS[min(7, round(7 * max(0.0, v) / most))] for v in values.tolist())
