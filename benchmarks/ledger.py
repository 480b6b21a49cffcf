"""Ledgers: windows over 10,000 keys and a year, durable appends, file size, kills, writers, and streams with drift.

    python -m benchmarks ledger             everything; elec is read from the folder TALLYBAYES_DATA
    python -m benchmarks ledger windows appending

Times of windows are CPU times of the process, since the machine may be shared. The peer of the streams is river.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks._timing import Bench, Row, limit

DIRECTORY = tempfile.TemporaryDirectory(prefix="tallybayes-ledger-")
FOLDER = Path(DIRECTORY.name)
LEVELS = np.array(list("abcdefgh"), dtype=object)
SHARE = 0.05  # of the days on which a key has a batch


def made(n_keys: int, n_days: int, seed: int = 0) -> Any:
    """A year of rows: a key has a batch of one to three rows on one day in twenty; ten numbers and ten categories."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    day, key = np.nonzero(rng.random((n_days, n_keys)) < SHARE)
    times = rng.integers(1, 4, len(day))
    day, key = np.repeat(day, times), np.repeat(key, times)
    n, y = len(day), rng.integers(0, 2, len(day))
    table = {"key": np.char.mod("k%05d", key).astype(object), "day": np.datetime64("2025-01-01") + day}
    table |= {f"number_{j}": np.round(rng.normal(0.3 * y + j, 1 + 0.1 * j), 3) for j in range(10)}
    table |= {f"word_{j}": LEVELS[np.minimum(rng.geometric(0.35 + 0.05 * y, n) - 1, 7)] for j in range(10)}
    return pd.DataFrame(table | {"label": np.where(y == 1, "yes", "no").astype(object)})


def plan_of(frame: Any) -> Any:
    from tallybayes import NaiveBayes

    return NaiveBayes(classical=True).fit(frame.drop(columns=["key", "day"]).head(5000), target="label")


def filled(bench: Bench) -> tuple[Any, Any, float]:
    """The ledger of a year, its rows, and the seconds of CPU time that it took."""
    from tallybayes import Ledger

    frame = made(*((300, 60) if bench.quick else (10_000, 365)))
    path = FOLDER / "year.ledger"
    if path.exists():
        return Ledger.open(path), frame, float("nan")
    ledger, began = Ledger.create(path, plan_of(frame)), process_time()
    for _, part in frame.groupby(frame["day"].dt.month):
        ledger.add_by(part, period="day", key="key")
    return ledger, frame, process_time() - began


def timed(work: Callable[[], Any], repeat: int) -> tuple[float, float, Any]:
    """The best CPU time and the best time on the clock, in seconds, and the result."""
    cpu, clock, found = [], [], None
    for _ in range(repeat):
        a, b = process_time(), perf_counter()
        found = work()
        cpu.append(process_time() - a)
        clock.append(perf_counter() - b)
    return min(cpu), min(clock), found


