"""Calibrations make probabilities honest: the temperature that was hidden is found, and figures get better."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tallybayes
from tallybayes import Model, Settings, families
from tallybayes.core import calibration
from tallybayes.core.batch import Labels
from tallybayes.core.calibration import Curve, Isotonic, Temperature, fit
from tallybayes.core.metrics import score
from tallybayes.data.arrays import one_block
from tallybayes.errors import SettingError

KINDS = ["temperature", "isotonic"]


def drawn(n, n_classes, temperature, seed=0):
    """Log posteriors that are too sure by a known temperature, and classes drawn from the honest ones."""
    rng = np.random.default_rng(seed)
    honest = Temperature(1.0).apply(rng.normal(scale=2.0, size=(n, n_classes)))
    codes = (rng.uniform(size=(n, 1)) > np.exp(honest).cumsum(axis=1)[:, :-1]).sum(axis=1)
    return Temperature(1.0 / temperature).apply(honest), codes, honest


def over_confident(n=3000, copies=8, n_classes=2, seed=1):
    """A Gaussian model of a column that is there several times: its leave-one-out and new log posteriors and codes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n).astype(np.int32)
    x = np.repeat(rng.normal(size=(n, 1)) + codes[:, None], copies, axis=1)
    half = n // 2
    family = families.Gaussian()
    model = Model(Settings({"gaussian": family}), tallybayes.tally(x[:half], codes[:half], family))
    learned, new = (
        one_block("gaussian", model.schema, x[p], Labels.hard(codes[p])) for p in (slice(half), slice(half, n))
    )
    return model.leave_one_out(learned), codes[:half], model.log_posterior(new), codes[half:]


# ---------------------------------------------------------------------------------------------- temperature


def test_temperature_is_the_softmax_of_scaled_logs():
    log_posterior = np.log([[0.7, 0.2, 0.1], [0.01, 0.98, 0.01]])
    powered = np.exp(log_posterior) ** (1 / 2.5)
    assert_allclose(np.exp(Temperature(2.5).apply(log_posterior)), powered / powered.sum(axis=1, keepdims=True))


def test_temperature_of_one_changes_nothing():
    log_posterior, _, _ = drawn(50, 4, 1.0)
    assert_allclose(Temperature(1.0).apply(log_posterior), log_posterior, atol=1e-12)


@pytest.mark.parametrize("temperature", [0.1, 1.0, 300.0])
def test_what_is_impossible_stays_impossible(temperature):
    got = Temperature(temperature).apply(np.array([[0.0, -np.inf], [-np.inf, 0.0], [-np.inf, -np.inf]]))
    assert_allclose(got, [[0.0, -np.inf], [-np.inf, 0.0], [math.log(0.5)] * 2])


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_temperatures_are_positive_numbers(temperature):
    with pytest.raises(SettingError, match="above 0"):
        Temperature(temperature)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0, 40.0])
def test_a_known_temperature_is_recovered(temperature, n_classes):
    log_posterior, codes, honest = drawn(20_000, n_classes, temperature)
    found = fit("temperature", log_posterior, codes, np.ones(len(codes)))
    assert found.temperature == pytest.approx(temperature, rel=0.05)
    assert_allclose(np.exp(found.apply(log_posterior)), np.exp(honest), atol=0.02)


def test_temperature_is_the_best_one():
    log_posterior, codes, _ = drawn(2000, 3, 3.0)
    best = fit("temperature", log_posterior, codes, np.ones(2000)).temperature

    def loss(temperature):
        return score(Temperature(temperature).apply(log_posterior), codes, range(3)).log_loss.value

    assert loss(best) < min(loss(0.95 * best), loss(1.05 * best), loss(1.0))


def test_rows_of_an_impossible_class_do_not_count_in_the_temperature():
    log_posterior, codes, _ = drawn(500, 2, 3.0)
    lost, lost_codes = np.array([[0.0, -np.inf]] * 20), np.ones(20, dtype=int)
    both = np.concatenate((log_posterior, lost)), np.concatenate((codes, lost_codes))
    assert fit("temperature", *both, np.ones(520)) == fit("temperature", log_posterior, codes, np.ones(500))
    only_lost = np.tile([[0.0, -np.inf], [-np.inf, 0.0]], (10, 1))
    assert fit("temperature", only_lost, np.array([1, 0] * 10), np.ones(20)) == Temperature(1.0)


