"""How the databases spell things: names, texts, numbers, lookups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tallybayes.core.schema import Level
from tallybayes.errors import SettingError

FORBIDDEN = -1e300  # stands for −inf, which some databases refuse to calculate with


@dataclass(frozen=True)
class Dialect:
    """One SQL dialect.

    A planner may write out a step wherever it is used, and the query would grow with every step as a power: ``once``
    has a step worked out once and kept, and ``fence`` keeps it apart from the next.
    """

    name: str
    double: str  # the type of numbers
    string: str  # the type of texts
    quote: str = '"'  # around a name
    nan: str = ""  # a condition that x is not a number; empty where there is none such
    lookup: str = ""  # element i of a list, counted from one; empty where there are no lists
    greatest: str = "GREATEST"  # the function that gives the largest of its arguments
    backslash: bool = False  # whether it means something in a text
    raises: bool = False  # whether a product that is too large for a number is an error
    few: int = 64  # levels up to which a value is compared with one after the other; longer lists are joined
    once: str = ""
    fence: str = ""

    def identifier(self, name: str) -> str:
        """A name of a table or a column."""
        if "\0" in name:
            raise SettingError(f"a name in SQL cannot hold the character zero: {name!r}")
        escaped = name.replace("\\", "\\\\") if self.name == "bigquery" else name
        inside = f"\\{self.quote}" if self.name == "bigquery" else 2 * self.quote
        return self.quote + escaped.replace(self.quote, inside) + self.quote

    def literal(self, value: Level) -> str:
        """A text, a number or a truth value."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return f"({value})" if value < 0 else str(value)
        return self.number(value) if isinstance(value, float) else self._text(str(value))

    def _text(self, value: str) -> str:
        if "\0" in value:
            return self._with_zero(value)
        if not self.backslash:
            text = "'" + value.replace("'", "''") + "'"
            # PostgreSQL can be set to read backslashes as escapes, unless the literal rules it out.
            return "E" + text.replace("\\", "\\\\") if self.name == "postgres" and "\\" in value else text
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
        return f"'{escaped}'"

    def _with_zero(self, value: str) -> str:
        if self.name == "sqlite":
            return f"CAST(X'{value.encode().hex()}' AS TEXT)"
        if self.name == "postgres":
            return "NULL"  # no text there can hold it
        pieces = [self._text(piece) for piece in value.split("\0")]
        zero = "chr(0)" if self.name in ("duckdb", "spark") else "'\\0'" if self.name == "snowflake" else "'\\x00'"
        return f"({f' || {zero} || '.join(pieces)})"

    def number(self, value: Any) -> str:
        """A number that is read back exactly; −inf is a very small one."""
        value = float(value)
        if math.isnan(value):
            raise SettingError("a number of this model is not a number; fit it again")
        value = max(value, FORBIDDEN)
        text = repr(value)
        text = text if "e" in text else f"{text}e0"  # without an exponent it would be a decimal
        return f"({text})" if value < 0 else text

    def cell(self, numbers: Sequence[float], index: str) -> str:
        """The number at a place, counted from one, that a column holds."""
        if self.lookup:
            return self.lookup.format(list=", ".join(map(self.number, numbers)), i=index)
        whens = " ".join(f"WHEN {i} THEN {self.number(n)}" for i, n in enumerate(numbers, 1))
        return f"CASE {index} {whens} END"

    def largest(self, names: Sequence[str]) -> str:
        """The largest of some columns."""
        if len(names) == 1:
            return names[0]
        if len(names) > 50:  # functions take so many arguments and no more
            return self.largest([self.largest(names[i : i + 50]) for i in range(0, len(names), 50)])
        return f"{self.greatest}({', '.join(names)})"

    def rows(self, cells: Sequence[str], v: str, i: str) -> str:
        """A query that gives a row for each cell: the cell, and its place counted from one."""
        rows = [f"({cell}, {place})" for place, cell in enumerate(cells, 1)]
        if self.name == "bigquery":
            first = f"STRUCT({cells[0]} AS {v}, 1 AS {i})"
            return f"SELECT {v}, {i} FROM UNNEST([{', '.join([first, *rows[1:]])}])"
        listed = f"VALUES {', '.join(rows)}"
        if self.name == "spark":
            return f"SELECT * FROM {listed} AS {v}s({v}, {i})"
        named = ("col0", "col1") if self.name == "duckdb" else ("column1", "column2")
        source = listed if self.name == "snowflake" else f"({listed}) AS {v}s"
        return f"SELECT {named[0]} AS {v}, {named[1]} AS {i} FROM {source}"

    def exponential(self, x: str) -> str:
        """e to the power x, of which next to nothing is left below −700."""
        return f"EXP({self.greatest}({x}, {self.number(-700.0)}))"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb", "DOUBLE", "VARCHAR", nan="isnan({x})", lookup="([{list}])[{i}]", few=8, once="MATERIALIZED "),
        Dialect(
            "postgres",
            "DOUBLE PRECISION",
            "TEXT",
            nan="{x} = CAST('NaN' AS DOUBLE PRECISION)",
            lookup="(CAST(ARRAY[{list}] AS DOUBLE PRECISION[]))[{i}]",
            raises=True,
            fence=" OFFSET 0",
        ),
        Dialect("sqlite", "REAL", "TEXT", greatest="MAX", fence=" LIMIT -1 OFFSET 0"),
        Dialect(
            "spark",
            "DOUBLE",
            "STRING",
            quote="`",
            nan="isnan({x})",
            lookup="ELEMENT_AT(ARRAY({list}), {i})",
            backslash=True,
        ),
        Dialect(
            "bigquery",
            "FLOAT64",
            "STRING",
            quote="`",
            nan="IS_NAN({x})",
            lookup="[{list}][SAFE_ORDINAL({i})]",
            backslash=True,
            raises=True,
        ),
        Dialect(
            "snowflake",
            "DOUBLE",
            "VARCHAR",
            nan="{x} = CAST('NaN' AS DOUBLE)",
            backslash=True,
            raises=True,
        ),
    )
}


def dialect_of(name: str) -> Dialect:
    """The dialect of that name."""
    if name not in DIALECTS:
        raise SettingError(f"dialect must be one of {', '.join(DIALECTS)}, not {name!r}")
    return DIALECTS[name]
