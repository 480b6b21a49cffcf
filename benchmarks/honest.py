"""Whether a model judges itself rightly, and whether noise or a handful of rows can fool it.

noise: tables without any signal; the log loss on fresh rows beside the baseline (the class shares of the training
rows), and how often the 95 % intervals that the model gives of itself cover the truth.
small: 20 to 160 rows of real tables; the log loss on other rows beside the textbook, logistic regression and baseline.
tables: the log loss that the model gives of itself beside ten folds that are refitted from outside.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks._real import available
from benchmarks._trials import FOLDS, FRESH, LARGE, MODELS, MOST, Record, noise_trial, small_trial, table_trial

SIZES = ((60, 20), (200, 40), (100, 100), (100, 500), (1000, 50))  # rows and columns of noise
SETTINGS = [(kind, n, d, 2) for kind in ("numeric", "mixed") for n, d in SIZES] + [("mixed", 200, 40, 3)]
SMALL = (20, 40, 80, 160)  # rows that are learned
TABLES = (  # seven of two classes and five of more; numbers, categories and both; enough rows to test on
    *("adult_train", "car", "credit_a", "credit_g", "kr_vs_kp", "mushroom"),
    *("nursery", "pendigits", "pima_diabetes", "satimage", "spambase", "splice"),
)
MEAN, WORST, COVERAGE = 0.02, 0.08, 0.90  # marks: excess over the baseline, on average and at worst; covered runs
SHARE = 23 / 25  # mark: tables whose own log loss is right
Job = tuple[Callable[..., Record], tuple[Any, ...]]


def run(arguments: Sequence[str] = ()) -> None:
    options = _parser().parse_args(arguments)
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    if unknown := set(options.sections) - set(SECTIONS):
        sys.exit(f"no part {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    rows = []
    for section in options.sections or SECTIONS:
        jobs, show = SECTIONS[section]
        records = in_processes(jobs(options), options.jobs, section, options.resume)
        if not records:
            sys.exit(f"{section}: no tables; set TALLYBAYES_DATA to a folder with datasets.json and its files")
        show(records)
        rows += [{"section": section} | record for record in records]
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
            writer.writeheader()
            writer.writerows(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks honest")
    parser.add_argument("sections", nargs="*", metavar="noise|small|tables", help="only these parts (all)")
    parser.add_argument("--seeds", type=int, help="runs of each setting of noise (20), draws of each small table (10)")
    parser.add_argument("--tables", type=lambda text: text.split(","), help="only these tables, with commas between")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (the number of cores)")
    parser.add_argument("--resume", type=Path, help="keep finished trials in this file, and do not run them again")
    parser.add_argument("--csv", type=Path, help="also write a line for each trial to this file")
    return parser


def in_processes(jobs: list[Job], n_processes: int, title: str, kept: Path | None = None) -> list[Record]:
    """The records of trials in their order; a line on stderr counts them. Those that are kept are not run again."""
    start, known = perf_counter(), _kept(kept)
    names = [json.dumps([trial.__name__, *arguments]) for trial, arguments in jobs]
    context = multiprocessing.get_context("spawn")  # so that libraries read their number of threads again
    with ProcessPoolExecutor(n_processes, context, initializer=warnings.simplefilter, initargs=("ignore",)) as pool:
        left = [(name, *job) for name, job in zip(names, jobs, strict=True) if name not in known]
        running = {pool.submit(trial, *arguments): name for name, trial, arguments in left}
        for future in as_completed(running):
            known[running[future]] = future.result()
            if kept is not None:
                with kept.open("a") as file:
                    print(json.dumps([running[future], future.result()], default=float), file=file)
            done = sum(name in known for name in names)
            print(f"\r# {title}: {done} of {len(jobs)}, {perf_counter() - start:.0f} s", end="", file=sys.stderr)
    print(file=sys.stderr)
    return [known[name] for name in names]


def _kept(path: Path | None) -> dict[str, Record]:
    """The records of finished trials by their arguments."""
    if path is None or not path.exists():
        return {}
    return dict(json.loads(line) for line in path.read_text().splitlines())


def noise_jobs(options: argparse.Namespace) -> list[Job]:
    # By seed, so that the slow settings are spread over the processes.
    return [(noise_trial, (*setting, seed)) for seed in range(options.seeds or 20) for setting in SETTINGS]


def show_noise(records: list[Record]) -> None:
    print(f"\n# noise; log loss over {FRESH} fresh rows minus that of the class shares; 95 % intervals of itself")
    titles = ("runs", "mean excess", "(s.e.)", "worst", "own minus true", "accuracy in", "log loss in")
    print(f"{'setting':<26}" + "".join(f"{title:>15}" for title in titles))
    means, worst = [], []
    for setting in SETTINGS:
        of = [r for r in records if (r["kind"], r["n"], r["d"], r["classes"]) == setting]
        kind, n, d, n_classes = setting
        excess = np.array([r["log loss"] - r["baseline"] for r in of])
        means.append(excess.mean())
        worst.append(excess.max())
        own = np.mean([r["own log loss"] - r["log loss"] for r in of])
        inside = [np.mean([r[f"{figure} covered"] for r in of]) for figure in ("accuracy", "log loss")]
        cells = (f"{len(of)}", f"{excess.mean():+.4f}", f"{standard_error(excess):.4f}", f"{excess.max():+.4f}")
        cells += (f"{own:+.4f}", *(f"{share:.0%}" for share in inside))
        print(f"{f'{kind} {n} × {d}, {n_classes} classes':<26}" + "".join(f"{cell:>15}" for cell in cells))
    mark("largest mean excess", max(means), MEAN)
    mark("worst run", max(worst), WORST)
    for figure in ("accuracy", "log loss"):
        covered = np.array([r[f"{figure} covered"] for r in records], dtype=float)
        mark(
            f"runs whose interval of {figure} covers the truth",
            covered.mean(),
            COVERAGE,
            standard_error(covered),
            False,
        )


def small_jobs(options: argparse.Namespace) -> list[Job]:
    known = set(available())
    names = [name for name in options.tables or TABLES if name in known]
    return [(small_trial, (name, n, draw)) for name in names for n in SMALL for draw in range(options.seeds or 10)]


def show_small(records: list[Record]) -> None:
    names = list(dict.fromkeys(r["table"] for r in records))
    print(f"\n# small: log loss on at most {MOST} rows that were not learned; means of {len(names)} tables")
    print("# (standard errors are those of the mean over tables)")
    print(f"{'rows':<10}" + "".join(f"{title:>22}" for title in MODELS) + f"{'ours minus the best':>26}")
    for title, sizes in [(str(n), (n,)) for n in SMALL] + [("all", SMALL)]:
        of = [[[r[m] for m in MODELS] for r in records if r["table"] == name and r["n"] in sizes] for name in names]
        by_table = np.array([np.mean(each, axis=0) for each in of])  # (table, model)
        best = 1 + by_table[:, 1:].mean(axis=0).argmin()
        gap = by_table[:, 0] - by_table[:, best]
        cells = "".join(f"{f'{each.mean():.4f} ({standard_error(each):.4f})':>22}" for each in by_table.T)
        met = "met" if gap.mean() <= MEAN else "missed"
        print(f"{title:<10}{cells}{f'{gap.mean():+.4f} ({standard_error(gap):.4f})':>26}  {met}")
    print(f"\n{'all sizes':<24}" + "".join(f"{title:>12}" for title in MODELS))
    for name, means in zip(names, by_table, strict=True):
        print(f"{name:<24}" + "".join(f"{value:>12.4f}" for value in means))
    mark(f"mean minus that of {MODELS[best]}, the best of the others", gap.mean(), MEAN, standard_error(gap))


def table_jobs(options: argparse.Namespace) -> list[Job]:
    names = [name for name in available() if not options.tables or name in options.tables]
    return [(table_trial, (name, fold)) for name in names for fold in range(-1, FOLDS)]


def show_tables(records: list[Record]) -> None:
    """The yardstick is the standard error of the outside figure over its rows.

    Both figures are means over the same rows, so the standard error of two independent samples would be too wide; that
    of the paired difference would need the loss of each row, which a model does not store. The error of the outside
    figure is how well the truth is known.
    """
    print(
        f"\n# tables (of more than {LARGE} rows a sample): its own log loss beside {FOLDS} folds refitted from outside"
    )
    titles = ("rows", "own", "outside", "(s.e.)", "difference", "in s.e.", "own at most")
    print(f"{'table':<24}" + "".join(f"{title:>12}" for title in titles))
    distances, too_good = [], 0
    for name in dict.fromkeys(r["table"] for r in records):
        own = next(r for r in records if r["table"] == name and r["fold"] < 0)
        outside, error = outside_mean([r for r in records if r["table"] == name and r["fold"] >= 0])
        distances.append((own["own"] - outside) / error)
        cells = f"{own['own']:12.4f}{outside:12.4f}{error:12.4f}{own['own'] - outside:+12.4f}{distances[-1]:+12.2f}"
        cells += f"{own['high']:12.4f}"
        too_good += own["high"] < outside
        print(f"{name:<24}{own['rows']:12}{cells}", "" if abs(distances[-1]) <= 2 else " beyond two")
    within = np.abs(distances) <= 2
    mark(f"share within two standard errors ({within.sum()} of {len(within)})", within.mean(), SHARE, at_most=False)
    print(f"# tables whose own 95 % interval lies below the outside figure, so that it claims too much: {too_good}")


def outside_mean(folds: list[Record]) -> tuple[float, float]:
    """Mean loss of all rows of the folds and its standard error."""
    n, total, squares = (sum(r[key] for r in folds) for key in ("rows", "sum", "squares"))
    return total / n, float(np.sqrt(max(squares / n - (total / n) ** 2, 0.0) / n))


def standard_error(values: Any) -> float:
    values = np.asarray(values, dtype=float)
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def mark(title: str, value: float, limit: float, error: float | None = None, at_most: bool = True) -> None:
    """Print a figure beside its mark."""
    met = value <= limit if at_most else value >= limit - 1e-9
    about = "" if error is None else f" (s.e. {error:.4f})"
    print(f"# {title}: {value:.4f}{about}, mark {'≤' if at_most else '≥'} {limit:.2f}: {'met' if met else 'missed'}")


SECTIONS: dict[str, tuple[Callable[[argparse.Namespace], list[Job]], Callable[[list[Record]], None]]] = {
    "noise": (noise_jobs, show_noise),
    "small": (small_jobs, show_small),
    "tables": (table_jobs, show_tables),
}
