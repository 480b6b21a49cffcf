"""Against exact fractions, counted row by row without arrays or logarithms (make_fractions.py)."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tallybayes

from . import make_fractions

ORACLE = json.loads(make_fractions.STORED.read_text())


def number(value: Any) -> float:
    return float(Fraction(value))


def numbers(values: Any) -> Any:
    """Nested lists of fractions as an array."""
    return np.array([numbers(part) for part in values]) if isinstance(values, list) else number(values)


X, Y, WEIGHT = np.array(ORACLE["x"]), np.array(ORACLE["y"]), numbers(ORACLE["weight"])

ESTIMATORS = {
    "categorical": tallybayes.CategoricalNB,
    "bernoulli": tallybayes.BernoulliNB,
    "multinomial": tallybayes.MultinomialNB,
}
every_family = pytest.mark.parametrize("family", ESTIMATORS)


def fitted(family: str, alpha: str) -> Any:
    return ESTIMATORS[family](alpha=number(alpha)).fit(X, Y, sample_weight=WEIGHT)


def test_the_script_still_gives_the_stored_numbers() -> None:
    assert make_fractions.as_json() == make_fractions.STORED.read_text()


@every_family
def test_prior(family: str) -> None:
    np.testing.assert_allclose(np.exp(fitted(family, "1").class_log_prior_), numbers(ORACLE["prior"]), rtol=1e-14)


@every_family
@pytest.mark.parametrize("alpha", ["0", "1/2", "1"])
def test_tables(family: str, alpha: str) -> None:
    tables = np.exp(np.array(fitted(family, alpha).feature_log_prob_))
    np.testing.assert_allclose(tables, numbers(ORACLE["tables"][family][alpha]), rtol=1e-13, atol=0)


@every_family
@pytest.mark.parametrize("alpha", ["0", "1/2", "1"])
def test_posteriors(family: str, alpha: str) -> None:
    expected = numbers(ORACLE["posterior"][family][alpha])
    np.testing.assert_allclose(fitted(family, alpha).predict_proba(X), expected, rtol=1e-12, atol=0)


@every_family
@pytest.mark.parametrize("alpha", ["1/2", "1"])
def test_leave_one_out(family: str, alpha: str) -> None:
    left_out = np.exp(fitted(family, alpha).leave_one_out(X, Y, sample_weight=WEIGHT))
    np.testing.assert_allclose(left_out, numbers(ORACLE["leave_one_out"][family][alpha]), rtol=1e-12)


@pytest.mark.parametrize("alpha", ["1/2", "1"])
def test_complement_weights(alpha: str) -> None:
    model = tallybayes.ComplementNB(alpha=number(alpha)).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(np.exp(-model.feature_log_prob_), numbers(ORACLE["complement"][alpha]), rtol=1e-13)


@pytest.mark.parametrize("alpha", ["0", "1/2", "1"])
def test_poisson_rates(alpha: str) -> None:
    model = tallybayes.PoissonNB(alpha=number(alpha)).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.rate_, numbers(ORACLE["poisson"][alpha]), rtol=1e-14)


def test_gaussian_moments() -> None:
    exact = {name: numbers(values) for name, values in ORACLE["gaussian"].items()}
    plain = tallybayes.GaussianNB(var_smoothing=0.0).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(plain.theta_, exact["mean"], rtol=1e-14)
    np.testing.assert_allclose(plain.var_, exact["variance"], rtol=1e-13, atol=1e-150)  # no variance is quite zero
    floored = tallybayes.GaussianNB(var_smoothing=0.5).fit(X, Y, sample_weight=WEIGHT)
    assert floored.epsilon_ == pytest.approx(0.5 * exact["variance_of_all"].max(), rel=1e-13)
