"""What `NaiveBayes` takes each column for: inferred with a reason, overridden, matched by name, or refused."""

from __future__ import annotations

import datetime
import subprocess
import sys
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tallybayes import NaiveBayes
from tallybayes.core.schema import Column
from tallybayes.errors import ColumnWarning, DataError, SettingError
from tests.frames import arrow, birds, every_form, every_frame, needs_pyarrow

Y = ["no", "yes", "no", "yes", "no", "yes"]
SIDE = [2.0, 3.5, 1.0, 4.0, 2.5, 3.0]  # a plain column, so that the one in question may be left out


def column(table: Any, **params: Any) -> Column:
    """What the first column of six rows is taken for."""
    return NaiveBayes(classical=True, **params).fit(table, Y).schema_.columns[0]


def many(values: Any) -> dict[str, Any]:
    """A table of 24 rows: enough to tell an identifier."""
    return {"x": values, "side": [1.0, 2.5, 2.0, 4.0] * 6}


# ---------------------------------------------------------------------------------------------- inferred


@every_form
def test_text_is_a_category_of_the_words_that_occur(make: Any) -> None:
    found = column(make({"city": ["Rome", "Oslo", "Rome", None, "Bonn", "Oslo"]}))
    assert (found.kind, found.levels) == ("category", ("Bonn", "Oslo", "Rome"))
    assert found.reason == "text, 3 levels in 6 rows, 1 missing"


@every_form
def test_numbers_are_numeric_with_their_range(make: Any) -> None:
    assert column(make({"x": [1.5, 2.0, None, 4.25, 2.0, -1.0]})).reason == "numbers from -1 to 4.25, 1 missing"
    whole = column(make({"x": [1, 2, 3, 14, 2, 1]}))
    assert (whole.kind, whole.levels, whole.reason) == ("numeric", None, "whole numbers from 1 to 14")


@every_form
@pytest.mark.parametrize("missing_value", [False, True])
def test_true_and_false_are_boolean(make: Any, missing_value: bool) -> None:
    found = column(make({"x": [True, False, False, None if missing_value else True, True, False]}))
    assert (found.kind, found.levels) == ("boolean", (False, True))
    assert found.reason == "true or false" + (", 1 missing" if missing_value else "")


@every_form
def test_zeros_and_ones_are_boolean(make: Any) -> None:
    found = column(make({"x": [0, 1, 1, 0, 0, 1]}))
    assert (found.kind, found.levels, found.reason) == ("boolean", (0, 1), "whole numbers, only 0 and 1")


@pytest.mark.parametrize(
    "table",
    [
        pytest.param({"x": [0, 1, None, 0, 0, 1]}, id="dict"),
        pytest.param([{"x": x} for x in (0, 1, None, 0, 0, 1)], id="rows"),
        pytest.param(pd.DataFrame({"x": pd.array([0, 1, None, 0, 0, 1], dtype="Int64")}), id="pandas"),
        pytest.param(pl.DataFrame({"x": [0, 1, None, 0, 0, 1]}), id="polars"),
        pytest.param(lambda: arrow({"x": [0, 1, None, 0, 0, 1]}), id="pyarrow", marks=needs_pyarrow),
    ],
)
def test_zeros_and_ones_with_a_missing_value_are_boolean_too(table: Any) -> None:
    """The same table must be the same model, whatever holds it."""
    assert column(table() if callable(table) else table).kind == "boolean"


@pytest.mark.parametrize("ordered", [False, True])
def test_pandas_categories_are_declared_in_their_order(ordered: bool) -> None:
    sizes = pd.Categorical(["S", "L", "S", None, "L", "S"], categories=["S", "M", "L"], ordered=ordered)
    found = column(pd.DataFrame({"size": sizes}))
    assert (found.kind, found.levels) == ("category", ("S", "M", "L"))
    what = "ordered levels" if ordered else "enumeration"
    assert found.reason == f"{what}, 3 levels in 6 rows, 1 missing"


def test_polars_enums_are_declared_in_their_order() -> None:
    sizes = pl.Series(["S", "L", "S", None, "L", "S"], dtype=pl.Enum(["S", "M", "L"]))
    found = column(pl.DataFrame({"size": sizes}))
    assert found.levels == ("S", "M", "L")
    assert found.reason == "ordered levels, 3 levels in 6 rows, 1 missing"


@needs_pyarrow
def test_a_mere_encoding_of_text_declares_nothing() -> None:
    """Polars Categoricals and Arrow dictionaries are text that is stored shortly: filtering leaves levels behind."""
    import pyarrow as pa

    cities = ["Rome", "Oslo", "Rome", None, "Oslo", "Rome", "Bonn"]
    polars = pl.DataFrame({"city": pl.Series(cities, dtype=pl.Categorical)})[:6]
    arrow_table = pa.table({"city": pa.array(cities).dictionary_encode()})[:6]
    for table in (polars, arrow_table):
        found = column(table)
        assert (found.levels, found.reason) == (("Oslo", "Rome"), "text, 2 levels in 6 rows, 1 missing")


