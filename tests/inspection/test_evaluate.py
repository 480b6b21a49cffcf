"""Figures are scikit-learn's, and taking rows out of the tally is fitting without them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics

import tallybayes
from tallybayes import Model, Settings, families
from tallybayes.core.batch import MISSING, Batch, Codes, Encoded, Labels
from tallybayes.core.schema import Column, Schema
from tallybayes.core.tally import count
from tallybayes.data.arrays import one_block
from tallybayes.errors import DataError, SchemaError, SettingError, UnlearnError
from tallybayes.inspection import evaluate
from tallybayes.inspection.evaluate import Interval, k_fold, leave_one_out, score

CLASSES = ("ham", "mail", "spam")


def drawn(n=400, n_classes=3, seed=0):
    """Posteriors, codes that mostly follow them, and whole weights, some of them zero."""
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.full(n_classes, 0.5), size=n)
    right = posterior.argmax(axis=1)
    codes = np.where(rng.uniform(size=n) < 0.7, right, rng.integers(n_classes, size=n))
    return posterior, codes, rng.integers(0, 4, size=n).astype(float)


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


# ---------------------------------------------------------------------------------------------- figures


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_figures_are_those_of_scikit_learn(n_classes, weighted):
    posterior, codes, weight = drawn(n_classes=n_classes)
    weight = weight if weighted else None
    got = score(np.log(posterior), codes, range(n_classes), weight)
    predicted = posterior.argmax(axis=1)
    labels = list(range(n_classes))
    options = {"sample_weight": weight}
    assert got.accuracy.value == pytest.approx(metrics.accuracy_score(codes, predicted, **options))
    assert got.log_loss.value == pytest.approx(metrics.log_loss(codes, posterior, labels=labels, **options))
    brier = metrics.brier_score_loss(codes, posterior, labels=labels, scale_by_half=False, **options)
    assert got.brier.value == pytest.approx(brier)
    assert got.macro_f1 == pytest.approx(metrics.f1_score(codes, predicted, average="macro", **options))
    assert got.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(codes, predicted, **options))
    assert_allclose(got.confusion, metrics.confusion_matrix(codes, predicted, labels=labels, **options))
    per_class = metrics.precision_recall_fscore_support(codes, predicted, labels=labels, zero_division=0, **options)
    assert_allclose((got.precision, got.recall, got.f1, got.support), per_class)


def test_probabilities_of_zero_cost_what_they_cost_in_scikit_learn():
    posterior, codes = np.array([[1.0, 0.0], [1.0, 0.0], [0.3, 0.7]]), np.array([0, 1, 1])
    with np.errstate(divide="ignore"):
        got = score(np.log(posterior), codes, ["no", "yes"])
    assert got.log_loss.value == pytest.approx(metrics.log_loss(codes, posterior), rel=1e-12)
    assert got.brier.value == pytest.approx(metrics.brier_score_loss(codes, posterior, scale_by_half=False))


def test_classes_that_never_occur_or_are_never_predicted_score_zero_without_a_fuss():
    posterior = np.array([[0.8, 0.1, 0.1, 0.0], [0.7, 0.1, 0.2, 0.0], [0.1, 0.7, 0.2, 0.0]])
    codes = np.array([0, 2, 0])  # class 1 is only predicted, class 2 only true, class 3 neither
    got = score(np.log(posterior + 1e-300), codes, "abcd")
    predicted = posterior.argmax(axis=1)
    assert_allclose(got.precision, [0.5, 0.0, 0.0, 0.0])
    assert_allclose(got.recall, [0.5, 0.0, 0.0, 0.0])
    assert got.macro_f1 == pytest.approx(metrics.f1_score(codes, predicted, average="macro", zero_division=0))
    assert got.balanced_accuracy == pytest.approx(0.25)
    assert math.isfinite(got.baseline_log_loss)


def test_the_baselines_ignore_the_columns():
    codes, weight = np.array([0, 1, 1, 2]), np.array([1.0, 2.0, 3.0, 2.0])
    got = score(np.log(np.full((4, 3), 1 / 3)), codes, CLASSES, weight)
    assert got.baseline_accuracy == pytest.approx(5 / 8)
    frequencies = np.tile([1 / 8, 5 / 8, 2 / 8], (4, 1))
    assert got.baseline_log_loss == pytest.approx(score(np.log(frequencies), codes, CLASSES, weight).log_loss.value)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (3, 10), (950, 1000)])
def test_the_interval_of_the_accuracy_is_wilsons(hits, n):
    from scipy.stats import binomtest

    codes = (np.arange(n) >= hits).astype(int)
    got = score(np.log(np.tile([0.9, 0.1], (n, 1))), codes, "ab").accuracy
    expected = binomtest(hits, n).proportion_ci(method="wilson")
    assert (got.value, got.low, got.high) == pytest.approx((hits / n, expected.low, expected.high))


def test_the_interval_of_the_log_loss_is_normal_over_the_rows():
    posterior, codes, _ = drawn()
    got = score(np.log(posterior), codes, CLASSES).log_loss
    losses = -np.log(posterior[np.arange(len(codes)), codes])
    half = 1.96 * losses.std() / math.sqrt(len(codes))
    assert (got.low, got.high) == pytest.approx((losses.mean() - half, losses.mean() + half), rel=1e-4)


def test_whole_weights_are_repeated_rows():
    posterior, codes, weight = drawn()
    times = weight.astype(int)
    repeated = score(np.log(np.repeat(posterior, times, axis=0)), np.repeat(codes, times), CLASSES).as_dict()
    weighted = score(np.log(posterior), codes, CLASSES, weight).as_dict()
    for name in repeated.keys() - {"n_rows", "classes", "reliability", "confusion"}:
        assert weighted[name] == pytest.approx(repeated[name]), name
    assert_allclose(weighted["confusion"], repeated["confusion"])
    for mine, theirs in zip(weighted["reliability"], repeated["reliability"], strict=True):
        assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("weighted", [False, True])
def test_reliability_and_its_mean_error(weighted):
    posterior, codes, weight = drawn(n=2000, seed=4)
    weight = weight if weighted else np.ones(2000)
    got = score(np.log(posterior), codes, CLASSES, weight)
    top, hit = posterior.max(axis=1), posterior.argmax(axis=1) == codes
    ece = 0.0
    for low, high, b in zip(np.arange(5, 15) / 15, np.arange(6, 16) / 15, got.reliability, strict=True):
        inside = (top > low) & (top <= high)
        assert (b.low, b.high, b.weight) == pytest.approx((low, high, weight[inside].sum()))
        assert b.confidence == pytest.approx(np.average(top[inside], weights=weight[inside]))
        assert b.accuracy == pytest.approx(np.average(hit[inside], weights=weight[inside]))
        ece += b.weight / weight.sum() * abs(b.confidence - b.accuracy)
    assert got.ece == pytest.approx(ece)


def test_codes_of_any_width_are_counted():
    posterior, codes, _ = drawn(n=500, n_classes=20)
    wide, narrow = (score(np.log(posterior), codes.astype(t), range(20)) for t in (np.int64, np.int8))
    assert_array_equal(narrow.confusion, wide.confusion)


@pytest.mark.parametrize(
    ("log_posterior", "codes", "weight", "message"),
    [
        (np.zeros((0, 2)), np.zeros(0, int), None, "rows of positive weight"),
        (np.zeros((2, 2)), np.array([0, 1]), np.zeros(2), "rows of positive weight"),
        (np.zeros((2, 2)), np.array([0, -1]), None, "between 0 and 1"),
        (np.zeros((2, 2)), np.array([0, 2]), None, "between 0 and 1"),
        (np.zeros((2, 3)), np.array([0, 1]), None, r"shape \(2, 3\)"),
        (np.zeros((2, 2)), np.array([0, 1]), np.ones(3), r"the weights \(3,\)"),
    ],
)
def test_what_cannot_be_scored(log_posterior, codes, weight, message):
    with pytest.raises(DataError, match=message):
        score(log_posterior, codes, ["no", "yes"], weight)


# ---------------------------------------------------------------------------------------------- leaving rows out


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
    fold = evaluate._dealt(codes, n_folds, seed=0)
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


# ---------------------------------------------------------------------------------------------- showing it


def printed(n_classes, n=3000, labels=None, weight=None):
    posterior, codes, _ = drawn(n=n, n_classes=n_classes)
    return score(np.log(posterior), codes, labels or [f"class {k}" for k in range(n_classes)], weight, "5-fold")


@pytest.mark.parametrize("n_classes", [2, 3, 6, 12, 100])
def test_it_prints_within_eighty_columns(n_classes):
    long = [f"a class with the long\nname of {k} that goes on and on" for k in range(n_classes)]
    for labels in (None, long):
        lines = str(printed(n_classes, labels=labels)).splitlines()
        assert max(map(len, lines)) <= 80
        assert all(line == line.rstrip() for line in lines)


def test_few_classes_print_their_confusion_and_many_their_worst_mistakes():
    few, many = str(printed(3)), str(printed(100))
    assert "true \\ predicted" in few
    assert "errors" not in few
    assert "errors" in many
    assert "… 80 more" in many
    assert len(many.splitlines()) < 80


def test_no_mistakes_print_no_table_of_them():
    codes = np.arange(40)
    log_posterior = np.log(np.eye(40) * 0.9 + 0.1 / 40)
    assert "errors" not in str(score(log_posterior, codes, range(40)))


def test_the_title_tells_weights_that_are_not_one():
    assert str(printed(3)).startswith("5-fold: 3,000 rows, 3 classes\n")
    assert str(printed(3, weight=np.full(3000, 0.5))).startswith("5-fold: 3,000 rows of weight 1,500, 3 classes\n")


def test_figures_in_the_print_are_those_of_the_record():
    got = printed(3)
    lines = str(got).splitlines()
    accuracy = next(line for line in lines if line.startswith("accuracy")).split()
    assert accuracy[1] == f"{got.accuracy.value:.4f}"
    assert accuracy[-1] == f"{got.baseline_accuracy:.4f}"
    assert f"{got.ece:.4f}" in next(line for line in lines if line.startswith("calibration error"))


def test_the_repr_is_one_line():
    got = printed(3)
    assert repr(got) == (
        f"Evaluation(5-fold, 3,000 rows: accuracy {got.accuracy.value:.4f}, "
        f"log loss {got.log_loss.value:.4f}, ECE {got.ece:.4f})"
    )


def test_html_has_the_same_tables_and_escapes_labels():
    html = printed(2, labels=["<b>bold</b>", "a & b"])._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt;" in html
    assert "a &amp; b" in html
    assert "<b>" not in html
    assert html.count("<table>") == html.count("</table>") == 4


def test_the_record_goes_to_json():
    got = score(np.log([[0.9, 0.1, 1e-9], [0.2, 0.8, 1e-9]]), np.array([0, 0]), ["a", 1, (2, "tuple")])
    plain = json.loads(json.dumps(got.as_dict(), allow_nan=False))
    assert [entry["class"] for entry in plain["classes"]] == ["a", 1, "(2, 'tuple')"]
    assert plain["accuracy"]["value"] == got.accuracy.value
    assert plain["confusion"] == [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert plain["reliability"][0]["weight"] == 1.0


def test_an_interval_is_a_number_too():
    interval = Interval(0.95, 0.9, 0.98)
    assert float(interval) == 0.95
    assert str(interval) == "0.9500 (0.9000 – 0.9800)"
