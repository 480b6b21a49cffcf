"""Write record batches as CSV, TSV, JSON lines or Parquet: to a file, whole or not at all, or to a stream."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tallybayes.data.atomic import replacing
from tallybayes.data.files import MOST_MEMORY
from tallybayes.data.paths import COMPRESSED, FORMATS
from tallybayes.data.spreadsheets import harmless
from tallybayes.data.sql import literal
from tallybayes.data.streams import is_stream
from tallybayes.errors import SettingError

OPTIONS = {
    "csv": "FORMAT csv, HEADER true",
    "parquet": "FORMAT parquet",
    "json": "FORMAT json",
}


def write_batches(
    schema: Any,
    batches: Iterator[Any],
    out: str | os.PathLike[str],
    format: str | None = None,
    safe_csv: bool = False,
) -> int:
    """Write record batches to a file, whole or not at all, or to a stream.

    Parameters
    ----------
    schema : pyarrow.Schema
    batches : iterator of pyarrow.RecordBatch
    out : path
        "-" is the standard output; a device or a pipe is written to as it is.
    format : {"csv", "parquet", "json"}, optional
        Where the suffix does not imply it.
    safe_csv : bool
        Whether texts of a CSV file that begin like a formula get an apostrophe, for spreadsheets.

    Returns
    -------
    int
        Number of rows.
    """
    stream = is_stream(out)
    options = _options(out, format, "csv" if stream else None)
    if safe_csv and options.startswith(OPTIONS["csv"]):
        schema, batches = harmless(schema, batches)
    with replacing(out, durable=False) as temporary:
        if options == OPTIONS["parquet"] and not stream:
            return _as_parquet(schema, batches, str(temporary))
        return _copied(schema, batches, str(temporary), options, str(out))


def _as_parquet(schema: Any, batches: Iterator[Any], path: str) -> int:
    """PyArrow writes Parquet in half the time of DuckDB if only text gets a dictionary."""
    import pyarrow as pa
    from pyarrow import parquet

    words = [field.name for field in schema if pa.types.is_string(field.type)]
    ranges = [name for name in schema.names if name not in words]
    written = 0
    with (
        ThreadPoolExecutor(1) as pool,  # the next batch is made while this one is written
        parquet.ParquetWriter(path, schema, use_dictionary=words, write_statistics=ranges) as writer,
    ):
        ahead = pool.submit(next, batches, None)
        while (batch := ahead.result()) is not None:
            ahead = pool.submit(next, batches, None)
            writer.write_batch(batch)
            written += batch.num_rows
    return written


def _copied(schema: Any, batches: Iterator[Any], path: str, options: str, name: str) -> int:
    """Write CSV or JSON lines, with DuckDB."""
    import duckdb
    import pyarrow as pa

    written, stopped = 0, threading.Event()
    failure: BaseException | None = None

    def counted() -> Iterator[Any]:
        nonlocal written, failure
        try:
            for batch in batches:
                if stopped.is_set():
                    return
                yield batch
                written += batch.num_rows
        except BaseException as error:  # not raised here: DuckDB may wait for ever for a stream that breaks
            failure = error

    def copy() -> None:
        config: dict[str, Any] = {"memory_limit": MOST_MEMORY, "python_enable_replacements": False}
        with duckdb.connect(config=config) as writer:
            writer.register("batches", pa.RecordBatchReader.from_batches(schema, counted()))
            writer.execute(f"COPY (FROM batches) TO {literal(path)} ({options}, USE_TMP_FILE false)")

    # On a thread of its own, so that Ctrl-C reaches Python: it ends the batches, and with them the writing.
    with ThreadPoolExecutor(1) as pool:
        try:
            pool.submit(copy).result()
        except duckdb.Error as error:
            if "Broken pipe" in str(error):
                raise BrokenPipeError from error
            raise OSError(f"cannot write {name}: {' '.join(str(error).split())[:300]}") from error
        except BaseException:
            stopped.set()
            raise
    if failure is not None:
        raise failure
    return written


def _options(out: str | os.PathLike[str], format: str | None, usual: str | None) -> str:
    """DuckDB's options for a file of that name; the usual format where neither the name nor anybody shows another."""
    path = Path(out)
    compressed = path.suffix.lower() in COMPRESSED
    suffix = (path.with_suffix("") if compressed else path).suffix.lower()
    kind = format or FORMATS.get(suffix, usual)
    if kind not in OPTIONS:
        raise SettingError(f"predictions are written as .csv, .tsv, .parquet or .jsonl, not as {path.name!r}")
    tabbed = ", DELIMITER '\\t'" if suffix in (".tsv", ".tab") else ""
    compression = f", COMPRESSION {'gzip' if path.suffix.lower() == '.gz' else 'zstd'}" if compressed else ""
    return OPTIONS[kind] + tabbed + compression
