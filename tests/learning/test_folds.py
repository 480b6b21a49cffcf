"""Figures of rows that had no part in the model that scores them, choices included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tallybayes
from tallybayes import MultinomialNB, NaiveBayes, Tokens
from tallybayes.core.calibration import cross_fitted, fit
from tallybayes.core.metrics import score
from tallybayes.data import datasets
from tallybayes.errors import SettingError
from tallybayes.learning.folds import dealt
from tallybayes.learning.options import Options

ANEW = "5 folds, each learned anew without its rows"
REPEATED = "5 folds, all learning repeated without each"


@pytest.fixture(scope="module")
def birds() -> pd.DataFrame:
    return pd.DataFrame(datasets.penguins())


@pytest.fixture(scope="module")
def fitted(birds: pd.DataFrame) -> NaiveBayes:
    return NaiveBayes(drop=["year"]).fit(birds, "species")


def noise(seed: int, n: int, d: int = 10) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.permutation(np.arange(n) % 2)


def test_the_interval_of_noise_covers_the_truth() -> None:
    covered = [0, 0]
    for seed in range(10):
        figures = (model := NaiveBayes().fit(*noise(seed, 60))).evaluation_
        truth = model.evaluate(*noise(100 + seed, 2000), method="test")
        for i, name in enumerate(("accuracy", "log_loss")):
            found = getattr(figures, name)
            covered[i] += found.low <= getattr(truth, name).value <= found.high
    assert min(covered) >= 9


def test_figures_are_those_of_fitting_to_the_other_folds(birds: pd.DataFrame, fitted: NaiveBayes) -> None:
    fold = dealt(fitted.labelled_rows(birds), 5)
    codes, scores = np.searchsorted(fitted.classes_, birds["species"]), np.empty((344, 3))
    for number in range(5):
        other = NaiveBayes(drop=["year"]).fit(birds[fold != number], "species")
        scores[fold == number] = other.predict_log_proba(birds[fold == number].drop(columns="species"))
    expected, found = score(scores, codes, fitted.classes_), fitted.evaluation_
    # The stored ones share one fit of all rows among the folds, where these learn each complement from nothing.
    assert found.log_loss.low - 0.01 <= expected.log_loss.value <= found.log_loss.high + 0.01
    assert abs(found.accuracy.value - expected.accuracy.value) < 0.015
    assert (found.method, found.n_folds, found.n_rows, found.n_learned) == (ANEW, 5, 344, 344)
    assert found.source == "pandas DataFrame"


def test_the_order_of_the_rows_and_where_they_are_make_no_difference(
    birds: pd.DataFrame, fitted: NaiveBayes, tmp_path: Any
) -> None:
    shuffled = birds.sample(frac=1.0, random_state=3)
    assert NaiveBayes(drop=["year"]).fit(shuffled, "species").evaluation_ == fitted.evaluation_
    birds.to_csv(tmp_path / "birds.csv", index=False)
    there = NaiveBayes(drop=["year"]).fit(tmp_path / "birds.csv", "species").evaluation_
    assert there.source == "birds.csv"
    assert there.log_loss.value == pytest.approx(fitted.evaluation_.log_loss.value, rel=1e-9)
    lazy = NaiveBayes(drop=["year"]).fit(pl.from_pandas(birds).lazy(), "species").evaluation_
    assert lazy.source == "Polars LazyFrame"


def test_two_fits_are_equal_whatever_the_day(birds: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallybayes.core.evaluation.today", lambda: "2031-05-06")
    later = NaiveBayes(drop=["year"]).fit(birds, "species")
    assert later.evaluation_.date == "2031-05-06"
    monkeypatch.undo()
    assert NaiveBayes(drop=["year"]).fit(birds, "species").model_ == later.model_


def test_folds_by_content_with_their_share_of_each_class(birds: pd.DataFrame, fitted: NaiveBayes) -> None:
    rows = fitted.labelled_rows(birds)
    fold, order = dealt(rows, 4), np.random.default_rng(0).permutation(344)
    np.testing.assert_array_equal(dealt(rows.take(order), 4), fold[order])
    assert (dealt(rows, 4, seed=1) != fold).any()
    for species in birds["species"].unique():
        assert np.ptp(np.bincount(fold[birds["species"] == species])) <= 1
    with pytest.raises(SettingError, match="between 2 and the 344 rows"):
        dealt(rows, 345)


# ---------------------------------------------------------------------------------------------- what is stored


def test_textbook_models_store_nothing(birds: pd.DataFrame) -> None:
    for model in (NaiveBayes(classical=True).fit(birds, "species"), MultinomialNB().fit([[1, 0], [0, 2]], [0, 1])):
        provenance = model.model_.provenance
        assert (provenance.evaluation, provenance.options, provenance.uncalibrated) == (None, None, None)
        assert not model.model_.is_chosen


def test_few_rows_are_left_out_one_by_one() -> None:
    days = datasets.tennis()
    model = NaiveBayes().fit(days, target="play")
    assert model.evaluation_.method == "leave-one-out"
    assert model.evaluation_.log_loss == model.evaluate(days).log_loss


def test_a_class_of_one_row_a_text_and_a_level_of_one_row() -> None:
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 40 + ["b"] * 40 + ["c"])
    table = {
        "x": rng.normal(size=81),
        "note": [f"{'foo' if i < 40 else 'bar'} and w{i % 7}" for i in range(81)],
        "kind": [*["u", "v"] * 40, "w"],
    }
    found = NaiveBayes(kind={"note": "text"}).fit(table, y).evaluation_
    assert found.classes == ("a", "b", "c")
    assert found.accuracy.value > 0.9


@pytest.mark.parametrize(
    "params",
    [
        {"alpha": "auto"},
        {"pairs": [("island", "sex")]},
        {"weights": None, "max_pairs": 0},
        {"numeric": "binned", "missing": "level"},
        {"prior": {"Adelie": 0.2, "Chinstrap": 0.4, "Gentoo": 0.4}},
        {"alpha": {"island": 0.5}, "kind": {"year": "category"}},
        {"tokens": Tokens(min_count=2), "kind": {"island": "text"}},
    ],
    ids=str,
)
def test_every_option_is_kept_and_used_again(birds: pd.DataFrame, params: dict[str, Any], tmp_path: Any) -> None:
    model = NaiveBayes(**params).fit(birds, "species")
    assert Options(**model.model_.provenance.options) == Options(**Options(**params).given)
    model.save(tmp_path / "m.tally")
    again = tallybayes.load(tmp_path / "m.tally")
    assert again.model_ == model.model_
    anew, stored = again.evaluate(birds, method=5).log_loss.value, model.evaluation_.log_loss
    assert stored.low - 0.02 <= anew <= stored.high + 0.02
    assert anew == model.evaluate(birds, method=5).log_loss.value


def test_threads_are_no_option_of_a_model() -> None:
    assert Options(n_jobs=2).given == {}
    assert Options(drop=["a"], pairs=[["a", "b"]], min_count=np.float64(2)).given == {
        "drop": ("a",),
        "pairs": (("a", "b"),),
        "min_count": 2.0,
    }


# ---------------------------------------------------------------------------------------------- evaluate


def test_the_rows_that_were_learned_give_the_stored_figures(birds: pd.DataFrame, fitted: NaiveBayes) -> None:
    assert fitted.evaluate(birds) is fitted.evaluation_
    assert fitted.evaluate(birds.sample(frac=1.0, random_state=1)) is fitted.evaluation_


def test_other_rows_are_scored_as_they_are(birds: pd.DataFrame, fitted: NaiveBayes) -> None:
    half = NaiveBayes().fit(birds[::2], "species")
    assert half.evaluate(birds[1::2]).method == "test"
    assert fitted.evaluate(birds, birds["species"].to_numpy()[::-1]).method == "test"
    assert fitted.evaluate(birds[::2]).method == "test"  # some of the rows cannot be recognised by their tally
    assert fitted.evaluate(birds[::2], method=5).method == REPEATED


def test_rows_learned_later_are_no_longer_those_of_the_figures(birds: pd.DataFrame) -> None:
    model = NaiveBayes().fit(birds[:200], "species").partial_fit(birds[200:], "species")
    assert model.evaluation_.n_learned == 200
    found = model.evaluate(birds)
    assert (found.method, found.n_rows) == (REPEATED, 344)
    model.unlearn(birds[200:])
    assert model.evaluate(birds[:200]) is model.evaluation_


def test_folds_of_a_chosen_model_are_learned_anew() -> None:
    x, y = noise(1, 60)
    model = NaiveBayes().fit(x, y)
    found = model.evaluate(x, y, method=10)
    assert (found.method, found.n_folds) == ("10 folds, all learning repeated without each", 10)
    assert found.accuracy.value < 0.65
    given = model.evaluate(x, y, method=np.arange(60) % 3)
    assert given.n_folds == 3


def test_leave_one_out_of_a_chosen_model_says_what_it_is() -> None:
    x, y = noise(1, 60)
    with pytest.warns(UserWarning, match="the figures flatter"):
        found = NaiveBayes().fit(x, y).evaluate(x, y, method="leave-one-out")
    assert found.method == "leave-one-out of the counts, choices kept"


def test_a_pseudocount_that_was_chosen_is_chosen_anew(birds: pd.DataFrame) -> None:
    model = NaiveBayes(classical=True, alpha="auto").fit(birds, "species")
    assert model.evaluation_ is None
    assert model.evaluate(birds).method == REPEATED
    words = np.random.default_rng(0).poisson(1.0, size=(60, 5))
    counts = MultinomialNB(alpha="auto").fit(words, np.arange(60) % 2)
    assert counts.evaluate(words, np.arange(60) % 2).method == REPEATED


# ---------------------------------------------------------------------------------------------- calibration


def test_a_calibration_is_judged_on_rows_that_it_was_not_fitted_to() -> None:
    x, y = noise(2, 200, 20)
    model = NaiveBayes(classical=True, calibration="isotonic").fit(x, y)
    raw, codes = NaiveBayes(classical=True).fit(x, y).leave_one_out(x, y), y.astype(int)
    flattering = score(fit("isotonic", raw, codes, np.ones(200)).apply(raw), codes, (0, 1))
    assert model.evaluation_.method == "leave-one-out; calibration cross-fitted"
    assert model.evaluation_.log_loss.value > flattering.log_loss.value
    assert model.calibration_.after is model.evaluation_
    truth = model.evaluate(*noise(3, 2000, 20), method="test").log_loss.value
    assert model.evaluation_.log_loss.low <= truth <= model.evaluation_.log_loss.high


def test_the_default_is_calibrated_on_scores_of_folds() -> None:
    x, y = noise(2, 60)
    plain, model = NaiveBayes().fit(x, y), NaiveBayes(calibration="temperature").fit(x, y)
    assert model.calibration_.before == plain.evaluation_
    assert 0.5 < model.model_.settings.calibration.temperature < 50.0  # the stack has tempered noise already
    assert model.evaluation_.log_loss.value < plain.evaluation_.log_loss.value + 0.01
    assert model.evaluate(x, y, method=4).method.endswith("without each; calibration cross-fitted")


def test_each_fold_is_calibrated_by_the_others() -> None:
    rng = np.random.default_rng(0)
    logs, codes, weight = np.log(rng.dirichlet([0.2, 0.2], size=50)), rng.integers(2, size=50), rng.random(50)
    fold = np.arange(50) % 5
    found = cross_fitted("temperature", logs, codes, weight, fold)
    rest, held = fold != 2, fold == 2
    expected = fit("temperature", logs[rest], codes[rest], weight[rest]).apply(logs[held])
    np.testing.assert_array_equal(found[held], expected)
