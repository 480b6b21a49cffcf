"""Columns of Spark and Dask tables that are read from others: on their workers, by the code that reads tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from tallybayes.core.readings import DAY, Reading
from tallybayes.data.frames import read_table
from tallybayes.data.labels import is_missing
from tallybayes.data.reading import Measure, Measured, read_values

WORDS, WHOLE = ("month", "weekday"), ("day", "hour")  # parts of dates that are texts and whole numbers


def kind_of(reading: Reading) -> str:
    """What a column that is read holds: "text", "integer" or "number"; "" where it holds what it held."""
    if reading.date is None:
        return "number" if reading.number is not None else ""
    part = reading.date.part
    return "text" if part in WORDS else "integer" if part in WHOLE else "number"


def read_by_workers(engine: str, native: Any, readings: Mapping[str, Reading]) -> Any:
    """The table with these columns."""
    return _read_dask(native, readings) if engine == "dask" else _read_spark(native, readings)


def _read_dask(native: Any, readings: Mapping[str, Reading]) -> Any:
    meta = native._meta.assign(
        **{name: native._meta[each.source] for name, each in readings.items() if not kind_of(each)}
    )
    types = {"text": "string", "integer": "Int64", "number": "float64"}
    for name, reading in readings.items():
        if kind_of(reading):
            meta[name] = _series([], types[kind_of(reading)])
    return native.map_partitions(_with_columns, dict(readings), meta.dtypes.to_dict(), meta=meta)


def _series(cells: Any, kind: Any) -> Any:
    import pandas as pd  # type: ignore[import-untyped]

    return pd.Series(cells, dtype=kind)


def _with_columns(part: Any, readings: Mapping[str, Reading], types: Mapping[str, Any]) -> Any:
    """A part of a Dask table with the columns, of the same types in every part."""
    columns = _cells(read_table(part), readings)
    made = {name: _series(cells, types[name]).set_axis(part.index) for name, cells in columns.items()}
    return part.assign(**made)


def _cells(table: Any, readings: Mapping[str, Reading]) -> dict[str, list[Any]]:
    """The columns as lists, None where a value is missing."""
    found = {}
    for name, reading in readings.items():
        values = read_values(table.columns[reading.source], reading)
        cells = [values.value(row) for row in range(len(values))]
        whole = kind_of(reading) == "integer"
        found[name] = [None if is_missing(cell) else int(cell) if whole else cell for cell in cells]
    return found


def _read_spark(native: Any, readings: Mapping[str, Reading]) -> Any:
    from pyspark.sql import types as t

    kinds = {"text": t.StringType(), "integer": t.LongType(), "number": t.DoubleType()}
    known = {field.name: field for field in native.schema.fields}
    for name, reading in readings.items():
        kind = kinds[kind_of(reading)] if kind_of(reading) else known[reading.source].dataType
        known[name] = t.StructField(name, kind)
    return native.mapInArrow(_Batches(dict(readings), list(known)), t.StructType(list(known.values())))


@dataclass(frozen=True)
class _Batches:
    """What a worker of Spark does."""

    readings: Mapping[str, Reading]
    names: list[str]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from tallybayes.data.arrow import arrow_table

        kinds = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64()}
        for batch in batches:
            cells = _cells(arrow_table(pa.Table.from_batches([batch])), self.readings)
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for name, values in cells.items():
                kind = kind_of(self.readings[name])
                columns[name] = pa.array(values, kinds[kind] if kind else columns[self.readings[name].source].type)
            yield pa.RecordBatch.from_arrays([columns[name] for name in self.names], self.names)


def measured_by_workers(engine: str, native: Any) -> Measure:
    """How such a table is measured."""

    def measure(asked: Mapping[str, Reading]) -> dict[str, Measured]:
        named = {f"tb_{j}": reading for j, reading in enumerate(asked.values())}
        frame = nw.from_native(read_by_workers(engine, native, named))
        fields = [
            field.alias(f"{name}_{what}")
            for name, reading in named.items()
            for what, field in (
                ("present", nw.col(reading.source).count()),
                ("read", nw.col(name).count()),
                ("low", nw.col(name).min()),
                ("high", nw.col(name).max()),
                ("clock", (nw.col(name) % DAY).max()),
            )
        ]
        found = frame.select(*fields).collect().row(0)
        cells = [0 if is_missing(cell) else cell for cell in found]
        of = (cells[5 * j : 5 * j + 5] for j in range(len(asked)))
        return {key: Measured.of([*each[:4], each[4] > 0]) for key, each in zip(asked, of, strict=True)}

    return measure
