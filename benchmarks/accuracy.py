"""How good the predictions are on real tables: NaiveBayes beside what scikit-learn offers for the same job."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks._peer import Combined
from benchmarks._real import available, tasks
from tallybayes import NaiveBayes
from tallybayes.evaluate import score
from tallybayes.sources.labels import encode_labels

FIGURES = ("accuracy", "log loss", "ECE", "macro F1", "seconds")


def naive_bayes(numeric: list[str], categorical: list[str]) -> NaiveBayes:
    return NaiveBayes(kind=dict.fromkeys(numeric, "numeric") | dict.fromkeys(categorical, "category"))


CONTESTANTS: dict[str, Callable[[list[str], list[str]], Any]] = {
    "NaiveBayes": naive_bayes,
    "scikit-learn Gaussian + categorical": Combined,
}


def judged(make: Callable[[list[str], list[str]], Any], name: str) -> list[float]:
    """Mean figures of one contestant over the folds of one table."""
    found = []
    for X, y, X_test, y_test, numeric, categorical in tasks(name):
        start = perf_counter()
        model = make(numeric, categorical).fit(X, y)
        log_posterior = np.asarray(model.predict_log_proba(X_test))
        seconds = perf_counter() - start
        seen = score(log_posterior, encode_labels(y_test, model.classes_), tuple(model.classes_.tolist()))
        found.append([seen.accuracy.value, seen.log_loss.value, seen.ece, seen.macro_f1, seconds])
    return np.mean(found, axis=0).tolist()


def run() -> None:
    names = available()
    if not names:
        sys.exit("no tables: set TALLYBAYES_DATA to a folder with datasets.json and its files")
    print(f"# five stratified folds, or the published split; {os.cpu_count()} cores")
    print(f"{'table':<24} {'model':<38}" + "".join(f"{figure:>10}" for figure in FIGURES))
    table: dict[str, list[list[float]]] = {contestant: [] for contestant in CONTESTANTS}
    for name in names:
        for contestant, make in CONTESTANTS.items():
            figures = judged(make, name)
            table[contestant].append(figures)
            print(f"{name:<24} {contestant:<38}" + "".join(f"{figure:10.4f}" for figure in figures), flush=True)
    ranks = {c: np.array([figures[0] for figures in table[c]]) for c in table}
    for contestant in table:
        means = np.mean(table[contestant], axis=0)
        print(f"{'mean of ' + str(len(names)):<24} {contestant:<38}" + "".join(f"{figure:10.4f}" for figure in means))
    wins = sum((ranks["NaiveBayes"] >= other).sum() for c, other in ranks.items() if c != "NaiveBayes")
    print(f"# NaiveBayes at least as accurate on {wins} of {len(names)} tables")
