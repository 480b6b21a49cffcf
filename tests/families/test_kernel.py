"""Kernel: fine bins that share their rows with their neighbours, against SciPy's normal curve."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from tallybayes.core.batch import MISSING, UNSEEN, Codes
from tallybayes.errors import NotAvailableError
from tallybayes.families import Hierarchical, Kernel

from .fitting import fitted, labels

RNG = np.random.default_rng(0)
X = Codes(RNG.integers(0, (9, 5), (40, 2)), np.array([9, 5]))
CODES = np.arange(40) % 2


def test_each_row_is_spread_by_a_normal_curve_over_the_bins():
    family = Kernel(bandwidth=1.5, strength=3.0)
    _, params = fitted(family, X, CODES)
    curve = norm.pdf(np.arange(9)[:, None] - np.arange(9), scale=1.5)
    curve /= curve.sum(axis=1, keepdims=True)
    spread = np.array([curve[X.matrix[k == CODES, 0]].sum(axis=0) for k in (0, 1)])
    share = (spread.sum(axis=0) + 1 / 9) / (40 + 1)
    assert_allclose(np.exp(params.of_column(0)), (spread + 3.0 * share) / (20 + 3.0))


def test_without_a_width_every_bin_stands_alone():
    alone, plain = Kernel(0.0, 4.0), Hierarchical(4.0)
    got, want = (family.log_prob(fitted(family, X, CODES)[1], X) for family in (alone, plain))
    assert_allclose(got, want)


def test_each_column_may_have_its_own_width_and_strength():
    both = fitted(Kernel((0.0, 2.0), (1.0, 9.0)), X, CODES)[1]
    for j, family in enumerate((Kernel(0.0, 1.0), Kernel(2.0, 9.0))):
        one = fitted(family, Codes(X.matrix[:, [j]], X.n_levels[[j]]), CODES)[1]
        assert_allclose(both.of_column(j), one.of_column(0))


@pytest.mark.parametrize("bandwidth", [0.0, 0.3, 2.0, 100.0])
def test_tables_sum_to_one(bandwidth):
    _, params = fitted(Kernel(bandwidth), X, CODES, n_classes=3)
    for j in (0, 1):
        assert_allclose(np.exp(params.of_column(j)).sum(axis=1), 1.0)


def test_a_wide_kernel_tells_classes_that_differ_less_apart():
    y = (X.matrix[:, 0] > 4).astype(int)
    gaps = [np.ptp(fitted(Kernel(h), X, y)[1].of_column(0), axis=0).max() for h in (0.0, 1.0, 4.0, 50.0)]
    assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_counting_the_other_rows(weighted):
    family, weight = Kernel((1.0, 2.0), 3.0), RNG.random(40) + 0.1 if weighted else np.ones(40)
    x = Codes(np.where(RNG.random(X.shape) < 0.2, MISSING, X.matrix), X.n_levels)
    summary, params = fitted(family, x, CODES, weight)
    got = family.leave_one_out(summary, params, x, labels(CODES, weight))
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        _, without = fitted(family, x.take(rest), CODES[rest], weight[rest])
        assert_allclose(got[i], family.log_prob(without, x.take(np.array([i])))[0])


def test_a_missing_value_is_no_evidence():
    _, params = fitted(Kernel(), X, CODES)
    with_missing = Codes(np.array([[MISSING, MISSING], [UNSEEN, MISSING]]), X.n_levels)
    assert_array_equal(Kernel().log_prob(params, with_missing), np.zeros((2, 2)))


def test_a_single_bin_is_no_evidence():
    x = Codes(np.zeros((4, 1), int), np.array([1]))
    _, params = fitted(Kernel(), x, [0, 0, 0, 1])
    assert_allclose(params.of_column(0), 0.0, atol=1e-15)


def test_bins_are_drawn_as_often_as_the_table_says():
    _, params = fitted(Kernel(), X, CODES)
    drawn = Kernel().sample(params, np.ones(20000, int), np.random.default_rng(0)).matrix[:, 0]
    assert_allclose(np.bincount(drawn, minlength=9) / 20000, np.exp(params.of_column(0)[1]), atol=0.015)


def test_parameters_are_counted():
    _, params = fitted(Kernel(), X, CODES)
    assert Kernel().n_parameters(params) == 2 * (8 + 4)
    with pytest.raises(NotAvailableError, match="not linear"):
        Kernel().linear(params)
