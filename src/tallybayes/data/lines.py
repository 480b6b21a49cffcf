"""The lines of a CSV: its header, empty lines before it, and the first line that does not fit it."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

LONGEST = 1 << 21  # characters of a header; DuckDB takes no longer line
MOST_EMPTY = 100  # lines before the header
MOST_READ = 1_000_000  # rows in which a line that does not fit is looked for


@contextmanager
def _opened(path: str) -> Iterator[IO[str]]:
    # What is not UTF-8 is an error where the rows are read.
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
        yield lines


def header_of(path: str) -> tuple[str, int]:
    """The header as it is, and how many empty lines stand before it."""
    with _opened(path) as lines:
        for empty in range(MOST_EMPTY):
            line = lines.readline(LONGEST).rstrip("\r\n")
            if "\r" in line:  # of an old Macintosh, which ends lines with it
                line = line.split("\r")[0]
            if line.strip():
                return line, empty
    return "", 0


def misfit(path: str, separator: str) -> str | None:
    """The first line that has other fields than the header, in words; None where there is none."""
    if path.lower().endswith((".zst", ".zstd")):
        return None
    with _opened(path) as lines:
        rows = csv.reader(iter(lambda: lines.readline(LONGEST), ""), delimiter=separator)  # no line is held whole
        wanted = 0
        try:
            for number, row in enumerate(rows):
                if row and not wanted:
                    wanted = len(row)
                elif row and len(row) != wanted:
                    fields = f"{len(row)} field{'' if len(row) == 1 else 's'}"
                    return f"line {rows.line_num:,} has {fields}, the header {wanted}"
                if number > MOST_READ:
                    return None
        except (csv.Error, OSError, EOFError):
            return None
    return None
