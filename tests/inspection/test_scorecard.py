"""Scorecards: points that are looked up and added, by hand, against the textbook, and alike in SQL."""

import csv
import io
import json
import math

import duckdb
import numpy as np
import pytest

from tallybayes import NaiveBayes, datasets, export
from tallybayes.cli import main
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.inspection.card_lines import evidence
from tests.export.cases import mixed_table
from tests.export.test_sql import DuckDB, SQLite

DAY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}


@pytest.fixture(scope="module")
def tennis():
    return NaiveBayes(classical=True).fit(datasets.tennis(), target="play")


@pytest.fixture(scope="module")
def readable():
    table, labels = mixed_table(500, 3, n_classes=2)
    return NaiveBayes(readable=True, drop=["visits"], kind={"code": "category"}).fit(table, labels)


def test_worked_by_hand(tennis):
    """The day of the lecture: 9 days of play and 5 without, a pseudocount of one."""
    factor = 20 / math.log(2)
    base = 600 - factor * math.log(50) + factor * math.log(9 / 5)
    odds = {
        "outlook": (2 + 1) / (9 + 3) / ((3 + 1) / (5 + 3)),
        "temperature": (3 + 1) / (9 + 3) / ((1 + 1) / (5 + 3)),
        "humidity": (3 + 1) / (9 + 2) / ((4 + 1) / (5 + 2)),
        "wind": (3 + 1) / (9 + 2) / ((3 + 1) / (5 + 2)),
    }
    points = {name: math.floor(factor * math.log(ratio) + 0.5) for name, ratio in odds.items()}
    card = tennis.scorecard()
    found = {
        c.name: next(line.points for line in c.lines if DAY[c.name] in str(line).split(", ")) for c in card.columns
    }
    assert found == points == {"outlook": -20, "temperature": 8, "humidity": -19, "wind": -13}
    assert card.base_points == math.floor(base + 0.5) == 504
    assert card.score([DAY]) == 504 - 20 + 8 - 19 - 13


def test_unrounded_scores_are_the_log_odds(tennis, readable):
    for model, rows in ((tennis, datasets.tennis()), (readable, mixed_table(100, 4, n_classes=2)[0])):
        rows = {name: values for name, values in rows.items() if name != "play"}
        card = model.scorecard(rounding=False)
        logs = model.predict_log_proba(rows)
        np.testing.assert_allclose(card.log_odds(card.score(rows)), logs[:, 1] - logs[:, 0], atol=1e-9)
        near = model.scorecard().score(rows)
        assert np.abs(near - card.score(rows)).max() <= 0.5 * (1 + len(card.columns))
        assert np.array_equal(near, near.round())


def test_scaling_is_as_asked_for(tennis):
    card = tennis.scorecard(points_to_double_odds=50, base=500, odds=1, rounding=False)
    assert card.log_odds([500, 550]) == pytest.approx([0.0, math.log(2)])
    other = tennis.scorecard(points_to_double_odds=50, base=500, odds=1, rounding=False, label="no")
    rows = {name: values for name, values in datasets.tennis().items() if name != "play"}
    np.testing.assert_allclose(card.score(rows) + other.score(rows), 1000.0)


def test_evidence_and_information_value_are_the_textbooks(tennis):
    card = tennis.scorecard()
    humidity = next(column for column in card.columns if column.name == "humidity")
    high, normal = (3 / 9, 4 / 5), (6 / 9, 1 / 5)
    assert [line.woe for line in humidity.lines] == pytest.approx([math.log(p / q) for p, q in (high, normal)])
    assert humidity.iv == pytest.approx(sum((p - q) * math.log(p / q) for p, q in (high, normal)))
    woe, iv = evidence(4.0, 0.0, 9.0, 5.0)  # no row on one side: half a row on both
    assert (woe, iv) == pytest.approx((math.log(4.5 / 9 / (0.5 / 5)), (4.5 / 9 - 0.5 / 5) * woe))


def test_the_numbers_of_optbinning():
    """Credit duration in the bins of optbinning 1.0, whose table gave these figures (events are the second class)."""
    bins = [(94, 84), (86, 69), (251, 189), (399, 270), (100, 58), (70, 30)]
    theirs = [-1.280934, -0.553595, -0.267315, 0.108688, 0.524524, 1.13498]
    found = [evidence(event, count - event, 700.0, 300.0) for count, event in bins]
    assert [-woe for woe, _ in found] == pytest.approx(theirs, abs=1e-6)
    assert sum(iv for _, iv in found) == pytest.approx(0.288617, abs=1e-6)


