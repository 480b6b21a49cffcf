"""A ledger in a schema of a PostgreSQL database, for writers on many machines.

The address is ``postgresql://user@host/database#name``: the name is that of the schema, "ledger" by default. Writers
take turns by a lock on a table, which does not block readers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tallybayes.errors import LedgerError, MissingExtraError, ModelFileError
from tallybayes.storage.ledger.store import TABLES, VERSION, WAIT, Store, sound
from tallybayes.storage.lock import LockedError

SCHEMES = ("postgresql://", "postgres://")
# How PostgreSQL says what the tables of SQLite say; the order matters.
WORDS = {
    "INTEGER PRIMARY KEY AUTOINCREMENT": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "sums (id INTEGER PRIMARY KEY": "sums (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "INTEGER": "BIGINT", "BLOB": "BYTEA", "ANY": "BYTEA", ", WITHOUT ROWID": "", " STRICT": "",
}  # fmt: skip


def is_address(path: Any) -> bool:
    """Whether a ledger is in a database rather than in a file."""
    return isinstance(path, str) and path.startswith(SCHEMES)


class PostgresStore(Store):
    """A connection to the schema of a ledger."""

    def __init__(self, path: str | os.PathLike[str], wait: float = WAIT) -> None:
        self.address, _, schema = os.fspath(path).partition("#")
        self.schema = schema or "ledger"
        if '"' in self.schema or "\0" in self.schema:
            raise LedgerError(f"{self.schema!r} cannot be the name of a schema")
        super().__init__(_shown(self.address, self.schema), wait)

    def _connected(self) -> Any:
        psycopg = _psycopg()
        with self._reading():
            connection = psycopg.connect(self.address, autocommit=True, connect_timeout=max(int(self.wait), 2))
            connection.execute("SELECT set_config('search_path', %s, false)", (f'"{self.schema}"',))
            connection.execute("SET synchronous_commit = on")
            return connection

    @classmethod
    @contextmanager
    def created(cls, path: str | os.PathLike[str]) -> Iterator[Store]:
        """A new schema to be filled; it is there as a whole or not at all."""
        store = cls(path)
        try:
            if store.one("SELECT 1 FROM pg_namespace WHERE nspname = ?", (store.schema,)):
                raise LedgerError(f"{store.path} exists already; open it, or give another name")
            with store._reading(), store.connection.transaction():
                store.run(f'CREATE SCHEMA "{store.schema}"')
                for sql in TABLES.values():
                    for word, other in WORDS.items():
                        sql = sql.replace(word, other)
                    store.run(sql)
                store.set_meta("layout", VERSION)
                yield store
        finally:
            store.close()

    @classmethod
    def opened(cls, path: str | os.PathLike[str], wait: float = WAIT) -> Store:
        """The schema of a ledger, checked to be one."""
        store = cls(path, wait)
        try:
            found = store.rows(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = ?", (store.schema,)
            )
            if not {name for (name,) in found} >= {name for name, sql in TABLES.items() if "TABLE" in sql}:
                raise ModelFileError(f"{store.path} is no ledger")
            if store.meta("layout") != VERSION:
                raise ModelFileError(f"{store.path} is of another version; update tallybayes")
        except BaseException:
            store.close()
            raise
        return store

    # -------------------------------------------------------------------------------------------- queries

    def _run(self, sql: str, values: Any = ()) -> Any:
        return self.connection.cursor(binary=True).execute(sql.replace("?", "%b"), values)

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """The result of a query."""
        with self._reading():
            return list(self._run(sql, values).fetchall())

    def scan(self, sql: str, values: Any = ()) -> Iterator[Any]:
        """The rows of a result one by one, where the first ones may be enough."""
        with self._reading(), self.connection.cursor("scan", binary=True) as cursor:
            yield from cursor.execute(sql.replace("?", "%b"), values)

    def run(self, sql: str, values: Any = ()) -> None:
        """Change something."""
        self._run(sql, values)

    def run_many(self, sql: str, rows: Sequence[Any]) -> None:
        """Change something for each row of values."""
        with self.connection.cursor(binary=True) as cursor:
            cursor.executemany(sql.replace("?", "%b"), rows)

    def meta(self, name: str) -> Any:
        """A value by name."""
        kind, value = (found := bytes(super().meta(name)))[:1], found[1:]
        return int(value) if kind == b"i" else value.decode() if kind == b"s" else value

    def set_meta(self, name: str, value: Any) -> None:
        """Set a value."""
        data = value if isinstance(value, bytes) else str(value).encode()
        super().set_meta(name, {bytes: b"b", int: b"i"}.get(type(value), b"s") + data)

    def damage(self) -> str:
        """What the engine finds wrong with its own file: the server looks after that."""
        return ""

    def erase(self) -> None:
        """Remove from the log what was deleted: the server looks after that, too."""

    # -------------------------------------------------------------------------------------------- transactions

    @contextmanager
    def transaction(self, write: bool = False) -> Iterator[None]:
        """All or nothing; a reader sees one state throughout, whatever others write meanwhile."""
        self.refuse_copies()
        with self._reading(), self.connection.transaction():
            if write:
                self.run("SELECT set_config('lock_timeout', ?, true)", (f"{max(int(self.wait * 1000), 1)}ms",))
                self.run("LOCK TABLE entry IN EXCLUSIVE MODE")
            else:
                self.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            with sound(self.path, _psycopg().Error):
                yield

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Errors of the database in the words of this package."""
        psycopg = _psycopg()
        try:
            yield
        except psycopg.errors.LockNotAvailable:
            raise LockedError(f"another process has held {self.path} for too long; nothing was changed") from None
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
            raise PermissionError(13, str(error).splitlines()[0], self.path) from None
        except psycopg.errors.DiskFull:
            raise OSError(28, "No space left on device", self.path) from None
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise LedgerError(f"{self.path} cannot be reached: {str(error).splitlines()[0]}") from None
        except psycopg.Error as error:
            raise ModelFileError(f"{self.path} cannot be read as a ledger: {error}") from error


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("a ledger in PostgreSQL needs psycopg: pip install 'tallybayes[postgres]'") from None
    return psycopg


def _shown(address: str, schema: str) -> str:
    """An address without its password."""
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return f"{parts.scheme}://{name}{'@' if name else ''}{host}{parts.path}#{schema}"
