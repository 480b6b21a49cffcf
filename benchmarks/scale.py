"""Past one machine and inside the database: scoring by SQL, Spark against its own Naive Bayes, how tallies add up.

The data is made by DuckDB in a temporary directory (set TMPDIR to choose the disk).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks._timing import Bench, Row, cost, faster, limit

DIRECTORY = tempfile.TemporaryDirectory(prefix="tallybayes-benchmark-")
MIXED = (10, 10)


def made(n: int, numbers: int, words: int, parts: int = 1) -> str:
    """Parquet files of n rows: numbers and words that depend on one of three classes; a pattern names them all."""
    import duckdb

    folder = Path(DIRECTORY.name) / f"rows-{n}-{numbers}-{words}-{parts}"
    if not folder.exists():
        folder.mkdir()
        columns = [f"random() + random() + random() + 0.3 * y AS number_{j}" for j in range(numbers)]
        columns += [f"format('level_{{:02d}}', ((random() * 12)::INT + y) % 12) AS text_{j}" for j in range(words)]
        rows = f"SELECT i, (random() * 3)::INT % 3 AS y FROM range({n // parts}) r(i)"
        with duckdb.connect() as connection:
            for part in range(parts):
                query = f"SELECT i AS key, {', '.join(columns)}, y AS label FROM ({rows})"
                connection.execute(f"COPY ({query}) TO '{folder}/{part}.parquet'")
    return f"{folder}/*.parquet"


def sql(bench: Bench) -> Iterator[Row]:
    """Rows scored by the query that `to_sql` gives, in DuckDB, from a table in memory."""
    import duckdb

    from tallybayes import NaiveBayes

    n = bench.size(10_000_000)
    path = made(n, *MIXED)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE rows AS FROM '{path}'")
        sample = connection.sql("FROM rows LIMIT 20000").to_arrow_table().drop(["key"])
        for name, params in (("classical", {"classical": True}), ("planned", {})):
            query = NaiveBayes(**params).fit(sample, target="label").to_sql("rows", keep=["key"])
            answers = f"SELECT max(prediction), {', '.join(f'sum(p_{k})' for k in range(3))} FROM ({query})"
            (seconds,), _ = bench.best(lambda asked=answers: connection.execute(asked).fetchall())
            rate = f"{n / seconds / 1e6:.2f} M rows/s"
            yield limit(f"DuckDB scores {n:,} rows × 20 × 3, {name}", None, seconds, n / 1e6, note=rate)


def session() -> Any:
    """Spark with two workers, each a process of its own."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("benchmark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "ERROR",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def spark(bench: Bench) -> Iterator[Row]:
    """Fit against pyspark.ml's Gaussian Naive Bayes: the same session, the same Parquet files, both warm."""
    from pyspark.ml.classification import NaiveBayes as SparkNaiveBayes
    from pyspark.ml.feature import VectorAssembler

    from tallybayes import NaiveBayes, tally

    n = bench.size(10_000_000)
    path = made(n, 20, 0, parts=4)
    running = session()
    try:
        frame = running.read.parquet(path).drop("key")
        names = [name for name in frame.columns if name != "label"]
        vectors = VectorAssembler(inputCols=names, outputCol="features")

        def theirs() -> Any:
            return SparkNaiveBayes(modelType="gaussian").fit(vectors.transform(frame))

        def ours() -> Any:
            return NaiveBayes(classical=True).fit(frame, target="label")

        theirs(), ours()  # the first of each also starts what it needs
        (peer, own), (model, fitted) = bench.best(theirs, ours, repeat=2)
        apart = abs(model.theta.toArray() - fitted.tally_.blocks["gaussian"].summary.mean).max()
        yield faster(f"Spark fits {n:,} rows × 20 numbers", peer, own, 1.0, f"means differ by {apart:.0e}")
        for parts in (1, 2, 4):
            part = running.read.parquet(*sorted(map(str, Path(path).parent.glob("*.parquet")))[:parts]).drop("key")
            (seconds,), _ = bench.best(lambda rows=part: tally(rows, target="label"), repeat=1)
            yield Row(f"Spark tallies {parts} of 4 partitions", None, seconds)
    finally:
        running.stop()


def merging(bench: Bench) -> Iterator[Row]:
    """How it grows: files counted apart and added up; what travels is the tally, whatever the number of rows."""
    from tallybayes import Tally, storage, tally

    n = bench.size(4_000_000)
    whole = None
    for parts in (1, 2, 4, 8):
        files = sorted(map(str, Path(made(n, *MIXED, parts)).parent.glob("*.parquet")))
        start = perf_counter()
        tallies = [tally(file, target="label", drop=["key"]) for file in files]
        counted = perf_counter()
        total = sum(tallies, Tally.empty())
        added = perf_counter()
        whole = counted - start if whole is None else whole
        path = Path(DIRECTORY.name) / "one.tally"
        storage.write(tallies[0], path)
        size = f"{path.stat().st_size:,} bytes each, added in {1e3 * (added - counted):.1f} ms"
        assert abs(total.class_weight.sum() - n // parts * parts) < 1
        yield cost(f"{n:,} rows in {parts} parts, tallied and added", whole, added - start, None, note=size)


SECTIONS = {"sql": sql, "spark": spark, "merging": merging}
