"""Corrections of the evidence, learned as a logistic regression that starts from Naive Bayes.

S_nk = S⁰_nk + Σ_d δ_d[cell(x_nd), k], where S⁰ are scores by models that have not seen row n, and the cells of a column
are its levels, its bins or the combinations of a pair. δ minimises −Σ_n r_n log softmax(S_n)[y_n] + (λ/2)·‖δ‖² from
δ = 0. What a number adds is smooth: δ = Φc, with Φ the clipped standard score and cosines √2·cos(πmu) of mid-ranks u,
whose penalty is m². Missing and unseen values add nothing. A gradient is one scoring pass and one soft tally.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Labels
from tallybayes.core.schema import Column
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.learning.lbfgs import minimise

COSINES = 8
WIDEST = 3.0  # standard scores are clipped there
TOLERANCE = 1e-5  # nats a row: a step that gains less is the last
SMOOTHNESS = np.array([1.0, *(float(m * m) for m in range(1, COSINES + 1))])  # penalty of the coefficients of a number


@dataclass(frozen=True)
class Cells:
    """Which cell of each column every row is in, and how what the cells add is parameterised."""

    columns: Sequence[Column]  # with the levels, edges or parts that tell the cells apart
    cell: NDArray[np.int32]  # (n, D) numbered over all columns; negative where there is no value
    shapes: Sequence[Array | None]  # of numbers Φ (B, M), one row a bin; None where every cell is free

    @classmethod
    def of(cls, columns: Sequence[Column], codes: NDArray[Any], shapes: Sequence[Array | None]) -> Cells:
        """From the codes (n, D) of each column by itself."""
        first = np.cumsum([0, *(column.n_cells for column in columns)])[:-1]
        cell = np.where(codes < 0, -1, codes + first).astype(np.int32)
        return cls(columns, np.ascontiguousarray(cell), shapes)

    @property
    def ends(self) -> NDArray[np.intp]:
        """Where the cells of each column but the last end."""
        return np.cumsum([column.n_cells for column in self.columns], dtype=np.intp)[:-1]

    @property
    def sizes(self) -> list[int]:
        """How many coefficients a class has for each column."""
        return [c.n_cells if s is None else s.shape[1] for c, s in zip(self.columns, self.shapes, strict=True)]

    def penalty(self) -> Array:
        """Penalty (P,) of the square of each coefficient."""
        rough = [np.ones(size) if s is None else SMOOTHNESS for s, size in zip(self.shapes, self.sizes, strict=True)]
        return np.concatenate(rough)

    def take(self, rows: Any) -> Cells:
        """Some of the rows."""
        return replace(self, cell=self.cell[rows])

    def joined(self, other: Cells) -> Cells:
        """The columns of both."""
        first = sum(column.n_cells for column in self.columns)
        cell = np.concatenate((self.cell, np.where(other.cell < 0, -1, other.cell + np.int32(first))), axis=1)
        return Cells([*self.columns, *other.columns], np.ascontiguousarray(cell), [*self.shapes, *other.shapes])

    def tables(self, coefficients: Array) -> list[Array]:
        """What the cells of each column add (C, K), from the coefficients (P, K)."""
        parts = np.split(coefficients, np.cumsum(self.sizes)[:-1])
        return [part if s is None else s @ part for s, part in zip(self.shapes, parts, strict=True)]

    def table(self, coefficients: Array) -> Array:
        """The same of all columns."""
        return np.ascontiguousarray(np.concatenate(self.tables(coefficients)))

    def collected(self, cells: Array, squared: bool = False) -> Array:
        """A derivative by the coefficients (P, K) from one by the cells; ``squared`` for a diagonal of second ones."""
        shapes = [s if s is None or not squared else s**2 for s in self.shapes]
        own = np.split(cells, self.ends)
        return np.concatenate([part if s is None else s.T @ part for s, part in zip(shapes, own, strict=True)])


def smooth_shape(weight: Array, centre: Array) -> Array:
    """Φ (B, M) of a number from the weight of its bins and the mean of the values in each."""
    total = max(float(weight.sum()), 1e-300)
    rank = (np.cumsum(weight) - weight / 2.0) / total
    mean = float(weight @ centre) / total
    spread = float(np.sqrt(weight @ (centre - mean) ** 2 / total))
    standard = np.clip((centre - mean) / (spread if spread > 0 else 1.0), -WIDEST, WIDEST)
    cosines = [np.sqrt(2.0) * np.cos(np.pi * m * rank) for m in range(1, COSINES + 1)]
    return np.stack((standard, *cosines), axis=1)


@dataclass(frozen=True)
class Regression:
    """The rows that corrections are learned from."""

    cells: Cells
    base: Array  # (n, K) scores without them, of models that have not seen the row
    labels: Labels
    n_jobs: int | None = None

    def take(self, rows: Any) -> Regression:
        """Some of the rows."""
        return replace(self, cells=self.cells.take(rows), base=self.base[rows], labels=self.labels.take(rows))

    def fitted(self, strength: float, start: Array | None = None) -> Array:
        """The coefficients (P, K) under a penalty λ."""
        n_classes, penalty = self.base.shape[1], strength * self.cells.penalty()[:, None]
        start = np.zeros((len(penalty), n_classes)) if start is None else start
        scale = 1.0 / np.sqrt(self._curvature() + penalty)

        def objective(at: Array) -> tuple[float, Array]:
            coefficients = at.reshape(scale.shape) * scale
            loss, slope = self._loss(coefficients)
            loss += 0.5 * float((penalty * coefficients**2).sum())
            return loss, ((self.cells.collected(slope) + penalty * coefficients) * scale).ravel()

        tolerance = TOLERANCE * max(float(self.labels.weight.sum()), 1e-300)
        return minimise(objective, (start / scale).ravel(), tolerance).reshape(scale.shape) * scale

    def scores(self, coefficients: Array) -> Array:
        """Scores (n, K) with the corrections."""
        table = np.concatenate((self.cells.table(coefficients), np.zeros((1, self.base.shape[1]))))
        scores = self.base.copy()
        for column in self.cells.cell.T:
            scores += table[column]  # no cell is the last row
        return scores

    def _loss(self, coefficients: Array) -> tuple[float, Array]:
        """The loss and its slope in the corrections of the cells."""
        n, table = len(self.base), self.cells.table(coefficients)
        threads = threads_for(n * self.base.shape[1] * len(self.cells.columns), self.n_jobs)

        def part(first: int, last: int) -> tuple[float, Array]:
            return kernels.correction_loss(self.cells.cell, self.base, self.labels, (first, last), table)

        found = list(map_rows(part, n, max(1, -(-n // threads)), threads))
        return sum(loss for loss, _ in found), np.sum([slope for _, slope in found], axis=0)

    def _curvature(self) -> Array:
        """The diagonal (P, K) of the second derivative at no correction."""
        p = np.exp(self.base - self.base.max(axis=1)[:, None])
        p /= p.sum(axis=1)[:, None]
        p *= (1.0 - p) * self.labels.weight[:, None]
        n_cells, found = sum(column.n_cells for column in self.cells.columns), []
        for k in range(p.shape[1]):
            sums = np.zeros(n_cells + 1)
            for column in self.cells.cell.T:
                sums += np.bincount(column + 1, p[:, k], n_cells + 1)
            found.append(sums[1:])
        return self.cells.collected(np.stack(found, axis=1), squared=True)
