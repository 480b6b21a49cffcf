"""Corrections of the evidence: the regression, against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tallybayes.core.batch import Labels
from tallybayes.core.schema import Column
from tallybayes.learning.corrections import Cells, Regression, smooth_shape


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


@pytest.mark.parametrize("classes", [2, 5])
def test_threads_make_no_difference(classes: int) -> None:
    found, _ = regression(np.random.default_rng(4), classes=classes)
    at = np.random.default_rng(5).normal(size=(6, classes))
    one, two = (Regression(found.cells, found.base, found.labels, n)._loss(at) for n in (1, 3))
    assert one[0] == pytest.approx(two[0])
    np.testing.assert_allclose(one[1], two[1], atol=1e-9)
