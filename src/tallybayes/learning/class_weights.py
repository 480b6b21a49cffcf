"""Weights that differ by class: how much more or less of a column one class hears than the others.

The score of class k is w₀·log P(k) + Σ_d t_kd·w_d·(e_nkd − mean of e_nd over the classes), where e_nkd is the
leave-one-out evidence of column d and w_d the weight of the column. Without the mean a weight would change with the
unit that the column is measured in. With t = 1 it is the score as it was. The times t ≥ 0 maximise
Σ_n r_n log P(y_n | x_n) − λ Σ_kd (t_kd − 1)², with the λ under which rows that they were not learned from are foretold
best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, thinned
from tallybayes.core.schema import plural
from tallybayes.core.settings import ClassWeights
from tallybayes.data.tables import TableBatch
from tallybayes.learning.evidence import LEARNED_ROWS, MOST_CELLS, evidence_without
from tallybayes.learning.reading import Reading
from tallybayes.learning.weights import is_better

PULLS = (1.0, 3.0, 10.0, 30.0)  # λ that are tried
MOST_STEPS = 60


@dataclass(frozen=True)
class ClassEvidence:
    """What each column says for each class, centred and weighed, each row left out of what was learned."""

    said: NDArray[np.float32]  # (n, K, D)
    prior: Array  # (K,) score of the prior
    codes: NDArray[np.int32]  # (n,)
    weight: Array  # (n,)

    def take(self, rows: NDArray[np.bool_]) -> ClassEvidence:
        """Some of the rows."""
        return ClassEvidence(self.said[rows], self.prior, self.codes[rows], self.weight[rows])

    def log_posterior(self, times: Array) -> Array:
        """Log P(y | x), shape (n, K)."""
        score = np.einsum("nkd,kd->nk", self.said, times.astype(np.float32)).astype(np.float64) + self.prior
        score -= score.max(axis=1, keepdims=True)
        return np.asarray(score - np.log(np.exp(score).sum(axis=1, keepdims=True)))

    def losses(self, times: Array) -> Array:
        """−log P(y_n | x_n), shape (n,)."""
        return -self.log_posterior(times)[np.arange(len(self.codes)), self.codes]


def learn_classes(evidence: ClassEvidence) -> Array | None:
    """Return the times (K, D), or None if they would not foretell held-out rows better, beyond noise."""
    even = np.arange(len(evidence.codes)) % 2 == 0
    halves = [(evidence.take(even), evidence.take(~even)), (evidence.take(~even), evidence.take(even))]
    ones = np.ones(evidence.said.shape[1:])

    def held_out(pull: float) -> Array:
        return np.concatenate([other.losses(_learned(half, pull)) for half, other in halves])

    weight = np.concatenate([other.weight for _, other in halves])
    losses = {pull: held_out(pull) for pull in PULLS}
    best = min(PULLS, key=lambda pull: float(weight @ losses[pull]))
    before = np.concatenate([other.losses(ones) for _, other in halves])
    return _learned(evidence, best) if is_better(before, losses[best], weight) else None


def _learned(evidence: ClassEvidence, pull: float) -> Array:
    from scipy.optimize import minimize  # slow to import and seldom needed

    shape, own = evidence.said.shape[1:], (np.arange(len(evidence.codes)), evidence.codes)

    def objective(flat: Array) -> tuple[float, Array]:
        times = flat.reshape(shape)
        logs = evidence.log_posterior(times)
        left = np.exp(logs) * evidence.weight[:, None]
        left[own] -= evidence.weight
        slope = np.einsum("nk,nkd->kd", left.astype(np.float32), evidence.said) + 2.0 * pull * (times - 1.0)
        loss = -float(evidence.weight @ logs[own]) + pull * float(((times - 1.0) ** 2).sum())
        return loss, slope.ravel().astype(np.float64)

    bounds = [(0.0, None)] * (shape[0] * shape[1])
    options = {"maxiter": MOST_STEPS}
    found = minimize(objective, np.ones(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x.reshape(shape))


def with_class_weights(read: Reading, batch: TableBatch) -> Reading:
    """How the table is read with weights that differ by class, if there are more than two and they gain by it."""
    model, given = read.model, read.model.settings.weights
    assert given is not None
    if model.n_classes < 3:
        return read.noted("two classes weigh alike: what one hears more of a column, the other hears less")
    used = [p for p, c in enumerate(model.schema.columns) if given.columns.get(c.name, 1.0) and c.kind != "ignored"]
    evidence = _evidence(read, batch, used)
    times = learn_classes(evidence)
    if times is None:
        return read.noted("weights that differ by class would not improve held-out log loss: none")
    by_class = ClassWeights(tuple(model.schema.names[p] for p in used), model.schema.classes, times)
    note = f"weights of {plural(model.n_classes, 'class')} learned from {plural(len(evidence.codes), 'row')}"
    return read.weighed(replace(given, by_class=by_class), note)


def _evidence(read: Reading, batch: TableBatch, used: list[int]) -> ClassEvidence:
    """What some columns say, of as many rows as there is room for."""
    model = read.model
    most = MOST_CELLS // (model.n_classes * len(model.schema.columns))
    sample = thinned(batch, max(1000, min(LEARNED_ROWS, most)))
    rows = replace(sample, schema=model.schema, places=read.plan.places(model.schema))
    assert rows.labels is not None
    assert rows.labels.codes is not None
    said = np.empty((rows.n_rows, model.n_classes, len(used)), dtype=np.float32)
    for here, evidence in evidence_without(model, rows):
        parts = (evidence * model.column_weights)[:, :, used]
        said[here] = parts - parts.mean(axis=1, keepdims=True)
    return ClassEvidence(said, np.maximum(model.prior_score, -1e3), rows.labels.codes, rows.labels.weight)
