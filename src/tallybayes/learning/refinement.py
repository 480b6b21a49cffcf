"""How a table is best read: a distribution for each column, weights for their evidence, and pairs.

Every choice is made by exact leave-one-out of the training rows, so no rows have to be set aside.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tallybayes.core.batch import every_nth
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.settings import Settings
from tallybayes.data.tables import TableBatch
from tallybayes.learning.columns import read_columns
from tallybayes.learning.evidence import LEARNED_ROWS, MOST_CELLS, held_out
from tallybayes.learning.options import Options
from tallybayes.learning.pairs import with_pairs
from tallybayes.learning.pseudocounts import with_pseudocount
from tallybayes.learning.reading import Reading, places_of
from tallybayes.learning.weights import LEAST_ROWS, Weighted, with_weights
from tallybayes.learning.word_weights import with_word_weights

TEXT_CELLS = 1000  # cells that a document is worth where rows are left out


def refined(batch: TableBatch, base: Settings, options: Options) -> Model:
    """Return the model that reads rows best, having learned them.

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
    """
    # Our threads work on rows; those of a BLAS would only be in their way.
    with threadpool_limits(1, user_api="blas"):
        read = read_columns(batch, base, options)
        if read.model.n_classes > 1 and not (options.weights is None and options.pairs == 0):
            read = _weighted(read, batch, base, options)
        if read.model.settings.weights is not None and options.weights == "words":
            for block in read.model.texts:
                read = with_word_weights(read, batch, block, options.n_jobs)
        return read.model


def _weighted(read: Reading, batch: TableBatch, base: Settings, options: Options) -> Reading:
    """How the table is read with the weights and the pairs that improve leave-one-out."""
    if batch.n_rows < LEAST_ROWS:
        return read.noted(f"{plural(batch.n_rows, 'row')}: too few to learn weights from")
    columns = read.model.schema.columns
    # A document is one thing: its evidence is that of all its columns, and has one weight.
    blocks, families = read.model.tally.blocks.items(), read.model.settings.families
    used = [p for name, b in blocks for p in (b.columns[:1] if families[name].is_document else b.columns)]
    used.sort(key=lambda p: columns[p].name)  # so that the order of the columns makes no difference
    names, texts = [columns[p].name for p in used], [columns[p].name for p in used if columns[p].kind == "text"]
    cells = read.model.n_classes * (len(used) + options.most_pairs + TEXT_CELLS * len(texts))
    sample = every_nth(batch, min(LEARNED_ROWS, max(MOST_CELLS // max(cells, 1), 1000)))
    for name in texts:
        if options.given_alpha(name) is None:
            read = with_pseudocount(read, sample, base, name)
    rows = held_out(read.model, sample, places_of(read.families, read.model.schema), used)
    if not np.isfinite(rows.terms).all():
        return read.noted("weights need evidence that is never infinite: use alpha > 0")
    weighted = Weighted.learned(names, sample, rows, options.weights)
    if options.most_pairs:
        read = with_pairs(read, weighted, batch, options)
    return read if read.model.settings.weights is not None else with_weights(read, weighted)
