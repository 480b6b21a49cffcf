"""Spreadsheets that would fill the memory are refused before they are read."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

if os.environ.get("CI") != "true":
    pytest.importorskip("fastexcel", reason="spreadsheets need the extra 'excel'")

from tallybayes.data.files import open_file
from tallybayes.errors import DataError

PARTS = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def related(kind: str, target: str) -> str:
    one = f'<Relationship Id="r1" Type="{OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{PARTS}/relationships">{one}</Relationships>'


def row(number: int, **cells: str) -> str:
    inside = "".join(f'<c r="{at}{number}" t="inlineStr"><is><t>{text}</t></is></c>' for at, text in cells.items())
    return f'<row r="{number}">{inside}</row>'


def book(path: Path, *rows: str, padding: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("[Content_Types].xml", f'<Types xmlns="{PARTS}/content-types"/>')
        parts.writestr("_rels/.rels", related("officeDocument", "xl/workbook.xml"))
        sheets = f'<sheets><sheet name="a" sheetId="1" xmlns:r="{OFFICE}" r:id="r1"/></sheets>'
        parts.writestr("xl/workbook.xml", f'<workbook xmlns="{SHEET}">{sheets}</workbook>')
        parts.writestr("xl/_rels/workbook.xml.rels", related("worksheet", "worksheets/sheet1.xml"))
        with parts.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write(f'<worksheet xmlns="{SHEET}"><sheetData>{"".join(rows)}'.encode())
            for _ in range(padding):
                sheet.write(b" " * 10_000_000)
            sheet.write(b"</sheetData></worksheet>")
    return path


def test_a_sheet_is_read(tmp_path: Path) -> None:
    found = open_file(str(book(tmp_path / "a.xlsx", row(1, A="town", B="label"), row(2, A="x", B="p"))))
    assert found.query("SELECT * FROM {scan}") == [("x", "p")]


def test_a_cell_far_away_does_not_end_the_process(tmp_path: Path) -> None:
    """The reader makes room for all cells before it: 17 thousand million of them."""
    path = book(tmp_path / "a.xlsx", row(1, A="town", B="label"), row(2, A="x", B="p"), row(1048576, XFD="!"))
    with pytest.raises(DataError, match="row 1,048,576 of column 16,384"):
        open_file(str(path))


def test_a_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallybayes.data.workbooks.MOST_BYTES", 15_000_000)
    with pytest.raises(DataError, match="would be 0"):
        open_file(str(book(tmp_path / "a.xlsx", row(1, A="town"), padding=2)))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + bytes(100), b"town,label\nx,p\n"])
def test_what_is_no_spreadsheet_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be read as a spreadsheet|is empty"):
        open_file(str(tmp_path / "a.xlsx"))
