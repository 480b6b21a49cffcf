"""Intervals of evidence: the variances are those of models learned from other rows, and intervals cover the truth."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.intervals import covered

from tallybayes import NaiveBayes, datasets, families
from tallybayes.core.batch import Codes, Labels
from tallybayes.errors import SettingError
from tallybayes.families import FAMILIES
from tallybayes.families._tables import Coded
from tallybayes.inspection.uncertainty import Uncertainty, quantile

ROWS = 400
NUMBERS = {
    "gaussian": (families.Gaussian(), lambda rng, y: rng.normal(2.0 * y, 1.0 + y)),
    "lognormal": (families.Lognormal(), lambda rng, y: np.exp(rng.normal(y, 1.0))),
    "gamma": (families.Gamma(), lambda rng, y: rng.gamma(2.0 + y, 1.0)),
    "exponential": (families.Exponential(), lambda rng, y: rng.exponential(1.0 + y)),
    "poisson": (families.Poisson(), lambda rng, y: rng.poisson(2.0 + y).astype(float)),
    "bernoulli": (families.Bernoulli(), lambda rng, y: (rng.random(len(y)) < 0.3 + 0.2 * y).astype(float)),
    "zero_inflated": (
        families.ZeroInflated("gaussian"),
        lambda rng, y: np.where(rng.random(len(y)) < 0.4, 0.0, rng.normal(2.0, 1.0, len(y))),
    ),
    "multinormal": (families.Multinormal("full"), lambda rng, y: rng.normal(y, 1.0)),
}
CODED = {
    "categorical": families.Categorical(),
    "hierarchical": families.Hierarchical(),
    "ordered": families.Ordered(bandwidth=0.0),
    "kernel": families.Kernel(bandwidth=1.0),
}


def ratio(family, draw, x, n_runs=150):
    """The variance over models of other rows, as a share of what the family gives; the mean over values."""
    rng, scores, given = np.random.default_rng(0), [], []
    for _ in range(n_runs):
        y = rng.integers(0, 2, ROWS).astype(np.int32)
        summary = family.tally(draw(rng, y), Labels.hard(y), 2)
        params = family.estimate(summary)
        scores.append(family.contributions(params, x))
        given.append(family.variances(summary, params, x, np.ones(x.shape[1])))
    return np.var(scores, axis=0) / np.mean(given, axis=0)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_variance_of_numbers_is_that_of_models_of_other_rows(name):
    family, draw = NUMBERS[name]
    x = np.array([[0.0], [1.0]]) if name == "bernoulli" else np.array([[0.7], [1.5], [3.0]])
    found = ratio(family, lambda rng, y: draw(rng, y)[:, None], x)
    assert 0.75 < found.mean() < 1.3


@pytest.mark.parametrize("name", CODED)
def test_the_variance_of_levels_is_that_of_models_of_other_rows(name):
    shares = np.array([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]]).cumsum(axis=1)

    def draw(rng, y):
        return Codes((rng.random(len(y))[:, None] > shares[y]).sum(axis=1)[:, None], np.array([4]))

    found = ratio(CODED[name], draw, Codes(np.arange(4)[:, None], np.array([4])))
    assert 0.6 < found.mean() < 1.3


def test_the_variance_of_groups_is_that_of_their_levels_as_one():
    """That the groups were chosen from the rows is no part of it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS).astype(np.int32)
    fine = np.where(rng.random(ROWS) < 0.2, rng.integers(0, 4, ROWS), 2 * y + rng.integers(0, 2, ROWS))
    x, grouped = Codes(fine[:, None], np.array([4])), families.Grouped(max_bins=2.0)
    summary = grouped.tally(x, Labels.hard(y), 2)
    params = grouped.estimate(summary)
    assert params.n_groups.tolist() == [2]
    found = grouped.variances(summary, params, x, np.ones(1))
    merged, one = Codes(params.group[fine][:, None], np.array([2])), families.Hierarchical()
    counted = one.tally(merged, Labels.hard(y), 2)
    np.testing.assert_allclose(found, one.variances(counted, one.estimate(counted), merged, np.ones(1)))