def test_categories_of_numbers_and_dates_are_counted() -> None:
    days = pd.to_datetime(["2026-01-01", "2026-01-02"] * 3)
    table = pd.DataFrame(
        {"n": pd.Categorical([3, 1, 3, None, 1, 3], categories=[1, 2, 3]), "day": pd.Categorical(days)}
    )
    model = NaiveBayes(classical=True).fit(table, Y)
    assert model.schema_.columns[0].levels == (1, 2, 3)
    np.testing.assert_array_equal(model.tally_.blocks["categorical"].summary.count, [[1, 0, 2, 3, 0], [1, 0, 1, 0, 3]])


def test_pitfall_12_a_declared_level_takes_its_share_of_the_smoothing() -> None:
    """Nobody is M: (0 + 1) / (3 + 3) in both classes; S and L keep their own counts."""
    sizes = pd.Categorical(["S", "L", "S", "L", "L", "S"], categories=["S", "M", "L"])
    model = NaiveBayes(classical=True).fit(pd.DataFrame({"size": sizes}), Y)
    table = np.exp(model.predict_joint_log_proba({"size": ["S", "M", "L"]})) * 2  # the prior is 1/2
    np.testing.assert_allclose(table, [[3 / 6, 2 / 6], [1 / 6, 1 / 6], [2 / 6, 3 / 6]])
    undeclared = NaiveBayes(classical=True).fit({"size": sizes.tolist()}, Y)
    np.testing.assert_allclose(np.exp(undeclared.predict_joint_log_proba({"size": ["S"]})) * 2, [[3 / 5, 2 / 5]])


NULLABLE = [3, 1, None, 14, 2, 1]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param({"x": NULLABLE}, id="dict"),
        pytest.param(pd.DataFrame({"x": pd.array(NULLABLE, dtype="Int64")}), id="pandas Int64"),
        pytest.param(pd.DataFrame({"x": NULLABLE}, dtype=object), id="pandas object"),
        pytest.param(pl.DataFrame({"x": NULLABLE}, schema={"x": pl.UInt8}), id="polars"),
        pytest.param(lambda: arrow({"x": NULLABLE}), id="pyarrow", marks=needs_pyarrow),
    ],
)
def test_whole_numbers_with_missing_values_keep_their_values(table: Any) -> None:
    model = NaiveBayes(classical=True).fit(table() if callable(table) else table, Y)
    moments = model.tally_.blocks["gaussian"].summary
    np.testing.assert_array_equal(moments.weight, [[2], [3]])
    np.testing.assert_allclose(moments.mean, [[2.5], [16 / 3]])
    assert model.schema_.columns[0].reason.endswith("numbers from 1 to 14, 1 missing")


@every_form
def test_decimals_are_numbers(make: Any) -> None:
    prices = [Decimal("1.10"), Decimal("2.20"), Decimal("1.10"), None, Decimal("3.30"), Decimal("0.05")]
    model = NaiveBayes(classical=True).fit(make({"price": prices}), Y)
    assert model.schema_.columns[0].reason == "numbers from 0.05 to 3.3, 1 missing"
    np.testing.assert_allclose(model.tally_.blocks["gaussian"].summary.mean, [[5.5 / 3], [1.125]])


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([10**30, 2, 3, 5 * 10**30, 5, 6], id="beyond 64 bits"),
        pytest.param(np.array([2**64 - 1, 2, 3, 4, 5, 6], dtype=np.uint64), id="unsigned"),
        pytest.param(pl.Series([10**30, 2, 3, 4, 5, 6], dtype=pl.Int128), id="128 bits"),
    ],
)
def test_pitfall_28_very_large_integers_are_numbers(values: Any) -> None:
    table = pl.DataFrame({"x": values}) if isinstance(values, pl.Series) else {"x": values}
    model = NaiveBayes(classical=True).fit(table, Y)
    assert model.schema_.columns[0].kind == "numeric"
    assert model.tally_.blocks["gaussian"].summary.mean[0, 0] == pytest.approx(sum(map(int, values[::2])) / 3)


def test_pitfall_28_integers_beyond_all_floats_are_an_error_that_names_the_column() -> None:
    with pytest.raises(DataError, match="column 'x'"):
        column({"x": [10**400, 2, 3, 4, 5, 6]})


