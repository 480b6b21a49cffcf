"""A plan scores plain columns as the blocks of its model do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tallybayes import NaiveBayes
from tallybayes.core.model import Model
from tallybayes.core.plan import Plan
from tallybayes.data.columns import rows
from tallybayes.data.plain import one_row
from tallybayes.errors import DataError


def table(n: int) -> tuple[dict[str, list[Any]], list[str]]:
    """Numbers and text with missing values, of which two pairs and a curve say something."""
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=n)
    a, b = rng.integers(3, size=n), rng.integers(4, size=n)
    b = np.where(rng.random(n) < 0.5, (y + a) % 3, b)
    x = rng.normal(size=n) * (1 + y) + (rng.random(n) < 0.3) * 4
    z = rng.exponential(size=n) + 0.3 * y + x**2 / 20
    columns = {"a": np.array(list("abc"))[a].tolist(), "b": b.tolist(), "x": x.tolist(), "z": z.tolist()}
    for name, values in columns.items():
        columns[name] = [None if rng.random() < 0.05 else value for value in values]
    return columns, [f"k{k}" for k in y]


@pytest.fixture(scope="module")
def fitted() -> NaiveBayes:
    X, y = table(1500)
    return NaiveBayes(pairs=[("a", "b"), ("x", "z")], kind={"b": "category"}, weights="learn").fit(X, y)


def by_blocks(model: Model, X: Any) -> Any:
    """The scores as the blocks give them, each read and scored by itself."""
    return model.log_joint(rows(model, X).rows(0, len(X["a"])))


def test_the_tables_give_what_the_blocks_give(fitted: NaiveBayes) -> None:
    X, _ = table(700)
    model = fitted.model_
    assert model.plan is not None
    assert model.settings.offsets
    assert {"pair"} < {column.kind for column in model.schema.columns}
    np.testing.assert_allclose(model.log_joint(rows(model, X)), by_blocks(model, X), rtol=1e-12, atol=1e-12)


def test_parts_and_threads_do_not_matter(fitted: NaiveBayes) -> None:
    X, _ = table(700)
    batch = rows(fitted.model_, X)
    some = fitted.model_.posterior(batch.take(np.arange(300, 310)))
    np.testing.assert_array_equal(fitted.model_.posterior(batch, n_jobs=3)[300:310], some)


@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_unseen_categories_count_as_the_family_has_it(unseen: Any) -> None:
    X, y = table(300)
    model = NaiveBayes(classical=True, unseen=unseen, kind={"b": "category"}).fit(X, y).model_
    some = {**{name: values[:9] for name, values in X.items()}, "a": ["c", "new", None] * 3}
    np.testing.assert_allclose(model.log_joint(rows(model, some)), by_blocks(model, some), rtol=1e-12)


def test_a_true_zero_stays_one() -> None:
    X = {"a": ["u", "u", "v", "w"], "x": [1.0, 2.0, 3.0, 4.0]}
    found = NaiveBayes(classical=True, alpha=0).fit(X, list("ppqq")).predict_joint_log_proba(X)
    assert np.isneginf(found).tolist() == [[False, True], [False, True], [True, False], [True, False]]


def test_an_infinite_number_is_named(fitted: NaiveBayes) -> None:
    X, _ = table(20)
    X["x"][17] = np.inf
    with pytest.raises(DataError, match=r"column 'x' (holds inf|is infinite) \(row 18\)"):
        fitted.predict(X)


def test_there_is_none_where_nothing_is_looked_up() -> None:
    X, y = table(60)
    model = NaiveBayes(classical=True).fit({"x": X["x"], "z": X["z"]}, y).model_
    assert model.plan is None


def test_a_batch_of_other_blocks_is_read_as_usual(fitted: NaiveBayes) -> None:
    X, _ = table(50)
    batch = rows(fitted.model_, X)
    fewer = replace(batch, places={name: at for name, at in batch.places.items() if name != "pair"})
    assert isinstance(fitted.model_.plan, Plan)
    assert np.abs(fitted.model_.log_joint(fewer) - fitted.model_.log_joint(batch)).max() > 0.01


# ------------------------------------------------------------------------------------------ a single row


def forms(X: dict[str, list[Any]], i: int) -> list[Any]:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    row = {name: values[i] for name, values in X.items()}
    columns = {name: [value] for name, value in row.items()}
    return [columns, [row], pd.DataFrame(columns), pl.DataFrame(columns)]


def test_a_single_row_is_scored_as_among_others(fitted: NaiveBayes) -> None:
    X, _ = table(40)
    expected = fitted.predict_proba(X)
    for i in range(40):
        for form in forms(X, i):
            np.testing.assert_allclose(fitted.predict_proba(form)[0], expected[i], rtol=1e-12)
    assert one_row(fitted.model_, forms(X, 0)[0]) is not None


@pytest.mark.parametrize(
    "change",
    [{"a": ["new"]}, {"x": [np.inf]}, {"x": ["1"]}, {"x": [True]}, {"b": [2.0]}, {"a": [1]}, {"a": ["a", "b"]}],
    ids=str,
)
def test_whatever_needs_a_closer_look_gets_one(fitted: NaiveBayes, change: dict[str, Any]) -> None:
    row = {"a": ["a"], "b": [1], "x": [0.5], "z": [0.1]}
    assert one_row(fitted.model_, row) is not None
    assert one_row(fitted.model_, {**row, **change}) is None or change == {"x": [np.inf]}


def test_other_columns_get_a_closer_look(fitted: NaiveBayes) -> None:
    row = {"a": ["a"], "b": [1], "x": [0.5], "z": [0.1]}
    assert one_row(fitted.model_, {**row, "more": [1]}) is None
    with pytest.warns(Warning, match="never saw column 'more'"):
        found = fitted.predict_proba({**row, "more": [1]})
    np.testing.assert_allclose(found, fitted.predict_proba(row), rtol=1e-12)


def test_a_row_of_an_array() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    model = NaiveBayes(weights="learn", numeric="binned").fit(X, X[:, 0] * X[:, 1] > 0)
    assert one_row(model.model_, X[:1]) is not None
    np.testing.assert_allclose(model.predict_proba(X[:1]), model.predict_proba(X)[:1], rtol=1e-12)
