"""The compiled kernels: chooses the overload, allocates the results and raises the errors.

Every function adds to arrays that the caller may keep, takes matrices of any type and memory order, and names the
first cell it cannot use. Matrices of float32, float64 and integers are read in place; anything else is converted a
slice of rows at a time, so memory does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native
from tallybayes.core.batch import Array, Codes, Csr, Documents, Labels, is_readable
from tallybayes.core.tokens import Vocabulary
from tallybayes.errors import CellError, DataError, RowError, bad_number, row_number

SLICE = 1 << 16  # cells converted at a time
KEPT_BYTES = 32 << 20  # of an array from which on its pages go back to the system when it is dropped

LEAST_VARIANCE = 1e-200  # what a constant column gets where nothing varies: other values are unlikely, not impossible


def _slices(x: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """The matrix as it is if the kernels can read it, otherwise slices of it converted to float64."""
    readable = is_readable(x)
    if readable or x.size == 0:
        yield 0, x if readable else np.asarray(x, dtype=np.float64)
        return
    step = max(1, SLICE // x.shape[1])
    for first in range(0, x.shape[0], step):
        yield first, x[first : first + step].astype(np.float64)


def _check_cell(x: NDArray[Any], position: int, first: int) -> None:
    """Raise for the cell at a flat position of a slice; -1 means that all were fine."""
    if position >= 0:
        row, column = divmod(position, x.shape[1])
        raise bad_number(float(x[row, column]), first + row, column)


def _check_entry(x: Csr, position: int) -> None:
    """Raise for the stored entry at a position; -1 means that all were fine."""
    if position < 0:
        return
    row, column = int(np.searchsorted(x.start, position, side="right")) - 1, int(x.column[position])
    if not 0 <= column < x.n_columns:
        raise DataError(
            f"the sparse matrix is damaged: row {row_number(row)} points at column {column} of {x.n_columns}"
        )
    raise bad_number(float(x.data[position]), row, column)


def _check_rows(x: NDArray[Any], labels: Labels) -> None:
    if len(labels.weight) != x.shape[0]:
        raise ValueError(f"labels must have one entry a row: {len(labels.weight)} for {x.shape[0]} rows")


def check_learned(row: int, first: int) -> None:
    """Raise for a row that weighs more than the tally it is to be left out of; -1 means that there is none."""
    if row >= 0:
        raise RowError(first + row)


def moments(x: NDArray[Any], labels: Labels, n_classes: int) -> tuple[Array, Array, Array]:
    """Weight, mean and centred sum of squares (K, d) of each class and column; NaN is a missing value."""
    weight, mean, m2 = (np.zeros((n_classes, x.shape[1])) for _ in range(3))
    add_moments(x, labels, weight, mean, m2)
    return weight, mean, m2


def add_moments(x: NDArray[Any], labels: Labels, weight: Array, mean: Array, m2: Array) -> None:
    """Add some rows to the moments (K, d) of others, in place."""
    _check_rows(x, labels)
    for first, part in _slices(x):
        these = labels.rows(first, first + len(part))
        if these.codes is None:
            bad = _native.moments_soft(part, these.weight, weight, mean, m2)
        else:
            bad = _native.moments(part, these.codes, these.weight, weight, mean, m2)
        _check_cell(part, bad, first)


def gaussian_scores(x: NDArray[Any], mean: Array, precision: Array, log_norm: Array, total: Array) -> Array:
    """Log density (n, K) of each row under each class."""
    out = np.zeros((x.shape[0], len(mean)))
    for first, part in _slices(x):
        bad = _native.gaussian_scores(part, mean, precision, log_norm, total, out[first : first + len(part)])
        _check_cell(part, bad, first)
    return out


def gaussian_leave_one_out(
    x: NDArray[Any],
    labels: Labels,
    summary: tuple[Array, Array, Array],
    merged: Array,
    var_smoothing: float,
    epsilon: float,
    shared: bool,
    ignore_constants: bool,
) -> Array:
    """Log density (n, K) of each row, itself left out of the moments."""
    out = np.zeros((x.shape[0], len(summary[0])))
    for first, part in _slices(x):
        these = labels.rows(first, first + len(part))
        settings = (var_smoothing, epsilon, LEAST_VARIANCE, shared, ignore_constants)
        args = (*summary, merged, *settings, out[first : first + len(part)])
        bad = _native.gaussian_leave_one_out(part, these.codes, these.weight, *args)
        _check_cell(part, -2 - bad, first)  # a negative number stands for an infinite cell
        check_learned(bad, first)
    return out


def code_range(matrix: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Smallest and largest code (d,) of each column of a matrix of integers."""
    low, high = np.zeros((2, matrix.shape[1]), dtype=matrix.dtype)
    if len(matrix):
        _native.code_range(matrix, low, high)
    return low, high


