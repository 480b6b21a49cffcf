"""Reason codes: what took most from the score of a row, the same wherever it is worked out."""

import csv
import json
import math

import numpy as np
import pytest

from tallybayes import NaiveBayes, datasets
from tallybayes.cli import main
from tallybayes.errors import DataError, NotAvailableError, SettingError
from tallybayes.inspection.reasons import margin_coefficients, reason_plan
from tests.export import evaluator
from tests.export.cases import CASES, matrix
from tests.export.test_sql import DuckDB, SQLite, answers

DAY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}
COUNTS = {  # of the 9 days of yes and the 5 of no, of 14
    "outlook": {"sunny": (2, 3), "overcast": (4, 0), "rainy": (3, 2)},
    "temperature": {"hot": (2, 2), "mild": (4, 2), "cool": (3, 1)},
    "humidity": {"high": (3, 4), "normal": (6, 1)},
    "wind": {"weak": (6, 2), "strong": (3, 3)},
}


@pytest.fixture(scope="module")
def tennis():
    return NaiveBayes(classical=True).fit(datasets.tennis(), target="play")


@pytest.fixture(scope="module")
def mixed():
    return CASES["planned, two classes"]()


def weight(column, level):
    """Log odds of yes against no, worked out by hand with a pseudocount of one."""
    levels = COUNTS[column]
    yes, no = levels[level]
    return math.log((yes + 1) / (9 + len(levels)) / ((no + 1) / (5 + len(levels))))


def test_by_hand_against_the_population(tennis):
    lost = {}
    for column, levels in COUNTS.items():
        mean = sum((yes + no) / 14 * weight(column, level) for level, (yes, no) in levels.items())
        lost[column] = mean - weight(column, DAY[column])
    expected = sorted(((loss, name) for name, loss in lost.items() if loss > 0), reverse=True)
    found = tennis.reasons([DAY])[0]
    assert [each.name for each in found] == [name for _, name in expected]
    assert [each.loss for each in found] == pytest.approx([loss for loss, _ in expected], abs=1e-12)


def test_by_hand_against_the_best(tennis):
    lost = {c: max(weight(c, level) for level in levels) - weight(c, DAY[c]) for c, levels in COUNTS.items()}
    found = {each.name: each.loss for each in tennis.reasons([DAY], reference="best")[0]}
    assert found == pytest.approx({name: loss for name, loss in lost.items() if loss > 0}, abs=1e-12)


def test_against_a_row_and_against_itself(tennis):
    other = {**DAY, "outlook": "overcast"}
    (only,) = tennis.reasons([DAY], reference=other)[0]
    assert (only.name, only.loss) == (
        "outlook",
        pytest.approx(weight("outlook", "overcast") - weight("outlook", "sunny")),
    )
    assert tennis.reasons([DAY], reference=DAY)[0] == ()
    several = tennis.reasons([DAY], reference=[DAY, other])[0]
    assert several[0].loss == pytest.approx(only.loss / 2)


def test_the_other_class_loses_what_this_one_gains(tennis):
    assert tennis.reasons([DAY], label="no").label == "no"
    best = {
        each.name: each.loss for each in tennis.reasons([DAY], label="no", reference={**DAY, "outlook": "rainy"})[0]
    }
    assert best == {}  # a sunny day is better for staying in


def test_groups_add_up_and_missing_values_add_nothing(tennis):
    alone = {each.name: each.loss for each in tennis.reasons([DAY], most=9)[0]}
    air = tennis.reasons([DAY], groups={"air": ["humidity", "wind"]})[0]
    grouped = {each.name: each.loss for each in air}
    assert grouped["air"] == pytest.approx(alone["humidity"] + alone["wind"])
    assert not {"humidity", "wind"} & set(grouped)
    gone = {each.name: each.loss for each in tennis.reasons([{**DAY, "humidity": None}], most=9)[0]}
    mean = sum((y + n) / 14 * weight("humidity", level) for level, (y, n) in COUNTS["humidity"].items())
    assert gone.get("humidity", 0.0) == pytest.approx(max(mean, 0.0))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"most": 0}, "at least 1"),
        ({"reference": "mean"}, "reference must be"),
        ({"groups": {"air": ["wnd"]}}, "wind"),
        ({"groups": {"a": ["wind"], "b": ["wind"]}}, "two groups"),
        ({"groups": {"wind": ["humidity"]}}, "rename the group"),
        ({"label": "perhaps"}, "no class"),
    ],
)
def test_what_makes_no_sense_is_refused(tennis, asked, message):
    with pytest.raises((SettingError, DataError), match=message):
        tennis.reasons([DAY], **asked)


def test_of_more_than_two_classes_one_is_named():
    penguins = datasets.penguins()
    model = NaiveBayes(classical=True).fit(penguins, target="species")
    with pytest.raises(SettingError, match="label="):
        model.reasons(penguins)
    coefficients = margin_coefficients(model.model_, 1)
    assert coefficients.sum() == pytest.approx(0.0)
    assert len(model.reasons(penguins, label="Gentoo")) == len(penguins["species"])


