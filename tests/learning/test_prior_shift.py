"""The class mix of unlabelled rows is found from the evidence alone."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tallybayes
from tallybayes import Model, Settings, families
from tallybayes.core.batch import Codes, Labels
from tallybayes.core.schema import Column, Schema
from tallybayes.data.arrays import one_block
from tallybayes.errors import DataError, SettingError
from tallybayes.learning.prior_shift import PriorShift, estimate_prior

CLASSES = ("a", "b", "c")
FAMILY = families.Gaussian()


def rows(n, mix, seed):
    """Rows of three overlapping classes in a given mix, and their codes."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, size=n, p=mix).astype(np.int32)
    centre = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    return rng.normal(size=(n, 2)) + centre[codes], codes


@pytest.fixture(scope="module")
def model():
    x, codes = rows(5000, [0.3, 0.3, 0.4], seed=0)
    return Model(Settings({"gaussian": FAMILY}), tallybayes.tally(x, np.array(CLASSES)[codes], FAMILY))


def batch_of(model, x, labels=None):
    return one_block("gaussian", model.schema, x, labels)


@pytest.mark.parametrize("mix", [[0.8, 0.15, 0.05], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]], ids=str)
def test_a_changed_mix_is_recovered(model, mix):
    x, codes = rows(20_000, mix, seed=1)
    shift = estimate_prior(model, batch_of(model, x))
    assert shift.converged
    assert_allclose(list(shift.prior.values()), np.bincount(codes, minlength=3) / len(codes), atol=0.02)
    assert tuple(shift.prior) == CLASSES
    assert sum(shift.prior.values()) == pytest.approx(1.0, abs=1e-12)


def test_a_class_that_is_gone_is_found_to_be_gone(model):
    x, _ = rows(20_000, [0.0, 0.5, 0.5], seed=1)
    shift = estimate_prior(model, batch_of(model, x), tol=1e-6)
    assert_allclose(list(shift.prior.values()), [0.0, 0.5, 0.5], atol=0.01)


def test_the_likelihood_never_falls_and_ends_at_the_top(model):
    x, _ = rows(3000, [0.7, 0.2, 0.1], seed=2)
    batch = batch_of(model, x)
    shift = estimate_prior(model, batch, tol=1e-12)
    path = np.array(shift.log_likelihood_path)
    assert len(path) == shift.n_iter + 1
    assert np.all(np.diff(path) >= -1e-12 * abs(path[0]))
    assert path[0] == pytest.approx(model.log_evidence(batch).sum(), rel=1e-12)
    assert path[-1] == pytest.approx(model.with_prior(shift.prior).log_evidence(batch).sum(), rel=1e-12)
    best = np.array(list(shift.prior.values()))
    for step in ([0.01, -0.01, 0.0], [-0.01, 0.0, 0.01], [0.0, 0.01, -0.01]):
        other = dict(zip(CLASSES, best + step, strict=True))
        assert model.with_prior(other).log_evidence(batch).sum() < path[-1]


def test_the_new_prior_explains_itself(model):
    x, _ = rows(4000, [0.7, 0.2, 0.1], seed=3)
    shift = estimate_prior(model, batch_of(model, x), tol=1e-12)
    posterior = model.with_prior(shift.prior).posterior(batch_of(model, x))
    assert_allclose(posterior.mean(axis=0), list(shift.prior.values()), atol=1e-9)


def test_the_new_prior_makes_fewer_errors(model):
    x, codes = rows(5000, [0.9, 0.05, 0.05], seed=4)
    batch = batch_of(model, x)
    shifted = model.with_prior(estimate_prior(model, batch).prior)
    assert np.mean(shifted.predict(batch) == codes) > np.mean(model.predict(batch) == codes) + 0.05


def test_one_step_is_the_mean_posterior(model):
    x, _ = rows(500, [0.7, 0.2, 0.1], seed=5)
    shift = estimate_prior(model, batch_of(model, x), max_iter=1)
    assert (shift.n_iter, shift.converged) == (1, False)
    assert_allclose(list(shift.prior.values()), model.posterior(batch_of(model, x)).mean(axis=0))


def test_a_loose_tolerance_ends_sooner(model):
    x, _ = rows(500, [0.7, 0.2, 0.1], seed=5)
    batch = batch_of(model, x)
    assert estimate_prior(model, batch, tol=1e-2).n_iter < estimate_prior(model, batch, tol=1e-6).n_iter


