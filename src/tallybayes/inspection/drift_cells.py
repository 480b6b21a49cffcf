"""The cells in which two tallies are compared: levels, tenths of a number, or tenths of a curve where only moments are.

A number that is counted in fine bins is compared in tenths of the old rows. Where a family keeps moments of a number,
both sides are compared as mixtures of normal curves, one a class, and tested by their means (Welch 1947).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.listings import readable
from tallybayes.core.schema import Column, Level
from tallybayes.core.summaries import Counts, Moments
from tallybayes.core.tally import Tally
from tallybayes.errors import SchemaError
from tallybayes.families.zero_inflated import Spiked
from tallybayes.inspection.drift_tests import (
    chi_square,
    distance,
    evidence_change,
    merged_cells,
    same_evidence,
    stability_index,
)
from tallybayes.learning.bins import even_groups

TENTHS = 10
OTHERS = "others"


@dataclass(frozen=True)
class Compared:
    """One column on both sides."""

    name: str
    psi: float
    js: float
    chance: float
    known: tuple[float, float]  # weight of the rows with a value
    cells: tuple[str, ...]
    shares: tuple[tuple[float, ...], tuple[float, ...]]
    new: tuple[Level, ...] = ()
    vanished: tuple[Level, ...] = ()
    evidence: float | None = None
    evidence_chance: float | None = None
    is_approximate: bool = False


def compared_columns(old: Tally, new: Tally, labelled: bool) -> tuple[list[Compared], list[tuple[str, str]]]:
    """The columns that both sides have, and those that cannot be compared, with the reason."""
    theirs = dict(_columns(new))
    found: list[Compared] = []
    others: list[tuple[str, str]] = []
    for name, (column, summary, j) in _columns(old):
        if name not in theirs:
            others.append((name, "only before"))
            continue
        try:
            pair = _compared(column, summary, j, *theirs[name], old.schema.classes, new.schema.classes, labelled)
        except SchemaError:
            pair = None
        if pair is None:
            others.append((name, "counted differently; pass the rows, which are counted as before"))
        else:
            found.append(pair)
    known = {name for name, _ in _columns(old)}
    others += [(name, "only after") for name in theirs if name not in known]
    return found, others


Place = tuple[Column, Any, int]


def _columns(tally: Tally) -> Iterator[tuple[str, Place]]:
    """The columns that are values of rows, each with the summary of its block and its place in that."""
    for block in tally.blocks.values():
        for j, p in enumerate(block.columns):
            column = tally.schema.columns[p]
            if column.kind not in ("pair", "block"):
                yield column.name, (column, block.summary, j)


def _compared(
    column: Column,
    summary: Any,
    j: int,
    other: Column,
    theirs: Any,
    i: int,
    classes: Any,
    new_classes: Any,
    labelled: bool,
) -> Compared | None:
    """Two places of a column, if they are counted alike."""
    if type(summary) is not type(theirs) or column.kind != other.kind:
        return None
    if isinstance(summary, Counts) and summary.n_levels is not None:
        if (column.edges is None) != (other.edges is None):
            return None
        both = column.unite(other)
        mine = _cells(summary, j, column, both)
        return _of_cells(both, mine, _of_classes(_cells(theirs, i, other, both), classes, new_classes))
    if isinstance(summary, Moments | Spiked):
        first, last = _curve(summary, j), _curve(theirs, i)
        if not labelled:  # a mixture of the classes on one side would differ from a single curve on the other
            return _of_curves(column, first.pooled(), last.pooled(), False)
        alike = set(classes) == set(new_classes)
        last = last.ordered([new_classes.index(k) for k in classes]) if alike else last
        return _of_curves(column, first, last, alike)
    return None


def _cells(summary: Counts, j: int, column: Column, both: Column) -> Array:
    """The counts (C, K) of a column in the cells that both sides have."""
    assert summary.n_levels is not None
    end = int(summary.n_levels[: j + 1].sum())
    count = summary.count[:, end - int(summary.n_levels[j]) : end].T
    out = np.zeros((both.n_cells, count.shape[1]))
    np.add.at(out, column.cells_in(both), count)
    return out


def _of_classes(count: Array, classes: Sequence[Level], new_classes: Sequence[Level]) -> Array:
    """Counts of the new side in the order of the old classes, where these are the same; otherwise as they are."""
    if set(classes) != set(new_classes):
        return count
    return count[:, [list(new_classes).index(label) for label in classes]]


def _of_cells(column: Column, old: Array, new: Array) -> Compared:
    before, after = old.sum(axis=1), new.sum(axis=1)
    known = (float(before.sum()), float(after.sum()))
    levels: Sequence[Any] = column.levels or () if column.edges is None else ()
    is_text = column.tokens is not None
    fresh = () if is_text else tuple(v for v, a, b in zip(levels, before, after, strict=False) if a == 0 and b > 0)
    gone = () if is_text else tuple(v for v, a, b in zip(levels, before, after, strict=False) if a > 0 and b == 0)
    if not all(known):
        return Compared(column.name, 0.0, 0.0, 1.0, known, (), ((), ()))
    group, names = _grouping(column, before, after)
    size = int(group.max()) + 1
    mine, theirs = (_summed(table, group, size) for table in (old, new))
    first, last = mine.sum(axis=1), theirs.sum(axis=1)
    alike = mine.shape[1] == theirs.shape[1]
    return Compared(
        column.name,
        stability_index(first, last),
        distance(first, last),
        1.0 if is_text else chi_square(first, last),  # words of one text do not come one by one
        known,
        names,
        (tuple((first / first.sum()).tolist()), tuple((last / last.sum()).tolist())),
        fresh,
        gone,
        evidence_change(mine, theirs) if alike else None,
        same_evidence(mine, theirs) if alike and not is_text else None,
    )


def _summed(count: Array, group: NDArray[np.int64], size: int) -> Array:
    out = np.zeros((size, count.shape[1]))
    np.add.at(out, group, count)
    return out


def _grouping(column: Column, before: Array, after: Array) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The cells that are compared: tenths of a number, and levels, of which small ones are counted together."""
    if column.edges is not None:
        group = even_groups(before, TENTHS)
        starts = np.flatnonzero(np.diff(group)) + 1
        edges = [column.edges[place - 1] for place in starts.tolist()]
        ends = [-math.inf, *edges, math.inf]
        return group, tuple(_between(low, high) for low, high in pairwise(ends))
    group = merged_cells(before, after)
    names = {int(g): str(level) for g, level in zip(group.tolist(), column.levels or (), strict=True)}
    counts = np.bincount(group)
    return group, tuple(names[g] if counts[g] == 1 else OTHERS for g in range(len(counts)))


