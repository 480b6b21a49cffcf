"""One law for every way that rows can take: a frame, its CSV, its Parquet file and an engine's table give one model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallybayes import EM, NaiveBayes, Options, Tokens, learn
from tallybayes.errors import DataError

STORED = ["csv", "parquet", "polars lazy", "duckdb"]
ROUTES = ["pandas", "pyarrow", "dict", *STORED]
CLOSE = 1e-9
WORDS = {"a": ["win", "cash", "now", "free", "prize"], "b": ["lunch", "noon", "report", "team"], "c": ["rain", "snow"]}


def mixed(n: int) -> pl.DataFrame:
    """Numbers, whole numbers, categories, booleans, counts and text, with missing values."""
    rng = np.random.default_rng(5)
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    k = np.searchsorted(["a", "b", "c"], y)
    town = [None if rng.random() < 0.05 else f"t{v}" for v in np.minimum(rng.geometric(0.3 + 0.1 * k), 9)]
    noise = [f"w{i}" for i in rng.integers(0, 400, n)]
    texts = [" ".join([*rng.choice(WORDS[label], 5), "and", word]) for label, word in zip(y, noise, strict=True)]
    note = [None if rng.random() < 0.05 else text for text in texts]
    size = np.round(rng.normal(0.7 * k, 1.0), 3)
    return pl.DataFrame(
        {
            "size": pl.Series(size).set(pl.Series(rng.random(n) < 0.1), None),
            "spent": np.where(rng.random(n) < 0.4, 0.0, np.round(rng.lognormal(k, 1.0), 2)),
            "far": 1e6 + np.round(size + rng.normal(size=n), 2),
            "age": rng.integers(18, 80, n) - 5 * k,
            "visits": rng.poisson(1 + k),
            "town": town,
            "mood": rng.choice(["good", "bad", "so-so"], n),
            "member": rng.random(n) < 0.3 + 0.2 * k,
            "note": note,
            "worth": rng.integers(0, 5, n) / 4,
            "label": y,
        }
    )


def sample_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of so few rows that a small table has more: as 60,000 rows are learned, in a moment."""
    sizes = {"learn.SAMPLE": 1_500, "ladder.LEARNED_ROWS": 1_200, "smoothing.MOST_ROWS": 1_000, "crossfit.MANY": 1_000}
    for name, rows in {**sizes, "columns.COMPARED_ROWS": 500, "evidence.COMPARED_ROWS": 500}.items():
        monkeypatch.setattr(f"tallybayes.learning.{name}", rows)


def routed(frame: pl.DataFrame, route: str, path: Path) -> Any:
    """The same rows in another place."""
    if route == "csv":
        frame.write_csv(path / "rows.csv")
        return path / "rows.csv"
    if route in ("parquet", "duckdb"):
        frame.write_parquet(path / "rows.parquet")
        name = str(path / "rows.parquet")
        return duckdb.connect().read_parquet(name) if route == "duckdb" else name
    frames = {"pandas": frame.to_pandas, "pyarrow": frame.to_arrow, "polars lazy": frame.lazy}
    return {name: frame[name].to_list() for name in frame.columns} if route == "dict" else frames[route]()


