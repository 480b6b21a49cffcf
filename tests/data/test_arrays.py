"""NumPy arrays and SciPy sparse matrices as rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import tallybayes
from tallybayes.data.arrays import MOST_LEVELS, ordinal_codes, sparse_rows
from tallybayes.errors import CellError, DataError, TallybayesError
from tallybayes.families import Bernoulli, Categorical, Complement, Gaussian, Multinomial, Poisson

COUNTS = np.array([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 3.0, 4.0]])
TARGET = ["b", "a", "b"]
COUNTING = [Bernoulli(), Multinomial(), Complement(), Poisson()]


def summary(tally):
    (block,) = tally.blocks.values()
    return block.summary


# ---------------------------------------------------------------------------------------------- sparse matrices


def unsorted():
    return sp.csr_array((np.array([1.0, 2.0, 4.0, 3.0]), np.array([2, 0, 2, 1]), np.array([0, 2, 2, 4])), (3, 3))


def with_duplicates():
    entries = np.array([1.0, 1.0, 1.0, 3.0, 4.0]), np.array([0, 2, 0, 1, 2])
    return sp.csr_array((*entries, np.array([0, 3, 3, 5])), (3, 3))


def with_stored_zeros():
    matrix = sp.csr_array(COUNTS + 1.0)
    matrix.data -= 1.0
    return matrix


def with_wide_indices():
    matrix = sp.csr_array(COUNTS)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def with_row_ends_of_another_width():
    matrix = sp.csr_array(COUNTS)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


SPARSE = {
    "csr": sp.csr_array(COUNTS),
    "csr matrix": sp.csr_matrix(COUNTS),
    "csc": sp.csc_array(COUNTS),
    "coo": sp.coo_array(COUNTS),
    "lil": sp.lil_array(COUNTS),
    "float32": sp.csr_array(COUNTS.astype(np.float32)),
    "int8": sp.csr_array(COUNTS.astype(np.int8)),
    "uint64": sp.csr_array(COUNTS.astype(np.uint64)),
    "unsorted": unsorted(),
    "duplicates": with_duplicates(),
    "stored zeros": with_stored_zeros(),
    "wide indices": with_wide_indices(),
    "row ends of another width": with_row_ends_of_another_width(),
}


@pytest.mark.parametrize("family", COUNTING, ids=str)
@pytest.mark.parametrize("matrix", SPARSE.values(), ids=SPARSE)
def test_sparse_is_dense(family, matrix):
    sparse, dense = summary(tallybayes.tally(matrix, TARGET, family)), summary(tallybayes.tally(COUNTS, TARGET, family))
    assert_array_equal(sparse.count, dense.count)
    assert_array_equal(*np.broadcast_arrays(sparse.weight, dense.weight))


def test_the_callers_matrix_stays_as_it_is():
    matrix = with_duplicates()
    sparse_rows(matrix, canonical=True)
    assert matrix.nnz == 5


def test_categories_are_not_sparse():
    with pytest.raises(DataError, match="sparse"):
        tallybayes.tally(sp.csr_array(COUNTS), TARGET, Categorical())


def test_numbers_are_not_sparse():
    with pytest.raises(DataError, match="sparse"):
        tallybayes.tally(sp.csr_array(COUNTS), TARGET, Gaussian())


# ---------------------------------------------------------------------------------------------- shapes


@pytest.mark.parametrize(
    ("data", "target", "weight"),
    [
        (np.ones(3), TARGET, None),
        (np.ones((2, 3)), TARGET, None),
        (np.ones((3, 1, 1)), TARGET, None),
        (COUNTS, [[label] for label in TARGET], None),
        (COUNTS, TARGET, [1.0, 2.0]),
        (COUNTS, TARGET, [[1.0], [2.0], [3.0]]),
        (sp.csr_array(COUNTS[:2]), TARGET, None),
    ],
    ids=[
        "a vector",
        "too few rows",
        "a cube",
        "a column of labels",
        "too few weights",
        "a column of weights",
        "sparse",
    ],
)
def test_shapes_that_do_not_fit_are_refused(data, target, weight):
    with pytest.raises(DataError, match=r"expected \(n, d\), \(n,\) and \(n,\)"):
        tallybayes.tally(data, target, Multinomial(), weight=weight)


def test_the_target_is_needed():
    with pytest.raises(DataError, match="class label of each row"):
        tallybayes.tally(COUNTS, None, Multinomial())


@pytest.mark.parametrize("family", [Multinomial(), Categorical()], ids=str)
@pytest.mark.parametrize("names", [["a"], ["a", "b", "c", "d"], ["a", "b", "a"]], ids=str)
def test_every_column_has_one_name_of_its_own(family, names):
    with pytest.raises(TallybayesError, match="name"):
        tallybayes.tally(COUNTS, TARGET, family, names=names)


def test_lists_are_arrays():
    assert_array_equal(summary(tallybayes.tally(COUNTS.tolist(), TARGET, Poisson())).count, [[0, 0, 0], [2, 3, 5]])


# ---------------------------------------------------------------------------------------------- weights and classes


def test_weights_may_be_any_numbers_in_any_layout():
    for weight in ([1, 0, 2], np.array([1, 9, 0, 9, 2, 9], float)[::2], np.array([1, 0, 2], np.float32)):
        assert_array_equal(tallybayes.tally(COUNTS, TARGET, Poisson(), weight=weight).class_weight, [0, 3])


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_a_weight_that_is_none_is_refused(bad):
    with pytest.raises(DataError, match=r"weight.*row 2"):
        tallybayes.tally(COUNTS, TARGET, Poisson(), weight=[1.0, bad, 1.0])


def test_declared_classes_keep_their_order_and_may_be_absent():
    tally = tallybayes.tally(COUNTS, TARGET, Poisson(), classes=["b", "never", "a"])
    assert tally.schema.classes == ("b", "never", "a")
    assert_array_equal(tally.class_weight, [2, 0, 1])
    assert_array_equal(summary(tally).count, [[2, 3, 5], [0, 0, 0], [0, 0, 0]])


# ---------------------------------------------------------------------------------------------- cells


def test_text_among_numbers_is_named():
    x = np.array([[1.5, 2], [3, "n/a"]], dtype=object)
    with pytest.raises(DataError, match=r"'pulse'.*'n/a'.*row 2"):
        tallybayes.tally(x, ["a", "b"], Gaussian(), names=["age", "pulse"])


def test_categories_are_the_values_that_occur():
    x = np.array([["red", 3], ["blue", None], ["red", 10**9]], dtype=object)
    tally = tallybayes.tally(x, TARGET, Categorical(), names=["colour", "size"])
    assert [column.levels for column in tally.schema.columns] == [("blue", "red"), (3, 10**9)]
    assert_array_equal(summary(tally).count, [[1, 0, 0, 0], [0, 2, 1, 1]])
    assert_array_equal(summary(tally).weight, [[1, 0], [2, 2]])


@pytest.mark.parametrize("position", [0, 1])
def test_a_category_without_a_value_counts_nothing(position):
    x = np.insert(np.array([["red"], ["blue"]], dtype=object), position, None, axis=1)
    tally = tallybayes.tally(x, ["a", "b"], Categorical())
    assert len(tally.schema.columns[position].levels) == 0
    assert_array_equal(summary(tally).weight[:, position], [0, 0])
    assert_array_equal(summary(tally).count, [[0, 1], [1, 0]])


# ---------------------------------------------------------------------------------------------- numbered categories


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64])
def test_integers_are_used_as_they_are(dtype):
    x = np.array([[0, 5], [2, 1]], dtype=dtype)
    codes, n_levels = ordinal_codes(x, learning=True)
    assert np.shares_memory(codes, x)
    assert_array_equal(n_levels, [3, 6])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_missing_values_among_floats_are_missing_codes(n_jobs):
    codes, n_levels = ordinal_codes(np.array([[0.0, np.nan], [np.nan, np.nan], [3.0, np.nan]]), True, n_jobs)
    assert_array_equal(codes, [[0, -1], [-1, -1], [3, -1]])
    assert_array_equal(n_levels, [4, 0])


def test_bools_are_codes():
    codes, n_levels = ordinal_codes(np.array([[True], [False]]), learning=True)
    assert_array_equal(codes, [[1], [0]])
    assert_array_equal(n_levels, [2])


@pytest.mark.parametrize("bad", [-1, -1.0, np.inf, 1e300, MOST_LEVELS, 10**9, 2**62])
def test_numbers_that_are_no_codes_are_named(bad):
    # A table of a billion levels is never made.
    with pytest.raises(CellError, match=r"holds the code.*Number the levels 0, 1") as error:
        ordinal_codes(np.array([[0, 1], [2, bad]]), learning=True)
    assert (error.value.row, error.value.column) == (1, 1)


@pytest.mark.parametrize("huge", [MOST_LEVELS, 10**9, 2**62])
def test_a_huge_code_is_only_unseen_when_nothing_is_learned(huge):
    assert_array_equal(ordinal_codes(np.array([[huge]]), learning=False)[0], [[huge]])


def test_no_rows_have_no_levels():
    assert_array_equal(ordinal_codes(np.zeros((0, 2), int), learning=True)[1], [0, 0])


# ---------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("family", [Gaussian(), *COUNTING, Categorical()], ids=str)
def test_threads_count_the_same(family):
    x = np.random.default_rng(0).integers(0, 4, (101, 3))
    one, three = (summary(tallybayes.tally(x, np.arange(101) % 3, family, n_jobs=n)) for n in (1, 3))
    for name, array in one.arrays().items():
        assert_allclose(three.arrays()[name], array, rtol=1e-13)
