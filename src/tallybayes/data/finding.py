"""How the columns of some rows are read: which texts hold numbers, and what is a date."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tallybayes.core.readings import CYCLIC, DAY, LEVELS, DatePart, NumberText, Order, Part, Reading
from tallybayes.core.schema import Column, plural
from tallybayes.data.dates import EPOCH, micros, orders
from tallybayes.data.frames import Table
from tallybayes.data.month_names import month_names
from tallybayes.data.number_text import FEWEST_NUMBERS, is_missing_word, number_of, number_text, replace_in
from tallybayes.data.overrides import Overrides
from tallybayes.data.reading import Measure, Measured, warn_of_lost
from tallybayes.data.values import Values
from tallybayes.errors import DataError

SAMPLED = 400  # different values by which it is seen whether a text may be a number or a date


@dataclass(frozen=True)
class Found:
    """How columns are read: what the rows suggest, or was given."""

    columns: Mapping[str, Reading]  # by the name of the column that is read
    dates: Mapping[str, str]  # reasons of the columns that are read in parts
    notes: Mapping[str, str]  # what is added to the reasons of others

    def finished(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """The columns with how they are read; the parts of a date follow it."""
        known = [self._one(column) for column in columns]
        parts: dict[str | None, list[Column]] = {}
        for column in known:
            parts.setdefault(column.parent, []).append(column)
        return tuple(each for column in parts.get(None, []) for each in (column, *parts.get(column.name, [])))

    def _one(self, column: Column) -> Column:
        if column.name in self.dates:
            return Column(column.name, "date", reason=self.dates[column.name], lasting="dates")
        reading = self.columns.get(column.name)
        if reading is None or (column.kind == "ignored" and reading.date is None):
            return column
        note = self.notes.get(column.name, "")
        reason, lasting = (f"{text}{note}" if text else text for text in (column.reason, column.lasting))
        if reading.date is not None:
            reason, lasting = _part_reasons(column, reading.date)
        return replace(column, reading=reading, reason=reason, lasting=lasting)


PART_NAMES = {
    "weekday": "day of the week",
    "day": "day of the month",
    "minutes": "minutes since midnight",
    "days": "days since 1970-01-01",
}


def _part_reasons(column: Column, part: DatePart) -> tuple[str, str]:
    if column.kind == "ignored":
        return column.reason, column.lasting
    if part.part == "days" and part.low is not None:
        lasting = f"days since {_day(part.low * DAY)}"
    else:
        lasting = PART_NAMES.get(part.part, part.part)
    return lasting, lasting


NOTHING = Found({}, {}, {})


# ------------------------------------------------------------------------------------------ how columns are read


@dataclass(frozen=True)
class _Guess:
    """How a column may be read."""

    name: str
    codes: tuple[Any, ...] = ()  # values that stand for a missing one
    number: NumberText | None = None
    orders: tuple[Order, ...] = ()  # of a date: one, or two of which more rows decide
    replaced: tuple[tuple[str, str], ...] = ()  # in the text of a date, before it is read
    is_sure: bool = False  # whether all else is known to be missing, so that few rows may have a value

    def readings(self) -> dict[str, Reading]:
        """What is to be measured, by key."""
        if self.number is not None:
            return {self.name: Reading(self.name, self.codes, self.number)}
        return {
            f"{self.name}\0{order}": Reading(self.name, self.codes, None, DatePart("µs", order, replaced=self.replaced))
            for order in self.orders
        }


def find(opening: Table, given: Overrides, whole: bool, measure: Measure, skipped: Collection[str] = ()) -> Found:
    """How the columns of some rows are read, of which ``opening`` holds all or the first.

    Unless they are the ``whole`` table only what is stored as a date is read as one, since the first of many batches
    may mislead.
    """
    guesses = [
        guess
        for name, values in opening.columns.items()
        if name not in skipped and name not in given.drop
        if (guess := _guess(name, values, given, whole)) is not None
    ]
    asked = {key: reading for guess in guesses for key, reading in guess.readings().items()}
    measured = measure(asked) if asked else {}
    columns: dict[str, Reading] = {}
    dates: dict[str, str] = {}
    notes: dict[str, str] = {}
    for guess in guesses:
        if guess.number is not None:
            if _is_read(guess, seen := measured[guess.name]):
                columns[guess.name] = Reading(guess.name, guess.codes, guess.number)
                notes[guess.name] = _number_note(guess, seen)
        elif guess.orders:
            parts, reason = _date(guess, measured, whole)
            columns |= {
                _free(f"{guess.name}: {part.part}", opening): Reading(guess.name, guess.codes, None, part)
                for part in parts
            }
            dates |= {guess.name: reason} if reason else {}
        else:
            columns[guess.name] = Reading(guess.name, guess.codes)
    return Found(columns, dates, notes)


def _guess(name: str, values: Values, given: Overrides, whole: bool) -> _Guess | None:
    kind, missing = given.kind.get(name), given.missing_values_of(name)
    if kind is None and name in given.family:
        return _Guess(name, missing) if missing else None
    if kind == "epoch" and values.storage in ("integer", "number", "empty"):
        return _Guess(name, missing, orders=("epoch", "epoch_ms"))
    if kind in ("date", "epoch") and values.storage not in ("text", "date"):
        if values.storage in ("integer", "number"):
            what = f"numbers, which are no dates; if they are seconds since 1970, pass kind={{{name!r}: 'epoch'}}"
        else:
            what = f"{values.storage}, which is no {'date' if kind == 'date' else 'number of seconds since 1970'}"
        raise DataError(f"column {name!r} holds {what}")
    if values.storage == "date":
        order = _stored_order(values) if kind in (None, "date") else None
        return None if order is None else _Guess(name, missing, orders=(order,))
    read = kind in (None, "numeric", "count", "date") and (whole or kind is not None)
    if values.storage == "text" and values.declared is None and read:
        guess = _text_guess(name, values, given, missing)
        if guess is not None:
            return guess
        if kind == "date":
            raise DataError(
                f"column {name!r} holds {values.value(0)!r}, which is no date; write 2024-01-31 or 31/01/2024"
            )
    return _Guess(name, missing) if missing else None


def refuse_dates(opening: Table, where: str) -> None:
    """Refuse texts that are dates where they cannot be read: as levels they would say nothing of other days."""
    for name, values in opening.columns.items():
        texts = [str(text) for text in values.distinct()[:SAMPLED]] if values.storage == "text" else []
        known = [text for text in texts if not is_missing_word(text)]
        if orders(known) or month_names(known) is not None:
            raise DataError(
                f"column {name!r} of {where} holds dates as text ({texts[0]!r}), which are not read there; derive "
                f"columns such as month, hand over a frame, or leave it out with drop=[{name!r}]"
            )


def _stored_order(values: Values) -> Order | None:
    """What a column that is stored as dates or times holds: "" for dates, "hms" for times of a day, None: durations."""
    series = getattr(values, "series", None)
    if series is None:
        array: Any = values.array  # type: ignore[attr-defined]
        kind, some = array.dtype.type.__name__, array[:100].tolist()
    else:
        kind, some = type(series.dtype).__name__, series.head(100).to_list()
    if kind in ("timedelta64", "Duration") or any(isinstance(value, datetime.timedelta) for value in some):
        return None
    return "hms" if kind == "Time" or any(isinstance(value, datetime.time) for value in some) else ""


def _text_guess(name: str, values: Values, given: Overrides, missing: tuple[Any, ...]) -> _Guess | None:
    """How text may be read as numbers or dates."""
    kind, codes = given.kind.get(name), {str(word) for word in missing}
    texts = [str(text) for text in values.distinct() if text not in codes]
    some = texts[:: max(1, len(texts) // SAMPLED)]
    known = [text for text in some if not is_missing_word(text)]
    if kind in (None, "date") and (guess := _date_guess(name, texts, known, given, missing)) is not None:
        return guess
    forced = kind in ("numeric", "count")
    if kind == "date" or (number_text(some, given.decimal, forced=True) is None and not forced):
        return None
    number = number_text(texts, given.decimal, forced)
    if number is None:
        return None
    unread = [text for text in texts if np.isnan(number_of(text, number))]
    return _Guess(name, (*missing, *unread[:100]), number, is_sure=_is_sure(texts, unread))


def _date_guess(
    name: str, texts: Sequence[str], some: Sequence[str], given: Overrides, missing: tuple[Any, ...]
) -> _Guess | None:
    """How text may be read as dates, of which some are looked at first."""
    replaced, named = month_names(some) or ((), given.dates)
    if not orders([replace_in(text, replaced) for text in some], named):
        return None
    plain = {text: replace_in(text, replaced) for text in texts}
    found = orders([plain[text] for text in texts if not is_missing_word(text)], named)
    unread = [text for text in texts if all(np.isnan(micros(plain[text], order)) for order in found)]
    if not found or len(unread) > len(texts) // 5 + 3:
        return None
    return _Guess(
        name, (*missing, *unread[:100]), orders=tuple(found), replaced=replaced, is_sure=_is_sure(texts, unread)
    )


def _is_sure(texts: Sequence[str], unread: Sequence[str]) -> bool:
    """Whether a column has enough different values, and words for missing ones besides."""
    return len(texts) - len(unread) >= FEWEST_NUMBERS and all(map(is_missing_word, unread))


def _is_read(guess: _Guess, seen: Measured) -> bool:
    return seen.n_read > 0 and (guess.is_sure or 2 * seen.n_read >= seen.n_present)


def _number_note(guess: _Guess, seen: Measured) -> str:
    """What is added to the reason of numbers that were text, with a warning of values that are none."""
    assert guess.number is not None
    lost = seen.n_present - seen.n_read
    warn_of_lost(guess.name, lost, guess.codes, "number")
    written = [_replacement(old, new) for old, new in guess.number.replaced if old != ")"]
    note = f", written as text{' ' if written else ''}{' and '.join(written)}"
    return note + (f"; {_lost(lost, guess.codes)}" if lost else "")


def _replacement(old: str, new: str) -> str:
    if old == "(":
        return "with (…) for a minus" if new else "in (…)"
    if new:
        return "with a decimal comma" if old == "," else f"with {old!r} for {new!r}"
    return (
        f"without {old.strip() or 'spaces'!r}"
        if old.strip() not in (".", ",", "'", "_", "")
        else (f"with {'spaces' if not old.strip() else repr(old)} between thousands")
    )


def _lost(lost: int, codes: Sequence[Any]) -> str:
    shown = ", ".join(repr(code) for code in codes[:3]) + (", …" if len(codes) > 3 else "")
    return f"{plural(lost, 'value')} ({shown}) as missing" if codes else f"{plural(lost, 'value')} as missing"


def _date(guess: _Guess, measured: Mapping[str, Measured], whole: bool) -> tuple[list[DatePart], str]:
    """The parts of a date that vary, and why; nothing where most values are no dates."""
    seen = {order: measured[f"{guess.name}\0{order}"] for order in guess.orders}
    best = max(each.n_read for each in seen.values())
    left = [order for order, each in seen.items() if each.n_read == best]
    found = seen[left[0]]
    if not _is_read(guess, found):
        if found.n_present and guess.orders == ("",):
            raise DataError(f"column {guess.name!r} holds dates outside the calendar")
        return [], ""
    if len(left) > 1 and left[0] != "epoch":  # what can be seconds is no milliseconds
        raise DataError(
            f"column {guess.name!r} holds dates in which the day may come first or the month; say which, with "
            f"dates='dmy' or dates='mdy', or leave it out with drop=[{guess.name!r}]"
        )
    lost = found.n_present - found.n_read
    warn_of_lost(guess.name, lost, guess.codes, "date")
    order = left[0]
    if order == "hms":
        note = f"; {_lost(lost, guess.codes)}" if lost else ""
        return [DatePart("hour", order), DatePart("minutes", order)], f"times of a day; as hour, minutes{note}"
    parts = _varying(found, order) if whole else [DatePart(part, order) for part in _ALL]
    shown = ", ".join(part.part for part in parts)
    written = {"dmy": ", day first", "mdy": ", month first"}.get(order, "")
    written = {"epoch": ", as seconds since 1970", "epoch_ms": ", as milliseconds since 1970"}.get(order, written)
    if guess.replaced:
        parts, written = [replace(part, replaced=guess.replaced) for part in parts], ", with the names of months"
    what = "dates and times" if found.has_clock else "dates"
    reason = (
        f"{what} from {_day(found.low)} to {_day(found.high)}{written}; {f'as {shown}' if shown else 'always the same'}"
    )
    return parts, reason + (f"; {_lost(lost, guess.codes)}" if lost else "")


_ALL: tuple[Part, ...] = ("year", "month", "day", "weekday", "hour", "days")


def _varying(seen: Measured, order: Order) -> list[DatePart]:
    """The parts that can distinguish rows, by the first and the last date."""
    first, last = (EPOCH + datetime.timedelta(microseconds=end) for end in (seen.low, seen.high))
    parts = []
    if first.year != last.year:
        parts.append(DatePart("year", order, float(first.year), float(last.year)))
    if (first.year, first.month) != (last.year, last.month):
        parts += [DatePart("month", order), DatePart("day", order)]
    if first.date() != last.date():
        parts.append(DatePart("weekday", order))
    if seen.has_clock:
        parts.append(DatePart("hour", order))
    if seen.low < seen.high:
        parts.append(DatePart("days", order, seen.low / DAY, seen.high / DAY))
    return parts


def _day(when: float) -> str:
    return (EPOCH + datetime.timedelta(microseconds=when)).date().isoformat()


def _free(name: str, opening: Table) -> str:
    if name in opening.columns:
        raise DataError(
            f"the table has a column {name!r}, which is what a part of a date is called; rename one of them"
        )
    return name


def part_column(name: str, part: DatePart) -> Column | None:
    """The column of a part that is a category; None of one that is a number."""
    levels = LEVELS.get(part.part)
    if levels is None:
        return None
    order: Literal["line", "circle"] = "circle" if part.part in CYCLIC else "line"
    return Column(name, "category", levels, part.part, part.part, declared=levels, order=order)
