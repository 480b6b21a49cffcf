"""Pairs of columns whose combinations deserve corrections of their own.

A pair may decide together what its evidence by counting does not show: screening by leave-one-out asks how much one
weight on that evidence would gain, this screening how much a free correction of every cell would. With g and h the
sums over the rows of a cell of the slopes and curvatures of the log likelihood, it is Σ g²/(h + λ)/2 to second order.
Pairs that gain more than the mean of that by mere chance are taken, the best first. Some of them do so by chance, too:
whether all of them together are kept is decided on other rows, and the penalty holds back those that are useless.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import pair_kernels
from tallybayes.core.batch import Array, Labels
from tallybayes.core.schema import Column
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.data.tables import TableBatch
from tallybayes.learning.screening import WORK, pair_column
from tallybayes.learning.stacking import softmax

PENALTY = 1.0  # λ
MILD = 10.0  # λ of the corrections beside which pairs are looked for: closer ones hide what is lacking
MOST_CELLS = 1024  # combinations of a pair


def interacting(
    parts: Sequence[Column],
    known: Sequence[Column],
    batch: TableBatch,
    scores: Array,
    labels: Labels,
    asked: int,
    words: str,
    n_jobs: int | None,
) -> list[Column]:
    """The pairs of columns whose cells would gain more than chance by corrections, best first, at most so many.

    Parameters
    ----------
    parts : sequence of Column
        The columns in the levels or bins that pairs have.
    known : sequence of Column
        The pairs that have corrections already.
    batch : TableBatch
    scores : ndarray of shape (n, K)
        Of its rows, with the corrections that there are.
    labels : Labels
        Rows without weight have no part in it.
    asked : int
    words : str
        Between the names of two columns.
    n_jobs : int, optional
    """
    n_cells = np.array([part.n_cells for part in parts], dtype=np.int64)
    every = combinations(sorted(range(len(parts)), key=lambda p: parts[p].name), 2)
    taken = {tuple(part.name for part in column.parts or ()) for column in known}
    tried = [(i, j) for i, j in every if n_cells[i] * n_cells[j] <= MOST_CELLS]
    tried = [(i, j) for i, j in tried if (parts[i].name, parts[j].name) not in taken]
    rows = np.flatnonzero(labels.weight)
    if not tried or asked <= 0 or scores.shape[1] < 2:
        return []
    rows = rows[:: max(1, -(-len(rows) * scores.shape[1] * len(tried) // WORK))]
    codes = np.stack([batch.codes(part, 0, batch.n_rows, {})[rows] for part in parts])
    terms = _slopes(scores[rows], labels.take(rows))
    gain = _gains(codes, n_cells, terms, scores.shape[1], np.array(tried), n_jobs)
    best = sorted(np.flatnonzero(gain > 0).tolist(), key=lambda m: (-gain[m], m))[:asked]
    return [_column(parts, tried[m], words, float(gain[m])) for m in best]


def _column(parts: Sequence[Column], pair: tuple[int, int], words: str, gain: float) -> Column:
    reason = f"corrections of its cells gain {gain:.0f} nats"
    return pair_column(parts[pair[0]], parts[pair[1]], words, reason=reason, lasting="two columns together")


def _slopes(scores: Array, labels: Labels) -> NDArray[np.float32]:
    """Slopes and curvatures (n, 2K) of the log likelihood of each row in its scores, with zeros up to whole lanes."""
    said, n_classes = softmax(scores), scores.shape[1]
    width = -(-2 * n_classes // 8) * 8 if n_classes > 2 else 4
    terms = np.zeros((len(scores), width), dtype=np.float32)
    terms[:, :n_classes] = -said
    terms[np.arange(len(said)), labels.codes] += 1.0
    terms[:, n_classes : 2 * n_classes] = said * (1.0 - said)
    terms *= labels.weight[:, None].astype(np.float32)
    return terms


def _gains(
    codes: NDArray[np.int32],
    n_cells: NDArray[np.int64],
    terms: NDArray[np.float32],
    n_classes: int,
    tried: NDArray[np.int64],
    n_jobs: int | None,
) -> Array:
    """What corrections of the cells of each pair (M,) would gain beyond chance."""
    threads = threads_for(len(tried) * terms.size, n_jobs)
    parts = map_rows(
        lambda first, last: pair_kernels.interaction_gains(
            codes, n_cells, terms, n_classes, tried[first:last], PENALTY
        ),
        len(tried),
        max(1, -(-len(tried) // (4 * threads))),
        threads,
    )
    return np.concatenate(list(parts))
