"""Columns, levels and classes, and how two schemas become one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.core.levels import in_order, positions, united
from tallybayes.core.schema import Column, NumberedColumns, Schema, plural
from tallybayes.errors import SchemaError

WIND = Column("wind", "category", ("strong", "weak"))

names = st.lists(st.sampled_from("abcdef"), unique=True)


def test_reprs_say_what_is_there():
    assert repr(WIND) == "Column(wind: category of 2 levels)"
    assert repr(Column("age", "numeric")) == "Column(age: numeric)"
    assert repr(Schema((WIND,), ("no", "yes"))) == "Schema(1 column, 2 classes)"
    assert repr(Schema(NumberedColumns(12_000, "count"), ("ham",))) == "Schema(12,000 columns, 1 class)"


@pytest.mark.parametrize(
    ("number", "noun", "words"), [(1, "class", "1 class"), (2, "class", "2 classes"), (0, "row", "0 rows")]
)
def test_plural(number, noun, words):
    assert plural(number, noun) == words


# ---------------------------------------------------------------------------------------------- uniting


@given(mine=names, theirs=names)
def test_the_union_does_not_depend_on_who_comes_first(mine, theirs):
    both = united(mine, theirs)
    assert both == united(theirs, mine) or {*mine} == {*theirs}
    assert {*both} == {*mine, *theirs}
    assert len(both) == len({*both})


def test_equal_levels_keep_their_declared_order():
    assert united(("low", "high"), ("low", "high")) == ("low", "high")
    assert united(("low", "high"), ()) == united((), ("low", "high")) == ("low", "high")


def test_numbered_levels_stay_a_range():
    assert united(range(3), range(5)) == united(range(5), range(3)) == range(5)


def test_values_of_several_types_have_one_order():
    assert in_order({"b", 2, "a", 1}) == in_order({1, "a", 2, "b"}) == (1, 2, "a", "b")


def test_columns_unite_their_levels():
    still = Column("wind", "category", ("still",))
    assert WIND.unite(still).levels == still.unite(WIND).levels == ("still", "strong", "weak")


def test_schemas_unite_columns_and_classes():
    still = Schema((Column("wind", "category", ("still",)),), ("maybe",))
    both = Schema((WIND,), ("no", "yes")).unite(still)
    assert both == Schema((Column("wind", "category", ("still", "strong", "weak")),), ("maybe", "no", "yes"))


def test_numbered_and_named_columns_unite():
    named = Schema((Column("x0", "count"), Column("x1", "count")), ("a",))
    assert named.unite(Schema(NumberedColumns(2, "count"), ("b",))).names == ("x0", "x1")


def test_one_long_name_does_not_push_the_others_aside():
    columns = (Column("x" * 60, "numeric", reason="numbers"), Column("city", "category", ("a",), "text"))
    assert [line.index("text") for line in str(Schema(columns, ("no",))).splitlines() if "text" in line] == [52]


def test_columns_of_another_name_or_kind_do_not_unite():
    with pytest.raises(SchemaError, match=r"'wind' \(category\) meets column 'gust' \(numeric\).*same order"):
        WIND.unite(Column("gust", "numeric"))


def test_schemas_of_another_width_do_not_unite():
    with pytest.raises(SchemaError, match="1 column meet 2 columns"):
        Schema((WIND,), ()).unite(Schema(NumberedColumns(2, "count"), ()))


def test_a_column_name_is_unique():
    with pytest.raises(SchemaError, match="'wind'"):
        Schema((WIND, WIND), ("no", "yes"))


# ---------------------------------------------------------------------------------------------- positions


@pytest.mark.parametrize(
    ("values", "within"), [(("c", "a"), ("a", "b", "c")), (range(3), range(5)), (range(2, 4), range(5)), ((), ("a",))]
)
def test_positions_find_each_value(values, within):
    found = positions(values, within)
    assert [within[p] for p in found] == list(values)
    assert found.dtype == np.intp


def test_numbered_columns_are_made_on_demand():
    columns = NumberedColumns(10**9, "count")
    assert len(columns) == 10**9
    assert columns[-1] == Column("x999999999", "count")
    assert columns[1:3] == (Column("x1", "count"), Column("x2", "count"))
    with pytest.raises(IndexError):
        columns[10**9]


@pytest.mark.parametrize(
    "column",
    [
        Column("x", "numeric", edges=(1.0, -(10**30))),
        Column("x", "numeric", edges=(0.5, 10**30)),
        Column("x", "numeric", parts=()),
    ],
)
def test_a_column_that_no_table_has_is_refused(column):
    with pytest.raises(SchemaError):
        Schema((column,), ("a",)).check()
