"""The border to the compiled kernels: what they refuse, and where they say it is."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tallybayes.core import kernels
from tallybayes.core.batch import MISSING, Codes, Csr, Labels
from tallybayes.errors import CellError, DataError
from tests.frames import needs_pyarrow

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
HARD = Labels.hard(np.array([0, 1, 0], np.int32))
CODES = Codes(np.array([[0, 1], [1, 2], [0, 0]]), np.array([2, 3]))


def csr(data=(1.0, 2.0, 3.0), column=(0, 1, 1), start=(0, 1, 1, 3), n_columns=2):
    return Csr(np.array(data), np.array(column), np.array(start), n_columns)


COUNTING = {
    "moments": lambda labels: kernels.moments(X, labels, 2),
    "dense events": lambda labels: kernels.event_sums(X, labels, 2, None),
    "sparse events": lambda labels: kernels.event_sums(csr(), labels, 2, 0.5),
    "codes": lambda labels: kernels.code_counts(CODES, labels, 2),
}
each_count = pytest.mark.parametrize("count", COUNTING.values(), ids=COUNTING)


# ---------------------------------------------------------------------------------------------- labels


@each_count
def test_good_labels_are_counted(count):
    count(HARD)
    count(Labels.soft(np.full((3, 2), 0.5)))


@each_count
@pytest.mark.parametrize("code", [-1, 2, 2**31 - 1, -(2**31)])
def test_a_class_code_out_of_range_is_refused(count, code):
    with pytest.raises(ValueError, match="class code is out of range"):
        count(Labels.hard(np.array([0, code, 0], np.int32)))


@each_count
@pytest.mark.parametrize("n", [2, 4])
def test_labels_must_have_one_entry_a_row(count, n):
    with pytest.raises(ValueError, match="one entry a row"):
        count(Labels.hard(np.zeros(n, np.int32)))


@each_count
@pytest.mark.parametrize("shape", [(2, 2), (3, 1), (3, 3)])
def test_responsibilities_must_have_one_entry_a_row_and_class(count, shape):
    with pytest.raises(ValueError, match=r"shape|one entry a row"):
        count(Labels.soft(np.ones(shape)))


# ---------------------------------------------------------------------------------------------- damaged sparse rows

DAMAGED = {
    "falling row ends": csr(start=(0, 2, 1, 3)),
    "row ends beyond the entries": csr(start=(0, 1, 1, 4)),
    "a negative row start": csr(start=(-1, 1, 1, 3)),
    "fewer columns than entries": csr(column=(0, 1)),
    "no row ends": csr(start=()),
}
SPARSE = {
    "counting": lambda x: kernels.event_sums(x, Labels.hard(np.zeros(max(len(x.start) - 1, 0), np.int32)), 2, None),
    "scoring": lambda x: kernels.sparse_scores(x, np.ones((2, 2)), None),
}
each_pass = pytest.mark.parametrize("run", SPARSE.values(), ids=SPARSE)


@each_pass
@pytest.mark.parametrize("x", DAMAGED.values(), ids=DAMAGED)
def test_damaged_sparse_rows_are_refused(run, x):
    with pytest.raises(ValueError, match=r"rows|negative dimensions"):
        run(Csr(x.data, x.column.astype(np.int64), x.start.astype(np.int64), x.n_columns))


@each_pass
@pytest.mark.parametrize("column", [-1, 2, 2**40])
def test_a_column_out_of_range_is_refused(run, column):
    with pytest.raises(DataError, match=rf"damaged: row 3 points at column {column} of 2"):
        run(csr(column=(0, 1, column)))


@each_pass
@pytest.mark.parametrize(("value", "problem"), [(-1.0, "holds the count -1"), (np.nan, "NaN"), (np.inf, "infinite")])
def test_a_stored_value_that_is_no_count_is_named(run, value, problem):
    with pytest.raises(CellError, match=problem) as error:
        run(csr(data=(1.0, 2.0, value)))
    assert (error.value.row, error.value.column) == (2, 1)


# ---------------------------------------------------------------------------------------------- cells


def test_an_infinite_number_is_named():
    bad = X.copy()
    bad[2, 1] = -np.inf
    for run in (
        lambda: kernels.moments(bad, HARD, 2),
        lambda: kernels.event_sums(bad, HARD, 2, 0.0),
        lambda: kernels.gaussian_scores(bad, X[:2], X[:2], X[:2], np.ones(2)),
    ):
        with pytest.raises(CellError, match="is infinite") as error:
            run()
        assert (error.value.row, error.value.column) == (2, 1)


def test_the_row_of_a_converted_matrix_is_counted_from_its_beginning():
    # Integers and objects are converted a slice at a time; this matrix takes two.
    bad = np.ones((kernels.SLICE + 3, 1), dtype=object)
    bad[-1] = np.inf
    with pytest.raises(CellError) as error:
        kernels.moments(bad, Labels.hard(np.zeros(len(bad), np.int32)), 1)
    assert error.value.row == kernels.SLICE + 2


def test_integers_are_squared_as_floats():
    # covtype's Elevation: an int16 whose square is not one. Long enough for two slices, one class in each.
    elevation = np.repeat(np.array([[2700], [2800], [3300], [1900]], np.int16), kernels.SLICE // 2, axis=0)
    codes = np.repeat(np.arange(2, dtype=np.int32), kernels.SLICE)
    weight, mean, m2 = kernels.moments(elevation, Labels.hard(codes), 2)
    assert_allclose(mean, [[2750.0], [2600.0]])
    assert_allclose(m2 / weight, [[50.0**2], [700.0**2]], rtol=1e-12)


def test_unaligned_memory_is_read():
    memory = np.zeros(X.nbytes + 1, np.uint8)
    memory[1:] = np.frombuffer(X.tobytes(), np.uint8)
    odd = memory[1:].view(np.float64).reshape(X.shape)
    assert not odd.flags.aligned
    assert_array_equal(kernels.moments(odd, HARD, 2), kernels.moments(X, HARD, 2))


NOTHING = """
import numpy as np
from tallybayes.core import kernels
from tallybayes.core.batch import Labels
for shape in ((0, 2), (3, 0), (0, 0)):
    labels = Labels.hard(np.zeros(shape[0], np.int32))
    for x in (np.ones(shape), np.ones(shape, int)):
        for part in (*kernels.moments(x, labels, 2), *kernels.event_sums(x, labels, 2, None)):
            assert part.shape == (2, shape[1]) and not part.any(), shape
