"""What a fitted `NaiveBayes` answers: evidence, evaluation, honest probabilities, drawn rows, and who asks."""

from __future__ import annotations

import copy
import json
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import logsumexp
from scipy.stats import norm, poisson
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tallybayes import NaiveBayes
from tallybayes.data import datasets
from tallybayes.errors import (
    ColumnWarning,
    DataError,
    ForbiddenRowWarning,
    NotAvailableError,
    SettingError,
    UnlearnError,
)
from tests.frames import FORMS, birds, every_form, every_frame, taken

Y = ["no", "yes", "no", "yes", "no", "yes"]
CITY = ["a", "a", "a", "b", "b", "b"]
SIDE = [2.0, 3.5, 1.0, 4.0, 2.5, 3.0]
X = {"city": CITY, "side": SIDE}


@pytest.fixture(scope="module")
def model() -> NaiveBayes:
    return NaiveBayes(classical=True).fit(*birds())


# ---------------------------------------------------------------------------------------------- evidence


@every_form
def test_contributions_and_prior_add_up_to_the_joint(model: NaiveBayes, make: Any) -> None:
    x = make(birds()[0])
    parts = model.contributions(x)
    assert parts.shape == (344, 3, 7)
    np.testing.assert_allclose(parts.sum(axis=2) + model.model_.log_prior, model.predict_joint_log_proba(x), rtol=1e-12)


def test_what_is_ignored_missing_or_unseen_contributes_nothing() -> None:
    fitted = NaiveBayes(classical=True, drop=["more"]).fit({**X, "more": SIDE[::-1]}, Y)
    parts = fitted.contributions({"city": ["z", None, "a"], "side": [None, 1.0, None], "more": [2.0, 1.0, 1.0]})
    np.testing.assert_array_equal(
        parts[:, 0, :] != 0, [[False, False, False], [False, True, False], [True, False, False]]
    )


def test_posteriors_by_hand() -> None:
    """(n + 1) / (3 + 2) for the city, a bell curve with the class's own mean and variance for the side."""
    fitted = NaiveBayes(classical=True, var_smoothing=0.0).fit(X, Y)
    sides = np.array(SIDE).reshape(3, 2)
    joint = [0.5 * p * norm.pdf(2.2, m, s) for p, m, s in zip([3 / 5, 2 / 5], sides.mean(0), sides.std(0), strict=True)]
    np.testing.assert_allclose(fitted.predict_proba({"city": ["a"], "side": [2.2]})[0], np.array(joint) / sum(joint))
    np.testing.assert_allclose(np.exp(fitted.score_samples({"city": ["a"], "side": [2.2]})), [sum(joint)])


def test_a_single_class_is_certain() -> None:
    fitted = NaiveBayes(classical=True).fit(X, ["only"] * 6)
    np.testing.assert_array_equal(fitted.predict_proba(X), np.ones((6, 1)))
    assert set(fitted.predict(X)) == {"only"}


def test_a_row_that_every_class_forbids_gets_the_prior_with_a_warning() -> None:
    fitted = NaiveBayes(classical=True, alpha=0).fit(
        {"a": ["p", "p", "q", "q"], "b": ["r", "r", "s", "s"]}, ["no", "no", "yes", "yes"]
    )
    with pytest.warns(ForbiddenRowWarning, match="1 row had probability zero under every class"):
        posterior = fitted.predict_proba({"a": ["p", "p"], "b": ["s", "r"]})
    np.testing.assert_array_equal(posterior, [[0.5, 0.5], [1.0, 0.0]])


# ---------------------------------------------------------------------------------------------- explain


@every_form
@pytest.mark.parametrize("row", [0, 3, 200, 300])
def test_an_explanation_adds_up_exactly(model: NaiveBayes, make: Any, row: int) -> None:
    """Row 3 has hardly a value."""
    x = make(taken(birds()[0], [row]))
    found, joint = model.explain(x), model.predict_joint_log_proba(x)[0]
    ranked = np.argsort(-joint)
    assert (found.label, found.against) == tuple(model.classes_[ranked[:2]])
    assert found.total == pytest.approx(joint[ranked[0]] - joint[ranked[1]], rel=1e-9, abs=1e-12)
    assert found.total == found.prior + math.fsum(e.log_odds for e in found.evidence)  # to the last bit
    np.testing.assert_allclose(list(found.posterior.values()), model.predict_proba(x)[0])
    assert list(found.posterior) == model.classes_.tolist()


@every_form
def test_the_evidence_has_the_values_strongest_first(model: NaiveBayes, make: Any) -> None:
    columns = birds()[0]
    found = model.explain(make(taken(columns, [3])))
    assert {e.column: e.value for e in found.evidence} == {name: values[3] for name, values in columns.items()}
    strength = [abs(e.log_odds) for e in found.evidence]
    assert strength == sorted(strength, reverse=True)
    assert all(e.log_odds == 0 for e in found.evidence if e.value is None)


