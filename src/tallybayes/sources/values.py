"""One column of a table, whatever holds it: its numbers, its levels and its codes, a range of rows at a time.

pandas, Polars and PyArrow columns are read through narwhals; text is encoded by the engine that holds it. Nothing
here turns a whole table into another: memory stays that of a slice.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Literal, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tallybayes.batch import MISSING, UNSEEN
from tallybayes.errors import DataError
from tallybayes.schema import Level
from tallybayes.sources.labels import distinct, encode, is_hole

Storage = Literal["number", "integer", "text", "boolean", "date", "empty", "other"]


class Values(Protocol):
    """What the sources need of a column."""

    storage: Storage
    declared: tuple[Level, ...] | None  # the levels of an enumeration, in its order

    def __len__(self) -> int: ...
    @property
    def n_missing(self) -> int: ...
    def distinct(self) -> tuple[Level, ...]: ...
    def take(self, rows: NDArray[Any]) -> Values: ...
    def value(self, row: int) -> Any: ...
    def as_labels(self) -> NDArray[Any]: ...
    def numbers(self, first: int, last: int) -> NDArray[Any]: ...
    def codes(self, first: int, last: int, levels: Sequence[Level]) -> NDArray[np.int32]: ...


def hole_code(levels: Sequence[Level]) -> int:
    """The code of a hole: that of the level None, where missing is a level of its own."""
    return len(levels) - 1 if len(levels) and levels[-1] is None else MISSING


class ArrayValues:
    """A column in a NumPy array, a list or a tuple."""

    declared: tuple[Level, ...] | None = None

    def __init__(self, values: Any) -> None:
        self.array = _plain_array(values)
        kind = self.array.dtype.kind
        self.storage: Storage = {
            "b": "boolean",
            "i": "integer",
            "u": "integer",
            "f": "number",
            "U": "text",
            "T": "text",
            "M": "date",
            "m": "date",
        }.get(kind, "other")  # type: ignore[assignment]
        if kind == "O":
            self.storage = _storage_of(self.array)

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def n_missing(self) -> int:
        if self.array.dtype.kind == "f":
            return int(np.isnan(self.array).sum())
        return sum(map(is_hole, self.array.tolist())) if self.array.dtype.kind == "O" else 0

    @cached_property
    def _numbers(self) -> NDArray[Any]:
        return self.array if self.array.dtype.kind in "fiub" else _as_numbers(self.array)

    def distinct(self) -> tuple[Level, ...]:
        return tuple(distinct(self.array).tolist())

    def take(self, rows: NDArray[Any]) -> Values:
        return ArrayValues(self.array[rows])

    def as_labels(self) -> NDArray[Any]:
        return self.array

    def value(self, row: int) -> Any:
        value = self.array[row]
        return None if is_hole(value) else getattr(value, "item", lambda: value)()

    def numbers(self, first: int, last: int) -> NDArray[Any]:
        return self._numbers[first:last]

    def codes(self, first: int, last: int, levels: Sequence[Level]) -> NDArray[np.int32]:
        codes = encode(self.array[first:last], [level for level in levels if level is not None])
        return with_holes(codes, levels)


class SeriesValues:
    """A column of a pandas, Polars or PyArrow frame."""

    def __init__(self, series: nw.Series[Any]) -> None:
        self.series = series
        dtype = series.dtype
        self.declared: tuple[Level, ...] | None = None
        if isinstance(dtype, (nw.Categorical, nw.Enum)):
            self.storage: Storage = "text"
            self.declared = _declared_levels(series)
            if series.implementation.is_pyarrow():
                self.series = series.cast(nw.String)
        elif dtype == nw.String:
            self.storage = "text" if series.null_count() < len(series) else "empty"
        elif dtype == nw.Boolean:
            self.storage = "boolean"
        elif dtype.is_integer():
            self.storage = "integer"
        elif dtype.is_float() or dtype.is_decimal():
            self.storage = "number"
            self.series = series.cast(nw.Float64) if dtype.is_decimal() else series
        elif dtype.is_temporal():
            self.storage = "date"
        elif series.null_count() == len(series):
            self.storage = "empty"
        else:
            self.storage = _storage_of(series.to_numpy()) if dtype in (nw.Object, nw.Unknown) else "other"

    def __len__(self) -> int:
        return len(self.series)

    @cached_property
    def n_missing(self) -> int:
        if self.storage == "number":  # Polars and PyArrow tell NaN from null; a hole is either
            return int(np.isnan(self._array).sum())
        return int(self.series.null_count())

    @cached_property
    def _array(self) -> NDArray[Any]:
        """Numbers as NumPy sees them: in place where there is no hole, otherwise as floats."""
        series = self.series.cast(nw.Float64) if self.series.dtype in (nw.Int128, nw.UInt128) else self.series
        array = series.to_numpy()
        return _as_numbers(array) if array.dtype.kind == "O" else array

    def take(self, rows: NDArray[Any]) -> Values:
        return SeriesValues(self.series[rows.tolist()])

    def as_labels(self) -> NDArray[Any]:
        return np.asarray(self.series.to_numpy())

    def value(self, row: int) -> Any:
        value = self.series[row]
        return None if is_hole(value) else getattr(value, "item", lambda: value)()

    def distinct(self) -> tuple[Level, ...]:
        if self.storage == "number":
            return tuple(distinct(self.numbers(0, len(self))).tolist())
        if self.storage == "other" or self.series.dtype in (nw.Object, nw.Unknown):
            return tuple(distinct(np.asarray(self.series.to_numpy(), dtype=object)).tolist())
        found = self.series.unique().drop_nulls().to_list()
        return tuple(sorted(found))

    def numbers(self, first: int, last: int) -> NDArray[Any]:
        return self._array[first:last]

    def codes(self, first: int, last: int, levels: Sequence[Level]) -> NDArray[np.int32]:
        part, known = self.series[first:last], [level for level in levels if level is not None]
        if self.storage == "text" and all(isinstance(level, str) for level in known):
            codes = _text_codes(part, known)
        elif self.storage == "number" or (self.storage == "integer" and not self.n_missing):
            codes = encode(self.numbers(first, last), known)
        elif self.storage == "integer":  # as they are: floats, which have holes, cannot tell large integers apart
            codes = encode(np.array(part.to_list(), dtype=object), known)
        else:
            codes = encode(np.asarray(part.to_numpy(), dtype=object), known)
        return with_holes(codes, levels)


def with_holes(codes: NDArray[np.int32], levels: Sequence[Level]) -> NDArray[np.int32]:
    """The codes, with that of the level None for holes where there is one."""
    hole = hole_code(levels)
    return codes if hole == MISSING else np.where(codes == MISSING, np.int32(hole), codes)


def _text_codes(part: nw.Series[Any], levels: list[Any]) -> NDArray[np.int32]:
    """Codes of text by the engine that holds it: each has a fast hash look-up of its own."""
    native = part.to_native()
    if part.implementation.is_polars():
        import polars as pl

        text = native.cast(pl.String) if native.dtype != pl.String else native
        found = text.cast(pl.Enum(levels), strict=False).to_physical().cast(pl.Int32).fill_null(UNSEEN).to_numpy()
    elif part.implementation.is_pyarrow() or _in_arrow(native):
        import pyarrow as pa
        import pyarrow.compute as pc

        text = pa.array(native.array) if hasattr(native, "array") else native
        text = text if text.type in (pa.string(), pa.large_string()) else text.cast(pa.large_string())
        found = pc.index_in(text, value_set=pa.array(levels, type=text.type)).fill_null(UNSEEN).to_numpy()
    else:
        return encode(np.asarray(part.to_numpy(), dtype=object), levels)
    if part.null_count():
        found = np.where(part.is_null().to_numpy(), np.int32(MISSING), found)
    return np.ascontiguousarray(found, dtype=np.int32)


def _in_arrow(series: Any) -> bool:
    """Whether a pandas series keeps its text in Arrow, and PyArrow is there to read it."""
    return hasattr(getattr(series, "array", None), "__arrow_array__") and find_spec("pyarrow") is not None


def _declared_levels(series: nw.Series[Any]) -> tuple[Level, ...] | None:
    """Levels of an enumeration in its order; a mere encoding of text declares none."""
    if series.implementation.is_pandas_like():
        return tuple(series.to_native().cat.categories.tolist())
    if isinstance(series.dtype, nw.Enum):
        return tuple(series.dtype.categories)
    return None


def _plain_array(values: Any) -> NDArray[Any]:
    if isinstance(values, np.ndarray) and values.ndim > 1:
        raise DataError(f"it must have one dimension, not the shape {values.shape}")
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    if isinstance(values, (np.ndarray, str, bytes)) or not isinstance(values, Iterable):
        raise DataError(f"it must be a list or an array, not the single value {values!r}; for one row pass [row]")
    values = list(values)
    kinds = set(map(type, values))
    if len(kinds) == 1 and kinds <= {int, float, bool, str}:
        array = np.asarray(values)
        if array.dtype.kind in "ifbU":
            return array
    # One object a cell: NumPy would turn None into the word "None" and lists of one length into a matrix.
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def _storage_of(array: NDArray[Any]) -> Storage:
    """What the objects of a column are."""
    present = [value for value in array.tolist() if not is_hole(value)]
    if not present:
        return "empty"
    for storage, types in (
        ("boolean", (bool, np.bool_)),
        ("integer", (numbers.Integral,)),
        ("number", (numbers.Real, decimal.Decimal)),
        ("text", (str,)),
        ("date", (datetime.date, datetime.time, datetime.timedelta, np.datetime64)),
    ):
        if all(isinstance(value, types) for value in present):
            return storage  # type: ignore[return-value]
    return "other"


def _as_numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([np.nan if is_hole(value) else float(value) for value in array.tolist()], dtype=np.float64)
