"""What a filter has learned, message by message: an SQLite database beside the model file.

The model is counts, and counts do not know which messages they are of. The memory does: for each message its key, its
class and the digests of its tokens, so that it counts once, is corrected when it moves, and is taken back exactly.

Two files cannot be replaced in one step. So a change is written down here first, together with the state that the model
will be in (`Lineage.states`); then the model is replaced; then the change is carried out here. Whoever opens the memory
next and finds a change written down looks at the model: it is in that state, or has been, and the change is carried
out, or it has not, and the change is dropped. All of it happens under the lock of the model file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import NamedTuple

from tallybayes.errors import ModelFileError

SUFFIX = ".memory"
FORMAT = 1
MANY = 500  # changes after which the file is made compact
AT_ONCE = 500  # keys in one query
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE message (
    key BLOB PRIMARY KEY, label INTEGER NOT NULL, time INTEGER NOT NULL, automatic INTEGER NOT NULL, tokens BLOB
);
CREATE TABLE change (
    key BLOB PRIMARY KEY, label INTEGER, time INTEGER, automatic INTEGER, tokens BLOB
);
CREATE TABLE file (name TEXT PRIMARY KEY, label INTEGER NOT NULL) WITHOUT ROWID;
"""


class Remembered(NamedTuple):
    """A message that was learned."""

    key: bytes
    label: int | None  # 0 ham, 1 spam; None where it is to be forgotten
    time: int  # when it arrived, in seconds since 1970
    automatic: bool  # learned by the filter's own verdict, not by that of a person
    tokens: bytes | None  # digests of eight bytes, in order; None where it was taken back because of its age

    @property
    def is_counted(self) -> bool:
        """Whether the model has it."""
        return self.tokens is not None


def memory_path(path: str | os.PathLike[str]) -> str:
    """The memory that belongs to a model file."""
    return os.path.realpath(path) + SUFFIX


class Memory:
    """The messages of one filter; opened while the lock of its model file is held."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self.connection, self.path = connection, path

    @classmethod
    @contextmanager
    def opened(cls, model_path: str | os.PathLike[str], states: Sequence[str]) -> Iterator[Memory]:
        """Open the memory of a model that has been in these states, and settle what an interrupted change left.

        Raises
        ------
        ModelFileError
            If the memory is damaged, or of another model: of a newer copy of the file, for example.
        """
        path = memory_path(model_path)
        _create(path, model_path)
        try:
            with closing(sqlite3.connect(path, isolation_level=None, timeout=5.0)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                memory = cls(connection, path)
                memory._settle(states)
                yield memory
        except sqlite3.DatabaseError as error:
            raise ModelFileError(
                f"{path} cannot be used ({error}); without it the filter works, but does not know which messages it "
                "has learned: remove it, or pass --no-memory"
            ) from error

    # ------------------------------------------------------------------------------------------ questions

    def find(self, keys: Collection[bytes]) -> dict[bytes, Remembered]:
        """The messages with these keys that are remembered."""
        found, wanted = dict[bytes, Remembered](), list(keys)
        for first in range(0, len(wanted), AT_ONCE):
            some = wanted[first : first + AT_ONCE]
            query = f"SELECT * FROM message WHERE key IN ({','.join('?' * len(some))})"
            found |= {row[0]: _remembered(row) for row in self.connection.execute(query, some)}
        return found

    def counted(self, before: float | None = None, by_people: bool = False) -> list[Remembered]:
        """The messages that the model has: all, those that are older, those that people labelled."""
        query = "SELECT * FROM message WHERE tokens IS NOT NULL"
        query += " AND automatic = 0" if by_people else ""
        query += " AND time < ?" if before is not None else ""
        return [_remembered(row) for row in self.connection.execute(query, () if before is None else (before,))]

    def count(self) -> tuple[int, int]:
        """How many messages of ham and of spam the model has that are remembered."""
        query = "SELECT label, COUNT(*) FROM message WHERE tokens IS NOT NULL GROUP BY label"
        found = dict(self.connection.execute(query).fetchall())
        return found.get(0, 0), found.get(1, 0)

    def known_files(self, label: int) -> set[str]:
        """Names of the files whose messages were learned as a class, or taken back because of their age."""
        return {name for (name,) in self.connection.execute("SELECT name FROM file WHERE label = ?", (label,))}

    # ------------------------------------------------------------------------------------------ changes

    def prepare(self, changes: Iterable[Remembered], state: str) -> None:
        """Write down what is to be changed once the model is in a state."""
        with self._transaction():
            self.connection.execute("DELETE FROM change")
            self.connection.executemany("INSERT INTO change VALUES (?, ?, ?, ?, ?)", changes)
            self._set("next", state)

    def finish(self) -> None:
        """Carry out what was written down."""
        (n_changes,) = self.connection.execute("SELECT COUNT(*) FROM change").fetchone()
        with self._transaction():
            self.connection.execute("DELETE FROM message WHERE key IN (SELECT key FROM change)")
            self.connection.execute("INSERT INTO message SELECT * FROM change WHERE label IS NOT NULL")
            self.connection.execute("DELETE FROM change")
            self._set("state", self._get("next"))
            self._set("next", "")
        if n_changes > MANY:
            self.connection.execute("VACUUM")

    def note_files(self, names: Iterable[tuple[str, int]]) -> None:
        """Remember that the messages of files are known; if this is lost, they are read again."""
        with self._transaction():
            self.connection.executemany("INSERT OR REPLACE INTO file VALUES (?, ?)", names)

    def _settle(self, states: Sequence[str]) -> None:
        (found,) = self.connection.execute("PRAGMA user_version").fetchone()
        if found == 0:
            with self._transaction():
                for statement in filter(str.strip, SCHEMA.split(";")):
                    self.connection.execute(statement)
                self.connection.execute(f"PRAGMA user_version = {FORMAT}")
        elif found != FORMAT:
            raise ModelFileError(f"{self.path} has the format {found}, and this tallybayes knows {FORMAT}; update it")
        if after := self._get("next"):
            if after in states:
                self.finish()
            else:
                with self._transaction():
                    self.connection.execute("DELETE FROM change")
                    self._set("next", "")
        state = self._get("state")
        if state and state not in states:
            raise ModelFileError(
                f"{self.path} remembers messages of another state of the filter than its file has, as after restoring "
                "one of the two from a copy: restore the other too, or remove the memory"
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def _get(self, name: str) -> str:
        row = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return "" if row is None else str(row[0])

    def _set(self, name: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def _remembered(row: tuple[bytes, int, int, int, bytes | None]) -> Remembered:
    key, label, time, automatic, tokens = row
    return Remembered(key, label, time, bool(automatic), tokens)


def _create(path: str, model_path: str | os.PathLike[str]) -> None:
    """Make the file for those who may change the model, and nobody else: it shows who wrote, and when."""
    with suppress(FileExistsError):
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600)
        with suppress(FileNotFoundError):
            if os.stat(model_path).st_mode & 0o020:  # a group shares the filter
                os.chmod(path, 0o660)
        os.close(handle)
