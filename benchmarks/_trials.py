"""The trials of the benchmark of honesty: each takes plain arguments and returns a flat record, in any process."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks._peer import logistic
from benchmarks._real import read
from benchmarks._scores import log_posterior
from tallybayes import NaiveBayes

FRESH = 4000  # rows of noise on which a model is tested
MOST = 3000  # rows of a table on which a small model is tested
LARGE = 10_000  # a table of more rows is sampled before its stored figures are checked
FOLDS = 10  # of the refit from outside
FEWEST = 5  # rows that a class needs, so that it is in every training part
MODELS = ("NaiveBayes", "classical", "logistic", "baseline")
Record = dict[str, Any]


def noise(kind: str, n: int, d: int, rng: np.random.Generator) -> pd.DataFrame:
    """A table that knows nothing of any class: normal numbers, "mixed" with as many columns of 2 to 6 levels."""
    n_levels = rng.integers(2, 7, size=d // 2 if kind == "mixed" else 0)
    columns: dict[str, Any] = {f"n{j}": rng.standard_normal(n) for j in range(d - len(n_levels))}
    for j, levels in enumerate(n_levels):
        columns[f"c{j}"] = np.array(list("uvwxyz"), dtype=object)[rng.integers(levels, size=n)]
    return pd.DataFrame(columns)


def noise_trial(kind: str, n: int, d: int, n_classes: int, seed: int) -> Record:
    """Fit noise, and compare what the model expects of itself with what it is worth.

    Labels of noise do not depend on the rows and all classes are equally likely, so the mean over fresh labels is taken
    exactly and only fresh rows are drawn: the truth is known better than from 4,000 labelled rows.
    """
    rng = np.random.default_rng([seed, n, d, n_classes, kind == "mixed"])
    table = noise(kind, n + FRESH, d, rng)
    X, fresh, y = table.iloc[:n], table.iloc[n:], np.array(list("abcdefgh"))[rng.integers(n_classes, size=n)]
    model = NaiveBayes(n_jobs=1).fit(X, y)
    itself = own_figures(model, X, y)
    said = log_posterior(model, fresh)
    shares = np.unique(y, return_counts=True)[1] / n
    record = {"kind": kind, "n": n, "d": d, "classes": n_classes, "seed": seed}
    record |= {"baseline": -np.log(shares).mean(), "log loss": -said.mean(), "accuracy": 1.0 / n_classes}
    for figure, interval in (("accuracy", itself.accuracy), ("log loss", itself.log_loss)):
        record[f"own {figure}"] = interval.value
        record[f"{figure} covered"] = bool(interval.low <= record[figure] <= interval.high)
    return record


def own_figures(model: Any, X: Any, y: Any) -> Any:
    """What a model says of itself: what it stores, otherwise its evaluation on the rows that it has learned."""
    stored = getattr(model, "evaluation_", None)
    return model.evaluate(X, y) if stored is None else stored


def subsample(y: Any, n: int, rng: np.random.Generator) -> Any:
    """Row numbers of n rows with the class shares of all, but two rows of each class where there is room.

    Where there is not, the smallest classes are left out.
    """
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    take = np.zeros(len(counts), dtype=np.intp)
    kept = np.argsort(-counts, kind="stable")[: n // 2]
    take[kept] = np.minimum(2, counts[kept])
    while take.sum() < min(n, len(y)):
        room = np.isin(np.arange(len(counts)), kept) & (take < counts)
        if not room.any():
            break
        take[np.where(room, n * counts / len(y) - take, -np.inf).argmax()] += 1
    rows = [rng.choice(np.flatnonzero(codes == k), size, replace=False) for k, size in enumerate(take)]
    return np.sort(np.concatenate(rows))


@lru_cache(maxsize=2)
def _table(name: str) -> tuple[pd.DataFrame, Any, list[str], list[str]]:
    return read(name)


def small_trial(name: str, n: int, draw: int) -> Record:
    """Log loss of models of n rows of a table on rows that they have not learned; classes they lack are left out."""
    X, y, numeric, categorical = _table(name)
    rng = np.random.default_rng([draw, n])
    train = subsample(y, n, rng)
    rest = np.setdiff1d(np.arange(len(y)), train)
    rest = rest[np.isin(y[rest], y[train])]
    test = rng.choice(rest, min(MOST, len(rest)), replace=False)
    classes, codes = np.unique(y[train], return_inverse=True)
    truth = np.searchsorted(classes, y[test])
    kinds = dict.fromkeys(numeric, "numeric") | dict.fromkeys(categorical, "category")
    models = {
        "NaiveBayes": NaiveBayes(kind=kinds, n_jobs=1),
        "classical": NaiveBayes(kind=kinds, n_jobs=1, classical=True),
        "logistic": logistic(numeric, categorical),
    }
    record: Record = {"table": name, "n": n, "draw": draw, "test": len(test)}
    for title, model in models.items():
        said = log_posterior(model.fit(X.iloc[train], y[train]), X.iloc[test])
        record[title] = -said[np.arange(len(test)), truth].mean()
    shares = np.bincount(codes) / len(train)
    return record | {"baseline": -np.log(shares[truth]).mean()}


@lru_cache(maxsize=2)
def _at_most(name: str) -> tuple[pd.DataFrame, Any, dict[str, str]]:
    X, y, numeric, categorical = read(name)
    rows = np.arange(len(y))
    if len(y) > LARGE:
        rows = np.sort(np.random.default_rng(0).choice(len(y), LARGE, replace=False))
    classes, counts = np.unique(y[rows], return_counts=True)
    rows = rows[np.isin(y[rows], classes[counts >= FEWEST])]
    kinds = dict.fromkeys(numeric, "numeric") | dict.fromkeys(categorical, "category")
    return X.iloc[rows].reset_index(drop=True), y[rows], kinds


def table_trial(name: str, fold: int) -> Record:
    """The figures that a model of the whole table gives of itself (fold −1), or the losses of one fold refitted."""
    X, y, kinds = _at_most(name)
    if fold < 0:
        itself = own_figures(NaiveBayes(kind=kinds, n_jobs=1).fit(X, y), X, y).log_loss
        record = {"table": name, "fold": fold, "rows": len(y), "own": itself.value}
        return record | {"low": itself.low, "high": itself.high}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=1)
    train, test = list(folds.split(np.zeros(len(y)), y))[fold]
    model = NaiveBayes(kind=kinds, n_jobs=1).fit(X.iloc[train], y[train])
    losses = -log_posterior(model, X.iloc[test])[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]
    return {"table": name, "fold": fold, "rows": len(test), "sum": losses.sum(), "squares": np.square(losses).sum()}
