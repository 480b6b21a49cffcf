"""The lineage of a model: the states that it has been in, so that rows which two models share are not counted twice."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

import numpy as np

from tallybayes.core.tally import Tally
from tallybayes.errors import SettingError

MOST = 256  # states that are remembered
SHARED = (
    "the two models learned on from one base, so its rows would count twice; merge them with that base (merge --base "
    "BASE; in Python first + second.since(base)), or let each learn from a blank copy (tallybayes blank; base.blank())"
)
NO_BASE = "the model did not learn on from this base"


@dataclass(frozen=True)
class Lineage:
    """Which states a model has been in; copies have theirs in common.

    Parameters
    ----------
    roots : tuple of str
        The first state of every part that was merged into the model. Two models share rows if they share a root.
    states : tuple of str
        The latest states, that of today last.
    """

    roots: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    @classmethod
    def of(cls, tally: Tally, known: Lineage | None = None) -> Lineage:
        """The lineage of a tally; one that was counted at once is its own root, and no rows have none."""
        if not tally.class_weight.any():
            return cls()
        if known is not None and known.states:
            return known
        state = _digest(tally)
        return cls((state,), (state,))

    def changed(self) -> Lineage:
        """The lineage after a change of the rows."""
        state = secrets.token_hex(8)  # two copies that learn the same row are in different states
        return Lineage(self.roots or (state,), (*self.states, state)[-MOST:])

    def joined(self, other: Lineage) -> Lineage:
        """The lineage of the rows of both.

        Raises
        ------
        SettingError
            If they share a base. A model may be added to itself: then its rows are to count twice.
        """
        if not self.roots or not other.roots:
            return self if self.roots else other
        if {*self.roots, *self.states} & {*other.roots, *other.states} and self.states[-1] != other.states[-1]:
            raise SettingError(SHARED)
        states = (*(state for state in self.states if state not in other.states), *other.states)
        return Lineage(tuple(dict.fromkeys((*self.roots, *other.roots))), states).changed()

    def since(self, base: Lineage) -> Lineage:
        """The lineage of the rows that were learned after a state.

        Raises
        ------
        SettingError
            If this was never a state of the model.
        """
        if not set(base.roots) <= set(self.roots):
            raise SettingError(f"{NO_BASE}: it has other rows")
        if not base.states:
            return self
        if base.states[-1] not in self.states and len(self.states) < MOST:
            raise SettingError(f"{NO_BASE}: it has never been in the state of that")
        first = self.states.index(base.states[-1]) + 1 if base.states[-1] in self.states else 0
        return Lineage(self.states[first : first + 1], self.states[first:]) if self.states[first:] else Lineage()


def _digest(tally: Tally) -> str:
    found = hashlib.sha256(repr(tally.schema.classes).encode())
    arrays = [tally.class_weight, *(a for b in tally.blocks.values() for a in b.summary.arrays().values())]
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]
