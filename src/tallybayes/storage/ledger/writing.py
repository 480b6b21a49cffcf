"""How a group of batches gets into a ledger's file: one transaction, one wait for the disk."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.core.schema import plural
from tallybayes.errors import BatchError, ClockError, ForgottenError, LedgerError
from tallybayes.storage.ledger.blobs import Packed, groups, packed
from tallybayes.storage.ledger.cells import Entries, entries_of
from tallybayes.storage.ledger.chain import SALT, START, Entry, LedgerReceipt, content_digest, digest_of, moment
from tallybayes.storage.ledger.counting import Counted, Pending
from tallybayes.storage.ledger.periods import Calendar
from tallybayes.storage.ledger.state import State
from tallybayes.storage.ledger.store import Store

SLACK = 5_000_000  # microseconds that clocks may be apart
MOST_BATCH = 200  # characters of a batch id


def checked_batch(batch: Any) -> str | None:
    """The id of a batch, if it is one."""
    if batch is None:
        return None
    if not isinstance(batch, str) or not batch or len(batch) > MOST_BATCH or "\0" in batch or not _is_text(batch):
        raise LedgerError(f"a batch id is a text of 1 to {MOST_BATCH} characters, not {str(batch)[:40]!r}")
    return batch


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Chain:
    """Appends entries to the chain; within a transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store
        last = store.one("SELECT number, time, chain FROM entry ORDER BY number DESC LIMIT 1") or (0, 0, START)
        self.number, self.time, self.head = int(last[0]), int(last[1]), bytes(last[2])
        now = time.time_ns() // 1000
        if now < self.time - SLACK:
            raise ClockError(
                f"the clock of this machine shows {moment(now)}, but the last entry of the ledger is of "
                f"{moment(self.time)}; set the clock right: nothing was changed"
            )
        self.time = max(now, self.time)
        self.rows: list[tuple[Any, ...]] = []

    def append(
        self, action: str, batch: str | None, period: int | None, key: str | None, rows: int, digest: bytes
    ) -> Entry:
        """Add an entry."""
        self.number += 1
        entry = Entry(self.number, self.time, action, batch, period, key, rows, digest)
        self.head = entry.chained(self.head)
        self.rows.append((entry.number, entry.time, action, batch, period, key, rows, digest, self.head))
        return entry

    def write(self) -> None:
        """Write the entries."""
        self.store.run_many("INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?)", self.rows)
        self.rows.clear()

    def receipt(self, entry: Entry, calendar: Calendar, batches: int = 1) -> LedgerReceipt:
        """The receipt of the entry that was appended last."""
        period = None if entry.period is None else calendar.name(entry.period)
        return LedgerReceipt(
            entry.number, moment(entry.time), entry.action, entry.key, period, entry.batch, entry.rows, batches,
            entry.digest.hex(), self.head.hex(),
        )  # fmt: skip