def windows(bench: Bench) -> Iterator[Row]:
    """The model of a slice; 0.1 s is the most that any may take."""
    ledger, frame, seconds = filled(bench)
    shown = ledger.overview()
    batches, keys = shown["batches"], ledger.keys()
    yield Row(f"fill: {len(frame):,} rows, {batches:,} batches by their columns", None, seconds, note="CPU time")
    rng = np.random.default_rng(1)
    since, until = ("2025-01-05", "2025-02-20") if bench.quick else ("2025-02-05", "2025-11-20")
    part = {"since": since, "until": until}
    half = [key for key in keys if rng.random() < 0.5]
    entry = shown["entries"] // 2
    slices: dict[str, dict[str, Any]] = {
        "all keys, all days": {},
        "all keys, 289 days": part,
        "one key": {"keys": keys[7]},
        "100 keys, 289 days": {"keys": keys[:: max(len(keys) // 100, 1)], **part},
        "all but one key, 289 days": {"without": keys[7], **part},
        "all but 100 keys, 289 days": {"without": keys[3 :: max(len(keys) // 100, 1)], **part},
        "half of the keys at random, 289 days": {"keys": half, **part},
        "all keys, half-life 30 days": {"half_life": 30},
        "one key, half-life 30 days": {"half_life": 30, "keys": keys[7]},
        "all but one key, half-life 30 days": {"half_life": 30, "without": keys[7]},
        "all keys, as of the middle entry": {"as_of": entry},
        "half of the keys at random, half-life 30 days": {"keys": half, "half_life": 30},
        "all but 100 keys, half-life 30 days": {"half_life": 30, "without": keys[3 :: max(len(keys) // 100, 1)]},
    }
    for name, each in slices.items():
        cpu, clock, model = timed(lambda each=each: ledger.model(**each), bench.repeat)
        note = f"{clock * 1e3:.0f} ms on the clock, {model.provenance.rows:,} rows"
        yield limit(f"window: {name}", None, cpu, 0.1, note=note)
    cpu, clock, receipt = timed(lambda: ledger.forget(keys[11]), 1)
    yield Row(f"forget a key of {receipt.batches} batches", None, cpu, note=f"{clock * 1e3:.0f} ms on the clock")
    cpu, clock, found = timed(ledger.verify, 1)
    assert found.is_sound, found
    yield Row(f"verify {found.entries:,} entries, digests and sums", None, cpu, note=f"{clock:.1f} s on the clock")


def size(bench: Bench) -> Iterator[Row]:
    """The file beside the same rows as Parquet."""
    ledger, frame, _ = filled(bench)
    ledger.close()
    frame.to_parquet(FOLDER / "year.parquet", compression="zstd")
    file, rows = (os.path.getsize(FOLDER / name) / 1e6 for name in ("year.ledger", "year.parquet"))
    connection = sqlite3.connect(FOLDER / "year.ledger")
    blobs = "length(owners)+length(cells)+length(amounts)+length(centred_cells)+length(centred)"
    (sums,) = connection.execute(f"SELECT coalesce(sum({blobs}), 0) / 1e6 FROM sums").fetchone()
    connection.close()
    yield Row("file of the ledger, beside its rows as Parquet", rows, file, file / rows, unit="MB")
    yield Row("of that, sums for windows, which can be made again", None, sums, unit="MB")


def appending(bench: Bench) -> Iterator[Row]:
    """Small batches, each with an id, durable in groups of 500: 2,000 a second are 0.5 ms each."""
    from tallybayes import Ledger

    frame = made(500, 60, 3)
    plan, n = plan_of(frame), bench.size(10_000)
    table = frame.drop(columns=["key", "day"]).to_dict("records")
    for rows, group in ((1, 500), (5, 500), (5, 1)):
        path = FOLDER / f"append-{rows}-{group}.ledger"
        many = n if group > 1 else n // 50
        batches = [[table[(i * rows + j) % len(table)] for j in range(rows)] for i in range(many)]
        with Ledger.create(path, plan) as ledger:
            cpu, clock = process_time(), perf_counter()
            with ledger.appending(every=group) as append:
                for number, batch in enumerate(batches):
                    day = f"2026-01-{1 + 30 * number // many:02d}"
                    append(batch, period=day, key=f"k{number % 997}", batch_id=str(number))
            cpu, clock = process_time() - cpu, perf_counter() - clock
            assert ledger.overview()["batches"] == many
        note = f"{many / clock:,.0f} batches/s on the clock, {many / cpu:,.0f} by CPU time"
        work = f"append a batch of {rows} row{'s' if rows > 1 else ''}, in groups of {group}"
        yield (
            limit(work, None, clock / many, 0.0005, note=note)
            if group > 1
            else Row(work, None, clock / many, note=note)
        )


def engines(bench: Bench) -> Iterator[Row]:
    """SQLite against DuckDB: durable appends of contents, and the sum of a window in SQL. The peer is DuckDB."""
    import duckdb
    import pyarrow as pa

    blob, n = os.urandom(300), bench.size(20_000)
    for group in (1, 100, 500):
        many = n if group > 1 else max(n // 100, 50)
        lite = sqlite3.connect(FOLDER / f"engine-{group}.sqlite", isolation_level=None)
        lite.execute("PRAGMA journal_mode = WAL")
        lite.execute("PRAGMA synchronous = FULL")
        duck = duckdb.connect(str(FOLDER / f"engine-{group}.duckdb"))
        for each in (lite, duck):
            each.execute("CREATE TABLE content (entry BIGINT, period BIGINT, key BIGINT, cells BLOB)")

        def to_lite(group: int = group, many: int = many, lite: Any = lite) -> None:
            for first in range(0, many, group):
                lite.execute("BEGIN IMMEDIATE")
                rows = [(i, i % 365, i % 10_000, blob) for i in range(first, first + group)]
                lite.executemany("INSERT INTO content VALUES (?, ?, ?, ?)", rows)
                lite.execute("COMMIT")

        def to_duck(group: int = group, many: int = many, duck: Any = duck) -> None:
            for first in range(0, many, group):
                number = np.arange(first, first + group)
                rows = pa.table([number, number % 365, number % 10_000, [blob] * group], names=list("abcd"))
                duck.register("rows", rows)
                duck.execute("INSERT INTO content SELECT * FROM rows")

        (theirs, ours), _ = bench.best(to_duck, to_lite, repeat=1)
        note = f"{many / theirs:,.0f} and {many / ours:,.0f} batches/s"
        yield Row(f"engine: durable appends in groups of {group}", theirs / many, ours / many, theirs / ours, note=note)
        lite.close()
        duck.close()
    yield from _window_in_sql(bench)


def _window_in_sql(bench: Bench) -> Iterator[Row]:
    """A row for each cell in DuckDB, grouped by cell, against the sums of the ledger."""
    import duckdb

    ledger, frame, _ = filled(bench)
    there = set(ledger.keys())
    frame = frame[frame["key"].isin(there)]
    with duckdb.connect(str(FOLDER / "cells.duckdb")) as duck:
        words = [f"word_{j}" for j in range(10)]
        parts = [f"SELECT day, key, '{w}' || {w} || label AS cell, count(*) n FROM frame GROUP BY ALL" for w in words]
        numbers = [f"number_{j}" for j in range(10)]
        parts += [f"SELECT day, key, '{c}' || label AS cell, count(*) n FROM frame GROUP BY ALL" for c in numbers]
        duck.execute("CREATE TABLE cells AS " + " UNION ALL ".join(parts))
        duck.execute("CREATE TABLE wanted AS SELECT DISTINCT key FROM frame WHERE hash(key) % 2 = 0")
        where = "day BETWEEN '2025-02-05' AND '2025-11-20'"
        queries = {
            "all keys, 289 days": (f"SELECT cell, sum(n) FROM cells WHERE {where} GROUP BY cell", {}),
            "half of the keys": (
                f"SELECT cell, sum(n) FROM cells SEMI JOIN wanted USING (key) WHERE {where} GROUP BY cell",
                {"keys": [key for (key,) in duck.execute("SELECT key FROM wanted").fetchall()]},
            ),
        }
        part = {"since": "2025-02-05", "until": "2025-11-20"} if not bench.quick else {}
        for name, (sql, keys) in queries.items():
            theirs, *_ = timed(lambda sql=sql: duck.execute(sql).fetchall(), bench.repeat)
            ours, *_ = timed(lambda keys=keys: ledger.model(**keys, **part), bench.repeat)
            yield Row(
                f"engine: window of {name}, CPU time", theirs, ours, theirs / ours, note="DuckDB sums counts alone"
            )


def safety(bench: Bench) -> Iterator[Row]:
    """Kills while appending, and eight writers at once."""
    from tests.storage.ledger_fuzz import kills, writers

    n = 10 if bench.quick else 200
    folder = Path(tempfile.mkdtemp(dir=FOLDER))
    sure, lost, broken = kills(folder / "kills.ledger", n)
    note = f"{sure:,} batches acknowledged"
    yield limit(f"{n} kills while appending: acknowledged batches lost", None, lost, 0, "messages", note)
    yield limit(f"{n} kills while appending: broken files", None, broken, 0, "messages")
    told, missing = writers(folder / "writers.ledger", 8, 10 if bench.quick else 200)
    yield limit("8 writers at once: batches lost", None, missing, 0, "messages", f"{told:,} acknowledged")


def streams(bench: Bench) -> Iterator[Row]:
    """Accuracy, log loss and rows a second of CPU time against river; periods are predicted, then learned."""
    from benchmarks._streams import Outcome, by_ledger, by_river, drift, elec

    try:
        from river.naive_bayes import GaussianNB
        from river.tree import HoeffdingAdaptiveTreeClassifier
    except ImportError:
        print("# streams are skipped: pip install river")
        return
    found = [stream for stream in (elec(bench.quick), drift(bench.quick)) if stream is not None]
    if len(found) < 2:
        print("# elec is skipped: TALLYBAYES_DATA names no folder with elec.csv.gz")
    for stream in found:
        folder = Path(tempfile.mkdtemp(dir=FOLDER))
        runs: dict[str, Callable[[], Outcome]] = {
            "ledger, half-life auto": lambda s=stream, f=folder: by_ledger(s, f, "auto"),
            "ledger, all rows alike": lambda s=stream, f=folder: by_ledger(s, f, None),
            "river GaussianNB": lambda s=stream: by_river(s, GaussianNB, False, True),
            "river HoeffdingAdaptiveTree": lambda s=stream: by_river(
                s, lambda: HoeffdingAdaptiveTreeClassifier(seed=0), False
            ),
            "river GaussianNB, row by row": lambda s=stream: by_river(s, GaussianNB, True, True),
            "river HoeffdingAdaptiveTree, row by row": lambda s=stream: by_river(
                s, lambda: HoeffdingAdaptiveTreeClassifier(seed=0), True
            ),
        }
        for name, run in runs.items():
            each = run()
            note = f"accuracy {each.accuracy:.4f}, {each.speed:,.0f} rows/s"
            yield Row(f"{stream.name}: {name}, log loss", None, each.log_loss, unit="share", note=note)


SECTIONS = {section.__name__: section for section in (windows, size, appending, engines, safety, streams)}
