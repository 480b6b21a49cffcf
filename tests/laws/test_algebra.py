"""Tallies are added, subtracted, scaled and aligned by name, whatever the family.

How rows are counted does not depend on how the counts are read, so one case a family is enough here.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.core.batch import columns_of
from tallybayes.core.schema import Schema
from tallybayes.core.tally import Tally
from tallybayes.data.arrays import one_block
from tallybayes.errors import UnlearnError
from tallybayes.families import FAMILIES

from .cases import CASES, ENTRIES, FAMILY_CASES
from .compare import assert_same_tally

each_family = pytest.mark.parametrize("case", FAMILY_CASES, ids=str)


def test_every_family_is_tried():
    assert set(ENTRIES) == set(FAMILIES)
    assert {type(case.family) for case in CASES} == set(FAMILIES.values())


@each_family
@given(data=st.data())
def test_adding_is_associative(case, data):
    a, b, c = (case.tally(data.draw(case.tables())) for _ in range(3))
    assert_same_tally((a + b) + c, a + (b + c))


@each_family
@given(data=st.data())
def test_adding_is_commutative(case, data):
    a, b = (case.tally(data.draw(case.tables())) for _ in range(2))
    assert_same_tally(a + b, b + a)


@each_family
@given(data=st.data())
def test_the_empty_tally_changes_nothing(case, data):
    a = case.tally(data.draw(case.tables()))
    for same in (a + Tally.empty(), Tally.empty() + a, sum([a]), a - Tally.empty(), a + 0.0 * a):
        assert_same_tally(same, a, exact=True)


@each_family
@given(data=st.data())
def test_subtraction_undoes_addition(case, data):
    a, b = (case.tally(data.draw(case.tables())) for _ in range(2))
    assert_same_tally((a + b) - b, a, scale=a + b)
    assert_same_tally((a + b) - a, b, scale=a + b)


@each_family
@given(data=st.data())
def test_taking_everything_back_leaves_nothing(case, data):
    a = case.tally(data.draw(case.tables()))
    assert_same_tally(a - a, 0.0 * a, exact=True)


@each_family
@given(data=st.data(), factor=st.sampled_from([0.0, 0.25, 0.99, 1.0, 3.0]))
def test_scaling_a_tally_scales_the_weight_of_its_rows(case, data, factor):
    table = data.draw(case.tables())
    tally = case.tally(table)
    assert_same_tally(factor * tally, case.tally(table.with_unlabelled_weight(factor * table.weight)), scale=tally)


@each_family
@given(data=st.data())
def test_scaling_distributes_over_addition(case, data):
    a, b = (case.tally(data.draw(case.tables())) for _ in range(2))
    assert_same_tally(0.3 * (a + b), 0.3 * a + 0.3 * b)
    assert_same_tally(a + a, a * 2.0)


@each_family
@given(data=st.data())
def test_classes_and_levels_are_matched_by_name(case, data):
    # Each part knows only the classes and levels it has seen, in an order of its own.
    mine, theirs = (data.draw(case.tables()) for _ in range(2))
    united = case.count(case.retold(mine)) + case.count(case.retold(theirs))
    assert_same_tally(united.align(case.schema), case.tally(mine + theirs))


@each_family
@given(data=st.data())
def test_rows_are_taken_back_by_name(case, data):
    mine, theirs = (data.draw(case.tables()) for _ in range(2))
    both = case.tally(mine + theirs)
    assert_same_tally(both - case.count(case.retold(theirs)), case.tally(mine), scale=both)


@pytest.mark.parametrize("case", [case for case in FAMILY_CASES if case.entry.kind != "block"], ids=repr)
@given(data=st.data())
def test_selecting_columns_is_counting_only_them(case, data):
    batch = case.batch(data.draw(case.tables()))
    x, schema = batch.blocks[case.family.name].x, case.schema
    fewer = columns_of(x, [0, 2])
    narrow = Schema((schema.columns[0], schema.columns[2]), schema.classes)
    want = case.count(one_block(case.family.name, narrow, fewer, batch.labels))
    assert_same_tally(case.count(batch).select(("c0", "c2")), want, exact=True)


@each_family
@given(data=st.data())
def test_aligning_adds_nothing(case, data):
    a = case.count(case.retold(data.draw(case.tables())))
    wide = a.align(Schema(case.schema.columns, (*case.schema.classes, "never seen")))
    assert wide.class_weight.sum() == pytest.approx(a.class_weight.sum(), rel=1e-15)
    assert wide.class_weight[-1] == 0.0
    assert_same_tally(wide - a.align(wide.schema), 0.0 * wide, exact=True)


@each_family
@pytest.mark.parametrize("stranger", ["one row too many", "a row twice as heavy", "a class of no rows"])
def test_rows_never_learned_cannot_be_taken_back(case, stranger):
    table = case.random_table(12, weights=(1.0,))
    learned = table.take(table.codes != 2)
    rows = {
        "one row too many": learned + learned.take([0]),
        "a row twice as heavy": learned.with_unlabelled_weight(2.0),
        "a class of no rows": table.take(table.codes == 2),
    }[stranger]
    model = case.model(learned)
    with pytest.raises(UnlearnError, match="not in the tally"):
        model.unlearn(case.batch(rows))
    assert_same_tally(model.tally, case.tally(learned), exact=True)
