"""Weighted evidence that leaves the class shares as they are.

With weights other than one, and a weight on the prior, a row without values would not get the class shares. So the
prior keeps the weight of one, and what its weight added is shared out among the columns as constants c_dk, which a row
gets with a column's value: first what it takes for a model of that column alone, averaged over the rows, to give back
the class shares; the rest in proportion to how much each column says. A row with all values keeps its score.
"""

from __future__ import annotations

import numpy as np

from tallybayes.core import fitting
from tallybayes.core.batch import Array
from tallybayes.learning.evidence import HeldOut

ROWS, CELLS = 2_000, 200_000  # that the constants are found from: rows, and rows times classes


def centred(rows: HeldOut, weights: Array, log_prior: Array) -> Array:
    """The constants (P, K) of the columns, from their weights after that of the prior."""
    most = min(ROWS, max(CELLS // len(log_prior), 500))
    few = rows.take(slice(None, None, max(1, -(-len(rows.codes) // most))))
    needed, says = fitting.column_constants(few.terms, few.codes, few.weight, weights, log_prior)
    seen, total = log_prior > -1e2, says.sum()
    needed -= needed[:, seen].mean(axis=1)[:, None]
    if not total > 0:
        return np.zeros_like(needed)
    prior = np.where(np.isneginf(log_prior), 0.0, log_prior)
    rest = (weights[0] - 1.0) * prior - needed.sum(axis=0)
    return needed + np.outer(says / total, rest - rest.mean())
