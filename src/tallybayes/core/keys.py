"""Keys of rows: numbers that depend on what a row holds, never on where it stands.

Subsamples and folds are drawn by them, so a table in another order, or from another source, gives the same model.
Identical rows share a key and are told apart by the number of the copy: which copy is which does not matter.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

MISSING_KEY = np.uint64(0x9E3779B97F4A7C15)


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


def key_of(value: Any) -> np.uint64:
    """The key of a single value: the same for 1, 1.0 and True, which compare equal."""
    if value is None or value != value:
        return MISSING_KEY
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        try:
            return np.float64(value).view(np.uint64) if value else np.uint64(0)
        except OverflowError:
            pass
    return np.uint64(int.from_bytes(hashlib.blake2b(str(value).encode("utf-8", "replace"), digest_size=8).digest()))


def keys_of_numbers(values: NDArray[Any]) -> Keys:
    """The keys of numbers."""
    numbers = np.asarray(values, dtype=np.float64)
    keys = np.where(numbers == 0.0, 0.0, numbers).view(np.uint64)  # −0 is 0
    return np.where(np.isnan(numbers), MISSING_KEY, keys)


def keys_of_levels(codes: NDArray[Any], levels: Any) -> Keys:
    """The keys of categories, from the position of each among the levels; negative where there is none."""
    table = np.array([*(key_of(level) for level in levels), MISSING_KEY], dtype=np.uint64)
    return table[np.where(codes < 0, len(table) - 1, codes)]


def joined(total: Keys | None, keys: Keys, name: str) -> Keys:
    """The keys of rows with one more column; the order of the columns does not matter."""
    with np.errstate(over="ignore"):
        column = mixed(keys + key_of(name))
        return column if total is None else total + column


def copy_keys(keys: Keys) -> Keys:
    """A different key for every copy of a row."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    new = np.concatenate(([True], ranked[1:] != ranked[:-1]))
    first = np.maximum.accumulate(np.where(new, np.arange(len(ranked)), 0)) if len(ranked) else np.zeros(0, int)
    copy = np.empty(len(keys), dtype=np.uint64)
    copy[order] = (np.arange(len(ranked)) - first).astype(np.uint64)
    with np.errstate(over="ignore"):
        return mixed(keys + copy * np.uint64(0xD1342543DE82EF95) + np.uint64(1))


def stratified_folds(codes: NDArray[Any], n_folds: int) -> NDArray[np.intp]:
    """A fold (n,) for each of some rows in the order of their keys, every fold with its share of each class."""
    fold = np.empty(len(codes), dtype=np.intp)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % n_folds
    return fold
