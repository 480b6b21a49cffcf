"""Prediction sets: the thresholds, and that the promised share of the sets holds the right class."""

import numpy as np
import pytest

from tallybayes.core.conformal import MOST_BY_CLASS, MOST_LEVELS, Conformity, PredictionSets, Quantiles, SetFigures
from tallybayes.errors import SettingError


def test_the_threshold_is_the_order_statistic_of_split_conformal_prediction():
    rng = np.random.default_rng(0)
    for n in (9, 19, 100, 999):
        own = rng.random(n)
        found = Quantiles.of(own, np.ones(n), MOST_LEVELS)
        for coverage in (0.5, 0.8, 0.9, 0.95):
            rank = int(np.floor((1 - coverage) * (n + 1) + 1e-9))
            assert found.threshold(coverage) == (np.sort(own)[rank - 1] if rank else 0.0)


def test_too_few_rows_rule_nothing_out():
    assert Quantiles.of(np.full(8, 0.99), np.ones(8), MOST_LEVELS).threshold(0.9) == 0.0
    assert Quantiles.of(np.zeros(0), np.zeros(0), MOST_LEVELS).threshold(0.5) == 0.0


def test_a_row_of_weight_two_is_the_row_twice_and_one_of_weight_zero_is_none():
    own = np.random.default_rng(1).random(50)
    twice = Quantiles.of(np.repeat(own, 2), np.ones(100), MOST_LEVELS)
    heavy = Quantiles.of(np.append(own, 0.0), np.append(np.full(50, 2.0), 0.0), MOST_LEVELS)
    for coverage in (0.6, 0.75, 0.9):
        assert heavy.threshold(coverage) <= twice.threshold(coverage)  # of fewer rows, so never less careful
        assert abs(np.searchsorted(np.sort(own), heavy.threshold(coverage)) - 50 * (1 - coverage)) <= 1.5


def test_the_unit_of_the_weights_does_not_matter():
    own = np.random.default_rng(2).random(50)
    for unit in (1e-200, 1e90):
        assert Quantiles.of(own, np.full(50, unit), MOST_LEVELS).n == pytest.approx(50)


def test_many_rows_are_kept_as_quantiles_that_are_never_less_careful():
    own = np.random.default_rng(2).random(200_000)
    found = Quantiles.of(own, np.ones(len(own)), MOST_LEVELS)
    assert len(found.own) <= MOST_LEVELS
    for coverage in (0.5, 0.9, 0.99):
        exact = np.quantile(own, 1 - coverage)
        assert exact - 0.002 <= found.threshold(coverage) <= exact + 1e-4


@pytest.mark.parametrize("by_class", [False, True])
def test_sets_cover_as_promised_whatever_the_probabilities_are(by_class):
    rng, n, n_classes = np.random.default_rng(3), 4000, 4
    codes = rng.choice(n_classes, n, p=[0.6, 0.25, 0.1, 0.05])
    scores = 1.3 * np.eye(n_classes)[codes] + rng.normal(size=(n, n_classes))  # no calibrated model
    posterior = np.exp(3 * scores) / np.exp(3 * scores).sum(axis=1, keepdims=True)
    half = np.arange(n) < n // 2
    own = posterior[half, codes[half]]
    conformity = Conformity.of(own, codes[half], np.ones(half.sum()), n_classes)
    for coverage in (0.7, 0.9):
        least = conformity.thresholds(coverage, by_class, n_classes)
        sets = PredictionSets.of(posterior[~half], tuple("abcd"), least, allow_empty=True)
        held = sets.member[np.arange(len(sets)), codes[~half]]
        groups = [codes[~half] == k for k in range(n_classes)] if by_class else [np.ones(len(sets), dtype=bool)]
        for rows in groups:
            slack = 3 * np.sqrt(coverage * (1 - coverage) * 2 / rows.sum())
            assert abs(held[rows].mean() - coverage) < slack + 0.005


def test_sets_that_may_not_be_empty_hold_the_likeliest_class():
    posterior = np.array([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]])
    least = np.full(3, 0.8)
    assert list(PredictionSets.of(posterior, ("a", "b", "c"), least, allow_empty=True)) == [(), ("a",)]
    assert list(PredictionSets.of(posterior, ("a", "b", "c"), least, allow_empty=False)) == [("a",), ("a",)]
    assert np.asarray(PredictionSets.of(posterior, ("a", "b", "c"), least, allow_empty=True)).shape == (2, 3)


def test_figures_of_the_rows_that_a_threshold_comes_from_leave_each_of_them_out():
    rng = np.random.default_rng(4)
    p = rng.random(99)
    posterior, codes = np.stack((1 - p, p), axis=1), np.ones(99, dtype=int)
    own = Conformity.of(p, codes, np.ones(99), 2)
    assert SetFigures.of(posterior, codes, np.ones(99), own, is_own=True).covered == pytest.approx(89 / 99)
    assert SetFigures.of(posterior, codes, np.ones(99), own, is_own=False).covered == pytest.approx(90 / 99)


def test_rows_that_are_all_alike_are_all_covered():
    posterior, codes = np.tile([0.0, 1.0], (50, 1)), np.ones(50, dtype=int)
    own = Conformity.of(posterior[:, 1], codes, np.ones(50), 2)
    assert SetFigures.of(posterior, codes, np.ones(50), own, is_own=True).covered == 1.0


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, np.nan, "0.9", None, True])
def test_a_coverage_that_is_none_is_refused(coverage):
    own = Conformity.of(np.ones(3), np.zeros(3, dtype=int), np.ones(3), 1)
    with pytest.raises(SettingError, match="coverage must be between 0 and 1"):
        own.thresholds(coverage, False, 1)


def test_classes_by_themselves_are_kept_up_to_a_hundred():
    codes = np.arange(101)
    assert Conformity.of(np.ones(101), codes, np.ones(101), 101).classes == ()
    kept = Conformity.of(np.ones(10_000), np.zeros(10_000, dtype=int), np.ones(10_000), 1)
    assert len(kept.classes[0].own) <= MOST_BY_CLASS
    with pytest.raises(SettingError, match="at most 100 classes"):
        Conformity.of(np.ones(101), codes, np.ones(101), 101).thresholds(0.9, True, 101)
