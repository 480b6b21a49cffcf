"""Spreadsheets of Excel and LibreOffice as tables of Arrow: the first sheet, its first row the names."""

from __future__ import annotations

import re
import zipfile
from typing import Any

from tallybayes.errors import DataError

SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
MOST_TIMES = 100  # that a spreadsheet may be larger than its file, where it is also larger than
MOST_BYTES = 500_000_000
MOST_EMPTY = 50_000_000  # cells of a sheet, where most of them are empty
CHUNK = 1 << 20  # bytes read at a time
CELL = re.compile(rb' r="([A-Z]{1,3})([0-9]{1,7})"')


def read_workbook(path: str) -> Any:
    """The first sheet of a spreadsheet as a PyArrow table."""
    try:
        import fastexcel
    except ImportError:
        raise DataError(
            f"{path} is a spreadsheet; pip install 'tallybayes[excel]' installs what reads it, or save it as CSV"
        ) from None
    try:
        import pyarrow as pa

        _check(path)
        sheet = fastexcel.read_excel(path).load_sheet(0)
        return pa.Table.from_batches([sheet.to_arrow()])
    except (fastexcel.FastExcelError, zipfile.BadZipFile, ValueError, OSError) as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path} cannot be read as a spreadsheet: {message}") from error


def _check(path: str) -> None:
    """Refuse a small file that would fill the memory: the reader makes room for every cell, empty ones included."""
    if not path.lower().endswith((".xlsx", ".xlsm", ".xlsb", ".ods")):
        return
    with zipfile.ZipFile(path) as book:
        parts = book.infolist()
        size = sum(part.file_size for part in parts)
        if size > max(MOST_BYTES, MOST_TIMES * sum(part.compress_size for part in parts)):
            raise DataError(f"it would be {size / 1e9:.1f} GB, and no program writes such a file")
        for part in parts:
            if re.fullmatch(r"xl/worksheets/[^/]*\.xml", part.filename):
                with book.open(part) as sheet:
                    _check_sheet(sheet)


def _check_sheet(sheet: Any) -> None:
    n_cells, columns, rows, rest = 0, set[bytes](), 0, b""
    while chunk := sheet.read(CHUNK):
        found = CELL.findall(rest + chunk)
        n_cells += len(found)
        columns.update(column for column, _ in found)
        rows = max([rows, *map(int, {row for _, row in found})])
        rest = chunk[-15:]
    width = max((_number(column) for column in columns), default=0)
    if width * rows > max(MOST_EMPTY, 20 * n_cells):
        raise DataError(
            f"it has a cell in row {rows:,} of column {width:,}, and hardly any before it: delete what is empty, "
            "or save the table as CSV"
        )


def _number(column: bytes) -> int:
    """The place of a column by its letters: A is 1, AA is 27."""
    number = 0
    for letter in column:
        number = 26 * number + letter - 64
    return number
