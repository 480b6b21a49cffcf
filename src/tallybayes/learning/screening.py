"""Finding pairs of columns whose joint evidence is better than their separate evidence.

A pair is chosen by leave-one-out: how much the log likelihood of the labels would rise if its evidence were added to
the model as it is, to second order g² / 2h (g the slope and h the curvature in the pair's weight, with what pulls
weights to zero). The largest of M such gains that are mere chance is about log M, so a pair must gain 3 nats more than
that: chance does it to one table in twenty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import pair_kernels
from tallybayes.core.batch import Array, Labels
from tallybayes.core.kernels import starts
from tallybayes.core.schema import Column
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.families.binned import coarse_edges
from tallybayes.learning.bins import even_groups
from tallybayes.learning.reading import Fine
from tallybayes.learning.weights import PULL

MOST_COLUMNS = 64  # that are paired, the most informative ones
MOST_CELLS = 4096  # combinations of a pair
EVEN = 8  # bins of a number that is no evidence by itself
STRENGTHS = (2.0, 8.0, 32.0)
TOGETHER = "together with"
BEYOND_CHANCE = 3.0  # nats
FINALISTS = 2  # times as many pairs as are asked for are compared by the strength of their smoothing
WORK = 100_000_000  # rows × classes × pairs that are compared; of more rows, every so many


@dataclass(frozen=True)
class Candidate:
    """Two columns and the strength of smoothing that suits them, with what they would gain."""

    left: int
    right: int
    strength: float
    gain: float


def part_of(column: Column, fine: Fine | None) -> Column:
    """The column as it is paired: a number in few bins, from its fine ones."""
    if column.edges is None or fine is None:
        return Column(column.name, column.kind, column.levels)
    group = fine.group
    if len(group) and group[-1] < 2:
        group = even_groups(fine.weight, EVEN)
    return Column(column.name, column.kind, edges=coarse_edges(column.edges, group))


def joining_words(names: Sequence[str]) -> str:
    """The words between the names of two columns: such that no column's name has them.

    So a pair is never called what a column or another pair is called. They depend on the names of all columns alone, so
    that tables of the same columns call their pairs the same and can be added.

    Examples
    --------
    >>> joining_words(["age", "sex"])
    'together with'
    >>> joining_words(["age", "sex", "age together with sex"])
    'taken together with'
    """
    words = TOGETHER
    while any(words in name for name in names):
        words = f"taken {words}"
    return words


def pair_column(left: Column, right: Column, words: str = TOGETHER, reason: str = "", lasting: str = "") -> Column:
    """The two taken together, and why."""
    name = f"{left.name} {words} {right.name}"
    return Column(name, "pair", parts=(left, right), reason=reason, lasting=lasting)


@dataclass(frozen=True)
class Grid:
    """The codes of all parts for some rows, from which any pair's are made."""

    parts: Sequence[Column]
    codes: NDArray[np.int32]  # (n, D) positions of levels or bins, MISSING where there is none
    labels: Labels
    n_classes: int

    def sorted_rows(self, log_posterior: Array, step: int) -> pair_kernels.GridRows:
        """The rows as kernels read them, of which every so many are compared by their posterior."""
        assert self.labels.codes is not None
        classes, is_left = self.labels.codes, np.arange(len(self.codes)) % step > 0
        order = np.argsort(2 * classes + is_left, kind="stable")
        compared = order[~is_left[order]]
        return pair_kernels.GridRows(
            np.ascontiguousarray(self.codes[order].T),
            np.array([part.n_cells for part in self.parts], dtype=np.int64),
            self.labels.weight[order],
            starts(np.bincount(classes, minlength=self.n_classes)),
            starts(np.bincount(classes[compared], minlength=self.n_classes)),
            np.exp(np.ascontiguousarray(log_posterior[compared].T)),
        )


def screened(grid: Grid, log_posterior: Array, informative: Sequence[int], asked: int) -> list[Candidate]:
    """The pairs that gain more than chance would, best first, at most so many.

    Parameters
    ----------
    grid : Grid
        Learned rows.
    log_posterior : ndarray of shape (n, K)
        Leave-one-out log posterior of these rows without the pairs.
    informative : sequence of int
        The columns to be paired.
    asked : int
        How many pairs at most.
    """
    cells = np.array([part.n_cells for part in grid.parts], dtype=np.int64)
    tried = np.array(list(combinations(informative, 2)), dtype=np.int64).reshape(-1, 2)
    tried = tried[cells[tried].prod(axis=1) <= MOST_CELLS]
    if not len(tried):
        return []
    rows = grid.sorted_rows(log_posterior, max(1, -(-log_posterior.size * len(tried) // WORK)))
    first = _gains(rows, tried, STRENGTHS[1:2])[:, 0]
    best_first = np.argsort(-first, kind="stable")[: FINALISTS * asked]  # no other comes to the top by its strength
    promising = tried[np.sort(best_first[first[best_first] > np.log(len(tried)) + BEYOND_CHANCE])]
    gains = _gains(rows, promising, STRENGTHS[::-1])  # of equal ones the strongest
    best = zip(promising.tolist(), gains.argmax(axis=1).tolist(), gains.max(axis=1, initial=0.0).tolist(), strict=True)
    found = [Candidate(i, j, STRENGTHS[::-1][s], gain) for (i, j), s, gain in best]
    return sorted(found, key=lambda c: (-c.gain, c.left, c.right))[:asked]


def _gains(rows: pair_kernels.GridRows, pairs: NDArray[np.int64], strengths: Sequence[float]) -> Array:
    """What each pair would gain (M, S) by each strength of smoothing."""
    threads = threads_for(len(pairs) * len(strengths) * rows.posterior.size, None)
    parts = map_rows(
        lambda first, last: pair_kernels.pair_slopes(rows, pairs[first:last], np.array(strengths)),
        len(pairs),
        max(1, -(-len(pairs) // (4 * threads))),
        threads,
    )
    none = np.zeros((2, 0, len(strengths)))
    slope, curvature = np.concatenate((none, *parts), axis=1)
    return np.where(slope > 0, slope**2 / (2.0 * (curvature + 2.0 * PULL)), 0.0)


def with_reason(column: Column, gain: float) -> Column:
    """The pair with why it is there; a gain of nothing means that it was given."""
    reason = "together they predict held-out rows better than apart" if gain else "as given"
    return replace(column, reason=reason, lasting="two columns together")
