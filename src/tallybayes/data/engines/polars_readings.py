"""Columns of a Polars lazy frame that are read from others: by the code that reads tables, a part at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw

from tallybayes.core.readings import DAY, Reading
from tallybayes.data.reading import Measure, Measured, read_values
from tallybayes.data.values import SeriesValues


def read_polars(frame: Any, readings: Mapping[str, Reading]) -> Any:
    """The lazy frame with these columns."""
    schema = frame.collect_schema()
    return frame.with_columns(_expression(reading, schema).alias(name) for name, reading in readings.items())


def measured_polars(frame: Any) -> Measure:
    """How a lazy frame is measured."""
    import polars as pl

    def measure(asked: Mapping[str, Reading]) -> dict[str, Measured]:
        schema = frame.collect_schema()
        x = [_expression(reading, schema).fill_nan(None).alias(f"tb_{j}") for j, reading in enumerate(asked.values())]
        raw = [pl.col(reading.source).alias(f"tb_raw_{j}") for j, reading in enumerate(asked.values())]
        fields = [
            field
            for j in range(len(asked))
            for field in (
                pl.col(f"tb_raw_{j}").count().alias(f"{j} present"),
                *(getattr(pl.col(f"tb_{j}"), what)().alias(f"{j} {what}") for what in ("count", "min", "max")),
                (pl.col(f"tb_{j}") % DAY > 0).any().alias(f"{j} clock"),
            )
        ]
        row = frame.select(*raw, *x).select(*fields).collect().row(0)
        return {key: Measured.of(row[5 * j : 5 * j + 5]) for j, key in enumerate(asked)}

    return measure


def _expression(reading: Reading, schema: Any) -> Any:
    import polars as pl

    kind: Any = pl.Float64
    if reading.date is not None:
        kind = {"month": pl.String, "weekday": pl.String, "day": pl.Int64, "hour": pl.Int64}.get(
            reading.date.part, pl.Float64
        )
    elif reading.number is None or schema[reading.source] != pl.String:
        kind = schema[reading.source]

    def read(series: Any) -> Any:
        values = read_values(SeriesValues(nw.from_native(series, series_only=True)), reading)
        if isinstance(values, SeriesValues):
            return nw.to_native(values.series).cast(kind)
        array: Any = values.array  # type: ignore[attr-defined]
        listed = array if array.dtype.kind in "fi" else array.tolist()
        return pl.Series(series.name, listed, nan_to_null=True, strict=False).cast(kind)

    return pl.col(reading.source).map_batches(read, return_dtype=kind, is_elementwise=True)