def test_very_wrong_and_very_sure_rows_are_cooled_down():
    log_posterior = np.array([[0.0, -5000.0]] * 40)
    found = fit("temperature", log_posterior, np.array([0, 0, 0, 1] * 10), np.ones(40))
    assert found.temperature == pytest.approx(1000.0, rel=1e-3)


def test_many_rows_are_subsampled_for_the_temperature(monkeypatch):
    log_posterior, codes, _ = drawn(5000, 2, 3.0)
    every_third = fit("temperature", log_posterior[::3], codes[::3], np.ones(1667))
    monkeypatch.setattr(calibration, "MOST_ROWS", 2000)
    assert fit("temperature", log_posterior, codes, np.ones(5000)) == every_third


def test_rows_without_an_error_do_not_make_the_model_boundlessly_sure():
    log_posterior = np.log([[0.99, 0.01], [0.01, 0.99]] * 50)
    found = fit("temperature", log_posterior, np.array([0, 1] * 50), np.ones(100))
    assert 0.15 < found.temperature < 1.0


# ---------------------------------------------------------------------------------------------- isotonic


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_of_two_classes_agrees_with_scikit_learn(weighted):
    from sklearn.isotonic import IsotonicRegression

    log_posterior, codes, _ = drawn(1000, 2, 3.0)
    weight = np.random.default_rng(5).integers(0, 4, size=1000).astype(float) if weighted else np.ones(1000)
    found = fit("isotonic", log_posterior, codes, weight)
    odds = log_posterior[:, 1] - log_posterior[:, 0]
    margin = 1 / (2 * weight.sum())
    counted = weight > 0
    peer = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    peer.fit(odds[counted], codes[counted], sample_weight=weight[counted])
    assert found.margin == pytest.approx(margin)
    got = np.exp(found.apply(log_posterior))
    assert_allclose(got[:, 1], np.clip(peer.predict(odds), margin, 1 - margin), atol=1e-9)
    assert_allclose(got.sum(axis=1), 1.0)


def test_isotonic_of_several_classes_is_one_against_the_rest():
    from sklearn.isotonic import IsotonicRegression

    log_posterior, codes, _ = drawn(1500, 4, 3.0)
    posterior = np.exp(log_posterior)
    odds = log_posterior - np.log1p(-posterior)
    peers = [IsotonicRegression().fit_transform(odds[:, k], codes == k) for k in range(4)]
    margin = 1 / (4 * 1500)
    expected = np.clip(np.stack(peers, axis=1), margin, 1 - margin)
    got = fit("isotonic", log_posterior, codes, np.ones(1500)).apply(log_posterior)
    assert_allclose(np.exp(got), expected / expected.sum(axis=1, keepdims=True), atol=1e-8)


def test_isotonic_tells_posteriors_apart_that_round_to_one():
    odds = np.linspace(40.0, 80.0, 400)  # exp(-40) is lost beside 1
    log_posterior = Temperature(1.0).apply(np.stack((np.zeros(400), odds), axis=1))
    assert np.all(np.exp(log_posterior[:, 1]) == 1.0)
    codes = np.where(np.arange(400) < 200, np.arange(400) % 2, 1)
    got = np.exp(fit("isotonic", log_posterior, codes, np.ones(400)).apply(log_posterior))[:, 1]
    assert got[:150].mean() == pytest.approx(0.5, abs=0.05)
    assert got[-150:].min() > 0.99


@pytest.mark.parametrize("n_classes", [2, 3])
def test_isotonic_curves_rise_and_stay_off_zero_and_one(n_classes):
    log_posterior, codes, _ = drawn(800, n_classes, 5.0)
    log_posterior[:5] = np.log(np.eye(n_classes)[0] + 1e-320)  # all but impossible
    log_posterior[5:9, 0], log_posterior[5:9, 1:] = -np.inf, -math.log(n_classes - 1)
    found = fit("isotonic", log_posterior, codes, np.ones(800))
    assert all(np.all(np.diff(c.log_odds) > 0) and np.all(np.diff(c.probability) >= 0) for c in found.curves)
    sure = np.full((n_classes, n_classes), -np.inf)
    np.fill_diagonal(sure, 0.0)
    got = found.apply(np.concatenate((log_posterior, sure, np.full((1, n_classes), -np.inf))))
    assert np.isfinite(got).all()
    assert got.max() < 0
    assert_allclose(np.exp(got).sum(axis=1), 1.0)


