"""Receipts of unlearning: what was removed, in numbers that can be checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.core.batch import Array, Labels
from tallybayes.core.notebook import grid, panel
from tallybayes.core.schema import Level, amount
from tallybayes.core.tally import Tally


@dataclass(frozen=True)
class Receipt:
    """What unlearning removed, class by class."""

    classes: tuple[Level, ...]
    rows: tuple[int, ...]  # rows removed of each class
    weight: tuple[float, ...]  # their weight
    before: tuple[float, ...]  # weight of the class before and after
    after: tuple[float, ...]

    @classmethod
    def of(cls, labels: Labels, before: Tally, after: Tally) -> Receipt:
        """The receipt for rows with these labels."""
        assert labels.codes is not None
        n_classes = len(before.schema.classes)
        return cls(
            before.schema.classes,
            tuple(np.bincount(labels.codes, minlength=n_classes).tolist()),
            _listed(labels.class_weight(n_classes)),
            _listed(before.class_weight),
            _left(before, after),
        )

    @classmethod
    def between(cls, before: Tally, after: Tally, rows: Mapping[Level, int]) -> Receipt:
        """The receipt for so many rows of each class; their weights are the difference of the tallies."""
        return cls(
            before.schema.classes,
            tuple(rows.get(label, 0) for label in before.schema.classes),
            tuple(b - a for b, a in zip(_listed(before.class_weight), _left(before, after), strict=True)),
            _listed(before.class_weight),
            _left(before, after),
        )

    def __str__(self) -> str:
        rows = [*zip(map(str, self.classes), self.rows, self.weight, self.before, self.after, strict=True)]
        rows.append(("all", sum(self.rows), sum(self.weight), sum(self.before), sum(self.after)))
        lines = [f"{'class':20} {'rows':>10} {'weight':>14} {'before':>14} {'after':>14}"]
        lines += [f"{name:20} {n:10,} {amount(w):>14} {amount(b):>14} {amount(a):>14}" for name, n, w, b, a in rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [*zip(map(str, self.classes), self.rows, self.weight, self.before, self.after, strict=True)]
        lines = [(name, f"{n:,}", amount(w), amount(b), amount(a)) for name, n, w, b, a in rows if n]
        title = f"{sum(self.rows):,} rows unlearned, {amount(sum(self.after))} left"
        return panel(title, grid(("class", "rows", "weight", "before", "after"), lines))

    def as_dict(self) -> dict[str, Any]:
        """The receipt as plain values, for JSON."""
        return {
            str(label): {"rows": n, "weight": w, "before": b, "after": a}
            for label, n, w, b, a in zip(self.classes, self.rows, self.weight, self.before, self.after, strict=True)
        }


def _left(before: Tally, after: Tally) -> tuple[float, ...]:
    """The weight of each class afterwards; zero for a class whose last row was removed."""
    left = dict(zip(after.schema.classes, _listed(after.class_weight), strict=True))
    return tuple(left.get(label, 0.0) for label in before.schema.classes)


def _listed(values: Array) -> tuple[float, ...]:
    return tuple(values.tolist())