def test_equal_losses_are_in_the_order_of_the_columns_and_unused_columns_are_never_named():
    same = ["a", "b"] * 20
    table = {"first": same, "second": same, "constant": ["x"] * 40}
    model = NaiveBayes(classical=True).fit(table, ["no", "yes"] * 20)
    row = {name: values[0] for name, values in table.items()}
    assert [each.name for each in model.reasons([row], reference="best")[0]] == ["first", "second"]


@pytest.mark.parametrize("reference", ["population", "best"])
def test_every_export_gives_the_same_reasons(mixed, reference):
    model, groups = mixed.estimator, {"body": ["height", "mood"]}
    asked = {"most": 3, "reference": reference, "groups": groups}
    plan = reason_plan(model.model_, **asked)
    expected = [[(e.name, e.loss) for e in row] for row in model.reasons(mixed.rows, **asked)]
    assert any(len(row) == 3 for row in expected)
    space = {}
    exec(model.to_python(reasons=asked), space)
    scorer = json.loads(model.to_json(reasons=asked))
    found = {
        "Python": [space["reasons"](row) for row in mixed.dicts],
        "JSON": [by_json(scorer, row) for row in mixed.dicts],
        "DuckDB": by_sql(DuckDB(), mixed, asked),
        "SQLite": by_sql(SQLite(), mixed, asked),
    }
    for where, rows in found.items():
        for mine, theirs in zip(expected, rows, strict=True):
            assert [name for name, _ in theirs] == [name for name, _ in mine], where
            np.testing.assert_allclose([v for _, v in theirs], [v for _, v in mine], rtol=0, atol=1e-9, err_msg=where)
    assert plan.names[0] == "body"


def test_contributions_are_the_same_in_python_and_sql(mixed):
    model, asked = mixed.estimator, {"most": 1}
    plan = reason_plan(model.model_, **asked)
    batch = model._rows(mixed.rows)
    parts = model.model_.contributions(batch)
    space = {}
    exec(model.to_python(reasons=asked), space)
    for n, row in enumerate(mixed.dicts[:40]):
        for name, by_class in space["contributions"](row).items():
            own = parts[n, :, model.schema_.names.index(name)]
            np.testing.assert_allclose(list(by_class.values()), own, rtol=0, atol=1e-9)
    found = np.array([row[4:] for row in answers(DuckDB(), mixed, proba=False, reasons=asked, contributions=True)])
    used = (plan.reference - plan.losses(parts))[
        :, np.abs(plan.shares[np.abs(parts).max(axis=(0, 1)) > 0]).max(axis=0) > 0
    ]
    np.testing.assert_allclose(found, used, rtol=0, atol=1e-9)


def by_json(scorer, row):
    """Reasons from the record alone, as the guide to exports describes it."""
    about = scorer["reasons"]
    lost = list(about["reference"])
    for term, shares in zip(scorer["terms"], about["terms"], strict=True):
        added = [max(v, -1e6) for v in evaluator.TERMS[term["is"]](term, row) or [0.0, 0.0]]
        margin = sum(c * v for c, v in zip(about["coefficients"], added, strict=True))
        for place, share in shares:
            lost[place] -= share * margin
    found, left = [], list(lost)
    while len(found) < about["most"] and max(left) > about["least"]:
        place = next(i for i, v in enumerate(left) if v >= max(left) - about["least"])
        found.append((about["names"][place], lost[place]))
        left[place] = -math.inf
    return found


def by_sql(database, case, asked):
    """Reasons by a query in a database."""
    rows = answers(database, case, proba=False, reasons=asked)
    return [[(row[p], row[p + 1]) for p in range(2, len(row), 2) if row[p] is not None] for row in rows]


def test_a_bag_of_counts_has_reasons_in_python_only():
    from tallybayes import MultinomialNB

    case = matrix("counts", MultinomialNB)
    assert len(case.estimator.reasons(case.matrix, label="a")) == 60
    with pytest.raises(NotAvailableError, match="one document"):
        case.estimator.to_sql("t", reasons={"label": "a"})


def test_predict_writes_reason_codes(tennis, tmp_path):
    path, out = tmp_path / "days.csv", tmp_path / "out.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, DAY)
        writer.writeheader()
        writer.writerow(DAY)
    tennis.save(tmp_path / "tennis.tally")
    asked = ["predict", str(tmp_path / "tennis.tally"), str(path), "-o", str(out), "-q", "--reasons", "5"]
    assert main([*asked, "--group", "air=humidity,wind"]) == 0
    with out.open() as file:
        (row,) = csv.DictReader(file)
    expected = tennis.reasons([DAY], most=5, groups={"air": ["humidity", "wind"]})[0]
    assert [row[f"reason_{r}"] for r in range(1, 6)] == [*(e.name for e in expected), *[""] * (5 - len(expected))]
    assert float(row["loss_1"]) == pytest.approx(expected[0].loss, abs=1e-9)
    assert main(["predict", str(tmp_path / "tennis.tally"), str(path), "-q", "--label", "no"]) == 1
