"""Sums over periods, so that a window is the sum of few records instead of many batches.

A span of 8, 64 or 512 periods has a record for each page of 64 keys, with the cells of every key, and one for all keys
of the page; spans and single periods have one for all keys. In a span of 8 the cells of a key are kept by period, so
that its periods can be weighted or left out. Records are made of the contents in groups, some time after these were
added, and what is not in them yet is read from the contents themselves. They can be made again at any time.
Nothing is ever subtracted: a window is a sum of what is in it, and so is what is left when a key is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.storage.ledger.blobs import (
    NOTHING,
    Cells,
    Index,
    centred_sums,
    groups,
    numbered,
    packed,
    summed,
    unpacked,
)
from tallybayes.storage.ledger.store import Store

SPANS = (512, 64, 8, 1)  # periods
FINE = 8  # the span whose records keep the periods of a key apart
PAGE = 64  # keys
OWNERS = FINE * PAGE  # keys of a page, in each of so many periods
EVERY = -1  # the page of all keys
FEW = 100  # keys or pages that are asked for one by one
AT_ONCE = 20_000  # batches that are summed at a time
COLUMNS = "flags, owners, cells, amounts, centred_cells, centred"
CONTENT = "entry, period, key, flags, cells, amounts, centred_cells, centred"


class Window(NamedTuple):
    """What is to be summed."""

    first: int
    last: int
    keys: NDArray[np.bool_] | None  # by number; None is all
    bound: int  # the last entry that counts
    by_period: bool  # whether periods have to stay apart, because they decay


def whole(page: int) -> int:
    """Where the record of all keys of a page is."""
    return -2 - page


@dataclass(frozen=True)
class Gathered:
    """The cells of a window and the period of each record."""

    cells: Cells
    period: Index


class Pages:
    """The pages of which all or some keys are meant."""

    def __init__(self, wanted: NDArray[np.bool_], known: Index) -> None:
        chosen, n = known[wanted[known]], int(known.max(initial=0)) // PAGE + 1
        have, want = (np.bincount(each // PAGE, minlength=n) for each in (known, chosen))
        self.complete = set(np.flatnonzero((want > 0) & (want == have)).tolist())
        self.some = set(np.flatnonzero((want > 0) & (want < have)).tolist())
        self.keys = np.zeros((n, PAGE), dtype=bool)
        self.keys[chosen // PAGE, chosen % PAGE] = True


class Sums:
    """The sums of a ledger's file. ``mate`` gives the cell of the same product the other way round."""

    def __init__(self, store: Store, mate: Index) -> None:
        self.store, self.mate, self.n_cells = store, mate, len(mate)

    # -------------------------------------------------------------------------------------------- writing

    def fold(self, after: int) -> int:
        """Take the batches after an entry into the sums; return the last."""
        while True:
            rows = self.store.rows(
                f"SELECT {CONTENT} FROM content WHERE entry > ? ORDER BY entry LIMIT ?", (after, AT_ONCE)
            )
            if not rows:
                return after
            self.add(rows)
            after = rows[-1][0]

    def add(self, rows: Sequence[Any]) -> None:
        """Take batches into the sums."""
        cells = contents(rows, self.n_cells)
        entry, period, key = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(3))
        for span in SPANS:
            start = period // span
            if span > 1:
                page, slot = key // PAGE, period % FINE if span == FINE else 0
                self._merge(span, start, page, key % PAGE + PAGE * slot, entry, cells)
                self._merge(span, start, whole(page), None, entry, cells)  # type: ignore[arg-type]
            self._merge(span, start, np.full(len(rows), EVERY), None, entry, cells)

    def _merge(self, span: int, start: Index, page: Index, owner: Index | None, entry: Index, cells: Cells) -> None:
        """Add records to those of their places; the arrays are by record."""
        places, target = np.unique(np.stack((start, page), axis=1), axis=0, return_inverse=True)
        target = target.ravel()
        last = np.zeros(len(places), dtype=np.int64)
        np.maximum.at(last, target, entry)
        own = np.zeros(len(target), dtype=np.int64) if owner is None else owner
        parts = [
            replace(
                cells,
                record=target[cells.record],
                owner=own[cells.record],
                centred_record=target[cells.centred_record],
                centred_owner=own[cells.centred_record],
            )
        ]
        records = [cells.centred_record]
        held = [self._held(span, *each) for each in places.tolist()]
        there = [t for t, row in enumerate(held) if row is not None]
        if there:
            old = unpacked([held[t] for t in there], self.n_cells, 0 if owner is None else OWNERS)
            at = np.array(there)
            records.append(old.centred_record + len(target))  # two parts of a product are in one record
            parts.append(replace(old, record=at[old.record], centred_record=at[old.centred_record]))
            last[at] = np.maximum(last[at], [held[t][-1] for t in there])
        self._write(span, places, last, Cells.joined(parts), np.concatenate(records), owner is not None)

    def _held(self, span: int, start: int, page: int) -> Any:
        return self.store.one(
            f"SELECT {COLUMNS}, last FROM sums WHERE span = ? AND start = ? AND page = ?", (span, start, page)
        )

    def _write(self, span: int, places: Any, last: Index, cells: Cells, origin: Index, keyed: bool) -> None:
        record, c_record = cells.record * OWNERS + cells.owner, cells.centred_record * OWNERS + cells.centred_owner
        whose, each = numbered(np.concatenate((record, c_record)), len(places) * OWNERS)
        mine, theirs = np.split(each * self.n_cells, [len(record)])
        size = len(whose) * self.n_cells
        codes, place = numbered(mine + cells.cell, size)
        amount: Array = np.bincount(place, weights=cells.amount, minlength=len(codes)).astype(np.float64)
        c_codes, c_place = numbered(theirs + cells.centred_cell, size)
        c_mate = np.searchsorted(c_codes, theirs + self.mate[cells.centred_cell])
        one_owner = origin * OWNERS + cells.centred_owner  # of one record, each key has its own products
        centred = centred_sums(c_place, len(c_codes), c_mate, one_owner, cells.centred)
        (owner, cell), (c_owner, c_cell) = (
            (whose[code // self.n_cells], code % self.n_cells) for code in (codes, c_codes)
        )
        amounts_of, moments_of = dict(groups(owner // OWNERS)), dict(groups(c_owner // OWNERS))
        none = slice(0, 0)
        rows = []
        for t, (start, page) in enumerate(places.tolist()):
            a, b = amounts_of.get(t, none), moments_of.get(t, none)
            owners = (owner[a] % OWNERS, c_owner[b] % OWNERS) if keyed else (None, None)
            blob = packed(owners[0], cell[a], amount[a], owners[1], c_cell[b], centred[b])
            rows.append((span, start, page, int(last[t]), *blob))
        anew = ", ".join(f"{name} = excluded.{name}" for name in ("last", *COLUMNS.split(", ")))
        self.store.run_many(
            f"INSERT INTO sums (span, start, page, last, {COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?) "
            f"ON CONFLICT (span, start, page) DO UPDATE SET {anew}",
            rows,
        )

    def forget(self, key: int, periods: Sequence[int], folded: int) -> None:
        """Make the sums again that a key had a part in; its contents are gone already."""
        page = key // PAGE
        for span in reversed(SPANS):
            for start in sorted({period // span for period in periods}):
                if span > 1:
                    self._without(span, start, page, key % PAGE)
                    self._again(span, start, whole(page), partial(self._pages, span, start, page, page))
                    self._again(span, start, EVERY, partial(self._wholes, span, start))
                else:
                    self._again(span, start, EVERY, partial(self._period, start, folded))

    def _without(self, span: int, start: int, page: int, owner: int) -> None:
        row = self._held(span, start, page)
        if row is None:
            return
        cells = unpacked([row], self.n_cells, OWNERS)
        left = cells.kept(cells.owner % PAGE != owner, cells.centred_owner % PAGE != owner)
        if len(left.cell):
            self._write(span, np.array([[start, page]]), np.array([row[-1]]), left, left.centred_record, True)
        else:
            self._delete(span, start, page)

    def _delete(self, span: int, start: int, page: int) -> None:
        self.store.run("DELETE FROM sums WHERE span = ? AND start = ? AND page = ?", (span, start, page))

    def _again(self, span: int, start: int, page: int, made: Callable[[], tuple[Cells, int]]) -> None:
        cells, last = made()
        if not len(cells.cell):
            self._delete(span, start, page)
            return
        origin = cells.centred_record * OWNERS + cells.centred_owner
        nobody = np.zeros_like
        flat = replace(
            cells,
            record=nobody(cells.record),
            owner=nobody(cells.owner),
            centred_record=nobody(cells.centred_record),
            centred_owner=nobody(cells.centred_owner),
        )
        self._write(span, np.array([[start, page]]), np.array([last]), flat, origin, False)

    def _pages(self, span: int, start: int, first: int, final: int, keyed: bool = True) -> tuple[Cells, int]:
        rows = self.store.rows(
            f"SELECT {COLUMNS}, last FROM sums WHERE span = ? AND start = ? AND page BETWEEN ? AND ?",
            (span, start, first, final),
        )
        return unpacked(rows, self.n_cells, OWNERS if keyed else 0), max((row[-1] for row in rows), default=0)

    def _wholes(self, span: int, start: int) -> tuple[Cells, int]:
        return self._pages(span, start, -(1 << 62), whole(0), keyed=False)

    def _period(self, period: int, folded: int) -> tuple[Cells, int]:
        rows = self.store.rows(f"SELECT {CONTENT} FROM content WHERE period = ? AND entry <= ?", (period, folded))
        return contents(rows, self.n_cells), max((row[0] for row in rows), default=0)

    # -------------------------------------------------------------------------------------------- reading

    def gather(self, window: Window, folded: int, known: Index) -> Gathered:
        """The cells of a window; ``known`` are the numbers of all keys."""
        keys = window.keys
        if keys is not None and keys[known].all():
            keys = None
        window = window._replace(keys=keys)
        parts = list(self._summed(window, min(folded, window.bound), known))
        parts.append(self._contents(window, window.first, window.last, folded, window.bound))
        records, periods = 0, []
        moved = []
        for part in parts:
            cells = part.cells
            moved.append(replace(cells, record=cells.record + records, centred_record=cells.centred_record + records))
            records += len(part.period)
            periods.append(part.period)
        return Gathered(Cells.joined([NOTHING, *moved]), np.concatenate([np.zeros(0, dtype=np.int64), *periods]))

    def _summed(self, window: Window, folded: int, known: Index) -> Iterator[Gathered]:
        """The part of a window that is in the sums."""
        if window.keys is not None and int(window.keys.sum()) <= FEW and window.by_period:
            yield self._contents(window, window.first, window.last, 0, folded)
            return
        spans, singles = self._cover(window)
        for span, starts in spans.items():
            if window.keys is None:
                yield from self._everyone(span, starts)
                continue
            touched = self._touched(window, known) if window.by_period else None
            if touched is not None:  # elsewhere no key is left out
                starts, alone = [s for s in starts if s in touched], [s for s in starts if s not in touched]
                every = (period for start in alone for period in range(start * FINE, (start + 1) * FINE))
                yield from self._everyone(1, [period for period in every if window.first <= period <= window.last])
            pages = Pages(window.keys, known)
            for start in starts:
                yield from self._keyed(window, pages, span, start)
        for a, b in runs(singles):
            yield self._contents(window, a, b, 0, folded)

    def _everyone(self, span: int, starts: Sequence[int]) -> Iterator[Gathered]:
        """What all keys have in some spans."""
        for a, b in runs(starts):
            rows = self.store.rows(
                f"SELECT {COLUMNS}, start FROM sums WHERE span = ? AND start BETWEEN ? AND ? AND page = ?",
                (span, a, b, EVERY),
            )
            yield Gathered(unpacked(rows, self.n_cells), np.array([row[-1] for row in rows], dtype=np.int64))

    def _touched(self, window: Window, known: Index) -> set[int] | None:
        """The fine spans in which keys that are left out have batches, if these keys are few."""
        others = known[~window.keys[known]].tolist() if window.keys is not None else []
        if len(others) > FEW:
            return None
        where = f"key IN ({','.join('?' * len(others))}) AND period BETWEEN ? AND ?"
        rows = self.store.rows(
            f"SELECT DISTINCT period FROM content WHERE {where}", [*others, window.first, window.last]
        )
        return {period // FINE for (period,) in rows}

    def _keyed(self, window: Window, pages: Pages, span: int, start: int) -> Iterator[Gathered]:
        """What some keys have in a span."""
        first = start * span
        is_whole = window.first <= first and first + span - 1 <= window.last and not window.by_period
        complete, some = (pages.complete, pages.some) if is_whole else (set(), pages.complete | pages.some)
        sql = f"SELECT {COLUMNS}, page FROM sums WHERE span = ? AND start = ? AND page"
        if complete:
            rows = self.store.rows(f"{sql} <= ?", (span, start, whole(0)))
            rows = [row for row in rows if whole(row[-1]) in complete]
            yield Gathered(unpacked(rows, self.n_cells), np.full(len(rows), first))
        if not some:
            return
        if len(some) < FEW:
            rows = [row for page in some for row in self.store.rows(f"{sql} = ?", (span, start, page))]
        else:
            rows = [row for row in self.store.rows(f"{sql} >= 0", (span, start)) if row[-1] in some]
        period = first + np.arange(FINE) if span == FINE else np.full(FINE, first)
        inside = (period >= window.first) & (period <= window.last) | (span != FINE)
        group = np.where(inside, np.arange(FINE) if window.by_period else 0, -1).astype(np.int32)
        yield Gathered(summed(rows, pages.keys[[row[-1] for row in rows]], group, self.mate), period)

    def _contents(self, window: Window, first: int, last: int, after: int, until: int) -> Gathered:
        """The batches of some periods and entries."""
        few = window.keys is not None and int(window.keys.sum()) <= FEW
        # A plus keeps SQLite from the index of a column: the newest entries are found by their numbers, others are not.
        newest = until >= window.bound and after > 0
        where = f"{'' if newest else '+'}entry > ? AND {'' if newest else '+'}entry <= ?"
        where += f" AND {'+' if newest or few else ''}period BETWEEN ? AND ?"
        values: list[Any] = [after, until, first, last]
        if few and window.keys is not None:
            numbers = np.flatnonzero(window.keys).tolist()
            where += f" AND {'+' if newest else ''}key IN ({','.join('?' * len(numbers))})"
            values += numbers
        rows = self.store.rows(f"SELECT {CONTENT} FROM content WHERE {where}", values)
        if window.keys is not None:
            rows = [row for row in rows if row[2] < len(window.keys) and window.keys[row[2]]]
        return Gathered(contents(rows, self.n_cells), np.array([row[1] for row in rows], dtype=np.int64))

    def _cover(self, window: Window) -> tuple[dict[int, list[int]], list[int]]:
        """The spans that make up a window, and periods whose batches have to be read one by one."""
        rows = self.store.rows(
            "SELECT span, start, last FROM sums WHERE page = ? AND ((span = 1 AND start BETWEEN ? AND ?) OR span > 1)",
            (EVERY, window.first, window.last),
        )
        last = {(span, start): final for span, start, final in rows}
        found: dict[int, list[int]] = {span: [] for span in SPANS}
        singles: list[int] = []

        def visit(level: int, start: int) -> None:
            span = SPANS[level]
            if (span, start) not in last or start * span > window.last or (start + 1) * span <= window.first:
                return
            inside = window.first <= start * span and (start + 1) * span - 1 <= window.last
            if window.keys is None:
                usable = inside and (span == 1 or not window.by_period)
            else:  # the finest records of keys can be read in part
                usable = span == FINE or (span > FINE and inside and not window.by_period)
            if usable and last[span, start] <= window.bound:
                found[span].append(start)
            elif span == 1:
                singles.append(start)
            else:
                step = span // SPANS[level + 1]
                for child in range(start * step, (start + 1) * step):
                    visit(level + 1, child)

        for span, start in sorted(last):
            if span == SPANS[0]:
                visit(0, start)
        return {span: starts for span, starts in found.items() if starts}, singles


def contents(rows: Sequence[Any], n_cells: int) -> Cells:
    """The cells of batches."""
    blank = b""
    return unpacked([(flags, blank, c, a, cc, m) for _, _, _, flags, c, a, cc, m in rows], n_cells)


def runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Numbers that follow one another, as first and last.

    Examples
    --------
    >>> list(runs([3, 4, 5, 9]))
    [(3, 5), (9, 9)]
    """
    ordered = np.array(sorted(numbers), dtype=np.int64)
    if not len(ordered):
        return
    breaks = np.flatnonzero(np.diff(ordered) > 1)
    starts, ends = np.append(0, breaks + 1), np.append(breaks, len(ordered) - 1)
    yield from zip(ordered[starts].tolist(), ordered[ends].tolist(), strict=True)


def total(gathered: Gathered, factor: Array | None, mate: Index) -> tuple[Array, Array]:
    """The sum of each cell (n,), and the moments (n, 3); ``factor`` is how much each record counts."""
    cells, n = gathered.cells, len(mate)
    amount, values = cells.amount, cells.centred
    if factor is not None:
        amount = amount * factor[cells.record]
        values = values * np.stack((f := factor[cells.centred_record], np.ones(len(f)), f), axis=1)
    amounts: Array = np.bincount(cells.cell, weights=amount, minlength=n).astype(np.float64)
    return amounts, centred_sums(cells.centred_cell, n, mate[cells.centred_cell], cells.centred_record, values)
