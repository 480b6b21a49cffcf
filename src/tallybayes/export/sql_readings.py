"""Columns that are read from others in SQL: parts of dates, and numbers that are written as text.

DuckDB reads them as it reads files (`data/reading.py`). Elsewhere a regular expression takes a date apart, or what
SQLite has instead, and plain arithmetic does the rest: the days since 1970 are counted by the rules of the calendar
(after Howard Hinnant's `days_from_civil`), so that every database finds the same parts, whatever its own dates are.
Every step is a list of columns, each over those of the steps before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, zip_longest

from tallybayes.core.readings import DAY, EPOCHS, MINUTE, MONTHS, WEEKDAYS, DatePart, Order, Reading
from tallybayes.data.dates import FARTHEST, PATTERN, PIVOT, TIME
from tallybayes.data.number_text import NUMBER
from tallybayes.data.reading import expressions
from tallybayes.errors import NotAvailableError
from tallybayes.export.dialects import Dialect

Step = dict[str, str]  # the columns that it adds: name → expression

REGEX = {  # group n of a pattern in x, empty where there is none; and whether x matches a pattern
    "postgres": ("COALESCE((REGEXP_MATCH({x}, {pattern}))[{n}], '')", "{x} ~ {pattern}"),
    "spark": ("COALESCE(REGEXP_EXTRACT({x}, {pattern}, {n}), '')", "{x} RLIKE {pattern}"),
    "sqlite": ("", "({x} GLOB '*[0-9]*' AND {x} NOT GLOB '*[^0-9.eE+-]*')"),
}
CIVIL = ("year", "month", "day")  # parts that need the calendar
CLOCK, DATE = "hisp", "abchispz"  # the groups of a time and of a date


def read_first(
    source: str, readings: Mapping[str, Reading], dialect: Dialect, own: str, called: Mapping[str, str]
) -> list[tuple[str, str]]:
    """The queries, each over the one before, that add the columns that are read from others to a table.

    What a column is called must not hide the one it is read from, which may be asked for as it is.
    """
    if not readings:
        return []
    if dialect.name == "duckdb":
        found = expressions(readings, lambda column: _storage(readings, column))
        steps: list[Step] = [{called[name]: x for name, (x, _) in found.items()}]
    else:
        steps = _steps(readings, dialect, called, own)
    queries = []
    for place, step in enumerate(steps):
        columns = ", ".join(f"{x} AS {name}" for name, x in step.items())
        queries.append((f"{own}read{place}", f"SELECT *, {columns} FROM {source}{dialect.fence}"))
        source = queries[-1][0]
    return queries


def _storage(readings: Mapping[str, Reading], column: str) -> str:
    read = next(each for each in readings.values() if each.source == column)
    is_text = read.number is not None or (read.date is not None and read.date.order not in ("", *EPOCHS))
    return "text" if is_text else "date" if read.date is not None and not read.date.order else "number"


def _steps(readings: Mapping[str, Reading], dialect: Dialect, called: Mapping[str, str], own: str) -> list[Step]:
    """The columns that each step adds, those of several dates side by side."""
    if dialect.name not in REGEX:
        raise NotAvailableError(
            f"column {next(iter(readings))!r} is read from a date or from numbers as text, which SQL for "
            f"{dialect.name} does not do; to_sql for duckdb, postgres, sqlite and spark does, or derive it before"
        )
    numbers = {name: reading for name, reading in readings.items() if reading.date is None}
    dates = [(name, reading) for name, reading in readings.items() if reading.date is not None]
    columns: list[list[Step]] = [[{called[name]: _number(reading, dialect)}] for name, reading in numbers.items()]
    by_source = groupby(dates, key=lambda each: (each[1].source, tuple(each[1].missing), _order(each[1])))
    for place, (_, parts) in enumerate(by_source):
        columns.append(_Date(dialect, f"{own}d{place}").steps({called[name]: reading for name, reading in parts}))
    return [{name: x for step in beside for name, x in step.items()} for beside in zip_longest(*columns, fillvalue={})]


def _order(reading: Reading) -> Order:
    assert reading.date is not None
    return reading.date.order


def _text(reading: Reading, dialect: Dialect) -> str:
    """The column as text; NULL where a word stands for a missing value."""
    x = f"CAST({dialect.identifier(reading.source)} AS {dialect.string})"
    replaced = _replaced(x, () if reading.date is None else reading.date.replaced, dialect)
    if not reading.missing:
        return replaced
    words = ", ".join(dialect.literal(str(word)) for word in reading.missing)
    return f"CASE WHEN {x} IN ({words}) THEN NULL ELSE {replaced} END"


def _replaced(text: str, replaced: Sequence[tuple[str, str]], dialect: Dialect) -> str:
    for old, new in replaced:
        text = f"REPLACE({text}, {dialect.literal(old)}, {dialect.literal(new)})"
    return text


def _number(reading: Reading, dialect: Dialect) -> str:
    text = _text(reading, dialect)
    if reading.number is None:
        return text
    text = f"TRIM({_replaced(text, reading.number.replaced, dialect)})"
    matches = REGEX[dialect.name][1].format(x=text, pattern=dialect.literal(NUMBER))
    return f"CASE WHEN {matches} THEN CAST({text} AS {dialect.double}) END"


class _Date:
    """The steps from a column of dates to parts of them; all columns begin with one name."""

    def __init__(self, dialect: Dialect, own: str) -> None:
        self.d, self.own = dialect, own

    def n(self, name: str) -> str:
        """A column of a step."""
        return f"{self.own}_{name}"

    def number(self, text: str) -> str:
        """Digits as a number; NULL where there are none."""
        return f"CAST(NULLIF({text}, '') AS {self.d.double})"

    def steps(self, parts: Mapping[str, Reading]) -> list[Step]:
        """All steps; the last has the parts."""
        reading = next(iter(parts.values()))
        wanted = {name: each.date for name, each in parts.items() if each.date is not None}
        steps = self._micros(reading, _order(reading))
        u, day = self.n("u"), f"{DAY}.0"
        steps.append({self.n("n"): f"CASE WHEN ABS({u}) < {FARTHEST}.0 THEN FLOOR({u} / {day}) END"})
        if any(part.part in CIVIL for part in wanted.values()):
            steps += self._civil()
        return [*steps, {name: self._part(part) for name, part in wanted.items()}]

    def _micros(self, reading: Reading, order: Order) -> list[Step]:
        """Microseconds since 1970."""
        d, source = self.d, self.d.identifier(reading.source)
        if order in EPOCHS:
            return [{self.n("u"): f"CAST({source} AS {d.double}) * {EPOCHS[order]}"}]
        if order == "" and d.name == "postgres":
            return [{self.n("u"): f"CAST(EXTRACT(EPOCH FROM {source}) * 1000000 AS {d.double})"}]
        order = order or "ymd"  # as the database writes its dates
        steps: list[Step] = [{self.n("t"): _text(reading, d)}]
        steps += self._cut_by_hand(order) if d.name == "sqlite" else self._cut(order)
        return [*steps, *self._counted(order)]

    # ------------------------------------------------------------------------------------------ fields of a text

    def _cut(self, order: Order) -> list[Step]:
        """The groups of the pattern."""
        names, pattern = (CLOCK, TIME) if order == "hms" else (DATE, PATTERN)
        group, written = REGEX[self.d.name][0], self.d.literal(pattern)
        return [{self.n(name): group.format(x=self.n("t"), pattern=written, n=i) for i, name in enumerate(names, 1)}]

    def _cut_by_hand(self, order: Order) -> list[Step]:
        """The same in SQLite, which has no regular expressions."""
        n, steps = self.n, list[Step]()
        clock = f"TRIM({n('t')})"
        if order != "hms":
            blank = f"INSTR(REPLACE(REPLACE({clock}, 'T', ' '), 't', ' '), ' ')"
            steps.append({n("at"): blank})
            at, date = n("at"), f"CASE WHEN {n('at')} > 0 THEN SUBSTR({clock}, 1, {n('at')} - 1) ELSE {clock} END"
            steps.append({n("date"): f"REPLACE(REPLACE({date}, '/', '-'), '.', '-')"})
            clock = f"CASE WHEN {at} > 0 THEN LTRIM(SUBSTR({clock}, {at} + 1)) ELSE '' END"
            first, rest = f"INSTR({n('date')}, '-')", n("rest")
            steps.append({rest: f"SUBSTR({n('date')}, {first} + 1)", n("a"): f"SUBSTR({n('date')}, 1, {first} - 1)"})
            second = f"INSTR({rest}, '-')"
            steps.append({n("b"): f"SUBSTR({rest}, 1, {second} - 1)", n("c"): f"SUBSTR({rest}, {second} + 1)"})
        steps.append({n("clock"): clock})
        colon = f"INSTR({n('clock')}, ':')"
        steps.append(
            {n("h"): f"SUBSTR({n('clock')}, 1, {colon} - 1)", n("after"): f"SUBSTR({n('clock')}, {colon} + 1)"}
        )
        steps.append({n("i"): f"SUBSTR({n('after')}, 1, 2)", n("tail"): f"SUBSTR({n('after')}, 3)"})
        has = f"SUBSTR({n('tail')}, 1, 1) = ':'"
        left = f"LTRIM(SUBSTR({n('tail')}, 2), '0123456789.')"
        steps.append(
            {
                # Digits as long as there are any: what follows is half of the day, or the zone.
                n("s"): f"CASE WHEN {has} THEN CAST(CAST(SUBSTR({n('tail')}, 2) AS REAL) AS TEXT) ELSE '' END",
                n("end"): f"UPPER(TRIM(CASE WHEN {has} THEN {left} ELSE {n('tail')} END))",
            }
        )
        half = f"SUBSTR({n('end')}, 1, 2) IN ('AM', 'PM')"
        steps.append(
            {
                n("p"): f"CASE WHEN {half} THEN SUBSTR({n('end')}, 1, 2) ELSE '' END",
                n("z"): f"CASE WHEN {half} THEN TRIM(SUBSTR({n('end')}, 3)) ELSE {n('end')} END",
            }
        )
        fields = "h" if order == "hms" else "abc"
        digits = " AND ".join(f"{n(f)} NOT GLOB '*[^0-9]*' AND {n(f)} <> ''" for f in fields)
        zone = f"({n('z')} IN ('', 'Z', 'UTC') OR ({n('z')} GLOB '[+-][0-9][0-9]*' AND LENGTH({n('z')}) <= 6))"
        some = f"({n('clock')} = '' OR ({n('h')} NOT GLOB '*[^0-9]*' AND {n('i')} GLOB '[0-9][0-9]'))"
        return [*steps, {n("is"): f"CASE WHEN {digits} AND {some} AND {zone} THEN 1 ELSE 0 END"}]

    # ------------------------------------------------------------------------------------------ arithmetic

    def _counted(self, order: Order) -> list[Step]:
        """From the fields to microseconds; NULL where there is no such date."""
        n = self.n
        steps: list[Step] = [
            {n(f): f"{self.number(n(g))}" for f, g in (("hour", "h"), ("minute", "i"), ("second", "s"))}
        ]
        half = (
            f"{n('hour')} - 12.0 * FLOOR({n('hour')} / 12.0) + CASE WHEN UPPER({n('p')}) = 'PM' THEN 12.0 ELSE 0.0 END"
        )
        seconds = f"COALESCE({n('second')}, 0.0)"
        wrong = f"{n('hour')} > 23 OR {n('minute')} > 59 OR {seconds} >= 60"
        wrong += f" OR ({n('p')} <> '' AND ({n('hour')} < 1 OR {n('hour')} > 12))"
        clock = f"((CASE WHEN {n('p')} = '' THEN {n('hour')} ELSE {half} END) * 60.0 + {n('minute')}) * 60000000.0"
        clock += f" + FLOOR({seconds} * 1000000.0)"
        found: Step = {n("us"): f"CASE WHEN {n('h')} = '' THEN 0.0 WHEN {wrong} THEN NULL ELSE {clock} END"}
        ok = f"{n('is')} = 1" if self.d.name == "sqlite" else f"{n('i' if order == 'hms' else 'a')} <> ''"
        if order == "hms":
            return [*steps, found, {n("u"): f"CASE WHEN {ok} AND {n('h')} <> '' THEN {n('us')} END"}]
        minutes = self.number(f"SUBSTR({n('z')}, 2, 2)")
        more = self.number(f"REPLACE(SUBSTR({n('z')}, 4), ':', '')")
        ahead = f"({minutes} * 60.0 + COALESCE({more}, 0.0))"
        sign = f"SUBSTR({n('z')}, 1, 1)"
        found[n("ahead")] = f"CASE {sign} WHEN '+' THEN {ahead} WHEN '-' THEN -{ahead} ELSE 0.0 END"
        at = dict(zip(order, "abc", strict=True))
        for field, iso in zip("ymd", "abc", strict=True):  # a year that comes first is one
            found[n(field)] = f"CASE WHEN LENGTH({n('a')}) = 4 THEN {n(iso)} ELSE {n(at[field])} END"
        short = f"{n('year0')} + CASE WHEN {n('year0')} >= {PIVOT} THEN 1900 ELSE 2000 END"
        steps += [
            found,
            {n("year0"): self.number(n("y")), n("month"): self.number(n("m")), n("day"): self.number(n("d"))},
        ]
        steps += [{n("year"): f"CASE LENGTH({n('y')}) WHEN 4 THEN {n('year0')} WHEN 2 THEN {short} END"}]
        return [*steps, *self._days(ok)]

    def _days(self, ok: str) -> list[Step]:
        """From year, month and day to microseconds, by the rules of the calendar."""
        n, y, m = self.n, self.n("year"), self.n("month")
        by = {k: f"{y} - {k}.0 * FLOOR({y} / {k}.0) = 0" for k in (4, 100, 400)}
        leap = f"CASE WHEN ({by[4]} AND NOT {by[100]}) OR {by[400]} THEN 29 ELSE 28 END"
        last = f"CASE WHEN {m} = 2 THEN {leap} WHEN {m} IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
        fits = f"{ok} AND LENGTH({n('m')}) <= 2 AND LENGTH({n('d')}) <= 2 AND {y} >= 1"
        fits += f" AND {m} >= 1 AND {m} <= 12 AND {n('day')} >= 1 AND {n('day')} <= {last}"
        # Years that begin in March: the odd day of a leap year is their last.
        begun = f"({y} - CASE WHEN {m} <= 2 THEN 1 ELSE 0 END)"
        within = f"({m} + CASE WHEN {m} > 2 THEN -3 ELSE 9 END)"
        leaps = f"FLOOR({n('begun')} / 4.0) - FLOOR({n('begun')} / 100.0) + FLOOR({n('begun')} / 400.0)"
        days = f"365.0 * {n('begun')} + {leaps} + FLOOR((153.0 * {n('within')} + 2.0) / 5.0) + {n('day')} - 719469.0"
        micros = f"({days}) * {DAY}.0 + {n('us')} - {n('ahead')} * 60000000.0"
        return [{n("begun"): begun, n("within"): within}, {n("u"): f"CASE WHEN {fits} THEN {micros} END"}]

    def _civil(self) -> list[Step]:
        """From days since 1970 to year, month and day."""
        n = self.n
        z, era, doe, yoe, doy, mp = (n(name) for name in ("since", "era", "doe", "yoe", "doy", "mp"))
        whole = f"{doe} - FLOOR({doe} / 1460.0) + FLOOR({doe} / 36524.0) - FLOOR({doe} / 146096.0)"
        begun = f"(365.0 * {yoe} + FLOOR({yoe} / 4.0) - FLOOR({yoe} / 100.0))"
        return [
            {z: f"{n('n')} + 719468.0"},
            {era: f"FLOOR({z} / 146097.0)"},
            {doe: f"{z} - 146097.0 * {era}"},
            {yoe: f"FLOOR(({whole}) / 365.0)"},
            {doy: f"{doe} - {begun}"},
            {mp: f"FLOOR((5.0 * {doy} + 2.0) / 153.0)"},
            {
                n("dd"): f"{doy} - FLOOR((153.0 * {mp} + 2.0) / 5.0) + 1.0",
                n("mm"): f"{mp} + CASE WHEN {mp} < 10 THEN 3.0 ELSE -9.0 END",
            },
            {n("yy"): f"{yoe} + 400.0 * {era} + CASE WHEN {n('mm')} <= 2 THEN 1.0 ELSE 0.0 END"},
        ]

    def _part(self, part: DatePart) -> str:
        """A part, NULL where there is no date."""
        n, d = self.n, self.d
        if part.part == "days":
            days = self._clipped(f"{n('u')} / {DAY}.0", part)
            return f"CASE WHEN {n('n')} IS NOT NULL THEN {days} - {d.number(part.low or 0.0)} END"
        if part.part == "year":
            return self._clipped(n("yy"), part)
        if part.part == "day":
            return n("dd")
        if part.part == "hour":
            return f"FLOOR(({n('u')} - {n('n')} * {DAY}.0) / 3600000000.0)"
        if part.part == "minutes":
            return f"({n('u')} - {n('n')} * {DAY}.0) / {MINUTE}.0"
        if part.part == "month":
            return self._named(n("mm"), MONTHS, 1)
        weekday = f"({n('n')} + 3.0 - 7.0 * FLOOR(({n('n')} + 3.0) / 7.0))"  # 1970 began on a Thursday
        return self._named(weekday, WEEKDAYS, 0)

    def _named(self, x: str, names: Sequence[str], first: int) -> str:
        whens = " ".join(f"WHEN {i} THEN {self.d.literal(name)}" for i, name in enumerate(names, first))
        return f"CASE {x} {whens} END"

    def _clipped(self, x: str, part: DatePart) -> str:
        if part.low is None or part.high is None:
            return x
        low, high = self.d.number(part.low), self.d.number(part.high)
        return f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"
