"""Files: learning and predicting against bare DuckDB, and against pandas with scikit-learn's combination.

The data is made by DuckDB in a temporary directory (set TMPDIR to choose the disk). Every run that is measured for its
memory, and every command, has a process of its own.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks._timing import Bench, Row, cost, exponent, faster, fresh, limit, megabytes

NUMERIC = [f"number_{j}" for j in range(10)]
TEXT = [f"text_{j}" for j in range(10)]
DIRECTORY = tempfile.TemporaryDirectory(prefix="tallybayes-benchmark-")


def made(n: int, suffix: str = "parquet") -> Path:
    """A file of n rows: ten numbers, ten words of 30 levels, three classes."""
    import duckdb

    path = Path(DIRECTORY.name) / f"rows-{n}.{suffix}"
    if not path.exists():
        numbers = ", ".join(f"random() + random() + random() + 0.3 * y AS {name}" for name in NUMERIC)
        words = ", ".join(f"format('level_{{:02d}}', ((random() * 30)::INT + 2 * y) % 30) AS {name}" for name in TEXT)
        label = "['low', 'middle', 'high'][y + 1] AS label"
        rows = f"SELECT (random() * 3)::INT % 3 AS y FROM range({n})"
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT {numbers}, {words}, {label} FROM ({rows})) TO '{path}'")
    return path


def bare(path: Path) -> None:
    """The same group-bys as a user of DuckDB would write them: one query for the numbers, one for the words."""
    import duckdb

    with duckdb.connect() as connection:
        moments = ", ".join(f"count({name}), avg({name}), var_pop({name})" for name in NUMERIC)
        connection.execute(f"SELECT label, count(*), {moments} FROM '{path}' GROUP BY label").fetchall()
        sets = ", ".join(f"(label, {name})" for name in TEXT)
        sql = f"SELECT label, {', '.join(TEXT)}, count(*) FROM '{path}' GROUP BY GROUPING SETS ({sets})"
        connection.execute(sql).fetchall()


def parsed(path: Path) -> None:
    """Count the rows of a CSV with every field parsed."""
    import duckdb

    with duckdb.connect() as connection:
        some = " OR ".join(f"{name} IS NULL" for name in NUMERIC + TEXT)
        connection.execute(f"SELECT count(*), count(*) FILTER ({some}) FROM '{path}'").fetchall()


def learned(path: Path) -> Any:
    """Our way: what the columns are, and the tally."""
    from tallybayes import tally

    return tally(path, target="label")


def counting(bench: Bench) -> Iterator[Row]:
    """`tally` against the bare queries."""
    n = bench.size(20_000_000)
    path = made(n)
    (theirs, ours), _ = bench.best(lambda: bare(path), lambda: learned(path))
    yield cost(f"tally, Parquet {n / 1e6:g} M × 20, against bare group-bys", theirs, ours, 2)
    peak = float(fresh("-m", "benchmarks.files", "memory", str(path)))
    yield limit("peak memory of that, everything loaded", None, peak, 1024, "MB")
    path.unlink()
    n = bench.size(2_000_000)
    path = made(n, "csv")
    (theirs, ours), _ = bench.best(lambda: parsed(path), lambda: learned(path))
    yield cost(f"tally, CSV {n / 1e6:g} M × 20, against count(*) with all fields parsed", theirs, ours, 1.5)
    path.unlink()


def peer(bench: Bench) -> Iterator[Row]:
    """Train and predict against pandas and scikit-learn, from file to model and from file to file."""
    import pandas as pd

    from benchmarks._peer import Combined
    from tallybayes import NaiveBayes

    n = bench.size(2_000_000)
    path, out = made(n), Path(DIRECTORY.name) / "predictions.parquet"

    def their_train() -> Any:
        frame = pd.read_parquet(path)
        return Combined(NUMERIC, TEXT).fit(frame, frame["label"])

    def our_train() -> Any:
        model = NaiveBayes(classical=True).fit(path, target="label")
        model.model_.parameters  # noqa: B018  scikit-learn's fit estimates them
        return model

    (theirs, ours), (combined, model) = bench.best(their_train, our_train)
    yield faster(f"train, Parquet {n / 1e6:g} M × 20", theirs, ours, 30)

    def their_predict() -> None:
        frame = pd.read_parquet(path)
        p = combined.predict_proba(frame)
        frame["prediction"] = combined.classes_[p.argmax(axis=1)]
        for k, label in enumerate(combined.classes_):
            frame[f"p_{label}"] = p[:, k]
        frame.to_parquet(out)

    (theirs, ours), _ = bench.best(their_predict, lambda: model.predict_file(path, out), repeat=2)
    yield faster("predict to Parquet, beside the rows, same", theirs, ours, 5)
    peak = float(fresh("-m", "benchmarks.files", "predicting", str(path)))
    yield limit("peak memory of predicting, everything loaded", None, peak, 1024, "MB")


def growth(bench: Bench) -> Iterator[Row]:
    """Time and memory of a tally from 1 M to 16 M rows."""
    sizes = [bench.size(millions * 1_000_000) for millions in (1, 4, 16)]
    seconds, peaks = [], []
    for n in sizes:
        path = made(n)
        seconds.append(bench.best(lambda path=path: learned(path))[0][0])
        peaks.append(float(fresh("-m", "benchmarks.files", "memory", str(path))))
        path.unlink()
    yield limit(f"time of a tally, {sizes[0]:,} to {sizes[-1]:,} rows", None, exponent(sizes, seconds), 1.1, "exponent")
    yield limit("its peak memory, the largest over the smallest", peaks[0], peaks[-1], 2 * peaks[0], "MB")


def commands(bench: Bench) -> Iterator[Row]:
    """The commands whose start is felt, each in a process of its own."""
    path, model = made(1000, "csv"), Path(DIRECTORY.name) / "model.tally"
    few = Path(DIRECTORY.name) / "few.csv"
    few.write_text("".join(path.read_text().splitlines(keepends=True)[:11]))
    fresh("-m", "tallybayes.cli", "train", str(path), "--target", "label", "-o", str(model))

    def timed(*words: str) -> float:
        def once() -> float:
            start = perf_counter()
            fresh("-m", "tallybayes.cli", *words)
            return perf_counter() - start

        return min(once() for _ in range(5))

    yield limit("tallybayes --help", None, timed("--help"), 0.25)
    yield limit("tallybayes predict, 10 rows", None, timed("predict", str(model), str(few)), 0.7)
    yield Row("tallybayes show", None, timed("show", str(model)))


SECTIONS = {section.__name__: section for section in (counting, peer, growth, commands)}

if __name__ == "__main__":
    work, file = sys.argv[1], Path(sys.argv[2])
    if work == "memory":
        learned(file)
    else:
        from tallybayes.core.model import Model
        from tallybayes.core.settings import Settings
        from tallybayes.families import Categorical, Gaussian
        from tallybayes.inspection.predictions import predict_file

        model = Model(
            Settings({"gaussian": Gaussian(ignore_constants=True), "categorical": Categorical()}), learned(file)
        )
        predict_file(model, file, file.with_name("answers.parquet"))
    print(megabytes("VmHWM"))