@pytest.mark.parametrize("database", [DuckDB, SQLite])
def test_sql_gives_exactly_the_points_of_python(readable, database):
    rows, _ = mixed_table(200, 8, new_values=True, n_classes=2)
    card, given = readable.scorecard(), {"key": list(range(200)), **rows}
    asked = database()
    found = sorted(asked.ask(given, lambda table: export.scorecard_sql(card, table, asked.dialect, keep=["key"])))
    assert [row[1] for row in found] == card.score(rows).tolist()
    assert all(isinstance(row[1], int) for row in found)
    assert all(row[1] == card.base_points + sum(row[2:]) for row in found)


def test_pairs_are_two_way_tables():
    table, labels = mixed_table(500, 3, n_classes=2)
    few = {name: table[name] for name in ("town", "mood", "height")}
    model = NaiveBayes(family={"height": "binned"}, pairs=[("town", "mood")], weights=None).fit(few, labels)
    card = model.scorecard()
    both = next(column for column in card.columns if len(column.lines[0].conditions) == 2)
    assert both.lines[0].conditions[0].column == "town"
    rows = {name: mixed_table(60, 8, n_classes=2)[0][name] for name in few}
    found = duckdb_rows(card, rows)
    assert found == card.score(rows).tolist()


def duckdb_rows(card, rows):
    import pyarrow as pa

    given = pa.table({"key": list(range(len(rows["mood"]))), **rows})  # noqa: F841  DuckDB finds it by its name
    with duckdb.connect() as base:
        query = export.scorecard_sql(card, "given", keep=["key"])
        return [row[1] for row in sorted(base.execute(query).fetchall())]


def test_one_against_the_rest():
    penguins = {name: datasets.penguins()[name] for name in ("island", "sex", "species")}
    model = NaiveBayes(classical=True).fit(penguins, target="species")
    with pytest.raises(SettingError, match="label="):
        model.scorecard()
    card = model.scorecard(label="Gentoo", rounding=False)
    rows = {"island": ["Biscoe", "Dream"], "sex": ["male", None]}
    joint, prior = model.predict_joint_log_proba(rows), np.exp(model.model_.log_prior)
    place = list(model.classes_).index("Gentoo")
    others = [k for k in range(3) if k != place]
    rest = joint[:, others] @ (prior[others] / prior[others].sum())
    np.testing.assert_allclose(card.log_odds(card.score(rows)), joint[:, place] - rest)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda t, y: NaiveBayes(classical=True).fit(t, y), "readable=True"),
        (
            lambda t, y: NaiveBayes(family={"height": "binned"}, classical=False, calibration="isotonic").fit(t, y),
            "isotonic",
        ),
    ],
)
def test_what_is_no_card_says_the_way_out(made, message):
    table, labels = mixed_table(100, 3, n_classes=2)
    model = made({"height": table["height"], "mood": table["mood"]}, labels)
    with pytest.raises(NotAvailableError, match=message):
        model.scorecard()


@pytest.mark.parametrize("asked", [{"odds": 0}, {"points_to_double_odds": -1}, {"odds": math.nan}])
def test_impossible_scales_are_refused(tennis, asked):
    with pytest.raises(SettingError, match="above 0"):
        tennis.scorecard(**asked)


def test_every_form_has_the_same_lines(tennis):
    card = tennis.scorecard()
    rows = list(csv.reader(io.StringIO(card.to_csv())))
    assert [float(row[-1]) for row in rows[1:]] == [card.base_points, *(line.points for _, line in card.lines)]
    assert card.to_markdown().count("\n") == len(rows) + 1
    assert card.to_html().count("<tr>") == len(rows)
    frame = card.as_frame()
    assert frame["points"].tolist() == [line.points for _, line in card.lines]
    assert (
        sum(line["points"] for column in card.as_dict()["columns"] for line in column["lines"]) == frame["points"].sum()
    )
    assert "base points" in str(card)


def test_the_command_line(tmp_path, capsys):
    table, labels = mixed_table(200, 3, n_classes=2)
    path, model = tmp_path / "rows.csv", tmp_path / "rows.tally"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["height", "mood", "label"])
        writer.writerows(zip(table["height"], table["mood"], labels, strict=True))
    assert main(["train", str(path), "--target", "label", "--readable", "-q", "--json", "-o", str(model)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["readable"]["cost"] == pytest.approx(
        record["readable"]["readable"]["log_loss"] - record["readable"]["without_limit"]["log_loss"]
    )
    for name in ("card.html", "card.csv", "card.md", "card.json", "card.sql"):
        assert main(["scorecard", str(model), "-q", "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).stat().st_size > 100
    assert main(["scorecard", str(model), "-o", str(tmp_path / "card.doc")]) == 1
    assert main(["scorecard", str(model)]) == 0
    assert "points double the odds" in capsys.readouterr().out
