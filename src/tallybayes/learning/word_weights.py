"""A weight for every word of a text, learned from leave-one-out evidence.

The score of class k is w₀·log P(k) + b_k + Σ_v u·t_v·e_vk, where e_vk is the leave-one-out evidence of the words v of
the document for k, u is the one weight of the text, and t_v ≥ 0 is 1 by default. They maximise
Σ_n r_n log P(y_n | x_n) − λ/2 Σ_v (t_v − 1)² − Σ_k b_k²/2. Redundant words lose weight, decisive words gain some: what
Wang and Manning (2012) do with a support vector machine on log count ratios, for any number of classes.

How strongly the weights are pulled to one, λ, and whether there are intercepts b, is chosen by the loss of documents
of other folds. The scores of each fold are by weights that were learned, and by choices that were made, without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Batch, Csr, Documents, Labels, every_nth, mask_labels
from tallybayes.core.keys import stratified_folds
from tallybayes.core.leave_one_out import WORDY
from tallybayes.core.model import Model
from tallybayes.core.offsets import Offset
from tallybayes.core.schema import Column, plural
from tallybayes.core.settings import WordWeights
from tallybayes.core.tally import count
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.core.tokens import Vocabulary
from tallybayes.data.tables import TableBatch
from tallybayes.errors import SettingError
from tallybayes.learning.descent import minimised
from tallybayes.learning.evidence import LEARNED_ROWS
from tallybayes.learning.stacking import losses

MOST_TERMS = 100_000_000  # of evidence, in float32
MANY_TERMS = 20_000_000  # of so many, what one of two folds holds back is hardly missed
USUAL = 1e-3  # a word whose weight is off by a smaller share has the weight of the text
LEAST_DOCUMENTS = 2  # a word of a single document is no evidence for other documents
STEPS, LAST_STEPS = 6, 15  # of the descent, where choices are compared and at the end


@dataclass(frozen=True)
class Way:
    """How the weights of words are learned."""

    pull: float  # λ: a weight that is off by its own size costs so many half nats
    intercepts: bool = False


# In the order of the path on which one begins where the other ended.
WAYS = (Way(3.0), Way(1.0), Way(1.0, True), Way(0.3), Way(0.3, True))
FEW_WAYS = (
    Way(1.0),
    Way(0.3),
)  # where one pass over the evidence takes long; texts are many then, and intercepts small


@dataclass(frozen=True)
class WeightedWords:
    """What was learned: the weights of the words (V,), that of the prior, and an intercept for each class (K,)."""

    words: Array
    prior: float
    intercepts: Array


@dataclass(frozen=True)
class WordEvidence:
    """Leave-one-out evidence of the words of documents."""

    terms: NDArray[np.float32]  # (nnz, K) for each class
    x: Csr  # whose entries the terms are of
    labels: Labels
    log_prior: Array  # (K,)
    others: Array  # (n, K) evidence of the other columns
    order: NDArray[np.intp] | None = None  # (V,) which word each column of x is, where the frequent ones come first

    def base(self, prior: float, intercepts: Array) -> Array:
        """The score (n, K) apart from the words; a document without any has no intercept."""
        has_words = (np.diff(self.x.start) > 0)[:, None]
        return np.ascontiguousarray(self.others + prior * self.log_prior + has_words * intercepts)

    def loss(
        self, weight: Array, base: Array, n_jobs: int | None = None, curvature: Array | None = None
    ) -> tuple[float, Array, Array]:
        """Log loss of the documents, and its slope in the weights of the words (V,) and along the base (n, K)."""
        n_rows = self.x.shape[0]
        threads = 1 if curvature is not None else threads_for(self.terms.size, n_jobs)
        left = np.empty_like(base)

        def part(first: int, last: int) -> tuple[float, Array]:
            return kernels.word_loss(self.terms, self.x, base, self.labels, (first, last), weight, left, curvature)

        parts = list(map_rows(part, n_rows, max(1, -(-n_rows // threads)), threads))
        return sum(loss for loss, _ in parts), np.sum([slope for _, slope in parts], axis=0), left

    def scores(self, weighted: WeightedWords) -> Array:
        """Scores (n, K) of the documents."""
        base = self.base(weighted.prior, weighted.intercepts)
        return kernels.word_scores(self.terms, self.x, base, weighted.words)


class Learner:
    """Learns the weights of words; what depends on the evidence alone is found once."""

    def __init__(self, evidence: WordEvidence, text: float, prior: float, n_jobs: int | None = None) -> None:
        self.evidence, self.scale, self.n_jobs = evidence, max(text, 1e-6), n_jobs
        documents = np.bincount(evidence.x.column, minlength=evidence.x.n_columns)
        self.learned = np.flatnonzero(documents >= LEAST_DOCUMENTS)
        self.n_classes = evidence.terms.shape[1]
        self.start = np.concatenate(([prior], np.zeros(self.n_classes), np.ones(len(self.learned))))
        self.least = np.concatenate(([0.0], np.full(self.n_classes, -np.inf), np.zeros(len(self.learned))))
        self.curvature = self._curvature()

    def weighted(self, at: Array) -> WeightedWords:
        times = np.ones(self.evidence.x.n_columns)
        times[self.learned] = at[1 + self.n_classes :]
        return WeightedWords(self.scale * times, float(at[0]), at[1 : 1 + self.n_classes].copy())

    def _curvature(self) -> Array:
        """Second derivatives at the start, without the pull."""
        of_words, begin, e = np.zeros(self.evidence.x.n_columns), self.weighted(self.start), self.evidence
        _, _, left = e.loss(begin.words, e.base(begin.prior, begin.intercepts), curvature=of_words)
        p = left.copy()
        assert e.labels.codes is not None
        p[np.arange(len(p)), e.labels.codes] += e.labels.weight
        mean = p @ e.log_prior / np.maximum(e.labels.weight, 1e-300)
        of_prior = float((p @ e.log_prior**2).sum() - (e.labels.weight * mean**2).sum())
        of_class = (p * (1.0 - p / np.maximum(e.labels.weight, 1e-300)[:, None])).sum(axis=0)
        return np.concatenate(([max(of_prior, 1e-3)], of_class, self.scale**2 * of_words[self.learned]))

    def weigh(self, way: Way, start: Array, steps: int) -> Array:
        """Prior, intercepts and weights of the learned words that predict best, by a few steps."""
        e, n = self.evidence, 1 + self.n_classes
        pulls = np.full(len(start), way.pull)
        pulls[0], pulls[1:n] = 0.0, 1.0
        centre = np.concatenate((start[:1], np.zeros(self.n_classes), np.ones(len(start) - n)))
        has_words = np.diff(e.x.start) > 0

        def objective(at: Array) -> tuple[float, Array]:
            weighted, off = self.weighted(at), at - centre
            loss, slope, left = e.loss(weighted.words, e.base(weighted.prior, weighted.intercepts), self.n_jobs)
            along = left[has_words].sum(axis=0) if way.intercepts else np.zeros(self.n_classes)
            total = np.concatenate(([left.sum(axis=0) @ e.log_prior], along, self.scale * slope[self.learned]))
            return loss + 0.5 * float(pulls @ off**2), total + pulls * off

        return minimised(objective, start, self.curvature + pulls, self.least, steps)


def learn_words(
    evidence: WordEvidence, text: float, prior: float, n_jobs: int | None = None, way: Way = WAYS[1]
) -> WeightedWords:
    """Return the weights of the words, those of the text with the words', of the prior, and intercepts.

    Parameters
    ----------
    evidence : WordEvidence
    text, prior : float
        The weights of the text as a whole and of the prior, to begin with.
    n_jobs : int, optional
        Threads.
    way : Way
    """
    learner = Learner(evidence, text, prior, n_jobs)
    return learner.weighted(learner.weigh(way, learner.start, LAST_STEPS))


def cross_fitted(
    evidence: Callable[[NDArray[np.bool_]], WordEvidence],
    labels: Labels,
    n_folds: int,
    ways: Sequence[Way],
    weights: tuple[float, float],
    n_jobs: int | None = None,
) -> tuple[Way, Array, Array]:
    """The way whose weights predict other documents best, and scores (n, K) of rows that had no part in them.

    The last are scores of the same rows with one weight for all words.

    ``evidence`` gives that of all documents where some were never counted, and have no weight. Without this, weights
    of rare words would be learned from the very documents that they are judged on.
    """
    assert labels.codes is not None
    fold = stratified_folds(labels.codes, n_folds)
    found: list[list[Array]] = []  # of each fold and way
    before = np.empty((len(fold), 0))
    for number in range(n_folds):
        here = evidence(fold == number)
        learner, own = Learner(here, *weights, n_jobs), np.flatnonzero(fold == number)
        at = {False: learner.start, True: learner.start}
        plain = here.scores(learner.weighted(learner.start))
        before = np.where((fold == number)[:, None], plain, before if before.size else 0.0)
        found.append([])
        for way in ways:
            at[way.intercepts] = learner.weigh(way, at[False], STEPS)
            found[-1].append(here.scores(learner.weighted(at[way.intercepts]))[own])
    places = [np.flatnonzero(fold == number) for number in range(n_folds)]
    lost = np.array([[_loss(each, labels, own) for each in ways] for ways, own in zip(found, places, strict=True)])
    unseen = np.empty((len(fold), found[0][0].shape[1]))
    for number, own in enumerate(places):
        others = np.delete(lost, number, axis=0).sum(axis=0)
        unseen[own] = found[number][int(np.argmin(others))]
    return ways[int(np.argmin(lost.sum(axis=0)))], unseen, before


def _loss(scores: Array, labels: Labels, rows: NDArray[Any]) -> float:
    """Log loss of some rows."""
    assert labels.codes is not None
    some = Labels.hard(labels.codes[rows], labels.weight[rows])
    return float(some.weight @ losses(scores, some))


@dataclass(frozen=True)
class OfWords:
    """A model with weights of words, and scores of documents that had no part in them."""

    model: Model
    scores: Array  # (n, K)
    before: Array  # (n, K) with one weight for all words
    labels: Labels
    n_folds: int
    step: int  # between the rows that were used


def with_word_weights(
    model: Model, batch: TableBatch, block: str, n_jobs: int | None, scores: Array | None = None
) -> OfWords:
    """The model with a weight for every word of a text.

    ``scores`` (n, K) are those of the rows by models that have not seen them, where there are other columns.
    """
    given, text = model.settings.weights, model.texts[block]
    assert given is not None
    rows = replace(batch, schema=model.schema, places=model.tally.places)
    usual = given.columns[text.name]
    step = max(1, -(-rows.n_rows // _room(model, rows, block)))
    if step > 1:
        places = np.arange(0, rows.n_rows, step)
        rows, scores = rows.take(places), None if scores is None else scores[places]
    assert rows.labels is not None
    evidence = _word_evidence(model, rows, block, scores)
    n_folds, ways = (3, WAYS) if evidence.terms.size <= MANY_TERMS else (2, FEW_WAYS)

    def without(own: NDArray[np.bool_]) -> WordEvidence:
        assert rows.labels is not None
        labels = replace(rows.labels, weight=np.where(own, 0.0, rows.labels.weight))
        fewer = replace(
            model, tally=model.tally - count(rows.take(np.flatnonzero(own)), model.settings.families, n_jobs)
        )
        return _word_evidence(fewer, replace(rows, labels=labels), block, scores)

    way, unseen, before = cross_fitted(without, rows.labels, n_folds, ways, (usual, given.prior), n_jobs)
    learned = learn_words(evidence, usual, given.prior, n_jobs, way)
    weights, levels = np.full(text.n_cells, usual), text.levels
    of_words = np.empty_like(learned.words)
    of_words[slice(None) if evidence.order is None else evidence.order] = learned.words
    weights[model.words.known.get(block, slice(None))] = of_words
    assert isinstance(levels, (Vocabulary, range))
    if isinstance(levels, Vocabulary):
        changed = np.abs(weights - usual) > USUAL * usual
        levels, weights = levels.select(changed), weights[changed]
    note = f"weights of {plural(len(weights), 'word')} of {text.name!r}, from {plural(evidence.x.shape[0], 'row')}"
    words = {**given.words, text.name: WordWeights(levels, weights)}
    settings = replace(
        model.settings, weights=replace(given, prior=learned.prior if scores is None else given.prior, words=words)
    )
    if way.intercepts:
        settings = replace(settings, offsets=_shifted(model, text, learned.intercepts))
    provenance = model.provenance.noted(note)
    weighted = replace(model, settings=settings, provenance=provenance)
    return OfWords(weighted, unseen, before, evidence.labels, n_folds, step)


def _shifted(model: Model, text: Column, intercepts: Array) -> dict[str, Offset]:
    """The offsets of the model, with intercepts wherever there is a text."""
    before = model.settings.offsets.get(text.name)
    table = intercepts[None] if before is None else before.table + intercepts
    offset = Offset(Column(text.name, text.kind), model.schema.classes, table)
    return {**model.settings.offsets, text.name: offset}


def _word_evidence(model: Model, sample: TableBatch, block: str, scores: Array | None) -> WordEvidence:
    """Leave-one-out evidence of the words of a text; rows without weight are not among those that were counted."""
    assert sample.labels is not None
    found, documents = [], []
    for first in range(0, sample.n_rows, WORDY):
        part = sample.rows(first, min(first + WORDY, sample.n_rows))
        entries, terms = _words_without(model, block, part)
        found.append(np.ascontiguousarray(terms))
        documents.append(entries)
    (x, order), terms = _stacked(documents), np.concatenate(found)
    if scores is None:
        none = np.zeros((sample.n_rows, model.n_classes))
        return WordEvidence(terms, x, sample.labels, np.maximum(model.log_prior, -1e3), none, order)
    weights = model.settings.weights
    assert weights is not None
    usual = np.full(x.n_columns, -weights.columns[model.texts[block].name])
    others = kernels.word_scores(terms, x, np.ascontiguousarray(scores), usual)
    return WordEvidence(terms, x, sample.labels, np.zeros(model.n_classes), others, order)


def _room(model: Model, rows: TableBatch, block: str) -> int:
    """How many rows there is room for, by the length of some of their texts."""
    few = every_nth(rows, 100)
    x: Any = few.rows(0, few.n_rows).blocks[block].x
    length = max(1.0, float(x.start[-1]) / few.n_rows)
    return max(100, min(LEARNED_ROWS, int(MOST_TERMS / length / model.n_classes)))


def _stacked(documents: list[Documents]) -> tuple[Csr, NDArray[np.intp]]:
    """The entries of all documents as one matrix, and which word each of its columns is.

    Frequent words come first: their weights and slopes are then near each other in memory, which is most of the time.
    """
    start = np.concatenate(([0], np.cumsum(np.concatenate([np.diff(each.start) for each in documents]))))
    column = np.concatenate([each.column for each in documents]).astype(np.int32)
    data = np.concatenate([each.data for each in documents])
    n_words = documents[0].n_columns
    order = np.argsort(-np.bincount(column, minlength=n_words), kind="stable")
    rank = np.empty(n_words, dtype=np.int32)
    rank[order] = np.arange(n_words, dtype=np.int32)
    return Csr(data, rank[column], start.astype(np.int64), n_words), order


def _words_without(model: Model, block: str, part: Batch) -> tuple[Documents, NDArray[Any]]:
    """The words of training texts, and the leave-one-out evidence (nnz, K) of each."""
    assert part.labels is not None
    x: Any = model.words.without_own_words(block, part.blocks[block].x, part.labels)
    family: Any = model.settings.families[block]
    if not hasattr(family, "each_word_without"):
        raise SettingError(f"words have no weights of their own in a {family.name} text; use weights='auto'")
    labels = mask_labels(x, part.labels)
    summary, params = model.words.summary(block), model.parameters[block]
    return x, family.each_word_without(summary, params, x, labels, np.float32)
