"""Taking rows out of the tally is fitting without them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tallybayes
from tallybayes import GaussianNB, Model, Settings, families
from tallybayes.core.batch import MISSING, Batch, Codes, Encoded, Labels
from tallybayes.core.metrics import score
from tallybayes.core.schema import Column, Schema
from tallybayes.core.tally import count
from tallybayes.data.arrays import one_block
from tallybayes.errors import DataError, SchemaError, SettingError, UnlearnError
from tallybayes.inspection.evaluate import k_fold, leave_one_out
from tallybayes.learning.folds import dealt

CLASSES = ("ham", "mail", "spam")


def mixed(n=60, seed=3, weighted=True, **settings):
    """A model of numbers and categories with missing values and weights, and the rows it learned."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n).astype(np.int32)
    numbers = rng.normal(size=(n, 2)) + codes[:, None]
    numbers[rng.uniform(size=numbers.shape) < 0.1] = np.nan
    letters = np.where(rng.uniform(size=n) < 0.6, codes, rng.integers(4, size=n)).astype(np.int32)[:, None]
    letters[rng.uniform(size=letters.shape) < 0.1] = MISSING
    weight = rng.choice([0.5, 1.0, 2.0, 3.0], size=n) if weighted else np.ones(n)
    schema = Schema(
        (Column("age", "numeric"), Column("letter", "category", tuple("abcd")), Column("size", "numeric")), CLASSES
    )
    blocks = {"gaussian": Encoded((0, 2), numbers), "categorical": Encoded((1,), Codes(letters, np.array([4])))}
    batch = Batch(schema, blocks, n, Labels.hard(codes, weight))
    families_ = {"gaussian": families.Gaussian(var_smoothing=1e-3), "categorical": families.Categorical(alpha=0.7)}
    return Model(Settings(families_, **settings), count(batch, families_)), batch


def numbers_only(x, codes, classes=CLASSES, **options):
    """A Gaussian model of rows, and the rows."""
    family = families.Gaussian(**options)
    schema = Schema(tuple(Column(f"x{j}", "numeric") for j in range(x.shape[1])), classes)
    batch = one_block("gaussian", schema, x, Labels.hard(np.asarray(codes, dtype=np.int32)))
    return Model(Settings({"gaussian": family}), count(batch, {"gaussian": family})), batch


def same(one, other):
    """Whether two evaluations agree in every figure."""
    assert (one.classes, one.n_rows) == (other.classes, other.n_rows)
    assert_allclose(one.confusion, other.confusion)
    for mine, theirs in ((one.accuracy, other.accuracy), (one.log_loss, other.log_loss), (one.brier, other.brier)):
        assert (mine.value, mine.low, mine.high) == pytest.approx((theirs.value, theirs.low, theirs.high), rel=1e-7)
    assert one.ece == pytest.approx(other.ece)


def refitted(model, batch, folds):
    """Log posteriors of each fold's rows under a model counted anew from the other rows."""
    log_posterior = np.empty((batch.n_rows, model.n_classes))
    for fold in np.unique(folds):
        rest = count(batch.take(np.flatnonzero(folds != fold)), model.settings.families)
        rows = np.flatnonzero(folds == fold)
        log_posterior[rows] = replace(model, tally=rest).log_posterior(batch.take(rows))
    return log_posterior


