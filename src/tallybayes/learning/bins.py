"""Where the fine bins of a number begin.

Edges are the simplest binary fractions between neighbouring quantiles. Tables that were looked at apart so share most
of their edges, and where they do not, their tallies still meet exactly in the edges that both have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array

FINE = 128  # bins at most
MOST_VALUES = 1_000_000  # values looked at, evenly spread over the rows


def fine_edges(values: NDArray[Any], n_bins: int = FINE) -> tuple[float, ...]:
    """Return the edges of fine bins; few distinct values get a bin each.

    Half of the edges are quantiles of the rows, half are quantiles of the distinct values: a value that most rows have
    would otherwise take all the edges from the rare ones.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers; NaN is a hole.
    n_bins : int

    Returns
    -------
    tuple of float
        In rising order.

    Examples
    --------
    >>> fine_edges(np.array([1, 2, 2, 4, np.nan]))
    (2.0, 4.0)
    """
    values = np.asarray(values[:: max(1, -(-len(values) // MOST_VALUES))], dtype=np.float64)
    values = np.sort(values[np.isfinite(values)])
    distinct = np.unique(values)
    if len(distinct) <= n_bins:
        return tuple(_simplest(distinct[:-1], distinct[1:]).tolist())
    return tuple(np.union1d(*(_between(each, n_bins // 2) for each in (values, distinct))).tolist())


def _between(values: Array, n_bins: int) -> Array:
    """The edges of so many bins of sorted values, each the simplest number within half a bin of its place."""
    ranks = (np.arange(1, 2 * n_bins, 2) * (len(values) / (2 * n_bins))).astype(int)
    low = values[ranks[:-1]]
    above = np.minimum(np.searchsorted(values, low, side="right"), len(values) - 1)
    high = np.maximum(values[ranks[1:]], values[above])  # a value that fills a bin ends where the next one begins
    return _simplest(low[high > low], high[high > low])


def _simplest(low: Array, high: Array) -> Array:
    """The number of fewest binary digits with low < number <= high, of each pair."""
    if not len(low):
        return low
    with np.errstate(over="ignore", invalid="ignore"):  # beyond the largest float there is no coarser grid
        step = np.exp2(np.minimum(np.floor(np.log2(high - low)), 1023.0))
        found = np.floor(high / step) * step
        for _ in range(200):  # twice as coarse a grid, as long as one of its points lies between
            step = step * 2.0
            coarser = np.floor(high / step) * step
            better = coarser > low
            if not better.any():
                break
            found = np.where(better, coarser, found)
            better &= coarser != 0.0  # zero is on every grid
            if not better.any():
                break
    return np.unique(np.where(found > low, np.minimum(found, high), high))


def even_groups(weight: Array, n_groups: int) -> NDArray[np.int64]:
    """Merge fine bins (B,) into groups of about the same weight."""
    middle = np.cumsum(weight) - weight / 2.0
    number = np.floor(middle / max(float(weight.sum()), 1e-300) * n_groups).astype(np.int64)
    return np.asarray(np.unique(number, return_inverse=True)[1])
