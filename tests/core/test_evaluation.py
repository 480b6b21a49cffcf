"""The record of figures: how it is shown, compared and checked."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tallybayes.core import evaluation
from tallybayes.core.evaluation import Interval
from tallybayes.core.metrics import score
from tallybayes.errors import SettingError
from tests.core.test_metrics import drawn


def printed(n_classes, n=3000, labels=None, weight=None):
    posterior, codes, _ = drawn(n=n, n_classes=n_classes)
    return score(np.log(posterior), codes, labels or [f"class {k}" for k in range(n_classes)], weight, "5-fold")


@pytest.mark.parametrize("n_classes", [2, 3, 6, 12, 100])
def test_it_prints_within_eighty_columns(n_classes):
    long = [f"a class with the long\nname of {k} that goes on and on" for k in range(n_classes)]
    for labels in (None, long):
        lines = str(printed(n_classes, labels=labels)).splitlines()
        assert max(map(len, lines)) <= 80
        assert all(line == line.rstrip() for line in lines)


def test_few_classes_print_their_confusion_and_many_their_worst_mistakes():
    few, many = str(printed(3)), str(printed(100))
    assert "true \\ predicted" in few
    assert "errors" not in few
    assert "errors" in many
    assert "… 80 more" in many
    assert len(many.splitlines()) < 80


def test_no_mistakes_print_no_table_of_them():
    codes = np.arange(40)
    log_posterior = np.log(np.eye(40) * 0.9 + 0.1 / 40)
    assert "errors" not in str(score(log_posterior, codes, range(40)))


def test_the_title_tells_weights_that_are_not_one():
    assert str(printed(3)).startswith("5-fold: 3,000 rows, 3 classes\n")
    assert str(printed(3, weight=np.full(3000, 0.5))).startswith("5-fold: 3,000 rows of weight 1,500, 3 classes\n")


def test_figures_in_the_print_are_those_of_the_record():
    got = printed(3)
    lines = str(got).splitlines()
    accuracy = next(line for line in lines if line.startswith("accuracy")).split()
    assert accuracy[1] == f"{got.accuracy.value:.4f}"
    assert accuracy[-1] == f"{got.baseline_accuracy:.4f}"
    assert f"{got.ece:.4f}" in next(line for line in lines if line.startswith("calibration error"))


def test_the_repr_is_one_line():
    got = printed(3)
    assert repr(got) == (
        f"Evaluation(5-fold, 3,000 rows: accuracy {got.accuracy.value:.4f}, "
        f"log loss {got.log_loss.value:.4f}, ECE {got.ece:.4f})"
    )


def test_html_has_the_same_tables_and_escapes_labels():
    html = printed(2, labels=["<b>bold</b>", "a & b"])._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt;" in html
    assert "a &amp; b" in html
    assert "<b>" not in html
    assert html.count("<table>") == html.count("</table>") == 4


def test_the_record_goes_to_json():
    got = score(np.log([[0.9, 0.1, 1e-9], [0.2, 0.8, 1e-9]]), np.array([0, 0]), ["a", 1, (2, "tuple")])
    plain = json.loads(json.dumps(got.as_dict(), allow_nan=False))
    assert [entry["class"] for entry in plain["classes"]] == ["a", 1, "(2, 'tuple')"]
    assert plain["accuracy"]["value"] == got.accuracy.value
    assert plain["confusion"] == [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert plain["reliability"][0]["weight"] == 1.0


def test_an_interval_is_a_number_too():
    interval = Interval(0.95, 0.9, 0.98)
    assert float(interval) == 0.95
    assert str(interval) == "0.9500 (0.9000 – 0.9800)"


def test_of_many_classes_the_confusion_of_the_most_frequent_is_kept():
    posterior, codes, _ = drawn(n=3000, n_classes=250)
    got = score(np.log(posterior), codes, range(250))
    predicted = posterior.argmax(axis=1)
    assert got.confusion.shape == (100, 100)
    assert len(got.confused) == 100
    assert_array_equal(got.support, np.bincount(codes, minlength=250))
    assert_array_equal(got.predicted, np.bincount(predicted, minlength=250))
    assert got.accuracy.value == pytest.approx(float((codes == predicted).mean()))
    both = [got.confused[3], got.confused[7]]
    assert got.confusion[3, 7] == ((codes == both[0]) & (predicted == both[1])).sum()
    assert min(got.support[list(got.confused)]) >= max(np.delete(got.support, list(got.confused)))


def test_equal_figures_are_equal_whatever_the_day_and_the_source():
    one, other = printed(3), printed(3)
    assert one == other
    assert replace(one, date="2026-01-01", source="a.csv") == replace(other, date="2026-02-02", source="b.csv")
    assert one != replace(other, n_folds=5)
    assert one != replace(other, confusion=other.confusion + 1.0)


def test_what_it_was_measured_on(monkeypatch):
    monkeypatch.setattr(evaluation, "today", lambda: "2026-11-17")
    got = printed(3).of(n_folds=5, n_learned=3000, source="loans.csv")
    assert (got.n_folds, got.n_learned, got.date, got.source) == (5, 3000, "2026-11-17", "loans.csv")
    accuracy, loss, how = got.lines(3000)
    assert accuracy == f"accuracy {got.accuracy}, baseline (majority class) {got.baseline_accuracy:.4f}"
    assert loss == f"log loss {got.log_loss}, baseline (class frequencies) {got.baseline_log_loss:.4f}"
    assert how == "5-fold; 3,000 rows; loans.csv; 2026-11-17"
    assert got.lines(4000)[2].endswith("; measured when 3,000 of the 4,000 rows were learned")
    assert got.lines(2000)[2].endswith("; measured when 3,000 rows were learned")


def test_the_day_is_a_day():
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", evaluation.today())


@pytest.mark.parametrize(
    "change",
    [
        {"confusion": np.ones((2, 2))},
        {"confusion": np.full((3, 3), np.nan)},
        {"confusion": -np.ones((3, 3))},
        {"confusion": np.zeros((3, 3))},
        {"margins": np.ones((3, 4))},
        {"margins": np.ones((3, 3))},
        {"n_rows": 0},
        {"n_folds": -1},
        {"n_learned": -1},
        {"date": "yesterday"},
    ],
    ids=str,
)
def test_what_no_evaluation_holds_is_refused(change):
    with pytest.raises(SettingError):
        replace(printed(3), **change)


@pytest.mark.parametrize("ends", [(0.5, 0.6, 0.7), (0.5, 0.1, 0.4), (math.nan, 0.0, 1.0), (0.5, 0.0, math.inf)])
def test_a_value_lies_in_its_interval(ends):
    with pytest.raises(SettingError):
        Interval(*ends)
