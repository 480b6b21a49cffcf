"""Explanations as records and as text, and predictions worked out in fractions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import tallybayes
from tallybayes import Model, NaiveBayes, Settings, families
from tallybayes.core.settings import EvidenceWeights
from tallybayes.data.datasets import tennis
from tallybayes.errors import DataError, NotAvailableError
from tallybayes.inspection.explain import (
    Evidence,
    Explanation,
    Ratio,
    Worked,
    level_ratios,
    prior_ratios,
    steps,
    worked,
)

DAYS = tennis()
PLAY = DAYS.pop("play")
DAY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}


def learned(**params: Any) -> Model:
    return NaiveBayes(**params).fit(DAYS, PLAY).model_


# ---------------------------------------------------------------------------------------------- the text


def test_a_level_that_was_never_learned_is_marked() -> None:
    found = NaiveBayes(classical=True).fit(DAYS, PLAY).explain({"outlook": "foggy", "wind": "weak"})
    assert "  outlook = foggy (never seen)    +0.000" in str(found)
    assert "wind = weak (" not in str(found)
    assert repr(found) == f"Explanation({str(found).splitlines()[0]})"


def test_factors_are_written_as_they_are_worked_out() -> None:
    """What is shown can be typed into a calculator: the logarithm that is normal, and the power of the whole ratio."""
    table = {"size": [1.0, 1.5, 2.0, 30.0, 50.0, 90.0] * 9, "side": ["l", "r", "l", "l", "r", "r"] * 9}
    model = NaiveBayes(family={"size": "lognormal"}, max_pairs=0).fit(
        table, ["small", "small", "small", "big", "big", "big"] * 9
    )
    row = {"size": 2.0, "side": "l"}
    weights = EvidenceWeights({"size": 0.25}, prior=0.5)
    core = replace(model.model_, settings=replace(model.model_.settings, weights=weights, offsets={}))
    prior, *others = steps(core, model._rows([row]), row)
    assert prior.factors == ("(27/54)^0.5", "(27/54)^0.5")
    factor = next(step for step in others if step.what == "p(log size = log 2)")
    mean, spread = map(float, factor.factors[1].removeprefix("N(log 2; ").removesuffix(")^0.25").split(", "))
    assert factor.logs[1] == pytest.approx(0.25 * norm.logpdf(math.log(2), mean, spread), abs=1e-2)


def test_a_notebook_sees_what_a_terminal_sees() -> None:
    shown = NaiveBayes(classical=True).fit(DAYS, PLAY).explain({"wind": "weak"})._repr_html_()
    assert "(missing)" not in shown
    assert "<p>missing: outlook, temperature, humidity</p>" in shown


def given(**evidence: tuple[Any, float]) -> Explanation:
    parts = tuple(Evidence(column, value, amount) for column, (value, amount) in evidence.items())
    total = -0.5 + math.fsum(part.log_odds for part in parts)
    return Explanation("spam", "ham", -0.5, parts, total, {"ham": 0.25, "spam": 0.75})


def test_an_explanation_prints_one_line_for_each_thing_that_speaks() -> None:
    lines = str(given(word=("offer", 2.0), size=(1234.5678, -1.0), sender=(None, 0.0))).splitlines()
    assert lines[0] == "spam: 75.0 % (next: ham)"
    assert [line.split("  ")[0] for line in map(str.strip, lines[1:4])] == ["prior", "word = offer", "size = 1234.57"]
    assert [line.split()[-2 if "█" in line or "░" in line else -1] for line in lines[1:5]] == [
        "-0.500",
        "+2.000",
        "-1.000",
        "+0.500",
    ]
    assert lines[5].strip() == "missing: sender"


def test_bars_are_as_long_as_the_evidence_is_strong() -> None:
    lines = str(given(word=("offer", 2.0), size=(3, -1.0))).splitlines()
    assert [line.count("█") + line.count("░") for line in lines[1:5]] == [5, 20, 10, 0]  # the total has no bar


def test_numbers_stand_one_below_the_other() -> None:
    lines = str(given(a=("x", 2.0), a_much_longer_name=("with a long value", -1.0))).splitlines()[1:5]
    assert len({line.index(sign) for line, sign in zip(lines, "-+-+", strict=True)}) == 1


@pytest.mark.parametrize("amount", [math.inf, -math.inf, 0.0, 1e-12, 1e300])
def test_extreme_evidence_can_be_printed(amount: float) -> None:
    assert "word = x" in str(given(word=("x", amount)))


def test_a_missing_value_that_speaks_is_shown_with_the_others() -> None:
    text = str(given(word=(None, 1.5)))
    assert "word = (missing)" in text
    assert "no value" not in text


# ---------------------------------------------------------------------------------------------- in fractions


def test_ratios_are_not_reduced() -> None:
    assert str(Ratio(3.0, 9.0)) == "3/9"
    assert str(Ratio(2.5, 9.0)) == "2.5/9"
    assert float(Ratio(3.0, 9.0)) == 1 / 3


@pytest.mark.parametrize(
    "params",
    [
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": {"wind": 3.0, "outlook": 0.5}},
        {"alpha": 1, "prior_alpha": 2.0},
        {"alpha": 1, "prior": "uniform"},
        {"alpha": 1, "prior": {"no": 0.1, "yes": 0.9}},
        {"alpha": 1, "min_count": 5},
        {"alpha": 1, "min_count": 7, "unseen": "smooth"},
    ],
    ids=str,
)
def test_what_is_worked_out_is_what_the_model_predicts(params: dict[str, Any]) -> None:
    fitted = NaiveBayes(**params).fit(DAYS, PLAY)
    work = worked(fitted.model_, DAY)
    asked = {column: [value] for column, value in DAY.items()}
    np.testing.assert_allclose(work.posterior, fitted.predict_proba(asked)[0], rtol=1e-12)
    np.testing.assert_allclose(work.joint, np.exp(fitted.predict_joint_log_proba(asked)[0]), rtol=1e-12)
    assert work.evidence == pytest.approx(math.fsum(work.joint))
    assert work.best == fitted.predict(asked)[0]


def test_columns_that_a_day_does_not_name_are_no_evidence() -> None:
    work = worked(learned(alpha=0), {"wind": "strong"})
    assert [str(ratio) for ratio in work.factors[0].chance] == ["3/5", "3/9"]
    np.testing.assert_allclose(work.posterior, [1 / 2, 1 / 2])
    assert worked(learned(alpha=0), {}).posterior == pytest.approx((5 / 14, 9 / 14))


def test_a_day_that_every_class_forbids_has_the_prior() -> None:
    zero = Ratio(0.0, 5.0)
    work = Worked(("no", "yes"), (Ratio(5, 14), Ratio(9, 14)), ())
    assert work.posterior == (5 / 14, 9 / 14)
    forbidden = Worked(
        work.classes, work.prior, (worked(learned(alpha=0), DAY).factors[0].__class__("x", "z", (zero, zero)),)
    )
    assert forbidden.evidence == 0
    assert forbidden.posterior == (5 / 14, 9 / 14)


def test_a_class_without_a_value_in_a_column_can_be_worked_out() -> None:
    """No count and no smoothing, 0/0: the model takes all levels alike, and so must the fractions."""
    fitted = NaiveBayes(alpha=0).fit({"wind": ["weak", "strong", None, None]}, ["no", "no", "yes", "yes"])
    expected = fitted.predict_proba({"wind": ["weak"]})[0]
    np.testing.assert_allclose(worked(fitted.model_, {"wind": "weak"}).posterior, expected)


def test_missing_that_is_a_level_can_be_worked_out() -> None:
    fitted = NaiveBayes(missing="level").fit({"wind": ["weak", "strong", None, "weak"]}, ["no", "no", "yes", "yes"])
    assert [str(r) for r in worked(fitted.model_, {"wind": None}).factors[0].chance] == ["1/5", "2/5"]


def test_a_worked_day_goes_to_json() -> None:
    plain = worked(learned(alpha=0), DAY).as_dict()
    assert plain["prior"] == {"no": "5/14", "yes": "9/14"}
    assert plain["factors"][0] == {"column": "outlook", "value": "sunny", "chance": {"no": "3/5", "yes": "2/9"}}
    assert plain["posterior"]["no"] == pytest.approx(0.7954, abs=1e-4)


def test_a_given_prior_is_a_share_of_one() -> None:
    assert list(map(str, prior_ratios(learned(prior={"no": 0.25, "yes": 0.75})))) == ["0.25/1", "0.75/1"]
    assert list(map(str, prior_ratios(learned(prior_alpha=1.0)))) == ["6/16", "10/16"]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"rain": "yes"}, "there is no column 'rain'; the model has outlook, temperature, humidity, wind"),
        ({"wind": "gale"}, "column 'wind' has no level 'gale'; it has strong, weak"),
        ({"wind": None}, "column 'wind' has no level None"),
    ],
)
def test_what_cannot_be_worked_out(row: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        worked(learned(), row)


def test_numbers_are_not_worked_out_in_fractions() -> None:
    tally = tallybayes.tally(np.array([[1.0], [2.0]]), ["no", "yes"], families.Gaussian())
    with pytest.raises(NotAvailableError, match="only a model of categories"):
        level_ratios(Model(Settings({"gaussian": families.Gaussian()}), tally), "x0")
    mixed = NaiveBayes().fit({"wind": ["a", "b"], "degrees": [1.0, 2.0]}, ["no", "yes"]).model_
    with pytest.raises(DataError, match="there is no column 'degrees'; the model has wind"):
        level_ratios(mixed, "degrees")


def test_an_explanation_fits_a_narrow_terminal() -> None:
    columns = {f"a column with a long name {j}": ["x", "y"] * 20 for j in range(3)}
    model = NaiveBayes(classical=True).fit(columns, ["p", "q"] * 20)
    found = model.explain({name: values[0] for name, values in columns.items()} | {"a column with a long name 1": None})
    assert max(map(len, found.in_width(50).splitlines())) <= 50
    assert max(map(len, str(found).splitlines())) > 50