def code_counts(x: Codes, labels: Labels, n_classes: int) -> Array:
    """Weight (cells, K) of each level of each column and class."""
    count, start = np.zeros((int(x.n_levels.sum()), n_classes)), starts(x.n_levels)
    if labels.codes is None:
        bad = _native.code_counts_soft(x.matrix, labels.weight, start, count)
    else:
        bad = _native.code_counts(x.matrix, labels.codes, labels.weight, start, count)
    if bad >= 0:
        row, column = divmod(bad, x.shape[1])
        code, levels = x.matrix[row, column], x.n_levels[column]
        raise CellError(f"holds the code {code}", f"It has only {levels} levels: declare more.", row, column)
    return count


def table_scores(matrix: NDArray[Any], start: NDArray[np.int64], table: Array) -> Array:
    """Sum (n, K) of the table rows that the codes point at; each column's last row is for unseen codes."""
    out = np.zeros((matrix.shape[0], table.shape[1]))
    _native.table_scores(matrix, start, table, out)
    return out


def bin_scores(
    x: NDArray[Any], columns: NDArray[np.int64], start: NDArray[np.int64], edges: Array, table: Array
) -> Array:
    """`table_scores` (n, K) of the numbers of some columns: a row of the table for every bin, the last for NaN."""
    out = np.zeros((x.shape[0], table.shape[1]))
    for first, part in _slices(x):
        _native.bin_scores(part, columns, start, edges, table, out[first : first + len(part)])
    return out


def table_leave_one_out(x: Codes, labels: Labels, count: Array, weight: Array, alpha: Array) -> Array:
    """Own-class log probability (n,) of each row's codes, the row itself left out of the counts."""
    own = np.zeros(x.shape[0])
    start = starts(x.n_levels)
    check_learned(
        _native.table_leave_one_out(x.matrix, labels.codes, labels.weight, start, count, weight, alpha, own), 0
    )
    return own