def test_evidence_by_hand() -> None:
    found = NaiveBayes(classical=True).fit(X, ["no", "no", "no", "no", "yes", "yes"]).explain({"city": "b"})
    assert (found.label, found.against) == ("yes", "no")
    city, side = found.evidence
    assert (city.column, city.value, city.log_odds) == ("city", "b", pytest.approx(math.log(3 / 4) - math.log(2 / 6)))
    assert (side.column, side.value, side.log_odds) == ("side", None, 0.0)
    assert found.prior == pytest.approx(math.log(2 / 4))


@pytest.mark.parametrize("against", ["Adelie", "Chinstrap", "Gentoo"])
def test_an_explanation_against_a_named_class(model: NaiveBayes, against: str) -> None:
    """Against the likeliest class it is the runner-up that is spoken for."""
    row = taken(birds()[0], [200])
    joint = dict(zip(model.classes_, model.predict_joint_log_proba(row)[0], strict=True))
    first, second = sorted(joint, key=joint.__getitem__, reverse=True)[:2]
    found = model.explain(row, against=against)
    assert found.against == against
    assert found.label == (second if against == first else first)
    assert found.total == pytest.approx(joint[found.label] - joint[against])


def test_a_row_may_be_given_in_part_and_in_any_form(model: NaiveBayes) -> None:
    row = {"body_mass_g": 5000, "island": "Biscoe"}
    found = model.explain(row)
    rest = {name: [None] for name in model.schema_.names if name not in row}
    assert found == model.explain({**{name: [value] for name, value in row.items()}, **rest})
    assert [e.column for e in found.evidence][:2] == ["body_mass_g", "island"]
    array = NaiveBayes(classical=True).fit(np.column_stack((SIDE, SIDE[::-1])), Y)
    assert array.explain(np.array([[1.0, 2.0]])).label == array.predict(np.array([[1.0, 2.0]]))[0]


def test_columns_that_are_no_evidence_are_not_in_the_explanation() -> None:
    fitted = NaiveBayes(classical=True, drop=["side"]).fit({**X, "nothing": [None] * 6}, Y)
    assert [e.column for e in fitted.explain({"city": "a", "nothing": 1}).evidence] == ["city"]


def test_an_impossible_value_is_infinite_evidence() -> None:
    fitted = NaiveBayes(classical=True, alpha=0).fit({"city": ["a", "a", "b", "b"]}, ["no", "no", "yes", "yes"])
    found = fitted.explain({"city": "a"})
    assert (found.label, found.total) == ("no", math.inf)
    assert "+inf" in str(found)


def test_impossible_values_on_both_sides_can_be_explained() -> None:
    """p forbids one class and s the other: the prior decides, and nothing raises."""
    fitted = NaiveBayes(classical=True, alpha=0).fit({"a": ["p", "p", "q"], "b": ["r", "r", "s"]}, ["no", "no", "yes"])
    with pytest.warns(ForbiddenRowWarning):
        found = fitted.explain({"a": "p", "b": "s"})
    assert found.label == "no"
    assert found.posterior == pytest.approx({"no": 2 / 3, "yes": 1 / 3})
    assert {e.log_odds for e in found.evidence} == {math.inf, -math.inf}


def test_what_cannot_be_explained(model: NaiveBayes) -> None:
    with pytest.raises(DataError, match="there is no class 'Emperor'; the model has Adelie, Chinstrap, Gentoo"):
        model.explain({"sex": "male"}, against="Emperor")
    with pytest.raises(DataError, match="with a single class there is nothing to explain"):
        NaiveBayes(classical=True).fit(X, ["only"] * 6).explain({"side": 1.0})


def test_only_one_row_is_explained_at_a_time(model: NaiveBayes) -> None:
    """Of many rows the first might not be the one that is meant."""
    with pytest.raises(DataError, match="one row"):
        model.explain(birds()[0])


def test_a_calibrated_model_explains_with_the_raw_evidence_and_the_honest_posterior() -> None:
    x, y = birds()
    calibrated = NaiveBayes(classical=True, calibration="temperature").fit(x, y)
    row = taken(x, [200])
    found, raw = calibrated.explain(row), NaiveBayes(classical=True).fit(x, y).explain(row)
    assert found.evidence == raw.evidence
    np.testing.assert_allclose(list(found.posterior.values()), calibrated.predict_proba(row)[0])


# ---------------------------------------------------------------------------------------------- P(x) and P(x, y)


def test_score_samples_finds_the_row_unlike_the_others(model: NaiveBayes) -> None:
    x = birds()[0]
    unusual = {**taken(x, [0]), "body_mass_g": [9000.0]}
    assert model.score_samples(unusual)[0] < model.score_samples(x).min()
    np.testing.assert_allclose(model.score_samples(x), logsumexp(model.predict_joint_log_proba(x), axis=1))


