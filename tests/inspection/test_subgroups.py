"""Figures by subgroup: those of scikit-learn on the rows of the group, with intervals."""

import csv
import json

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from tallybayes import NaiveBayes
from tallybayes.cli import main
from tallybayes.errors import DataError, SettingError
from tallybayes.inspection.subgroups import area


def rows(n, seed):
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(n) < 0.3, "f", "m")
    x = rng.normal(size=n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-1.5 * x - (sex == "f"))), "yes", "no")
    age = rng.integers(18, 80, n)
    return {"x": x.tolist(), "age": age.tolist(), "sex": sex.tolist()}, y


@pytest.fixture(scope="module")
def model():
    table, y = rows(400, 0)
    return NaiveBayes(classical=True).fit({"x": table["x"]}, y)


@pytest.mark.filterwarnings("ignore:the model never saw")
def test_figures_are_those_of_the_rows_of_a_group(model):
    table, y = rows(600, 1)
    found = model.evaluate(table, y, by="sex")
    p = model.predict_proba({"x": table["x"]})
    assert [each.group for each in found.groups] == ["f", "m"]
    for each in found.groups:
        own = np.array(table["sex"]) == each.group
        truth = y[own] == "yes"
        assert each.n_rows == own.sum()
        assert float(each.accuracy) == pytest.approx(accuracy_score(truth, p[own, 1] > 0.5))
        assert float(each.log_loss) == pytest.approx(log_loss(truth, p[own, 1]))
        assert float(each.area) == pytest.approx(roc_auc_score(truth, p[own, 1]))
        assert float(each.positive_rate) == pytest.approx((p[own, 1] > 0.5).mean())
        assert float(each.base_rate) == pytest.approx(truth.mean())
        assert float(each.gap) == pytest.approx(p[own, 1].mean() - truth.mean())
        assert each.gap.low < each.gap.value < each.gap.high
    assert found.overall.n_rows == 600
    assert "by sex" in str(found)
    assert json.loads(json.dumps(found.as_dict()))["groups"][0]["group"] == "f"
    assert found.as_frame()["n_rows"].tolist()[-1] == 600
    assert found.groups[0].gap.high < 0  # women are yes more often than the model, which does not know them, says


@pytest.mark.filterwarnings("ignore:the model never saw")
def test_arrays_crossed_columns_numbers_and_small_groups(model):
    table, y = rows(300, 2)
    by_array = model.evaluate(table, y, by=np.array(table["sex"]))
    assert by_array.groups == model.evaluate(table, y, by="sex").groups
    crossed = model.evaluate(table, y, by=["sex", "age"])
    assert crossed.by == "sex × age"
    assert len(crossed.groups) == 8
    assert any(each.is_small for each in crossed.groups)
    assert len(model.evaluate(table, y, by="age").groups) == 4
    labels = [None, "a"] * 150
    assert {each.group for each in model.evaluate(table, y, by=labels).groups} == {"(missing)", "a"}


@pytest.mark.filterwarnings("ignore:the model never saw")
def test_what_cannot_be_grouped_is_refused(model):
    table, y = rows(100, 2)
    with pytest.raises(DataError, match="sex"):
        model.evaluate(table, y, by="sax")
    with pytest.raises(DataError, match="100 labelled rows"):
        model.evaluate(table, y, by=np.arange(7))
    with pytest.raises(SettingError, match="at most 50"):
        model.evaluate(table, y, by=[f"row {i}" for i in range(100)])


def test_intervals_of_the_area_cover(model):
    """DeLong's interval holds the area of many rows about as often as it says."""
    rng = np.random.default_rng(0)
    true = roc_auc_score(
        np.repeat([0, 1], 200_000), np.concatenate((rng.normal(0, 1, 200_000), rng.normal(1, 1, 200_000)))
    )
    inside = 0
    for _ in range(300):
        scores = np.concatenate((rng.normal(0, 1, 80), rng.normal(1, 1, 40)))
        found = area(scores, np.repeat([False, True], [80, 40]), np.ones(120))
        inside += found.low <= true <= found.high
    assert 0.91 <= inside / 300 <= 0.98


def test_training_rows_are_held_out(model):
    table, y = rows(400, 0)
    found = model.evaluate({"x": table["x"]}, y, by=table["sex"])
    assert found.method == "leave-one-out"


def test_the_command_line(tmp_path, model, capsys):
    table, y = rows(200, 3)
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*table, "label"])
        writer.writerows(zip(*table.values(), y, strict=True))
    model.save(tmp_path / "m.tally")
    asked = ["evaluate", str(tmp_path / "m.tally"), str(path), "--target", "label", "-q", "--by", "sex"]
    assert main([*asked, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [each["group"] for each in record["groups"]] == ["f", "m"]
    assert sum(each["n_rows"] for each in record["groups"]) == 200
    assert main(asked) == 0
    assert "ROC area" in capsys.readouterr().out
    assert main([*asked[:-1], "sax"]) == 1
    assert "sex" in capsys.readouterr().err


def test_figures_that_rounding_takes_beyond_one_are_one():
    from tallybayes.core.metrics import wilson
    from tallybayes.inspection import subgroups

    assert wilson(1.0000000000000007, 12.0).value == 1.0
    rng = np.random.default_rng(0)
    for n in range(3, 60):
        of_class = np.arange(n) % 2 == 0
        found = subgroups.area(np.where(of_class, 0.9, 0.1), of_class, rng.random(n))
        assert found.value <= found.high <= 1.0
