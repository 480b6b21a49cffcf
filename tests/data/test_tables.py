"""Tables of every kind, read without turning them into something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from tallybayes import NaiveBayes
from tallybayes.core.batch import MISSING, Codes, Labels
from tallybayes.core.schema import Column, Schema
from tallybayes.data.frames import profile, read_table, table_like
from tallybayes.data.inference import Profile
from tallybayes.data.tables import TableBatch
from tallybayes.data.values import ArrayValues
from tallybayes.errors import DataError
from tests.frames import FORMS, FRAMES, every_form, every_frame

X = {"text": ["a", None, "b", "a"], "real": [1.5, 2.5, None, 4.5], "flag": [True, False, None, True]}


@every_form
def test_every_form_is_the_same_table(make: Any) -> None:
    table = read_table(make(X))
    assert (list(table.columns), table.n_rows, table.named) == (["text", "real", "flag"], 4, True)
    assert [table.row(i) for i in range(4)] == FORMS["rows"](X)


@pytest.mark.parametrize(("form", "made_by"), [*((name, name) for name in FRAMES), ("dict", "dict"), ("rows", "dict")])
def test_a_table_remembers_what_it_came_in(form: str, made_by: str) -> None:
    if form == "pyarrow":
        pytest.importorskip("pyarrow")
    assert read_table(FORMS[form](X)).made_by == made_by


def test_a_table_that_was_read_is_not_read_again() -> None:
    table = read_table(X)
    assert read_table(table) is table


def test_rows_may_lack_some_of_the_columns() -> None:
    table = read_table([{"a": 1.0}, {"b": "x"}, {"a": 3.0, "b": "y"}])
    assert [table.row(i) for i in range(3)] == [{"a": 1.0, "b": None}, {"a": None, "b": "x"}, {"a": 3.0, "b": "y"}]


def test_an_array_has_numbered_columns_and_is_not_copied() -> None:
    array = np.arange(6.0).reshape(3, 2)
    table = read_table(array)
    assert (list(table.columns), table.named, table.made_by) == (["x0", "x1"], False, "array")
    assert table.matrix is not None
    assert np.shares_memory(table.matrix, array)
    assert read_table([["a", "b"], ["c", "d"]]).matrix is None  # words are no matrix


@every_form
def test_rows_of_a_table_can_be_taken(make: Any) -> None:
    part = read_table(make(X)).take(np.array([2, 0, 2]))
    assert [part.row(i) for i in range(3)] == [FORMS["rows"](X)[i] for i in (2, 0, 2)]
    assert part.n_rows == 3


@pytest.mark.parametrize(
    ("cells", "numbered"),
    [
        (range(100, 130), True),
        (range(129, 99, -1), True),
        (range(20), False),  # few rows may well be numbers that matter
        ([*range(29), 30], False),
        ([*range(29), 0], False),
        (np.arange(30.0), False),
    ],
    ids=["counted", "backwards", "few", "a gap", "one twice", "real"],
)
def test_columns_that_number_the_rows_are_recognised(cells: Any, numbered: bool) -> None:
    assert profile("x", ArrayValues(list(cells) if isinstance(cells, range) else cells)).numbered == numbered


def test_a_profile_has_levels_or_a_range() -> None:
    assert profile("x", ArrayValues(["b", None, "a"])) == Profile("x", "text", 3, 1, ("a", "b"))
    assert profile("x", ArrayValues([2.0, None, -1.0])) == Profile("x", "number", 3, 1, low=-1.0, high=2.0)
    assert profile("x", ArrayValues([np.nan, np.nan])) == Profile("x", "number", 2, 2)


# ---------------------------------------------------------------------------------------------- ready to be counted

SCHEMA = Schema(
    (
        Column("real", "numeric"),
        Column("text", "category", ("a", "b")),
        Column("absent", "numeric"),
        Column("gone", "category", ("x",)),
    ),
    ("no", "yes"),
)
PLACES = {"gaussian": [0, 2], "categorical": [1, 3]}


@every_form
def test_columns_go_to_their_blocks_and_absent_ones_are_missing_values(make: Any) -> None:
    batch = TableBatch(SCHEMA, read_table(make(X)), PLACES, Labels.hard(np.array([0, 1, 1, 0], dtype=np.int32)))
    part = batch.rows(1, 4)
    np.testing.assert_array_equal(part.blocks["gaussian"].x, [[2.5, np.nan], [np.nan, np.nan], [4.5, np.nan]])
    codes = part.blocks["categorical"].x
    assert isinstance(codes, Codes)
    assert codes.matrix.tolist() == [[MISSING, MISSING], [1, MISSING], [0, MISSING]]
    assert codes.n_levels.tolist() == [2, 1]
    assert part.labels is not None
    assert part.labels.codes is not None
    assert part.labels.codes.tolist() == [1, 1, 0]
    assert (batch.n_rows, batch.size, part.n_rows) == (4, 16, 3)


@every_form
def test_a_batch_of_some_rows(make: Any) -> None:
    batch = TableBatch(SCHEMA, read_table(make(X)), PLACES, Labels.hard(np.array([0, 1, 1, 0], dtype=np.int32)))
    part = batch.take(np.array([3, 0])).rows(0, 2)
    np.testing.assert_array_equal(part.blocks["gaussian"].x[:, 0], [4.5, 1.5])
    assert part.labels is not None
    assert part.labels.codes is not None
    assert part.labels.codes.tolist() == [0, 0]


def test_an_array_of_numbers_goes_to_the_kernels_as_it_is() -> None:
    array = np.arange(6.0).reshape(3, 2)
    schema = Schema((Column("x0", "numeric"), Column("x1", "numeric")), ("no",))
    whole = TableBatch(schema, read_table(array), {"gaussian": [0, 1]}).rows(0, 3).blocks["gaussian"].x
    assert np.shares_memory(whole, array)
    turned = TableBatch(schema, read_table(array), {"gaussian": [1]}).rows(0, 3).blocks["gaussian"].x
    np.testing.assert_array_equal(turned, array[:, [1]])


# ---------------------------------------------------------------------------------------------- and back


@every_frame
def test_columns_become_the_frame_they_came_in(make: Any) -> None:
    native = make(X)
    columns = {name: np.array(values, dtype=object) for name, values in X.items()}
    columns["real"] = np.array([1.5, 2.5, np.nan, 4.5])
    again = table_like(columns, read_table(native).made_by)
    assert type(again) is type(native)
    assert [read_table(again).row(i) for i in range(4)] == FORMS["rows"](X)


def test_columns_become_a_dict_or_an_array() -> None:
    columns = {"x0": np.array([1.0, 2.0]), "x1": np.array([3.0, 4.0])}
    assert table_like(columns, "dict") == columns
    np.testing.assert_array_equal(table_like(columns, "array"), [[1.0, 3.0], [2.0, 4.0]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_no_columns_become_an_empty_frame(make: Any) -> None:
    assert table_like({}, read_table(make(X)).made_by).shape[1] == 0


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"a": [1], "b": [1, 2]}, "the columns differ in length: {'a': 1, 'b': 2}"),
        (np.zeros(3), r"got shape \(3,\). Reshape your data"),
        (np.zeros((1, 2, 3)), r"got shape \(1, 2, 3\)"),
        (pl.LazyFrame(X), "expected a table or an array"),
        (3.0, "expected a table or an array"),
        (None, "expected a table or an array"),
    ],
    ids=["ragged", "flat", "deep", "lazy", "number", "nothing"],
)
def test_what_is_no_table(data: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        read_table(data)


def test_enumerations_of_numbers_are_read_as_numbers_where_numbers_were_learned() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 40, 80), np.arange(80) % 2
    model = NaiveBayes().fit({"x": x}, y)
    expected = model.predict_proba({"x": x})
    frame = pd.DataFrame({"x": pd.Categorical(x)})
    encoded = pa.table({"x": pa.array(x).dictionary_encode()})
    for table in (frame, encoded):
        assert_allclose(model.predict_proba(table), expected)
    assert NaiveBayes().fit(encoded, y).schema_.columns[0].kind == "numeric"  # an encoding says nothing of the kind
    frame.loc[3, "x"] = np.nan
    assert_allclose(model.predict_proba(frame)[3], model.predict_proba({"x": [np.nan]})[0])
    with pytest.raises(DataError, match="was learned as numbers, but holds text: 'a'"):
        model.predict_proba(pd.DataFrame({"x": pd.Categorical(["a", "b"])}))
