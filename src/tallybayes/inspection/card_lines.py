"""The lines of a scorecard."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.listings import readable
from tallybayes.core.schema import Column, Level

HALF = 0.5  # rows that a cell without any counts as, for its weight of evidence
MISSING, OTHER = "(missing)", "(other)"


@dataclass(frozen=True)
class Condition:
    """Which values of a column a line is for: levels, numbers from ``low`` to below ``high``, or none of them."""

    column: str
    levels: tuple[Level, ...] | None = None
    low: float = -math.inf
    high: float = math.inf
    special: str = ""  # missing or other, where it is neither levels nor numbers

    def __str__(self) -> str:
        if self.special:
            return self.special
        if self.levels is not None:
            return ", ".join(MISSING if level is None else str(level) for level in self.levels)
        if math.isinf(self.low):
            return "any number" if math.isinf(self.high) else f"< {readable(self.high)}"
        return f"≥ {readable(self.low)}" if math.isinf(self.high) else f"{readable(self.low)} – {readable(self.high)}"


@dataclass(frozen=True)
class Line:
    """A line of a card: the values, the rows of each class that have them, and the points."""

    conditions: tuple[Condition, ...]  # one, or two of a pair
    counts: tuple[float, ...]  # weight of the rows by class
    woe: float  # weight of evidence of the label, as counted
    iv: float  # its part in the information value
    points: float

    def __str__(self) -> str:
        return " & ".join(map(str, self.conditions))


@dataclass(frozen=True)
class CardColumn:
    """A column of a card with its lines."""

    name: str
    lines: tuple[Line, ...]

    @property
    def iv(self) -> float:
        """Information value."""
        return math.fsum(line.iv for line in self.lines)

    def as_dict(self, classes: Sequence[Level]) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        names = [str(label) for label in classes]
        lines = [
            {
                "value": str(line),
                "counts": dict(zip(names, line.counts, strict=True)),
                "woe": line.woe,
                "iv": line.iv,
                "points": line.points,
            }
            for line in self.lines
        ]
        return {"column": self.name, "iv": self.iv, "lines": lines}


def lines_of(column: Column, counts: Array, points: Array, total: Array, k: int, rounding: bool) -> tuple[Line, ...]:
    """The lines of a column from its counts (C, K) and points (C + 1,), the last of them those of unseen values."""
    found = list(_grouped(column, counts, points[:-1]))
    missing = total - counts.sum(axis=0)
    has_level = column.levels is not None and column.edges is None and None in column.levels
    if not has_level and missing.sum() > 1e-9 * max(float(total.sum()), 1e-300):
        found.append(((_special(column, MISSING),), np.maximum(missing, 0.0), 0.0))
    if points[-1] and column.parts is None:
        found.append(((_special(column, OTHER),), np.zeros(len(total)), float(points[-1])))
    good, bad = float(total[k]), float(total.sum() - total[k])
    lines = []
    for conditions, of_class, given in found:
        woe, iv = evidence(float(of_class[k]), float(of_class.sum() - of_class[k]), good, bad)
        whole = int(given) if rounding else float(given)
        lines.append(Line(conditions, tuple(of_class.tolist()), woe, iv, whole))
    return tuple(lines)


def evidence(good: float, bad: float, all_good: float, all_bad: float) -> tuple[float, float]:
    """Weight of evidence and its part in the information value; where one side has no row it counts half a one.

    Examples
    --------
    >>> [round(x, 4) for x in evidence(3.0, 4.0, 9.0, 5.0)]
    [-0.8755, 0.4086]
    """
    if good == bad == 0.0 or not (all_good > 0 and all_bad > 0):
        return 0.0, 0.0
    share, other = good / all_good, bad / all_bad
    if good == 0.0 or bad == 0.0:
        share, other = (good + HALF) / all_good, (bad + HALF) / all_bad
    woe = math.log(share / other)
    return woe, (share - other) * woe


def _special(column: Column, what: str) -> Condition:
    return Condition(column.name, special=what)


Part = tuple[tuple[Condition, ...], Array, float]  # conditions, counts (K,), points


def _grouped(column: Column, counts: Array, points: Array) -> Iterator[Part]:
    """Cells of the same points are one line: neighbouring bins, and any levels; a pair has each combination."""
    if column.parts is not None:
        sides = [list(_cells(part)) for part in column.parts]
        for i, (a, b) in enumerate((a, b) for a in sides[0] for b in sides[1]):
            if counts[i].any() or points[i]:
                yield (a, b), counts[i], float(points[i])
        return
    cells = list(_cells(column))
    if column.edges is not None:
        starts = np.flatnonzero(np.concatenate(([True], np.diff(points) != 0.0))).tolist()
        for first, last in zip(starts, [*starts[1:], len(cells)], strict=True):
            bin_ = replace(cells[first], high=cells[last - 1].high)
            yield (bin_,), counts[first:last].sum(axis=0), float(points[first])
        return
    alike: dict[float, list[int]] = {}
    for i, value in enumerate(points.tolist()):
        alike.setdefault(value, []).append(i)
    for value, places in alike.items():
        levels = tuple(level for i in places for level in cells[i].levels or ())
        yield (Condition(column.name, levels),), counts[places].sum(axis=0), value


def _cells(column: Column) -> Iterator[Condition]:
    if column.edges is not None:
        ends = [-math.inf, *column.edges, math.inf]
        for low, high in pairwise(ends):
            yield Condition(column.name, low=low, high=high)
    else:
        for level in column.levels or ():
            yield Condition(column.name, (level,))
