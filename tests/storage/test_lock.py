"""The lock: one change of a file at a time, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tallybayes
from tallybayes import storage
from tallybayes.data import atomic
from tallybayes.storage import lock
from tallybayes.storage.lock import LockedError, locked

HOLD = """
import sys, time
from tallybayes.storage.lock import locked
from tallybayes.data.atomic import replacing
with locked(sys.argv[1]), replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The lock is held by another thread."""
    taken, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(path):
            taken.set()
            enough.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    try:
        yield
    finally:
        enough.set()
        thread.join()


@contextmanager
def another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock and is in the middle of writing."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def model(n: int = 1) -> tallybayes.GaussianNB:
    return tallybayes.GaussianNB().fit(np.arange(4.0 * n)[:, None], ["a", "b"] * 2 * n)


def test_a_lock_is_waited_for_and_then_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.tally"
    words = r"another process has held .*m.tally for 0.05 seconds; nothing was changed"
    with held(path), pytest.raises(LockedError, match=words), locked(path, wait=0.05):
        pass
    with locked(path, wait=0.05):
        pass
    assert list(tmp_path.iterdir()) == []


def test_whoever_holds_the_lock_may_write(tmp_path: Path) -> None:
    path = tmp_path / "m.tally"
    with locked(path), locked(path, wait=0.0):
        model().save(path)
        assert (tmp_path / "m.tally.lock").exists()
    assert [file.name for file in tmp_path.iterdir()] == ["m.tally"]


def test_a_link_has_the_lock_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "m.tally")
    with held(tmp_path / "m.tally"), pytest.raises(LockedError), locked(tmp_path / "link", wait=0.0):
        pass


def test_saving_waits_for_a_change(tmp_path: Path) -> None:
    path = tmp_path / "m.tally"
    model().save(path)
    with ThreadPoolExecutor(1) as pool, held(path):
        saving = pool.submit(model(2).save, path)
        time.sleep(0.1)
        assert storage.read(path).tally.class_weight.sum() == 4  # readers do not wait
        assert not saving.done()
    saving.result()
    assert storage.read(path).tally.class_weight.sum() == 8


def test_threads_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")

    def add(_: int) -> None:
        with locked(path):
            number = int(path.read_text())
            time.sleep(0.001)
            path.write_text(str(number + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(200)))
    assert path.read_text() == "200"
    assert [file.name for file in tmp_path.iterdir()] == ["count"]


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_killed_process_blocks_nobody_and_its_temporary_file_goes(tmp_path: Path) -> None:
    path = tmp_path / "m.tally"
    with another_process(path) as process:
        with pytest.raises(LockedError), locked(path, wait=0.05):
            pass
        with atomic.replacing(tmp_path / "other") as temporary:  # what is being written stays
            temporary.write_text("done")
        assert len([file for file in tmp_path.iterdir() if file.name.startswith(".writing-")]) == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert len(list(tmp_path.iterdir())) == 3  # the lock, the half of a file and the other
    model().save(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.tally", "other"]


def test_files_of_a_version_without_locks_stay_for_a_day(tmp_path: Path) -> None:
    """A free lock does not show that they are abandoned: somebody may be writing them."""
    old, new = (tmp_path / f".writing-{name}-m.tally" for name in ("abcdefgh", "12345678"))
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (time.time() - 2 * 86_400,) * 2)
    model().save(tmp_path / "m.tally")
    assert sorted(file.name for file in tmp_path.iterdir()) == [new.name, "m.tally"]


def test_without_locks_old_temporary_files_go_and_saving_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: int) -> bool:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(atomic, "try_lock", none)
    monkeypatch.setattr(lock, "try_lock", none)
    old, new, other = (tmp_path / f".writing-{name}-m.tally" for name in ("abcdefgh", "12345678", "no"))
    for path in (old, new, other):
        path.write_text("half")
    two_days_ago = time.time() - 2 * atomic.DAY
    os.utime(old, (two_days_ago, two_days_ago))
    os.utime(other, (two_days_ago, two_days_ago))
    with pytest.warns(UserWarning, match="has no locks .*: of two changes at once, one may be lost"):
        model().save(tmp_path / "m.tally")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([new.name, other.name, "m.tally"])


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cannot be written: there is no directory"):
        model().save(tmp_path / "none" / "m.tally")
