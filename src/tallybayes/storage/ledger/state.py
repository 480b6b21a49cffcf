"""What a ledger's file knows of cells, levels and keys, and how it grows."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.schema import Schema
from tallybayes.errors import ModelFileError
from tallybayes.storage.ledger.blobs import Index
from tallybayes.storage.ledger.cells import ERASED, Ids, Names, Totals, mates
from tallybayes.storage.ledger.chain import SALT, digest_of
from tallybayes.storage.ledger.store import Store
from tallybayes.storage.records import Decoder, Encoder


class State:
    """The cells and levels of a ledger as of one version of its file."""

    def __init__(self, store: Store, plan: Schema) -> None:
        self.store, self.version = store, int(store.meta("version"))
        self.names = Names(plan)
        for place, number, value in store.rows("SELECT place, id, value FROM level ORDER BY place, id"):
            self.names.restore(place, number, ERASED if value is None else _level(value))
        blobs = store.rows("SELECT first, addresses FROM cell ORDER BY first")
        self.addresses = np.frombuffer(b"".join(blob for _, blob in blobs), dtype="<u8").astype(np.uint64)
        if [first for first, _ in blobs] != [0, *np.cumsum([len(blob) // 8 for _, blob in blobs])[:-1].tolist()][
            : len(blobs)
        ]:
            raise ModelFileError("its cells are not numbered one after another")
        self._sort()

    def _sort(self) -> None:
        self.order = np.argsort(self.addresses, kind="stable")
        self.sorted = self.addresses[self.order]
        if (self.sorted[1:] == self.sorted[:-1]).any():
            raise ModelFileError("it numbers a cell twice")
        self.mate = self._mates()

    def _mates(self) -> Index:
        other = mates(self.addresses)
        found = np.arange(len(self.addresses))
        apart = np.flatnonzero(other != self.addresses)
        if len(apart):
            at = np.minimum(np.searchsorted(self.sorted, other[apart]), max(len(self.sorted) - 1, 0))
            there = self.sorted[at] == other[apart]
            found[apart[there]] = self.order[at[there]]
        return found

    def numbers(self, addresses: Ids) -> Index:
        """The numbers of cells; −1 where one is new."""
        if not len(self.sorted):
            return np.full(len(addresses), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.sorted, addresses), len(self.sorted) - 1)
        return np.where(self.sorted[at] == addresses, self.order[at], -1)

    def grow(self, addresses: Ids) -> bool:
        """Take in cells; return whether some were new."""
        new = np.unique(addresses[self.numbers(addresses) < 0])
        if not len(new):
            return False
        self.addresses = np.concatenate((self.addresses, new))
        self._sort()
        return True

    def write(self, entry: int, first_cell: int) -> bytes:
        """Write what is new to the file, and return its digest."""
        parts: list[bytes] = []
        for place, number, level in self.names.new:
            salt, text = secrets.token_bytes(SALT), json.dumps(Encoder({})(level), allow_nan=False)
            digest = level_digest(salt, place, number, text)
            self.store.run("INSERT INTO level VALUES (?, ?, ?, ?, ?, ?)", (place, number, entry, digest, salt, text))
            parts.append(digest)
        self.names.new.clear()
        blob = self.addresses[first_cell:].astype("<u8").tobytes()
        if blob:
            self.store.run("INSERT INTO cell VALUES (?, ?, ?)", (first_cell, entry, blob))
        self.version += 1
        self.store.set_meta("version", self.version)
        return growth_digest(sorted(parts), first_cell, blob)

    def erase(self, used: Mapping[str, set[int]]) -> int:
        """Remove the names of levels that no row has any more; return how many."""
        held = self.store.rows("SELECT place, id FROM level WHERE value IS NOT NULL")
        gone = [(place, number) for place, number in held if number not in used.get(place, set())]
        self.store.run_many("UPDATE level SET value = NULL, salt = NULL WHERE place = ? AND id = ?", gone)
        if gone:
            self.store.set_meta("version", self.version + 1)
        return len(gone)

    def totals(self, amounts: Array, centred: Array) -> Totals:
        """Sums by cell as sums by address; without those that are nothing."""
        some, moments = np.flatnonzero(amounts > 0), np.flatnonzero(centred[:, 0] > 0)
        return Totals(self.addresses[some], amounts[some], self.addresses[moments], centred[moments])


def level_digest(salt: bytes, place: str, number: int, text: str) -> bytes:
    """The digest of a level, which shows nothing of it once the salt is gone."""
    return digest_of((salt, place.encode("utf-8", "surrogatepass"), str(number).encode(), text.encode()))


def growth_digest(levels: list[bytes], first_cell: int, addresses: bytes) -> bytes:
    """The digest of levels and cells that came with one entry."""
    return digest_of((*levels, str(first_cell).encode(), addresses))


def _level(text: str) -> Any:
    try:
        value = Decoder({}, {})(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ModelFileError("a level of it is damaged") from error
    if not isinstance(value, str | int | float | None):
        raise ModelFileError("a level of it is neither text nor a number")
    return value
