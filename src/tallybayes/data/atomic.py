"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str], durable: bool = True) -> Iterator[Path]:
    """Give a temporary file to write to; it takes the place of the file when the block ends well.

    Whatever happens in between (an error, Ctrl-C, a full disk, a power failure), the path holds the old file or the new
    one, whole. The temporary file lies in the same directory, because only there renaming is a single step.

    Parameters
    ----------
    path : path
        The file to be written; a symbolic link stays one.
    durable : bool
        Wait until the file has reached the disk. Not worth it for what can be made again, such as predictions: then
        everything above holds, but after a power failure.

    Yields
    ------
    Path
        The temporary file, which keeps the suffixes of the path.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("done")
    >>> target.read_text()
    'done'
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no directory {target.parent}")
    try:
        handle, name = tempfile.mkstemp(prefix=".writing-", suffix="-" + target.name, dir=target.parent)
    except OSError as error:  # it names the temporary file, which the user does not know
        raise type(error)(error.errno, error.strerror, str(path)) from None
    os.close(handle)
    temporary = Path(name)
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
        temporary.unlink(missing_ok=True)


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