ACCOUNTS = [2**60 + 1, 2**60 + 2, None, 2**60 + 2, 2**60 + 1, 2**60 + 2]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param({"x": ACCOUNTS}, id="dict"),
        pytest.param(pd.DataFrame({"x": pd.array(ACCOUNTS, dtype="Int64")}), id="pandas"),
        pytest.param(pl.DataFrame({"x": ACCOUNTS}), id="polars"),
        pytest.param(lambda: arrow({"x": ACCOUNTS}), id="pyarrow", marks=needs_pyarrow),
    ],
)
def test_pitfall_28_large_integers_stay_different_levels(table: Any) -> None:
    """Account numbers differ in their last digits, which floats cannot tell apart; nor if a value is missing."""
    model = NaiveBayes(classical=True, kind={"x": "category"}).fit(table() if callable(table) else table, Y)
    assert model.schema_.columns[0].levels == (2**60 + 1, 2**60 + 2)
    np.testing.assert_array_equal(model.tally_.blocks["categorical"].summary.count, [[2, 0], [0, 3]])


@every_form
@pytest.mark.parametrize(
    "first",
    [datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, 12), datetime.time(7), datetime.timedelta(days=3)],
    ids=lambda value: type(value).__name__,
)
def test_dates_are_read_and_durations_left_out_with_a_note(make: Any, first: Any) -> None:
    found = column(make({"when": [first] * 5 + [None], "side": SIDE}))
    lasts = isinstance(first, datetime.timedelta)
    assert (found.kind, found.levels) == ("ignored" if lasts else "date", None)
    assert found.reason.startswith("a duration" if lasts else ("dates", "times of a day"))


@every_form
def test_a_column_without_a_value_is_left_out_with_a_note(make: Any) -> None:
    model = NaiveBayes(classical=True).fit(make({"x": [None] * 6, "side": SIDE}), Y)
    assert (model.schema_.columns[0].kind, model.schema_.columns[0].reason) == ("ignored", "no value at all")
    alone = NaiveBayes(classical=True).fit({"side": SIDE}, Y)
    np.testing.assert_array_equal(
        model.predict_proba(make({"x": [None] * 6, "side": SIDE})), alone.predict_proba({"side": SIDE})
    )


@every_form
@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [("Oslo", "category", "'Oslo'"), (7, "numeric", "7"), (0.5, "numeric", "0.5")],
    ids=["word", "whole", "real"],
)
def test_constants_are_kept_with_a_note_and_say_nothing(make: Any, value: Any, kind: str, shown: str) -> None:
    """They may vary in other rows; those of training say the same of every class."""
    x = {"x": [value] * 6, "side": SIDE, "city": list("aabbab")}
    model = NaiveBayes(classical=True).fit(make(x), Y)
    found = model.schema_.columns[0]
    assert (found.kind, found.reason) == (kind, f"constant: {shown} in every row, no evidence")
    alone = NaiveBayes(classical=True).fit({"side": SIDE, "city": list("aabbab")}, Y)
    np.testing.assert_allclose(model.predict_proba(make(x)), alone.predict_proba({"side": SIDE, "city": x["city"]}))


@pytest.mark.parametrize(
    "rest", [{"city": list("aabbab")}, {"city": list("aabbab"), "side": SIDE}], ids=["words", "numbers"]
)
@pytest.mark.parametrize(("value", "other"), [(7, 8), (0.5, -1e6), ("Oslo", "Bonn")])
def test_another_value_than_the_constant_leaves_the_other_evidence_alone(
    value: Any, other: Any, rest: dict[str, Any]
) -> None:
    """No class knows it, so it must neither speak for one nor drown what the other columns say."""
    model = NaiveBayes(classical=True).fit({"x": [value] * 6, **rest}, Y)
    expected = NaiveBayes(classical=True).fit(rest, Y).predict_proba(rest)
    np.testing.assert_allclose(model.predict_proba({"x": [other] * 6, **rest}), expected, rtol=1e-6)


def test_a_constant_does_not_make_a_row_more_probable() -> None:
    """P(x) is that of the columns that vary: a spike at the constant is no reason to call a row familiar."""
    model = NaiveBayes(classical=True).fit({"x": [7.0] * 6, "city": list("aabbab")}, Y)
    assert model.score_samples({"x": [7.0], "city": ["a"]})[0] <= 0


@every_form
def test_a_different_word_in_every_row_is_an_identifier(make: Any) -> None:
    names = [f"name {i:02}" for i in range(24)]
    found = NaiveBayes(classical=True).fit(make(many(names)), Y * 4).schema_.columns[0]
    assert (found.kind, found.reason) == ("ignored", "an identifier: a different value in each of 24 rows")
    twice = NaiveBayes(classical=True).fit(make(many([*names[:-1], names[0]])), Y * 4).schema_.columns[0]
    assert twice.kind == "category"


