"""Columns that are read from others: numbers written as text, dates, words for missing values."""

from __future__ import annotations

import datetime
import itertools
import json
import shutil
import subprocess
import warnings
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import NaiveBayes, load
from tallybayes.core.readings import LEVELS, DatePart, NumberText
from tallybayes.data.dates import micros, micros_sql, orders, part_sql, part_values
from tallybayes.data.number_text import number_of, number_sql, number_text
from tallybayes.errors import ColumnWarning, DataError, NotAvailableError

N = 300
ROUTES = ("pandas", "polars", "dict", "csv", "parquet", "polars lazy", "duckdb")


def rows(n: int = N, form: str = "%d/%m/%Y %H:%M") -> dict[str, list[Any]]:
    """Dates and prices as people write them, and a label that depends on both."""
    rng = np.random.default_rng(3)
    when = pd.Timestamp("2013-01-01") + pd.to_timedelta(rng.integers(0, 700 * 24 * 60, n), unit="m")
    price = np.round(rng.lognormal(8, 1, n), 2)
    score = (when.day_of_week >= 5) * 1.5 + (when.hour >= 18) * 1.0 + np.log(price) - 8.5 + rng.normal(0, 0.7, n)
    written = [f"{p:,.2f} €".translate(str.maketrans(",.", ".,")) for p in price]
    written = ["n/a" if rng.random() < 0.04 else text for text in written]
    return {"when": list(when.strftime(form)), "price": written, "y": ["late" if s > 0 else "ok" for s in score]}


def routed(table: dict[str, list[Any]], route: str, path: Path) -> Any:
    frame = pl.DataFrame(table)
    if route == "csv":
        frame.write_csv(path / "rows.csv")
        return path / "rows.csv"
    if route in ("parquet", "duckdb"):
        frame.write_parquet(path / "rows.parquet")
        return path / "rows.parquet" if route == "parquet" else duckdb.read_parquet(str(path / "rows.parquet"))
    made = {"pandas": frame.to_pandas, "polars": lambda: frame, "dict": lambda: table, "polars lazy": frame.lazy}
    return made[route]()


def fitted(data: Any, **params: Any) -> NaiveBayes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return NaiveBayes(**params).fit(data, target="y")


@pytest.mark.parametrize("classical", [False, True])
def test_every_route_reads_the_same(tmp_path: Path, classical: bool) -> None:
    table = rows()
    here = fitted(table, classical=classical)
    expected = here.predict_proba(table)
    for route in ROUTES:
        there = fitted(routed(table, route, tmp_path), classical=classical)
        assert str(there.schema_) == str(here.schema_), route
        np.testing.assert_allclose(there.predict_proba(table), expected, atol=1e-9, err_msg=route)
    predictions = tmp_path / "out.csv"
    here.predict_file(routed(table, "csv", tmp_path), predictions)
    kept = pd.read_csv(predictions)
    assert kept["when"].tolist() == table["when"]  # as it was
    np.testing.assert_allclose(kept["p_ok"], expected[:, 1], atol=1e-9)


@pytest.mark.parametrize("kind", ["date", "timestamp", "zoned"])
def test_stored_dates_are_read_like_written_ones(tmp_path: Path, kind: str) -> None:
    table = rows(form="%Y-%m-%d" if kind == "date" else "%Y-%m-%dT%H:%M:00Z")
    frame = pl.DataFrame(table).drop("price")
    when = pl.col("when").str
    stored = frame.with_columns(when.to_date() if kind == "date" else when.to_datetime(time_zone="UTC"))
    stored = stored.with_columns(pl.col("when").dt.replace_time_zone(None)) if kind == "timestamp" else stored
    stored = stored.with_columns(pl.col("when").dt.convert_time_zone("Europe/Rome")) if kind == "zoned" else stored
    expected = fitted(frame).predict_proba(frame.to_pandas())
    stored.write_parquet(tmp_path / "rows.parquet")
    relation = duckdb.read_parquet(str(tmp_path / "rows.parquet"))
    for data in (stored, stored.to_pandas(), stored.to_arrow(), tmp_path / "rows.parquet", stored.lazy(), relation):
        model = fitted(data)
        np.testing.assert_allclose(model.predict_proba(stored), expected, atol=1e-9, err_msg=str(type(data)))
        np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-9, err_msg=str(type(data)))