class Writer:
    """Writes counted batches; within a transaction."""

    def __init__(self, store: Store, state: State, calendar: Calendar, ledger_id: str) -> None:
        self.store, self.state, self.calendar, self.ledger_id = store, state, calendar, ledger_id
        self.keys: dict[str, int] = {}
        self.written: dict[str, tuple[LedgerReceipt, tuple[Any, ...]]] = {}  # the batches of this transaction
        self.chain = Chain(store)

    def write(self, counted_groups: Sequence[Counted]) -> dict[int, LedgerReceipt]:
        """Add batches; the receipt of each by its identity in memory."""
        receipts: dict[int, LedgerReceipt] = {}
        contents: list[tuple[Any, ...]] = []
        for counted in counted_groups:
            entries = entries_of(counted.tally, counted.classes, counted.rows, self.state.names)
            first = len(self.state.addresses)
            grew = self.state.grow(np.concatenate((entries.address, entries.centred_address)))
            if grew or self.state.names.new:
                digest = self.state.write(self.chain.number + 1, first)
                self.chain.append("grow", None, None, None, 0, digest)
            blobs = self._blobs(entries, len(counted.batches))
            for number, each in enumerate(counted.batches):
                losses = counted.losses[number] if counted.losses else b""
                receipt, row = self._one(each, blobs[number], int(counted.rows[number]), losses)
                receipts[id(each)] = receipt
                contents += [] if row is None else [row]
        self.chain.write()
        self.store.run_many("INSERT INTO content VALUES (?,?,?,?,?,?,?,?,?,?)", contents)
        return receipts

    def _blobs(self, entries: Entries, n: int) -> list[Packed]:
        """The content of each batch, in the order of cells."""
        cell, c_cell = self.state.numbers(entries.address), self.state.numbers(entries.centred_address)
        order, c_order = np.lexsort((cell, entries.owner)), np.lexsort((c_cell, entries.centred_owner))
        mine = dict(groups(entries.owner[order]))
        theirs = dict(groups(entries.centred_owner[c_order]))
        cell, values = cell[order], entries.amount[order]
        c_cell, centred = c_cell[c_order], entries.centred[c_order]
        none = slice(0, 0)
        found = []
        for number in range(n):
            a, b = mine.get(number, none), theirs.get(number, none)
            found.append(packed(None, cell[a], values[a], None, c_cell[b], centred[b]))
        return found

    def _one(
        self, each: Pending, blob: Packed, rows: int, losses: bytes
    ) -> tuple[LedgerReceipt, tuple[Any, ...] | None]:
        parts = (blob.cells, blob.amounts, blob.centred_cells, blob.centred)
        batch = each.batch
        if batch is None:
            named = (self.ledger_id.encode(), str(each.period).encode(), each.key.encode(), bytes([blob.flags]))
            batch = "auto-" + digest_of((*named, *parts)).hex()[:32]
        known = self._known(batch, each, blob)
        if known is not None:
            return known, None
        salt = secrets.token_bytes(SALT)
        digest = content_digest(salt, blob.flags, parts, losses)
        entry = self.chain.append("add", batch, each.period, each.key, rows, digest)
        receipt = self.chain.receipt(entry, self.calendar)
        row = (entry.number, each.period, self._key(each.key), salt, losses, blob.flags, *parts)
        self.written[batch] = (receipt, row)
        return receipt, row

    def _known(self, batch: str, each: Pending, blob: Packed) -> LedgerReceipt | None:
        """The receipt of a batch that was added before; another one of the same id is an error."""
        parts = (blob.flags, blob.cells, blob.amounts, blob.centred_cells, blob.centred)
        if batch in self.written:
            receipt, row = self.written[batch]
            same = row[5:] == parts and (receipt.key, row[1]) == (each.key, each.period)
            return self._again(receipt, same, batch)
        found = self.store.one(
            "SELECT number, time, action, batch, period, key, rows, digest, chain FROM entry WHERE batch = ?", (batch,)
        )
        if found is None:
            return None
        *fields, chain = found
        entry = Entry(*fields)
        content = self.store.one(
            "SELECT flags, cells, amounts, centred_cells, centred FROM content WHERE entry = ?", (entry.number,)
        )
        if content is None:
            raise ForgottenError(
                f"the batch {batch!r} was forgotten with the key {entry.key!r}; nothing was added. Rows that are to "
                "count after all need an id of their own (batch_id=…)"
            )
        receipt = LedgerReceipt(
            entry.number, moment(entry.time), "add", entry.key, self.calendar.name(int(entry.period or 0)), batch,
            entry.rows, 1, entry.digest.hex(), chain.hex(),
        )  # fmt: skip
        return self._again(
            receipt, tuple(content) == parts and (entry.key, entry.period) == (each.key, each.period), batch
        )

    def _again(self, receipt: LedgerReceipt, same: bool, batch: str) -> LedgerReceipt:
        if not same:
            raise BatchError(
                f"the batch {batch!r} was added before with other rows, or for another period or key: "
                f"{plural(receipt.rows, 'row')} of the key {receipt.key!r}, period {receipt.period} (entry "
                f"{receipt.number}); nothing was changed"
            )
        return replace(receipt, is_new=False)

    def _key(self, name: str) -> int:
        if name not in self.keys:
            found = self.store.one("SELECT id FROM key WHERE name = ?", (name,))
            self.keys[name] = (found or self.store.one("INSERT INTO key (name) VALUES (?) RETURNING id", (name,)))[0]
        return self.keys[name]
