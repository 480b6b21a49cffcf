"""The plain record of a scorer: it says all that a model does to a row."""

import json
from typing import get_args

import numpy as np
import pytest

from tallybayes import GaussianNB, NaiveBayes, export
from tallybayes.core.terms import Term
from tallybayes.errors import SettingError
from tallybayes.export.portable import NAMES, Scorer
from tests.export.cases import CASES
from tests.export.evaluator import probabilities


@pytest.mark.parametrize("name", CASES)
def test_json_says_all_that_is_needed_to_score_a_row(name):
    case = CASES[name]()
    scorer = json.loads(case.estimator.to_json())
    found = np.array([probabilities(scorer, row) for row in case.dicts])
    np.testing.assert_allclose(found, case.expected, rtol=0, atol=1e-12)


def test_together_the_cases_have_every_kind_of_term():
    kinds = {term["is"] for case in CASES.values() for term in json.loads(case().estimator.to_json())["terms"]}
    assert kinds | {"formula"} == {NAMES[kind] for kind in get_args(Term)} - {"text"}  # a formula is what others lack


def test_floats_are_read_back_exactly_and_infinities_are_text():
    scorer = Scorer.of(CASES["classical, zeros"]().estimator.model_)
    text = scorer.to_json()
    assert '"-Infinity"' in text
    assert "NaN" not in text
    assert json.loads(text)["prior"] == scorer.prior.tolist()


def test_a_row_that_every_class_forbids_gets_the_prior():
    table = {"a": ["x", "x", "y", "y"], "b": ["u", "v", "w", "w"]}
    model = NaiveBayes(classical=True, alpha=0).fit(table, ["no", "no", "no", "yes"])
    scorer = json.loads(NaiveBayes(classical=True, alpha=0).fit(table, ["no", "no", "yes", "yes"]).to_json())
    assert probabilities(scorer, {"a": "x", "b": "w"}) == pytest.approx([0.5, 0.5])
    assert model.to_json() == export.to_json(model.model_)


def test_columns_that_are_no_evidence_are_left_out():
    table = {"same": [1.0] * 6, "number": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0], "empty": [None] * 6}
    model = NaiveBayes(classical=True, drop=["empty"]).fit(table, [0, 0, 0, 1, 1, 1])
    scorer = Scorer.of(model.model_)
    assert scorer.columns == ("number",)
    assert scorer.classes == (0, 1)


def test_an_estimator_that_is_not_fitted_says_so():
    with pytest.raises(ValueError, match="not fitted"):
        GaussianNB().to_json()


def test_labels_that_json_cannot_hold_are_refused():
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]").astype(object)
    model = NaiveBayes(classical=True).fit({"x": [1.0, 2.0, 3.0, 4.0]}, days[[0, 0, 1, 1]])
    with pytest.raises(SettingError, match="date cannot be exported"):
        model.to_json()
