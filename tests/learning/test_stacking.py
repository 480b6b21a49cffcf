"""The weights of nested readings."""

import numpy as np

from tallybayes.core.batch import Labels
from tallybayes.learning.stacking import losses, stacked, trust

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


def test_few_rows_are_weighed_down_before_anything_is_learned() -> None:
    evidence, prior, labels, fold = rows(10, 0.0)
    found = stacked(evidence * 1e-9, prior, labels, fold, START)  # which says nothing: τ stays where it starts
    assert min(abs(found.weights[2]), abs(found.weights[2] - 10 / 40)) < 1e-6


def test_noise_is_not_trusted_and_a_signal_is() -> None:
    shares = []
    for seed in range(40):
        evidence, prior, labels, _ = rows(200, 0.0, seed)
        shares.append(trust(prior + evidence[:, :, 0], prior, labels))
    assert np.mean(np.array(shares) > 0) < 0.15
    evidence, prior, labels, _ = rows(200, 1.0)
    assert trust(prior + evidence[:, :, 0], prior, labels) == 1.0
    assert trust(prior, prior, labels) == 0.0
    assert trust(prior - evidence[:, :, 0], prior, labels) == 0.0  # which points the wrong way


def test_many_classes_are_told_from_chance_with_few_rows() -> None:
    codes = np.repeat(np.arange(10, dtype=np.int32), 2)
    prior = np.full((20, 10), np.log(0.1))
    scores = prior.copy()
    scores[np.arange(20), np.where(np.arange(20) < 12, codes, (codes + 1) % 10)] += 1.0  # 12 of 20 right
    assert trust(scores, prior, Labels.hard(codes)) > 0.9


def test_a_reading_beyond_all_measure_has_no_weight_and_leaves_the_others_alone() -> None:
    evidence, prior, labels, fold = rows(400, 1.0)
    broken = evidence.copy()
    broken[7, 0, 0] = -1e9
    found, plain = (stacked(each, prior, labels, fold, START) for each in (broken, evidence[:, :, [0, 1, 2]]))
    assert found.weights[0] == 0.0
    assert abs(found.weights.sum() - plain.weights.sum()) < 0.1
