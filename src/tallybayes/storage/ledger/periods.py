"""Periods of a ledger: days, hours, weeks, months or numbered steps, as whole numbers that follow one another."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

from tallybayes.errors import PeriodError

Unit = Literal["hour", "day", "week", "month", "step"]
UNITS: dict[str, str] = {
    "hour": "2026-03-03T14",
    "day": "2026-03-03",
    "week": "2026-W10",
    "month": "2026-03",
    "step": "a whole number",
}
EPOCH = dt.date(1970, 1, 1)
MONDAY = dt.date(1969, 12, 29)  # of the week of the epoch
SECONDS = {"hour": 3600.0, "day": 86_400.0, "week": 7 * 86_400.0}
MOST_STEP = 1 << 40

FORMS = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ](?P<hour>\d\d)(?::\d\d(?::\d\d(?:\.\d+)?)?)?)?)?"
    r"|-?W(?P<week>\d\d))?"
)
ZONED = re.compile(r"T.*(Z|[+-]\d\d:?\d\d)\s*$")  # a time with its distance from UTC


@dataclass(frozen=True)
class Calendar:
    """Which whole number a period has.

    Examples
    --------
    >>> days = Calendar("day")
    >>> days.one("2026-03-03"), days.name(20515), days.range("2026-02")
    (20515, '2026-03-03', (20485, 20512))
    """

    unit: Unit = "day"

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise PeriodError(f"the unit of periods must be {', '.join(UNITS)}, not {self.unit!r}")

    def one(self, period: Any) -> int:
        """The number of one period; a longer one is an error, since its rows may be in several."""
        first, last = self.range(period)
        if first != last:
            raise PeriodError(
                f"the period {period!r} overlaps several periods of this ledger, which counts by {self.unit}; give one "
                f"such as {UNITS[self.unit]}"
            )
        return first

    def range(self, period: Any) -> tuple[int, int]:
        """The first and the last number of the periods that a date, a time or a text such as 2026-03 covers."""
        if self.unit == "step":
            return self._step(period)
        if isinstance(period, str) and ZONED.search(period):
            period = self._moment(period)
        if isinstance(period, dt.date) and period != period:  # pandas' missing date
            raise self._unknown(period)
        if isinstance(period, dt.datetime):
            moment = period.astimezone(dt.UTC) if period.tzinfo is not None else period
            return self._covered(moment.date(), moment.date(), moment.hour)
        if isinstance(period, dt.date):
            return self._covered(period, period, None)
        if hasattr(period, "item") and hasattr(period, "dtype") and period.dtype.kind == "M":  # NumPy's dates
            return self.range(period.astype("datetime64[s]").item())
        found = FORMS.fullmatch(period.strip()) if isinstance(period, str) else None
        if found is None:
            raise self._unknown(period)
        try:
            return self._covered(*_days(found), None if found["hour"] is None else int(found["hour"]))
        except ValueError:
            raise self._unknown(period) from None

    def _covered(self, first: dt.date, last: dt.date, hour: int | None) -> tuple[int, int]:
        if self.unit == "hour":
            if hour is not None and not 0 <= hour < 24:
                raise ValueError(hour)
            least, most = (0, 23) if hour is None else (hour, hour)
            return 24 * (first - EPOCH).days + least, 24 * (last - EPOCH).days + most
        if self.unit == "week":
            return (first - MONDAY).days // 7, (last - MONDAY).days // 7
        if self.unit == "month":
            return 12 * (first.year - 1970) + first.month - 1, 12 * (last.year - 1970) + last.month - 1
        return (first - EPOCH).days, (last - EPOCH).days

    def _step(self, period: Any) -> tuple[int, int]:
        number = period.strip() if isinstance(period, str) else period
        if isinstance(number, str) and re.fullmatch(r"-?\d{1,13}", number):
            number = int(number)
        if isinstance(number, bool) or not hasattr(number, "__index__") or abs(int(number)) > MOST_STEP:
            raise self._unknown(period)
        return int(number), int(number)

    def _moment(self, text: str) -> dt.datetime:
        try:
            return dt.datetime.fromisoformat(text.strip())
        except ValueError:
            raise self._unknown(text) from None

    def _unknown(self, period: Any) -> PeriodError:
        return PeriodError(f"{period!r} is no period; this ledger counts by {self.unit}: {UNITS[self.unit]}")

    def name(self, number: int) -> str:
        """The text of a period."""
        try:
            if self.unit == "day":
                return (EPOCH + dt.timedelta(days=number)).isoformat()
            if self.unit == "hour":
                return f"{(EPOCH + dt.timedelta(days=number // 24)).isoformat()}T{number % 24:02d}"
            if self.unit == "week":
                year, week, _ = (MONDAY + dt.timedelta(weeks=number)).isocalendar()
                return f"{year}-W{week:02d}"
            if self.unit == "month":
                return f"{1970 + number // 12:04d}-{number % 12 + 1:02d}"
        except OverflowError:
            pass
        return str(number)

    def length(self, given: Any, what: str) -> float:
        """A number of periods: a number above 0, or a timedelta where periods have one length."""
        if isinstance(given, dt.timedelta):
            if self.unit not in SECONDS:
                raise PeriodError(f"{what} must be a number of periods: those of this ledger are no fixed time")
            given = given.total_seconds() / SECONDS[self.unit]
        if isinstance(given, bool) or not isinstance(given, Real) or math.isnan(given) or given <= 0:
            raise PeriodError(f"{what} must be a number of periods above 0, not {given!r}")
        return float(given)


def _days(found: re.Match[str]) -> tuple[dt.date, dt.date]:
    """The first and the last day of what a text names."""
    year = int(found["year"])
    if found["week"] is not None:
        first = dt.date.fromisocalendar(year, int(found["week"]), 1)
        return first, first + dt.timedelta(days=6)
    if found["month"] is None:
        return dt.date(year, 1, 1), dt.date(year, 12, 31)
    month = int(found["month"])
    if found["day"] is not None:
        day = dt.date(year, month, int(found["day"]))
        return day, day
    following = dt.date(year + month // 12, month % 12 + 1, 1) if (year, month) != (9999, 12) else dt.date.max
    return dt.date(year, month, 1), following - dt.timedelta(days=1)
