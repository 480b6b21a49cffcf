"""Dates and times: as microseconds since 1970 (in UTC where a zone is given), and the parts of them.

The same pattern reads text in Python and in DuckDB, so every source gives the same parts.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.readings import DAY, EPOCHS, MINUTE, MONTHS, WEEKDAYS, DatePart, Order
from tallybayes.data.labels import is_missing
from tallybayes.data.sql import literal, quoted
from tallybayes.data.values import ArrayValues, Values

CLOCK = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]{1,9})?))?\s*([AaPp][Mm])?"
DATE = r"([0-9]{1,4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,4})"
ZONE = r"(Z|z|UTC|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2})?"
PATTERN = rf"^\s*{DATE}(?:[Tt\s]\s*{CLOCK})?\s*{ZONE}\s*$"
TIME = rf"^\s*{CLOCK}\s*$"
_DATE, _TIME = re.compile(PATTERN), re.compile(TIME)
EPOCH = datetime.datetime(1970, 1, 1)
PIVOT = 69  # a year of two digits from here on is of the last century, as POSIX has it
FARTHEST = 250_000_000_000 * 1_000_000  # microseconds beyond which a number of seconds is no date: year 9892


def micros(text: str, order: Order) -> float:
    """Microseconds since 1970; NaN where the text is no date in this order.

    Examples
    --------
    >>> micros("1970-01-02", "ymd"), micros("1/2/1970 12:00 AM", "mdy"), micros("soon", "ymd")
    (86400000000.0, 86400000000.0, nan)
    >>> micros("1970-01-01T02:30:00+02:00", "ymd")
    1800000000.0
    """
    if order in EPOCHS:
        return float(text) * EPOCHS[order]
    found = (_TIME if order == "hms" else _DATE).match(text)
    if found is None:
        return float("nan")
    *date, hour, minute, second, half = found.groups()[: 4 if order == "hms" else 7]
    zone = None if order == "hms" else found[8]
    clock = _clock(hour, minute, second, half)
    days = 0 if order == "hms" else _days(date, order)
    return float("nan") if clock is None or days is None else float(days * DAY + clock - _offset(zone))


def _days(date: Sequence[str], order: str) -> int | None:
    fields = dict(zip("ymd" if len(date[0]) == 4 else order, date, strict=True))  # a year that comes first is one
    if len(fields["d"]) > 2 or len(fields["m"]) > 2 or len(fields["y"]) in (1, 3):
        return None
    year = int(fields["y"])
    if len(fields["y"]) == 2:
        year += 1900 if year >= PIVOT else 2000
    try:
        return (datetime.datetime(year, int(fields["m"]), int(fields["d"])) - EPOCH).days
    except ValueError:
        return None


def _clock(hour: str | None, minute: str | None, second: str | None, half: str | None) -> int | None:
    """Microseconds since midnight; None where there is no such time."""
    if hour is None or minute is None:
        return 0
    h, m, s = int(hour), int(minute), float(second or 0)
    if h > 23 or m > 59 or s >= 60 or (half and not 1 <= h <= 12):
        return None
    h = h % 12 + (12 if half in ("PM", "pm", "Pm", "pM") else 0) if half else h
    return (h * 60 + m) * 60_000_000 + int(s * 1e6)


def _offset(zone: str | None) -> int:
    """Microseconds that a zone is ahead of UTC."""
    if zone is None or zone[0] not in "+-":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[3:].lstrip(":") or 0)
    return (1 if zone[0] == "+" else -1) * minutes * 60_000_000


def orders(values: Iterable[str], given: Order | None = None) -> list[Order]:
    """The orders of day, month and year in which most of some texts are dates; two where none of them decides.

    Dots are European, if that is possible. ``given`` decides between "dmy" and "mdy", unless the dates contradict it.

    Examples
    --------
    >>> orders(["01/02/2013", "25/02/2013"]), orders(["01/02/2013", "02/02/2013"]), orders(["01.02.2013"])
    (['dmy'], ['dmy', 'mdy'], ['dmy'])
    >>> orders(["7.8/10", "3.5/10"]), orders(["01/02/2013"], "mdy"), orders(["25/02/2013"], "mdy")
    ([], ['mdy'], ['dmy'])
    """
    texts = list(values)
    if not texts:
        return []
    if all(_TIME.match(text) for text in texts):
        return ["hms"]
    matched = [found for text in texts if (found := _DATE.match(text)) is not None and _is_one_mark(found)]
    if 2 * len(matched) <= len(texts):
        return []
    if sum(len(found[1]) == 4 for found in matched) > len(matched) / 2:
        return ["ymd"]
    both: list[Order] = ["dmy", "mdy"]
    wrong = {order: sum(np.isnan(micros(found[0], order)) for found in matched) for order in both}
    if given in both and 5 * wrong[given] <= len(matched):
        return [given]
    best = [order for order in both if wrong[order] == min(wrong.values()) and wrong[order] < len(matched)]
    return ["dmy"] if "dmy" in best and all("." in found[0][:4] for found in matched) else best


def _is_one_mark(found: re.Match[str]) -> bool:
    """Whether the same mark is before the month and behind it: 7.8/10 is no date."""
    return found[0][found.end(1)] == found[0][found.end(2)]


def micros_of(values: Values) -> Array:
    """Dates that are stored as such, as microseconds since 1970; times of a day as those since midnight."""
    series = getattr(values, "series", None)
    if series is not None and getattr(series.dtype, "time_zone", None) is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    array: Any = values.array if isinstance(values, ArrayValues) else series.to_numpy()  # type: ignore[union-attr]
    if array.dtype.kind != "M":
        array = np.array([_stored(value) for value in array.tolist()], dtype="datetime64[us]")
    found = array.astype("datetime64[us]").astype(np.int64).astype(np.float64)
    return np.where(np.isnat(array), np.nan, found)


def _stored(value: Any) -> Any:
    """One date as NumPy has it."""
    if is_missing(value):
        return np.datetime64("NaT")
    if isinstance(value, datetime.time):
        return np.datetime64(datetime.datetime.combine(EPOCH.date(), value.replace(tzinfo=None)))
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(value)


def part_values(found: Array, part: DatePart) -> Values:
    """A part of some dates (n,), NaN where there is none."""
    known = np.isfinite(found) & (np.abs(found) < FARTHEST)
    if part.part == "µs":
        return ArrayValues(np.where(known, found, np.nan))
    if part.part == "minutes":
        return ArrayValues(np.where(known, found % DAY, np.nan) / MINUTE)
    if part.part == "days":
        return ArrayValues(_clipped(np.where(known, found / DAY, np.nan), part) - (part.low or 0.0))
    when = np.where(known, found, 0.0).astype(np.int64).astype("datetime64[us]")
    day = when.astype("datetime64[D]")
    if part.part == "year":
        year = when.astype("datetime64[Y]").astype(np.float64) + 1970.0
        return ArrayValues(_clipped(np.where(known, year, np.nan), part))
    codes: dict[str, Callable[[], NDArray[Any]]] = {
        "month": lambda: when.astype("datetime64[M]").astype(np.int64) % 12,
        "day": lambda: (day - when.astype("datetime64[M]")).astype(np.int64) + 1,
        "weekday": lambda: (day.astype(np.int64) + 3) % 7,  # 1970 began on a Thursday
        "hour": lambda: (when - day).astype(np.int64) // 3_600_000_000,
    }
    names: dict[str, Sequence[Any]] = {"month": MONTHS, "weekday": WEEKDAYS}
    return levels_of(codes[part.part](), known, names.get(part.part))


def levels_of(code: NDArray[Any], known: NDArray[np.bool_], names: Sequence[Any] | None) -> Values:
    """Categories by their numbers, or by the names of these; missing where they are not known."""
    if names is None and known.all():
        return ArrayValues(code.astype(np.int64))
    cells = np.array([*names, None], dtype=object) if names is not None else None
    out = np.full(len(code), None, dtype=object)
    out[known] = cells[code[known]] if cells is not None else code[known].tolist()
    return ArrayValues(out)


def _clipped(values: Array, part: DatePart) -> Array:
    """Within the range that was learned: nothing is known of other times."""
    return values if part.low is None or part.high is None else np.clip(values, part.low, part.high)


# ------------------------------------------------------------------------------------------ the same in DuckDB

# Of g, the groups of a pattern: microseconds since midnight, and minutes that the zone is ahead of UTC.
_H, _M = "try_cast(g.h AS BIGINT)", "try_cast(g.i AS BIGINT)"
_S = "coalesce(try_cast(g.m AS DOUBLE), 0)"
_HOUR = f"CASE WHEN g.p = '' THEN {_H} ELSE {_H} % 12 + CASE WHEN upper(g.p) = 'PM' THEN 12 ELSE 0 END END"
_WRONG = f"{_H} > 23 OR {_M} > 59 OR {_S} >= 60 OR (g.p <> '' AND NOT {_H} BETWEEN 1 AND 12)"
_CLOCK_SQL = (
    f"CASE WHEN g.h = '' THEN 0 WHEN {_WRONG} THEN NULL "
    f"ELSE (({_HOUR}) * 60 + {_M}) * 60000000 + floor({_S} * 1e6)::BIGINT END"
)
_MINUTES = "(try_cast(substr(g.z, 2, 2) AS BIGINT) * 60 + coalesce(try_cast(ltrim(substr(g.z, 4), ':') AS BIGINT), 0))"
_AHEAD_SQL = f"CASE left(g.z, 1) WHEN '+' THEN {_MINUTES} WHEN '-' THEN -{_MINUTES} ELSE 0 END"
# Of t, the digits of year, month and day: the date.
_PIVOTED = f"try_cast(t.y AS BIGINT) + CASE WHEN try_cast(t.y AS BIGINT) >= {PIVOT} THEN 1900 ELSE 2000 END"
_YEAR = f"CASE length(t.y) WHEN 4 THEN t.y WHEN 2 THEN ({_PIVOTED})::VARCHAR END"
_DAY_SQL = (
    "CASE WHEN length(t.m) <= 2 AND length(t.d) <= 2 "
    f"THEN try_cast(({_YEAR}) || '-' || lpad(t.m, 2, '0') || '-' || lpad(t.d, 2, '0') AS DATE) END"
)


def micros_sql(column: str, order: Order) -> str:
    """Microseconds since 1970 as a DOUBLE, in DuckDB; NULL where a text is no date."""
    if order in EPOCHS:
        return f"({column}::DOUBLE * {EPOCHS[order]})"
    if order == "":
        return f"epoch_us({column})::DOUBLE"
    column = f"{column}::VARCHAR"  # which a time of a day may be stored as, and be written here
    pattern, names = (TIME, "himp") if order == "hms" else (PATTERN, "abchimpz")
    fields = f"regexp_extract({column}, {literal(pattern)}, [{', '.join(map(literal, names))}])"
    found = f"CASE WHEN regexp_matches({column}, {literal(pattern)}) THEN {fields} END"
    if order == "hms":
        return f"list_transform([{found}], lambda g: ({_CLOCK_SQL})::DOUBLE)[1]"
    at = dict(zip(order, "abc", strict=True))
    y, m, d = (
        f"CASE WHEN length(g.a) = 4 THEN g.{iso} ELSE g.{at[field]} END"
        for iso, field in zip("abc", "ymd", strict=True)
    )
    date = f"{{'y': {y}, 'm': {m}, 'd': {d}, 'rest': ({_CLOCK_SQL}) - ({_AHEAD_SQL}) * 60000000}}"
    dated = f"list_transform([{found}], lambda g: {date})[1]"
    return f"list_transform([{dated}], lambda t: (epoch_us({_DAY_SQL}) + t.rest)::DOUBLE)[1]"


def coarser_in_sql(types: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """DuckDB's columns of nanoseconds, as pandas and Polars write them, in a type that its functions take."""
    coarser = {"TIMESTAMPTZ_NS": "TIMESTAMP WITH TIME ZONE", "TIME_NS": "TIME"}
    fine = {name: coarser[kind] for name, kind in types.items() if kind in coarser}
    return {name: (f"{quoted(name)}::{kind}", kind) for name, kind in fine.items()}


