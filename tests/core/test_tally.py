"""What is special to summaries and tallies; their algebra is in `laws/test_algebra.py`."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tallybayes
from tallybayes import Tally
from tallybayes.core.batch import Labels
from tallybayes.core.schema import NumberedColumns, Schema
from tallybayes.core.summaries import Counts
from tallybayes.core.tally import Block, count
from tallybayes.data.arrays import one_block
from tallybayes.errors import DataError, SchemaError, UnlearnError
from tallybayes.families import Categorical, Gaussian, Multinomial


def numbers(values, target, **options):
    return tallybayes.tally(np.array(values, dtype=float)[:, None], target, Gaussian(), **options)


def moments(tally):
    return tally.blocks["gaussian"].summary


# ---------------------------------------------------------------------------------------------- reprs


def test_reprs_say_what_was_counted():
    tally = numbers([1, 3, 5], ["no", "yes", "yes"])
    assert repr(tally) == "Tally(3 rows; no: 1, yes: 2; 1 column)"
    assert repr(numbers([1], ["no"])) == "Tally(1 row; no: 1; 1 column)"
    assert repr(moments(tally)) == "Moments(2 classes, 1 column, weight 3)"
    assert repr(Counts(np.ones((2, 3)), np.full((2, 1), 4.5))) == "Counts(2 classes, 3 cells, weight 9)"


def test_the_repr_of_many_classes_is_short():
    assert "7: 1, …" in repr(numbers(range(20), range(20)))


# ---------------------------------------------------------------------------------------------- schemas


def test_a_part_may_know_some_classes_only_whatever_their_order():
    whole = numbers([1, 2, 3], ["yes", "no", "no"], classes=["yes", "no"])
    left = whole - numbers([2], ["no"])
    assert left.schema.classes == ("yes", "no")
    assert_array_equal(left.class_weight, [1, 1])


def test_a_part_may_know_some_levels_only_whatever_their_order():
    x = np.array([["low"], ["high"], ["mid"]], dtype=object)
    whole = tallybayes.tally(x, ["a"] * 3, Categorical())
    sizes = whole.schema.columns[0]
    ordered = whole.align(Schema((type(sizes)("x0", "category", ("low", "mid", "high")),), ("a",)))
    left = ordered - tallybayes.tally(x[1:2], ["a"], Categorical())
    assert_array_equal(left.blocks["categorical"].summary.count, [[1, 1, 0]])


def test_named_and_numbered_columns_are_the_same_columns():
    whole, part = numbers([1, 2], ["a", "a"]), numbers([2], ["a"], names=["x0"])
    assert repr(whole - part) == "Tally(1 row; a: 1; 1 column)"


def test_nothing_can_be_taken_from_nothing():
    with pytest.raises(UnlearnError, match="not in the tally"):
        Tally.empty() - numbers([1], ["a"])


def test_a_class_that_was_never_seen_cannot_be_taken_back():
    with pytest.raises(UnlearnError, match="never seen"):
        numbers([1, 2], ["a", "b"]) - numbers([1], ["c"])


def test_tallies_of_other_columns_do_not_add_up():
    with pytest.raises(SchemaError, match=r"'x0'.*'age'"):
        numbers([1], ["a"]) + numbers([1], ["a"], names=["age"])


def test_tallies_counted_otherwise_do_not_add_up():
    x = np.ones((1, 1))
    schema = Schema(NumberedColumns(1, "count"), ("a",))
    labels = Labels.hard(np.zeros(1, np.int32))
    words, other = (count(one_block(name, schema, x, labels), {name: Multinomial()}) for name in ("words", "other"))
    with pytest.raises(SchemaError, match=r"\['words'\] meets a tally of \['other'\]; count both alike"):
        words + other


def test_aligning_cannot_lose_a_class():
    with pytest.raises(SchemaError, match="'b'"):
        numbers([1, 2], ["a", "b"]).align(Schema(NumberedColumns(1, "numeric"), ("a",)))


def test_a_column_to_select_must_be_there():
    with pytest.raises(SchemaError, match=r"no column 'x7'.*x0"):
        numbers([1], ["a"]).select(["x7"])


# ---------------------------------------------------------------------------------------------- scaling and counting


@pytest.mark.parametrize("factor", [-1.0, np.nan, np.inf])
def test_a_tally_scales_by_a_number_of_at_least_zero(factor):
    with pytest.raises(DataError, match="at least 0"):
        factor * numbers([1], ["a"])


def test_only_zero_starts_a_sum():
    with pytest.raises(TypeError):
        sum([numbers([1], ["a"])], 5)


def test_a_batch_of_no_rows_is_nothing():
    tally = numbers([1, 2], ["a", "b"])
    no_rows = one_block("gaussian", tally.schema, np.ones((0, 1)), Labels.hard(np.zeros(0, np.int32)))
    nothing = count(no_rows, {"gaussian": Gaussian()})
    assert_array_equal((tally + nothing).class_weight, [1, 1])
    assert_array_equal(moments(nothing).weight, np.zeros((2, 1)))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_a_bad_cell_is_named_by_its_column_and_its_row_in_the_whole(n_jobs):
    x = np.ones((10, 2))
    x[7, 1] = np.inf
    with pytest.raises(DataError, match=r"column 'pulse' is infinite \(row 8\)\. Replace"):
        tallybayes.tally(x, [0, 1] * 5, Gaussian(), names=["age", "pulse"], n_jobs=n_jobs)


def test_data_of_an_unknown_kind_is_refused():
    with pytest.raises(DataError, match="cannot count a set; pass"):
        tallybayes.tally({"age"}, ["a"], Gaussian())


# ---------------------------------------------------------------------------------------------- itself


def test_places_are_the_columns_of_the_blocks():
    tally = tallybayes.tally({"a": [1.5, 2.5], "b": ["x", "y"], "y": [0, 1]}, "y")
    assert {name: list(columns) for name, columns in tally.places.items()} == {"gaussian": [0], "categorical": [1]}


def test_tallies_are_equal_by_value():
    one, two = numbers([1, 3, 5], ["no", "yes", "yes"]), numbers([1, 3], ["no", "yes"]) + numbers([5], ["yes"])
    assert one == two
    assert one != numbers([1, 3, 6], ["no", "yes", "yes"])
    assert one != numbers([1, 3, 5], ["no", "yes", "no"])
    assert one != "a tally"


def test_a_tally_checks_itself():
    tally = numbers([1, 3, 5], ["no", "yes", "yes"])
    tally.check()
    for wrong, why in (
        (replace(tally, class_weight=np.array([1.0, -2.0])), "class weight holds a number"),
        (replace(tally, class_weight=np.ones(3)), r"class weight has the shape \(3,\), not \(2,\)"),
        (replace(tally, schema=Schema(tally.schema.columns, ("no", "no"))), "names a class twice"),
        (replace(tally, blocks={"gaussian": Block([7], moments(tally))}), "'gaussian'.*column that the schema"),
        (replace(tally, blocks={"a": Block([0], moments(tally)), "b": Block([0], moments(tally))}), "counted twice"),
    ):
        with pytest.raises(SchemaError, match=why):
            wrong.check()


def test_restricting_is_the_inverse_of_aligning():
    tally = tallybayes.tally(np.array([["low"], ["high"]], dtype=object), ["a", "b"], Categorical())
    column = replace(tally.schema.columns[0], levels=("high", "low", "mid"))
    larger = tally.align(Schema((column,), ("a", "b", "c")))
    assert larger.blocks["categorical"].summary.count.shape == (3, 3)
    assert larger.restrict(tally.schema) == tally
    assert larger.trimmed() == tally
    assert replace(larger, schema=replace(larger.schema, declared=("c",))).trimmed().schema.classes == ("a", "b", "c")
