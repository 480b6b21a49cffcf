"""Models that become each other: Naive Bayes, logistic regression, discriminant analysis, mixtures.

`docs/explanation/bridges.md` tells the story with numbers; here are the claims, on more than one draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tallybayes import EM, GaussianDiscriminant, GaussianNB, NaiveBayes, NaiveBayesMixture


def independent(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 3)) * [1.0, 2.0, 0.5] + y[:, None] * [1.0, 1.0, 0.25], y


def copies(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    first = rng.normal(size=(n, 1)) + y[:, None]
    return np.hstack([first, first + rng.normal(scale=0.3, size=(n, 2))]), y


def distance(model: Any, rows: Any, n: int, seed: int) -> float:
    """How far the probabilities lie from those of logistic regression, on rows that neither has seen."""
    X, y = rows(n, seed)
    asked, _ = rows(5000, seed + 1000)
    trained = LogisticRegression(C=np.inf).fit(X, y)
    return float(np.abs(model.fit(X, y).predict_proba(asked) - trained.predict_proba(asked)).mean())


@pytest.mark.parametrize("seed", range(3))
def test_shared_variance_is_the_logistic_function_of_a_line(seed: int) -> None:
    X, y = independent(300, seed)
    model = GaussianNB(variance="shared", var_smoothing=0.0).fit(X, y)
    mean, variance, prior = model.theta_, model.var_[0], model.class_prior_
    w = (mean[1] - mean[0]) / variance
    b = np.log(prior[1] / prior[0]) - ((mean[1] ** 2 - mean[0] ** 2) / (2.0 * variance)).sum()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-(X @ w + b))), rtol=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_naive_bayes_and_logistic_regression_meet_if_the_assumption_holds(seed: int) -> None:
    naive = GaussianNB(variance="shared")
    near, far = distance(naive, independent, 30_000, seed), distance(naive, independent, 100, seed)
    assert near < 0.01 < far


@pytest.mark.parametrize("seed", range(3))
def test_they_part_if_it_fails_and_discriminant_analysis_does_not(seed: int) -> None:
    assert distance(GaussianNB(variance="shared"), copies, 30_000, seed) > 0.1
    assert distance(GaussianDiscriminant(), copies, 30_000, seed) < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_a_diagonal_matrix_is_naive(seed: int) -> None:
    X, y = copies(400, seed)
    naive, diagonal = GaussianNB(var_smoothing=0.0), GaussianDiscriminant(covariance="diagonal")
    np.testing.assert_allclose(naive.fit(X, y).predict_proba(X), diagonal.fit(X, y).predict_proba(X), rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_a_classifier_without_labels_is_a_mixture(seed: int) -> None:
    """One labelled row of each class that weighs next to nothing only says which group is which."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=500)
    table = {
        "size": (rng.normal(size=500) + 4.0 * y).tolist(),
        "colour": np.array(["red", "blue"])[np.where(rng.random(500) < 0.2, 1 - y, y)].tolist(),
    }
    steps = {"tol": 1e-9, "max_iter": 1000}
    given = np.full(500, None, dtype=object)
    given[np.argmin(table["size"])], given[np.argmax(table["size"])] = "small", "large"
    weight = np.where([label is None for label in given], 1.0, 1e-6)
    mixture = NaiveBayesMixture(2, estimator=NaiveBayes(), random_state=0, **steps).fit(table, sample_weight=weight)
    model = NaiveBayes(unlabelled="em", em=EM(**steps)).fit(table, given, weight)
    assert model.log_likelihood_path_[-1] == pytest.approx(mixture.log_likelihood_path_[-1], rel=1e-6)
    heavier = model.classes_[np.argmax(model.class_count_)]
    assert ((model.predict(table) == heavier) == (mixture.labels_ == 0)).all()
