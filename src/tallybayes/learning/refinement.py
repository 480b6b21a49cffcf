"""How a table is best read: a distribution for each column, weights for their evidence, and pairs.

Everything is judged by exact leave-one-out of the rows themselves, so nothing has to be held out.

=================  ====================================================================
`reading`          the records: what is wished, and how the table is read so far
`columns`          the family of each column (`bins`: edges of numbers; `choice`: the judge)
`left_out`         what rows say as if they had not been learned
`pseudocounts`     how strongly the words of a text are smoothed
`weights`          how much each column is believed
`paired`           columns that are also taken together (`pairs`: which ones)
`words`, `classes` weights of single words; weights that differ by class
=================  ====================================================================
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tallybayes.core.batch import thinned
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.settings import Settings
from tallybayes.data.tables import TableBatch
from tallybayes.learning.class_weights import with_class_weights
from tallybayes.learning.columns import read_columns
from tallybayes.learning.evidence import LEARNED_ROWS, MOST_CELLS, left_out
from tallybayes.learning.pairs import with_pairs
from tallybayes.learning.plan import Plan
from tallybayes.learning.pseudocounts import ALPHAS, with_pseudocount
from tallybayes.learning.reading import Pairs, Reading, Weights, Wishes
from tallybayes.learning.weights import LEAST_ROWS, Weighed, with_weights
from tallybayes.learning.word_weights import with_word_weights

TEXT_CELLS = 1000  # cells that a document is worth where rows are left out

__all__ = ["ALPHAS", "Pairs", "Weights", "Wishes", "make"]


def make(batch: TableBatch, base: Settings, wishes: Wishes, n_jobs: int | None = None) -> tuple[Plan, Model]:
    """Look at all rows and return how they are best read, and the model that has learned them so.

    Parameters
    ----------
    batch : TableBatch
        Labelled rows.
    base : Settings
        Prior and the like.
    wishes : Wishes
    n_jobs : int, optional
        Threads.

    Returns
    -------
    plan : Plan
    model : Model
    """
    # Our threads work on rows; those of a BLAS would only be in their way.
    with threadpool_limits(1, user_api="blas"):
        read = read_columns(batch, base, wishes, n_jobs)
        if read.model.n_classes > 1 and not (wishes.weights is None and wishes.pairs == 0):
            read = _weighed(read, batch, base, wishes, n_jobs)
        if read.model.settings.weights is not None:
            read = _weighed_finely(read, batch, wishes, n_jobs)
        return read.plan, read.model


def _weighed(read: Reading, batch: TableBatch, base: Settings, wishes: Wishes, n_jobs: int | None) -> Reading:
    """How the table is read with the weights and the pairs that improve leave-one-out."""
    if batch.n_rows < LEAST_ROWS:
        return read.noted(f"{plural(batch.n_rows, 'row')}: too few to learn weights from")
    columns = read.model.schema.columns
    # A document is one thing: its evidence is that of all its columns, and has one weight.
    blocks, families = read.model.tally.blocks.items(), read.model.settings.families
    used = [p for name, b in blocks for p in (b.columns[:1] if families[name].is_document else b.columns)]
    used.sort(key=lambda p: columns[p].name)  # so that the order of the columns makes no difference
    names, texts = [columns[p].name for p in used], [columns[p].name for p in used if columns[p].kind == "text"]
    cells = read.model.n_classes * (len(used) + wishes.most_pairs + TEXT_CELLS * len(texts))
    sample = thinned(batch, min(LEARNED_ROWS, max(MOST_CELLS // max(cells, 1), 1000)))
    for name in texts:
        if name in wishes.smoothed:
            read = with_pseudocount(read, sample, base, name)
    rows = left_out(read.model, sample, read.plan.places(read.model.schema), used)
    if not np.isfinite(rows.terms).all():
        return read.noted("weights need evidence that is never infinite: use alpha > 0")
    weighed = Weighed.learned(names, sample, rows, wishes.weights)
    if wishes.most_pairs:
        read = with_pairs(read, weighed, batch, wishes, n_jobs)
    return read if read.model.settings.weights is not None else with_weights(read, weighed)


def _weighed_finely(read: Reading, batch: TableBatch, wishes: Wishes, n_jobs: int | None) -> Reading:
    """How the table is read with weights of classes or of words, where they are wished for."""
    if wishes.weights == "classes":
        return with_class_weights(read, batch)
    if wishes.weights == "words":
        for block in read.model.texts:
            read = with_word_weights(read, batch, block, n_jobs)
    return read
