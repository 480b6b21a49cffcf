"""Pair: the joint of two columns less its margins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tallybayes.core.batch import MISSING, UNSEEN, Codes
from tallybayes.errors import NotAvailableError
from tallybayes.families import Pair
from tallybayes.families.pair import MARGIN

from .fitting import fitted, labels

RNG = np.random.default_rng(0)
A, B = RNG.integers(0, 2, 60), RNG.integers(0, 3, 60)
CODES = (((B > 0) == A) ^ (RNG.random(60) < 0.2)).astype(int)
X = Codes((A * 3 + B)[:, None], np.array([6]), np.array([3]))


def grid(y):
    """Counts of the combinations (2, 3) in one class."""
    return np.bincount(X.matrix[y == CODES, 0], minlength=6).reshape(2, 3).astype(float)


def margins(count):
    """P(a)·P(b) as the family smooths them."""
    n = count.sum()
    left, right = ((count.sum(axis=1 - i) + MARGIN) / (n + MARGIN * count.shape[i]) for i in (0, 1))
    return left[:, None] * right


@pytest.mark.parametrize("strength", [0.5, 8.0, 100.0])
def test_the_joint_is_smoothed_towards_the_product_of_its_margins(strength):
    _, params = fitted(Pair(strength), X, CODES)
    for k in (0, 1):
        count, product = grid(k), margins(grid(k))
        joint = (count + strength * product) / (count.sum() + strength)
        assert_allclose(np.exp(params.of_column(0)[k]), (joint / product).ravel())


def test_without_smoothing_it_is_the_log_ratio_of_the_joint_to_the_margins():
    # Many rows: what is left of the smoothing of the margins is of the order of 1 / n.
    x = Codes(np.repeat(X.matrix, 20_000, axis=0), X.n_levels, X.n_right)
    _, params = fitted(Pair(1e-9), x, np.repeat(CODES, 20_000))
    for k in (0, 1):
        share = grid(k) / grid(k).sum()
        want = np.log(share / (share.sum(axis=1)[:, None] * share.sum(axis=0)))
        assert_allclose(params.of_column(0)[k], want.ravel(), atol=1e-4)


def test_a_combination_that_never_occurs_is_finite():
    _, params = fitted(Pair(1.0), Codes(np.array([[0], [3], [0], [3]]), np.array([4]), np.array([2])), [0, 0, 1, 1])
    assert np.isfinite(params.table).all()
    assert_allclose(np.exp(params.of_column(0)[0, 1]), 1 / 3)  # s / (n + s)


def test_independent_columns_add_nothing():
    x = Codes(np.arange(6).repeat(10)[:, None], np.array([6]), np.array([3]))
    _, params = fitted(Pair(), x, np.zeros(60, int))
    assert_allclose(params.of_column(0), 0.0, atol=1e-12)


def test_a_strong_product_adds_nothing():
    _, params = fitted(Pair(1e12), X, CODES)
    assert_allclose(params.of_column(0), 0.0, atol=1e-9)


def test_a_class_without_rows_adds_nothing():
    _, params = fitted(Pair(), X, CODES, n_classes=3)
    assert_allclose(params.of_column(0)[2], 0.0, atol=1e-12)


def test_each_pair_may_have_its_own_strength():
    two = Codes(np.hstack((X.matrix, (B * 2 + A)[:, None])), np.array([6, 6]), np.array([3, 2]))
    _, params = fitted(Pair((1.0, 30.0)), two, CODES)
    assert_allclose(params.of_column(0), fitted(Pair(1.0), X, CODES)[1].of_column(0))
    turned = fitted(Pair(30.0), X, CODES)[1].of_column(0).reshape(2, 2, 3).transpose(0, 2, 1)
    assert_allclose(params.of_column(1), turned.reshape(2, 6))


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_counting_the_other_rows(weighted):
    weight = RNG.random(60) + 0.1 if weighted else np.ones(60)
    x = Codes(np.where(RNG.random(X.shape) < 0.2, MISSING, X.matrix), X.n_levels, X.n_right)
    summary, params = fitted(Pair(2.0), x, CODES, weight)
    got = Pair(2.0).leave_one_out(summary, params, x, labels(CODES, weight))
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        _, without = fitted(Pair(2.0), x.take(rest), CODES[rest], weight[rest])
        assert_allclose(got[i], Pair(2.0).log_prob(without, x.take(np.array([i])))[0], atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_evidence_of_all_pairs_is_that_of_each_without_the_row(weighted):
    family, rng = Pair((2.0, 8.0)), np.random.default_rng(1)
    matrix = np.column_stack((X.matrix[:, 0], rng.integers(-1, 4, 60))).astype(np.int32)
    weight = rng.choice([0.5, 1.0, 3.0], 60) if weighted else np.ones(60)
    x, out = Codes(matrix, np.array([6, 4]), np.array([3, 2])), np.full((60, 2, 3), np.nan, dtype=np.float32)
    summary, _ = fitted(family, x, CODES, weight)
    family.evidence_without(summary, x, labels(CODES, weight), out, [2, 0])
    expected = np.full_like(out, np.nan)
    super(Pair, family).evidence_without(summary, x, labels(CODES, weight), expected, [2, 0])
    assert_allclose(out[:, :, [0, 2]], expected[:, :, [0, 2]], rtol=1e-6, atol=1e-7)
    assert np.isnan(out[:, :, 1]).all()


@pytest.mark.parametrize("code", [MISSING, UNSEEN, 6])
def test_a_combination_that_is_none_adds_nothing(code):
    _, params = fitted(Pair(), X, CODES)
    assert_array_equal(Pair().log_prob(params, Codes(np.array([[code]]), X.n_levels, X.n_right)), [[0.0, 0.0]])


def test_pairs_have_no_values_of_their_own():
    _, params = fitted(Pair(), X, CODES)
    assert Pair().joint_size(params) == 1
    with pytest.raises(NotAvailableError, match="no values of their own"):
        Pair().sample(params, np.zeros(1, int), RNG)
    with pytest.raises(NotAvailableError, match="combinations"):
        Pair().linear(params)
