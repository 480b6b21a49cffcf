"""Weights of single words."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

import tallybayes
from tallybayes import NaiveBayes, TextNB
from tallybayes.core.batch import Csr, Labels
from tallybayes.core.word_kernels import TextRows, WordCounts
from tallybayes.errors import SettingError
from tallybayes.families import Complement, Multinomial
from tallybayes.learning.descent import minimised
from tallybayes.learning.word_weights import FEW_TERMS, OF_STEPS, WAYS, Slopes, Way, WordRows

RNG = np.random.default_rng(3)
NEUTRAL = ["film", "plot", "actor", "scene", "the"]


def reviews(n: int = 200, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Two things tell good from bad, equally well; one is said once, the other five times over."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    once, often = (np.where(rng.random(n) < 0.8, y, 1 - y) for _ in range(2))
    words = [
        [f"once{a}", *(f"often{i}{b}" for i in range(5)), *rng.choice(NEUTRAL, 4)]
        for a, b in zip(once, often, strict=True)
    ]
    return [" ".join(each) for each in words], np.where(y == 1, "good", "bad")


def documents(n: int = 12, n_words: int = 7) -> tuple[Csr, Labels]:
    dense = RNG.poisson(0.7, (n, n_words)) * RNG.choice([0.5, 1.0], (n, n_words))
    start = np.concatenate(([0], np.cumsum((dense > 0).sum(axis=1))))
    labels = Labels.hard(np.arange(n, dtype=np.int32) % 3, RNG.uniform(0.5, 2.0, n))
    row, column = np.nonzero(dense)
    return Csr(dense[row, column], column.astype(np.int32), start.astype(np.int32), n_words), labels


@pytest.mark.parametrize("family", [Multinomial(0.3), Complement(0.3)], ids=lambda f: f.name)
def test_what_each_word_says_adds_up_to_the_document(family):
    x, labels = documents()
    summary = family.tally(x, labels, 3)
    params = family.estimate(summary)
    said = family.each_word_without(summary, params, x, labels)
    added = np.add.reduceat(np.vstack((said, np.zeros(3))), x.start[:-1]) * (np.diff(x.start) > 0)[:, None]
    np.testing.assert_allclose(added, family.leave_one_out(summary, params, x, labels), atol=1e-10)


def word_rows(family, n: int = 12) -> tuple[WordRows, Csr, Labels]:
    """Documents and what a family counted of their words, all of which are in several of them."""
    x, labels = documents(n)
    summary = family.tally(x, labels, 3)
    start, length = x.start.astype(np.int64), np.add.reduceat(np.append(x.data, 0.0), x.start[:-1])
    texts = TextRows(start, x.column, x.data.astype(np.float32), length * (np.diff(x.start) > 0), labels)
    count = np.ascontiguousarray(summary.count.T, dtype=np.float32)
    none = np.zeros(n, dtype=np.int64)
    total = summary.count.sum(axis=1)
    counts = WordCounts(texts, count, total, x.n_columns, none, family.alpha, family.by_rivals)
    rest = np.tile(np.log([0.2, 0.3, 0.5]), (n, 1))
    words, are_pairs = np.arange(x.n_columns), np.arange(x.n_columns) % 3 == 2
    return WordRows(counts, np.ones(len(words), bool), words, are_pairs, None, 1.3, rest, 0.7, True), x, labels


@pytest.mark.parametrize("family", [Multinomial(0.3), Complement(0.3)], ids=lambda f: f.name)
def test_slope_and_curvature_are_those_of_the_leave_one_out_loss(family):
    rows, x, labels = word_rows(family)
    summary = family.tally(x, labels, 3)
    terms = family.each_word_without(summary, family.estimate(summary), x, labels)

    def loss(weight):
        said = np.vstack([(weight[x.column[a:b], None] * terms[a:b]).sum(axis=0) for a, b in pairwise(x.start)])
        scores = said + 0.7 * rows.rest
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        return -(labels.weight * logs[np.arange(12), labels.codes]).sum()

    nobody, times = np.empty(0, dtype=np.int64), np.linspace(0.0, 2.0, x.n_columns)
    table = rows.counts.table(nobody)
    at = rows.slopes(table, nobody, times, 1)
    slope, curvature, step, ones = at.slope, at.curvature, 1e-4, 1.3 * times
    for v in range(x.n_columns):
        nudge = step * (np.arange(x.n_columns) == v)
        above, here, below = loss(ones + nudge), loss(ones), loss(ones - nudge)
        assert slope[v] == pytest.approx(1.3 * (above - below) / (2 * step), abs=1e-4)
        assert curvature[v] == pytest.approx(1.3**2 * (above - 2 * here + below) / step**2, rel=1e-3, abs=1e-3)
    threads = rows.slopes(table, nobody, times, 3)
    np.testing.assert_allclose((threads.slope, threads.curvature), (slope, curvature), atol=1e-9)


@pytest.mark.parametrize("family", [Multinomial(0.3), Complement(0.3)], ids=lambda f: f.name)
def test_documents_that_are_not_counted_are_scored_by_the_others(family):
    rows, x, labels = word_rows(family)
    own, others = np.arange(0, 12, 3), np.flatnonzero(np.arange(12) % 3)
    weights = RNG.uniform(0.5, 2.0, (x.n_columns, 2)).astype(np.float32)
    found = rows.counts.table(own).scores(rows.counts.x, own, weights, 3)
    params = family.estimate(family.tally(x.take(others), labels.take(others), 3))
    for r, i in enumerate(own):
        entries = slice(x.start[i], x.start[i + 1])
        one = params.finite.slope[x.column[entries]] * x.data[entries, None]
        np.testing.assert_allclose(found[r], weights[x.column[entries]].T @ one, atol=1e-4)


def test_a_weight_is_one_step_of_newtons_method():
    nobody = np.empty(0, dtype=np.int64)
    rows, _, _ = word_rows(Complement(0.3))
    rows = replace(rows, pairs=np.zeros(4, dtype=bool))
    begun = Slopes(nobody, np.array([2.0, 0.0, -6.0, 100.0]), np.array([3.0, 5.0, 2.0, 0.0]))
    found = Way(pull=1.0, step=0.5).weights(rows, rows.counts.table(nobody), begun, 1)
    np.testing.assert_allclose(found, [0.75, 1.0, 2.0, 0.0])  # 1 − ½·2/4, 1, 1 + ½·6/3, none below 0


@pytest.mark.parametrize("family", [Multinomial(0.3), Complement(0.3)], ids=lambda f: f.name)
def test_several_steps_come_near_the_minimum_of_the_penalised_loss(family):
    nobody = np.empty(0, dtype=np.int64)
    rows, x, labels = word_rows(family)
    summary = family.tally(x, labels, 3)
    terms = family.each_word_without(summary, family.estimate(summary), x, labels)

    def penalised(times):
        weight = 1.3 * times
        said = np.vstack([(weight[x.column[a:b], None] * terms[a:b]).sum(axis=0) for a, b in pairwise(x.start)])
        scores = said + 0.7 * rows.rest
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        return (
            0.5 * ((times - np.where(rows.pairs, 0.5, 1.0)) ** 2).sum()
            - (labels.weight * logs[np.arange(12), labels.codes]).sum()
        )

    best = minimize(penalised, np.ones(x.n_columns), bounds=[(0.0, None)] * x.n_columns).fun
    few, many = (rows.weighted(nobody, (Way(1.0, 0.2, steps, pair=0.5),), 1)[2][0] for steps in (1, 100))
    assert penalised(few) > penalised(many)
    assert penalised(many) == pytest.approx(best, abs=1e-3)


def test_slopes_of_two_halves_stand_for_those_of_all():
    rows, _, _ = word_rows(Complement(0.3))
    halves = [rows.weighted(np.flatnonzero(np.arange(12) % 2 == half), WAYS, 1)[1] for half in (0, 1)]
    both = halves[0] + halves[1]
    np.testing.assert_allclose(both.slope, halves[0].slope + halves[1].slope)
    way = WAYS[0]
    np.testing.assert_allclose(rows.final(way, halves, 1), way.after(np.ones(len(both.slope)), both, rows.pairs))
    np.testing.assert_allclose(
        rows.final(way, [*halves, both], 1), rows.weighted(halves[0].without[:0], (way,), 1)[2][0]
    )


def test_descent_finds_what_scipy_finds():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(40, 12))
    curved, target = a.T @ a + np.eye(12), rng.normal(size=12)

    def objective(at):
        return float(0.5 * at @ curved @ at - target @ at), curved @ at - target

    least = np.where(np.arange(12) < 6, 0.0, -np.inf)
    found = minimised(objective, np.ones(12), np.diag(curved), least, 200)
    bounds = [(None if np.isinf(low) else low, None) for low in least]
    expected = minimize(objective, np.ones(12), jac=True, bounds=bounds, tol=1e-14)
    assert objective(found)[0] == pytest.approx(expected.fun, abs=1e-4)
    assert (found >= least).all()


def test_figures_are_of_texts_that_had_no_part_in_the_weights():
    """Words that mean nothing, each in two texts: weights that keep them look perfect on their own texts."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{j}" for j in rng.integers(0, 400, 12)) for _ in range(300)]
    y = rng.integers(0, 2, 300)
    model = TextNB(weights="words").fit(texts, y)
    assert abs(model.evaluation_.accuracy.value - 0.5) < 0.12
    assert "3 folds" in model.evaluation_.method


