"""Where messages are stored: single files, directories of files (MH, one file a message), Maildirs and mbox files."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tallybayes.errors import DataError

# The first line of a message is a header, or the envelope line of an mbox.
MESSAGE = re.compile(rb"[\r\n]*(?:>?From |[!-9;-~]{1,76}[ \t]*:)")
# A new message in an mbox: after an empty line "From", an address and a time, and then a header. Texts have lines that
# begin with "From", too, and not every program that writes an mbox marks them.
NEXT = re.compile(rb"\n\r?\n(?=From [^\r\n]*\d\d:\d\d[^\r\n]*\r?\n(?:[!-9;-~]{1,76}[ \t]*:|>From ))")
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")  # gzip, bzip2, xz, zip, zstd
BEGINNING = 1 << 16  # bytes that the type of a file is recognised by; of most files, all

Note = Callable[[str], None]


class Place(NamedTuple):
    """A message in a file: all of it, or one of those in an mbox."""

    path: str
    number: int | None = None  # of the message in its mbox, from 1
    first: int = 0
    last: int | None = None

    def __str__(self) -> str:
        return self.path if self.number is None else f"{self.path}#{self.number}"

    def read(self) -> bytes:
        """The bytes of the message."""
        with open(self.path, "rb") as file:
            file.seek(self.first)
            return file.read(-1 if self.last is None else self.last - self.first)


class Loose(NamedTuple):
    """A message that is not in a file."""

    name: str
    raw: bytes

    def __str__(self) -> str:
        return self.name

    def read(self) -> bytes:
        """The bytes of the message."""
        return self.raw


def file_name(message: Place | Loose) -> str | None:
    """A name for a message in a file of its own that changes with its content; None where there is none.

    The name of a file in a Maildir is unique and stays when flags are added behind its colon. Other files are known by
    their size and the time of their last change.
    """
    if not isinstance(message, Place) or message.number is not None:
        return None
    directory, name = os.path.split(os.path.abspath(message.path))
    if os.path.basename(directory) in ("cur", "new") and "." in name:
        return f"maildir:{name.partition(':')[0]}"
    try:
        found = os.stat(message.path)
    except OSError:
        return None
    return f"{message.path}:{found.st_size}:{found.st_mtime_ns}"


def split(data: bytes) -> list[bytes]:
    """The messages of an mbox; a message alone is one, whatever it looks like.

    Examples
    --------
    >>> box = b"From a Mon Nov 16 03:00 2026\\nTo: b\\n\\none\\n\\nFrom b Mon Nov 16 04:00 2026\\nTo: a\\n\\ntwo\\n"
    >>> [message[-5:] for message in split(box)]
    [b'one\\n\\n', b'\\ntwo\\n']
    """
    starts = _starts(data) if data.startswith(b"From ") else [0]
    return [data[first:last] for first, last in zip(starts, [*starts[1:], None], strict=True)]


def _starts(data: bytes | mmap.mmap) -> list[int]:
    if data.find(b"\nFrom ") < 0:  # much faster than the pattern
        return [0]
    return [0, *(match.end() for match in NEXT.finditer(data))]


def places(paths: Iterable[str | os.PathLike[str]], note: Note = lambda text: None) -> list[Place]:
    """The messages of files and directories.

    Parameters
    ----------
    paths : iterable of path
        A file is a message or an mbox. Of a Maildir its ``cur`` and ``new`` are read, of any other directory all files
        in it and below it, in the order of their names; hidden ones are skipped.
    note : callable, optional
        Called with a text for each file in a directory that is not a message and is skipped.

    Returns
    -------
    list of Place
    """
    found: list[Place] = []
    for given in paths:
        path = os.fspath(given)
        if not os.path.isdir(path):
            found += _in_file(path, named=True)
            continue
        for file in _files(path):
            try:
                inside = _in_file(file, named=False)
                found += inside
                if not inside:
                    note(f"{file} is not a message; skipped")
            except OSError as error:
                note(f"{file} skipped: {error.strerror}")
    return found


def _files(directory: str) -> Iterator[str]:
    """The files of a directory; of a Maildir those that are delivered."""
    inside = {"cur", "new"} <= set(os.listdir(directory))
    roots = [os.path.join(directory, name) for name in ("cur", "new")] if inside else [directory]
    for root in roots:
        yield from _below(root)


def _below(directory: str) -> Iterator[str]:
    """Files of a directory and then those of the ones in it; links to directories are not followed."""
    with os.scandir(directory) as inside:
        entries = sorted((entry for entry in inside if not entry.name.startswith(".")), key=lambda entry: entry.name)
    yield from (entry.path for entry in entries if entry.is_file())
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)


def _in_file(path: str, named: bool) -> list[Place]:
    """The messages of a file; none where it does not look like one, unless the user named it."""
    with open(path, "rb", buffering=0) as file:  # a mailbox has many files, and little of each is read
        beginning = file.read(BEGINNING)
        if not named and not MESSAGE.match(beginning):
            return []
        if beginning.startswith(PACKED):
            raise DataError(f"{path} is compressed; unpack it first")
        if not beginning.startswith(b"From "):
            return [Place(path)]
        if not file.seekable():
            raise DataError(f"{path} is a pipe; pass - to read a message from the standard input")
        if len(beginning) < BEGINNING:
            starts = _starts(beginning)
        else:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                starts = _starts(data)
    if len(starts) == 1:
        return [Place(path)]
    ends: Sequence[int | None] = [*starts[1:], None]
    return [Place(path, n, first, last) for n, (first, last) in enumerate(zip(starts, ends, strict=True), start=1)]
