"""Work on many rows, a chunk at a time, on all cores."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tallybayes.core.batch import Batch, Rows
from tallybayes.core.schema import plural
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.errors import ForbiddenRowWarning

CHUNK = 8192  # rows scored at a time: their scores stay in the cache


def by_chunks(
    batch: Rows,
    n_classes: int,
    n_jobs: int | None,
    work: Callable[[Batch, int], tuple[Any, int]],
    read: Callable[[int, int], Batch] | None = None,
) -> Any:
    """The results of all chunks, joined; warns of the rows that every class forbids, whose number comes with each.

    ``read`` makes the chunks where the rows are not to be read as usual.
    """
    rows = batch.rows if read is None else read
    threads = threads_for(batch.size * n_classes, n_jobs)
    step = max(1, min(batch.most_rows or CHUNK, -(-batch.n_rows // threads)))
    if batch.n_rows <= step:
        out, forbidden = work(rows(0, batch.n_rows), 0)
    else:
        out, first, forbidden = None, 0, 0
        for part, number in map_rows(lambda a, b: work(rows(a, b), a), batch.n_rows, step, threads):
            if out is None:
                out = np.empty((batch.n_rows, *part.shape[1:]), dtype=part.dtype)
            out[first : first + len(part)] = part
            first, forbidden = first + len(part), forbidden + number
    if forbidden:
        warnings.warn(
            f"{plural(forbidden, 'row')} had probability zero under every class and got the prior instead; "
            "smoothing (alpha, var_smoothing) avoids it",
            ForbiddenRowWarning,
            stacklevel=5,
        )
    return out
