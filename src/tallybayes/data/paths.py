"""Which files a path or a pattern stands for, and what format they have."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from tallybayes.data.workbooks import SUFFIXES
from tallybayes.errors import DataError, SettingError

FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".tab": "csv",
    ".parquet": "parquet", ".pq": "parquet",
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    **dict.fromkeys(SUFFIXES, "workbook"),
}  # fmt: skip
T = TypeVar("T")
Stamp = tuple[int, int]  # the size of a file, and when it was written

HIDDEN = (".", "_")  # how names of marks begin, such as _SUCCESS
COMPRESSED = (".gz", ".zst", ".zstd")


def one_character(given: str | None) -> str | None:
    """The character between the fields; a tab may be written as such."""
    if given is None:
        return None
    found = {"\\t": "\t", "tab": "\t"}.get(given, given)
    if len(found) != 1:
        raise SettingError(f"the delimiter must be a single character, not {given!r}")
    return found


def found_paths(name: str) -> tuple[str, ...]:
    """The files that a path, a directory or a pattern stands for."""
    if os.path.isdir(name):
        found = _files_of(name)
    elif os.path.exists(name):
        found = [name]
    else:
        found = sorted(p for p in glob.glob(name, recursive=True) if os.path.isfile(p))
    if not found:
        what = "no file matches the pattern" if glob.has_magic(name) else "there is no file"
        raise DataError(f"{what} {name}")
    for path in found:
        try:
            with open(path, "rb") as file:
                if not file.read(1):
                    raise DataError(f"{path} is empty")
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    return tuple(found)


def _files_of(directory: str) -> list[str]:
    """The tables of a directory, at any depth, as Spark and others write one table in many parts."""
    found = []
    for place, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(HIDDEN)]
        shown = (name for name in names if not name.startswith(HIDDEN))
        found += [os.path.join(place, name) for name in shown if _suffix(name) in FORMATS]
    formats = sorted({FORMATS[_suffix(path)] for path in found})
    if len(formats) == 1:
        return sorted(found)
    held = f"tables as {' and '.join(formats)}" if formats else "no table"
    example = os.path.join(directory, "*.csv")
    raise DataError(f"{directory} is a directory that holds {held}; give a file, or a pattern such as {example}")


def _suffix(path: str) -> str:
    """The suffix of a file's name, below that of a compression."""
    return Path(path.removesuffix(next((end for end in COMPRESSED if path.lower().endswith(end)), ""))).suffix.lower()


def format_of(path: str) -> str:
    """The format by the suffix, or by the first bytes where the suffix is unknown."""
    if _suffix(path) in FORMATS:
        return FORMATS[_suffix(path)]
    with open(path, "rb") as file:
        start = file.read(64)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"ARROW1"):
        return "arrow"
    return "json" if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[{")) else "csv"


def stamps_of(paths: tuple[str, ...]) -> tuple[Stamp, ...]:
    """What tells whether files were changed; a pipe has nothing of the kind."""
    found = map(os.stat, paths)
    return tuple((each.st_size, each.st_mtime_ns) if stat.S_ISREG(each.st_mode) else (0, 0) for each in found)


def unchanged(parts: Iterator[T], name: str, paths: tuple[str, ...], stamps: tuple[Stamp, ...]) -> Iterator[T]:
    """Yield the parts of files; an error if at the end the files are no longer those that were opened."""
    yield from parts
    try:
        same = stamps_of(paths) == stamps
    except OSError:
        same = False
    if not same:
        raise DataError(f"{name} was changed while it was read. Read it again when it is complete.")
