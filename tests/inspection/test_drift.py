"""Drift: measures of SciPy, alarms as rare as claimed where nothing changed, and what changed is found."""

import csv
import json

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

from tallybayes import Ledger, NaiveBayes, drift
from tallybayes.cli import main
from tallybayes.errors import DataError
from tallybayes.inspection.drift_tests import adjusted, chi_square, distance, same_evidence, stability_index
from tallybayes.report.drift_section import drift_page

LEVELS = ("a", "b", "c", "d")


def rows(n, seed, shift=0.0, slope=1.0, missing=0.1, levels=LEVELS):
    rng = np.random.default_rng(seed)
    x = rng.normal(shift, 1.0, n)
    wait = rng.exponential(1.0, n)
    c = rng.integers(0, len(levels), n)
    y = rng.random(n) < 1 / (1 + np.exp(-slope * x + 0.5 * (c == 1)))
    gone = rng.random(n) < missing
    return {
        "x": x.tolist(),
        "wait": [None if g else w for g, w in zip(gone, wait.tolist(), strict=True)],
        "c": [levels[k] for k in c],
        "flag": (rng.random(n) < 0.3).tolist(),
        "y": ["yes" if v else "no" for v in y],
    }


@pytest.fixture(scope="module")
def model():
    return NaiveBayes(family={"x": "binned", "wait": "gaussian"}, weights=None, max_pairs=0).fit(
        rows(2000, 0), target="y"
    )


