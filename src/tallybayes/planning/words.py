"""A weight for every word of a text, learned from leave-one-out evidence.

The score of class k is w₀·log P(k) + Σ_v u·t_v·e_vk, where e_vk is what the words v of the document say for k as if the
document had not been learned, u is the one weight of the text, and t_v ≥ 0 is 1 where nothing is known better. They
maximise Σ_n r_n log P(y_n | x_n) − λ/2 Σ_v (t_v − 1)². Words that say the same again lose weight, words that decide
gain some: what Wang and Manning (2012) do with a support vector machine on log count ratios, for any number of classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.batch import Array, Csr, Labels
from tallybayes.parallel import map_rows, threads_for

PULL = 1.0  # λ: a weight that is off by its own size costs half a nat
MOST_TERMS = 100_000_000  # of evidence, in float32
MOST_STEPS = 60
TOLERANCE = 1e-4  # of the loss: less than any noise
LEAST_DOCUMENTS = 2  # a word that no other document has says nothing about those to come


@dataclass(frozen=True)
class WordEvidence:
    """What the words of documents say, each document left out of what was learned."""

    terms: NDArray[np.float32]  # (nnz, K) for each class
    x: Csr  # whose entries the terms are of
    labels: Labels
    log_prior: Array  # (K,)
    others: Array  # (n, K) what the other columns say

    def loss(self, weight: Array, prior: float, n_jobs: int | None = None) -> tuple[float, Array, float]:
        """Log loss of the documents, and its slope in the weights of the words (V,) and of the prior."""
        n_rows, threads = self.x.shape[0], threads_for(self.terms.size, n_jobs)
        base = self.others + prior * self.log_prior
        left = np.empty_like(base)

        def part(first: int, last: int) -> tuple[float, Array]:
            return kernels.word_loss(self.terms, self.x, base, self.labels, (first, last), weight, left)

        parts = list(map_rows(part, n_rows, max(1, -(-n_rows // threads)), threads))
        slope = np.sum([slope for _, slope in parts], axis=0)
        return sum(loss for loss, _ in parts), slope, float(left.sum(axis=0) @ self.log_prior)


def learn_words(evidence: WordEvidence, text: float, prior: float, n_jobs: int | None = None) -> tuple[Array, float]:
    """Return the weights of the words (V,), those of the text with the words', and the weight of the prior.

    Parameters
    ----------
    evidence : WordEvidence
    text, prior : float
        The weights of the text as a whole and of the prior, to begin with.
    n_jobs : int, optional
        Threads.
    """
    from scipy.optimize import minimize  # slow to import and seldom needed

    n_words = evidence.x.n_columns
    documents = np.bincount(evidence.x.column, minlength=n_words)
    learned = np.flatnonzero(documents >= LEAST_DOCUMENTS)
    times, scale = np.ones(n_words), max(text, 1e-6)

    def objective(at: Array) -> tuple[float, Array]:
        times[learned] = at[1:]
        loss, slope, along_prior = evidence.loss(scale * times, float(at[0]), n_jobs)
        off = at[1:] - 1.0
        return loss + 0.5 * PULL * float(off @ off), np.append(along_prior, scale * slope[learned] + PULL * off)

    start = np.append(prior, np.ones(len(learned)))
    options: dict[str, Any] = {"maxiter": MOST_STEPS, "ftol": TOLERANCE * 1e-2, "maxcor": 8}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start), options=options)
    times[learned] = found.x[1:]
    return scale * times, float(found.x[0])
