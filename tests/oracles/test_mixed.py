"""`NaiveBayes` on whole tables, against R, against scikit-learn and by hand."""

from __future__ import annotations

import csv
import math
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import OrdinalEncoder

from tallybayes import Model, NaiveBayes
from tallybayes.core.summaries import Moments
from tallybayes.core.tally import Block, Tally
from tallybayes.data.datasets import tennis
from tallybayes.inspection.explain import level_ratios, prior_ratios
from tests.frames import birds, every_form, taken

from .test_tennis import COLUMNS, DAY, JOINT, PRIOR, TABLES, as_fraction

HERE = Path(__file__).parent

# ---------------------------------------------------------------------------------------------- R


def stored_csv(name: str) -> list[dict[str, str]]:
    with (HERE / f"e1071_penguins_{name}.csv").open() as file:
        return list(csv.DictReader(file))


def with_sample_variance(model: NaiveBayes) -> NaiveBayes:
    """The model with the variances that R has: squares divided by n − 1 instead of n."""
    tally = model.tally_
    block = tally.blocks["gaussian"]
    moments = block.summary
    m2 = moments.m2 * moments.weight / (moments.weight - 1)
    blocks = {**tally.blocks, "gaussian": Block(block.columns, Moments(moments.weight, moments.mean, m2))}
    model.model_ = Model(model.model_.settings, Tally(tally.schema, tally.class_weight, blocks))
    return model


@every_form
@pytest.mark.parametrize("laplace", [0, 1])
def test_tables_of_penguins_by_r(make: Any, laplace: int) -> None:
    """Means, sample deviations and shares of a table with 19 missing cells."""
    x, y = birds()
    model = NaiveBayes(classical=True, alpha=laplace).fit(make(x), y)
    moments, numeric = model.tally_.blocks["gaussian"].summary, list(model.tally_.blocks["gaussian"].columns)
    spread = {"mean": moments.mean, "sd": np.sqrt(moments.m2 / (moments.weight - 1))}
    table = stored_csv(f"tables_laplace_{laplace}")
    assert len(table) == 3 * (5 * 2 + 3 + 2)
    for row in table:
        k, column = model.classes_.tolist().index(row["class"]), model.schema_.names.index(row["column"])
        if row["entry"] in spread:
            found = spread[row["entry"]][k, numeric.index(column)]
        else:
            asked = {name: [row["entry"] if name == row["column"] else None] for name in x}
            found = np.exp(model.contributions(asked)[0, k, column])
        assert found == pytest.approx(float(row["value"]), rel=1e-12, abs=0), row


@every_form
@pytest.mark.parametrize("laplace", [0, 1])
def test_posteriors_of_penguins_by_r(make: Any, laplace: int) -> None:
    """Without a pseudocount the island is left out: R replaces its zeros."""
    x, y = birds()
    model = NaiveBayes(classical=True, alpha=laplace, var_smoothing=0.0, drop=["island"] if laplace == 0 else None).fit(
        make(x), y
    )
    stored = stored_csv(f"posterior_laplace_{laplace}")
    expected = np.array([[float(row[label]) for label in model.classes_] for row in stored])
    found = with_sample_variance(model).predict_proba(make(x))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


# ---------------------------------------------------------------------------------------------- scikit-learn


def complete() -> tuple[dict[str, list[Any]], np.ndarray]:
    """The 333 penguins of which everything is known."""
    x, y = birds()
    keep = [i for i in range(len(y)) if all(values[i] is not None for values in x.values())]
    return taken(x, keep), np.array(y)[keep]


@every_form
@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learns_two_halves_put_together(make: Any, alpha: float, weighted: bool) -> None:
    """Log P(x, y) of the categories plus that of the numbers, less the prior that both have."""
    x, y = complete()
    assert len(y) == 333
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], 333) if weighted else None
    words = np.column_stack([x["island"], x["sex"]])
    numbers = np.column_stack([values for name, values in x.items() if name not in ("island", "sex")]).astype(float)
    codes = OrdinalEncoder().fit_transform(words)
    # Its floor on the variance ignores weights, so it is left out where there are some.
    floor = 0.0 if weighted else 1e-9
    categories = CategoricalNB(alpha=alpha).fit(codes, y, weight)
    gauss = GaussianNB(var_smoothing=floor).fit(numbers, y, weight)
    expected = (
        categories.predict_joint_log_proba(codes) + gauss.predict_joint_log_proba(numbers) - categories.class_log_prior_
    )
    model = NaiveBayes(classical=True, alpha=alpha, var_smoothing=floor).fit(make(x), y, weight)
    np.testing.assert_allclose(model.predict_joint_log_proba(make(x)), expected, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(make(x)), model.classes_[expected.argmax(axis=1)])


# ---------------------------------------------------------------------------------------------- by hand

DAYS = tennis()
PLAY = DAYS.pop("play")