def test_whole_weights_are_repeated_rows_and_labels_are_not_looked_at(model):
    x, codes = rows(300, [0.7, 0.2, 0.1], seed=6)
    times = np.random.default_rng(0).integers(0, 4, size=300)
    repeated = estimate_prior(model, batch_of(model, np.repeat(x, times, axis=0)))
    for labels in (
        Labels.hard(np.zeros_like(codes), times.astype(float)),
        Labels.soft(np.repeat(times[:, None] / 3.0, 3, axis=1)),
    ):
        weighted = estimate_prior(model, batch_of(model, x, labels))
        assert_allclose(list(weighted.prior.values()), list(repeated.prior.values()), atol=1e-9)


def test_classes_of_prior_zero_keep_it(model):
    x, _ = rows(2000, [0.2, 0.4, 0.4], seed=7)
    start = model.with_prior({"a": 0.5, "b": 0.5, "c": 0.0})
    shift = estimate_prior(start, batch_of(model, x))
    assert shift.prior["c"] == 0.0
    assert sum(shift.prior.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("prior", ["uniform", "none", {"a": 0.98, "b": 0.01, "c": 0.01}], ids=str)
def test_the_start_makes_no_difference(model, prior):
    x, _ = rows(2000, [0.2, 0.4, 0.4], seed=7)
    from_data = estimate_prior(model, batch_of(model, x), tol=1e-10)
    other = estimate_prior(replace(model, settings=replace(model.settings, prior=prior)), batch_of(model, x), tol=1e-10)
    assert_allclose(list(other.prior.values()), list(from_data.prior.values()), atol=1e-6)


def letters(values):
    """A model without smoothing in which every class has a letter of its own, and a batch of such letters."""
    family = families.Categorical(alpha=0.0)
    schema = Schema((Column("letter", "category", ("p", "q", "r")),), ("a", "b"))
    tally = tallybayes.tally(np.array([["p"], ["q"]]), ["a", "b"], family, names=["letter"]).align(schema)
    x = Codes(np.array([[v] for v in values], dtype=np.int32), np.array([3]))
    return Model(Settings({"categorical": family}), tally), one_block("categorical", schema, x)


def test_rows_that_every_class_forbids_speak_for_none():
    model, batch = letters([0, 0, 0, 1, 2, 2])
    assert estimate_prior(model, batch).prior == pytest.approx({"a": 0.75, "b": 0.25})
    with pytest.raises(DataError, match="some class allows"):
        estimate_prior(*letters([2, 2]))


def test_a_class_that_nothing_speaks_for_dies_out():
    shift = estimate_prior(*letters([0, 0, 0]))
    assert shift.prior == {"a": 1.0, "b": 0.0}
    assert shift.converged


def test_what_cannot_be_estimated(model):
    with pytest.raises(DataError, match="no rows"):
        estimate_prior(model, batch_of(model, np.zeros((0, 2))))
    with pytest.raises(DataError, match="some class allows"):
        estimate_prior(model, batch_of(model, np.zeros((2, 2)), Labels.hard(np.zeros(2, np.int32), np.zeros(2))))
    single = Model(Settings({"gaussian": FAMILY}), tallybayes.tally(np.ones((3, 2)), ["a"] * 3, FAMILY))
    with pytest.raises(DataError, match="at least two classes"):
        estimate_prior(single, batch_of(single, np.ones((2, 2))))
    with pytest.raises(DataError, match="at least two classes"):
        estimate_prior(model.with_prior({"a": 1.0, "b": 0.0, "c": 0.0}), batch_of(model, np.ones((2, 2))))


@pytest.mark.parametrize("options", [{"tol": -1.0}, {"tol": np.nan}, {"max_iter": 0}], ids=str)
def test_bad_settings(model, options):
    with pytest.raises(SettingError, match="tol must be at least 0 and max_iter at least 1"):
        estimate_prior(model, batch_of(model, np.ones((2, 2))), **options)


def test_it_shows_the_mix():
    shift = PriorShift({"ham": 0.9, "spam": 0.1}, 12, True, (-3.0, -2.0))
    assert repr(shift) == "PriorShift(ham: 0.9, spam: 0.1; converged in 12 steps)"
    assert "not converged after 1 step)" in repr(replace(shift, n_iter=1, converged=False))
