"""Columns of Arrow, read and made through their buffers.

PyArrow's own ways to NumPy and from Python lists import pandas wherever that is installed, which takes longer than the
prediction of a small file. Buffers need nothing, and most are read in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tallybayes.core.batch import MISSING, UNSEEN
from tallybayes.core.kernels import Texts, texts_of
from tallybayes.core.levels import in_order, united
from tallybayes.core.schema import Level
from tallybayes.data.frames import Table
from tallybayes.data.labels import encode, objects
from tallybayes.data.listed import Listed
from tallybayes.data.tags import from_listed
from tallybayes.data.values import SeriesValues, Storage, Values, with_missing_code
from tallybayes.data.words import HoldsText
from tallybayes.errors import DataError

STORAGE: dict[str, Storage] = {"string": "text", "large_string": "text", "bool": "boolean", "null": "empty"}
ENUMERATED = "dictionary<values=string", "dictionary<values=large_string"
NUMBERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"}


def arrow_table(table: pa.Table) -> Table:
    """The columns of an Arrow table."""
    columns = {name: _values(table.column(name)) for name in table.column_names}
    return Table(columns, table.num_rows, made_by="pyarrow")


def tables_of(batches: Iterable[Any]) -> Iterator[Table]:
    """Record batches as tables; empty ones are left out."""
    for batch in batches:
        if batch.num_rows:
            yield arrow_table(pa.Table.from_batches([batch]))


def _values(column: pa.ChunkedArray) -> Values:
    kind = str(column.type)
    if kind in NUMBERS or kind in STORAGE:
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        return ArrowValues(array)
    if kind.startswith(ENUMERATED):
        return EnumValues.of(column)
    return SeriesValues(nw.from_native(column, series_only=True))  # decimals, dates, lists and records


class ArrowValues(HoldsText):
    """A column of numbers, text or booleans."""

    declared: tuple[Level, ...] | None = None
    listed: Listed | None = None

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        kind = str(array.type)
        numbers: Storage = "number" if kind in ("float", "double") else "integer"
        self.storage: Storage = STORAGE.get(kind, numbers)
        if self.storage == "text" and array.null_count == len(array):
            self.storage = "empty"

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def n_missing(self) -> int:
        return int(np.isnan(self._numbers).sum()) if self.storage == "number" else int(self.array.null_count)

    @cached_property
    def _numbers(self) -> NDArray[Any]:
        """Numbers in place where none is missing, otherwise as floats."""
        if self.storage == "empty":
            return np.full(len(self), np.nan)
        if self.storage == "text":
            raise DataError(f"expected numbers, such as row weights, got a column of text ({self.distinct()[0]!r})")
        data = _data(self.array)
        missing = _missing(self.array)
        if missing is None:
            return data
        return np.where(missing, np.nan, data)

    def distinct(self) -> tuple[Level, ...]:
        return in_order(level for level in self.array.unique().to_pylist() if level is not None and level == level)

    def take(self, rows: NDArray[Any]) -> Values:
        taken = ArrowValues(self.array.take(numbers_of(rows.astype(np.int64))))
        taken.keep_words(self, rows)
        return taken

    def joined(self, all: Sequence[Any]) -> Values:
        """The rows of all of some columns of this kind, one after another."""
        return ArrowValues(pa.concat_arrays([values.array for values in all]))

    def texts(self, first: int = 0, last: int | None = None) -> Texts:
        last = len(self) if last is None else last
        return texts_of(pa.chunked_array([self.array.slice(first, last - first)]))

    def as_labels(self) -> NDArray[Any]:
        return objects(self.array.to_pylist())

    def value(self, row: int) -> Any:
        value = self.array[row].as_py()
        return None if value != value else from_listed(value)

    def numbers(self, first: int, last: int) -> NDArray[Any]:
        return self._numbers[first:last]

    def codes(self, first: int, last: int, levels: Sequence[Level]) -> NDArray[np.int32]:
        part, known = self.array.slice(first, last - first), [level for level in levels if level is not None]
        if self.storage == "text" and all(isinstance(level, str) for level in known):
            codes = _text_codes(part, known)
        elif self.storage == "number" or (self.storage in ("integer", "boolean") and not self.n_missing):
            codes = encode(self.numbers(first, last), known)
        else:  # as they are: floats, which have NaN, cannot distinguish large integers
            codes = encode(objects(part.to_pylist()), known)
        return with_missing_code(codes, levels)


class EnumValues(HoldsText):
    """A column of text as places in a list of its values, of which some need not occur."""

    declared: tuple[Level, ...] | None = None

    def __init__(self, listed: Listed) -> None:
        self.listed = listed
        self.storage: Storage = "empty" if listed.places.max(initial=MISSING) < 0 else "text"

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> EnumValues:
        """The values of a dictionary of Arrow."""
        array = column.chunk(0) if column.num_chunks == 1 else column.unify_dictionaries().combine_chunks()
        missing, places = _missing(array.indices), _data(array.indices).astype(np.int32, copy=False)
        if missing is not None:
            places = np.where(missing, np.int32(MISSING), places)
        return cls(Listed(array.dictionary.to_pylist(), places))

    def __len__(self) -> int:
        return len(self.listed.places)

    @cached_property
    def n_missing(self) -> int:
        return int((self.listed.places < 0).sum())

    def distinct(self) -> tuple[Level, ...]:
        return self.listed.distinct()

    def take(self, rows: NDArray[Any]) -> Values:
        taken = EnumValues(Listed(self.listed.values, self.listed.places[rows]))
        taken.keep_words(self, rows)
        return taken

    def joined(self, all: Sequence[Any]) -> Values:
        """The rows of all of some columns of this kind, one after another."""
        levels: Sequence[Level] = self.listed.values
        for values in all:
            levels = levels if values.listed.values == levels else united(tuple(levels), tuple(values.listed.values))
        return EnumValues(Listed(levels, np.concatenate([values.listed.codes(levels) for values in all])))

    def texts(self, first: int = 0, last: int | None = None) -> Texts:
        return texts_of(self.as_labels()[first:last].tolist())

    def as_labels(self) -> NDArray[Any]:
        return objects([*self.listed.values, None])[self.listed.places]

    def value(self, row: int) -> Any:
        place = self.listed.places[row]
        return None if place < 0 else self.listed.values[place]

    def numbers(self, first: int, last: int) -> NDArray[Any]:
        if self.storage == "empty":
            return np.full(last - first, np.nan)
        raise DataError(f"expected numbers, such as row weights, got a column of text ({self.distinct()[0]!r})")

    def codes(self, first: int, last: int, levels: Sequence[Level]) -> NDArray[np.int32]:
        return self.listed.rows(first, last).codes(levels)


def _text_codes(part: pa.Array, levels: list[Any]) -> NDArray[np.int32]:
    found = pc.index_in(part, value_set=text(levels, part.type))
    codes = _data(found)
    unseen, missing = _missing(found), _missing(part)
    if unseen is not None:
        codes = np.where(unseen, np.int32(UNSEEN), codes)
    return codes if missing is None else np.where(missing, np.int32(MISSING), codes)


def _data(array: pa.Array) -> NDArray[Any]:
    """The values of an array; those of missing cells mean nothing."""
    first, last = array.offset, array.offset + len(array)
    buffer = array.buffers()[1]
    if buffer is None:  # nothing in it
        return np.zeros(len(array))
    if pa.types.is_boolean(array.type):
        return _bits(buffer, first, last)
    return np.frombuffer(buffer, dtype={"float": "float32", "double": "float64"}.get(str(array.type), str(array.type)))[
        first:last
    ]


def _missing(array: pa.Array) -> NDArray[np.bool_] | None:
    """Where values are missing; None if none are."""
    valid = array.buffers()[0]
    return None if valid is None or not array.null_count else ~_bits(valid, array.offset, array.offset + len(array))


def _bits(buffer: Any, first: int, last: int) -> NDArray[np.bool_]:
    raw = np.frombuffer(buffer, dtype=np.uint8)[first // 8 : -(-last // 8)]
    return np.unpackbits(raw, bitorder="little").view(bool)[first % 8 : first % 8 + last - first]


# ---------------------------------------------------------------------------------------------- the way back


def numbers_of(values: NDArray[Any], present: NDArray[np.bool_] | None = None) -> pa.Array:
    """An array of numbers, null where nothing is present."""
    kinds = {"float64": pa.float64(), "int64": pa.int64(), "int32": pa.int32()}
    valid = None if present is None else pa.py_buffer(np.packbits(present, bitorder="little"))
    data = np.ascontiguousarray(values)
    return pa.Array.from_buffers(kinds[str(data.dtype)], len(data), [valid, pa.py_buffer(data)])


def text(values: Sequence[str], kind: Any = None) -> pa.Array:
    """An array of text."""
    kind = pa.string() if kind is None else kind
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    width = np.int64 if kind == pa.large_string() else np.int32
    offsets = np.concatenate(([0], np.cumsum([len(each) for each in encoded]))).astype(width)
    return pa.Array.from_buffers(kind, len(encoded), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))])


def labels(values: Sequence[Level]) -> pa.Array:
    """Class labels as an array of their own type; as text where they are of several."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        bits = np.packbits(np.array(values, dtype=bool), bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
    if kinds == {int} and all(abs(value) < 2**63 for value in values):  # type: ignore[arg-type]
        return numbers_of(np.array(values, dtype=np.int64))
    if kinds == {float}:
        return numbers_of(np.array(values, dtype=np.float64))
    return text(list(map(str, values)))
