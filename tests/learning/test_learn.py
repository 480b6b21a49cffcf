"""Learning unusual tables: few rows, one class, nothing to learn from, weights of rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tallybayes import NaiveBayes, Settings
from tallybayes.core.settings import EvidenceWeights
from tallybayes.data import datasets
from tallybayes.errors import ColumnWarning, DataError, SettingError
from tallybayes.inspection.sampling import inside
from tallybayes.learning.weights import LEAST_ROWS

RNG = np.random.default_rng(0)


def table(n=200):
    y = RNG.integers(0, 2, n)
    x = {"a": RNG.normal(y), "c": np.where(RNG.random(n) < 0.3, 1 - y, y).astype(str)}
    return {**x, "twin": x["a"]}, y


# ---------------------------------------------------------------------------------------------- few rows


@pytest.mark.parametrize("settings", [{"weights": "learn"}, {"pairs": [("a", "c")]}], ids=str)
def test_weights_asked_of_few_rows_fall_back_and_say_so(settings):
    x, y = table(LEAST_ROWS - 1)
    with pytest.warns(UserWarning, match="19 rows: too few to learn weights and pairs from"):
        model = NaiveBayes(**settings).fit(x, y)
    plain = NaiveBayes(classical=True).fit(x, y)
    assert model.weights_ is None
    assert_allclose(model.predict_proba(x), plain.predict_proba(x))


def test_few_rows_are_learned_in_silence_where_nothing_was_asked():
    x, y = table(LEAST_ROWS - 1)
    assert NaiveBayes().fit(x, y).weights_ is None


def test_enough_rows_are_weighted():
    x, y = table(LEAST_ROWS)
    assert NaiveBayes(weights="learn").fit(x, y).weights_ is not None


# ---------------------------------------------------------------------------------------------- odd tables


def test_one_class_is_certain():
    x, _ = table()
    model = NaiveBayes().fit(x, ["only"] * 200)
    assert model.weights_ is None
    assert_allclose(model.predict_proba(x), 1.0)


def test_columns_without_evidence_are_left_out_or_silent():
    x, y = table()
    odd = {
        **x,
        "one number": np.full(200, 4.0),
        "one word": np.full(200, "same"),
        "nothing": [None] * 200,
        "nan": np.full(200, np.nan),
        "name": [f"n{i}" for i in range(200)],
        "number": np.arange(200),
    }
    model, plain = NaiveBayes().fit(odd, y), NaiveBayes().fit(x, y)
    kinds = {c.name: c.kind for c in model.schema_.columns}
    assert [kinds[n] for n in ("nothing", "nan", "name", "number")] == ["ignored"] * 4
    assert_allclose(model.predict_proba(odd), plain.predict_proba(x), atol=1e-3)


@pytest.mark.parametrize("given", [{}, {"max_pairs": 0}, {"pairs": []}], ids=str)
def test_a_table_of_nothing_gives_the_prior(given):
    with pytest.warns(ColumnWarning, match="no column is evidence"):
        model = NaiveBayes(**given).fit({"nothing": [None] * 40}, [0] * 30 + [1] * 10)
    assert_allclose(model.predict_proba({"nothing": [None]}), [[0.75, 0.25]])


def test_a_table_of_constants_gives_the_prior():
    model = NaiveBayes().fit({"one": np.ones(40), "word": ["w"] * 40}, [0] * 30 + [1] * 10)
    assert_allclose(model.predict_proba({"one": [1.0], "word": ["w"]}), [[0.75, 0.25]], atol=0.02)


def test_all_distinct_numbers_are_learned():
    y = np.arange(400) % 2
    x = {"x": RNG.permutation(400) + 0.5 * RNG.random(400)}
    model = NaiveBayes().fit(x, y)
    assert model.evaluate(x, y).log_loss.value < np.log(2) + 0.02


@pytest.mark.parametrize("numeric", ["auto", "gaussian", "kernel", "binned"])
def test_perfect_separation_leaves_finite_weights(numeric):
    y = np.arange(100) % 2
    x = {"x": 100.0 * y + RNG.random(100), "l": np.array(["a", "b"])[y], "z": RNG.normal(size=100)}
    model = NaiveBayes(numeric=numeric, weights="learn").fit(x, y)
    assert np.isfinite([model.weights_.prior, *model.weights_.columns.values()]).all()
    assert np.isfinite(model.predict_log_proba(x)).all()
    assert model.score(x, y) == 1.0


def test_classes_of_a_single_row_do_not_stop_it():
    x, y = table()
    labels = y.astype(object)
    labels[:3] = ["x", "y", "z"]
    labels = labels.astype(str)
    model = NaiveBayes(weights="learn").fit(x, labels)
    assert len(model.classes_) == 5
    assert np.isfinite(model.predict_proba(x)).all()
    rest = {name: values[3:] for name, values in x.items()}
    assert model.score(rest, labels[3:]) > 0.6


def test_two_classes_with_a_handful_of_rows():
    y = np.array([0] * 37 + [1] * 3)
    model = NaiveBayes().fit({"a": RNG.normal(3 * y), "b": RNG.integers(0, 3, 40).astype(str)}, y)
    assert np.isfinite(model.predict_log_proba({"a": [-9.0, 9.0], "b": ["0", "1"]})).all()


@pytest.mark.parametrize("offset", [1e8, -1e8])
def test_an_offset_changes_nothing_but_the_families_that_need_positive_numbers(offset):
    y = np.arange(400) % 2
    values = np.round(RNG.normal(y), 3)
    near, far = (NaiveBayes(numeric="kernel").fit({"x": values + o}, y) for o in (0.0, offset))
    log_loss = [m.evaluate({"x": values + o}, y).log_loss.value for m, o in ((near, 0.0), (far, offset))]
    assert log_loss[0] == pytest.approx(log_loss[1], abs=0.02)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_number_is_named(value):
    x, y = table()
    x["a"][17] = value
    with pytest.raises(DataError, match=r"'a'.*row 18"):
        NaiveBayes(numeric="kernel").fit(x, y)


def test_true_zeros_leave_no_weights_and_say_why():
    x, y = table()
    x["sure"] = np.where(y == 0, "a", RNG.choice(["a", "b"], 200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NaiveBayes(alpha=0).fit({"sure": x["sure"]}, y)
    assert "weights need evidence that is never infinite: use alpha > 0" in model.model_.provenance.notes
    assert model.weights_ is None


# ---------------------------------------------------------------------------------------------- weights of rows


def test_a_row_of_weight_two_counts_as_two_rows():
    x, y = table()
    weight = 1 + np.arange(200) % 2
    weighted = NaiveBayes(max_pairs=0, numeric="gaussian", weights="learn").fit(x, y, weight)
    repeated = NaiveBayes(max_pairs=0, numeric="gaussian").fit(
        {n: np.repeat(v, weight) for n, v in x.items()}, np.repeat(y, weight)
    )
    for name in ("gaussian", "hierarchical"):
        mine, theirs = (m.tally_.blocks[name].summary.arrays() for m in (weighted, repeated))
        for field, array in mine.items():
            assert_allclose(array, theirs[field], rtol=1e-9)


def test_rows_of_weight_zero_say_nothing():
    x, y = table(400)
    kept = np.arange(400) < 200
    wrong = np.where(kept, y, 1 - y)
    some = NaiveBayes(numeric="gaussian", max_pairs=0).fit(x, wrong, kept.astype(float))
    alone = NaiveBayes(numeric="gaussian", max_pairs=0).fit({n: v[:200] for n, v in x.items()}, y[:200])
    assert_allclose(some.tally_.class_weight, alone.tally_.class_weight)
    assert some.score(x, y) == pytest.approx(alone.score(x, y), abs=0.03)


# ---------------------------------------------------------------------------------------------- two models


def test_the_weights_of_two_tables_lie_between():
    mine, theirs = EvidenceWeights({"a": 1.0}, 0.5), EvidenceWeights({"a": 2.0}, 1.0)
    assert mine.mean(theirs, 0.25) == EvidenceWeights({"a": 1.25}, 0.625)
    plain = Settings({})
    assert plain.joined(Settings({}, weights=theirs), 0.5).weights == theirs
    assert Settings({}, weights=mine).joined(plain, 0.5).weights == mine


def test_numbers_are_drawn_inside_their_bins():
    edges, bins = (0.0, 1.0, 4.0), np.array([0, 1, 2, 3] * 50)
    drawn = inside(edges, bins, np.random.default_rng(0))
    assert_allclose(np.searchsorted(edges, drawn, side="right"), bins)
    assert drawn.min() >= -1.0
    assert drawn.max() < 7.0
    assert_allclose(inside((), np.zeros(3, int), RNG), 0.0)


def test_neither_order_nor_rows_of_no_weight_nor_a_file_change_the_default_model(tmp_path):
    table = pd.DataFrame(datasets.penguins())
    values, species = table.drop(columns="species"), table["species"]
    expected = NaiveBayes().fit(values, species).predict_proba(values)

    def same(model):
        # How far the weights are driven before the search stops is all that may differ.
        assert_allclose(model.predict_proba(values), expected, rtol=0, atol=1e-4)

    for seed in range(3):
        same(NaiveBayes().fit(table.sample(frac=1, random_state=seed), target="species"))
    nothing = np.repeat([1.0, 0.0], [len(table), 50])
    same(NaiveBayes().fit(pd.concat([values, values[:50]]), [*species, *["Gentoo"] * 50], sample_weight=nothing))
    table.to_csv(tmp_path / "birds.csv", index=False)
    same(NaiveBayes().fit(tmp_path / "birds.csv", target="species"))


@pytest.mark.parametrize("family", ["binned", "kernel"])
@pytest.mark.parametrize("options", [{"classical": True}, {"unlabelled": "em"}], ids=str)
def test_textbook_models_have_no_bins_to_place(family, options):
    x = {"x": np.r_[np.nan, np.arange(29.0)]}
    with pytest.raises(SettingError, match="the bins of column 'x' are placed where the rows are"):
        NaiveBayes(family={"x": family}, **options).fit(x, np.arange(30) % 2)


@pytest.mark.parametrize("n", [5, 30])
@pytest.mark.parametrize("n_classes", [1, 2])
def test_few_rows_and_one_class_are_read_in_bins_that_were_asked_for(n, n_classes):
    x = {"x": np.r_[np.nan, np.arange(n - 1.0)]}
    model = NaiveBayes(family={"x": "binned"}).fit(x, np.arange(n) % n_classes)
    assert model.schema_.columns[0].edges is not None
