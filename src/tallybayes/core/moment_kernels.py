"""The compiled kernels of moments: those of several sets of rows, taken together or out again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes import _native
from tallybayes.core.batch import Array

ROUNDING = 1e-9  # share of fractional weights that a subtraction may leave and still mean "nothing"
UNKNOWN = np.zeros(0)  # rounding of moments that were counted at once

Tables = tuple[Array, Array, Array, Array | None]  # weight, mean and m2 (K, d), and how far the last two may be off


def merged(weight: Array, mean: Array, m2: Array) -> Array:
    """Weight, mean and m2 (3, d) with all classes taken as one."""
    out = np.empty((3, weight.shape[1]))
    _native.merged_moments(*_tables((weight, mean, m2, None)), out)
    return out


def joined(mine: Tables, theirs: Tables) -> tuple[Array, Array, Array, Array]:
    """Weight, mean and m2 (K, d) of the rows of both, and the rounding (2, K, d) of mean and m2."""
    out = np.empty((5, mine[0].size))
    _native.joined_moments(*_tables(mine), *_tables(theirs), out)
    return _parts(out, mine[0].shape)


def without(mine: Tables, theirs: Tables, left: Array) -> tuple[Array, Array, Array, Array] | None:
    """The same of the rows that are left, whose weights are known; None where some were never there."""
    out = np.empty((5, mine[0].size))
    out[0] = left.ravel()
    was_there = _native.moments_without(*_tables(mine), *_tables(theirs), out)
    return _parts(out, mine[0].shape) if was_there else None


def weights_without(mine: Array, theirs: Array) -> Array | None:
    """What is left of weights of one shape, zero where it is no more than rounding leaves; None where it is less."""
    left = np.empty(mine.shape)
    was_there = _native.weights_without(_flat(mine), _flat(theirs), ROUNDING, left.reshape(-1))
    return left if was_there else None


def _tables(tables: Sequence[Any]) -> tuple[Array, ...]:
    *each, rounding = tables
    return *(np.ascontiguousarray(t, dtype=np.float64) for t in each), UNKNOWN if rounding is None else _flat(rounding)


def _flat(table: Array) -> Array:
    return np.ascontiguousarray(table, dtype=np.float64).reshape(-1)


def _parts(out: Array, shape: tuple[int, ...]) -> tuple[Array, Array, Array, Array]:
    weight, mean, m2 = out[:3].reshape(3, *shape)
    return weight, mean, m2, out[3:].reshape(2, *shape)
