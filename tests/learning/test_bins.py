"""Edges of fine bins, and tallies whose edges differ."""

from decimal import ROUND_FLOOR, Decimal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tallybayes.core.batch import Labels
from tallybayes.core.schema import Column, Schema
from tallybayes.core.tally import count
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch
from tallybayes.families import Kernel, Pair
from tallybayes.families.binned import coarse_edges
from tallybayes.learning.bins import FINE, even_groups, fine_edges

RNG = np.random.default_rng(0)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def bins(values, edges):
    return np.searchsorted(edges, values, side="right")


# ---------------------------------------------------------------------------------------------- where edges are


def digits(number):
    """Decimal digits that it takes to write the number."""
    return len(Decimal(repr(number)).normalize().as_tuple().digits) if number else 0


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=2, unique=True), st.integers(-200, 200))
def test_an_edge_is_the_shortest_decimal_between_two_values(values, exponent):
    low, high = sorted(float(value) * 10.0**exponent for value in values)
    assume(high - low > 1e-14 * max(abs(low), abs(high)))
    (edge,) = fine_edges(np.array([high, low]))
    assert low < edge <= high
    if edge:
        unit = Decimal(10) ** (Decimal(repr(max(abs(low), abs(high)))).adjusted() + 2 - digits(edge))  # one digit less
        shorter = float((Decimal(high) / unit).to_integral_value(ROUND_FLOOR) * unit)
        assert not low < shorter <= high, f"{shorter} is shorter than {edge}"


@given(st.lists(st.integers(-400, 400), max_size=200), st.sampled_from([1e-10, 0.1, 3.0, 1000.0, 1e10]))
def test_the_same_rows_are_in_a_bin_in_any_unit(values, factor):
    values = np.array(values, dtype=float)
    edges, scaled = fine_edges(values), fine_edges(values * factor)
    assert_array_equal(bins(values, edges), bins(values * factor, scaled))


@pytest.mark.parametrize(
    ("values", "edges"),
    [
        ([1, 2, 2, 4], (2.0, 4.0)),
        ([0.1, 0.2, 0.3], (0.2, 0.3)),
        ([-3, -2, -1.5], (-2.0, -1.5)),
        ([-1, 1], (0.0,)),
        ([7, 9], (9.0,)),
        ([5, 5, 5], ()),
        ([0.0, -0.0], ()),
        ([], ()),
        ([np.nan, np.nan], ()),
        ([np.nan, 3.0, 4.0], (4.0,)),
        ([True, False], (1.0,)),
        ([1.0, 1.0 + 1e-15], (1.000000000000001,)),
        ([0.3, 0.1 + 0.2], ()),
    ],
    ids=str,
)
def test_few_values_have_a_bin_each(values, edges):
    assert fine_edges(np.array(values, dtype=float)) == edges


@given(st.lists(FINITE, min_size=0, max_size=60))
def test_edges_rise_and_tell_all_of_few_values_apart(values):
    edges = fine_edges(np.array(values, dtype=float))
    assert np.all(np.diff(edges) > 0)
    assert np.isfinite(edges).all()
    known = np.unique(values)
    apart = np.diff(known) > 1e-15 * np.abs(known[1:]) if len(known) else []
    assert_array_equal(np.diff(bins(known, edges)), apart)


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_many_values_are_split_about_evenly_wherever_they_lie(offset, scale):
    values = offset + scale * RNG.normal(size=5000)
    edges = fine_edges(values)
    size = np.bincount(bins(values, edges))
    assert 60 <= len(edges) < FINE
    assert size.min() > 0
    assert size.max() <= 5000 / 32


def test_a_value_that_most_rows_have_leaves_edges_for_the_rare_ones():
    values = np.concatenate((np.zeros(100_000), RNG.random(1000)))
    assert len(fine_edges(values)) > 50


@pytest.mark.parametrize(
    "values", [[-1.7e308, 1.7e308], [0.0, 1.7e308], [1e308, 1.1e308], [5e-324, 1e-323, 1.0], [3e-320, 4e-320]]
)
def test_the_largest_and_the_smallest_numbers_have_edges(values):
    assert_array_equal(bins(values, fine_edges(np.array(values))), np.arange(len(values)))


