"""One piece of work in a process of its own: what it takes on the clock, on the processor and of memory at its peak.

``python -m benchmarks._cost WHO WORK SIZE…`` prints the figures as JSON; `spent` starts it. What is loaded on first use
does not count: a table of a few rows is learned before the clock starts.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks._boosting import LightGBM
from benchmarks._data import numbers
from benchmarks._real import read, splits
from benchmarks._timing import fresh, megabytes

Work = Callable[[], Any]


@dataclass(frozen=True)
class Spent:
    """What a piece of work took."""

    wall: float  # seconds on the clock
    cpu: float  # seconds of all processors
    peak: float  # MB of the whole process, data included


def spent(who: str, work: str, *size: object, repeat: int = 1) -> Spent:
    """Do the work in a new process, so many times, and return the least of each."""
    return Spent(**json.loads(fresh("-m", "benchmarks._cost", str(repeat), who, work, *map(str, size))))


def fit(who: str, X: Any, y: Any, numeric: list[str], categorical: list[str]) -> Any:
    """Our default, or LightGBM's."""
    if who == "LightGBM":
        return LightGBM(numeric, categorical).fit(X, y)
    from tallybayes import NaiveBayes

    return NaiveBayes(kind=dict.fromkeys(categorical, "category")).fit(X, y)


def table(who: str, name: str, whole: str = "") -> Work:
    """One fit of a real table."""
    X, y, numeric, categorical = read(name, whole=bool(whole))
    return partial(fit, who, X, y, numeric, categorical)


def folds(who: str, name: str) -> Work:
    """Five fits of a real table, each without a fold."""
    X, y, numeric, categorical = read(name)
    parts = [(X.iloc[rows], y[rows]) for rows, _ in splits(name, y)]
    return lambda: [fit(who, some, labels, numeric, categorical) for some, labels in parts]


def wide(who: str, n: str, d: str, n_classes: str = "2") -> Work:
    """One fit of a table of numbers that all say a little about the class."""
    X, y = numbers(int(n), int(d), int(n_classes))
    return partial(fit, who, *_named(X, y), [])


def classes(who: str, n: str, d: str, n_classes: str) -> Work:
    """One fit of numbers with many classes, whose centres are apart."""
    rng = np.random.default_rng(0)
    y = np.arange(int(n)) % int(n_classes)
    X = rng.normal(size=(int(n), int(d))) + rng.normal(scale=6.0, size=(int(n_classes), int(d)))[y]
    return partial(fit, who, *_named(X, y), [])


def frame(who: str, n: str) -> Work:
    """One fit of a frame: 25 columns of numbers, a fifth of which has gaps, and 25 of text with 10 or 30 levels."""
    import pandas as pd

    rng = np.random.default_rng(0)
    y = rng.integers(3, size=int(n))
    columns: dict[str, Any] = {}
    for j in range(25):
        values = rng.standard_normal(int(n)) + 0.02 * j * y
        if j % 5 == 0:
            values[rng.random(int(n)) < 0.1] = np.nan
        columns[f"number_{j}"] = values
        levels = np.array([f"level_{i:02d}" for i in range(10 + 20 * (j % 2))], dtype=object)
        shifted = rng.integers(len(levels), size=int(n)) + y * (rng.random(int(n)) < 0.01 * j)
        columns[f"text_{j}"] = levels[shifted % len(levels)]
    numeric = [name for name in columns if name.startswith("number")]
    X, labels = pd.DataFrame(columns), np.array(["low", "middle", "high"], dtype=object)[y]
    return partial(fit, who, X, labels, numeric, [name for name in columns if name not in numeric])


def file(who: str, path: str) -> Work:
    """The command `train` of a file, or the group-bys that a user of DuckDB would write."""
    from benchmarks.files import bare

    if who == "DuckDB":
        return partial(bare, Path(path))
    from tallybayes.cli import main

    def train() -> None:
        if main(["train", path, "--target", "label", "--quiet", "-o", f"{path}.tally"]):
            sys.exit("train failed")

    return train


def _named(X: Any, y: Any) -> tuple[Any, Any, list[str]]:
    import pandas as pd

    names = [f"x{j:04d}" for j in range(X.shape[1])]
    return pd.DataFrame(X, columns=names), y, names


WORKS = {work.__name__: work for work in (table, folds, wide, classes, frame, file)}


def main(repeat: str, who: str, name: str, *size: str) -> None:
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):  # of the command
        if who != "DuckDB":
            wide(who, "60", "3")()
        work, took = WORKS[name](who, *size), []
        for _ in range(int(repeat)):
            wall, cpu = perf_counter(), process_time()
            work()
            took.append((perf_counter() - wall, process_time() - cpu))
    best = [min(each) for each in zip(*took, strict=True)]
    print(json.dumps({"wall": best[0], "cpu": best[1], "peak": megabytes("VmHWM")}))


if __name__ == "__main__":
    main(*sys.argv[1:])
