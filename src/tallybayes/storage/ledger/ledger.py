"""A ledger: tallies by period and key, durable, from which the model of any slice is summed."""

from __future__ import annotations

import math
import os
import secrets
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np

from tallybayes.core.lineage import Lineage
from tallybayes.core.merging import warn_of_twins
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.tally import Tally
from tallybayes.errors import LedgerError, ModelFileError, SchemaError
from tallybayes.storage import from_bytes, read, to_bytes
from tallybayes.storage.ledger.cells import ROWS, address, tally_of, used_names
from tallybayes.storage.ledger.chain import Entry, LedgerReceipt, Verification, digest_of, moment
from tallybayes.storage.ledger.counting import Counted, Pending, counted
from tallybayes.storage.ledger.groups import table_groups
from tallybayes.storage.ledger.periods import Calendar, Unit
from tallybayes.storage.ledger.selection import LAST, checked_key, entry_bound, key_mask, periods, refuse_unknown
from tallybayes.storage.ledger.state import State
from tallybayes.storage.ledger.store import WAIT, Store
from tallybayes.storage.ledger.sums import Gathered, Sums, Window, total
from tallybayes.storage.ledger.trials import Trials
from tallybayes.storage.ledger.verification import verified
from tallybayes.storage.ledger.writing import Chain, Writer, checked_batch

FOLD = 4096  # batches that are not in the sums yet
SHARE = 16  # … or this part of all batches, where that is more
GROUP = 500  # batches that an appender writes at a time


