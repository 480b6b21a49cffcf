"""The commands that work on files, as a user runs them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import tallybayes
from tallybayes import NaiveBayes, storage
from tallybayes.cli import refuse_overwriting
from tallybayes.cli.costs import costs_of
from tallybayes.data.datasets import penguins
from tallybayes.errors import SettingError, TallybayesError
from tests.end_to_end.test_demo import COMMAND, process, run, terminal


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the penguins in two formats and a model of them."""
    directory = tmp_path_factory.mktemp("birds")
    frame = pl.DataFrame(penguins())
    frame.write_csv(directory / "birds.csv")
    frame.write_parquet(directory / "birds.parquet")
    found = run(
        "train",
        str(directory / "birds.csv"),
        "--target",
        "species",
        "--classical",
        "-o",
        str(directory / "birds.tally"),
    )
    assert found.returncode == 0, found.stderr
    return directory


def at(home: Path, *names: str) -> list[str]:
    return [str(home / name) for name in names]


def failed(*arguments: str, message: str, **changes: str) -> None:
    """The command fails with exit code 1 and one clear paragraph, and prints no result."""
    found = run(*arguments, **changes)
    assert found.returncode == 1, found.stderr
    assert found.stdout == ""
    assert "Traceback" not in found.stderr
    *before, last = found.stderr.splitlines()
    assert all(line.startswith("note: ") for line in before)
    assert last.startswith("tallybayes: ")
    assert message in last


# ------------------------------------------------------------------------------------------------ train


def test_train_prints_what_matters_on_one_screen(home: Path, tmp_path: Path) -> None:
    data, out = str(home / "birds.csv"), str(tmp_path / "model.tally")
    for width in (60, 80, 140):
        found = run("train", data, "--target", "species", "-o", out, COLUMNS=str(width))
        lines = found.stdout.splitlines()
        assert (found.returncode, found.stderr) == (0, "")
        assert " ".join(lines[:2]).strip().startswith("Right for 99 of 100 rows it has not seen; always guessing")
        assert len(lines) <= 24
        parts = [next(i for i, line in enumerate(lines) if line.startswith(head)) for head in HEADS]
        assert parts == sorted(parts)
        assert all(len(line) <= width for line in lines[: parts[-2]])
    assert lines[parts[2]] == f"written to {out}"
    assert lines[-2:] == [
        f"next: tallybayes explain {out} {data} --row 1",
        f"      tallybayes predict {out} NEW.csv -o predictions.csv",
    ]
    assert run("explain", out, data, "--row", "1").returncode == 0


HEADS = ("warning: ", "column", "written to", "next: ")


def test_train_without_an_output_tells_how_to_keep_the_model(home: Path) -> None:
    found = run("train", *at(home, "birds.csv"), "--target", "species", "--classical")
    assert "not written: add -o birds.tally to keep the model" in found.stdout
    quiet = run("train", *at(home, "birds.csv"), "--target", "species", "--classical", "-q")
    assert "next:" not in quiet.stdout


