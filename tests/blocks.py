"""A fitted estimator with a block of numbers, whatever was chosen for it."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from tallybayes.core.batch import Labels
from tallybayes.core.settings import EvidenceWeights
from tallybayes.core.tally import count
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch
from tallybayes.families import Correlation
from tallybayes.families.correlation import standardised, together


def with_block(estimator, table, y, names, weight=0.7, shrinkage=8.0):
    """The estimator with one more block, counted in these rows."""
    made = copy(estimator)
    made.model_ = block_added(estimator.model_, read_table(table), y, names, weight, shrinkage)
    return made


def block_added(model, table, y, names, weight=0.7, shrinkage=8.0):
    column = together([c for c in model.schema.columns if c.name in names])
    schema = replace(model.schema, columns=(*model.schema.columns, column))
    x = np.column_stack([table.columns[part.name].numbers(0, table.n_rows) for part in column.parts])
    families = {"correlation": Correlation(*standardised(x), shrinkage)}
    labels = Labels.hard(np.array([schema.classes.index(label) for label in y], np.int32))
    found = count(TableBatch(schema, table, {"correlation": [len(schema.columns) - 1]}, labels), families)
    weights = model.settings.weights or EvidenceWeights({})
    weights = replace(weights, columns={**weights.columns, column.name: weight})
    settings = replace(model.settings, families={**model.settings.families, **families}, weights=weights)
    tally = replace(model.tally, schema=schema, blocks={**model.tally.blocks, **found.blocks})
    return replace(model, settings=settings, tally=tally)
