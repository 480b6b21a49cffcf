"""Which distribution a column has: the one whose leave-one-out evidence predicts the classes best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Batch, Codes, columns_of
from tallybayes.core.family import Numbers
from tallybayes.core.summaries import Moments
from tallybayes.core.tally import Block, Tally
from tallybayes.core.trials import Trial
from tallybayes.families import FAMILIES, Family
from tallybayes.families.binned import selected

SPIKE = 1e-4  # of a column's variance; a class with less is a spike


@dataclass(frozen=True)
class Choice:
    """The family of one column, and how well it predicts the classes alone."""

    family: Family
    loss: float  # nats a row, leave-one-out
    runner_up: str = ""
    runner_up_loss: float = np.inf

    @property
    def reason(self) -> str:
        """For people."""
        if not self.runner_up:
            return self.family.described()
        return f"{self.family.described()} (log loss alone {self.loss:.4f}; {self.runner_up} {self.runner_up_loss:.4f})"


def candidates(numbers: Numbers, families: Mapping[str, Family]) -> list[str]:
    """The families that suit a numeric column, by name."""
    return [name for name, family in families.items() if family.suits(numbers)]


def counted_as(family: Family | type[Family]) -> str:
    """The block that a family's columns are counted in at first: families of bins share their fine counts."""
    return next(each.name for each in FAMILIES.values() if each.in_bins) if family.in_bins else family.name


def choose(
    rows: Batch, tally: Tally, prior: Array, names: Mapping[int, list[str]], families: Mapping[str, Family]
) -> dict[int, Choice]:
    """Return the best of some families, by name, for each column of the schema; of equal ones the first."""
    assert rows.labels is not None
    tried: dict[int, list[tuple[float, Family]]] = {p: [] for p in names}
    for name, family in families.items():
        columns, counted = [p for p in names if name in names[p]], counted_as(family)
        if not columns:
            continue
        places = places_in(tally.blocks[counted], columns)
        cells = None if family.is_coded else _cells(rows, columns)
        trial = Trial(columns_of(rows.blocks[counted].x, places.tolist()), rows.labels, prior, cells)
        summary = columns_of_summary(tally.blocks[counted].summary, family, places)
        found = zip(columns, *family.tuned(summary, trial), _is_spiky(summary, len(columns)), strict=True)
        for p, tuned, loss, spiky in found:
            tried[p].append((float("inf") if spiky and len(names[p]) > 1 else float(loss), tuned))
    return {p: _best(sorted(each, key=lambda one: one[0])) for p, each in tried.items()}


def _is_spiky(summary: Any, n_columns: int) -> NDArray[np.bool_]:
    """Columns (d,) with a class whose numbers hardly differ: a curve that narrow takes any other number for impossible.

    Leaving one row out does not show it, since the others of the class are as alike.
    """
    moments = getattr(summary, "rest", summary)
    if not isinstance(moments, Moments):
        return np.zeros(n_columns, dtype=bool)
    weight, total = moments.weight, moments.weight.sum(axis=0)
    spread = np.divide(moments.m2, weight, out=np.zeros_like(moments.m2), where=weight > 0)
    centre = (weight * moments.mean).sum(axis=0) / np.maximum(total, 1e-300)
    every = (moments.m2 + weight * (moments.mean - centre) ** 2).sum(axis=0) / np.maximum(total, 1e-300)
    return np.asarray(((weight > 0) & (spread < SPIKE * every)).any(axis=0))


def columns_of_summary(summary: Any, family: Family | type[Family], places: NDArray[np.intp]) -> Any:
    """What was counted of some columns of a family's block."""
    return selected(summary, places) if family.in_bins else summary.select(places)


def places_in(block: Block, columns: Sequence[int]) -> NDArray[np.intp]:
    """Where some columns of the schema are in a block."""
    order = {p: place for place, p in enumerate(block.columns)}
    return np.array([order[p] for p in columns], dtype=np.intp)


def _cells(rows: Batch, columns: Sequence[int]) -> NDArray[np.int32] | None:
    """The fine bins (n, d) of some columns, all in one bin where a column has none."""
    name = next((name for name in rows.blocks if name in FAMILIES and FAMILIES[name].in_bins), None)
    if name is None:
        return None
    fine, order = rows.blocks[name].x, {p: place for place, p in enumerate(rows.blocks[name].columns)}
    assert isinstance(fine, Codes)
    cells = np.zeros((fine.shape[0], len(columns)), dtype=np.int32, order="F")
    for place, p in enumerate(columns):
        if p in order:
            cells[:, place] = fine.matrix[:, order[p]]
    return cells


def _best(tried: Sequence[tuple[float, Family]]) -> Choice:
    """The first of some families in the order of their losses, and the first of another kind."""
    loss, best = tried[0]
    others = [(other, family) for other, family in tried[1:] if family.name != best.name and np.isfinite(other)]
    if not others:
        return Choice(best, loss)
    return Choice(best, loss, others[0][1].described(), others[0][0])
