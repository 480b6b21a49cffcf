"""How much each reading counts: weights τ ≥ 0 of nested readings, from rows that none of them has seen.

Minimises Σ_n −log softmax_k(log P(k) + Σ_v τ_v O_vnk)[y_n] + c·‖τ − τ⁰‖². On noise τ falls to zero and the prior is
left; on few rows τ < 1 tempers what was learned from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Labels
from tallybayes.learning.evidence import HeldOut
from tallybayes.learning.weights import learn

PULL = 3.0  # c: a weight that is off by one costs as much as three nats


@dataclass(frozen=True)
class Stack:
    """The weights of the readings, and scores that no row had a part in."""

    weights: Array  # (V,)
    scores: Array  # (n, K) with the prior; of each fold with weights learned from the other folds

    def loss(self, labels: Labels) -> float:
        """Mean loss of the scores."""
        return float(labels.weight @ losses(self.scores, labels)) / max(float(labels.weight.sum()), 1e-300)


def stacked(evidence: Array, prior: Array, labels: Labels, fold: NDArray[np.intp], start: Array) -> Stack:
    """Weigh the evidence (n, K, V) of readings beyond the prior (n, K); all of the readings have not seen the row."""
    assert labels.codes is not None
    every = np.concatenate((prior[:, :, None], evidence), axis=2).astype(np.float32)
    rows = HeldOut.of(every, np.zeros(prior.shape[1]), labels.codes, labels.weight)
    centre = np.concatenate(([0.0, 1.0], start))  # what all rows share, and the prior, stay as they are

    def learned(few: HeldOut) -> Array:
        return learn(few, centre, centre, PULL, fixed=2)[2:]

    scores = np.empty_like(prior)
    for number in range(int(fold.max()) + 1):
        own = fold == number
        scores[own] = prior[own] + evidence[own] @ learned(rows.without(own))
    return Stack(learned(rows), scores)


def losses(scores: Array, labels: Labels) -> Array:
    """−log P(y_n | x_n), shape (n,), of scores (n, K)."""
    top = scores.max(axis=1)
    own = scores[np.arange(len(scores)), labels.codes]
    return np.asarray(top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - own)
