"""Tallies of arrays, tables, files and engines' tables, as the textbook reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw

from tallybayes.core.tally import Tally
from tallybayes.data.arrays import is_array, tally_array
from tallybayes.data.opening import is_stored, open_source
from tallybayes.data.overrides import Overrides
from tallybayes.data.progress import Progress
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
    if is_table(data):
        return tally_table(data, target, family=family, **options)
    raise DataError(f"cannot count a {type(data).__name__}; pass an array, a sparse matrix, a table or a path")


def is_table(data: Any) -> bool:
    """Whether the data is a table: a frame, a dict of columns, a file, or a table that stays in an engine."""
    if isinstance(data, Mapping) or is_stored(data):
        return True
    return isinstance(nw.from_native(data, pass_through=True), nw.DataFrame)


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
    progress: Progress | None = None,
) -> Tally:
    """Tally the rows of a table, wherever it is; the options are those of `tally`.

    ``progress`` receives now and then the share that is done.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "days.csv"
    >>> _ = path.write_text("wind,degrees,play\\nstrong,12.5,no\\nweak,,yes\\nweak,21,yes\\n")
    >>> tally_table(path, target="play")
    Tally(3 rows; no: 1, yes: 2; 2 columns)
    """
    if unlabelled not in ("error", "ignore"):
        raise SettingError(f"unlabelled must be 'error' or 'ignore', not {unlabelled!r}")
    if target is None:
        raise DataError("a tally of a table needs the column of class labels: target=…")
    source = open_source(data, target, weight, unlabelled, progress=progress)
    overrides = Overrides.of(kind, family, drop, missing, None)
    schema = source.profile(overrides)
    places = overrides.places(schema)
    return source.count(schema, places, {block: family_of(block)() for block in places})
