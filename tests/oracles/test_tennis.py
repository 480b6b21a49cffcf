"""The worked example by hand: fourteen days, four columns, and whether tennis was played."""

from __future__ import annotations

import csv
from dataclasses import replace
from fractions import Fraction as F
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

import tallybayes
from tallybayes import CategoricalNB, Model, Settings
from tallybayes.core.batch import Codes
from tallybayes.core.schema import Schema
from tallybayes.data.arrays import one_block
from tallybayes.errors import ForbiddenRowWarning
from tallybayes.families import Categorical

HEADER, *DAYS = csv.reader(files("tallybayes").joinpath("data/tennis.csv").read_text().splitlines())
WEATHER, PLAY = np.array([day[:4] for day in DAYS]), np.array([day[4] for day in DAYS])
COLUMNS = ["outlook", "temperature", "humidity", "wind"]

PRIOR = {"yes": F(9, 14), "no": F(5, 14)}
TABLES = {
    "outlook": {
        "yes": {"sunny": F(2, 9), "overcast": F(4, 9), "rainy": F(3, 9)},
        "no": {"sunny": F(3, 5), "overcast": F(0), "rainy": F(2, 5)},
    },
    "temperature": {
        "yes": {"hot": F(2, 9), "mild": F(4, 9), "cool": F(3, 9)},
        "no": {"hot": F(2, 5), "mild": F(2, 5), "cool": F(1, 5)},
    },
    "humidity": {"yes": {"high": F(3, 9), "normal": F(6, 9)}, "no": {"high": F(4, 5), "normal": F(1, 5)}},
    "wind": {"yes": {"weak": F(6, 9), "strong": F(3, 9)}, "no": {"weak": F(2, 5), "strong": F(3, 5)}},
}
LEVELS = {column: sorted(table["yes"]) for column, table in TABLES.items()}  # the order of the codes
DAY = ("sunny", "cool", "high", "strong")
JOINT = {
    "yes": F(9, 14) * F(2, 9) * F(3, 9) * F(3, 9) * F(3, 9),
    "no": F(5, 14) * F(3, 5) * F(1, 5) * F(4, 5) * F(3, 5),
}


def codes(days: Any, levels: Any = LEVELS) -> Any:
    return np.array([[list(levels[c]).index(value) for c, value in zip(COLUMNS, day, strict=True)] for day in days])


def as_fraction(value: float) -> F:
    """The fraction of a small denominator that a floating-point number stands for."""
    exact = F(float(value)).limit_denominator(1000)
    assert float(exact) == pytest.approx(float(value), rel=1e-12, abs=1e-15)
    return exact


@pytest.fixture(scope="module")
def estimator() -> CategoricalNB:
    return CategoricalNB(alpha=0).fit(codes(WEATHER), PLAY)


@pytest.fixture(scope="module")
def model() -> Model:
    """The same from the words themselves."""
    family = Categorical(alpha=0)
    return Model(Settings({"categorical": family}), tallybayes.tally(WEATHER, PLAY, family, names=COLUMNS))


def test_the_table_is_the_one_worked_out_here() -> None:
    assert [*COLUMNS, "play"] == HEADER
    assert len(DAYS) == 14
    assert DAYS[0] == ["sunny", "hot", "high", "weak", "no"]
    assert DAYS[13] == ["rainy", "mild", "high", "strong", "no"]


def test_prior_by_hand(estimator: CategoricalNB, model: Model) -> None:
    for log_prior in (estimator.class_log_prior_, model.log_prior):
        assert [as_fraction(p) for p in np.exp(log_prior)] == [PRIOR["no"], PRIOR["yes"]]
    np.testing.assert_array_equal(model.tally.class_weight, [5, 9])


@pytest.mark.parametrize("column", COLUMNS)
def test_tables_by_hand(estimator: CategoricalNB, model: Model, column: str) -> None:
    j = COLUMNS.index(column)
    levels = model.schema.columns[j].levels
    assert list(levels) == LEVELS[column]
    for table in (estimator.feature_log_prob_[j], model.parameters["categorical"].of_column(j)):
        for k, label in enumerate(("no", "yes")):
            found = {level: as_fraction(p) for level, p in zip(levels, np.exp(table[k]), strict=True)}
            assert found == TABLES[column][label]


def test_a_true_zero_stays_one(estimator: CategoricalNB) -> None:
    """It never was overcast and no tennis: that forbids a class for ever."""
    overcast = estimator.predict_proba(codes([("overcast", "hot", "high", "strong")]))
    np.testing.assert_array_equal(overcast, [[0.0, 1.0]])


def test_joint_of_one_day_by_hand(estimator: CategoricalNB) -> None:
    joint = np.exp(estimator.predict_joint_log_proba(codes([DAY])))[0]
    np.testing.assert_allclose(joint, [float(JOINT["no"]), float(JOINT["yes"])], rtol=1e-12)
    np.testing.assert_allclose(joint, [0.02057, 0.00529], atol=5e-6)
    assert np.exp(estimator.score_samples(codes([DAY])))[0] == pytest.approx(float(sum(JOINT.values())))


