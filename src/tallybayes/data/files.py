"""Rows from files: CSV, TSV, Parquet, JSON lines and Arrow, one or many, plain or compressed, read by DuckDB.

A `File` holds the names and types of the columns, not the rows: counting and streaming take memory for a few batches of
rows, whatever the size.
"""

from __future__ import annotations

import base64
import csv
import glob
import math
import os
import re
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tallybayes.core.readings import Reading
from tallybayes.core.schema import plural
from tallybayes.core.threads import cores
from tallybayes.data.dates import coarser_in_sql
from tallybayes.data.encodings import in_utf8
from tallybayes.data.frames import Table
from tallybayes.data.lines import header_of, misfit
from tallybayes.data.paths import Stamp, format_of, found_paths, one_character, stamps_of
from tallybayes.data.progress import Progress, interruptible, watched
from tallybayes.data.reading import expressions
from tallybayes.data.sql import conversion_message, first_lines, literal, quoted, read_error, struct
from tallybayes.data.tags import listed_in_sql
from tallybayes.data.values import Storage
from tallybayes.data.workbooks import read_workbook
from tallybayes.errors import DataError

__all__ = ["File", "Progress", "TypeConflict", "is_file", "known_column", "literal", "open_file", "quoted"]

BATCH = 122_880  # rows that are streamed at a time: DuckDB's own row group
FIRST = 8192  # first rows that types are inferred from before all rows are counted
# Bytes that are read at a time where only the first rows are needed; DuckDB would read eight times that.
SMALL = 1 << 22
MOST_MEMORY = "600MB"  # beyond which DuckDB writes what it must remember to disk

# A CSV holds numbers and text. Words such as yes and true stay words: they are labels more often than not; and dates
# are read from text in the same way wherever they are (`data/dates.py`).
CSV_TYPES = "['BIGINT', 'DOUBLE', 'VARCHAR']"

STORAGE: dict[str, Storage] = {
    "BOOLEAN": "boolean",
    "FLOAT": "number", "DOUBLE": "number",
    "VARCHAR": "text", "UUID": "text",
    "DATE": "date", "INTERVAL": "date",
    '"NULL"': "empty",
}  # fmt: skip


class TypeConflict(DataError):
    """A value does not fit the type that was inferred from the first rows; that of all rows will."""


def is_file(data: Any) -> bool:
    """Whether the data is a path or a pattern of paths."""
    return isinstance(data, (str, os.PathLike, File))


