"""A source whose rows count as often as their classes are to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tallybayes.core.batch import Rows, in_key_order
from tallybayes.core.class_weights import weighted_labels
from tallybayes.core.family import Family
from tallybayes.core.schema import Level, Schema
from tallybayes.core.tally import Tally
from tallybayes.data.overrides import Overrides
from tallybayes.data.sources import Facts, Places, Source, counting


@dataclass(frozen=True)
class WeightedSource:
    """The rows of another source, those of each class counted so many times."""

    source: Source
    factors: Mapping[Level, float]

    @property
    def facts(self) -> Facts:
        return self.source.facts

    def profile(self, overrides: Overrides, stream: bool = False) -> Schema:
        return self.source.profile(overrides, stream)

    def grown(self, schema: Schema) -> Schema:
        return self.source.grown(schema)

    def sample(self, schema: Schema, places: Places, most: int) -> Rows:
        # In the order that rows of such weights have, so that it is the same as giving every row its weight.
        return in_key_order(counting(self._weighted(self.source.sample(schema, places, most))), most)

    def count(self, schema: Schema, places: Places, families: Mapping[str, Family]) -> Tally:
        return self.source.count(schema, places, families).weighted(self.factors)

    def all_rows(self, schema: Schema, places: Places) -> Rows:
        return self._weighted(self.source.all_rows(schema, places))

    def _weighted(self, rows: Any) -> Any:
        return replace(rows, labels=weighted_labels(rows.labels, self.factors, rows.schema))
