"""What the default NaiveBayes costs: choosing families, weights, pairs and corrections, beside LightGBM's default.

Every piece of work has a process of its own, whose peak memory counts. Real tables are those of `_real.py`; they are
compared by processor time on one thread, so that neither side pays for the threads of the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks._cost import Spent, spent
from benchmarks._real import available, read
from benchmarks._timing import Bench, Row, cost, exponent, faster, limit

SMALL = 10_000  # rows: tables of fewer are added up


@contextmanager
def one_thread() -> Iterator[None]:
    """Processes that are started meanwhile use one thread each."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        os.environ.pop("OMP_NUM_THREADS")
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


def both(bench: Bench, work: str, *size: object, peer: str = "LightGBM", repeat: int | None = None) -> list[Spent]:
    """What the peer and ours took."""
    repeat = 1 if bench.quick else repeat or bench.repeat
    return [spent(who, work, *size, repeat=repeat) for who in (peer, "ours")]


def noted(theirs: Spent, ours: Spent) -> str:
    """The other figures of both, for people."""
    times = f"wall {theirs.wall:.2f}, {ours.wall:.2f} s; CPU {theirs.cpu:.2f}, {ours.cpu:.2f} s"
    return f"{times}; peak {theirs.peak:,.0f}, {ours.peak:,.0f} MB"


def tables(bench: Bench) -> Iterator[Row]:
    """One fit of every real table, by processor time."""
    names = [name for name in available() if not bench.quick or name in ("iris", "car", "penguins")]
    total = np.zeros(2)
    for name in sorted(names):
        X, *_ = read(name)
        with one_thread():
            theirs, ours = both(bench, "table", name)
        if len(X) < SMALL:
            total += theirs.cpu, ours.cpu
        yield faster(f"CPU of a fit, {name} {len(X):,} × {X.shape[1]}", theirs.cpu, ours.cpu, 1, noted(theirs, ours))
    if total.all():
        yield faster(f"CPU of all tables of fewer than {SMALL:,} rows", *total.tolist(), 2)


def adult(bench: Bench) -> Iterator[Row]:
    """32,561 rows with 8 columns of text."""
    yield from _real(bench, "adult_train", 0.35)


def satimage(bench: Bench) -> Iterator[Row]:
    """6,435 rows of 36 numbers that say much the same, 6 classes."""
    yield from _real(bench, "satimage", 0.5)


def letter(bench: Bench) -> Iterator[Row]:
    """Five folds of 20,000 rows with 26 classes."""
    if "letter" in available() and not bench.quick:
        theirs, ours = both(bench, "folds", "letter", repeat=1)
        yield limit("five fits, letter 20,000 × 16, 26 classes", theirs.wall, ours.wall, 7, note=noted(theirs, ours))


def covtype(bench: Bench) -> Iterator[Row]:
    """581,012 rows with 7 classes."""
    if "covtype" not in available() or bench.quick:
        return
    theirs, ours = both(bench, "table", "covtype", "whole", repeat=1)
    work = "fit, covtype 581,012 × 54"
    yield limit(work, theirs.wall, ours.wall, 2.5, note=noted(theirs, ours))
    yield faster(f"{work}, beside LightGBM", theirs.wall, ours.wall, 5)
    yield limit("peak memory of that process, table included", theirs.peak, ours.peak, 600, "MB")


def _real(bench: Bench, name: str, at_most: float) -> Iterator[Row]:
    if name in available() and not bench.quick:
        X, *_ = read(name)
        theirs, ours = both(bench, "table", name)
        work = f"fit, {name} {len(X):,} × {X.shape[1]}"
        yield limit(work, theirs.wall, ours.wall, at_most, note=noted(theirs, ours))


def wide(bench: Bench) -> Iterator[Row]:
    """300 rows with thousands of numbers."""
    for d, at_most in ((2000, 3), (5000, 8)):
        theirs, ours = both(bench, "wide", 300, bench.size(d), repeat=1)
        yield limit(f"fit, 300 × {bench.size(d):,} numbers", theirs.wall, ours.wall, at_most, note=noted(theirs, ours))


def classes(bench: Bench) -> Iterator[Row]:
    """5,000 rows of two numbers with 1,000 classes; LightGBM, which takes minutes, is left out."""
    n, n_classes = bench.size(5000), bench.size(1000)
    ours = spent("ours", "classes", n, 2, n_classes)
    note = f"CPU {ours.cpu:.2f} s; peak {ours.peak:,.0f} MB"
    yield limit(f"fit, {n:,} × 2, {n_classes:,} classes", None, ours.wall, 3, note=note)


