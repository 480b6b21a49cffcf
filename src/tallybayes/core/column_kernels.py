"""The compiled kernels of single columns: what each alone says of training rows, the row left out of what was learned.

Each takes a table of what was counted and either returns the mean loss of every column by itself or writes the evidence
of all columns, against that for the row's own class, into an array (n, K, P).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native
from tallybayes.core.batch import Array, Codes, Labels
from tallybayes.core.kernels import LEAST_VARIANCE, starts
from tallybayes.core.summaries import Counts, Moments
from tallybayes.core.trials import Trial
from tallybayes.errors import RowError

NO_CELLS, NO_TABLE, NO_GROUPS = np.zeros((0, 0), dtype=np.int32), np.zeros((0, 0)), np.zeros(0, dtype=np.int64)


class Tallied(NamedTuple):
    """What was counted of some columns of numbers, as a kernel takes it."""

    kernel: str
    tables: tuple[Any, ...]

    def losses(self, trial: Trial) -> Array:
        """Mean loss (d,) of each column alone."""
        x: Any = np.asarray(trial.x, dtype=np.float64)
        cells = NO_CELLS if trial.cells is None else trial.cells
        n_cells, (size, n_sizes) = int(cells.max(initial=-1)) + 1, trial.sizes
        losses = np.empty(x.shape[1])
        kernel = getattr(_native, f"{self.kernel}_losses")
        labels = trial.labels.codes, trial.labels.weight
        _check(kernel(x, *labels, *self.tables, trial.prior, cells, size, n_cells, n_sizes, losses))
        return losses

    def evidence(self, x: NDArray[Any], labels: Labels, out: NDArray[np.float32], places: Sequence[int]) -> None:
        """Write the evidence of each column into its place."""
        kernel, where = getattr(_native, f"{self.kernel}_evidence"), np.asarray(places, dtype=np.int64)
        _check(kernel(np.asarray(x, dtype=np.float64), labels.codes, labels.weight, *self.tables, where, out))


def normal(
    summary: Moments, var_smoothing: float, shared: bool, ignore_constants: bool, of_logs: bool = False
) -> Tallied:
    """Bell curves of numbers or of their logarithms."""
    settings = float(var_smoothing), LEAST_VARIANCE, shared, ignore_constants, of_logs
    return Tallied("normal", (*_moments(summary), settings, NO_TABLE, NO_TABLE, 0.0))


def spiked(other: Counts, rest: Moments, alpha: float, var_smoothing: float, of_logs: bool) -> Tallied:
    """Bell curves of the numbers other than zero, and how often a number is not zero."""
    settings = float(var_smoothing), LEAST_VARIANCE, False, True, of_logs
    zeros = np.ascontiguousarray(other.count), np.ascontiguousarray(other.weight + np.zeros_like(other.count))
    return Tallied("normal", (*_moments(rest), settings, *zeros, float(alpha)))


def gamma(summary: Moments, var_smoothing: float) -> Tallied:
    """Gamma distributions by moments."""
    return Tallied("gamma", (*_moments(summary), float(var_smoothing), LEAST_VARIANCE))


def exponential(summary: Counts, alpha: Array) -> Tallied:
    """Exponential distributions."""
    weight = summary.weight + np.zeros_like(summary.count)
    return Tallied("exponential", (np.ascontiguousarray(summary.count), np.ascontiguousarray(weight), alpha))


def _moments(summary: Moments) -> tuple[Array, ...]:
    tables = [np.ascontiguousarray(table) for table in (summary.weight, summary.mean, summary.m2)]
    return *tables, np.concatenate([*summary.merged().arrays().values()])


class Groups(NamedTuple):
    """Which group each cell of some columns is merged into."""

    of: NDArray[np.int64]  # (cells,) counted in each column from zero
    n_levels: NDArray[np.int64]  # (d,) cells of each column


def pooled_losses(summary: Counts, trial: Trial, strengths: Sequence[float], groups: Groups | None = None) -> Array:
    """Mean loss (d, S) of each column alone, for each strength of smoothing towards the pool.

    With groups these are what was counted, and the rows have the codes of the cells that they are of.
    """
    losses = np.empty((trial.x.shape[1], len(strengths)))
    rows, (count, start, weight, kept), sizes = _coded_trial(summary, trial)
    merged = (NO_GROUPS, NO_GROUPS) if groups is None else (groups.of, starts(groups.n_levels))
    tables = count, start, weight, np.array(strengths, dtype=np.float64), kept
    _check(_native.pooled_losses(*rows, *tables, trial.prior, *sizes, *merged, losses))
    return losses


def smoothed_losses(
    summary: Counts, trial: Trial, widths: Sequence[float], fewest: int, strength: Array, strengths: Sequence[float]
) -> tuple[NDArray[np.int64], Array]:
    """Which width of a normal curve, by which counts are spread over neighbours, suits each column, by its place (d,).

    And the mean loss (d, S) of each column alone, spread so, for each strength of smoothing towards the pool. The width
    is found with a ``strength`` (d,) of its own; columns of fewer bins than ``fewest`` try the first one only.
    """
    width, losses = np.empty(trial.x.shape[1], dtype=np.int64), np.empty((trial.x.shape[1], len(strengths)))
    rows, (count, start, weight, kept), sizes = _coded_trial(summary, trial)
    tables = count, start, weight, strength, np.array(strengths, dtype=np.float64), kept
    tried = np.array(widths, dtype=np.float64)
    _check(_native.smoothed_losses(*rows, *tables, trial.prior, *sizes, tried, fewest, width, losses))
    return width, losses


def _coded_trial(summary: Counts, trial: Trial) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    assert isinstance(trial.x, Codes)
    return (_codes(trial.x), trial.labels.codes, trial.labels.weight), _pooled(summary, None), trial.sizes


def pooled_evidence(
    summary: Counts,
    x: Codes,
    labels: Labels,
    strength: Array,
    kept: Array | None,
    out: NDArray[np.float32],
    places: Sequence[int],
) -> None:
    """Write the evidence of each column, smoothed towards the pool, into its place."""
    count, start, weight, kept = _pooled(summary, kept)
    tables = count, start, weight, strength, kept, np.asarray(places, dtype=np.int64), out
    _check(_native.pooled_evidence(_codes(x), labels.codes, labels.weight, *tables))


def _pooled(summary: Counts, kept: Array | None) -> tuple[Any, ...]:
    assert summary.n_levels is not None
    count = np.ascontiguousarray(summary.count.T)
    kept = np.ones(len(count)) if kept is None else kept
    return count, starts(summary.n_levels), np.ascontiguousarray(summary.weight), kept


def _codes(x: Codes) -> NDArray[np.int32]:
    codes = x.matrix
    if codes.dtype.itemsize > 4 or codes.dtype == np.uint32:
        codes = np.clip(codes, -2, 2**31 - 1)
    return np.asarray(codes, dtype=np.int32)


def fine_edges(values: Array, n_bins: int, same: float) -> tuple[float, ...]:
    """Edges of fine bins of finite values in rising order; see `learning.bins`."""
    return tuple(_native.fine_edges(values, n_bins, same))


def bin_codes(values: NDArray[Any], edges: Sequence[float]) -> tuple[NDArray[np.int32], int]:
    """How many edges are not above each value (n,), −1 for NaN; and the first infinite value, or −1."""
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    codes = np.empty(len(numbers), dtype=np.int32)
    return codes, int(_native.bin_codes(numbers, np.array(edges, dtype=np.float64), codes))


def units_of(values: NDArray[Any], weight: Array) -> tuple[float, float]:
    """Weighted mean and standard deviation of finite values (n,); the same in whatever order they come."""
    mean, deviation = _native.units_of(np.ascontiguousarray(values, dtype=np.float64), np.ascontiguousarray(weight))
    return mean, deviation


def partitions(count: Array, n_levels: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The merged bin (cells,) of each fine bin, for counts (cells, K); see `families.binned`."""
    group = np.empty(len(count), dtype=np.int64)
    _native.partitions(np.ascontiguousarray(count, dtype=np.float64), starts(n_levels), most, group)
    return group


def spread_counts(count: Array, n_levels: NDArray[np.int64], widths: Array) -> tuple[Array, Array]:
    """Counts (cells, K) spread over the neighbouring bins, and the share (cells,) that a row keeps in its own."""
    before = np.ascontiguousarray(count)
    spread, kept = before.copy(), np.ones(len(before))
    _native.spread_counts(before, starts(n_levels), widths, spread, kept)
    return spread, kept


def _check(row: int) -> None:
    if row >= 0:
        raise RowError(row)
