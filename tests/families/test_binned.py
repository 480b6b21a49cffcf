"""Binned: the partition against the smallest of all, the tables by hand, leave-one-out within the partition."""

from itertools import combinations
from math import comb, factorial, log, prod

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tallybayes.core.batch import MISSING, UNSEEN, Codes
from tallybayes.core.summaries import Counts
from tallybayes.errors import NotAvailableError
from tallybayes.families import Binned, Hierarchical
from tallybayes.families._merged import partition_cost
from tallybayes.families.binned import MOST_BINS, free_groups, partition, selected

from .fitting import fitted, labels


def length(count, cuts):
    """The MODL criterion of a partition of whole counts (B, K), straight from its definition."""
    n, k = int(count.sum()), count.shape[1]
    total = log(comb(n + len(cuts), len(cuts)))
    for part in np.split(count, cuts):
        inside = part.sum(axis=0).astype(int).tolist()
        size = sum(inside)
        total += log(comb(size + k - 1, k - 1)) + log(factorial(size) // prod(map(factorial, inside)))
    return total


def cuts_of(group):
    return (np.flatnonzero(np.diff(group)) + 1).tolist()


@pytest.mark.parametrize("seed", range(40))
def test_the_partition_is_the_shortest_of_all(seed):
    rng = np.random.default_rng(seed)
    n_bins, n_classes = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    rate = rng.gamma(0.5, 8.0, (n_bins, n_classes)) if seed % 2 else 4.0
    count = rng.poisson(rate, (n_bins, n_classes)).astype(float)
    places = range(1, n_bins)
    shortest = min(length(count, list(cuts)) for m in range(n_bins) for cuts in combinations(places, m))
    assert length(count, cuts_of(partition(count))) == pytest.approx(shortest, abs=1e-9)


def test_bins_are_numbered_in_order_from_zero():
    count = np.repeat([[30.0, 0], [0, 30], [30, 0]], [4, 3, 5], axis=0)
    assert_array_equal(partition(count), np.repeat([0, 1, 2], [4, 3, 5]))


@pytest.mark.parametrize(
    "count",
    [np.zeros((5, 2)), np.full((6, 2), 7.0), np.ones((1, 2)), np.array([[5.0], [1.0], [9.0]])],
    ids=["no rows", "no difference", "one bin", "one class"],
)
def test_bins_that_tell_nothing_are_one(count):
    assert_array_equal(partition(count), np.zeros(len(count)))


def test_there_are_at_most_so_many_bins():
    count = np.tile([[500.0, 0.0], [0.0, 500.0]], (40, 1))
    assert partition(count)[-1] + 1 == MOST_BINS


def test_fractional_weights_make_a_partition():
    count = np.repeat([[20.0, 0.0], [0.0, 20.0]], 3, axis=0)
    assert_array_equal(partition(count * 0.97), partition(count))


@pytest.mark.parametrize(("n_groups", "rows"), [(1, 10), (2, 10), (5, 33)])
def test_the_cost_of_a_partition_is_the_log_of_how_many_there_are(n_groups, rows):
    assert partition_cost(n_groups, rows) == pytest.approx(log(comb(rows + n_groups - 1, n_groups - 1)) / rows)


RNG = np.random.default_rng(1)
X = Codes(np.column_stack((RNG.integers(0, 12, 200), RNG.integers(0, 5, 200))), np.array([12, 5]))
CODES = ((X.matrix[:, 0] > 6) ^ (RNG.random(200) < 0.1)).astype(int)


def test_merged_bins_are_smoothed_as_levels():
    summary, params = fitted(Binned(3.0), X, CODES)
    first, second = params.group[:12], params.group[12:]
    assert_array_equal(params.n_groups, [2, 1])
    merged = Codes(np.column_stack((first[X.matrix[:, 0]], second[X.matrix[:, 1]])), params.n_groups)
    _, want = fitted(Hierarchical(3.0), merged, CODES)
    assert_allclose(Binned(3.0).contributions(params, X), Hierarchical(3.0).contributions(want, merged))
    assert summary.count.shape == (2, 17)  # the counts stay fine


def test_leave_one_out_keeps_the_partition():
    x = Codes(np.where(RNG.random(X.shape) < 0.1, MISSING, X.matrix), X.n_levels)
    weight = RNG.random(200) + 0.5
    summary, params = fitted(Binned(), x, CODES, weight)
    group = np.split(params.group, [12])
    merged = Codes(
        np.column_stack([np.where(c < 0, c, g[c]) for c, g in zip(x.matrix.T, group, strict=True)]), params.n_groups
    )
    got = Binned().leave_one_out(summary, params, x, labels(CODES, weight))
    for i in range(0, 200, 7):
        rest = np.delete(np.arange(200), i)
        _, without = fitted(Hierarchical(), merged.take(rest), CODES[rest], weight[rest])
        assert_allclose(got[i], Hierarchical().log_prob(without, merged.take(np.array([i])))[0])


@pytest.mark.parametrize("code", [UNSEEN, 12])
def test_a_code_without_a_bin_cannot_be_left_out(code):
    summary, params = fitted(Binned(), X, CODES)
    with pytest.raises(ValueError, match="row 1 was not learned"):
        Binned().leave_one_out(summary, params, Codes(np.array([[code, 0]]), X.n_levels), labels([0]))


def test_fine_bins_are_drawn_evenly_within_a_merged_one():
    _, params = fitted(Binned(), X, CODES)
    drawn = Binned().sample(params, np.zeros(20000, int), np.random.default_rng(0)).matrix[:, 0]
    share, low = np.bincount(drawn, minlength=12) / 20000, params.group[:12] == 0
    p = np.exp(params.of_column(0)[0, 0])
    assert_allclose(share[low], p / low.sum(), atol=0.015)
    assert_allclose(share[low].sum(), p, atol=0.015)


def test_parameters_are_those_of_the_merged_bins():
    _, params = fitted(Binned(), X, CODES)
    assert Binned().n_parameters(params) == 2 * 1
    assert Binned().joint_size(params) == 2
    with pytest.raises(NotAvailableError, match="not linear"):
        Binned().linear(params)


def test_some_columns_keep_their_merged_bins():
    rng = np.random.default_rng(0)
    count = rng.integers(0, 20, size=(2, 24)).astype(float)
    summary = Counts(count, np.ones((2, 3)), np.array([8, 10, 6]))
    columns = np.array([2, 0])
    found = selected(summary, columns)
    assert "free_groups" in vars(found)
    assert_array_equal(free_groups(found), free_groups(summary.select(columns)))
