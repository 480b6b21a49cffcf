"""Exponential: means and densities against SciPy, zeros, and numbers below zero."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import expon

from tallybayes.errors import CellError, NotAvailableError
from tallybayes.families import Exponential

from .fitting import fitted, labels

X = np.array([[2.0, 100.0], [1.0, 0.0], [0.0, 300.0], [5.0, 50.0]])
CODES = [0, 0, 1, 1]
WEIGHT = [1.0, 0.5, 2.0, 1.0]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, (1.0, 5.0)], ids=str)
def test_log_densities_are_scipys(alpha):
    family = Exponential(alpha)
    _, params = fitted(family, X, CODES, WEIGHT)
    overall = np.average(X, axis=0, weights=WEIGHT)
    sums, weight = np.array([[2.5, 100.0], [5.0, 650.0]]), np.array([[1.5], [3.0]])
    mean = (sums + alpha * overall) / (weight + alpha)
    assert_allclose(params.mean, mean)
    want = expon.logpdf(X[:, None, :], scale=mean)
    assert_allclose(family.contributions(params, X), want)
    assert_allclose(family.log_prob(params, X), want.sum(axis=2))


def test_a_class_without_rows_or_with_zeros_only_has_the_mean_of_all():
    _, params = fitted(Exponential(0.0), np.array([[2.0], [4.0], [0.0]]), [0, 0, 1], n_classes=3)
    assert_allclose(params.mean[:, 0], [3.0, 2.0, 2.0])


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_a_column_of_zeros_or_missing_values_is_no_evidence(value):
    family = Exponential()
    _, params = fitted(family, np.full((4, 1), value), CODES)
    scores = family.log_prob(params, np.array([[0.0], [3.0]]))
    assert_allclose(scores[:, 0], scores[:, 1])


def test_a_missing_value_is_no_evidence():
    family = Exponential()
    with_missing = np.array([[2.0, np.nan], [1.0, 3.0], [4.0, 5.0]])
    summary, params = fitted(family, with_missing, [0, 0, 1])
    assert_array_equal(summary.weight, [[2.0, 1.0], [1.0, 1.0]])
    assert_allclose(family.log_prob(params, with_missing)[0], expon.logpdf(2.0, scale=params.mean[:, 0]))


@pytest.mark.parametrize("alpha", [0.0, 1.0, (0.5, 2.0)], ids=str)
def test_leave_one_out_is_counting_the_other_rows(alpha):
    rng = np.random.default_rng(0)
    x, codes, weight = rng.exponential((1.0, 50.0), (30, 2)), np.arange(30) % 3, rng.random(30) + 0.1
    x[rng.random(x.shape) < 0.2] = np.nan
    family = Exponential(alpha)
    summary, params = fitted(family, x, codes, weight)
    got = family.leave_one_out(summary, params, x, labels(codes, weight))
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        _, without = fitted(family, x[rest], codes[rest], weight[rest])
        assert_allclose(got[i], family.log_prob(without, x[[i]])[0])


@pytest.mark.parametrize(("value", "problem"), [(-1.5, "holds -1.5, and an exponential number"), (np.inf, "infinite")])
def test_a_cell_that_is_no_such_number_is_named(value, problem):
    bad = X.copy()
    bad[3, 1] = value
    with pytest.raises(CellError, match=problem) as error:
        fitted(Exponential(), bad, CODES)
    assert (error.value.row, error.value.column) == (3, 1)


def test_the_weights_are_rates():
    _, params = fitted(Exponential(), X, CODES)
    weights, bias = Exponential().linear(params)
    assert_allclose(weights, -1 / params.mean)
    assert_allclose(bias, -np.log(params.mean).sum(axis=1))


def test_drawn_numbers_have_the_mean_of_their_class():
    _, params = fitted(Exponential(), X, CODES)
    drawn = Exponential().sample(params, np.ones(20000, int), np.random.default_rng(0))
    assert_allclose(drawn.mean(axis=0), params.mean[1], rtol=0.03)


def test_parameters_are_counted():
    _, params = fitted(Exponential(), X, CODES)
    assert Exponential().n_parameters(params) == 2 * 2
    with pytest.raises(NotAvailableError, match="no full joint"):
        Exponential().joint_size(params)