def test_the_evidence_of_counts_has_its_factorials() -> None:
    visits = [1, 4, 0, 5, 2, 3]
    fitted = NaiveBayes(classical=True, family={"visits": "poisson"}, alpha=0).fit({"visits": visits, "city": CITY}, Y)
    asked = {"visits": [3], "city": ["a"]}
    expected = 0.5 * poisson.pmf(3, 1) * 2 / 3 + 0.5 * poisson.pmf(3, 4) * 1 / 3
    np.testing.assert_allclose(np.exp(fitted.score_samples(asked)), [expected])
    assert fitted.log_likelihood(asked, ["yes"]) == pytest.approx(math.log(0.5 * poisson.pmf(3, 4) / 3))


def test_log_likelihood_weighs_the_rows(model: NaiveBayes) -> None:
    x, y = birds()
    codes = np.searchsorted(model.classes_, y)
    own = model.predict_joint_log_proba(x)[np.arange(344), codes]
    weight = np.random.default_rng(0).random(344)
    assert model.log_likelihood(x, y) == pytest.approx(own.sum())
    assert model.log_likelihood(x, y, weight) == pytest.approx((weight * own).sum())


@pytest.mark.parametrize("unusual", ["A", "Dz", "Zealand"])
@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_levels_never_seen_do_not_shift_the_others(unusual: str, unseen: Any) -> None:
    """A level that sorts before the known ones must not give its neighbours another one's probability."""
    x, y = birds()
    fitted = NaiveBayes(classical=True, unseen=unseen).fit(x, y)
    asked = {**x, "island": [unusual, *x["island"][1:]]}
    codes, rows = np.searchsorted(fitted.classes_, y), np.arange(344)
    own = fitted.predict_joint_log_proba(asked)[rows, codes]
    assert fitted.log_likelihood(asked, y) == pytest.approx(own.sum())
    tested = fitted.evaluate(asked, y, method="test")
    assert tested.log_loss.value == pytest.approx(log_loss(y, fitted.predict_proba(asked)))
    assert tested.accuracy.value == pytest.approx((fitted.predict(asked) == y).mean())


@pytest.mark.parametrize("unusual", ["Atlantis", "Zealand"])
@pytest.mark.parametrize("min_count", [0, 2])
def test_a_level_never_learned_cannot_be_left_out(unusual: str, min_count: float) -> None:
    """Least of all may it be taken for the level whose place it would sort into."""
    x, y = birds()
    fitted = NaiveBayes(classical=True, min_count=min_count).fit(x, y)
    with pytest.raises(UnlearnError):
        fitted.leave_one_out({**taken(x, [20]), "island": [unusual]}, y[20:21])


# ---------------------------------------------------------------------------------------------- evaluation


def test_leave_one_out_is_evaluated(model: NaiveBayes) -> None:
    x, y = birds()
    found = model.evaluate(x, y)
    posterior = np.exp(model.leave_one_out(x, y))
    assert found.method == "leave-one-out"
    assert found.log_loss.value == pytest.approx(log_loss(y, posterior))
    assert found.accuracy.value == pytest.approx((model.classes_[posterior.argmax(axis=1)] == y).mean())
    assert found.accuracy.low < found.accuracy.value < found.accuracy.high
    assert found.accuracy.value > 0.95


@every_form
@pytest.mark.parametrize("method", ["leave-one-out", 5, "test"])
def test_every_form_is_evaluated_alike(model: NaiveBayes, make: Any, method: Any) -> None:
    x, y = birds()
    found, expected = model.evaluate(make(x), y, method=method), model.evaluate(x, y, method=method)
    np.testing.assert_array_equal(found.confusion, expected.confusion)
    assert found.log_loss.value == pytest.approx(expected.log_loss.value, rel=1e-9)


def test_more_rows_than_were_learned_cannot_be_left_out(model: NaiveBayes) -> None:
    table, species = birds()
    twice = pd.concat([pd.DataFrame(table)] * 2)
    with pytest.raises(
        UnlearnError,
        match=r"class 'Adelie' have a weight of 304, .* learned 152.*evaluate other rows with method='test'",
    ):
        model.evaluate(twice, [*species, *species], method="leave-one-out")
    assert model.evaluate(twice, [*species, *species], method="test").n_rows == 688


def test_rows_that_were_not_learned_are_scored_as_they_are(model: NaiveBayes) -> None:
    table, species = pd.DataFrame(birds()[0]), np.array(birds()[1])
    half = NaiveBayes(classical=True).fit(table[::2], species[::2])
    assert half.evaluate(table[::2], species[::2]).method == "leave-one-out"
    for rows in (slice(1, None, 2), slice(None, None, 4)):
        assert half.evaluate(table[rows], species[rows]).method == "test"
    assert model.evaluate(table, species[::-1]).method == "test"
    with pytest.warns(ColumnWarning, match="no value of column 'island' was seen in training"):
        assert model.evaluate(table.assign(island="Mars"), species).method == "test"
    assert half.evaluate(table[::4], species[::4], method="leave-one-out").method == "leave-one-out"


