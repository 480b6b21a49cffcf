"""Cells in the columns of a database, and sums of many of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native
from tallybayes.core.batch import Array
from tallybayes.errors import ModelFileError

# Types of numbers of cells, of amounts and of weights; the flags say which, in bits 0–1, 2–3 and 4.
NUMBERS, AMOUNTS, WEIGHTS = ("<u1", "<u2", "<u4"), {0: "<u1", 1: "<u2", 3: "<f8"}, ("<u1", "<f8")
SPARSE = 8  # times as many cells as there are amounts: these are sorted rather than counted out
Index = NDArray[np.int64]


class Packed(NamedTuple):
    """Cells as they are stored: the flags, the numbers of cells and their amounts, those of moments and their values.

    ``owners`` has, where there are several, each with how many amounts, moments of single rows and others are its own.
    """

    flags: int
    owners: bytes
    cells: bytes
    amounts: bytes
    centred_cells: bytes
    centred: bytes


@dataclass(frozen=True)
class Cells:
    """Numbers of cells and what was counted in them, of many records."""

    record: Index  # the record that each amount is of
    owner: Index
    cell: Index
    amount: Array
    centred_record: Index
    centred_owner: Index
    centred_cell: Index
    centred: Array  # (n, 3) weight, mean and sum of squares, or of products

    @classmethod
    def joined(cls, parts: Sequence[Cells]) -> Cells:
        """All cells of several; records are numbered by the parts' own numbers."""
        if len(parts) == 1:
            return parts[0]
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def kept(self, amounts: NDArray[np.bool_], centred: NDArray[np.bool_]) -> Cells:
        """Some of the cells."""
        first = (self.record[amounts], self.owner[amounts], self.cell[amounts], self.amount[amounts])
        c = centred
        return Cells(*first, self.centred_record[c], self.centred_owner[c], self.centred_cell[c], self.centred[c])


_NO_INDEX = np.zeros(0, dtype=np.int64)
NOTHING = Cells(
    _NO_INDEX, _NO_INDEX, _NO_INDEX, np.zeros(0), _NO_INDEX, _NO_INDEX, _NO_INDEX, np.zeros((0, 3))
)  # fmt: skip


def packed(owner: Index | None, cell: Index, amount: Array, c_owner: Index | None, c_cell: Index, c: Array) -> Packed:
    """Cells of one record in as few bytes as hold them exactly.

    Of a moment of one row of weight 1, the mean is all there is; these come first.
    """
    most = max(int(cell.max(initial=0)), int(c_cell.max(initial=0)))
    number = 0 if most <= 0xFF else 1 if most <= 0xFFFF else 2
    single = (c[:, 0] == 1.0) & (c[:, 2] == 0.0)
    others = c[~single]
    kind, weight = _whole(amount), min(_whole(others[:, 0]), 1)
    order = np.concatenate((np.flatnonzero(single), np.flatnonzero(~single)))
    means = c[single, 1].astype("<f8").tobytes() + np.ascontiguousarray(others[:, 1:], dtype="<f8").tobytes()
    return Packed(
        number | kind << 2 | weight << 4,
        b"" if owner is None or c_owner is None else _runs(owner, c_owner[single], c_owner[~single]),
        cell.astype(NUMBERS[number]).tobytes(),
        amount.astype(AMOUNTS[kind]).tobytes(),
        c_cell[order].astype(NUMBERS[number]).tobytes(),
        means + others[:, 0].astype(WEIGHTS[weight]).tobytes(),
    )


def _whole(values: Array) -> int:
    """The flag of the smallest type that holds all values, which are not negative."""
    most = values.max(initial=0.0)
    return 3 if most > 0xFFFF or (np.rint(values) != values).any() else 1 if most > 0xFF else 0


def _runs(*owners: Index) -> bytes:
    """Each owner in order, and how many of each list are its own."""
    times = np.stack([np.bincount(each, minlength=max(int(o.max(initial=0)) for o in owners) + 1) for each in owners])
    some = np.flatnonzero(times.any(axis=0))
    return np.column_stack((some, times[:, some].T)).astype("<u4").tobytes()