@dataclass(frozen=True)
class File:
    """Files with the same columns, and how DuckDB reads them."""

    name: str  # as the user wrote it
    paths: tuple[str, ...]
    format: str
    missing_values: tuple[str, ...]  # words that stand for a missing value, in a CSV
    connection: Any
    scan: str  # the operand of FROM
    types: dict[str, str]  # DuckDB's type of each column
    whole: bool = False  # whether the types were inferred from every row
    start: str = ""  # the operand of FROM where only the first rows are needed, if another
    delimiter: str | None = None  # between the fields of a CSV, where it was given
    decimal: str | None = None  # the decimal mark of a CSV, where it was given
    folder: Any = None  # the folder of copies in UTF-8, which lives as long as the file
    stamps: tuple[Stamp, ...] = ()  # of the files when they were opened

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.types)

    def storage(self, name: str) -> Storage:
        """How the values of a column are stored."""
        kind = self.types[name]
        if kind.startswith("ENUM"):
            return "text"
        if kind.startswith(("TIME", "TIMESTAMP")):
            return "date"
        if kind.startswith("DECIMAL"):
            return "number"
        if kind.endswith(("INT", "INTEGER")):
            return "integer"
        return STORAGE.get(kind, "other")

    def query(self, sql: str, progress: Progress | None = None) -> list[tuple[Any, ...]]:
        """Run a query; ``{scan}`` stands for the files."""
        with self.errors(), watched(self.connection, self.size, progress):
            return self.connection.execute(sql.replace("{scan}", self.scan)).fetchall()

    def batches(self, columns: Sequence[str] | None = None, where: str = "", rows: int = BATCH) -> Iterator[Any]:
        """Stream record batches of PyArrow, in the order of the rows: of all rows, or where a condition holds."""
        chosen = "*" if columns is None else ", ".join(map(quoted, columns)) or "1"
        kept = f" WHERE {where}" if where else ""
        with self.errors():
            yield from self.connection.sql(f"SELECT {chosen} FROM {self.scan}{kept}").to_arrow_reader(rows)

    def tables(self, columns: Sequence[str] | None = None, where: str = "") -> Iterator[Table]:
        """The same as tables."""
        from tallybayes.data.arrow import tables_of  # with PyArrow, which not every use of this module needs

        return tables_of(self.batches(columns, where))

    def first(self, rows: int, columns: Sequence[str] | None = None) -> Table:
        """The first rows, of all columns or of some."""
        from tallybayes.data.arrow import arrow_table  # with PyArrow, which not every use of this module needs

        with self.errors():
            chosen = "*" if columns is None else ", ".join(map(quoted, columns))
            sql = f"SELECT {chosen} FROM {self.start or self.scan} LIMIT {rows}"
            return arrow_table(self.connection.sql(sql).to_arrow_table())

    def is_numbering(self, name: str, seen: Any) -> bool:
        """Whether whole numbers that span as many values as there are rows have each of them once."""
        low, high = int(seen.low), int(seen.high)
        ((different,),) = self.query(f"SELECT bit_count(bitstring_agg({quoted(name)}, {low}, {high})) FROM {{scan}}")
        return bool(different == high - low + 1)

    @cached_property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(os.path.getsize(path) for path in self.paths)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn DuckDB's errors into ours."""
        import duckdb

        try:
            with interruptible():
                yield
        except duckdb.ConversionException as error:
            raise TypeConflict(conversion_message(self.name, error)) from error
        except duckdb.Error as error:
            raise read_error(self.name, error, self._misfit) from error

    def _misfit(self) -> str | None:
        """The first line of a CSV that has other fields than its header."""
        if self.format != "csv" or len(self.paths) > 1:
            return None
        return misfit(self.paths[0], _separator(self, _header(self)[0]))

    def cast(self, types: Mapping[str, str]) -> File:
        """The same files with some columns read as other types; a value that does not fit is an error."""
        of_csv = {name: kind for name, kind in types.items() if self.format == "csv"}
        file = _opened(self, self.whole, of_csv)
        rest = {n: (f"{quoted(n)}::{kind}", kind) for n, kind in types.items() if n not in of_csv}
        file = file.with_columns(rest) if rest else file
        return replace(file, types={**file.types, **types})

    def with_plain_types(self) -> File:
        """The same files with lists of tags as text, and times in a type that functions take."""
        changed = listed_in_sql(self.types) | coarser_in_sql(self.types)
        return self.with_columns(changed) if changed else self

    def without(self, name: str, value: int) -> File:
        """The same files with a number of a column read as a missing value."""
        return self.with_columns({name: (f"nullif({quoted(name)}, {value})", self.types[name])})

    def listed(self, levels: Mapping[str, Sequence[str]]) -> File:
        """The same files with columns of text as places in the list of all their values: these take a byte each."""
        if not levels:
            return self
        kinds = {name: f"ENUM({', '.join(map(literal, each))})" for name, each in levels.items()}
        # The plain cast may fail, so DuckDB would cast each row rather than each value of a dictionary of Parquet.
        return self.with_columns({name: (f"TRY_CAST({quoted(name)} AS {kind})", kind) for name, kind in kinds.items()})

    def counted(self, weight: str) -> File:
        """The same files without the rows whose weight is zero."""
        if self.storage(weight) not in ("number", "integer", "boolean"):
            return self
        which = f"WHERE CAST({quoted(weight)} AS DOUBLE) IS DISTINCT FROM 0)"
        scan, start = (f"(SELECT * FROM {each} {which}" for each in (self.scan, self.start or self.scan))
        return replace(self, scan=scan, start=start)

    def with_columns(self, columns: Mapping[str, tuple[str, str]]) -> File:
        """The same files with some columns replaced by an expression of SQL, of a type."""
        kept = ", ".join(f"{expression} AS {quoted(name)}" for name, (expression, _) in columns.items())
        scan, start = (f"(SELECT * REPLACE ({kept}) FROM {which})" for which in (self.scan, self.start or self.scan))
        types = {name: kind for name, (_, kind) in columns.items()}
        return replace(self, scan=scan, start=start, types={**self.types, **types})

    def read_as(self, readings: Mapping[str, Reading]) -> File:
        """The same files with columns that are read from others."""
        found = expressions(readings, self.storage)
        if not found:
            return self
        known = {name: kind or self.types[readings[name].source] for name, (_, kind) in found.items()}
        changed = ", ".join(f"{found[name][0]} AS {quoted(name)}" for name in found if name in self.types)
        added = "".join(f", {found[name][0]} AS {quoted(name)}" for name in found if name not in self.types)
        chosen = f"*{f' REPLACE ({changed})' if changed else ''}{added}"
        scan, start = (f"(SELECT {chosen} FROM {which})" for which in (self.scan, self.start or self.scan))
        return replace(self, scan=scan, start=start, types={**self.types, **known})

    def typed_by_all_rows(self) -> File:
        """The same files, with types that fit every row of them."""
        return replace(_opened(self, whole=True), whole=True)


