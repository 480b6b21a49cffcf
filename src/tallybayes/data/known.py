"""Files whose columns a model knows: read as it learned them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, TypeVar

from tallybayes.core.schema import Schema
from tallybayes.data.columns import matched
from tallybayes.data.files import File, TypeConflict
from tallybayes.data.frames import Table
from tallybayes.data.truths import spelled_in_sql
from tallybayes.errors import DataError

T = TypeVar("T")


def with_retyping(file: Any, work: Callable[[Any], T]) -> T:
    """Work on a file; if a value does not fit the types of the first rows, again with the types of all rows."""
    try:
        return work(file)
    except TypeConflict:
        if file.whole:
            raise
        return work(file.typed_by_all_rows())


def as_learned(file: File, known: Schema, target: str | None = None) -> File:
    """The file with the columns that a model knows read as it learned them: ``007`` is text where it was text."""
    wanted: dict[str, str] = {}
    asked = [(c.name, c.levels, c.kind) for c in known.columns if c.is_evidence and not c.is_read_from_text]
    if file.format == "csv":  # whose numbers may look like others: 1.234 is one thousand where it was
        sources = (c.reading.source for c in known.columns if c.reading is not None and c.is_read_from_text)
        wanted |= {name: "VARCHAR" for name in sources if name in file.types and file.storage(name) != "text"}
    for name, levels, kind in [*asked, (target, known.classes, "category")]:
        if name is None or name not in file.types:
            continue
        storage = file.storage(name)
        values = [level for level in levels or () if level is not None] if kind not in ("text", "tags") else []
        if kind in ("text", "tags"):
            wanted |= {name: "VARCHAR"} if storage != "text" and not file.types[name].endswith("[]") else {}
        elif kind in ("numeric", "count") and storage not in ("number", "integer", "boolean"):
            wanted[name] = "DOUBLE"
        elif values and all(isinstance(level, str) for level in values) and storage != "text":
            wanted[name] = "VARCHAR"
    return file.cast(wanted) if wanted else file


def spelled(file: Any, known: Schema) -> Any:
    """The file with true and false written as the model knows them."""
    plain = (c for c in known.columns if c.is_evidence and not c.is_text)
    columns = [c for c in plain if c.name in file.types]
    found = {c.name: spelled_in_sql(c.name, c.levels, file.storage(c.name)) for c in columns}
    changed = {name: each for name, each in found.items() if each is not None}
    return file.with_columns(changed) if changed else file


def check_columns(file: File, known: Schema, others: Collection[str | None]) -> None:
    """Warn of columns that the file lacks, and of those that the model never saw."""
    table = Table(dict.fromkeys(file.names), 0)  # type: ignore[arg-type]
    known_names = {column.name for column in known.columns}
    if not known_names & set(file.names):
        learned = [column.name for column in known.columns if not column.is_derived]
        raise DataError(
            f"{file.name} has none of the columns that the model knows ({', '.join(learned[:5])}); it has "
            f"{', '.join(file.names[:5])}"
        )
    left = {name: values for name, values in table.columns.items() if name not in others}
    matched(replace(table, columns=left), known, (), True, False, None, "the model")
