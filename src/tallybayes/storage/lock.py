"""The lock of a model file: one process changes it at a time.

Readers need no lock, since a file is replaced as a whole. Whoever reads a file to change it holds the lock from before
reading until the file is written, so that two changes at once lose nothing. The operating system releases the lock with
the process, however that ends.
"""

from __future__ import annotations

import os
import random
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tallybayes.data.atomic import is_at, release, try_lock
from tallybayes.data.streams import is_stream
from tallybayes.errors import TallybayesError

WAIT = 30.0  # seconds that a lock is waited for
PAUSE = 0.01  # seconds between two tries, on average
_held = threading.local()  # the files whose lock this thread holds: it may write what it has locked


class LockedError(TallybayesError):
    """Another process has held the lock of a file for too long; nothing was changed."""


@contextmanager
def locked(path: str | os.PathLike[str], wait: float = WAIT) -> Iterator[None]:
    """Hold the lock of a model file; others that want to change it wait.

    The lock lies in a file beside the model, of the same name with ``.lock`` added, which is removed at the end.

    Parameters
    ----------
    path : path
        A file that need not exist. A device or a pipe has no lock.
    wait : float
        Seconds to wait for the lock.

    Raises
    ------
    LockedError
        If another process holds the lock for longer.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "loans.tally"
    >>> with locked(path):
    ...     sorted(file.name for file in path.parent.iterdir())
    ['loans.tally.lock']
    """
    target, mine = os.path.realpath(path), vars(_held).setdefault("paths", set())
    if target in mine or is_stream(path):
        yield
        return
    lock = Path(f"{target}.lock")
    handle = _taken(lock, path, wait)
    mine.add(target)
    try:
        yield
    finally:
        mine.discard(target)
        if os.name != "nt":  # while it is held: whoever waits for it finds it gone, and makes another
            lock.unlink(missing_ok=True)
        release(handle)
        if os.name == "nt":
            with suppress(OSError):  # somebody else has opened it
                lock.unlink()


def _taken(lock: Path, path: str | os.PathLike[str], wait: float) -> int:
    """The handle of the lock, once it is ours."""
    until = time.monotonic() + wait
    while True:
        handle = _opened(lock, path)
        if _try_lock(handle, path) and (os.name == "nt" or is_at(handle, lock)):
            return handle
        os.close(handle)
        if time.monotonic() >= until:
            raise LockedError(
                f"another process has held {os.fspath(path)} for {wait:g} seconds; nothing was changed: try again, or "
                "wait longer with --wait"
            )
        time.sleep(PAUSE * (0.5 + random.random()))  # not in step with the others


def _opened(lock: Path, path: str | os.PathLike[str]) -> int:
    flags = os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        try:
            return os.open(lock, flags | os.O_RDWR, 0o666)
        except PermissionError:  # that of another user
            return os.open(lock, flags | os.O_RDONLY, 0o666)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} cannot be written: there is no directory {lock.parent}") from None
    except OSError as error:  # it names the lock, which the user does not know
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def _try_lock(handle: int, path: str | os.PathLike[str]) -> bool:
    try:
        return try_lock(handle)
    except OSError as error:
        message = (
            f"the file system of {os.fspath(path)} has no locks ({error.strerror}): of two changes at once, one may"
        )
        warnings.warn(f"{message} be lost", stacklevel=2)
        return True
