"""Data of the benchmarks, made from a seed."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

Labelled = tuple[Any, Any]  # X (n, d) and y (n,)


def labels(n: int, n_classes: int, rng: np.random.Generator) -> Any:
    return rng.integers(n_classes, size=n)


def numbers(n: int, d: int, n_classes: int, seed: int = 0) -> Labelled:
    """Unit normal noise around a mean per class; the classes overlap. Filled in place, so memory peaks at X itself."""
    rng = np.random.default_rng(seed)
    y = labels(n, n_classes, rng)
    X = np.empty((n, d))
    rng.standard_normal(out=X)
    centres = rng.normal(scale=0.3, size=(n_classes, d))
    for first in range(0, n, 1000):
        X[first : first + 1000] += centres[y[first : first + 1000]]
    return X, y


def codes(n: int, d: int, n_classes: int, levels: int = 12, seed: int = 0) -> Labelled:
    """Categories numbered 0 … levels − 1 (int64); in a fifth of the cells the level depends on the class."""
    rng = np.random.default_rng(seed)
    y = labels(n, n_classes, rng)
    X = rng.integers(levels, size=(n, d))
    typical_here = rng.random((n, d)) < 0.2
    typical = rng.integers(levels, size=(n_classes, d))
    X[typical_here] = typical[y][typical_here]
    return X, y


def words(n: int, d: int, n_classes: int, distinct: float = 46.5, seed: int = 0) -> Labelled:
    """Documents as word counts in CSR, about so many different words in each.

    The word of rank r = 1, 2, … is drawn with probability ∝ 1 / (r + 2.7) (Zipf-Mandelbrot). A tenth of the tokens
    tell the class: their rank is moved along the vocabulary by a step of its own. Documents have a Poisson length.
    """
    rng = np.random.default_rng(seed)
    y = labels(n, n_classes, rng)
    below = np.cumsum(1.0 / (np.arange(d) + 3.7))
    below /= below[-1]
    length = rng.poisson(_tokens(np.diff(below, prepend=0.0), distinct), size=n)
    row = np.repeat(np.arange(n, dtype=np.int32), length)
    word = np.searchsorted(below, rng.random(len(row))).astype(np.int32)
    topical = rng.random(len(row)) < 0.1
    word[topical] = (word[topical] + 1 + (d // (n_classes + 1)) * (1 + y[row[topical]])) % d
    X = sparse.csr_matrix((np.ones(len(row)), (row, word)), shape=(n, d))
    X.sum_duplicates()
    return X, y


def _tokens(share: Any, distinct: float) -> float:
    """Length of a document that has so many different words on average: Σ 1 − exp(−length · share)."""
    low, high = distinct, 100.0 * distinct
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - np.exp(-middle * share)).sum() < distinct else (low, middle)
    return low


LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))  # that win


@cache
def tic_tac_toe() -> Labelled:
    """The 958 boards at which a game ends when x moves first: cells "x", "o" or "b" (blank), and whether x has won."""
    ended: set[str] = set()
    boards = {"b" * 9}
    for move in range(9):
        player = "xo"[move % 2]
        played = {b[:i] + player + b[i + 1 :] for b in boards for i in range(9) if b[i] == "b"}
        won = {board for board in played if _wins(board, player)}
        ended |= won
        boards = played - won
    ends = sorted(ended | boards)  # the boards that are left are full
    y = ["x wins" if _wins(board, "x") else "x does not win" for board in ends]
    return np.array([list(board) for board in ends], dtype=object), np.array(y, dtype=object)


def _wins(board: str, player: str) -> bool:
    return any(all(board[i] == player for i in cells) for cells in LINES)


def parity(n: int = 1000, seed: int = 0) -> Labelled:
    """Three fair bits, and whether an odd number of them is 1: any two of them say nothing about the class."""
    bits = np.random.default_rng(seed).integers(2, size=(n, 3))
    y = np.where(bits.sum(axis=1) % 2, "odd", "even")
    return bits.astype(str).astype(object), y.astype(object)
