"""Unlearning is refitting without the rows, and refuses rows that were never learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes
from tallybayes import NaiveBayes, TextNB
from tallybayes.core.batch import Labels
from tallybayes.core.scatter import scatter_of
from tallybayes.core.summaries import Moments
from tallybayes.errors import UnlearnError
from tallybayes.families import Gaussian

from .cases import FAMILY_CASES

RNG = np.random.default_rng(0)
OFFSETS = (0.0, 1e3, 1e6, 1e8)


# ---------------------------------------------------------------------------------------------- the tally


@pytest.mark.parametrize("case", FAMILY_CASES, ids=str)
def test_what_is_trimmed_is_as_if_it_had_never_been_there(case: Any) -> None:
    """Classes and levels leave with their last row: the tally equals one of the other rows alone."""
    table = case.random_table(40, weights=(1.0, 2.0))
    kept = table.codes != 1
    rest = case.tally(table.take(kept)).trimmed()
    assert "q" not in rest.schema.classes
    left = (case.tally(table) - case.tally(table.take(~kept))).trimmed()
    assert left.schema == rest.schema
    for name, block in rest.blocks.items():
        for mine, theirs in zip(
            left.blocks[name].summary.arrays().values(), block.summary.arrays().values(), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def test_trimming_keeps_what_is_used() -> None:
    for case in FAMILY_CASES:
        tally = case.tally(case.random_table(200, weights=(1.0,)))
        assert tally.trimmed() == tally


# ---------------------------------------------------------------------------------------------- estimators

N = 240
NUMBERS = RNG.normal(size=(N, 3)) + 5.0
COUNTS = RNG.poisson(1.5, size=(N, 4))
CODES = RNG.integers(0, 3, size=(N, 3))
LABELS = RNG.choice(["a", "b", "c"], N)

DROP_INS: dict[str, tuple[Any, Any]] = {
    "GaussianNB": (tallybayes.GaussianNB, NUMBERS),
    "BernoulliNB": (tallybayes.BernoulliNB, COUNTS),
    "CategoricalNB": (tallybayes.CategoricalNB, CODES),
    "MultinomialNB": (tallybayes.MultinomialNB, COUNTS),
    "ComplementNB": (tallybayes.ComplementNB, COUNTS),
    "PoissonNB": (tallybayes.PoissonNB, COUNTS),
    "GaussianDiscriminant": (tallybayes.GaussianDiscriminant, NUMBERS),
}


def same_model(mine: Any, other: Any, rows: Any) -> None:
    assert mine.classes_.tolist() == other.classes_.tolist()
    assert mine.classes_.dtype == other.classes_.dtype
    np.testing.assert_allclose(mine.predict_proba(rows), other.predict_proba(rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", DROP_INS)
@pytest.mark.parametrize("which", ["some", "a class", "all but a class"])
def test_a_drop_in_without_rows_is_one_that_never_saw_them(name: str, which: str) -> None:
    cls, x = DROP_INS[name]
    gone = {"some": np.arange(N) % 3 == 0, "a class": LABELS == "b", "all but a class": LABELS != "c"}[which]
    model = cls().fit(x, LABELS).unlearn(x[gone], LABELS[gone])
    same_model(model, cls().fit(x[~gone], LABELS[~gone]), x)
    assert sum(model.receipt_.rows) == gone.sum()


@pytest.mark.parametrize("name", DROP_INS)
def test_a_drop_in_keeps_the_classes_that_were_declared(name: str) -> None:
    cls, x = DROP_INS[name]
    gone = LABELS == "b"
    model = cls().partial_fit(x, LABELS, classes=["a", "b", "c"]).unlearn(x[gone], LABELS[gone])
    same_model(model, cls().partial_fit(x[~gone], LABELS[~gone], classes=["a", "b", "c"]), x[~gone])


def test_a_class_of_a_given_prior_stays() -> None:
    gone = LABELS == "b"
    model = tallybayes.MultinomialNB(class_prior=[0.2, 0.3, 0.5]).fit(COUNTS, LABELS)
    assert model.unlearn(COUNTS[gone], LABELS[gone]).classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(COUNTS).shape == (N, 3)


def test_the_highest_codes_leave_with_their_last_row() -> None:
    x = np.concatenate([CODES, [[5, 0, 0], [6, 0, 0]]])
    y = np.append(LABELS, ["a", "b"])
    model = tallybayes.CategoricalNB().fit(x, y).unlearn(x[-2:], y[-2:])
    same_model(model, tallybayes.CategoricalNB().fit(CODES, LABELS), CODES)
    assert model.n_categories_.tolist() == [3, 3, 3]
    least = tallybayes.CategoricalNB(min_categories=5).fit(x, y).unlearn(x[-2:], y[-2:])
    same_model(least, tallybayes.CategoricalNB(min_categories=5).fit(CODES, LABELS), CODES)
    assert least.n_categories_.tolist() == [5, 5, 5]


def table(enumerated: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=N) + (LABELS == "a"),
            "town": rng.choice(["rom", "bern", "wien"], N),
            "flag": rng.random(N) < 0.5,
            "many": rng.poisson(3, N),
        }
    )
    labels = LABELS.copy()
    frame.loc[[3, 50], "town"] = "oslo"  # a level of two rows
    labels[[7, 8]] = "rare"  # a class of two rows
    if enumerated:
        frame["town"] = pd.Categorical(frame["town"], ["bern", "oslo", "rom", "ulm", "wien"])
    return frame, labels


GONE = [3, 50, 7, 8, 100]


@pytest.mark.parametrize("enumerated", [False, True])
@pytest.mark.parametrize("params", [{}, {"missing": "level"}, {"alpha": 0.5, "prior_alpha": 1.0}], ids=str)
def test_a_classical_table_without_rows_is_one_that_never_saw_them(enumerated: bool, params: dict[str, Any]) -> None:
    x, y = table(enumerated)
    rest = np.setdiff1d(np.arange(N), GONE)
    params = {"classical": True, "kind": {"many": "category"}, **params}
    model = NaiveBayes(**params).fit(x, y).unlearn(x.iloc[GONE], y[GONE])
    fresh = NaiveBayes(**params).fit(x.iloc[rest], y[rest])
    same_model(model, fresh, x)
    levels = {c.name: c.levels for c in fresh.schema_.columns}
    assert {c.name: c.levels for c in model.schema_.columns} == levels
    assert ("oslo" in levels["town"]) is enumerated  # a declared level stays


@pytest.mark.parametrize("params", [{}, {"pairs": [("town", "flag"), ("size", "town")]}], ids=str)
def test_a_default_table_without_rows_counts_the_others_as_it_reads_them(params: dict[str, Any]) -> None:
    x, y = table()
    rest = np.setdiff1d(np.arange(N), GONE)
    model = NaiveBayes(**params).fit(x, y)
    fresh = model.blank().partial_fit(x.iloc[rest], y[rest])
    fresh.model_ = fresh.model_.trimmed()
    model.unlearn(x.iloc[GONE], y[GONE])
    assert "rare" not in model.classes_
    assert all("oslo" not in (part.levels or ()) for c in model.schema_.columns for part in (c, *(c.parts or ())))
    assert model.schema_.columns == fresh.schema_.columns
    np.testing.assert_allclose(model.predict_proba(x), np.exp(fresh.model_.log_posterior(model._rows(x))), atol=1e-9)


def test_a_level_that_came_later_leaves_and_a_declared_one_stays() -> None:
    x, y = table(enumerated=True)
    model = NaiveBayes(classical=True).fit(x, y)
    before = model.predict_proba(x)
    late = pd.DataFrame({**x.iloc[:1].to_dict("list"), "town": ["york"]})
    model.partial_fit(late, ["a"])
    assert "york" in model.schema_.columns[1].levels
    model.unlearn(late, ["a"])
    assert "york" not in model.schema_.columns[1].levels
    np.testing.assert_allclose(model.predict_proba(x), before, rtol=1e-9)


def test_words_leave_with_their_last_text() -> None:
    texts = ["red apple", "green apple", "blue sky", "grey sky", "odd thing"]
    y = ["fruit", "fruit", "air", "air", "other"]
    model = TextNB(weights=None).fit(texts, y).unlearn(texts[4:], y[4:])
    same_model(model, TextNB(weights=None).fit(texts[:4], y[:4]), texts)


# ---------------------------------------------------------------------------------------------- rounding


def moments(x: np.ndarray) -> Moments:
    return Gaussian().tally(x[:, None], Labels.hard(np.zeros(len(x), np.int32)), 1)


def in_batches(x: np.ndarray, size: int) -> list[np.ndarray]:
    return np.split(x, np.arange(size, len(x), size))


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize(
    ("n", "learned", "unlearned"),
    [(3, 1, 1), (30, 1, 7), (300, 1, 1), (300, 20, 1), (1000, 1000, 3), (100_000, 5_000, 333)],
)
@pytest.mark.parametrize("order", ["as they came", "backwards", "shuffled", "sorted"])
def test_rows_that_are_there_are_never_refused(offset: float, n: int, learned: int, unlearned: int, order: str) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=n) + offset
    x = np.sort(x) if order == "sorted" else x
    whole = sum(map(moments, in_batches(x, learned)[1:]), moments(in_batches(x, learned)[0]))
    rows = {"backwards": x[::-1], "shuffled": rng.permutation(x)}.get(order, x)
    for part in in_batches(rows, unlearned):
        whole = whole - moments(part)
    assert whole.weight.item() == whole.m2.item() == 0.0


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("n", [2, 3, 10, 100, 1000, 10_000])
def test_rows_that_cannot_have_been_there_are_refused(offset: float, n: int) -> None:
    """A row x can be one of n only if the squares left, m2 − (x − mean)² n / (n − 1), are not negative."""
    x = np.random.default_rng(n).normal(size=n) + offset
    whole = moments(x[: n // 2]) + moments(x[n // 2 :])
    furthest = np.sqrt(((x - x.mean()) ** 2).sum() * (n - 1) / n)
    for sign in (-1.0, 1.0):
        with pytest.raises(UnlearnError):
            _ = whole - moments(np.array([x.mean() + sign * 1.001 * furthest]))
        _ = whole - moments(np.array([x.mean() + sign * 0.999 * furthest]))  # this one may have been there


def test_an_outlier_far_out_is_refused_wherever_the_column_lies() -> None:
    rng = np.random.default_rng(0)
    x = 1e6 + rng.normal(size=(1000, 1))
    y = np.repeat(["a", "b"], 500)
    for estimator in (tallybayes.GaussianNB(), tallybayes.GaussianDiscriminant(), NaiveBayes(classical=True)):
        model = estimator.fit(x, y)
        with pytest.raises(UnlearnError):
            model.unlearn([[1e6 + 30.0]], ["a"])
        assert model.class_count_.tolist() == [500, 500]


@pytest.mark.parametrize("offset", OFFSETS)
def test_the_last_rows_must_be_those_that_are_there(offset: float) -> None:
    x = np.array([0.0, 2.0]) + offset
    for other in ([1.0, 1.0], [0.0, 3.0], [-1.0, 3.0]):
        with pytest.raises(UnlearnError):
            _ = moments(x) - moments(np.array(other) + offset)
    assert (moments(x) - moments(x)).weight.item() == 0.0


@pytest.mark.parametrize("offset", OFFSETS)
def test_scatter_refuses_the_same(offset: float) -> None:
    x = np.random.default_rng(1).normal(size=(200, 3)) + offset
    whole, ones = scatter_of(x[:120], np.ones(120)) + scatter_of(x[120:], np.ones(80)), np.ones(1)
    out = x.mean(axis=0)
    out[1] += 1.01 * np.sqrt(((x[:, 1] - out[1]) ** 2).sum())
    with pytest.raises(UnlearnError):
        _ = whole - scatter_of(out[None], ones)
    for i in np.random.default_rng(2).permutation(200):
        whole = whole - scatter_of(x[i : i + 1], ones)
    assert whole.weight.item() == 0.0


def test_a_row_that_was_there_once_is_taken_back_once() -> None:
    for cls, x in (DROP_INS["CategoricalNB"], DROP_INS["MultinomialNB"], DROP_INS["PoissonNB"]):
        x = x.copy()
        x[:, 0] = 0
        x[0, 0] = 9  # what no other row has
        model = cls().fit(x, LABELS).unlearn(x[:1], LABELS[:1])
        with pytest.raises(UnlearnError):
            model.unlearn(x[:1], LABELS[:1])


def test_a_pair_whose_column_lost_its_last_value_is_no_evidence(tmp_path: Any) -> None:
    rng, n = np.random.default_rng(0), 300
    c = rng.integers(0, 2, n)
    y = np.array(["a", "b"])[c]
    h = np.where(np.arange(n) < 100, np.array(list("uvw"))[rng.integers(0, 2, n) + c], None)
    x = pd.DataFrame({"g": np.array(list("pqr"))[rng.integers(0, 2, n) + c], "h": h})
    model = NaiveBayes(pairs=[("g", "h")]).fit(x, y).unlearn(x[:100], y[:100])
    expected = model.predict_proba(x[100:])
    assert np.isfinite(expected).all()
    model.save(tmp_path / "w.tally")
    np.testing.assert_array_equal(tallybayes.load(tmp_path / "w.tally").predict_proba(x[100:]), expected)