def test_a_fitted_model_knows_which_column_held_the_labels() -> None:
    whole = pd.DataFrame(datasets.penguins())
    model = NaiveBayes(classical=True).fit(whole, target="species")
    assert model.evaluate(whole).as_dict() == model.evaluate(whole, "species").as_dict()
    np.testing.assert_array_equal(model.leave_one_out(whole), model.leave_one_out(whole, "species"))
    assert sum(model.unlearn(whole[:10]).receipt_.rows) == 10
    with pytest.raises(DataError, match="the table has no column 'species'"):
        model.evaluate(whole.drop(columns="species"))
    apart = NaiveBayes(classical=True).fit(whole.drop(columns="species"), whole["species"].to_numpy())
    with pytest.raises(ValueError, match="requires y to be passed"):
        apart.evaluate(whole.drop(columns="species"))


def test_row_weights_may_be_a_column_of_the_table() -> None:
    table, species = birds()
    copies = np.arange(len(species)) % 3 + 1.0
    whole = pd.DataFrame(table).assign(species=species, copies=copies)
    named = NaiveBayes(classical=True).fit(whole, "species", "copies")
    given = NaiveBayes(classical=True).fit(table, species, copies)
    np.testing.assert_array_equal(named.predict_proba(table), given.predict_proba(table))
    with pytest.raises(DataError, match="no column 'copy'; did you mean 'copies'"):
        NaiveBayes().fit(whole, "species", "copy")


def test_a_path_is_no_table(model: NaiveBayes) -> None:
    with pytest.raises(DataError, match=r"got 'birds\.csv'; a file is .* predicted with predict_file"):
        model.predict("birds.csv")


def test_folds_are_shuffled_by_the_seed(model: NaiveBayes) -> None:
    x, y = birds()
    losses = [model.evaluate(x, y, method=4, seed=seed).log_loss.value for seed in (0, 0, 1)]
    assert losses[0] == losses[1] != losses[2]
    assert model.evaluate(x, y, method=4).method == "4-fold"


@pytest.mark.parametrize("hold", [list, np.array, pd.Series], ids=["list", "array", "series"])
def test_folds_can_be_given(model: NaiveBayes, hold: Any) -> None:
    """By island, say: each colony predicted from the other two."""
    x, y = birds()
    found = model.evaluate(x, y, method=hold(x["island"]))
    posterior = np.empty((344, 3))
    for island in ("Biscoe", "Dream", "Torgersen"):
        out = [i for i in range(344) if x["island"][i] == island]
        rest = model.model_.tally - model.blank().partial_fit(taken(x, out), np.array(y)[out]).tally_
        held_out = NaiveBayes.from_tally(rest, classical=True)
        posterior[out] = held_out.predict_proba(taken(x, out))
    assert found.method == "3-fold"
    assert found.log_loss.value == pytest.approx(log_loss(y, posterior))


def test_weights_count_in_the_evaluation() -> None:
    x, y = birds()
    weight = np.where(np.array(y) == "Chinstrap", 3.0, 1.0)
    fitted = NaiveBayes(classical=True).fit(x, y, weight)
    assert fitted.evaluate(x, y, weight).support.tolist() == [152.0, 204.0, 124.0]
    assert fitted.evaluate(x, y, weight, method="test").weight == 480.0


def test_what_cannot_be_evaluated(model: NaiveBayes) -> None:
    x, y = birds()
    with pytest.raises(SettingError, match="method must be 'auto', 'leave-one-out', 'test' or a number of folds"):
        model.evaluate(x, y, method="bootstrap")
    with pytest.raises(UnlearnError, match="k-fold needs the rows, labels and weights that it was fitted on"):
        model.evaluate(x, y[::-1], method=3)
    with pytest.raises(SettingError, match="folds must be between 2 and"):
        model.evaluate(x, y, method=1)


# ---------------------------------------------------------------------------------------------- honest probabilities


