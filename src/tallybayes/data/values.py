"""One column of a table, whatever holds it: its numbers, its levels and its codes, a range of rows at a time.

pandas, Polars and PyArrow columns are read through narwhals. Text is listed by the engine that holds it, once: the
same list gives the levels and the codes. Where only codes are needed, memory stays that of a slice.
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

from tallybayes.core.batch import MISSING, Documents
from tallybayes.core.kernels import Texts, list_text, texts_of
from tallybayes.core.schema import Level
from tallybayes.core.tokens import Tokens
from tallybayes.data.labels import distinct, encode, factorise, is_missing, objects
from tallybayes.data.listed import Listed
from tallybayes.data.tags import from_listed, lists_as_text, text_of_lists
from tallybayes.data.words import Counted, HoldsText
from tallybayes.errors import DataError

WIDEST_TEXT = 64  # characters of strings that are kept in a NumPy array of text
AT_ONCE = 1 << 16  # cells of a text that are listed once for all who ask; of more, as many as are asked for

Storage = Literal["number", "integer", "text", "boolean", "date", "empty", "other"]
STORAGES: dict[str, Storage] = {  # of the kinds of NumPy's types
    **dict.fromkeys("iu", "integer"),
    **dict.fromkeys("UT", "text"),
    **dict.fromkeys("Mm", "date"),
    "b": "boolean",
    "f": "number",
}


class Values(Protocol):
    """What the sources need of a column."""

    storage: Storage
    declared: tuple[Level, ...] | None  # the levels of an enumeration, in its order
    ordered: bool  # whether the levels of an enumeration follow one another
    are_lists: bool  # whether its texts were lists of tags

    def __len__(self) -> int: ...
    @property
    def n_missing(self) -> int: ...
    @property
    def listed(self) -> Listed | None: ...  # a text, where its different values are found once and kept
    def distinct(self) -> tuple[Level, ...]: ...
    def take(self, rows: NDArray[Any]) -> Values: ...
    def joined(self, all: Sequence[Any]) -> Values: ...
    def value(self, row: int) -> Any: ...
    def as_labels(self) -> NDArray[Any]: ...
    def texts(self, first: int = 0, last: int | None = None) -> Texts: ...
    def numbers(self, first: int, last: int) -> NDArray[Any]: ...
    def codes(self, first: int, last: int, levels: Sequence[Level]) -> NDArray[np.int32]: ...
    def learned_words(self, tokens: Tokens, n_jobs: int | None = None) -> Counted: ...
    def is_tokenised(self, tokens: Tokens | None) -> bool: ...
    def words(self, tokens: Tokens, levels: Sequence[Level], first: int, last: int) -> Documents: ...


class ArrayValues(HoldsText):
    """A column in a NumPy array, a list or a tuple."""

    declared: tuple[Level, ...] | None = None

    def __init__(self, values: Any) -> None:
        self.array = _plain_array(values)
        kind = self.array.dtype.kind
        self.storage: Storage = STORAGES.get(kind, "other")
        if kind == "O":
            self.storage = _storage_of(self.array)
            if self.storage == "other" and (texts := lists_as_text(self.array.tolist())) is not None:
                self.array, self.storage, self.are_lists = objects(texts), "text", True

    @classmethod
    def of_texts(cls, texts: Sequence[str] | NDArray[Any]) -> ArrayValues:
        """Strings, all of them present: nothing has to be checked."""
        column = cls(np.empty(0, dtype=object))
        column.array, column.storage = objects(texts), "text"
        vars(column)["n_missing"] = 0
        return column

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def n_missing(self) -> int:
        if self.array.dtype.kind == "f":
            return int(np.count_nonzero(np.isnan(self.array)))
        return sum(map(is_missing, self.array.tolist())) if self.array.dtype.kind == "O" else 0

    @cached_property
    def _numbers(self) -> NDArray[Any]:
        return self.array if self.array.dtype.kind in "fiub" else _as_numbers(self.array)

    @cached_property
    def listed(self) -> Listed:
        values, places = factorise(self.array)
        return Listed(values.tolist(), places)

    def distinct(self) -> tuple[Level, ...]:
        return self.listed.distinct() if self.storage == "text" else tuple(distinct(self.array).tolist())

    def take(self, rows: NDArray[Any]) -> Values:
        all_texts = self.storage == "text" and self.array.dtype.kind == "O" and self.n_missing == 0
        taken = (ArrayValues.of_texts if all_texts else ArrayValues)(self.array[rows])
        taken.keep_words(self, rows)
        if "listed" in vars(self) and (listed := self.listed.take(rows)) is not None:
            taken.listed = listed
        return taken

    def joined(self, all: Sequence[Any]) -> Values:
        """The rows of all of some columns of this kind, one after another."""
        return ArrayValues(np.concatenate([values.array for values in all]))

    def texts(self, first: int = 0, last: int | None = None) -> Texts:
        return texts_of([each if type(each) is str else as_text(each) for each in self.array[first:last].tolist()])

    def as_labels(self) -> NDArray[Any]:
        return self.array

    def value(self, row: int) -> Any:
        value = self.array[row]
        return None if is_missing(value) else from_listed(getattr(value, "item", lambda: value)())

    def numbers(self, first: int, last: int) -> NDArray[Any]:
        return self._numbers[first:last]

    def codes(self, first: int, last: int, levels: Sequence[Level]) -> NDArray[np.int32]:
        if "listed" in vars(self):
            return self.listed.rows(first, last).codes(levels)
        codes = encode(self.array[first:last], [level for level in levels if level is not None])
        return with_missing_code(codes, levels)


class SeriesValues(HoldsText):
    """A column of a pandas, Polars or PyArrow frame."""

    def __init__(self, series: nw.Series[Any]) -> None:
        series = _decoded(series)
        dtype = series.dtype
        self.are_lists = False
        if (
            isinstance(dtype, nw.List | nw.Array | nw.Object | nw.Unknown)
            and (lists := text_of_lists(series)) is not None
        ):
            series, dtype, self.are_lists = lists, nw.String(), True
        self.series = series
        self.declared: tuple[Level, ...] | None = None
        if isinstance(dtype, (nw.Categorical, nw.Enum)):
            self.storage: Storage = "text"
            self.declared = _declared_levels(series)
            self.ordered = isinstance(dtype, nw.Enum)  # which narwhals calls an ordered category of pandas, too
        elif dtype == nw.String:
            some = len(series) and not (is_missing(series[0]) and series.null_count() == len(series))
            self.storage = "text" if some else "empty"
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
        if self.storage == "number":  # Polars and PyArrow distinguish NaN from null; both are missing
            return int(np.count_nonzero(np.isnan(self._array)))
        return int(self.series.null_count())

    @cached_property
    def _array(self) -> NDArray[Any]:
        """Numbers as NumPy sees them: in place where none is missing, otherwise as floats."""
        wide = self.storage == "integer" and self.series.dtype in (nw.Int128, nw.UInt128)
        series = self.series.cast(nw.Float64) if wide else self.series
        array = series.to_numpy()
        return _as_numbers(array) if array.dtype.kind == "O" else array

    def take(self, rows: NDArray[Any]) -> Values:
        listed = self.listed.take(rows) if "listed" in vars(self) else None
        known = self.storage in ("number", "integer", "boolean")
        if known or (listed is not None and (listed.places >= 0).any()):
            taken: SeriesValues = _SomeRows(self, rows, listed)
        else:
            taken = SeriesValues(self.series[rows.tolist()])
        taken.keep_words(self, rows)
        return taken

    def joined(self, all: Sequence[Any]) -> Values:
        """The rows of all of some columns of this kind, one after another."""
        frames = [values.series.alias("values").to_frame() for values in all]
        return SeriesValues(nw.concat(frames)["values"])

    def texts(self, first: int = 0, last: int | None = None) -> Texts:
        part = self.series[first:last]
        if part.implementation.is_pandas_like() and not _in_arrow(part.to_native()):
            return texts_of(list(map(as_text, part.to_list())))
        return texts_of(part.to_native() if part.dtype == nw.String else part.cast(nw.String).to_native())

    @cached_property
    def listed(self) -> Listed:
        return _listed(self.series)

    def as_labels(self) -> NDArray[Any]:
        if self.storage == "text":
            return np.array([*self.listed.values, None], dtype=object)[self.listed.places]
        if self.storage in ("integer", "boolean") and self.n_missing:  # floats, which have NaN, round large integers
            return objects(self.series.to_list())
        return np.asarray(self.series.to_numpy())

    def value(self, row: int) -> Any:
        value = self.series[row]
        return None if is_missing(value) else from_listed(getattr(value, "item", lambda: value)())

    def distinct(self) -> tuple[Level, ...]:
        if self.storage == "text":
            return self.listed.distinct()
        if self.storage == "number":
            return tuple(distinct(self.numbers(0, len(self))).tolist())
        if self.storage == "other" or self.series.dtype in (nw.Object, nw.Unknown):
            return tuple(distinct(np.asarray(self.series.to_numpy(), dtype=object)).tolist())
        found = self.series.unique().drop_nulls().to_list()
        return tuple(sorted(found))

    def numbers(self, first: int, last: int) -> NDArray[Any]:
        return self._array[first:last]

    def codes(self, first: int, last: int, levels: Sequence[Level]) -> NDArray[np.int32]:
        if "listed" in vars(self) or (self.storage == "text" and len(self) <= AT_ONCE):
            return self.listed.rows(first, last).codes(levels)
        if self.storage == "text":
            return _listed(self.series[first:last]).codes(levels)
        known = [level for level in levels if level is not None]
        if self.storage == "number" or (self.storage == "integer" and not self.n_missing):
            codes = encode(self.numbers(first, last), known)
        elif self.storage == "integer":  # as they are: floats, which have NaN, cannot distinguish large integers
            codes = encode(np.array(self.series[first:last].to_list(), dtype=object), known)
        else:
            codes = encode(np.asarray(self.series[first:last].to_numpy(), dtype=object), known)
        return with_missing_code(codes, levels)


class _SomeRows(SeriesValues):
    """Some rows of a column. What is known of it need not be found again, so their series is seldom made."""

    def __init__(self, whole: SeriesValues, rows: NDArray[Any], listed: Listed | None) -> None:
        self._whole, self._rows = whole, rows
        self.storage, self.declared, self.ordered = whole.storage, whole.declared, whole.ordered
        if listed is not None:
            self.listed = listed

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def series(self) -> nw.Series[Any]:  # type: ignore[override]
        return self._whole.series[self._rows.tolist()]

    @cached_property
    def n_missing(self) -> int:
        return super().n_missing if self._whole.n_missing else 0

    @cached_property
    def _array(self) -> NDArray[Any]:
        # Integers are floats where one is missing, and large ones are then not the same.
        rounded = self.storage == "integer" and self._whole.n_missing > 0
        return super()._array if rounded else self._whole._array[self._rows]


def with_missing_code(codes: NDArray[np.int32], levels: Sequence[Level]) -> NDArray[np.int32]:
    """The codes with those of missing values replaced where missing is a level of its own, the last."""
    is_level = len(levels) > 0 and levels[-1] is None
    return np.where(codes == MISSING, np.int32(len(levels) - 1), codes) if is_level else codes


def _listed(series: nw.Series[Any]) -> Listed:
    """Text as a list of its different values, read where it is."""
    native = series.to_native()
    if hasattr(native, "cat") and series.implementation.is_pandas_like():
        numbers, places = factorise(native.cat.codes.to_numpy())  # an enumeration may have more than occur
        values = native.cat.categories.tolist()
        return Listed([None if n == MISSING else values[n] for n in numbers.tolist()], places)
    if series.implementation.is_pandas_like() and not _in_arrow(native):
        values, places = factorise(np.asarray(native.to_numpy(), dtype=object))
        return Listed(values.tolist(), places)
    return Listed(*list_text(native if series.dtype == nw.String else series.cast(nw.String).to_native()))


def as_text(value: Any) -> str | None:
    """A document as text; None if missing."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    raise DataError(f"a document must be a string, not {value!r}")


