"""The database: one writer at a time, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tallybayes.core.summaries import Counts
from tallybayes.errors import DataError, ModelFileError
from tallybayes.mail import database, filter
from tallybayes.mail.identity import Identity
from tallybayes.mail.ledger import SPAM, Item, Ledger, change, opened
from tallybayes.mail.paths import default_path
from tallybayes.storage.lock import LockedError
from tests.storage.test_lock import held

LEARN = """
import sys
from tallybayes.mail.identity import Identity
from tallybayes.mail.ledger import Item, change
path, who = sys.argv[1:]
for n in range(40):
    words = f"all\\nby {who}\\nnumber {n}\\nof {who} number {n}"
    item = Item(Identity(f"{who} {n}".encode(), None), words, n % 2)
    shared = Item(Identity(f"{n}".encode(), None), "shared", n % 2)  # all of them learn this one
    change(path, lambda book: book.learn([item, shared]), wait=300.0)
"""


def learn_one(book: Ledger) -> None:
    book.learn([Item(Identity(b"one", None), "free", SPAM)])


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is such a thing: it is the lock that is tried, not the disk."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as directory:
        yield Path(directory)


def test_eight_processes_learn_messages_at_once_and_all_are_counted(memory: Path) -> None:
    path = memory / "mail.tally"
    writers = [subprocess.Popen([sys.executable, "-c", LEARN, path, str(who)]) for who in range(8)]
    assert [writer.wait() for writer in writers] == [0] * 8
    model = database.read(path)
    assert model.tally.class_weight.tolist() == [180.0, 180.0]
    words, summary = model.schema.columns[0].levels, model.tally.blocks[filter.BLOCK].summary
    assert words is not None
    assert isinstance(summary, Counts)
    assert len(words) == 2 + 8 + 40 + 320
    counted = dict(zip(words, summary.count.sum(axis=0).tolist(), strict=True))
    assert (counted["all"], counted["shared"]) == (320, 40)
    assert {counted[f"by {who}"] for who in range(8)} == {40.0}
    assert {counted[f"of {who} number {n}"] for who in range(8) for n in range(40)} == {1.0}
    with opened(path) as book:
        assert book.remembers_all()


def test_a_locked_database_is_waited_for_and_then_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mail.tally"
    with (
        held(path),
        pytest.raises(LockedError, match=r"another process has held .* for 0.05 seconds; nothing was changed"),
    ):
        change(path, learn_one, wait=0.05)
    assert not path.exists()
    change(path, learn_one, wait=0.05)  # it was given back
    assert path.exists()


def test_a_change_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "mail.tally"
    change(path, learn_one)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not learned"):
        change(path, lambda book: book.unlearn([Item(Identity(b"other", None), "never", SPAM)]))
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mail.tally", "mail.tally.memory"]


def test_a_database_that_is_not_there_or_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no database .* yet; mail train or mail learn makes one"):
        database.read(tmp_path / "mail.tally")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ModelFileError):
        change(tmp_path / "text", learn_one)
    assert (tmp_path / "text").read_text() == "hello"


def test_where_the_database_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TALLYBAYES_MAIL", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == str(tmp_path / ".local/share/tallybayes/mail.tally")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_path() == str(tmp_path / "data/tallybayes/mail.tally")
    monkeypatch.setenv("TALLYBAYES_MAIL", "elsewhere.tally")
    assert default_path() == "elsewhere.tally"
