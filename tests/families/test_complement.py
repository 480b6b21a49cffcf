"""Complement: the weights of Rennie et al. (2003)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tallybayes.errors import NotAvailableError
from tallybayes.families import Complement

from .fitting import fitted, labels

X = np.array([[2.0, 1, 0], [1.0, 0, 0], [0.0, 3, 1], [4.0, 0, 2]])
CODES = [0, 0, 1, 2]
OTHERS = np.array([[4.0, 3, 3], [7, 1, 2], [3, 4, 1]])  # what all classes but the one hold


@pytest.mark.parametrize("alpha", [0.3, 1.0, (0.5, 1.0, 2.0)])
@pytest.mark.parametrize("norm", [False, True])
def test_words_weigh_as_the_other_classes_lack_them(alpha, norm):
    family = Complement(alpha, norm)
    _, params = fitted(family, X, CODES)
    smoothed = OTHERS + alpha
    want = -np.log(smoothed / smoothed.sum(axis=1, keepdims=True))
    want = want / want.sum(axis=1, keepdims=True) if norm else want
    weights, bias = family.linear(params)
    assert_allclose(weights, want)
    assert_array_equal(bias, 0.0)
    assert_allclose(family.log_prob(params, X), X @ want.T)


def test_a_word_of_one_class_alone_decides():
    family = Complement(0.0)
    _, params = fitted(family, np.eye(2), [0, 1])
    scores = family.log_prob(params, np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]))
    assert np.all(np.isfinite(scores))
    assert_array_equal(scores[1], [0.0, 0.0])
    assert_array_equal(scores[[0, 2]].argmax(axis=1), [0, 1])


@pytest.mark.parametrize("norm", [False, True])
def test_a_single_class_finds_all_words_alike(norm):
    _, params = fitted(Complement(0.0, norm), X, [0, 0, 0, 0])
    assert_allclose(Complement(0.0, norm).linear(params)[0], np.full((1, 3), 1 / 3 if norm else np.log(3)))


def test_a_single_word_says_nothing():
    # Its share is one and its weight zero in every class: there is nothing to divide by.
    family = Complement(norm=True)
    _, params = fitted(family, np.array([[1.0], [2.0]]), [0, 1])
    scores = family.log_prob(params, np.array([[3.0]]))
    assert np.isfinite(scores).all()
    assert scores[0, 0] == scores[0, 1]


@pytest.mark.parametrize("norm", [False, True])
def test_a_row_that_is_all_the_others_can_be_left_out(norm):
    # Without row 0 class 1 has no others, and no smoothing stands in for them.
    family = Complement(0.0, norm)
    x = np.array([[1.0, 2.0], [1.0, 1.0], [3.0, 1.0]])
    summary, params = fitted(family, x, [0, 1, 1])
    got = family.leave_one_out(summary, params, x, labels([0, 1, 1]))
    _, rest = fitted(family, x[1:], [1, 1])
    assert_allclose(got[0], family.log_prob(rest, x[:1])[0])


def test_weights_are_no_probability_of_the_words():
    _, params = fitted(Complement(), X, CODES)
    with pytest.raises(NotAvailableError, match="use MultinomialNB"):
        Complement().log_base(X)
    with pytest.raises(NotAvailableError, match="any length"):
        Complement().joint_size(params)
    assert Complement().n_parameters(params) == 3 * (3 - 1)