def part_sql(column: str, part: DatePart) -> tuple[str, str]:
    """A part of a date in DuckDB, and its type."""
    found, kind = _part_of("u", part)
    known = f"CASE WHEN abs(u) < {FARTHEST} THEN {found} END"
    return f"list_transform([{micros_sql(column, part.order)}], lambda u: {known})[1]", kind


def _part_of(u: str, part: DatePart) -> tuple[str, str]:
    """A part of a number of microseconds, which is not NULL."""
    if part.part == "µs":
        return u, "DOUBLE"
    if part.part == "minutes":
        return f"({u} - floor({u} / {DAY}.0) * {DAY}.0) / {MINUTE}.0", "DOUBLE"
    if part.part == "days":
        return f"{_clipped_sql(f'{u} / {DAY}.0', part)} - {part.low or 0.0!r}::DOUBLE", "DOUBLE"
    when = f"make_timestamp({u}::BIGINT)"
    if part.part == "year":
        return _clipped_sql(f"year({when})::DOUBLE", part), "DOUBLE"
    names = {"month": MONTHS, "weekday": WEEKDAYS}.get(part.part)
    if names is None:
        return f"{part.part}({when})::BIGINT", "BIGINT"
    place = f"{'month' if part.part == 'month' else 'isodow'}({when})"
    return f"([{', '.join(map(literal, names))}])[{place}]", "VARCHAR"


def _clipped_sql(expression: str, part: DatePart) -> str:
    if part.low is None or part.high is None:
        return expression
    return f"least(greatest({expression}, {part.low!r}::DOUBLE), {part.high!r}::DOUBLE)"
