"""Gamma: densities against SciPy, and numbers that it cannot hold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gamma, norm

from tallybayes.core.family import Numbers
from tallybayes.errors import CellError, NotAvailableError
from tallybayes.families import Gamma

from .fitting import fitted, labels

RNG = np.random.default_rng(0)
X = RNG.gamma((2.0, 30.0), (1.0, 5.0), (30, 2))
CODES = np.arange(30) % 2
EXACT = Gamma(0.0)


def test_log_densities_are_scipys_with_the_moments_of_the_class():
    _, params = fitted(EXACT, X, CODES)
    want = np.zeros((30, 2))
    for k in (0, 1):
        mean, variance = X[k == CODES].mean(axis=0), X[k == CODES].var(axis=0)
        want[:, k] = gamma.logpdf(X, mean**2 / variance, scale=variance / mean).sum(axis=1)
    # 1 / x is the same for every class, so it is kept apart.
    assert_allclose(EXACT.log_prob(params, X) + EXACT.log_base(X)[:, None], want)
    assert_allclose(EXACT.contributions(params, X).sum(axis=2), EXACT.log_prob(params, X))


def test_numbers_that_hardly_vary_beside_their_mean_are_scored_as_by_a_bell_curve():
    x = 1e5 + RNG.normal(size=(400, 1))
    summary, params = fitted(EXACT, x, np.zeros(400, dtype=int))
    bell = norm.logpdf(x, summary.mean[0], np.sqrt(summary.m2[0] / 400))
    assert_allclose(EXACT.log_prob(params, x) + EXACT.log_base(x)[:, None], bell, rtol=0, atol=1e-3)
    assert not Gamma().suits(Numbers(1e5, 1.001e5, 0.0))
    assert Gamma().suits(Numbers(1.0, 3.0, 0.0))


def test_a_sample_has_the_mean_and_the_variance_of_its_class():
    _, params = fitted(EXACT, X, CODES)
    drawn = EXACT.sample(params, np.ones(200_000, dtype=int), np.random.default_rng(1))
    assert_allclose(drawn.mean(axis=0), X[CODES == 1].mean(axis=0), rtol=0.01)
    assert_allclose(drawn.var(axis=0), X[CODES == 1].var(axis=0), rtol=0.03)


def test_leave_one_out_is_counting_the_other_rows():
    x, weight = np.where(RNG.random(X.shape) < 0.2, np.nan, X), RNG.random(30) + 0.1
    summary, params = fitted(Gamma(0.1), x, CODES, weight)
    got = Gamma(0.1).leave_one_out(summary, params, x, labels(CODES, weight))
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        _, without = fitted(Gamma(0.1), x[rest], CODES[rest], weight[rest])
        assert_allclose(got[i], Gamma(0.1).log_prob(without, x[[i]])[0])


@pytest.mark.parametrize("value", [0.0, -3.0])
def test_a_number_that_is_not_positive_is_not_learned_and_is_no_evidence(value):
    bad = X.copy()
    bad[7, 1] = value
    with pytest.raises(CellError, match="a gamma number is above 0") as error:
        fitted(Gamma(), bad, CODES)
    assert (error.value.row, error.value.column) == (7, 1)
    _, params = fitted(Gamma(), X, CODES)
    assert_array_equal(Gamma().contributions(params, bad[[7]])[0, :, 1], [0.0, 0.0])


def test_it_is_not_linear_in_x():
    with pytest.raises(NotAvailableError, match="gamma columns are not linear"):
        Gamma().linear(fitted(Gamma(), X, CODES)[1])