@every_form
def test_whole_numbers_that_count_the_rows_are_an_identifier(make: Any) -> None:
    counted = list(range(100, 124))
    found = NaiveBayes(classical=True).fit(make(many(counted[::-1])), Y * 4).schema_.columns[0]
    assert (found.kind, found.reason) == ("ignored", "an identifier: it numbers the 24 rows")
    for other in ([*counted[:-1], 124], [*counted[:-1], 100], [float(n) + 0.5 for n in counted]):
        assert NaiveBayes(classical=True).fit(make(many(other)), Y * 4).schema_.columns[0].kind == "numeric"


def test_few_rows_and_arrays_have_no_identifiers() -> None:
    """Six different words may well be six levels; the columns of an array were chosen by somebody."""
    assert column({"x": list("abcdef")}).kind == "category"
    assert NaiveBayes(classical=True).fit(np.arange(24)[:, None], Y * 4).schema_.columns[0].kind == "numeric"


@every_form
def test_pitfall_37_words_that_look_like_missing_values_are_words(make: Any) -> None:
    words = ["None", "NA", "nan", "null", "", None]
    model = NaiveBayes(classical=True).fit(make({"x": words}), Y)
    assert model.schema_.columns[0].levels == ("", "NA", "None", "nan", "null")
    parts = model.contributions(make({"x": words}))[:, :, 0]
    assert (parts[:5] != 0).all()  # each of them is evidence
    np.testing.assert_array_equal(parts[5], [0.0, 0.0])  # the hole is not


def test_an_array_may_hold_words_and_numbers() -> None:
    table = np.array([["a", 1.5], ["b", 2.0], ["a", None], ["a", 4.0], [None, 2.0], ["b", 3.0]], dtype=object)
    model = NaiveBayes(classical=True).fit(table, Y)
    assert [(c.name, c.kind) for c in model.schema_.columns] == [("x0", "category"), ("x1", "numeric")]
    named = NaiveBayes(classical=True).fit({"x0": table[:, 0], "x1": table[:, 1]}, Y)
    np.testing.assert_array_equal(
        model.predict_proba(table), named.predict_proba({"x0": ["a", "b", "a", "a", None, "b"], "x1": table[:, 1]})
    )


# ---------------------------------------------------------------------------------------------- refused


NESTED = {
    "lists": [[1, 2], [3], [1], [2], [5, 6], [7]],
    "lists of equal length": [[1, 2], [3, 4]] * 3,
    "records": [{"a": 1}, {"a": 2}] * 3,
    "bytes": [b"a", b"b"] * 3,
}


@every_form
@pytest.mark.parametrize("case", NESTED)
def test_pitfall_28_nested_values_are_an_error_with_the_remedy(make: Any, case: str) -> None:
    with pytest.raises(DataError, match=r"column 'tags' holds .* drop=\['tags'\]"):
        column(make({"tags": NESTED[case], "side": SIDE}))


@every_form
@pytest.mark.parametrize("params", [{"drop": ["tags"]}, {"kind": {"tags": "ignored"}}], ids=str)
def test_nested_values_can_be_left_out(make: Any, params: dict[str, Any]) -> None:
    found = column(make({"tags": NESTED["lists"], "side": SIDE}), **params)
    assert (found.kind, found.reason) == ("ignored", "dropped, as given" if "drop" in params else "as given")


def test_pitfall_28_arrays_in_the_cells_are_an_error_with_the_remedy() -> None:
    embedded = pd.DataFrame({"tags": [np.array([1.0, 2.0])] * 6, "side": SIDE})
    with pytest.raises(DataError, match=r"column 'tags' holds .* drop=\['tags'\]"):
        column(embedded)


def test_words_and_numbers_in_one_column_can_be_given_to_be_a_category() -> None:
    mixed = {"x": ["a", 1, "a", 2, None, 1]}
    with pytest.raises(DataError, match="column 'x'"):
        column(mixed)
    assert set(column(mixed, kind={"x": "category"}).levels or ()) == {"a", 1, 2}


@every_form
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_pitfall_28_infinity_is_an_error_that_names_column_and_row(make: Any, bad: float) -> None:
    with pytest.raises(DataError, match=r"column 'x' is infinite \(row 4\)"):
        column(make({"x": [1.0, 2.0, 3.0, bad, 5.0, 6.0]}))
    model = NaiveBayes(classical=True).fit({"x": SIDE}, Y)
    with pytest.raises(DataError, match=r"column 'x' is infinite \(row 2\)"):
        model.predict(make({"x": [1.0, bad]}))


