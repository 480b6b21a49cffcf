"""The law of weights: a row of weight two is the same row twice."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tallybayes import NaiveBayes, Tally


def mixed(n: int, seed: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers, counts, categories and missing values of three classes, each row to be taken one to three times."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    frame = pl.DataFrame(
        {
            "length": rng.normal(y, 1.0),
            "size": np.exp(rng.normal(y / 2, 1.0)),
            "visits": rng.poisson(1 + y),
            "town": [("Rome", "Oslo", "Bonn", "Lima")[t] for t in (y + rng.integers(0, 3, n)) % 4],
            "noise": rng.normal(size=n),
            "yes": rng.random(n) < 0.3 + 0.2 * y,
            "label": [("no", "maybe", "yes")[k] for k in y],
        }
    )
    known = pl.when(pl.Series(rng.random(n) > 0.1))
    return frame.with_columns(known.then(pl.col(name)).alias(name) for name in ("length", "town")), rng.integers(
        1, 4, n
    )


def both(frame: pl.DataFrame, times: np.ndarray, **options: Any) -> tuple[NaiveBayes, NaiveBayes]:
    """The model of weighted rows, and that of repeated ones."""
    weighted = NaiveBayes(**options).fit(frame, target="label", sample_weight=times)
    return weighted, NaiveBayes(**options).fit(frame[np.repeat(np.arange(len(frame)), times)], target="label")


def assert_same_tally(one: Tally, other: Tally) -> None:
    np.testing.assert_array_equal(one.class_weight, other.class_weight)
    assert {name: list(block.columns) for name, block in one.blocks.items()} == {
        name: list(block.columns) for name, block in other.blocks.items()
    }
    for name, block in one.blocks.items():
        theirs = other.blocks[name].summary.arrays()
        for field, values in block.summary.arrays().items():
            np.testing.assert_allclose(values, theirs[field], rtol=1e-9, atol=1e-9, err_msg=f"{name}: {field}")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [
        {"classical": True},
        {"classical": True, "missing": "level", "kind": {"visits": "count"}, "alpha": 0.3, "prior_alpha": 1.0},
        {"classical": True, "family": {"size": "lognormal", "noise": "gaussian"}, "variance": "shared"},
    ],
    ids=["classical", "counts and levels", "lognormal"],
)
def test_a_weight_of_two_is_a_doubled_row(options: dict[str, Any], seed: int) -> None:
    frame, times = mixed(200, seed)
    weighted, repeated = both(frame, times, **options)
    assert_same_tally(weighted.tally_, repeated.tally_)
    np.testing.assert_allclose(weighted.predict_proba(frame), repeated.predict_proba(frame), rtol=0, atol=1e-9)


def test_a_weight_of_zero_is_no_row() -> None:
    frame, times = mixed(200, 0)
    weighted, repeated = both(frame, times - 1, classical=True)
    assert_same_tally(weighted.tally_, repeated.tally_)
    np.testing.assert_allclose(weighted.predict_proba(frame), repeated.predict_proba(frame), rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [{"classical": True}, {"weights": None, "max_pairs": 0}, {}], ids=str)
@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_a_text_of_weight_zero_brings_no_words(form: str, options: dict[str, Any], tmp_path: Path) -> None:
    texts = ["win cash now", "lunch at noon", "words of no weight", "cash prize"] * 30
    frame = pl.DataFrame({"note": texts, "w": [1.0, 2.0, 0.0, 1.0] * 30, "label": ["spam", "ham", "ham", "spam"] * 30})
    models = []
    for name, rows in (("all", frame), ("some", frame.filter(pl.col("w") > 0))):
        source: Any = rows if form == "frame" else tmp_path / f"{name}.{form}"
        if form != "frame":
            (rows.write_csv if form == "csv" else rows.write_parquet)(source)
        model = NaiveBayes(kind={"note": "text"}, **options)
        models.append(model.fit(source, target="label", sample_weight="w"))
    assert_same_tally(models[0].tally_, models[1].tally_)
    assert list(models[0].schema_.columns[0].levels) == list(models[1].schema_.columns[0].levels)


@pytest.mark.parametrize("options", [{"classical": True}, {}], ids=str)
@pytest.mark.parametrize("form", ["frame", "csv", "parquet", "lazy"])
def test_a_row_of_weight_zero_brings_no_level_and_no_date(form: str, options: dict[str, Any], tmp_path: Path) -> None:
    frame, times = mixed(300, 0)
    day = date(2024, 3, 1)
    dates = [day + timedelta(days=int(d)) for d in np.random.default_rng(0).integers(0, 800, 300)]
    frame = frame.with_columns(w=pl.Series(times - 1.0), day=pl.Series(dates))
    none = pl.when(pl.col("w") == 0)
    frame = frame.with_columns(
        none.then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
        for name, value in {"town": "Atlantis", "size": 1e9, "day": date(1900, 1, 1), "label": "never"}.items()
    )
    models = []
    for name, rows in (("all", frame), ("some", frame.filter(pl.col("w") > 0))):
        source: Any = {"frame": rows, "lazy": rows.lazy()}.get(form, tmp_path / f"{name}.{form}")
        if form in ("csv", "parquet"):
            (rows.write_csv if form == "csv" else rows.write_parquet)(source)
        models.append(NaiveBayes(**options).fit(source, target="label", sample_weight="w"))
    assert models[0].schema_ == models[1].schema_
    assert list(models[0].classes_) == ["maybe", "no", "yes"]
    assert_same_tally(models[0].tally_, models[1].tally_)
    rows = frame.drop("w")
    np.testing.assert_array_equal(models[0].predict_proba(rows), models[1].predict_proba(rows))


def test_a_row_whose_weight_is_false_is_no_row(tmp_path: Path) -> None:
    frame = pl.DataFrame({"c": ["u", "v"] * 10 + ["w"], "y": ["p", "q"] * 10 + ["r"], "w": [True] * 20 + [False]})
    frame.write_parquet(tmp_path / "rows.parquet")
    for source in (frame, tmp_path / "rows.parquet", frame.lazy()):
        model = NaiveBayes(classical=True).fit(source, target="y", sample_weight="w")
        assert (list(model.classes_), model.schema_.columns[0].levels) == (["p", "q"], ("u", "v"))


def test_a_row_of_weight_zero_brings_no_level_to_a_stream() -> None:
    model = NaiveBayes(classical=True).fit({"wind": ["weak", "strong"]}, ["yes", "no"])
    model.partial_fit({"wind": ["weak", "gale"]}, ["yes", "never"], sample_weight=[1.0, 0.0])
    model.partial_fit({"wind": ["gale"]}, ["never"], sample_weight=[0.0])
    assert model.schema_.columns[0].levels == ("strong", "weak")
    assert list(model.classes_) == ["no", "yes"]


@pytest.mark.parametrize("seed", range(3))
def test_what_the_default_counts_is_weighted_exactly(seed: int) -> None:
    frame, times = mixed(300, seed)
    weighted, repeated = both(frame, times, numeric="gaussian", weights=None, max_pairs=0)
    assert_same_tally(weighted.tally_, repeated.tally_)


# What the default chooses by leave-one-out or in folds differs a little: two copies of a row fall into two folds, and a
# row of weight two into one. Measured with Gaussian columns: 0.012 on average, and 98 % of the predictions alike.
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(
            {"numeric": "gaussian"},
            marks=pytest.mark.xfail(strict=True, reason="a row of weight two is in one fold, two rows may be in two"),
        ),
        pytest.param(
            {},
            marks=pytest.mark.xfail(
                strict=True,
                reason="families of numbers are chosen by leaving out a row with all its weight, which is not one of "
                "two equal rows, and bins are cut by rows and not by weight",
            ),
        ),
    ],
    ids=["gaussian", "default"],
)
def test_what_the_default_chooses_is_nearly_the_same(options: dict[str, Any], seed: int) -> None:
    frame, times = mixed(300, seed)
    weighted, repeated = both(frame, times, **options)
    rows = frame.drop("label")
    assert np.abs(weighted.predict_proba(rows) - repeated.predict_proba(rows)).mean() < 0.02
    assert (weighted.predict(rows) == repeated.predict(rows)).mean() >= 0.95
