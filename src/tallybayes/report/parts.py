"""Pieces of HTML that several sections are made of."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any


def short_name(label: Any, most: int = 26) -> str:
    """A name in a narrow place; the title attribute has the full one."""
    name = str(label)
    if len(name) <= most:
        return breakable(name)
    return f'<span title="{escape(name, quote=True)}">{breakable(name[: most - 1])}…</span>'


def breakable(name: str) -> str:
    """A name that breaks after an underscore rather than within a word."""
    return escape(name).replace("_", "_<wbr>")


def listing(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int | None = None) -> str:
    """A table; its last columns are numbers, by default all but the first."""
    n_text = 1 if numbers is None else len(head) - numbers

    def cells(tag: str, row: Sequence[str]) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        kinds = ("" if i < n_text else ' class="n"' for i in range(len(row)))
        return "".join(f"<{tag}{scope}{kind}>{breakable(cell)}</{tag}>" for kind, cell in zip(kinds, row, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    tall = " tall" if len(rows) > 30 else ""
    broad = ' class="broad"' if any(len(cell) > 40 for row in rows for cell in row) else ""
    named = escape(name, quote=True)
    return (
        f'<div class="scroll{tall}" tabindex="0" role="region" aria-label="{named}"><table{broad}><thead><tr>'
        f"{cells('th', head)}</tr></thead><tbody>{body}</tbody></table></div>"
    )
