"""Zero-inflated: a spike at zero and, beside it, SciPy's normal or lognormal curve."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import lognorm, norm

from tallybayes.errors import CellError, NotAvailableError
from tallybayes.families import ZeroInflated

from .fitting import fitted, labels

RNG = np.random.default_rng(0)
CODES = np.arange(40) % 2
X = np.where(RNG.random((40, 2)) < 0.4, 0.0, RNG.lognormal(1.0, (1.0, 0.3), (40, 2)))


def density(rest, x, own):
    """Log density of one number other than zero, from those of its class."""
    if rest == "gaussian":
        return norm.logpdf(x, own.mean(), own.std())
    return lognorm.logpdf(x, np.log(own).std(), scale=np.exp(np.log(own).mean()))


@pytest.mark.parametrize("rest", ["gaussian", "lognormal"])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_log_probabilities_are_a_spike_or_scipys_density(rest, alpha):
    family = ZeroInflated(rest, alpha, var_smoothing=0.0)
    _, params = fitted(family, X, CODES)
    want = np.zeros((40, 2))
    for k in (0, 1):
        for j in (0, 1):
            own = X[k == CODES, j]
            zero = (np.sum(own == 0) + alpha) / (20 + 2 * alpha)
            curve = density(rest, np.where(X[:, j] == 0, 1.0, X[:, j]), own[own != 0])
            want[:, k] += np.where(X[:, j] == 0, np.log(zero), np.log(1 - zero) + curve)
    assert_allclose(family.log_prob(params, X) + family.log_base(X)[:, None], want)
    assert_allclose(family.contributions(params, X).sum(axis=2), family.log_prob(params, X))


def test_a_missing_value_is_neither_zero_nor_another_number():
    family = ZeroInflated()
    summary, params = fitted(family, np.array([[0.0], [np.nan], [3.0], [5.0]]), [0, 0, 0, 1])
    assert_array_equal(summary.other.weight, [[2.0], [1.0]])
    assert_array_equal(summary.rest.weight, [[1.0], [1.0]])
    assert_array_equal(family.log_prob(params, np.array([[np.nan]])), [[0.0, 0.0]])


@pytest.mark.parametrize("rest", ["gaussian", "lognormal"])
def test_leave_one_out_is_counting_the_other_rows(rest):
    x, weight = np.where(RNG.random(X.shape) < 0.1, np.nan, X), RNG.random(40) + 0.1
    family = ZeroInflated(rest, var_smoothing=0.1)
    summary, params = fitted(family, x, CODES, weight)
    got = family.leave_one_out(summary, params, x, labels(CODES, weight))
    for i in range(40):
        others = np.delete(np.arange(40), i)
        _, without = fitted(family, x[others], CODES[others], weight[others])
        assert_allclose(got[i], family.log_prob(without, x[[i]])[0])


def test_a_lognormal_rest_takes_no_number_below_zero():
    bad = X.copy()
    bad[5, 1] = -2.0
    with pytest.raises(CellError, match="holds -2") as error:
        fitted(ZeroInflated("lognormal"), bad, CODES)
    assert (error.value.row, error.value.column) == (5, 1)
    assert np.isfinite(ZeroInflated().log_prob(fitted(ZeroInflated(), bad, CODES)[1], bad)).all()


def test_rows_are_taken_back_and_scaled():
    family = ZeroInflated()
    both, first, second = (fitted(family, X[s], CODES[s])[0] for s in (slice(None), slice(0, 30), slice(30, None)))
    for name, array in (both - second).arrays().items():
        assert_allclose(array, first.arrays()[name], err_msg=name)
        assert_allclose((first + second).arrays()[name], both.arrays()[name], err_msg=name)
    assert_allclose((both * 0.5).other.weight, both.other.weight / 2)


def test_zeros_are_drawn_as_often_as_they_were_seen():
    family = ZeroInflated("lognormal", alpha=1e-9)
    _, params = fitted(family, X, CODES)
    drawn = family.sample(params, np.zeros(20000, int), np.random.default_rng(0))
    assert_allclose((drawn == 0).mean(axis=0), (X[CODES == 0] == 0).mean(axis=0), atol=0.015)
    assert (drawn >= 0).all()


def test_parameters_are_counted():
    family = ZeroInflated()
    _, params = fitted(family, X, CODES)
    assert family.n_parameters(params) == 2 * 2 * 3  # a probability, a mean and a variance
    with pytest.raises(NotAvailableError, match="not linear"):
        family.linear(params)