def test_measures_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for _ in range(20):
        old, new = rng.integers(1, 50, (2, 7)).astype(float)
        p, q = old / old.sum(), new / new.sum()
        assert stability_index(old, new) == pytest.approx(stats.entropy(p, q) + stats.entropy(q, p))
        assert distance(old, new) == pytest.approx(jensenshannon(p, q))
        assert chi_square(old, new) == pytest.approx(stats.chi2_contingency(np.stack((old, new)), correction=False)[1])
    assert distance(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(jensenshannon([1, 0], [0, 1]))
    assert np.isfinite(stability_index(np.array([5.0, 0.0]), np.array([3.0, 2.0])))
    chances = rng.random(30) ** 2
    np.testing.assert_allclose(adjusted(chances.tolist()), stats.false_discovery_control(chances), atol=1e-12)


def test_woolfs_test_by_hand():
    old, new = np.array([[10.0, 20.0], [30.0, 10.0]]), np.array([[12.0, 18.0], [20.0, 25.0]])
    change = np.log((new[:, 1] + 0.5) / (new[:, 0] + 0.5)) - np.log((old[:, 1] + 0.5) / (old[:, 0] + 0.5))
    weight = 1 / (1 / (old + 0.5) + 1 / (new + 0.5)).sum(axis=1)
    statistic = (weight * (change - (weight * change).sum() / weight.sum()) ** 2).sum()
    assert same_evidence(old, new) == pytest.approx(stats.chi2.sf(statistic, 1))


def test_without_drift_alarms_are_as_rare_as_claimed():
    """Of 120 pairs of samples that were drawn alike, about 5 % of the single tests are below 5 %."""
    base = NaiveBayes(family={"x": "binned", "wait": "gaussian"}, weights=None, max_pairs=0).fit(
        rows(800, 1), target="y"
    )
    values, said, alarms = [], [], 0
    for seed in range(120):
        old, new = (base.model_.blank().learn(base.labelled_rows(rows(500, s))) for s in (2 * seed + 10, 2 * seed + 11))
        found = drift(old, new)
        values += [column.p for column in found.columns]
        said += [column.evidence_q for column in found.columns if column.evidence_q is not None]
        alarms += any(column.q < 0.05 for column in found.columns)
    share = np.mean(np.array(values) < 0.05)
    assert 0.02 <= share <= 0.085
    assert alarms / 120 <= 0.12  # the chance of any alarm in a comparison
    assert np.mean(np.array(said) < 0.05) <= 0.06


def test_what_changed_is_found(model):
    later = rows(2000, 5, shift=0.5, levels=("a", "b", "c", "e"), missing=0.3)
    found = drift(model, later)
    by_name = {column.name: column for column in found.columns}
    assert {"x", "c"} <= set(found.changed)
    assert by_name["c"].new == ("e",)
    assert by_name["c"].vanished == ("d",)
    assert by_name["wait"].missing == pytest.approx((0.1, 0.3), abs=0.03)
    assert by_name["wait"].missing_q < 0.01
    assert "flag" not in found.changed
    assert found.largest == max(column.largest for column in found.columns)
    assert found.classes is not None
    assert "new: e" in str(found)
    json.dumps(found.as_dict())


def test_a_column_that_lost_its_values_is_the_largest_change(model):
    later = rows(500, 6)
    found = drift(model, later | {"c": [None] * 500})
    assert found.columns[0].name == "c"
    assert found.largest == found.columns[0].missing_psi > 1.0
    assert not found.columns[0].has_values
    known, gone = np.array([2000.0, 0.0]), np.array([0.0, 500.0])
    assert found.largest == pytest.approx(stability_index(known, gone))


def test_ranges_and_marks_are_in_words():
    """Issue 20: no infinite ends, and a mark in each line that a footnote speaks of."""
    settings = {"family": {"x": "gaussian", "wait": "gaussian", "c": "categorical"}, "weights": None, "max_pairs": 0}
    found = drift(NaiveBayes(**settings).fit(rows(800, 1), target="y"), rows(800, 2, shift=1.0))
    for column in found.columns:
        assert "inf" not in " ".join(column.cells)
    bins = drift(
        NaiveBayes(family={"x": "binned"}, weights=None, max_pairs=0).fit(rows(800, 1), target="y"), rows(800, 2)
    )
    for cells in (c.cells for each in (found, bins) for c in each.columns if c.name == "x"):
        assert (cells[0][:2], cells[-1][:2]) == ("< ", "≥ ")
        assert all(" – " in cell for cell in cells[1:-1])
    assert "* beyond chance (false discovery rate 5%)" in str(found)
    page = drift_page(found)
    assert "<td>~x</td>" in page
    assert "~ compared as curves" in page
    assert "* beyond" not in page
    assert 'class="tallybayes"' in found._repr_html_()


def test_evidence_can_change_where_values_do_not(model):
    found = {column.name: column for column in drift(model, rows(2000, 16, slope=-1.0)).columns}
    assert found["x"].q > 0.01
    assert found["x"].evidence_q < 1e-6
    assert found["flag"].evidence_q > 0.01


def test_evidence_of_a_curve_can_change_too():
    old, turned = rows(2000, 0), rows(2000, 16, slope=-1.0)
    base = NaiveBayes(classical=True, family={"x": "gaussian"}).fit(old, target="y")
    found = {column.name: column for column in drift(base, turned).columns}
    assert found["x"].is_approximate
    assert found["x"].q > 0.01
    assert found["x"].evidence > 0.5
    assert found["x"].evidence_q < 1e-6
    assert found["flag"].evidence_q > 0.01
    same = {column.name: column for column in drift(base, rows(2000, 17)).columns}
    assert same["x"].evidence_q > 0.05


def test_rows_without_labels_do_not_drift_by_lacking_them():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 2000)
    table = {"x": rng.normal(8.0 * y, 1.0).tolist(), "y": np.where(y, "far", "near").tolist()}  # two humps
    base = NaiveBayes(classical=True).fit(table, target="y")
    found = drift(base, {"x": (rng.normal(8.0 * y, 1.0)).tolist()})
    assert found.largest < 0.01
    assert found.changed == ()


def test_rows_are_compared_with_rows():
    old, new = rows(800, 3), rows(800, 4, shift=1.0)
    found = {column.name: column for column in drift(old, new, target="y").columns}
    edges = np.quantile(old["x"], np.arange(1, 10) / 10)
    before, after = (np.bincount(np.searchsorted(edges, each["x"]), minlength=10) / 800 for each in (old, new))
    assert not found["x"].is_approximate
    assert found["x"].psi == pytest.approx(((after - before) * np.log(after / before)).sum(), rel=0.15)
    with pytest.raises(DataError, match="target"):
        drift(old, new)


def test_rows_without_labels(model):
    later = rows(3000, 7)
    yes = [i for i, label in enumerate(later["y"]) if label == "yes"][:300]
    no = [i for i, label in enumerate(later["y"]) if label == "no"][:1200]
    few = {name: [values[i] for i in (*yes, *no)] for name, values in later.items() if name != "y"}
    found = drift(model, few)
    assert found.classes is None
    assert all(column.evidence is None for column in found.columns)
    assert found.prior.prior["yes"] == pytest.approx(0.2, abs=0.06)