@every_form
@pytest.mark.parametrize("values", [["x"], ["nan"], [datetime.date(2026, 1, 1)], [[1.0]]], ids=str)
def test_what_was_learned_as_numbers_must_come_as_numbers(make: Any, values: Any) -> None:
    """Neither a word (nor the word "nan") nor a date is silently turned into a number."""
    model = NaiveBayes(classical=True).fit({"x": SIDE}, Y)
    with pytest.raises(DataError, match="column 'x' was learned as numbers, but holds"):
        model.predict(make({"x": values}))


@every_form
@pytest.mark.parametrize("values", [[3], [2.5], [True], [datetime.date(2026, 1, 1)], [None]], ids=str)
def test_anything_else_among_words_is_a_level_never_seen(make: Any, values: Any) -> None:
    model = NaiveBayes(classical=True).fit({"x": ["a", "b", "a", "b", "b", "b"]}, Y)
    np.testing.assert_allclose(model.predict_proba(make({"x": values})), [[0.5, 0.5]])


@every_form
def test_a_list_among_words_is_an_error_that_names_the_column(make: Any) -> None:
    model = NaiveBayes(classical=True).fit({"x": ["a", "b", "a", "b", "b", "b"]}, Y)
    with pytest.raises(DataError, match="column 'x'"):
        model.predict(make({"x": [[1.0, 2.0]]}))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"a": [1.0, 2.0], "b": [1.0]}, r"the columns differ in length: .*'b': 1"),
        ({"a": "text"}, "not the single value 'text'"),
        ({"a": np.array(3.0)}, "'a'|single value"),
        ({"a": np.zeros((2, 2))}, "'a'"),
        ([1.0, 2.0], "expected a table or an array of shape"),
        (np.array([[1j]]), "Complex data not supported"),
        ("text", "there is no file text"),
    ],
    ids=["ragged", "word for a column", "number for a column", "matrix for a column", "flat", "complex", "text"],
)
def test_what_is_no_table_is_an_error(table: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        NaiveBayes(classical=True).fit(table, ["no", "yes"])


def test_sparse_matrices_belong_elsewhere() -> None:
    import scipy.sparse as sp

    with pytest.raises(DataError, match="use MultinomialNB or BernoulliNB"):
        NaiveBayes(classical=True).fit(sp.eye(6).tocsr(), Y)


@pytest.mark.parametrize(
    ("table", "y", "why"),
    [
        ({"x": []}, [], "0 sample"),
        (pd.DataFrame(index=range(6)), Y, "0 feature"),
        ({"x": SIDE}, Y[1:], r"inconsistent numbers of samples: \[6, 5\]"),
    ],
    ids=["no rows", "no columns", "too few labels"],
)
def test_tables_of_the_wrong_shape_are_errors(table: Any, y: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        NaiveBayes(classical=True).fit(table, y)


# ---------------------------------------------------------------------------------------------- names


@every_frame
def test_pitfall_27_columns_are_matched_by_name_in_any_order(make: Any) -> None:
    x, y = birds()
    model = NaiveBayes(classical=True).fit(make(x), y)
    np.testing.assert_array_equal(model.predict_proba(make(dict(reversed(x.items())))), model.predict_proba(make(x)))


@every_form
def test_pitfall_27_extra_columns_are_ignored_with_one_note(make: Any) -> None:
    model = NaiveBayes(classical=True).fit(make({"x": SIDE}), Y)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        found = model.predict_proba(make({"more": list("abcdef"), "x": SIDE, "most": SIDE}))
    assert [str(note.message) for note in notes] == ["the model never saw columns 'more', 'most': ignored"]
    assert notes[0].category is ColumnWarning
    assert notes[0].filename == __file__  # the note points to the caller
    np.testing.assert_array_equal(found, model.predict_proba(make({"x": SIDE})))


@every_form
def test_pitfall_27_missing_columns_are_missing_values_with_one_note(make: Any) -> None:
    x = {"x": SIDE, "city": ["a", "b", "a", "b", "b", "b"]}
    model = NaiveBayes(classical=True).fit(make(x), Y)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        found = model.predict_proba(make({"x": SIDE}))
    assert [str(note.message) for note in notes] == ["the table lacks column 'city': counted as missing in every row"]
    np.testing.assert_array_equal(found, model.predict_proba(make({"x": SIDE, "city": [None] * 6})))


def test_missing_columns_are_an_error_if_strict() -> None:
    x = {"x": SIDE, "city": ["a", "b", "a", "b", "b", "b"], "none": [None] * 6}
    model = NaiveBayes(classical=True, strict=True).fit(x, Y)
    with pytest.raises(DataError, match=r"the table lacks column 'city'; .*strict=False"):
        model.predict({"x": SIDE, "none": [None] * 6})
    model.predict({"x": SIDE, "city": x["city"]})  # what is no evidence is not missed


@pytest.mark.parametrize("strict", [False, True])
def test_a_missing_column_of_a_bag_of_counts_is_one_error(strict: bool) -> None:
    """Shares of one total: without one of them the others mean something else."""
    x = {"apples": [3, 0, 2, 1, 4, 0], "pears": [1, 3, 0, 2, 1, 4], "side": SIDE}
    model = NaiveBayes(family={"apples": "multinomial", "pears": "multinomial"}, strict=strict).fit(x, Y)
    short = {"apples": [2], "side": [1.0]}
    for ask in (model.predict, lambda rows: model.partial_fit(rows, ["no"]), lambda rows: model.unlearn(rows, ["no"])):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(DataError, match=r"lacks column 'pears' of the multinomial counts"):
                ask(short)


def test_many_missing_columns_make_a_short_note() -> None:
    model = NaiveBayes(classical=True).fit({f"c{j}": SIDE for j in range(9)}, Y)
    with pytest.warns(ColumnWarning, match=r"the table lacks columns 'c1', 'c2', 'c3', 'c4', 'c5' and 3 more:"):
        model.predict({"c0": SIDE})


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(pd.DataFrame([[1, 2], [3, 4]] * 3, columns=["a", "a"]), id="pandas"),
        pytest.param(pd.DataFrame([[1, 2], [3, 4]] * 3, columns=[1, "1"]), id="pandas 1 and '1'"),
        pytest.param({1: [1.0, 2.0] * 3, "1": list("ababab")}, id="dict 1 and '1'"),
        pytest.param(lambda: _arrow_twins(), id="pyarrow", marks=needs_pyarrow),
    ],
)
def test_pitfall_27_a_name_that_occurs_twice_is_an_error(table: Any) -> None:
    with pytest.raises(DataError, match=r"columns must have different names, but \['(a|1)'\] occur more than once"):
        NaiveBayes(classical=True).fit(table() if callable(table) else table, Y)


