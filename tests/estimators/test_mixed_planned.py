"""`NaiveBayes` as it comes, with chosen families, weights and pairs: sums, forgetting, sites, files, columns."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from tallybayes import NaiveBayes
from tallybayes.errors import ColumnWarning, SettingError, UnlearnError

PAIR = "a together with b"


def table(n: int = 400, seed: int = 0) -> tuple[dict[str, list[Any]], list[str]]:
    """Numbers of several shapes, categories of which two make a pair, copies and missing values."""
    rng = np.random.default_rng(seed)
    y, a = rng.integers(0, 2, (2, n))
    b = a ^ y ^ (rng.random(n) < 0.15)
    x: dict[str, Any] = {
        "size": rng.normal(y, 1.0 + y),
        "money": np.round(rng.lognormal(0.7 * y, 1.0), 2),
        "comb": np.round((rng.random(n) + rng.integers(0, 3, n) * 2 + (y ^ (rng.random(n) < 0.3))) % 6, 3),
        "spent": np.where(rng.random(n) < 0.4, 0.0, rng.lognormal(1.5 * y, 1.0)),
        "a": np.array(["p", "q"])[a],
        "b": np.array(["r", "s"])[b],
        "flag": rng.random(n) < 0.3 + 0.3 * y,
    }
    x["again"] = x["size"]
    columns = {name: values.tolist() for name, values in x.items()}
    for name in columns:
        for i in np.flatnonzero(rng.random(n) < 0.05):
            columns[name][i] = None
    return columns, np.array(["no", "yes"])[y].tolist()


def part(x: dict[str, list[Any]], rows: Any) -> dict[str, list[Any]]:
    return {name: [values[i] for i in rows] for name, values in x.items()}


def fitted(**params: Any) -> tuple[NaiveBayes, dict[str, list[Any]], list[str]]:
    x, y = table()
    return NaiveBayes(**params).fit(x, y), x, y


def same_counts(mine: NaiveBayes, theirs: NaiveBayes) -> None:
    assert mine.tally_.blocks.keys() == theirs.tally_.blocks.keys()
    assert_allclose(mine.class_count_, theirs.class_count_)
    for name, block in mine.tally_.blocks.items():
        other = theirs.tally_.blocks[name].summary.arrays()
        for field, array in block.summary.arrays().items():
            assert_allclose(array, other[field], rtol=1e-9, atol=1e-9, err_msg=f"{name}.{field}")


def test_the_table_has_weights_a_pair_and_families_of_every_sort() -> None:
    model, *_ = fitted()
    assert model.weights_ is not None
    assert PAIR in model.schema_.names
    assert {"hierarchical", "pair"} < set(model.tally_.blocks)
    assert len(model.tally_.blocks) >= 4


# ---------------------------------------------------------------------------------------------- sums


def test_contributions_and_prior_add_up_to_the_joint() -> None:
    model, x, _ = fitted()
    total = model.contributions(x).sum(axis=2) + model.model_.prior_score
    assert_allclose(total, model.predict_joint_log_proba(x), rtol=1e-12, atol=1e-12)


def test_each_contribution_is_its_weight_times_the_log_probability() -> None:
    model, x, _ = fitted()
    assert model.weights_ is not None
    bare = replace(model.model_, settings=replace(model.model_.settings, offsets={}))
    plain = replace(bare, settings=replace(bare.settings, weights=None))
    weights = np.array([model.weights_.columns[name] for name in model.schema_.names])
    rows = model._rows(x)
    assert_allclose(bare.contributions(rows), plain.contributions(rows) * weights, rtol=1e-9, atol=1e-12)
    assert_allclose(model.model_.prior_score, plain.log_prior)


@pytest.mark.parametrize("row", [0, 1, 7])
def test_an_explanation_adds_up_to_the_log_odds(row: int) -> None:
    model, x, _ = fitted()
    given = model.explain({name: values[row] for name, values in x.items()})
    log_p = dict(zip(model.classes_, model.predict_log_proba(part(x, [row]))[0], strict=True))
    assert given.total == pytest.approx(log_p[given.label] - log_p[given.against])
    assert given.prior + sum(e.log_odds for e in given.evidence) == pytest.approx(given.total)
    assert PAIR in {e.column for e in given.evidence}


# ---------------------------------------------------------------------------------------------- leave-one-out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("params", [{}, {"max_pairs": 0, "weights": None}, {"prior": "uniform"}], ids=str)
def test_leave_one_out_is_unlearning_the_row(params: dict[str, Any], weighted: bool) -> None:
    # Bins that were merged are kept as all rows want them, so there are none here.
    x, y = table()
    weight = np.random.default_rng(1).random(400) + 0.5 if weighted else np.ones(400)
    model = NaiveBayes(family={"comb": "kernel", "size": "gaussian"}, **params).fit(x, y, weight)
    assert "binned" not in model.tally_.blocks
    got = model.leave_one_out(x, y, weight)
    for i in range(0, 400, 23):
        rows = model.labelled_rows(part(x, [i]), [y[i]], weight[[i]])
        rest = model.model_.unlearn(rows)
        assert_allclose(got[i], rest.log_posterior(rows)[0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "multinomial"])
def test_leave_one_out_is_exact_for_given_families_too(family: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    x = {f"n{i}": rng.poisson(1 + (i + 1) * y).tolist() for i in range(3)} | {"z": rng.normal(y).tolist()}
    given = dict.fromkeys(("n0", "n1", "n2"), family)
    model = NaiveBayes(family=given, weights="learn", var_smoothing=0.1).fit(x, y)
    got = model.leave_one_out(x, y)
    for i in range(0, 200, 17):
        rows = model.labelled_rows(part(x, [i]), y[[i]])
        assert_allclose(got[i], model.model_.unlearn(rows).log_posterior(rows)[0], rtol=1e-7, atol=1e-9)


def test_leave_one_out_of_other_rows_is_refused() -> None:
    model, x, y = fitted()
    unusual = {**part(x, range(3)), "a": ["never"] * 3}
    with pytest.raises(ValueError, match="row 1 was not learned"), pytest.warns(ColumnWarning):
        model.leave_one_out(unusual, y[:3])


# ---------------------------------------------------------------------------------------------- rows come and go


def test_unlearning_leaves_the_counts_of_the_rest() -> None:
    model, x, y = fitted()
    rest = model.blank().partial_fit(part(x, range(300)), y[:300])
    model.unlearn(part(x, range(300, 400)), y[300:])
    same_counts(model, rest)
    assert_allclose(model.predict_proba(x), rest.predict_proba(x), rtol=1e-6, atol=1e-9)


def test_rows_that_were_never_learned_cannot_be_unlearned() -> None:
    model, x, y = fitted()
    before = model.predict_proba(x)
    with pytest.raises(UnlearnError):
        model.unlearn({**part(x, [0]), "a": ["never"]}, [y[0]])
    assert_array_equal(model.predict_proba(x), before)


def test_more_rows_are_read_as_the_first_were() -> None:
    model, x, y = fitted()
    more, labels = table(100, seed=1)
    weights, columns = model.weights_, model.schema_.names
    model.partial_fit(more, labels)
    assert model.class_count_.sum() == 500
    assert (model.weights_, model.schema_.names) == (weights, columns)
    both = fitted()[0].blank().partial_fit({n: x[n] + more[n] for n in x}, y + labels)
    same_counts(model, both)


def test_new_levels_and_classes_are_learned() -> None:
    model, x, _ = fitted()
    model.partial_fit({**part(x, range(5)), "a": ["new"] * 5}, ["other"] * 5)
    assert model.classes_.tolist() == ["no", "other", "yes"]
    pair = next(c for c in model.schema_.columns if c.name == PAIR)
    assert pair.parts is not None
    assert pair.parts[0].levels == ("new", "p", "q")
    assert np.isfinite(model.predict_log_proba(part(x, range(50)))).all()


# ---------------------------------------------------------------------------------------------- sites


def test_a_blank_model_has_learned_nothing_and_reads_alike() -> None:
    model, x, _ = fitted()
    blank = model.blank()
    assert blank.class_count_.sum() == 0
    assert blank.schema_.names == model.schema_.names
    assert blank.weights_ == model.weights_
    assert_allclose(blank.without_refinement().predict_proba(part(x, [0])), [[0.5, 0.5]])


def test_sites_that_count_alike_add_up_to_the_whole() -> None:
    north, x, y = fitted()
    more, labels = table(200, seed=1)
    south = north.blank().partial_fit(more, labels)
    both = north + south
    same_counts(both, fitted()[0].partial_fit(more, labels))
    same_counts(south + north, both)
    assert both.weights_ == north.weights_
    assert both.score(x, y) == pytest.approx(north.score(x, y), abs=0.05)


def test_models_fitted_apart_that_read_differently_are_refused_with_the_remedy() -> None:
    north, *_ = fitted()
    x, y = table(200, seed=1)
    south = NaiveBayes(pairs="auto").fit({**x, "a": ["p"] * 200}, y)  # nothing to be paired with
    assert PAIR not in south.schema_.names
    with pytest.raises(SettingError, match=r"blank\(\)\.partial_fit"):
        north + south


def test_models_fitted_apart_meet_in_the_bins_of_values_that_both_have() -> None:
    def in_tenths(n: int, seed: int = 0) -> tuple[dict[str, list[Any]], list[str]]:
        x, y = table(n, seed)
        numbers = {name: [v if v is None else round(v, 1) for v in x[name]] for name in ("size", "comb")}
        return {**numbers, "a": x["a"], "b": x["b"]}, y

    x, y = in_tenths(3000)
    halves = [range(1500), range(1500, 3000)]
    settings: dict[str, Any] = {"numeric": "kernel", "max_pairs": 0, "weights": "learn"}
    north, south = (NaiveBayes(**settings).fit(part(x, rows), [y[i] for i in rows]) for rows in halves)
    both, whole = north + south, NaiveBayes(**settings).fit(x, y)
    column = both.schema_.columns[both.schema_.names.index("comb")]
    assert column.edges is not None
    assert len(column.edges) > 30
    fresh, labels = in_tenths(1000, seed=9)
    loss = [m.evaluate(fresh, labels, method="test").log_loss.value for m in (both, whole)]
    assert loss[0] < loss[1] + 0.02


# ---------------------------------------------------------------------------------------------- priors, samples


def test_another_prior_replaces_the_learned_mix_in_full() -> None:
    model, x, _ = fitted()
    odds = model.predict_joint_log_proba(x)
    changed = model.with_prior({"no": 0.9, "yes": 0.1})
    want = odds + np.log([0.9, 0.1]) - model.model_.log_prior
    assert_allclose(changed.predict_joint_log_proba(x), want, rtol=1e-9, atol=1e-9)
    back = changed.with_prior("empirical")
    assert_allclose(back.predict_proba(x), model.predict_proba(x))


def test_the_evidence_of_rows_is_that_of_the_plain_model() -> None:
    # Weights and pairs make better posteriors, but no distribution of rows.
    model, x, y = fitted()
    assert_allclose(model.score_samples(x), model.model_.generative.log_evidence(model._rows(x)))
    assert "pair" not in model.model_.generative.tally.blocks
    assert model.model_.generative.settings.weights is None
    assert np.isfinite(model.log_likelihood(x, y))


def test_drawn_rows_look_like_the_table() -> None:
    model, x, _ = fitted()
    drawn, labels = model.sample(3000, random_state=0)
    assert list(drawn) == list(x)
    assert set(drawn["a"]) == {"p", "q"}
    assert 0.25 < np.mean(np.asarray(drawn["spent"]) == 0) < 0.55
    assert np.asarray(drawn["money"]).min() > 0
    assert model.score(drawn, labels) > 0.7
    again, _ = model.sample(3000, random_state=0)
    assert_array_equal(np.asarray(drawn["size"]), np.asarray(again["size"]))


def test_whole_numbers_in_bins_are_drawn_whole() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    model = NaiveBayes(numeric="kernel").fit({"n": rng.integers(0, 9, 300) + y, "z": rng.normal(y)}, y)
    drawn = np.asarray(model.sample(50, random_state=0)[0]["n"], dtype=float)
    assert_array_equal(drawn, np.rint(drawn))


# ---------------------------------------------------------------------------------------------- parts and copies


def test_some_columns_keep_their_weights_and_pairs() -> None:
    model, x, _ = fitted()
    smaller = model.select(["a", "b", "money"])
    assert set(smaller.schema_.names) == {"a", "b", "money", PAIR}
    kept = {n: x[n] for n in ("a", "b", "money")}
    places = [model.schema_.names.index(n) for n in smaller.schema_.names]
    assert_allclose(smaller.contributions(kept), model.contributions(x)[:, :, places])
    assert PAIR not in model.select(["a", "money"]).schema_.names


def test_a_pickled_model_answers_alike() -> None:
    model, x, y = fitted()
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.predict_proba(x), model.predict_proba(x))
    same_counts(copy.unlearn(part(x, [0]), y[:1]), model.unlearn(part(x, [0]), y[:1]))


def test_a_clone_has_the_settings_and_learns_alike() -> None:
    model, x, y = fitted(max_pairs=3, weights="learn", numeric="kernel")
    copy = clone(model)
    assert not hasattr(copy, "model_")
    assert copy.get_params() == model.get_params()
    assert_array_equal(copy.fit(x, y).predict_proba(x), model.predict_proba(x))


def test_a_tally_is_read_by_the_families_it_was_counted_by() -> None:
    model, x, _ = fitted(weights=None, max_pairs=0, family={"spent": "zero_inflated"})
    again = NaiveBayes.from_tally(model.tally_)
    place = model.schema_.names.index("spent")
    assert_allclose(again.contributions(x)[:, :, place], model.contributions(x)[:, :, place])


def test_fitting_again_forgets_the_plan() -> None:
    model, x, y = fitted()
    model.fit({"size": x["size"]}, y)
    assert model.schema_.names == ("size",)
    model.set_params(classical=True).fit(x, y)
    assert model.weights_ is None
    assert set(model.tally_.blocks) == {"gaussian", "categorical"}


# ---------------------------------------------------------------------------------------------- columns


def test_columns_are_matched_by_name() -> None:
    model, x, _ = fitted()
    turned = dict(reversed(x.items()))
    assert_array_equal(model.predict_proba(turned), model.predict_proba(x))


def test_a_missing_column_is_a_missing_value_in_the_pair_too() -> None:
    model, x, _ = fitted()
    without = {name: values for name, values in x.items() if name != "b"}
    with pytest.warns(ColumnWarning, match="lacks column 'b'"):
        got = model.predict_proba(without)
    assert_array_equal(got, model.predict_proba({**x, "b": [None] * 400}))


def test_an_unseen_level_says_nothing() -> None:
    model, x, _ = fitted()
    unseen, with_missing = ({**x, "a": [value] * 400} for value in ("never", None))
    with pytest.warns(ColumnWarning, match="no value of column 'a' was seen"):
        found = model.predict_proba(unseen)
    assert_array_equal(found, model.predict_proba(with_missing))


def test_a_number_beyond_all_learned_ones_is_in_the_outer_bin() -> None:
    x, y = table()
    model = NaiveBayes(numeric="kernel", max_pairs=0).fit({"comb": x["comb"]}, y)
    known = [v for v in x["comb"] if v is not None]
    far, edge = ({"comb": values} for values in ([-1e30, 1e30], [min(known), max(known)]))
    assert_array_equal(model.predict_proba(far), model.predict_proba(edge))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_are_read_as_dicts_are(make: Any) -> None:
    model, x, y = fitted()
    other = NaiveBayes().fit(make(x), y)
    assert str(other.schema_) == str(model.schema_)
    assert other.weights_ == model.weights_
    assert_array_equal(other.predict_proba(make(x)), model.predict_proba(x))


def test_the_schema_says_the_family_and_the_runner_up() -> None:
    model, *_ = fitted()
    reasons = {c.name: c.reason for c in model.schema_.columns}
    assert "; zero or lognormal (log loss alone 0." in reasons["spent"]
    for name in ("size", "money", "comb"):
        assert "(log loss alone 0." in reasons[name]
    assert reasons[PAIR].startswith("together they predict held-out rows better")
    model.partial_fit(*table(10, seed=3))
    assert "log loss" not in str(model.schema_)  # that was told of the rows it was chosen by


# ---------------------------------------------------------------------------------------------- the textbook


def test_classical_is_the_textbook_model() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    numbers, levels = rng.normal(y[:, None], (1.0, 3.0), (300, 2)), rng.integers(0, 3 + (y[:, None] > 0), (300, 2))
    frame = pd.DataFrame(numbers, columns=["u", "v"]).assign(c=levels[:, 0].astype(str), d=levels[:, 1].astype(str))
    model = NaiveBayes(classical=True).fit(frame, y)
    gauss, coded = GaussianNB().fit(numbers, y), CategoricalNB().fit(levels, y)
    joint = gauss.predict_joint_log_proba(numbers) + coded.predict_joint_log_proba(levels)
    assert_allclose(model.predict_joint_log_proba(frame), joint - np.log(gauss.class_prior_), rtol=1e-9)
    assert model.weights_ is None
    assert set(model.tally_.blocks) == {"gaussian", "categorical"}