def unpacked(rows: Sequence[Sequence[Any]], n_cells: int, n_owners: int = 0) -> Cells:
    """The cells of rows that start with the columns of `Packed`; records are numbered as the rows are.

    ``n_owners`` is how many owners a record may have; by default it has none of its own.
    """
    with _read():
        return Cells(*_native.unpack_records(list(rows), n_owners > 0, max(n_owners, 1), n_cells))


def summed(rows: Sequence[Sequence[Any]], wanted: NDArray[np.bool_], group: NDArray[np.int32], mate: Index) -> Cells:
    """What the owners of rows have together, a record for each group.

    ``wanted``, of shape (rows, keys), are the keys that count, and ``group`` is where each slot goes, −1 for nowhere.
    """
    n, n_groups = len(mate), int(group.max(initial=-1)) + 1
    amounts, centred = np.zeros((n_groups, n)), np.zeros((n_groups * n, 3))
    with _read():
        _native.sum_records(list(rows), np.ascontiguousarray(wanted), group, mate, amounts, centred)
    record, cell = np.nonzero(amounts)
    c_record, c_cell = np.divmod(np.flatnonzero(centred[:, 0] > 0), n)
    nobody, c_nobody = np.zeros_like(record), np.zeros_like(c_record)
    amount, moments = amounts[record, cell], centred[c_record * n + c_cell]
    return Cells(record, nobody, cell, amount, c_record, c_nobody, c_cell, moments)


@contextmanager
def _read() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ModelFileError(str(error)) from error


# ------------------------------------------------------------------------------------------------ sums


def centred_sums(place: Index, n: int, mate: Index, record: Index, values: Array) -> Array:
    """The moments (n, 3) at each place, merged about their common mean (Chan, Golub and LeVeque 1979, of many at once).

    ``mate`` is the place of the product of the same two columns the other way round, and of a moment its own.
    """
    weight, mean, second = values.T
    total = np.bincount(place, weights=weight, minlength=n)
    some = np.where(total > 0, total, 1.0)
    middle = np.bincount(place, weights=weight * mean, minlength=n) / some
    # Once more about that mean: the second pass takes out what the first rounded away.
    middle = middle + np.bincount(place, weights=weight * (mean - middle[place]), minlength=n) / some
    off = mean - middle[place]
    others = off
    pairs = np.flatnonzero(mate != place)
    if len(pairs):
        others = off.copy()
        others[pairs] = off[_found(record, place, mate, pairs)]
    squares = np.bincount(place, weights=second + weight * off * others, minlength=n)
    found: Array = np.stack((total, middle, squares), axis=1).astype(np.float64)
    last = np.zeros(n, dtype=np.int64)
    last[place] = np.arange(len(place))
    alone = np.bincount(place, minlength=n) == 1
    found[alone] = values[last[alone]]  # as they were, to the last bit
    return found


def _found(record: Index, code: Index, mate: Index, pairs: Index) -> Index:
    """Where the mate of each of some entries is: in the same record."""
    order = np.lexsort((code, record))
    span = int(max(code.max(), mate.max())) + 1
    _, number = np.unique(record, return_inverse=True)
    have, want = number[order] * span + code[order], number[pairs] * span + mate[pairs]
    at = np.minimum(np.searchsorted(have, want), len(have) - 1)
    if not np.array_equal(have[at], want):
        raise ModelFileError("it holds one half of a product of two columns")
    return order[at]


def numbered(code: Index, size: int) -> tuple[Index, Index]:
    """The different codes in their order, and which of them each is; all are below a size.

    Examples
    --------
    >>> [found.tolist() for found in numbered(np.array([7, 2, 7]), 8)]
    [[2, 7], [1, 0, 1]]
    """
    if size > SPARSE * len(code):
        return np.unique(code, return_inverse=True)
    there = np.zeros(size, dtype=bool)
    there[code] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[code]


def groups(code: Index) -> Iterator[tuple[int, slice]]:
    """The ranges of equal codes in a sorted list."""
    if not len(code):
        return
    ends = np.flatnonzero(np.diff(code)) + 1
    starts = [0, *ends.tolist()]
    for first, last in zip(starts, [*ends.tolist(), len(code)], strict=True):
        yield int(code[first]), slice(first, last)
