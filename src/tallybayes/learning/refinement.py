"""How a table is best read: a distribution for each column, weights for their evidence, pairs, and corrections.

Tables of columns are learned by cross-fitting. A table of nothing but text has one thing to weigh, the text; its
pseudocount and weight are chosen by exact leave-one-out, which hardly flatters two numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.settings import EvidenceWeights, Settings
from tallybayes.data.tables import TableBatch
from tallybayes.learning.columns import read_columns
from tallybayes.learning.crossfit import crossfitted
from tallybayes.learning.folds import Unseen
from tallybayes.learning.ladder import Ladder, climbed
from tallybayes.learning.options import Options
from tallybayes.learning.weights import column_weights, held_out_losses, is_better
from tallybayes.learning.word_weights import with_word_weights


def refined(batch: TableBatch, base: Settings, options: Options) -> tuple[Model, Unseen | None]:
    """Return the model that reads rows best, having learned them, and scores of rows that it had not seen.

    Parameters
    ----------
    batch : TableBatch
        Labelled rows, in the order of their keys.
    base : Settings
        The textbook reading.
    options : Options

    Returns
    -------
    Model
    Unseen, optional
        Where choices were made on other rows than they are judged on.
    """
    if options.weights is None and options.pairs == 0:
        return read_columns(batch, base, options).model, None
    kinds = {column.kind for column in batch.schema.columns if column.kind != "ignored"}
    if kinds == {"text"}:
        return _of_texts(batch, base, options), None
    found = crossfitted(batch, base, options)
    if found is None:
        model = read_columns(batch, base, options).model
        note = "weights need evidence that is never infinite: use alpha > 0"
        return replace(model, provenance=model.provenance.noted(note)), None
    return found


def _of_texts(batch: TableBatch, base: Settings, options: Options) -> Model:
    """Texts with one weight each, or one for every word, where that improves leave-one-out."""
    with threadpool_limits(1, user_api="blas"):
        ladder = climbed(batch, base, replace(options, pairs=0))
        if ladder is None:
            return read_columns(batch, base, options).model
        model = ladder.read.model
        if options.weights is not None and (options.weights != "auto" or _gains(ladder)):
            weights = ladder.weights[0]
            given = EvidenceWeights(column_weights(model, ladder.names, weights), float(weights[0]))
            note = f"weights learned from {plural(ladder.sample.n_rows, 'row')}"
            model = replace(
                model, settings=replace(model.settings, weights=given), provenance=model.provenance.noted(note)
            )
        if options.weights == "words":
            for block in model.texts:
                model = with_word_weights(replace(ladder.read, model=model), batch, block, options.n_jobs).model
        return model


def _gains(ladder: Ladder) -> bool:
    """Whether weights improve held-out rows by more than chance."""
    few, ones = ladder.rows.subsample(), np.ones(ladder.rows.n_terms)
    return is_better(few.losses(ones), held_out_losses(few, ones), few.weight)