def test_a_word_that_no_other_text_has_keeps_the_weight_of_the_text():
    texts, y = reviews(60)
    model = TextNB(weights="words").fit([texts[0] + " zebra", *texts[1:]], y)
    given = model.weights_.words["text"].among(model.vocabulary_, model.weights_.columns["text"])
    assert given[model.vocabulary_.place("zebra")] == model.weights_.columns["text"]


def test_pairs_of_a_word_that_one_text_has_weigh_nothing():
    texts, y = reviews(60)
    texts[0] = "film zebra plot"
    model = TextNB(weights="words").fit(texts, y)
    usual, given = model.weights_.columns["text"], model.weights_.words["text"]
    weight = dict(zip(model.vocabulary_, given.among(model.vocabulary_, usual).tolist(), strict=True))
    assert (weight["film zebra"], weight["zebra plot"], weight["zebra"]) == (0.0, 0.0, usual)
    alone, paired = (model.predict_log_proba([text]) for text in ("zebra film", "film zebra"))
    np.testing.assert_allclose(alone, paired, atol=1e-9)


def test_words_predict_better_with_weights_of_their_own():
    texts, y = reviews(400)
    test, truth = reviews(400, seed=1)
    plain, words = (TextNB(weights=w).fit(texts, y) for w in ("learn", "words"))
    own = np.arange(400), np.searchsorted(plain.classes_, truth)
    assert words.predict_log_proba(test)[own].mean() > plain.predict_log_proba(test)[own].mean()
    given = words.weights_.words["text"]
    weight = dict(zip(given.words, given.weight.tolist(), strict=True))
    assert weight["once1"] > 2 * weight["often11"]
    assert len(given.words) == len(given.weight)
    assert (given.weight >= 0).all()


