"""Verifying a ledger: the chain, the digests of what was counted, and the sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from tallybayes.errors import ModelFileError
from tallybayes.storage.ledger.blobs import Cells, unpacked
from tallybayes.storage.ledger.chain import START, Entry, LedgerReceipt, Verification, content_digest, digest_of, moment
from tallybayes.storage.ledger.selection import LAST
from tallybayes.storage.ledger.state import State, growth_digest, level_digest
from tallybayes.storage.ledger.store import TABLES, Store, reading
from tallybayes.storage.ledger.sums import AT_ONCE, COLUMNS, CONTENT, FEW, OWNERS, Sums

MOST = 20  # problems that are listed
Progress = Callable[[str, float | None], None]  # called with what is checked and, where known, the share that is done
CLOSE = 1e-9  # relative difference of sums that were made in another order


def verified(store: Store, state: State, receipt: Any, progress: Progress | None = None) -> Verification:
    """Check everything that a file holds; a problem is a sentence."""
    tell = progress or (lambda *_: None)
    problems: list[str] = []
    tell("reading the file", None)
    if damage := store.damage():
        problems.append(f"the database is damaged: {damage}")
    tell("checking the chain", None)
    entries = list(_chain(store, problems))
    head = store.one("SELECT chain FROM entry ORDER BY number DESC LIMIT 1")
    problems += _noted(store, receipt)
    problems += _created(store, entries)
    problems += _growth(store, entries)
    batches, forgotten, more = _contents(store, entries, tell)
    problems += more
    try:
        problems += _sums(store, state, tell)
    except ModelFileError as error:
        problems.append(str(error))
    if len(problems) > MOST:
        problems = [*problems[:MOST], f"… and {len(problems) - MOST:,} more problems"]
    return Verification(len(entries), batches, forgotten, "" if head is None else bytes(head[0]).hex(), tuple(problems))


def _chain(store: Store, problems: list[str]) -> Iterator[Entry]:
    """The entries; a problem for each that does not follow from the one before."""
    before, last = START, 0
    rows = store.rows("SELECT number, time, action, batch, period, key, rows, digest, chain FROM entry ORDER BY number")
    for expected, row in enumerate(rows, start=1):
        entry = Entry(*row[:-1])
        if entry.number != expected:
            problems.append(f"entry {expected} is missing")
            return
        if entry.time < last:
            problems.append(f"entry {entry.number} is older than the one before it")
        if not isinstance(entry.digest, bytes) or entry.chained(before) != row[-1]:
            problems.append(f"entry {entry.number} ({moment(entry.time)}) was changed, or one before it")
            return
        before, last = row[-1], entry.time
        yield entry


def _noted(store: Store, receipt: LedgerReceipt | Mapping[str, Any] | str | None) -> Iterator[str]:
    if receipt is None:
        return
    chain: Any = receipt
    number: Any = None
    if isinstance(receipt, LedgerReceipt):
        chain, number = receipt.chain, receipt.number
    elif isinstance(receipt, Mapping):
        chain, number = receipt.get("chain"), receipt.get("number")
    try:
        hashed = bytes.fromhex(str(chain))
    except ValueError:
        hashed = b""
    found = store.one("SELECT number FROM entry WHERE chain = ?", (hashed,))
    if found is None or (number is not None and found[0] != number):
        yield f"the receipt {str(chain)[:16]}… is none of this ledger's: it was changed since, or is another"


def _created(store: Store, entries: list[Entry]) -> Iterator[str]:
    parts = [str(store.meta(name)).encode() for name in ("id", "unit", "trials")]
    if not entries or entries[0].action != "create" or entries[0].digest != digest_of((*parts, store.meta("plan"))):
        yield "the plan was changed"


def _growth(store: Store, entries: list[Entry]) -> Iterator[str]:
    """Levels and cells are those of the chain."""
    levels: dict[int, list[tuple[Any, ...]]] = {}
    for row in store.rows("SELECT entry, place, id, digest, salt, value FROM level"):
        levels.setdefault(row[0], []).append(row[1:])
    cells = {entry: (first, blob) for first, entry, blob in store.rows("SELECT first, entry, addresses FROM cell")}
    size = sum(len(blob) for _, blob in cells.values()) // 8
    grown = {entry.number: entry for entry in entries if entry.action == "grow"}
    if {*levels, *cells} - {*grown}:
        yield "it has levels or cells that the chain does not know"
    known = 0
    for number, entry in grown.items():
        mine = levels.get(number, [])
        for place, level, digest, salt, value in mine:
            if value is not None and (salt is None or level_digest(salt, place, level, value) != digest):
                yield f"the level {level} of {place!r} was changed"
        first, blob = cells.get(number, (known, b""))
        known = first + len(blob) // 8
        if not _matches(mine, first, blob, entry.digest):
            yield f"the levels or cells of entry {number} were changed"
    if known != size:
        yield "cells are missing"


def _matches(levels: list[tuple[Any, ...]], first: int, blob: bytes, digest: bytes) -> bool:
    return growth_digest(sorted(each[2] for each in levels), first, blob) == digest


def _contents(store: Store, entries: list[Entry], tell: Progress) -> tuple[int, int, list[str]]:
    """Batches that are there as they were added, batches that were forgotten, and problems."""
    problems: list[str] = []
    keys = {number: name for name, number in store.rows("SELECT name, id FROM key")}
    added = {entry.number: entry for entry in entries if entry.action == "add"}
    there: set[int] = set()
    sound = 0
    sql = (
        "SELECT entry, period, key, salt, losses, flags, cells, amounts, centred_cells, centred FROM content "
        "WHERE entry > ? ORDER BY entry LIMIT ?"
    )
    last = 0
    while rows := store.rows(sql, (last, AT_ONCE)):
        for entry, period, key, salt, losses, flags, *blobs in rows:
            known = added.get(entry)
            there.add(entry)
            if known is None or (known.period, known.key) != (period, keys.get(key)):
                problems.append(f"the batch of entry {entry} is not that of the chain")
            elif not _is_content(salt, flags, blobs, losses, known.digest):
                problems.append(f"the batch of entry {entry} was changed")
            else:
                sound += 1
        last = rows[-1][0]
        tell("checking the batches", len(there) / max(len(added), 1))
    gone: dict[str | None, list[Entry]] = {}
    for entry in entries:
        if entry.action == "add" and entry.number not in there:
            gone.setdefault(entry.key, []).append(entry)
    forgotten = sum(map(len, gone.values()))
    for entry in entries:
        if entry.action == "forget":
            mine = [each for each in gone.get(entry.key, []) if each.number < entry.number]
            gone[entry.key] = [each for each in gone.get(entry.key, []) if each.number > entry.number]
            parts = (part for each in mine for part in (str(each.number).encode(), each.digest))
            if digest_of(parts) != entry.digest or sum(each.rows for each in mine) != entry.rows:
                problems.append(f"entry {entry.number} forgot other batches than are gone")
    problems += [f"the batch of entry {each.number} is missing" for lost in gone.values() for each in lost]
    return sound, forgotten, problems


def _is_content(salt: Any, flags: Any, blobs: Any, losses: Any, digest: bytes) -> bool:
    try:
        return content_digest(salt, flags, blobs, losses) == digest
    except (TypeError, ValueError):
        return False


def _sums(store: Store, state: State, tell: Progress) -> Iterator[str]:
    """The sums are those of the batches, made again."""
    again = Store("")  # a temporary database, on the disk if it is large
    again.run("PRAGMA secure_delete = OFF")
    folded = int(store.meta("folded"))
    with reading(store.path), again.transaction(write=True):
        _make(store, folded, Sums(again, state.mate), tell)
        sql = f"SELECT {COLUMNS}, span, start, page, last FROM sums ORDER BY span, start, page"
        (n,) = again.one("SELECT count(*) FROM sums")
        pairs: list[tuple[Any, Any]] = []
        for done, (row, theirs) in enumerate(zip_longest(store.scan(sql), again.scan(sql))):
            # The last entry may have been forgotten since, but none is later than it.
            if row is None or theirs is None or row[-4:-1] != theirs[-4:-1] or not theirs[-1] <= row[-1] <= folded:
                yield "the sums are of other periods, keys or entries than the batches; rebuild makes them again"
                return
            if row[:-4] != theirs[:-4]:
                pairs.append((row, theirs))
            if len(pairs) == FEW:
                yield from _differences(pairs, len(state.mate))
                pairs.clear()
                tell("comparing the sums", done / n)
        yield from _differences(pairs, len(state.mate))
    again.close()


def _make(store: Store, folded: int, sums: Sums, tell: Progress) -> None:
    """Make the sums of the batches; those of a period together, so that few records are written twice."""
    for name in ("sums", "sums_place"):
        sums.store.run(TABLES[name])
    (n,) = store.one("SELECT count(*) FROM content WHERE entry <= ?", (folded,))
    sql = f"SELECT {CONTENT} FROM content WHERE (period, entry) > (?, ?) AND +entry <= ? ORDER BY period, entry LIMIT ?"
    last, done = (-LAST, 0), 0
    while rows := store.rows(sql, (*last, folded, AT_ONCE)):
        sums.add(rows)
        last, done = (rows[-1][1], rows[-1][0]), done + len(rows)
        tell("summing the batches", done / n)


def _differences(pairs: list[tuple[Any, Any]], n_cells: int) -> Iterator[str]:
    """The sums that differ: all are compared at once, and halves where something does."""
    keyed = [pair for pair in pairs if pair[0][-2] >= 0]
    for some, owners in ((keyed, OWNERS), ([pair for pair in pairs if pair[0][-2] < 0], 0)):
        if not some or _same([unpacked(side, n_cells, owners) for side in zip(*some, strict=True)]):
            continue
        if len(some) == 1:
            span, start = some[0][0][-4:-2]
            yield f"the sums of {span} periods from {start * span} on differ from the batches"
        else:
            for half in (some[: len(some) // 2], some[len(some) // 2 :]):
                yield from _differences(half, n_cells)


def _same(both: Sequence[Cells]) -> bool:
    a, b = both
    exact = ("record", "owner", "cell", "centred_record", "centred_owner", "centred_cell")
    if not all(np.array_equal(getattr(a, name), getattr(b, name)) for name in exact):
        return False
    most = np.ones(int(b.centred_record.max(initial=0)) + 1)
    np.maximum.at(most, b.centred_record, np.abs(b.centred).max(axis=1, initial=0.0))
    return bool(
        np.allclose(a.amount, b.amount, rtol=CLOSE, atol=0)
        and np.allclose(a.centred[:, 0], b.centred[:, 0], rtol=CLOSE, atol=0)
        and np.allclose(a.centred, b.centred, rtol=CLOSE, atol=2 * CLOSE * most[b.centred_record, None])
    )
