"""What fails while an engine counts: a worker, a connection; and what an engine is asked for."""

import hashlib
import os
import re
import signal
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tallybayes
import tallybayes.learning.learn as learning
from tallybayes import NaiveBayes
from tallybayes.data.engines import Lazy
from tallybayes.errors import DataError
from tests.laws.test_sources import same
from tests.servers import needed

pytestmark = pytest.mark.filterwarnings(  # of the engines
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning", "ignore::UserWarning"
)
FRAME = pl.DataFrame(
    {
        "x": [1e8 + i % 17 / 8 for i in range(600)],
        "c": [("p", "q", "r", None)[i % 4] for i in range(600)],
        "body": [("tea at noon", "cash now", "now or never")[i % 3] for i in range(600)],
        "y": [("a", "b")[i % 2] for i in range(600)],
    }
)
OPTIONS = {"target": "y", "kind": {"body": "text"}}


# ---------------------------------------------------------------------------------------------- workers that die


class DiesOnce:
    """A part of the rows; the process that is first asked for the third part dies of it."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, place):
        if place == 2:
            self.die()
        return FRAME[place * 100 : (place + 1) * 100].to_pandas()

    def die(self):
        """Only one process can make the file."""
        try:
            os.close(os.open(os.path.join(self.folder, "died"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_of_dask_that_dies_while_it_counts_changes_nothing(dask_client, tmp_path):
    import dask.dataframe as dd

    table = dd.from_map(DiesOnce(tmp_path), range(6), meta=FRAME.to_pandas()[:0])
    found = tallybayes.tally(table, **OPTIONS)
    assert (tmp_path / "died").exists()
    same(found, tallybayes.tally(FRAME, **OPTIONS), 1e-9)


def test_a_worker_of_spark_that_dies_while_it_counts_changes_nothing(spark, tmp_path):
    """In the middle of its part of the texts, when it has counted some of them."""
    dies = DiesOnce(tmp_path)

    def passing(batches):
        for batch in batches:
            yield batch
            dies.die()

    plain = spark.createDataFrame(FRAME.to_arrow()).repartition(3)
    found = tallybayes.tally(plain.mapInArrow(passing, plain.schema), **OPTIONS)
    assert (tmp_path / "died").exists()
    same(found, tallybayes.tally(FRAME, **OPTIONS), 1e-9)


# ---------------------------------------------------------------------------------------------- connections


@pytest.fixture
def loans(postgres):
    """A table in PostgreSQL with a connection of its own."""
    needed("ibis", find_spec("ibis"))
    import ibis

    connection = ibis.postgres.connect(host=postgres["host"], user=postgres["user"], database=postgres["dbname"])
    if "loans" not in connection.list_tables():
        rng, n = np.random.default_rng(0), 4000
        y = rng.integers(0, 2, n)
        frame = pd.DataFrame(
            {"income": rng.normal(y, 1.0), "town": rng.choice(["Rome", "Bonn"], n), "secret": rng.random(n)}
        )
        connection.create_table("loans", frame.assign(y=np.where(y, "yes", "no")))
    yield connection.table("loans")
    connection.disconnect()


class Ended(Exception):
    """The questions came to an end before the one that was to fail."""


@pytest.mark.parametrize("classical", [True, False], ids=["postgres-classical", "postgres-default"])
def test_a_backend_that_is_terminated_is_an_error_and_nothing_is_half_updated(
    postgres, loans, classical, tmp_path, monkeypatch
):
    import ibis
    import psycopg

    model = NaiveBayes(classical=classical, drop=["secret"]).fit(loans, target="y")
    path = tmp_path / "m.tally"
    model.save(path)
    before, written = model.model_, hashlib.sha256(path.read_bytes()).digest()
    asked = []
    for name in ("ask", "first"):
        monkeypatch.setattr(Lazy, name, counted_calls(getattr(Lazy, name), asked, lambda: None))
    model.fit(loans, target="y")
    n_questions = len(asked)
    assert n_questions >= 3
    before = model.model_
    monkeypatch.undo()
    for place in range(n_questions):
        connection = ibis.postgres.connect(host=postgres["host"], user=postgres["user"], database=postgres["dbname"])
        table = connection.table("loans")
        with psycopg.connect(**postgres, autocommit=True) as other, monkeypatch.context() as patch:
            asked = []

            def terminate(other=other, asked=asked, place=place):
                if len(asked) == place + 1:
                    other.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                        "AND backend_type = 'client backend'"
                    )

            for name in ("ask", "first"):
                patch.setattr(Lazy, name, counted_calls(getattr(Lazy, name), asked, terminate))
            with pytest.raises(DataError, match=r"the Ibis table could not be counted: .*terminat"):
                model.fit(table, target="y")
        assert model.model_ is before, place
        assert hashlib.sha256(path.read_bytes()).digest() == written


def counted_calls(method, asked, also):
    """The method, with a list of its calls."""

    def call(self, *args, **kwargs):
        asked.append(method.__name__)
        also()
        return method(self, *args, **kwargs)

    return call


# ---------------------------------------------------------------------------------------------- what is asked


def statements(postgres, work):
    """What the server was asked while something was done: the statements of its log."""
    import psycopg

    with psycopg.connect(**postgres, autocommit=True) as connection:
        connection.execute("ALTER ROLE tester SET log_statement = 'all'")
        path = os.path.join(postgres["host"], "log")
        start = os.path.getsize(path)
        try:
            work()
        finally:
            connection.execute("ALTER ROLE tester SET log_statement = 'none'")
    with open(path, encoding="utf-8") as file:
        file.seek(start)
        entries = re.split(r"^\d{4}-\d\d-\d\d .*?LOG:  ", file.read(), flags=re.MULTILINE)
    found = [re.sub(r"^(statement|execute [^:]*): ", "", entry).strip() for entry in entries if "SELECT" in entry]
    return [entry for entry in found if '"loans"' in entry and "pg_catalog" not in entry]


def kind_of(statement):
    """Whether a statement returns sums, a few first rows, or all rows."""
    if "GROUP BY" in statement or re.match(r"SELECT\s+(COUNT|SUM|MIN|MAX)\(", statement):
        return "sums"
    limit = re.search(r"LIMIT (\d+)", statement)
    return f"first {limit[1]}" if limit else "sample" if "RANDOM() <=" in statement else "rows"


def fitted(postgres, weight=None, **options):
    import ibis

    connection = ibis.postgres.connect(host=postgres["host"], user=postgres["user"], database=postgres["dbname"])
    table = connection.table("loans")
    if weight is not None:
        table = table.mutate(**{weight: table.income * table.income})
    model = NaiveBayes(drop=["secret"], **options).fit(table, target="y", sample_weight=weight)
    assert model.model_.provenance.rows == 4000


def test_postgres_is_asked_for_sums_and_first_rows_alone(postgres, loans):
    """The page on databases states it; the default model reads the rows once more, for the sample."""
    found = statements(postgres, lambda: fitted(postgres, classical=True))
    assert sorted(map(kind_of, found)) == ["first 1024", "first 8192", "sums", "sums"]
    assert not any("secret" in statement for statement in found if "SELECT *" not in statement), found
    default = statements(postgres, lambda: fitted(postgres))
    kinds = list(map(kind_of, default))
    assert kinds.count("rows") == 1
    assert all(kind == "sums" or kind == "rows" or kind.startswith("first") for kind in kinds)
    assert not any('"secret"' in s for s, kind in zip(default, kinds, strict=True) if kind == "rows")


@pytest.mark.parametrize("weight", [None, "heavy"])
def test_of_a_large_table_in_postgres_a_sample_alone_is_read(postgres, loans, monkeypatch, weight):
    monkeypatch.setattr(learning, "SAMPLE", 1000)
    found = statements(postgres, lambda: fitted(postgres, weight))
    kinds = list(map(kind_of, found))
    assert kinds.count("sample") == 1
    assert "rows" not in kinds


def test_the_sample_is_as_large_as_stated(postgres, loans, monkeypatch):
    drawn = []
    from tallybayes.data.engine_scans import EngineSource

    sample = EngineSource.sample
    monkeypatch.setattr(EngineSource, "sample", lambda *args: drawn.append(args[-1]) or sample(*args))
    fitted(postgres)
    assert drawn
    assert max(drawn) <= learning.SAMPLE == 50_000
