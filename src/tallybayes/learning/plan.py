"""How each column of a table is read: its family, pairs included, and the weights of the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from tallybayes.core.schema import Schema, block_of
from tallybayes.core.settings import EvidenceWeights, Settings
from tallybayes.core.tally import Tally
from tallybayes.families import Family, family_of


@dataclass(frozen=True)
class Plan:
    """How each column is read, pairs included, by name."""

    families: Mapping[str, Family]
    weights: EvidenceWeights | None = None
    notes: tuple[str, ...] = ()
    lost: Mapping[str, float] = field(default_factory=dict)  # how much leave-one-out log loss rises without a column

    def places(self, schema: Schema) -> dict[str, list[int]]:
        """Which columns each family reads, by position."""
        found: dict[str, list[int]] = {}
        for p, column in enumerate(schema.columns):
            if column.name in self.families:
                found.setdefault(block_of(column, self.families[column.name].name), []).append(p)
        return found

    def settings(self, schema: Schema, base: Settings) -> Settings:
        """How the tally of such columns is to be read."""
        places = self.places(schema).items()
        families = {name: joined([self.families[schema.columns[p].name] for p in at]) for name, at in places}
        return replace(base, families=families, weights=self.weights)

    @classmethod
    def of_tally(cls, tally: Tally) -> Plan:
        """The plan that a tally was counted by, as far as it tells: families with their usual settings."""
        names = ((tally.schema.columns[p].name, name) for name, block in tally.blocks.items() for p in block.columns)
        return cls({column: family_of(name).usual() for column, name in names})

    def same_reading(self, other: Plan) -> bool:
        """Whether tallies made by the two plans can be added."""
        return {n: f.name for n, f in self.families.items()} == {n: f.name for n, f in other.families.items()}


def mean_of(mine: Plan, theirs: Plan, my_rows: float, their_rows: float) -> Plan:
    """The plan of two tables together: weights in between, nearer to those of the larger table."""
    if mine.weights is None or theirs.weights is None or my_rows + their_rows == 0:
        return mine if theirs.weights is None else theirs
    share = their_rows / (my_rows + their_rows)

    def between(a: float, b: float) -> float:
        return a + share * (b - a)

    columns = {n: between(w, theirs.weights.columns.get(n, 1.0)) for n, w in mine.weights.columns.items()}
    return replace(mine, weights=EvidenceWeights(columns, between(mine.weights.prior, theirs.weights.prior)))


def joined(families: list[Any]) -> Family:
    """One family for a block from those of its columns: settings that may differ become a list."""
    first = families[0]
    lists = {
        f.name: tuple(float(np.ravel(getattr(each, f.name))[0]) for each in families)
        for f in fields(first)
        if f.name in first.by_column
    }
    return replace(first, **lists) if lists else first
