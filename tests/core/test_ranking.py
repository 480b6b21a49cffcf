"""Rankings against scikit-learn's curves and areas; costs against the rule of expected cost."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics

from tallybayes.core.costs import cheapest, cost_matrix
from tallybayes.core.ranking import MOST_RANKED, MOST_THRESHOLDS, ROUND, Ranking, rankings
from tallybayes.errors import SettingError


def drawn(n, seed=0, digits=None):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    p = 1 / (1 + np.exp(-(rng.normal(size=n) + 1.5 * y - 1)))
    return (p if digits is None else p.round(digits)), y, rng.choice([0.5, 1.0, 2.0], n)


@pytest.mark.parametrize("digits", [None, 1, 2])
@pytest.mark.parametrize("n", [7, 60, 3000])
def test_areas_are_those_of_scikit_learn_with_ties_and_weights(n, digits):
    p, y, weight = drawn(n, seed=n, digits=digits)
    for w in (np.ones(n), weight):
        found = Ranking.of(p, y, w)
        assert found.area == pytest.approx(metrics.roc_auc_score(y, p, sample_weight=w), abs=1e-12)
        assert found.precision == pytest.approx(metrics.average_precision_score(y, p, sample_weight=w), abs=1e-12)


def test_the_points_are_those_of_scikit_learns_curve():
    p, y, w = drawn(300, digits=2)
    found = Ranking.of(p, y, w)
    fpr, tpr, threshold = metrics.roc_curve(y, p, sample_weight=w, drop_intermediate=False)
    assert_allclose(found.threshold, threshold[1:])
    assert_allclose(found.recall, tpr[1:])
    assert_allclose(found.false_positive_rate, fpr[1:])


def test_many_rows_keep_few_thresholds_on_the_same_curve():
    p, y, w = drawn(100_000)
    found = Ranking.of(p, y, w)
    assert len(found.threshold) <= MOST_THRESHOLDS + len(ROUND) + 1
    assert found.recall[-1] == found.selected[-1] == found.false_positive_rate[-1] == 1.0
    trapezoid = np.trapezoid(np.append(0, found.recall), np.append(0, found.false_positive_rate))
    assert trapezoid == pytest.approx(found.area, abs=1e-3)


def test_at_half_percents_the_rows_above_are_exact():
    p, y, w = drawn(20_000)
    positive, negative = Ranking.of(p, y, w).above(ROUND)
    above = p >= ROUND[:, None]
    assert_allclose(positive, above @ (w * y))
    assert_allclose(negative, above @ (w * ~y))


def test_any_order_of_the_rows_gives_one_ranking():
    p, y, _ = drawn(500, digits=2)
    order = np.random.default_rng(9).permutation(500)
    a, b = Ranking.of(p, y, np.ones(500)), Ranking.of(p[order], y[order], np.ones(500))
    assert a == b


def test_the_cheapest_threshold_is_that_of_the_expected_cost():
    rng = np.random.default_rng(1)
    p = rng.random(50_000)
    y = rng.random(50_000) < p  # calibrated, so the cheapest threshold is known
    found = Ranking.of(p, y, np.ones(len(p)))
    best = found.threshold[found.costs(missed=4, false_alarm=1).argmin()]
    assert best == pytest.approx(0.2, abs=0.03)


def test_classes_are_ranked_against_the_others_up_to_twenty():
    rng = np.random.default_rng(2)
    posterior, codes = rng.dirichlet(np.ones(3), 50), rng.integers(3, size=50)
    each = rankings(posterior, codes, np.ones(50))
    for k, found in enumerate(each):
        assert found.area == pytest.approx(metrics.roc_auc_score(codes == k, posterior[:, k]))
    assert len(rankings(posterior[:, :2], codes % 2, np.ones(50))) == 1
    assert rankings(np.ones((3, MOST_RANKED + 1)), np.zeros(3, dtype=int), np.ones(3)) == ()


def test_one_class_alone_ranks_nothing():
    assert Ranking.of(np.array([0.2, 0.4]), np.array([True, True]), np.ones(2)).area == 0.5
    assert Ranking.of(np.array([0.2, 0.4]), np.array([False, False]), np.ones(2)).precision == 0.0


def test_the_decision_is_the_one_of_least_expected_cost():
    rng = np.random.default_rng(3)
    posterior, costs = rng.dirichlet(np.ones(4), 200), rng.random((4, 4))
    assert_array_equal(cheapest(posterior, costs), (posterior @ costs).argmin(axis=1))
    plain = 1.0 - np.eye(4)
    assert_array_equal(cheapest(posterior, plain), posterior.argmax(axis=1))


def test_an_immense_cost_of_one_decision_does_not_blur_the_others():
    few = {("a", "b"): 1, ("b", "a"): 5}
    posterior = np.array([[0.7, 0.3, 0.0]])
    for immense in ({("c", "a"): 1e13, ("c", "b"): 1e13}, {("a", "c"): 1e13, ("b", "c"): 1e13}):
        costs = cost_matrix(few | immense, ["a", "b", "c"])
        assert cheapest(posterior, costs)[0] == (posterior @ costs).argmin()


@pytest.mark.parametrize(
    "costs",
    [{("a", "c"): 1}, {"a": 1}, {("a", "b"): "much"}, [[0, 1]], [[0, np.nan], [1, 0]], np.zeros((2, 2)), {}],
)
def test_costs_that_are_none_are_refused(costs):
    with pytest.raises(SettingError, match="cost"):
        cost_matrix(costs, ["a", "b"])