def test_tallies_models_and_tables_agree(model):
    later = rows(700, 8)
    batch = model.labelled_rows(later)
    other = model.model_.blank().learn(batch)
    expected = drift(model, later)
    for new in (other, other.tally):
        assert drift(model, new).columns == expected.columns
    assert drift(model.tally_, other.tally).columns == expected.columns
    assert drift(model, model).largest == pytest.approx(0.0)


def test_other_models_are_compared_where_they_count_alike():
    first = NaiveBayes(family={"x": "gaussian"}, weights=None, max_pairs=0).fit(rows(300, 1), target="y")
    other = NaiveBayes(family={"x": "binned"}, weights=None, max_pairs=0).fit(rows(300, 2), target="y")
    found = drift(first, other)
    assert "x" in dict(found.not_compared)
    assert "c" in [column.name for column in found.columns]
    with pytest.raises(DataError, match="pass the model"):
        drift(first.tally_, rows(10, 1))
    with pytest.raises(DataError, match="starts from a model"):
        drift("text", other)


def test_the_command_line(model, tmp_path, capsys):
    model.save(tmp_path / "old.tally")
    for name, table in (("same.csv", rows(600, 9)), ("other.csv", rows(600, 9, shift=2.0))):
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*table.values(), strict=True))
    asked = ["drift", str(tmp_path / "old.tally")]
    assert main([*asked, str(tmp_path / "same.csv"), "--fail-above", "0.2", "-q"]) == 0
    assert "PSI" in capsys.readouterr().out
    page = tmp_path / "drift.html"
    assert main([*asked, str(tmp_path / "other.csv"), "--fail-above", "0.2", "--json", "-q", "-o", str(page)]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["largest"] > 0.2
    assert record["changed"][0] == "x"
    assert page.read_text(encoding="utf-8").count("<svg") >= 1
    expected = drift(model, rows(600, 9, shift=2.0))
    assert record["columns"][0]["psi"] == pytest.approx(expected.columns[0].psi)
    assert main([*asked, str(tmp_path / "other.csv"), "--unlabelled", "-q"]) == 0
    assert "explains the rows best" in capsys.readouterr().out
    report = tmp_path / "report.html"
    assert main([
        "report", str(tmp_path / "old.tally"), "--data", str(tmp_path / "same.csv"), "--test", "--by", "flag",
        "--against", str(tmp_path / "other.csv"), "-o", str(report), "-q",
    ]) == 0  # fmt: skip
    text = report.read_text(encoding="utf-8")
    assert 'id="drift"' in text
    assert 'id="subgroups"' in text


def test_the_command_line_compares_slices_of_a_ledger_and_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old, new = rows(400, 3), rows(400, 4, shift=1.5)
    for name, table in (("old.csv", old), ("new.csv", new)):
        with open(name, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*table.values(), strict=True))
    plan = NaiveBayes(classical=True).fit(old, target="y")
    with Ledger.create("shop.ledger", plan) as ledger:
        ledger.add(old, period="2026-03-01")
        ledger.add(new, period="2026-04-01")
        expected = drift(ledger.model(until="2026-03"), ledger.model(since="2026-04")).as_dict()

    def asked(*words, code=0):
        assert main(["drift", *words, "--json", "-q"]) == code
        return json.loads(capsys.readouterr().out)

    slices = asked("shop.ledger@2026-03", "shop.ledger@2026-04", "--fail-above", "0.2", code=1)
    assert slices == json.loads(json.dumps(expected))
    assert asked("shop.ledger@..2026-03", "shop.ledger@2026-04..") == slices
    assert asked("shop.ledger", "shop.ledger")["changed"] == []
    assert main(["drift", "shop.ledger@2026-03", "shop.ledger@2026-04", "--fail-above", "0.2"]) == 1
    assert "is above 0.2" in capsys.readouterr().err
    files = asked("old.csv", "new.csv", "--target", "y")
    assert files["columns"][0]["psi"] == pytest.approx(drift(old, new, target="y").columns[0].psi)
    for words, message in (
        (("old.csv", "new.csv"), "--target COLUMN"),
        (("shop.ledger@2027", "new.csv"), "no rows"),
        (("gone.tally", "new.csv"), "No such file"),
    ):
        assert main(["drift", *words]) == 1
        assert message in capsys.readouterr().err
