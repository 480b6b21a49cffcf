"""How a table is best read: a distribution for each column, weights for their evidence, pairs, and corrections.

Tables of columns are learned by cross-fitting. A table of nothing but text has one thing to weigh, the text; its
pseudocount and weight are chosen by exact leave-one-out, which hardly flatters two numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tallybayes.core.batch import Array, Labels
from tallybayes.core.evaluation import LEAVE_ONE_OUT
from tallybayes.core.keys import stratified_folds
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.settings import EvidenceWeights, Settings
from tallybayes.data.tables import TableBatch
from tallybayes.learning.columns import read_columns
from tallybayes.learning.crossfit import crossfitted
from tallybayes.learning.evidence import HeldOut
from tallybayes.learning.folds import Unseen
from tallybayes.learning.ladder import climbed
from tallybayes.learning.options import Options
from tallybayes.learning.reading import Reading
from tallybayes.learning.stacking import losses
from tallybayes.learning.weights import column_weights, is_better, learn
from tallybayes.learning.word_weights import with_word_weights

FOLDS = 5  # of texts that the weights are judged on
PSEUDOCOUNT_KEPT = f"{LEAVE_ONE_OUT} of the counts, pseudocount kept"


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
    if options.weights is None and options.most_pairs == 0:
        return read_columns(batch, base, options).model, None
    kinds = {column.kind for column in batch.schema.columns if column.kind != "ignored"}
    if kinds == {"text"}:
        return _of_texts(batch, base, options)
    found = crossfitted(_by_name(batch), base, options)
    if found is None:
        model = read_columns(batch, base, options).model
        note = "weights need evidence that is never infinite: use alpha > 0"
        return replace(model, provenance=model.provenance.noted(note)), None
    model, unseen = found
    if options.weights == "words" and model.texts:
        for block in model.texts:
            model = with_word_weights(Reading({}, model), batch, block, options.n_jobs).model
        unseen = None  # its scores are those of one weight a text
    names = [column.name for column in (*batch.schema.columns, *model.schema.columns[len(batch.schema.columns) :])]
    weights = model.settings.weights
    assert weights is not None
    weights = replace(weights, columns={name: weights.columns[name] for name in names if name in weights.columns})
    settings = replace(model.settings, weights=weights)
    return replace(model, settings=settings, tally=model.tally.select(names)), unseen


def _by_name(batch: TableBatch) -> TableBatch:
    """The table with its columns in the order of their names: then sums are rounded alike in any order of them."""
    columns = sorted(batch.schema.columns, key=lambda column: column.name)
    place = {column.name: p for p, column in enumerate(columns)}
    names = batch.schema.names
    places = {block: sorted(place[names[p]] for p in at) for block, at in batch.places.items()}
    table = replace(batch.table, matrix=None)  # whose columns are in the order of before
    return replace(batch, table=table, schema=replace(batch.schema, columns=tuple(columns)), places=places)


def _of_texts(batch: TableBatch, base: Settings, options: Options) -> tuple[Model, Unseen | None]:
    """Texts with one weight each, or one for every word, where that improves leave-one-out."""
    with threadpool_limits(1, user_api="blas"):
        ladder = climbed(batch, base, replace(options, max_pairs=0))
        if ladder is None:
            return read_columns(batch, base, options).model, None
        model, ones = ladder.read.model, np.ones(ladder.rows.n_terms)
        scores = _held_out_scores(ladder.rows, options)
        plain = ladder.rows.log_posterior(ones)
        labels = Labels.hard(ladder.rows.codes, ladder.rows.weight)
        if options.weights is None or (
            options.weights == "auto" and not is_better(losses(plain, labels), losses(scores, labels), labels.weight)
        ):
            return model, Unseen(plain, labels, PSEUDOCOUNT_KEPT)
        weights = ladder.weights[0]
        given = EvidenceWeights(column_weights(model, ladder.names, weights), float(weights[0]))
        note = f"weights learned from {plural(ladder.sample.n_rows, 'row')}"
        settings = replace(model.settings, weights=given)
        model = replace(model, settings=settings, provenance=model.provenance.noted(note))
        if options.weights != "words":
            return model, Unseen(scores, labels, f"{PSEUDOCOUNT_KEPT}, weights cross-fitted")
        for block in model.texts:
            model = with_word_weights(Reading({}, model), batch, block, options.n_jobs).model
        return model, None


def _held_out_scores(rows: HeldOut, options: Options) -> Array:
    """Log posteriors (n, K), leave-one-out, with weights that were learned from other folds."""
    fold, ones = stratified_folds(rows.codes, FOLDS), np.ones(rows.n_terms)
    scores = np.empty((len(rows.codes), rows.terms.shape[1] + 1))
    for number in range(FOLDS if options.weights is not None else 0):
        own = fold == number
        scores[own] = rows.take(own).log_posterior(learn(rows.take(~own), ones))
    return scores
