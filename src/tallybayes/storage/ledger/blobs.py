"""Cells in the columns of a database, and sums of many of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.errors import ModelFileError

WIDE = 1  # flag: numbers of cells above 65,535
AMOUNTS = ("<u1", "<u2", "<f8")  # types of amounts; which one is the flag, times two
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


_NO_INDEX = np.zeros(0, dtype=np.int64)
NOTHING = Cells(
    _NO_INDEX, _NO_INDEX, _NO_INDEX, np.zeros(0), _NO_INDEX, _NO_INDEX, _NO_INDEX, np.zeros((0, 3))
)  # fmt: skip


def packed(owner: Index | None, cell: Index, amount: Array, c_owner: Index | None, c_cell: Index, c: Array) -> Packed:
    """Cells of one record in as few bytes as hold them exactly.

    Of a moment of one row of weight 1, the mean is all there is; these come first.
    """
    wide = max(int(cell.max(initial=0)), int(c_cell.max(initial=0))) > 0xFFFF
    most = amount.max(initial=0.0)
    kind = 2 if most > 0xFFFF or (np.rint(amount) != amount).any() else 1 if most > 0xFF else 0
    of = "<u4" if wide else "<u2"
    single = (c[:, 0] == 1.0) & (c[:, 2] == 0.0)
    order = np.concatenate((np.flatnonzero(single), np.flatnonzero(~single)))
    return Packed(
        WIDE * wide | 2 * kind,
        b"" if owner is None else owner.astype(np.uint8).tobytes(),
        cell.astype(of).tobytes(),
        amount.astype(AMOUNTS[kind]).tobytes(),
        b"" if c_owner is None else c_owner[order].astype(np.uint8).tobytes(),
        c_cell[order].astype(of).tobytes(),
        c[single, 1].astype("<f8").tobytes() + np.ascontiguousarray(c[~single], dtype="<f8").tobytes(),
    )


def unpacked(
    rows: Sequence[Sequence[Any]], n_cells: int, keyed: bool = False, wanted: NDArray[np.bool_] | None = None
) -> Cells:
    """The cells of rows that start with the columns of `Packed`; records are numbered as the rows are.

    ``wanted``, of shape (rows, owners), leaves out the cells of all other owners.
    """
    found = [NOTHING]
    for flags in sorted({row[0] for row in rows}):
        if flags not in range(2 * len(AMOUNTS)):
            raise ModelFileError("a record of it is of a kind that this version does not know")
        mine = [number for number, row in enumerate(rows) if row[0] == flags]
        found.append(_unpacked([rows[number] for number in mine], np.array(mine), flags, keyed, wanted))
    cells = Cells.joined(found)
    top = max(cells.cell.max(initial=-1), cells.centred_cell.max(initial=-1))
    sound = np.isfinite(cells.amount).all() and np.isfinite(cells.centred).all() and cells.amount.min(initial=0.0) >= 0
    if top >= n_cells or not sound:
        raise ModelFileError("a record of it holds numbers that cannot have been counted")
    return cells


def _unpacked(
    rows: Sequence[Sequence[Any]], numbers: Index, flags: int, keyed: bool, wanted: NDArray[np.bool_] | None
) -> Cells:
    size, number = (4, "<u4") if flags & WIDE else (2, "<u2")
    kind = AMOUNTS[flags >> 1]
    owners, cells, amounts, c_owners, c_cells, centred = ([row[i] for row in rows] for i in range(1, 7))
    try:
        n, m = (np.array([len(each) for each in of]) // size for of in (cells, c_cells))
        cell, c_cell = (np.frombuffer(b"".join(of), dtype=number) for of in (cells, c_cells))
        amount = np.frombuffer(b"".join(amounts), dtype=kind)
        values = _moments(centred, m)
        _check_sizes(n, amounts, np.dtype(kind).itemsize)
        record, c_record = np.repeat(numbers, n), np.repeat(numbers, m)
        owner, c_owner = (np.zeros(len(each), dtype=np.uint8) for each in (cell, c_cell))
        if keyed:
            _check_sizes(n, owners, 1)
            _check_sizes(m, c_owners, 1)
            owner, c_owner = (np.frombuffer(b"".join(of), dtype=np.uint8) for of in (owners, c_owners))
    except (TypeError, ValueError) as error:
        raise ModelFileError("a record of it is damaged") from error
    if wanted is not None:
        flat, width = wanted.ravel(), wanted.shape[1]
        if max(owner.max(initial=0), c_owner.max(initial=0)) >= width:
            raise ModelFileError("a record of it is of keys that there are not")
        keep, c_keep = np.flatnonzero(flat[record * width + owner]), np.flatnonzero(flat[c_record * width + c_owner])
        record, owner, cell, amount = record[keep], owner[keep], cell[keep], amount[keep]
        c_record, c_owner, c_cell, values = c_record[c_keep], c_owner[c_keep], c_cell[c_keep], values[c_keep]
    whose, what, c_whose, c_what = (each.astype(np.int64) for each in (owner, cell, c_owner, c_cell))
    return Cells(record, whose, what, amount.astype(np.float64), c_record, c_whose, c_what, values)


def _moments(blobs: Sequence[bytes], n: Index) -> Array:
    """The moments (n, 3) of records, each with so many: of single rows their means, then all three numbers."""
    sizes = np.array([len(blob) for blob in blobs], dtype=np.int64)
    several, odd = np.divmod(sizes // 8 - n, 2)
    if (sizes % 8).any() or odd.any() or (several < 0).any() or (several > n).any():
        raise ValueError("sizes differ")
    flat = np.frombuffer(b"".join(blobs), dtype="<f8")
    single = n - several
    starts = np.cumsum(sizes // 8) - sizes // 8
    found = np.zeros((int(n.sum()), 3))
    first = np.cumsum(n) - n
    ones, more = _within(single), _within(several)
    at = np.repeat(first, single) + ones
    found[at, 0], found[at, 1] = 1.0, flat[np.repeat(starts, single) + ones]
    at = np.repeat(first + single, several) + more
    place = np.repeat(starts + single, several) + 3 * more
    for j in range(3):
        found[at, j] = flat[place + j]
    return found


def _within(sizes: Index) -> Index:
    """0, 1, … of each group of such sizes, one after another."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)


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


def groups(code: Index) -> Iterator[tuple[int, slice]]:
    """The ranges of equal codes in a sorted list."""
    if not len(code):
        return
    ends = np.flatnonzero(np.diff(code)) + 1
    starts = [0, *ends.tolist()]
    for first, last in zip(starts, [*ends.tolist(), len(code)], strict=True):
        yield int(code[first]), slice(first, last)
