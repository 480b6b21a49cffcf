"""The lines of a CSV: empty ones before the header, and those that do not fit it."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest

from tallybayes.data.files import open_file
from tallybayes.data.lines import header_of, misfit
from tallybayes.data.opening import open_source
from tallybayes.errors import DataError

ROWS = "".join(f"{i / 7:.3f},{'no' if i % 2 else 'yes'}\n" for i in range(30))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("compressed", [False, True])
def test_empty_lines_before_the_header(end: str, compressed: bool, tmp_path: Path) -> None:
    content = f"\n\nx,y\n{ROWS}".replace("\n", end).encode()
    path = tmp_path / ("rows.csv.gz" if compressed else "rows.csv")
    path.write_bytes(gzip.compress(content) if compressed else content)
    assert header_of(str(path)) == ("x,y", 2)
    file = open_file(path)
    assert file.types == {"x": "DOUBLE", "y": "VARCHAR"}
    assert file.query("SELECT count(*) FROM {scan}") == [(30,)]


@pytest.mark.parametrize(("line", "fields"), [("1.5,no,more", "3 fields"), ("1.5", "1 field")])
def test_the_line_that_does_not_fit_is_named(line: str, fields: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"x,y\n{ROWS}{line}\n{ROWS}")
    assert misfit(str(path), ",") == f"line 32 has {fields}, the header 2"
    with pytest.raises(DataError, match=f"rows.csv is not a table: line 32 has {fields}, the header 2"):
        open_source(path, "y").facts  # noqa: B018


def test_a_quoted_line_break_is_one_field(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('x,y\n"a\nb",no\n"c, d",yes\n')
    assert misfit(str(path), ",") is None


def test_rows_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    with pytest.raises(DataError, match="It needs a header"):
        open_source(path, "y")


def test_a_line_without_an_end_is_not_held_whole(tmp_path: Path) -> None:
    """A few kilobytes can unpack to a line of gigabytes."""
    path = tmp_path / "rows.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"x,y\n")
        for _ in range(50):
            file.write(b"A" * 1_000_000)
    tracemalloc.start()
    assert misfit(str(path), ",") is None
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 30_000_000
