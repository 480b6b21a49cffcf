"""A ledger: tallies by period and key, durable, from which the model of any slice is summed."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.errors import LedgerError, ModelFileError, SchemaError
from tallybayes.storage import read, to_bytes
from tallybayes.storage.ledger.chain import LedgerReceipt, Verification, digest_of
from tallybayes.storage.ledger.core import Core
from tallybayes.storage.ledger.counting import Pending
from tallybayes.storage.ledger.groups import table_groups
from tallybayes.storage.ledger.periods import Calendar, Unit
from tallybayes.storage.ledger.postgres import PostgresStore, is_address
from tallybayes.storage.ledger.selection import checked_key
from tallybayes.storage.ledger.store import WAIT, Store
from tallybayes.storage.ledger.trials import Trials
from tallybayes.storage.ledger.verification import Progress, verified
from tallybayes.storage.ledger.writing import Chain, checked_batch

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

    def __init__(self, core: Core) -> None:
        self._core, self._lock = core, threading.RLock()

    @property
    def plan(self) -> Model:
        """The model that reads rows as the ledger counts them, without rows: others can count for the ledger by it."""
        return self._core.plan

    @property
    def calendar(self) -> Calendar:
        """What one period is."""
        return self._core.calendar

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
        path : path or str
            A new file; or ``postgresql://user@host/database#name``, a new schema of a PostgreSQL database.
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
            raise LedgerError(
                f"a ledger is created for a model, an estimator or a model file, not a {type(model).__name__}"
            )
        plan.provenance.refuse_guesses("a ledger")
        data = to_bytes(plan.blank())
        with _store(path).created(path) as store:
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
        path : path or str
            A file, or the address of a schema of PostgreSQL.
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
        store = _store(path).opened(path, wait)
        try:
            return cls(Core(store))
        except SchemaError as error:
            store.close()
            raise ModelFileError(f"{store.path} cannot be read as a ledger: {error}") from error
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._core.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        shown = self.overview()
        batches = f"{shown['batches']:,} batch{'' if shown['batches'] == 1 else 'es'}"
        return f"Ledger({batches}, {plural(shown['keys'], 'key')}, by {self.calendar.unit})"

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
        each = Pending(
            rows, labels, weight, self.calendar.one(period), checked_key(key), checked_batch(batch_id), unlabelled
        )
        with self._lock:
            return self._core.add([each])[0]

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
        with self._lock:
            return self._core.add(*table_groups(self.plan, self.calendar, rows, period, key, checked_batch(batch_id)))

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

    def compact(self) -> None:
        """Take all batches into the sums now, instead of with later ones."""
        with self._lock:
            self._core.fold_all()

    def rebuild(self) -> None:
        """Make all sums again from the batches."""
        with self._lock:
            self._core.fold_all(anew=True)

    # -------------------------------------------------------------------------------------------- summing

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
        with self._lock:
            return self._core.model(since, until, keys, without, window, half_life, as_of)

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
            return self._core.forget(key)

    # -------------------------------------------------------------------------------------------- looking

    def verify(
        self, receipt: LedgerReceipt | Mapping[str, Any] | str | None = None, progress: Progress | None = None
    ) -> Verification:
        """Recompute the chain, the digests of all batches and the sums; nothing is changed.

        Parameters
        ----------
        receipt : LedgerReceipt, mapping or str, optional
            A receipt, or its ``chain``, noted down earlier: an entry of the chain has to have it.
        progress : callable, optional
            Called with the name of each check and the share of it that is done, or None where that is not known.

        Returns
        -------
        Verification
        """
        with self._lock, self._core.store.transaction():
            self._core.refresh()
            return verified(self._core.store, self._core.state, receipt, progress)

    def keys(self) -> list[str]:
        """The keys that have rows."""
        with self._lock:
            return sorted(self._core.keys())

    def receipts(self, key: str | None = None) -> list[LedgerReceipt]:
        """The receipts of everything that was added or forgotten, or of one key, in their order."""
        with self._lock:
            return self._core.receipts(key)

    def overview(self) -> dict[str, Any]:
        """What the ledger holds, as plain values."""
        with self._lock:
            return self._core.overview()


def _store(path: Any) -> type[Store]:
    return PostgresStore if is_address(path) else Store


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
        number, key, batch = self.ledger.calendar.one(period), checked_key(key), checked_batch(batch_id)
        self._pending.append(Pending(rows, labels, weight, number, key, batch, unlabelled))
        if len(self._pending) >= self.every:
            self.flush()

    def flush(self) -> None:
        """Write what has gathered; when this returns, it is on the disk."""
        pending, self._pending = self._pending, []
        if pending:
            with self.ledger._lock:
                self.receipts += self.ledger._core.add(pending)
