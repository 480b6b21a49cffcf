"""How much each reading counts: weights τ ≥ 0 of nested readings, from rows that none of them has seen.

Minimises Σ_n −log softmax_k(log P(k) + Σ_v τ_v O_vnk)[y_n] + c·‖τ − τ⁰‖². On noise τ falls to zero and the prior is
left; on few rows τ < 1 tempers what was learned from them.

τ⁰ is less than one where rows are few: what they say is always said too loudly. Up to 2,000 rows τ⁰ = 0 is tried as
well, and the better one by held-out loss is taken. At last all evidence is trusted as far as it differs from chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Labels
from tallybayes.learning.evidence import HeldOut
from tallybayes.learning.weights import learn

PULL = 3.0  # c: a weight that is off by one costs as much as three nats
HALF = 30.0  # rows whose evidence is expected to be worth half of what it says
BEYOND = 1e4  # nats between two classes, which no honest evidence comes to
FEW = 2_000  # rows up to which it matters where weights start
CHANCE = 2.0  # standard deviations that mere chance may come to
SURE = 5.0  # standard deviations that chance never comes to


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
    # One row with evidence beyond all measure would decide on every weight: such a reading has none.
    sound = np.ptp(evidence, axis=1).max(axis=0, initial=0.0) < BEYOND
    evidence, start = np.where(sound, evidence, 0.0), np.where(sound, start, 0.0)
    every = np.concatenate((prior[:, :, None], evidence), axis=2).astype(np.float32)
    rows = HeldOut.of(every, np.zeros(prior.shape[1]), labels.codes, labels.weight)
    total = float(labels.weight.sum())
    starts = [start * (total / (total + HALF)), *([np.zeros_like(start)] if total <= FEW else ())]
    found = [_stacked_from(each, rows, evidence, prior, fold) for each in starts]
    return min(found, key=lambda stack: stack.loss(labels))


def _stacked_from(start: Array, rows: HeldOut, evidence: Array, prior: Array, fold: NDArray[np.intp]) -> Stack:
    """The same with weights that are kept near some."""
    centre = np.concatenate(([0.0, 1.0], start))  # what all rows share, and the prior, stay as they are

    def learned(few: HeldOut) -> Array:
        return learn(few, centre, centre, PULL, fixed=2)[2:]

    scores = np.empty_like(prior)
    for number in range(int(fold.max()) + 1):
        own = fold == number
        scores[own] = prior[own] + evidence[own] @ learned(rows.without(own))
    return Stack(learned(rows), scores)


def trust(scores: Array, prior: Array, labels: Labels) -> float:
    """How far evidence is trusted that out-of-fold scores (n, K) have beyond the prior (n, K).

    u_n is the probability that the scores give to the row's own class, beyond what they give to a class drawn from the
    prior. If labels do not depend on the rows, Σu is zero on average and its variance is known; t is Σu in standard
    deviations. The share is 1 − (2/t)², nothing below two: of noise, too, something seems to point the right way (after
    Stein's estimator, 1956). From five on chance is ruled out, and the share is one.

    Examples
    --------
    >>> prior, labels = np.log(np.full((8, 2), 0.5)), Labels.hard(np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    >>> right = np.log(np.where(np.eye(2)[labels.codes], 0.9, 0.1))
    >>> round(trust(right, prior, labels), 3), trust(right[[0, 1, 4, 5, 0, 1, 4, 5]], prior, labels)
    (0.5, 0.0)
    """
    said, expected = _softmax(scores), _softmax(prior)
    mean = (said * expected).sum(axis=1)
    beyond = labels.weight @ (said[np.arange(len(said)), labels.codes] - mean)
    variance = labels.weight @ ((said**2 * expected).sum(axis=1) - mean**2)
    t = float(beyond) / float(np.sqrt(variance)) if variance > 0 else 0.0
    if t >= SURE:
        return 1.0
    return 1.0 - (CHANCE / t) ** 2 if t > CHANCE else 0.0


def _softmax(scores: Array) -> Array:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def losses(scores: Array, labels: Labels) -> Array:
    """−log P(y_n | x_n), shape (n,), of scores (n, K)."""
    top = scores.max(axis=1)
    own = scores[np.arange(len(scores)), labels.codes]
    return np.asarray(top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - own)
