"""A model with weights, pairs and offsets on columns of every kind, as learning could have made it."""

import functools
from dataclasses import replace

import numpy as np

from tallybayes import NaiveBayes
from tallybayes.core.offsets import Offset
from tallybayes.core.schema import Column
from tallybayes.core.settings import EvidenceWeights
from tests.export.cases import mixed_table

KINDS = {"code": "category", "visits": "count", "note": "text"}
FAMILIES = {
    "height": "gaussian",
    "in come": "lognormal",
    'quo"ted': "zero_inflated",
    "wait": "gamma",
    "visits": "poisson",
}
PAIRS = [("town", "mood"), ("mood", "two;hills")]
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")


def table(n, seed, text=True, new_values=False):
    """Rows of every kind of column, and their labels."""
    rows, labels = mixed_table(n, seed, new_values)
    rng = np.random.default_rng(seed + 1)
    if text:
        rows["note"] = [" ".join(rng.choice(WORDS, rng.integers(0, 4))) or None for _ in range(n)]
        rows["note"][:2] = ["unheard of", "alpha unheard"]
    return rows, labels


def cells_of(column):
    """The cells of a column, with other edges than its own; a number that is not in bins gets bins of its own."""
    if column.name == "wait" or column.kind == "text":
        return Column(column.name, column.kind)
    if column.kind == "count" or column.name in FAMILIES:
        return Column(column.name, column.kind, edges=(0.5, 1.7, 2.0))
    if column.edges is not None:
        return replace(column, edges=(column.edges[0] - 1.0, *column.edges[::2]))
    return column


def with_offsets(model, seed=0, share=1.0):
    """The model with random offsets for its columns and pairs, and weights."""
    rng, classes = np.random.default_rng(seed), model.schema.classes
    offsets = {}
    for column in model.schema.columns:
        if column.kind != "block" and rng.random() < share:
            cells = cells_of(column)
            offsets[column.name] = Offset(cells, classes, rng.normal(0, 0.5, (cells.n_cells, len(classes))))
    weights = EvidenceWeights({name: float(rng.choice([0.0, 0.5, 1.2])) for name in model.schema.names}, 0.9)
    return replace(model, settings=replace(model.settings, weights=weights, offsets=offsets))


@functools.cache
def refined(text=True, seed=0):
    """A fitted estimator whose model has weights, pairs and offsets."""
    rows, labels = table(300, 3, text)
    kinds = KINDS if text else {name: kind for name, kind in KINDS.items() if name != "note"}
    given = {"numeric": "binned", "family": FAMILIES, "pairs": PAIRS, "missing": {"town": "level"}, "weights": None}
    estimator = NaiveBayes(kind=kinds, **given).fit(rows, labels)
    estimator.model_ = with_offsets(estimator.model_, seed)
    return estimator
