"""What is special to counts and moments; their algebra is in `laws/test_algebra.py`."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tallybayes
from tallybayes.core.schema import Column
from tallybayes.core.summaries import Counts, Moments
from tallybayes.errors import SchemaError, UnlearnError
from tallybayes.families import Gaussian


def numbers(values, target, **options):
    return tallybayes.tally(np.array(values, dtype=float)[:, None], target, Gaussian(), **options)


def moments(tally):
    return tally.blocks["gaussian"].summary


# ---------------------------------------------------------------------------------------------- moments


def test_means_that_differ_add_to_the_spread():
    # Neither 0 nor 10 has a spread of its own: all of it lies between the means.
    both = moments(numbers([0], ["a"]) + numbers([10], ["a"]))
    assert (both.mean.item(), both.m2.item()) == (5.0, 50.0)


def test_sums_and_differences_of_moments_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(40, 3)) * 10.0 ** np.arange(3), rng.integers(1, 5, size=(40, 1)) / 4.0

    def of(rows):
        mean = (w[rows] * x[rows]).sum(axis=0) / w[rows].sum()
        m2 = (w[rows] * (x[rows] - mean) ** 2).sum(axis=0)
        return Moments(np.full((1, 3), w[rows].sum()), mean[None], m2[None])

    a, b, both = of(slice(0, 25)), of(slice(25, 40)), of(slice(0, 40))
    classes = Moments(*(np.concatenate(parts) for parts in zip(*(m.arrays().values() for m in (a, b)), strict=True)))
    for found, want in ((a + b, both), (both - b, a), (classes.merged(), both)):
        assert_allclose(found.weight, want.weight, rtol=1e-13)
        assert_allclose(found.mean, want.mean, rtol=1e-12, atol=1e-13)
        assert_allclose(found.m2, want.m2, rtol=1e-11)
    with pytest.raises(UnlearnError):
        b - a
    assert not (both - both).m2.any()


@pytest.mark.parametrize("batches", [[3], [1, 1, 1], [2, 1]], ids=str)
@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8])
def test_a_large_offset_leaves_the_variance_alone(batches, offset):
    values = np.array([0.0, 1.0, 2.0]) + offset
    parts = np.split(values, np.cumsum(batches)[:-1])
    tally = moments(sum(numbers(part, ["a"] * len(part)) for part in parts))
    assert tally.m2.item() / tally.weight.item() == 2 / 3
    assert tally.mean.item() == offset + 1


def test_classes_merge_into_one():
    x, y = np.array([1.0, 5.0, 7.0, 100.0]), ["a", "a", "b", "c"]
    merged = moments(numbers(x, y, classes=["a", "b", "c", "none"])).merged()
    assert_allclose([merged.weight.item(), merged.mean.item(), merged.m2.item() / 4], [4, x.mean(), x.var()])


def test_an_outlier_that_was_never_learned_cannot_be_taken_back():
    with pytest.raises(UnlearnError, match="not in the tally"):
        numbers([1, 2, 3], ["a"] * 3) - numbers([50], ["a"])


def test_the_last_row_of_a_class_is_taken_back_only_as_it_was():
    # Its weight would fit, its value does not.
    with pytest.raises(UnlearnError, match="not in the tally"):
        numbers([5, 1], ["a", "b"]) - numbers([7], ["a"])


def test_what_rounding_leaves_of_a_weight_is_nothing():
    both = numbers([4], ["a"], weight=[0.1]) + numbers([8], ["a"], weight=[0.2])
    left = both - numbers([4], ["a"], weight=[0.1]) - numbers([8], ["a"], weight=[0.2])
    assert_array_equal([left.class_weight.item(), *(a.item() for a in moments(left).arrays().values())], 0.0)


def test_summaries_give_their_fields_by_name():
    assert set(Moments(*np.ones((3, 1, 1))).arrays()) == {"weight", "mean", "m2"}
    assert set(Counts(np.ones((1, 2)), np.ones((1, 1))).arrays()) == {"count", "weight"}
    assert set(Counts(np.ones((1, 2)), np.ones((1, 1)), np.array([2])).arrays()) == {"count", "weight", "n_levels"}


# ---------------------------------------------------------------------------------------------- checks

LEVELS = [Column("size", "category", ("low", "high")), Column("colour", "category", ("red",))]
COUNTED = Counts(np.ones((2, 3)), np.ones((2, 2)), np.array([2, 1]))
NUMBERS = Moments(*np.ones((3, 2, 2)))


def test_summaries_are_equal_by_value():
    assert Counts(np.ones((2, 3)), np.ones((2, 2)), np.array([2, 1])) == COUNTED
    assert replace(COUNTED, count=COUNTED.count.astype(np.float32)) == COUNTED
    assert replace(COUNTED, count=COUNTED.count * 2) != COUNTED
    assert replace(COUNTED, n_levels=None) != COUNTED
    assert replace(NUMBERS, rounding=np.ones((2, 2, 2))) == NUMBERS  # how it came about is no part of what it is
    assert NUMBERS != COUNTED
    with pytest.raises(TypeError, match="unhashable"):
        hash(COUNTED)


def test_summaries_check_themselves():
    COUNTED.check(2, LEVELS)
    NUMBERS.check(2, LEVELS)


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        (replace(COUNTED, n_levels=np.array([1, 2])), "other levels"),
        (replace(COUNTED, n_right=np.array([1, 1])), "other levels"),
        (replace(COUNTED, count=np.ones((2, 4))), "count has the shape"),
        (replace(COUNTED, weight=np.ones(2)), "weight has the shape"),
        (replace(COUNTED, having=-np.ones((2, 3))), "having holds a number that cannot have been counted"),
        (replace(COUNTED, count=np.full((2, 3), np.nan)), "count holds a number"),
        (replace(NUMBERS, m2=-NUMBERS.m2), "m2 holds a number"),
        (replace(NUMBERS, mean=NUMBERS.mean * np.inf), "mean holds a number"),
        (replace(NUMBERS, mean=NUMBERS.mean[:1]), "mean has the shape"),
        (replace(NUMBERS, rounding=np.ones((2, 2))), "rounding has the shape"),
    ],
)
def test_summaries_that_cannot_be(summary, why):
    with pytest.raises(SchemaError, match=why):
        summary.check(2, LEVELS)