def test_a_saved_model_reads_learns_and_unlearns(tmp_path: Path) -> None:
    table = rows()
    model = fitted(table, classical=True)
    expected = model.predict_proba(table)
    model.save(tmp_path / "m.tally")
    again = load(tmp_path / "m.tally")
    np.testing.assert_array_equal(again.predict_proba(table), expected)
    part = {name: values[:50] for name, values in table.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.partial_fit(part, target="y")
        assert again.class_count_.sum() == N + 50
        again.unlearn({k: v for k, v in part.items() if k != "y"}, part["y"])
    np.testing.assert_allclose(again.predict_proba(table), expected, atol=1e-9)


def test_a_future_date_is_no_unseen_level_and_counts_as_the_last() -> None:
    model = fitted(rows())
    days = ["31/12/2014 12:00", "31/12/2031 12:00"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnWarning)
        future = model.predict_proba({"when": days, "price": ["1.000,00 €"] * 2})
    assert np.isfinite(future).all()
    parts = model.schema_.columns[1:7]
    assert [part.name.removeprefix("when: ") for part in parts] == ["year", "month", "day", "weekday", "hour", "days"]
    assert all(part.parent == "when" for part in parts)
    last = part_values(np.array([micros(day, "dmy") for day in days]), parts[-1].reading.date).numbers(0, 2)
    assert last[1] == parts[-1].reading.date.high - parts[-1].reading.date.low


def test_values_that_cannot_be_read_are_missing_with_a_warning() -> None:
    with pytest.warns(ColumnWarning, match="of column 'price', such as 'n/a', are no number"):
        model = NaiveBayes().fit(rows(), target="y")
    assert "written as text" in model.schema_.columns[-1].reason or "written as text" in str(model.schema_)
    with pytest.warns(ColumnWarning, match="1 value of column 'price', such as 'much', is no number"):
        model.predict_proba({"when": ["01/02/2013 10:00"], "price": ["much"]})


def test_ambiguous_dates_ask() -> None:
    days = itertools.product(range(1, 13), range(1, 13))
    table = {"when": [f"{d:02}/{m:02}/2013" for d, m in days], "y": ["a", "b"] * 72}
    with pytest.raises(DataError, match="dates='dmy' or dates='mdy'"):
        fitted(table)
    european, american = (fitted(table, dates=order) for order in ("dmy", "mdy"))
    assert "day first" in str(european.schema_)
    assert "month first" in str(american.schema_)
    assert fitted(table, drop=["when"]).schema_.columns[0].kind == "ignored"


def test_seconds_since_1970_only_on_request() -> None:
    rng = np.random.default_rng(0)
    seconds = (1_357_000_000 + rng.integers(0, 10**8, 200)).tolist()
    table = {"t": seconds, "y": ["a", "b"] * 100}
    assert fitted(table).schema_.columns[0].kind == "numeric"
    model = fitted(table, kind={"t": "epoch"})
    assert model.schema_.columns[0].kind == "date"
    assert [c.name for c in model.schema_.columns if c.parent][:2] == ["t: year", "t: month"]
    model.predict_proba({"t": seconds[:3]})


def test_given_words_for_missing_values(tmp_path: Path) -> None:
    table = {"x": [1.0, 2.0, 999.0, 4.0] * 20, "c": ["u", "v", "?", "u"] * 20, "y": ["a", "b", "a", "b"] * 20}
    for route in ROUTES:
        model = fitted(routed(table, route, tmp_path), missing_values=["?", 999], classical=True)
        assert [c.n_cells for c in model.schema_.columns] == [1, 2], route
        assert "to 4" in model.schema_.columns[0].reason, route
        missing = model.predict_proba({"x": [None], "c": [None]})
        np.testing.assert_allclose(model.predict_proba({"x": [999.0], "c": ["?"]}), missing, err_msg=route)
    by_column = fitted(table, missing_values={"x": [999]})
    assert by_column.schema_.columns[1].n_cells == 3


def test_a_given_decimal_mark(tmp_path: Path) -> None:
    table = {"x": ["1.234", "2.500", "3.750", "12.125"] * 10, "y": ["a", "b"] * 20}
    for route in ("csv", "dict", "parquet"):
        data = routed(table, route, tmp_path)
        assert "1.234 to 12.125" in fitted(data, classical=True).schema_.columns[0].reason, route
        model = fitted(data, classical=True, decimal=",")
        assert "1234 to 12125" in model.schema_.columns[0].reason, route
        again = model.predict_proba({"x": ["1.234"]})
        np.testing.assert_allclose(again, model.predict_proba({"x": [1234.0]}), err_msg=route)


FORMS = ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y %I:%M %p", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y %H:%M:%S", "%Y/%m/%d %H:%M")
PARTS = ("µs", "year", "month", "day", "weekday", "hour", "days")


