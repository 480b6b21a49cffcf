"""Bernoulli: probabilities against SciPy, thresholds, true zeros."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import bernoulli

from tallybayes.data.arrays import sparse_rows
from tallybayes.errors import CellError, DataError, NotAvailableError
from tallybayes.families import Bernoulli

from .fitting import fitted, labels

X = np.array([[1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
CODES = [0, 0, 0, 1, 1]
WEIGHT = np.array([1.0, 0.5, 2.0, 1.0, 3.0])


@pytest.mark.parametrize("alpha", [1.0, 0.3, (0.1, 1.0, 5.0)])
def test_log_probabilities_are_scipys(alpha):
    family = Bernoulli(alpha)
    _, params = fitted(family, X, CODES, WEIGHT)
    total = np.array([[3.5], [4.0]])
    yes = np.array([[3.5, 0.5, 1.0], [0.0, 3.0, 4.0]])
    p = (yes + alpha) / (total + 2 * np.asarray(alpha))
    assert_allclose(np.exp(params.log_yes.T), p)
    want = bernoulli.logpmf(X[:, None, :], p)
    assert_allclose(family.contributions(params, X), want)
    assert_allclose(family.log_prob(params, X), want.sum(axis=2))


def test_an_unsmoothed_zero_is_a_true_zero():
    family = Bernoulli(0.0)
    _, params = fitted(family, X, CODES)
    # Class 0 always says yes to the first column, class 1 never does.
    scores = family.log_prob(params, np.array([[1, 0, 1], [0, 0, 1]]))
    assert_array_equal(np.isneginf(scores), [[False, True], [True, False]])
    assert not np.isnan(family.contributions(params, X)).any()


def test_a_class_without_rows_knows_nothing():
    family = Bernoulli(0.0)
    _, params = fitted(family, X, CODES, n_classes=3)
    assert_allclose(family.log_prob(params, X)[:, 2], 3 * np.log(0.5))


@pytest.mark.parametrize("sparse", [False, True])
def test_what_rounding_leaves_of_a_count_is_no_chance(sparse):
    # 0.1 + 1/3 − 1/3 is not quite 0.1. Without row 1 nobody says no, and without row 0 nobody says yes.
    family, x, weight = Bernoulli(0.0), np.array([[1.0], [0.0]]), [0.1, 1 / 3]
    x = sparse_rows(csr_array(x)) if sparse else x
    summary, params = fitted(family, x, [0, 0], weight)
    got = family.leave_one_out(summary, params, x, labels([0, 0], weight))
    assert_array_equal(got, [[-np.inf], [-np.inf]])


def test_the_threshold_is_applied_to_scores_as_to_counts():
    family, x = Bernoulli(threshold=10.0), np.array([[3.0, 12.0], [11.0, 10.0], [30.0, 9.0]])
    summary, params = fitted(family, x, [0, 0, 1])
    binary = Bernoulli(threshold=None)
    same_summary, same_params = fitted(binary, (x > 10.0).astype(float), [0, 0, 1])
    assert_array_equal(summary.count, same_summary.count)
    assert_allclose(family.log_prob(params, x), binary.log_prob(same_params, (x > 10.0).astype(float)))


def test_a_negative_threshold_needs_the_zeros():
    # They lie above it, and a sparse matrix does not store them.
    with pytest.raises(DataError, match="threshold below 0 needs a dense one"):
        fitted(Bernoulli(threshold=-1.0), sparse_rows(csr_array(X)), CODES)


@pytest.mark.parametrize("threshold", [-3.0, 0.0, 5.0])
def test_draws_read_as_they_were_meant(threshold):
    family = Bernoulli(0.0, threshold=threshold)
    _, params = fitted(family, np.array([[threshold + 1, threshold - 1]]), [0])
    drawn = family.sample(params, np.zeros(20, int), np.random.default_rng(0))
    assert_array_equal(drawn > threshold, np.broadcast_to([True, False], (20, 2)))


def test_the_weights_are_log_odds_ratios():
    family = Bernoulli()
    _, params = fitted(family, X, CODES)
    weights, bias = family.linear(params)
    p = np.exp(params.log_yes.T)
    assert_allclose(weights[1] - weights[0], np.log(p[1] / p[0] * (1 - p[0]) / (1 - p[1])))
    assert_allclose(bias[1] - bias[0], np.log((1 - p[1]) / (1 - p[0])).sum())


def test_true_zeros_have_no_linear_form():
    with pytest.raises(NotAvailableError, match=r"infinite weight.*alpha > 0"):
        Bernoulli(0.0).linear(fitted(Bernoulli(0.0), X, CODES)[1])


def test_parameters_are_counted():
    _, params = fitted(Bernoulli(), X, CODES)
    assert Bernoulli().n_parameters(params) == 2 * 3
    assert Bernoulli().joint_size(params) == 2**3


def test_the_joint_of_many_columns_is_a_whole_number():
    _, params = fitted(Bernoulli(), np.ones((1, 2000)), [0])
    assert Bernoulli().joint_size(params) == 2**2000


def test_a_missing_value_is_no_evidence():
    family = Bernoulli(0.0)
    x = np.array([[1.0, np.nan], [np.nan, 0.0], [1.0, 1.0]])
    summary, params = fitted(family, x, [0, 0, 0])
    assert_array_equal(summary.weight, [[2, 2]])
    assert_allclose(np.exp(family.log_prob(params, x))[:, 0], [1.0, 0.5, 0.5])


def test_an_infinite_value_is_named():
    family = Bernoulli()
    _, params = fitted(family, X, CODES)
    with pytest.raises(CellError, match="is infinite") as error:
        family.log_prob(params, np.array([[0.0, 1.0, 0.0], [0.0, 1.0, np.inf]]))
    assert (error.value.row, error.value.column) == (1, 2)


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0])
def test_rows_of_all_weights_can_be_left_out_of_sparse_counts(alpha):
    # Common and rare columns, light and heavy rows: some columns have little of no left without a row, most have much.
    rng = np.random.default_rng(0)
    x = (rng.random((600, 12)) < np.linspace(0.0, 1.0, 12) ** 3).astype(float)
    weight = rng.random(600) * np.where(rng.random(600) < 0.1, 20.0, 1.0)
    weight[:3] = 0.0
    codes, family, sparse = rng.integers(2, size=600).tolist(), Bernoulli(alpha), sparse_rows(csr_array(x))
    summary, params = fitted(family, sparse, codes, weight)
    got = family.leave_one_out(summary, params, sparse, labels(codes, weight))
    assert_allclose(got, family.leave_one_out(summary, params, x, labels(codes, weight)))
    for i in range(0, 600, 50):
        rest = np.arange(600) != i
        _, without = fitted(family, x[rest], np.array(codes)[rest], weight[rest], 2)
        assert_allclose(got[i], family.log_prob(without, x[[i]])[0])
