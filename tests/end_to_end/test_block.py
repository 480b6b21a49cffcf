"""A block of numbers in a model of a table: saved, shown, changed, and served like any other column."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

from tallybayes import NaiveBayes, load, private, report, rows
from tallybayes.cli import main
from tallybayes.data import datasets
from tallybayes.errors import SchemaError, SettingError
from tallybayes.inspection import charts
from tallybayes.inspection.explain.by_hand import steps
from tests.blocks import with_block

NUMBERS = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
NAME = "bill_depth_mm, bill_length_mm and 2 more together"


@pytest.fixture(scope="module")
def table():
    return datasets.penguins()


@pytest.fixture(scope="module")
def fitted(table):
    return with_block(NaiveBayes(classical=True).fit(table, target="species"), table, table["species"], NUMBERS)


@pytest.fixture(scope="module")
def path(fitted, tmp_path_factory):
    fitted.save(tmp_path_factory.mktemp("block") / "penguins.tally")
    return next(tmp_path_factory.getbasetemp().glob("block*/penguins.tally"))


def row_of(table, i):
    return {name: values[i] for name, values in table.items() if name != "species"}


def test_a_saved_model_is_the_same(fitted, path):
    assert load(path).model_ == fitted.model_
    assert pickle.loads(pickle.dumps(fitted)).model_ == fitted.model_


def test_it_is_one_line_of_an_explanation(fitted, table):
    row = row_of(table, 7)
    found = fitted.explain(row)
    line = next(each for each in found.evidence if each.column == NAME)
    assert line.what == f"{NAME} = 19.6, 39.2 and 2 more"
    assert found.prior + sum(each.log_odds for each in found.evidence) == pytest.approx(found.total)
    lacking = fitted.explain({**row, "body_mass_g": None})
    assert next(each for each in lacking.evidence if each.column == NAME).log_odds == 0.0
    assert str(lacking).endswith("missing: body_mass_g")
    worked = steps(fitted.model_, rows(fitted.model_, {name: [v] for name, v in row.items()}), row)
    assert worked[-1].factors[0].startswith("(e^")
    assert sum(step.logs[0] for step in worked) == pytest.approx(
        fitted.model_.log_joint(rows(fitted.model_, {name: [v] for name, v in row.items()}))[0, 0]
    )


def test_the_command_line_shows_it(path, table, capsys):
    main(["show", str(path)])
    assert NAME in capsys.readouterr().out
    main(["explain", str(path), *(f"{name}={table[name][7]}" for name in NUMBERS)])
    assert NAME in capsys.readouterr().out


def test_charts_and_reports_are_those_of_the_columns(fitted, table):
    assert NAME not in {picture.column for picture in charts.column_pictures(fitted)}
    assert charts.nomogram(fitted).lines
    assert charts.boundary(fitted).columns[0] in NUMBERS
    assert any("and 2 more depend on each other" in str(concern) for concern in charts.concerns(fitted))
    y = table["species"]
    text = report.make(fitted, {name: v for name, v in table.items() if name != "species"}, y).html()
    assert "together" in text


def test_samples_are_those_of_the_columns(fitted):
    drawn, _ = fitted.sample(5, random_state=0)
    assert set(drawn) == set(fitted.feature_names_in_)


def test_rows_come_and_go(fitted, table):
    some, y = {name: values[:60] for name, values in table.items() if name != "species"}, table["species"][:60]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = pickle.loads(pickle.dumps(fitted)).unlearn(some, y).partial_fit(some, y)
    for name, array in fitted.model_.tally.blocks["correlation"].summary.arrays().items():
        np.testing.assert_allclose(back.model_.tally.blocks["correlation"].summary.arrays()[name], array, atol=1e-9)
    blank = fitted.model_.blank()
    np.testing.assert_allclose(
        (blank + fitted.model_).tally.blocks["correlation"].summary.product,
        fitted.model_.tally.blocks["correlation"].summary.product,
    )


def test_it_needs_all_of_its_columns(fitted):
    assert "correlation" in fitted.select([*NUMBERS, "island"]).model_.tally.blocks
    assert "correlation" not in fitted.select([*NUMBERS[1:], "island"]).model_.tally.blocks


def test_blocks_of_other_columns_do_not_add(fitted, table):
    plain = NaiveBayes(classical=True).fit(table, target="species")
    other = with_block(plain, table, table["species"], NUMBERS[:3])
    with pytest.raises(SettingError, match="read their columns differently"):
        fitted.model_ + other.model_
    one, two = (each.model_.tally for each in (fitted, other))
    with pytest.raises(SchemaError):
        one + two


def test_a_tally_alone_has_no_units_for_it(fitted):
    bounds, schema = dict.fromkeys([*NUMBERS, "year"], (0.0, 1e4)), fitted.tally_.without("block").schema
    assert "correlation" not in private(fitted.tally_, 1.0, bounds=bounds, schema=schema, seed=1).blocks
    assert "correlation" not in NaiveBayes.from_tally(fitted.tally_, classical=True).tally_.blocks


def test_the_service_scores_it(fitted, path, table):
    pytest.importorskip("fastapi", reason="the service needs the extra 'serve'")
    from starlette.testclient import TestClient

    from tallybayes.serve import create_app

    http = TestClient(create_app([path]), base_url="http://localhost:8000")
    answer = http.post("/models/penguins/predict", json={"row": row_of(table, 7)}).json()
    np.testing.assert_allclose(
        list(answer["probabilities"].values()), fitted.predict_proba([row_of(table, 7)])[0], atol=1e-12
    )
    explained = http.post("/models/penguins/explain", json={"row": row_of(table, 7)}).json()
    assert NAME in str(explained)
    assert NAME not in str(http.get("/models/penguins").json().get("columns", ""))
