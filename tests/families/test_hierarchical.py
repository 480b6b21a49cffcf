"""Hierarchical: tables drawn towards the shares of all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tallybayes.core.batch import MISSING, UNSEEN, Codes
from tallybayes.errors import NotAvailableError
from tallybayes.families import Hierarchical

from .fitting import fitted, labels

X = Codes(np.array([[0, 0], [0, 2], [1, 2], [1, 0], [1, MISSING]]), np.array([2, 4]))
CODES = [0, 0, 0, 1, 1]
COUNTS = [np.array([[2, 1], [0, 2]]), np.array([[1, 0, 2, 0], [1, 0, 0, 0]])]


def table(params, column):
    return np.exp(params.of_column(column))


@pytest.mark.parametrize("strength", [0.3, 2.0, (0.5, 100.0)], ids=str)
def test_tables_are_drawn_towards_the_share_of_all_rows(strength):
    _, params = fitted(Hierarchical(strength), X, CODES)
    for j, (count, s) in enumerate(zip(COUNTS, np.broadcast_to(strength, 2), strict=True)):
        pool = count.sum(axis=0)
        share = (pool + 1 / len(pool)) / (pool.sum() + 1)
        assert_allclose(table(params, j), (count + s * share) / (count.sum(axis=1, keepdims=True) + s))


@pytest.mark.parametrize("n_levels", [1, 2, 7, 300])
def test_tables_sum_to_one(n_levels):
    codes = np.random.default_rng(0).integers(0, n_levels, (30, 1))
    _, params = fitted(Hierarchical(0.7), Codes(codes, np.array([n_levels])), np.arange(30) % 2, n_classes=3)
    assert_allclose(table(params, 0).sum(axis=1), 1.0)


def test_a_strong_pool_leaves_no_evidence():
    family = Hierarchical(1e12)
    scores = family.log_prob(fitted(family, X, CODES)[1], X)
    assert_allclose(scores[:, 0], scores[:, 1], rtol=1e-9)


def test_a_class_without_rows_knows_the_pool_only():
    _, params = fitted(Hierarchical(), X, CODES, n_classes=3)
    assert_allclose(table(params, 0)[2], [2.5 / 6, 3.5 / 6])


def test_the_stronger_the_pool_the_less_a_rare_level_says():
    # A thousand zip codes, a row each: what class the only row of a code has is chance.
    x, y = Codes(np.arange(1000)[:, None], np.array([1000])), np.arange(1000) % 2
    odds = [abs(np.diff(fitted(Hierarchical(s), x, y)[1].of_column(0)[:, 1])[0]) for s in (1.0, 32.0, 1000.0)]
    assert_allclose(odds, np.log1p(1000 / np.array([1.0, 32.0, 1000.0])))


@pytest.mark.parametrize("code", [UNSEEN, 4, 77])
def test_an_unseen_value_is_worth_nothing_or_the_smoothing(code):
    unusual = Codes(np.array([[MISSING, code]]), X.n_levels)
    ignoring, smoothing = Hierarchical(), Hierarchical(2.0, unseen="smooth")
    assert_array_equal(ignoring.log_prob(fitted(ignoring, X, CODES)[1], unusual), [[0.0, 0.0]])
    assert_allclose(smoothing.log_prob(fitted(smoothing, X, CODES)[1], unusual), np.log([[2 / 5, 2 / 3]]))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [2.0, (0.5, 30.0)], ids=str)
def test_leave_one_out_is_counting_the_other_rows(strength, weighted):
    # The pool changes too: every class's probability of the level is another without the row.
    family, weight = Hierarchical(strength), np.array([1.0, 0.5, 2.0, 1.5, 1.0]) if weighted else np.ones(5)
    summary, params = fitted(family, X, CODES, weight)
    got = family.leave_one_out(summary, params, X, labels(CODES, weight))
    for i in range(5):
        rest = np.delete(np.arange(5), i)
        _, without = fitted(family, X.take(rest), np.array(CODES)[rest], weight[rest], n_classes=2)
        assert_allclose(got[i], family.log_prob(without, X.take(np.array([i])))[0])


def test_a_code_without_a_level_cannot_be_left_out():
    summary, params = fitted(Hierarchical(), X, CODES)
    with pytest.raises(ValueError, match="row 1 was not learned"):
        Hierarchical().leave_one_out(summary, params, Codes(np.array([[UNSEEN, 0]]), X.n_levels), labels([0]))


def test_levels_are_drawn_as_often_as_the_table_says():
    family = Hierarchical()
    _, params = fitted(family, X, CODES)
    drawn = family.sample(params, np.zeros(9000, int), np.random.default_rng(0))
    for j in (0, 1):
        share = np.bincount(drawn.matrix[:, j], minlength=X.n_levels[j]) / 9000
        assert_allclose(share, table(params, j)[0], atol=0.02)


def test_parameters_are_counted():
    _, params = fitted(Hierarchical(), X, CODES)
    assert Hierarchical().n_parameters(params) == 2 * (1 + 3)
    assert Hierarchical().joint_size(params) == 2 * 4
    with pytest.raises(NotAvailableError, match="one-hot"):
        Hierarchical().linear(params)