@settings(max_examples=40, deadline=None)
@given(
    st.datetimes(datetime.datetime(1902, 1, 1), datetime.datetime(2200, 1, 1)),
    st.sampled_from(FORMS),
)
def test_python_and_duckdb_read_the_same_dates(when: datetime.datetime, form: str) -> None:
    text = when.strftime(form)
    order = {"%Y": "ymd", "%d": "dmy", "%m": "mdy"}[form[:2]]
    expected = datetime.datetime.strptime(text, form)
    found = micros(text, order)  # type: ignore[arg-type]
    assert found == (expected.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1)
    parts = [DatePart(part, order) for part in PARTS]  # type: ignore[arg-type]
    sql = ", ".join(part_sql("w", part)[0] for part in parts)
    (row,) = duckdb.execute(f"SELECT {sql} FROM (SELECT ? AS w)", [text]).fetchall()
    here = [part_values(np.array([found]), part).value(0) for part in parts]
    assert list(row) == here
    assert here[4] == LEVELS["weekday"][expected.weekday()]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "30/02/2013",
        "1/1/1",
        "2013-01-05 25:00",
        "2013-01-05T08:30+02:00",
        "5/1/13 8:30 PM",
        "2013-1-5 13:00 PM",
    ],
)
def test_python_and_duckdb_refuse_the_same(text: str) -> None:
    for order in ("ymd", "dmy", "mdy"):
        (row,) = duckdb.execute(f"SELECT {micros_sql('w', order)} FROM (SELECT ? AS w)", [text]).fetchall()
        found = micros(text, order)
        assert row[0] == (None if np.isnan(found) else found), order


@settings(max_examples=40, deadline=None)
@given(st.text(st.sampled_from("0123456789.,+-eE €%"), max_size=12))
def test_python_and_duckdb_read_the_same_numbers(text: str) -> None:
    how = NumberText(((" €", ""), (".", ""), (",", ".")))
    (row,) = duckdb.execute(f"SELECT {number_sql('w', how)} FROM (SELECT ? AS w)", [text]).fetchall()
    found = number_of(text, how)
    if np.isinf(found):  # beyond all floats
        return
    assert row[0] == (None if np.isnan(found) else found)


READ: dict[str, tuple[list[str], list[float]]] = {
    "decimal comma": (["1,5", "2,75"], [1.5, 2.75]),
    "thousands": (["1,234.5", "12.0"], [1234.5, 12.0]),
    "european": (["1.234,5", "12,0"], [1234.5, 12.0]),
    "swiss": (["1'234.50", "12.10"], [1234.5, 12.1]),
    "spaces": (["1 234,5", "12,0"], [1234.5, 12.0]),
    "thousands only": (["1,234", "12,500"], [1234.0, 12500.0]),
    "a zero before the comma": (["0,125", "0,250"], [0.125, 0.25]),
    "dollars": (["$1,234.50", "-$5.00"], [1234.5, -5.0]),
    "percent": (["12%", "3.5 %"], [12.0, 3.5]),
    "unit": (["12 km", "3.5 km"], [12.0, 3.5]),
    "exponents": (["1e3", "2.5E-1"], [1000.0, 0.25]),
    "minus": (["−5", "3"], [-5.0, 3.0]),
    "codes": (["5", "n/a", "?", "-", "Unknown"], [5.0, *[np.nan] * 4]),
}


