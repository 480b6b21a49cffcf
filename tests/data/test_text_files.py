"""Columns of text in files: the same model as from a frame, whatever the batches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import tallybayes
from tallybayes import NaiveBayes, Tokens, cli, load
from tallybayes.data.files import File
from tallybayes.data.tallies import tally_table as tally_file
from tallybayes.errors import DataError


def notes(n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    spam = np.arange(n) % 3 == 0
    words = {True: ["win", "cash", "prize", "Straße", "👍"], False: ["lunch", "noon", "team", "report", "see"]}
    text = [" ".join([*rng.choice(words[bool(s)], 6), f"n{i % 40}"]) for i, s in enumerate(spam)]
    text[4] = None
    label = pd.Series(np.where(spam, "spam", "ham"), dtype=object)
    label[7] = None
    keys = [f"k{i}" for i in range(n)]
    return pd.DataFrame({"size": rng.normal(size=n) + spam, "note": text, "id": keys, "y": label})


def written(table: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.to_json(path, orient="records", lines=True)
    return path


@pytest.fixture(params=["csv", "parquet", "jsonl"])
def path(request: Any, tmp_path: Path) -> Path:
    return written(notes(), tmp_path / f"notes.{request.param}")


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = File.tables

    def parts(file: Any, columns: Any = None, where: str = "") -> Iterator[Any]:
        for table in whole(file, columns, where):
            for first in range(0, table.n_rows, 20):
                yield table.take(np.arange(first, min(first + 20, table.n_rows)))

    monkeypatch.setattr(File, "tables", parts)
    monkeypatch.setattr("tallybayes.data.parquet.BATCH", 20)


SETTINGS: list[dict[str, Any]] = [
    {},
    {"classical": True},
    {"classical": True, "tokens": Tokens(min_count=5)},
    {"classical": True, "tokens": {"note": Tokens(hashed=6)}},
    {"classical": True, "kind": {"note": "text"}, "family": {"note": "bernoulli"}},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.usefixtures("small_batches")
def test_a_file_gives_the_model_of_the_frame(path: Path, settings: dict[str, Any]) -> None:
    table = notes().dropna(subset="y").reset_index(drop=True)
    labelled = written(table, path.with_stem("labelled"))
    model = NaiveBayes(**settings).fit(labelled, target="y")
    x = table.drop(columns="y")
    expected = NaiveBayes(**settings).fit(x, table["y"])
    note, other = (each.schema_.columns[1] for each in (model, expected))
    assert (note.kind, note.levels, note.tokens) == (other.kind, other.levels, other.tokens)
    assert note.reason.endswith(other.reason.split("; ")[-1].split(" of ")[0])
    assert_allclose(model.predict_log_proba(x), expected.predict_log_proba(x), rtol=1e-6, atol=1e-6)
    model.predict_file(labelled, out := path.with_name("out.csv"))
    assert (pd.read_csv(out)["prediction"] == model.predict(x)).all()


def test_unlabelled_rows_add_no_words(path: Path) -> None:
    table = notes().dropna(subset="y")
    assert len(tally_file(path, "y", unlabelled="ignore").schema.columns[1].levels) == len(
        NaiveBayes(classical=True).fit(table, target="y").schema_.columns[1].levels
    )


def test_numbers_are_no_text(path: Path) -> None:
    with pytest.raises(DataError, match="holds number, not text"):
        tallybayes.tally(path, "y", kind={"size": "text"}, unlabelled="ignore")


def test_the_commands(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["tallybayes", *map(str, arguments)])
        code = cli.main()
        assert not code
        return capsys.readouterr().out

    model, more = tmp_path / "notes.tally", tmp_path / "more.csv"
    shown = run("train", path, "--target", "y", "--unlabelled", "ignore", "-o", model, "--verbose")
    assert "text of about 7 words" in shown
    assert "note: " in shown.split("strongest evidence")[1]
    assert "tokens" in run("show", model)
    explained = run("explain", model, "note=win cash at noon")
    assert "known tokens of" in explained
    assert "cash" in explained
    assert "e^" in run("explain", model, "note=win cash at noon", "--work")
    before = load(model).tally_
    notes(20).dropna(subset="y").assign(note="wholly new words").to_csv(more, index=False)
    run("update", model, more)
    assert "wholly" in load(model).schema_.columns[1].levels
    run("unlearn", model, more)
    assert load(model).schema_.columns[1].levels == before.schema.columns[1].levels
