"""Samples of rows that come in parts: the rows with the smallest keys, in memory that hardly grows with the rows.

How many rows there are gives a bound that the keys of a sample do not exceed. The key of a row depends on the number of
its copy, so copies have to be counted; but a content of which none of the first copies may be drawn matters only if it
has more. Candidates are therefore counted exactly, and all others in one byte a row, which shows whether a content may
be as frequent as that. Only then are the rows read again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native
from tallybayes.core.keys import Keys, RowKeys, SeenKeys, copy_keys

LARGEST = int(np.iinfo(np.uint64).max)
COPIES = 8  # a content of which one of so many copies may be drawn is a candidate
ENOUGH = 4  # rows of a cell that are counted; contents are known by those that come after them
OFTEN = COPIES - ENOUGH + 1  # of which a content with more than `COPIES` rows has so many
HELD = 1 << 20  # rows of frequent contents that are held before they are added up


def bound_for(most: int, n_rows: int) -> int:
    """A bound that hardly ever fewer keys than asked for, or all, are below."""
    wanted = most + 8.0 * math.sqrt(most) + 16.0
    return LARGEST if wanted >= n_rows else int(LARGEST * (wanted / n_rows))


class Draw:
    """The rows whose keys are at most a bound, as the parts of a table come by."""

    def __init__(self, bound: int, n_rows: int) -> None:
        self.bound = bound
        self._seen = SeenKeys()  # the candidates
        self._cells = np.zeros(1 << max(n_rows - 1, 1).bit_length(), dtype=np.uint8)
        self._often: list[tuple[Keys, Keys]] = []
        self._held = 0
        self._counted = RowKeys(*np.zeros((2, 0), dtype=np.uint64)), np.zeros(0, dtype=np.int64)

    def drawn(self, keys: RowKeys) -> tuple[NDArray[np.intp], Keys]:
        """Which rows of a part are drawn, and their keys."""
        mark = np.empty(len(keys.exact), dtype=np.uint8)
        _native.sort_out(keys.unit_free, keys.exact, self.bound, COPIES, ENOUGH, self._cells, mark)
        self._keep(keys, np.flatnonzero(mark == 2))
        return below(keys, np.flatnonzero(mark == 1), self._seen, self.bound)

    def _keep(self, keys: RowKeys, rows: NDArray[np.intp]) -> None:
        self._often.append((keys.unit_free[rows], keys.exact[rows]))
        self._held += len(rows)
        if self._held > HELD:
            self._add_up()

    def _add_up(self) -> None:
        known, counts = self._counted
        free, exact = (np.concatenate(each) for each in zip(known, *self._often, strict=True))
        ones = np.ones(len(exact) - len(counts), dtype=np.int64)
        exact, first, place = np.unique(exact, return_index=True, return_inverse=True)
        total = np.bincount(place, np.concatenate((counts, ones)), len(exact)).astype(np.int64)
        self._counted, self._often, self._held = (RowKeys(free[first], exact), total), [], 0

    def overlooked(self) -> Keys:
        """The exact keys, in order, of contents so frequent that a later copy may be below the bound."""
        self._add_up()
        (free, exact), counts = self._counted
        rows = np.flatnonzero(counts >= OFTEN)
        mark = np.empty(len(rows), dtype=np.uint8)
        _native.reach(free[rows], self.bound, COPIES, (counts[rows] + ENOUGH).astype(np.uint64), mark)
        return exact[rows[mark > 0]]


class Redraw:
    """The rows of some contents whose keys are at most a bound, as the parts of a table come by again."""

    def __init__(self, bound: int, contents: Keys) -> None:
        self.bound, self._contents, self._seen = bound, contents, SeenKeys()

    def drawn(self, keys: RowKeys) -> tuple[NDArray[np.intp], Keys]:
        """Which rows of a part are drawn, and their keys."""
        places = np.minimum(np.searchsorted(self._contents, keys.exact), len(self._contents) - 1)
        return below(keys, np.flatnonzero(self._contents[places] == keys.exact), self._seen, self.bound)


def below(keys: RowKeys, rows: NDArray[Any], seen: SeenKeys, bound: int) -> tuple[NDArray[np.intp], Keys]:
    """Those of some rows, all rows of their contents, whose keys are at most a bound; and the keys."""
    some = RowKeys(keys.unit_free[rows], keys.exact[rows])
    found = copy_keys(some, seen.numbered(some.exact))
    drawn = np.flatnonzero(found <= np.uint64(bound))
    return rows[drawn], found[drawn]
