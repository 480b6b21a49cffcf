"""The file of a ledger: an SQLite database in WAL mode, whose readers are never blocked.

Other modules know a store by its verbs, and write SQL that both SQLite and PostgreSQL (see `postgres`) understand.

Nothing of a file is trusted: its tables must be those that this version makes, to the letter, and what cannot be read
is a ModelFileError.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tallybayes.data.atomic import replacing
from tallybayes.errors import LedgerError, ModelFileError, TallybayesError
from tallybayes.storage.lock import LockedError, locked

APPLICATION = 0x7461_6C6C  # "tall": what kind of database it is
VERSION = 2
WAIT = 60.0  # seconds that a writer waits for another
# What SQLite calls a write that the operating system refused: a quota, a limit of sizes, a broken disk.
UNWRITTEN = ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_SHMSIZE")
CACHE = 128 * 1024  # kilobytes of the file that are kept in memory

TABLES = {
    "meta": "CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID",
    # Names of keys; numbers are never used again.
    "key": "CREATE TABLE key (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE) STRICT",
    # Levels and classes that the plan does not have. A name goes with the last key that had it; its digest stays.
    "level": "CREATE TABLE level (place TEXT NOT NULL, id INTEGER NOT NULL, entry INTEGER NOT NULL, digest BLOB "
    "NOT NULL, salt BLOB, value TEXT, PRIMARY KEY (place, id)) STRICT, WITHOUT ROWID",
    # Addresses of cells, numbered one after another.
    "cell": "CREATE TABLE cell (first INTEGER PRIMARY KEY, entry INTEGER NOT NULL, addresses BLOB NOT NULL) STRICT",
    # Everything that ever happened, chained by hash.
    "entry": "CREATE TABLE entry (number INTEGER PRIMARY KEY, time INTEGER NOT NULL, action TEXT NOT NULL, batch TEXT, "
    "period INTEGER, key TEXT, rows INTEGER NOT NULL, digest BLOB NOT NULL, chain BLOB NOT NULL) STRICT",
    "entry_batch": "CREATE UNIQUE INDEX entry_batch ON entry (batch) WHERE batch IS NOT NULL",
    # What was counted in each batch; it goes when its key is forgotten.
    "content": "CREATE TABLE content (entry INTEGER PRIMARY KEY, period INTEGER NOT NULL, key INTEGER NOT NULL, "
    "salt BLOB NOT NULL, losses BLOB NOT NULL, flags INTEGER NOT NULL, cells BLOB NOT NULL, amounts BLOB NOT NULL, "
    "centred_cells BLOB NOT NULL, centred BLOB NOT NULL) STRICT",
    "content_period": "CREATE INDEX content_period ON content (period)",
    "content_key": "CREATE INDEX content_key ON content (key, period)",
    # Sums of the contents of several periods, for windows; made of the contents, and made again from them at any time.
    "sums": "CREATE TABLE sums (id INTEGER PRIMARY KEY, span INTEGER NOT NULL, start INTEGER NOT NULL, page INTEGER "
    "NOT NULL, last INTEGER NOT NULL, flags INTEGER NOT NULL, owners BLOB NOT NULL, cells BLOB NOT NULL, amounts BLOB "
    "NOT NULL, centred_cells BLOB NOT NULL, centred BLOB NOT NULL) STRICT",
    "sums_place": "CREATE UNIQUE INDEX sums_place ON sums (span, start, page)",
}


class Store:
    """A connection to the file of a ledger."""

    connection: Any

    def __init__(self, path: str | os.PathLike[str], wait: float = WAIT) -> None:
        self.path, self.wait, self.process = os.fspath(path), wait, os.getpid()
        self.connection = self._connected()

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=self.wait, check_same_thread=False)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten, not only unlinked
        connection.execute(f"PRAGMA cache_size = -{CACHE}")
        return connection

    @classmethod
    @contextmanager
    def created(cls, path: str | os.PathLike[str]) -> Iterator[Store]:
        """A new file to be filled; it is there as a whole or not at all, and never in the place of another."""
        with locked(path), replacing(path) as temporary:
            if os.path.lexists(path):
                raise LedgerError(f"{os.fspath(path)} exists already; open it, or give another name")
            store = cls(temporary)
            try:
                with store.transaction(write=True):
                    store._make_tables()
                    yield store
                store.connection.execute("PRAGMA journal_mode = WAL")
            finally:
                store.close()  # which moves all of it into the one file

    def _make_tables(self) -> None:
        """Create the tables; within a transaction."""
        for sql in TABLES.values():
            self.connection.execute(sql)
        self.connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self.connection.execute(f"PRAGMA user_version = {VERSION}")

    @classmethod
    def opened(cls, path: str | os.PathLike[str], wait: float = WAIT) -> Store:
        """The file of a ledger, checked to be one."""
        if not os.path.exists(path):
            raise FileNotFoundError(2, "No such file or directory", os.fspath(path))
        if not os.path.isfile(path):
            raise ModelFileError(f"{os.fspath(path)} is no file")
        with reading(path):
            store = cls(path, wait)
            try:
                store._check()
            except BaseException:
                store.connection.close()
                raise
        return store

    def _check(self) -> None:
        with reading(self.path):
            (kind,), (version,) = (
                self.connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
            )
            if kind != APPLICATION:
                raise ModelFileError(f"{self.path} is no ledger")
            if version != VERSION:
                raise ModelFileError(
                    f"{self.path} is of version {version}, and this tallybayes knows version {VERSION}; update it"
                )
            known = self.connection.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
            found = {name: sql for name, kind, sql in known if not _is_internal(name, kind, sql)}
            if found != TABLES:
                raise ModelFileError(f"{self.path} has other tables than a ledger has")

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """The result of a query."""
        with reading(self.path):
            return self.connection.execute(sql, values).fetchall()

    def scan(self, sql: str, values: Any = ()) -> Iterator[Any]:
        """The rows of a result one by one, where the first ones may be enough."""
        with reading(self.path):
            yield from self.connection.execute(sql, values)

    def run(self, sql: str, values: Any = ()) -> None:
        """Change something."""
        self.connection.execute(sql, values)

    def run_many(self, sql: str, rows: Sequence[Any]) -> None:
        """Change something for each row of values."""
        self.connection.executemany(sql, rows)

    def one(self, sql: str, values: Any = ()) -> Any:
        """The first row of a result, or None."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def meta(self, name: str) -> Any:
        """A value by name."""
        found = self.one("SELECT value FROM meta WHERE name = ?", (name,))
        if found is None:
            raise ModelFileError(f"{self.path} lacks its {name}")
        return found[0]

    def set_meta(self, name: str, value: Any) -> None:
        """Set a value."""
        self.run(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value)
        )

    def damage(self) -> str:
        """What the engine finds wrong with its own file; nothing if it is sound."""
        (found,) = self.one("PRAGMA integrity_check")
        return "" if found == "ok" else str(found)

    def erase(self) -> None:
        """Remove from the log what was deleted."""
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def transaction(self, write: bool = False) -> Iterator[None]:
        """All or nothing; a reader sees one state throughout, whatever others write meanwhile."""
        self.refuse_copies()
        with reading(self.path):
            self.connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                with sound(self.path):
                    yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def refuse_copies(self) -> None:
        """Raise in a copy of the process: it would break the locks of the file, or the talk with the server."""
        if os.getpid() != self.process:
            raise LedgerError(f"{self.path} was opened by another process; open it again in this one")

    def close(self) -> None:
        """Close the file."""
        self.connection.close()


