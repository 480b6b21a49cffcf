"""Parameters whose log probability is linear in x: Bernoulli, multinomial, complement and Poisson share them.

log P(x | k) = Σ_d (slope_kd·x_d + offset_kd) over the columns that have a value. A probability of zero would make a
slope infinite and 0·∞ undefined, so infinities are kept apart as vetoes: a class is forbidden (−inf) where the same
sum over the vetoes is positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Csr
from tallybayes.core.family import quiet_log
from tallybayes.core.schema import Column
from tallybayes.core.terms import Bag, Line, Text
from tallybayes.errors import NotAvailableError, bad_number


class Sparse(NamedTuple):
    """Events in a sparse matrix: the value itself, or 1 above a threshold."""

    x: Csr
    threshold: float | None


class Dense(NamedTuple):
    """Events in a dense matrix, and which cells have a value (None when all do)."""

    value: Array  # (n, d), zero where the value is missing
    seen: Array | None  # (n, d) one or zero

    @classmethod
    def of(cls, x: NDArray[Any], threshold: float | None, takes_missing: bool = True) -> Dense:
        value = np.asarray(x, dtype=np.float64)
        finite = np.isfinite(value)
        bad = np.isinf(value) if takes_missing else ~finite
        if threshold is None:
            bad |= value < 0
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            raise bad_number(float(value[row, column]), row, column)
        if threshold is not None:
            value = (value > threshold).astype(np.float64)
        if finite.all():
            return cls(value, None)
        return cls(np.where(finite, value, 0.0), finite.astype(np.float64))


@dataclass(frozen=True)
class Slopes:
    """One linear form per class; columns first, so that the slopes of a word lie together."""

    slope: Array  # (d, K)
    offset: Array | None = None  # (d, K); None when all are zero

    @cached_property
    def total_offset(self) -> Array | float:
        """Σ_d offset (K,)."""
        return 0.0 if self.offset is None else self.offset.sum(axis=0)

    def scores(self, events: Dense | Sparse) -> Array:
        """The sum (n, K) over the columns that have a value."""
        if isinstance(events, Sparse):
            scores = kernels.sparse_scores(events.x, self.slope, events.threshold)
            if self.offset is not None:
                scores += self.total_offset
            return scores
        if events.seen is None or self.offset is None:
            return events.value @ self.slope + self.total_offset
        return events.value @ self.slope + events.seen @ self.offset

    def weighted(self, weights: Array) -> Slopes:
        """The same, each column's terms times its weight (d,)."""
        return Slopes(self.slope * weights[:, None], None if self.offset is None else self.offset * weights[:, None])

    def parts(self, events: Dense) -> Array:
        """The terms (n, K, d) of that sum."""
        parts = events.value[:, None, :] * self.slope.T
        if self.offset is None:
            return parts
        return parts + (self.offset.T if events.seen is None else events.seen[:, None, :] * self.offset.T)


class LaterSlopes(Slopes):
    """Slopes that are worked out when they are first used: leave-one-out needs none of a large vocabulary."""

    make: Callable[[], Array]  # a new array each time

    def __init__(self, make: Callable[[], Array]) -> None:
        object.__setattr__(self, "make", make)
        object.__setattr__(self, "offset", None)

    @cached_property
    def slope(self) -> Array:
        """The slopes (d, K)."""
        return self.make()

    def weighted(self, weights: Array) -> Slopes:
        """The same, each column's terms times its weight (d,); in one array, for it may be a large one."""
        return LaterSlopes(partial(_times, self.make, weights))


def _times(make: Callable[[], Array], weights: Array) -> Array:
    slope = make()
    slope *= weights[:, None]
    return slope


