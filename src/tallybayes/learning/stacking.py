"""How much each reading counts: weights τ ≥ 0 of nested readings, from rows that none of them has seen.

Minimises Σ_n −log softmax_k(log P(k) + Σ_v τ_v O_vnk)[y_n] + c·‖τ − τ⁰‖². On noise τ falls to zero and the prior is
left; on few rows τ < 1 tempers what was learned from them.

τ⁰ is less than one where rows are few: what they say is always said too loudly. Up to 2,000 rows τ⁰ = 0 is tried as
well, and the better one by held-out loss is taken. At last all evidence is trusted as far as it differs from chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import fitting
from tallybayes.core.batch import Array, Labels

TOLERANCE = 1e-8  # nats a row: a step that is to gain less is the last; other units move no weight by 1e-6
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
    by_fold: Array  # (folds, V) these weights

    def loss(self, labels: Labels) -> float:
        """Mean loss of the scores."""
        return float(labels.weight @ losses(self.scores, labels)) / max(float(labels.weight.sum()), 1e-300)


@dataclass(frozen=True)
class Readings:
    """What readings say beyond the prior of rows that none of them has seen."""

    evidence: Sequence[Array]  # (n, K) of each reading, V
    prior: Array  # (n, K)
    labels: Labels
    fold: NDArray[np.intp]  # (n,) that each row had no part in learning
    base: NDArray[np.float32]  # (K, n) the prior against the row's own class
    terms: NDArray[np.float32]  # (V, K, n) the evidence against the row's own class
    sound: NDArray[np.bool_]  # (V,) whether a reading is within all measure

    @classmethod
    def of(cls, evidence: Sequence[Array], prior: Array, labels: Labels, fold: NDArray[np.intp]) -> Readings:
        """From what the readings say of each class."""
        terms, base = np.zeros((len(evidence), *prior.T.shape), dtype=np.float32), _against_own(prior, labels)
        return cls((), prior, labels, fold, base, terms[:0], np.ones(0, bool))._joined(evidence, terms)

    def joined(self, evidence: Array) -> Readings:
        """The same with one reading more."""
        terms = np.zeros((len(self.terms) + 1, *self.base.shape), dtype=np.float32)
        terms[:-1] = self.terms
        return self._joined([evidence], terms)

    def _joined(self, evidence: Sequence[Array], terms: NDArray[np.float32]) -> Readings:
        """The same with more readings, whose terms are to be written after those of the others."""
        sound = [*self.sound]
        for own, each in zip(terms[len(sound) :], evidence, strict=True):
            own[:] = _against_own(each, self.labels)
            # One row with evidence beyond all measure would decide on every weight: such a reading has none.
            sound.append(bool((own.max(axis=0) - own.min(axis=0)).max(initial=0.0) < BEYOND))
            own *= sound[-1]
        return replace(self, evidence=[*self.evidence, *evidence], terms=terms, sound=np.array(sound))

    def weights(self, start: Array, own: int | None = None) -> tuple[Array, float]:
        """The weights (V,) near some, learned from all rows or those of the other folds, and what they come to."""
        rows = self.labels.weight if own is None else np.where(self.fold == own, 0.0, self.labels.weight)
        found = start.copy()
        return found, fitting.stack_readings(self.base, self.terms, rows, start, found, PULL, TOLERANCE)

    def starts(self, start: Array) -> list[Array]:
        """Where weights may start."""
        total = float(self.labels.weight.sum())
        start = np.where(self.sound, start, 0.0)
        return [start * (total / (total + HALF)), *([np.zeros_like(start)] if total <= FEW else ())]

    def least(self, start: Array) -> float:
        """The loss of the rows that the weights are learned from, with what keeps the weights near the first start."""
        return self.weights(self.starts(start)[0])[1]

    def stacked(self, start: Array) -> Stack:
        """The weights, and scores by weights learned from other folds; from the start that suits these scores best."""
        return min(map(self._stacked_from, self.starts(start)), key=lambda stack: stack.loss(self.labels))

    def _stacked_from(self, start: Array) -> Stack:
        n_folds = int(self.fold.max()) + 1
        by_fold = np.stack([self.weights(start, number)[0] for number in range(n_folds)])
        each = by_fold[self.fold]
        scores = self.prior.copy()
        for v, evidence in enumerate(self.evidence):
            if self.sound[v]:
                scores += each[:, v, None] * evidence
        return Stack(self.weights(start)[0], scores, by_fold)


def _against_own(scores: Array, labels: Labels) -> NDArray[np.float32]:
    """Scores (n, K) as (K, n), against those of the row's own class."""
    own = scores[np.arange(len(scores)), labels.codes]
    # Rounded afterwards: the unit of a column shifts the scores of all classes alike.
    return np.ascontiguousarray((scores - own[:, None]).T, dtype=np.float32)


def stacked(evidence: Array, prior: Array, labels: Labels, fold: NDArray[np.intp], start: Array) -> Stack:
    """Weigh the evidence (n, K, V) of readings beyond the prior (n, K); all of the readings have not seen the row."""
    return Readings.of(list(np.moveaxis(evidence, 2, 0)), prior, labels, fold).stacked(start)


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
    said, expected = softmax(scores), softmax(prior)
    mean = (said * expected).sum(axis=1)
    beyond = labels.weight @ (said[np.arange(len(said)), labels.codes] - mean)
    variance = labels.weight @ ((said**2 * expected).sum(axis=1) - mean**2)
    t = float(beyond) / float(np.sqrt(variance)) if variance > 0 else 0.0
    if t >= SURE:
        return 1.0
    return 1.0 - (CHANCE / t) ** 2 if t > CHANCE else 0.0


def softmax(scores: Array) -> Array:
    """Probabilities (n, K) of scores."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def losses(scores: Array, labels: Labels) -> Array:
    """−log P(y_n | x_n), shape (n,), of scores (n, K)."""
    assert labels.codes is not None
    return fitting.score_losses(scores, labels.codes)
