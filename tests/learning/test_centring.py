"""Constants that leave a row without values the class shares."""

import numpy as np

from tallybayes.core import fitting
from tallybayes.learning.centring import centred
from tallybayes.learning.evidence import HeldOut


def rows(seed=0, n=3000, share=0.2):
    rng = np.random.default_rng(seed)
    codes = (rng.random(n) < share).astype(np.int32)
    x = rng.normal(size=(n, 2)) + codes[:, None] * [1.5, 1.0]
    means = np.array([[0.0, 0.0], [1.5, 1.0]])
    evidence = -0.5 * (x[:, None, :] - means[None]) ** 2
    evidence[: n // 3, :, 1] = 0.0  # missing
    prior = np.log([1 - share, share])
    return HeldOut.of(evidence.astype(np.float32), prior, codes, np.ones(n)), prior, evidence


def test_a_row_with_all_values_keeps_its_score() -> None:
    found, prior, _ = rows()
    shifts = centred(found, np.array([0.4, 0.5, 0.7]), prior)
    moved = shifts.sum(axis=0) - (0.4 - 1.0) * prior  # the prior counts in full, the columns have the rest
    assert np.ptp(moved) < 1e-9


def test_evidence_that_is_centred_gives_back_the_class_shares_on_average() -> None:
    found, prior, evidence = rows()
    own = 0.5 * evidence[:, :, 0]
    needed, says = fitting.column_constants(found.terms, found.codes, found.weight, np.array([1.0, 0.5, 0.0]), prior)
    assert not needed[1].any()
    centred_own = own - own.mean(axis=1)[:, None]
    np.testing.assert_allclose(says, [np.abs(centred_own).mean(axis=1).sum(), 0.0], rtol=1e-5)
    shares = [_shares(own + prior), _shares(own + prior + needed[0])]
    assert np.abs(shares[0] - np.exp(prior)).max() > 0.01
    np.testing.assert_allclose(shares[1], np.exp(prior), atol=1e-5)


def _shares(scores):
    return np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None]).mean(axis=0)


def test_weights_of_one_need_next_to_nothing() -> None:
    found, prior, _ = rows()
    assert np.abs(centred(found, np.ones(3), prior)).max() < 0.1
