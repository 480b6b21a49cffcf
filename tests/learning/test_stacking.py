"""The weights of nested readings."""

import numpy as np

from tallybayes.core.batch import Labels
from tallybayes.learning.stacking import losses, stacked

START = np.array([0.0, 0.0, 1.0])


def rows(n, signal, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n).astype(np.int32)
    truth = rng.normal(size=(n, 1)) + signal * (2 * codes[:, None] - 1)
    evidence = np.stack([np.concatenate((-truth, truth), axis=1)] * 3, axis=2)
    return evidence, np.full((n, 2), np.log(0.5)), Labels.hard(codes), np.arange(n) % 5


def test_noise_leaves_the_prior() -> None:
    evidence, prior, labels, fold = rows(400, 0.0)
    found = stacked(evidence * 3.0, prior, labels, fold, START)
    assert found.weights.sum() < 0.15
    assert found.loss(labels) < np.log(2) + 0.02


def test_evidence_that_is_right_keeps_its_weight() -> None:
    evidence, prior, labels, fold = rows(4000, 1.0)  # the log odds of the truth are 2·x: each class's score is ±x
    found = stacked(evidence, prior, labels, fold, START)
    assert abs(found.weights.sum() - 1.0) < 0.1


def test_the_scores_of_a_fold_do_not_know_its_labels() -> None:
    evidence, prior, labels, fold = rows(300, 0.5)
    other = Labels.hard(np.where(fold == 0, 1 - labels.codes, labels.codes).astype(np.int32))
    one, two = (stacked(evidence, prior, each, fold, START) for each in (labels, other))
    np.testing.assert_allclose(one.scores[fold == 0], two.scores[fold == 0])
    assert not np.allclose(one.weights, two.weights)


def test_losses_are_those_of_a_softmax() -> None:
    scores, labels = np.array([[0.0, np.log(3.0)], [1e4, 0.0]]), Labels.hard(np.array([1, 1], np.int32))
    np.testing.assert_allclose(losses(scores, labels), [-np.log(0.75), 1e4])
