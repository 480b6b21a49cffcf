"""The importance of each column: its mean absolute evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tallybayes.core.batch import Array, Batch, Csr, Documents, Encoded, Matrix, Rows, every_nth
from tallybayes.core.class_weights import weighted_labels
from tallybayes.core.model import Model

MOST_ROWS = 2_000  # that it is measured on
FEW_ROWS = 100  # of texts, each of which is drawn from all words
MOST_CELLS = 20_000_000  # of evidence
LARGEST = 1e6  # nats, in the place of infinitely many
CERTAIN = 50.0  # nats of one column in one row that count at most


def importance(model: Model, rows: Rows, learned: bool = False) -> dict[str, float]:
    """Mean absolute evidence of each column, pair and block, in nats: mean absolute log odds as `explain` shows them.

    The log odds are those of the likeliest class against the next, at most 50 in a row. Of training rows (``learned``)
    each is left out of the counts that it is scored with: a column that is nearly different in every row would look
    important otherwise.

    Examples
    --------
    >>> from tallybayes import datasets, learn, rows
    >>> days = datasets.tennis()
    >>> model = learn(days, "play")
    >>> found = importance(model, rows(model, {name: days[name] for name in model.schema.names}))
    >>> {name: round(nats, 2) for name, nats in sorted(found.items(), key=lambda each: -each[1])}
    {'humidity': 0.74, 'outlook': 0.63, 'wind': 0.42, 'temperature': 0.24}
    """
    if model.n_classes < 2 or rows.n_rows == 0:
        return dict.fromkeys(_names(model), 0.0)
    few = every_nth(rows, _most_rows(model))
    part = few.rows(0, few.n_rows)
    parts = _left_out(model, part) if learned else model.contributions(part)
    weight = np.ones(part.n_rows) if part.labels is None else part.labels.weight
    return _means(model, np.clip(parts, -LARGEST, LARGEST), weight)


def importance_of_scores(model: Model, scores: Array, weight: Array) -> dict[str, float]:
    """The same of a model of one column, from the scores (n, K) of rows that had no part in it."""
    return _means(model, (scores - np.maximum(model.prior_score, -LARGEST))[:, :, None], weight)


def importance_of(model: Model) -> dict[str, float]:
    """The importance that was measured in fitting, or else is expected; the largest first."""
    found = dict(model.provenance.importance) or expected_importance(model)
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def expected_importance(model: Model) -> dict[str, float]:
    """The same of rows that the model would draw itself, the same ones each time: what can be known without rows."""
    if model.n_classes < 2 or not model.tally.class_weight.any():
        return dict.fromkeys(_names(model), 0.0)
    plain = model.generative
    n_rows = min(FEW_ROWS if plain.texts else MOST_ROWS, _most_rows(plain))  # a drawn row has a value in each column
    drawn, codes = plain.sample(n_rows, np.random.default_rng(0))
    blocks = {name: Encoded(plain.tally.blocks[name].columns, _as_read(x)) for name, x in drawn.items()}
    found = importance(plain, Batch(plain.schema, blocks, len(codes)))
    total = float(plain.tally.class_weight.sum())
    for block in plain.tally.blocks.values():
        known = block.summary.column_weight.sum(axis=0) / total
        for j, p in enumerate(block.columns):  # where a value is missing there is no evidence
            found[plain.schema.columns[p].name] *= float(known[min(j, len(known) - 1)])
    return found


def _left_out(model: Model, part: Batch) -> Array:
    """Contributions (n, K, D) of training rows, weighted and corrected, each by the counts of all the others.

    They are against the row's own class, which makes no difference to the log odds of two classes.
    """
    assert part.labels is not None
    labelled = replace(part, labels=weighted_labels(part.labels, model.provenance.class_weight, model.schema))
    parts = np.zeros((part.n_rows, model.n_classes, len(model.schema.columns)), dtype=np.float32)
    given = {} if model.settings.weights is None else model.settings.weights.words
    own_words = [name for name, text in model.texts.items() if text.name in given]
    labelled = replace(labelled, blocks={name: x for name, x in part.blocks.items() if name not in own_words})
    with np.errstate(invalid="ignore"):
        model.left_out.each_column(labelled, parts, {p: p for x in labelled.blocks.values() for p in x.columns})
    if np.isfinite(parts).all():
        weighted = np.asarray(parts * model.column_weights, dtype=np.float64)
    else:  # what is impossible for a class may be so for the row's own
        weighted = model.left_out.contributions(labelled) * model.column_weights
    for name in own_words:
        only = replace(part, blocks={name: part.blocks[name]})
        (at,) = part.blocks[name].columns
        weighted[:, :, at] = model.contributions(only)[:, :, at]  # a weight for each word is in its scores alone
    return weighted + corrections(model, part)


def corrections(model: Model, part: Batch) -> Array:
    """The offsets (n, K, D) that are in the contributions of rows."""
    parts = np.zeros((part.n_rows, model.n_classes, len(model.schema.columns)))
    for name, lookup in ((each, of) for each, of in model.offsets.items() if each in part.blocks):
        columns = list(part.blocks[name].columns)
        parts[:, :, columns] = lookup.added(parts[:, :, columns], model.words.of_known(name, part.blocks[name].x))
    return parts


def _means(model: Model, parts: Array, weight: Array) -> dict[str, float]:
    scores = parts.sum(axis=2) + np.maximum(model.prior_score, -LARGEST)
    ranked, rows = np.argsort(-scores, axis=1, kind="stable"), np.arange(len(scores))
    odds = parts[rows, ranked[:, 0]] - parts[rows, ranked[:, 1]]
    mean = weight @ np.minimum(np.abs(odds), CERTAIN) / max(float(weight.sum()), 1e-300)
    columns = zip(model.schema.columns, mean.tolist(), strict=True)
    return {column.name: value for column, value in columns if column.kind != "ignored"}


def _as_read(x: Matrix) -> Matrix:
    """Drawn bags of words as documents, which one column holds."""
    return Documents(x.data, x.column, x.start, x.n_columns) if type(x) is Csr else x


def _most_rows(model: Model) -> int:
    """The rows that are scored: fewer where each has much evidence."""
    return max(1, min(MOST_ROWS, MOST_CELLS // max(model.n_classes * len(model.schema.columns), 1)))


def _names(model: Model) -> list[str]:
    return [column.name for column in model.schema.columns if column.kind != "ignored"]