def learned(rows: Any, params: dict[str, Any]) -> NaiveBayes:
    params = dict(params)
    weight = params.pop("sample_weight", None)
    drop = params.pop("drop", [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NaiveBayes(drop=[*drop, *([] if weight else ["worth"])], **params)
        return model.fit(rows, target="label", sample_weight=weight)


def predicted(model: NaiveBayes, frame: pl.DataFrame, route: str) -> Any:
    # A CSV has no types: true and false are words there, and the model knows them as such.
    rows = frame.with_columns(pl.col("member").cast(pl.String)) if route == "csv" else frame
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_proba(rows.drop("label", "worth"))


def assert_one_model(frame: pl.DataFrame, params: dict[str, Any], routes: list[str], path: Path) -> None:
    here = learned(frame, params)
    expected = predicted(here, frame[:500], "polars")
    for route in routes:
        there = learned(routed(frame, route, path), params)
        assert there.classes_.tolist() == here.classes_.tolist(), route
        assert there.model_.provenance.rows == here.model_.provenance.rows, route
        found = predicted(there, frame[:500], route)
        # Evidence is kept in single precision, and words that are listed in another order round otherwise.
        close = 1e-8 if "tokens" in params else CLOSE
        np.testing.assert_allclose(found, expected, rtol=0, atol=close, err_msg=route)


PARAMETERS: dict[str, dict[str, Any]] = {
    "default": {},
    "kind": {"kind": {"visits": "count", "age": "category", "note": "text", "mood": "ignored"}},
    "family": {"family": {"size": "gaussian", "visits": "poisson", "town": "categorical", "note": "multinomial"}},
    "family lognormal": {
        "family": {"far": "lognormal", "spent": "zero_inflated", "note": "bernoulli"},
        "kind": {"note": "text"},
    },
    "tokens": {"tokens": Tokens(ngrams=(1, 2), min_count=3)},
    "tokens hashed": {"tokens": {"note": Tokens(hashed=8)}},
    "drop": {"drop": ["note", "far"]},
    "missing": {"missing": "level"},
    "missing by column": {"missing": {"town": "level"}, "classical": True},
    "unseen": {"unseen": "smooth"},
    "min_count": {"min_count": 20},
    "alpha": {"alpha": 0.5},
    "alpha auto": {"alpha": "auto"},
    "alpha auto classical": {"alpha": "auto", "classical": True},
    "alpha by column": {"alpha": {"town": 0.1, "mood": 3.0}},
    **{f"numeric {name}": {"numeric": name} for name in ("gaussian", "kernel", "binned")},
    "numeric lognormal": {"numeric": "lognormal", "drop": ["size", "spent", "visits"]},
    "numeric exponential": {"numeric": "exponential", "drop": ["size"]},
    "numeric zero_inflated": {"numeric": "zero_inflated", "drop": ["size"]},
    "weights none": {"weights": None},
    "weights learn": {"weights": "learn"},
    "weights words": {"weights": "words"},
    "pairs none": {"max_pairs": 0},
    "pairs few": {"max_pairs": 2},
    "pairs given": {"pairs": [("town", "mood"), ("size", "member")]},
    "classical": {"classical": True},
    "var_smoothing": {"classical": True, "var_smoothing": 1e-3},
    "variance": {"classical": True, "variance": "shared"},
    "prior uniform": {"prior": "uniform"},
    "prior given": {"prior": {"a": 0.2, "b": 0.5, "c": 0.3}},
    "prior_alpha": {"prior_alpha": 10.0},
    "calibration temperature": {"calibration": "temperature"},
    "calibration isotonic": {"calibration": "isotonic"},
    "sample_weight": {"sample_weight": "worth"},
    "sample_weight classical": {"sample_weight": "worth", "classical": True},
    "readable": {"readable": True, "drop": ["note"]},
    "max_bins": {"max_bins": {"size": 3, "town": 4}, "drop": ["note"]},
    "missing_values": {"missing_values": {"age": [20, 21], "mood": ["bad"]}, "classical": True},
}
# Tried elsewhere: rows without a label and two classes below, the others in test_class_weight.py and tests/data.
ELSEWHERE = {"unlabelled", "em", "monotone", "class_weight", "decimal", "dates", "encoding", "delimiter"}
NO_PART_IN_LEARNING = {"decay", "strict", "n_jobs", "verbose"}


def test_every_parameter_is_tried() -> None:
    tried = {name for params in PARAMETERS.values() for name in params} - {"sample_weight"}
    assert {*NaiveBayes().get_params()} == tried | ELSEWHERE | NO_PART_IN_LEARNING


# Those whose choices depend on the number of rows, tried with more of them.
WITH_ROWS = ["default", "classical", "alpha auto", "sample_weight", "calibration isotonic"]


@pytest.fixture(scope="module")
def few() -> pl.DataFrame:
    return mixed(500)


@pytest.fixture(scope="module")
def more() -> pl.DataFrame:
    return mixed(2_000)


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_route_gives_the_same_model(few: pl.DataFrame, name: str, tmp_path: Path) -> None:
    # Frames differ in how cells are read, which no parameter changes.
    routes = ROUTES if name in ("default", "classical", "sample_weight", "missing") else STORED
    assert_one_model(few, PARAMETERS[name], routes, tmp_path)


@pytest.mark.parametrize("name", WITH_ROWS)
def test_so_do_more_rows_than_are_sampled(
    more: pl.DataFrame, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_fewer(monkeypatch)
    assert_one_model(more, PARAMETERS[name], STORED, tmp_path)


def test_monotone_evidence_is_the_same_on_every_route(few: pl.DataFrame, tmp_path: Path) -> None:
    two = few.drop("note").filter(pl.col("label") != "c")
    assert_one_model(two, {"monotone": {"size": 1, "age": "auto"}}, STORED, tmp_path)


def test_so_do_60_000_rows(tmp_path: Path) -> None:
    assert_one_model(mixed(60_000), {}, ["parquet", "polars lazy"], tmp_path)


UNLABELLED = {
    "ignore": {"unlabelled": "ignore"},
    "em": {"unlabelled": "em"},
    "em settings": {"unlabelled": "em", "em": EM(weight=0.3, max_iter=20, tol=1e-4)},
    "em auto": {"unlabelled": "em", "em": EM(weight="auto", max_iter=10)},
}


def without_labels(frame: pl.DataFrame, missing: Any) -> Iterator[pl.DataFrame]:
    lost = np.arange(len(frame)) % 3 == 1
    yield frame.with_columns(label=pl.when(pl.Series(~lost)).then(pl.col("label")).otherwise(pl.lit(missing)))


@pytest.mark.parametrize("name", UNLABELLED)
@pytest.mark.parametrize("labels", ["text", "numbers"])
def test_rows_without_a_label_are_the_same_on_every_route(
    few: pl.DataFrame, name: str, labels: str, tmp_path: Path
) -> None:
    frame, missing = few.drop("note") if labels == "numbers" else few, None
    if labels == "numbers":
        frame, missing = frame.with_columns(pl.col("label").replace_strict({"a": 0, "b": 1, "c": 2})), -1
    for rows in without_labels(frame, missing):
        assert_one_model(rows, UNLABELLED[name], ROUTES, tmp_path)


def test_rows_without_a_label_are_an_error_on_every_route(few: pl.DataFrame, tmp_path: Path) -> None:
    for rows in without_labels(few, None):
        for route in ROUTES:
            with pytest.raises(ValueError, match="no label"):
                learned(routed(rows, route, tmp_path), {})


# ---------------------------------------------------------------------------------------------- labels and NaN by route


@pytest.mark.parametrize("form", ["dict", "pandas", "polars", "pyarrow", "parquet", "duckdb"])
def test_large_integer_labels_stay_apart_where_some_are_missing(form: str, tmp_path: Path) -> None:
    labels = [2**53, 2**53 + 1, None] * 20
    table = pa.table({"x": np.arange(60.0), "t": pa.array(labels)})
    pq.write_table(table, tmp_path / "t.parquet")
    data = {
        "dict": lambda: {"x": np.arange(60.0), "t": labels},
        "pandas": lambda: pd.DataFrame({"x": np.arange(60.0), "t": pd.array(labels, dtype="Int64")}),
        "polars": lambda: pl.from_arrow(table),
        "pyarrow": lambda: table,
        "parquet": lambda: tmp_path / "t.parquet",
        "duckdb": lambda: duckdb.read_parquet(str(tmp_path / "t.parquet")),
    }[form]()
    found = learn(data, "t", Options(unlabelled="ignore")).schema.classes
    assert found == (2**53, 2**53 + 1)
    assert {type(label) for label in found} == {int}


@pytest.mark.parametrize("classical", [False, True])
def test_nan_in_a_parquet_file_is_missing_to_a_relation_of_it(classical: bool, tmp_path: Path) -> None:
    """The statistics of the file know no NaN, and DuckDB may believe them."""
    x = np.random.default_rng(0).normal(size=150)
    x[::10] = np.nan
    pq.write_table(pa.table({"x": x, "t": ["a", "b"] * 75}), tmp_path / "n.parquet")
    options = Options(classical=classical)
    path, relation = (
        learn(data, "t", options) for data in (tmp_path / "n.parquet", duckdb.read_parquet(str(tmp_path / "n.parquet")))
    )
    for name, block in path.tally.blocks.items():
        theirs = relation.tally.blocks[name].summary
        np.testing.assert_allclose(theirs.column_weight, block.summary.column_weight)
    assert path.tally.class_weight.tolist() == [75, 75]


def test_labels_that_floats_would_merge_are_refused(tmp_path: Path) -> None:
    pd.DataFrame({"x": [1.0, 2.0] * 20, "t": [10**19 + 1, 10**19 + 2] * 20}).to_csv(tmp_path / "u.csv", index=False)
    with pytest.raises(DataError, match="cannot tell such numbers apart"):
        learn(tmp_path / "u.csv", "t")
