"""The model itself: priors, evidence, forbidden rows, mixed blocks, sizes. What holds for every family is in `laws`."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multinomial, norm

import tallybayes
import tallybayes.core.chunks
from tallybayes.core.batch import Batch, Codes, Encoded, Labels
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Schema
from tallybayes.core.settings import Settings
from tallybayes.core.tally import count
from tallybayes.data.arrays import one_block
from tallybayes.errors import DataError, ForbiddenRowWarning, SettingError, UnlearnError
from tallybayes.families import Bernoulli, Categorical, Complement, Gaussian, Multinomial, Poisson

WORDS = np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 1.0, 2.0]])
CODES = np.array([0, 1, 1], np.int32)


def rows(model, x, codes=None, weight=None):
    labels = None if codes is None else Labels.hard(np.asarray(codes, np.int32), weight)
    return one_block(next(iter(model.settings.families)), model.schema, x, labels)


def fit(family, x, target, weight=None, **settings):
    return Model(Settings({family.name: family}, **settings), tallybayes.tally(x, target, family, weight=weight))


@pytest.fixture
def words():
    return fit(Multinomial(), WORDS, ["ham", "spam", "spam"])


# ---------------------------------------------------------------------------------------------- priors


@pytest.mark.parametrize(
    ("settings", "want"),
    [
        ({}, [1 / 3, 2 / 3]),
        ({"prior_alpha": 1.0}, [2 / 5, 3 / 5]),
        ({"prior": "uniform"}, [1 / 2, 1 / 2]),
        ({"prior": "none"}, [1.0, 1.0]),
        ({"prior": {"spam": 0.9, "ham": 0.1}}, [0.1, 0.9]),
        ({"prior": {"spam": 1.0, "ham": 0.0}}, [0.0, 1.0]),
    ],
    ids=str,
)
def test_the_prior_is_as_set(settings, want):
    model = fit(Multinomial(), WORDS, ["ham", "spam", "spam"], **settings)
    assert_allclose(np.exp(model.log_prior), want)


def test_the_evidence_of_columns_is_the_joint_without_the_prior(words):
    batch = rows(words, WORDS)
    assert_allclose(words.column_evidence(batch) + words.log_prior, words.log_joint(batch))


def test_the_empirical_prior_counts_weights():
    model = fit(Multinomial(), WORDS, ["ham", "spam", "spam"], weight=[3.0, 0.5, 0.5])
    assert_allclose(np.exp(model.log_prior), [0.75, 0.25])


@pytest.mark.parametrize(
    ("prior", "problem"),
    [
        ({"ham": 1.0}, "names the classes"),
        ({"ham": 0.5, "spam": 0.4, "eggs": 0.1}, "names the classes"),
        ({"ham": -0.5, "spam": 1.5}, "non-negative"),
        ({"ham": float("nan"), "spam": 1.0}, "non-negative"),
        ({"ham": 0.5, "spam": 0.6}, "sum of the priors should be 1, got 1.1"),
        ("flat", "'empirical', 'uniform' or a mapping.*not 'flat'"),
        ([0.5, 0.5], "'empirical', 'uniform' or a mapping"),
    ],
    ids=str,
)
def test_a_bad_prior_is_an_error_at_once(words, prior, problem):
    with pytest.raises(SettingError, match=problem):
        words.with_prior(prior)


def test_the_prior_can_be_changed_without_data(words):
    changed = words.with_prior({"ham": 0.8, "spam": 0.2})
    batch = rows(words, WORDS)
    assert_allclose(
        changed.log_joint(batch) - words.log_joint(batch),
        np.broadcast_to(np.log([0.8 / (1 / 3), 0.2 / (2 / 3)]), (3, 2)),
    )
    assert_allclose(np.exp(words.log_prior), [1 / 3, 2 / 3])


def test_a_prior_that_is_good_enough_to_be_taken_is_good_enough_to_draw_from(words):
    model = words.with_prior({"ham": 0.333333, "spam": 0.666666})
    assert_allclose(model.posterior(rows(model, np.zeros((1, 3)))).sum(), 1.0)
    assert len(model.sample(5, np.random.default_rng(0))[1]) == 5


def test_a_class_of_weight_zero_is_never_predicted():
    model = fit(Gaussian(), np.array([[1.0], [2.0], [9.0]]), ["a", "a", "b"], weight=[1.0, 1.0, 0.0])
    assert_array_equal(model.posterior(rows(model, np.array([[9.0], [np.nan]]))), [[1.0, 0.0], [1.0, 0.0]])


def test_a_single_class_is_certain():
    model = fit(Gaussian(), np.array([[1.0], [2.0]]), ["only", "only"])
    assert_array_equal(model.posterior(rows(model, np.array([[50.0]]))), [[1.0]])


# ---------------------------------------------------------------------------------------------- evidence


def test_the_evidence_is_the_total_probability(words):
    theta = (np.array([[3.0, 0.0, 1.0], [1.0, 3.0, 3.0]]) + 1) / np.array([[7.0], [10.0]])
    want = [logsumexp([multinomial.logpmf(x, x.sum(), theta[k]) + words.log_prior[k] for k in (0, 1)]) for x in WORDS]
    assert_allclose(words.log_evidence(rows(words, WORDS)), want)


def test_the_likelihood_adds_up_the_rows_with_their_weights(words):
    weight = np.array([0.5, 2.0, 1.0])
    joint = words.log_joint(rows(words, WORDS)) + words.log_base(rows(words, WORDS))[:, None]
    got = words.log_likelihood(rows(words, WORDS, CODES, weight))
    assert got == pytest.approx((weight * joint[np.arange(3), CODES]).sum())


def test_an_impossible_row_that_weighs_nothing_says_nothing():
    model = fit(Multinomial(0.0), np.eye(2), ["a", "b"])
    swapped = rows(model, np.eye(2), [1, 1], np.array([0.0, 1.0]))
    assert model.log_likelihood(swapped) == pytest.approx(np.log(0.5))
    assert model.log_likelihood(rows(model, np.eye(2), [1, 1])) == -np.inf


@pytest.mark.parametrize("verb", ["log_likelihood", "leave_one_out"])
def test_labels_are_asked_for_where_they_are_needed(words, verb):
    for labels in (None, Labels.soft(np.full((3, 2), 0.5))):
        with pytest.raises(DataError, match="needs the label of each row"):
            getattr(words, verb)(one_block("multinomial", words.schema, WORDS, labels))


def test_columns_by_the_thousand_do_not_underflow():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2_500))
    model = fit(Gaussian(), x, rng.integers(0, 3, 100))
    assert np.all(model.log_joint(rows(model, x)).max(axis=1) < -1e3)
    assert_allclose(model.posterior(rows(model, x)).sum(axis=1), 1.0)
    assert_allclose(logsumexp(model.log_posterior(rows(model, x)), axis=1), 0.0, atol=1e-12)


def test_classes_that_are_equally_unlikely_leave_the_prior():
    # Nothing varies, so the densities of another value are beyond all measure, and the prior is lost if added to them.
    model = fit(Gaussian(), np.full((3, 1), 3.0), ["a", "b", "b"])
    with warnings.catch_warnings(action="ignore", category=ForbiddenRowWarning):
        assert_allclose(model.posterior(rows(model, np.array([[50.0]]))), [[1 / 3, 2 / 3]])


# ---------------------------------------------------------------------------------------------- forbidden rows


@pytest.fixture
def strict():
    return fit(Multinomial(0.0), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]), ["a", "b", "b"])


def test_a_row_that_every_class_forbids_gets_the_prior_and_a_warning(strict):
    batch = rows(strict, np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    with pytest.warns(ForbiddenRowWarning, match="2 rows had probability zero under every class"):
        posterior = strict.posterior(batch)
    assert_allclose(posterior, [[1 / 3, 2 / 3], [1 / 3, 2 / 3], [0.0, 1.0]])
    with pytest.warns(ForbiddenRowWarning):
        assert_allclose(np.exp(strict.log_posterior(batch)), posterior)
    with pytest.warns(ForbiddenRowWarning):
        assert_array_equal(strict.predict(batch), [1, 1, 1])


def test_without_a_prior_all_classes_are_alike_to_a_forbidden_row(strict):
    with pytest.warns(ForbiddenRowWarning, match="1 row had"):
        posterior = strict.with_prior("none").posterior(rows(strict, np.array([[1.0, 1.0, 0.0]])))
    assert_allclose(posterior, [[0.5, 0.5]])


def test_one_warning_covers_all_chunks(strict, monkeypatch):
    monkeypatch.setattr(tallybayes.core.chunks, "CHUNK", 2)
    with pytest.warns(ForbiddenRowWarning, match="5 rows") as caught:
        strict.posterior(rows(strict, np.ones((5, 3))), n_jobs=2)
    assert len(caught) == 1


def test_a_row_that_the_others_forbid_gets_the_prior_of_the_others():
    # Nobody else has the word of row 0, and without the row its class is half as likely.
    x, codes = np.eye(4), [0, 0, 1, 1]
    model = fit(Multinomial(0.0), x, codes)
    batch = rows(model, x, codes)
    with warnings.catch_warnings(action="ignore", category=ForbiddenRowWarning):
        left_out = model.leave_one_out(batch)
        unlearned = [model.unlearn(batch.rows(i, i + 1)).log_posterior(batch.rows(i, i + 1))[0] for i in range(4)]
    assert_allclose(left_out, unlearned)


# ---------------------------------------------------------------------------------------------- mixed tables

MIXED = Schema(
    (Column("age", "numeric"), Column("wind", "category", ("strong", "weak")), Column("height", "numeric")),
    ("no", "yes", "maybe"),
)
NUMBERS = np.array([[20.0, 1.5], [30.0, 1.6], [40.0, np.nan], [50.0, 1.8], [41.0, 1.9]])
WIND = np.array([[0], [1], [1], [-1], [0]])


def mixed_rows(labels=None):
    blocks = {"gaussian": Encoded((0, 2), NUMBERS), "categorical": Encoded((1,), Codes(WIND, np.array([2])))}
    return Batch(MIXED, blocks, 5, labels)


@pytest.fixture
def mixed():
    batch = mixed_rows(Labels.hard(np.array([0, 0, 1, 1, 1], np.int32)))
    families = {"gaussian": Gaussian(), "categorical": Categorical()}
    return Model(Settings(families, prior_alpha=1.0), count(batch, families))


def test_each_column_contributes_in_its_place(mixed):
    parts = mixed.contributions(mixed_rows())
    assert_allclose(parts[:, 0, 0], norm.logpdf(NUMBERS[:, 0], 25.0, 5.0), rtol=1e-6)
    assert_allclose(parts[:3, 0, 1], np.log([0.5, 0.5, 0.5]))
    assert_array_equal(parts[3, :, 1], 0.0)  # missing wind
    assert_array_equal(parts[2, :, 2], 0.0)  # missing height
    assert_allclose(parts.sum(axis=2) + mixed.log_prior, mixed.log_joint(mixed_rows()))


def test_mixed_rows_can_be_left_out(mixed):
    batch = mixed_rows(Labels.hard(np.array([0, 0, 1, 1, 1], np.int32)))
    for i, left_out in enumerate(mixed.leave_one_out(batch)):
        row = batch.rows(i, i + 1)
        less = replace(mixed, tally=mixed.tally - count(row, mixed.settings.families))
        assert_allclose(left_out, less.log_posterior(row)[0], rtol=1e-5)


def test_mixed_rows_can_be_drawn(mixed):
    drawn, codes = mixed.sample(50, np.random.default_rng(0))
    assert drawn["gaussian"].shape == (50, 2)
    assert drawn["categorical"].shape == (50, 1)
    assert set(codes.tolist()) <= {0, 1, 2}


# ---------------------------------------------------------------------------------------------- learning


def test_a_new_class_is_learned(words):
    batch = one_block("multinomial", Schema(words.schema.columns, ("eggs",)), WORDS[:1], Labels.hard(CODES[:1]))
    more = words.learn(batch)
    assert more.schema.classes == ("eggs", "ham", "spam")
    assert_array_equal(more.tally.class_weight, [1, 1, 2])
    assert words.schema.classes == ("ham", "spam")


def test_a_given_prior_survives_learning(words):
    model = words.with_prior({"ham": 0.9, "spam": 0.1}).learn(rows(words, WORDS, CODES))
    assert_allclose(np.exp(model.log_prior), [0.9, 0.1])


def test_a_batch_that_fails_leaves_the_model_as_it_was(words):
    before = words.log_joint(rows(words, WORDS))
    with pytest.raises(DataError, match=r"column 'x1' holds the count -1 \(row 3\)"):
        words.learn(rows(words, np.array([[1.0, 1, 1], [1, 1, 1], [1, -1, 1]]), CODES))
    assert_array_equal(words.log_joint(rows(words, WORDS)), before)


def test_a_bad_cell_is_named_while_scoring(words, monkeypatch):
    monkeypatch.setattr(tallybayes.core.chunks, "CHUNK", 2)
    bad = np.ones((5, 3))
    bad[4, 2] = np.nan
    for verb in (words.log_joint, words.predict, words.contributions):
        with pytest.raises(DataError, match=r"column 'x2' holds NaN \(row 5\)"):
            verb(rows(words, bad))


def test_a_row_that_was_never_learned_cannot_be_left_out(monkeypatch):
    monkeypatch.setattr(tallybayes.core.chunks, "CHUNK", 2)
    model = fit(Gaussian(), np.arange(5.0)[:, None], [0, 0, 0, 1, 1])
    heavy = np.array([1.0, 1.0, 1.0, 1.0, 2.5])
    with pytest.raises(UnlearnError, match="the model was fitted on"):
        model.leave_one_out(rows(model, np.arange(5.0)[:, None], [0, 0, 0, 1, 1], heavy))


def test_the_row_that_was_never_learned_is_counted_from_the_first(monkeypatch):
    # The class has the weight, but nothing of it in that column.
    monkeypatch.setattr(tallybayes.core.chunks, "CHUNK", 2)
    learned = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]])
    codes = [0, 0, 0, 1, 1]
    model = fit(Gaussian(), learned, codes)
    other = learned.copy()
    other[3] = 4.0
    with pytest.raises(UnlearnError, match="row 4 was not learned"):
        model.leave_one_out(rows(model, other, codes))


# ---------------------------------------------------------------------------------------------- the model itself


@pytest.mark.parametrize(
    ("family", "x", "own", "joint"),
    [
        (Gaussian(), np.eye(4), 2 * 3 * 4, 3 * (4 + 10) + 2),
        (Gaussian(variance="shared"), np.eye(4), 3 * 4 + 4, None),
        (Bernoulli(), np.eye(4), 3 * 4, 3 * (2**4 - 1) + 2),
        (Multinomial(), np.eye(4), 3 * (4 - 1), None),
        (Complement(), np.eye(4), 3 * (4 - 1), None),
        (Poisson(), np.eye(4), 3 * 4, None),
        (Categorical(), np.array([[0, 1], [1, 2], [0, 3], [0, 3]]), 3 * (1 + 2), 3 * (2 * 3 - 1) + 2),
    ],
    ids=str,
)
def test_parameters_are_counted_with_the_prior_once(family, x, own, joint):
    model = fit(family, x, ["a", "b", "c", "c"])
    assert model.n_parameters == own + 2
    if joint is not None:
        assert model.n_joint_parameters == joint


def test_a_pickled_model_says_the_same(words):
    words.parameters  # noqa: B018  estimated before, left out of the pickle
    again = pickle.loads(pickle.dumps(words))
    assert_array_equal(again.log_joint(rows(words, WORDS)), words.log_joint(rows(words, WORDS)))
    assert repr(again) == repr(words) == "Model(multinomial; Tally(3 rows; ham: 1, spam: 2; 3 columns))"


def test_threads_can_share_a_model():
    x = np.random.default_rng(0).normal(size=(500, 5))
    model = fit(Gaussian(), x, np.arange(500) % 3)
    fresh = Model(model.settings, model.tally)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: fresh.log_posterior(rows(fresh, x)), range(8)))
    assert all(np.array_equal(answer, model.log_posterior(rows(model, x))) for answer in answers)


def test_no_rows_give_no_answers(words):
    nothing = rows(words, np.zeros((0, 3)))
    assert words.log_posterior(nothing).shape == (0, 2)
    assert words.predict(nothing).shape == (0,)
    assert words.contributions(nothing).shape == (0, 2, 3)
