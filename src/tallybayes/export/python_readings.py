"""How an exported Python function reads numbers that are written as text, and dates."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from tallybayes.core.readings import DAY, EPOCHS, MONTHS, WEEKDAYS, Reading
from tallybayes.data import dates


def reading_lines(column: str, reading: Reading) -> Iterator[str]:
    """The lines that put a column into the row."""
    missing = {str(word) for word in reading.missing}
    yield f"x = value({reading.source!a})"
    if missing:
        yield f"x = None if str(x) in {sorted(missing)!a} else x"
    if reading.date is not None:
        part = reading.date
        if part.replaced:
            yield f"x = _replaced(x, {part.replaced!a})"
        yield f"x = _part(x, {part.part!a}, {part.order!a}, {part.low!r}, {part.high!r})"
    elif reading.number is not None:
        yield f"x = _number(x, {reading.number.replaced!a})"
    yield f"row[{column!a}] = x"


SOURCE = """
def _replaced(x, replaced):
    for old, new in replaced if isinstance(x, str) else ():
        x = x.replace(old, new)
    return x


def _number(x, replaced):
    if not isinstance(x, str):
        return x
    x = _replaced(x, replaced).strip(" ")
    return float(x) if re.match(r"^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$", x) else None


def _part(x, part, order, low, high):
    if x is None:
        return None
    if isinstance(x, str) or order in EPOCHS:
        us = micros(x, order or "ymd")
    elif isinstance(x, datetime.datetime):
        us = (x.astimezone(datetime.timezone.utc).replace(tzinfo=None) if x.tzinfo else x) - EPOCH
        us = us // datetime.timedelta(microseconds=1)
    elif isinstance(x, datetime.time):
        us = ((x.hour * 60 + x.minute) * 60 + x.second) * 1000000 + x.microsecond
    else:
        us = (datetime.datetime(x.year, x.month, x.day) - EPOCH).days * DAY
    if us != us:
        return None
    if part == "days":
        return (us / DAY if low is None else min(max(us / DAY, low), high)) - (low or 0.0)
    if part == "minutes":
        return us % DAY / 60000000
    when = EPOCH + datetime.timedelta(microseconds=us)
    if part == "year":
        return when.year if low is None else min(max(when.year, low), high)
    if part in ("month", "weekday"):
        return MONTHS[when.month - 1] if part == "month" else WEEKDAYS[when.weekday()]
    return getattr(when, part)
"""


def source_lines() -> list[str]:
    """What the module needs for it: the code that reads dates here, as it is."""
    functions = (dates.micros, dates._days, dates._clock, dates._offset)
    constants = [
        "import datetime",
        "import re",
        "",
        f"DAY, PIVOT, EPOCH = {DAY}, {dates.PIVOT}, datetime.datetime(1970, 1, 1)",
        f"EPOCHS = {EPOCHS!r}",
        f"MONTHS, WEEKDAYS = {MONTHS!r}, {WEEKDAYS!r}",
        f"_DATE, _TIME = re.compile({dates.PATTERN!a}), re.compile({dates.TIME!a})",
        "",
        "",
    ]
    code = "\n\n".join(inspect.getsource(function) for function in functions)
    code = code.replace(": Sequence[str]", "").replace(": Order", "")
    return [*constants, *code.splitlines(), *SOURCE.splitlines(), ""]
