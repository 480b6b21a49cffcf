"""Clues: the strongest words of a document, by a formula worked out by hand."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tallybayes.errors import DataError, NotAvailableError, SettingError
from tallybayes.families import Clues

from .fitting import fitted

X = np.array([[2, 1, 0, 1], [1, 0, 0, 1], [0, 1, 1, 1]])
CODES = [0, 0, 1]


def odds(first, second, alpha=0.5):
    """Log odds of two presences, in documents with and without, worked out by hand."""
    return math.log((first[0] + alpha) / (first[1] + 2 * alpha) / ((second[0] + alpha) / (second[1] + 2 * alpha)))


def test_a_word_says_how_much_likelier_one_class_is_to_use_it():
    family = Clues(alpha=0.5)
    _, params = fitted(family, X, CODES)
    scores = family.log_prob(params, np.eye(4))
    want = [odds((n, 2), (m, 1)) for n, m in ((2, 0), (1, 1), (0, 1), (2, 1))]
    assert_allclose(scores[:, 0] - scores[:, 1], want)
    assert_allclose(scores.sum(axis=1), 0.0, atol=1e-12)  # against the mean of the classes


def test_how_often_a_word_occurs_in_a_document_does_not_matter():
    family = Clues()
    _, params = fitted(family, X, CODES)
    assert_array_equal(family.log_prob(params, X), family.log_prob(params, 7.0 * X))
    _, again = fitted(family, 3.0 * X, CODES)
    assert_array_equal(params.evidence, again.evidence)


def test_only_the_strongest_words_of_each_class_are_counted():
    rng = np.random.default_rng(0)
    x, codes = rng.random((40, 30)) < 0.4, rng.integers(0, 2, 40)
    for most in (1, 3):
        family = Clues(most=most)
        _, params = fitted(family, x, codes)
        every = Clues(most=100).contributions(params, x)
        strongest_words = family.contributions(params, x)
        for one, all_of_it in zip(strongest_words, every, strict=True):
            for k in (0, 1):
                want = sorted(all_of_it[k][all_of_it[k] > 0])[-most:]
                assert_allclose(sorted(one[k][one[k] > 0]), want)
        assert_allclose(strongest_words.sum(axis=2), family.log_prob(params, x))


def test_a_word_that_nobody_used_says_nothing():
    family = Clues()
    _, params = fitted(family, np.array([[1, 0], [1, 0], [0, 0]]), [0, 0, 1])
    assert_array_equal(params.evidence[1], [0.0, 0.0])


def test_the_pseudocount_and_the_number_of_clues_matter():
    x, codes = np.array([[1, 1, 0], [1, 0, 1], [0, 0, 1]]), [0, 0, 1]
    answers = set()
    for family in (Clues(), Clues(alpha=1.0), Clues(most=1)):
        _, params = fitted(family, x, codes)
        answers.add(tuple(family.log_prob(params, x)[0].round(6)))
    assert len(answers) == 3


def test_settings_that_make_no_sense():
    with pytest.raises(SettingError, match="alpha above 0"):
        Clues(alpha=0.0)
    with pytest.raises(SettingError, match="at least 1 word"):
        Clues(most=0)


def test_missing_values_and_what_is_no_probability():
    family = Clues()
    _, params = fitted(family, X, CODES)
    with pytest.raises(DataError, match="NaN"):
        family.log_prob(params, np.array([[1.0, np.nan, 0, 0]]))
    for ask in (lambda: family.log_base(X), lambda: family.linear(params)):
        with pytest.raises(NotAvailableError):
            ask()