def _arrow_twins() -> Any:
    import pyarrow as pa

    return pa.table([[1, 2] * 3, [3, 4] * 3], names=["a", "a"])


@pytest.mark.parametrize("make", [pd.DataFrame, dict])
def test_pitfall_27_names_may_be_numbers_nothing_and_empty(make: Any) -> None:
    x = {0: SIDE, "": list("ababab"), None: list("xxyyxy"), "a b<c>": [True, False] * 3}
    model = NaiveBayes(classical=True).fit(make(x), Y)
    assert model.schema_.names == ("0", "", "None", "a b<c>")
    assert model.feature_names_in_.tolist() == ["0", "", "None", "a b<c>"]
    assert model.predict(make(x)).shape == (6,)


def test_numbered_columns_can_be_overridden_by_their_number() -> None:
    """A frame without names has the columns 0, 1, …, and that is what the user calls them."""
    table = pd.DataFrame([[1, 2], [3, 5]] * 3)
    assert NaiveBayes(classical=True, kind={0: "category"}).fit(table, Y).schema_.columns[0].levels == (1, 3)


def test_frames_and_arrays_may_be_mixed_with_a_note() -> None:
    frame = pd.DataFrame({"a": SIDE, "b": SIDE[::-1]})
    model = NaiveBayes(classical=True).fit(frame, Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        found = model.predict_proba(frame.to_numpy())
    np.testing.assert_array_equal(found, model.predict_proba(frame))
    with pytest.raises(ValueError, match="X has 1 features, but NaiveBayes is expecting 2 features"):
        model.predict(frame.to_numpy()[:, :1])
    unnamed = NaiveBayes(classical=True).fit(frame.to_numpy(), Y)
    assert not hasattr(unnamed, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but NaiveBayes was fitted without"):
        unnamed.predict(frame)


# ---------------------------------------------------------------------------------------------- overridden


GIVEN = {
    "text": ["a", "b", "a", "b", "b", "b"],
    "whole": [1, 2, 3, 1, 2, 3],
    "real": SIDE,
    "flag": [True, False, True, True, False, False],
}


@pytest.mark.parametrize(
    ("name", "kind", "block"),
    [
        ("whole", "category", "categorical"),
        ("whole", "count", "poisson"),
        ("whole", "numeric", "gaussian"),
        ("real", "category", "categorical"),
        ("flag", "category", "categorical"),
        ("flag", "numeric", "gaussian"),
        ("text", "boolean", "categorical"),
    ],
)
def test_the_kind_can_be_given(name: str, kind: Any, block: str) -> None:
    model = NaiveBayes(classical=True, kind={name: kind}).fit({name: GIVEN[name]}, Y)
    found = model.schema_.columns[0]
    assert found.kind == kind
    assert found.reason.startswith("as given")
    assert list(model.tally_.blocks) == [block]
    assert found.levels == (tuple(sorted(set(GIVEN[name]))) if block == "categorical" else None)


@pytest.mark.parametrize(
    ("name", "family", "kind", "block"),
    [
        ("whole", "poisson", "count", "poisson"),
        ("whole", "multinomial", "count", "multinomial"),
        ("whole", "categorical", "category", "categorical"),
        ("whole", "gaussian", "numeric", "gaussian"),
        ("flag", "gaussian", "numeric", "gaussian"),
        ("text", "bernoulli", "boolean", "categorical"),
    ],
)
def test_the_family_can_be_given(name: str, family: str, kind: str, block: str) -> None:
    model = NaiveBayes(classical=True, family={name: family}).fit({name: GIVEN[name], "side": SIDE}, Y)
    assert model.schema_.columns[0].kind == kind
    assert model.tally_.blocks[block].columns[0] == 0


def test_a_poisson_column_is_counted_as_one() -> None:
    model = NaiveBayes(classical=True, family={"visits": "poisson"}, alpha=0).fit({"visits": [1, 4, 0, 5, 2, 3]}, Y)
    rates = np.array([1.0, 4.0])
    expected = 3 * np.log(rates) - rates + np.log(0.5)  # log 3! is the same for both classes
    np.testing.assert_allclose(model.predict_joint_log_proba({"visits": [3]}), [expected])


def test_multinomial_columns_share_one_bag() -> None:
    x = {"apples": [3, 0, 2, 1, 4, 0], "pears": [1, 3, 0, 2, 1, 4]}
    model = NaiveBayes(classical=True, family={"apples": "multinomial", "pears": "multinomial"}, alpha=0).fit(x, Y)
    expected = np.log(0.5) + np.array([2 * np.log(9 / 11) + np.log(2 / 11), 2 * np.log(1 / 10) + np.log(9 / 10)])
    np.testing.assert_allclose(model.predict_joint_log_proba({"apples": [2], "pears": [1]}), [expected])


def test_dropped_columns_might_not_be_there() -> None:
    x, y = birds()
    model = NaiveBayes(classical=True, drop=["year", "island"]).fit(x, y)
    kept = {name: values for name, values in x.items() if name not in ("year", "island")}
    np.testing.assert_array_equal(
        model.predict_proba(kept), NaiveBayes(classical=True).fit(kept, y).predict_proba(kept)
    )
    assert {c.name: c.reason for c in model.schema_.columns if c.kind == "ignored"} == {
        "year": "dropped, as given",
        "island": "dropped, as given",
    }


def test_identifiers_constants_and_dates_can_be_given_to_count() -> None:
    x = {"id": list(range(24)), "same": ["a"] * 24, "day": [datetime.date(2026, 1, 1 + i % 2) for i in range(24)]}
    given = {"id": "numeric", "same": "category", "day": "category"}
    model = NaiveBayes(classical=True, kind=given).fit(pl.DataFrame(x), Y * 4)
    assert {c.name: c.kind for c in model.schema_.columns} == given
    assert model.schema_.columns[2].levels == (datetime.date(2026, 1, 1), datetime.date(2026, 1, 2))
    parts = model.contributions(pl.DataFrame(x)[:1])[0]
    np.testing.assert_allclose(np.exp(parts[:, 2]), [13 / 14, 1 / 14])  # odd days are all "yes"


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"kind": {"wole": "numeric"}}, "kind names the column 'wole', which there is not; did you mean 'whole'"),
        ({"family": {"wole": "poisson"}}, "family names the column 'wole'"),
        ({"drop": ["wole"]}, "drop names the column 'wole'"),
        ({"missing": {"wole": "level"}}, "missing names the column 'wole'"),
        ({"alpha": {"wole": 1.0}}, "alpha names the column 'wole'"),
        ({"kind": {"whole": "words"}}, "kind of column 'whole' must be one of numeric, category, boolean, count, "),
        ({"family": {"whole": "beta"}}, "family of column 'whole' must be one of .*gaussian, "),
        ({"kind": {"text": "numeric"}}, r"column 'text' holds text \('a'\), so it cannot be numeric"),
        ({"family": {"text": "gaussian"}}, r"column 'text' holds text \('a'\), so it cannot be numeric"),
        ({"kind": {"whole": "boolean"}}, "column 'whole' has 3 different values, so it cannot be boolean"),
        ({"kind": {"whole": "category"}, "family": {"whole": "poisson"}}, "'whole'"),
        ({"kind": {"text": "category"}, "family": {"text": "gaussian"}}, "'text'"),
        ({"missing": {"text": "levels"}}, "missing .*'ignore' or 'level'.* not 'levels'"),
        ({"alpha": {"text": -1.0}}, "alpha of column 'text' must be"),
        ({"alpha": {"text": "auto"}}, "alpha of column 'text' must be"),
        ({"alpha": {"text": np.nan}}, "alpha of column 'text' must be"),
    ],
    ids=str,
)
def test_bad_overrides_name_the_column(params: dict[str, Any], why: str) -> None:
    model = NaiveBayes(classical=True, **params)
    with pytest.raises((SettingError, DataError), match=why):
        model.fit(GIVEN, Y)
    assert vars(model) == vars(NaiveBayes(classical=True, **params))


