"""The two records that a plan is made with: what the user wants, and how the table is read so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.core.settings import EvidenceWeights
from tallybayes.families import Family
from tallybayes.learning.plan import Plan

MOST_PAIRS = 100  # where it is not told how many

Weights = Literal["auto", "learn", "words", "classes"] | None
Pairs = Literal["auto"] | int | Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Wishes:
    """What the user wants of a plan."""

    numeric: str = "auto"  # the family of numbers, or "auto"
    category: Family | None = None  # the family of categories; None for the pooled one that leave-one-out prefers
    told: Mapping[str, Family] | None = None  # families of single columns
    weights: Weights = "auto"
    pairs: Pairs = "auto"
    smoothed: frozenset[str] = frozenset()  # texts whose pseudocount is to be chosen

    @property
    def told_pairs(self) -> Sequence[tuple[str, str]] | None:
        """The pairs by name; None where they are to be found."""
        return None if isinstance(self.pairs, (str, int)) else self.pairs

    @property
    def most_pairs(self) -> int:
        """How many pairs there may be."""
        if isinstance(self.pairs, int):
            return self.pairs
        return MOST_PAIRS if self.told_pairs is None else len(self.told_pairs)


@dataclass(frozen=True)
class Reading:
    """How a table is read so far, and the model that has learned it so."""

    plan: Plan
    model: Model
    fine: Mapping[int, Array] = field(default_factory=dict)  # fine counts (B, K) of numbers, by position

    def noted(self, note: str) -> Reading:
        """The same, with a remark for people."""
        return replace(self, plan=replace(self.plan, notes=(*self.plan.notes, note)))

    def weighed(self, weights: EvidenceWeights, note: str) -> Reading:
        """The same with other weights, and a remark on them."""
        settings = replace(self.model.settings, weights=weights)
        changed = replace(self, plan=replace(self.plan, weights=weights), model=replace(self.model, settings=settings))
        return changed.noted(note)
