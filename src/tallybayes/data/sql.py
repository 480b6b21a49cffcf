"""Names and values in SQL, and DuckDB's errors as plain sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tallybayes.errors import DataError


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def struct(texts: Mapping[str, str]) -> str:
    """A record of texts in SQL."""
    return f"{{{', '.join(f'{literal(name)}: {literal(text)}' for name, text in texts.items())}}}"


def first_lines(error: Exception) -> str:
    """The message of an error, without the list of remedies that only SQL knows."""
    text = str(error).split("Possible ")[0].split("\n\n")[0]
    return " ".join(text.split()).rstrip(".")


def conversion_message(name: str, error: Exception) -> str:
    """Which value of a file is not of its column's type, and what to do."""
    found = re.search(
        r'Line: (\d+).*column "(.*)"\. Could not convert string "(.*)" to \'(\w+)\'', str(error), re.DOTALL
    )
    if found is None:
        return f"{name} cannot be read: {first_lines(error)}"
    line, column, value, kind = found.groups()
    what = "number" if kind in ("DOUBLE", "BIGINT") else kind.lower()
    return (
        f"{name}, line {line}: column {column!r} holds {value!r}, which is not a {what}; correct it, leave it "
        f"empty, or declare it a missing value with missing_values=[{value!r}]"
    )


def read_error(name: str, error: Exception, misfit: Callable[[], str | None] = lambda: None) -> DataError:
    """Why a file cannot be read, and what to do."""
    text = str(error)
    if "not utf-8 encoded" in text:
        return DataError(f"{name} is not in UTF-8; say what it is in, such as encoding='windows-1252'")
    if "sniffing" in text or "Expected Number of Columns" in text:
        if (found := misfit()) is not None:
            what = "mend the line, quote fields that hold the separator, or delete lines above the header"
            return DataError(f"{name} is not a table: {found}; {what}")
        line = re.search(r"Line: (\d+)", text)
        where = f" (line {line[1]})" if line else ""
        problem = "its rows have different numbers of fields, or quotes that are not closed"
        return DataError(f"{name} is not a table with a header: {problem}{where}")
    return DataError(f"{name} cannot be read: {first_lines(error)[:400]}")