def test_tables_of_the_same_few_values_share_their_edges():
    north, south = (fine_edges(RNG.integers(0, 60, 5000) / 10) for _ in range(2))
    assert north == south
    assert len(north) == 59


def test_the_order_of_many_values_makes_no_difference():
    values = RNG.normal(size=1_200_000)
    assert fine_edges(np.sort(values)) == fine_edges(values)


def test_merged_bins_keep_the_edges_between_them():
    assert coarse_edges((1.0, 2.0, 3.0, 4.0), np.array([0, 0, 1, 1, 2])) == (2.0, 4.0)
    assert coarse_edges((), np.array([0])) == ()


def test_even_groups_have_about_the_same_weight():
    weight = RNG.random(100)
    group = even_groups(weight, 8)
    assert np.all(np.diff(group) >= 0)
    assert set(group) == set(range(8))
    assert np.abs(np.bincount(group, weights=weight) - weight.sum() / 8).max() < 2 * weight.max()
    assert_array_equal(even_groups(np.zeros(3), 8), [0, 0, 0])


# ---------------------------------------------------------------------------------------------- tallies meet


def counted(values, labels, edges):
    schema = Schema((Column("x", "numeric", edges=tuple(edges)),), ("no", "yes"))
    batch = TableBatch(schema, read_table({"x": values}), {"kernel": [0]}, Labels.hard(np.asarray(labels, np.int32)))
    return count(batch, {"kernel": Kernel()})


EDGES = st.sets(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])).map(sorted)
ROWS = st.lists(st.tuples(st.sampled_from([-5.0, -2.0, -0.5, 0.0, 0.7, 1.0, 9.0, None]), st.integers(0, 1)), min_size=1)


def same(mine, theirs):
    assert mine.schema == theirs.schema
    for field in ("count", "weight", "n_levels"):
        mine_, theirs_ = (getattr(t.blocks["kernel"].summary, field) for t in (mine, theirs))
        assert_array_equal(mine_, theirs_)


@given(ROWS, ROWS, EDGES, EDGES)
def test_tallies_meet_in_the_edges_that_both_have(north, south, mine, theirs):
    common = sorted(set(mine) & set(theirs))
    together = counted(*zip(*north, strict=True), mine) + counted(*zip(*south, strict=True), theirs)
    same(together, counted(*zip(*north, *south, strict=True), common))


@given(ROWS, ROWS, ROWS, EDGES, EDGES, EDGES)
def test_it_does_not_matter_which_tallies_meet_first(a, b, c, x, y, z):
    first, second, third = (counted(*zip(*r, strict=True), e) for r, e in ((a, x), (b, y), (c, z)))
    same((first + second) + third, first + (second + third))
    same(first + second, second + first)


@given(ROWS, ROWS, EDGES, EDGES)
def test_rows_that_came_in_finer_bins_can_be_taken_back(north, south, mine, theirs):
    first, second = counted(*zip(*north, strict=True), mine), counted(*zip(*south, strict=True), theirs)
    same(first + second - second, counted(*zip(*north, strict=True), sorted(set(mine) & set(theirs))))


@given(ROWS, ROWS, EDGES, EDGES)
def test_pairs_meet_in_the_edges_that_both_have(north, south, mine, theirs):
    def paired(rows, edges):
        values, labels = zip(*rows, strict=True)
        level = Column("l", "category", ("a", "b"))
        column = Column("both", "pair", parts=(level, Column("x", "numeric", edges=tuple(edges))))
        table = read_table({"x": values, "l": [("a", "b")[i % 2] for i in range(len(values))]})
        batch = TableBatch(
            Schema((column,), ("no", "yes")), table, {"pair": [0]}, Labels.hard(np.array(labels, np.int32))
        )
        return count(batch, {"pair": Pair()})

    got = paired(north, mine) + paired(south, theirs)
    common = sorted(set(mine) & set(theirs))
    want = paired(north, common) + paired(south, common)
    assert got.schema == want.schema
    assert_array_equal(got.blocks["pair"].summary.count, want.blocks["pair"].summary.count)
    assert_array_equal(got.blocks["pair"].summary.n_right, [len(common) + 1])
