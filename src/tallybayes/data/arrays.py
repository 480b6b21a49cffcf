"""Rows from NumPy arrays and SciPy sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import MISSING, Batch, Codes, Csr, Encoded, Labels, Matrix
from tallybayes.core.family import Family
from tallybayes.core.schema import Column, Kind, NumberedColumns, Schema
from tallybayes.core.tally import Tally, count
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.data.labels import distinct, encode, encode_labels, is_missing, row_weights
from tallybayes.errors import CellError, DataError, NegativeError, row_number

MOST_LEVELS = 1 << 24  # levels of one column beyond which codes are taken for a mistake


def is_array(data: Any) -> bool:
    """Whether this source can read the data."""
    return isinstance(data, (np.ndarray, list, tuple)) or is_sparse(data)


def is_sparse(data: Any) -> bool:
    """Whether the data is a SciPy sparse matrix; asked without importing SciPy, which is slow.

    Its class is asked: a frame of Spark Connect has every attribute, as a column that may be there.
    """
    return hasattr(type(data), "tocsr") and hasattr(type(data), "nnz")


def tally_array(
    data: Any,
    target: Any,
    family: Family,
    *,
    weight: Any = None,
    names: Sequence[str] | None = None,
    classes: Any = None,
    n_jobs: int | None = None,
) -> Tally:
    """Tally an array of numbers, counts, yes and no, or the values of categories with one family.

    Columns without ``names`` are ``x0, x1, …``; ``classes`` are all classes, where the target does not show each.
    """
    if target is None:
        raise DataError("a tally needs the class label of each row; pass them as the second argument")
    name, kind = family.name, family.kind
    labels, x = np.asarray(target), data if is_sparse(data) else np.asarray(data)
    shapes = x.shape, labels.shape, (labels.shape if weight is None else np.shape(weight))
    if x.ndim != 2 or shapes[1:] != ((x.shape[0],), (x.shape[0],)):
        raise DataError(
            f"the data has the shape {shapes[0]}, the target {shapes[1]}, the weights {shapes[2]}; "
            "expected (n, d), (n,) and (n,)"
        )
    if names is not None and len(names) != x.shape[1]:
        raise DataError(f"{len(names)} names for {x.shape[1]} columns")
    if is_sparse(x) and kind in ("numeric", "category"):
        raise DataError(f"{kind} columns cannot be sparse; pass a dense array")
    known = distinct(labels) if classes is None else np.asarray(classes)
    weights = row_weights(weight, len(labels))
    columns: Sequence[Column]
    matrix: Matrix
    if family.is_coded:
        columns, matrix = value_codes(x, names)
    else:
        columns, matrix = columns_of(x.shape[1], kind, names), _matrix(x, names)
    batch = one_block(
        name, Schema(columns, tuple(known.tolist())), matrix, Labels.hard(encode_labels(labels, known), weights)
    )
    return count(batch, {name: family}, n_jobs)


def _matrix(x: Any, names: Sequence[str] | None) -> Matrix:
    """Numbers as they are; text among them is an error that names the cell."""
    if is_sparse(x):
        return sparse_rows(x, canonical=True)
    if x.dtype.kind in "fiub":
        return x
    try:
        return x.astype(np.float64)
    except (TypeError, ValueError):
        for (row, column), value in np.ndenumerate(x):
            try:
                float(np.nan if is_missing(value) else value)
            except (TypeError, ValueError):
                name = f"x{column}" if names is None else names[column]
                raise DataError(
                    f"column {name!r} holds {value!r}, which is no number (row {row_number(row)})"
                ) from None
        raise


def one_block(name: str, schema: Schema, x: Matrix, labels: Labels | None = None) -> Batch:
    """A batch whose columns are all of one family."""
    return Batch(schema, {name: Encoded(range(x.shape[1]), x)}, x.shape[0], labels)


def columns_of(n_columns: int, kind: Kind, names: Sequence[str] | None) -> Sequence[Column]:
    """Columns without levels, by name or by number."""
    return NumberedColumns(n_columns, kind) if names is None else tuple(Column(str(name), kind) for name in names)


def sparse_rows(x: Any, canonical: bool = False) -> Csr:
    """A SciPy sparse matrix as rows of entries; ``canonical`` sums duplicate entries first."""
    x = x.tocsr()
    if canonical and not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    data = x.data if x.data.dtype in (np.float64, np.float32) else x.data.astype(np.float64)
    # SciPy may use one width for the columns and another for the row ends.
    start = x.indptr if x.indptr.dtype == x.indices.dtype else x.indptr.astype(x.indices.dtype)
    return Csr(np.ascontiguousarray(data), np.ascontiguousarray(x.indices), np.ascontiguousarray(start), x.shape[1])


def value_codes(x: NDArray[Any], names: Sequence[str] | None) -> tuple[tuple[Column, ...], Codes]:
    """Categories by value: the levels of a column are the different values that occur in it."""
    codes = np.empty(x.shape, dtype=np.int32)
    columns = []
    for j in range(x.shape[1]):
        levels = distinct(x[:, j])
        codes[:, j] = encode(x[:, j], levels)
        columns.append(Column(f"x{j}" if names is None else str(names[j]), "category", tuple(levels.tolist())))
    return tuple(columns), Codes(codes, np.array([len(c.levels or ()) for c in columns], dtype=np.int64))


def ordinal_codes(x: NDArray[Any], learning: bool, n_jobs: int | None = None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Categories that are already numbered 0 … C − 1: the codes, and one more than the highest of each column.

    Integers of any width are used as they are; in a matrix of floats NaN is a missing value and fractions are dropped,
    as scikit-learn does. Negative and infinite codes are errors, and so are absurdly high ones if they are to be
    learned: a table of a billion levels is never meant.
    """
    missing = None
    if x.dtype.kind == "b":
        x = x.view(np.uint8)
    elif x.dtype.kind not in "iu":
        missing = np.isnan(x)
        whole = np.where(missing, MISSING, x)
        _refuse(x, np.isinf(whole), "holds the code")
        _refuse(x, np.abs(whole) >= 2.0**63, "holds the code")
        x = whole.astype(np.int64)
    elif not x.dtype.isnative or not x.flags.aligned or any(s % x.itemsize for s in x.strides):
        x = x.astype(np.int64)
    if not len(x):
        return x, np.zeros(x.shape[1], dtype=np.int64)
    threads = threads_for(x.size, n_jobs)
    step = max(1, -(-len(x) // threads))
    ranges = list(map_rows(lambda a, b: kernels.code_range(x[a:b]), len(x), step, threads))
    if any((low < 0).any() for low, _ in ranges):
        negative = x < 0 if missing is None else (x < 0) & ~missing
        _refuse(x, negative, "holds the code", "Negative values in data are no codes. ", NegativeError)
    highest = np.max([high for _, high in ranges], axis=0)
    if learning and (highest >= MOST_LEVELS).any():
        _refuse(x, x >= MOST_LEVELS, "holds the code", f"A table of more than {MOST_LEVELS:,} levels is not made. ")
    return x, np.maximum(highest.astype(np.int64) + 1, 0)


def _refuse(
    x: NDArray[Any], bad: NDArray[np.bool_], problem: str, why: str = "", kind: type[DataError] = DataError
) -> None:
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        advice = f"{why}Number the levels 0, 1, … (OrdinalEncoder does)."
        raise CellError(f"{problem} {x[row, column]}", advice, row, column, kind)
