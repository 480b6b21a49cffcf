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
from tallybayes.storage.lock import LockedError
from tests.storage.test_lock import held

LEARN = """
import sys
from tallybayes.mail import database, filter
path, who = sys.argv[1:]
for n in range(200):
    words = f"all\\nby {who}\\nnumber {n}\\nof {who} number {n}"
    database.update(path, lambda model: filter.learn(model, [words], "spam" if n % 2 else "ham"), wait=300.0)
"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is such a thing: it is the lock that is tried, not the disk."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as directory:
        yield Path(directory)


def test_eight_processes_learn_200_messages_each_and_all_are_counted(memory: Path) -> None:
    path = memory / "mail.tally"
    writers = [subprocess.Popen([sys.executable, "-c", LEARN, path, str(who)]) for who in range(8)]
    assert [writer.wait() for writer in writers] == [0] * 8
    model = database.read(path)
    assert model.tally.class_weight.tolist() == [800.0, 800.0]
    words, summary = model.schema.columns[0].levels, model.tally.blocks[filter.BLOCK].summary
    assert words is not None
    assert isinstance(summary, Counts)
    assert len(words) == 1 + 8 + 200 + 1600
    counted = dict(zip(words, summary.count.sum(axis=0).tolist(), strict=True))
    assert counted["all"] == 1600
    assert {counted[f"by {who}"] for who in range(8)} == {200.0}
    assert {counted[f"of {who} number {n}"] for who in range(8) for n in range(200)} == {1.0}


def test_a_locked_database_is_waited_for_and_then_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mail.tally"
    with (
        held(path),
        pytest.raises(LockedError, match=r"another process has held .* for 0.05 seconds; nothing was changed"),
    ):
        database.update(path, lambda model: model, wait=0.05)
    assert not path.exists()
    database.update(path, lambda model: model, wait=0.05)  # it was given back
    assert path.exists()


def test_a_change_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "mail.tally"
    database.update(path, lambda model: filter.learn(model, ["free"], "spam"))
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not learned"):
        database.update(path, lambda model: filter.unlearn(model, ["never"], "spam"))
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mail.tally"]


def test_a_database_that_is_not_there_or_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no database .* yet; mail train or mail learn makes one"):
        database.read(tmp_path / "mail.tally")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ModelFileError):
        database.update(tmp_path / "text", lambda model: model)
    assert (tmp_path / "text").read_text() == "hello"


def test_where_the_database_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TALLYBAYES_MAIL", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert database.default_path() == tmp_path / ".local/share/tallybayes/mail.tally"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert database.default_path() == tmp_path / "data/tallybayes/mail.tally"
    monkeypatch.setenv("TALLYBAYES_MAIL", "elsewhere.tally")
    assert database.default_path() == Path("elsewhere.tally")