def test_counts_are_not_negative() -> None:
    with pytest.raises(DataError, match="column 'x' holds -3, and counts cannot be negative"):
        column({"x": [1, 2, -3, 4, 5, 6]}, kind={"x": "count"})
    model = NaiveBayes(classical=True, kind={"x": "count"}).fit({"x": [1, 2, 3, 4, 5, 6]}, Y)
    with pytest.raises(DataError, match=r"column 'x' holds the count -1 \(row 3\)"):
        model.predict({"x": [1, 2, -1]})


def test_a_table_without_evidence_gives_the_prior_with_a_note() -> None:
    with pytest.warns(ColumnWarning, match="no column is evidence, so every row gets the prior"):
        model = NaiveBayes(classical=True, drop=["x"]).fit({"x": SIDE}, ["no", "no", "yes", "no", "no", "yes"])
    np.testing.assert_allclose(model.predict_proba({"x": SIDE}), [[4 / 6, 2 / 6]] * 6)


# ---------------------------------------------------------------------------------------------- shown


def test_the_schema_prints_as_a_table() -> None:
    x, y = birds()
    assert str(NaiveBayes(classical=True).fit(x, y).schema_).splitlines() == [
        "column             kind      why",
        "island             category  text, 3 levels in 344 rows",
        "bill_length_mm     numeric   numbers from 32.1 to 59.6, 2 missing",
        "bill_depth_mm      numeric   numbers from 13.1 to 21.5, 2 missing",
        "flipper_length_mm  numeric   whole numbers from 172 to 231, 2 missing",
        "body_mass_g        numeric   whole numbers from 2700 to 6300, 2 missing",
        "sex                category  text, 2 levels in 344 rows, 11 missing",
        "year               numeric   whole numbers from 2007 to 2009",
        "classes: Adelie, Chinstrap, Gentoo",
    ]


