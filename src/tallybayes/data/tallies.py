"""Tallies of files, of lazy tables and of frames in memory: what `Tally.of` finds here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw

from tallybayes.core.batch import MISSING
from tallybayes.core.schema import Schema, in_order
from tallybayes.core.tally import Tally, count
from tallybayes.data.columns import Overrides, inferred, split_target
from tallybayes.data.file_tallies import check_unlabelled, learn_file
from tallybayes.data.files import Progress
from tallybayes.data.labels import encode
from tallybayes.data.streaming import labelled, objects
from tallybayes.data.survey import refuse_regression, refuse_unlabelled
from tallybayes.data.tables import read_table
from tallybayes.errors import DataError
from tallybayes.families import family_of


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
