"""Keys of rows: numbers that depend on what a row holds, never on where it stands.

Subsamples and folds are drawn by them, so a table in another order, or from another source, gives the same model. The
key of a row is the sum of the keys of its cells, so the order of the columns does not matter either. Identical rows
share a key and are distinguished by the number of the copy: which copy is which does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native

Keys = NDArray[np.uint64]

MISSING_KEY = 0x9E3779B97F4A7C15
LOWER = np.uint64(0xFFFFFF)  # digits of a key that come from the exact values
COPY = np.uint64(0xD1342543DE82EF95)  # what a copy of a row adds to its key


def mixed(numbers: Any) -> Keys:
    """Spread 64-bit numbers evenly (the finaliser of SplitMix64)."""
    z = np.array(numbers, dtype=np.uint64, copy=True)
    with np.errstate(over="ignore"):
        z ^= z >> np.uint64(30)
        z *= np.uint64(0xBF58476D1CE4E5B9)
        z ^= z >> np.uint64(27)
        z *= np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return z


def key_of(value: Any) -> int:
    """The key of a single value: the same for 1, 1.0 and True, which compare equal.

    Examples
    --------
    >>> key_of(1) == key_of(1.0) == key_of(True) == key_of("true") != key_of("1")
    True
    """
    if value is None or value != value:
        return MISSING_KEY
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        try:
            return int(np.float64(value).view(np.uint64)) if value else 0
        except OverflowError:
            pass
    return int(_native.text_key(str(value).encode("utf-8", "surrogatepass")))


def add_numbers(total: Keys, values: NDArray[Any], own: int) -> None:
    """Add the keys of a column of numbers to those of the rows; ``own`` is the key of the column's name."""
    _native.number_keys(_readable(values), own, total)


def add_places(keys: RowKeys, values: NDArray[Any], ends: tuple[float, float], own: int) -> None:
    """Add both keys of a column of numbers whose smallest and largest value are given.

    The place of a number in that range, to 16 binary digits, is the same in every unit: multiplying a column rounds it
    in the last of 53 digits, which these hardly ever notice.
    """
    _native.place_keys(_readable(values), *ends, own, *keys)


def _readable(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers of a type and in a place that the kernels read."""
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    plain = values.dtype.kind in "iuf" and values.dtype != np.float16 and values.dtype.isnative
    if plain and values.flags.aligned and values.strides[0] % values.itemsize == 0:
        return values
    return values.astype(np.float64)


def add_levels(total: Keys, codes: NDArray[Any], levels: Sequence[Any], own: int) -> None:
    """Add the keys of a column of categories; a code is the position of a level, negative where there is none."""
    known = np.array([*map(key_of, levels), MISSING_KEY], dtype=np.uint64)
    with np.errstate(over="ignore"):
        table = mixed(known + np.uint64(own))
    _native.code_keys(np.ascontiguousarray(codes, dtype=np.int32), table, total)


def add_texts(total: Keys, texts: Any, first: int, own: int) -> None:
    """Add the keys of strings, the first of which has that number among the texts."""
    _native.text_keys(texts, first, own, total)


class RowKeys(NamedTuple):
    """Two keys of each row (n,)."""

    unit_free: Keys  # with each number by its place in the range of its column, so that the unit does not matter
    exact: Keys  # of the values as they are


def copies(keys: Keys, ranked: Keys | None = None) -> NDArray[np.int64]:
    """The number (n,) of each row among those of the same key, from 0; ``ranked`` are the keys in rising order."""
    number, ranked = np.zeros(len(keys), dtype=np.int64), np.sort(keys) if ranked is None else ranked
    repeated = ranked[1:][ranked[1:] == ranked[:-1]]
    if not len(repeated):  # as a rule, and sorting keys is several times faster than ranking rows by them
        return number
    rows = np.flatnonzero(_among(keys, repeated))
    order = rows[np.argsort(keys[rows], kind="stable")]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = keys[order[1:]] != keys[order[:-1]]
    place = np.arange(len(rows))
    number[order] = place - np.maximum.accumulate(np.where(new, place, 0))
    return number


def _among(keys: Keys, ranked: Keys) -> NDArray[np.bool_]:
    """Which of the keys are among some that are sorted."""
    return ranked[np.minimum(np.searchsorted(ranked, keys), len(ranked) - 1)] == keys


def copy_keys(keys: RowKeys, copy: NDArray[np.int64] | None = None) -> Keys:
    """A different key for every copy of a row; ``copy`` is the number of each, where others came before.

    The order of rows is that of their unit-free keys. Rows that differ too little for these, or hardly beside one far
    off, share the upper digits and are distinguished by the lower ones, which are those of the exact key.
    """
    number = copies(keys.exact) if copy is None else copy
    with np.errstate(over="ignore"):
        upper = mixed(keys.unit_free + number.astype(np.uint64) * COPY + np.uint64(1))
    return (upper & ~LOWER) | (mixed(keys.exact) & LOWER)


def smallest(keys: Keys, most: int) -> NDArray[np.intp]:
    """The places of the smallest keys, at most so many, in their order."""
    if len(keys) <= most:
        return np.argsort(keys, kind="stable")
    chosen = np.argpartition(keys, most)[:most]
    return chosen[np.argsort(keys[chosen], kind="stable")]


def stratified_folds(codes: NDArray[Any], n_folds: int) -> NDArray[np.intp]:
    """A fold (n,) for each of some rows in the order of their keys, every fold with its share of each class."""
    fold = np.empty(len(codes), dtype=np.intp)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % n_folds
    return fold


class SeenKeys:
    """Keys of rows that came before: how often each occurred, exactly, in 8 bytes a row.

    The keys are kept in sorted runs, each about twice as long as the next, which are merged as they grow.
    """

    def __init__(self) -> None:
        self._runs: list[Keys] = []

    def numbered(self, keys: Keys) -> NDArray[np.int64]:
        """The number (n,) of each row among all rows of the same key so far, from 0; the rows are kept."""
        ranked = np.sort(keys)
        number = copies(keys, ranked)
        for run in self._runs:
            if len(again := ranked[_among(ranked, run)]):  # as a rule no row comes twice
                rows = np.flatnonzero(_among(keys, again))
                ends = (np.searchsorted(run, keys[rows], side=side) for side in ("right", "left"))
                number[rows] += next(ends) - next(ends)
        self._keep(ranked)
        return number

    def _keep(self, ranked: Keys) -> None:
        if len(ranked):
            self._runs.append(ranked)
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            both = np.concatenate(self._runs[-2:])
            del self._runs[-2:]  # before sorting, which takes memory of its own
            both.sort(kind="stable")
            self._runs.append(both)