def test_large_figures_have_separators() -> None:
    x = {"city": list("abcdefghi") * 200, "side": [1.0, 2.0] * 900}
    assert (
        NaiveBayes(classical=True).fit(x, ["no", "yes"] * 900).schema_.columns[0].reason
        == "text, 9 levels in 1,800 rows"
    )


def test_the_schema_is_html_too_and_escaped() -> None:
    x = {"<b>x</b>": ["<i>"] * 6, "a&b": SIDE}
    page = NaiveBayes(classical=True).fit(x, ["<no>", "yes"] * 3).schema_._repr_html_()
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "constant: &#x27;&lt;i&gt;&#x27;" in page
    assert "a&amp;b" in page
    assert "&lt;no&gt;, yes" in page
    for raw in ("<b>", "<i>", "<no>"):
        assert raw not in page


# ---------------------------------------------------------------------------------------------- without PyArrow


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_need_no_pyarrow(library: str) -> None:
    """It is not a requirement, so text in a frame must be read without it."""
    code = f"""
import sys
sys.modules["pyarrow"] = None  # as if it were not installed
import {library} as library
from tallybayes import NaiveBayes
x = library.DataFrame({{"city": ["a", "b", None, "a", "b", "b"], "n": [1.0, 2.0, None, 4.0, 5.0, 6.0]}})
model = NaiveBayes(classical=True).fit(x, ["no", "yes"] * 3)
print(model.tally_.blocks["categorical"].summary.count.tolist(), model.predict(x)[0], type(model.sample(2)[0]).__name__)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "[[1.0, 1.0], [1.0, 2.0]] no DataFrame", run.stderr[-500:]


def test_the_name_of_a_series_of_labels_is_the_target() -> None:
    frame = pd.DataFrame({"side": SIDE, "label": Y})
    by_name = NaiveBayes(classical=True).fit(frame, target="label")
    for y in (frame["label"], pl.Series("label", Y)):
        assert NaiveBayes(classical=True).fit(frame[["side"]], y).model_ == by_name.model_
    for other in ("side", 3, None):  # a column like the others, and no name at all
        assert NaiveBayes(classical=True).fit(frame, frame["label"].rename(other)).model_.provenance.target is None
    with pytest.warns(ColumnWarning, match="column 'label' holds the labels: leave it out of the table"):
        NaiveBayes(classical=True).fit(frame, frame["label"])
