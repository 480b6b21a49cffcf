"""Tallies of arrays, of files, of lazy tables and of frames in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw

from tallybayes.core.batch import MISSING
from tallybayes.core.schema import Schema, in_order
from tallybayes.core.tally import Tally, count
from tallybayes.data.arrays import is_array, tally_array
from tallybayes.data.columns import Overrides, inferred, split_target
from tallybayes.data.file_tallies import check_unlabelled, is_source, learn_file
from tallybayes.data.files import Progress
from tallybayes.data.labels import encode
from tallybayes.data.streaming import labelled, objects
from tallybayes.data.survey import refuse_regression, refuse_unlabelled
from tallybayes.data.tables import read_table
from tallybayes.errors import DataError, SettingError
from tallybayes.families import family_of


def tally(data: Any, target: Any = None, family: Any = None, **options: Any) -> Tally:
    """Count rows of any kind.

    Parameters
    ----------
    data : array or sparse matrix of shape (n, d), path, frame or lazy table
        A path, or a pattern of paths, is that of CSV, Parquet, JSON lines or Arrow files. A lazy table (DuckDB
        relation, Polars LazyFrame, Ibis table, Spark or Dask DataFrame) is counted by its engine.
    target : array-like of shape (n,), or str
        Class labels; of files and tables, the name of the column that holds them.
    family : Family, or mapping of column to str
        How an array is counted; of files and tables, the families of columns that are not to have the usual one.
    **options
        For arrays ``weight``, ``names``, ``classes``, ``n_jobs``; for files and tables ``kind``, ``drop``, ``missing``,
        ``weight`` (a column) and ``unlabelled``.

    Returns
    -------
    Tally

    Examples
    --------
    >>> tally({"wind": ["strong", "weak", "weak"], "play": ["no", "yes", "yes"]}, "play")
    Tally(3 rows; no: 1, yes: 2; 1 column)
    """
    if is_array(data):
        if family is None:
            raise SettingError("an array is counted by one family: tally(x, y, families.Gaussian())")
        return tally_array(data, target, family, **options)
    if is_source(data):
        return tally_file(data, target, family=family, **options)
    if is_table(data):
        return tally_table(data, target, family=family, **options)
    raise DataError(f"cannot count a {type(data).__name__}; pass an array, a sparse matrix, a table or a path")


def tally_file(
    data: Any,
    target: str | None = None,
    *,
    kind: Mapping[str, Any] | None = None,
    family: Mapping[str, str] | None = None,
    drop: Sequence[str] | None = None,
    missing: Any = "ignore",
    weight: str | None = None,
    unlabelled: str = "error",
    progress: Progress | None = None,
) -> Tally:
    """Tally the rows of a file, of all files of a pattern, or of a table in a database, in Spark or in Dask.

    Parameters
    ----------
    data : path or str, or lazy table
        CSV, TSV, Parquet, JSON lines or Arrow; or a DuckDB relation, a Polars LazyFrame, an Ibis table, a Spark or Dask
        DataFrame.
    target : str
        The column of class labels.
    kind, family, drop, missing
        As in `NaiveBayes`.
    weight : str, optional
        The column of row weights.
    unlabelled : {"error", "ignore"}
        What to do with rows that have no label.
    progress : callable, optional
        Told now and then the share that is done.

    Returns
    -------
    Tally

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "days.csv"
    >>> _ = path.write_text("wind,degrees,play\\nstrong,12.5,no\\nweak,,yes\\nweak,21,yes\\n")
    >>> tally_file(path, target="play")
    Tally(3 rows; no: 1, yes: 2; 2 columns)
    """
    told = Overrides.of(kind, family, drop, missing, None)
    return learn_file(data, target, told, weight=weight, unlabelled=unlabelled, progress=progress).tally


def is_table(data: Any) -> bool:
    """Whether the data is a frame in memory, or a dict of columns."""
    return isinstance(data, Mapping) or isinstance(nw.from_native(data, pass_through=True), nw.DataFrame)


def tally_table(
    data: Any,
    target: str | None = None,
    *,
    kind: Mapping[str, Any] | None = None,
    family: Mapping[str, str] | None = None,
    drop: Sequence[str] | None = None,
    missing: Any = "ignore",
    weight: str | None = None,
    unlabelled: str = "error",
) -> Tally:
    """Tally the rows of a frame in memory; the parameters are those of `tally_file`.

    Examples
    --------
    >>> tally_table({"wind": ["strong", "weak", "weak"], "play": ["no", "yes", "yes"]}, target="play")
    Tally(3 rows; no: 1, yes: 2; 1 column)
    """
    check_unlabelled(unlabelled)
    if target is None:
        raise DataError("a tally of a table needs the column of class labels: target=…")
    told, table = Overrides.of(kind, family, drop, missing, None), read_table(data)
    rest, labels = split_target(table, target)
    labels = objects(list(labels))
    present = encode(labels, objects([])) != MISSING
    refuse_unlabelled(int((~present).sum()), unlabelled, "the table", target)
    if weight is not None and weight not in table.columns:
        raise DataError(f"the table has no column {weight!r} for the weights")
    seen = replace(rest, columns={name: values for name, values in rest.columns.items() if name != weight})
    columns = inferred(seen, told, whole=True)
    classes = in_order(set(labels[present].tolist()))
    refuse_regression("the table", target, classes)
    schema = Schema(columns, classes)
    places = told.places(schema)
    rows = labelled(table, schema, places, target, weight)
    return count(rows, {block: family_of(block)() for block in places})
