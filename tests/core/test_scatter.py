"""Scatter matrices; their algebra is checked with that of every summary (`tests/laws`)."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes.core.batch import Labels
from tallybayes.core.scatter import Scatter, scatter_by_class, scatter_of, standard_scatter
from tallybayes.errors import CellError, UnlearnError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3)) @ RNG.normal(size=(3, 3)) + 1e6
W = RNG.choice([0.5, 1.0, 2.0], 50)


def with_missing() -> np.ndarray:
    return np.where(RNG.random(X.shape) < 0.2, np.nan, X)


def test_rows_without_missing_values_have_one_weight() -> None:
    found = scatter_of(X, W)
    assert found.complete
    np.testing.assert_allclose(found.covariance()[0], np.cov(X, rowvar=False, aweights=W, bias=True), rtol=1e-8)
    np.testing.assert_allclose(found.columns().mean[0], np.average(X, axis=0, weights=W))
    assert repr(found) == f"Scatter(1 class, 3 columns, weight {W.sum():g})"


def test_missing_values_leave_pairs() -> None:
    x = with_missing()
    found = scatter_of(x, W)
    for i, j in ((0, 1), (2, 0), (1, 1)):
        both = ~np.isnan(x[:, i]) & ~np.isnan(x[:, j])
        expected = np.cov(x[both][:, [i, j]], rowvar=False, aweights=W[both], bias=True)[0, 1]
        assert found.covariance()[0, i, j] == pytest.approx(expected, rel=1e-8)
        assert found.mean[0, i, j] == pytest.approx(np.average(x[both, i], weights=W[both]))


@pytest.mark.parametrize("first", [X[:20], with_missing()[:20]], ids=["whole", "holed"])
@pytest.mark.parametrize("second", [X[20:], with_missing()[20:]], ids=["whole", "holed"])
def test_parts_add_up_and_are_taken_back(first: np.ndarray, second: np.ndarray) -> None:
    one, two = scatter_of(first, W[:20]), scatter_of(second, W[20:])
    both = scatter_of(np.concatenate([first, second]), W)
    np.testing.assert_allclose((one + two).covariance(), both.covariance(), rtol=1e-8)
    np.testing.assert_allclose((both - two).covariance(), one.covariance(), rtol=1e-5)


def test_rows_that_were_not_in_it() -> None:
    with pytest.raises(UnlearnError):
        scatter_of(X[:20], W[:20]) - scatter_of(X[:5] + 50.0, W[:5])
    with pytest.raises(UnlearnError):
        scatter_of(X[:5], W[:5]) - scatter_of(X[:5] + 50.0, W[:5])


def test_some_columns() -> None:
    for x in (X, with_missing()):
        found, want = scatter_of(x, W).select(np.array([0, 2])), scatter_of(x[:, [0, 2]], W)
        for mine, expected in zip(found.arrays().values(), want.arrays().values(), strict=True):
            np.testing.assert_allclose(*np.broadcast_arrays(mine, expected), rtol=1e-6)


def test_nothing_is_nothing() -> None:
    empty = scatter_of(X[:0], W[:0])
    for same in (empty + scatter_of(X, W), scatter_of(X, W) + empty, scatter_of(X, W) - empty):
        np.testing.assert_array_equal(same.product, scatter_of(X, W).product)
    assert (scatter_of(X, W) * 0.0).weight.max() == 0.0
    assert isinstance(empty, Scatter)


def test_many_classes_of_few_rows_are_counted_as_each_by_itself() -> None:
    codes = np.arange(50, dtype=np.int32) * 7 % 20
    found = scatter_by_class(X, Labels.hard(codes, W), 22)  # the last two have no row
    for k in range(22):
        alone = scatter_of(X[codes == k], W[codes == k])
        for name in ("weight", "mean", "product"):
            np.testing.assert_allclose(getattr(found, name)[k], getattr(alone, name)[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("soft", [False, True])
def test_standard_units_give_the_scatter_of_rows_without_missing_values(soft: bool) -> None:
    rng = np.random.default_rng(1)
    x, weight, codes = (
        rng.normal(size=(9000, 6)) * 1e3 + 7e4,
        rng.integers(3, size=9000) / 2.0,
        rng.integers(4, size=9000),
    )
    x[rng.random(x.shape) < 0.02] = np.nan
    x[5] = 1e308  # whose square is beyond all measure
    each = weight[:, None] * (codes[:, None] == np.arange(5))
    labels = Labels.soft(each) if soft else Labels.hard(codes.astype(np.int32), weight)
    found = standard_scatter(np.asfortranarray(x), labels, 5, np.full(6, 7e4), np.full(6, 1e3), 3.0)
    z, complete = np.clip((x - 7e4) / 1e3, -3.0, 3.0), ~np.isnan(x).any(axis=1)
    want = scatter_by_class(z[complete], Labels.soft(each[complete]), 5)  # the last class has no row
    for name, array in want.arrays().items():
        np.testing.assert_allclose(found.arrays()[name], array, rtol=1e-12, atol=1e-9, err_msg=name)
    np.testing.assert_array_equal(found.product, found.product.swapaxes(1, 2))


def test_the_first_infinite_number_is_named() -> None:
    x = np.ones((9000, 3))
    x[7000, 2] = x[8000, 0] = -np.inf
    with pytest.raises(CellError) as error:
        standard_scatter(x, Labels.hard(np.zeros(9000, dtype=np.int32)), 1, np.zeros(3), np.ones(3), 5.0)
    assert (error.value.row, error.value.column) == (7000, 2)
