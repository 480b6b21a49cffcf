"""The service: reason codes with predictions, and drift of what was served, of which no row is kept."""

import os

import numpy as np
import pytest

if os.environ.get("CI") != "true":
    for _name in ("fastapi", "orjson", "httpx2"):
        pytest.importorskip(_name, reason="the service needs the extra 'serve'")

from tallybayes import NaiveBayes, drift
from tests.inspection.test_drift import rows
from tests.serve.test_app import client


@pytest.fixture(scope="module")
def fitted():
    return NaiveBayes(family={"x": "binned"}, weights=None, max_pairs=0).fit(rows(500, 0), target="y")


@pytest.fixture
def path(fitted, tmp_path):
    fitted.save(tmp_path / "rows.tally")
    return tmp_path / "rows.tally"


def test_reason_codes(path, fitted):
    table = {name: values[:5] for name, values in rows(50, 1).items() if name != "y"}
    asked = {"reasons": 2, "reference": "best", "groups": {"time": ["wait"]}, "label": "yes"}
    found = client(path).post("/models/rows/predict", json={"columns": table, **asked}).json()["reasons"]
    expected = fitted.reasons(table, most=2, reference="best", groups={"time": ["wait"]}, label="yes")
    for mine, theirs in zip(found, expected, strict=True):
        assert [each["reason"] for each in mine] == [each.name for each in theirs]
        np.testing.assert_allclose([each["loss"] for each in mine], [each.loss for each in theirs], atol=1e-9)
    row = {name: values[0] for name, values in table.items()}
    one = client(path).post("/models/rows/predict", json={"row": row, "reasons": 2, "reference": row}).json()
    assert one["reasons"] == []
    many = client(path).post("/models/rows/predict", json={"rows": [row] * 1000, "reasons": 10**15})
    assert many.status_code == 200  # no more are made than there are columns
    for body in ({"reasons": 0}, {"reasons": "two"}, {"groups": {"a": ["x"]}}, {"reasons": 1, "groups": {"a": "x"}}):
        assert client(path).post("/models/rows/predict", json={"row": row, **body}).status_code == 422


def test_drift_of_what_was_served(path, fitted):
    table = {name: values for name, values in rows(200, 2, shift=1.5).items() if name != "y"}
    api = client(path, drift=True)
    assert api.get("/models/rows/drift").status_code == 422  # nothing was served
    half = {name: values[:100] for name, values in table.items()}
    api.post("/models/rows/predict", json={"columns": half})
    lines = [",".join(table)]
    for values in zip(*(table[name][100:] for name in table), strict=True):
        lines.append(",".join("" if v is None else str(v) for v in values))
    answer = api.post("/models/rows/predict", content="\n".join(lines), headers={"Content-Type": "text/csv"})
    assert answer.status_code == 200
    found = api.get("/models/rows/drift").json()
    expected = drift(fitted, table)
    assert found["served"] == 200
    assert found["refused"] == 0
    assert found["largest"] == pytest.approx(expected.largest)
    assert found["changed"] == list(expected.changed)
    assert found["columns"][0]["name"] == "x"


def test_nothing_is_counted_unless_asked_for(path):
    api = client(path)
    assert api.get("/models/rows/drift").status_code == 404


def test_what_rows_hold_does_not_fill_the_memory_of_the_service(path):
    api = client(path, drift=True)
    api.post("/models/rows/predict", json={"columns": {"x": [1.0, 2.0], "c": ["a", "b"]}})
    for number in range(3):
        levels = [f"{number} {i} {'y' * 45_000}" for i in range(100)]
        assert api.post("/models/rows/predict", json={"columns": {"c": levels}}).status_code == 200
    assert api.post("/models/rows/predict", json={"columns": {"c": [*map(str, range(11_000))]}}).status_code == 200
    found = api.get("/models/rows/drift")
    assert (found.json()["served"], found.json()["refused"]) == (2, 11_300)
    assert len(found.content) < 100_000


def test_labels_that_are_identifiers_are_not_learned(path):
    api = client(path, learn=True, token="t")
    body = {"columns": {"x": [0.0] * 200}, "labels": [f"id {i}" for i in range(200)]}
    found = api.post("/models/rows/update", json=body, headers={"Authorization": "Bearer t"})
    assert found.status_code == 422
    assert "200 new classes" in found.json()["detail"]
