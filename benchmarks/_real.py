"""Real tables from a folder that the environment variable TALLYBAYES_DATA names; nothing is downloaded.

The folder holds `datasets.json`: for each file its target, and which columns are numeric, categorical, identifiers or
text. Files are CSV (gzipped or not) or Parquet; an empty field is a missing value, and words such as None are values.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks._data import parity, tic_tac_toe

LARGE = {"covtype": 50_000}  # tables of which a sample of so many rows is used
APART = ("kddcup99",)  # tables that are not compared with the others
Split = tuple[Any, Any]  # row numbers to learn from, and to test on


@dataclass(frozen=True)
class Made:
    """A table of categories that is made here, and what it shows."""

    make: Callable[[], tuple[Any, Any]]
    note: str


MADE = {
    "tic_tac_toe (made here)": Made(tic_tac_toe, "mark: accuracy ≥ 0.97"),
    "parity_3 (made here)": Made(parity, "out of reach: no bit and no pair of bits depends on the class"),
}


def folder() -> Path | None:
    """Where the tables are, if anywhere."""
    place = os.environ.get("TALLYBAYES_DATA")
    return Path(place) if place else None


def _described() -> dict[str, Any]:
    place = folder()
    return json.loads((place / "datasets.json").read_text()) if place else {}


def available() -> list[str]:
    """Names of the tables: no text, no mail, no test parts."""
    files = [f for f in _described() if f.endswith((".csv", ".csv.gz", ".parquet")) and not f.startswith("text_")]
    names = [f.split(".")[0] for f in files if not f.split(".")[0].endswith("_test")]
    return sorted(name for name in names if not name.startswith(APART))


def read(name: str, whole: bool = False) -> tuple[pd.DataFrame, Any, list[str], list[str]]:
    """A table, its labels, and its numeric and categorical columns; classes of fewer than 5 rows are left out.

    Of a large table only a sample is read, unless it is wanted whole.
    """
    if name in MADE:
        cells, y = MADE[name].make()
        X = pd.DataFrame(cells).rename(columns=lambda j: f"x{j}")
        return X, y, [], list(X.columns)
    file = next(f for f in _described() if f.split(".")[0] == name)
    about, place = _described()[file], folder()
    assert place is not None
    numeric, categorical = list(about["numeric"]), list(about["categorical"])
    if file.endswith(".parquet"):
        table = pd.read_parquet(place / file)
    else:
        text = dict.fromkeys([*categorical, about["target"]], str)
        table = pd.read_csv(place / file, keep_default_na=False, na_values=[""], dtype=text)
    if name in LARGE and len(table) > LARGE[name] and not whole:
        table = table.iloc[np.sort(np.random.RandomState(0).choice(len(table), LARGE[name], replace=False))]
    y = table[about["target"]].astype(str).str.removesuffix(".")
    enough = y.map(y.value_counts()) >= 5
    X = table.loc[enough, [c for c in table.columns if c in numeric or c in categorical]].reset_index(drop=True)
    return X, y[enough].to_numpy(dtype=object), numeric, categorical


def n_cells(name: str) -> int:
    """Rows × columns × classes, roughly how long a model takes; tables are run from small to large."""
    X, y, *_ = read(name)
    return X.size * len(set(y))


def splits(name: str, y: Any, seed: int = 0) -> Iterator[Split]:
    """Five stratified folds, shuffled once and for all, or as another seed says."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    yield from folds.split(np.zeros(len(y)), y)


def tasks(name: str) -> Iterator[tuple[pd.DataFrame, Any, pd.DataFrame, Any, list[str], list[str]]]:
    """Training and test parts: the published split where there is one, five folds otherwise."""
    X, y, numeric, categorical = read(name)
    if name.endswith("_train"):
        X_test, y_test, *_ = read(name.removesuffix("_train") + "_test")
        yield X, y, X_test, y_test, numeric, categorical
        return
    for train, test in splits(name, y):
        yield X.iloc[train], y[train], X.iloc[test], y[test], numeric, categorical
