"""The model as one SQL query, run for real on DuckDB, SQLite and PostgreSQL."""

import sqlite3
from contextlib import closing
from importlib.util import find_spec

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import NaiveBayes
from tallybayes.errors import SettingError
from tallybayes.export.dialects import DIALECTS
from tests.export.cases import CASES, Case
from tests.servers import needed

KEY = "row;number"
TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE PRECISION", str: "TEXT"}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def type_of(values):
    kinds = {type(value) for value in values if value is not None}
    return TYPES[next(iter(kinds))] if len(kinds) == 1 else TYPES[float]


class DuckDB:
    dialect = "duckdb"

    def ask(self, columns, sql):
        rows = pa.table(columns)  # noqa: F841  DuckDB finds it by its name
        with duckdb.connect() as connection:
            return connection.execute(sql("rows")).fetchall()


class Database:
    """SQLite and PostgreSQL: a table is made, filled and asked."""

    def ask(self, columns, sql):
        with self.connected() as connection:
            cursor = connection.cursor()
            defined = ", ".join(f"{quoted(name)} {type_of(values)}" for name, values in columns.items())
            cursor.execute(f'CREATE TEMPORARY TABLE "ro""ws" ({defined})')
            marks = ", ".join([self.placeholder] * len(columns))
            cursor.executemany(f'INSERT INTO "ro""ws" VALUES ({marks})', list(zip(*columns.values(), strict=True)))
            cursor.execute(sql('ro"ws'))
            return cursor.fetchall()


class SQLite(Database):
    dialect, placeholder = "sqlite", "?"

    def connected(self):
        return closing(sqlite3.connect(":memory:"))


class Postgres(Database):
    dialect, placeholder = "postgres", "%s"

    def __init__(self, parameters):
        self.parameters = parameters

    def connected(self):
        import psycopg

        return closing(psycopg.connect(**self.parameters))


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def database(request):
    if request.param == "postgres":
        return Postgres(request.getfixturevalue("postgres"))
    return {"duckdb": DuckDB, "sqlite": SQLite}[request.param]()


def answers(database, case, **options):
    """Key, prediction and probabilities of each row, in the order of the rows."""
    columns = {KEY: list(range(len(case.expected))), **case.rows}
    found = database.ask(columns, lambda table: case.estimator.to_sql(table, database.dialect, keep=[KEY], **options))
    assert len(found) == len(case.expected)
    return sorted(found)


@pytest.mark.parametrize("name", CASES)
def test_the_database_answers_as_the_model(name, database):
    case = CASES[name]()
    found = answers(database, case)
    np.testing.assert_allclose(np.array([row[2:] for row in found], float), case.expected, rtol=0, atol=1e-9)
    clear = np.diff(np.sort(case.expected, axis=1)[:, -2:], axis=1)[:, 0] > 1e-9
    expected = case.estimator.classes_[case.expected.argmax(axis=1)]
    assert np.array([row[1] for row in found], object)[clear].tolist() == expected[clear].tolist()


def test_a_long_list_of_levels_is_joined(database):
    rng = np.random.default_rng(0)
    zips = [f"z'{z}\\" for z in rng.integers(0, 300, 3000)]
    model = NaiveBayes(classical=True).fit({"zip": zips, "v": zips}, rng.integers(0, 2, 3000))
    case = Case(model, {"zip": [*zips[:50], "nowhere", None], "v": [None, *zips[:51]]})
    assert "JOIN" in model.to_sql("t", database.dialect)
    np.testing.assert_allclose(np.array([r[2:] for r in answers(database, case)], float), case.expected, atol=1e-9)


def test_numbers_far_out_and_forbidden_rows(database):
    table = {"x": [1.0, 2.0, 3.0, 7.0, 8.0, 10.0], "c": ["a", "a", "b", "c", "c", "c"]}
    model = NaiveBayes(classical=True, alpha=0).fit(table, ["no", "no", "no", "yes", "yes", "yes"])
    rows = {"x": [2.0, 1e30, -1e30, None, 1e-300, 8.0, 1e180], "c": ["c", "a", "c", None, "b", "zzz", None]}
    case = Case(model, rows)
    np.testing.assert_allclose(np.array([r[2:] for r in answers(database, case)], float), case.expected, atol=1e-9)


def test_without_probabilities_only_the_prediction_is_answered(database):
    case = CASES["classical"]()
    assert [row[:2] for row in answers(database, case)] == answers(database, case, proba=False)


TEXT = st.text(
    st.one_of(st.sampled_from("'\"`\\;-/*%_$?{}[]\n\r\t \u2028é🦉\0"), st.characters(exclude_categories=["Cs"])),
    max_size=12,
)