def mixed(bench: Bench) -> Iterator[Row]:
    """A frame of 2 M rows with 25 columns of numbers and 25 of text."""
    n = bench.size(2_000_000)
    theirs, ours = both(bench, "frame", n, repeat=1)
    work = f"fit, frame {n / 1e6:g} M × 50"
    yield limit(work, theirs.wall, ours.wall, 6, note=noted(theirs, ours))
    yield faster(f"{work}, beside LightGBM", theirs.wall, ours.wall, 10)


def file(bench: Bench) -> Iterator[Row]:
    """`train` of a Parquet file of 20 M rows beside the bare group-bys of DuckDB, and its memory from 5 M rows on."""
    from benchmarks.files import made

    peaks = []
    for n in (bench.size(5_000_000), bench.size(20_000_000)):
        path = made(n)
        theirs, ours = both(bench, "file", path, peer="DuckDB", repeat=1)
        peaks.append(ours.peak)
        path.unlink()
    yield cost(f"train, Parquet {n / 1e6:g} M × 20", theirs.wall, ours.wall, 3, noted(theirs, ours))
    yield limit("peak memory of that, everything loaded", theirs.peak, peaks[1], 700, "MB")
    yield limit("peak memory, four times the rows", peaks[0], peaks[1], round(1.15 * peaks[0]), "MB")


def predict(bench: Bench) -> Iterator[Row]:
    """predict_proba of a model with 30 pairs: a million rows, and one."""
    from tallybayes import NaiveBayes

    X, y, pairs = paired(max(bench.size(1_000_000), 50_000))
    few = slice(0, 50_000)
    model = NaiveBayes(pairs=pairs, weights="learn").fit(X.iloc[few], y[few])
    n_pairs = sum(column.kind == "pair" for column in model.model_.schema.columns)
    (seconds,), _ = bench.best(lambda: model.predict_proba(X))
    note = f"{len(X) / seconds:,.0f} rows a second"
    yield limit(f"predict_proba, frame {len(X):,} × 20, {n_pairs} pairs", None, seconds, len(X) / 2e6, note=note)
    row = X.iloc[:1].to_dict("list")
    (seconds,), _ = bench.best(lambda: model.predict_proba(row), loops=1 if bench.quick else 300)
    yield limit("predict_proba of one row, same", None, seconds, 60e-6, note="as a dict of columns")


def paired(n: int) -> tuple[Any, Any, list[tuple[str, str]]]:
    """Ten columns of numbers and ten of text that say nothing alone, and 30 pairs that do, each in some of the rows."""
    import pandas as pd

    rng = np.random.default_rng(0)
    y, level = rng.integers(3, size=n), rng.integers(3, size=(n, 20))
    left, right = np.array([(a, (a + 1 + 2 * (a % 5)) % 20) for a in range(20)] + [(a, a + 10) for a in range(10)]).T
    active = rng.integers(len(left), size=n)  # the pair of which a row's class is the sum
    level[np.arange(n), right[active]] = (y - level[np.arange(n), left[active]]) % 3
    names = [f"number_{j}" for j in range(10)] + [f"text_{j}" for j in range(10)]
    words = np.array(["low", "middle", "high"], dtype=object)
    columns = {name: level[:, j] + rng.random(n) if j < 10 else words[level[:, j]] for j, name in enumerate(names)}
    pairs = [(names[a], names[b]) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    return pd.DataFrame(columns), words[y], pairs


def growth(bench: Bench) -> Iterator[Row]:
    """Processor time as rows, columns or classes double four times."""
    times = [1, 2, 4] if bench.quick else [1, 2, 4, 8, 16]
    small = 4 if bench.quick else 1
    sizes: dict[str, Any] = {
        "rows": [("wide", 8000 // small * t, 10, 3) for t in times],
        "columns": [("wide", 300, 250 // small * t, 2) for t in times],
        "classes": [("classes", 4000, 4, 50 // small * t) for t in times],
    }
    for name, works in sizes.items():
        with one_thread():
            seconds = [spent("ours", *work, repeat=1).cpu for work in works]
        note = ", ".join(f"{s:.2f}" for s in seconds) + " s"
        first, last = works[0], works[-1]
        size = next(i for i in range(1, 4) if first[i] != last[i])
        work = f"CPU with {name}, {first[size]:,} to {last[size]:,}"
        yield limit(work, None, exponent(times, seconds), 1.15, "exponent", note)


SECTIONS = {
    section.__name__: section
    for section in (tables, adult, satimage, letter, covtype, wide, classes, mixed, file, predict, growth)
}