def open_file(
    path: Any,
    missing_values: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> File:
    """Infer the columns and types of a file, or of all files of a pattern such as ``data/2024-*.parquet``.

    ``missing_values`` are words that stand for a missing value in a CSV, besides the empty field; ``encoding``,
    ``delimiter`` and ``decimal`` are those of a CSV, where they are not to be recognised.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "days.csv"
    >>> _ = path.write_text("wind,degrees,play\\nstrong,12.5,no\\nweak,,yes\\n")
    >>> open_file(path).types
    {'wind': 'VARCHAR', 'degrees': 'DOUBLE', 'play': 'VARCHAR'}
    """
    if isinstance(path, File):
        return path
    import duckdb

    name = os.path.expanduser(os.fspath(path))
    paths = found_paths(name)
    connection = duckdb.connect(
        config={
            "memory_limit": MOST_MEMORY,
            "temp_directory": os.path.join(tempfile.gettempdir(), f"tallybayes-{os.getpid()}"),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            # The statistics of a Parquet file do not count NaN, and DuckDB would conclude that there is none.
            "disabled_optimizers": "statistics_propagation",
            # One more than there are cores: a thread that waits for its part of a CSV leaves its core to another.
            "threads": cores() + 1,
        }
    )
    format, folder = format_of(paths[0]), None
    if format == "csv":
        paths, folder = in_utf8(name, paths, encoding)
    words = tuple(map(str, missing_values))
    fields = one_character(delimiter), decimal, folder, stamps_of(paths)
    file = File(name, paths, format, words, connection, "", {}, False, "", *fields)
    return _opened(file, whole=False)


def _opened(file: File, whole: bool, types: Mapping[str, str] | None = None) -> File:
    """The file with its scan and its types, inferred from the first rows or from all; some types may be given."""
    with file.errors():
        if file.format == "csv":
            return _opened_csv(file, whole, types or {})
        many = f"union_by_name = {'true' if len(file.paths) > 1 else 'false'}"
        if file.format == "parquet":
            scan = f"read_parquet({_files(file)}, {many})"
        elif file.format == "json":
            scan = f"read_json({_files(file)}, sample_size = {-1 if whole else FIRST}, {many})"
        else:
            scan = _registered(file) if file.format == "arrow" else _sheets(file)
        types = _described(file, scan)
        if file.format == "parquet" and "BIGINT" in types.values():
            types |= dict.fromkeys((name for name in _durations(file) if types.get(name) == "BIGINT"), "INTERVAL")
        return replace(file, scan=scan, types=types)


def _durations(file: File) -> list[str]:
    """Columns of a Parquet file that were durations: it keeps them as whole numbers, and Arrow's schema beside."""
    where = f"parquet_kv_metadata({literal(glob.escape(file.paths[0]))}) WHERE key = 'ARROW:schema'"
    found = file.connection.execute(f"SELECT value FROM {where}").fetchall()
    if not found:
        return []
    import pyarrow as pa

    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(found[0][0])))
    except (pa.ArrowInvalid, ValueError, OSError):  # whoever wrote it, the columns are there
        return []
    return [field.name for field in schema if pa.types.is_duration(field.type)]


def _described(file: File, scan: str) -> dict[str, str]:
    return {str(name): str(kind) for name, kind, *_ in file.connection.execute(f"DESCRIBE FROM {scan}").fetchall()}


