"""What the default NaiveBayes costs beside the textbook model: choosing families, weights and pairs takes a while.

The tables are those of `_real.py`; covtype is fitted whole, in a process of its own, whose peak memory counts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import perf_counter

from benchmarks._real import available, read
from benchmarks._timing import Bench, Row, fresh, limit, megabytes
from tallybayes import NaiveBayes


def adult(bench: Bench) -> Iterator[Row]:
    """Fit and predict_proba of 32,561 rows with 8 columns of text."""
    if "adult_train" not in available():
        return
    X, y, _, categorical = read("adult_train")
    kinds = dict.fromkeys(categorical, "category")
    (textbook, ours), (plain, model) = bench.best(
        lambda: NaiveBayes(kind=kinds, classical=True).fit(X, y), lambda: NaiveBayes(kind=kinds).fit(X, y)
    )
    yield limit(f"fit, adult {len(X):,} × {X.shape[1]}", textbook, ours, 2)
    (textbook, ours), _ = bench.best(lambda: plain.predict_proba(X), lambda: model.predict_proba(X))
    note = f"{len(X) / ours:,.0f} rows a second; 200,000 are asked for"
    yield limit("predict_proba, same", textbook, ours, round(len(X) / 200_000, 3), note=note)


def covtype(bench: Bench) -> Iterator[Row]:
    """Fit of 581,012 rows with 7 classes; the peak is that of the whole process, table included."""
    if "covtype" not in available():
        return
    textbook, ours = (
        [float(n) for n in fresh("-m", "benchmarks.planned", who).split()] for who in ("textbook", "ours")
    )
    yield limit("fit, covtype 581,012 × 54", textbook[0], ours[0], 60)
    yield limit("peak memory of that process", textbook[1], ours[1], 2048, "MB")


SECTIONS = {section.__name__: section for section in (adult, covtype)}


if __name__ == "__main__":
    X, y, _, categorical = read("covtype", whole=True)
    start = perf_counter()
    NaiveBayes(kind=dict.fromkeys(categorical, "category"), classical=sys.argv[1] == "textbook").fit(X, y)
    print(perf_counter() - start, megabytes("VmHWM"))