@pytest.mark.parametrize("settings", [{}, {"prior": "uniform"}, {"prior_alpha": 1.0}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_refitting_without_each_row(weighted, settings):
    model, batch = mixed(weighted=weighted, **settings)
    expected = refitted(model, batch, np.arange(batch.n_rows))
    got = leave_one_out(model, batch)
    assert got.method == "leave-one-out"
    same(got, score(expected, batch.labels.codes, CLASSES, batch.labels.weight))


@pytest.mark.parametrize("settings", [{}, {"prior": "uniform"}, {"prior_alpha": 1.0}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_k_fold_is_refitting_without_each_fold(weighted, settings):
    model, batch = mixed(weighted=weighted, **settings)
    folds = np.random.default_rng(0).integers(4, size=batch.n_rows)
    got = k_fold(model, batch, folds)
    assert got.method == "4-fold"
    same(got, score(refitted(model, batch, folds), batch.labels.codes, CLASSES, batch.labels.weight))


def test_k_fold_of_single_rows_is_leave_one_out():
    model, batch = mixed()
    same(k_fold(model, batch, folds=batch.n_rows), leave_one_out(model, batch))


def test_the_names_of_the_folds_make_no_difference():
    model, batch = mixed()
    folds = np.arange(batch.n_rows) % 3
    same(k_fold(model, batch, folds), k_fold(model, batch, np.array(["north", "south", "west"])[folds]))


def test_the_model_may_have_learned_more_than_the_rows():
    model, batch = mixed()
    some = batch.take(np.arange(30))
    folds = np.arange(30) % 2
    expected = np.empty((30, 3))
    for fold in (0, 1):
        rows = np.flatnonzero(folds == fold)
        others = np.setdiff1d(np.arange(batch.n_rows), rows)
        rest = replace(model, tally=count(batch.take(others), model.settings.families))
        expected[rows] = rest.log_posterior(some.take(rows))
    same(k_fold(model, some, folds), score(expected, some.labels.codes, CLASSES, some.labels.weight))


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
def test_folds_are_alike_in_size_and_in_classes(n_folds):
    codes = np.random.default_rng(1).choice(4, size=103, p=[0.6, 0.2, 0.15, 0.05])
    _, batch = numbers_only(np.random.default_rng(0).normal(size=(103, 2)), codes, "abcd")
    fold = dealt(batch, n_folds)
    for group in [fold, *(fold[codes == k] for k in range(4))]:
        sizes = np.bincount(group, minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1


def test_the_seed_decides_the_folds():
    model, batch = mixed()
    first, again, other = (k_fold(model, batch, seed=seed).log_loss for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_figures_on_separable_rows():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 40)
    model, batch = numbers_only(rng.normal(size=(120, 2)) + 20.0 * codes[:, None], codes)
    for got in (leave_one_out(model, batch), k_fold(model, batch)):
        assert got.accuracy.value == got.macro_f1 == got.balanced_accuracy == 1.0
        assert got.ece < 1e-6
        assert got.accuracy.low > 0.95


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_make_no_difference(n_jobs):
    rng = np.random.default_rng(2)
    codes = rng.integers(3, size=20_000)
    model, batch = numbers_only(rng.normal(size=(20_000, 4)) + 0.5 * codes[:, None], codes)
    same(k_fold(model, batch, n_jobs=n_jobs), k_fold(model, batch))
    same(leave_one_out(model, batch, n_jobs), leave_one_out(model, batch))


@pytest.mark.parametrize("prior", ["empirical", "uniform"])
def test_a_class_without_a_row_outside_its_fold_is_simply_wrong(prior):
    rng = np.random.default_rng(0)
    codes = np.array([0] * 20 + [1] * 20 + [2] * 2)
    model, batch = numbers_only(rng.normal(size=(42, 2)) + 5.0 * codes[:, None], codes)
    model = replace(model, settings=replace(model.settings, prior=prior))
    folds = np.where(codes == 2, 0, np.arange(42) % 3)
    got = k_fold(model, batch, folds)
    assert np.isfinite([got.log_loss.value, got.brier.value, got.ece]).all()
    assert got.support[2] == 2
    if prior == "empirical":
        assert got.recall[2] == 0
        # Impossible classes cost what a probability of zero costs, each of the two rows −log eps.
        assert got.log_loss.value > 2 * 36 / 42


def test_a_class_of_a_single_row_is_simply_wrong():
    x = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [100.0]])
    model, batch = numbers_only(x, [0, 0, 0, 1, 1, 1, 2], var_smoothing=1e-2)
    for got in (leave_one_out(model, batch), k_fold(model, batch, folds=3)):
        assert got.confusion[2, 2] == 0
        assert math.isfinite(got.log_loss.value)


def test_classes_that_were_never_seen_do_no_harm():
    x = np.arange(20.0)[:, None]
    model, batch = numbers_only(x, (np.arange(20) >= 10).astype(int))
    got = k_fold(model, batch, folds=4)
    assert got.classes == CLASSES
    assert got.support.tolist() == [10.0, 10.0, 0.0]
    assert got.confusion[:, 2].sum() == 0


def test_a_single_class_is_always_right():
    family = families.Gaussian()
    tally = tallybayes.tally(np.arange(6.0)[:, None], ["only"] * 6, family)
    model = Model(Settings({"gaussian": family}), tally)
    batch = one_block("gaussian", tally.schema, np.arange(6.0)[:, None], Labels.hard(np.zeros(6, np.int32)))
    got = k_fold(model, batch, folds=2)
    assert (got.accuracy.value, got.baseline_accuracy, got.baseline_log_loss) == (1.0, 1.0, 0.0)
    assert "1 class" in str(got)


def test_rows_that_were_not_learned_are_an_error_that_says_so():
    model, batch = mixed()
    flipped = replace(batch, labels=Labels.hard((batch.labels.codes + 1) % 3, 100.0 * batch.labels.weight))
    with pytest.raises(UnlearnError, match="k-fold needs the rows, labels and weights"):
        k_fold(model, flipped)
    with pytest.raises(UnlearnError, match="leave-one-out needs the rows"):
        leave_one_out(model, flipped)


def test_rows_without_labels_or_with_other_classes_cannot_be_evaluated():
    model, batch = mixed()
    for unlabelled in (replace(batch, labels=None), replace(batch, labels=Labels.soft(np.ones((60, 3))))):
        for verb in (k_fold, leave_one_out):
            with pytest.raises(DataError, match="needs the label of each row"):
                verb(model, unlabelled)
    with pytest.raises(SchemaError, match="encode them with the model's schema"):
        k_fold(model, replace(batch, schema=Schema(batch.schema.columns, CLASSES[::-1])))


@pytest.mark.parametrize("folds", [1, 0, -3, 61, np.zeros(60, int), np.arange(59), np.zeros((60, 2), int)], ids=repr)
def test_bad_folds(folds):
    model, batch = mixed()
    with pytest.raises(SettingError, match="folds must be"):
        k_fold(model, batch, folds)


def test_no_rows_cannot_be_evaluated():
    model, batch = mixed()
    nothing = batch.take(np.zeros(0, dtype=int))
    with pytest.raises(DataError, match="rows of positive weight"):
        leave_one_out(model, nothing)
    with pytest.raises(SettingError, match="0 rows"):
        k_fold(model, nothing)


def test_costs_decide_and_are_measured_on_held_out_rows():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.3, "bad", "good")
    X = rng.normal(size=(600, 2)) + 1.2 * (y == "bad")[:, None]
    costs = {("bad", "good"): 5.0, ("good", "bad"): 1.0}
    model = GaussianNB().fit(X[:400], y[:400])
    chosen = model.predict(X[400:], costs=costs)
    matrix = np.array([[0.0, 5.0], [1.0, 0.0]])
    assert_array_equal(chosen, model.classes_[(model.predict_proba(X[400:]) @ matrix).argmin(axis=1)])
    seen = model.evaluate(X[400:], y[400:], costs=costs)
    paid = matrix[(y[400:] != "bad").astype(int), (chosen != "bad").astype(int)]
    assert float(seen.cost) == pytest.approx(paid.mean())
    assert seen.cost.low < paid.mean() < seen.cost.high
    assert seen.baseline_cost == pytest.approx(min(5 * (y[400:] == "bad").mean(), (y[400:] == "good").mean()))
    assert float(seen.cost) < seen.baseline_cost
    own = model.evaluate(X[:400], y[:400], costs=costs)  # leave-one-out
    assert own.method == "leave-one-out"
    assert "mean cost" in str(own)
    assert model.evaluate(X[:400], y[:400]).cost is None
