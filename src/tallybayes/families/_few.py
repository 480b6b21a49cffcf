"""Few bins that can be read: at most so many, none too small, and of two classes with one turn at most.

First, where there are two classes, neighbours are pooled until the share of the second class rises, falls, or turns
once (pool adjacent violators, Ayer et al. 1955), whichever has the best likelihood less half a nat a bin.
Then Σ_i Σ_k n_ik log(n_ik / n_i) is made largest over all partitions of what is left into at most so many bins, each
with at least a twentieth of the rows, or 250 where that is fewer: exactly, by dynamic programming. The MODL criterion
wants more proof of every edge; what it would merge on a thousand rows, a card of a few lines should show. In a large
table the few rows that a column says anything of, such as those with a capital gain, are enough for their own lines.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array

EVEN = 100  # groups of about the same weight that edges are chosen from
SMALLEST = 0.05  # share of the rows that a bin has at least …
ENOUGH = 250.0  # … or so many rows
COST = 0.5  # nats for every bin of a shape


def few_groups(count: Array, most: int) -> NDArray[np.int64]:
    """The merged bin (B,) of each fine bin, for counts (B, K) in the order in which neighbours may be merged.

    Examples
    --------
    >>> few_groups(np.array([[30.0, 5.0], [28.0, 7.0], [6.0, 29.0], [5.0, 30.0]]), 2)
    array([0, 0, 1, 1])
    """
    group = _even(count.sum(axis=1))
    if count.shape[1] == 2:
        group = _shape(_sums(count, group))[group]
    sums = _sums(count, group)
    ends = _best_ends(np.concatenate((np.zeros((1, count.shape[1])), np.cumsum(sums, axis=0))), most)
    return np.searchsorted(ends, group, side="right")


def _sums(count: Array, group: NDArray[np.int64]) -> Array:
    return np.stack([np.bincount(group, count[:, k]) for k in range(count.shape[1])], axis=1)


def _even(weight: Array) -> NDArray[np.int64]:
    """Fine bins merged into groups of about the same weight, where there are many; one without rows joins another."""
    total = float(weight.sum())
    if len(weight) <= EVEN or not total > 0:
        return np.arange(len(weight))
    middle = np.cumsum(weight) - weight / 2.0
    number = np.minimum((middle / total * EVEN).astype(np.int64), EVEN - 1)
    return np.asarray(np.unique(number, return_inverse=True)[1])


def _shape(count: Array) -> NDArray[np.int64]:
    """The pooled bin (G,) of each group, for counts (G, 2): monotone, or with one turn."""
    first, last = (
        [_pooled(side, sign)[0] for sign in (1.0, -1.0)] for side in (count, count[::-1])
    )  # [rising, falling] from either end; from the right, what rises to the left falls to the right
    found = []
    for before, after in ((0, 0), (1, 1)):  # a peak, and a valley
        both = np.array(first[before]) + np.array(last[after][::-1])
        found.append((float(both.max()), int(both.argmax()), before))
    _, turn, before = max(found)
    sign = (1.0, -1.0)[before]
    left, right = _pooled(count[:turn], sign)[1], _pooled(count[turn:][::-1], sign)[1]
    sizes = [*left, *right[::-1]]
    return np.repeat(np.arange(len(sizes)), sizes)


def _pooled(count: Array, sign: float) -> tuple[list[float], list[int]]:
    """Of each number of first groups, the likelihood less the cost of their pooled bins; and the sizes of the last."""
    blocks: list[tuple[float, float, int]] = []
    totals, total = [0.0], 0.0
    for none, one in count.tolist():
        block = (none, one, 1)
        while blocks and sign * (block[1] * blocks[-1][0] - blocks[-1][1] * block[0]) <= 0.0:  # shares out of order
            before = blocks.pop()
            total -= _value(before)
            block = (block[0] + before[0], block[1] + before[1], block[2] + before[2])
        blocks.append(block)
        total += _value(block)
        totals.append(total)
    return totals, [size for _, _, size in blocks]


def _value(block: tuple[float, float, int]) -> float:
    """Log likelihood of the classes in a bin, less its cost."""
    all_rows = block[0] + block[1]
    return sum(n * math.log(n / all_rows) for n in block[:2] if n > 0) - COST


def _best_ends(below: Array, most: int) -> NDArray[np.int64]:
    """Where bins begin but the first, from the counts below every possible edge (G + 1, K)."""
    n, least = len(below) - 1, min(SMALLEST * float(below[-1].sum()), ENOUGH)
    cells = below[None, :, :] - below[:, None, :]  # (from, to, K)
    total = cells.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(cells > 0, cells * np.log(cells / total[:, :, None]), 0.0).sum(axis=2)
    places = np.arange(n + 1)
    allowed = (total >= max(least, 1e-300)) & (places[:, None] < places)
    best = np.where(allowed[0], parts[0], -np.inf)
    paths, found = [np.zeros(n + 1, dtype=np.int64)], [(float(best[n]), 1)]
    for bins in range(2, min(most, n) + 1):
        tried = np.where(allowed, best[:, None] + np.where(allowed, parts, 0.0), -np.inf)
        paths.append(tried.argmax(axis=0))
        best = tried.max(axis=0)
        found.append((float(best[n]), bins))
    _, bins = max(found, key=lambda each: (each[0], -each[1]))
    ends, at = list[int](), n
    for path in reversed(paths[1:bins]):
        at = int(path[at])
        ends.append(at)
    return np.array(ends[::-1], dtype=np.int64)
