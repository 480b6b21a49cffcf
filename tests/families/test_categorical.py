"""Categorical: tables, declared and unseen levels, true zeros."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tallybayes.core.batch import MISSING, UNSEEN, Codes
from tallybayes.errors import NotAvailableError
from tallybayes.families import Categorical

from .fitting import fitted, labels

X = Codes(np.array([[0, 0], [0, 2], [1, 2], [1, 0], [1, 0]]), np.array([2, 4]))
CODES = [0, 0, 0, 1, 1]


def table(params, column):
    return np.exp(params.of_column(column))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, (0.5, 2.0)])
def test_tables_are_smoothed_frequencies(alpha):
    _, params = fitted(Categorical(alpha), X, CODES)
    first, second = np.broadcast_to(alpha, 2)
    assert_allclose(table(params, 0), (np.array([[2, 1], [0, 2]]) + first) / (np.array([[3], [2]]) + 2 * first))
    counts = np.array([[1, 0, 2, 0], [2, 0, 0, 0]])  # two levels are declared and never occur
    assert_allclose(table(params, 1), (counts + second) / (np.array([[3], [2]]) + 4 * second))


def test_log_probabilities_are_looked_up():
    family = Categorical()
    _, params = fitted(family, X, CODES)
    want = np.log(np.stack([table(params, j)[:, X.matrix[:, j]].T for j in (0, 1)], axis=2))
    assert_allclose(family.contributions(params, X), want)
    assert_allclose(family.log_prob(params, X), want.sum(axis=2))


def test_fractional_weights_are_not_cut_off():
    _, params = fitted(Categorical(0.0), X, CODES, [0.25, 0.5, 0.25, 1.0, 1.0])
    assert_allclose(table(params, 0)[0], [0.75, 0.25])


@pytest.mark.parametrize("n_levels", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("alpha", [0.0, 1e-10, 1.0])
@pytest.mark.parametrize("min_count", [0.0, 2.0])
def test_tables_sum_to_one(n_levels, alpha, min_count):
    codes = np.random.default_rng(0).integers(0, n_levels, (30, 1))
    family = Categorical(alpha, min_count=min_count)
    _, params = fitted(family, Codes(codes, np.array([n_levels])), np.arange(30) % 2, n_classes=3)
    assert_allclose((table(params, 0) / params.sharing[:-1]).sum(axis=1), 1.0)


def test_an_unsmoothed_zero_is_a_true_zero():
    family = Categorical(0.0)
    _, params = fitted(family, X, CODES, n_classes=3)
    assert_array_equal(np.isneginf(family.log_prob(params, X))[:, 1], [True, True, True, False, False])
    assert_allclose(table(params, 1)[2], 0.25)  # a class without rows knows nothing
    assert not np.isnan(family.contributions(params, X)).any()


@pytest.mark.parametrize("code", [UNSEEN, 4, 200, -7])
def test_an_unseen_value_is_worth_nothing_or_the_smoothing(code):
    unusual = Codes(np.array([[MISSING, code]]), X.n_levels)
    ignoring, smoothing = Categorical(), Categorical(0.5, unseen="smooth")
    assert_array_equal(ignoring.log_prob(fitted(ignoring, X, CODES)[1], unusual), [[0.0, 0.0]])
    _, params = fitted(smoothing, X, CODES)
    want = np.log([[0.5 / (3 + 4 * 0.5), 0.5 / (2 + 4 * 0.5)]])
    assert_allclose(smoothing.log_prob(params, unusual), want)
    assert_allclose(smoothing.contributions(params, unusual).sum(axis=2), want)


def test_unseen_values_are_forbidden_without_smoothing_where_they_are_smoothed():
    family = Categorical(0.0, unseen="smooth")
    scores = family.log_prob(fitted(family, X, CODES)[1], Codes(np.array([[UNSEEN, 0]]), X.n_levels))
    assert_array_equal(scores, [[-np.inf, -np.inf]])


@pytest.mark.parametrize("position", [0, 1, 2], ids=["first", "middle", "last"])
def test_a_column_without_levels_is_no_evidence(position):
    # No value was ever seen in it, so it has no table.
    family = Categorical()
    wider = Codes(np.insert(X.matrix, position, MISSING, axis=1), np.insert(X.n_levels, position, 0))
    summary, params = fitted(family, wider, CODES)
    assert_array_equal(summary.weight, np.insert([[3.0, 3.0], [2.0, 2.0]], position, 0.0, axis=1))
    _, narrow = fitted(family, X, CODES)
    assert_allclose(family.log_prob(params, wider), family.log_prob(narrow, X))
    assert family.n_parameters(params) == family.n_parameters(narrow)
    assert family.joint_size(params) == family.joint_size(narrow)


def test_rare_levels_share_one_probability():
    x = Codes(np.array([[0], [0], [0], [1], [2], [0]]), np.array([3]))
    family = Categorical(1.0, min_count=2.0)
    _, params = fitted(family, x, [0, 0, 0, 0, 0, 1])
    assert_allclose(table(params, 0)[0], [4 / 7, 3 / 7, 3 / 7])
    assert family.n_parameters(params) == 2 * 1


def test_rare_levels_are_drawn_as_often_as_one_level():
    x = Codes(np.repeat([0, 1, 2, 3], [6, 1, 1, 1])[:, None], np.array([4]))
    family = Categorical(0.0, min_count=2.0)
    _, params = fitted(family, x, np.zeros(9, int))
    drawn = family.sample(params, np.zeros(9000, int), np.random.default_rng(0))
    assert_allclose(np.bincount(drawn.matrix[:, 0]) / 9000, [6 / 9, 1 / 9, 1 / 9, 1 / 9], atol=0.02)


def test_parameters_are_counted():
    _, params = fitted(Categorical(), X, CODES)
    assert Categorical().n_parameters(params) == 2 * (1 + 3)
    assert Categorical().joint_size(params) == 2 * 4


def test_codes_have_no_linear_form():
    with pytest.raises(NotAvailableError, match="one-hot"):
        Categorical().linear(fitted(Categorical(), X, CODES)[1])


def test_all_codes_of_a_byte_are_levels():
    # 255 is the last of 256 levels, not a missing value.
    x = Codes(np.arange(256, dtype=np.uint8)[:, None], np.array([256]))
    summary, _ = fitted(Categorical(), x, np.zeros(256, int))
    assert_array_equal(summary.count, np.ones((1, 256)))


def test_a_code_without_a_level_cannot_be_left_out():
    family = Categorical()
    summary, params = fitted(family, X, CODES)
    with pytest.raises(ValueError, match="row 1 was not learned"):
        family.leave_one_out(summary, params, Codes(np.array([[UNSEEN, 0]]), X.n_levels), labels([0]))
