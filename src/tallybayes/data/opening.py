"""Every kind of table that can be learned, opened as a source of labelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.data.columns import split_target
from tallybayes.data.engine_scans import EngineSource
from tallybayes.data.engines import Lazy, is_lazy
from tallybayes.data.files import is_file, open_file
from tallybayes.data.frames import Table, read_table
from tallybayes.data.progress import Progress
from tallybayes.data.scans import FileSource, Scan
from tallybayes.data.sources import MatrixSource, Source, TableSource
from tallybayes.data.targets import NO_LABEL, Target, check_unlabelled
from tallybayes.errors import DataError, SettingError


def is_stored(data: Any) -> bool:
    """Whether the rows are in files or in an engine, and are counted there."""
    return is_file(data) or is_lazy(data)


def open_source(
    data: Any,
    target: Any,
    weight: Any = None,
    unlabelled: str = "error",
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Source:
    """Open a table for learning.

    Parameters
    ----------
    data : table, path or Source
        A pandas, Polars or PyArrow frame, a dict of columns, a list of dicts or an array; a file, or a pattern of
        files, of CSV, Parquet, JSON lines or Arrow; a DuckDB relation, a Polars LazyFrame, an Ibis, Spark or Dask
        table. A source is returned as it is, without rows of weight zero.
    target : array-like of shape (n,) or str
        Class labels, or the name of the column that holds them.
    weight : array-like of shape (n,) or str, optional
        How much each row counts, or the name of the column that holds it.
    unlabelled : {"error", "ignore", "em"}
        What to do with rows that have no label (None, NaN, and −1 among integers unless they are an error). Files and
        tables of engines are read into memory with "em", which passes over all rows many times.
    n_jobs : int, optional
        Threads.
    progress : callable, optional
        Receives the share that is done while files are read.
    encoding, delimiter, decimal : str, optional
        Those of CSV files, where they are not to be recognised.

    Returns
    -------
    Source

    Examples
    --------
    >>> source = open_source({"wind": ["strong", "weak", "weak"], "play": ["no", "yes", "yes"]}, "play")
    >>> source.facts.n_rows, source.classes
    (3, ('no', 'yes'))
    """
    if isinstance(data, FileSource | MatrixSource):
        return data
    if isinstance(data, TableSource):
        return data.counted()
    check_unlabelled(unlabelled)
    if not is_stored(data):
        return _in_memory(read_table(data), target, weight, unlabelled, n_jobs)
    file = open_file(data, (), encoding, delimiter, decimal) if is_file(data) else Lazy.of(data)
    for what, name in (("target", target), ("sample_weight", weight)):
        if name is not None and not isinstance(name, str):
            of = "a lazy table" if isinstance(file, Lazy) else "a file"
            raise SettingError(f"{what} of {of} must be the name of one of its columns")
    if target is None:
        raise DataError(f"{file.name} needs the column of class labels: target=…")
    scan = Scan(target, weight, unlabelled, progress, n_jobs).checked(file)
    if unlabelled == "em":
        table = _all_rows(file)
        return _in_memory(table, target, weight, unlabelled, n_jobs)
    return EngineSource(file, scan) if isinstance(file, Lazy) else FileSource(file, scan)


def _all_rows(file: Any) -> Table:
    """All rows of files or of an engine's table, in memory."""
    if isinstance(file, Lazy):
        return Table.joined(list(file.tables(file.names)))
    from tallybayes.data.known import with_retyping

    return with_retyping(file, lambda each: Table.joined(list(each.tables())))


def _in_memory(table: Table, target: Any, weight: Any, unlabelled: str, n_jobs: int | None) -> TableSource:
    name = target if isinstance(target, str) else None
    if isinstance(weight, str):
        table, weight = split_target(table, weight)
    if isinstance(target, str):
        table, target = split_target(table, target)
    labels = Target.of(target, unlabelled)
    if labels.nothing_known:
        raise DataError(NO_LABEL)
    if labels.keep is not None:
        table = table.take(labels.keep)
        weight = weight if weight is None or np.ndim(weight) == 0 else np.asarray(weight)[labels.keep]
    return TableSource.of(table, labels, weight, name, n_jobs).counted()
