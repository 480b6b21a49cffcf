"""The compiled kernels that learn: weights of evidence, constants of columns, corrections of cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native
from tallybayes.core.batch import Array, Labels

Terms = NDArray[np.float32]
REMEMBERED_STEPS, MOST_STEPS = 10, 100  # of the corrections: what their curvature is known from, and at most


class Shapes(NamedTuple):
    """How the corrections of D columns follow from coefficients."""

    cells: NDArray[np.int64]  # (D + 1,) where the cells of each column begin
    coefficients: NDArray[np.int64]  # (D + 1,) where its coefficients begin
    shape: Array  # matrices (cells, coefficients) of the columns whose cells are not free, one after the other
    start: NDArray[np.int64]  # (D,) where that of a column begins; −1 where each cell has a coefficient


class CorrectedRows:
    """Rows that corrections are learned from: they are read once, whatever the penalties. One thread at a time."""

    def __init__(self, cell: NDArray[np.int32], base: Array, labels: Labels, shapes: Shapes) -> None:
        """``base`` (n, K) are scores; ``cell`` (n, D) is numbered over all columns, and a negative one adds nothing."""
        self._rows = _native.CorrectedRows(cell, base, labels.codes, labels.weight, *shapes)

    def fit(self, penalty: Array, at: Array, tolerance: float, little: float = 0.0) -> int:
        """Coefficients ``at`` (P, K), in place, of the least log loss of scores plus what the cells of the columns add.

        Half the ``penalty`` (P,) times their squares is added to it. Steps that gain less than the tolerance, or a
        ``little`` of what was gained, are the last. Return how often the rows were read.
        """
        return int(self._rows.fit(penalty, at, tolerance, little, REMEMBERED_STEPS, MOST_STEPS))


def add_corrections(cell: NDArray[np.int32], table: Array, scores: Array) -> None:
    """Add the rows ``cell`` (n, D) of a table (C, K) to scores (n, K) in place."""
    _native.add_corrections(cell, table, scores)


def against_own(evidence: Terms, codes: NDArray[np.int32], terms: Terms, first: int) -> None:
    """Write what each other class has more of the evidence (n, K, P) than a row's own into terms (n, K − 1, T)."""
    _native.against_own(evidence, np.ascontiguousarray(codes, dtype=np.int32), terms, first)


def learn_weights(
    terms: Terms, weight: Array, centre: Array, at: Array, pull: float, fixed: int, coarse: int, tolerance: float
) -> None:
    """Change the weights ``at`` (T,) to those of the least log loss plus ``pull``·Σ(at − centre)².

    ``terms`` (n, K − 1, T) say what the other classes have more than a row's own; rows of no weight are not read. The
    first ``fixed`` weights stay; every ``coarse``-th row takes the first steps by itself.
    """
    rows = np.ascontiguousarray(terms), np.ascontiguousarray(weight)
    _native.learn_weights(*rows, centre, at, pull, fixed, coarse, tolerance)


def rival_losses(terms: Terms, weight: Array, at: Array) -> Array:
    """−log P(y | x) of each row (n,)."""
    found = np.empty(len(terms))
    _native.rival_losses(np.ascontiguousarray(terms), np.ascontiguousarray(weight), at.astype(np.float32), found)
    return found


def loss_rises(terms: Terms, weight: Array, at: Array) -> Array:
    """How much Σ weight·loss rises (T,) without each term."""
    found = np.zeros(len(at))
    _native.loss_rises(np.ascontiguousarray(terms), np.ascontiguousarray(weight), at.astype(np.float32), found)
    return found


def column_constants(
    terms: Terms, codes: NDArray[np.int32], weight: Array, at: Array, log_prior: Array
) -> tuple[Array, Array]:
    """What each term after the first must add (T − 1, K) to give back the class shares, and how much it says."""
    found, says = np.zeros((len(at) - 1, len(log_prior))), np.zeros(len(at) - 1)
    args = (np.ascontiguousarray(codes, dtype=np.int32), np.ascontiguousarray(weight), at, log_prior)
    _native.column_constants(np.ascontiguousarray(terms), *args, found, says)
    return found, says


def stack_readings(
    base: Terms, terms: Terms, weight: Array, centre: Array, at: Array, pull: float, tolerance: float
) -> float:
    """Change the weights ``at`` (V,) of readings to those of the least log loss plus ``pull``·Σ(at − centre)².

    Return what that comes to.
    ``base`` (K, n) are log odds of each class against a row's own, ``terms`` (V, K, n) what each reading adds to them.
    """
    return float(_native.stack_readings(base, terms, weight, centre, at, pull, tolerance))


def score_losses(scores: Array, codes: NDArray[np.int32]) -> Array:
    """−log P(y | x) of each row (n,) of scores (n, K)."""
    found = np.empty(len(scores))
    _native.score_losses(np.ascontiguousarray(scores), np.ascontiguousarray(codes, dtype=np.int32), found)
    return found
