"""Weighted evidence that leaves the class shares as they are.

With weights other than one, and a weight on the prior, a row without values would not get the class shares. So the
prior keeps the weight of one, and what its weight added is shared out among the columns as constants c_dk, which a row
gets with a column's value: first what it takes for a model of that column alone, averaged over the rows, to give back
the class shares; the rest in proportion to how much each column says. A row with all values keeps its score.
"""

from __future__ import annotations

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.learning.evidence import HeldOut

ROUNDS = 30
ROWS = 5_000  # that the constants are found from
TOLERANCE = 1e-6


def centred(rows: HeldOut, weights: Array, log_prior: Array) -> Array:
    """The constants (P, K) of the columns, from their weights after that of the prior."""
    few = rows.take(slice(None, None, max(1, -(-len(rows.codes) // ROWS))))
    evidence = few.by_class()  # (n, K, P)
    needed = np.zeros((evidence.shape[2], evidence.shape[1]))
    says = np.zeros(len(needed))
    for d, weight in enumerate(weights[1:]):
        if weight:
            known = np.flatnonzero(evidence[:, :, d].any(axis=1))
            own = weight * evidence[known, :, d].astype(np.float64)
            own -= own.mean(axis=1)[:, None]
            says[d] = float(few.weight[known] @ np.abs(own).mean(axis=1))
            needed[d] = _needed(own, few.weight[known], log_prior)
    total = says.sum()
    if not total > 0:
        return needed
    prior = np.where(np.isneginf(log_prior), 0.0, log_prior)
    rest = (weights[0] - 1.0) * prior - needed.sum(axis=0)
    return needed + np.outer(says / total, rest - rest.mean())


def _needed(evidence: Array, weight: Array, log_prior: Array) -> Array:
    """The constants (K,) with which the evidence (n, K) of one column gives back the class shares on average."""
    found, total = np.zeros(len(log_prior)), float(weight.sum())
    if not total > 0:
        return found
    share, seen = np.exp(log_prior), log_prior > -1e2
    for _ in range(ROUNDS):
        scores = evidence + log_prior + found
        scores -= scores.max(axis=1)[:, None]
        p = np.exp(scores)
        mean = weight @ (p / p.sum(axis=1)[:, None]) / total
        step = np.where(seen, np.log(np.maximum(share, 1e-300)) - np.log(np.maximum(mean, 1e-300)), 0.0)
        found += step
        if np.abs(step).max() < TOLERANCE:
            break
    return found - found[seen].mean()
