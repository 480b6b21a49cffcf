"""Where the fine bins of a number begin.

Edges are chosen by rank: each lies between two neighbouring values of the data, so that the same rows share a bin in
whatever unit the column is given and in whatever order the rows come. Of the numbers in such a gap the edge is the one
with the fewest decimal digits. Tallies with different edges meet exactly in the edges that both have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels
from tallybayes.core.batch import Array

FINE = 128  # bins at most
SAME = 4 * float(np.finfo(float).eps)  # numbers that differ by a smaller share are one but for rounding


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
    return sorted_edges(np.sort(values[np.isfinite(values)]), n_bins)


def sorted_edges(values: Array, n_bins: int = FINE) -> tuple[float, ...]:
    """The same of finite numbers in rising order."""
    return column_kernels.fine_edges(values, n_bins, SAME)


def even_groups(weight: Array, n_groups: int) -> NDArray[np.int64]:
    """Merge fine bins (B,) into groups of about the same weight."""
    middle = np.cumsum(weight) - weight / 2.0
    number = np.floor(middle / max(float(weight.sum()), 1e-300) * n_groups).astype(np.int64)
    group = np.zeros(len(weight), dtype=np.int64)
    np.cumsum(number[1:] > number[:-1], out=group[1:])  # the numbers rise
    return group
