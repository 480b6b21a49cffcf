"""Text as a list of its different values: found once, it gives the levels and the codes of any range of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import MISSING, UNSEEN
from tallybayes.core.levels import Level, in_order


@dataclass(frozen=True)
class Listed:
    """Cells as a list of the different values and, for each row, the place of its value in the list."""

    values: Sequence[Level]  # in any order
    places: NDArray[np.int32]  # (n,); `MISSING` for a missing value
    some: bool = False  # whether these are some rows of a column, so that not all of the values need occur
    last: list[Any] = field(default_factory=list, compare=False)  # the levels of the last codes, and each value's

    def distinct(self) -> tuple[Level, ...]:
        """The values that occur, in order."""
        occurs = np.full(len(self.values) + 1, not self.some)
        if self.some:
            occurs[self.places] = True  # MISSING is -1, so the last entry is for missing values
        return in_order(value for value in compress(self.values, occurs.tolist()) if value is not None)

    def codes(self, levels: Sequence[Level]) -> NDArray[np.int32]:
        """The place of each row's value among the levels."""
        known, table = self.last or (None, None)
        if known is not levels or table is None:
            code = {level: p for p, level in enumerate(levels)}
            code.setdefault(None, MISSING)  # unless missing is a level
            table = np.array([code.get(value, UNSEEN) for value in (*self.values, None)], dtype=np.int32)
            self.last[:] = levels, table
        return table.take(self.places, mode="wrap")  # MISSING is -1, so the last entry is for missing values

    def rows(self, first: int, last: int) -> Listed:
        """A range of rows, without copying."""
        return Listed(self.values, self.places[first:last], True, self.last)

    def take(self, rows: NDArray[Any]) -> Listed | None:
        """Some rows, by number; None where there are so few that a list of their own would be shorter."""
        return Listed(self.values, self.places[rows], True) if len(self.values) <= len(rows) else None
