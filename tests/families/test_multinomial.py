"""Multinomial: bags of words against SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import multinomial

from tallybayes.core.batch import Csr
from tallybayes.data.arrays import sparse_rows
from tallybayes.errors import CellError, NotAvailableError
from tallybayes.families import Multinomial

from .fitting import fitted, labels

X = np.array([[2.0, 1, 0], [1.0, 0, 0], [0.0, 3, 1], [0.0, 0, 0]])
CODES = [0, 0, 1, 1]
COUNTS = np.array([[3.0, 1, 0], [0, 3, 1]])


@pytest.mark.parametrize("alpha", [0.3, 1.0, (0.5, 1.0, 2.0)])
@pytest.mark.parametrize("sparse", [False, True])
def test_log_probabilities_are_scipys(alpha, sparse):
    family = Multinomial(alpha)
    x = sparse_rows(csr_array(X)) if sparse else X
    _, params = fitted(family, x, CODES)
    smoothed = COUNTS + alpha
    theta = smoothed / smoothed.sum(axis=1, keepdims=True)
    assert_allclose(np.exp(params.log_theta.T), theta)
    want = [[multinomial.logpmf(row, row.sum(), theta[k]) for k in (0, 1)] for row in X]
    # The coefficient is the same for every class, so it is kept apart.
    assert_allclose(family.log_prob(params, x) + family.log_base(x)[:, None], want, atol=1e-12)


def test_an_unsmoothed_zero_is_a_true_zero():
    family = Multinomial(0.0)
    _, params = fitted(family, X, CODES, n_classes=3)
    scores = family.log_prob(params, X)
    assert_array_equal(np.isneginf(scores[:, :2]), [[False, True], [False, True], [True, False], [False, False]])
    assert_allclose(scores[:, 2], -X.sum(axis=1) * np.log(3))  # a class without words finds all alike
    assert not np.isnan(family.contributions(params, X)).any()


def test_fractional_counts_and_weights_are_not_cut_off():
    summary, _ = fitted(Multinomial(), X / 4, CODES, [0.5, 1.0, 1.0, 1.0])
    assert_array_equal(summary.count, [[0.5, 0.125, 0.0], [0.0, 0.75, 0.25]])
    assert_array_equal(summary.weight, [[1.5], [2.0]])


def test_the_weights_are_log_probabilities():
    family = Multinomial()
    _, params = fitted(family, X, CODES)
    weights, bias = family.linear(params)
    assert_allclose(weights, params.log_theta.T)
    assert_array_equal(bias, [0.0, 0.0])


@pytest.mark.parametrize(
    ("value", "problem"), [(-2.0, "holds the count -2.*Negative"), (np.nan, "NaN.*fill it"), (np.inf, "infinite")]
)
def test_a_cell_that_is_no_count_is_named(value, problem):
    bad = X.copy()
    bad[2, 1] = value
    family = Multinomial()
    params = fitted(family, X, CODES)[1]
    for run in (lambda: fitted(family, bad, CODES), lambda: family.log_prob(params, bad)):
        with pytest.raises(CellError, match=problem) as error:
            run()
        assert (error.value.row, error.value.column) == (2, 1)


def test_a_missing_value_is_found_however_light_its_row():
    bad = X.copy()
    bad[1, 2] = np.nan
    with pytest.raises(CellError, match="NaN"):
        fitted(Multinomial(), bad, CODES, [1e10, 1.0, 1.0, 1.0])


def test_draws_are_as_long_as_the_rows():
    family = Multinomial()
    _, params = fitted(family, X * 10, CODES)
    drawn = family.sample(params, np.repeat([0, 1], 2000), np.random.default_rng(0))
    assert_allclose(drawn.sum(axis=1).reshape(2, -1).mean(axis=1), [20.0, 20.0], rtol=0.02)
    assert_array_equal(drawn, np.rint(drawn))


def test_a_row_in_pieces_and_out_of_order_is_left_out_whole():
    family, pieces = Multinomial(), Csr(*map(np.array, ([1.0, 1, 1, 1, 2, 1], [1, 0, 0, 0, 1, 2], [0, 3, 4, 6, 6])), 3)
    other = X.copy()
    other[2] = [0.0, 2, 1]
    assert_array_equal(pieces.dense(), other)
    summary, params = fitted(family, pieces, CODES)
    left_out = [family.leave_one_out(summary, params, x, labels(CODES)) for x in (pieces, other)]
    assert_allclose(*left_out)


def test_parameters_are_counted():
    _, params = fitted(Multinomial(), X, CODES)
    assert Multinomial().n_parameters(params) == 2 * (3 - 1)
    with pytest.raises(NotAvailableError, match="any length"):
        Multinomial().joint_size(params)
