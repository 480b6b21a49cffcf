"""Sampling variances of log probabilities, by the delta method on the counts behind them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Csr
from tallybayes.families._linear import Entries

HALF = 0.5  # a count of nothing is known as well as one of half a row (Anscombe 1956)


def of_share(count: Array, smoothed: Array, mass: Array) -> Array:
    """Variance of the log of a share: 1/c − 1/N, the limit of a Dirichlet posterior's for large counts."""
    known = np.maximum(smoothed, count + HALF)
    return np.maximum(1.0 / known - 1.0 / np.maximum(mass, known), 0.0)


def of_normal(z: Array, rows: Array) -> Array:
    """Variance of log N(x; μ, σ²) where z = (x − μ)/σ: of the mean z²/n, of the variance (z² − 1)²/2n."""
    squared = np.square(z)
    return np.asarray((squared + 0.5 * (squared - 1.0) ** 2) / np.maximum(rows, 1.0))


def of_words(x: NDArray[np.float64] | Csr, weights: Array, share: Array, mass: Array) -> Array:
    """Variance of Σ_v w_v x_v log θ_kv, by 1/t_kv (V, K) and the words of each class (K,).

    Of the rows of a matrix column by column (n, K, V); of documents as a whole (n, K), where a word more of one kind is
    one less of the others.
    """
    if not isinstance(x, Csr):
        amount = np.nan_to_num(x) * weights
        return np.square(amount)[:, None, :] * np.maximum(share.T - 1.0 / mass[:, None], 0.0)
    entries = Entries.of(x)
    amount = entries.value * weights[entries.column]
    squares = np.square(amount)[:, None] * share[entries.column]
    each = np.stack([entries.total(column) for column in squares.T], axis=1)
    return np.maximum(each - np.square(entries.total(amount))[:, None] / mass, 0.0)
