"""How good the predictions are on real tables: NaiveBayes as it comes beside the textbook and other models.

Every contestant keeps one setting for all tables, and none is chosen by looking at test rows. The figures of a table
are those of all its test rows together. Khiops takes part if the environment variable TALLYBAYES_KHIOPS names a Python
that has it. On a busy machine set OMP_NUM_THREADS=1: boosting's threads wait for each other, and it takes many times as
long.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks._peer import Combined, Khiops, boosting, logistic
from benchmarks._real import available, tasks
from tallybayes import NaiveBayes
from tallybayes.core.metrics import score
from tallybayes.data.labels import encode_labels

FIGURES = ("accuracy", "log loss", "ECE", "macro F1", "seconds")
LEAST = 1e-15  # no probability counts as less, whoever says so
LARGER = 500  # rows of a table from which on its calibration error is more than noise
OURS, TEXTBOOK = "NaiveBayes", "NaiveBayes(classical=True)"


def naive_bayes(numeric: list[str], categorical: list[str], **settings: Any) -> NaiveBayes:
    kinds = dict.fromkeys(numeric, "numeric") | dict.fromkeys(categorical, "category")
    return NaiveBayes(kind=kinds, **settings)


CONTESTANTS: dict[str, Callable[[list[str], list[str]], Any]] = {
    OURS: naive_bayes,
    TEXTBOOK: partial(naive_bayes, classical=True),
    "Gaussian + categorical, combined": Combined,
    "logistic regression": logistic,
    "gradient boosting": boosting,
    "Khiops": Khiops,
    "Khiops(n_trees=0)": partial(Khiops, n_trees=0),  # its naive Bayes alone
}


@dataclass(frozen=True)
class Scores:
    """One contestant on one table."""

    figures: tuple[float, ...]  # as FIGURES, of all test rows; seconds of fit and predict of all folds
    ece_of_folds: float  # mean over the folds, each of which has fewer rows to tell it from chance
    right: Any  # (n,) whether the prediction of each test row is right
    n_rows: int


def scored(make: Callable[[list[str], list[str]], Any], name: str) -> Scores:
    """What one contestant makes of one table."""
    said, codes, errors, seconds, n_rows = [], [], [], 0.0, 0
    for X, y, X_test, y_test, numeric, categorical in tasks(name):
        start = perf_counter()
        model = make(numeric, categorical).fit(X, y)
        posterior = np.asarray(model.predict_proba(X_test))
        seconds += getattr(model, "seconds", perf_counter() - start)
        classes = tuple(model.classes_.tolist())
        said.append(np.log(np.clip(posterior, LEAST, 1.0)))
        codes.append(encode_labels(y_test, model.classes_))
        errors.append(score(said[-1], codes[-1], classes).ece)
        n_rows = len(y) + len(y_test)
    log_posterior, truth = np.concatenate(said), np.concatenate(codes)
    seen = score(log_posterior, truth, classes)
    figures = (seen.accuracy.value, seen.log_loss.value, seen.ece, seen.macro_f1, seconds)
    return Scores(figures, float(np.mean(errors)), log_posterior.argmax(axis=1) == truth, n_rows)


def run(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy")
    parser.add_argument("tables", nargs="*", help="only these tables")
    parser.add_argument("--csv", type=Path, default=Path("accuracy.csv"), help="where the figures go (accuracy.csv)")
    parser.add_argument("--picture", type=Path, default=Path("accuracy.png"), help="and their picture (accuracy.png)")
    options = parser.parse_args(arguments)
    names = [name for name in available() if name in options.tables or not options.tables]
    if not names:
        sys.exit("no such tables: set TALLYBAYES_DATA to a folder with datasets.json and its files")
    contestants = dict(CONTESTANTS)
    print(f"# five stratified folds, or the published split; figures of all test rows; {os.cpu_count()} cores")
    if not os.environ.get("TALLYBAYES_KHIOPS"):
        contestants = {name: make for name, make in contestants.items() if not name.startswith("Khiops")}
        print("# Khiops left out: TALLYBAYES_KHIOPS names no Python that has it")
    print(f"{'table':<22} {'model':<33}" + "".join(f"{figure:>10}" for figure in FIGURES))
    found: dict[str, list[Scores]] = {contestant: [] for contestant in contestants}
    with options.csv.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "rows", "model", *FIGURES, "ECE of folds"])
        for name in names:
            for contestant, make in contestants.items():
                each = scored(make, name)
                found[contestant].append(each)
                print(line(name, contestant, each.figures), flush=True)
                writer.writerow([name, each.n_rows, contestant, *each.figures, each.ece_of_folds])
                file.flush()
    summary(names, found)
    draw({contestant: [each.figures for each in of] for contestant, of in found.items()}, options.picture)


def line(table: str, contestant: str, figures: Sequence[float]) -> str:
    return f"{table:<22} {contestant:<33}" + "".join(f"{figure:10.4f}" for figure in figures)


def summary(names: list[str], found: dict[str, list[Scores]]) -> None:
    """Means, mean ranks, the calibration of the larger tables, and where the default loses to the textbook."""
    figures = np.array([[each.figures for each in of] for of in found.values()])  # (contestant, table, figure)
    for contestant, mean in zip(found, figures.mean(axis=1), strict=True):
        print(line(f"mean of {len(names)}", contestant, mean))
    larger = np.array([each.n_rows >= LARGER for each in found[OURS]])
    of_folds = np.array([[each.ece_of_folds for each in of] for of in found.values()])
    ranks = [rankdata(sign * figures[:, :, f], axis=0).mean(axis=1) for f, sign in ((0, -1), (1, 1))]
    titles = ("rank by accuracy", "by log loss", f"ECE, >= {LARGER} rows", "of its folds")
    print(f"\n{'mean of the tables':<33}" + "".join(f"{title:>18}" for title in titles))
    for i, contestant in enumerate(found):
        ece = (figures[i, larger, 2].mean(), of_folds[i, larger].mean()) if larger.any() else (np.nan, np.nan)
        print(f"{contestant:<33}{ranks[0][i]:18.2f}{ranks[1][i]:18.2f}{ece[0]:18.4f}{ece[1]:18.4f}")
    worse = []
    for name, ours, textbook in zip(names, found[OURS], found[TEXTBOOK], strict=True):
        gap = textbook.right.astype(float) - ours.right
        noise = gap.std() / np.sqrt(len(gap))
        if gap.mean() > 0.005 + noise:
            worse.append(f"{name} ({100 * gap.mean():.1f} points, standard error {100 * noise:.1f})")
    print(f"\n# more than 0.5 points below {TEXTBOOK} beyond the standard error: {', '.join(worse) or 'none'}")


def draw(figures: dict[str, Any], picture: Path) -> None:
    """Accuracy and log loss (tables, figures) of each contestant: a dot for each table, and the means."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("# no picture: it needs matplotlib")
        return
    figure = Figure(figsize=(8.4, 3.4), dpi=150, facecolor="white", layout="constrained")
    titles = ("accuracy (more is better)", "log loss (less is better)")
    for f, (axes, title) in enumerate(zip(figure.subplots(1, 2, sharey=True), titles, strict=True)):
        for place, (contestant, of) in enumerate(figures.items()):
            values, colour = np.asarray(of)[:, f], "#c0392b" if contestant == OURS else "#34495e"
            axes.scatter(
                np.maximum(values, 0.01), np.full(len(values), place), s=14, color=colour, alpha=0.3, linewidths=0
            )
            axes.scatter(values.mean(), place, s=120, marker="|", color=colour, linewidths=2.5)
            axes.annotate(f"{values.mean():.3f}", (values.mean(), place - 0.22), ha="center", fontsize=8, color=colour)
        axes.set(xlabel=title, ylim=(len(figures) - 0.6, -0.6))
        axes.set_yticks(range(len(figures)), list(figures), fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    axes.set_xscale("log")
    axes.set_xticks([0.01, 0.1, 1.0], ["≤ 0.01", "0.1", "1"])
    figure.savefig(picture)
    print(f"# {picture}")