def _opened_csv(file: File, whole: bool, given: Mapping[str, str]) -> File:
    """The separator is that of the header; only the types are inferred."""
    words = ", ".join(map(literal, ("", *file.missing_values)))
    header, empty = _header(file)
    separator = _separator(file, header)
    how = f"delim = {literal(separator)}, quote = '\"', escape = '\"', comment = '', skip = {empty}, header = true"
    how = f"{how}, nullstr = [{words}]"
    kinds = CSV_TYPES if file.decimal != "," else CSV_TYPES.replace("'DOUBLE', ", "")  # 1.234 is one thousand there
    inferred = f"auto_type_candidates = {kinds}, sample_size = {-1 if whole else FIRST}"
    inferred += f", types = {struct(given)}" if given else ""
    many = len(file.paths) > 1
    united = "true" if many else "false"
    scan = f"read_csv({_files(file)}, auto_detect = true, {how}, {inferred}, union_by_name = {united})"
    few = f"buffer_size = {SMALL})"
    types = _described(file, scan if whole else f"{scan[:-1]}, {few}")
    if not many:  # given from now on, so that it is not inferred again with every query
        scan = f"read_csv({_files(file)}, auto_detect = false, {how}, columns = {struct(types)})"
    return replace(file, scan=scan, types=types, start=f"{scan[:-1]}, {few}")


def _header(file: File) -> tuple[str, int]:
    """The header as it is, and how many empty lines stand before it."""
    path = file.paths[0]
    if not path.lower().endswith((".zst", ".zstd")):
        try:
            return header_of(path)
        except (OSError, EOFError, zlib.error):  # what is damaged is an error where the rows are read
            return "", 0
    raw = "auto_detect = false, columns = {'line': 'VARCHAR'}, delim = '\x01', quote = '', escape = '', header = false"
    lines = file.connection.execute(f"FROM read_csv({literal(glob.escape(path))}, {raw}) LIMIT 1").fetchall()
    return (str(lines[0][0] or ""), 0) if lines else ("", 0)


def _separator(file: File, header: str) -> str:
    """The character between the fields: the most frequent candidate in the header, outside quotes."""
    outside = "".join(header.split('"')[::2])
    separator = file.delimiter or max(",\t;|", key=outside.count)
    seen: dict[str, str] = {}
    # DuckDB would rename the second of two columns of one name; they are an error here, as in every other table.
    for name in next(csv.reader([header], delimiter=separator), []):
        if name and name.lower() in seen:
            other = seen[name.lower()]
            raise DataError(
                f"columns must have different names, but {file.name} has {other!r} and {name!r}; rename one of them"
            )
        seen[name.lower()] = name
    return separator


def _files(file: File) -> str:
    """The list of paths in SQL; special characters in a name are no pattern."""
    return f"[{', '.join(literal(glob.escape(path)) for path in file.paths)}]"


def _registered(file: File) -> str:
    """Arrow files, which DuckDB reads through PyArrow."""
    import pyarrow as pa
    from pyarrow import dataset

    try:
        file.connection.register("arrow_files", dataset.dataset(list(file.paths), format="ipc"))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{file.name} cannot be read as an Arrow file: {first_lines(error)}") from error
    return "arrow_files"


def _sheets(file: File) -> str:
    """The first sheets of spreadsheets, as one table."""
    import pyarrow as pa

    tables = [read_workbook(path) for path in file.paths]
    file.connection.register("sheets", pa.concat_tables(tables, promote_options="permissive"))
    return "sheets"


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def known_column(file: Any, name: str, what: str) -> str:
    """The name of a column that exists; otherwise an error that suggests a similar one."""
    import difflib

    if name in file.types:
        return name
    near = difflib.get_close_matches(name, file.names, n=1)
    shown = ", ".join(map(repr, file.names[:10])) + (" …" if len(file.names) > 10 else "")
    hint = f"; did you mean {near[0]!r}?" if near else f"; it has {plural(len(file.names), 'column')}: {shown}"
    if getattr(file, "format", "") == "csv" and any(name[:1].isdigit() and _is_number(name) for name in file.names):
        hint += " (does the file begin with its rows? It needs a header)"
    elif 2 * sum(re.fullmatch(r"column[0-9]+", name) is not None for name in file.names) > len(file.names):
        hint += " (does a title stand above the header? Delete it: the header must be the first row)"
    raise DataError(f"{file.name} has no column {name!r} for the {what}{hint}")
