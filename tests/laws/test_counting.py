"""How rows arrive makes no difference to what was counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.core.batch import Labels

from .cases import CLASSES, FAMILY_CASES, FORMED_CASES, WHOLE, Table
from .compare import assert_same_tally

each_family = pytest.mark.parametrize("case", FAMILY_CASES, ids=str)
each_form = pytest.mark.parametrize(("case", "form"), FORMED_CASES, ids=str)


@each_family
@pytest.mark.parametrize("weights", [WHOLE, (0.1, 1 / 3, 2.7)], ids=["whole", "fractional"])
@given(data=st.data())
def test_batches_add_up_to_the_whole(case, weights, data):
    table = data.draw(case.tables(weights=weights))
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(table) - 1, 1)), max_size=3)))
    parts = [part for part in np.split(np.arange(len(table)), cuts) if len(part)]
    tallies = [case.tally(table.take(part)) for part in parts]
    assert_same_tally(sum(tallies), case.tally(table), exact=weights is WHOLE)


@each_family
@pytest.mark.parametrize("n_jobs", [2, 3, -1, None])
@pytest.mark.parametrize("n", [1, 2, 700])
def test_threads_make_no_difference(case, n_jobs, n):
    table = case.random_table(n, weights=WHOLE)
    assert_same_tally(case.tally(table, n_jobs=n_jobs), case.tally(table, n_jobs=1), exact=True)


@each_family
@given(data=st.data())
def test_the_order_of_the_rows_makes_no_difference(case, data):
    table = data.draw(case.tables(weights=WHOLE))
    order = data.draw(st.permutations(range(len(table))))
    assert_same_tally(case.tally(table.take(order)), case.tally(table), exact=True)


@each_form
@pytest.mark.parametrize("labels", ["hard", "soft"])
def test_the_form_of_the_matrix_makes_no_difference(case, form, labels):
    # 600 rows: more than the blocks that the kernels sum at a time.
    table = case.random_table(600, weights=WHOLE)
    table = Table(case.entry.forms[form].fit(table.x), table.codes, table.weight)
    given = Labels.soft(_one_hot(table)) if labels == "soft" else None
    assert_same_tally(case.count(case.batch(table, form, given)), case.tally(table), exact=True)


@each_family
@given(data=st.data())
def test_a_whole_weight_is_a_row_that_often(case, data):
    table = data.draw(case.tables(weights=WHOLE))
    often = table.take(np.repeat(np.arange(len(table)), table.weight.astype(int)))
    if len(often):
        assert_same_tally(case.tally(table), case.tally(often.with_unlabelled_weight(1.0)), exact=True)


@each_family
@given(data=st.data())
def test_a_row_of_weight_zero_changes_nothing(case, data):
    table, ghosts = data.draw(case.tables()), data.draw(case.tables()).with_unlabelled_weight(0.0)
    for both in (table + ghosts, ghosts + table):
        assert_same_tally(case.tally(both), case.tally(table), exact=True)


@each_family
@given(data=st.data())
def test_soft_labels_are_hard_labels_in_parts(case, data):
    table = data.draw(case.tables())
    other = Table(table.x, (table.codes + 1) % np.int32(len(CLASSES)), 0.5 * table.weight)
    soft = case.batch(table, labels=Labels.soft(_one_hot(table) + _one_hot(other)))
    assert_same_tally(case.count(soft), case.tally(table) + case.tally(other))


def _one_hot(table: Table):
    return np.eye(len(CLASSES))[table.codes] * table.weight[:, None]