@pytest.mark.parametrize("name", READ)
def test_numbers_in_disguise(name: str) -> None:
    texts, expected = READ[name]
    how = number_text(texts)
    assert how is not None
    np.testing.assert_array_equal([number_of(text, how) for text in texts], expected)


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "012"],
        ["12", "13"],
        ["A1", "B2"],
        ["12 km", "500 m"],
        ["10-20", "20-30"],
        ["1.2.3", "1.2.4"],
        ["1st", "2nd"],
    ],
)
def test_what_is_no_number(texts: list[str]) -> None:
    assert number_text(texts) is None


def test_orders_of_dates() -> None:
    assert orders(["2013-01-05"]) == ["ymd"]
    assert orders(["13/01/2013", "01/01/2013"]) == ["dmy"]
    assert orders(["01/13/2013", "01/01/2013"]) == ["mdy"]
    assert orders(["08:30", "17:05"]) == ["hms"]
    assert orders(["a", "b"]) == []


def test_exports_read_or_refuse() -> None:
    table = rows()
    model = fitted(table)
    some = {name: values[:40] for name, values in table.items() if name != "y"}
    some["when"][0], some["price"][1] = None, None
    expected = model.predict_proba(some)
    dicts = [dict(zip(some, row, strict=True)) for row in zip(*some.values(), strict=True)]
    scope: dict[str, Any] = {}
    exec(model.to_python(), scope)
    found = [list(scope["predict_proba"](row).values()) for row in dicts]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    rows_ = pd.DataFrame(some)  # noqa: F841  # which DuckDB finds
    query = model.to_sql("rows_", keep=[])
    np.testing.assert_allclose(duckdb.sql(query).df()[["p_late", "p_ok"]], expected, atol=1e-9)
    with pytest.raises(NotAvailableError, match=r"'when: \w+'|'when'|'price'"):
        model.to_sql("rows_", dialect="bigquery")
    with pytest.raises(NotAvailableError, match=r"'when: \w+'|'when'|'price'"):
        model.to_onnx()
    if shutil.which("node"):
        code = (
            "const {scorer} = require(process.argv[1]);"
            "const {record, rows} = JSON.parse(require('fs').readFileSync(0));"
            "console.log(JSON.stringify(rows.map((row) => scorer(record).score(row).probabilities)))"
        )
        scorer = str(files("tallybayes") / "report" / "scorer.js")
        given_ = json.dumps({"record": json.loads(model.to_json()), "rows": dicts})
        run = subprocess.run(["node", "-e", code, scorer], input=given_, capture_output=True, text=True, check=True)
        np.testing.assert_allclose(json.loads(run.stdout), expected, atol=1e-9)


def test_dates_before_all_others_explain_themselves() -> None:
    model = fitted(rows())
    shown = str(model.explain({"when": "05/01/2013 20:00", "price": "9.000,00 €"}))
    assert "when: hour = 20" in shown
    assert "price = 9000" in shown


