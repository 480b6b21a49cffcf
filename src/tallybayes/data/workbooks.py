"""Spreadsheets of Excel and LibreOffice as tables of Arrow: the first sheet, its first row the names."""

from __future__ import annotations

from typing import Any

from tallybayes.errors import DataError

SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


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

        sheet = fastexcel.read_excel(path).load_sheet(0)
        return pa.Table.from_batches([sheet.to_arrow()])
    except (fastexcel.FastExcelError, ValueError, OSError) as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path} cannot be read as a spreadsheet: {message}") from error
