"""Weights of the columns' evidence, learned from leave-one-out evidence.

Maximises Σ_n r_n log P(y_n | x_n) − λ Σ_d (w_d − c_d)² over w ≥ 0, where the scores are w_0·log P(y) + Σ_d w_d·e_nkd
and e_nkd = log P(x_nd | k) as if row n had not been learned. The centre c is 1, as in plain Naive Bayes, and 0 for
pairs, as if columns were independent. Concave, so Newton's method with the exact slope and curvature finds the maximum
in a few steps; λ keeps it finite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallybayes.core import fitting
from tallybayes.core.batch import Array
from tallybayes.core.keys import stratified_folds
from tallybayes.core.model import Model
from tallybayes.learning.evidence import HeldOut

PULL = 1.0  # λ: a weight that is off by one costs as much as one nat
PULLS = (0.3, 1.0, 3.0, 10.0)  # what is tried where rows are few enough for it to matter
FEW = 2_000  # rows
MANY_SCORES = 200_000  # rows × classes beyond which the usual λ is taken
LEAST_ROWS = 20
COARSE = 1_000  # rows that are enough for the first steps; of more than a hundred classes fewer are
TOLERANCE = 1e-6  # nats a row: less than any noise


def learn(
    rows: HeldOut,
    centre: Array,
    start: Array | None = None,
    pull: float = PULL,
    fixed: int | None = None,
    *,
    is_near: bool = False,
) -> Array:
    """Return the weights (1 + P,) that predict the labels best, the prior's first; the first ``fixed`` are not changed.

    Projected Newton steps: weights that are at zero and would fall stay there, the others take the step that the slope
    and the curvature suggest, shortened until the loss falls. Of many rows a part takes the first steps by itself,
    unless the start is near.
    """
    weights = np.array(centre if start is None else start, dtype=np.float64)
    enough = max(COARSE // max(1, rows.terms.shape[1] // 100), 100, 10 * len(weights))
    coarse = 1 if is_near else max(1, len(rows.codes) // enough)
    args = (weights, pull, fixed or 0, coarse, TOLERANCE)
    fitting.learn_weights(rows.terms, rows.weight, np.asarray(centre, dtype=np.float64), *args)
    return weights


def best_pull(rows: HeldOut, centre: Array) -> float:
    """The λ whose weights predict held-out rows best; on many rows it makes no difference."""
    if len(rows.codes) > FEW or rows.terms.shape[0] * rows.terms.shape[1] > MANY_SCORES:
        return PULL
    found, start = [], centre
    for pull in PULLS:
        start = learn(rows, centre, start, pull)
        found.append(float(rows.weight @ held_out_losses(rows, centre, pull, start)))
    return PULLS[int(np.argmin(found))]


def held_out_losses(
    rows: HeldOut, centre: Array, pull: float = PULL, start: Array | None = None, fixed: int | None = None
) -> Array:
    """Losses (n,) of each row under weights learned from the rows of the other folds."""
    n_folds = 5 if len(rows.codes) <= FEW else 2
    fold = stratified_folds(rows.codes, n_folds)
    losses = np.zeros(len(rows.codes))
    for number in range(n_folds):
        own = fold == number
        losses[own] = rows.take(own).losses(learn(rows.without(own), centre, start, pull, fixed))
    return losses


def is_better(before: Array, after: Array, weight: Array) -> bool:
    """Whether losses fell by more than one standard error of the mean difference."""
    total = float(weight.sum())
    gain = (weight * (before - after)).sum() / total
    noise = np.sqrt((weight * (before - after - gain) ** 2).sum() / total / max(len(before), 1))
    return bool(gain > noise)


def column_weights(model: Model, names: Sequence[str], weights: Array) -> dict[str, float]:
    """The weight of each column, from those of the prior and of the named ones; a document has a single one."""
    found = dict(zip(names, weights[1:].tolist(), strict=False))
    for name, block in model.tally.blocks.items():
        if model.settings.families[name].is_document:
            columns = [model.schema.columns[p].name for p in block.columns]
            found |= dict.fromkeys(columns, found[columns[0]])
    return {name: found[name] for name in model.schema.names if name in found}
