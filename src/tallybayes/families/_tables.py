"""Parameters that are looked up: a log probability for every level, bin or combination, class by class.

Categorical, hierarchical, binned, kernel and pair columns are all scored, explained and sampled from such tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import MISSING, Array, Codes, Labels
from tallybayes.core.family import Family, left_of
from tallybayes.core.records import changed
from tallybayes.core.schema import Column
from tallybayes.core.summaries import Counts
from tallybayes.core.terms import ByBin, ByLevel, ByPair, part_of
from tallybayes.errors import RowError
from tallybayes.families._variances import of_share


@dataclass(frozen=True)
class Tables:
    """Parameters of a coded block; each column has one cell more than levels, for unseen values."""

    table: Array  # (cells + d, K) log probabilities
    start: NDArray[np.int64]  # (d + 1,) first cell of each column
    n_effective: NDArray[np.int64]  # (d,) levels that have a probability of their own; others share one
    sharing: Array  # (cells + d,) how many levels share the cell's probability

    @classmethod
    def of(
        cls,
        log_prob: Array,
        n_levels: NDArray[np.int64],
        unseen: Array | float = 0.0,
        n_effective: NDArray[np.int64] | None = None,
        shared_by: NDArray[Any] | float = 1.0,
    ) -> Self:
        """Tables from the log probabilities (cells, K) of the levels and (d, K) of unseen values."""
        start = kernels.starts(n_levels + 1)
        table, sharing = np.zeros((int(start[-1]), log_prob.shape[1])), np.ones(int(start[-1]))
        is_level = np.ones(len(table), dtype=bool)
        is_level[start[1:] - 1] = False
        table[is_level], table[~is_level], sharing[is_level] = log_prob, unseen, shared_by
        return cls(table, start, n_levels if n_effective is None else n_effective, sharing)

    def of_column(self, column: int) -> Array:
        """Log probabilities (K, C) of the levels of one column."""
        return self.table[self.start[column] : self.start[column + 1] - 1].T

    def weighted(self, weights: Array) -> Self:
        """The same, each column's logs times its weight (d,); without weight nothing is impossible."""
        each = np.repeat(weights, np.diff(self.start))[:, None]
        return changed(self, table=np.multiply(self.table, each, out=np.zeros_like(self.table), where=each != 0))

    def plus(self, offsets: Array) -> Self:
        """The same, with offsets of the shape of the table added."""
        return changed(self, table=self.table + offsets)

    def log_prob(self, x: Codes) -> Array:
        """Sum (n, K) of the logs that the codes point at."""
        return kernels.table_scores(x.matrix, self.start, self.table)

    def contributions(self, x: Codes) -> Array:
        """The same (n, K, d), column by column."""
        last = self.start[1:] - self.start[:-1] - 1
        codes = x.matrix.astype(np.int64)
        cell = self.start[:-1] + np.where((codes < 0) | (codes >= last), last, codes)
        parts = self.table[cell].transpose(0, 2, 1)
        return np.where((codes == MISSING)[:, None, :], 0.0, parts)

    def sample(self, codes: NDArray[Any], rng: np.random.Generator) -> Codes:
        """Draw a level of each column for every class code."""
        n_levels = np.diff(self.start) - 1
        drawn = np.full((len(codes), len(n_levels)), MISSING, dtype=np.int64)
        for j in np.flatnonzero(n_levels).tolist():
            sharing = self.sharing[self.start[j] : self.start[j + 1] - 1]
            below = (np.exp(self.of_column(j)) / sharing).cumsum(axis=1)[codes]
            drawn[:, j] = (rng.random((len(codes), 1)) * below[:, -1:] >= below).sum(axis=1)
        return Codes(drawn, n_levels)

    def term(self, j: int, column: Column) -> ByLevel | ByBin | ByPair | None:
        """What one column adds to the scores; None where that is nothing."""
        scores = np.array(self.of_column(j).T)
        unseen = self.table[self.start[j + 1] - 1]
        if not scores.size or not (scores.any() or unseen.any()):
            return None
        if column.parts is not None:
            left, right = map(part_of, column.parts)
            return ByPair((left, right), scores.reshape(*(part.n_cells for part in column.parts), -1))
        if column.edges is not None:
            first = np.concatenate(([True], (scores[1:] != scores[:-1]).any(axis=1)))  # merged bins are one bin
            return ByBin(column.name, np.array(column.edges)[first[1:]], scores[first])
        levels = tuple(column.levels or ())
        known = len(levels) - (bool(levels) and levels[-1] is None)
        missing = scores[-1] if known < len(levels) else np.zeros(scores.shape[1])
        return ByLevel(column.name, levels[:known], scores[:known], missing, unseen)

    def n_parameters(self) -> int:
        """Free parameters: a probability less than there are levels, for every class."""
        return self.table.shape[1] * int(np.maximum(self.n_effective - 1, 0).sum())

    def joint_size(self) -> int:
        """Combinations of the levels of all columns."""
        return math.prod(np.maximum(self.n_effective, 1).tolist())


STRENGTHS = (2.0, 8.0, 32.0, 128.0)  # of smoothing towards the pool that are tried