def aligned(n_columns: int, n_classes: int) -> Array:
    """An empty table (d, K) that starts with a cache line: `sparse_scores` then reads fewer lines for each entry."""
    size, line = n_columns * n_classes, 8  # numbers
    memory = np.empty(size + line - 1)
    first = -(memory.__array_interface__["data"][0] // memory.itemsize) % line
    return memory[first : first + size].reshape(n_columns, n_classes)


def _cleared(n_columns: int, n_classes: int) -> Array:
    """A table of zeros. Fresh pages cost more than clearing used ones, which only small tables get."""
    if n_columns * n_classes * 8 > KEPT_BYTES:
        return np.zeros((n_columns, n_classes))
    count = np.empty((n_columns, n_classes))
    count.fill(0.0)
    return count


def event_sums(
    x: NDArray[Any] | Csr, labels: Labels, n_classes: int, threshold: float | None, missing: bool = True
) -> tuple[Array, Array]:
    """Σ w·x and Σ w, both (K, d), of each class and column; with a threshold x counts as 1 above it, else 0.

    A sparse matrix has no missing values, so its weight is that of the class, shape (K, 1). In a dense one they are
    refused where ``missing`` is false.
    """
    binary, at = threshold is not None, threshold or 0.0
    if isinstance(x, Csr):
        count = _cleared(x.n_columns, n_classes)
        if labels.codes is None:
            bad = _native.csr_sums_soft(x.data, x.column, x.start, labels.weight, binary, at, count)
        else:
            bad = _native.csr_sums(x.data, x.column, x.start, labels.codes, labels.weight, binary, at, count)
        _check_entry(x, bad)
        return count.T, labels.class_weight(n_classes)[:, None]
    _check_rows(x, labels)
    sums, weight = np.zeros((2, n_classes, x.shape[1]))
    for first, part in _slices(x):
        these = labels.rows(first, first + len(part))
        if these.codes is None:
            bad = _native.dense_sums_soft(part, these.weight, binary, at, missing, sums, weight)
        else:
            bad = _native.dense_sums(part, these.codes, these.weight, binary, at, missing, sums, weight)
        _check_cell(part, bad, first)
    return sums, weight


def sparse_scores(x: Csr, slope: Array, threshold: float | None) -> Array:
    """Product (n, K) of sparse rows and slopes (d, K); zeros add nothing, whatever their slope."""
    out = np.zeros((x.shape[0], slope.shape[1]))
    binary = threshold is not None
    _check_entry(x, _native.csr_scores(x.data, x.column, x.start, binary, threshold or 0.0, slope, out))
    return out


def in_order(x: Csr) -> Csr:
    """The same rows with one entry a column, as leave-one-out needs them; a document has each of its words once."""
    if isinstance(x, Documents) or _native.csr_in_order(x.data, x.column, x.start):
        return x
    for position in np.flatnonzero((x.column < 0) | (x.column >= x.n_columns)):
        _check_entry(x, int(position))
    return x.summed()


def _check_left_out(x: Csr, found: int) -> None:
    """Raise for an entry that cannot be used, or a row that was never learned; -1 means that all were fine."""
    _check_entry(x, -2 - found)  # below -1 it is the position of an entry, otherwise that of a row
    check_learned(found, 0)


def words_without(x: Csr, labels: Labels, count: Array, alpha: Array) -> tuple[Array, Array]:
    """Σ x·log(count + alpha) in the row's own class without the row, and Σ x, both (n,); count (V, K)."""
    x = in_order(x)
    words, length = np.zeros((2, x.shape[0]))
    args = labels.codes, labels.weight, count, alpha, words, length
    _check_left_out(x, _native.csr_words_without(x.data, x.column, x.start, *args))
    return words, length


def all_no_without(yes: Array, weight: Array, alpha: Array, amount: float) -> tuple[Array, Array]:
    """Σ log P(no) over all columns without a row of that weight, and how many true zeros are not in it, both (K,)."""
    own, zeros = np.zeros((2, yes.shape[1]))
    _native.all_no_without(yes, weight, alpha, amount, own, zeros)
    return own, zeros


class NoSeries(NamedTuple):
    """Σ log P(no) as a function of the weight of the row that is left out, up to some weight."""

    coefficient: Array  # (9, K) of the powers of the weight, over the columns where it is a small part of no
    start: NDArray[np.int64]  # (K + 1,) first of the columns of each class where it is not
    column: NDArray[np.int64]


def all_no_series(yes: Array, weight: Array, alpha: Array, most: float) -> NoSeries:
    """`all_no_without` for rows of any weight up to the most."""
    coefficient, near = np.empty((9, yes.shape[1])), np.empty(yes.shape, dtype=np.uint8)
    _native.all_no_series(yes, weight, alpha, most, coefficient, near)
    k, column = np.nonzero(near.T)
    start = np.searchsorted(k, np.arange(yes.shape[1] + 1)).astype(np.int64)
    return NoSeries(coefficient, start, np.ascontiguousarray(column, dtype=np.int64))


def all_no_of_rows(labels: Labels, yes: Array, weight: Array, alpha: Array, series: NoSeries) -> tuple[Array, Array]:
    """`all_no_without` for the own class and weight of each row, both (n,)."""
    own, zeros = np.empty((2, len(labels.weight)))
    _native.all_no_of_rows(labels.codes, labels.weight, yes, weight, alpha, *series, own, zeros)
    return own, zeros


def yes_without(
    x: Csr, labels: Labels, threshold: float | None, yes: Array, weight: Array, alpha: Array, own: Array, zeros: Array
) -> None:
    """Add what the entries above the threshold change in own and zeros, both (n,): see `all_no_without`."""
    x, binary = in_order(x), threshold is not None
    args = labels.codes, labels.weight, binary, threshold or 0.0, yes, weight, alpha, own, zeros
    _check_left_out(x, _native.csr_yes_without(x.data, x.column, x.start, *args))


def rivals_without(x: Csr, labels: Labels, count: Array, alpha: Array, *totals: Any) -> Array:
    """Complement scores (n, K) of each row, the row left out of the words of the others; count (V, K)."""
    x = in_order(x)
    out = np.zeros((x.shape[0], count.shape[1]))
    args = labels.codes, labels.weight, count, alpha, *totals, out
    _check_left_out(x, _native.csr_rivals_without(x.data, x.column, x.start, *args))
    return out


def rival_words(
    x: Csr, labels: Labels, count: Array, totals: tuple[Array, Array], alpha: Array, heaviest: float
) -> tuple[Array, bool]:
    """Leave-one-out evidence (nnz, K) of words by what other classes have of them, from counts (V, K) and their totals.

    Also whether some document has more than its class.
    """
    terms = np.empty((len(x.data), count.shape[1]))
    start, word = np.asarray(x.start, dtype=np.int64), np.asarray(x.column, dtype=np.int32)
    args = labels.codes, labels.weight, start, word, np.asarray(x.data, dtype=np.float64), terms
    return terms, bool(_native.rival_words(count, *totals, alpha, float(alpha.sum()), heaviest, *args))


def starts(n_levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """First cell of each column, and the number of cells (d + 1,)."""
    found = np.zeros(len(n_levels) + 1, dtype=np.int64)
    np.add.accumulate(n_levels, out=found[1:])
    return found


def best_class(evidence: Array, log_prior: Array, fallback: Array) -> tuple[NDArray[np.int64], int]:
    """Code of the likeliest class of each row, and the number of rows that every class forbids."""
    best = np.empty(len(evidence), dtype=np.int64)
    return best, _native.best_class(evidence, log_prior, fallback, best)


def normalise(evidence: Array, log_prior: Array, fallback: Array, logs: bool) -> int:
    """Turn log likelihoods into posteriors (or logs) in place; return the number of rows that every class forbids."""
    return int(_native.normalise(evidence, log_prior, fallback, logs))


def responsibilities(
    joint: Array, fallback: Array, group: NDArray[np.int32], codes: NDArray[np.int32], weight: Array
) -> float:
    """Turn log joints (n, C) into shares of each row's weight in place; return Σ w log Σ_c P(x, c).

    A row of class k is shared among its components, those whose ``group`` is k; a row of code −1 among all.
    """
    return float(_native.responsibilities(joint, fallback, group, codes, weight))


def normalise_without(evidence: Array, log_prior: Array, codes: NDArray[np.int32], own_log_prior: Array) -> int:
    """`normalise` to logs where each row has a prior (n,) of its own for its own class."""
    return int(_native.normalise_without(evidence, log_prior, codes, own_log_prior))


def list_text(column: Any) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct strings of a column, first seen first, and the position of each row's string; -1 if missing.

    The column is one of Polars, PyArrow or pandas on Arrow: whatever exports an Arrow stream of text.
    """
    places = np.empty(len(column), dtype=np.int32)
    return _native.list_text(column.__arrow_c_stream__(), places), places


def strongest(scores: Array, start: NDArray[np.int64], most: int, alike: int) -> NDArray[np.bool_]:
    """Which entries (nnz,) of each row are among the ``most`` largest positive scores (nnz, K) of some class.

    Of entries with equal scores the first ``alike`` count.
    """
    chosen = np.zeros(len(scores), dtype=np.uint8)
    _native.strongest(scores, start, most, alike, chosen)
    return chosen.view(np.bool_)


def word_scores_without(
    count: Array, weight: Array, alpha: float, start: NDArray[np.int64], word: NDArray[Any], labels: Labels
) -> Array:
    """Leave-one-out scores (nnz, K) of each word (nnz,) of training rows."""
    scores = np.empty((len(word), count.shape[1]))
    words = word.astype(np.int32, copy=False)
    check_learned(_native.said_without(count, weight, alpha, start, words, labels.codes, labels.weight, scores), 0)
    return scores


Texts = Any  # documents where they lie, as the tokeniser reads them: `_native.Texts`


def texts_of(column: Any) -> Texts:
    """The documents of a list of strings, with None for a missing one, or of a column that exports an Arrow stream."""
    if isinstance(column, list):
        return _native.texts_of_list(column)
    return _native.texts_of_stream(column.__arrow_c_stream__())


def scaled_counts(x: Documents, damped: bool, scaled: bool) -> Documents:
    """The documents with their counts damped to log(1 + n), scaled to length one, or both."""
    weight = np.empty(len(x.data))
    _native.weigh_counts(x.data, x.start, damped, scaled, weight)
    return replace(x, data=weight)


def count_tokens(texts: Texts, first: int, last: int, tokeniser: Any) -> tuple[Documents, Vocabulary]:
    """The counts of the tokens of some documents, and the tokens in order (none if they are hashed)."""
    data, column, start, words, word_start = _native.count_tokens(texts, first, last, tokeniser)
    missing = np.empty(len(texts), dtype=np.uint8)
    _native.missing_texts(texts, missing)
    lost = missing[first:last].astype(bool)
    vocabulary = Vocabulary(words, word_start)
    narrow = start.astype(np.int32) if start[-1] < 2**31 else start
    column = column if narrow.dtype == np.int32 else column.astype(np.int64)
    return Documents(data, column, narrow, len(vocabulary), lost if lost.any() else None), vocabulary