def doubled(n: int = 400) -> tuple[dict[str, Any], Any]:
    """Two classes and one column that is there six times over: a Naive Bayes model is far too sure."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    side, city = rng.normal(size=n) + y, np.where(rng.random(n) < 0.3 + 0.4 * y, "b", "a")
    return {**{f"side {i}": side for i in range(6)}, "city": city}, y


@pytest.mark.parametrize("kind", ["temperature", "isotonic"])
def test_calibration_makes_the_probabilities_honest(kind: Any) -> None:
    x, y = doubled()
    raw, honest = (
        NaiveBayes(classical=True).fit(x, y),
        NaiveBayes(classical=True, calibration=kind).fit(x, y),
    )
    report = honest.calibration_
    assert report.before.log_loss.value == pytest.approx(raw.evaluate(x, y).log_loss.value)
    assert report.before.ece == pytest.approx(raw.evaluate(x, y).ece)
    assert report.after.log_loss.value == pytest.approx(honest.evaluate(x, y).log_loss.value)
    assert report.after.log_loss.value < 0.75 * report.before.log_loss.value
    assert report.after.ece < 0.5 * report.before.ece
    np.testing.assert_allclose(honest.predict_proba(x).sum(axis=1), 1.0)
    # It helps on rows that were not learned, too.
    new, truth = {name: values[:200] for name, values in x.items()}, y[:200]
    part = {name: values[200:] for name, values in x.items()}
    losses = [
        NaiveBayes(classical=True, calibration=c).fit(part, y[200:]).evaluate(new, truth, method="test").log_loss.value
        for c in (None, kind)
    ]
    assert losses[1] < losses[0]


def test_a_temperature_changes_no_decision() -> None:
    x, y = doubled()
    raw, honest = (
        NaiveBayes(classical=True).fit(x, y),
        NaiveBayes(classical=True, calibration="temperature").fit(x, y),
    )
    np.testing.assert_array_equal(honest.predict(x), raw.predict(x))
    assert honest.predict_proba(x).max() < raw.predict_proba(x).max()
    np.testing.assert_allclose(np.exp(honest.predict_log_proba(x)), honest.predict_proba(x))


def test_the_calibration_report_prints() -> None:
    lines = str(NaiveBayes(classical=True, calibration="temperature").fit(*doubled()).calibration_).splitlines()
    assert lines[0] == "leave-one-out; calibration cross-fitted"
    assert lines[1].split() == ["before", "after"]
    assert [line.rsplit(maxsplit=2)[0].strip() for line in lines[2:]] == [
        "log loss",
        "accuracy",
        "calibration error (ECE)",
    ]


def test_fitting_again_without_calibration_forgets_it() -> None:
    x, y = doubled()
    fitted = NaiveBayes(classical=True, calibration="temperature").fit(x, y).set_params(calibration=None).fit(x, y)
    assert not hasattr(fitted, "calibration_")
    np.testing.assert_array_equal(fitted.predict_proba(x), NaiveBayes(classical=True).fit(x, y).predict_proba(x))


def test_a_calibrated_model_keeps_its_calibration_when_rows_are_unlearned() -> None:
    x, y = doubled()
    fitted = NaiveBayes(classical=True, calibration="temperature").fit(x, y)
    before = fitted.model_.settings.calibration
    fitted.unlearn({name: values[:10] for name, values in x.items()}, y[:10])
    assert fitted.model_.settings.calibration == before


# ---------------------------------------------------------------------------------------------- drawing rows


@every_frame
def test_drawn_rows_come_in_what_the_training_rows_came_in(make: Any) -> None:
    x, y = birds()
    table = make({**x, "flag": [i % 3 == 0 for i in range(344)], "name": [f"bird {i}" for i in range(344)]})
    drawn, labels = NaiveBayes(classical=True).fit(table, y).sample(50, random_state=0)
    assert type(drawn) is type(table)
    columns = {name: list(drawn[name].to_numpy()) for name in [*x, "flag"]}
    assert set(columns["island"]) <= {"Biscoe", "Dream", "Torgersen"}
    assert {type(value) for value in drawn["flag"].to_numpy().tolist()} == {bool}
    assert (len(labels), set(labels)) == (50, {"Adelie", "Chinstrap", "Gentoo"})
    names = drawn.column_names if hasattr(drawn, "column_names") else list(drawn.columns)
    assert names == [*x, "flag"]  # in the order of the table; what is no evidence is not drawn


@every_frame
def test_whole_numbers_are_drawn_as_whole_numbers(make: Any) -> None:
    x = {"year": [2007, 2008, 2009, 2007, 2008, 2008], "visits": [0, 3, 1, 4, 2, 5], "zip": [10, 20, 10, 20, 10, 20]}
    fitted = NaiveBayes(kind={"visits": "count", "zip": "category"}).fit(make({**x, "side": SIDE}), Y)
    for changed in (fitted, fitted + fitted, fitted.select(["visits", "year", "zip", "side"])):
        for missing in (False, True):  # none was missing in training
            drawn, _ = changed.sample(30, random_state=0, missing=missing)
            for name in x:
                assert drawn[name].to_numpy().dtype.kind == "i", name
            assert drawn["side"].to_numpy().dtype.kind == "f"
    fitted.partial_fit(make({**x, "year": [2007.5] * 6, "side": SIDE}), Y)
    drawn, _ = fitted.sample(30, random_state=0)
    assert drawn["year"].to_numpy().dtype.kind == "f"  # as in the rows since
    assert drawn["visits"].to_numpy().dtype.kind == "i"


def test_whole_numbers_with_missing_values_and_in_arrays() -> None:
    fitted = NaiveBayes().fit(pl.DataFrame({"n": [None, 2, 3, None, 4, 5]}), Y)
    drawn, _ = fitted.sample(200, random_state=0, missing=True)
    assert drawn["n"].dtype == pl.Int64
    assert 20 < drawn["n"].null_count() < 120
    drawn, _ = NaiveBayes().fit(np.arange(12).reshape(6, 2), Y).sample(7, random_state=0)
    assert drawn.dtype.kind == "i"
    far = NaiveBayes().fit({"n": [2**63 + 5, 2**63, 2**63 + 9, 2**63, 2**63 + 1, 2**63]}, Y)
    assert far.sample(5, random_state=0)[0]["n"].dtype.kind == "i"


def test_drawn_rows_of_a_dict_a_list_and_an_array() -> None:
    assert set(NaiveBayes(classical=True).fit(X, Y).sample(3)[0]) == {"city", "side"}
    drawn, _ = NaiveBayes(classical=True).fit(np.column_stack((SIDE, SIDE[::-1])), Y).sample(7, random_state=0)
    assert drawn.shape == (7, 2)
    assert drawn.dtype == np.float64


@every_frame
@pytest.mark.parametrize("how", ["select", "add", "partial_fit", "with_prior", "unlearn", "pickle"])
def test_a_model_made_from_another_draws_the_same_kind_of_table(make: Any, how: str) -> None:
    fitted = NaiveBayes(classical=True).fit(make(X), Y)
    changes = {
        "select": lambda: fitted.select(["side"]),
        "add": lambda: fitted + fitted,
        "partial_fit": lambda: fitted.partial_fit(X, Y),
        "with_prior": lambda: fitted.with_prior("uniform"),
        "unlearn": lambda: fitted.unlearn(make(taken(X, [0])), Y[:1]),
        "pickle": lambda: pickle.loads(pickle.dumps(fitted)),
    }
    assert type(changes[how]().sample(2, random_state=0)[0]) is type(make(X))


@pytest.mark.parametrize("form", ["pandas", "polars", "dict"])
def test_refitting_drawn_rows_recovers_the_model(form: str) -> None:
    x, y = birds()
    fitted = NaiveBayes(classical=True, kind={"year": "category"}).fit(FORMS[form](x), y)
    drawn, labels = fitted.sample(20_000, random_state=0)
    again = NaiveBayes(classical=True, kind={"year": "category"}).fit(drawn, labels)
    assert [c.kind for c in again.schema_.columns] == [c.kind for c in fitted.schema_.columns]
    np.testing.assert_allclose(np.exp(again.model_.log_prior), np.exp(fitted.model_.log_prior), atol=0.015)
    mine, theirs = (m.model_.parameters for m in (fitted, again))
    np.testing.assert_allclose(theirs["gaussian"].mean, mine["gaussian"].mean, rtol=0.01)
    np.testing.assert_allclose(theirs["gaussian"].variance, mine["gaussian"].variance, rtol=0.08)
    np.testing.assert_allclose(np.exp(theirs["categorical"].table), np.exp(mine["categorical"].table), atol=0.02)


@every_form
def test_cells_are_missing_on_request_as_often_as_in_training(make: Any) -> None:
    """Of the no-rows half lack the side and a third the city; of the yes-rows none."""
    x = {"side": [None, 2.0, 3.0, None, 4.0, 5.0], "city": ["a", None, "b", "a", "a", "b"], "n": [1, 2, 3, 4, 9, 9]}
    y = ["no", "no", "no", "no", "yes", "yes"]
    fitted = NaiveBayes(classical=True).fit(make(x), y)
    drawn, labels = fitted.sample(4000, random_state=0, missing=True)
    again = NaiveBayes(classical=True, kind={"side": "numeric", "city": "category"}).fit(drawn, labels)
    share = again.tally_.blocks["gaussian"].summary.weight / again.class_count_[:, None]
    np.testing.assert_allclose(share, [[0.5, 1.0], [1.0, 1.0]], atol=0.03)
    city = again.tally_.blocks["categorical"].summary.weight[:, 0] / again.class_count_
    np.testing.assert_allclose(city, [0.75, 1.0], atol=0.03)
    full, _ = fitted.sample(100, random_state=0)
    assert NaiveBayes(classical=True).fit(full, ["no", "yes"] * 50).tally_.blocks["gaussian"].summary.weight.min() == 50


def test_missing_values_drawn_for_polars_are_its_own() -> None:
    """Polars knows null from NaN, and a missing number is null."""
    fitted = NaiveBayes(classical=True).fit(pl.DataFrame({"side": [None, 2.0, 3.0, None, 4.0, 5.0]}), Y)
    drawn, _ = fitted.sample(200, random_state=0, missing=True)
    assert 20 < drawn["side"].null_count() < 120


def test_drawing_is_repeatable(model: NaiveBayes) -> None:
    (first, y), (second, z) = (model.sample(20, random_state=7, missing=True) for _ in range(2))
    np.testing.assert_array_equal(y, z)
    for name, values in first.items():
        np.testing.assert_array_equal(np.asarray(values, dtype=str), np.asarray(second[name], dtype=str))
    assert model.sample(20, random_state=8)[1].tolist() != y.tolist()
    with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1"):
        model.sample(0)


# ---------------------------------------------------------------------------------------------- the model itself


def test_pitfall_25_parameters_by_formula(model: NaiveBayes) -> None:
    """K − 1 + K·Σ(C − 1) + 2·K·d against a table of K·ΠC cells with a full normal distribution in each."""
    k, levels, d = 3, [3, 2], 5
    assert model.n_parameters_ == (k - 1) + k * sum(c - 1 for c in levels) + 2 * k * d
    assert model.n_joint_parameters_ == k * math.prod(levels) * (1 + d + d * (d + 1) // 2) - 1
    shared = NaiveBayes(classical=True, variance="shared").fit(*birds())
    assert shared.n_parameters_ == (k - 1) + k * sum(c - 1 for c in levels) + k * d + d


def test_pitfall_25_levels_of_missing_values_and_counts_are_parameters_too() -> None:
    x = {"city": ["a", None, "a", "b", "b", "b"], "visits": [1, 2, 3, 4, 5, 6]}
    fitted = NaiveBayes(classical=True, missing="level", kind={"visits": "count"}).fit(x, Y)
    assert fitted.n_parameters_ == 1 + 2 * (3 - 1) + 2 * 1
    bag = NaiveBayes(classical=True, family={"visits": "multinomial", "calls": "multinomial"}).fit(
        {**x, "calls": [1] * 5 + [0]}, Y
    )
    assert bag.n_parameters_ == 1 + 2 * (2 - 1) + 2 * (2 - 1)


def test_summary_tells_rows_columns_and_classes(model: NaiveBayes) -> None:
    lines = model.summary().splitlines()
    assert lines[0] == "NaiveBayes: 344 rows, 7 columns, 3 classes, 41 parameters"
    assert model.schema_.described() in model.summary()
    assert [line.split() for line in lines[-3:]] == [
        ["Adelie", "152", "0.4419"],
        ["Chinstrap", "68", "0.1977"],
        ["Gentoo", "124", "0.3605"],
    ]


def test_summary_is_aligned_and_lists_the_commonest_of_many_classes() -> None:
    y = [f"a class with a long name {i:03d}" for i in range(200) for _ in range(2 + (i == 150))]
    fitted = NaiveBayes(classical=True).fit({"side": [float(i % 7) for i in range(len(y))]}, y)
    classes = fitted.summary().splitlines()[5:]
    assert [line.split()[-2:] for line in (classes[0], classes[-2])] == [["rows", "prior"], ["3", "0.0075"]]
    assert classes[-1] == "and 170 other classes"
    assert len({len(line) for line in classes[:-1]}) == 1
    assert str(fitted.schema_).endswith("long name 029 and 170 more")
    assert "and 170 other classes" in fitted._repr_html_()
    assert NaiveBayes().fit({"side": [1.5]}, ["a"]).summary().startswith("NaiveBayes: 1 row, 1 column, 1 class,")


def test_repr_shows_what_was_changed() -> None:
    assert (
        repr(NaiveBayes(classical=True, alpha=2.0, kind={"zip": "category"}))
        == "NaiveBayes(alpha=2.0, classical=True, kind={'zip': 'category'})"
    )


def test_html_has_the_schema_and_the_classes() -> None:
    """What a notebook shows of a fitted model: its columns with the reasons, its classes with rows and prior."""
    assert "NaiveBayes" in NaiveBayes(classical=True)._repr_html_()
    fitted = NaiveBayes(classical=True).fit(
        {"<b>city</b>": CITY, "side": SIDE}, ["<no>", "yes", "<no>", "yes", "yes", "yes"]
    )
    page = fitted._repr_html_()
    for part in ("&lt;b&gt;city&lt;/b&gt;", "text, 2 levels in 6 rows", "numbers from 1 to 4", "&lt;no&gt;", "0.3333"):
        assert part in page, part
    assert "<b>city</b>" not in page
    assert "<no>" not in page


def test_a_mixed_model_says_that_it_is_not_linear(model: NaiveBayes) -> None:
    with pytest.raises(NotAvailableError):
        _ = model.coef_
    with pytest.raises(NotAvailableError):
        model.to_logistic_regression()


def test_help_lists_every_parameter_and_attribute(model: NaiveBayes) -> None:
    text = NaiveBayes.__doc__ or ""
    for name in (
        *NaiveBayes(classical=True).get_params(),
        "schema_",
        "classes_",
        "class_count_",
        "calibration_",
        "evaluation_",
        "receipt_",
        "alpha_",
    ):
        assert f"{name} :" in text, name


# ---------------------------------------------------------------------------------------------- among scikit-learn's


@every_form
def test_unfitted_models_say_so(make: Any) -> None:
    from sklearn.exceptions import NotFittedError

    for ask in ("predict", "explain", "sample", "summary", "select", "estimate_prior"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(NaiveBayes(classical=True), ask)(*([] if ask in ("sample", "summary") else [make(X)]))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_pipeline_search_and_cross_validation(make: Any) -> None:
    x, y = birds()
    table = make(x)
    pipeline = make_pipeline(FunctionTransformer(), NaiveBayes(classical=True))
    scores = cross_val_score(pipeline, table, y, cv=4)
    assert scores.min() > 0.9
    grid = {"naivebayes__alpha": [0.5, 1e6], "naivebayes__drop": [None, ["island"]]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss").fit(table, y)
    assert search.best_params_["naivebayes__alpha"] == 0.5
    assert search.predict(table).shape == (344,)
    posterior = cross_val_predict(NaiveBayes(classical=True), table, y, cv=3, method="predict_proba")
    assert log_loss(y, posterior) < 0.2


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_scikit_learns_calibration(make: Any) -> None:
    x, y = birds()
    posterior = CalibratedClassifierCV(NaiveBayes(classical=True), cv=3).fit(make(x), y).predict_proba(make(x))
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    assert log_loss(y, posterior) < 0.3


def test_permutation_importance_finds_the_column_that_tells() -> None:
    rng = np.random.default_rng(0)
    city = rng.choice(["a", "b"], 200)
    x = pd.DataFrame({"noise": rng.normal(size=200), "city": city, "word": rng.choice(["u", "v"], 200)})
    found = permutation_importance(
        NaiveBayes(classical=True).fit(x, city == "a"), x, city == "a", n_repeats=3, random_state=0
    )
    assert found.importances_mean.argmax() == 1
    assert found.importances_mean[1] > 0.3


COPIES = {
    "pickle": lambda fitted: pickle.loads(pickle.dumps(fitted)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@every_frame
@pytest.mark.parametrize("how", COPIES)
def test_pitfall_31_copies_answer_alike_and_learn_on_their_own(make: Any, how: str) -> None:
    x, y = birds()
    fitted = NaiveBayes(classical=True, calibration="temperature", missing={"sex": "level"}).fit(make(x), y)
    expected = fitted.predict_proba(make(x))
    twin = COPIES[how](fitted)
    np.testing.assert_array_equal(twin.predict_proba(make(x)), expected)
    assert str(twin.schema_) == str(fitted.schema_)
    twin.unlearn(make(taken(x, [0, 1])), y[:2])
    np.testing.assert_array_equal(fitted.predict_proba(make(x)), expected)


def test_pitfall_31_a_clone_has_the_parameters_and_nothing_else() -> None:
    fitted = NaiveBayes(classical=True, kind={"side": "category"}, alpha={"city": 2.0}, drop=["city"]).fit(X, Y)
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    assert not hasattr(twin, "model_")


@pytest.mark.parametrize(
    "change", [{"alpha": 50.0}, {"prior": "uniform"}, {"strict": True}, {"var_smoothing": 1.0}], ids=str
)
def test_pitfall_31_parameters_set_after_fit_count_from_the_next_fit(change: dict[str, Any]) -> None:
    y = ["no", "no", "yes", "no", "no", "yes"]
    fitted = NaiveBayes(classical=True).fit(X, y)
    before = fitted.predict_proba(X)
    fitted.set_params(**change)
    np.testing.assert_array_equal(fitted.predict_proba(X), before)
    np.testing.assert_array_equal(
        fitted.fit(X, y).predict_proba(X), NaiveBayes(classical=True, **change).fit(X, y).predict_proba(X)
    )


@every_frame
def test_pitfall_31_threads_may_predict_on_one_model_at_once(make: Any) -> None:
    x, y = birds()
    table = make(x)
    expected = NaiveBayes(classical=True).fit(table, y).predict_proba(table)
    for _ in range(3):  # parameters are estimated on first use: let the threads race for it
        fitted = NaiveBayes(classical=True).fit(table, y)
        with ThreadPoolExecutor(8) as pool:
            for answer in pool.map(lambda _: fitted.predict_proba(table), range(16)):  # noqa: B023
                np.testing.assert_array_equal(answer, expected)


def test_explanations_go_to_json(model: NaiveBayes) -> None:
    for make in (pd.DataFrame, pl.DataFrame, dict):
        plain = json.loads(json.dumps(model.explain(make(taken(birds()[0], [0]))).as_dict(), allow_nan=False))
        assert plain["label"] == "Adelie"
        assert {e["column"]: e["value"] for e in plain["evidence"]}["body_mass_g"] == 3750
