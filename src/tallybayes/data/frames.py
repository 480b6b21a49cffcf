"""Tables in memory: pandas, Polars and PyArrow frames, dicts of columns, lists of dicts, arrays."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tallybayes.core.readings import Reading
from tallybayes.data.arrays import is_sparse
from tallybayes.data.inference import Profile
from tallybayes.data.labels import is_missing
from tallybayes.data.values import ArrayValues, SeriesValues, Values
from tallybayes.errors import DataError


@dataclass(frozen=True)
class Table:
    """Columns by name, in their order."""

    columns: Mapping[str, Values]
    n_rows: int
    named: bool = True  # an array's columns only have numbers
    made_by: str = "dict"  # what holds the rows: "pandas", "polars", "pyarrow", "dict" or "array"
    matrix: NDArray[Any] | None = None  # the array behind them, where there is one
    applied: tuple[Reading, ...] = ()  # readings by which some of the columns were read already

    def row(self, number: int) -> dict[str, Any]:
        """The values of one row by column."""
        return {name: values.value(number) for name, values in self.columns.items()}

    def take(self, rows: NDArray[Any]) -> Table:
        """Some rows, by number."""
        columns = {name: values.take(rows) for name, values in self.columns.items()}
        return replace(
            self, columns=columns, n_rows=len(rows), matrix=None if self.matrix is None else self.matrix[rows]
        )

    @staticmethod
    def joined(tables: Sequence[Table]) -> Table:
        """The rows of tables of the same columns, one after another."""
        if len(tables) == 1:
            return tables[0]
        columns = {name: values.joined([t.columns[name] for t in tables]) for name, values in tables[0].columns.items()}
        return replace(tables[0], columns=columns, n_rows=sum(t.n_rows for t in tables), matrix=None)


def read_table(data: Any) -> Table:
    """Read a frame of any kind, a mapping of columns, a list of mappings or an array, without copying its columns."""
    if isinstance(data, Table):
        return data
    if is_sparse(data):
        raise DataError("a sparse matrix is no table of mixed columns; use MultinomialNB or BernoulliNB")
    if isinstance(data, Mapping):
        return _from_columns(data)
    if isinstance(data, (list, tuple)) and data and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(name for row in data for name in row)
        return _from_columns({name: [row.get(name) for row in data] for name in names})
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        frame = None
    except nw.exceptions.DuplicateError:
        raise _twins(map(str, getattr(data, "column_names", None) or data.columns)) from None
    return _from_array(data) if frame is None else _from_frame(frame)


def _from_columns(data: Mapping[Any, Any]) -> Table:
    if len({str(name) for name in data}) < len(data):
        raise _twins(map(str, data))
    columns: dict[str, Values] = {}
    for name, values in data.items():
        try:
            columns[str(name)] = ArrayValues(values)
        except DataError as error:
            raise DataError(f"column {name!r} is no column: {error}") from None
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the columns differ in length: {lengths}")
    return Table(columns, next(iter(lengths.values()), 0))


def _twins(names: Iterable[str]) -> DataError:
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    return DataError(f"columns must have different names, but {repeated} occur more than once; rename them")


def _from_frame(frame: nw.DataFrame[Any]) -> Table:
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise _twins(names)
    columns: dict[str, Values] = {n: SeriesValues(c) for n, c in zip(names, frame.iter_columns(), strict=True)}
    return Table(columns, len(frame), made_by=str(frame.implementation))


def _from_array(data: Any) -> Table:
    if isinstance(data, (str, os.PathLike)):
        raise DataError(
            f"expected a table, got {os.fspath(data)!r}; a file is learned with fit(path, target=…) and predicted with "
            "predict_file(path, out); for all else read it into a frame first"
        )
    matrix = np.asarray(data)
    if matrix.ndim != 2:
        raise DataError(
            f"expected a table or an array of shape (rows, columns), got shape {matrix.shape}. Reshape your data: "
            "array.reshape(-1, 1) for a single column, array.reshape(1, -1) for a single row"
        )
    if matrix.dtype.kind == "c":
        raise DataError("Complex data not supported: split it into real and imaginary columns")
    columns: dict[str, Values] = {f"x{j}": ArrayValues(matrix[:, j]) for j in range(matrix.shape[1])}
    numeric = matrix if matrix.dtype.kind in "fiub" else None
    return Table(columns, matrix.shape[0], named=False, made_by="array", matrix=numeric)


def table_like(columns: Mapping[str, NDArray[Any]], made_by: str) -> Any:
    """Columns as what the training rows came in: a frame, a dict of columns or an array."""
    if made_by == "dict":
        return dict(columns)
    if made_by == "array":
        return np.column_stack(list(columns.values())) if columns else np.zeros((0, 0))
    cells = {name: [None if is_missing(v) else v for v in values.tolist()] for name, values in columns.items()}
    return nw.from_dict(cells, backend=made_by).to_native()  # type: ignore[arg-type]


def whole_numbers(values: NDArray[Any]) -> NDArray[np.int64]:
    """The nearest whole numbers, within what an integer column can hold."""
    limit = 2.0**62
    return np.rint(np.clip(values, -limit, limit)).astype(np.int64)


def profile(name: str, values: Values | Profile) -> Profile:
    """The profile of a column: how much is missing, and its levels or its range; that of a file is there already."""
    if isinstance(values, Profile):
        return values
    levels = values.distinct() if values.storage in ("text", "boolean") else None
    n_missing, declared, ordered = values.n_missing, values.declared, values.ordered
    seen = Profile(name, values.storage, len(values), n_missing, levels, declared=declared, ordered=ordered)
    if values.storage not in ("number", "integer") or seen.n_present == 0:
        return seen
    try:
        numbers = values.numbers(0, len(values))
    except OverflowError:
        raise DataError(
            f"column {name!r} holds integers beyond the range of floats; use kind={{{name!r}: 'category'}}"
        ) from None
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    # A column of row numbers spans exactly as many values as there are rows, each of them once.
    counts_rows = values.storage == "integer" and high - low + 1 == len(values) > 20 and not seen.n_missing
    numbered = counts_rows and len(values.distinct()) == len(values)
    return replace(seen, low=low, high=high, numbered=numbered)