@contextmanager
def sound(path: str | os.PathLike[str], errors: type[Exception] = sqlite3.Error) -> Iterator[None]:
    """What a file holds is of the right types and sizes, or it is damaged; errors of the engine pass."""
    try:
        yield
    except (TallybayesError, errors):
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, MemoryError) as error:
        raise ModelFileError(
            f"{os.fspath(path)} holds what no ledger holds ({type(error).__name__}: {error})"
        ) from error


def _is_internal(name: str, kind: str, sql: str | None) -> bool:
    """Whether SQLite made it by itself."""
    return name == "sqlite_sequence" or (kind == "index" and sql is None and name.startswith("sqlite_autoindex_"))


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the database in the words of this package."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise LockedError(f"another process has held {os.fspath(path)} for too long; nothing was changed") from None
        if "readonly" in str(error) or "unable to open" in str(error):
            raise PermissionError(13, "Permission denied", os.fspath(path)) from None
        if "full" in str(error):
            raise OSError(28, "No space left on device", os.fspath(path)) from None
        if getattr(error, "sqlite_errorname", "") in UNWRITTEN:  # errors of Python's own module have none
            raise OSError(5, "The disk refused what was written; nothing was changed", os.fspath(path)) from None
        raise ModelFileError(f"{os.fspath(path)} cannot be read as a ledger: {error}") from error
    except (sqlite3.DatabaseError, sqlite3.Warning, OverflowError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be read as a ledger: {error}") from error
