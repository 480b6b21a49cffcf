"""Encoded rows: ranges and choices of them, whatever the matrix."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tallybayes.core.batch import Batch, Codes, Csr, Encoded, Labels, rows_of
from tallybayes.core.schema import NumberedColumns, Schema

FULL = np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0], [3.0, 4.0]])
CSR = Csr(np.array([2.0, 1.0, 3.0, 4.0]), np.array([1, 0, 0, 1]), np.array([0, 1, 1, 2, 4]), 2)
CODES = Codes(FULL.astype(np.int8), np.array([4, 5]))
MATRICES = {"dense": FULL, "csr": CSR, "codes": CODES}


def full(x):
    return x.dense() if isinstance(x, Csr) else x.matrix if isinstance(x, Codes) else x


def batch(x, labels=None):
    return Batch(Schema(NumberedColumns(2, "count"), ("a", "b")), {"block": Encoded(range(2), x)}, 4, labels)


each_matrix = pytest.mark.parametrize("x", MATRICES.values(), ids=MATRICES)


@each_matrix
@pytest.mark.parametrize(("first", "last"), [(0, 4), (1, 3), (2, 2), (3, 4)])
def test_a_range_of_rows(x, first, last):
    assert rows_of(x, first, last).shape == (last - first, 2)
    assert_array_equal(full(rows_of(x, first, last)), FULL[first:last])


@each_matrix
@pytest.mark.parametrize("rows", [[3, 0, 0], [1], []], ids=str)
def test_a_choice_of_rows(x, rows):
    rows = np.array(rows, dtype=int)
    weight = np.arange(4.0)
    taken = batch(x, Labels.hard(np.array([0, 1, 1, 0], np.int32), weight)).take(rows)
    assert taken.n_rows == len(rows)
    assert_array_equal(full(taken.blocks["block"].x), FULL[rows])
    assert_array_equal(taken.labels.weight, weight[rows])


def test_ranges_of_ranges_of_sparse_rows():
    assert_array_equal(CSR.rows(1, 4).rows(1, 3).dense(), FULL[2:4])


def test_ranges_share_memory():
    for x in (FULL, CSR.data, CODES.matrix):
        assert np.shares_memory(rows_of(x, 1, 3), x)
    assert np.shares_memory(CSR.rows(2, 4).data, CSR.data)


def test_duplicate_entries_of_a_sparse_row_are_summed():
    assert_array_equal(Csr(np.ones(3), np.array([1, 1, 0]), np.array([0, 3]), 2).dense(), [[1.0, 2.0]])


def test_the_whole_range_is_the_batch_itself():
    whole = batch(FULL)
    assert whole.rows(0, 4) is whole
    assert whole.rows(1, 4).n_rows == 3
    assert whole.rows(1, 4).labels is None


def test_the_size_of_sparse_rows_is_that_of_their_entries():
    assert batch(FULL).size == batch(CODES).size == 8
    assert batch(CSR).size == 4


# ---------------------------------------------------------------------------------------------- labels


def test_rows_weigh_one_by_default():
    codes = np.array([0, 2, 2], np.int32)
    assert_array_equal(Labels.hard(codes).class_weight(4), [1, 0, 2, 0])
    assert_array_equal(Labels.hard(codes, np.array([0.5, 0.25, 0.0])).class_weight(3), [0.5, 0, 0.25])


def test_soft_labels_weigh_in_every_class():
    soft = Labels.soft(np.asfortranarray([[0.25, 0.75], [1.0, 0.0]]))
    assert_array_equal(soft.class_weight(2), [1.25, 0.75])
    assert_array_equal(soft.rows(1, 2).weight, [[1.0, 0.0]])
    assert soft.rows(1, 2).codes is None
