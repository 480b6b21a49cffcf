"""True and false are matched by their meaning, whatever a table writes; a column that is lost is warned of."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.cli import main
from tallybayes.data.truths import known_level, spelling
from tallybayes.errors import ColumnWarning
from tests.laws.compare import assert_same_tally

RNG = np.random.default_rng(0)
FLAG = RNG.integers(0, 2, 120).astype(bool)
LABELS = np.where(FLAG ^ (RNG.random(120) < 0.1), "p", "q")
SPELLED: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "true": lambda value: str(bool(value)).lower(),
    "True": lambda value: str(bool(value)),
    "TRUE": lambda value: str(bool(value)).upper(),
    "1": lambda value: str(int(value)),
}
FRAMES: dict[str, Callable[[Any], Any]] = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


def column(spelled: str) -> list[Any]:
    return [SPELLED[spelled](value) for value in FLAG]


def csv(path: Path, spelled: str, labels: bool = True) -> Path:
    rows = [f"{flag},{i % 7},{label}" for i, (flag, label) in enumerate(zip(column(spelled), LABELS, strict=True))]
    lines = ["flag,size,label", *rows] if labels else ["flag,size", *(row.rpartition(",")[0] for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def table(spelled: str) -> dict[str, Any]:
    return {"flag": column(spelled), "size": [i % 7 for i in range(120)]}


def right(found: Any) -> float:
    return float((np.asarray(found) == LABELS).mean())


@pytest.fixture(scope="module", params=["csv of true", "csv of True", "csv of 1", *(f"{f} of bool" for f in FRAMES)])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NaiveBayes:
    source, _, spelled = request.param.partition(" of ")
    options = NaiveBayes(classical=True, kind={"size": "numeric"})
    if source == "csv":
        return options.fit(csv(tmp_path_factory.mktemp("truths") / "rows.csv", spelled), target="label")
    return options.fit(FRAMES[source]({**table(spelled), "label": LABELS.tolist()}), target="label")


@pytest.mark.parametrize("spelled", SPELLED)
def test_frames(model: NaiveBayes, spelled: str) -> None:
    for make in FRAMES.values():
        assert right(model.predict(make(table(spelled)))) > 0.85
    assert model.predict([{"flag": SPELLED[spelled](True), "size": 3}]).tolist() == ["p"]


@pytest.mark.parametrize("spelled", ["true", "True", "TRUE", "1"])
def test_files(model: NaiveBayes, spelled: str, tmp_path: Path) -> None:
    given = csv(tmp_path / "rows.csv", spelled, labels=False)
    model.predict_file(given, tmp_path / "out.csv")
    out = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert right(out["prediction"]) > 0.85
    assert out["flag"].tolist() == pd.read_csv(given, dtype=str)["flag"].tolist()
    parquet = tmp_path / "rows.parquet"
    pl.DataFrame(table("bool" if spelled == "1" else spelled)).write_parquet(parquet)
    model.predict_file(parquet, tmp_path / "out.csv")
    assert right(pd.read_csv(tmp_path / "out.csv")["prediction"]) > 0.85


@pytest.mark.parametrize("spelled", SPELLED)
def test_learning_adds_no_level(model: NaiveBayes, spelled: str, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    before = model.schema_.columns[0].levels
    again = tallybayes.load(tmp_path / "m").partial_fit(table(spelled), LABELS)
    assert again.schema_.columns[0].levels == before
    if spelled != "float":
        assert main(["update", str(tmp_path / "m"), str(csv(tmp_path / "more.csv", spelled)), "-q"]) == 0
        updated = tallybayes.load(tmp_path / "m")
        assert updated.schema_.columns[0].levels == before
        assert_same_tally(updated.tally_, again.tally_)
        assert main(["unlearn", str(tmp_path / "m"), str(tmp_path / "more.csv"), "-q"]) == 0
        assert tallybayes.load(tmp_path / "m").class_count_.tolist() == model.class_count_.tolist()


def test_what_is_no_truth() -> None:
    assert spelling(("no", "yes")) == spelling(("True", "true")) == spelling(("a", "false")) == spelling(None) == {}
    assert spelling(("true",)) == {True: "true"}
    assert known_level("TRUE", ("false", "true")) == "true"
    assert known_level(True, ("no", "yes")) is True


def test_a_column_of_which_nothing_was_ever_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["yes" if flag else "no" for flag in FLAG]
    model = NaiveBayes(classical=True, kind={"size": "numeric"}).fit(
        {"flag": words, "size": table("bool")["size"]}, LABELS
    )
    message = (
        "no value of column 'flag' was seen in training, so it is no evidence: it holds .*, the model knows 'no', 'ye"
    )
    for make in FRAMES.values():
        with pytest.warns(ColumnWarning, match=message):
            model.predict(make(table("bool")))
        with pytest.warns(ColumnWarning, match=message):
            model.evaluate(make(table("bool")), LABELS, method="test")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict([{"flag": None, "size": 1}, {"flag": None, "size": 1}])  # missing values are no unseen ones
        model.predict([{"flag": "maybe", "size": 1}])  # a single row may have a new category
        model.predict([{"flag": "maybe", "size": 1}, {"flag": "yes", "size": 1}])
        model.predict({"flag": ["maybe"] * 5000 + ["yes"], "size": [1.0] * 5001})
    model.save(tmp_path / "m")
    rows = csv(tmp_path / "rows.csv", "true", labels=False)
    assert main(["predict", str(tmp_path / "m"), str(rows), "-o", str(tmp_path / "out.csv")]) == 0
    assert capsys.readouterr().err.count("no value of column 'flag' was seen in training") == 1


@pytest.mark.parametrize("learned", ["bool", "true", "TRUE"])
def test_a_third_value_of_a_flag_does_not_hide_true_and_false(learned: str, tmp_path: Path) -> None:
    """One typing error in an update must not make later rows unreadable, nor split true into two levels."""
    model = NaiveBayes(classical=True).fit({"label": LABELS, **table(learned)}, target="label")
    model.partial_fit({"label": ["p"], "flag": ["maybe"], "size": [1]})
    levels = model.model_.schema.columns[0].levels
    for spelled in SPELLED:
        model.partial_fit({"label": LABELS, **table(spelled)})
    model.save(tmp_path / "model.tally")
    assert main(["update", str(tmp_path / "model.tally"), str(csv(tmp_path / "rows.csv", "True"))]) == 0
    column = tallybayes.load(tmp_path / "model.tally").model_.schema.columns[0]
    assert column.levels == levels
    assert len(levels) == 3
    assert right(model.predict(table("int"))) > 0.85