def _between(low: float, high: float, digits: int = 6) -> str:
    """The numbers from one to below another."""
    if math.isinf(low):
        return "any number" if math.isinf(high) else f"< {readable(high, digits)}"
    return f"≥ {readable(low, digits)}" if math.isinf(high) else f"{readable(low, digits)} – {readable(high, digits)}"


# ------------------------------------------------------------------------------------------ curves


@dataclass(frozen=True)
class _Curve:
    """A number as a mixture of normal curves, one a class, each with a spike at zero."""

    weight: Array  # (K,)
    mean: Array
    deviation: Array
    zero: Array  # (K,) weight of the rows that are zero

    @property
    def moments(self) -> tuple[float, float, float]:
        """Weight, mean and variance of all rows that are not zero."""
        total = float(self.weight.sum())
        mean = float(self.weight @ self.mean) / max(total, 1e-300)
        return total, mean, float(self.weight @ (self.deviation**2 + (self.mean - mean) ** 2)) / max(total, 1e-300)

    def below(self, edges: Array) -> Array:
        """The weight (n, K) of rows below each edge, by class."""
        from scipy.special import ndtr  # slow to import

        z = (edges[:, None] - self.mean) / np.maximum(self.deviation, 1e-9 * (1.0 + np.abs(self.mean)))
        return np.asarray(ndtr(z) * self.weight)

    def cells(self, edges: Array) -> Array:
        """The weight (n + 2, K) of the zeros, and of the rows between the edges."""
        rest = np.diff(self.below(edges), axis=0, prepend=0.0 * self.weight[None], append=self.weight[None])
        return np.concatenate((self.zero[None], rest))

    def pooled(self) -> _Curve:
        """All rows as one class."""
        weight, mean, variance = map(np.atleast_1d, self.moments)
        return _Curve(weight, mean, np.sqrt(variance), np.atleast_1d(self.zero.sum()))

    def ordered(self, classes: Sequence[int]) -> _Curve:
        """The same with its classes in another order."""
        places = list(classes)
        return _Curve(self.weight[places], self.mean[places], self.deviation[places], self.zero[places])


