"""Weights of single words."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

import tallybayes
from tallybayes import NaiveBayes, TextNB
from tallybayes.core.batch import Csr, Labels
from tallybayes.errors import SettingError
from tallybayes.families import Complement, Multinomial
from tallybayes.learning.descent import minimised
from tallybayes.learning.word_weights import WeightedWords, WordEvidence, learn_words

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
    few = family.each_word_without(summary, params, x, labels, np.float32)
    np.testing.assert_allclose(few, said, rtol=1e-6)


def test_the_slope_is_that_of_the_loss():
    x, labels = documents()
    terms = RNG.normal(size=(len(x.data), 3)).astype(np.float32)
    x = Csr(x.data, x.column, x.start.astype(np.int64), x.n_columns)
    evidence = WordEvidence(terms, x, labels, np.log([0.2, 0.3, 0.5]), RNG.normal(size=(12, 3)))
    weight, none = RNG.uniform(0.5, 1.5, x.n_columns), np.zeros(3)

    def loss(at, prior=0.7, intercepts=none):
        return evidence.loss(at, evidence.base(prior, intercepts))[0]

    curvature = np.zeros(x.n_columns)
    _, slope, left = evidence.loss(weight, evidence.base(0.7, none), curvature=curvature)
    step = 1e-4
    for v in range(x.n_columns):
        nudge = step * (np.arange(x.n_columns) == v)
        above, here, below = loss(weight + nudge), loss(weight), loss(weight - nudge)
        assert slope[v] == pytest.approx((above - below) / (2 * step), abs=1e-6)
        assert curvature[v] == pytest.approx((above - 2 * here + below) / step**2, rel=1e-3, abs=1e-4)
    rise = loss(weight, 0.7 + step) - loss(weight, 0.7 - step)
    assert left.sum(axis=0) @ evidence.log_prior == pytest.approx(rise / (2 * step), abs=1e-6)
    base = evidence.base(0.7, none)
    scores = evidence.scores(WeightedWords(weight, 0.7, none))
    dense = [
        base[i] + (weight[x.column[a:b], None] * terms[a:b]).sum(axis=0) for i, (a, b) in enumerate(pairwise(x.start))
    ]
    np.testing.assert_allclose(scores, dense, atol=1e-6)
    few = replace(labels, weight=np.where(np.arange(12) % 2 == 0, 0.0, labels.weight))
    kept = replace(evidence, labels=few)
    own = np.arange(1, 12, 2), labels.codes[1::2]
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    assert kept.loss(weight, base)[0] == pytest.approx(-(labels.weight[1::2] * logs[own]).sum())


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


def test_threads_do_not_change_the_loss():
    x, labels = documents()
    x = Csr(x.data, x.column, x.start.astype(np.int64), x.n_columns)
    terms = RNG.normal(size=(len(x.data), 3)).astype(np.float32)
    evidence = WordEvidence(terms, x, labels, np.zeros(3), np.zeros((12, 3)))
    one, two = (evidence.loss(np.ones(x.n_columns), np.zeros((12, 3)), n_jobs) for n_jobs in (1, 3))
    assert one[0] == pytest.approx(two[0])
    np.testing.assert_allclose(one[1], two[1], atol=1e-12)


def test_a_word_that_no_other_document_has_keeps_the_weight_of_the_text():
    x = Csr(np.ones(3), np.array([0, 0, 1], dtype=np.int32), np.array([0, 1, 2, 3]), 2)
    terms = np.array([[2.0, 0.0], [1.0, 0.0], [5.0, 0.0]], dtype=np.float32)
    labels = Labels.hard(np.array([0, 0, 1], dtype=np.int32))
    weights = learn_words(WordEvidence(terms, x, labels, np.zeros(2), np.zeros((3, 2))), 1.5, 1.0).words
    assert weights[1] == 1.5
    assert weights[0] > 1.5


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
    model = NaiveBayes(weights="words", max_pairs=0, kind={"review": "text"}).fit(table, y)
    assert "review" in model.weights_.words
    batch = model._rows(table)
    added = model.model_.contributions(batch).sum(axis=2) + model.model_.prior_score
    np.testing.assert_allclose(added, model.model_.log_joint(batch), atol=1e-9)


def test_presence_and_absence_have_no_weights_of_words():
    texts, y = reviews(100)
    with pytest.raises(SettingError, match="bernoulli"):
        TextNB(weights="words", family="bernoulli").fit(texts, y)