@dataclass(frozen=True)
class Linear:
    """Finite slopes, and the vetoes that stand for infinite ones."""

    finite: Slopes
    veto: Slopes | None = None

    takes_missing: ClassVar[bool] = True
    least: ClassVar[float | None] = None  # a smaller number is no evidence

    def log_prob(self, x: NDArray[Any] | Csr, threshold: float | None = None) -> Array:
        """Log probability (n, K)."""
        events = self._events(x, threshold)
        out = self.finite.scores(events)
        if self.veto is not None:
            out[self.veto.scores(events) > 0.0] = -np.inf
        return out

    def contributions(self, x: NDArray[Any] | Csr, threshold: float | None = None) -> Array:
        """Log probability (n, K, d), column by column."""
        events = self._events(x.dense() if isinstance(x, Csr) else x, threshold)
        assert isinstance(events, Dense)
        out = self.finite.parts(events)
        if self.veto is not None:
            out[self.veto.parts(events) > 0.0] = -np.inf
        return out

    def weighted(self, weights: Array) -> Self:
        """The same, each column's logs times its weight (d,); a column of weight zero forbids nothing."""
        veto = None if self.veto is None else self.veto.weighted((weights > 0).astype(np.float64))
        return replace(self, finite=self.finite.weighted(weights), veto=veto)

    def _events(self, x: NDArray[Any] | Csr, threshold: float | None) -> Dense | Sparse:
        return Sparse(x, threshold) if isinstance(x, Csr) else Dense.of(x, threshold, self.takes_missing)

    def exported(self, columns: slice = slice(None)) -> tuple[Array, Array]:
        """Slopes and offsets (d, K) of some columns, −inf where a veto stands for it."""
        slope, veto = np.array(self.finite.slope[columns]), self.veto
        offset = np.zeros_like(slope) if self.finite.offset is None else np.array(self.finite.offset[columns])
        if veto is not None:
            slope[veto.slope[columns] > 0] = -np.inf
        return slope, offset

    def lines(self, columns: Sequence[Column]) -> Iterator[tuple[int, Line]]:
        """What each column adds to the scores."""
        for j, column in enumerate(columns):
            slope, offset = self.exported(slice(j, j + 1))
            yield j, Line(column.name, slope[0], offset[0], self.least)

    def bag(self, columns: Sequence[Column], length: float | None = None) -> Bag:
        """What the columns of one document add to the scores."""
        return Bag(tuple(column.name for column in columns), self.exported()[0], length)

    def text(self, column: Column, words: tuple[str, ...], length: float | None = None, binary: bool = False) -> Text:
        """What the words of a text add to the scores."""
        assert column.tokens is not None
        slopes, offset = self.exported()
        return Text(column.name, column.tokens, words, slopes, offset.sum(axis=0), length, binary)

    def weights(self) -> tuple[Array, Array]:
        """Weights (K, d) and bias (K,)."""
        if self.veto is not None:
            raise NotAvailableError(
                "a probability of zero makes an infinite weight, so there is no finite linear form; use alpha > 0"
            )
        return self.finite.slope.T, np.zeros(self.finite.slope.shape[1]) + self.finite.total_offset


def vetoes(slope: NDArray[Any], offset: NDArray[Any] | None = None) -> Slopes | None:
    """Vetoes from flags (d, K), or None when no flag is up."""
    if not slope.any() and (offset is None or not offset.any()):
        return None
    return Slopes(slope.astype(np.float64), None if offset is None else offset.astype(np.float64))


@dataclass(frozen=True)
class Entries:
    """The entries of a matrix that are not zero, row by row."""

    row: NDArray[np.intp]
    column: NDArray[Any]
    value: Array
    n_rows: int

    @classmethod
    def of(cls, x: NDArray[Any] | Csr, threshold: float | None = None) -> Entries:
        if isinstance(x, Csr):
            x = kernels.in_order(x)
            row, column = np.repeat(np.arange(x.shape[0]), np.diff(x.start)), x.column
            value = np.asarray(x.data, dtype=np.float64)
        else:
            row, column = np.nonzero(x)
            value = np.asarray(x[row, column], dtype=np.float64)
        return cls(row, column, value if threshold is None else (value > threshold).astype(np.float64), x.shape[0])

    def total(self, amount: Array) -> Array:
        """Sum of an amount over the entries of each row (n,)."""
        return np.bincount(self.row, weights=amount, minlength=self.n_rows).astype(np.float64, copy=False)


def sparse_of(x: NDArray[Any] | Csr) -> Csr:
    """The rows as a sparse matrix."""
    if isinstance(x, Csr):
        return x
    entries = Entries.of(x)
    start = np.searchsorted(entries.row, np.arange(x.shape[0] + 1))
    return Csr(entries.value, np.ascontiguousarray(entries.column), start, x.shape[1])


def times_log(amount: Array, of: Array) -> Array:
    """amount·log(of), where nothing times anything is nothing and a true zero gives −inf."""
    return np.where(amount == 0.0, 0.0, amount * quiet_log(np.where(amount == 0.0, 1.0, of)))


def log_factorials(x: NDArray[Any] | Csr) -> Array:
    """Σ_d log x_d! of each row (n,); a missing value adds nothing."""
    from scipy.special import gammaln  # slow to import and seldom needed

    entries = Entries.of(x)
    return entries.total(np.nan_to_num(gammaln(entries.value + 1.0)))


def row_totals(x: NDArray[Any] | Csr) -> Array:
    """Σ_d x_d of each row (n,)."""
    entries = Entries.of(x)
    return entries.total(entries.value)
