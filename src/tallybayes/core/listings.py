"""Tables of figures as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tallybayes.core.notebook import grid
from tallybayes.core.schema import Level


class Listing(NamedTuple):
    """A table to print: the first column is text, the others are figures."""

    header: Sequence[str]
    lines: Sequence[Sequence[str]]


def amount(weight: float) -> str:
    """A weight: whole numbers without decimals."""
    return f"{weight:,.0f}" if weight == round(weight) else f"{weight:,.2f}"


def readable(value: float, digits: int = 6) -> str:
    """A number in so many digits, without an exponent where it has one only for its size; years have no commas.

    Examples
    --------
    >>> readable(4312.0, 3), readable(2024.0), readable(1234567.0), readable(0.25)
    ('4310', '2024', '1,234,570', '0.25')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:{',' if 10_000 <= abs(rounded) < 1e15 else ''}.15g}"


def short(label: Level, width: int) -> str:
    """A label in at most so many characters, on one line."""
    text = " ".join(str(label).split())
    return text if len(text) <= width else text[: width - 1] + "…"


def as_text(listing: Listing) -> str:
    """The table with aligned columns."""
    lines = [listing.header, *listing.lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
    )


def as_html(listing: Listing) -> str:
    """The table as an HTML element."""
    return grid(listing.header, listing.lines)
