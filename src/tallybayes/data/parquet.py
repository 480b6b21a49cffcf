"""Plain columns of Parquet files, read as they are stored.

DuckDB copies every value into Arrow's form, and looks text up row by row. PyArrow reads numbers where they are decoded,
and text as places in the list of its values that the file holds: half the work. Whatever a query would change, or is
stored in another way, DuckDB reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tallybayes.data.arrow import ENUMERATED, arrow_table
from tallybayes.data.files import BATCH, File
from tallybayes.data.frames import Table
from tallybayes.errors import DataError

# DuckDB's types, and how the names of Arrow's for the same values begin.
PLAIN = {
    "DOUBLE": ("double",), "FLOAT": ("float",), "BOOLEAN": ("bool",),
    "VARCHAR": ("string", "large_string", *ENUMERATED),
    "BIGINT": ("int64",), "INTEGER": ("int32",), "SMALLINT": ("int16",), "TINYINT": ("int8",),
    "UBIGINT": ("uint64",), "UINTEGER": ("uint32",), "USMALLINT": ("uint16",), "UTINYINT": ("uint8",),
}  # fmt: skip


def stored_tables(file: File, columns: Sequence[str], listed: Collection[str]) -> Iterator[Table] | None:
    """All rows of some columns, a part at a time; those listed as places in the list of their values.

    None where a query has to read them.
    """
    if not _is_unchanged(file) or not columns or not all(file.types.get(name) in PLAIN for name in columns):
        return None
    try:
        if not all(_has(file, pq.read_schema(path), columns) for path in file.paths):
            return None
    except (pa.ArrowException, OSError):  # DuckDB reads it, or says why not
        return None
    return _read(file, columns, [name for name in columns if name in listed])


def _is_unchanged(file: File) -> bool:
    """Whether the rows are those of the files, and nothing is changed in them or taken from the names of folders."""
    return file.scan.startswith("read_parquet(") and not any("=" in path for path in file.paths)


def _has(file: File, schema: Any, columns: Sequence[str]) -> bool:
    """Whether a file has such columns, under their own names, with values of the types that DuckDB reads."""
    places = [schema.get_field_index(name) for name in columns]  # −1 where there is none or more than one
    if min(places) < 0 or any("." in name for name in columns):  # a dot leads into a record
        return False
    kinds = [str(schema.field(place).type) for place in places]
    return all(kind.startswith(PLAIN[file.types[name]]) for name, kind in zip(columns, kinds, strict=True))


def _read(file: File, columns: Sequence[str], listed: Sequence[str]) -> Iterator[Table]:
    try:
        for path in file.paths:
            with pq.ParquetFile(path, read_dictionary=listed, pre_buffer=False) as stored:
                # Rows are counted meanwhile, and threads for each of the columns would only wait for one another.
                for batch in stored.iter_batches(BATCH, columns=list(columns), use_threads=False):
                    yield arrow_table(pa.Table.from_batches([batch]))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{file.name} cannot be read: {error}") from error