def test_ordered_levels_smooth_their_neighbours_on_every_route(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    sizes = ["tiny", "low", "medium", "high", "huge"]
    size = rng.integers(0, 5, 400)
    y = np.where(size + rng.normal(0, 1.5, 400) > 2, "b", "a")
    table = {"size": [sizes[s] for s in size], "y": y.tolist()}
    given_ = fitted(table, kind={"size": sizes})
    (column,) = [c for c in given_.schema_.columns if c.kind == "category"]
    assert (column.levels, column.order) == (tuple(sizes), "line")
    assert "ordered" in given_.model_.tally.blocks
    expected = given_.predict_proba(table)
    for route in ROUTES:
        there = fitted(routed(table, route, tmp_path), kind={"size": sizes})
        np.testing.assert_allclose(there.predict_proba(table), expected, atol=1e-9, err_msg=route)
    ordered = pd.DataFrame(table).astype({"size": pd.CategoricalDtype(sizes, ordered=True)})
    stored = pl.DataFrame(table).with_columns(pl.col("size").cast(pl.Enum(sizes)))
    for frame in (ordered, stored):
        model = fitted(frame)
        assert model.schema_.columns[0].order == "line"
        np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-9)
    with pytest.raises(DataError, match="'huge', which is not among"):
        fitted(table, kind={"size": sizes[:4]})
    model = (
        NaiveBayes(kind={"size": sizes}).partial_fit({"size": ["low"]}, ["a"]).partial_fit({"size": ["none"]}, ["b"])
    )
    assert model.schema_.columns[0].levels == (*sizes, "none")


def test_a_given_encoding_and_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "towns.csv"
    path.write_bytes("town:n|x:y\nŁódź:1:a\nGdańsk:2:b\n".encode("cp1250"))
    model = fitted(path, classical=True, encoding="cp1250", delimiter=":")
    assert model.schema_.columns[0].levels == ("Gdańsk", "Łódź")
    assert model.schema_.names == ("town", "n|x")
    assert fitted(path, classical=True, encoding="latin-1", delimiter=":").schema_.columns[0].levels != (
        "Gdańsk",
        "Łódź",
    )


def test_times_of_a_day_are_read_alike_written_or_stored(tmp_path: Path) -> None:
    clock = [datetime.time(i * 7 % 24, i * 11 % 60) for i in range(60)]
    label = ["p" if time.hour * 60 + time.minute > 700 else "q" for time in clock]
    stored = pl.DataFrame({"at": clock, "none": pl.Series([None] * 60, dtype=pl.Null), "y": label})
    stored.write_parquet(tmp_path / "rows.parquet")
    text = {"at": [time.isoformat("minutes") for time in clock], "none": [None] * 60, "y": label}
    tables = [stored, stored.lazy(), stored.to_pandas(), str(tmp_path / "rows.parquet"), text]
    relation = duckdb.sql(f"SELECT * FROM '{tmp_path / 'rows.parquet'}'")
    reasons = {str(NaiveBayes(classical=True).fit(table, target="y").schema_) for table in [*tables, relation]}
    assert len(reasons) == 1
    assert "times of a day; as hour, minutes" in reasons.pop()


def test_nanoseconds_with_a_zone_are_read_from_parquet(tmp_path: Path) -> None:
    when = pd.to_datetime(rows()["when"], format="%d/%m/%Y %H:%M").tz_localize("Europe/Berlin", ambiguous=True)
    frame = pd.DataFrame({"when": when.as_unit("ns"), "y": rows()["y"]})
    frame.to_parquet(tmp_path / "rows.parquet")
    expected = NaiveBayes(classical=True).fit(frame, target="y").predict_proba(frame)
    for table in (str(tmp_path / "rows.parquet"), duckdb.sql(f"SELECT * FROM '{tmp_path / 'rows.parquet'}'")):
        found = NaiveBayes(classical=True).fit(table, target="y").predict_proba(frame)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_milliseconds_since_1970_are_recognised() -> None:
    seconds = [1_700_000_000 + 40_000 * i for i in range(40)]
    label = ["p", "q"] * 20
    tables = [{"t": seconds, "y": label}, {"t": [1000 * s for s in seconds], "y": label}]
    models = [fitted(table, classical=True, kind={"t": "epoch"}) for table in tables]
    assert "as milliseconds since 1970" in str(models[1].schema_)
    expected = models[0].predict_proba({"t": seconds})
    np.testing.assert_allclose(models[1].predict_proba(tables[1]), expected, rtol=0, atol=1e-9)
    scope: dict[str, Any] = {}
    exec(models[1].to_python(), scope)
    found = [list(scope["predict_proba"]({"t": t}).values()) for t in tables[1]["t"]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
