"""Contestants on the same tables, cut into folds again and again: small tables are otherwise decided by a few rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks._real import n_cells, read, splits
from benchmarks._scores import log_posterior
from tallybayes.data.labels import encode_labels

Make = Callable[[list[str], list[str]], Any]


def compare(names: Sequence[str], contestants: Mapping[str, Make], ours: str, repeats: int) -> None:
    """Print accuracy and log loss of each, and ours less theirs with the standard error over the rows of the table."""
    print(f"# {repeats} times five stratified folds; differences are ours less theirs, ± one standard error over rows")
    print(f"{'table':<16} {'model':<26} {'accuracy':>9} {'difference':>18} {'log loss':>9} {'difference':>18}")
    for name in sorted(names, key=n_cells):
        found = {who: _right_and_loss(name, make, repeats) for who, make in contestants.items()}
        for who, (right, loss) in found.items():
            apart = [_difference(mine - theirs) for mine, theirs in zip(found[ours], (right, loss), strict=True)]
            first, last = ("", "") if who == ours else apart
            print(f"{name:<16} {who:<26} {right.mean():9.4f} {first:>18} {loss.mean():9.4f} {last:>18}", flush=True)


def _right_and_loss(name: str, make: Make, repeats: int) -> tuple[Any, Any]:
    """Of each row (n,), how often its prediction was right, and its mean log loss."""
    X, y, numeric, categorical = read(name)
    right, loss = np.zeros(len(y)), np.zeros(len(y))
    for seed in range(repeats):
        for train, test in splits(name, y, seed):
            model = make(numeric, categorical).fit(X.iloc[train], y[train])
            logs, codes = log_posterior(model, X.iloc[test]), encode_labels(y[test], model.classes_)
            right[test] += logs.argmax(axis=1) == codes
            loss[test] -= logs[np.arange(len(codes)), codes]
    return right / repeats, loss / repeats


def _difference(each: Any) -> str:
    return f"{each.mean():+.4f} ± {each.std(ddof=1) / np.sqrt(len(each)):.4f}"
