"""Rows without a label, learned beside those that have one, by expectation-maximisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tallybayes.core.batch import Batch, Rows
from tallybayes.core.model import Model
from tallybayes.core.provenance import Steps
from tallybayes.core.schema import Schema
from tallybayes.errors import DataError
from tallybayes.learning import em
from tallybayes.learning.mixtures import widened
from tallybayes.learning.options import EM, Options
from tallybayes.learning.smoothing import with_alpha


def with_unlabelled(model: Model, batch: Rows, options: Options, before: Model | None) -> Model:
    """Go on from the model of the labelled rows to one of all rows; the same where every row has a label."""
    labels = batch.labels
    assert labels is not None
    assert labels.codes is not None
    if options.unlabelled != "em" or (labels.codes >= 0).all():
        return model
    absent = model.tally.class_weight == 0
    if absent.any():
        raise DataError(
            f"class {model.schema.classes[int(np.argmax(absent))]!r} has no labelled row that counts, so there is "
            "nothing to start from; label one, or take the class out"
        )
    rows = replace(batch.rows(0, batch.n_rows), schema=model.schema)
    learned, asked = _learner(options), options.em
    start = _with_chosen_alpha(model, rows, options, learned)
    weight = em.best_weight(start, rows, learned) if options.em.weight == "auto" else float(options.em.weight)
    rows = em.with_unlabelled_weight(rows, weight)
    same = before is not None and _alike(before.schema, start.schema)
    begin = replace(start, tally=before.tally) if same and before is not None else widened(start, rows)
    found = em.learn(begin, rows, max_iter=asked.max_iter, tol=asked.tol, n_jobs=options.n_jobs, report=_report(asked))
    steps = Steps(found.n_iter, found.converged, found.log_likelihood_path, weight)
    return replace(found.model, provenance=replace(start.provenance, steps=steps))


def _learner(options: Options) -> Callable[[Model, Batch], em.Learned]:
    def learned(start: Model, rows: Batch) -> em.Learned:
        return em.learn(
            widened(start, rows), rows, max_iter=options.em.max_iter, tol=options.em.tol, n_jobs=options.n_jobs
        )

    return learned


def _with_chosen_alpha(
    start: Model, rows: Batch, options: Options, learned: Callable[[Model, Batch], em.Learned]
) -> Model:
    """The start whose smoothing suits all rows, not only the labelled ones, where it is to be chosen."""
    if options.matrix is None or not isinstance(options.alpha, str):
        return start
    starts = {alpha: with_alpha(start, options.matrix.name, alpha) for alpha in em.ALPHAS}
    weight = 1.0 if options.em.weight == "auto" else float(options.em.weight)
    alpha = em.best_alpha(starts, em.with_unlabelled_weight(rows, weight), learned)
    chosen = {**start.provenance.chosen, "alpha": alpha}
    return replace(starts[alpha], provenance=replace(start.provenance, chosen=chosen))


def _report(asked: EM) -> em.Report | None:
    def report(step: int, value: float) -> None:
        print(f"[EM] step {step}: penalised log likelihood {value:.6f}", flush=True)

    return report if asked.verbose else None


def _alike(one: Schema, two: Schema) -> bool:
    """Whether tallies of both schemas have the same shape and mean the same."""
    if one.classes != two.classes or len(one.columns) != len(two.columns):
        return False
    same = zip(one.columns, two.columns, strict=True)
    return one.columns == two.columns or all((a.name, a.kind, a.levels) == (b.name, b.kind, b.levels) for a, b in same)
