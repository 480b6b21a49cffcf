"""Calibration with intercepts, and cut-offs that keep their promise on messages that had no part in choosing them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tallybayes.core import calibration
from tallybayes.core.calibration import Affine
from tallybayes.errors import DataError, SettingError
from tallybayes.mail import training
from tallybayes.mail.cutoffs import checked_share, tail_quantile, thresholds_for
from tallybayes.mail.evaluation import MailEvaluation
from tallybayes.mail.verdicts import Thresholds


def scores(rng: np.random.Generator, n: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Log posteriors (n, 2) of messages whose evidence leans to spam, and their classes."""
    codes = rng.integers(0, 2, n).astype(np.int32)
    odds = np.where(codes == 1, 30.0, -20.0) + rng.logistic(0.0, 7.0, n) + shift
    return np.stack([-np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds)], axis=1), codes


def test_intercepts_are_those_of_a_logistic_regression() -> None:
    raw, codes = scores(np.random.default_rng(0), 4000, 15.0)
    found = calibration.fit("affine", raw, codes, np.ones(len(codes)))
    assert isinstance(found, Affine)
    odds = raw[:, 1] - raw[:, 0]
    theirs = LogisticRegression(C=1e12, tol=1e-10, max_iter=1000).fit(odds[:, None], codes)
    assert 1.0 / found.temperature == pytest.approx(theirs.coef_[0, 0], rel=1e-3)
    assert found.intercepts[1] - found.intercepts[0] == pytest.approx(theirs.intercept_[0], abs=1e-2)


def test_intercepts_of_three_classes_lower_the_loss() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, 3000)
    raw = calibration._normalised(6.0 * np.eye(3)[codes] + rng.normal(0, 4, (3000, 3)) + np.array([5.0, 0.0, -5.0]))
    loss = {
        kind: -calibration.fit(kind, raw, codes, np.ones(3000)).apply(raw)[np.arange(3000), codes].mean()
        for kind in ("temperature", "affine")
    }
    assert loss["affine"] < loss["temperature"] - 0.1
    weight = rng.integers(0, 3, 3000).astype(float)
    twice = np.repeat(np.arange(3000), weight.astype(int))
    a = calibration.fit("affine", raw, codes, weight)
    b = calibration.fit("affine", raw[twice], codes[twice], np.ones(len(twice)))
    assert isinstance(a, Affine)
    assert isinstance(b, Affine)
    assert (a.temperature, *a.intercepts) == pytest.approx((b.temperature, *b.intercepts), rel=1e-6)


def test_separated_classes_have_finite_intercepts() -> None:
    raw = np.log(np.array([[0.99, 0.01]] * 50 + [[0.01, 0.99]] * 50))
    found = calibration.fit("affine", raw, np.repeat([0, 1], 50), np.ones(100))
    assert np.isfinite(found.apply(raw)).all()
    with pytest.raises(SettingError, match="intercepts calibrate other classes"):
        found.check(3)
    with pytest.raises(SettingError, match="must be finite"):
        Affine(1.0, (0.0, math.inf))


@pytest.mark.parametrize("n", [150, 1000])
@pytest.mark.parametrize("share", [0.001, 0.01])
def test_the_promise_is_kept_on_new_messages(n: int, share: float) -> None:
    rng = np.random.default_rng(n)
    wrong = []
    for _ in range(40):
        raw, codes = scores(rng, 2 * n, 12.0)
        reading = training.read_scores(raw, codes, share)
        new, truth = scores(rng, 20_000, 12.0)
        probability = reading.probability(new)[truth == 0]
        wrong.append((probability >= reading.thresholds.spam).mean())
    assert np.mean(wrong) <= 1.1 * share  # expected, over mailboxes of this size
    assert np.median(wrong) <= share


def test_one_mislabelled_message_does_not_move_the_cut_off() -> None:
    rng = np.random.default_rng(3)
    ham = rng.exponential(1.0, 2000)
    before = tail_quantile(ham, 0.001)
    assert tail_quantile(np.append(ham, 1e9), 0.001) < before + 0.3


@pytest.mark.parametrize("share", [0.001, 0.01, 0.03, 0.2])
def test_a_share_is_kept_however_large_it_is(share: float) -> None:
    rng = np.random.default_rng(5)
    exceeded = [np.exp(-tail_quantile(rng.exponential(size=5000), share)) for _ in range(50)]
    assert np.mean(exceeded) == pytest.approx(share, rel=0.1)


def test_a_smaller_share_is_a_higher_threshold() -> None:
    ham = np.random.default_rng(4).logistic(-5.0, 1.0, 1000)
    spam = [thresholds_for(ham, share).spam for share in (0.3, 0.01, 0.001, 0.0001)]
    assert spam == sorted(spam)
    assert spam[0] == 0.5
    assert thresholds_for(ham + 100.0, 0.001).spam < 1.0  # something can always be spam
    for bad in (0.0, 1.0, math.nan, -1.0):
        with pytest.raises(DataError, match="lies between 0 and 1"):
            checked_share(bad)


def test_figures_are_of_messages_that_chose_nothing() -> None:
    raw, codes = scores(np.random.default_rng(5), 1000, 12.0)
    later = np.arange(1000) >= 500
    both = training.judged(raw, codes, 0.01, later)
    assert both.n_messages == 1000
    reading = training.read_scores(raw[:500], codes[:500], 0.01)
    p = reading.probability(raw[500:])
    one = MailEvaluation.of_probabilities(
        p[codes[500:] == 1].tolist(), p[codes[500:] == 0].tolist(), reading.thresholds
    )
    assert one.spam["spam"] <= both.spam["spam"]
    assert both.correct >= one.correct


def test_thresholds_that_are_given_replace_the_chosen_ones() -> None:
    chosen = Thresholds(0.97, 0.1)
    assert chosen.changed(None, None) == chosen
    assert chosen.changed(0.99, 0.2) == Thresholds(0.99, 0.2)
    assert chosen.changed(0.05, None) == Thresholds(0.05, 0.05)
    with pytest.raises(DataError, match="thresholds are probabilities"):
        chosen.changed(2.0, None)
