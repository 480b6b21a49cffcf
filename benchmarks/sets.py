"""Prediction sets on real tables: how many hold the right class, over all rows and class by class, and what they cost.

The rows are those of the accuracy benchmark: five folds, or the published split. Sets of 80, 90 and 95 % are asked for.
A table's mark is ± 1 point, and twice the sampling error: that of its test rows, and that of the held-out rows that the
threshold comes from.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks._real import available, n_cells, tasks
from benchmarks.accuracy import naive_bayes

ASKED = (0.8, 0.9, 0.95)


def run(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks sets")
    parser.add_argument("tables", nargs="*", help="only these tables")
    options = parser.parse_args(arguments)
    names = [name for name in available() if name in options.tables or not options.tables]
    if not names:
        sys.exit("no tables: set TALLYBAYES_DATA to a folder with datasets.json and its files")
    print(f"{'':24} {'rows':>7} | {'covered, mean size at ' + ', '.join(f'{a:.0%}' for a in ASKED):44} | "
          f"{'rarest class':>12} | {'× predict_proba':>15}")  # fmt: skip
    off, costs = [], []
    for name in sorted(names, key=n_cells):
        covered, size, rarest, n, slack, cost = measured(name)
        missed = np.abs(covered - ASKED) > 0.01 + slack
        off += [name] * bool(missed.any())
        costs.append(cost)
        shown = "  ".join(
            f"{c:.3f}{'!' if bad else ' '} {s:5.2f}" for c, s, bad in zip(covered, size, missed, strict=True)
        )
        print(f"{name:24} {n:7,} | {shown:44} | {rarest:12.3f} | {cost:15.2f}", flush=True)
    not_these = f"; not: {', '.join(off)}" if off else ""
    print(f"\nwithin ± 1 point and the sampling error: {len(names) - len(off)} of {len(names)} tables{not_these}")
    print(f"cost at most {max(costs):.2f} × predict_proba (mark: 2)")


def measured(name: str) -> tuple[np.ndarray, np.ndarray, float, int, np.ndarray, float]:
    """Coverage and size at each level, the coverage of the rarest class by class at 90 %, and the cost."""
    held: list[list[np.ndarray]] = [[] for _ in ASKED]
    sizes: list[list[np.ndarray]] = [[] for _ in ASKED]
    rare, proba, sets, learned = [], 0.0, 0.0, 0
    for X, y, new, right, numeric, categorical in tasks(name):
        model = naive_bayes(numeric, categorical).fit(X, y)
        codes = np.searchsorted(model.classes_, np.asarray(right))
        learned = len(y)
        model.predict_proba(new)  # parameters are estimated on first use
        proba += _seconds(lambda model=model, new=new: model.predict_proba(new))
        sets += _seconds(lambda model=model, new=new: model.predict_set(new, 0.9))
        for level, asked in enumerate(ASKED):
            found = model.predict_set(new, asked)
            held[level].append(found.member[np.arange(len(codes)), codes])
            sizes[level].append(found.size)
        rarest = int(np.bincount(codes, minlength=len(model.classes_)).argmin())
        by_class = model.predict_set(new, 0.9, by_class=True).member[:, rarest]
        rare.append(by_class[codes == rarest])
    covered, size = (np.array([np.concatenate(each).mean() for each in of]) for of in (held, sizes))
    n = sum(map(len, held[0]))
    slack = 2 * np.sqrt([a * (1 - a) * (1 / n + 1 / learned) for a in ASKED])
    rows = np.concatenate(rare)
    return covered, size, float(rows.mean()) if len(rows) else math.nan, n, slack, sets / max(proba, 1e-9)


def _seconds(work: Callable[[], object]) -> float:
    """Processor time of the fastest of three."""
    took = []
    for _ in range(3):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)
