"""How the cells of a column are read from those of the table: numbers that are written as text, and parts of dates.

A reading is a plain record in the schema, so that rows of any source, and new rows, are read in the same way.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from tallybayes.errors import SchemaError

Part = Literal["year", "month", "day", "weekday", "hour", "minutes", "days", "µs"]
Order = Literal["", "ymd", "dmy", "mdy", "hms", "epoch", "epoch_ms"]

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LEVELS: dict[str, tuple[Hashable, ...]] = {  # of the parts that are categories; all but the days of a month are cyclic
    "month": MONTHS,
    "day": tuple(range(1, 32)),
    "weekday": WEEKDAYS,
    "hour": tuple(range(24)),
}
CYCLIC = ("month", "weekday", "hour")
EPOCHS = {"epoch": 1_000_000.0, "epoch_ms": 1_000.0}  # microseconds of a unit
DAY, MINUTE = 86_400_000_000, 60_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class NumberText:
    """Text that holds a number: what is replaced in it before it is one.

    Parameters
    ----------
    replaced : tuple of (str, str)
        Texts and what stands for them, one after another: ``((".", ""), (",", "."))`` reads ``1.234,5`` as 1234.5.

    Examples
    --------
    >>> NumberText(((" km", ""), (",", "."))).replaced
    ((' km', ''), (',', '.'))
    """

    replaced: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DatePart:
    """A part of a date or a time.

    Parameters
    ----------
    part : {"year", "month", "day", "weekday", "hour", "minutes", "days"}
        Which; "minutes" are those since midnight, "days" is the time since ``low``, in days.
    order : {"", "ymd", "dmy", "mdy", "hms", "epoch", "epoch_ms"}
        How a text is written; empty for dates that are stored as such, "hms" for times of a day, "epoch" for seconds
        since 1970, "epoch_ms" for milliseconds.
    low, high : float, optional
        The range that was learned, of years and of days since 1970: what is beyond counts as its end, since nothing is
        known of other times.
    replaced : tuple of (str, str)
        Texts and what stands for them before a date is read, as in `NumberText`: names of months by their numbers.
    """

    part: Part
    order: Order = ""
    low: float | None = None
    high: float | None = None
    replaced: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """How the cells of a column are read from those of a column of the table.

    Parameters
    ----------
    source : str
        The column of the table.
    missing : sequence
        Values that stand for a missing one.
    number : NumberText, optional
        How text is read as a number.
    date : DatePart, optional
        Which part of a date it is.

    Examples
    --------
    >>> Reading("when", date=DatePart("month", "dmy")).source
    'when'
    """

    source: str
    missing: Sequence[Hashable] = ()
    number: NumberText | None = None
    date: DatePart | None = None

    def unite(self, other: Reading | None, name: str) -> Reading:
        """The reading of the rows of both, which must have been read alike."""
        if other is None or (self.source, self.number, self.date) != (other.source, other.number, other.date):
            raise SchemaError(
                f"column {name!r} was read in two ways (dates since another day, or numbers written otherwise); count "
                "the rows of the one with a copy of the other, which `blank` makes"
            )
        if set(self.missing) >= set(other.missing):
            return self
        more = (value for value in other.missing if value not in self.missing)
        return Reading(self.source, (*self.missing, *more), self.number, self.date)
