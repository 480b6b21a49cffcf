"""How good the predictions are on real tables: NaiveBayes as it comes beside the textbook and other models.

Every contestant keeps one setting for all tables, and none is chosen by looking at test rows. The figures of a table
are those of all its test rows together. Khiops takes part if the environment variable TALLYBAYES_KHIOPS names a Python
that has it. On a busy machine set OMP_NUM_THREADS=1: boosting's threads wait for each other, and it takes many times as
long. Two tables that are made here stand beside the others and count in no mean.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._boosting import EBM, CatBoost, LightGBM, missing
from benchmarks._peer import Combined, Khiops, boosting, logistic
from benchmarks._real import MADE, available, n_cells
from benchmarks._repeats import compare
from benchmarks._scores import FIGURES, HEADER, Found, as_row, read_scores, scored
from benchmarks._summary import draw, line, losses, print_marks, print_means, print_ranks
from tallybayes import NaiveBayes

OURS, TEXTBOOK = "NaiveBayes", "NaiveBayes(classical=True)"
PATIENCE = 600.0  # seconds after which another model gets no further fold of a table


def naive_bayes(numeric: list[str], categorical: list[str], **settings: Any) -> NaiveBayes:
    kinds = dict.fromkeys(numeric, "numeric") | dict.fromkeys(categorical, "category")
    return NaiveBayes(kind=kinds, **settings)


CONTESTANTS: dict[str, Callable[[list[str], list[str]], Any]] = {
    OURS: naive_bayes,
    TEXTBOOK: partial(naive_bayes, classical=True),
    "Gaussian + categorical, combined": Combined,
    "logistic regression": logistic,
    "HistGradientBoosting": boosting,
    "LightGBM": LightGBM,
    "CatBoost": CatBoost,
    "EBM": EBM,
    "Khiops": Khiops,
    "Khiops(n_trees=0)": partial(Khiops, n_trees=0),  # its naive Bayes alone
}


def run(arguments: Sequence[str] = ()) -> None:
    options = _parser().parse_args(arguments)
    names = [name for name in [*available(), *MADE] if name in options.tables or not options.tables]
    if not [name for name in names if name not in MADE] and not options.tables:
        sys.exit("no tables: set TALLYBAYES_DATA to a folder with datasets.json and its files")
    if unknown := set(options.tables) - set(names) | set(options.only or ()) - set(CONTESTANTS):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; models are {', '.join(CONTESTANTS)}")
    if options.repeats:
        who = [OURS, *(name for name in chosen(options.only or [TEXTBOOK], {}) if name != OURS)]
        compare(names, {name: CONTESTANTS[name] for name in who}, OURS, options.repeats)
        return
    print(f"# five stratified folds, or the published split; figures of all test rows; {os.cpu_count()} cores")
    earlier = read_scores(options.reuse)
    contestants = chosen(options.only, earlier)
    kept = {name: of for name, of in earlier.items() if name not in contestants}
    for name, of in kept.items():
        dates = sorted({scores.date for scores in of.values()})
        print(f"# {name}: not run, taken from an earlier file (run {' to '.join(dates[:1] + dates[1:][-1:])})")
    found = measure(sorted(names, key=n_cells), contestants, kept, options)
    report(names, {name: found[name] for name in [*CONTESTANTS, *found] if found.get(name)}, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy")
    parser.add_argument("tables", nargs="*", help="only these tables")
    parser.add_argument("--only", nargs="+", metavar="MODEL", help="run only these models")
    parser.add_argument(
        "--repeats",
        type=int,
        default=0,
        metavar="N",
        help="cut small tables N times; beside the textbook, or --only",
    )
    parser.add_argument(
        "--reuse", nargs="+", type=Path, default=[], metavar="CSV", help="take other models from these earlier files"
    )
    parser.add_argument("--before", type=Path, metavar="CSV", help="compare with NaiveBayes in this earlier file")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds after which another model gets no further fold (600)"
    )
    parser.add_argument("--csv", type=Path, default=Path("accuracy.csv"), help="where the figures go (accuracy.csv)")
    parser.add_argument("--picture", type=Path, default=Path("accuracy.png"), help="and their picture (accuracy.png)")
    return parser


def chosen(only: Sequence[str] | None, earlier: Found) -> list[str]:
    """Models to run: those named, otherwise ours and all others that can run and are in no earlier file."""
    wanted = only or [name for name in CONTESTANTS if name not in earlier or name in (OURS, TEXTBOOK)]
    able = []
    for name in CONTESTANTS:
        if name not in wanted:
            continue
        if package := missing(name):
            print(f"# {name} left out: pip install {package}")
        elif name.startswith("Khiops") and not os.environ.get("TALLYBAYES_KHIOPS"):
            print(f"# {name} left out: pip install khiops in a Python that TALLYBAYES_KHIOPS names")
        else:
            able.append(name)
    return able


def measure(names: list[str], contestants: list[str], kept: Found, options: argparse.Namespace) -> Found:
    """Run the contestants, print a line for each table, and write all scores to the file."""
    print(f"{'table':<24} {'model':<33}" + "".join(f"{figure:>10}" for figure in FIGURES))
    found: Found = {name: {} for name in contestants} | kept
    with options.csv.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for contestant, of in kept.items():
            writer.writerows(as_row(table, contestant, scores) for table, scores in of.items())
        for name in names:
            for contestant in contestants:
                patience = np.inf if contestant in (OURS, TEXTBOOK) else options.patience
                each = scored(CONTESTANTS[contestant], name, patience)
                found[contestant][name] = each
                note = f"   {each.folds} folds" if each.folds else ""
                print(line(name, contestant, each.figures, note), flush=True)
                writer.writerow(as_row(name, contestant, each))
                file.flush()
    return found


def report(names: list[str], found: Found, options: argparse.Namespace) -> None:
    """What the scores amount to over the tables, and on those that are made here."""
    names, made = [name for name in names if name not in MADE], [name for name in names if name in MADE]
    for name in made:
        for contestant, of in found.items():
            if name in of:
                print(line(name, contestant, of[name].figures, f"   {MADE[name].note}" if contestant == OURS else ""))
    tested = {contestant: of for contestant, of in found.items() if any(name in of for name in names)}
    if not tested:
        return
    print()
    print_means(names, tested, OURS if OURS in tested else next(iter(tested)))
    print_ranks(names, tested)
    some = [(who, name, of[name].folds) for who, of in tested.items() for name in names if name in of]
    stopped = [f"{who} on {name} ({folds})" for who, name, folds in some if folds]
    print(f"# figures of fewer folds: {', '.join(stopped) or 'none'}")
    if OURS in tested:
        print_marks([name for name in names if name in tested[OURS]], tested, OURS)
        before = {"before": read_scores([options.before])[OURS]} if options.before else {}
        for title, theirs in {TEXTBOOK: tested.get(TEXTBOOK, {}), **before}.items():
            both = [name for name in names if name in tested[OURS] and name in theirs]
            worse = losses(both, tested[OURS], theirs)
            print(f"# more than 0.5 points below {title}: {', '.join(worse) or 'none'} (of {len(both)} tables)")
    pictured = {who: [of[name].figures for name in names if name in of] for who, of in tested.items()}
    draw(pictured, options.picture, OURS)
