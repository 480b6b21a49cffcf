"""What a ledger does, without its doors: writing, summing and forgetting over the file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.core.lineage import Lineage
from tallybayes.core.merging import warn_of_twins
from tallybayes.core.model import Model
from tallybayes.core.summaries import MOST_WEIGHT
from tallybayes.core.tally import Tally
from tallybayes.errors import DataError, LedgerError, ModelFileError, SchemaError
from tallybayes.storage import from_bytes
from tallybayes.storage.ledger.cells import ROWS, address, tally_of, used_names
from tallybayes.storage.ledger.chain import Entry, LedgerReceipt, digest_of, moment
from tallybayes.storage.ledger.counting import Counted, Pending, counted
from tallybayes.storage.ledger.groups import labelled_rows
from tallybayes.storage.ledger.periods import Calendar
from tallybayes.storage.ledger.selection import LAST, entry_bound, key_mask, periods, refuse_unknown
from tallybayes.storage.ledger.state import State
from tallybayes.storage.ledger.store import Store, sound
from tallybayes.storage.ledger.sums import Gathered, Sums, Window, total
from tallybayes.storage.ledger.trials import Trials
from tallybayes.storage.ledger.writing import Chain, Writer

FOLD = 4096  # batches that are not in the sums yet
SHARE = 16  # … or this part of all batches, where that is more
MOST_KEYS = 1 << 31
LEAST = 1e-100  # a row that counts less is no row
MOST = MOST_WEIGHT / 1e10  # that a class of one batch weighs, so that a model of all batches can be read


class Core:
    """The state of an open ledger; one thread at a time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        with store.transaction():
            self.id = str(store.meta("id"))
            data = store.meta("plan")
            if not isinstance(data, bytes):
                raise ModelFileError(f"{store.path} lacks its plan")
            self.plan: Model = from_bytes(data, store.path)[0]
            self.calendar = Calendar(store.meta("unit"))
            self.trials = Trials.read(store.meta("trials"))
            self.state = State(store, self.plan.schema)

    def refresh(self) -> None:
        """Read what other processes have added to the levels and cells."""
        if int(self.store.meta("version")) != self.state.version:
            self.state = State(self.store, self.plan.schema)

    def keys(self) -> dict[str, int]:
        """The number of each key."""
        found = dict(self.store.rows("SELECT name, id FROM key ORDER BY id"))
        if found and not 0 < min(found.values()) <= max(found.values()) < MOST_KEYS:
            raise ModelFileError(f"{self.store.path} has a key of a number that no key has")
        return found

    def gathered(self, window: Window, known: Iterable[int] = ()) -> Gathered:
        """The cells of a window; of some keys only if the numbers of all are given."""
        numbers = np.fromiter(known, dtype=np.int64)
        return Sums(self.store, self.state.mate).gather(window, int(self.store.meta("folded")), numbers)

    def add(self, pending: Sequence[Pending], groups: Sequence[Counted] | None = None) -> list[LedgerReceipt]:
        """Add batches, all or none of them."""
        found = list(counted(self.plan, pending)) if groups is None else list(groups)
        for group in found:
            warn_of_twins(self.plan.schema.classes, group.classes)
            if (most := group.tally.class_weight.max(initial=0.0)) > MOST:
                raise DataError(
                    f"the rows of a batch weigh {most:g}, and {MOST:g} is the most that adds up; rescale them"
                )
        if self.trials:
            found = [replace(group, losses=self._losses(group)) for group in found]
        try:
            with self.store.transaction(write=True):
                self.refresh()
                writer = Writer(self.store, self.state, self.calendar, self.id)
                receipts = writer.write(found)
                self._fold(writer.chain.number)
        except BaseException:
            self.state.version = -1  # levels may be numbered that were not written
            raise
        return [receipts[id(each)] for each in pending]

    def _fold(self, last: int, all_of_it: bool = False) -> None:
        """Take the newest batches into the sums once there are many."""
        folded = int(self.store.meta("folded"))
        if all_of_it or last - folded > max(FOLD, last // SHARE):
            self.store.set_meta("folded", max(Sums(self.store, self.state.mate).fold(folded), folded))

    def fold_all(self, anew: bool = False) -> None:
        """Take all batches into the sums; all of them again, if these are to be made anew."""
        with self.store.transaction(write=True):
            self.refresh()
            if anew:
                self.store.run("DELETE FROM sums")
                self.store.set_meta("folded", 0)
            self._fold(LAST, all_of_it=True)

    def _losses(self, group: Counted) -> list[bytes]:
        """The losses of rows on trial before they are counted."""
        found = []
        for each in group.batches:
            losses = np.zeros(2 + len(self.trials.half_lives) + len(self.trials.windows))
            if not isinstance(each.rows, Tally):
                losses = self._tried(each, losses)
            found.append(losses.astype("<f8").tobytes())
        return found

    def _tried(self, each: Pending, nothing: Any) -> Any:
        with self.store.transaction():
            self.refresh()
            window = Window(-LAST, LAST, None, LAST, True)
            gathered = self.gathered(window)
        if not len(gathered.period):
            return nothing
        models = [self._made(gathered, factor) for factor in self.trials.factors(each.period, gathered.period)]
        return self.trials.losses(models, *labelled_rows(self.plan, each))

    def model(self, since: Any, until: Any, keys: Any, without: Any, window: Any, half_life: Any, as_of: Any) -> Model:
        """The model of a slice."""
        first, last = periods(self.calendar, since, until)
        with self.store.transaction():
            self.refresh()
            bound, known = entry_bound(self.store, as_of), {} if keys is None and without is None else self.keys()
            mask = key_mask(self.store, known, keys, without)
            half = self._length(half_life, "half_life", last, bound)
            length = self._length(window, "window", last, bound)
            newest = last
            if last == LAST and (half != math.inf or length != math.inf):
                newest = self._newest(first, last, mask, bound)
            if length != math.inf:
                first = max(first, newest - math.ceil(length) + 1)
            gathered = self.gathered(Window(first, last, mask, bound, half != math.inf), known.values())
        if not len(gathered.cells.cell):
            raise LedgerError("the slice has no rows: no batch was added for these periods and keys")
        factor = None
        if half != math.inf:
            with np.errstate(over="ignore", under="ignore"):
                factor = np.exp2(-(np.maximum(newest - gathered.period, 0) / half))
            if factor.max() < LEAST:
                raise LedgerError(
                    "nothing is left of the slice after so many half-lives; move until, or give a longer one"
                )
        return self._made(gathered, factor)

    def _newest(self, first: int, last: int, mask: Any, bound: int) -> int:
        """The newest period of a slice."""
        where, values = "period BETWEEN ? AND ? AND +entry <= ?", [first, last, bound]
        for period, key in self.store.scan(
            f"SELECT period, key FROM content WHERE {where} ORDER BY period DESC", values
        ):
            if mask is None or (key < len(mask) and mask[key]):
                return int(period)
        return 0

    def _length(self, given: Any, what: str, last: int, bound: int) -> float:
        """A half-life or window in periods; infinite where there is none."""
        if given is None:
            return math.inf
        if not isinstance(given, str) or given != "auto":
            return self.calendar.length(given, what)
        size = 2 + len(self.trials.half_lives) + len(self.trials.windows)
        rows = self.store.rows("SELECT losses FROM content WHERE period <= ? AND +entry <= ?", (last, bound))
        losses = [blob for (blob,) in rows if isinstance(blob, bytes) and len(blob) == 8 * size]
        summed = np.frombuffer(b"".join(losses), dtype="<f8").reshape(-1, size).sum(axis=0)
        return self.trials.best(summed[1:], what)

    def _made(self, gathered: Gathered, factor: Any) -> Model:
        """The model of the rows of some records."""
        try:
            with sound(self.store.path):
                amounts, centred = total(gathered, factor, self.state.mate)
                totals = self.state.totals(amounts, centred)
                tally = tally_of(totals, self.plan.tally, self.state.names)
                tally.check()
        except SchemaError as error:
            raise ModelFileError(f"{self.store.path} holds counts that do not fit its plan: {error}") from error
        tally = tally.weighted(self.plan.provenance.class_weight)
        place = int(self.state.numbers(address(0, 0, ROWS, np.zeros(1)))[0])
        cells = gathered.cells
        n_rows = int(cells.amount[cells.cell == place].sum())
        digest = digest_of((self.id.encode(), amounts.tobytes(), centred.tobytes())).hex()[:16]
        lineage = Lineage((self.id[:16],), (digest,))
        provenance = self.plan.provenance.plus(n_rows, lineage)
        return replace(self.plan, tally=self.plan.tally + tally, provenance=provenance)

    def forget(self, key: str) -> LedgerReceipt:
        """Take all rows of a key out."""
        try:
            with self.store.transaction(write=True):
                self.refresh()
                known = self.keys()
                if key not in known:
                    refuse_unknown(self.store, known, key)
                receipt = self._forgotten(key, known[key])
        finally:
            self.state.version = -1
        self.store.erase()
        return receipt

    def _forgotten(self, key: str, number: int) -> LedgerReceipt:
        rows = self.store.rows(
            "SELECT content.entry, content.period, entry.rows, entry.digest FROM content JOIN entry ON "
            "entry.number = content.entry WHERE content.key = ? ORDER BY content.entry", (number,)
        )  # fmt: skip
        folded = int(self.store.meta("folded"))
        run = self.store.run
        run("DELETE FROM content WHERE key = ?", (number,))
        run("DELETE FROM key WHERE id = ?", (number,))
        sums = Sums(self.store, self.state.mate)
        sums.forget(number, [period for entry, period, *_ in rows if entry <= folded], folded)
        amounts, centred = total(self.gathered(Window(-LAST, LAST, None, LAST, False)), None, self.state.mate)
        self.state.erase(used_names(self.state.totals(amounts, centred), self.state.names, self.plan.schema))
        chain = Chain(self.store)
        digest = digest_of(part for entry, _, _, each in rows for part in (str(entry).encode(), each))
        entry = chain.append("forget", None, None, key, sum(row[2] for row in rows), digest)
        chain.write()
        return chain.receipt(entry, self.calendar, len(rows))

    def receipts(self, key: str | None) -> list[LedgerReceipt]:
        """The receipts of what was added or forgotten."""
        where, values = ("", ()) if key is None else (" AND key = ?", (key,))
        rows = self.store.rows(
            "SELECT number, time, action, batch, period, key, rows, digest, chain FROM entry WHERE action IN "
            f"('add', 'forget'){where} ORDER BY number", values
        )  # fmt: skip
        found = []
        for *fields, chain in rows:
            entry = Entry(*fields)
            period = None if entry.period is None else self.calendar.name(entry.period)
            found.append(
                LedgerReceipt(
                    entry.number,
                    moment(entry.time),
                    entry.action,
                    entry.key,
                    period,
                    entry.batch,
                    entry.rows,
                    1,
                    entry.digest.hex(),
                    chain.hex(),
                )
            )
        return found

    def overview(self) -> dict[str, Any]:
        """What the ledger holds."""
        with self.store.transaction():
            one = self.store.one
            batches, first, last = one("SELECT count(*), min(period), max(period) FROM content")
            (rows,) = one(
                "SELECT CAST(coalesce(sum(rows), 0) AS BIGINT) FROM entry JOIN content ON entry.number = content.entry"
            )
            number, head = one("SELECT number, chain FROM entry ORDER BY number DESC LIMIT 1")
            (keys,) = one("SELECT count(*) FROM key")
            (forgotten,) = one("SELECT count(*) FROM entry WHERE action = 'forget'")
        name = self.calendar.name
        return {
            "path": self.store.path, "unit": self.calendar.unit, "batches": batches, "rows": rows, "keys": keys,
            "first": None if first is None else name(first), "last": None if last is None else name(last),
            "forgotten": forgotten, "entries": number, "head": head.hex(),
            "target": self.plan.provenance.target, "columns": sum(not c.is_derived for c in self.plan.schema.columns),
        }  # fmt: skip
