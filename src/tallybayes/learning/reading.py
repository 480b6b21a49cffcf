"""How a table is read so far: the record that learning passes on from one choice to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.family import Family
from tallybayes.core.model import Model
from tallybayes.core.schema import Schema, block_of
from tallybayes.core.settings import EvidenceWeights, Settings


class Fine(NamedTuple):
    """The fine bins of a number."""

    weight: Array  # (B,) of the rows
    group: NDArray[np.int64]  # (B,) the merged bin of each


@dataclass(frozen=True)
class Reading:
    """The family of each column, pairs included, and the model that has learned the sample so."""

    families: Mapping[str, Family]  # by column
    model: Model
    fine: Mapping[int, Fine] = field(default_factory=dict)  # of numbers, by position

    def noted(self, note: str) -> Reading:
        """The same, with a note for people."""
        return replace(self, model=replace(self.model, provenance=self.model.provenance.noted(note)))

    def weighted(self, weights: EvidenceWeights, note: str) -> Reading:
        """The same with other weights, and a note on them."""
        settings = replace(self.model.settings, weights=weights)
        return replace(self, model=replace(self.model, settings=settings)).noted(note)


def places_of(families: Mapping[str, Family], schema: Schema) -> dict[str, list[int]]:
    """Which columns each block reads, by position, from the family of each column."""
    found: dict[str, list[int]] = {}
    for p, column in enumerate(schema.columns):
        if column.name in families:
            found.setdefault(block_of(column, families[column.name].name), []).append(p)
    return found


def settings_of(families: Mapping[str, Family], schema: Schema, base: Settings) -> Settings:
    """How the tally of such columns is to be read."""
    places = places_of(families, schema).items()
    return replace(
        base, families={block: joined([families[schema.columns[p].name] for p in at]) for block, at in places}
    )


def joined(families: list[Any]) -> Family:
    """One family for a block from those of its columns: settings that may differ become a list."""
    first = families[0]
    lists = {
        f.name: tuple(float(np.ravel(getattr(each, f.name))[0]) for each in families)
        for f in fields(first)
        if f.name in first.by_column
    }
    return replace(first, **lists) if lists else first