def _in_arrow(series: Any) -> bool:
    """Whether a pandas series keeps its text in Arrow, and can lend it: pandas needs PyArrow for that."""
    lends = hasattr(series.array, "__arrow_array__") and hasattr(series, "__arrow_c_stream__")
    return lends and find_spec("pyarrow") is not None


def _decoded(series: nw.Series[Any]) -> nw.Series[Any]:
    """A dictionary of Arrow that is no text, as what it encodes."""
    if not (isinstance(series.dtype, nw.Categorical) and series.implementation.is_pyarrow()):
        return series
    native: Any = series.to_native()
    kind = str(native.type.value_type)
    return series if "string" in kind else nw.from_native(native.cast(native.type.value_type), series_only=True)


def _declared_levels(series: nw.Series[Any]) -> tuple[Level, ...] | None:
    """Levels of an enumeration in its order; a mere encoding of text declares none."""
    if series.implementation.is_pandas_like():  # a dictionary of Arrow is a mere encoding
        native = series.to_native()
        return tuple(native.cat.categories.tolist()) if hasattr(native, "cat") else None
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
    # An array of text has room for the longest in every row: fine for names, not for documents.
    wide = kinds == {str} and max(map(len, values)) > WIDEST_TEXT
    cut = kinds == {str} and any(value.endswith("\0") for value in values)  # NumPy strips a trailing NUL
    if len(kinds) == 1 and kinds <= {int, float, bool, str} and not (wide or cut):
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
    present = [value for value in array.tolist() if not is_missing(value)]
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
    return np.array([np.nan if is_missing(value) else float(value) for value in array.tolist()], dtype=np.float64)
