"""Cells in the columns of a database, and sums of many of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.errors import ModelFileError

WIDE, FRACTIONAL = 1, 2  # flags: numbers of cells above 65,535; amounts that are no small whole numbers
Index = NDArray[np.int64]


class Packed(NamedTuple):
    """Cells as they are stored: the flags, the numbers of cells and their amounts, those of moments and their values.

    ``owners`` and ``centred_owners`` have the key of each where there are several.
    """

    flags: int
    owners: bytes
    cells: bytes
    amounts: bytes
    centred_owners: bytes
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


NOTHING = Cells(*(np.zeros(0, dtype=t) for t in (int, int, int, float, int, int, int)), np.zeros((0, 3)))


def packed(owner: Index | None, cell: Index, amount: Array, c_owner: Index | None, c_cell: Index, c: Array) -> Packed:
    """Cells of one record in as few bytes as hold them exactly."""
    wide = max(int(cell.max(initial=0)), int(c_cell.max(initial=0))) > 0xFFFF
    small = np.rint(amount)
    fractional = bool((small != amount).any() or amount.max(initial=0.0) > 0xFFFF)
    of = "<u4" if wide else "<u2"
    return Packed(
        WIDE * wide | FRACTIONAL * fractional,
        b"" if owner is None else owner.astype("<u2").tobytes(),
        cell.astype(of).tobytes(),
        amount.astype("<f8" if fractional else "<u2").tobytes(),
        b"" if c_owner is None else c_owner.astype("<u2").tobytes(),
        c_cell.astype(of).tobytes(),
        np.ascontiguousarray(c, dtype="<f8").tobytes(),
    )


def unpacked(rows: Sequence[Sequence[Any]], n_cells: int, keyed: bool = False) -> Cells:
    """The cells of rows that start with the columns of `Packed`; records are numbered as the rows are."""
    found = [NOTHING]
    for flags in sorted({row[0] for row in rows}):
        if flags not in range(4):
            raise ModelFileError("a record of it is of a kind that this version does not know")
        mine = [number for number, row in enumerate(rows) if row[0] == flags]
        found.append(_unpacked([rows[number] for number in mine], np.array(mine), flags, keyed))
    cells = Cells.joined(found)
    top = max(cells.cell.max(initial=-1), cells.centred_cell.max(initial=-1))
    sound = np.isfinite(cells.amount).all() and np.isfinite(cells.centred).all() and cells.amount.min(initial=0.0) >= 0
    if top >= n_cells or not sound:
        raise ModelFileError("a record of it holds numbers that cannot have been counted")
    return cells


def _unpacked(rows: Sequence[Sequence[Any]], numbers: Index, flags: int, keyed: bool) -> Cells:
    size, number = (4, "<u4") if flags & WIDE else (2, "<u2")
    owners, cells, amounts, c_owners, c_cells, centred = ([row[i] for row in rows] for i in range(1, 7))
    try:
        n, m = (np.array([len(each) for each in of]) // size for of in (cells, c_cells))
        cell, c_cell = (np.frombuffer(b"".join(of), dtype=number).astype(np.int64) for of in (cells, c_cells))
        amount = np.frombuffer(b"".join(amounts), dtype="<f8" if flags & FRACTIONAL else "<u2").astype(np.float64)
        values = np.frombuffer(b"".join(centred), dtype="<f8").reshape(-1, 3)
        width = 8 if flags & FRACTIONAL else 2
        _check_sizes(n, amounts, width)
        _check_sizes(m, centred, 24)
        record, c_record = np.repeat(numbers, n), np.repeat(numbers, m)
        owner, c_owner = np.zeros_like(cell), np.zeros_like(c_cell)
        if keyed:
            _check_sizes(n, owners, 2)
            _check_sizes(m, c_owners, 2)
            owner, c_owner = (np.frombuffer(b"".join(of), dtype="<u2").astype(np.int64) for of in (owners, c_owners))
    except (TypeError, ValueError) as error:
        raise ModelFileError("a record of it is damaged") from error
    return Cells(record, owner, cell, amount, c_record, c_owner, c_cell, values)


def _check_sizes(n: Index, blobs: Iterable[bytes], width: int) -> None:
    if not np.array_equal(n * width, np.array([len(each) for each in blobs], dtype=np.int64)):
        raise ValueError("sizes differ")


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
    found = np.stack((total, middle, squares), axis=1)
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


def groups(code: Index) -> Iterator[tuple[int, slice]]:
    """The ranges of equal codes in a sorted list."""
    if not len(code):
        return
    ends = np.flatnonzero(np.diff(code)) + 1
    starts = [0, *ends.tolist()]
    for first, last in zip(starts, [*ends.tolist(), len(code)], strict=True):
        yield int(code[first]), slice(first, last)
