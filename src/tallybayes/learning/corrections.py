"""Corrections of the evidence, learned as a logistic regression that starts from Naive Bayes.

S_nk = S⁰_nk + Σ_d δ_d[cell(x_nd), k], where S⁰ are scores by models that have not seen row n, and the cells of a column
are its levels, its bins or the combinations of a pair. δ minimises −Σ_n r_n log softmax(S_n)[y_n] + (λ/2)·‖δ‖² from
δ = 0. What a number adds is smooth: δ = Φc, with Φ the clipped standard score and cosines √2·cos(πmu) of mid-ranks u,
whose penalty is m². Missing and unseen values add nothing. A slope is one scoring pass and one soft tally; there are a
few dozen of them, and rows × columns × classes read by each are bounded: of more rows every so many are learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import fitting
from tallybayes.core.batch import Array, Labels
from tallybayes.core.schema import Column
from tallybayes.core.threads import map_each, threads_for
from tallybayes.learning.stacking import losses

COSINES = 8
WIDEST = 3.0  # standard scores are clipped there
TOLERANCE = 1e-5  # nats a row: a step that gains less is the last
STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)  # λ
HOPELESS = 1.01  # times the least loss so far: weaker penalties are not tried any more
LITTLE_WORK = 2_000_000  # rows × columns × classes up to which λ is chosen on all folds, then on two of them
LITTLE_GAIN = 3e-3  # of what was gained: beyond that work, steps that gain less are the last
MOST_WORK = 30_000_000  # rows × columns × classes that corrections are learned from
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
        first = np.cumsum([0, *(column.n_cells for column in columns)], dtype=np.int32)[:-1]
        cell = np.add(codes.astype(np.int32, copy=False), first, order="C")
        return cls(columns, np.where(codes < 0, np.int32(-1), cell), shapes)

    @cached_property
    def n_cells(self) -> list[int]:
        """Of each column."""
        return [column.n_cells for column in self.columns]

    @cached_property
    def sizes(self) -> list[int]:
        """How many coefficients a class has for each column."""
        return [n if s is None else s.shape[1] for n, s in zip(self.n_cells, self.shapes, strict=True)]

    @cached_property
    def penalty(self) -> Array:
        """Penalty (P,) of the square of each coefficient."""
        rough = [np.ones(size) if s is None else SMOOTHNESS for s, size in zip(self.shapes, self.sizes, strict=True)]
        return np.concatenate(rough)

    def take(self, rows: Any) -> Cells:
        """Some of the rows."""
        return replace(self, cell=self.cell[rows])

    def joined(self, other: Cells) -> Cells:
        """The columns of both."""
        theirs = np.where(other.cell < 0, np.int32(-1), other.cell + np.int32(sum(self.n_cells)))
        cell = np.concatenate((self.cell, theirs), axis=1)
        return Cells([*self.columns, *other.columns], cell, [*self.shapes, *other.shapes])

    def tables(self, coefficients: Array) -> list[Array]:
        """What the cells of each column add (C, K), from the coefficients (P, K)."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        parts = [coefficients[first:last] for first, last in pairwise(ends)]
        return [part if s is None else s @ part for s, part in zip(self.shapes, parts, strict=True)]

    def table(self, coefficients: Array) -> Array:
        """The same (ΣC, K) of all columns, one after another."""
        is_free = all(shape is None for shape in self.shapes)
        return coefficients if is_free else np.concatenate(self.tables(coefficients))

    @cached_property
    def described(self) -> fitting.Shapes:
        """The same for the kernel."""
        smooth = [s for s in self.shapes if s is not None]
        ends = np.cumsum([0, *(s.size for s in smooth)], dtype=np.int64).tolist()
        start = np.array([-1 if s is None else ends.pop(0) for s in self.shapes], dtype=np.int64)
        cells = np.cumsum([0, *self.n_cells], dtype=np.int64)
        values = np.concatenate([np.empty(0), *(s.ravel() for s in smooth)])
        return fitting.Shapes(cells, np.cumsum([0, *self.sizes], dtype=np.int64), values, start)


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

    def take(self, rows: Any) -> Regression:
        """Some of the rows."""
        return replace(self, cells=self.cells.take(rows), base=self.base[rows], labels=self.labels.take(rows))

    def without(self, rows: NDArray[np.bool_]) -> Regression:
        """The same rows, some of which count for nothing."""
        return replace(self, labels=replace(self.labels, weight=np.where(rows, 0.0, self.labels.weight)))

    @property
    def work(self) -> int:
        """Numbers that are read to learn from the rows once."""
        return int(np.count_nonzero(self.labels.weight)) * len(self.cells.columns) * self.base.shape[1]

    @property
    def is_much(self) -> bool:
        """Whether there is much to read, in all rows: a fold and the whole are learned alike."""
        return self.base.size * len(self.cells.columns) > LITTLE_WORK

    def bounded(self) -> Regression:
        """The same rows, of which so many count that learning does not take long."""
        step = -(-self.work // MOST_WORK)
        return self if step <= 1 else self.without(np.arange(len(self.base)) % step > 0)

    def fitted(self, strength: float, start: Array | None = None) -> Array:
        """The coefficients (P, K) under a penalty λ, from those of the first columns that are near."""
        penalty = strength * self.cells.penalty
        found = np.zeros((len(penalty), self.base.shape[1]))
        if start is not None:
            found[: len(start)] = start
        little = LITTLE_GAIN if self.is_much else 0.0
        tolerance = TOLERANCE * max(float(self.labels.weight.sum()), 1e-300)
        self._read.fit(penalty, found, tolerance, little)
        return found

    @cached_property
    def _read(self) -> fitting.CorrectedRows:
        """The same for the kernel, whatever the penalty."""
        return fitting.CorrectedRows(self.cells.cell, self.base, self.labels, self.cells.described)

    def approached(self, strength: float, times: float = 1.0) -> Array:
        """The same under so many times λ, by way of stronger ones as the folds came to it, unless there is much."""
        found = None
        for each in () if self.is_much else STRENGTHS[: STRENGTHS.index(strength)]:
            found = self.fitted(times * each, found)
        return self.fitted(times * strength, found)

    def scores(self, coefficients: Array) -> Array:
        """Scores (n, K) with the corrections."""
        return _corrected(self.cells.cell, self.cells.table(coefficients), self.base)


def _corrected(cell: NDArray[np.int32], table: Array, base: Array) -> Array:
    scores = base.copy()
    fitting.add_corrections(cell, table, scores)
    return scores


@dataclass(frozen=True)
class Path:
    """Corrections under ever weaker penalties, learned without each fold."""

    scores: Array  # (n, K) of rows with the corrections of the best penalty, learned from the other folds
    strength: float | None = None  # the best λ; None where there are better none
    coefficients: Mapping[float, Sequence[Array]] = field(default_factory=dict)  # of the folds that were asked, by λ

    def near(self, strength: float, number: int) -> Array | None:
        """The coefficients without a fold under a penalty, where it was asked."""
        return dict(enumerate(self.coefficients.get(strength, ()))).get(number)


def best_strength(
    regression: Callable[[int], Regression],
    fold: NDArray[np.intp],
    base: Array,
    labels: Labels,
    n_jobs: int | None,
    strengths: Sequence[float] = STRENGTHS,
    before: Path | None = None,
) -> Path:
    """The scores of rows with corrections that were learned from the other folds, and the λ that suits them best.

    ``regression`` gives the rows as they are read without a fold. Penalties become weaker until the loss rises; where
    there is much to read only the first two folds are asked. ``before`` are the corrections of the first columns.
    """
    n_folds, parts = int(fold.max()) + 1, [regression(0)]
    threads = threads_for(parts[0].work, n_jobs)
    parts += map(regression, range(1, 2 if parts[0].is_much else n_folds))
    rows = np.flatnonzero(fold < len(parts))
    judged = labels.take(rows)
    least = float(judged.weight @ losses(base[rows], judged))
    near = before.near if before is not None else lambda strength, number: None
    starts = [near(strengths[0], number) for number in range(len(parts))]
    halves = [_Halves.of(part, fold == number) for number, part in enumerate(parts)]
    best, chosen = base, None
    known: dict[float, list[Array]] = {}
    for strength in strengths:
        scores = base.copy()
        known[strength] = []
        work = [(part, strength, start) for part, start in zip(halves, starts, strict=True)]
        for number, (found, held) in enumerate(map_each(_unseen, work, threads)):
            known[strength].append(found)
            scores[fold == number] = held
        starts = [*known[strength]]
        loss = float(judged.weight @ losses(scores[rows], judged))
        if loss < least:
            least, best, chosen = loss, scores, strength
        if loss > HOPELESS * least or (loss > least and len(parts) < n_folds):
            break
    if chosen is not None:
        others = range(len(parts), n_folds)
        rest = map_each(lambda f: _unseen((_Halves.of(regression(f), fold == f), chosen, None)), others, threads)
        for number, (found, scores) in zip(others, rest, strict=True):
            known[chosen].append(found)
            best[fold == number] = scores
    return Path(best, chosen, known)


class _Halves(NamedTuple):
    """The rows that corrections are learned from, and the cells and bases of those that they are judged on."""

    learned: Regression
    cell: NDArray[np.int32]
    base: Array

    @classmethod
    def of(cls, rows: Regression, own: NDArray[np.bool_]) -> _Halves:
        return cls(rows.without(own), rows.cells.cell[own], rows.base[own])


def _unseen(work: tuple[_Halves, float, Array | None]) -> tuple[Array, Array]:
    """Coefficients under a penalty, and the scores of the rows that had no part in them."""
    part, strength, start = work
    found = part.learned.fitted(strength, start)
    return found, _corrected(part.cell, part.learned.cells.table(found), part.base)