class Coded(Family):
    """Base of the families whose probabilities are tables: all but the estimate."""

    summary: ClassVar[type[Counts]] = Counts
    is_coded: ClassVar[bool] = True

    def tally(self, x: Codes, labels: Labels, n_classes: int) -> Counts:
        return coded_counts(x, labels, n_classes)

    def log_prob(self, params: Tables, x: Codes) -> Array:
        return params.log_prob(x)

    def contributions(self, params: Tables, x: Codes) -> Array:
        return params.contributions(x)

    def variances(self, summary: Counts, params: Tables, x: Codes, weights: Array) -> Array:
        assert summary.n_levels is not None
        count, smoothed, mass = self.known(summary, params)
        table = Tables.of(of_share(count, smoothed, np.repeat(mass, summary.n_levels, axis=0)), summary.n_levels)
        return table.contributions(x) * np.square(weights)

    def known(self, summary: Counts, params: Tables) -> tuple[Array, Array, Array]:
        """How many rows (cells, K) each probability comes from, the same with the smoothing, and those of columns."""
        raise NotImplementedError

    def n_parameters(self, params: Tables) -> int:
        return params.n_parameters()

    def terms(self, params: Tables, columns: Sequence[Column]) -> Iterator[tuple[int, ByLevel | ByBin | ByPair]]:
        for j, column in enumerate(columns):
            if (term := params.term(j, column)) is not None:
                yield j, term


class OfLevels(Coded):
    """The same for families whose cells are the values of a column, so that some can be drawn."""

    def sample(self, params: Tables, codes: NDArray[Any], rng: np.random.Generator) -> Codes:
        return params.sample(codes, rng)

    def joint_size(self, params: Tables) -> int:
        return params.joint_size()


def coded_counts(x: Codes, labels: Labels, n_classes: int) -> Counts:
    """Weight of every level, and of every column's known values, by class."""
    count = kernels.code_counts(x, labels, n_classes)
    return Counts(count.T, column_sums(count, x.n_levels).T, x.n_levels, x.n_right)


def column_sums(cells: NDArray[Any], n_levels: NDArray[np.int64]) -> NDArray[Any]:
    """Sum (d, K) of the cells of each column; a column without levels sums to nothing."""
    sums, some = np.zeros((len(n_levels), *cells.shape[1:]), dtype=cells.dtype), n_levels > 0
    if some.any():
        sums[some] = np.add.reduceat(cells, kernels.starts(n_levels)[:-1][some], axis=0)
    return sums


def each_column(summary: Counts, x: Codes) -> list[tuple[slice, NDArray[np.int64], NDArray[np.bool_]]]:
    """For each column its cells in the counts, the codes of the rows (0 if missing) and where there is a value.

    Leave-one-out knows every value, so a code that is none is an error.
    """
    assert summary.n_levels is not None
    beyond = ((x.matrix < 0) & (x.matrix != MISSING)) | (x.matrix >= summary.n_levels)
    if beyond.any():
        raise RowError(int(np.argmax(beyond.any(axis=1))))
    start, out = kernels.starts(summary.n_levels), []
    for j in range(x.shape[1]):
        code = x.matrix[:, j].astype(np.int64)
        out.append((slice(start[j], start[j + 1]), np.where(code == MISSING, 0, code), code != MISSING))
    return out


# ------------------------------------------------------------------------------------------ smoothing to the pool


def pooled_shares(count: Array, n_levels: NDArray[np.int64]) -> Array:
    """Share (cells,) of each level over all classes, with one row's worth spread over the levels."""
    pool = count.sum(axis=1)
    total = column_sums(pool, n_levels)
    return np.asarray((pool + 1.0 / np.repeat(n_levels, n_levels)) / np.repeat(total + 1.0, n_levels))


def pooled_tables(count: Array, n_levels: NDArray[np.int64], strength: Array, smooth_unseen: bool = False) -> Tables:
    """Tables of counts (cells, K) that are smoothed towards the pooled distribution of their column."""
    mass = column_sums(count, n_levels) + strength[:, None]
    prior = np.repeat(strength, n_levels) * pooled_shares(count, n_levels)
    log_prob = np.log(count + prior[:, None]) - np.log(np.repeat(mass, n_levels, axis=0))
    return Tables.of(log_prob, n_levels, np.log(strength[:, None] / mass) if smooth_unseen else 0.0)


def pooled_known(count: Array, n_levels: NDArray[np.int64], strength: Array) -> tuple[Array, Array, Array]:
    """Rows behind the tables of `pooled_tables`, as `Coded.known` gives them."""
    prior = np.repeat(strength, n_levels) * pooled_shares(count, n_levels)
    return count, count + prior[:, None], column_sums(count, n_levels) + strength[:, None]


def pooled_leave_one_out(summary: Counts, x: Codes, labels: Labels, strength: Array, kept: Array | float) -> Array:
    """Log probability (n, K) by such tables, each row taken out first; ``kept`` (cells,) of a row is in its own cell.

    Without its row a level's pooled share is another, so every class's probability of it is.
    """
    assert summary.n_levels is not None
    assert labels.codes is not None
    rows, y, w = np.arange(x.shape[0]), labels.codes, labels.weight
    kept = np.broadcast_to(np.asarray(kept, dtype=np.float64), summary.count.shape[1])
    out = np.zeros((len(rows), len(summary.count)))
    for j, (cells, code, seen) in enumerate(each_column(summary, x)):
        count, n_levels = np.ascontiguousarray(summary.count[:, cells].T), int(summary.n_levels[j])
        if n_levels == 0:
            continue
        taken = w * kept[cells][code]
        here, mass = count[code], np.repeat(summary.weight[:, j][None], len(rows), axis=0)
        share = left_of(here.sum(axis=1), np.where(seen, taken, 0.0)) + 1.0 / n_levels
        share /= left_of(np.full(len(rows), summary.weight[:, j].sum()), np.where(seen, w, 0.0)) + 1.0
        here[rows, y] = left_of(here[rows, y], np.where(seen, taken, 0.0))
        mass[rows, y] = left_of(mass[rows, y], np.where(seen, w, 0.0))
        log_prob = np.log(here + strength[j] * share[:, None]) - np.log(mass + strength[j])
        out += np.where(seen[:, None], log_prob, 0.0)
    return out
