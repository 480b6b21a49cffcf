"""Work on many rows, a chunk at a time, on all cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tallybayes.core.batch import Batch, Rows
from tallybayes.core.threads import map_rows, threads_for

CHUNK = 8192  # rows scored at a time: their scores stay in the cache


def by_chunks(
    batch: Rows, n_classes: int, n_jobs: int | None, work: Callable[[Batch, int], tuple[Any, int]]
) -> tuple[Any, int]:
    """The results of all chunks, joined, and the sum of the numbers that came with them."""
    threads = threads_for(batch.size * n_classes, n_jobs)
    step = max(1, min(batch.most_rows or CHUNK, -(-batch.n_rows // threads)))
    if batch.n_rows <= step:
        return work(batch.rows(0, batch.n_rows), 0)
    out, first, total = None, 0, 0
    for part, number in map_rows(lambda a, b: work(batch.rows(a, b), a), batch.n_rows, step, threads):
        if out is None:
            out = np.empty((batch.n_rows, *part.shape[1:]), dtype=part.dtype)
        out[first : first + len(part)] = part
        first, total = first + len(part), total + number
    return out, total
