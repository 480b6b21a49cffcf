"""Figures are scikit-learn's, and their intervals those of as many rows as there are."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn import metrics

from tallybayes.core.metrics import score
from tallybayes.errors import DataError

CLASSES = ("ham", "mail", "spam")


def drawn(n=400, n_classes=3, seed=0):
    """Posteriors, codes that mostly follow them, and whole weights, some of them zero."""
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.full(n_classes, 0.5), size=n)
    right = posterior.argmax(axis=1)
    codes = np.where(rng.uniform(size=n) < 0.7, right, rng.integers(n_classes, size=n))
    return posterior, codes, rng.integers(0, 4, size=n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_figures_are_those_of_scikit_learn(n_classes, weighted):
    posterior, codes, weight = drawn(n_classes=n_classes)
    weight = weight if weighted else None
    got = score(np.log(posterior), codes, range(n_classes), weight)
    predicted = posterior.argmax(axis=1)
    labels = list(range(n_classes))
    options = {"sample_weight": weight}
    assert got.accuracy.value == pytest.approx(metrics.accuracy_score(codes, predicted, **options))
    assert got.log_loss.value == pytest.approx(metrics.log_loss(codes, posterior, labels=labels, **options))
    brier = metrics.brier_score_loss(codes, posterior, labels=labels, scale_by_half=False, **options)
    assert got.brier.value == pytest.approx(brier)
    assert got.macro_f1 == pytest.approx(metrics.f1_score(codes, predicted, average="macro", **options))
    assert got.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(codes, predicted, **options))
    assert_allclose(got.confusion, metrics.confusion_matrix(codes, predicted, labels=labels, **options))
    per_class = metrics.precision_recall_fscore_support(codes, predicted, labels=labels, zero_division=0, **options)
    assert_allclose((got.precision, got.recall, got.f1, got.support), per_class)


def test_probabilities_of_zero_cost_what_they_cost_in_scikit_learn():
    posterior, codes = np.array([[1.0, 0.0], [1.0, 0.0], [0.3, 0.7]]), np.array([0, 1, 1])
    with np.errstate(divide="ignore"):
        got = score(np.log(posterior), codes, ["no", "yes"])
    assert got.log_loss.value == pytest.approx(metrics.log_loss(codes, posterior), rel=1e-12)
    assert got.brier.value == pytest.approx(metrics.brier_score_loss(codes, posterior, scale_by_half=False))


def test_classes_that_never_occur_or_are_never_predicted_score_zero_without_a_fuss():
    posterior = np.array([[0.8, 0.1, 0.1, 0.0], [0.7, 0.1, 0.2, 0.0], [0.1, 0.7, 0.2, 0.0]])
    codes = np.array([0, 2, 0])  # class 1 is only predicted, class 2 only true, class 3 neither
    got = score(np.log(posterior + 1e-300), codes, "abcd")
    predicted = posterior.argmax(axis=1)
    assert_allclose(got.precision, [0.5, 0.0, 0.0, 0.0])
    assert_allclose(got.recall, [0.5, 0.0, 0.0, 0.0])
    assert got.macro_f1 == pytest.approx(metrics.f1_score(codes, predicted, average="macro", zero_division=0))
    assert got.balanced_accuracy == pytest.approx(0.25)
    assert math.isfinite(got.baseline_log_loss)


def test_the_baselines_ignore_the_columns():
    codes, weight = np.array([0, 1, 1, 2]), np.array([1.0, 2.0, 3.0, 2.0])
    got = score(np.log(np.full((4, 3), 1 / 3)), codes, CLASSES, weight)
    assert got.baseline_accuracy == pytest.approx(5 / 8)
    frequencies = np.tile([1 / 8, 5 / 8, 2 / 8], (4, 1))
    assert got.baseline_log_loss == pytest.approx(score(np.log(frequencies), codes, CLASSES, weight).log_loss.value)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (3, 10), (950, 1000)])
def test_the_interval_of_the_accuracy_is_wilsons(hits, n):
    codes = (np.arange(n) >= hits).astype(int)
    got = score(np.log(np.tile([0.9, 0.1], (n, 1))), codes, "ab").accuracy
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (got.value, got.low, got.high) == pytest.approx((hits / n, expected.low, expected.high))


def test_losses_that_do_not_differ_leave_room_for_one_row_that_does():
    got = score(np.log(np.full((50, 2), 0.5)), np.arange(50) % 2, "ab").log_loss
    assert got.value == pytest.approx(math.log(2))
    assert got.high - got.value == pytest.approx(stats.t(49).ppf(0.975) * math.log(2) / 50, rel=1e-4)


def test_the_interval_of_the_log_loss_is_students_over_the_rows():
    posterior, codes, _ = drawn()
    got = score(np.log(posterior), codes, CLASSES).log_loss
    losses = -np.log(posterior[np.arange(len(codes)), codes])
    error = math.sqrt(losses.var() / len(codes) + (math.log(3) / len(codes)) ** 2)
    half = stats.t(len(codes) - 1).ppf(0.975) * error
    assert (got.low, got.high) == pytest.approx((losses.mean() - half, losses.mean() + half), rel=1e-6)


def test_the_unit_of_the_weights_does_not_matter():
    posterior, codes, weight = drawn()
    small, large = (score(np.log(posterior), codes, CLASSES, factor * weight) for factor in (0.01, 100.0))
    for name in ("accuracy", "log_loss", "brier"):
        mine, theirs = getattr(small, name), getattr(large, name)
        assert (mine.low, mine.value, mine.high) == pytest.approx((theirs.low, theirs.value, theirs.high))


def test_rows_that_count_more_are_no_more_rows():
    posterior, codes, _ = drawn()
    one, twice = (score(np.log(posterior), codes, CLASSES, np.full(400, w)) for w in (1.0, 2.0))
    assert twice.accuracy == one.accuracy
    few = score(np.log(posterior), codes, CLASSES, np.where(np.arange(400) < 40, 100.0, 1e-9))
    alone = score(np.log(posterior[:40]), codes[:40], CLASSES)
    assert (few.accuracy.low, few.accuracy.high) == pytest.approx((alone.accuracy.low, alone.accuracy.high))


def test_figures_of_whole_weights_are_those_of_repeated_rows():
    posterior, codes, weight = drawn()
    times = weight.astype(int)
    repeated = score(np.log(np.repeat(posterior, times, axis=0)), np.repeat(codes, times), CLASSES).as_dict()
    weighted = score(np.log(posterior), codes, CLASSES, weight).as_dict()
    for name in ("weight", "balanced_accuracy", "macro_f1", "ece", "baseline_accuracy", "baseline_log_loss"):
        assert weighted[name] == pytest.approx(repeated[name]), name
    for name in ("accuracy", "log_loss", "brier"):
        mine, theirs = weighted[name], repeated[name]
        assert mine["value"] == pytest.approx(theirs["value"]), name
        assert mine["low"] < theirs["low"] < theirs["high"] < mine["high"], name  # a copy of a row is no news
    assert_allclose(weighted["confusion"], repeated["confusion"])
    for mine, theirs in zip(weighted["reliability"], repeated["reliability"], strict=True):
        assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("weighted", [False, True])
def test_reliability_and_its_mean_error(weighted):
    posterior, codes, weight = drawn(n=2000, seed=4)
    weight = weight if weighted else np.ones(2000)
    got = score(np.log(posterior), codes, CLASSES, weight)
    top, hit = posterior.max(axis=1), posterior.argmax(axis=1) == codes
    ece = 0.0
    for low, high, b in zip(np.arange(5, 15) / 15, np.arange(6, 16) / 15, got.reliability, strict=True):
        inside = (top > low) & (top <= high)
        assert (b.low, b.high, b.weight) == pytest.approx((low, high, weight[inside].sum()))
        assert b.confidence == pytest.approx(np.average(top[inside], weights=weight[inside]))
        assert b.accuracy == pytest.approx(np.average(hit[inside], weights=weight[inside]))
        ece += b.weight / weight.sum() * abs(b.confidence - b.accuracy)
    assert got.ece == pytest.approx(ece)


def test_codes_of_any_width_are_counted():
    posterior, codes, _ = drawn(n=500, n_classes=20)
    wide, narrow = (score(np.log(posterior), codes.astype(t), range(20)) for t in (np.int64, np.int8))
    assert_array_equal(narrow.confusion, wide.confusion)


@pytest.mark.parametrize(
    ("log_posterior", "codes", "weight", "message"),
    [
        (np.zeros((0, 2)), np.zeros(0, int), None, "rows of positive weight"),
        (np.zeros((2, 2)), np.array([0, 1]), np.zeros(2), "rows of positive weight"),
        (np.zeros((2, 2)), np.array([0, -1]), None, "between 0 and 1"),
        (np.zeros((2, 2)), np.array([0, 2]), None, "between 0 and 1"),
        (np.zeros((2, 3)), np.array([0, 1]), None, r"shape \(2, 3\)"),
        (np.zeros((2, 2)), np.array([0, 1]), np.ones(3), r"the weights \(3,\)"),
    ],
)
def test_what_cannot_be_scored(log_posterior, codes, weight, message):
    with pytest.raises(DataError, match=message):
        score(log_posterior, codes, ["no", "yes"], weight)
