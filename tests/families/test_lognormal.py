"""Lognormal: densities against SciPy, and numbers that have no logarithm."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import lognorm

from tallybayes.errors import CellError, NotAvailableError
from tallybayes.families import Lognormal

from .fitting import fitted, labels

RNG = np.random.default_rng(0)
X = RNG.lognormal((0.0, 10.0), (1.0, 0.1), (30, 2))
CODES = np.arange(30) % 2
EXACT = Lognormal(0.0)


def test_log_densities_are_scipys():
    _, params = fitted(EXACT, X, CODES)
    want = np.zeros((30, 2))
    for k in (0, 1):
        logs = np.log(X[k == CODES])
        want[:, k] = lognorm.logpdf(X, logs.std(axis=0), scale=np.exp(logs.mean(axis=0))).sum(axis=1)
    # 1 / x is the same for every class, so it is kept apart.
    assert_allclose(EXACT.log_prob(params, X) + EXACT.log_base(X)[:, None], want)
    assert_allclose(EXACT.contributions(params, X).sum(axis=2), EXACT.log_prob(params, X))


def test_the_floor_is_a_share_of_each_columns_own_variance():
    bare, floored = (fitted(Lognormal(share), X, CODES)[1].variance for share in (0.0, 0.5))
    assert_allclose(floored - bare, np.broadcast_to(0.5 * np.log(X).var(axis=0), (2, 2)))


def test_leave_one_out_is_counting_the_other_rows():
    x, weight = np.where(RNG.random(X.shape) < 0.2, np.nan, X), RNG.random(30) + 0.1
    summary, params = fitted(Lognormal(0.1), x, CODES, weight)
    got = Lognormal(0.1).leave_one_out(summary, params, x, labels(CODES, weight))
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        _, without = fitted(Lognormal(0.1), x[rest], CODES[rest], weight[rest])
        assert_allclose(got[i], Lognormal(0.1).log_prob(without, x[[i]])[0])


@pytest.mark.parametrize("value", [0.0, -0.0, -3.0])
def test_a_number_that_is_not_positive_cannot_be_learned(value):
    bad = X.copy()
    bad[7, 1] = value
    with pytest.raises(CellError, match="a lognormal number is above 0") as error:
        fitted(Lognormal(), bad, CODES)
    assert (error.value.row, error.value.column) == (7, 1)


def test_an_infinite_number_cannot_be_learned():
    bad = X.copy()
    bad[7, 1] = np.inf
    with pytest.raises(CellError, match="inf"):
        fitted(Lognormal(), bad, CODES)


@pytest.mark.parametrize("value", [0.0, -3.0, np.nan])
def test_a_number_without_a_logarithm_is_no_evidence(value):
    _, params = fitted(Lognormal(), X, CODES)
    assert_array_equal(Lognormal().log_prob(params, np.full((1, 2), value)), [[0.0, 0.0]])
    assert_array_equal(Lognormal().log_base(np.full((1, 2), value)), [0.0])


def test_a_constant_is_no_evidence():
    _, params = fitted(Lognormal(), np.full((4, 1), 5.0), [0, 0, 1, 1])
    assert_array_equal(Lognormal().log_prob(params, np.array([[5.0], [9.0]])), np.zeros((2, 2)))


def test_drawn_numbers_have_the_moments_of_their_class():
    _, params = fitted(EXACT, X, CODES)
    drawn = np.log(EXACT.sample(params, np.ones(20000, int), np.random.default_rng(0)))
    assert_allclose(drawn.mean(axis=0), params.mean[1], atol=0.03)
    assert_allclose(drawn.var(axis=0), params.variance[1], rtol=0.05)


def test_parameters_are_counted():
    _, params = fitted(EXACT, X, CODES)
    assert EXACT.n_parameters(params) == 2 * 2 * 2
    with pytest.raises(NotAvailableError, match="not linear"):
        EXACT.linear(params)
