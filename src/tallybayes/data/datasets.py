"""The examples that ship with the package: tables as dicts of columns, real and made up, and a small mailbox."""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path
from typing import Any

from tallybayes.data.made import loans, tickets, triage

__all__ = ["loans", "mailbox", "penguins", "tennis", "tickets", "triage"]


def tennis() -> dict[str, list[Any]]:
    """Return fourteen days and whether tennis was played; the target is ``play``.

    Examples
    --------
    >>> len(tennis()["play"])
    14
    """
    return _columns("tennis.csv")


def penguins() -> dict[str, list[Any]]:
    """Return 344 penguins of three species, with missing values; the target is ``species``.

    Gorman, Williams and Fraser (2014), Horst, Hill and Gorman (2020); CC0.

    Examples
    --------
    >>> penguins()["bill_length_mm"][:4]
    [39.1, 39.5, 40.3, None]
    """
    return _columns("penguins.csv")


def mailbox(kind: str) -> Path:
    """Return the file of a small mailbox, made up for examples: twelve messages that are "spam", or twelve "ham".

    Examples
    --------
    >>> mailbox("spam").read_bytes().count(b"Subject: ")
    12
    """
    return Path(str(files("tallybayes") / "data" / f"{kind}.mbox"))


def _columns(name: str) -> dict[str, list[Any]]:
    text = (files("tallybayes") / "data" / name).read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    return {column: _typed([row[j] for row in rows]) for j, column in enumerate(header)}


def _typed(cells: list[str]) -> list[Any]:
    """Numbers where all cells are, text otherwise; an empty cell is a missing value."""
    for convert in (int, float):
        try:
            return [convert(cell) if cell else None for cell in cells]
        except ValueError:
            continue
    return [cell or None for cell in cells]
