"""One column, whatever holds it."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from tallybayes.core.batch import MISSING, UNSEEN
from tallybayes.core.kernels import list_text
from tallybayes.data import values
from tallybayes.data.frames import read_table
from tallybayes.data.values import ArrayValues, SeriesValues
from tests.frames import every_form, every_frame, needs_pyarrow


def values_of(make: Any, cells: Any) -> Any:
    return read_table(make({"x": cells})).columns["x"]


@every_form
@pytest.mark.parametrize(
    ("cells", "storage", "n_missing"),
    [
        (["a", None, "b"], "text", 1),
        ([True, None, False], "boolean", 1),
        ([1, 2, 3], "integer", 0),
        ([1.5, None, 2.5], "number", 1),
        ([Decimal("1.5"), None, Decimal(2)], "number", 1),
        ([datetime.date(2026, 1, 1), None, datetime.date(2026, 1, 2)], "date", 1),
    ],
    ids=["text", "boolean", "integer", "number", "decimal", "date"],
)
def test_what_the_cells_are(make: Any, cells: Any, storage: str, n_missing: int) -> None:
    found = values_of(make, cells)
    assert (found.storage, found.n_missing, len(found)) == (storage, n_missing, 3)


@every_form
def test_missing_values_alone_are_neither_words_nor_numbers(make: Any) -> None:
    """A column that is all missing values in one batch fits whatever the model took it for."""
    found = values_of(make, [None, None])
    assert (found.n_missing, found.distinct()) == (2, ())
    assert found.codes(0, 2, ("a", "b")).tolist() == [MISSING, MISSING]
    assert np.isnan(found.numbers(0, 2)).all()


@every_frame
def test_nan_is_a_missing_value_as_null_is(make: Any) -> None:
    """Polars and PyArrow keep them apart."""
    found = values_of(make, [1.0, float("nan"), None, 2.0])
    assert found.n_missing == 2
    assert found.distinct() == (1.0, 2.0)
    np.testing.assert_array_equal(np.isnan(found.numbers(0, 4)), [False, True, True, False])


@every_form
@pytest.mark.parametrize("levels", [("b", "a"), ("b", "a", None)], ids=str)
def test_codes_are_places_among_the_levels(make: Any, levels: Any) -> None:
    """Levels keep their order; a missing value has its own code only where missing is a level."""
    found = values_of(make, ["a", None, "b", "z", "", "a"])
    missing_value = 2 if None in levels else MISSING
    assert found.codes(0, 6, levels).tolist() == [1, missing_value, 0, UNSEEN, UNSEEN, 1]
    assert found.codes(2, 5, levels).tolist() == [0, UNSEEN, UNSEEN]
    assert found.codes(0, 6, levels).dtype == np.int32
    assert found.codes(0, 6, ()).tolist() == [UNSEEN, MISSING, UNSEEN, UNSEEN, UNSEEN, UNSEEN]


@every_form
def test_codes_of_numbers_and_booleans(make: Any) -> None:
    assert values_of(make, [3, 1, 7]).codes(0, 3, (1, 2, 3)).tolist() == [2, 0, UNSEEN]
    assert values_of(make, [3.0, None, 2.5]).codes(0, 3, (1, 2, 3)).tolist() == [2, MISSING, UNSEEN]
    assert values_of(make, [True, None, False]).codes(0, 3, (False, True)).tolist() == [1, MISSING, 0]


@every_form
def test_codes_of_dates(make: Any) -> None:
    days = [datetime.date(2026, 1, 2), None, datetime.date(2026, 1, 1)]
    found = values_of(make, days)
    assert found.codes(0, 3, found.distinct()).tolist() == [1, MISSING, 0]


@every_form
def test_text_is_encoded_alike_whether_or_not_it_was_listed_before(make: Any) -> None:
    cells = ["b", None, "a", "c", "b", None]
    for levels, expected in (
        (("a", "b"), [1, MISSING, 0, UNSEEN, 1, MISSING]),
        (("b", "c", "a", None), [0, 3, 2, 1, 0, 3]),
        ((), [UNSEEN, MISSING, UNSEEN, UNSEEN, UNSEEN, MISSING]),
    ):
        found = values_of(make, cells)
        assert found.codes(0, 6, levels).tolist() == expected
        assert found.distinct() == ("a", "b", "c")
        assert found.codes(0, 6, levels).tolist() == expected
        assert found.codes(2, 5, levels).tolist() == expected[2:5]


@needs_pyarrow
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_text_is_listed_once_for_levels_and_codes(make: Any, monkeypatch: Any) -> None:
    times = []
    monkeypatch.setattr(values, "list_text", lambda column: times.append(len(column)) or list_text(column))
    found = values_of(make, ["b", "a", "b"])
    found.codes(0, 3, found.distinct())
    found.as_labels()
    assert times == [3]


@every_form
def test_cells_come_out_as_plain_values(make: Any) -> None:
    """What is shown to a person, and goes to JSON, is no NumPy number."""
    assert [type(values_of(make, [cell, cell]).value(1)) for cell in ("a", 2, 2.5, True)] == [str, int, float, bool]
    assert values_of(make, ["a", None]).value(1) is None
    assert values_of(make, [2.5, None]).value(1) is None


@every_form
def test_rows_can_be_taken_by_number(make: Any) -> None:
    text, number = values_of(make, ["a", None, "b", "c"]), values_of(make, [1.0, None, 3.0, 4.0])
    rows = np.array([3, 1, 3])
    assert text.take(rows).codes(0, 3, ("a", "b", "c")).tolist() == [2, MISSING, 2]
    np.testing.assert_array_equal(number.take(rows).numbers(0, 3), [4.0, np.nan, 4.0])


@every_form
def test_labels_come_out_as_they_are(make: Any) -> None:
    assert values_of(make, ["b", "a", "b"]).as_labels().tolist() == ["b", "a", "b"]
    assert values_of(make, [2, 1, 2]).as_labels().tolist() == [2, 1, 2]


@pytest.mark.parametrize("make", [pd.Series, pl.Series])
def test_numbers_without_missing_values_are_not_copied(make: Any) -> None:
    native = make(np.arange(5.0))
    found = SeriesValues(nw.from_native(native, series_only=True)).numbers(1, 4)
    assert np.shares_memory(found, native.to_numpy())
    array = np.arange(5.0)
    assert np.shares_memory(ArrayValues(array).numbers(1, 4), array)


@pytest.mark.parametrize("index", [[5, 3, 1], [0, 0, 0], list("abc"), [-1, -2, -3]], ids=str)
def test_the_index_of_a_pandas_frame_does_not_matter(index: Any) -> None:
    """Rows are counted, not looked up."""
    columns = read_table(pd.DataFrame({"t": ["a", None, "b"], "n": [1.0, 2.0, 3.0]}, index=index)).columns
    assert columns["t"].codes(1, 3, ("a", "b")).tolist() == [MISSING, 1]
    assert columns["n"].numbers(1, 3).tolist() == [2.0, 3.0]
    assert [columns["t"].value(i) for i in range(3)] == ["a", None, "b"]
    assert columns["t"].take(np.array([2, 0])).codes(0, 2, ("a", "b")).tolist() == [1, 0]


@needs_pyarrow
def test_pieces_and_slices_of_arrow_columns_are_one_column() -> None:
    import pyarrow as pa

    text = pa.chunked_array([["a", None], [], ["b", "c", "a"]])
    columns = read_table(pa.table({"t": text, "n": pa.chunked_array([[1, 2], [None, 4, 5]])})[1:]).columns
    assert columns["t"].codes(0, 4, ("a", "b", "c")).tolist() == [MISSING, 1, 2, 0]
    np.testing.assert_array_equal(columns["n"].numbers(0, 4), [2, np.nan, 4, 5])


@pytest.mark.parametrize(
    "dtype", [object, "str", "string", "category", pytest.param("string[pyarrow]", marks=needs_pyarrow)]
)
def test_text_of_pandas_in_every_dress(dtype: Any) -> None:
    found = SeriesValues(nw.from_native(pd.Series(["b", None, "ä", "b"], dtype=dtype), series_only=True))
    assert (found.storage, found.n_missing, found.distinct()) == ("text", 1, ("b", "ä"))
    assert found.codes(0, 4, ("ä", "b")).tolist() == [1, MISSING, 0, 1]


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["b", "c", "ä"])], ids=str)
def test_text_of_polars_in_every_dress(dtype: Any) -> None:
    found = SeriesValues(nw.from_native(pl.Series(["b", None, "ä", "b"], dtype=dtype), series_only=True))
    assert (found.storage, found.n_missing, found.distinct()) == ("text", 1, ("b", "ä"))
    assert found.codes(0, 4, ("ä", "b")).tolist() == [1, MISSING, 0, 1]


@pytest.mark.parametrize("cells", [["a", None], ("a", float("nan")), np.array(["a", None], dtype=object)], ids=str)
def test_missing_values_among_words_do_not_become_words(cells: Any) -> None:
    """NumPy would make the words "None" and "nan" of them."""
    found = ArrayValues(cells)
    assert (found.storage, found.n_missing, found.distinct()) == ("text", 1, ("a",))


def test_many_levels_are_looked_up_alike_by_every_engine() -> None:
    words = [f"w{i}" for i in np.random.default_rng(0).integers(0, 40_000, 5000)]
    levels = tuple(f"w{i}" for i in range(0, 40_000, 2))
    expected = ArrayValues(words).codes(0, 5000, levels)
    assert (expected == UNSEEN).any()
    for make in (pd.DataFrame, pl.DataFrame):
        np.testing.assert_array_equal(values_of(make, words).codes(0, 5000, levels), expected)
