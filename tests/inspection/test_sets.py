"""Prediction sets are the same from Python, the command line, the service and SQL, and after saving and loading."""

import json

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import tallybayes
from tallybayes import GaussianNB, NaiveBayes, datasets
from tallybayes.cli import main
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.serve import operations

ROWS = 40


@pytest.fixture(scope="module")
def penguins():
    return datasets.penguins()


@pytest.fixture(scope="module")
def model(penguins):
    few = {name: values for name, values in penguins.items() if name in ("island", "body_mass_g", "sex", "species")}
    return NaiveBayes().fit(few, target="species")


@pytest.fixture(scope="module")
def new(penguins):
    return {name: list(penguins[name][::8][:ROWS]) for name in ("island", "body_mass_g", "sex")}


@pytest.mark.parametrize("coverage", [0.7, 0.95])
def test_every_interface_gives_the_same_sets(model, new, coverage, tmp_path):
    expected = list(model.predict_set(new, coverage))
    assert {len(each) for each in expected} > {1}
    model.save(tmp_path / "m.tally")
    assert list(tallybayes.load(tmp_path / "m.tally").predict_set(new, coverage)) == expected

    rows = pa.table(new)
    pyarrow.csv.write_csv(rows, tmp_path / "new.csv")
    out = tmp_path / "out.csv"
    main(
        [
            "predict",
            str(tmp_path / "m.tally"),
            str(tmp_path / "new.csv"),
            "-o",
            str(out),
            "--coverage",
            str(coverage),
            "-q",
        ]
    )
    written = pyarrow.csv.read_csv(out, convert_options=pyarrow.csv.ConvertOptions(column_types={"set": pa.string()}))
    assert written.column("set").to_pylist() == ["|".join(each) for each in expected]

    answer = operations.predict(model.model_, {"columns": new, "coverage": coverage}, 1000)
    assert answer["sets"] == [list(each) for each in expected]
    one = {name: values[0] for name, values in new.items()}
    assert operations.predict(model.model_, {"row": one, "coverage": coverage}, 1)["set"] == list(expected[0])

    for proba in (True, False):
        query = model.to_sql("rows", keep=[], proba=proba, coverage=coverage)
        found = duckdb.sql(query).fetchall()
        flags = [tuple(label for label, flag in zip(model.classes_, row[-3:], strict=True) if flag) for row in found]
        assert sorted(flags) == sorted(expected)


def test_the_stored_evaluation_shows_coverage_and_size(model, capsys):
    sets = model.evaluation_.sets
    assert sets.covered == pytest.approx(0.9, abs=0.01)
    assert 1 <= sets.size < 3
    assert "coverage of 90% sets" in str(model.evaluation_)
    assert json.loads(json.dumps(model.evaluation_.as_dict()))["sets"]["size"] == sets.size


def test_a_textbook_model_takes_an_evaluation():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=900)
    X = rng.normal(size=(900, 2)) + 1.2 * y[:, None]
    model = GaussianNB().fit(X[:600], y[:600])
    with pytest.raises(NotAvailableError, match="evaluate it"):
        model.predict_set(X)
    for seen in (model.evaluate(X[:600], y[:600]), model.evaluate(X[600:750], y[600:750])):
        sets = model.predict_set(X[750:], 0.9, evaluation=seen)
        assert np.asarray(sets)[np.arange(150), y[750:]].mean() == pytest.approx(0.9, abs=0.08)
    with pytest.raises(NotAvailableError, match="evaluate it"):
        NaiveBayes().fit(X, y).with_prior("uniform").predict_set(X)  # measured under another prior


def test_what_is_no_coverage_is_refused_everywhere(model, new, tmp_path, capsys):
    with pytest.raises(SettingError, match="between 0 and 1"):
        model.predict_set(new, 90)
    with pytest.raises(SettingError, match="between 0 and 1"):
        model.to_sql("rows", coverage=1.0)
    with pytest.raises(SettingError, match="between 0 and 1"):
        operations.predict(model.model_, {"columns": new, "coverage": "most"}, 1000)
    model.save(tmp_path / "m.tally")
    pyarrow.csv.write_csv(pa.table(new), tmp_path / "new.csv")
    code = main(
        [
            "predict",
            str(tmp_path / "m.tally"),
            str(tmp_path / "new.csv"),
            "-o",
            str(tmp_path / "o.csv"),
            "--coverage",
            "90",
        ]
    )
    assert code == 2 or code == 1
    assert "between 0 and 1" in capsys.readouterr().err
    assert not (tmp_path / "o.csv").exists()


def test_classes_that_came_later_are_refused_with_the_reason(model, new):
    from sklearn.base import clone

    other = clone(model).fit({**new, "species": ["a", "b"] * (ROWS // 2)}, target="species")
    with pytest.raises(tallybayes.errors.SchemaError, match="the evaluation is of the classes"):
        model.predict_set(new, evaluation=other.evaluation_)