def test_the_variance_of_a_pair_is_that_of_models_of_other_rows():
    def draw(rng, y):
        left = rng.integers(0, 2, len(y))
        right = np.where(rng.random(len(y)) < 0.7, left, 1 - left)
        return Codes((2 * left + right)[:, None], np.array([4]), np.array([2]))

    found = ratio(families.Pair(), draw, Codes(np.arange(4)[:, None], np.array([4]), np.array([2])))
    assert 0.2 < found.mean() < 1.3  # the margins are counted from the same rows, which makes it less


def test_the_variance_of_numbers_together_is_that_of_models_of_other_rows():
    family, x = families.Correlation(shrinkage=0.1), np.array([[1.0, 0.5], [0.3, -0.3], [1.5, 1.5]])
    rng, scores, given = np.random.default_rng(0), [], []
    for _ in range(150):
        y = rng.integers(0, 2, ROWS).astype(np.int32)
        z = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], ROWS)
        summary = family.tally(z, Labels.hard(y), 2)
        params = family.estimate(summary)
        scores.append(family.log_prob(params, x))
        given.append(family.variances(summary, params, x, np.ones(1)))
    assert 0.7 < (np.var(scores, axis=0) / np.mean(given, axis=0)).mean() < 1.4


def test_the_variance_of_words_is_that_of_models_of_other_rows():
    family, x = families.Multinomial(), np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 2.0]])
    found = ratio(family, lambda rng, y: rng.multinomial(5, [0.5, 0.3, 0.2], len(y)).astype(float), x)
    assert 0.75 < found.mean() < 1.3


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_variances(name):
    assert FAMILIES[name].variances is not families.Family.variances
    assert not issubclass(FAMILIES[name], Coded) or FAMILIES[name].known is not Coded.known


@pytest.mark.parametrize("settings", [{"classical": True}, {}])
def test_intervals_cover_the_truth(settings):
    found = [covered(seed, 300, **settings)["probability"] for seed in range(40 if settings else 8)]
    assert (0.84 if settings else 0.7) <= np.mean(found) <= 0.97


def test_intervals_contain_the_probability_and_grow_with_their_level():
    table = datasets.penguins()
    model = NaiveBayes(calibration="isotonic").fit(table, target="species")
    rows = {name: values[:20] for name, values in table.items() if name != "species"}
    p, narrow, wide = model.predict_proba(rows), model.predict_interval(rows, 0.5), model.predict_interval(rows, 0.99)
    assert narrow.shape == (20, 3, 2)
    assert (narrow[:, :, 0] <= p + 1e-12).all()
    assert (p <= narrow[:, :, 1] + 1e-12).all()
    assert (wide[:, :, 0] <= narrow[:, :, 0] + 1e-12).all()
    assert (narrow[:, :, 1] <= wide[:, :, 1] + 1e-12).all()


def test_more_rows_are_narrower_intervals():
    table = datasets.tennis()
    twice = {name: list(values) * 9 for name, values in table.items()}
    row = {"outlook": "sunny", "humidity": "high"}
    few, many = (NaiveBayes(classical=True).fit(t, target="play").explain(row, interval=0.9) for t in (table, twice))
    assert many.total_spread == pytest.approx(few.total_spread / 3.0, rel=0.2)
    assert {e.column: e.spread for e in few.evidence}["wind"] == 0.0  # a missing value has neither


def test_an_explanation_has_its_intervals_in_text_and_in_json():
    model = NaiveBayes(classical=True).fit(datasets.tennis(), target="play")
    found = model.explain({"outlook": "sunny", "humidity": "high"}, interval=0.9)
    low, high = found.intervals["no"]
    assert low < found.posterior["no"] < high
    assert str(found).startswith("no: 68.6 %, from ")
    assert " ± " in str(found)
    assert found.as_dict()["intervals"]["posterior"]["no"] == [low, high]
    assert " ± " not in str(model.explain({"outlook": "sunny"}))


def test_a_level_is_a_share():
    for level in (0.0, 1.0, 90, "0.9"):
        with pytest.raises(SettingError, match="between 0 and 1"):
            quantile(level)
    assert Uncertainty(NaiveBayes(classical=True).fit({"a": ["x", "y"]}, ["p", "p"]).model_).covariance.shape == (0, 0)
