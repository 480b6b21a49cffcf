"""Small awkward files, one oddity each: what is read from them as CSV, as a frame of text and as Parquet."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tallybayes import Options
from tallybayes.data.opening import open_source
from tallybayes.errors import DataError
from tests.tables.make_tables import COLUMNS, ENCODINGS, FOLDER, LABELS, PAGE, written

# A CSV has no types: what a frame keeps as text, be it codes or numbers, is a number there.
AS_TEXT = {"exponents", "nines", "epoch", "epoch-given", "huge-integers"}


def read(data: Any, options: dict[str, Any]) -> dict[str, Any]:
    """What each column is taken for, and the warnings; or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            schema = open_source(data, "y").profile(Options(**options).overrides)
        except DataError as error:
            return {"error": str(error)}
    columns = [{"name": c.name, "kind": c.kind, "why": c.reason} for c in schema.columns]
    notes = [str(each.message).replace(str(FOLDER), "…") for each in caught]
    return {"columns": columns, "warnings": notes}


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_there_are_forty_files_and_they_are_as_made() -> None:
    assert len(COLUMNS) >= 40
    assert sorted(path.stem for path in FOLDER.glob("*.csv")) == sorted(COLUMNS)
    for name in COLUMNS:
        assert (FOLDER / f"{name}.csv").read_bytes() == written(name), name


@pytest.mark.parametrize("name", COLUMNS)
def test_a_file_is_read_as_expected(name: str) -> None:
    known = expected(name)
    found = read(FOLDER / f"{name}.csv", known.pop("options"))
    assert found == known


@pytest.mark.parametrize("name", [name for name in COLUMNS if name not in AS_TEXT and name not in ENCODINGS])
@pytest.mark.parametrize("route", ["frame", "parquet"])
def test_so_are_its_cells_elsewhere(name: str, route: str, tmp_path: Path) -> None:
    known = expected(name)
    frame = pl.DataFrame({"x": [text or None for text in COLUMNS[name]], "y": LABELS})
    frame.write_parquet(tmp_path / "rows.parquet")
    found = read(frame if route == "frame" else tmp_path / "rows.parquet", known.pop("options"))
    assert found.get("columns") == known.get("columns")
    assert ("error" in found) == ("error" in known)


def test_the_page_shows_them_all() -> None:
    shown = PAGE.read_text(encoding="utf-8")
    for name in COLUMNS:
        known = expected(name)
        assert f"`{name}`" in shown, name
        what = known["error"].split(";")[0] if "error" in known else known["columns"][0]["why"]
        assert what.replace("|", "\\|") in shown, name
