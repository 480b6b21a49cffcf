"""How a table is best read: a distribution for each column, weights for their evidence, pairs, and corrections.

Tables of columns are learned by cross-fitting. A table of nothing but text has one thing to weigh, the text; its
pseudocount and weight are chosen by exact leave-one-out, which hardly flatters two numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tallybayes.core.batch import Array, Labels
from tallybayes.core.evaluation import LEAVE_ONE_OUT
from tallybayes.core.keys import stratified_folds
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.settings import EvidenceWeights, Settings
from tallybayes.core.tally import count
from tallybayes.data.tables import TableBatch
from tallybayes.errors import SettingError
from tallybayes.learning.columns import read_columns
from tallybayes.learning.crossfit import crossfitted
from tallybayes.learning.evidence import HeldOut
from tallybayes.learning.folds import Unseen, method_of
from tallybayes.learning.ladder import climbed
from tallybayes.learning.options import Options
from tallybayes.learning.stacking import losses
from tallybayes.learning.tokenising import Way, few_texts
from tallybayes.learning.weights import column_weights, is_better, learn
from tallybayes.learning.word_weights import shifted, with_word_weights

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
    if options.idf and options.weights in ("learn", "words"):
        raise SettingError("weights are learned by leave-one-out, and idf depends on all rows; use idf=False")
    if options.idf or (options.weights is None and options.most_pairs == 0 and options.choose_tokens is None):
        return read_columns(batch, base, options).model, None
    kinds = {column.kind for column in batch.schema.columns if column.kind not in ("ignored", "date")}
    if kinds == {"text"}:
        model, unseen = _of_texts(_in_order(batch), base, options)
        return _in_place(_with_class_shares(model), batch, options), unseen
    found = crossfitted(_in_order(batch), base, options)
    if found is None:
        model = read_columns(batch, base, options).model
        note = "weights need evidence that is never infinite: use alpha > 0"
        return replace(model, provenance=model.provenance.noted(note)), None
    model, unseen = found
    if options.weights in ("auto", "words") and model.texts and unseen is not None:
        model, unseen = _with_words(model, unseen, _in_order(batch), options)
    return _in_place(model, batch, options), unseen


def _in_order(batch: TableBatch) -> TableBatch:
    """The table with its columns in an order that does not depend on their places: then sums are rounded alike.

    It is the order of their names or, of an array, of what they hold.
    """
    digests = {} if batch.table.named else batch.digests()
    columns = sorted(batch.schema.columns, key=lambda column: (digests.get(column.name, 0), column.name))
    place = {column.name: p for p, column in enumerate(columns)}
    names = batch.schema.names
    places = {block: sorted(place[names[p]] for p in at) for block, at in batch.places.items()}
    table = replace(batch.table, matrix=None)  # whose columns are in the order of before
    return replace(batch, table=table, schema=replace(batch.schema, columns=tuple(columns)), places=places)


def _in_place(model: Model, batch: TableBatch, options: Options) -> Model:
    """The model with the columns where the table has them, then the pairs as they are given or by their names."""
    derived = list(model.schema.columns[len(batch.schema.columns) :])
    if options.given_pairs is None:
        derived.sort(key=lambda c: (c.kind == "block", [part.name for part in c.parts or ()]))
    names = [column.name for column in (*batch.schema.columns, *derived)]
    if names == list(model.schema.names):
        return model
    settings, given = model.settings, model.settings.weights
    if given is not None:
        columns = {name: given.columns[name] for name in names if name in given.columns}
        settings = replace(settings, weights=replace(given, columns=columns))
    return replace(model, settings=settings, tally=model.tally.select(names))


@dataclass(frozen=True)
class _ReadTexts:
    """Texts as read in one way, and how well that predicts held-out ones."""

    way: Way
    model: Model
    unseen: Unseen | None

    @property
    def loss(self) -> float:
        """Mean loss of held-out texts."""
        return inf if self.unseen is None else self.unseen.mean_loss

    def beats(self, usual: _ReadTexts, beyond_noise: bool) -> bool:
        """Whether this way predicts held-out texts better.

        Folds know fewer texts than leave-one-out: what they find better is better, but not the other way round.
        """
        mine, theirs = self.unseen, usual.unseen
        if mine is None or theirs is None or theirs.n_folds not in (0, mine.n_folds):
            return False
        before, after = losses(theirs.scores, theirs.labels), losses(mine.scores, mine.labels)
        if not beyond_noise or len(before) != len(after):
            return self.loss < usual.loss
        return is_better(before, after, mine.labels.weight)


def _of_texts(batch: TableBatch, base: Settings, options: Options) -> tuple[Model, Unseen | None]:
    """Texts, read as predicts held-out ones best: the usual way, unless another does better on some and then on all."""
    model, unseen = _read_texts(batch, base, options)
    if unseen is None or len(model.texts) != 1:
        return model, unseen
    best = usual = _ReadTexts(Way.usual(batch, options), model, unseen)
    is_asked = options.choose_tokens is not None  # many ways are tried: the best of them is better by chance, too
    few = few_texts(batch, options)
    read = [usual if few is batch else _read_as(usual.way, few, options)]
    folds = read[0].unseen.n_folds if is_asked and read[0].unseen is not None else 0
    read += [_read_as(way, few, options, folds) for way in usual.way.others(few, options)]
    better = [each for each in read[1:] if each.beats(read[0], beyond_noise=is_asked)]
    if better:
        found = min(better, key=lambda each: each.loss)
        whole = found if few is batch else _read_as(found.way, batch, options, unseen.n_folds)
        best = whole if whole.beats(usual, beyond_noise=is_asked) else usual
    if not is_asked and best is usual:
        return model, unseen
    tried = {str(each.way): each.loss for each in read if each.unseen is not None}
    return _chosen(best, tried, few.n_rows), best.unseen


def _chosen(best: _ReadTexts, tried: dict[str, float], n_texts: int) -> Model:
    """The model with a record of what was tried, and which way was chosen."""
    model, reason = best.model, f"{best.way}, chosen by held-out loss"
    schema = model.schema
    columns = tuple(
        replace(c, reason="; ".join((reason, *c.reason.split("; ")[1:])), lasting=reason) if c.tokens is not None else c
        for c in schema.columns
    )
    tally = replace(model.tally, schema=replace(schema, columns=columns))
    noted = model.provenance.noted(f"tokens: {best.way}, by held-out loss of {plural(n_texts, 'text')}")
    return replace(model, tally=tally, provenance=replace(noted, tried=tried))


def _read_as(way: Way, batch: TableBatch, options: Options, n_folds: int = 0) -> _ReadTexts:
    """Texts read in a way, judged by so many folds where the way that they are usually read in is."""
    rows, base, options = way.read(batch, options)
    model, unseen = _read_texts(rows, base, options)
    if unseen is not None and n_folds > unseen.n_folds == 0:
        unseen = _by_folds(model, rows, n_folds, options.n_jobs)
    return _ReadTexts(way, model, unseen)


def _by_folds(model: Model, batch: TableBatch, n_folds: int, n_jobs: int | None) -> Unseen:
    """The scores of rows by the counts of the other folds; what was chosen stays."""
    assert batch.labels is not None
    assert batch.labels.codes is not None
    fold = stratified_folds(batch.labels.codes, n_folds)
    scores = np.empty((batch.n_rows, model.n_classes))
    rows = replace(batch, schema=model.schema, places=model.tally.places)
    for number in range(n_folds):
        own = rows.take(np.flatnonzero(fold == number))
        fewer = replace(model, tally=model.tally - count(own, model.settings.families, n_jobs))
        scores[fold == number] = fewer.log_posterior(own)
    return Unseen(scores, batch.labels, f"{method_of(n_folds)}; choices kept", n_folds)


def _with_class_shares(model: Model) -> Model:
    """The model that gives a text without a known word the class shares: a weight of the prior suits texts with words.

    What the weight changes is added to the evidence of the text instead.
    """
    settings, given = model.settings, model.settings.weights
    if given is None or given.prior == 1.0 or settings.prior == "none" or len(model.texts) != 1:
        return model
    ((_, text),) = model.texts.items()
    shares = replace(settings, prior="empirical").log_prior(model.schema, model.tally.class_weight)
    more = (given.prior - 1.0) * np.where(np.isneginf(shares), 0.0, shares)
    own = replace(settings, weights=replace(given, prior=1.0), offsets=shifted(model, text, more - more.mean()))
    return replace(model, settings=own)


def _read_texts(batch: TableBatch, base: Settings, options: Options) -> tuple[Model, Unseen | None]:
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
        note = f"weights learned from {plural(ladder.n_rows, 'row')}"
        settings = replace(model.settings, weights=given)
        model = replace(model, settings=settings, provenance=model.provenance.noted(note))
        unseen = Unseen(scores, labels, f"{PSEUDOCOUNT_KEPT}, weights cross-fitted")
        if options.weights == "learn":
            return model, unseen
        return _with_words(model, unseen, batch, options)


def _with_words(model: Model, unseen: Unseen, batch: TableBatch, options: Options) -> tuple[Model, Unseen]:
    """The model with weights of the words of its texts, where they predict documents of other folds better."""
    alone = len(model.texts) == 1 and len(model.schema.columns) == 1
    able = [block for block in model.texts if model.settings.families[block].by_rivals is not None]
    if not able and options.weights == "words":
        name = model.settings.families[next(iter(model.texts))].name
        raise SettingError(f"words have no weights of their own in a {name} text; use weights='auto'")
    for block in able:
        found = with_word_weights(model, batch, block, options.n_jobs, None if alone else unseen.scores)
        before, after = (losses(scores, found.labels) for scores in (found.before, found.scores))
        if options.weights == "words" or is_better(before, after, found.labels.weight):
            method = f"{method_of(found.n_folds)}; pseudocount kept"
            prior = None if unseen.prior is None else unseen.prior[:: found.step]
            model, unseen = found.model, Unseen(found.scores, found.labels, method, found.n_folds, prior)
            batch = batch if found.step == 1 else batch.take(np.arange(0, batch.n_rows, found.step))
    return model, unseen


def _held_out_scores(rows: HeldOut, options: Options) -> Array:
    """Log posteriors (n, K), leave-one-out, with weights that were learned from other folds."""
    fold, ones = stratified_folds(rows.codes, FOLDS), np.ones(rows.n_terms)
    scores = np.empty((len(rows.codes), rows.terms.shape[1] + 1))
    for number in range(FOLDS if options.weights is not None else 0):
        own = fold == number
        scores[own] = rows.take(own).log_posterior(learn(rows.take(~own), ones))
    return scores
