"""A weight for every word of a text, learned from leave-one-out evidence.

The score of class k is w₀·log P(k) + b_k + Σ_v u·t_v·e_vk, where e_vk is the leave-one-out evidence of the words v of
the document for k, and u is the one weight of the text. With all t_v = 1 the loss Σ_n −r_n log P(y_n | x_n) has a slope
g_v and a curvature h_v in each weight, and the weights are t_v = max(0, 1 − s·g_v / (h_v + λ)): one step of Newton's
method for every word by itself, which needs a single pass over the documents. Redundant words lose weight, decisive
words gain some: what Wang and Manning (2012) do with a support vector machine on log count ratios, for any number of
classes. Where the documents are few or short, several short steps are tried, too: they come near the minimum of the
loss plus λ/2·Σ (t_v − c_v)², where c is one for words and less for pairs of words.

How strongly the weights are pulled to one (λ), how far and how often steps go (s), and then u, w₀ and whether there are
intercepts b, is chosen by the loss of documents of other folds, which are in no count. The scores of each fold are by
weights that were learned, and by choices that were made, without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Labels
from tallybayes.core.keys import stratified_folds
from tallybayes.core.model import Model
from tallybayes.core.offsets import Offset
from tallybayes.core.schema import Column, plural
from tallybayes.core.settings import WordWeights
from tallybayes.core.tokens import Vocabulary
from tallybayes.core.word_kernels import TextRows, WordCounts, WordTable, counts_of, placed_words
from tallybayes.data.tables import TableBatch
from tallybayes.learning.descent import minimised
from tallybayes.learning.evidence import LEARNED_ROWS, HeldOut
from tallybayes.learning.stacking import losses
from tallybayes.learning.weights import learn

MOST_CELLS = 60_000_000  # words × classes that have weights of their own, in float32
MANY_TERMS = 20_000_000  # entries × classes from which on two folds do: what one holds back is hardly missed
FEW_TERMS = 5_000_000  # entries × classes up to which several steps are tried: each is a pass over the documents
TUNED_SCORES = 40_000  # documents × classes that are enough for two numbers
MANY_SCORES = 100_000  # documents × classes from which on classes need no intercepts
MOST = 65_535  # documents that the order of words by frequency tells apart
USUAL = 1e-3  # a word whose weight is off by a smaller share has the weight of the text
LEAST_DOCUMENTS = 2  # a word of a single document is no evidence for other documents
LEAST_FACTOR = 1e-6  # of the weight of a text, so that its words keep their order
STEPS = 15  # of the descent to the intercepts
NONE = np.empty(0, dtype=np.int64)  # of the documents


@dataclass(frozen=True)
class Way:
    """How the weights of words follow from slopes and curvatures."""

    pull: float  # λ: a weight that is off by its own size costs so many half nats
    step: float  # s
    steps: int = 1
    pair: float = 1.0  # what the weights of pairs are pulled to: they repeat what their words say

    def weights(self, rows: WordRows, table: WordTable, begun: Slopes, n_jobs: int | None) -> Array:
        """The weights (V,), of which one is the usual; ``begun`` are the slopes where all are one."""
        times = self.after(np.ones(len(begun.slope)), begun, rows.pairs)
        for _ in range(1, self.steps):
            times = self.after(times, rows.slopes(table, begun.without, times, n_jobs), rows.pairs)
        return times

    def after(self, times: Array, at: Slopes, pairs: NDArray[np.bool_]) -> Array:
        """The weights (V,) one step after others, by the slopes there."""
        slope = at.slope + self.pull * (times - np.where(pairs, self.pair, 1.0))
        return np.asarray(np.maximum(times - self.step * slope / (at.curvature + self.pull), 0.0))


WAYS = (Way(3.0, 1.0), Way(1.0, 0.5), Way(1.0, 1.0), Way(0.3, 0.5), Way(0.3, 1.0))
OF_STEPS = (Way(1.0, 0.2, 20, pair=0.5),)


@dataclass(frozen=True)
class Slopes:
    """How the loss of all documents but some changes with the weight of each word."""

    without: NDArray[np.int64]
    slope: Array  # (V,)
    curvature: Array  # (V,)

    def __add__(self, other: Slopes) -> Slopes:
        """Those of all documents, where each is without what the other is of."""
        return Slopes(NONE, self.slope + other.slope, self.curvature + other.curvature)


@dataclass(frozen=True)
class Choice:
    """How words are weighted, a factor of all of them, the weight of the prior, and intercepts (K,)."""

    way: Way | None  # None where all words weigh the same
    text: float
    prior: float
    intercepts: Array

    def scores(self, rows: WordRows, said: Array) -> Array:
        """Scores (n, K) of documents from what their words say (n, 1 + ways, K)."""
        own = said[:, rows.place_of(self.way)]
        return np.asarray(self.text * own + self.prior * rows.rest + rows.has_words[:, None] * self.intercepts)


@dataclass(frozen=True)
class WordRows:
    """Documents whose words are to have weights, and what was counted of them."""

    counts: WordCounts
    learned: NDArray[np.bool_]  # (V,) which words are to have weights of their own
    words: NDArray[np.intp]  # (V,) which word of the model each is
    pairs: NDArray[np.bool_]  # (V,) which are several words
    once: NDArray[np.bool_] | None  # of all words of the model, those in a single document; None where that is unknown
    text: float  # the weight of the text as a whole
    rest: Array  # (n, K) log prior or, beside other columns, the scores of all columns, the words among them
    prior: float  # the weight of the rest
    is_alone: bool  # whether there are no other columns

    @property
    def labels(self) -> Labels:
        """Classes and weights of the documents."""
        return self.counts.x.labels

    @property
    def has_words(self) -> NDArray[np.bool_]:
        """Which documents (n,) have words."""
        return self.counts.x.length > 0

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """The ways that are tried."""
        return (*WAYS, *OF_STEPS) if _are_few(self.counts.x, self.rest.shape[1]) else WAYS

    def place_of(self, way: Way | None) -> int:
        """Where what words say by a way is among those of all ways; equal weights are first."""
        return 0 if way is None else 1 + self.ways.index(way)

    def factors(self, times: Array) -> Array:
        """What is added to the scores for each word; beside other columns the words are in the scores already."""
        return np.asarray(self.text * (times if self.is_alone else times - 1.0))

    def slopes(self, table: WordTable, without: NDArray[np.int64], times: Array, n_jobs: int | None) -> Slopes:
        """The slopes of the loss of all documents but some, by the table without them, at weights (V,)."""
        weight = self.labels.weight.copy()
        weight[without] = 0.0
        x = replace(self.counts.x, labels=replace(self.labels, weight=weight))
        slope, curvature = table.slopes(x, self.factors(times), self.prior * self.rest, n_jobs)
        return Slopes(without, np.where(self.learned, slope * self.text, 0.0), curvature * self.text**2)

    def weighted(
        self, without: NDArray[np.int64], ways: Sequence[Way], n_jobs: int | None
    ) -> tuple[WordTable, Slopes, list[Array]]:
        """The table without some documents, the slopes of the others, and the weights (V,) of each way by them."""
        table = self.counts.table(without)
        begun = self.slopes(table, without, np.ones(len(self.learned)), n_jobs)
        return table, begun, [way.weights(self, table, begun, n_jobs) for way in ways]

    def final(self, way: Way, folds: Sequence[Slopes], n_jobs: int | None) -> Array:
        """The weights (V,) of all documents; of two folds, their slopes spare another pass over the documents."""
        if len(folds) == 2 and way.steps == 1:
            return way.after(np.ones(len(self.learned)), folds[0] + folds[1], self.pairs)
        return self.weighted(NONE, (way,), n_jobs)[2][0]


def cross_fitted(
    rows: WordRows, n_folds: int, n_jobs: int | None = None
) -> tuple[NDArray[np.intp], Array, list[Slopes]]:
    """Folds (n,), what words say (n, 1 + ways, K) by weights that were learned without them, and slopes without each.

    Those of equal weights are first. Documents of a fold are in no count: otherwise weights of rare words would be
    learned from the very documents that they are judged on.
    """
    assert rows.labels.codes is not None
    fold = stratified_folds(rows.labels.codes, n_folds)
    said, slopes = np.empty((len(fold), 1 + len(rows.ways), rows.rest.shape[1])), []
    for number in range(n_folds):
        own = np.flatnonzero(fold == number)
        table, begun, weights = rows.weighted(own, rows.ways, n_jobs)
        slopes.append(begun)
        factors = np.empty((len(weights[0]), 1 + len(weights)), dtype=np.float32)
        for place, times in enumerate((np.ones(len(factors)), *weights)):
            factors[:, place] = rows.factors(times)
        said[own] = table.scores(rows.counts.x, own, factors, n_jobs)
    return fold, said, slopes


def choose(rows: WordRows, said: Array, few: NDArray[np.bool_], ways: Sequence[Way | None]) -> Choice:
    """The way that predicts some of the documents best, and what goes with it."""
    n_classes, labels = said.shape[2], rows.labels.take(np.flatnonzero(few))
    some = np.flatnonzero(few)[:: max(1, round(few.sum() * n_classes / TUNED_SCORES))]
    tuning = rows.labels.take(some)
    codes: Any = tuning.codes

    def loss(choice: Choice) -> float:
        return float(labels.weight @ losses(choice.scores(rows, said)[few], labels))

    def tuned(way: Way | None) -> Choice:
        text, prior = 1.0, rows.prior
        if rows.is_alone:
            own = said[some, rows.place_of(way), :, None].astype(np.float32)
            evidence = HeldOut.of(own, rows.rest[0], codes, tuning.weight)
            prior, text = learn(evidence, np.ones(2)).tolist()
        return Choice(way, max(text, LEAST_FACTOR), prior, np.zeros(n_classes))

    best = min(map(tuned, ways), key=loss)
    if not rows.is_alone or len(few) * n_classes > MANY_SCORES:
        return best
    more = replace(best, intercepts=_intercepts(best.scores(rows, said)[few], labels, rows.has_words[few]))
    # As many nats as there are intercepts are won on these documents by chance alone (Akaike, 1974).
    return more if loss(more) + n_classes - 1 < loss(best) else best


def _intercepts(scores: Array, labels: Labels, has_words: NDArray[np.bool_]) -> Array:
    """What is best added to the scores (n, K) of each class."""
    hit, weight = np.zeros_like(scores), labels.weight * has_words
    hit[np.arange(len(hit)), labels.codes] = 1.0

    def shares(at: Array) -> Array:
        return np.asarray(scores + at - np.logaddexp.reduce(scores + at, axis=1, keepdims=True))

    def objective(at: Array) -> tuple[float, Array]:
        logs = shares(at)
        return float(0.5 * at @ at - weight @ (logs * hit).sum(axis=1)), weight @ (np.exp(logs) - hit) + at

    start = np.zeros(scores.shape[1])
    share = np.exp(shares(start))
    return minimised(objective, start, weight @ (share * (1.0 - share)) + 1.0, np.full(len(start), -np.inf), STEPS)


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
    step = max(1, -(-batch.n_rows // LEARNED_ROWS))
    if step > 1:
        places = np.arange(0, batch.n_rows, step)
        batch, scores = batch.take(places), None if scores is None else scores[places]
    rows = word_rows(model, batch, block, scores, is_sample=step > 1)
    n_folds = 3 if len(rows.counts.x.word) * model.n_classes <= MANY_TERMS else 2
    fold, said, slopes = cross_fitted(rows, n_folds, n_jobs)
    unseen, before = np.empty((2, *rows.rest.shape))
    for number in range(n_folds):
        own, others = fold == number, fold != number
        unseen[own] = choose(rows, said, others, rows.ways).scores(rows, said)[own]
        before[own] = choose(rows, said, others, (None,)).scores(rows, said)[own]
    choice = choose(rows, said, np.ones(len(fold), dtype=bool), rows.ways)
    assert choice.way is not None
    learned = _with_weights(model, block, rows, choice, rows.final(choice.way, slopes, n_jobs))
    return OfWords(learned, unseen, before, rows.labels, n_folds, step)


def _with_weights(model: Model, block: str, rows: WordRows, choice: Choice, times: Array) -> Model:
    """The model whose words weigh so many times (V,) what the text weighs."""
    given, text = model.settings.weights, model.texts[block]
    assert given is not None
    usual, levels = choice.text * rows.text, text.levels
    known, weights = np.full(model.words.summary(block).count.shape[1], usual), np.full(text.n_cells, usual)
    known[rows.words] = usual * times
    places = model.words.known.get(block, slice(None))
    weights[places] = known
    n_learned = int((np.abs(weights - usual) > USUAL * usual).sum())
    if isinstance(levels, Vocabulary):
        assert text.tokens is not None
        if rows.once is not None and text.tokens.has_pairs:
            once = np.zeros(len(levels), dtype=bool)
            once[places] = rows.once
            weights[levels.with_rare_words(once)] = 0.0  # a rare word counts once, not once more for each pair
        changed = np.abs(weights - usual) > USUAL * usual
        levels, weights = levels.select(changed), weights[changed]
    assert isinstance(levels, (Vocabulary, range))
    note = f"weights of {plural(n_learned, 'word')} of {text.name!r}, from {plural(len(rows.rest), 'row')}"
    prior = choice.prior if rows.is_alone else given.prior
    words = {**given.words, text.name: WordWeights(levels, weights)}
    settings = replace(
        model.settings, weights=replace(given, columns={**given.columns, text.name: usual}, prior=prior, words=words)
    )
    if choice.intercepts.any():
        settings = replace(settings, offsets=shifted(model, text, choice.intercepts))
    return replace(model, settings=settings, provenance=model.provenance.noted(note))


def shifted(model: Model, text: Column, intercepts: Array) -> dict[str, Offset]:
    """The offsets of the model, with intercepts wherever there is a text."""
    before = model.settings.offsets.get(text.name)
    table = intercepts[None] if before is None else before.table + intercepts
    offset = Offset(Column(text.name, text.kind), model.schema.classes, table)
    return {**model.settings.offsets, text.name: offset}


def word_rows(model: Model, batch: TableBatch, block: str, scores: Array | None, is_sample: bool = False) -> WordRows:
    """The documents of a text with what the model counted of their words.

    Words of a single document are left out: without it nothing is known of them. Frequent words come first: what
    belongs to them is then near in memory, which is most of the time.
    """
    family: Any = model.settings.families[block]
    given, summary = model.settings.weights, model.words.summary(block)
    assert given is not None
    assert batch.labels is not None
    rows = replace(batch, schema=model.schema, places=model.tally.places)
    x = family.as_weighted(model.words.of_known(block, rows.rows(0, rows.n_rows).blocks[block].x))
    documents = np.bincount(x.column, minlength=summary.count.shape[1])
    known = np.flatnonzero(documents >= (1 if is_sample else LEAST_DOCUMENTS))
    rarity = np.uint16(MOST) - np.minimum(documents[known], MOST).astype(np.uint16)  # which is sorted by its digits
    kept = known[np.argsort(rarity, kind="stable")[: max(1, MOST_CELLS // model.n_classes)]]
    place = np.full(len(documents), -1, dtype=np.int32)
    place[known] = -2
    place[kept] = np.arange(len(kept), dtype=np.int32)
    texts, singles = placed_words(x, place, batch.labels)
    count = counts_of(summary.count.T, kept)
    alpha = float(np.ravel(family.alpha)[0])
    counts = WordCounts(texts, count, summary.class_total, len(documents), singles, alpha, family.by_rivals)
    log_prior = np.maximum(model.log_prior, -1e3)
    rest = np.tile(log_prior, (batch.n_rows, 1)) if scores is None else np.ascontiguousarray(scores)
    prior = given.prior if scores is None else 1.0
    learned = documents[kept] >= LEAST_DOCUMENTS
    once = None if is_sample or batch.n_rows >= LEARNED_ROWS else documents == 1
    pairs = _of_several_words(model, block, kept, _are_few(texts, model.n_classes))
    return WordRows(
        counts, learned, kept, pairs, once, given.columns[model.texts[block].name], rest, prior, scores is None
    )


def _are_few(x: TextRows, n_classes: int) -> bool:
    return len(x.word) * n_classes <= FEW_TERMS


def _of_several_words(model: Model, block: str, words: NDArray[np.intp], are_asked: bool) -> NDArray[np.bool_]:
    """Which of some words of a model are several, where a way asks for it; numbers of a hash do not show it."""
    text = model.texts[block]
    if not are_asked or not isinstance(text.levels, Vocabulary) or text.tokens is None or not text.tokens.has_pairs:
        return np.zeros(len(words), dtype=bool)
    return text.levels.of_several_words[model.words.known.get(block, slice(None))][words]
