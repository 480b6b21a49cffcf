"""The compiled kernels of pairs: two columns together, beyond what each says alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native
from tallybayes.core.batch import Array, Codes, Labels
from tallybayes.core.kernels import check_learned, starts


def pair_lifts(
    n_levels: NDArray[np.int64], n_right: NDArray[Any], count: Array, weight: Array, strength: Array
) -> Array:
    """Lift (cells, K) of every combination of some pairs, all rows being in the counts (K, cells)."""
    table, right = np.empty(count.shape[::-1]), np.asarray(n_right, dtype=np.int64)
    counts, weights = np.ascontiguousarray(count), np.ascontiguousarray(weight)
    _native.pair_lifts(starts(n_levels), right, counts, weights, strength, table)
    return table


def pair_leave_one_out(x: Codes, labels: Labels, count: Array, weight: Array, strength: Array) -> Array:
    """Own-class lift (n,) of each row's combinations, summed over the pairs, the row itself left out of the counts."""
    own, counts, weights = np.zeros(x.shape[0]), np.ascontiguousarray(count), np.ascontiguousarray(weight)
    args = labels.codes, labels.weight, starts(x.n_levels), x.n_right, counts, weights, strength
    check_learned(_native.pair_leave_one_out(x.matrix, *args, own), 0)
    return own


def pair_evidence(
    x: Codes,
    labels: Labels,
    count: Array,
    weight: Array,
    strength: Array,
    table: Array,
    places: Sequence[int],
    out: Any,
) -> None:
    """Write the lifts of pairs, less that of the row's own class without the row, into their places of (n, K, P).

    ``table`` (cells + d, K) has the lifts of all rows, with a cell for unseen values after those of each pair.
    """
    counts, weights = np.ascontiguousarray(count), np.ascontiguousarray(weight)
    args = labels.codes, labels.weight, starts(x.n_levels), x.n_right, counts, weights, strength, table
    check_learned(_native.pair_evidence(x.matrix, *args, np.asarray(places, dtype=np.int64), out), 0)


class GridRows(NamedTuple):
    """Rows as pairs are made of them: sorted by class, and of each class those that are compared first."""

    codes: NDArray[np.int32]  # (D, n) positions of levels or bins, negative where there is none
    n_levels: NDArray[np.int64]  # (D,)
    weight: Array  # (n,)
    start: NDArray[np.int64]  # (K + 1,) first row of each class
    compared: NDArray[np.int64]  # (K + 1,) the same among those that are compared, m
    posterior: Array  # (K, m)


def pair_slopes(x: GridRows, pairs: NDArray[np.int64], strengths: Array) -> tuple[Array, Array]:
    """Slope and curvature, both (M, S), of the log likelihood in the weight of each pair (M, 2), at zero."""
    out = np.empty((len(pairs), 2 * len(strengths)))
    _native.pair_slopes(*x, pairs, strengths, out)
    return out[:, ::2], out[:, 1::2]


def interaction_gains(
    codes: NDArray[np.int32],
    n_levels: NDArray[np.int64],
    terms: NDArray[np.float32],
    n_classes: int,
    pairs: NDArray[np.int64],
    penalty: float,
) -> Array:
    """What corrections of the cells of each pair (M, 2) would gain under a penalty, beyond chance (M,).

    ``codes`` (D, n) are levels, negative where there is none, ``terms`` (n, W) the slopes and then the curvatures of
    the classes, with zeros up to a multiple of four.
    """
    out = np.empty(len(pairs))
    _native.interaction_gains(codes, n_levels, terms, n_classes, pairs, penalty, out)
    return out
