"""How much of its evidence each column is to be believed, learned from leave-one-out evidence.

Maximises Σ_n r_n log P(y_n | x_n) − λ Σ_d (w_d − c_d)² over w ≥ 0, where the scores are w_0·log P(y) + Σ_d w_d·e_nkd
and e_nkd = log P(x_nd | k) as if row n had not been learned. The centre c is 1, what Naive Bayes assumes, and 0 for
pairs, what independence says. Concave, so Newton's method with the exact slope and curvature finds the maximum in a few
steps; λ keeps it finite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.batch import Array

PULL = 1.0  # λ: a weight that is off by one costs as much as one nat
PULLS = (0.3, 1.0, 3.0, 10.0)  # what is tried where rows are few enough for it to matter
FEW = 2_000  # rows
MOST_CELLS = 60_000_000  # of evidence, in float32
LEAST_ROWS = 30
MOST_STEPS = 30
NEAR_ZERO = 1e-3  # a weight that a step may not count on
TOLERANCE = 1e-6  # nats a row: less than any noise


@dataclass(frozen=True)
class LeftOut:
    """What each other class says against a row's own, term by term, the row itself left out of what was learned."""

    terms: NDArray[
        np.float32
    ]  # (n, K − 1, 1 + P) evidence of the other classes less that of the row's own; prior first
    codes: NDArray[Any]  # (n,) class codes
    weight: Array  # (n,) of the rows

    @classmethod
    def of(cls, evidence: NDArray[np.float32], prior: Array, codes: NDArray[Any], weight: Array) -> LeftOut:
        """From the evidence (n, K, P) of the columns and the log prior (K,)."""
        n, n_classes, columns = evidence.shape
        terms, rows = np.empty((n, n_classes - 1, columns + 1), dtype=np.float32), np.arange(n)
        for k, other in enumerate(_others(codes, n_classes).T):
            terms[:, k, 0] = prior[other] - prior[codes]
            terms[:, k, 1:] = evidence[rows, other] - evidence[rows, codes]
        return cls(terms, codes, weight)

    @property
    def n_terms(self) -> int:
        """The prior and the columns."""
        return self.terms.shape[2]

    def take(self, rows: Any) -> LeftOut:
        """Some of the rows."""
        return LeftOut(self.terms[rows], self.codes[rows], self.weight[rows])

    def joined(self, more: LeftOut) -> LeftOut:
        """The same rows with the columns of both."""
        return replace(self, terms=np.concatenate((self.terms, more.terms[:, :, 1:]), axis=2))

    def against(self, weights: Array) -> Array:
        """Log odds (n, K − 1) of the other classes against the row's own."""
        flat = self.terms.reshape(-1, self.n_terms) @ weights.astype(np.float32)
        return flat.reshape(self.terms.shape[:2]).astype(np.float64)

    def losses(self, weights: Array) -> Array:
        """−log P(y_n | x_n), shape (n,)."""
        return _losses(self.against(weights))

    def lost_without(self, weights: Array) -> Array:
        """How much the mean loss rises (1 + P,) when a term alone is left out, the prior's first."""
        against = self.against(weights)
        total = max(float(self.weight.sum()), 1e-300)
        now = float(self.weight @ _losses(against))
        without = [
            float(self.weight @ _losses(against - w * self.terms[:, :, d])) if w else now for d, w in enumerate(weights)
        ]
        return (np.array(without) - now) / total

    def log_posterior(self, weights: Array) -> Array:
        """Log P(y | x), shape (n, K)."""
        against = self.against(weights)
        out = np.repeat(-_losses(against)[:, None], against.shape[1] + 1, axis=1)
        rows = np.arange(len(out))[:, None]
        out[rows, _others(self.codes, against.shape[1] + 1)] += against
        return out

    def derivatives(self, against: Array) -> tuple[Array, Array]:
        """Slope (1 + P,) and curvature (1 + P, 1 + P) of the loss in the weights, where they give these log odds."""
        posterior = np.exp(against - _losses(against)[:, None]).astype(np.float32)  # of the other classes
        slope, curvature = np.zeros(self.n_terms), np.zeros((self.n_terms, self.n_terms))
        step = max(1, 1_000_000 // max(self.terms.shape[1] * self.n_terms, 1))  # rows whose terms stay in the cache
        for first in range(0, len(self.codes), step):
            here = slice(first, first + step)
            terms, p, weight = self.terms[here], posterior[here], self.weight[here].astype(np.float32)
            if terms.shape[1] == 1:
                expected = terms[:, 0] * p
                flat = terms[:, 0] * np.sqrt(weight[:, None] * p * (1.0 - p))
                curvature += flat.T @ flat
            else:
                expected = np.matmul(p[:, None, :], terms)[:, 0]
                flat = (terms * np.sqrt(p * weight[:, None])[:, :, None]).reshape(-1, self.n_terms)
                centred = expected * np.sqrt(weight)[:, None]
                curvature += flat.T @ flat - centred.T @ centred
            slope += weight @ expected
        return slope, curvature


def _others(codes: NDArray[Any], n_classes: int) -> NDArray[np.intp]:
    """The codes (n, K − 1) of the classes that a row does not belong to."""
    others = np.arange(n_classes - 1)[None]
    return np.asarray(others + (others >= np.asarray(codes)[:, None]))


def _losses(against: Array) -> Array:
    """log(1 + Σ exp), without overflow."""
    top = np.maximum(against.max(axis=1, initial=0.0), 0.0)
    return np.asarray(top + np.log(np.exp(-top) + np.exp(against - top[:, None]).sum(axis=1)))


def learn(
    rows: LeftOut, centre: Array, start: Array | None = None, pull: float = PULL, fixed: int | None = None
) -> Array:
    """Return the weights (1 + P,) that foretell the labels best, the prior's first; ``fixed`` of them stay as they are.

    Projected Newton steps: weights that are at zero and would fall stay there, the others take the step that the slope
    and the curvature suggest, shortened until the loss falls.
    """
    weights = np.array(centre if start is None else start, dtype=np.float64)
    free = np.arange(len(weights)) >= (fixed or 0)
    total = max(float(rows.weight.sum()), 1e-300)

    def objective(at: Array) -> tuple[float, Array]:
        against = rows.against(at)
        return float(rows.weight @ _losses(against)) + pull * float(((at - centre) ** 2).sum()), against

    loss, against = objective(weights)
    for _ in range(MOST_STEPS):
        slope, curvature = rows.derivatives(against)
        slope += 2.0 * pull * (weights - centre)
        curvature[np.diag_indices(len(weights))] += 2.0 * pull
        moving = free & ((weights > 0) | (slope < 0))
        if not moving.any():
            break
        step = _step(weights, slope, curvature, moving)
        for halving in range(12):
            after = np.maximum(weights + step * 0.5**halving, 0.0)
            new_loss, new_against = objective(after)
            if new_loss < loss:
                break
        else:
            break
        gained, loss, against, weights = loss - new_loss, new_loss, new_against, after
        if gained < TOLERANCE * total and not halving:  # a step that had to be shortened may gain little on the way
            break
    return weights


def _step(weights: Array, slope: Array, curvature: Array, moving: NDArray[np.bool_]) -> Array:
    """The Newton step of the moving weights.

    A weight of nearly zero that the step would push below would be held at zero, and the others' step, which counts on
    it, would then lead nowhere. So it is put to zero, or stays if it would rise by itself; the others step without it.
    """
    step = np.zeros_like(weights)
    while moving.any():
        step[moving] = np.linalg.solve(curvature[np.ix_(moving, moving)], -slope[moving])
        pushed = moving & (weights <= NEAR_ZERO) & (weights + step < 0)
        if not pushed.any():
            break
        step[pushed] = np.where(slope > 0, -weights, 0.0)[pushed]
        moving = moving & ~pushed
    return step


def best_pull(rows: LeftOut, centre: Array) -> float:
    """The λ whose weights foretell rows that they were not learned from best; on many rows it makes no difference."""
    if len(rows.codes) > FEW:
        return PULL
    return min(PULLS, key=lambda pull: float((rows.weight * held_out_losses(rows, centre, pull)).sum()))


def held_out_losses(
    rows: LeftOut, centre: Array, pull: float = PULL, start: Array | None = None, fixed: int | None = None
) -> Array:
    """Losses (n,) of each row under weights learned from the rows of the other folds."""
    n_folds = 5 if len(rows.codes) <= FEW else 2
    fold = np.random.default_rng(0).permutation(len(rows.codes)) % n_folds
    losses = np.zeros(len(rows.codes))
    for number in range(n_folds):
        losses[fold == number] = rows.take(fold == number).losses(
            learn(rows.take(fold != number), centre, start, pull, fixed)
        )
    return losses


def is_better(before: Array, after: Array, weight: Array) -> bool:
    """Whether losses fell by more than one standard error of the mean difference."""
    total = float(weight.sum())
    gain = (weight * (before - after)).sum() / total
    noise = np.sqrt((weight * (before - after - gain) ** 2).sum() / total / max(len(before), 1))
    return bool(gain > noise)
