"""Text files in other encodings than UTF-8: recognised by their first bytes, and rewritten for DuckDB.

DuckDB reads UTF-8. A file in another encoding is copied to a temporary folder, a part at a time, and the copy is read.
"""

from __future__ import annotations

import codecs
import gzip
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Sequence
from typing import IO

from tallybayes.errors import ColumnWarning, DataError, SettingError

SEEN = 1 << 22  # bytes by which the encoding is recognised
PART = 1 << 20  # characters that are copied at a time
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
UTF8 = ("utf-8", "utf-8-sig")


class Folder:
    """A temporary folder, which is removed when nothing refers to it any more."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="tallybayes-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def checked(encoding: str | None) -> str | None:
    """The name that Python has for an encoding.

    Examples
    --------
    >>> checked("Latin1"), checked("windows-1252")
    ('iso8859-1', 'cp1252')
    """
    if encoding is None:
        return None
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise SettingError(f"there is no encoding {encoding!r}; use utf-8, latin-1, windows-1252 or utf-16") from None


def encoding_of(start: bytes) -> str:
    """The encoding of a text by its first bytes: UTF-8, UTF-16, Windows-1252, or Latin-1 where that has no such byte.

    Examples
    --------
    >>> encoding_of("Zürich".encode()), encoding_of("Zürich".encode("latin-1")), encoding_of("a,b".encode("utf-16"))
    ('utf-8', 'cp1252', 'utf-16')
    """
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return name
    half = max(len(start) // 2, 1)
    if start[1::2].count(0) > 0.4 * half or start[::2].count(0) > 0.4 * half:  # Latin letters are every other byte
        return "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
        return "utf-8"
    except UnicodeDecodeError:
        pass
    try:
        start.decode("cp1252")
    except UnicodeDecodeError:
        return "iso8859-1"
    return "cp1252"


def in_utf8(name: str, paths: Sequence[str], encoding: str | None) -> tuple[tuple[str, ...], Folder | None]:
    """The paths of files in UTF-8, those of copies where they are not, and the folder of these, which they live in."""
    given, folder, found = checked(encoding), None, list[str]()
    for number, path in enumerate(paths):
        own = given or ("utf-8" if path.lower().endswith((".zst", ".zstd")) else _recognised(name, path))
        if own not in UTF8:
            folder = folder or Folder()
            path = _copied(path, own, os.path.join(folder.name, f"{number}.csv"))
        found.append(path)
    return tuple(found), folder


def _opened(path: str) -> IO[bytes]:
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def _recognised(name: str, path: str) -> str:
    try:
        with _opened(path) as file:
            found = encoding_of(file.read(SEEN))
    except (OSError, EOFError):  # what is damaged is an error where the rows are read
        return "utf-8"
    if found in ("cp1252", "iso8859-1"):
        shown = {"cp1252": "Windows-1252", "iso8859-1": "Latin-1"}[found]
        warnings.warn(
            f"{name} is not in UTF-8: it is read as {shown}; if letters look wrong, say which it is, with encoding=…",
            ColumnWarning,
            stacklevel=4,
        )
    return found


def _copied(path: str, encoding: str, copy: str) -> str:
    try:
        with _opened(path) as raw, open(copy, "w", encoding="utf-8", newline="") as out:
            reader = codecs.getreader(encoding)(raw)
            while text := reader.read(PART, PART):
                out.write(text.removeprefix("\ufeff"))
    except UnicodeError as error:
        raise DataError(f"{path} is not in {encoding}: {error}; give another encoding, such as windows-1252") from None
    return copy