def test_posterior_of_one_day_by_hand(estimator: CategoricalNB, model: Model) -> None:
    no = JOINT["no"] / (JOINT["no"] + JOINT["yes"])
    batch = one_block("categorical", model.schema, Codes(codes([DAY]), np.array([3, 3, 2, 2])))
    for posterior in (estimator.predict_proba(codes([DAY])), model.posterior(batch)):
        np.testing.assert_allclose(posterior, [[float(no), float(1 - no)]], rtol=1e-12)
        assert posterior[0, 0] == pytest.approx(0.795, abs=5e-4)
    assert estimator.predict(codes([DAY])).tolist() == ["no"]


def test_evidence_of_one_day_by_hand(estimator: CategoricalNB) -> None:
    """The likelihood matrix: a row a class, a column a column; its logs are the contributions."""
    parts = np.exp(estimator.contributions(codes([DAY])))[0]
    by_hand = [[TABLES[c][label][value] for c, value in zip(COLUMNS, DAY, strict=True)] for label in ("no", "yes")]
    assert [[as_fraction(p) for p in row] for row in parts] == by_hand


def test_every_day_by_fractions(estimator: CategoricalNB) -> None:
    for day, found in zip(WEATHER, estimator.predict_proba(codes(WEATHER)), strict=True):
        joint = dict(PRIOR)
        for column, value in zip(COLUMNS, day, strict=True):
            joint = {label: joint[label] * TABLES[column][label][value] for label in joint}
        np.testing.assert_allclose(found, [float(joint[k] / sum(joint.values())) for k in ("no", "yes")], rtol=1e-12)


def test_likelihood_of_the_data_by_fractions(estimator: CategoricalNB) -> None:
    likelihood = F(1)
    for day, label in zip(WEATHER, PLAY, strict=True):
        likelihood *= PRIOR[label]
        for column, value in zip(COLUMNS, day, strict=True):
            likelihood *= TABLES[column][label][value]
    log_likelihood = np.log(float(likelihood.numerator)) - np.log(float(likelihood.denominator))
    assert estimator.log_likelihood(codes(WEATHER), PLAY) == pytest.approx(log_likelihood, rel=1e-12)


def test_laplace_by_hand() -> None:
    model = CategoricalNB().fit(codes(WEATHER), PLAY)
    outlook = dict(zip(LEVELS["outlook"], np.exp(model.feature_log_prob_[0]).T, strict=True))
    assert [as_fraction(p) for p in outlook["overcast"]] == [F(0 + 1, 5 + 3), F(4 + 1, 9 + 3)]
    assert [as_fraction(p) for p in outlook["sunny"]] == [F(3 + 1, 5 + 3), F(2 + 1, 9 + 3)]


# Humidity may also be low, though it never was: a declared level takes its share of the smoothing.

WITH_LOW = {**LEVELS, "humidity": ["high", "normal", "low"]}
HUMIDITY = {0: [[4 / 5, 1 / 5, 0], [3 / 9, 6 / 9, 0]], 1: [[5 / 8, 2 / 8, 1 / 8], [4 / 12, 7 / 12, 1 / 12]]}


@pytest.mark.parametrize("alpha", [0, 1])
def test_a_declared_level_of_the_estimator(alpha: int) -> None:
    model = CategoricalNB(alpha=alpha, min_categories=[3, 3, 3, 2]).fit(codes(WEATHER, WITH_LOW), PLAY)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[2]), HUMIDITY[alpha])


@pytest.mark.parametrize("alpha", [0, 1])
def test_a_declared_level_of_the_tally(model: Model, alpha: int) -> None:
    columns = list(model.schema.columns)
    columns[2] = replace(columns[2], levels=("high", "low", "normal"))
    declared = model.tally.align(Schema(tuple(columns), model.schema.classes))
    table = Categorical(alpha).estimate(declared.blocks["categorical"].summary).of_column(2)
    np.testing.assert_allclose(np.exp(table), np.array(HUMIDITY[alpha])[:, [0, 2, 1]])


def test_a_declared_level_without_smoothing_is_impossible() -> None:
    model = CategoricalNB(alpha=0, min_categories=[3, 3, 3, 2]).fit(codes(WEATHER, WITH_LOW), PLAY)
    with pytest.warns(ForbiddenRowWarning):
        posterior = model.predict_proba(codes([("sunny", "cool", "low", "weak")], WITH_LOW))
    np.testing.assert_allclose(posterior, [[5 / 14, 9 / 14]])


def test_parameters_counted_by_hand() -> None:
    """With low humidity: 3·3·3·2 − 1 = 53 numbers a class against 2 + 2 + 2 + 1 = 7, and one for the prior."""
    model = CategoricalNB(min_categories=[3, 3, 3, 2]).fit(codes(WEATHER, WITH_LOW), PLAY)
    assert model.n_joint_parameters_ == 2 * 53 + 1
    assert model.n_parameters_ == 2 * 7 + 1
    as_it_is = CategoricalNB().fit(codes(WEATHER), PLAY)
    assert as_it_is.n_joint_parameters_ == 2 * 35 + 1
    assert as_it_is.n_parameters_ == 2 * 6 + 1
