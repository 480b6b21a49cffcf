"""A weight for every word of a text, learned from leave-one-out evidence.

The score of class k is w₀·log P(k) + Σ_v u·t_v·e_vk, where e_vk is the leave-one-out evidence of the words v of the
document for k, u is the one weight of the text, and t_v ≥ 0 is 1 by default. They maximise
Σ_n r_n log P(y_n | x_n) − λ/2 Σ_v (t_v − 1)². Redundant words lose weight, decisive words gain some: what Wang and
Manning (2012) do with a support vector machine on log count ratios, for any number of classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Batch, Csr, Documents, Labels, every_nth, mask_labels
from tallybayes.core.leave_one_out import WORDY
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.settings import WordWeights
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.core.tokens import Vocabulary
from tallybayes.data.tables import TableBatch
from tallybayes.errors import SettingError
from tallybayes.learning.evidence import LEARNED_ROWS
from tallybayes.learning.reading import Reading

PULL = 1.0  # λ: a weight that is off by its own size costs half a nat
MOST_TERMS = 100_000_000  # of evidence, in float32
MOST_STEPS = 60
TOLERANCE = 1e-4  # of the loss: less than any noise
USUAL = 1e-3  # a word whose weight is off by a smaller share has the weight of the text
LEAST_DOCUMENTS = 2  # a word of a single document is no evidence for other documents


@dataclass(frozen=True)
class WordEvidence:
    """Leave-one-out evidence of the words of documents."""

    terms: NDArray[np.float32]  # (nnz, K) for each class
    x: Csr  # whose entries the terms are of
    labels: Labels
    log_prior: Array  # (K,)
    others: Array  # (n, K) evidence of the other columns

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


def with_word_weights(read: Reading, batch: TableBatch, block: str, n_jobs: int | None) -> Reading:
    """How the table is read with a weight for every word of a text."""
    model, given = read.model, read.model.settings.weights
    assert given is not None
    text = model.texts[block]
    rows = replace(batch, schema=model.schema, places=model.tally.places)
    evidence = _word_evidence(model, rows, block)
    usual = given.columns[text.name]
    learned, prior = learn_words(evidence, usual, given.prior, n_jobs)
    weights, levels = np.full(text.n_cells, usual), text.levels
    weights[model.words.known.get(block, slice(None))] = learned
    assert isinstance(levels, (Vocabulary, range))
    if isinstance(levels, Vocabulary):
        changed = np.abs(weights - usual) > USUAL * usual
        levels, weights = levels.select(changed), weights[changed]
    note = f"weights of {plural(len(weights), 'word')} of {text.name!r}, from {plural(evidence.x.shape[0], 'row')}"
    words = {**given.words, text.name: WordWeights(levels, weights)}
    return read.weighted(replace(given, prior=prior, words=words), note)


def _word_evidence(model: Model, rows: TableBatch, block: str) -> WordEvidence:
    """Leave-one-out evidence of the words of a text, of as many rows as there is room for."""
    sample = every_nth(rows, _room(model, rows, block))
    assert sample.labels is not None
    (p,) = model.tally.blocks[block].columns
    weights = np.where(np.arange(len(model.column_weights)) == p, 0.0, model.column_weights)
    found, documents, others = [], [], np.zeros((sample.n_rows, model.n_classes))
    for first in range(0, sample.n_rows, WORDY):
        part = sample.rows(first, min(first + WORDY, sample.n_rows))
        entries, terms = _words_without(model, block, part)
        found.append(terms.astype(np.float32, order="C"))
        documents.append(entries)
        if len(part.blocks) > 1:
            others[first : first + part.n_rows] = model.left_out.contributions(part) @ weights
    prior = np.maximum(model.log_prior, -1e3)
    return WordEvidence(np.concatenate(found), _stacked(documents), sample.labels, prior, others)


def _room(model: Model, rows: TableBatch, block: str) -> int:
    """How many rows there is room for, by the length of some of their texts."""
    few = every_nth(rows, 100)
    x: Any = few.rows(0, few.n_rows).blocks[block].x
    length = max(1.0, float(x.start[-1]) / few.n_rows)
    return max(100, min(LEARNED_ROWS, int(MOST_TERMS / length / model.n_classes)))


def _stacked(documents: list[Documents]) -> Csr:
    """The entries of all documents as one matrix."""
    start = np.concatenate(([0], np.cumsum(np.concatenate([np.diff(each.start) for each in documents]))))
    column = np.concatenate([each.column for each in documents]).astype(np.int32)
    data = np.concatenate([each.data for each in documents])
    return Csr(data, column, start.astype(np.int64), documents[0].n_columns)


def _words_without(model: Model, block: str, part: Batch) -> tuple[Documents, Array]:
    """The words of training texts, and the leave-one-out evidence (nnz, K) of each."""
    assert part.labels is not None
    x: Any = model.words.without_own_words(block, part.blocks[block].x, part.labels)
    family: Any = model.settings.families[block]
    if not hasattr(family, "each_word_without"):
        raise SettingError(f"words have no weights of their own in a {family.name} text; use weights='auto'")
    labels = mask_labels(x, part.labels)
    return x, family.each_word_without(model.words.summary(block), model.parameters[block], x, labels)
