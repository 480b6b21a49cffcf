"""Measures of how two distributions of counts differ, and tests that allow for their size.

Population stability index Σ (q − p) log(q / p), the sum of both Kullback–Leibler divergences; Jensen–Shannon distance,
the root of the mean divergence from the middle of the two, in nats; Pearson's chi-square test of homogeneity; Woolf's
test (1955) that log odds changed alike in all cells; and the adjustment of Benjamini and Hochberg (1995).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array

LEAST = 5.0  # expected rows of a cell in the smaller sample; smaller cells are counted together
HALF = 0.5  # rows that are added to every cell where one is empty, so that logs are finite


def shares(old: Array, new: Array) -> tuple[Array, Array]:
    """Both counts as shares; half a row is added to every cell where one would have none."""
    if not (old > 0).all() or not (new > 0).all():
        old, new = old + HALF, new + HALF
    return np.asarray(old / old.sum()), np.asarray(new / new.sum())


def stability_index(old: Array, new: Array) -> float:
    """Population stability index of two counts of the same cells.

    Examples
    --------
    >>> round(stability_index(np.array([50.0, 50.0]), np.array([60.0, 40.0])), 4)
    0.0405
    """
    p, q = shares(old, new)
    return float((q - p) @ np.log(q / p))


def distance(old: Array, new: Array) -> float:
    """Jensen–Shannon distance of two counts of the same cells, from 0 to √log 2.

    Examples
    --------
    >>> round(distance(np.array([50.0, 50.0]), np.array([60.0, 40.0])), 4)
    0.0711
    """
    p, q = old / old.sum(), new / new.sum()
    middle = (p + q) / 2.0
    parts = [
        np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0) / np.where(middle > 0, middle, 1.0)), 0.0) for x in (p, q)
    ]
    return math.sqrt(max(0.0, float(parts[0].sum() + parts[1].sum()) / 2.0))


def merged_cells(old: Array, new: Array) -> NDArray[np.int64]:
    """The cell (C,) that each belongs to, small ones being counted together: the last one."""
    total = old + new
    expected = total / max(float(total.sum()), 1e-300) * min(float(old.sum()), float(new.sum()))
    small = expected < LEAST
    if small.sum() < 2:
        return np.arange(len(old))
    place = np.cumsum(~small) - 1
    return np.where(small, int((~small).sum()), place).astype(np.int64)


def chi_square(old: Array, new: Array) -> float:
    """The chance of counts that differ this much, if both were drawn alike (Pearson)."""
    table = np.stack((old, new))
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or not (table.sum(axis=1) > 0).all():
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return _beyond(float(((table - expected) ** 2 / expected).sum()), table.shape[1] - 1)


def _beyond(statistic: float, freedom: int) -> float:
    from scipy.special import chdtrc  # slow to import

    return float(chdtrc(freedom, statistic))


def same_evidence(old: Array, new: Array) -> float:
    """The chance of log odds (C, K) that changed this differently from cell to cell, if all changed alike (Woolf).

    Of more than two classes each is tested against the others, and the smallest chance is multiplied by their number.
    """
    n_classes = old.shape[1]
    tested = [1] if n_classes == 2 else range(n_classes)
    found = [1.0]
    for k in tested:
        change, spread = np.zeros(len(old)), np.zeros(len(old))
        for sign, table in ((-1.0, old), (1.0, new)):
            mine, others = table[:, k] + HALF, table.sum(axis=1) - table[:, k] + HALF
            change += sign * np.log(mine / others)
            spread += 1.0 / mine + 1.0 / others
        full = (old.sum(axis=1) > 0) & (new.sum(axis=1) > 0)
        if full.sum() > 1:
            weight = 1.0 / spread[full]
            mean = float(weight @ change[full]) / float(weight.sum())
            found.append(_beyond(float(weight @ (change[full] - mean) ** 2), int(full.sum()) - 1) * len(tested))
    return min(1.0, *found) if len(found) > 1 else 1.0


def evidence_change(old: Array, new: Array) -> float:
    """How much the log odds (C, K) of the cells changed, beyond what all of them did: mean of the absolute, in nats."""

    def weight_of_evidence(table: Array) -> Array:
        logs = np.log((table + HALF) / (table + HALF).sum(axis=0))
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))

    share = new.sum(axis=1) / max(float(new.sum()), 1e-300)
    change = np.ptp(weight_of_evidence(new) - weight_of_evidence(old), axis=1)
    return float(share @ change)


def adjusted(chances: Sequence[float]) -> list[float]:
    """Chances of many tests so adjusted that those below a level are false at most that often (Benjamini–Hochberg).

    Examples
    --------
    >>> adjusted([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    p = np.asarray(chances, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    raised = p[order] * len(p) / np.arange(1, len(p) + 1)
    found = np.empty(len(p))
    found[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return [round(value, 15) for value in found.tolist()]
