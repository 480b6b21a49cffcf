"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tallybayes.data.streams import is_stream, passing_on

PREFIX = ".writing-locked-"  # earlier versions had no such word, and no lock that shows whether somebody is writing
LEFT = re.compile(r"\.writing-(locked-)?\w{8}-.+")  # names of temporary files
DAY = 86_400.0  # seconds
BUSY = {errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK}


@contextmanager
def replacing(path: str | os.PathLike[str], durable: bool = True) -> Iterator[Path]:
    """Give a temporary file to write to; it takes the place of the file when the block ends well.

    Whatever happens in between (an error, Ctrl-C, a full disk, a power failure), the path holds the old file or the new
    one, whole. The temporary file lies in the same directory, because only there renaming is a single step.

    Parameters
    ----------
    path : path
        The file to be written; a symbolic link stays one. A device, a pipe or "-", the standard output, is never
        replaced: what is written goes there at once.
    durable : bool
        Wait until the file has reached the disk. Not worth it for what can be made again, such as predictions: then
        everything above holds, but after a power failure.

    Yields
    ------
    Path
        The temporary file, which keeps the suffixes of the path, or a pipe.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("done")
    >>> target.read_text()
    'done'
    """
    if is_stream(path):
        with passing_on(path) as pipe:
            yield pipe
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no directory {target.parent}")
    try:
        _remove_abandoned(target.parent)
        handle, temporary = _temporary(target)
    except OSError as error:  # it names the temporary file, which the user does not know
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        yield temporary
        os.chmod(temporary, _mode(target))
        if durable:
            _to_disk(temporary)
        os.replace(temporary, target)
        with suppress(OSError):  # some systems cannot open a directory; the file itself is safe by now
            if durable:
                _to_disk(target.parent)
    finally:
        release(handle)
        temporary.unlink(missing_ok=True)


def try_lock(handle: int) -> bool:
    """Try to lock an open file for this process alone; return whether it was free.

    Raises
    ------
    OSError
        If the file system has no locks.
    """
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in BUSY:
            return False
        raise
    return True


def release(handle: int) -> None:
    """Close a file and give its lock back, even if a child process still has the file open."""
    with suppress(OSError, ImportError):
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def is_at(handle: int, path: Path) -> bool:
    """Whether an open file still has that name: somebody else may have removed it before it was locked."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _temporary(target: Path) -> tuple[int, Path]:
    """A new file beside the target. Its lock shows that it is being written; Windows would refuse the writing."""
    while True:
        handle, name = tempfile.mkstemp(prefix=PREFIX, suffix="-" + target.name, dir=target.parent)
        if os.name == "nt":
            return handle, Path(name)
        with suppress(OSError):
            if not try_lock(handle) or not is_at(handle, Path(name)):  # taken for an abandoned one
                os.close(handle)
                continue
        return handle, Path(name)


def _remove_abandoned(directory: Path) -> None:
    """Remove the temporary files of processes that were killed: those whose lock is free, or that are a day old."""
    with suppress(OSError):
        for path in [entry for entry in directory.iterdir() if LEFT.fullmatch(entry.name)]:
            with suppress(OSError):
                handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                try:
                    if _is_abandoned(handle, path.name.startswith(PREFIX)):
                        path.unlink()
                finally:
                    os.close(handle)


def _is_abandoned(handle: int, is_lockable: bool) -> bool:
    """Whether nobody holds the lock of a file; where there are no locks, whether it is a day old."""
    with suppress(OSError):
        if os.name != "nt" and is_lockable:
            return try_lock(handle)
    return time.time() - os.fstat(handle).st_mtime > DAY


def _to_disk(path: Path) -> None:
    """Wait until the file, or the list of names of a directory, has reached the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those that any new file would have."""
    if target.exists():
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