def test_train_warns_of_what_is_wrong(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrival = rng.normal(10, 30, 600).round()
    late = np.where(arrival > 15, "yes", "no").astype(object)
    ticket = [f"t{i // 2}" if i < 300 else f"t{i}" for i in rng.permutation(600)]
    frame = pl.DataFrame({"arr_delay": arrival, "ticket": ticket, "late": late})
    frame.write_csv(tmp_path / "flights.csv")
    found = run("train", str(tmp_path / "flights.csv"), "--target", "late", COLUMNS="140").stdout
    assert "arr_delay alone decides the class: is it known before the class?" in found
    assert "ticket has 450 different values in 600 rows: will new rows have the same ones?" in found
    late[:30], late[30:33] = "Yes", "cancelled"
    frame.with_columns(late=pl.Series(late.tolist())).write_csv(tmp_path / "flights.csv")
    found = run("train", str(tmp_path / "flights.csv"), "--target", "late", COLUMNS="140").stdout
    assert "the classes 'Yes' and 'yes' are written almost alike: are they one class?" in found
    assert "the class cancelled (3 rows) has too few rows to learn from" in found
    frame.with_columns(late=pl.lit("no")).write_csv(tmp_path / "flights.csv")
    found = run("train", str(tmp_path / "flights.csv"), "--target", "late", COLUMNS="140").stdout
    assert found.startswith("Every row has the class 'no', so every prediction will be that.")
    assert "is 'late' the right target?" in found


def test_train_shows_the_schema_the_evaluation_and_the_evidence(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.tally"
    found = run(
        "train", *at(home, "birds.csv"), "--target", "species", "--kind", "year=category", "--classical", "--verbose",
        "-o", str(out),
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, "")
    assert "flipper_length_mm  numeric   whole numbers from 172 to 231, 2 missing" in found.stdout
    assert "accuracy                 0.9797  0.9586 – 0.9901    0.4419" in found.stdout
    assert "    island = Torgersen (34%, others 0%)" in found.stdout
    expected = NaiveBayes(classical=True, kind={"year": "category"}).fit(pl.DataFrame(penguins()), "species")
    np.testing.assert_allclose(
        tallybayes.load(out).predict_proba(pl.DataFrame(penguins()).drop("species")),
        expected.predict_proba(pl.DataFrame(penguins()).drop("species")),
        rtol=1e-9,
    )


def test_train_prints_its_record_as_json(home: Path) -> None:
    found = run("train", *at(home, "birds.parquet"), "--target", "species", "--json", "--quiet")
    record = json.loads(found.stdout)
    assert record["classes"] == {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}
    assert record["evaluation"]["method"] == "5 folds, each learned anew without its rows"
    assert record["evaluation"]["source"] == "birds.parquet"
    assert found.stderr == ""


def test_train_takes_every_option(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.tally"
    found = run(
        "train", *at(home, "birds.csv"), "--target", "species", "--drop", "island", "--drop", "year", "--kind",
        "body_mass_g=count", "--family", "flipper_length_mm=gaussian", "--missing", "level", "--alpha", "auto",
        "--prior", "Adelie=0.5,Chinstrap=0.25,Gentoo=0.25", "--calibration", "temperature", "--no-evaluation", "-q",
        "--classical", "-o", str(out), "--verbose",
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, "")
    assert "alpha chosen by leave-one-out" in found.stdout
    assert "accuracy" not in found.stdout
    model = tallybayes.load(out)
    assert model.schema_.columns[0].reason == "dropped, as given"
    assert model.prior == {"Adelie": 0.5, "Chinstrap": 0.25, "Gentoo": 0.25}
    assert sorted(model.tally_.blocks) == ["categorical", "gaussian", "poisson"]


def test_train_with_weights_and_rows_without_labels(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("x,w,y\n1,2,a\n2,1,b\n3,3,\n4,1,b\n5,1,a\n")
    failed("train", str(path), "--target", "y", message="1 row of")
    found = run("train", str(path), "--target", "y", "--weight", "w", "--unlabelled", "ignore", "--json", "-q")
    assert json.loads(found.stdout)["unlabelled"] == 1
    assert json.loads(found.stdout)["evaluation"]["weight"] == 5.0


def test_the_figures_of_training_are_shown_without_the_rows(home: Path, tmp_path: Path) -> None:
    out, data = str(tmp_path / "model.tally"), str(home / "birds.csv")
    trained = json.loads(run("train", data, "--target", "species", "--drop", "year", "-o", out, "--json", "-q").stdout)
    shown = run("show", out).stdout
    accuracy, loss = (trained["evaluation"][name] for name in ("accuracy", "log_loss"))
    for name, found in (("accuracy", accuracy), ("log loss", loss)):
        assert f"{name} {found['value']:.4f} ({found['low']:.4f} – {found['high']:.4f}), baseline (" in shown
    assert "5 folds, each learned anew without its rows; 344 rows; birds.csv; 20" in shown
    assert "drop                 year" in run("show", out, "--verbose").stdout
    record = json.loads(run("show", out, "--json").stdout)
    assert record["evaluation"] == trained["evaluation"]
    assert (record["rows"], record["options"]) == (344, {"drop": ["year"]})
    page = json.loads(run("report", out, "-o", str(tmp_path / "page.html"), "--json", "-q").stdout)
    assert page["evaluation"] == trained["evaluation"]
    (tmp_path / "more.csv").write_text("".join((home / "birds.csv").read_text().splitlines(keepends=True)[:11]))
    run("update", out, str(tmp_path / "more.csv"), "-q")
    assert "measured when 344 of the 354 rows were learned" in run("show", out).stdout


# ------------------------------------------------------------------------------------------------ predict


@pytest.mark.parametrize("out", ["o.csv", "o.parquet", "o.jsonl"])
def test_predict_writes_beside_the_rows(home: Path, tmp_path: Path, out: str) -> None:
    found = run("predict", *at(home, "birds.tally", "birds.parquet"), "-o", str(tmp_path / out))
    assert (found.returncode, found.stdout) == (0, "")
    assert found.stderr == f"344 predictions written to {tmp_path / out}\n"
    read = {"o.csv": pl.read_csv, "o.parquet": pl.read_parquet, "o.jsonl": pl.read_ndjson}[out]
    made = read(tmp_path / out)
    model, rows = tallybayes.load(home / "birds.tally"), pl.DataFrame(penguins()).drop("species")
    assert made["prediction"].to_list() == model.predict(rows).tolist()
    np.testing.assert_allclose(made["p_Gentoo"].to_numpy(), model.predict_proba(rows)[:, 2], rtol=1e-9)


def test_predict_reads_the_input_and_writes_the_output(home: Path) -> None:
    with open(home / "birds.csv", "rb") as rows:
        found = subprocess.run(
            [*COMMAND, "predict", str(home / "birds.tally"), "-", "--only", "--top", "1", "--explain", "1"],
            stdin=rows,
            capture_output=True,
            encoding="utf-8",
            env=terminal(),
            check=False,
        )
    lines = list(csv.reader(io.StringIO(found.stdout)))
    assert (found.returncode, len(lines), lines[0]) == (0, 345, ["prediction", "p", "reasons"])
    assert lines[1][2].startswith("bill_length_mm = 39.1 +")


def test_predict_does_not_begin_the_output_anew(home: Path, tmp_path: Path) -> None:
    with open(tmp_path / "all.txt", "w+") as out:
        out.write("before\n")
        out.flush()
        arguments = ["predict", str(home / "birds.tally"), str(home / "birds.csv"), "--only", "-q"]
        subprocess.run([*COMMAND, *arguments], stdout=out, env=terminal(), check=True)
        out.seek(0)
        assert out.read().startswith("before\nprediction,p_Adelie")


def test_predict_leaves_out_what_is_not_sure(home: Path) -> None:
    found = run("predict", *at(home, "birds.tally", "birds.csv"), "--only", "--threshold", "0.99", "--format", "json")
    records = [json.loads(line) for line in found.stdout.splitlines()]
    empty = [record["prediction"] is None for record in records]
    assert empty == [max(record[f"p_{k}"] for k in ("Adelie", "Chinstrap", "Gentoo")) < 0.99 for record in records]
    assert any(empty)
    found = run("predict", *at(home, "birds.tally", "birds.csv"), "--only", "--threshold", "Gentoo=1.1")
    assert (found.returncode, found.stdout) == (1, "")


def test_a_reader_that_has_seen_enough_is_no_error(home: Path, tmp_path: Path) -> None:
    frame = pl.concat([pl.DataFrame(penguins())] * 500)
    frame.write_csv(tmp_path / "many.csv")
    command = " ".join([*COMMAND, "predict", str(home / "birds.tally"), str(tmp_path / "many.csv"), "-q"])
    found = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} | head -2"],
        capture_output=True,
        text=True,
        env=terminal(),
        check=False,
    )
    assert found.stderr == ""
    assert found.stdout.count("\n") == 2


# ------------------------------------------------------------------------------------------------ evaluate, explain


def test_evaluate_remembers_the_target(home: Path) -> None:
    found = run("evaluate", *at(home, "birds.tally", "birds.csv"))
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("leave-one-out: 344 rows, 3 classes")  # it notices rows that were learned
    record = json.loads(run("evaluate", *at(home, "birds.tally", "birds.parquet"), "--json").stdout)
    frame = pl.DataFrame(penguins())
    expected = tallybayes.load(home / "birds.tally").evaluate(frame, "species")
    assert record["accuracy"]["value"] == expected.accuracy.value
    frame[:200].write_csv(home / "some.csv")
    assert run("evaluate", *at(home, "birds.tally", "some.csv")).stdout.startswith("test: 200 rows")


def test_evaluate_learns_folds_anew_from_a_file(home: Path, tmp_path: Path) -> None:
    out, data = str(tmp_path / "model.tally"), str(home / "birds.csv")
    run("train", data, "--target", "species", "-o", out, "-q")
    stored = json.loads(run("evaluate", out, data, "--json").stdout)
    assert stored["method"] == "5 folds, each learned anew without its rows"
    ten = run("evaluate", out, data, "--folds", "10")
    assert ten.stdout.startswith("10 folds, all learning repeated without each: 344 rows, 3 classes")
    assert run("evaluate", out, data, "--method", "test").stdout.startswith("test: 344 rows")
    kept = run("evaluate", out, data, "--method", "leave-one-out")
    assert kept.stdout.startswith("leave-one-out of the counts, choices kept: 344 rows")
    assert "the figures flatter" in kept.stderr
    assert run("evaluate", *at(home, "birds.tally"), data, "--folds", "10").stdout.startswith("10-fold: 344 rows")


COSTS = {("Adelie", "Gentoo"): 5, ("Gentoo", "Adelie"): 1.5}
TYPED = "Adelie:Gentoo=5, Gentoo:Adelie=1.5"


@pytest.fixture(params=["typed", "file"])
def costs(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Costs as the command line takes them."""
    if request.param == "typed":
        return TYPED
    (tmp_path / "costs.json").write_text('{"Adelie": {"Gentoo": 5}, "Gentoo": {"Adelie": 1.5}}')
    return str(tmp_path / "costs.json")


def test_evaluate_and_predict_know_what_mistakes_cost(home: Path, costs: str) -> None:
    """Issue 20: costs at the command line."""
    found = run("evaluate", *at(home, "birds.tally", "birds.csv"), "--costs", costs, "--json")
    frame, model = pl.DataFrame(penguins()), tallybayes.load(home / "birds.tally")
    assert json.loads(found.stdout)["cost"]["value"] == float(model.evaluate(frame, "species", costs=COSTS).cost)
    found = run("predict", *at(home, "birds.tally", "birds.csv"), "--only", "--costs", costs, "-o", "-")
    predicted = [row["prediction"] for row in csv.DictReader(io.StringIO(found.stdout))]
    assert predicted == model.predict(frame, costs=COSTS).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Adelie:Gentoo", "--costs must be TRUE:PREDICTED=COST,… such as no:yes=5"),
        ("Adelie=5", "--costs must be TRUE:PREDICTED=COST"),
        ("Adelie:Gento=5", "did you mean 'Gentoo'?"),
        ("Adelie:Gentoo=much", "a cost must be a number, not 'much'"),
        ("Adelie:Gentoo=1,Adelie:Gentoo=2", "--costs has Adelie:Gentoo twice"),
        ("Adelie:Adelie=1", "some wrong prediction more costly"),
        ("no-such-file.json", "cannot read no-such-file.json"),
    ],
)
def test_costs_that_cannot_be_read(home: Path, text: str, message: str) -> None:
    failed("predict", *at(home, "birds.tally", "birds.csv"), "-o", "-", "--costs", text, message=message)


def test_costs_go_with_no_threshold_of_a_class_and_no_subgroups(home: Path) -> None:
    given = at(home, "birds.tally", "birds.csv")
    failed("predict", *given, "-o", "-", "--costs", TYPED, "--threshold", "Adelie=0.2", message="not by both")
    failed("evaluate", *given, "--costs", TYPED, "--by", "sex", message="leave out --by")


def test_labels_in_costs_may_hold_signs() -> None:
    found = costs_of("<=50K:>50K=5,a:b:<=50K=2", ("<=50K", ">50K", "a:b"))
    assert found.tolist() == [[0, 5, 0], [0, 0, 0], [2, 0, 0]]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": {"b": 1' + "0" * 400 + "}}", '{"a": {"b": "x"}}'])
def test_files_of_costs_that_are_none_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_text(text)
    with pytest.raises(TallybayesError, match=r"no JSON|must be a number"):
        costs_of(str(path), ("a", "b"))
    path.write_bytes(b'\xef\xbb\xbf{"a": {"b": 2}}')  # as some editors write it
    assert costs_of(str(path), ("a", "b")).tolist() == [[0, 2], [0, 0]]


def test_two_costs_of_one_decision_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_text('{"a": {"b": 2, "b": 3}}')  # of which JSON takes the last
    with pytest.raises(TallybayesError, match="name 'b' twice"):
        costs_of(str(path), ("a", "b"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "a.csv", "--taget", "y"],
        ["train", "a.csv", "--target", "y", "--quite"],
        ["mail", "train", "--hamm", "x"],
    ],
)
def test_a_misspelt_option_is_answered_with_the_one_that_was_meant(arguments: list[str]) -> None:
    meant = {"--taget": "--target", "--quite": "--quiet", "--hamm": "--ham"}
    asked = next(meant[word] for word in arguments if word in meant)
    found = run(*arguments)
    assert found.returncode in (2, 3)
    assert f"did you mean {asked}?" in found.stderr


def test_show_fits_a_narrow_terminal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallybayes.cli.screen.Screen.is_terminal", True)
    found = run("show", str(home / "birds.tally"), COLUMNS="60", NO_COLOR="1")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", found.stdout).splitlines()
    schema = lines[lines.index(next(line for line in lines if line.startswith("column") and "why" in line)) :]
    assert max(map(len, schema[: schema.index("")])) <= 60
    assert any(line.startswith("    numbers from") for line in schema)


def test_no_folds_are_refused(home: Path) -> None:
    failed("evaluate", *at(home, "birds.tally", "birds.csv"), "--folds", "0", message="between 2 and")


def test_evaluate_names_labels_that_were_never_learned(home: Path, tmp_path: Path) -> None:
    """Pitfall 38."""
    text = (home / "birds.csv").read_text().replace("Gentoo", "Gentoo.")
    (tmp_path / "dots.csv").write_text(text)
    failed("evaluate", *at(home, "birds.tally"), str(tmp_path / "dots.csv"), message="did you mean 'Gentoo'?")


def test_explain_shows_the_evidence_as_bars(home: Path) -> None:
    found = run("explain", *at(home, "birds.tally", "birds.csv"), "--row", "1")
    assert found.returncode == 0
    assert found.stdout.splitlines()[0] == "Adelie: > 99.9 % (next: Chinstrap)"
    assert "island = Torgersen" in found.stdout
    assert "████████" in found.stdout
    typed = run("explain", *at(home, "birds.tally"), "island=torgersen", "bill_length_mm=39.1", "--against", "Gentoo")
    assert typed.stdout.startswith("Adelie: ")
    assert "missing: bill_depth_mm" in typed.stdout


def test_explain_works_it_out_by_hand(home: Path) -> None:
    found = run("explain", *at(home, "birds.tally"), "island=Dream", "bill_length_mm=43.2", "--work", COLUMNS="120")
    lines = [line.split() for line in found.stdout.splitlines()]
    assert ["P(class)", "152/344", "68/344", "124/344"] in lines
    assert ["×", "P(island", "=", "Dream)", "57/155", "69/71", "1/127"] in lines
    assert "N(43.2; 38.79, 2.65)" in found.stdout
    narrow = run("explain", *at(home, "birds.tally"), "island=Dream", "bill_length_mm=43.2", "--work", COLUMNS="40")
    figures = {word for line in lines for word in line if any(c.isdigit() for c in word)}
    assert figures <= set(narrow.stdout.split())  # names are folded, but no figure is cut short
    record = json.loads(run("explain", *at(home, "birds.tally"), "island=Dream", "--work", "--json").stdout)
    joint = np.sum([step["logs"] for step in record["work"]], axis=0)
    shares = np.exp(joint - joint.max())
    np.testing.assert_allclose(shares / shares.sum(), list(record["posterior"].values()), rtol=1e-9)


# ------------------------------------------------------------------------------------------------ change


def test_unlearning_and_learning_again_is_where_it_began(home: Path, tmp_path: Path) -> None:
    lines = (home / "birds.csv").read_text().splitlines(keepends=True)
    (tmp_path / "some.csv").write_text("".join(lines[:1] + lines[100:160]))
    model = tmp_path / "model.tally"
    shutil.copy(home / "birds.tally", model)
    found = run("unlearn", str(model), str(tmp_path / "some.csv"))
    assert found.returncode == 0
    assert found.stdout.splitlines()[-1].split() == ["all", "60", "60", "344", "284"]
    rest = tmp_path / "rest.csv"
    rest.write_text("".join(lines[:100] + lines[160:]))
    without = NaiveBayes(classical=True).fit(rest, "species")
    rows = pl.DataFrame(penguins()).drop("species")
    np.testing.assert_allclose(
        tallybayes.load(model).predict_proba(rows), without.predict_proba(rows), rtol=1e-6, atol=1e-12
    )
    assert run("update", str(model), str(tmp_path / "some.csv"), "--json").returncode == 0
    original = tallybayes.load(home / "birds.tally")
    np.testing.assert_allclose(
        tallybayes.load(model).predict_proba(rows), original.predict_proba(rows), rtol=1e-6, atol=1e-12
    )
    failed("unlearn", str(model), str(stranger(tmp_path)), message="they cannot be taken back")


def stranger(directory: Path) -> Path:
    path = directory / "stranger.csv"
    path.write_text("island,species\nAtlantis,Adelie\n")
    return path


@pytest.mark.filterwarnings("ignore")
def test_update_learns_new_levels_and_classes(home: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("island,species\nAtlantis,Emperor\nAtlantis,Emperor\n")
    out = tmp_path / "out.tally"
    found = run("update", *at(home, "birds.tally"), str(tmp_path / "new.csv"), "-o", str(out))
    assert found.returncode == 0, found.stderr
    assert "note: the table lacks columns 'bill_length_mm'" in found.stderr
    assert "Emperor: 2" in found.stdout
    assert tallybayes.load(out).classes_.tolist() == ["Adelie", "Chinstrap", "Emperor", "Gentoo"]
    assert tallybayes.load(home / "birds.tally").classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"]


def test_merged_models_are_the_model_of_all_rows(home: Path, tmp_path: Path) -> None:
    lines = (home / "birds.csv").read_text().splitlines(keepends=True)
    for name, part in (("a", lines[1::2]), ("b", lines[2::2])):
        (tmp_path / f"{name}.csv").write_text("".join(lines[:1] + part))
        run(
            "train",
            str(tmp_path / f"{name}.csv"),
            "--target",
            "species",
            "-o",
            str(tmp_path / name),
            "--no-evaluation",
            "--classical",
        )
    found = run("merge", *at(tmp_path, "a", "b"), "-o", str(tmp_path / "both"))
    assert found.stdout == "Tally(344 rows; Adelie: 152, Chinstrap: 68, Gentoo: 124; 7 columns)\n"
    rows = pl.DataFrame(penguins()).drop("species")
    both, whole = tallybayes.load(tmp_path / "both"), tallybayes.load(home / "birds.tally")
    np.testing.assert_allclose(both.predict_proba(rows), whole.predict_proba(rows), rtol=1e-9)
    again = run("merge", *at(tmp_path, "a", "a"), "-o", str(tmp_path / "twice"))
    assert "is named 2 times, and its rows count as often" in again.stderr
    (tmp_path / "c.csv").write_text("x,species\n1,a\n2,b\n")
    run("train", str(tmp_path / "c.csv"), "--target", "species", "--classical", "-o", str(tmp_path / "c"))
    failed("merge", *at(tmp_path, "a", "c"), "-o", str(tmp_path / "none"), message="7 columns meet 1 column")
    assert not (tmp_path / "none").exists()


def test_copies_of_one_base_are_merged_with_it_or_not_at_all(home: Path, tmp_path: Path) -> None:
    frame = pl.DataFrame(penguins())
    base, north, south, both = at(tmp_path, "base", "north", "south", "both")
    for name, first, last in (("base", 0, 200), ("north", 200, 300), ("south", 300, 344)):
        frame[first:last].write_csv(tmp_path / f"{name}.csv")
    run("train", f"{base}.csv", "--target", "species", "--classical", "--no-evaluation", "-o", base)
    shutil.copy(base, north)
    run("update", base, f"{south}.csv", "-o", south)
    run("update", north, f"{north}.csv")
    failed("merge", north, south, "-o", both, message="merge them with that base (merge --base BASE; in Python")
    failed("merge", base, south, "-o", both, message="its rows would count twice")
    found = run("merge", north, south, "--base", base, "-o", north)  # onto an input
    assert found.stdout == "Tally(344 rows; Adelie: 152, Chinstrap: 68, Gentoo: 124; 7 columns)\n"
    rows = frame.drop("species")
    want = tallybayes.load(home / "birds.tally").predict_proba(rows)
    np.testing.assert_allclose(tallybayes.load(north).predict_proba(rows), want, rtol=1e-9)
    failed("merge", both, south, "--base", f"{base}.csv", "-o", both, message="No such file")
    found = run("blank", base, "-o", north)
    assert found.stderr == f"written to {north}\n"
    run("update", north, f"{north}.csv")
    assert run("merge", north, south, "-o", both).stdout.startswith("Tally(344 rows;")


# ------------------------------------------------------------------------------------------------ show and sample


def test_show_prints_what_is_in_the_file(home: Path) -> None:
    found = run("show", *at(home, "birds.tally"))
    assert found.returncode == 0
    assert "Gentoo                          124   0.3605" in found.stdout
    assert "categorical (2 columns, pseudocount 1)" in found.stdout
    assert not re.search(r"\w\(\w+=|np\.|<class|None", found.stdout)  # no Python
    record = json.loads(run("show", *at(home, "birds.tally"), "--json").stdout)
    assert (record["target"], record["estimator"]) == ("species", "NaiveBayes")
    assert [c["rows"] for c in record["classes"]] == [152, 68, 124]


def test_sample_draws_the_same_rows_from_the_same_seed(home: Path, tmp_path: Path) -> None:
    found = run("sample", *at(home, "birds.tally"), "-n", "5", "--seed", "7")
    assert found.stdout == run("sample", *at(home, "birds.tally"), "-n", "5", "--seed", "7").stdout
    assert len(found.stdout.splitlines()) == 6
    run("sample", *at(home, "birds.tally"), "-n", "400", "--missing", "-o", str(tmp_path / "s.parquet"))
    assert pl.read_parquet(tmp_path / "s.parquet").columns == [*list(penguins())[1:], "species"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_shell_completes_commands_and_options() -> None:
    script = run("completion", "bash").stdout

    def completed(*words: str) -> list[str]:
        typed = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
        line = f"{script}\n{typed}; _tallybayes; echo ${{COMPREPLY[@]}}"
        return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout.split()

    assert completed("tallybayes", "tr") == ["train"]
    assert completed("tallybayes", "predict", "--th") == ["--threshold"]
    assert "bashcompinit" in run("completion", "zsh").stdout
    assert "complete -c tallybayes" in run("completion", "fish").stdout


# ------------------------------------------------------------------------------------------------ in other languages


def test_a_model_is_printed_as_a_query_that_scores_the_file(home: Path) -> None:
    model, rows = at(home, "birds.tally", "birds.csv")
    sql = run("sql", model, "--table", rows, "--keep", "island", "--dialect", "duckdb")
    assert sql.returncode == 0, sql.stderr
    found = duckdb.sql(sql.stdout).fetchnumpy()
    assert list(found) == ["island", "prediction", "p_Adelie", "p_Chinstrap", "p_Gentoo"]
    expected = tallybayes.load(model).predict_proba(pl.read_csv(rows).drop("species"))
    np.testing.assert_allclose(found["p_Gentoo"], expected[:, 2], atol=1e-9)
    assert list(duckdb.sql(run("sql", model, "--table", rows, "--no-proba").stdout).fetchnumpy())[-1] == "prediction"


def test_a_model_is_written_as_onnx_to_a_file_only(home: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = str(home / "birds.tally")
    failed("export", model, "--to", "onnx", message="give a file with -o")
    assert run("export", model, "--to", "onnx", "-o", str(tmp_path / "birds.onnx")).returncode == 0
    assert [output.name for output in onnx.load(tmp_path / "birds.onnx").graph.output] == ["label", "probabilities"]


def test_a_model_is_written_as_json_and_as_python(home: Path, tmp_path: Path) -> None:
    model = str(home / "birds.tally")
    assert json.loads(run("export", model).stdout)["classes"] == ["Adelie", "Chinstrap", "Gentoo"]
    written = run("export", model, "--to", "python", "-o", str(tmp_path / "birds.py"))
    assert "bytes written to" in written.stderr
    space: dict[str, Any] = {}
    exec((tmp_path / "birds.py").read_text(), space)
    assert (
        max(space["predict_proba"]({"island": "Biscoe", "bill_depth_mm": 14.0}).items(), key=lambda p: p[1])[0]
        == "Gentoo"
    )


# ------------------------------------------------------------------------------------------------ how it behaves

COMMANDS = [
    "train",
    "predict",
    "evaluate",
    "explain",
    "update",
    "unlearn",
    "merge",
    "blank",
    "show",
    "sample",
    "sql",
    "export",
    "demo",
    "completion",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example(command: str) -> None:
    found = run(command, "--help")
    assert found.returncode == 0
    assert "example: " in found.stdout
    assert f"tallybayes {command}" in found.stdout


LIGHT = {
    "help": ["--help"],
    "show": ["show", "birds.tally"],
    "predict": ["predict", "birds.tally", "birds.csv"],
    "explain": ["explain", "birds.tally", "island=Dream"],
    "sql": ["sql", "birds.tally"],
    "export": ["export", "birds.tally", "--to", "python"],
}


@pytest.mark.parametrize("name", LIGHT)
def test_what_a_command_loads(home: Path, name: str) -> None:
    code = (
        "import sys; from tallybayes.cli import main\n"
        f"try: main({LIGHT[name]!r})\nexcept SystemExit: pass\n"
        "loaded = [m for m in ('sklearn', 'pandas', 'polars', 'scipy.sparse', 'scipy.optimize') if m in sys.modules]\n"
        "light = [] if 'help' not in sys.argv[1] else [m for m in ('numpy', 'duckdb', 'rich') if m in sys.modules]\n"
        "print('LOADED', *loaded, *light)"
    )
    plain = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    found = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, cwd=home, check=True)
    loaded = found.stdout.splitlines()[-1].split()[1:]
    assert set(loaded) <= set(plain.stdout.split())  # an editable installation may load some by itself


def test_colours_only_for_a_terminal_that_wants_them(home: Path) -> None:
    arguments = ["explain", *at(home, "birds.tally", "birds.csv"), "--row", "1"]
    assert "\x1b" not in run(*arguments).stdout
    assert "\x1b" in run(*arguments, FORCE_COLOR="1").stdout
    assert "\x1b[3" not in run(*arguments, FORCE_COLOR="1", NO_COLOR="1").stdout


@pytest.mark.skipif(os.name == "nt", reason="there is no pseudo-terminal on Windows")
def test_a_terminal_sees_a_progress_bar_unless_it_is_given_to_be_quiet(home: Path, tmp_path: Path) -> None:
    import pty

    def given(*more: str) -> str:
        mine, theirs = pty.openpty()
        arguments = ["predict", *at(home, "birds.tally", "birds.parquet"), "-o", str(tmp_path / "o.csv"), *more]
        process = subprocess.Popen([*COMMAND, *arguments], stderr=theirs, stdout=subprocess.DEVNULL, env=terminal())
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(mine, 4096):
                seen += part
        except OSError:  # the other side has closed it
            pass
        os.close(mine)
        assert process.wait() == 0
        return seen.decode()

    assert "predicting" in given()
    assert given("--quiet") == ""


BAD: dict[str, tuple[list[str], str]] = {
    "no file": (["train", "nix.csv", "--target", "y"], "there is no file nix.csv"),
    "a directory": (["train", ".", "--target", "y"], "is a directory"),
    "no such target": (["train", "birds.csv", "--target", "specie"], "did you mean 'species'?"),
    "a numeric target": (["train", "birds.csv", "--target", "bill_length_mm", "--unlabelled", "ignore"], "regress on"),
    "no such column": (["train", "birds.csv", "--target", "species", "--drop", "beak"], "drop names the column 'beak'"),
    "no such kind": (["train", "birds.csv", "--target", "species", "--kind", "sex=word"], "must be one of"),
    "a bad prior": (["train", "birds.csv", "--target", "species", "--prior", "a=b"], "--prior must be"),
    "a bad alpha": (["train", "birds.csv", "--target", "species", "--alpha=-1"], "alpha"),
    "weights of text": (["train", "birds.csv", "--target", "species", "--weight", "island"], "got a column of text"),
    "no model": (["show", "birds.csv"], "cannot be read as a model"),
    "no model file": (["show", "nix.tally"], "nix.tally: No such file"),
    "a model that is a directory": (["show", "."], "directory"),
    "an output directory": (
        ["train", "birds.csv", "--target", "species", "-o", ".", "--no-evaluation"],
        "is a directory",
    ),
    "an output nowhere": (["predict", "birds.tally", "birds.csv", "-o", "nowhere/o.csv"], "there is no directory"),
    "an output that is read": (
        ["train", "birds.csv", "--target", "species", "-o", "birds.csv"],
        "would be overwritten",
    ),
    "a page over the model": (["report", "birds.tally", "-o", "birds.tally"], "would be overwritten"),
    "predictions over the rows": (
        ["predict", "birds.tally", "birds.csv", "-o", "./birds.csv"],
        "would be overwritten",
    ),
    "an output of no kind": (["predict", "birds.tally", "birds.csv", "-o", "o.xlsx"], "are written as .csv"),
    "no row": (["explain", "birds.tally", "birds.csv"], "--row N"),
    "a row too far": (["explain", "birds.tally", "birds.csv", "--row", "999"], "has 344 rows"),
    "no such column to explain": (["explain", "birds.tally", "beak=1"], "there is no column 'beak'"),
    "no such class": (["explain", "birds.tally", "sex=male", "--against", "Emperor"], "there is no class 'Emperor'"),
    "no number": (["explain", "birds.tally", "body_mass_g=heavy"], "is numeric, so it cannot be 'heavy'"),
    "nothing to draw": (["sample", "birds.tally", "-n", "0"], "-n must be at least 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_one_paragraph(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, message = BAD[name]
    before = sorted(os.listdir(home))
    monkeypatch.chdir(home)
    found = run(*arguments)
    assert (found.returncode, found.stdout) == (1, ""), found.stderr
    assert found.stderr.startswith("tallybayes: ")
    assert found.stderr.count("\n") == 1
    assert message in found.stderr
    assert sorted(os.listdir(home)) == before


def test_debug_shows_where_it_went_wrong(home: Path) -> None:
    for arguments in (["show", str(home / "birds.csv"), "--debug"], ["--debug", "show", str(home / "birds.csv")]):
        assert "Traceback" in process(*arguments).stderr


@pytest.mark.parametrize(
    "arguments",
    [["train"], ["train", "a.csv"], ["predict", "m"], ["merge", "a"], ["show"], ["serve", "m", "--port", "99999"]],
    ids=str,
)
def test_what_is_typed_wrong_is_exit_2(arguments: list[str]) -> None:
    found = run(*arguments)
    assert (found.returncode, found.stdout) == (2, "")
    assert "usage: tallybayes" in found.stderr


def test_a_model_of_another_schema(home: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("q,r\n1,2\n")
    failed("predict", *at(home, "birds.tally"), str(tmp_path / "other.csv"), message="has none of the columns")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a,y\n1,b\n")
    (tmp_path / "secret.csv").chmod(0)
    failed("train", str(tmp_path / "secret.csv"), "--target", "y", message="Permission denied")


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of 64 KB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here (it takes root)")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_leaves_the_old_file(home: Path, tmp_path: Path, small_disk: Path) -> None:
    model, wide = small_disk / "m.tally", tmp_path / "wide.csv"
    shutil.copy(home / "birds.tally", model)
    before = model.read_bytes()
    wide.write_text("w,y\n" + "".join(f"word number {i % 4000},{i % 2}\n" for i in range(12_000)))
    failed("train", str(wide), "--target", "y", "--no-evaluation", "-o", str(model), message="No space left on device")
    assert model.read_bytes() == before
    out = small_disk / "o.csv"
    out.write_text("old")
    frame = pl.concat([pl.DataFrame(penguins())] * 50)
    frame.write_csv(tmp_path / "many.csv")
    failed("predict", *at(home, "birds.tally"), str(tmp_path / "many.csv"), "-o", str(out), message="o.csv")
    assert out.read_text() == "old"
    assert sorted(os.listdir(small_disk)) == ["m.tally", "o.csv"]


def until_read(process: subprocess.Popen[str], size: int) -> None:
    """Wait until a process has read so many bytes: by then it is at work, however busy the machine is."""
    counters, end = Path(f"/proc/{process.pid}/io"), time.monotonic() + 300
    if not counters.exists():  # only Linux tells
        time.sleep(1.5)
        return
    while process.poll() is None and time.monotonic() < end:
        if int(counters.read_text().split()[1]) >= size:
            return
        time.sleep(0.01)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
@pytest.mark.parametrize("command", ["train", "predict"])
def test_an_interrupt_stops_cleanly(home: Path, tmp_path: Path, command: str) -> None:
    rng = np.random.default_rng(0)
    n = 1_500_000
    columns = {"bill_length_mm": rng.normal(40, 5, n), "island": ["Dream", "Biscoe", "Torgersen"] * (n // 3)}
    frame = pl.DataFrame({**columns, "species": ["Adelie", "Gentoo", "Gentoo"] * (n // 3)})
    frame.write_csv(tmp_path / "large.csv")
    out = tmp_path / ("m.tally" if command == "train" else "o.csv")
    words = {
        "train": ["train", str(tmp_path / "large.csv"), "--target", "species", "-o", str(out)],
        "predict": ["predict", str(home / "birds.tally"), str(tmp_path / "large.csv"), "-o", str(out)],
    }
    out.write_text("old")
    process = subprocess.Popen([*COMMAND, *words[command]], stderr=subprocess.PIPE, text=True, env=terminal())
    until_read(process, (tmp_path / "large.csv").stat().st_size // 3)
    process.send_signal(signal.SIGINT)
    _, given = process.communicate(timeout=300)
    if "written to" in given:  # it was over before the signal came
        assert out.read_bytes() != b"old"
    else:
        assert (process.returncode, "Traceback" in given) == (130, False), given
        assert out.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == sorted(["large.csv", out.name])


def test_the_model_is_readable_without_the_estimator(home: Path) -> None:
    model = storage.read(home / "birds.tally")
    assert model.tally.class_weight.tolist() == [152, 68, 124]


# ------------------------------------------------------------------------------------------------ report


def test_report_writes_one_page(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    found = run("report", *at(home, "birds.tally"), "--data", *at(home, "birds.parquet"), "-o", str(page))
    assert found.returncode == 0, found.stderr
    assert found.stderr.startswith(f"written to {page}, ")
    assert "are redundant within the classes" in found.stdout
    html = page.read_text(encoding="utf-8")
    assert "<title>Predicting species</title>" in html
    assert "98.3%" in html  # by leave-one-out
    again = run("report", *at(home, "birds.tally"), "-o", str(page), "--title", "Birds & <beaks>", "--json")
    assert json.loads(again.stdout)["evaluation"] is None
    assert "<title>Birds &amp; &lt;beaks&gt;</title>" in page.read_text(encoding="utf-8")


def test_a_report_scores_rows_that_were_not_learned_as_they_are(home: Path, tmp_path: Path) -> None:
    wrong, page = tmp_path / "wrong.csv", tmp_path / "report.html"
    lines = (home / "birds.csv").read_text(encoding="utf-8").replace("Gentoo", "Chinstrap")
    wrong.write_text(lines, encoding="utf-8")
    for option in ([], ["--test"]):
        found = run("report", *at(home, "birds.tally"), "--data", str(wrong), "-o", str(page), *option, "--json")
        assert json.loads(found.stdout)["evaluation"]["method"] == "test"
    model, data = at(home, "birds.tally", "birds.csv")
    learned = run("report", model, "--data", data, "-o", str(page), "--json")
    assert json.loads(learned.stdout)["evaluation"]["method"] == "leave-one-out"


def test_explain_draws(home: Path) -> None:
    found = run("explain", *at(home, "birds.tally"), "island=Dream", "bill_length_mm=48", "--plot")
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("log odds of Chinstrap against ")
    assert "island = Dream" in found.stdout
    both = run("explain", *at(home, "birds.tally"), "island=Dream", "--plot", "--work")
    assert "factor" in both.stdout
    assert "log odds of" in both.stdout


@pytest.mark.parametrize(
    ("command", "argument", "given"),
    [
        ("ledger", "ledger", "shop.ledger"),
        ("drift", "old", "shop.ledger@2026-03"),
        ("drift", "new", "shop.ledger"),
        ("ledger", "data", ["other.csv", "shop.ledger"]),
        ("explain", "what", ["shop.ledger"]),
        ("update", "data", "shop.ledger"),
    ],
)
def test_no_output_replaces_what_is_read(
    command: str, argument: str, given: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.ledger").touch()
    with pytest.raises(SettingError, match="would be overwritten"):
        refuse_overwriting(Namespace(command=command, output="./shop.ledger", **{argument: given}))


def test_names_from_strangers_do_not_steer_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e[/red]income"
    rows = {evil: [1.0, 2.0, 7.0, 9.0] * 5, "town": [f"a{evil}", evil] * 10}
    path = tmp_path / "model.tally"
    NaiveBayes(classical=True).fit(rows, [evil, "no"] * 10).save(path)
    pl.DataFrame(rows).write_csv(tmp_path / "rows.csv")
    for arguments in (
        ("show", str(path)),
        ("explain", str(path), str(tmp_path / "rows.csv"), "--row", "1"),
        ("predict", str(path), str(tmp_path / f"{evil[:4]}.csv")),
    ):
        found = run(*arguments)
        said = found.stdout + found.stderr
        assert not {*"\x1b\x07\x9b\u202e"} & {*said}, arguments
        assert "[/red]income" in said or "[2J" in said
