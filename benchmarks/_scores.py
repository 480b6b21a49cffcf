"""What a contestant is worth on a table, and the CSV file that keeps it."""

from __future__ import annotations

import base64
import csv
import datetime
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks._real import tasks
from tallybayes.core.metrics import score
from tallybayes.data.labels import encode_labels

FIGURES = ("accuracy", "log loss", "ECE", "macro F1", "seconds")
LEAST = 1e-15  # no probability counts as less, whoever predicts it
HEADER = ("table", "rows", "model", *FIGURES, "ECE of folds", "folds", "date", "right")


@dataclass(frozen=True)
class Scores:
    """One contestant on one table."""

    figures: tuple[float, ...]  # as FIGURES, of all test rows; seconds of fit and predict of all folds
    ece_of_folds: float  # mean over the folds, each of which has fewer rows to tell it from chance
    right: Any  # (n,) whether the prediction of each test row is right, fold after fold
    n_rows: int
    folds: str = ""  # "1 of 5" where it was stopped
    date: str = ""  # of the run


Found = dict[str, dict[str, Scores]]  # by contestant and table


def log_posterior(model: Any, X: Any) -> Any:
    """Log probabilities (n, K), none below the least."""
    return np.log(np.clip(np.asarray(model.predict_proba(X), dtype=float), LEAST, 1.0))


def scored(make: Callable[[list[str], list[str]], Any], name: str, patience: float = np.inf) -> Scores:
    """Fit and test a contestant on a table; after more seconds than the patience no further fold is begun."""
    said, codes, errors, seconds, n_rows, n_folds = [], [], [], 0.0, 0, 0
    for X, y, X_test, y_test, numeric, categorical in tasks(name):
        n_folds += 1
        if seconds > patience:
            continue
        start = perf_counter()
        model = make(numeric, categorical).fit(X, y)
        said.append(log_posterior(model, X_test))
        seconds += getattr(model, "seconds", perf_counter() - start)
        classes = tuple(model.classes_.tolist())
        codes.append(encode_labels(y_test, model.classes_))
        errors.append(score(said[-1], codes[-1], classes).ece)
        n_rows = len(y) + len(y_test)
    together, truth = np.concatenate(said), np.concatenate(codes)
    seen = score(together, truth, classes)
    figures = (seen.accuracy.value, seen.log_loss.value, seen.ece, seen.macro_f1, seconds)
    folds = f"{len(said)} of {n_folds}" if len(said) < n_folds else ""
    today = datetime.date.today().isoformat()
    return Scores(figures, float(np.mean(errors)), together.argmax(axis=1) == truth, n_rows, folds, today)


def as_row(table: str, contestant: str, of: Scores) -> list[Any]:
    """The line of a CSV file with HEADER."""
    packed = base64.b64encode(zlib.compress(np.packbits(of.right).tobytes())).decode()
    right = f"{len(of.right)}:{packed}"
    return [table, of.n_rows, contestant, *of.figures, of.ece_of_folds, of.folds, of.date, right]


def read_scores(files: Iterable[Path]) -> Found:
    """The scores in CSV files; a later file replaces what an earlier one has."""
    found: Found = {}
    for path in files:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["model"], {})[row["table"]] = _from_row(row)
    return found


def _from_row(row: dict[str, str]) -> Scores:
    n_right, _, packed = row["right"].partition(":")
    bits = np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=np.uint8)
    right = np.unpackbits(bits, count=int(n_right)).astype(bool)
    figures = tuple(float(row[figure]) for figure in FIGURES)
    return Scores(figures, float(row["ECE of folds"]), right, int(row["rows"]), row["folds"], row["date"])
