"""Samples of tables that come in parts: as many rows as are asked for, drawn by what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tallybayes.core.batch import Labels
from tallybayes.core.draws import LARGEST, Draw, Redraw, bound_for
from tallybayes.core.keys import Keys, smallest
from tallybayes.data.frames import Table
from tallybayes.data.tables import Ranges, TableBatch


def drawn(parts: Callable[[], Iterator[TableBatch]], most: int, ranges: Ranges, n_rows: int) -> TableBatch:
    """At most so many of the rows that come in parts, drawn by what they hold, in the order of their keys.

    ``parts`` reads the rows, so many in all: as a rule once, again where a content is very frequent.
    """
    bound = bound_for(most, n_rows)
    while True:
        first = Draw(bound, n_rows)
        found = _drawn_by(first, parts(), ranges)
        if len(often := first.overlooked()):
            found += _drawn_by(Redraw(bound, often), parts(), ranges)
        if bound == LARGEST or sum(len(keys) for keys, _ in found) >= most:
            return _smallest(found, most)
        bound = min(2 * bound, LARGEST)


def _drawn_by(draw: Draw | Redraw, parts: Iterator[TableBatch], ranges: Ranges) -> list[tuple[Keys, TableBatch]]:
    """The keys and rows that are drawn from each part."""
    found = []
    for part in parts:
        rows, keys = draw.drawn(part.keys(ranges))
        found.append((keys, part.take(rows) if len(rows) < part.n_rows else part))
    return found


def _smallest(found: list[tuple[Keys, TableBatch]], most: int) -> TableBatch:
    chosen = smallest(np.concatenate([keys for keys, _ in found]), most)
    labels = [part.labels for _, part in found if part.labels is not None]
    codes = np.concatenate([each.codes for each in labels if each.codes is not None])
    joined = Labels.hard(codes, np.concatenate([each.weight for each in labels]))
    return replace(found[0][1], table=Table.joined([part.table for _, part in found]), labels=joined).take(chosen)