def _curve(summary: Moments | Spiked, j: int) -> _Curve:
    moments = summary.rest if isinstance(summary, Spiked) else summary
    weight, mean, m2 = moments.weight[:, j], moments.mean[:, j], moments.m2[:, j]
    zero = np.zeros(len(weight))
    if isinstance(summary, Spiked):
        zero = np.maximum((summary.other.weight - summary.other.count)[:, j], 0.0)
    return _Curve(weight, mean, np.sqrt(m2 / np.where(weight > 0, weight, 1.0)), zero)


def _of_curves(column: Column, old: _Curve, new: _Curve, alike: bool) -> Compared:
    (n, mean, variance), (m, other, spread) = old.moments, new.moments
    zeros = (float(old.zero.sum()), float(new.zero.sum()))
    known = (n + zeros[0], m + zeros[1])
    if not all(known):
        return Compared(column.name, 0.0, 0.0, 1.0, known, (), ((), ()), is_approximate=True)
    edges = _tenths(old) if n > 0 else np.zeros(0)
    tables = old.cells(edges), new.cells(edges)
    used = np.any([each.sum(axis=1) > 1e-9 * total for each, total in zip(tables, known, strict=True)], axis=0)
    mine, theirs = (each[used] for each in tables)
    first, last = mine.sum(axis=1), theirs.sum(axis=1)
    error = variance / max(n, 1.0) + spread / max(m, 1.0)
    chance = math.erfc(abs(mean - other) / math.sqrt(2.0 * error)) if error > 0 else float(mean == other)
    if any(zeros):
        chance = min(1.0, 2.0 * min(chance, chi_square(np.array([zeros[0], n]), np.array([zeros[1], m]))))
    names = tuple(_between(low, high, 4) for low, high in pairwise((-math.inf, *edges.tolist(), math.inf)))
    shown = tuple(name for name, is_used in zip(("zero", *names), used, strict=True) if is_used)
    shares = (tuple((first / first.sum()).tolist()), tuple((last / last.sum()).tolist()))
    # Weights of curves vary less than counts do, so that the test of the evidence errs to the side of no change.
    change, same = (evidence_change(mine, theirs), same_evidence(mine, theirs)) if alike else (None, None)
    psi, js = stability_index(first, last), distance(first, last)
    return Compared(column.name, psi, js, chance, known, shown, shares, (), (), change, same, True)


def _tenths(curve: _Curve) -> Array:
    """Where tenths of the rows of a curve end, by halving."""
    some = curve.weight > 0
    reach = 10.0 * curve.deviation + 1e-6
    low, high = float((curve.mean - reach)[some].min()), float((curve.mean + reach)[some].max())
    wanted = np.arange(1, TENTHS) / TENTHS * float(curve.weight.sum())
    left, right = np.full(TENTHS - 1, low), np.full(TENTHS - 1, high)
    for _ in range(60):
        middle = (left + right) / 2.0
        under = curve.below(middle).sum(axis=1) < wanted
        left, right = np.where(under, middle, left), np.where(under, right, middle)
    return np.unique((left + right) / 2.0)
