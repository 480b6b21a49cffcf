"""Tables in engines that are not as one would like: odd names and types, empty and uneven parts, and much of it."""

import datetime
import decimal
import itertools
import threading
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tallybayes
import tallybayes.learning.learn as learning
from tallybayes import NaiveBayes
from tallybayes.data.opening import open_source
from tallybayes.errors import DataError
from tests.engines import LAZY, Engines
from tests.laws.test_sources import same

pytestmark = pytest.mark.filterwarnings(  # of the engines
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning", "ignore::UserWarning"
)
N = 60
NAMED = {
    "a.b": [float(i % 7) for i in range(N)],
    "with space": [("x", "y z", "`q`")[i % 3] for i in range(N)],
    "back`tick": [i % 5 for i in range(N)],
    'quo"te': [i % 2 == 0 for i in range(N)],
    "select": [("u", "v")[i % 2] for i in range(N)],
    "{x}": [i % 4 / 2 for i in range(N)],
    "%s": [("m", "n", "o")[i % 3] for i in range(N)],
    "Ä ö; --": [i * 0.5 for i in range(N)],
    "the label": [("no", "it's", "a.b")[i % 3] for i in range(N)],
}
TYPED = {
    "money": [decimal.Decimal(i % 9) / 4 for i in range(N)],
    "when": [datetime.datetime(2020, 1, 1 + i % 9, 3) for i in range(N)],
    "day": [datetime.date(2020, 1, 1 + i % 9) for i in range(N)],
}
SERVERS = ("postgres", "dask", "spark")


def engines(columns, tmp_path, request):
    return Engines(pl.DataFrame(columns), tmp_path, request)


def typed(table, name):
    """The table in an engine. Dask turns columns of Python objects to text before we see them, but not Arrow's."""
    if name != "dask":
        return table[name]
    assert table[name] is not None  # the cluster
    import dask.dataframe as dd

    return dd.from_pandas(table.frame.to_pandas(use_pyarrow_extension_array=True), npartitions=4)


@pytest.mark.parametrize("name", LAZY)
def test_names_are_names_whatever_is_in_them(name, tmp_path, request):
    # Ibis cannot make a table in PostgreSQL whose column is a placeholder of its driver.
    table = engines({key: NAMED[key] for key in NAMED if name != "postgres" or key != "%s"}, tmp_path, request)
    options = {"target": "the label", "missing": "level"}
    same(tallybayes.tally(table[name], **options), tallybayes.tally(table["polars"], **options), 1e-9)
    others = [key for key in table.frame.columns if key not in ("with space", "the label")]
    texts = {"kind": {"with space": "text"}, "drop": others}
    same(*(tallybayes.tally(table[which], **options, **texts) for which in (name, "polars")), 1e-9)


@pytest.mark.parametrize("name", [name for name in LAZY if name != "ibis sqlite"])  # which has neither type
def test_decimals_are_numbers_and_timestamps_are_no_error(name, tmp_path, request):
    table = engines({**TYPED, "label": NAMED["the label"]}, tmp_path, request)
    dates = ["when", "day"]
    want, got = (tallybayes.tally(typed(table, which), target="label", drop=dates) for which in ("polars", name))
    same(got, want, 1e-9)
    assert got.schema.columns[0].kind == "numeric"
    assert tallybayes.tally(typed(table, name), target="label").class_weight.tolist() == [20, 20, 20]


@pytest.mark.parametrize("name", [name for name in LAZY if name != "ibis sqlite"])
@pytest.mark.parametrize("nested", [[[1, 2], [3]], [{"a": 1}, {"a": 2}]], ids=["lists", "records"])
def test_nested_columns_are_an_error_that_names_them(name, nested, tmp_path, request):
    if name == "postgres" and isinstance(nested[0], dict):
        pytest.skip("Ibis cannot make such a table in PostgreSQL")
    frame = {"bag": nested * 10, "x": [1.0, 2.0] * 10, "y": ["a", "b"] * 10}
    table = typed(engines(frame, tmp_path, request), name)
    with pytest.raises(DataError, match="'bag' holds"):
        tallybayes.tally(table, target="y")
    assert tallybayes.tally(table, target="y", drop=["bag"]).class_weight.tolist() == [10, 10]


