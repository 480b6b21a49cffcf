"""Dates, numbers as text and tags in the exports: what the model reads, a database and the function read alike."""

from __future__ import annotations

import datetime
import json
import warnings
from typing import Any

import numpy as np
import pytest

from tallybayes import NaiveBayes
from tallybayes.errors import NotAvailableError
from tests.export.cases import Case
from tests.export.test_sql import DuckDB, Postgres, SQLite, answers

TAGS = ["drama", "crime", "film noir", "it's", "50%"]


def table(n: int, seed: int) -> tuple[dict[str, list[Any]], np.ndarray]:
    """Dates in every order, a clock, prices with a decimal comma, and tags; all with missing values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    first = datetime.datetime(1998, 12, 1)
    when = [
        first + datetime.timedelta(days=float(d), hours=float(3 * k))
        for d, k in zip(rng.uniform(0, 900, n), y, strict=True)
    ]
    price = [f"{value:,.2f} €".translate(str.maketrans(",.", ".,")) for value in rng.lognormal(6.0 + y, 1.0)]
    tags = [" | ".join(tag for tag in TAGS if rng.random() < 0.3 + 0.3 * k * (tag != "crime")) for k in y]
    zones = rng.choice(["+02:00", "Z", "-0530", ""], n)
    columns: dict[str, list[Any]] = {
        "iso": [w.isoformat(sep=" ", timespec="milliseconds") for w in when],
        "zone": [f"{w:%Y-%m-%dT%H:%M:%S}{zone}" for w, zone in zip(when, zones, strict=True)],
        "american": [f"{w:%m/%d/%Y %I:%M %p}" for w in when],
        "german": [f"{w:%d.%m.%y}" for w in when],
        "oracle": [f"{w:%d-%b-%y}".upper() for w in when],
        "named": [f"{w:%B} {w.day}, {w:%Y %I:%M %p}" for w in when],
        "clock": [f"{w:%H:%M}" for w in when],
        "price": price,
        "tags": tags,
    }
    gone = {name: [None if rng.random() < 0.05 else cell for cell in cells] for name, cells in columns.items()}
    return gone, y


@pytest.fixture(scope="module")
def case() -> Case:
    columns, y = table(400, 1)
    columns["iso"][3] = "1999-02-30"  # which there is not
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NaiveBayes().fit(columns, y)
        rows, _ = table(150, 2)
        odd = {
            "iso": ["soon", "", "1850-01-01", "2100-02-28 23:59:59.5", "2000-2-9", " 1999-12-31 "],
            "zone": ["2000-02-29T00:00:00+23:59", "Z", "2000-13-01", "2000-01-01T24:00", "1970-01-01", "x"],
            "american": ["12/31/1999 12:00 AM", "12/31/1999 12:59 pm", "13/31/1999 12:00 AM", "1/2/99 0:30", "", "/"],
            "german": ["29.02.00", "29.02.01", "1.1.68", "1.1.69", "31.4.2000", "-"],
            "oracle": ["31-DEC-99", "31-Dec-99", "30-FEB-00", "1-MAY-2000", "", "2000-01-31"],
            "named": [
                "May 1, 2000 1:30 PM",
                "Sept 1, 2000",
                "June 31, 2000",
                "1 May 2000",
                "May 5, 2000",
                "Dec 1, 1999",
            ],
            "clock": ["7:05", "23:59:59", "24:00", "noon", "07:61", ""],
            "price": ["1.234,5 €", "?", "12", "€", "", "-3,5 €"],
            "tags": ["drama", "", "drama|drama", "  crime |unknown", "film noir|", "|"],
        }
        assert {len(cells) for cells in odd.values()} == {6}
        return Case(model, {name: [*cells, *odd[name]] for name, cells in rows.items()})


@pytest.mark.parametrize("name", ["duckdb", "sqlite", "postgres"])
def test_a_database_reads_dates_numbers_and_tags_as_the_model(
    case: Case, name: str, request: pytest.FixtureRequest
) -> None:
    made: Any = {"duckdb": DuckDB, "sqlite": SQLite}.get(name)
    database = Postgres(request.getfixturevalue("postgres")) if made is None else made()
    found = np.array([row[2:] for row in answers(database, case)], dtype=float)
    np.testing.assert_allclose(found, case.expected, rtol=0, atol=1e-9)


def test_dates_that_are_stored_as_such(postgres: dict[str, Any]) -> None:
    columns, y = table(300, 3)
    when = [None if text is None else datetime.datetime.fromisoformat(text) for text in columns["iso"]]
    model = NaiveBayes().fit({"when": when}, y)
    expected = model.predict_proba({"when": when[:50]})
    database = Postgres(postgres)
    with database.connected() as connection:
        cursor = connection.cursor()
        cursor.execute('CREATE TEMPORARY TABLE stored (k INT, "when" TIMESTAMP)')
        cursor.executemany("INSERT INTO stored VALUES (%s, %s)", list(enumerate(when[:50])))
        cursor.execute(model.to_sql("stored", "postgres", keep=["k"]))
        found = np.array([row[2:] for row in sorted(cursor.fetchall())], dtype=float)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_the_function_and_json_have_the_tags(case: Case) -> None:
    made: dict[str, Any] = {}
    exec(case.estimator.to_python(), made)
    rows = [dict(zip(case.rows, cells, strict=True)) for cells in zip(*case.rows.values(), strict=True)]
    found = np.array([list(made["predict_proba"](row).values()) for row in rows])
    np.testing.assert_allclose(found, case.expected, rtol=0, atol=1e-9)
    text, tags = made["predict_proba"]({"tags": "drama|it's"}), made["predict_proba"]({"tags": ["it's", "drama", None]})
    assert text == pytest.approx(tags, rel=1e-12)
    (term,) = (each for each in json.loads(case.estimator.to_json())["terms"] if each["is"] == "text")
    assert (term["tokens"]["words"], term["tokens"]["separator"], term["binary"]) == ("tags", "|", True)


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake"])
def test_what_cannot_be_written_is_refused(case: Case, dialect: str) -> None:
    with pytest.raises(NotAvailableError, match=f"which SQL for {dialect} does not do; to_sql for duckdb, postgres"):
        case.estimator.to_sql("rows", dialect)
    with pytest.raises(NotAvailableError, match="the tags in 'tags' cannot be split in ONNX; use to_sql"):
        case.estimator.to_onnx()
    columns, y = table(100, 1)
    with pytest.raises(NotAvailableError, match=r"is read from 'clock' .* which ONNX cannot do"):
        NaiveBayes(classical=True).fit({"clock": columns["clock"]}, y).to_onnx()
