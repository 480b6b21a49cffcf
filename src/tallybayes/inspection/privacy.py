"""Tallies that may be published: with noise on every count and sum, and without small counts.

Differential privacy (Dwork and Roth 2014): whatever is done with the released tally, it hardly depends on whether any
one row was counted. Neighbouring tables differ by one row more or less. Every class weight, table of levels, and sum of
a column is a query that one row changes by no more than its sensitivity; each is released with noise of that scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.schema import Column
from tallybayes.core.summaries import Counts, Moments
from tallybayes.core.tally import Block, Tally
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.families import family_of
from tallybayes.families.zero_inflated import Spiked

Bounds = Mapping[str, tuple[float, float]]
Noise = Callable[[Array, float], Array]  # values and their sensitivity → the values with noise

WARNING = """\
What this protects: one row. Whoever sees the released tally, and knows every other row, can hardly tell whether that
row was counted. A person with several rows is protected that much less.
What it does not protect: the names of columns, classes and levels, which are released as they are unless min_cell
removes a level; what is true of the population, such as that smokers fall ill; the tally that was not released, and
models that were made from it. Bounds and levels must be known beforehand, not read off the data. Releases add up: two
with epsilon 1 are one with epsilon 2. Noise is drawn in floating point, which an attacker with many exact releases
might exploit."""


@dataclass(frozen=True)
class Release:
    """A private tally and what it cost.

    Parameters
    ----------
    tally : Tally
    epsilon, delta : float
        The privacy that all its figures together have.
    n_queries : int
        Into how many equal parts the budget was split.
    mechanism : {"Laplace", "Gaussian", "none"}
    """

    tally: Tally
    epsilon: float
    delta: float
    n_queries: int
    mechanism: str

    def __str__(self) -> str:
        noise = f"{self.mechanism} noise on {self.n_queries:,} queries"
        return f"{self.tally}\nepsilon {self.epsilon:g}, delta {self.delta:g}, {noise}\n\n{WARNING}"


def release(
    tally: Tally,
    epsilon: float | None,
    delta: float = 0.0,
    bounds: Bounds | None = None,
    min_cell: float = 0.0,
    most_weight: float = 1.0,
    logs: Collection[str] = (),
    seed: int | None = None,
) -> Release:
    """Make a tally that may be published.

    Parameters
    ----------
    tally : Tally
        A block of numbers that vary together is left out: for the products of columns no noise is implemented.
    epsilon : float or None
        The privacy loss of the whole release; 1 is usual, 10 is little protection. None adds no noise and protects
        nothing but what `min_cell` removes.
    delta : float, default=0.0
        With 0 the noise is Laplace's. Otherwise it is Gaussian, which is less for many columns, and the privacy may
        fail with this probability: far less than one over the number of rows.
    bounds : mapping of column to (low, high)
        Between which all values of each number lie. They must be known beforehand, and rows be clipped to them before
        they are counted: a tally cannot check it.
    min_cell : float, default=0.0
        Levels whose weight over all classes, noise included, is below this are removed with their names, and so are
        counts of a class below it.
    most_weight : float, default=1.0
        The largest weight that a row may have had.
    logs : collection of str, optional
        Zero-inflated columns whose other numbers were counted by their logarithm, as ``rest="lognormal"`` does; their
        bounds are still those of the numbers.
    seed : int, optional
        For tests only: noise that can be drawn again protects nobody.

    Returns
    -------
    Release

    Examples
    --------
    >>> from tallybayes import tally
    >>> rows = {"age": [31.0, 45.0, 62.0, 38.0], "smokes": [True, False, True, False], "ill": ["no", "no", "yes", "no"]}
    >>> release(tally(rows, target="ill"), 1.0, bounds={"age": (0, 120)}).n_queries
    5
    """
    if tally.is_empty:
        raise SettingError("an empty tally has nothing to release")
    _check(epsilon, delta, min_cell, most_weight)
    tally = tally.without("block")
    plan = Plan(tally, dict(bounds or {}), frozenset(logs))
    n_queries = plan.n_queries()
    noise, mechanism = _noise(epsilon, delta, n_queries, most_weight, np.random.default_rng(seed))
    found = plan.noised(noise if epsilon is not None else lambda values, _: values)
    if min_cell > 0:
        found = _suppressed(found, min_cell)
    found = replace(found, schema=found.schema.restated())  # reasons contain exact numbers of rows and ranges
    return Release(found, math.inf if epsilon is None else epsilon, delta, n_queries, mechanism)


def private(tally: Tally, epsilon: float | None, delta: float = 0.0, **options: Any) -> Tally:
    """Return a tally that may be shown: with noise of differential privacy on everything that was counted.

    The parameters are those of `release`, which also returns what it cost; its text describes what it does and does
    not protect.

    Examples
    --------
    >>> from tallybayes import private, tally
    >>> ages = tally({"age": [31.0, 45.0, 62.0], "ill": ["no", "no", "yes"]}, "ill")
    >>> private(ages, None, bounds={"age": (0, 120)}, min_cell=2).class_weight
    array([2., 1.])
    """
    return release(tally, epsilon, delta, **options).tally


def _check(epsilon: float | None, delta: float, min_cell: float, most_weight: float) -> None:
    if epsilon is not None and not (math.isfinite(epsilon) and epsilon > 0):
        raise SettingError(f"epsilon must be a number above 0, not {epsilon!r}; around 1 is usual")
    if not 0 <= delta < 0.1:
        raise SettingError(f"delta must be far below one over the number of rows, such as 1e-9, not {delta!r}")
    if not (math.isfinite(min_cell) and min_cell >= 0):
        raise SettingError(f"min_cell must be at least 0, not {min_cell!r}")
    if not (math.isfinite(most_weight) and most_weight > 0):
        raise SettingError(f"most_weight must be a number above 0, not {most_weight!r}")


def _noise(
    epsilon: float | None, delta: float, n_queries: int, most_weight: float, rng: np.random.Generator
) -> tuple[Noise, str]:
    """Noise for each query, so that all of them together keep the budget."""
    if epsilon is None:
        return (lambda values, _: values), "none"
    if delta == 0:  # the losses of the queries add up
        share = epsilon / n_queries
        return (lambda values, s: values + rng.laplace(0.0, s * most_weight / share, values.shape)), "Laplace"
    # Zero-concentrated privacy adds up, too, and turns into (epsilon, delta) at the end (Bun and Steinke 2016).
    loss = math.log(1.0 / delta)
    rho = (math.sqrt(loss + epsilon) - math.sqrt(loss)) ** 2
    scale = math.sqrt(n_queries / (2.0 * rho)) * most_weight
    return (lambda values, s: values + rng.normal(0.0, s * scale, values.shape)), "Gaussian"


@dataclass(frozen=True)
class Plan:
    """The queries of a release: how many each block needs, and their values with noise."""

    tally: Tally
    bounds: dict[str, tuple[float, float]]
    logs: frozenset[str]

    def n_queries(self) -> int:
        """One for the classes, one for each table of levels, two or three for each number."""
        return 1 + sum(self._costs(name, block) * len(block.columns) for name, block in self.tally.blocks.items())

    def _costs(self, name: str, block: Block) -> int:
        summary = block.summary
        if isinstance(summary, Moments):
            return 3
        if isinstance(summary, Spiked):
            return 5
        if isinstance(summary, Counts):
            return 1 if summary.n_levels is not None or family_of(name).is_document else 2
        raise NotAvailableError(f"a tally of {name} has products of columns, for which no noise is implemented")

    def noised(self, noise: Noise) -> Tally:
        """The tally with noise on everything."""
        class_weight = _positive(noise(self.tally.class_weight, 1.0))
        blocks = {
            name: Block(block.columns, self._summary(name, block, class_weight, noise))
            for name, block in self.tally.blocks.items()
        }
        return replace(self.tally, class_weight=class_weight, blocks=blocks)

    def _summary(self, name: str, block: Block, class_weight: Array, noise: Noise) -> Any:
        summary, columns = block.summary, [self.tally.schema.columns[c] for c in block.columns]
        if isinstance(summary, Counts) and summary.n_levels is not None:
            count = _positive(noise(summary.count, 1.0))
            return replace(summary, count=count, weight=_by_column(count, summary.n_levels))
        ranges = np.array([self._range(column, name) for column in columns]).reshape(-1, 2)
        if isinstance(summary, Moments):
            return _moments(summary, ranges, noise)
        if isinstance(summary, Spiked):
            other, weight = (_positive(noise(a, 1.0)) for a in (summary.other.count, summary.other.weight))
            return Spiked(Counts(np.minimum(other, weight), weight), _moments(summary.rest, ranges, noise))
        assert isinstance(summary, Counts)
        high = np.maximum(np.abs(ranges).max(axis=1), 0.0)
        count = _positive(np.stack([noise(c, h) for c, h in zip(summary.count.T, high, strict=True)], axis=1))
        if family_of(name).is_document:  # its columns have the weight of the class
            return replace(summary, count=count, weight=class_weight[:, None])
        return replace(summary, count=count, weight=_positive(noise(summary.weight, 1.0)))

    def _range(self, column: Column, block: str) -> tuple[float, float]:
        if column.name not in self.bounds:
            raise SettingError(
                f"column {column.name!r} needs bounds that are known beforehand: "
                f"bounds={{{column.name!r}: (low, high)}}"
            )
        low, high = map(float, self.bounds[column.name])
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise SettingError(f"the bounds of column {column.name!r} must be two rising numbers, not {(low, high)}")
        reads_logs = family_of(block)().of_logs  # by its usual settings: a tally has no others
        if reads_logs or column.name in self.logs:
            if low <= 0:
                raise SettingError(f"column {column.name!r} is read by its logarithm: its lower bound must be above 0")
            return math.log(low), math.log(high)
        return low, high


def _moments(summary: Moments, ranges: Array, noise: Noise) -> Moments:
    """Noise on the weight and on the sums about the middle of the bounds; impossible values are clipped."""
    middle, half = ranges.mean(axis=1), np.ptp(ranges, axis=1) / 2.0
    shift = np.where(summary.weight > 0, summary.mean - middle, 0.0)
    outside = (np.abs(shift) > half * (1 + 1e-9)) | (summary.m2 > summary.weight * half**2 * (1 + 1e-9))
    if np.any(outside):
        column = int(np.argwhere(outside)[0, 1])
        raise SettingError(
            f"the values of a column lie outside its bounds {tuple(ranges[column].tolist())}: clip the rows to the "
            "bounds before they are counted"
        )
    first, second = summary.weight * shift, summary.m2 + summary.weight * shift**2
    weight = _positive(noise(summary.weight, 1.0))
    first = np.stack([noise(s, h) for s, h in zip(first.T, half, strict=True)], axis=1)
    second = np.stack([noise(s, h**2) for s, h in zip(second.T, half, strict=True)], axis=1)
    some = weight >= 1.0  # of less than a row nothing can be estimated
    mean = np.clip(np.divide(first, weight, out=np.zeros_like(first), where=some), -half, half)
    m2 = np.clip(second - weight * mean**2, 0.0, weight * half**2)
    return Moments(np.where(some, weight, 0.0), np.where(some, mean + middle, 0.0), np.where(some, m2, 0.0))


def _positive(values: Array) -> Array:
    return np.maximum(values, 0.0)


def _by_column(count: Array, n_levels: NDArray[np.int64]) -> Array:
    """Weight (K, d) of the columns from that of their cells."""
    ends = np.cumsum(n_levels)
    return np.stack([count[:, end - n : end].sum(axis=1) for end, n in zip(ends, n_levels, strict=True)], axis=1)


def _suppressed(tally: Tally, min_cell: float) -> Tally:
    """The tally without rare levels, and without the small counts of the others."""
    columns, blocks = list(tally.schema.columns), dict(tally.blocks)
    for name, block in tally.blocks.items():
        summary = block.summary
        if not isinstance(summary, Counts) or summary.n_levels is None:
            continue
        ends, parts, n_levels, n_right = np.cumsum(summary.n_levels), [], [], []
        for j, place in enumerate(block.columns):
            cells = summary.count[:, ends[j] - summary.n_levels[j] : ends[j]]
            kept, columns[place] = _without_rare(columns[place], cells, min_cell)
            parts.append(np.where(kept < min_cell, 0.0, kept))
            n_levels.append(kept.shape[1])
            of = columns[place].parts
            n_right += [] if of is None else [of[1].n_cells]
        count, widths = np.concatenate(parts, axis=1), np.array(n_levels, dtype=np.int64)
        right = np.array(n_right, dtype=np.int64) if n_right else None
        blocks[name] = Block(block.columns, Counts(count, _by_column(count, widths), widths, right))
    return Tally(replace(tally.schema, columns=tuple(columns)), tally.class_weight, blocks)


def _without_rare(column: Column, cells: Array, min_cell: float) -> tuple[Array, Column]:
    if column.parts is not None:
        grid = cells.reshape(len(cells), column.parts[0].n_cells, -1)
        left, a = _kept(column.parts[0], grid.sum(axis=(0, 2)), min_cell)
        right, b = _kept(column.parts[1], grid.sum(axis=(0, 1)), min_cell)
        return grid[:, left][:, :, right].reshape(len(cells), -1), replace(column, parts=(a, b))
    keep, smaller = _kept(column, cells.sum(axis=0), min_cell)
    return cells[:, keep], smaller


def _kept(column: Column, weight: Array, min_cell: float) -> tuple[NDArray[np.intp], Column]:
    """Which levels are common enough, and the column with no others; bins have no names to hide."""
    if column.levels is None:
        return np.arange(len(weight)), column
    keep = np.flatnonzero(weight >= min_cell)
    return keep, replace(column, levels=tuple(column.levels[i] for i in keep.tolist()))
