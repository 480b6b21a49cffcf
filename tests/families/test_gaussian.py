"""Gaussian: densities against SciPy, variances against NumPy, and the corners where others go wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import tallybayes
from tallybayes.errors import DataError, NotAvailableError
from tallybayes.families import Gaussian

from .fitting import fitted, labels

RNG = np.random.default_rng(0)
X = RNG.normal(5.0, (1.0, 10.0, 0.1), (20, 3))
CODES = np.arange(20) % 2
EXACT = Gaussian(var_smoothing=0.0)


def densities(x, mean, variance):
    """Log densities (n, K, d)."""
    return norm.logpdf(x[:, None, :], mean, np.sqrt(variance))


# ---------------------------------------------------------------------------------------------- formula


def test_mean_and_variance_are_those_of_the_class():
    weight = RNG.random(20)
    _, params = fitted(EXACT, X, CODES, weight)
    for k in (0, 1):
        own, w = X[k == CODES], weight[k == CODES]
        mean = np.average(own, axis=0, weights=w)
        assert_allclose(params.mean[k], mean)
        assert_allclose(params.variance[k], np.average((own - mean) ** 2, axis=0, weights=w))


@pytest.mark.parametrize("family", [Gaussian(), Gaussian(variance="shared"), EXACT], ids=str)
def test_log_densities_are_scipys(family):
    _, params = fitted(family, X, CODES)
    want = densities(X, params.mean, params.variance)
    assert_allclose(family.contributions(params, X), want)
    assert_allclose(family.log_prob(params, X), want.sum(axis=2))


def test_a_shared_variance_is_pooled_within_the_classes():
    _, params = fitted(Gaussian(0.0, variance="shared"), X, CODES)
    within = sum(((X[k == CODES] - X[k == CODES].mean(axis=0)) ** 2).sum(axis=0) for k in (0, 1))
    assert_allclose(params.variance, np.broadcast_to(within / 20, (2, 3)))


@pytest.mark.parametrize("variance", ["class", "shared"])
def test_the_floor_is_a_share_of_the_largest_column_variance(variance):
    bare, floored = (fitted(Gaussian(share, variance), X, CODES)[1] for share in (0.0, 0.5))
    assert_allclose(floored.variance - bare.variance, 0.5 * X.var(axis=0).max())
    assert floored.epsilon == pytest.approx(0.5 * X.var(axis=0).max())


def test_a_row_of_weight_zero_does_not_raise_the_floor():
    outlier = np.vstack([X, [[1e6, 1e6, 1e6]]])
    _, params = fitted(Gaussian(), outlier, [*CODES, 0], [1.0] * 20 + [0.0])
    assert params.epsilon == pytest.approx(1e-9 * X.var(axis=0).max())


# ---------------------------------------------------------------------------------------------- the linear view


def test_a_shared_variance_makes_the_posterior_logistic():
    family = Gaussian(variance="shared")
    _, params = fitted(family, X, CODES)
    weights, bias = family.linear(params)
    variance = params.variance[0]
    assert_allclose(weights[1] - weights[0], (params.mean[1] - params.mean[0]) / variance)
    assert_allclose(bias[1] - bias[0], -((params.mean[1] ** 2 - params.mean[0] ** 2) / (2 * variance)).sum())


def test_own_variances_have_no_linear_form():
    with pytest.raises(NotAvailableError, match=r"quadratic boundary.*variance='shared'"):
        Gaussian().linear(fitted(Gaussian(), X, CODES)[1])


def test_parameters_are_counted():
    _, params = fitted(Gaussian(), X, CODES)
    assert Gaussian().n_parameters(params) == 2 * 2 * 3
    assert Gaussian(variance="shared").n_parameters(params) == 2 * 3 + 3
    assert Gaussian().joint_size(params) - 1 == 3 + 6  # a mean and half a covariance matrix


# ---------------------------------------------------------------------------------------------- missing values


def test_a_missing_value_is_no_evidence():
    with_missing = X.copy()
    with_missing[3, 1] = np.nan
    family = Gaussian()
    summary, params = fitted(family, with_missing, CODES)
    assert_array_equal(summary.weight, [[10, 10, 10], [10, 9, 10]])
    want = densities(with_missing, params.mean, params.variance)
    assert_allclose(family.log_prob(params, with_missing), np.nansum(want, axis=2))


def test_a_class_without_a_value_borrows_those_of_the_column():
    x = np.array([[1.0], [3.0], [8.0], [np.nan]])
    _, params = fitted(EXACT, x, [0, 0, 1, 2])
    assert_allclose(params.mean[2], x[:3].mean())
    assert_allclose(params.variance[2], x[:3].var())


def test_a_column_without_a_value_is_no_evidence():
    x = np.array([[1.0, np.nan], [3.0, np.nan], [8.0, np.nan]])
    family = Gaussian()
    _, params = fitted(family, x, [0, 0, 1])
    _, without = fitted(family, x[:, :1], [0, 0, 1])
    unusual = np.array([[2.0, 77.0]])
    assert_allclose(family.log_prob(params, unusual), family.log_prob(without, unusual[:, :1]))


# ---------------------------------------------------------------------------------------------- numbers


def test_a_large_offset_leaves_the_variance_alone():
    _, params = fitted(EXACT, np.array([[1e8], [1e8 + 1], [1e8 + 2]]), [0, 0, 0])
    assert params.variance.item() == 2 / 3


@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_never_gives_a_negative_variance(order):
    x = (1e8 + 100 * RNG.random((1000, 3))).astype(np.float32)
    _, params = fitted(EXACT, np.asarray(x, order=order), np.zeros(1000, int))
    assert_allclose(params.variance, [x.astype(np.float64).var(axis=0)], rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16])
def test_squares_of_integers_do_not_overflow(dtype):
    top = min(np.iinfo(dtype).max, 2**31)
    x = np.array([[0], [top // 2], [top]], dtype=dtype)
    _, params = fitted(EXACT, x, [0, 0, 0])
    assert_allclose(params.variance, x.astype(float).var())


@pytest.mark.parametrize(
    ("values", "row"), [([0.0, 1e200], 2), ([1e200, 1e200], 1), ([-1e160, 1e160], 1)], ids=["one", "equal", "opposite"]
)
def test_a_square_that_overflows_is_an_error(values, row):
    with pytest.raises(DataError, match=rf"column 'mass' holds -?1e\+\d+, whose square .* \(row {row}\)\. Rescale"):
        tallybayes.tally(np.array(values)[:, None], ["a", "a"], Gaussian(), names=["mass"])


@pytest.mark.parametrize("scale", [1e-10, 1e10])
def test_the_unit_of_a_column_changes_no_posterior(scale):
    family, odds = Gaussian(), []
    for unit in (1.0, scale):
        _, params = fitted(family, X * unit, CODES)
        scores = family.log_prob(params, X * unit)
        odds.append(scores[:, 1] - scores[:, 0])
    assert_allclose(*odds, rtol=1e-6)


def test_tails_are_finite_and_ordered():
    family = Gaussian()
    _, params = fitted(family, X, CODES)
    far = params.mean[:1] + np.array([[10.0], [40.0], [1e3], [1e6]]) * np.sqrt(params.variance[:1])
    scores = family.log_prob(params, far)[:, 0]
    assert np.all(np.isfinite(scores))
    assert np.all(np.diff(scores) < 0)
    assert_allclose(scores, norm.logpdf(far, params.mean[0], np.sqrt(params.variance[0])).sum(axis=1))


def test_a_column_constant_in_one_class_keeps_its_floor():
    x = np.array([[1.0], [1.0], [1.0], [2.0]])
    family = Gaussian()
    _, params = fitted(family, x, [0, 0, 1, 1])
    assert_allclose(params.variance[0], 1e-9 * x.var())
    assert_array_equal(family.log_prob(params, np.array([[1.0], [1.5]])).argmax(axis=1), [0, 1])


def test_a_column_that_never_varies_forbids_nothing():
    # No spread anywhere, so there is no floor either; another value is unlikely, not impossible.
    family = Gaussian()
    _, params = fitted(family, np.full((4, 2), 7.0), [0, 0, 1, 1])
    for x in (np.full((1, 2), 7.0), np.full((1, 2), 107.0)):
        assert np.all(np.isfinite(family.log_prob(params, x)))
        assert_allclose(family.contributions(params, x).sum(axis=2), family.log_prob(params, x))


# ---------------------------------------------------------------------------------------------- leave one out


def left_out(family, x, codes, weight=None):
    summary, params = fitted(family, x, codes, weight)
    return family.leave_one_out(summary, params, x, labels(codes, weight))


def test_the_tail_of_the_others_is_exact():
    # Without the last row its class is narrow, and the row lies a hundred deviations out.
    x = np.array([[0.0], [1.0], [2.0], [100.0], [3.0], [5.0]])
    others = x[:3]
    want = norm.logpdf(100.0, others.mean(), others.std())
    assert left_out(EXACT, x, [0, 0, 0, 0, 1, 1])[3, 0] == pytest.approx(want, rel=1e-10)


def test_rows_far_from_zero_are_left_out_as_near_it():
    x, codes = np.array([[0.0], [1.0], [3.0], [4.0], [9.0]]), [0, 0, 0, 1, 1]
    assert_allclose(left_out(EXACT, x + 1e8, codes), left_out(EXACT, x, codes), rtol=1e-6)


def test_the_only_row_of_a_class_is_scored_by_the_other_classes():
    x = np.array([[0.0, 0.0], [5.0, 6.0], [7.0, 9.0], [3.0, 3.0]])
    others = x[1:]
    want = norm.logpdf(x[0], others.mean(axis=0), others.std(axis=0)).sum()
    assert_allclose(left_out(EXACT, x, [0, 1, 1, 1])[0], [want, want])


@pytest.mark.parametrize("family", [Gaussian(), EXACT, Gaussian(variance="shared")], ids=str)
def test_without_the_only_row_that_varies_nothing_is_evidence(family):
    # In several columns at once, and for the others with variances whose products would underflow.
    x = np.zeros((6, 5))
    x[5] = 1.0
    scores = left_out(family, x, [0, 0, 1, 1, 1, 0])
    assert np.all(np.isfinite(scores))
    assert_array_equal(scores[5], 0.0)


def test_an_infinite_number_cannot_be_left_out():
    x = np.array([[1.0], [2.0], [4.0]])
    summary, params = fitted(Gaussian(), x, [0, 1, 1])
    with pytest.raises(DataError, match="is infinite"):
        Gaussian().leave_one_out(summary, params, np.array([[np.inf]]), labels([1]))
