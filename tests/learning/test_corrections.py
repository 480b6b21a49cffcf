"""Corrections of the evidence: the regression, against scikit-learn and by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from tallybayes.core.batch import Labels
from tallybayes.core.schema import Column
from tallybayes.learning.corrections import STRENGTHS, Cells, Regression, best_strength, smooth_shape
from tallybayes.learning.stacking import losses


def regression(rng, n=300, classes=3, missing=0.1):
    columns = [Column("a", "category", tuple("wxyz")), Column("b", "category", (0, 1))]
    codes = np.stack([rng.integers(0, 4, n), rng.integers(0, 2, n)], axis=1)
    codes[rng.random(codes.shape) < missing] = -1
    labels = Labels.hard(rng.integers(0, classes, n).astype(np.int32), rng.choice([1.0, 2.0], n))
    return Regression(Cells.of(columns, codes, [None, None]), rng.normal(size=(n, classes)), labels), codes


def test_without_scores_to_begin_with_it_is_penalised_logistic_regression() -> None:
    found, codes = regression(np.random.default_rng(0))
    found = Regression(found.cells, np.zeros_like(found.base), found.labels)
    one_hot = np.concatenate([np.eye(5)[codes[:, 0]][:, :4], np.eye(3)[codes[:, 1]][:, :2]], axis=1)
    peer = LogisticRegression(C=1 / 3.0, fit_intercept=False, tol=1e-8, max_iter=1000)
    peer.fit(one_hot, found.labels.codes, found.labels.weight)
    np.testing.assert_allclose(found.fitted(3.0).T, peer.coef_, atol=2e-2)
    ours, theirs = found.scores(found.fitted(3.0)), one_hot @ peer.coef_.T
    np.testing.assert_allclose(ours - ours.mean(1)[:, None], theirs - theirs.mean(1)[:, None], atol=2e-2)


def test_a_stronger_penalty_leaves_less() -> None:
    found, _ = regression(np.random.default_rng(1))
    sizes = [float(np.abs(found.fitted(strength)).max()) for strength in (1e-2, 1.0, 1e2, 1e6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-3


def test_one_penalty_has_no_part_in_the_next() -> None:
    (rows, _), (fresh, _) = (regression(np.random.default_rng(0)) for _ in range(2))
    for strength in (100.0, 3.0, 10.0):
        rows.fitted(strength)
    np.testing.assert_array_equal(rows.fitted(1.0), fresh.fitted(1.0))


def test_what_has_no_cell_adds_nothing() -> None:
    found, codes = regression(np.random.default_rng(2), missing=0.5)
    none = (codes < 0).all(axis=1)
    assert none.any()
    np.testing.assert_array_equal(found.scores(found.fitted(1.0))[none], found.base[none])


def test_a_number_adds_something_smooth() -> None:
    rng, edges = np.random.default_rng(3), tuple(np.linspace(0.05, 0.95, 19))
    x = rng.random(4000)
    codes = np.searchsorted(edges, x, side="right")[:, None]
    weight = np.bincount(codes[:, 0], minlength=20).astype(float)
    shape = smooth_shape(weight, np.linspace(0.025, 0.975, 20))
    labels = Labels.hard((rng.random(4000) < 1 / (1 + np.exp(-3 * np.sin(6 * x)))).astype(np.int32))
    found = Regression(Cells.of([Column("x", "numeric", edges=edges)], codes, [shape]), np.zeros((4000, 2)), labels)
    (table,) = found.cells.tables(found.fitted(1.0))
    truth = 3 * np.sin(6 * np.linspace(0.025, 0.975, 20))
    assert np.corrcoef(table[:, 1] - table[:, 0], truth)[0, 1] > 0.98
    assert np.abs(np.diff(table, axis=0)).max() < 1.0


@pytest.mark.parametrize("classes", [2, 3, 5, 9, 17, 40])
@pytest.mark.parametrize("smooth", [False, True])
def test_it_ends_where_the_slope_is_zero(classes: int, smooth: bool) -> None:
    found, codes = regression(np.random.default_rng(classes), n=1500, classes=classes)
    shape = np.random.default_rng(0).normal(size=(4, 9)) if smooth else None
    found = replace(found, cells=Cells.of(found.cells.columns, codes, [shape, None]))
    one_hot = np.concatenate(
        [np.eye(5)[codes[:, 0]][:, :4] @ (shape if smooth else np.eye(4)), np.eye(3)[codes[:, 1]][:, :2]], axis=1
    )

    def loss(at):
        scores = found.base + one_hot @ at
        value = found.labels.weight @ losses(scores, found.labels) + (found.cells.penalty[:, None] * at**2).sum() / 2
        p = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None]) - np.eye(classes)[found.labels.codes]
        return value, one_hot.T @ (found.labels.weight[:, None] * p) + found.cells.penalty[:, None] * at

    at = found.fitted(1.0)
    np.testing.assert_allclose(found.scores(at), found.base + one_hot @ at, atol=1e-9)
    first, last = loss(np.zeros_like(at)), loss(at)
    assert last[0] < first[0]
    assert np.linalg.norm(last[1]) < 0.1 * np.linalg.norm(first[1])

    def flat(x):
        value, slope = loss(x.reshape(at.shape))
        return float(value), slope.ravel()

    best = minimize(flat, at.ravel(), jac=True, method="L-BFGS-B").fun
    assert first[0] - last[0] > 0.9 * (first[0] - best)  # it stops where little is left to gain


def test_rows_that_were_left_out_or_bounded_are_not_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    found, codes = regression(np.random.default_rng(4))
    third = np.arange(len(codes)) % 3 == 0
    np.testing.assert_allclose(found.without(~third).fitted(1.0), found.take(third).fitted(1.0), atol=1e-6)
    monkeypatch.setattr("tallybayes.learning.corrections.MOST_WORK", found.work // 3 + 1)
    np.testing.assert_allclose(found.bounded().fitted(1.0), found.take(third).fitted(1.0), atol=1e-6)


@pytest.mark.parametrize("little", [0, 10**9])
def test_the_penalty_suits_rows_that_were_not_seen(little: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallybayes.learning.corrections.LITTLE_WORK", little)
    rng = np.random.default_rng(6)
    noise, codes = regression(rng, n=3000, missing=0.0)
    noise = replace(noise, base=np.zeros_like(noise.base))
    told = replace(noise, labels=Labels.hard((codes[:, 0] % 3).astype(np.int32)))
    fold = np.arange(3000) % 5
    answers = [best_strength(lambda _, each=told: each, fold, told.base, told.labels, n) for n in (1, 2)]
    assert answers[0].strength == answers[1].strength == min(STRENGTHS)
    np.testing.assert_array_equal(answers[0].scores, answers[1].scores)
    assert losses(answers[0].scores, told.labels).mean() < 0.01
    path = best_strength(lambda _: noise, fold, noise.base, noise.labels, None)
    assert path.strength in (None, max(STRENGTHS))
    np.testing.assert_allclose(path.scores, 0.0, atol=0.2)


def test_a_cell_that_most_rows_are_in_is_learned_like_any_other() -> None:
    rng = np.random.default_rng(5)
    codes = (rng.random((2000, 3)) < [0.1, 0.02, 0.3]).astype(np.int64)
    codes[rng.random(codes.shape) < 0.1] = -1
    labels = Labels.hard((rng.random(2000) < np.where(codes[:, 0] == 1, 0.8, 0.3)).astype(np.int32))
    columns = [Column(name, "category", (0, 1)) for name in "abc"]
    found = Regression(Cells.of(columns, codes, [None] * 3), np.zeros((2000, 2)), labels)
    one_hot = np.concatenate([np.eye(3)[codes[:, j]][:, :2] for j in range(3)], axis=1)
    # The scores of both classes are penalised, those of the peer are their difference.
    peer = LogisticRegression(C=2 / 3.0, fit_intercept=False, tol=1e-8, max_iter=1000).fit(one_hot, labels.codes)
    ours = found.scores(found.fitted(3.0))
    np.testing.assert_allclose(ours[:, 1] - ours[:, 0], one_hot @ peer.coef_[0], atol=2e-2)
