"""Poisson: rates and counts against SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import poisson

from tallybayes.data.arrays import sparse_rows
from tallybayes.errors import CellError, NotAvailableError
from tallybayes.families import Poisson

from .fitting import fitted, labels

X = np.array([[2.0, 1, 0], [1.0, 0, 0], [0.0, 3, 1], [5.0, 0, 0]])
CODES = [0, 0, 1, 1]
WEIGHT = [1.0, 0.5, 2.0, 1.0]
COUNTS = np.array([[2.5, 1, 0], [5, 6, 2]])


@pytest.mark.parametrize("alpha", [0.3, 1.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_log_probabilities_are_scipys(alpha, sparse):
    family = Poisson(alpha)
    x = sparse_rows(csr_array(X)) if sparse else X
    _, params = fitted(family, x, CODES, WEIGHT)
    rate = (COUNTS + alpha) / (np.array([[1.5], [3.0]]) + alpha)
    assert_allclose(params.rate, rate)
    want = poisson.logpmf(X[:, None, :], rate).sum(axis=2)
    # The factorials are the same for every class, so they are kept apart.
    assert_allclose(family.log_prob(params, x) + family.log_base(x)[:, None], want)


def test_an_unsmoothed_zero_is_a_true_zero():
    family = Poisson(0.0)
    _, params = fitted(family, X, CODES, n_classes=3)
    scores = family.log_prob(params, X)
    assert_array_equal(np.isneginf(scores[:, 0]), [False, False, True, False])
    assert_allclose(params.rate[2], 1.0)  # a class without rows keeps the prior's mean
    assert not np.isnan(family.contributions(params, X)).any()


def test_a_missing_value_is_no_evidence():
    family = Poisson(0.0)
    x = np.array([[2.0, np.nan], [4.0, 3.0]])
    summary, params = fitted(family, x, [0, 0])
    assert_array_equal(summary.weight, [[2.0, 1.0]])
    assert_array_equal(params.rate, [[3.0, 3.0]])
    assert_allclose(family.log_prob(params, x)[0, 0] + family.log_base(x)[0], poisson.logpmf(2, 3))


def test_the_weights_are_log_rates():
    family = Poisson()
    _, params = fitted(family, X, CODES)
    weights, bias = family.linear(params)
    assert_allclose(weights, np.log(params.rate))
    assert_allclose(bias, -params.rate.sum(axis=1))


def test_sparse_rows_can_be_left_out_of_a_tally_that_has_missing_values():
    # Dense rows with a missing value were learned before: the columns of a class do not weigh the same.
    family = Poisson()
    with_missing = np.array([[np.nan, 3.0, 1.0], [1.0, 2.0, 0.0]])
    before, _ = fitted(family, with_missing, [0, 1])
    x = sparse_rows(csr_array(X))
    summary = before + fitted(family, x, CODES)[0]
    got = family.leave_one_out(summary, family.estimate(summary), x, labels(CODES))
    for i in range(len(X)):
        rest = family.estimate(summary - family.tally(X[[i]], labels([CODES[i]]), 2))
        assert_allclose(got[i], family.log_prob(rest, X[[i]])[0])


@pytest.mark.parametrize(("value", "problem"), [(-1.0, "holds the count -1"), (np.inf, "infinite")])
def test_a_cell_that_is_no_count_is_named(value, problem):
    bad = X.copy()
    bad[3, 2] = value
    with pytest.raises(CellError, match=problem) as error:
        fitted(Poisson(), bad, CODES)
    assert (error.value.row, error.value.column) == (3, 2)


def test_damaged_sparse_rows_are_refused_column_by_column_too():
    x = sparse_rows(csr_array(X))
    _, params = fitted(Poisson(), x, CODES)
    x.column[0] = -1
    for verb in (Poisson().log_prob, Poisson().contributions):
        with pytest.raises(ValueError, match="column"):
            verb(params, x)


def test_parameters_are_counted():
    _, params = fitted(Poisson(), X, CODES)
    assert Poisson().n_parameters(params) == 2 * 3
    with pytest.raises(NotAvailableError, match="no upper end"):
        Poisson().joint_size(params)
