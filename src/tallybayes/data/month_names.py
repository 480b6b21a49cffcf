"""Dates in which the month has its English name: what is replaced in them before they are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tallybayes.core.readings import MONTHS, Order

LONG = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
NAME = re.compile(rf"(?<![A-Za-z])(?:{'|'.join((*LONG, *MONTHS))})(?![A-Za-z])", re.IGNORECASE)
FIRST = re.compile(rf"^\s*{NAME.pattern} [0-9]{{1,2}},? [0-9]{{4}}", re.IGNORECASE)  # Jan 31, 2024
SECOND = re.compile(rf"^\s*[0-9]{{1,2}}([-/. ]){NAME.pattern}\1[0-9]{{2,4}}", re.IGNORECASE)  # 31-Jan-24, 31 Jan 2024

Replaced = tuple[tuple[str, str], ...]


def month_names(texts: Sequence[str]) -> tuple[Replaced, Order] | None:
    """What makes dates in digits of texts that have the names of months, and their order; None of other texts.

    Examples
    --------
    >>> replaced, order = month_names(["31-JAN-24", "01-FEB-24"])
    >>> replaced[:2], order
    ((('JAN', '01'), ('FEB', '02')), 'dmy')
    >>> month_names(["May 3, 2024 10:30 PM"])[1], month_names(["3 May 2024"])[1], month_names(["May be"])
    ('mdy', 'dmy', None)
    """
    first = sum(FIRST.match(text) is not None for text in texts)
    marks = [shape[1] for text in texts if (shape := SECOND.match(text)) is not None]
    if 2 * max(first, len(marks)) <= len(texts):
        return None
    names = _spellings({name[0] for text in texts if (name := NAME.search(text)) is not None})
    if len(marks) >= first:
        if " " not in marks:
            return tuple(names), "dmy"
        return tuple((f" {name} ", f"-{number}-") for name, number in names), "dmy"
    # The blank before the year is a hyphen, too; where a clock follows it, only that of ", ".
    blanks = [(", ", "-")] if any(":" in text for text in texts) else [(", ", "-"), (" ", "-")]
    return (*((f"{name} ", f"{number}-") for name, number in names), *blanks), "mdy"


def _spellings(names: set[str]) -> list[tuple[str, str]]:
    """The names of all months as those that were found are spelled, long ones first, and their numbers."""
    case = str.upper if all(map(str.isupper, names)) else str.lower if all(map(str.islower, names)) else str
    lists = [LONG, MONTHS] if any(len(name) > 3 for name in names) else [MONTHS]
    found = [(case(name), f"{number:02}") for some in lists for number, name in enumerate(some, 1)]
    return list(dict.fromkeys(found))
