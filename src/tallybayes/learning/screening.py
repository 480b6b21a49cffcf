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

from tallybayes.core.batch import MISSING, Array, Codes, Labels
from tallybayes.core.schema import Column
from tallybayes.core.summaries import Counts
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.families import Pair
from tallybayes.families.binned import coarse_edges, partition
from tallybayes.learning.bins import even_groups
from tallybayes.learning.weights import PULL

MOST_COLUMNS = 64  # that are paired, the most informative ones
MOST_CELLS = 4096  # combinations of a pair
EVEN = 8  # bins of a number that is no evidence by itself
STRENGTHS = (2.0, 8.0, 32.0)
TOGETHER = "together with"
BEYOND_CHANCE = 3.0  # nats
WORK = 100_000_000  # rows × classes × pairs that are compared


@dataclass(frozen=True)
class Candidate:
    """Two columns and the strength of smoothing that suits them, with what they would gain."""

    left: int
    right: int
    strength: float
    gain: float


def part_of(column: Column, count: Array) -> Column:
    """The column as it is paired: a number in few bins, from its fine counts (B, K)."""
    if column.edges is None:
        return Column(column.name, column.kind, column.levels)
    group = partition(count)
    if len(group) and group[-1] < 2:
        group = even_groups(count.sum(axis=1), EVEN)
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


def pair_column(left: Column, right: Column, words: str = TOGETHER) -> Column:
    """The two taken together."""
    return Column(f"{left.name} {words} {right.name}", "pair", parts=(left, right))


@dataclass(frozen=True)
class Grid:
    """The codes of all parts for some rows, from which any pair's are made."""

    parts: Sequence[Column]
    codes: NDArray[np.int32]  # (n, D) positions of levels or bins, MISSING where there is none
    labels: Labels
    n_classes: int

    def pair(self, left: int, right: int) -> tuple[Codes, Counts]:
        """The codes and the counts of one pair."""
        n_right = self.parts[right].n_cells
        a, b = self.codes[:, left], self.codes[:, right]
        code = np.where((a < 0) | (b < 0), MISSING, a * n_right + b)
        n_cells = np.array([self.parts[left].n_cells * n_right], dtype=np.int64)
        x = Codes(code[:, None], n_cells, np.array([n_right], dtype=np.int64))
        return x, Pair().tally(x, self.labels, self.n_classes)


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
    tried = [
        (i, j) for i, j in combinations(informative, 2) if grid.parts[i].n_cells * grid.parts[j].n_cells <= MOST_CELLS
    ]
    if not tried:
        return []
    n, n_classes = log_posterior.shape
    step = max(1, -(-n * n_classes * len(tried) // WORK))
    seen = np.arange(0, n, step)
    posterior, weight = np.exp(log_posterior[seen]), grid.labels.weight[seen]

    def gaining(first: int, last: int) -> list[Candidate]:
        found = []
        for i, j in tried[first:last]:
            x, counts = grid.pair(i, j)
            x, labels = x.take(seen), grid.labels.take(seen)
            gain = _gain(Pair(STRENGTHS[1]), counts, x, labels, posterior, weight)
            if gain > np.log(len(tried)) + BEYOND_CHANCE:
                best = max((_gain(Pair(s), counts, x, labels, posterior, weight), s) for s in STRENGTHS)
                found.append(Candidate(i, j, best[1], best[0]))
        return found

    threads = threads_for(len(tried) * len(seen) * n_classes, None)
    parts = map_rows(gaining, len(tried), max(1, -(-len(tried) // (4 * threads))), threads)
    best_first = sorted((c for part in parts for c in part), key=lambda c: (-c.gain, c.left, c.right))
    return best_first[:asked]


def _gain(family: Pair, counts: Counts, x: Codes, labels: Labels, posterior: Array, weight: Array) -> float:
    assert labels.codes is not None
    evidence = family.leave_one_out(counts, family.estimate(counts), x, labels)
    expected = (posterior * evidence).sum(axis=1)
    slope = float((weight * (evidence[np.arange(len(expected)), labels.codes] - expected)).sum())
    curvature = float((weight * ((posterior * evidence**2).sum(axis=1) - expected**2)).sum())
    return slope**2 / (2.0 * (curvature + 2.0 * PULL)) if slope > 0 else 0.0


def with_reason(column: Column, gain: float) -> Column:
    """The pair with what it gains, for people; a gain of nothing means that it was given."""
    reason = f"together they gain {gain:.0f} nats, leave-one-out" if gain else "as given"
    return replace(column, reason=reason, lasting="two columns together")