def days_but(left_out: int | None) -> list[tuple[dict[str, str], str]]:
    rows = [({column: DAYS[column][i] for column in COLUMNS}, PLAY[i]) for i in range(14)]
    return [row for i, row in enumerate(rows) if i != left_out]


def joint_by_fractions(day: dict[str, str], learned: list[tuple[dict[str, str], str]], alpha: int) -> dict[str, F]:
    """P(day, play) from the rows, as a lecture does it."""
    joint = {}
    for label in ("no", "yes"):
        mine = [row for row, play in learned if play == label]
        joint[label] = F(len(mine), len(learned))
        for column, value in day.items():
            hits = sum(row[column] == value for row in mine)
            joint[label] *= F(hits + alpha, len(mine) + alpha * len(set(DAYS[column])))
    return joint


def one_day(i: int) -> dict[str, list[str]]:
    return {column: [DAYS[column][i]] for column in COLUMNS}


@pytest.fixture(scope="module")
def played() -> NaiveBayes:
    return NaiveBayes(classical=True, alpha=0).fit(DAYS, PLAY)


def test_every_fraction_of_the_tables(played: NaiveBayes) -> None:
    assert [as_fraction(p) for p in np.exp(played.model_.log_prior)] == [PRIOR["no"], PRIOR["yes"]]
    assert list(map(str, prior_ratios(played.model_))) == ["5/14", "9/14"]
    for d, column in enumerate(COLUMNS):
        levels = played.schema_.columns[d].levels or ()
        assert set(levels) == set(TABLES[column]["yes"])
        asked = {name: list(levels) if name == column else [None] * len(levels) for name in COLUMNS}
        found = np.exp(played.contributions(asked)[:, :, d])
        counted = level_ratios(played.model_, column)
        for i, level in enumerate(levels):
            for k, (label, total) in enumerate((("no", 5), ("yes", 9))):
                assert as_fraction(found[i, k]) == TABLES[column][label][level]
                assert str(counted[i][k]) == f"{TABLES[column][label][level] * total}/{total}"  # 3/9 stays 3/9


def test_one_day_worked_out(played: NaiveBayes) -> None:
    day = dict(zip(COLUMNS, DAY, strict=True))
    asked = {column: [value] for column, value in day.items()}
    np.testing.assert_allclose(
        np.exp(played.predict_joint_log_proba(asked)), [[float(JOINT["no"]), float(JOINT["yes"])]], rtol=1e-12
    )
    no = JOINT["no"] / (JOINT["no"] + JOINT["yes"])
    assert played.predict_proba(asked)[0, 0] == pytest.approx(float(no), rel=1e-12)
    found = played.explain(day)
    assert (found.label, found.against) == ("no", "yes")
    assert math.exp(found.prior) == pytest.approx(5 / 9)
    for evidence in found.evidence:
        ratio = TABLES[evidence.column]["no"][evidence.value] / TABLES[evidence.column]["yes"][evidence.value]
        assert math.exp(evidence.log_odds) == pytest.approx(float(ratio))
    assert math.exp(found.total) == pytest.approx(float(JOINT["no"] / JOINT["yes"]))


@pytest.mark.parametrize("alpha", [0, 1])
def test_every_day_left_out_by_fractions(alpha: int) -> None:
    found = np.exp(NaiveBayes(classical=True, alpha=alpha).fit(DAYS, PLAY).leave_one_out(DAYS, PLAY))
    for i in range(14):
        joint = joint_by_fractions({column: DAYS[column][i] for column in COLUMNS}, days_but(i), alpha)
        expected = [float(joint[label] / sum(joint.values())) for label in ("no", "yes")]
        np.testing.assert_allclose(found[i], expected, rtol=1e-12, atol=1e-15, err_msg=f"day {i}")


def test_unlearning_a_day_by_fractions() -> None:
    right = 0
    for i in range(14):
        without = NaiveBayes(classical=True, alpha=1).fit(DAYS, PLAY).unlearn(one_day(i), PLAY[i : i + 1])
        joint = joint_by_fractions({column: DAYS[column][i] for column in COLUMNS}, days_but(i), 1)
        expected = [float(joint[label]) for label in ("no", "yes")]
        np.testing.assert_allclose(np.exp(without.predict_joint_log_proba(one_day(i)))[0], expected, rtol=1e-12)
        right += max(joint, key=joint.__getitem__) == PLAY[i]
    assert NaiveBayes(classical=True, alpha=1).fit(DAYS, PLAY).evaluate(DAYS, PLAY).accuracy.value == pytest.approx(
        right / 14
    )


def test_parameters_of_tennis(played: NaiveBayes) -> None:
    assert played.n_parameters_ == 1 + 2 * (2 + 2 + 1 + 1)
    assert played.n_joint_parameters_ == 2 * 36 - 1
