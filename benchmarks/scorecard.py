"""Scorecards beside optbinning and a logistic regression on the weight of evidence: the same folds, six bins each.

``python -m benchmarks scorecard [credit_g adult] [--repeats 3] [--rows N]``. optbinning runs in an environment of its
own, whose Python the variable ``TALLYBAYES_OPTBINNING`` names; without it only tallybayes is measured. Seconds are CPU
time of one fit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from tallybayes import NaiveBayes

BINS = 6
FILES = {"credit_g": ("credit_g.csv", "class"), "adult": ("adult_train.csv.gz", "")}
HEAD = f"{'table':10} {'rows':>7} {'model':28} {'ROC area':>9} {'log loss':>9} {'s a fit':>8} {'ahead by':>17}"


def run(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scorecard", description=__doc__)
    parser.add_argument("tables", nargs="*", choices=[*FILES, []], help="credit_g, adult (both)")
    parser.add_argument("--repeats", type=int, default=3, help="times that the rows are dealt into five folds (3)")
    parser.add_argument("--rows", type=int, help="only so many rows of each table")
    options = parser.parse_args(arguments)
    print(HEAD)
    for name in options.tables or FILES:
        compare(name, options.repeats, options.rows)


def compare(name: str, repeats: int, most: int | None) -> None:
    """Print a line for each model of one table."""
    table, y = read(name, most)
    tests = [
        rows
        for seed in range(repeats)
        for _, rows in StratifiedKFold(5, shuffle=True, random_state=seed).split(table, y)
    ]
    found = {
        "tallybayes readable": ours(table, y, tests, readable=True),
        "tallybayes": ours(table, y, tests),
    }
    if python := os.environ.get("TALLYBAYES_OPTBINNING"):
        found["optbinning + logistic"] = theirs(python, table, y, tests)
    peer = found.get("optbinning + logistic")
    for model, (p, seconds) in found.items():
        areas = np.array([roc_auc_score(y[rows], p_) for rows, p_ in zip(tests, p, strict=True)])
        loss = np.mean([log_loss(y[rows], p_) for rows, p_ in zip(tests, p, strict=True)])
        ahead = ""
        if peer is not None and model.startswith("tallybayes"):
            other = np.array([roc_auc_score(y[rows], p_) for rows, p_ in zip(tests, peer[0], strict=True)])
            ahead = f"{(areas - other).mean():+.4f} ± {(areas - other).std() / np.sqrt(len(areas)):.4f}"
        print(
            f"{name:10} {len(y):7,} {model:28} {areas.mean():9.4f} {loss:9.4f} {seconds:8.2f} {ahead:>17}", flush=True
        )


def read(name: str, most: int | None) -> tuple[pd.DataFrame, Any]:
    """The columns of a table, and 1 for the rows of the second class."""
    file, target = FILES[name]
    table = pd.read_csv(
        Path(os.environ.get("TALLYBAYES_DATA", "data")) / file, keep_default_na=False, na_values=["", "?"]
    )
    table = table.head(most) if most else table
    labels = table.pop(target or table.columns[-1])
    return table, (labels == sorted(labels.unique())[1]).to_numpy().astype(int)


def ours(table: pd.DataFrame, y: Any, tests: Sequence[Any], **settings: Any) -> tuple[list[Any], float]:
    """The probabilities of the rows of each fold, and the seconds of a fit."""
    found, seconds = [], 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows in tests:
            train = np.setdiff1d(np.arange(len(y)), rows)
            start = process_time()
            model = NaiveBayes(**settings).fit(table.iloc[train], y[train])
            seconds += process_time() - start
            found.append(model.predict_proba(table.iloc[rows])[:, 1])
    return found, seconds / len(tests)


def theirs(python: str, table: pd.DataFrame, y: Any, tests: Sequence[Any]) -> tuple[list[Any], float]:
    """The same of the peer, in its own environment."""
    categories = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    about = {"y": y.tolist(), "categories": categories, "max_bins": BINS, "test": [rows.tolist() for rows in tests]}
    with TemporaryDirectory() as folder:
        place = Path(folder)
        table.to_csv(place / "table.csv", index=False)
        (place / "about.json").write_text(json.dumps(about))
        script = Path(__file__).with_name("_optbinning.py")
        subprocess.run([python, str(script), folder], check=True, capture_output=True)
        answer = json.loads((place / "answer.json").read_text())
    return [np.array(p) for p in answer["p"]], float(np.mean(answer["seconds"]))
