"""Explanations of a model with offsets are true: what they show adds up, and corrections are named."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tallybayes import NaiveBayes, datasets
from tallybayes.core.offsets import Offset
from tallybayes.core.schema import Column
from tallybayes.errors import NotAvailableError
from tallybayes.inspection.charts import nomogram
from tallybayes.inspection.explain import explain, steps
from tallybayes.inspection.summary import summary
from tests.refined import refined, table, with_offsets


@pytest.fixture(scope="module")
def rows():
    return table(20, 11)[0]


def test_the_evidence_adds_up_to_the_log_odds(rows):
    model = refined()
    for i in range(20):
        found = model.explain({name: values[i] for name, values in rows.items()})
        odds = math.log(found.posterior[found.label] / found.posterior[found.against])
        assert found.total == pytest.approx(odds, abs=1e-8)
        corrected = {e.column: e.correction for e in found.evidence if e.correction}
        assert all(rows[name][i] is not None or name == "town" for name in corrected if name in rows)
        assert "with a correction learned from rows: " in str(found)
        text = next(e for e in found.evidence if e.column == "note")
        if text.words is not None:
            assert sum(line.amount for line in text.lines()[1:]) == pytest.approx(text.log_odds, abs=1e-9)


def test_the_work_by_hand_has_the_corrections_as_factors(rows):
    model = refined()
    batch = model._rows({name: values[:1] for name, values in rows.items()})
    worked = steps(model.model_, batch, {name: values[0] for name, values in rows.items()})
    joint = model.model_.log_joint(batch)[0]
    np.testing.assert_allclose(np.sum([step.logs for step in worked], axis=0), joint, atol=1e-9)
    step = next(step for step in worked if step.what.startswith("P(") and " × c(" in step.what)
    for factor, log in zip(step.factors, step.logs, strict=True):
        chance, correction = factor.split(" × ")
        base, _, power = chance.partition("^")
        assert float(base) ** float(power or 1.0) * float(correction) == pytest.approx(math.exp(log), rel=1e-2)


def test_the_summary_names_the_corrected_columns():
    assert "correction learned from rows: height, " in summary(refined().model_, "NaiveBayes")


def test_constants_are_not_called_corrections(rows):
    model = refined()
    column = next(c for c in model.schema_.columns if c.name == "mood")
    offset = {"mood": Offset(Column("mood", column.kind), model.schema_.classes, np.array([[0.2, -0.1, -0.3]]))}
    fixed = replace(model.model_, settings=replace(model.model_.settings, offsets=offset))
    row = {name: values[:1] for name, values in rows.items()}
    batch, values = model._rows(row), {name: values[0] for name, values in rows.items()}
    found = explain(fixed, batch, values)
    assert "with a constant that keeps the class shares: mood" in str(found)
    assert "correction" not in str(found)
    table = dict(zip(model.schema_.classes, (0.2, -0.1, -0.3), strict=True))
    constant = next(e["constant"] for e in found.as_dict()["evidence"] if e["column"] == "mood")
    assert constant == pytest.approx(table[found.label] - table[found.against])
    assert "constant that keeps the class shares: mood" in summary(fixed, "NaiveBayes")


def test_points_of_a_nomogram_include_offsets():
    estimator = NaiveBayes(numeric="binned", classical=False, max_pairs=0).fit(datasets.penguins(), target="species")
    model = with_offsets(estimator.model_, seed=2)
    chart = nomogram(model, "Gentoo", "Adelie", most=20)
    a, b = (model.schema.classes.index(label) for label in ("Gentoo", "Adelie"))
    line = next(line for line in chart.lines if line.column == "island")
    estimator.model_ = model
    parts = estimator.contributions(
        {**{c.name: [None] * 3 for c in model.schema.columns if not c.is_derived}, "island": list(line.values)}
    )
    j = model.schema.names.index("island")
    np.testing.assert_allclose(line.log_odds, parts[:, a, j] - parts[:, b, j], atol=1e-9)


def test_offsets_are_not_linear():
    estimator = NaiveBayes(classical=True).fit({"n": [1.0, 2.0, 3.0, 4.0]}, ["a", "a", "b", "b"])
    column = estimator.schema_.columns[0]
    offset = {"n": Offset(column, ("a", "b"), np.array([[0.1, -0.1]]))}
    estimator.model_ = replace(estimator.model_, settings=replace(estimator.model_.settings, offsets=offset))
    with pytest.raises(NotAvailableError, match="without_refinement"):
        estimator.coef_  # noqa: B018


def test_an_estimator_without_refinement_keeps_its_columns(rows):
    plain = refined().without_refinement()
    assert plain.get_params()["weights"] is None
    assert plain.get_params()["max_pairs"] == 0
    assert plain.model_ == refined().model_.without_refinement()
    assert plain.predict_proba(rows).shape == (20, 3)
    assert "correction" not in str(plain.explain({name: values[0] for name, values in rows.items()}))
