"""Weights: the maximum that L-BFGS-B finds, finite, and what they are for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from tallybayes import NaiveBayes
from tallybayes.core.keys import stratified_folds
from tallybayes.learning.evidence import HeldOut
from tallybayes.learning.weights import FEW, PULL, PULLS, best_pull, held_out_losses, is_better, learn


def problem(seed):
    """Evidence (n, K, P) of all scales, some of it repeated, and its rows."""
    rng = np.random.default_rng(seed)
    n, n_classes, columns = (int(rng.integers(a, b)) for a, b in ((30, 300), (2, 5), (1, 25)))
    codes = rng.integers(0, n_classes, n).astype(np.int32)
    evidence = rng.normal(size=(n, n_classes, columns)) * rng.choice([0.1, 1, 5, 20], columns)
    evidence += (np.arange(n_classes) == codes[:, None])[:, :, None] * rng.choice([0, 1, -0.5, 2], columns)
    if columns > 3:
        evidence[:, :, 1] = evidence[:, :, 0]
        evidence[:, :, 2] = evidence[:, :, 0] + 0.1 * evidence[:, :, 3]
    evidence = evidence.astype(np.float32)
    prior = np.log(rng.dirichlet(np.ones(n_classes)))
    weight = rng.random(n) * 2
    return evidence, prior, codes, weight


def scores(evidence, prior, weights):
    return weights[0] * prior + evidence.astype(float) @ weights[1:]


def loss(weights, evidence, prior, codes, weight, centre, pull):
    """What is minimised, and its slope, straight from the definition."""
    terms = np.concatenate((np.broadcast_to(prior[:, None], (*evidence.shape[:2], 1)), evidence), axis=2)
    log_p = log_softmax(terms @ weights, axis=1)
    rows = np.arange(len(codes))
    slope = np.einsum("n,nkp->p", weight, np.exp(log_p)[:, :, None] * terms) - weight @ terms[rows, codes]
    value = -weight @ log_p[rows, codes] + pull * ((weights - centre) ** 2).sum()
    return value, slope + 2 * pull * (weights - centre)


# ---------------------------------------------------------------------------------------------- evidence


def test_losses_are_those_of_the_softmax():
    evidence, prior, codes, weight = problem(1)
    rows, weights = HeldOut.of(evidence, prior, codes, weight), np.random.default_rng(0).random(evidence.shape[2] + 1)
    want = log_softmax(scores(evidence, prior, weights), axis=1)
    assert_allclose(rows.log_posterior(weights), want, rtol=1e-4, atol=1e-4)
    assert_allclose(rows.losses(weights), -want[np.arange(len(codes)), codes], rtol=1e-4, atol=1e-4)


def test_huge_evidence_does_not_overflow():
    evidence = np.array([[[1e5], [-1e5]], [[1e5], [-1e5]]], dtype=np.float32)
    rows = HeldOut.of(evidence, np.zeros(2), np.array([0, 1]), np.ones(2))
    assert_allclose(rows.losses(np.ones(2)), [0.0, 2e5])


def test_what_is_lost_without_a_term_is_the_rise_of_the_loss():
    evidence, prior, codes, weight = problem(2)
    rows, at = HeldOut.of(evidence, prior, codes, weight), np.full(evidence.shape[2] + 1, 0.7)
    without = [weight @ rows.losses(np.where(np.arange(len(at)) == d, 0.0, at)) for d in range(len(at))]
    want = (without - weight @ rows.losses(at)) / weight.sum()
    assert_allclose(rows.loss_increases(at), want, atol=1e-4 * np.abs(want).max())


# ---------------------------------------------------------------------------------------------- the maximum


@pytest.mark.parametrize("seed", [2, 5, 8, 14, 17, 19, 20])
@pytest.mark.parametrize("pull", [0.3, 10.0])
def test_newton_finds_the_maximum_that_l_bfgs_b_finds(seed, pull):
    evidence, prior, codes, weight = problem(seed)
    centre = np.where(np.arange(evidence.shape[2] + 1) % 4 == 3, 0.0, 1.0)
    found = learn(HeldOut.of(evidence, prior, codes, weight), centre, pull=pull)
    args = (evidence, prior, codes, weight, centre, pull)
    options = {"maxiter": 5000, "maxfun": 50_000, "ftol": 1e-13, "gtol": 1e-8}
    best = minimize(loss, centre, args, "L-BFGS-B", jac=True, bounds=[(0, None)] * len(centre), options=options)
    assert (found >= 0).all()
    assert loss(found, *args)[0] <= best.fun + 1e-5 * weight.sum()


@pytest.mark.parametrize(("n", "columns", "classes"), [(9000, 5, 4), (60, 700, 2), (60, 600, 3)])
def test_where_rows_or_columns_are_many_the_slope_ends_at_zero(n, columns, classes):
    rng = np.random.default_rng(n)
    codes = rng.integers(0, classes, n).astype(np.int32)
    told = (np.arange(classes) == codes[:, None])[:, :, None]
    evidence = (rng.normal(size=(n, classes, columns)) + 0.1 * told) / np.sqrt(columns)
    args = (evidence.astype(np.float32), np.log(np.full(classes, 1 / classes)), codes, np.ones(n))
    found, centre = learn(HeldOut.of(*args), np.ones(columns + 1), pull=1.0), np.ones(columns + 1)
    value, slope = loss(found, *args, centre, 1.0)
    assert np.abs(np.where((found == 0) & (slope > 0), 0.0, slope)).max() < 1e-3 * n
    assert value < loss(centre, *args, centre, 1.0)[0]


def test_rows_of_no_weight_are_not_read():
    evidence, prior, codes, weight = problem(5)
    rows, out = HeldOut.of(evidence, prior, codes, weight), np.arange(len(codes)) % 3 == 0
    ones = np.ones(evidence.shape[2] + 1)
    assert_allclose(learn(rows.without(out), ones), learn(rows.take(~out), ones), atol=1e-9)


def test_the_first_weights_can_be_held():
    evidence, prior, codes, weight = problem(3)
    start = np.linspace(0.5, 1.5, evidence.shape[2] + 1)
    found = learn(HeldOut.of(evidence, prior, codes, weight), np.ones(len(start)), start, fixed=2)
    assert_array_equal(found[:2], start[:2])
    assert np.all(found[2:] != start[2:])


def test_without_rows_that_tell_the_weights_stay_at_the_centre():
    rows = HeldOut.of(np.zeros((40, 2, 3), np.float32), np.zeros(2), np.arange(40) % 2, np.ones(40))
    assert_allclose(learn(rows, np.array([1.0, 1.0, 0.0, 2.0])), [1.0, 1.0, 0.0, 2.0])


def test_weights_stay_finite_where_one_column_tells_all():
    y = np.arange(60) % 2
    own = (np.arange(2) == y[:, None])[:, :, None]
    rows = HeldOut.of(np.where(own, 0.0, -30.0).astype(np.float32), np.log([0.5, 0.5]), y, np.ones(60))
    found = learn(rows, np.ones(2))
    assert np.isfinite(found).all()
    assert found.max() < 10


def test_evidence_against_the_labels_is_not_counted():
    y = np.arange(60) % 2
    own = (np.arange(2) == y[:, None])[:, :, None]
    rows = HeldOut.of(np.where(own, -3.0, 0.0).astype(np.float32), np.log([0.5, 0.5]), y, np.ones(60))
    assert learn(rows, np.ones(2))[1] == 0.0


def test_a_row_that_weighs_two_counts_as_two():
    evidence, prior, codes, _ = problem(5)
    twice = np.repeat(np.arange(len(codes)), 1 + np.arange(len(codes)) % 2)
    weighted = learn(
        HeldOut.of(evidence, prior, codes, 1.0 + np.arange(len(codes)) % 2), np.ones(evidence.shape[2] + 1)
    )
    repeated = learn(
        HeldOut.of(evidence[twice], prior, codes[twice], np.ones(len(twice))), np.ones(evidence.shape[2] + 1)
    )
    assert_allclose(weighted, repeated, atol=1e-3)


# ---------------------------------------------------------------------------------------------- what is kept


def test_losses_are_better_only_beyond_noise():
    rng = np.random.default_rng(0)
    before, noise = rng.random(400), rng.normal(size=400)
    assert is_better(before, before - 0.2 + noise, np.ones(400))
    assert not is_better(before, before - 0.01 + noise - noise.mean(), np.ones(400))
    assert not is_better(before, before, np.ones(400))
    only_first = np.where(np.arange(400) < 200, 1.0, 0.0)
    assert not is_better(before, before + np.where(np.arange(400) < 200, 0.1, -5.0), only_first)


def test_each_row_is_evaluated_by_weights_it_had_no_say_in():
    evidence, prior, codes, weight = problem(7)
    rows, centre = HeldOut.of(evidence, prior, codes, weight), np.ones(evidence.shape[2] + 1)
    fold = stratified_folds(rows.codes, 5)
    losses = held_out_losses(rows, centre)
    for number in range(5):
        weights = learn(rows.take(fold != number), centre)
        assert_allclose(losses[fold == number], rows.take(fold == number).losses(weights))


def test_folds_have_their_share_of_each_class():
    _, _, codes, _ = problem(7)
    fold = stratified_folds(codes, 5)
    for k in np.unique(codes):
        shares = np.bincount(fold[codes == k], minlength=5)
        assert shares.max() - shares.min() <= 1


def test_few_rows_are_pulled_as_they_prefer():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    noise = HeldOut.of(rng.normal(0, 2, (200, 2, 30)).astype(np.float32), np.zeros(2), y, np.ones(200))
    assert best_pull(noise, np.ones(31)) == min(PULLS)  # far from 1 is where they must go
    many = HeldOut.of(np.zeros((FEW + 1, 2, 1), np.float32), np.zeros(2), np.arange(FEW + 1) % 2, np.ones(FEW + 1))
    assert best_pull(many, np.ones(2)) == PULL


# ---------------------------------------------------------------------------------------------- in a table


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng, y, {"a": rng.normal(y), "b": rng.normal(1.5 * y)}


@pytest.mark.parametrize("copies", [2, 4])
def test_copies_of_a_column_share_one_weight(copies):
    _, y, x = table()
    single = NaiveBayes(max_pairs=0, weights="learn").fit(x, y)
    twins = {**x, **{f"a{i}": x["a"] for i in range(1, copies)}}
    model = NaiveBayes(max_pairs=0).fit(twins, y)
    shares = [model.weights_.columns[name] for name in twins if name.startswith("a")]
    assert_allclose(shares, np.full(copies, single.weights_.columns["a"] / copies), rtol=0.1)
    assert sum(shares) == pytest.approx(1.0, abs=0.2)  # how far from one depends on the folds
    assert_allclose(model.predict_proba(twins), single.predict_proba(x), atol=0.05)


def test_columns_of_noise_do_not_hurt():
    rng, y, x = table(1200)
    noisy = {**x, **{f"noise{i}": rng.normal(size=1200) for i in range(30)}}
    first, second = (lambda part: {k: v[part] for k, v in noisy.items()}), slice(600, None)
    few = NaiveBayes().fit({k: v[:600] for k, v in x.items()}, y[:600])
    many = NaiveBayes().fit(first(slice(600)), y[:600])
    test = first(second)
    log_loss = [
        m.evaluate({k: v for k, v in test.items() if k in m.feature_names_in_}, y[600:], method="test").log_loss.value
        for m in (few, many)
    ]
    assert log_loss[1] < log_loss[0] + 0.03


def test_weights_of_what_is_right_already_stay_near_one():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    model = NaiveBayes(numeric="gaussian", max_pairs=0).fit({"a": rng.normal(y), "b": rng.normal(y)}, y)
    assert all(0.9 < weight < 1.1 for weight in model.weights_.columns.values())


def test_a_document_has_one_weight():
    rng, y, x = table()
    words = {f"w{i}": rng.poisson(1 + (i + 1) * y) for i in range(3)}
    model = NaiveBayes(family=dict.fromkeys(words, "multinomial"), weights="learn", max_pairs=0).fit({**x, **words}, y)
    assert len({model.weights_.columns[name] for name in words}) == 1
    assert model.weights_.columns["w0"] != 1.0


def test_the_posterior_of_learned_weights_is_normalised():
    _, y, x = table()
    model = NaiveBayes(weights="learn", max_pairs=0).fit({**x, "a2": x["a"]}, y)
    assert_allclose(logsumexp(model.predict_log_proba({**x, "a2": x["a"]}), axis=1), 0.0, atol=1e-12)
