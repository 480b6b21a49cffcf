"""Columns that are read from others: numbers that are written as text, parts of dates, and words for missing values.

`read_as` reads a table by what a schema has kept of it (`core/readings.py`); files and DuckDB's tables do the same in
SQL (`expressions`). How columns are read is found in `data/finding.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tallybayes.core.readings import DAY, EPOCHS, Reading
from tallybayes.core.schema import Column, plural
from tallybayes.data.dates import micros, micros_of, part_sql, part_values
from tallybayes.data.frames import Table
from tallybayes.data.number_text import is_missing_word, number_of, number_sql, replace_in, replace_sql
from tallybayes.data.sql import literal, quoted
from tallybayes.data.values import ArrayValues, Values
from tallybayes.errors import ColumnWarning, DataError


class Measured(NamedTuple):
    """What is known of a column after it was read."""

    n_present: int  # values in the table
    n_read: int  # of which could be read
    low: float
    high: float
    has_clock: bool = False  # of dates: whether one is not at midnight

    @classmethod
    def of(cls, cells: Sequence[Any]) -> Measured:
        """What a query returned, in the order of the fields."""
        n_present, n_read, low, high, has_clock = cells
        return cls(int(n_present), int(n_read), float(low or 0.0), float(high or 0.0), bool(has_clock))


Measure = Callable[[Mapping[str, Reading]], Mapping[str, Measured]]


def read_as(table: Table, columns: Sequence[Column]) -> Table:
    """The table with the columns that are read from others; what was read already stays."""
    wanted = {
        column.name: column.reading
        for column in columns
        if column.reading is not None and column.reading not in table.applied and column.reading.source in table.columns
    }
    return with_readings(table, wanted) if wanted else table


def with_readings(table: Table, readings: Mapping[str, Reading]) -> Table:
    """The table with columns that are read in these ways."""
    columns = dict(table.columns)
    for name, reading in readings.items():
        columns[name] = read_values(table.columns[reading.source], reading)
    applied = (*table.applied, *readings.values())
    return replace(table, columns=columns, applied=applied, matrix=None)


def read_values(values: Values, reading: Reading) -> Values:
    """The values of a column as they are to be read."""
    if reading.date is not None:
        return part_values(_micros(values, reading), reading.date)
    if reading.number is not None and values.storage == "text":
        how = reading.number
        return ArrayValues(_looked_up(values, reading, lambda text: number_of(text, how), "number"))
    return _masked(values, reading.missing)


def _micros(values: Values, reading: Reading) -> Any:
    assert reading.date is not None
    order = reading.date.order
    if values.storage == "date":
        return micros_of(values)
    if values.storage == "empty":
        return np.full(len(values), np.nan)
    if order in EPOCHS and values.storage != "text":
        return np.asarray(_masked(values, reading.missing).numbers(0, len(values)), dtype=np.float64) * EPOCHS[order]
    if values.storage == "text":
        replaced = reading.date.replaced
        return _looked_up(values, reading, lambda text: micros(replace_in(text, replaced), order or "ymd"), "date")
    raise DataError(f"column {reading.source!r} was learned as dates, but holds {values.storage}: {values.value(0)!r}")


def _looked_up(values: Values, reading: Reading, parsed: Callable[[str], float], what: str) -> Any:
    """Numbers (n,) from text: every different text is parsed once."""
    levels = values.distinct()
    missing = {str(word) for word in reading.missing}
    found = np.array([np.nan if text in missing else parsed(str(text)) for text in levels] + [np.nan])
    codes = values.codes(0, len(values), levels)
    unknown = [
        text for text, number in zip(levels, found[:-1], strict=True) if np.isnan(number) and text not in missing
    ]
    if unknown := [text for text in unknown if not is_missing_word(str(text))]:
        lost = int(np.isin(codes, [levels.index(text) for text in unknown]).sum())
        warn_of_lost(reading.source, lost, unknown, what)
    return found[codes]  # the code of a missing value is −1, the last


def _masked(values: Values, missing: Sequence[Any]) -> Values:
    """The values without those that stand for a missing one."""
    if not missing:
        return values
    if values.storage == "text":
        levels, gone = values.distinct(), {str(word) for word in missing}
        if not gone & set(levels):
            return values
        cells = np.array([*(None if level in gone else level for level in levels), None], dtype=object)
        return ArrayValues(cells[values.codes(0, len(values), levels)])
    if values.storage in ("number", "integer"):
        numbers, gone_numbers = values.numbers(0, len(values)), _numbers(missing)
        hit = np.isin(numbers, gone_numbers) if gone_numbers else np.zeros(0, dtype=bool)
        return ArrayValues(np.where(hit, np.nan, numbers)) if hit.any() else values
    return values


def _numbers(missing: Sequence[Any]) -> list[float]:
    """The numbers among words for missing values, whether they are typed as text or not."""
    found = []
    for word in missing:
        try:
            found.append(float(word))
        except (TypeError, ValueError):
            continue
    return found


def warn_of_lost(name: str, lost: int, codes: Sequence[Any], what: str) -> None:
    if lost > 0:
        such = f", such as {', '.join(map(repr, codes[:3]))}," if codes else ""
        warnings.warn(
            f"{plural(lost, 'value')} of column {name!r}{such} {'is' if lost == 1 else 'are'} no {what} and "
            f"{'counts' if lost == 1 else 'count'} as missing; kind={{{name!r}: 'category'}} keeps it as text",
            ColumnWarning,
            stacklevel=6,
        )


def measured_table(table: Table) -> Measure:
    """How a table in memory is measured."""

    def measure(asked: Mapping[str, Reading]) -> dict[str, Measured]:
        found = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ColumnWarning)
            for key, reading in asked.items():
                raw = table.columns[reading.source]
                x = np.asarray(read_values(raw, reading).numbers(0, table.n_rows), dtype=np.float64)
                known = x[~np.isnan(x)]
                ends = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
                clock = reading.date is not None and bool((known % DAY != 0).any())
                found[key] = Measured(table.n_rows - raw.n_missing, len(known), *ends, clock)
        return found

    return measure


# ------------------------------------------------------------------------------------------ files and DuckDB


def expressions(columns: Mapping[str, Reading], storage: Callable[[str], str]) -> dict[str, tuple[str, str]]:
    """The columns in SQL, and their types; those that are read already are left out."""
    found: dict[str, tuple[str, str]] = {}
    for name, reading in columns.items():
        kind, column = storage(reading.source), quoted(reading.source)
        plain = _masked_sql(column, reading.missing, kind)
        if reading.date is not None:
            part = reading.date if kind in ("text", "integer", "number") else replace(reading.date, order="")
            found[name] = part_sql(replace_sql(plain, part.replaced) if kind == "text" else plain, part)
        elif reading.number is not None and kind == "text":
            found[name] = number_sql(plain, reading.number), "DOUBLE"
        elif plain != column:
            found[name] = plain, ""
    return found


def _masked_sql(column: str, missing: Sequence[Any], kind: str) -> str:
    if kind == "text" and missing:
        return (
            f"(CASE WHEN {column} IN ({', '.join(literal(str(word)) for word in missing)}) THEN NULL ELSE {column} END)"
        )
    if kind in ("integer", "number") and (numbers := _numbers(missing)):
        listed = ", ".join(f"{number!r}::DOUBLE" for number in numbers)
        return f"(CASE WHEN {column}::DOUBLE IN ({listed}) THEN NULL ELSE {column} END)"
    return column


MEASURES = "count({raw}), count({x}), min({x}), max({x}), max(({x}) - floor(({x}) / {day}) * {day}) > 0"


def measured_sql(query: Callable[[str], list[tuple[Any, ...]]], storage: Callable[[str], str]) -> Measure:
    """How the rows of files, or of DuckDB's tables, are measured."""

    def measure(asked: Mapping[str, Reading]) -> dict[str, Measured]:
        x = {key: expression for key, (expression, _) in expressions(asked, storage).items()}
        fields = [
            MEASURES.format(raw=quoted(asked[key].source), x=f"tb_{j}", day=f"{DAY}.0") for j, key in enumerate(x)
        ]
        inner = ", ".join(f"{expression} AS tb_{j}" for j, expression in enumerate(x.values()))
        (row,) = query(f"SELECT {', '.join(fields)} FROM (SELECT *, {inner} FROM {{scan}})")
        return {key: Measured.of(row[5 * j : 5 * j + 5]) for j, key in enumerate(x)}

    return measure