class Ledger:
    """A durable store of tallies by period and key over one plan of columns.

    Rows are counted as the model that the ledger was created with reads them: its families, bins, pairs and weights are
    fixed, new levels and classes grow. The ledger keeps counts, not rows; the model of any slice is a sum.

    Make one with `Ledger.create` or `Ledger.open`. Several processes may read and add at the same time.

    Examples
    --------
    >>> import tempfile
    >>> from tallybayes import Ledger, datasets, learn
    >>> model = learn(datasets.tennis(), "play")
    >>> ledger = Ledger.create(os.path.join(tempfile.mkdtemp(), "days.ledger"), model)
    >>> day = {"outlook": ["rainy"], "temperature": ["mild"], "humidity": ["high"], "wind": ["weak"], "play": ["yes"]}
    >>> receipt = ledger.add(day, period="2026-03-03", key="north")
    >>> receipt.rows, receipt.is_new, ledger.add(day, period="2026-03-03", key="north").is_new
    (1, True, False)
    >>> ledger.model(since="2026-03")
    Model(categorical; Tally(1 row; no: 0, yes: 1; 4 columns))
    """

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.RLock()
        with store.transaction():
            self._id = str(store.meta("id"))
            data = store.meta("plan")
            if not isinstance(data, bytes):
                raise ModelFileError(f"{store.path} lacks its plan")
            plan, self._saved = from_bytes(data, store.path)
            self.plan: Model = plan
            self.calendar = Calendar(store.meta("unit"))
            self.trials = Trials.read(store.meta("trials"))
            self._state = State(store, plan.schema)

    # -------------------------------------------------------------------------------------------- opening

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        model: Any,
        *,
        period: Unit = "day",
        half_lives: Any = None,
        windows: Any = None,
    ) -> Self:
        """Create a ledger for rows like those of a model; it has none of the model's rows.

        Parameters
        ----------
        path : path
            A new file.
        model : Model, fitted estimator or path of a model file
            The plan: how rows are read and counted.
        period : {"day", "hour", "week", "month", "step"}
            What is one period; "step" for numbered ones.
        half_lives, windows : "auto" or sequence of float, optional
            Lengths in periods on trial: every batch is predicted before it is counted, and the log losses are kept, so
            that ``half_life="auto"`` and ``window="auto"`` can choose by what did best in the past.

        Returns
        -------
        Ledger

        Raises
        ------
        LedgerError
            If the file exists.
        """
        calendar, trials = Calendar(period), Trials.of(half_lives, windows)
        found = getattr(model, "model_", model)
        plan = read(found) if isinstance(found, (str, os.PathLike)) else found
        if not isinstance(plan, Model):
            raise LedgerError(f"a ledger is created for a model, an estimator or a model file, not a {type(model).__name__}")
        plan.provenance.refuse_guesses("a ledger")
        data = to_bytes(plan.blank())
        with Store.created(path) as store:
            parts = {"id": secrets.token_hex(16), "unit": calendar.unit, "trials": trials.written()}
            for name, value in {**parts, "plan": data, "version": 0, "folded": 0}.items():
                store.set_meta(name, value)
            chain = Chain(store)
            chain.append("create", None, None, None, 0, digest_of((*(v.encode() for v in parts.values()), data)))
            chain.write()
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, wait: float = WAIT) -> Self:
        """Open a ledger.

        Parameters
        ----------
        path : path
        wait : float
            Seconds to wait for another process that writes.

        Returns
        -------
        Ledger

        Raises
        ------
        ModelFileError
            If the file is no ledger, or is damaged.
        """
        store = Store.opened(path, wait)
        try:
            return cls(store)
        except SchemaError as error:
            store.close()
            raise ModelFileError(f"{os.fspath(path)} cannot be read as a ledger: {error}") from error
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        shown = self.overview()
        return f"Ledger({plural(shown['batches'], 'batch')}, {plural(shown['keys'], 'key')}, by {self.calendar.unit})"

    # -------------------------------------------------------------------------------------------- adding

    def add(
        self,
        rows: Any,
        labels: Any = None,
        *,
        period: Any,
        key: str = "all",
        batch_id: str | None = None,
        weight: Any = None,
        unlabelled: str = "error",
    ) -> LedgerReceipt:
        """Count rows and add them as one batch; when this returns, they are on the disk.

        Parameters
        ----------
        rows : table, path or Tally
            A frame, a mapping of columns, a list of mappings, a file, a table of an engine, or a tally of rows that was
            counted elsewhere by this plan (``ledger.plan``).
        labels : array-like or str, optional
            Class labels, or the column that holds them; by default the column that the plan learned.
        period : str, date, datetime or int
            The period of the rows.
        key : str
            Whose rows they are: what can be summed apart and forgotten.
        batch_id : str, optional
            A batch counts once, however often it is added. By default a digest of what was counted, the period and
            the key: give ids where equal rows may come twice.
        weight : array-like or str, optional
            How much each row counts, or the column that holds it.
        unlabelled : {"error", "ignore"}
            What to do with rows without a label.

        Returns
        -------
        LedgerReceipt

        Raises
        ------
        BatchError
            If a batch of this id held other rows.
        """
        each = Pending(rows, labels, weight, self.calendar.one(period), checked_key(key), checked_batch(batch_id), unlabelled)
        return self._added([each])[0]

    def add_by(
        self, rows: Any, *, period: str, key: str | None = None, batch_id: str | None = None
    ) -> list[LedgerReceipt]:
        """Add a table as one batch for each period and key that its rows have, all or none of them.

        Parameters
        ----------
        rows : table or path of a file
        period : str
            The column of periods or dates.
        key : str, optional
            The column of keys.
        batch_id : str, optional
            What the ids of the batches start with; a digest by default, as in `add`.

        Returns
        -------
        list of LedgerReceipt
        """
        return self._added(*table_groups(self.plan, self.calendar, rows, period, key, checked_batch(batch_id)))

    @contextmanager
    def appending(self, every: int = GROUP) -> Iterator[Appender]:
        """Add many small batches in groups, each of which waits for the disk once.

        The appender takes the arguments of `add`. Its ``flush`` writes what has gathered, and so do every so many
        batches and the end of the block; what is in ``receipts`` is on the disk.

        Parameters
        ----------
        every : int
            Batches of a group.
        """
        appender = Appender(self, every)
        yield appender
        appender.flush()

    def _added(self, pending: Sequence[Pending], groups: Sequence[Counted] | None = None) -> list[LedgerReceipt]:
        with self._lock:
            found = list(counted(self.plan, pending)) if groups is None else list(groups)
            for group in found:
                warn_of_twins(self.plan.schema.classes, group.classes)
            if self.trials:
                found = [replace(group, losses=self._losses(group)) for group in found]
            try:
                with self._store.transaction(write=True):
                    self._refresh()
                    writer = Writer(self._store, self._state, self.calendar, self._id)
                    receipts = writer.write(found)
                    self._fold(writer.chain.number)
            except BaseException:
                self._state.version = -1  # levels may be numbered that were not written
                raise
            return [receipts[id(each)] for each in pending]

    def _fold(self, last: int, all_of_it: bool = False) -> None:
        """Take the newest batches into the sums once there are many."""
        folded = int(self._store.meta("folded"))
        if all_of_it or last - folded > max(FOLD, last // SHARE):
            self._store.set_meta("folded", max(Sums(self._store, self._state.mate).fold(folded), folded))

    def compact(self) -> None:
        """Take all batches into the sums now, instead of with later ones."""
        with self._lock, self._store.transaction(write=True):
            self._refresh()
            self._fold(LAST, all_of_it=True)

    def rebuild(self) -> None:
        """Make all sums again from the batches."""
        with self._lock, self._store.transaction(write=True):
            self._refresh()
            self._store.connection.execute("DELETE FROM sums")
            self._store.set_meta("folded", 0)
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
        from tallybayes.storage.ledger.groups import labelled_rows

        with self._store.transaction():
            self._refresh()
            window = Window(-LAST, LAST, None, LAST, True)
            gathered = self._gathered(window)
        if not len(gathered.period):
            return nothing
        models = [self._made(gathered, factor) for factor in self.trials.factors(each.period, gathered.period)]
        return self.trials.losses(models, *labelled_rows(self.plan, each))

    # -------------------------------------------------------------------------------------------- summing

    def _refresh(self) -> None:
        """Read what other processes have added to the levels and cells."""
        if int(self._store.meta("version")) != self._state.version:
            self._state = State(self._store, self.plan.schema)

    def _keys(self) -> dict[str, int]:
        return dict(self._store.rows("SELECT name, id FROM key ORDER BY id"))

    def _gathered(self, window: Window) -> Gathered:
        known = np.array([number for (number,) in self._store.rows("SELECT id FROM key")], dtype=np.int64)
        return Sums(self._store, self._state.mate).gather(window, int(self._store.meta("folded")), known)

    def model(
        self,
        *,
        since: Any = None,
        until: Any = None,
        keys: Any = None,
        without: Any = None,
        window: Any = None,
        half_life: Any = None,
        as_of: Any = None,
    ) -> Model:
        """The model of a slice: equal to that counted from the rows of the slice.

        Parameters
        ----------
        since, until : str, date, datetime or int, optional
            The first and the last period, both included; a month or a year means all of it.
        keys, without : str or collection of str, optional
            Only these keys; all but these. ``*`` stands for any characters: ``"north/*"``.
        window : number, timedelta or "auto", optional
            Only so many periods up to ``until``, or to the newest of the slice.
        half_life : number, timedelta or "auto", optional
            Rows count half after so many periods, and full in the last one. "auto" is the one on trial that predicted
            best; see `create`.
        as_of : date, datetime, int or LedgerReceipt, optional
            As the ledger was at that time, or at that entry. What was forgotten since stays forgotten.

        Returns
        -------
        Model

        Raises
        ------
        LedgerError
            If the slice has no rows, or a key is unknown.
        """
        first, last = periods(self.calendar, since, until)
        with self._lock, self._store.transaction():
            self._refresh()
            bound, mask = entry_bound(self._store, as_of), key_mask(self._store, self._keys(), keys, without)
            half = self._length(half_life, "half_life", last, bound)
            length = self._length(window, "window", last, bound)
            newest = last
            if last == LAST and (half != math.inf or length != math.inf):
                newest = self._newest(first, last, mask, bound)
            if length != math.inf:
                first = max(first, newest - math.ceil(length) + 1)
            gathered = self._gathered(Window(first, last, mask, bound, half != math.inf))
        factor = None if half == math.inf else np.exp2(-np.maximum(newest - gathered.period, 0) / half)
        if not len(gathered.cells.cell):
            raise LedgerError("the slice has no rows: no batch was added for these periods and keys")
        return self._made(gathered, factor)

    def _newest(self, first: int, last: int, mask: Any, bound: int) -> int:
        """The newest period of a slice."""
        where, values = "period BETWEEN ? AND ? AND +entry <= ?", [first, last, bound]
        for period, key in self._store.connection.execute(
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
        rows = self._store.rows("SELECT losses FROM content WHERE period <= ? AND +entry <= ?", (last, bound))
        losses = [blob for (blob,) in rows if isinstance(blob, bytes) and len(blob) == 8 * size]
        summed = np.frombuffer(b"".join(losses), dtype="<f8").reshape(-1, size).sum(axis=0)
        return self.trials.best(summed[1:], what)

    def _made(self, gathered: Gathered, factor: Any) -> Model:
        """The model of the rows of some records."""
        amounts, centred = total(gathered, factor, self._state.mate)
        totals = self._state.totals(amounts, centred)
        try:
            tally = tally_of(totals, self.plan.tally, self._state.names)
            tally.check()
        except SchemaError as error:
            raise ModelFileError(f"{self._store.path} holds counts that do not fit its plan: {error}") from error
        tally = tally.weighted(self.plan.provenance.class_weight)
        place = int(self._state.numbers(address(0, 0, ROWS, np.zeros(1)))[0])
        cells = gathered.cells
        n_rows = int(cells.amount[cells.cell == place].sum())
        digest = digest_of((self._id.encode(), amounts.tobytes(), centred.tobytes())).hex()[:16]
        lineage = Lineage((self._id[:16],), (digest,))
        provenance = self.plan.provenance.plus(n_rows, lineage)
        return replace(self.plan, tally=self.plan.tally + tally, provenance=provenance)

    # -------------------------------------------------------------------------------------------- forgetting

    def forget(self, key: str) -> LedgerReceipt:
        """Take all rows of a key out, as if they had never been added.

        Their counts are overwritten in the file, and so are the names of classes and levels that no other row has. The
        receipt, the key's name and the digests of its batches stay in the chain.

        Parameters
        ----------
        key : str

        Returns
        -------
        LedgerReceipt

        Raises
        ------
        UnknownKeyError
            If no rows were added under this key.
        ForgottenError
            If it was forgotten before.
        """
        with self._lock:
            with self._store.transaction(write=True):
                self._refresh()
                known = self._keys()
                if key not in known:
                    refuse_unknown(self._store, known, key)
                receipt = self._forgotten(key, known[key])
            self._store.rows("PRAGMA wal_checkpoint(TRUNCATE)")  # the log would keep what was there
            self._state.version = -1
        return receipt

    def _forgotten(self, key: str, number: int) -> LedgerReceipt:
        rows = self._store.rows(
            "SELECT content.entry, content.period, entry.rows, entry.digest FROM content JOIN entry ON "
            "entry.number = content.entry WHERE content.key = ? ORDER BY content.entry", (number,)
        )  # fmt: skip
        folded = int(self._store.meta("folded"))
        run = self._store.connection.execute
        run("DELETE FROM content WHERE key = ?", (number,))
        run("DELETE FROM key WHERE id = ?", (number,))
        sums = Sums(self._store, self._state.mate)
        sums.forget(number, [period for entry, period, *_ in rows if entry <= folded], folded)
        amounts, centred = total(self._gathered(Window(-LAST, LAST, None, LAST, False)), None, self._state.mate)
        self._state.erase(used_names(self._state.totals(amounts, centred), self._state.names, self.plan.schema))
        chain = Chain(self._store)
        digest = digest_of(part for entry, _, _, each in rows for part in (str(entry).encode(), each))
        entry = chain.append("forget", None, None, key, sum(row[2] for row in rows), digest)
        chain.write()
        return chain.receipt(entry, self.calendar, len(rows))

    # -------------------------------------------------------------------------------------------- looking

    def verify(self, receipt: LedgerReceipt | Mapping[str, Any] | str | None = None) -> Verification:
        """Recompute the chain, the digests of all batches and the sums; nothing is changed.

        Parameters
        ----------
        receipt : LedgerReceipt, mapping or str, optional
            A receipt, or its ``chain``, noted down earlier: an entry of the chain has to have it.

        Returns
        -------
        Verification
        """
        with self._lock, self._store.transaction():
            self._refresh()
            return verified(self._store, self._state, self.calendar, receipt)

    def keys(self) -> list[str]:
        """The keys that have rows."""
        with self._lock:
            return sorted(self._keys())

    def receipts(self, key: str | None = None) -> list[LedgerReceipt]:
        """The receipts of everything that was added or forgotten, or of one key, in their order."""
        where, values = ("", ()) if key is None else (" AND key = ?", (key,))
        rows = self._store.rows(
            "SELECT number, time, action, batch, period, key, rows, digest, chain FROM entry WHERE action IN "
            f"('add', 'forget'){where} ORDER BY number", values
        )  # fmt: skip
        found = []
        for *fields, chain in rows:
            entry = Entry(*fields)
            period = None if entry.period is None else self.calendar.name(entry.period)
            found.append(
                LedgerReceipt(
                    entry.number, moment(entry.time), entry.action, entry.key, period, entry.batch, entry.rows, 1,
                    entry.digest.hex(), chain.hex(),
                )  # fmt: skip
            )
        return found

    def overview(self) -> dict[str, Any]:
        """What the ledger holds, as plain values."""
        with self._lock, self._store.transaction():
            one = self._store.one
            batches, first, last = one("SELECT count(*), min(period), max(period) FROM content")
            (rows,) = one("SELECT coalesce(sum(rows), 0) FROM entry WHERE number IN (SELECT entry FROM content)")
            number, head = one("SELECT number, chain FROM entry ORDER BY number DESC LIMIT 1")
            (keys,) = one("SELECT count(*) FROM key")
            (forgotten,) = one("SELECT count(*) FROM entry WHERE action = 'forget'")
        name = self.calendar.name
        return {
            "path": self._store.path, "unit": self.calendar.unit, "batches": batches, "rows": rows, "keys": keys,
            "first": None if first is None else name(first), "last": None if last is None else name(last),
            "forgotten": forgotten, "entries": number, "head": head.hex(),
            "target": self.plan.provenance.target, "columns": sum(not c.is_derived for c in self.plan.schema.columns),
        }  # fmt: skip


class Appender:
    """Gathers batches for a ledger and writes them in groups."""

    def __init__(self, ledger: Ledger, every: int) -> None:
        self.ledger, self.every = ledger, max(int(every), 1)
        self.receipts: list[LedgerReceipt] = []
        self._pending: list[Pending] = []

    def __call__(
        self,
        rows: Any,
        labels: Any = None,
        *,
        period: Any,
        key: str = "all",
        batch_id: str | None = None,
        weight: Any = None,
        unlabelled: str = "error",
    ) -> None:
        """Add a batch to the group."""
        number = self.ledger.calendar.one(period)
        each = Pending(rows, labels, weight, number, checked_key(key), checked_batch(batch_id), unlabelled)
        self._pending.append(each)
        if len(self._pending) >= self.every:
            self.flush()

    def flush(self) -> None:
        """Write what has gathered; when this returns, it is on the disk."""
        pending, self._pending = self._pending, []
        if pending:
            self.receipts += self.ledger._added(pending)
