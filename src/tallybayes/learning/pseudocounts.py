"""How strongly the words of a text are smoothed: the pseudocount that predicts held-out texts best."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.core.batch import every_nth
from tallybayes.core.model import Model
from tallybayes.core.schema import Schema, block_of
from tallybayes.core.settings import Settings
from tallybayes.core.tally import Block, Tally
from tallybayes.core.threads import map_each, threads_for
from tallybayes.data.tables import TableBatch
from tallybayes.learning.evidence import held_out
from tallybayes.learning.reading import Reading, settings_of
from tallybayes.learning.weights import learn

ALPHAS = (0.05, 0.1, 0.2)  # that are tried
BEYOND = {0.05: 0.02, 0.2: 0.4}  # what is tried next, where the least or the largest is best
WORTH = 100  # cells that a text is worth
COMPARED_TEXTS = 20_000  # held-out texts, times classes, on which they are compared


def with_pseudocount(read: Reading, sample: TableBatch, base: Settings, text: str, n_jobs: int | None) -> Reading:
    """How the table is read with the pseudocount that suits the words of a text best.

    Each is compared with the weights of the prior and of the text that suit it: these do not change the order of the
    words, and are learned afterwards anyhow.
    """
    model, family = read.model, read.families[text]
    if getattr(family, "idf", False):  # one row changes the weight of every word, so that none can be left out
        return read
    p = model.schema.names.index(text)
    few = every_nth(sample, max(300, COMPARED_TEXTS // model.n_classes))
    place = block_of(model.schema.columns[p], family.name)
    tally = _only(model.tally, p, place)

    def with_alpha(alpha: float) -> Any:
        return replace(family, alpha=alpha)  # type: ignore[type-var]

    def loss(alpha: float) -> float:
        only = Model(Settings({place: with_alpha(alpha)}, base.prior), tally)
        rows = held_out(only, few, {place: [0]}, [0])
        if not np.isfinite(rows.terms).all():
            return np.inf
        return float((rows.weight * rows.losses(learn(rows, np.ones(rows.n_terms)))).sum())

    threads = threads_for(few.n_rows * WORTH * model.n_classes, n_jobs)
    found = dict(zip(ALPHAS, map_each(loss, ALPHAS, threads), strict=True))
    best = min(found, key=found.__getitem__)
    if best in BEYOND:
        found[BEYOND[best]] = loss(BEYOND[best])
    families = {**read.families, text: with_alpha(min(found, key=found.__getitem__))}
    settings = settings_of(families, model.schema, model.settings)
    return replace(read, families=families, model=replace(model, settings=settings))


def _only(tally: Tally, column: int, block: str) -> Tally:
    """The tally of a single column."""
    schema = Schema((tally.schema.columns[column],), tally.schema.classes)
    return Tally(schema, tally.class_weight, {block: Block([0], tally.blocks[block].summary)})
