"""Tags in SQL: a cell with its separator at both ends holds a tag between two separators."""

from __future__ import annotations

from collections.abc import Callable

from tallybayes.core.terms import Text
from tallybayes.errors import NotAvailableError
from tallybayes.export.dialects import Dialect

HOLDS = {  # whether x holds a text
    "duckdb": "contains({x}, {text})",
    "postgres": "POSITION({text} IN {x}) > 0",
    "sqlite": "INSTR({x}, {text}) > 0",
    "spark": "INSTR({x}, {text}) > 0",
    "bigquery": "STRPOS({x}, {text}) > 0",
    "snowflake": "POSITION({text} IN {x}) > 0",
}
MOST = 1000  # tags; a query has a column for each
BLANKS = (8, 4, 2, 1)  # taken away around a separator, one after another: up to fifteen


def tag_conditions(
    term: Text, dialect: Dialect, given: str, first: Callable[[str], str]
) -> tuple[str, tuple[str, ...]]:
    """The name of the cell in the steps, and the condition that it holds each tag; ``first`` names an expression."""
    if term.tokens.lower or not term.binary:
        raise NotAvailableError(
            f"tags of {term.column!r} whose case is folded cannot be written as SQL; use lower=False"
        )
    if len(term.words) > MOST:
        raise NotAvailableError(f"{term.column!r} has {len(term.words):,} tags, too many for one query; use to_python")
    separator, x = term.tokens.separator, f"CAST({given} AS {dialect.string})"
    mark = dialect.literal(separator)
    # An empty text has no tags, but is one.
    x = f"{mark} || TRIM({x}) || {mark}"
    for n in BLANKS if separator != " " else ():
        for blank in (separator + n * " ", n * " " + separator):
            x = f"REPLACE({x}, {dialect.literal(blank)}, {mark})"
    cell = first(x)
    tags = (dialect.literal(f"{separator}{tag}{separator}") for tag in term.words)
    return cell, tuple(HOLDS[dialect.name].format(x=cell, text=tag) for tag in tags)
