"""Where the fine bins of a number begin.

Edges are chosen by rank: each lies between two neighbouring values of the data, so that the same rows share a bin in
whatever unit the column is given and in whatever order the rows come. Of the numbers in such a gap the edge is the one
with the fewest decimal digits. Tallies with different edges meet exactly in the edges that both have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array

FINE = 128  # bins at most
SAME = 4 * float(np.finfo(float).eps)  # numbers that differ by a smaller share are one but for rounding
DIGITS = 17  # decimal digits that distinguish all floats


def fine_edges(values: NDArray[Any], n_bins: int = FINE) -> tuple[float, ...]:
    """Return the edges of fine bins; few distinct values get a bin each.

    Half of the edges are quantiles of the rows, half are quantiles of the distinct values: a value that most rows have
    would otherwise take all the edges from the rare ones.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers; NaN is a missing value.
    n_bins : int

    Returns
    -------
    tuple of float
        In rising order.

    Examples
    --------
    >>> fine_edges(np.array([1, 2, 2, 4, np.nan]))
    (2.0, 4.0)
    >>> fine_edges(np.array([0.3071, 0.3196, 0.3304]))
    (0.31, 0.33)
    """
    values = np.asarray(values, dtype=np.float64)
    values = np.sort(values[np.isfinite(values)])
    with np.errstate(over="ignore"):  # the largest numbers are infinitely far apart
        apart = values[1:] - values[:-1] > SAME * np.abs(values[1:])
    starts = np.concatenate(([0], np.flatnonzero(apart) + 1))  # of the different values
    if len(starts) <= n_bins:
        chosen = np.arange(1, len(starts))
    else:
        of_rows = _heavy(np.searchsorted(starts, _ranks(len(values), n_bins // 2), side="right") - 1)
        chosen = np.union1d(of_rows, _ranks(len(starts), n_bins // 2))
        chosen = chosen[(chosen > 0) & (chosen < len(starts))]
    if not len(chosen):
        return ()
    return tuple(shortest_decimals(values[starts[chosen] - 1], values[starts[chosen]]).tolist())


def _ranks(n: int, n_bins: int) -> NDArray[np.intp]:
    """The first of each bin but the first, where n things are shared out evenly."""
    return np.arange(1, n_bins) * n // n_bins


def _heavy(places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Places of the distinct values that bins begin with; after a value that fills a bin the next one begins one."""
    return np.union1d(places, places[1:][places[1:] == places[:-1]] + 1)


def shortest_decimals(low: Array, high: Array) -> Array:
    """The number of fewest decimal digits with low < number <= high, of each pair.

    Examples
    --------
    >>> shortest_decimals(np.array([0.1234, -3.0, 7.0]), np.array([0.1251, 2.0, 11.0]))
    array([ 0.125,  0.   , 10.   ])
    """
    found = np.where((low < 0) & (high >= 0), 0.0, high)
    wanted = np.flatnonzero((low >= 0) | (high < 0))
    with np.errstate(all="ignore"):  # beyond the range of floats no shorter number is found
        top = np.floor(np.log10(np.maximum(np.abs(low), np.abs(high)))) + 1.0
        for digits in range(DIGITS):
            for nudge in (4e-16, 0.0, -4e-16):  # the product of a float and a power of ten is rounded
                number = _truncated(low[wanted], high[wanted], top[wanted] - digits, nudge)
                inside = np.isfinite(number)
                found[wanted[inside]] = number[inside]
                wanted = wanted[~inside]
            if not len(wanted):
                break
    return found


def _truncated(low: Array, high: Array, power: Array, nudge: float) -> Array:
    """The last multiple of a power of ten up to high; NaN where it is not above low."""
    unit = 10.0 ** np.abs(power)
    scaled = np.where(power < 0, high * unit, high / unit)
    whole = np.floor(scaled * (1.0 + nudge * np.sign(scaled)))
    near, room = np.where(power < 0, whole / unit, whole * unit), 1e-12 * np.abs(high)
    out = np.full(len(low), np.nan)
    for i in np.flatnonzero((near > low - room) & (near <= high + room)).tolist():
        number = float(f"{whole[i]:.0f}e{power[i]:.0f}")  # the float that is nearest to the decimal number
        out[i] = number if low[i] < number <= high[i] else np.nan
    return out


def even_groups(weight: Array, n_groups: int) -> NDArray[np.int64]:
    """Merge fine bins (B,) into groups of about the same weight."""
    middle = np.cumsum(weight) - weight / 2.0
    number = np.floor(middle / max(float(weight.sum()), 1e-300) * n_groups).astype(np.int64)
    return np.asarray(np.unique(number, return_inverse=True)[1])
