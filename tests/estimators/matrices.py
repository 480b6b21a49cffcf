"""The six estimators, each with the kind of matrix that it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn import naive_bayes

import tallybayes

Rng = np.random.Generator


def numbers(rng: Rng, y: Any, d: int) -> Any:
    """Real numbers whose mean and spread depend on the class and the column."""
    return rng.normal(size=(len(y), d)) * (1 + np.arange(d)) + y[:, None] * rng.normal(size=d)


def yes_no(rng: Rng, y: Any, d: int) -> Any:
    """Zeros and ones."""
    chance = rng.uniform(0.1, 0.9, size=(y.max() + 1, d))
    return (rng.random((len(y), d)) < chance[y]).astype(np.float64)


def codes(rng: Rng, y: Any, d: int) -> Any:
    """Categories numbered from zero; column j has j + 2 of them."""
    shift = rng.integers(0, 3, size=(y.max() + 1, d))
    return np.minimum((rng.geometric(0.4, size=(len(y), d)) - 1 + shift[y]) % 9, 1 + np.arange(d))


def words(rng: Rng, y: Any, d: int) -> Any:
    """Small counts with many zeros."""
    return rng.poisson(rng.gamma(0.7, 1.0, size=(y.max() + 1, d))[y]).astype(np.float64)


class Kind(NamedTuple):
    """One estimator, its scikit-learn peer (None where there is none) and a maker of rows for it."""

    ours: Any
    theirs: Any
    rows: Callable[[Rng, Any, int], Any]

    @property
    def name(self) -> str:
        return self.ours.__name__

    def data(self, n: int = 90, d: int = 5, k: int = 3, seed: int = 0) -> tuple[Any, Any]:
        """Rows and labels 0 … k − 1, every class present; n, d and k differ so that a transposed shape shows."""
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(n) % k)
        return self.rows(rng, y, d), y


GAUSSIAN = Kind(tallybayes.GaussianNB, naive_bayes.GaussianNB, numbers)
BERNOULLI = Kind(tallybayes.BernoulliNB, naive_bayes.BernoulliNB, yes_no)
CATEGORICAL = Kind(tallybayes.CategoricalNB, naive_bayes.CategoricalNB, codes)
MULTINOMIAL = Kind(tallybayes.MultinomialNB, naive_bayes.MultinomialNB, words)
COMPLEMENT = Kind(tallybayes.ComplementNB, naive_bayes.ComplementNB, words)
POISSON = Kind(tallybayes.PoissonNB, None, words)

ALL = [GAUSSIAN, BERNOULLI, CATEGORICAL, MULTINOMIAL, COMPLEMENT, POISSON]


def each(*kinds: Kind) -> Any:
    """Run the test for each of the kinds."""
    return pytest.mark.parametrize("kind", kinds, ids=[kind.name for kind in kinds])


every_estimator = each(*ALL)
every_peer = each(*(kind for kind in ALL if kind.theirs))
every_smoothed = each(*(kind for kind in ALL if kind is not GAUSSIAN))
every_sparse = each(BERNOULLI, MULTINOMIAL, COMPLEMENT, POISSON)
every_generative = each(*(kind for kind in ALL if kind is not COMPLEMENT))  # those that know P(x)
