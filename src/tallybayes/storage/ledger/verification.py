"""Verifying a ledger: the chain, the digests of what was counted, and the sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tallybayes.errors import ModelFileError
from tallybayes.storage.ledger.blobs import unpacked
from tallybayes.storage.ledger.chain import START, Entry, LedgerReceipt, Verification, content_digest, digest_of, moment
from tallybayes.storage.ledger.state import State, growth_digest, level_digest
from tallybayes.storage.ledger.store import TABLES, Store, reading
from tallybayes.storage.ledger.sums import AT_ONCE, COLUMNS, CONTENT, OWNERS, Sums

MOST = 20  # problems that are listed
CLOSE = 1e-9  # relative difference of sums that were made in another order


def verified(store: Store, state: State, receipt: Any) -> Verification:
    """Check everything that a file holds; a problem is a sentence."""
    problems: list[str] = []
    if damage := store.damage():
        problems.append(f"the database is damaged: {damage}")
    entries = [Entry(*row[:-1]) for row in _chain(store, problems)]
    head = store.one("SELECT chain FROM entry ORDER BY number DESC LIMIT 1")
    problems += _noted(store, receipt)
    problems += _created(store, entries)
    problems += _growth(store, entries)
    batches, forgotten, more = _contents(store, entries)
    problems += more
    try:
        problems += _sums(store, state)
    except ModelFileError as error:
        problems.append(str(error))
    if len(problems) > MOST:
        problems = [*problems[:MOST], f"… and {len(problems) - MOST:,} more problems"]
    return Verification(len(entries), batches, forgotten, "" if head is None else bytes(head[0]).hex(), tuple(problems))


def _chain(store: Store, problems: list[str]) -> Iterator[Any]:
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
        yield row


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


def _contents(store: Store, entries: list[Entry]) -> tuple[int, int, list[str]]:
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


def _sums(store: Store, state: State) -> Iterator[str]:
    """The sums are those of the batches, made again."""
    again = Store("")  # a temporary database, on the disk if it is large
    with reading(store.path):
        again.run(TABLES["sums"])
        again.run(TABLES["sums_place"])
        sums, last, folded = Sums(again, state.mate), 0, int(store.meta("folded"))
        sql = f"SELECT {CONTENT} FROM content WHERE entry > ? AND entry <= ? ORDER BY entry LIMIT ?"
        while rows := store.rows(sql, (last, folded, AT_ONCE)):
            sums.add(rows)
            last = rows[-1][0]
        places = "SELECT span, start, page, last FROM sums ORDER BY span, start, page"
        held, made = store.rows(places), again.rows(places)
        mine = [row[:3] for row in held]
        # The last entry may have been forgotten since, but none is later than it.
        late = any(theirs[3] > row[3] or row[3] > folded for row, theirs in zip(held, made, strict=False))
        if mine != [row[:3] for row in made] or late:
            yield "the sums are of other periods, keys or entries than the batches; rebuild makes them again"
            return
        sql = f"SELECT {COLUMNS} FROM sums WHERE span = ? AND start = ? AND page = ?"
        for place in mine:
            if not _same(store.one(sql, place), again.one(sql, place), len(state.mate), place[2] >= 0):
                yield f"the sums of {place[0]} periods from {place[1] * place[0]} on differ from the batches"
    again.close()


def _same(one: Any, other: Any, n_cells: int, keyed: bool) -> bool:
    if tuple(one) == tuple(other):
        return True
    a, b = (unpacked([each], n_cells, OWNERS if keyed else 0) for each in (one, other))
    exact = (a.owner, a.cell, a.centred_owner, a.centred_cell), (b.owner, b.cell, b.centred_owner, b.centred_cell)
    if not all(map(np.array_equal, *exact)):
        return False
    return bool(
        np.allclose(a.amount, b.amount, rtol=CLOSE, atol=0)
        and np.allclose(a.centred[:, 0], b.centred[:, 0], rtol=CLOSE, atol=0)
        and np.allclose(a.centred, b.centred, rtol=CLOSE, atol=CLOSE * (1 + np.abs(b.centred).max(initial=0.0)))
    )