def test_isotonic_falls_back_to_the_raw_posterior_where_every_curve_says_zero():
    never = Curve((-1.0, 1.0), (0.0, 0.0))
    raw = np.log([[0.5, 0.3, 0.2]])
    assert_allclose(Isotonic((never,) * 3, margin=0.0).apply(raw), raw)


def test_a_class_without_rows_gets_next_to_nothing():
    log_posterior, codes, _ = drawn(400, 2, 1.0)
    three = np.concatenate((log_posterior, np.full((400, 1), -np.inf)), axis=1)
    got = np.exp(fit("isotonic", three, codes, np.ones(400)).apply(three))
    assert got[:, 2].max() < 0.002


# ---------------------------------------------------------------------------------------------- both


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibration_helps_a_model_that_counts_a_column_eight_times(kind, n_classes):
    left_out, codes, new, new_codes = over_confident(n_classes=n_classes)
    found = fit(kind, left_out, codes, np.ones(len(codes)))
    classes = range(n_classes)
    for raw, truth in ((left_out, codes), (new, new_codes)):
        before, after = score(raw, truth, classes), score(found.apply(raw), truth, classes)
        assert after.log_loss.value < 0.7 * before.log_loss.value
        assert after.brier.value < before.brier.value
        assert after.ece < 0.4 * before.ece


def test_a_column_that_is_there_eight_times_has_a_temperature_of_eight():
    left_out, codes, _, _ = over_confident(n=20_000)
    # With equal priors the log odds are eight times the honest ones.
    assert fit("temperature", left_out, codes, np.ones(len(codes))).temperature == pytest.approx(8.0, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_weights_are_repeated_rows(kind):
    log_posterior, codes, _ = drawn(300, 3, 3.0)
    times = np.random.default_rng(2).integers(0, 4, size=300)
    repeated = fit(kind, np.repeat(log_posterior, times, axis=0), np.repeat(codes, times), np.ones(times.sum()))
    weighted = fit(kind, log_posterior, codes, times.astype(float))
    assert_allclose(weighted.apply(log_posterior), repeated.apply(log_posterior), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_too_little_to_go_by_changes_nothing(kind):
    log_posterior, codes, _ = drawn(30, 2, 5.0)
    assert fit(kind, log_posterior[:9], np.arange(9) % 2, np.ones(9)) == Temperature(1.0)
    assert fit(kind, log_posterior, np.zeros(30, dtype=int), np.ones(30)) == Temperature(1.0)
    assert fit(kind, np.zeros((30, 1)), np.zeros(30, dtype=int), np.ones(30)) == Temperature(1.0)
    assert fit(kind, log_posterior, codes, np.zeros(30)) == Temperature(1.0)
    only_nine_count = (np.arange(30) < 9).astype(float)
    assert fit(kind, log_posterior, codes, only_nine_count) == Temperature(1.0)


def test_unknown_kinds_are_refused():
    with pytest.raises(SettingError, match="'temperature', 'isotonic' or None, not 'platt'"):
        fit("platt", np.zeros((20, 2)), np.arange(20) % 2, np.ones(20))


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_values(kind):
    log_posterior, codes, _ = drawn(200, 3, 3.0)
    one, other = (fit(kind, log_posterior, codes, np.ones(200)) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    plain = json.loads(json.dumps(one.as_dict(), allow_nan=False))
    assert plain["kind"] == kind
    assert one.apply(np.zeros((0, 3))).shape == (0, 3)


def test_isotonic_shows_its_size():
    assert repr(Isotonic((Curve((0.0, 1.0), (0.2, 0.4)),), 0.01)) == "Isotonic(2 classes, 2 knots)"