def test_leaving_a_text_out_is_exact():
    texts, y = reviews(60)
    model = TextNB(weights="words", alpha=0.5).fit(texts, y)
    rows = model.labelled_rows(texts, y)
    found = model.model_.leave_one_out(rows)
    for i in (0, 7, 31):
        without = model.model_.unlearn(model.labelled_rows([texts[i]], [y[i]]))
        expected = without.log_posterior(model._rows([texts[i]]))[0]
        np.testing.assert_allclose(found[i], expected, atol=1e-9)


def test_evidence_still_adds_up():
    texts, y = reviews(100)
    model = TextNB(weights="words").fit(texts, y)
    batch = model._rows(texts[:5])
    added = model.model_.contributions(batch).sum(axis=2) + model.model_.prior_score
    np.testing.assert_allclose(added, model.model_.log_joint(batch), atol=1e-9)


@pytest.mark.parametrize("hashed", [None, 10])
def test_they_are_kept_in_the_file(tmp_path, hashed):
    texts, y = reviews(100)
    model = TextNB(weights="words", hashed=hashed).fit(texts, y)
    model.save(tmp_path / "reviews.tally")
    loaded = tallybayes.load(tmp_path / "reviews.tally")
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))


def test_a_word_learned_later_weighs_what_the_text_weighs():
    texts, y = reviews(100)
    model = TextNB(weights="words").fit(texts, y)
    weight = model.weights_.columns["text"]
    model.partial_fit(["zebra zebra"], ["good"])
    given = model.weights_.words["text"].among(model.vocabulary_, weight)
    assert given[model.vocabulary_.place("zebra")] == weight


def test_words_beside_other_columns():
    texts, y = reviews(150)
    table = {"review": texts, "stars": np.where(y == "good", 4.0, 2.0) + RNG.normal(size=150)}
    table["tags"] = RNG.choice(["a;b", "b;c", "c", "a;c"], 150)  # which have no weights of their own
    model = NaiveBayes(weights="words", max_pairs=0, kind={"review": "text", "tags": "tags"}).fit(table, y)
    assert [*model.weights_.words] == ["review"]
    batch = model._rows(table)
    added = model.model_.contributions(batch).sum(axis=2) + model.model_.prior_score
    np.testing.assert_allclose(added, model.model_.log_joint(batch), atol=1e-9)


def test_presence_and_absence_have_no_weights_of_words():
    texts, y = reviews(100)
    with pytest.raises(SettingError, match="bernoulli"):
        TextNB(weights="words", family="bernoulli").fit(texts, y)


def test_several_steps_are_tried_where_passes_over_the_documents_are_short(monkeypatch):
    small, _, _ = word_rows(Complement(0.3))
    assert small.ways == (*WAYS, *OF_STEPS)
    assert len(small.counts.x.word) * 3 < FEW_TERMS
    monkeypatch.setattr("tallybayes.learning.word_weights.FEW_TERMS", 10)
    large, _, _ = word_rows(Complement(0.3))
    assert large.ways == WAYS
