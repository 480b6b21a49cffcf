"""How `NaiveBayes` learns: missing values, rare and unseen levels, smoothing, priors, weights, batches, unlearning."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tallybayes import NaiveBayes, Tokens
from tallybayes.data.tables import TableBatch
from tallybayes.errors import ColumnWarning, DataError, SchemaError, SettingError, UnlearnError
from tallybayes.estimators._fitted import Fitted
from tests.frames import birds, every_form, taken

Y = ["no", "yes", "no", "yes", "no", "yes"]
CITY = ["a", "a", "a", "b", "b", "b"]  # no: a a b, yes: a b b
SIDE = [2.0, 3.5, 1.0, 4.0, 2.5, 3.0]


def table_of(model: NaiveBayes, name: str, levels: list[Any]) -> Any:
    """P(level | class), shape (levels, classes), as the model answers it."""
    position = model.schema_.names.index(name)
    others = {c.name: [None] * len(levels) for c in model.schema_.columns}
    return np.exp(model.contributions({**others, name: levels})[:, :, position])


def refitted(columns: Any, y: Any, row: int, weight: Any = None, **params: Any) -> Any:
    """Log posterior of a row by a model that never saw it."""
    rest = np.delete(np.arange(len(y)), row)
    model = NaiveBayes(classical=True, **params).fit(
        columns.iloc[rest], np.asarray(y)[rest], None if weight is None else np.asarray(weight)[rest]
    )
    return model.predict_log_proba(columns.iloc[[row]])[0]


# ---------------------------------------------------------------------------------------------- missing values


@every_form
def test_pitfall_22_a_row_without_a_value_gives_the_prior(make: Any) -> None:
    x, y = birds()
    model = NaiveBayes(classical=True).fit(x, y)
    share = [y.count(label) / len(y) for label in model.classes_]
    np.testing.assert_allclose(model.predict_proba(make({name: [None] for name in x})), [share])


def test_a_missing_category_is_no_evidence_in_training() -> None:
    """no: a a, yes: b b, and one hole each: as if those two rows had no city at all."""
    model = NaiveBayes(classical=True, alpha=0).fit({"city": ["a", None, "a", "b", None, "b"], "side": SIDE}, Y)
    np.testing.assert_allclose(table_of(model, "city", ["a", "b"]), [[1, 0], [0, 1]])
    np.testing.assert_allclose(np.exp(model.model_.log_prior), [0.5, 0.5])  # the rows themselves count


def test_missing_can_be_a_level_of_its_own() -> None:
    """no: a, hole, b; yes: hole, hole, b. Three levels: (n + 1) / (3 + 3)."""
    model = NaiveBayes(classical=True, missing="level").fit({"city": ["a", None, None, None, "b", "b"]}, Y)
    assert model.schema_.columns[0].levels == ("a", "b", None)
    assert model.schema_.columns[0].reason == "text, 2 levels in 6 rows, 3 missing; missing is a level"
    np.testing.assert_allclose(table_of(model, "city", ["a", "b", None]), np.array([[2, 1], [2, 2], [2, 3]]) / 6)


def test_missing_can_be_a_level_in_some_columns() -> None:
    x = {"city": ["a", None, "a", None, "b", "b"], "flag": [True, None, False, True, None, True]}
    model = NaiveBayes(classical=True, missing={"flag": "level", "city": "ignore"}).fit(x, Y)
    assert [c.levels for c in model.schema_.columns] == [("a", "b"), (False, True, None)]


def test_a_missing_number_always_says_nothing() -> None:
    x = {"side": [*SIDE[:5], None]}
    model = NaiveBayes(classical=True, missing="level").fit(x, Y)
    np.testing.assert_allclose(model.predict_proba({"side": [None]}), [[0.5, 0.5]])


def test_a_missing_value_that_training_had_none_of_takes_the_smoothing() -> None:
    model = NaiveBayes(classical=True, missing="level").fit({"city": CITY}, Y)
    np.testing.assert_allclose(table_of(model, "city", [None]), [[1 / 6, 1 / 6]])


@pytest.mark.parametrize("value", ["yes", 7])
def test_a_single_value_and_missing_values_are_two_levels_if_missing_is_one(value: Any) -> None:
    """Whether a field was filled in at all is the evidence here."""
    x = {"smoker": [None, value, None, value, None, value], "side": SIDE}
    model = NaiveBayes(classical=True, missing="level", kind={"smoker": "category"} if value == 7 else None).fit(x, Y)
    np.testing.assert_allclose(table_of(model, "smoker", [value]), [[1 / 5, 4 / 5]])


def test_the_level_of_missing_values_survives_a_new_level() -> None:
    """no: hole, hole, c, d; yes: b, c: the hole stays what it was when d comes."""
    model = NaiveBayes(classical=True, missing="level").partial_fit(
        {"city": [None, "c", "b", None]}, ["no", "no", "yes", "no"]
    )
    model.partial_fit({"city": ["d", "c"]}, ["no", "yes"])
    found = table_of(model, "city", [None, "b", "c", "d"])
    np.testing.assert_allclose(found, [[3 / 8, 1 / 6], [1 / 8, 2 / 6], [2 / 8, 2 / 6], [2 / 8, 1 / 6]])


def test_the_level_of_missing_values_survives_the_union_of_sites() -> None:
    north = NaiveBayes(classical=True, missing="level").fit({"city": [None, "c", "b", None]}, ["no", "no", "yes", "no"])
    south = NaiveBayes(classical=True, missing="level").fit({"city": ["d", None, "e"]}, ["no", "yes", "yes"])
    whole = NaiveBayes(classical=True, missing="level").fit(
        {"city": [None, "c", "b", None, "d", None, "e"]}, ["no", "no", "yes", "no", "no", "yes", "yes"]
    )
    cities = ["b", "c", "d", "e", None]
    np.testing.assert_allclose(table_of(north + south, "city", cities), table_of(whole, "city", cities))


def test_pitfall_22_a_column_given_to_be_numeric_without_a_value_is_noted() -> None:
    with pytest.warns(ColumnWarning, match="no value at all in column 'x'"):
        NaiveBayes(classical=True, kind={"x": "numeric"}).fit({"x": [None] * 6, "side": SIDE}, Y)


# ---------------------------------------------------------------------------------------------- unseen levels


@every_form
@pytest.mark.parametrize("level", ["z", "A", "", "None"])
def test_pitfall_15_an_unseen_level_is_no_evidence(make: Any, level: str) -> None:
    model = NaiveBayes(classical=True).fit(make({"city": CITY, "side": SIDE}), Y)
    np.testing.assert_array_equal(
        model.predict_proba(make({"city": [level], "side": [2.0]})),
        model.predict_proba(make({"city": [None], "side": [2.0]})),
    )


@every_form
def test_an_unseen_level_may_take_the_mass_of_the_smoothing(make: Any) -> None:
    """no: a a b, yes: b: 1 / (3 + 2) and 1 / (1 + 2)."""
    model = NaiveBayes(classical=True, unseen="smooth").fit(
        make({"city": ["a", "a", "b", "b"]}), ["no", "no", "no", "yes"]
    )
    np.testing.assert_allclose(np.exp(model.contributions(make({"city": ["z"]}))[0, :, 0]), [1 / 5, 1 / 3])


@pytest.mark.parametrize("code", [10**9, -5, 2**62])
def test_pitfall_14_huge_and_negative_codes_are_levels_like_any_other(code: int) -> None:
    model = NaiveBayes(classical=True, kind={"x": "category"}).fit({"x": [code, 1, code, 2, 1, 1]}, Y)
    assert set(model.schema_.columns[0].levels or ()) == {code, 1, 2}
    np.testing.assert_allclose(table_of(model, "x", [code]), [[3 / 6, 1 / 6]])


@pytest.mark.parametrize("n_levels", [2, 3, 255, 256, 257, 1000])
def test_pitfall_16_tables_sum_to_one(n_levels: int) -> None:
    words = [f"w{i % n_levels}" for i in range(2 * n_levels)]
    model = NaiveBayes(classical=True, alpha=0.7).fit(
        {"x": words}, ["no", "yes", "no"] * (2 * n_levels // 3) + ["yes"] * (2 * n_levels % 3)
    )
    np.testing.assert_allclose(table_of(model, "x", sorted(set(words))).sum(axis=0), [1.0, 1.0])


# ---------------------------------------------------------------------------------------------- rare levels


RARE = {"city": ["a", "a", "a", "b", "c", "a", "a", "d"]}  # no: a a a b, yes: c a a d
RARE_Y = ["no"] * 4 + ["yes"] * 4


def test_rare_levels_share_one_probability() -> None:
    """b, c and d are one level: no 1 of 4, yes 2 of 4, with two levels in all."""
    model = NaiveBayes(classical=True, min_count=2).fit(RARE, RARE_Y)
    rare, common = [2 / 6, 3 / 6], [4 / 6, 3 / 6]
    np.testing.assert_allclose(table_of(model, "city", ["a", "b", "c", "d"]), [common, rare, rare, rare])
    assert model.n_parameters_ == 1 + 2 * (2 - 1)
    assert model.schema_.columns[0].levels == ("a", "b", "c", "d")  # nothing is thrown away


def test_a_rare_level_becomes_common_when_more_rows_come() -> None:
    model = NaiveBayes(classical=True, min_count=2).partial_fit(RARE, RARE_Y).partial_fit({"city": ["b"]}, ["yes"])
    np.testing.assert_allclose(table_of(model, "city", ["b", "c"]), [[2 / 7, 2 / 8], [1 / 7, 3 / 8]])


def test_min_count_is_a_weight() -> None:
    half = NaiveBayes(classical=True, min_count=2).fit(RARE, RARE_Y, sample_weight=np.full(8, 0.3))
    np.testing.assert_allclose(table_of(half, "city", ["a"]), table_of(half, "city", ["b"]))  # 5 · 0.3 is below 2


@pytest.mark.parametrize("min_count", [1, 2, 2.5, 4])
@pytest.mark.parametrize("alpha", [0.5, {"size": 2.0, "city": 0.25}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_exact_with_rare_levels(min_count: float, alpha: Any, weighted: bool) -> None:
    """Without its row a level may turn rare; the declared levels keep the refitted models alike."""
    rng = np.random.default_rng(3)
    cities = pd.Categorical(rng.choice(list("aaaabbcd"), 16), categories=list("abcde"))
    sizes = pd.Categorical(np.where(np.arange(16) % 5 == 2, None, rng.choice(list("sml"), 16)), categories=list("sml"))
    x, y = pd.DataFrame({"city": cities, "size": sizes}), np.array(["no", "yes"] * 8)
    weight = rng.choice([0.5, 1.0, 1.7], 16) if weighted else np.ones(16)
    params = {"min_count": min_count, "alpha": alpha}
    found = NaiveBayes(classical=True, **params).fit(x, y, weight).leave_one_out(x, y, weight)
    np.testing.assert_allclose(found, [refitted(x, y, i, weight, **params) for i in range(16)], rtol=1e-9)


# ---------------------------------------------------------------------------------------------- smoothing


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1, 25.0])
def test_alpha_is_the_pseudocount_of_every_level(alpha: float) -> None:
    model = NaiveBayes(classical=True, alpha=alpha).fit(
        {"city": CITY, "flag": [True, True, True, False, False, True]}, Y
    )
    total = 3 + 2 * alpha
    np.testing.assert_allclose(table_of(model, "city", ["a"]), [[(2 + alpha) / total, (1 + alpha) / total]])
    np.testing.assert_allclose(table_of(model, "flag", [False]), [[(1 + alpha) / total, (1 + alpha) / total]])


def test_alpha_for_each_column() -> None:
    """Columns that the mapping does not name have 1."""
    model = NaiveBayes(classical=True, alpha={"city": 10.0}).fit({"city": CITY, "town": CITY}, Y)
    np.testing.assert_allclose(table_of(model, "city", ["a"]), [[12 / 23, 11 / 23]])
    np.testing.assert_allclose(table_of(model, "town", ["a"]), [[3 / 5, 2 / 5]])


@pytest.mark.parametrize("family", ["poisson", "multinomial"])
def test_alpha_of_a_counted_column_counts(family: str) -> None:
    x = {"visits": [0, 1, 2, 3, 4, 5], "calls": [3, 1, 0, 2, 2, 1]}
    families = dict.fromkeys(x, family)
    per_column = NaiveBayes(classical=True, family=families, alpha={"visits": 9.0, "calls": 9.0}).fit(x, Y)
    same = NaiveBayes(classical=True, family=families, alpha=9.0).fit(x, Y)
    np.testing.assert_allclose(per_column.predict_joint_log_proba(x), same.predict_joint_log_proba(x))


def test_auto_is_the_alpha_that_predicts_best() -> None:
    x, y = birds()
    model = NaiveBayes(classical=True, alpha="auto").fit(x, y)
    log_loss = {
        a: NaiveBayes(classical=True, alpha=a).fit(x, y).evaluate(x, y).log_loss.value
        for a in (1e-3, 0.01, 0.1, 1, 10, 100)
    }
    assert log_loss[1] > model.evaluate(x, y).log_loss.value < 1.02 * min(log_loss.values())  # to a weak pull towards 1
    given = NaiveBayes(classical=True, alpha=model.alpha_).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), given.predict_proba(x))


def test_auto_without_categories_changes_nothing() -> None:
    x = {"side": SIDE}
    model = NaiveBayes(classical=True, alpha="auto").fit(x, Y)
    assert not hasattr(model, "alpha_")
    np.testing.assert_array_equal(model.predict_proba(x), NaiveBayes(classical=True).fit(x, Y).predict_proba(x))


@pytest.mark.parametrize("params", [{"alpha": "auto"}, {"calibration": "temperature"}], ids=str)
def test_what_looks_at_all_rows_needs_fit(params: dict[str, Any]) -> None:
    model = NaiveBayes(classical=True, **params)
    with pytest.raises(SettingError, match="need all rows at once: use fit"):
        model.partial_fit({"city": CITY}, Y)
    assert vars(model) == vars(NaiveBayes(classical=True, **params))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_pitfall_24_the_variance_floor_knows_numbers_only(scale: float) -> None:
    """Codes of a category, however large, do not lift the variances of the numbers."""
    x = {"side": SIDE, "code": [int(c) for c in np.array([1, 2, 3, 1, 2, 3]) * scale * 10**6]}
    model = NaiveBayes(classical=True, kind={"code": "category"}, var_smoothing=0.5).fit(x, Y)
    alone = NaiveBayes(classical=True, var_smoothing=0.5).fit({"side": SIDE}, Y)
    expected = alone.model_.parameters["gaussian"]
    assert model.model_.parameters["gaussian"].epsilon == expected.epsilon == pytest.approx(0.5 * np.var(SIDE))
    np.testing.assert_array_equal(model.model_.parameters["gaussian"].variance, expected.variance)


def test_the_variance_may_be_shared() -> None:
    """Mean square about the class means: no 1.1667, yes 0.5, so one of 1/3 in both."""
    model = NaiveBayes(classical=True, variance="shared", var_smoothing=0.0).fit({"side": SIDE}, Y)
    sides = np.array(SIDE).reshape(3, 2)
    within = ((sides - sides.mean(axis=0)) ** 2).mean()
    np.testing.assert_allclose(model.model_.parameters["gaussian"].variance, [[within], [within]])


# ---------------------------------------------------------------------------------------------- priors


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, [4 / 6, 2 / 6]),
        ({"prior_alpha": 1.0}, [5 / 8, 3 / 8]),
        ({"prior": "uniform"}, [1 / 2, 1 / 2]),
        ({"prior": "uniform", "prior_alpha": 3.0}, [1 / 2, 1 / 2]),
        ({"prior": {"yes": 0.9, "no": 0.1}}, [0.1, 0.9]),
        ({"prior": {"yes": 0.0, "no": 1.0}}, [1.0, 0.0]),
    ],
    ids=str,
)
def test_pitfall_13_priors(params: dict[str, Any], expected: list[float]) -> None:
    model = NaiveBayes(classical=True, **params).fit({"side": SIDE}, ["no", "no", "yes", "no", "no", "yes"])
    np.testing.assert_allclose(model.predict_proba({"side": [None]}), [expected])


@pytest.mark.parametrize(
    ("prior", "why"),
    [
        ({"yes": 1.0}, "the prior names the classes"),
        ({"yes": 0.5, "no": 0.3, "maybe": 0.2}, "the prior names the classes"),
        ({"yes": 0.5, "No": 0.5}, "the prior names the classes"),
        ({"yes": 1.5, "no": -0.5}, "non-negative"),
        ({"yes": 0.5, "no": 0.4}, "sum of the priors should be 1"),
        ({"yes": np.nan, "no": 0.5}, "non-negative"),
        ("flat", "The 'prior' parameter of NaiveBayes must be"),
    ],
    ids=str,
)
def test_pitfall_13_bad_priors_fail_before_a_row_is_counted(prior: Any, why: str) -> None:
    model = NaiveBayes(classical=True, prior=prior)
    with pytest.raises(ValueError, match=why):
        model.fit({"side": SIDE}, Y)
    assert vars(model) == vars(NaiveBayes(classical=True, prior=prior))


def test_pitfall_13_a_given_prior_survives_more_rows() -> None:
    model = NaiveBayes(classical=True, prior={"no": 0.2, "yes": 0.8}).partial_fit({"side": SIDE}, Y)
    model.partial_fit({"side": SIDE[:3]}, ["no"] * 3)
    np.testing.assert_allclose(model.predict_proba({"side": [None]}), [[0.2, 0.8]])
    before = pickle.dumps(model)
    with pytest.raises(SettingError, match=r"the prior names the classes \['no', 'yes'\], the data has .*'maybe'"):
        model.partial_fit({"side": SIDE[:3]}, ["maybe"] * 3)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("prior", ["uniform", {"no": 0.25, "yes": 0.75}, [0.25, 0.75]], ids=str)
def test_the_prior_can_be_changed_without_data(prior: Any) -> None:
    x = {"city": CITY, "side": SIDE}
    model = NaiveBayes(classical=True).fit(x, ["no", "no", "yes", "no", "no", "yes"])
    changed = model.with_prior(prior)
    given = {"no": 0.5, "yes": 0.5} if prior == "uniform" else {"no": 0.25, "yes": 0.75}
    expected = NaiveBayes(classical=True, prior=given).fit(x, ["no", "no", "yes", "no", "no", "yes"]).predict_proba(x)
    np.testing.assert_allclose(changed.predict_proba(x), expected)
    assert changed.get_params()["prior"] == ("uniform" if prior == "uniform" else given)
    np.testing.assert_allclose(model.predict_proba({"side": [None], "city": [None]}), [[4 / 6, 2 / 6]])  # as it was


def test_the_mix_of_another_population_is_found_from_its_rows() -> None:
    """One Gentoo in ten where training had more than one in three."""
    x, y = birds()
    model = NaiveBayes(classical=True).fit(x, y)
    gentoo = [i for i, label in enumerate(y) if label == "Gentoo"]
    others = [i for i, label in enumerate(y) if label != "Gentoo"]
    colony = taken(x, [*gentoo[:20], *others[:180]])
    shift = model.estimate_prior(colony)
    assert shift.prior["Gentoo"] == pytest.approx(0.1, abs=0.005)
    moved = model.with_prior(shift.prior)
    assert moved.predict_proba({name: [None] for name in x})[0, 2] == pytest.approx(shift.prior["Gentoo"])
    assert model.estimate_prior(colony, max_iter=1).n_iter == 1


# ---------------------------------------------------------------------------------------------- weights


def test_a_whole_weight_is_a_row_that_often() -> None:
    x, weight = {"city": [*CITY[:5], None], "side": [None, *SIDE[1:]]}, [3, 1, 2, 1, 4, 2]
    often = np.repeat(np.arange(6), weight)
    weighted_model = NaiveBayes(classical=True).fit(x, Y, weight)
    repeated = NaiveBayes(classical=True).fit(taken(x, often), np.array(Y)[often])
    np.testing.assert_allclose(weighted_model.predict_joint_log_proba(x), repeated.predict_joint_log_proba(x))


def test_pitfall_23_fractional_weights_are_not_truncated() -> None:
    """no: a ½, a ½, b ¼; yes: a ¼, b ¾, b 0.1."""
    model = NaiveBayes(classical=True, alpha=0).fit({"city": CITY}, Y, [0.5, 0.25, 0.5, 0.75, 0.25, 0.1])
    np.testing.assert_allclose(table_of(model, "city", ["a"]), [[1 / 1.25, 0.25 / 1.1]])
    np.testing.assert_allclose(model.class_count_, [1.25, 1.1])


def test_rows_of_no_weight_change_nothing_but_the_levels() -> None:
    x = {"city": [*CITY, "a"], "side": [*SIDE, 1e6]}
    model = NaiveBayes(classical=True, var_smoothing=0.1).fit(x, [*Y, "no"], [1, 1, 1, 1, 1, 1, 0])
    without = NaiveBayes(classical=True, var_smoothing=0.1).fit({"city": CITY, "side": SIDE}, Y)
    np.testing.assert_allclose(model.predict_joint_log_proba(x), without.predict_joint_log_proba(x))


@pytest.mark.parametrize(
    ("weight", "why"),
    [
        ([1, 1, 1, -1, 1, 1], "row 4"),
        ([1, 1, np.nan, 1, 1, 1], "row 3"),
        ([1, 1, 1], r"sample_weight.shape == \(3,\), expected \(6,\)"),
        ([0] * 6, "at least one non-zero number"),
    ],
    ids=["negative", "not a number", "too few", "all zero"],
)
def test_bad_weights_are_errors(weight: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        NaiveBayes(classical=True).fit({"side": SIDE}, Y, weight)


# ---------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("no", "yes"),
    [
        ("zebra", "ant"),
        (7, -3),
        (True, False),
        (2.0, 1.0),
        (datetime.date(2027, 1, 1), datetime.date(2026, 1, 1)),
        (pd.Timestamp("2027-01-01"), pd.Timestamp("2026-01-01")),
    ],
    ids=str,
)
@pytest.mark.parametrize("hold", [list, tuple, pd.Series, pl.Series, np.array], ids=lambda hold: hold.__module__)
def test_pitfall_17_labels_of_any_type_in_any_order(no: Any, yes: Any, hold: Any) -> None:
    y = [yes if label == "yes" else no for label in Y]
    model = NaiveBayes(classical=True).fit({"side": SIDE}, hold(y))
    assert [pd.Timestamp(c) if isinstance(no, pd.Timestamp) else c for c in model.classes_.tolist()] == [yes, no]
    assert model.predict({"side": [1.5]})[0] == no
    assert model.predict({"side": [3.7]})[0] == yes
    np.testing.assert_allclose(model.predict_proba({"side": [1.5]}).sum(), 1.0)


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(pd.Categorical(Y, categories=["yes", "no", "maybe"])),
        pl.Series(Y, dtype=pl.Enum(["yes", "no", "maybe"])),
        pd.Series(Y, dtype=object),
        pd.Series(Y, dtype="string"),
        pd.Series([label == "yes" for label in Y], dtype="boolean"),
        pd.Series([int(label == "yes") for label in Y], dtype="Int64"),
    ],
    ids=lambda labels: f"{type(labels).__module__.split('.')[0]} {labels.dtype}"[:25],
)
def test_pitfall_17_labels_of_columns_that_have_a_type_of_their_own(labels: Any) -> None:
    model = NaiveBayes(classical=True).fit({"side": SIDE}, labels)
    assert model.classes_.tolist() in (["no", "yes"], [False, True], [0, 1])
    np.testing.assert_array_equal(model.class_count_, [3, 3])
    assert (model.predict({"side": SIDE}) == np.asarray(labels)).mean() >= 5 / 6


@every_form
def test_the_target_may_be_a_column_of_the_table(make: Any) -> None:
    x, y = birds()
    table = make({**x, "species": y})
    model = NaiveBayes(classical=True).fit(table, target="species")
    assert "species" not in model.schema_.names
    assert model.feature_names_in_.tolist() == list(x)
    np.testing.assert_array_equal(
        model.predict_proba(make(x)), NaiveBayes(classical=True).fit(make(x), y).predict_proba(make(x))
    )
    again = NaiveBayes(classical=True).partial_fit(table, target="species")
    np.testing.assert_array_equal(again.predict_proba(make(x)), model.predict_proba(make(x)))


@every_form
def test_the_target_may_be_named_in_place_of_the_labels(make: Any) -> None:
    """The same table then serves every call: its target is no column that the model never saw."""
    x, y = birds()
    table, other = make({**x, "species": y}), NaiveBayes(classical=True).fit(x, y)
    model = NaiveBayes(classical=True).fit(table, "species")
    np.testing.assert_allclose(model.predict_proba(table), other.predict_proba(x))
    np.testing.assert_allclose(model.leave_one_out(table, "species"), other.leave_one_out(x, y), rtol=1e-9, atol=1e-9)
    folds = [m.evaluate(*rows, method=5).log_loss.value for m, rows in ((model, (table, "species")), (other, (x, y)))]
    assert folds[0] == pytest.approx(folds[1])
    part = make(taken({**x, "species": y}, range(10)))
    assert model.unlearn(part, "species").receipt_.rows == (10, 0, 0)
    model.partial_fit(part, "species")
    np.testing.assert_allclose(model.predict_proba(table), other.predict_proba(x), rtol=1e-9)


def test_a_target_is_forgotten_with_everything_else() -> None:
    """Fitted anew without it, the column is one that the model never saw."""
    model = NaiveBayes(classical=True).fit({"side": SIDE, "species": Y}, "species").fit({"side": SIDE}, Y)
    with pytest.warns(ColumnWarning, match="the model never saw column 'species'"):
        model.predict({"side": SIDE, "species": Y})


@pytest.mark.parametrize(
    ("target", "y", "why"),
    [
        ("speces", None, "the table has no column 'speces'; did you mean 'species'"),
        ("zzz", None, "the table has no column 'zzz'; it has columns 'side', 'species'"),
        ("species", Y, "pass either y or target, not both"),
        (None, None, "requires y to be passed"),
    ],
)
def test_a_target_that_is_not_there(target: Any, y: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        NaiveBayes(classical=True).fit({"side": SIDE, "species": Y}, y, target=target)


@pytest.mark.parametrize("missing_value", [None, np.nan, pd.NA], ids=str)
@pytest.mark.parametrize(
    "hold", [list, lambda y: np.array(y, dtype=object), pd.Series], ids=["list", "array", "series"]
)
@pytest.mark.parametrize("first", ["no", 3])
def test_a_row_without_a_label_is_an_error_that_names_it(missing_value: Any, hold: Any, first: Any) -> None:
    """Above all it is not a class called "nan"."""
    with pytest.raises(DataError, match="row 3"):
        NaiveBayes(classical=True).fit({"side": SIDE}, hold([first, first, missing_value, first, first, first]))


def test_pitfall_18_shapes_that_all_differ() -> None:
    """Five rows, three columns, four classes."""
    rng = np.random.default_rng(0)
    x = {"a": rng.normal(size=40), "b": rng.choice(list("xyz"), 40), "c": rng.random(40) < 0.5}
    model = NaiveBayes(classical=True).fit(x, np.arange(40) % 4)
    five = {name: values[:5] for name, values in x.items()}
    assert model.predict(five).shape == (5,)
    assert model.predict_proba(five).shape == model.predict_joint_log_proba(five).shape == (5, 4)
    assert model.contributions(five).shape == (5, 4, 3)
    assert model.score_samples(five).shape == (5,)
    np.testing.assert_allclose(model.predict_proba(five).sum(axis=1), 1.0)


def test_pitfall_29_a_number_to_regress_on_is_no_label() -> None:
    with pytest.raises(DataError, match=r"The target holds 2\.5 \(row 2\), a number to regress on"):
        NaiveBayes(classical=True).fit({"side": SIDE}, [1.0, 2.5, 3.0, 1.5, 2.0, 1.0])


def test_pitfall_29_more_classes_than_half_the_rows_is_suspicious() -> None:
    with pytest.warns(UserWarning, match="13 classes in 24 rows, more than half: is it a label at all"):
        NaiveBayes(classical=True).fit({"side": SIDE * 4}, [f"c{i % 13}" for i in range(24)])
    NaiveBayes(classical=True).fit({"side": SIDE * 4}, [f"c{i % 12}" for i in range(24)])  # half is not more than half


@pytest.mark.parametrize("method", ["score", "evaluate", "log_likelihood", "leave_one_out", "unlearn"])
def test_pitfall_38_a_label_with_a_dot_too_many_is_given(method: str) -> None:
    """Never a silent accuracy of 0 %."""
    model = NaiveBayes(classical=True).fit({"side": SIDE}, ["<=50K", ">50K"] * 3)
    with pytest.raises(UnlearnError if method == "unlearn" else DataError, match="did you mean '<=50K'"):
        getattr(model, method)({"side": SIDE}, ["<=50K.", ">50K."] * 3)


# ---------------------------------------------------------------------------------------------- batches


@every_form
@pytest.mark.parametrize("params", [{}, {"variance": "shared", "min_count": 3, "prior_alpha": 1.0}], ids=str)
def test_batches_give_the_model_of_all_rows(make: Any, params: dict[str, Any]) -> None:
    x, y = birds()
    order = np.random.default_rng(1).permutation(len(y))
    model = NaiveBayes(classical=True, **params)
    for part in np.array_split(order, 4):
        model.partial_fit(make(taken(x, part)), np.array(y)[part])
    whole = NaiveBayes(classical=True, **params).fit(x, y)
    np.testing.assert_allclose(model.predict_joint_log_proba(x), whole.predict_joint_log_proba(x), rtol=1e-10)


@pytest.mark.parametrize("is_given", [False, True])
def test_pitfall_06_one_row_at_a_time_gives_the_model_of_all_rows(is_given: bool) -> None:
    """A row alone is constant in every column; that must not rule the columns out for ever."""
    x = {"city": [*CITY[:5], None], "side": SIDE}
    model = NaiveBayes(classical=True, kind={"city": "category", "side": "numeric"} if is_given else None)
    for i in range(6):
        model.partial_fit(taken(x, [i]), Y[i : i + 1])
    whole = NaiveBayes(classical=True).fit(x, Y)
    np.testing.assert_allclose(model.predict_joint_log_proba(x), whole.predict_joint_log_proba(x), rtol=1e-10)


def test_a_column_that_starts_with_one_value_is_learned_later() -> None:
    """One without any value has no type to go by: it must be told."""
    x = {
        "city": [None, None, None, "a", "b", "b"],
        "town": ["a", "a", "a", "b", "a", "b"],
        "side": SIDE,
        "n": [5, 5, 5, 2, 3, 9],
    }
    model = NaiveBayes(classical=True, kind={"city": "category"})
    model.partial_fit(taken(x, [0, 1, 2]), Y[:3])
    model.partial_fit(taken(x, [3, 4, 5]), Y[3:])
    whole = NaiveBayes(classical=True).fit(x, Y)
    np.testing.assert_allclose(model.predict_joint_log_proba(x), whole.predict_joint_log_proba(x), rtol=1e-10)


def test_new_levels_and_new_classes_are_learned() -> None:
    x = {"city": ["b", "c", "b", "a", "d", "a"], "side": SIDE, "flag": [True, False, True, True, True, False]}
    y = ["no", "yes", "no", "maybe", "yes", "maybe"]
    model = NaiveBayes(classical=True).partial_fit(taken(x, [0, 1, 2]), y[:3])
    assert model.classes_.tolist() == ["no", "yes"]
    model.partial_fit(taken(x, [3, 4, 5]), y[3:])
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.schema_.columns[0].levels == ("a", "b", "c", "d")
    whole = NaiveBayes(classical=True).fit(x, y)
    np.testing.assert_allclose(model.predict_joint_log_proba(x), whole.predict_joint_log_proba(x), rtol=1e-10)


def test_pitfall_12_classes_can_be_expected() -> None:
    """A class that never came has no weight, and with prior_alpha its share of the prior."""
    model = NaiveBayes(classical=True, prior_alpha=1.0).partial_fit({"side": SIDE}, Y, classes=["yes", "never", "no"])
    assert model.classes_.tolist() == ["never", "no", "yes"]
    np.testing.assert_allclose(model.predict_proba({"side": [None]}), [[1 / 9, 4 / 9, 4 / 9]])
    plain = NaiveBayes(classical=True).partial_fit({"side": SIDE}, Y, classes=["yes", "never", "no"])
    np.testing.assert_allclose(
        plain.predict_proba({"side": [1.5]})[0, 1:],
        NaiveBayes(classical=True).fit({"side": SIDE}, Y).predict_proba({"side": [1.5]})[0],
    )


def test_labels_keep_their_type_when_more_rows_come() -> None:
    model = NaiveBayes(classical=True).partial_fit({"side": SIDE}, [1, 2] * 3).partial_fit({"side": SIDE}, [1, 3] * 3)
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.classes_.dtype.kind == "i"


def test_the_past_fades() -> None:
    """Half of two rows of a, then two of b: ½ · 2 against 2."""
    model = NaiveBayes(classical=True, decay=0.5, alpha=0, kind={"city": "category"})
    model.partial_fit({"city": ["a", "a", "b"]}, ["no", "no", "yes"]).partial_fit({"city": ["b", "b"]}, ["no", "no"])
    np.testing.assert_allclose(model.class_count_, [3.0, 0.5])
    np.testing.assert_allclose(table_of(model, "city", ["a", "b"]), [[1 / 3, 0], [2 / 3, 1]])


def test_fit_forgets_everything() -> None:
    model = NaiveBayes(classical=True).fit({"city": CITY, "side": SIDE}, Y).fit({"side": SIDE[::-1]}, ["p", "q"] * 3)
    fresh = NaiveBayes(classical=True).fit({"side": SIDE[::-1]}, ["p", "q"] * 3)
    assert model.classes_.tolist() == ["p", "q"]
    assert model.feature_names_in_.tolist() == ["side"]
    np.testing.assert_array_equal(model.predict_proba({"side": SIDE}), fresh.predict_proba({"side": SIDE}))


def broken_batches() -> dict[str, Any]:
    x = {"city": CITY, "side": SIDE}
    return {
        "infinite": lambda m: m.partial_fit({**x, "side": [1.0, np.inf, 3.0, 1.0, 2.0, 3.0]}, Y),
        "words for numbers": lambda m: m.partial_fit(pd.DataFrame({**x, "side": list("uvwuvw")}), Y),
        "too few labels": lambda m: m.partial_fit(x, Y[1:]),
        "a row without a label": lambda m: m.partial_fit(x, [*Y[:5], None]),
        "negative weight": lambda m: m.partial_fit(x, Y, sample_weight=[-1.0] * 6),
        "no rows": lambda m: m.partial_fit({"city": [], "side": []}, []),
        "bad setting": lambda m: m.set_params(decay=1.0).partial_fit({**x, "city": [[1]] * 6}, Y),
        "fit of bad rows": lambda m: m.fit({**x, "side": [1.0, np.inf, 3.0, 1.0, 2.0, 3.0]}, Y),
        "fit without weight": lambda m: m.fit(x, Y, [0.0] * 6),
        "never learned": lambda m: m.unlearn(x, ["no"] * 6),
        "a level never learned": lambda m: m.unlearn({"city": ["z"], "side": [2.0]}, ["no"]),
        "a class never learned": lambda m: m.unlearn({"city": ["a"], "side": [2.0]}, ["maybe"]),
    }


@pytest.mark.parametrize("case", broken_batches())
def test_pitfall_30_a_failed_call_leaves_the_model_as_it_was(case: str) -> None:
    model = NaiveBayes(classical=True).fit({"city": CITY, "side": SIDE}, Y)
    before = pickle.dumps(model)
    with pytest.raises((ValueError, TypeError)):
        broken_batches()[case](model)
    assert pickle.dumps(model) == before


def test_pitfall_30_the_row_that_failed_is_counted_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableBatch, "most_rows", 2)
    with pytest.raises(DataError, match=r"column 'side' is infinite \(row 5\)"):
        NaiveBayes(classical=True).fit({"city": CITY, "side": [*SIDE[:4], np.inf, 1.0]}, Y)


# ---------------------------------------------------------------------------------------------- unlearning


@every_form
def test_unlearning_gives_a_receipt(make: Any) -> None:
    x, y = birds()
    model = NaiveBayes(classical=True).fit(make(x), y)
    model.unlearn(make(taken(x, range(160))), y[:160])
    receipt = model.receipt_
    assert receipt.classes == ("Adelie", "Chinstrap", "Gentoo")
    assert receipt.rows == (152, 0, 8)
    assert receipt.weight == (152.0, 0.0, 8.0)
    assert receipt.before == (152.0, 68.0, 124.0)
    assert receipt.after == (0.0, 68.0, 116.0)


def test_the_receipt_tells_weights() -> None:
    model = NaiveBayes(classical=True).fit({"side": SIDE}, Y, [0.5, 1, 1.5, 1, 1, 1])
    model.unlearn({"side": SIDE[:3]}, Y[:3], [0.5, 1, 1.5])
    assert (model.receipt_.rows, model.receipt_.weight, model.receipt_.after) == ((2, 1), (2.0, 1.0), (1.0, 2.0))


@pytest.mark.parametrize(
    ("rows", "y", "why"),
    [
        ({"city": ["a"] * 4, "side": [2.0] * 4}, ["no"] * 4, "were not in the tally"),
        ({"city": ["z"], "side": [2.0]}, ["no"], "levels that it has never seen"),
        ({"city": ["a"], "side": [2000.0]}, ["no"], "were not in the tally"),
    ],
    ids=["too many", "another level", "another number"],
)
def test_what_was_never_learned_cannot_be_unlearned(rows: Any, y: Any, why: str) -> None:
    with pytest.raises(UnlearnError, match=why):
        NaiveBayes(classical=True).fit({"city": CITY, "side": SIDE}, Y).unlearn(rows, y)


def test_what_was_unlearned_can_be_learned_again() -> None:
    x, y = birds()
    model = NaiveBayes(classical=True).fit(x, y)
    some = list(range(0, 344, 3))
    model.unlearn(taken(x, some), np.array(y)[some]).partial_fit(taken(x, some), np.array(y)[some])
    np.testing.assert_allclose(
        model.predict_joint_log_proba(x),
        NaiveBayes(classical=True).fit(x, y).predict_joint_log_proba(x),
        rtol=1e-9,
    )


# ---------------------------------------------------------------------------------------------- sites


def test_sites_with_other_levels_and_classes_add_up() -> None:
    x = {"city": ["a", "b", "a", "c", "d", "c"], "side": SIDE, "when": [None] * 6}
    y = ["no", "yes", "no", "maybe", "yes", "maybe"]
    north, south = (
        NaiveBayes(classical=True).fit(taken(x, part), np.array(y)[part]) for part in ([0, 1, 2], [3, 4, 5])
    )
    whole = NaiveBayes(classical=True).fit(x, y)
    for both in (north + south, south + north):
        assert both.classes_.tolist() == ["maybe", "no", "yes"]
        assert both.schema_.columns[0].levels == ("a", "b", "c", "d")
        assert both.feature_names_in_.tolist() == ["city", "side", "when"]
        np.testing.assert_allclose(both.predict_joint_log_proba(x), whole.predict_joint_log_proba(x), rtol=1e-10)
    assert north.classes_.tolist() == ["no", "yes"]  # the parts stay as they were


@pytest.mark.parametrize("first", [True, False])
def test_a_site_where_a_column_is_constant_adds_to_one_where_it_is_not(first: bool) -> None:
    """North has two islands and a range of numbers, south one of each; no: 5 of 6 on a, yes: 3 of 6."""
    north = NaiveBayes(classical=True).fit({"island": ["a", "b", "a", "b", "b", "b"], "side": SIDE}, Y)
    south = NaiveBayes(classical=True).fit({"island": ["a"] * 6, "side": [2.0] * 6}, Y)
    both = north + south if first else south + north
    np.testing.assert_allclose(table_of(both, "island", ["a"]), [[6 / 8, 4 / 8]])
    np.testing.assert_allclose(both.tally_.blocks["gaussian"].summary.mean[:, 0], [11.5 / 6, 16.5 / 6])


@pytest.mark.parametrize("is_given", [False, True])
def test_sites_that_differ_in_what_a_column_is_must_be_given(is_given: bool) -> None:
    """Only 0 and 1 look like yes and no at one site, and like numbers at the other."""
    kind = {"n": "numeric"} if is_given else None
    north = NaiveBayes(classical=True, kind=kind).fit({"n": [0, 1, 0, 1, 1, 0]}, Y)
    south = NaiveBayes(classical=True, kind=kind).fit({"n": [0, 1, 5, 1, 1, 0]}, Y)
    if is_given:
        np.testing.assert_allclose((north + south).tally_.blocks["gaussian"].summary.mean[:, 0], [7 / 6, 4 / 6])
        return
    with pytest.raises(SchemaError, match=r"column 'n' \(boolean\) meets column 'n' \(numeric\)"):
        _ = north + south


@pytest.mark.parametrize(
    ("other", "x", "why"),
    [
        ({"alpha": 2.0}, {"city": CITY, "side": SIDE}, "these differ in alpha"),
        ({"kind": {"side": "category"}}, {"city": CITY, "side": SIDE}, "these differ in kind"),
        ({}, {"side": SIDE}, "2 columns meet 1 column"),
        ({}, {"town": CITY, "side": SIDE}, "column 'city' .* meets column 'town'"),
    ],
    ids=str,
)
def test_only_what_fits_adds(other: dict[str, Any], x: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        _ = NaiveBayes(classical=True).fit({"city": CITY, "side": SIDE}, Y) + NaiveBayes(classical=True, **other).fit(
            x, Y
        )


@pytest.mark.parametrize("params", [{"alpha": "auto"}, {"calibration": "temperature"}], ids=str)
def test_what_was_chosen_by_rows_does_not_add_silently(params: dict[str, Any]) -> None:
    """The sum has no rows to choose by; it must not pass for calibrated when it is not."""
    x, y = birds()
    model = NaiveBayes(classical=True, **params).fit(x, y)
    with pytest.raises(SettingError, match=next(iter(params))):
        _ = model + model


def test_from_tally_reads_a_mixed_tally() -> None:
    x = {"city": CITY, "side": SIDE}
    model = NaiveBayes(classical=True).fit(x, Y)
    again = NaiveBayes.from_tally(model.tally_, alpha=3.0)
    np.testing.assert_allclose(again.predict_proba(x), NaiveBayes(classical=True, alpha=3.0).fit(x, Y).predict_proba(x))


# ---------------------------------------------------------------------------------------------- fewer columns


@pytest.mark.parametrize("names", [["sex", "body_mass_g"], ["bill_length_mm"], ["island", "sex"]], ids=str)
def test_selected_columns_are_the_model_fitted_on_them(names: list[str]) -> None:
    x, y = birds()
    part = {name: x[name] for name in names}
    params = {"alpha": {"island": 2.0, "sex": 0.5}, "missing": {"sex": "level"}, "kind": {"year": "category"}}
    smaller = NaiveBayes(classical=True, **params).fit(x, y).select(names)
    fitted = NaiveBayes(
        classical=True,
        alpha={n: a for n, a in params["alpha"].items() if n in names},
        missing={"sex": "level"} if "sex" in names else "ignore",
    ).fit(part, y)
    assert smaller.schema_.names == tuple(names)
    assert smaller.feature_names_in_.tolist() == names
    np.testing.assert_allclose(smaller.predict_joint_log_proba(part), fitted.predict_joint_log_proba(part))


def test_selected_models_go_on_learning() -> None:
    x, y = birds()
    names = ["sex", "body_mass_g"]
    part = {name: x[name] for name in names}
    smaller = NaiveBayes(classical=True).fit(taken(x, range(0, 344, 2)), y[::2]).select(names)
    smaller.partial_fit(taken(part, range(1, 344, 2)), y[1::2])
    whole = NaiveBayes(classical=True).fit(part, y)
    np.testing.assert_allclose(smaller.predict_joint_log_proba(part), whole.predict_joint_log_proba(part), rtol=1e-10)


def test_selecting_keeps_the_alpha_that_was_chosen() -> None:
    x, y = birds()
    model = NaiveBayes(classical=True, alpha="auto").fit(x, y)
    parts = model.contributions(x)[:, :, 0]
    smaller = model.select(["island"])
    assert smaller.alpha_ == model.alpha_
    np.testing.assert_allclose(smaller.contributions({"island": x["island"]})[:, :, 0], parts)


def test_selecting_columns_of_a_calibrated_model_does_not_pretend() -> None:
    """Either the part is calibrated or it does not say so."""
    x, y = birds()
    smaller = NaiveBayes(classical=True, calibration="temperature").fit(x, y).select(["sex", "body_mass_g"])
    assert (smaller.calibration is None) == (smaller.model_.settings.calibration is None)


def test_options_of_columns_that_are_not_selected_go() -> None:
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=80), "z": rng.normal(size=80)}
    y = (table["x"] + rng.normal(size=80) > 0).astype(int)
    model = NaiveBayes(monotone={"x": 1, "z": -1}, max_bins={"z": 3}, missing_values={"z": [9]}).fit(table, y)
    chosen = model.select(["x"])
    assert (chosen.monotone, chosen.max_bins, chosen.missing_values) == ({"x": 1}, {}, {})
    chosen.fit({"x": table["x"]}, y)  # names no column that there is not


def test_selecting_what_is_not_there_is_an_error() -> None:
    with pytest.raises(SchemaError, match="there is no column 'town'; the tally has city, side"):
        NaiveBayes(classical=True).fit({"city": CITY, "side": SIDE}, Y).select(["town"])


def test_selected_columns_of_an_array_and_of_a_frame_named_alike() -> None:
    """Names such as x0 are names in a frame and numbers in an array: neither draws a note."""
    frame = pd.DataFrame({"x0": SIDE, "x1": SIDE[::-1]})
    expected = NaiveBayes(classical=True).fit(frame[["x0"]], Y).predict_proba(frame[["x0"]])
    np.testing.assert_allclose(
        NaiveBayes(classical=True).fit(frame, Y).select(["x0"]).predict_proba(frame[["x0"]]), expected
    )
    array = frame.to_numpy()
    expected = NaiveBayes(classical=True).fit(array[:, [1]], Y).predict_proba(array[:, [1]])
    np.testing.assert_allclose(
        NaiveBayes(classical=True).fit(array, Y).select(["x1"]).predict_proba(array[:, [1]]), expected
    )


# ---------------------------------------------------------------------------------------------- every parameter


CHANGES: list[dict[str, Any]] = [
    {"kind": {"year": "category"}},
    {"family": {"body_mass_g": "poisson"}},
    {"kind": {"island": "text"}, "tokens": Tokens(characters=(1, 2))},
    {"drop": ["island"]},
    {"missing": "level"},
    {"unseen": "smooth"},
    {"min_count": 130},
    {"alpha": 20.0},
    {"alpha": {"island": 20.0}},
    {"alpha": "auto"},
    {"var_smoothing": 0.1},
    {"variance": "shared"},
    {"prior": "uniform"},
    {"prior": {"Adelie": 0.8, "Chinstrap": 0.1, "Gentoo": 0.1}},
    {"prior_alpha": 200.0},
    {"calibration": "temperature"},
    {"calibration": "isotonic"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_each_parameter_changes_the_answer(change: dict[str, Any]) -> None:
    x, y = birds()
    asked = {
        "island": ["Elsewhere", "Dream"],
        "sex": [None, "male"],
        "bill_depth_mm": [16.5, 17.8],
        "body_mass_g": [4300.0, 4400.0],
        "bill_length_mm": [None, None],
        "flipper_length_mm": [None, None],
        "year": [2008, 2009],
    }
    plain, changed = (
        NaiveBayes(classical=True).fit(x, y),
        NaiveBayes(classical=True, **change).fit(x, y),
    )
    assert np.abs(plain.predict_proba(asked) - changed.predict_proba(asked)).max() > 1e-3


def test_progress_is_silent_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    x, y = birds()
    plain, shown = (NaiveBayes(verbose=verbose).fit(x, y) for verbose in (0, 1))
    assert capfd.readouterr() == ("", "")
    np.testing.assert_array_equal(plain.predict_proba(x), shown.predict_proba(x))


def test_every_parameter_is_tested() -> None:
    """`decay`, `strict`, `n_jobs` and what the classical model goes without have tests of their own."""
    tested = {name for change in CHANGES for name in change}
    elsewhere = {"decay", "strict", "n_jobs", "numeric", "weights", "pairs", "max_pairs", "classical"}
    elsewhere |= {"decimal", "dates", "missing_values", "encoding", "delimiter"}  # in tests/data/test_reading.py
    elsewhere |= {"max_bins", "monotone", "readable"}  # in tests/learning/test_constraints.py
    elsewhere |= {"class_weight", "verbose"}  # in tests/laws/test_class_weight.py, and above
    elsewhere |= set(Fitted._shared_constraints)
    assert tested | elsewhere == set(NaiveBayes(classical=True).get_params())


@pytest.mark.parametrize(
    "params",
    [
        {"alpha": -1.0},
        {"alpha": "best"},
        {"min_count": -1},
        {"decay": 0.0},
        {"decay": 1.5},
        {"var_smoothing": -1e-9},
        {"variance": "own"},
        {"missing": "drop"},
        {"unseen": "guess"},
        {"calibration": "platt"},
        {"prior_alpha": -0.1},
        {"strict": "very"},
        {"n_jobs": 1.5},
        {"kind": "numeric"},
        {"family": "gaussian"},
        {"drop": "side"},
    ],
    ids=str,
)
def test_bad_parameters_are_named(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter of NaiveBayes must be"):
        NaiveBayes(classical=True, **params).fit({"side": SIDE}, Y)


@every_form
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_threads_and_chunks_change_nothing(make: Any, n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = birds()
    plain = NaiveBayes(classical=True).fit(x, y)
    expected = plain.predict_joint_log_proba(x), plain.leave_one_out(x, y)
    monkeypatch.setattr(TableBatch, "most_rows", 37)
    model = NaiveBayes(classical=True, n_jobs=n_jobs).fit(make(x), y)
    np.testing.assert_allclose(model.predict_joint_log_proba(make(x)), expected[0], rtol=1e-10)
    np.testing.assert_allclose(model.leave_one_out(make(x), y), expected[1], rtol=1e-8, atol=1e-8)


# ---------------------------------------------------------------------------------------------- reasons that stay true


@pytest.mark.parametrize("how", ["partial_fit", "add", "unlearn"])
def test_reasons_tell_only_what_holds_for_all_rows(how: str) -> None:
    """How many rows there were and how far the values reach is true of the first rows alone."""
    x = {
        "city": CITY * 4,
        "side": SIDE * 4,
        "year": [2007, 2008, 2009] * 8,
        "flag": [True, False] * 12,
        "one": ["same"] * 24,
        "zip": [10, 20] * 12,
        "area": ["n", None] * 12,
        "id": [f"r{i}" for i in range(24)],
    }
    model = NaiveBayes(kind={"zip": "category"}, missing={"area": "level"}, classical=True).fit(x, Y * 4)
    first = {column.name: column.reason for column in model.schema_.columns}
    assert (first["city"], first["side"]) == ("text, 2 levels in 24 rows", "numbers from 1 to 4")
    if how == "partial_fit":
        model.partial_fit({**taken(x, [0, 1]), "city": ["c", "a"]}, Y[:2])
    elif how == "add":
        model = model + model
    else:
        model.unlearn(taken(x, [0, 1]), Y[:2])
    assert {column.name: column.reason for column in model.schema_.columns} == {
        "city": f"text, {3 if how == 'partial_fit' else 2} levels",
        "side": "numbers",
        "year": "whole numbers",
        "flag": "true or false, 2 levels",
        "one": "text, 1 level",
        "zip": "as given, 2 levels",
        "area": "text, 1 level; missing is a level",
        "id": "an identifier",
    }


def test_reasons_of_the_first_batch_and_of_a_selection_are_kept() -> None:
    model = NaiveBayes().partial_fit({"city": CITY, "side": SIDE}, Y)
    assert [c.reason for c in model.schema_.columns] == ["text, 2 levels in 6 rows", "numbers from 1 to 4"]
    assert [c.reason for c in model.select(["side"]).schema_.columns] == ["numbers from 1 to 4"]