DATED = {
    "when": [None if i % 17 == 0 else f"{1 + i % 28}/{1 + i % 12}/20{10 + i % 9} {i % 24}:05" for i in range(120)],
    "price": [None if i % 19 == 0 else f"{i},{i % 10} €" for i in range(120)],
    "topics": [
        None if i % 13 == 0 else [("sea", "war", "a|b")[j] for j in range(3) if i % (j + 2)] for i in range(120)
    ],
    "label": [("no", "yes")[(i % 24) // 12] for i in range(120)],
}


@pytest.mark.parametrize("name", LAZY)
def test_dates_numbers_as_text_and_lists_of_tags(name, tmp_path, request):
    lists = name not in ("ibis sqlite", "dask")  # which have no lists
    table = engines({key: cells for key, cells in DATED.items() if lists or key != "topics"}, tmp_path, request)
    is_ibis = name in ("ibis duckdb", "ibis sqlite", "postgres")
    options = {"target": "label", "drop": ["when", "price"] if is_ibis else []}
    want, got = (tallybayes.tally(table[which], **options) for which in ("polars", name))
    same(got, want, 1e-9)
    assert (
        not lists or dict(zip(got.schema.names, (c.kind for c in got.schema.columns), strict=True))["topics"] == "tags"
    )
    assert is_ibis or "when: month" in got.schema.names
    if is_ibis:
        with pytest.raises(DataError, match="'when' of the Ibis table holds dates as text"):
            tallybayes.tally(table[name], target="label")


# ---------------------------------------------------------------------------------------------- parts of the rows

FRAME = pl.DataFrame(
    {
        "x": [None if i % 11 == 0 else i / 8 for i in range(300)],
        "c": [("p", "q", None)[i % 3] for i in range(300)],
        "body": [("tea at noon", "cash now", "now or never")[i % 3] for i in range(300)],
        "y": ["rare" if i == 7 else ("a", "b")[i % 2] for i in range(300)],
    }
)
KIND = {"kind": {"body": "text"}}


def uneven(name, request):
    """The rows in parts of which some are empty, one has nearly all rows, and one has a class of its own."""
    cuts = [0, 0, 7, 8, 8, 290, 300, 300]
    parts = [FRAME[a:b] for a, b in itertools.pairwise(cuts)]
    if name == "dask":
        assert request.getfixturevalue("dask_client") is not None
        import dask.dataframe as dd

        meta = FRAME.to_pandas()[:0]
        return dd.from_map(lambda i: parts[i].to_pandas().astype(meta.dtypes), range(len(parts)), meta=meta)
    session = request.getfixturevalue("spark")
    whole = session.createDataFrame(FRAME.to_arrow())
    # All rows of a key are in one part, so most parts are empty and one has nearly all rows.
    from pyspark.sql import functions

    key = functions.when(whole.y == "rare", 1).otherwise(0)
    return whole.repartition(16, key)


@pytest.mark.parametrize("name", ["dask", "spark"])
def test_empty_and_uneven_parts_change_nothing(name, request):
    table = uneven(name, request)
    same(tallybayes.tally(table, target="y", **KIND), tallybayes.tally(FRAME, target="y", **KIND), 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NaiveBayes(**KIND).fit(table, target="y")
    assert model.class_count_.tolist() == [150, 149, 1]


@pytest.mark.parametrize("name", ["dask", "spark"])
def test_a_table_of_no_rows_says_so(name, request, tmp_path):
    table = engines({"x": [1.0, 2.0], "y": ["a", "b"]}, tmp_path, request)[name]
    none = table[table["x"] > 5] if name == "dask" else table.filter("x > 5")
    with pytest.raises(DataError, match="has no rows"):
        tallybayes.tally(none, target="y")


# ---------------------------------------------------------------------------------------------- true and false

TRUTHS = {
    "bool": [True, False] * 30,
    "int": [1, 0] * 30,
    "float": [1.0, 0.0] * 30,
    "true": ["true", "false"] * 30,
    "True": ["True", "False"] * 30,
    "1": ["1", "0"] * 30,
}


@pytest.mark.parametrize("name", LAZY)
def test_true_and_false_are_matched_by_meaning(name, tmp_path, request):
    """However an engine writes them: levels of a model get no twins."""
    labels = ["a", "a", "b"] * 20
    known = ("true",) if name in SERVERS else TRUTHS
    written = ("bool", "int", "True") if name in SERVERS else TRUTHS
    spelled = {f"f{i}": TRUTHS[word] for i, word in enumerate(written)}
    table = engines({**spelled, "y": labels}, tmp_path, request)[name]
    for word in known:
        rows = {**dict.fromkeys(spelled, TRUTHS[word]), "y": labels}
        model = NaiveBayes(classical=True, kind=dict.fromkeys(spelled, "category")).fit(rows, target="y").model_
        source = open_source(table, "y")
        counted = source.count(source.grown(model.schema), model.tally.places, model.settings.families)
        assert counted.schema.columns == model.schema.columns, word
        same(counted, model.tally, 1e-9)


# ---------------------------------------------------------------------------------------------- memory


def memory():
    """Bytes that this process holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def growth(work):
    """How much more memory than before this process held while it worked."""
    start, peak, done = memory(), [0], threading.Event()

    def watch():
        while not done.is_set():
            peak[0] = max(peak[0], memory() - start)
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return peak[0]


def many_rows(name, n, request):
    """So many rows that the engine makes itself."""
    if name == "dask":
        assert request.getfixturevalue("dask_client") is not None
        import dask.dataframe as dd

        return dd.from_map(numbered, [(i * n // 20, (i + 1) * n // 20) for i in range(20)])
    if name == "spark":
        rows = request.getfixturevalue("spark").range(n)
        return rows.selectExpr(
            "CAST(id % 1000 AS DOUBLE) / 7 AS x", "CAST(id % 7 AS STRING) AS c", "CAST(id % 2 AS STRING) AS y"
        )
    import ibis

    server = request.getfixturevalue("postgres")
    connection = ibis.postgres.connect(host=server["host"], user=server["user"], database=server["dbname"])
    columns = "(i % 1000)::float8 / 7 AS x, (i % 7)::text AS c, (i % 2)::text AS y"
    connection.raw_sql(f"CREATE TABLE many_{n} AS SELECT {columns} FROM generate_series(1, {n}) AS t(i)").close()
    return connection.table(f"many_{n}")


def numbered(ends):
    i = np.arange(*ends)
    return pd.DataFrame({"x": i % 1000 / 7, "c": (i % 7).astype(str), "y": (i % 2).astype(str)})


@pytest.mark.parametrize("classical", [True, False])
@pytest.mark.parametrize("name", SERVERS)
def test_memory_here_does_not_grow_with_the_rows(name, classical, request, monkeypatch):
    n = 1_000_000 + classical
    monkeypatch.setattr(learning, "SAMPLE", 10_000)
    few = many_rows(name, 20_000 + classical, request)
    NaiveBayes(classical=classical).fit(few, target="y")  # all that is imported
    many = many_rows(name, n, request)
    models = []
    counting = growth(lambda: models.append(NaiveBayes(classical=classical).fit(many, target="y")))
    assert models[0].class_count_.sum() == n
    assert counting < 8 * n, "as much as one column of numbers"