"""


def test_nothing_can_be_counted():
    # In a process of its own: writing to memory that is not there would end this one.
    done = subprocess.run([sys.executable, "-c", NOTHING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or f"the interpreter died with signal {-done.returncode}"


# ---------------------------------------------------------------------------------------------- codes


@pytest.mark.parametrize(("code", "dtype"), [(3, int), (-2, int), (-7, np.int8), (200, np.uint8), (2**40, int)])
def test_a_code_beyond_the_levels_is_named(code, dtype):
    matrix = np.array([[0, 1], [1, code], [0, 0]]).astype(dtype)
    with pytest.raises(CellError, match=f"holds the code {code} .*only 3 levels") as error:
        kernels.code_counts(Codes(matrix, CODES.n_levels), HARD, 2)
    assert (error.value.row, error.value.column) == (1, 1)


def test_a_missing_code_counts_for_nothing():
    gone = np.full((3, 2), MISSING)
    assert not kernels.code_counts(Codes(gone, CODES.n_levels), HARD, 2).any()
    assert not kernels.table_scores(gone, np.array([0, 3, 7]), np.ones((7, 2))).any()


def test_the_last_row_of_a_table_is_for_unseen_codes():
    table = np.arange(7.0)[:, None]
    codes = np.array([[0, 0], [1, 2], [2, 3], [-2, -2], [100, 100]])
    assert_array_equal(kernels.table_scores(codes, np.array([0, 3, 7]), table)[:, 0], [3, 6, 8, 8, 8])


@pytest.mark.parametrize("start", [[0, 3], [0, 3, 6], [1, 3, 7], [0, 7, 7], [0, 8, 7]], ids=str)
def test_a_table_that_does_not_fit_is_refused(start):
    with pytest.raises(ValueError, match="cell"):
        kernels.table_scores(CODES.matrix, np.array(start), np.ones((7, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_edges", [0, 1, 2, 5, 64])
def test_numbers_are_looked_up_between_edges(dtype, order, n_edges):
    rng = np.random.default_rng(n_edges)
    x = np.array(rng.integers(0, 40, (300, 3)), dtype=dtype, order=order)
    edges, table = np.sort(rng.choice(80, n_edges, replace=False) / 2.0), rng.random((n_edges + 2 + 3, 2))
    start = np.array([0, n_edges + 2, n_edges + 5])
    found = kernels.bin_scores(x, np.array([2, 0]), start, np.append(edges, 20.0), table)
    cells = np.searchsorted(edges, x[:, 2], side="right"), n_edges + 2 + (x[:, 0] >= 20)
    assert_allclose(found, table[cells[0]] + table[cells[1]])


def test_a_missing_number_has_the_last_row():
    table = np.arange(4.0)[:, None]
    found = kernels.bin_scores(
        np.array([[np.nan], [1.0], [-np.inf]]), np.array([0]), np.array([0, 4]), np.array([1.0, 2.0]), table
    )
    assert_array_equal(found[:, 0], [3, 1, 0])


@pytest.mark.parametrize(
    ("column", "start", "n_edges"),
    [(1, [0, 4], 2), (-1, [0, 4], 2), (0, [0, 4], 3), (0, [0, 4], 1), (0, [0, 5], 2), (0, [0, 1, 4], 2)],
)
def test_bins_that_do_not_fit_are_refused(column, start, n_edges):
    with pytest.raises(ValueError, match=r"cell|column"):
        kernels.bin_scores(
            np.zeros((3, 1)), np.array([column]), np.array(start), np.arange(float(n_edges)), np.ones((4, 2))
        )


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_range_of_codes(order):
    low, high = kernels.code_range(np.array([[3, -1], [0, 5], [7, 2]], np.int16, order=order))
    assert_array_equal(low, [0, -1])
    assert_array_equal(high, [7, 5])
    assert low.dtype == np.int16


# ---------------------------------------------------------------------------------------------- scores


@pytest.mark.parametrize("width", [1, 3])
def test_parameters_that_do_not_fit_the_matrix_are_refused(width):
    params = np.ones((2, width))
    with pytest.raises(ValueError, match="do not fit"):
        kernels.gaussian_scores(X, params, params, params, np.ones(2))


NO_PRIOR = np.zeros(2)


def test_the_first_of_equal_classes_is_best():
    best, forbidden = kernels.best_class(np.array([[1.0, 1.0], [0.0, 2.0]]), NO_PRIOR, np.log([0.1, 0.9]))
    assert_array_equal(best, [0, 1])
    assert forbidden == 0


def test_a_row_that_every_class_forbids_takes_the_fallback():
    evidence, fallback = np.array([[-np.inf, -np.inf], [0.0, -np.inf]]), np.log([0.1, 0.9])
    best, forbidden = kernels.best_class(evidence, NO_PRIOR, fallback)
    assert_array_equal(best, [1, 0])
    assert forbidden == 1
    posterior = evidence.copy()
    assert kernels.normalise(posterior, NO_PRIOR, fallback, False) == 1
    assert_allclose(posterior, [[0.1, 0.9], [1.0, 0.0]])
    assert kernels.normalise(evidence, NO_PRIOR, fallback, True) == 1
    assert_allclose(evidence, [fallback, [0.0, -np.inf]])


def test_a_class_that_the_prior_forbids_does_not_stand_in_the_way():
    # The first class fits far better, but its prior is zero; the others differ by their prior alone.
    evidence, log_prior = np.array([[0.0, -1e300, -1e300]]), np.array([-np.inf, *np.log([0.25, 0.75])])
    assert kernels.best_class(evidence, log_prior, log_prior)[0] == 2
    kernels.normalise(evidence, log_prior, log_prior, False)
    assert_allclose(evidence, [[0.0, 0.25, 0.75]])


@pytest.mark.parametrize("top", [0.0, -1e4, 1e4, -1e12, -1e300])
def test_posteriors_are_normalised_however_small_the_likelihood(top):
    # The largest is taken off before the prior is added, and before anything is exponentiated.
    prior = np.array([0.25, 0.75])
    for logs in (False, True):
        evidence = np.array([[top, top]])
        assert kernels.best_class(evidence, np.log(prior), np.log(prior))[0] == 1
        kernels.normalise(evidence, np.log(prior), np.log(prior), logs)
        assert_allclose(evidence, [np.log(prior) if logs else prior])


def test_a_prior_of_another_length_is_refused():
    with pytest.raises(ValueError, match="do not fit the prior"):
        kernels.normalise(np.zeros((2, 3)), np.zeros(2), np.zeros(2), False)


# ---------------------------------------------------------------------------------------------- responsibilities


def shares(joint, codes=(-1,), weight=(1.0,), group=(0, 1), fallback=(0.25, 0.75)):
    """The shares of some rows, and the sum of their log likelihoods."""
    joint = np.array(joint, dtype=np.float64)
    with np.errstate(divide="ignore"):
        spare = np.log(np.array(fallback))
    int32 = (np.array(values, dtype=np.int32) for values in (group, codes))
    return joint, kernels.responsibilities(joint, spare, *int32, np.array(weight, dtype=np.float64))


def test_a_row_is_shared_as_its_posterior_says():
    share, total = shares([np.log([0.1, 0.3])])
    assert_allclose(share, [[0.25, 0.75]])
    assert_allclose(total, np.log(0.4))


def test_a_labelled_row_is_shared_among_the_components_of_its_class():
    joint = [np.log([0.1, 0.2, 0.3, 0.4])] * 3
    share, total = shares(joint, (0, 1, -1), (1.0, 2.0, 0.0), (0, 1, 0, 1), np.ones(4) / 4)
    assert_allclose(share, [[0.25, 0, 0.75, 0], [0, 2 / 3, 0, 4 / 3], [0, 0, 0, 0]])
    assert_allclose(total, np.log(0.4) + 2 * np.log(0.6))


def test_a_row_that_no_component_allows_is_shared_as_the_prior_says():
    share, total = shares([[-np.inf, -np.inf]])
    assert_allclose(share, [[0.25, 0.75]])
    assert total == -np.inf
    share, total = shares([[0.0, -np.inf]], codes=(1,), fallback=(1.0, 0.0))  # not even the prior allows it
    assert_array_equal(share, [[0.0, 0.0]])
    assert shares([[-np.inf, -np.inf]], weight=(0.0,))[1] == 0.0  # it weighs nothing, so it is no matter


@pytest.mark.parametrize("top", [-1e300, -1e5, 0.0, 1e5])
def test_shares_sum_to_the_weight_however_small_the_likelihood(top):
    share, total = shares([[top, top]], weight=(0.5,))
    assert_allclose(share, [[0.25, 0.25]])
    assert_allclose(total, 0.5 * (top + np.log(2.0)))


def test_shares_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="do not fit the components"):
        shares([[0.0, 0.0]], group=(0,))
    with pytest.raises(ValueError, match="one entry a row"):
        shares([[0.0, 0.0]], codes=(0, 0))


# ---------------------------------------------------------------------------------------------- text

# Around the lengths at which the hash and Arrow's views change: 4, 8 and 12 bytes.
WORDS = ["", "a", "ab", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefghi", "twelve bytes", "thirteen long", "ü" * 20]


def listed(column):
    values, places = kernels.list_text(column)
    return [None if place == MISSING else values[place] for place in places.tolist()]


@pytest.mark.parametrize("first", [0, 1, 3])
def test_text_is_listed_once_each_in_the_order_it_comes(first):
    cells = [*WORDS, None, *reversed(WORDS), None][first:]
    values, _ = kernels.list_text(pl.Series(cells))
    assert values == list(dict.fromkeys(cell for cell in cells if cell is not None))
    assert listed(pl.Series(["other"] * first + cells)[first:]) == cells


@needs_pyarrow
@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_every_layout_of_arrow_text_is_read(kind):
    import pyarrow as pa

    layout, cells = getattr(pa, kind)(), [*WORDS, None, *WORDS]
    whole = pa.array(cells, type=layout)
    assert listed(pa.chunked_array([whole])) == cells
    assert listed(pa.chunked_array([whole.slice(2, 5), whole.slice(0, 0), whole.slice(9)])) == cells[2:7] + cells[9:]
    assert listed(pa.chunked_array([], type=layout)) == []
    assert listed(pa.chunked_array([pa.array([None, None], type=layout)])) == [None, None]


def test_many_strings_keep_their_places():
    cells = [f"{i % 50_000}" for i in range(120_000)]
    values, places = kernels.list_text(pl.Series(cells))
    assert values == cells[:50_000]
    assert_array_equal(places, np.arange(120_000) % 50_000)


def test_what_is_no_text_is_refused():
    with pytest.raises(ValueError, match="not text but has the Arrow format l"):
        kernels.list_text(pl.Series([1, 2]))


@pytest.mark.parametrize("rows", [1, 3])
def test_places_must_fit_the_text(rows):
    with pytest.raises(ValueError, match="rows than places"):
        kernels._native.list_text(pl.Series(["a", "b"]).__arrow_c_stream__(), np.empty(rows, np.int32))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 7, 21, 24, 27, 51])
def test_sparse_scores_are_those_of_a_product_for_any_number_of_classes(n_classes) -> None:
    rng = np.random.default_rng(n_classes)
    x = rng.poisson(0.3, (40, 60)).astype(float)
    rows, slope = sparse.csr_array(x), rng.normal(size=(60, n_classes))
    found = kernels.sparse_scores(Csr(rows.data, rows.indices, rows.indptr, 60), slope, None)
    assert_allclose(found, x @ slope, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_columns", [0, 1, 7, 1000])
def test_an_aligned_table_starts_with_a_cache_line(n_columns) -> None:
    table = kernels.aligned(n_columns, 3)
    assert table.shape == (n_columns, 3)
    assert table.flags.c_contiguous
    assert n_columns == 0 or table.ctypes.data % 64 == 0


def test_sparse_rows_are_counted_past_the_ends_of_what_is_checked_together() -> None:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((400, 300)) < rng.random((400, 1)) ** 4, rng.poisson(2.0, (400, 300)), 0).astype(float)
    rows, codes = sparse.csr_array(dense), rng.integers(0, 3, 400).astype(np.int32)
    labels, x = Labels.hard(codes), Csr(rows.data, rows.indices, rows.indptr, 300)
    expected = np.array([dense[codes == k].sum(axis=0) for k in range(3)])
    assert_array_equal(kernels.event_sums(x, labels, 3, None)[0], expected)
    for place in (0, 8191, 8192, len(x.data) - 1):
        data = x.data.copy()
        data[place] = -1.0
        with pytest.raises(CellError) as error:
            kernels.event_sums(Csr(data, x.column, x.start, 300), labels, 3, None)
        assert (error.value.row, error.value.column) == (np.searchsorted(x.start, place, "right") - 1, x.column[place])


def test_sparse_scores_do_not_depend_on_where_the_table_lies() -> None:
    rng = np.random.default_rng(0)
    x = sparse.csr_array(rng.poisson(0.3, (40, 60)).astype(float))
    rows, slope, table = Csr(x.data, x.indices, x.indptr, 60), rng.normal(size=(60, 21)), kernels.aligned(60, 21)
    table[:] = slope
    assert (kernels.sparse_scores(rows, slope, None) == kernels.sparse_scores(rows, table, None)).all()