@settings(max_examples=40)
@given(st.lists(TEXT, min_size=2, max_size=6, unique=True), TEXT.filter(lambda t: t.strip() and "\0" not in t))
def test_texts_of_any_kind_are_quoted(database_of, levels, name):
    name = name[:20]
    if name.lower() in ("prediction", KEY, "row;number"):
        name = f"{name}2"
    rows = [*levels, *levels[:1] * 3, "other"]
    labels = ["it's", 'a "label"; --'] * len(rows)
    model = NaiveBayes(classical=True, kind={name: "category"}).fit({name: rows}, labels[: len(rows)])
    for database in database_of:
        able = [r for r in rows if not (database.dialect == "postgres" and "\0" in r)]
        case = Case(model, {name: [*able, None]})
        found = answers(database, case)
        np.testing.assert_allclose(np.array([r[2:] for r in found], float), case.expected, atol=1e-9)
        assert {row[1] for row in found} <= set(labels)


@pytest.fixture(scope="module")
def database_of(postgres):
    return [DuckDB(), SQLite(), Postgres(postgres)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_query_is_one_select_of_its_dialect(dialect):
    needed("sqlglot", find_spec("sqlglot"))
    import sqlglot

    for case in CASES.values():
        sql = case().estimator.to_sql(("some schema", "ta`ble"), dialect)
        parsed = sqlglot.parse(sql, read=dialect)
        assert len(parsed) == 1
        assert type(parsed[0]).__name__ == "Select"
        names = [column.alias_or_name for column in parsed[0].selects]
        assert names[-1] == f"p_{case().estimator.classes_[-1]}"


@pytest.mark.parametrize("dialect", ["spark", "bigquery", "snowflake"])
def test_texts_are_read_back_by_other_dialects(dialect):
    needed("sqlglot", find_spec("sqlglot"))
    import sqlglot

    nasty = ["it's", "back\\slash", "\\'; DROP TABLE x; --", "new\nline", "🦉", '"', "`"]
    for text in nasty:
        parsed = sqlglot.parse_one(f"SELECT {DIALECTS[dialect].literal(text)}", read=dialect)
        assert parsed.selects[0].this == text


def test_bad_requests_are_refused():
    model = CASES["classical"]().estimator
    with pytest.raises(SettingError, match="duckdb, postgres, sqlite, spark, bigquery, snowflake, not 'oracle'"):
        model.to_sql("t", "oracle")
    with pytest.raises(SettingError, match="'prediction' already"):
        model.to_sql("t", keep=["prediction"])
    with pytest.raises(SettingError, match="character zero"):
        model.to_sql("t\0")


def test_columns_of_the_table_may_be_called_like_those_of_the_query(database):
    table = {"tb_x0": [1.0, 2.0, 3.0, 7.0], "tb1_s0": ["a", "b", "a", "b"]}
    model = NaiveBayes(classical=True).fit(table, [0, 0, 1, 1])
    case = Case(model, table)
    np.testing.assert_allclose(np.array([r[2:] for r in answers(database, case)], float), case.expected, atol=1e-9)


NAMES = [
    "x",
    "NULL",
    "true",
    "rowid",
    "select",
    "tb_x0",
    "tb_given",
    "a.b",
    "x y",
    "p'q",
    "a",
    "ü",
    "X1",
    'qu"ote',
    "1",
]


@pytest.mark.parametrize("seed", range(30))
def test_names_are_never_read_as_texts(seed):
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.choice(NAMES, size=4, replace=False)]
    n, table = 40, {}
    for name in names:  # levels that are names, too
        texts = rng.choice([*NAMES, None], size=n).tolist()
        table[name] = texts if rng.random() < 0.6 else rng.normal(size=n).round(3).tolist()
    labels = rng.choice(["yes", "no"], size=n).tolist()
    model = NaiveBayes(classical=True, kind={name: "category" for name in names if isinstance(table[name][0], str)})
    model.fit(table, labels)
    used = [c.name for c in model.schema_.columns if c.kind != "ignored"]
    sql = model.to_sql
    for engine in (SQLite(), DuckDB()):
        if isinstance(engine, DuckDB) and len({name.lower() for name in names}) < 4:
            continue
        found = engine.ask({**table, KEY: list(range(n))}, lambda t, e=engine: sql(t, dialect=e.dialect, keep=[KEY]))
        got = np.array([row[2:] for row in sorted(found, key=lambda row: row[0])])
        np.testing.assert_allclose(got, model.predict_proba(table), rtol=1e-9)
    for lost in used:
        left = {name: values for name, values in table.items() if name != lost and name.lower() != "rowid"}
        if lost.lower() == "rowid" or not left:
            continue
        with pytest.raises(sqlite3.OperationalError, match="no such column"):
            SQLite().ask({**left, KEY: list(range(n))}, lambda t: sql(t, dialect="sqlite", keep=[KEY]))
