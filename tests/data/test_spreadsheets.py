"""CSV for spreadsheets: no cell of text is calculated."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tallybayes.data.spreadsheets import harmless
from tallybayes.data.writers import write_batches

TABLE = pa.table(
    {
        "text": ["=1+1", "+1", "-1", "@A1", "\t=1", "\r=1", "\n=1", "＝1", "a=1", "", None, "1-1"],
        "coded": pa.array(["=x", "y"] * 6).dictionary_encode(),
        "number": [-1.5] * 12,
        "=name": [1] * 12,
    }
)


def test_what_begins_like_a_formula_gets_an_apostrophe() -> None:
    schema, batches = harmless(TABLE.schema, iter(TABLE.to_batches()))
    found = pa.Table.from_batches(batches, schema).to_pydict()
    assert found["text"][:8] == [f"'{text}" for text in TABLE["text"].to_pylist()[:8]]
    assert found["text"][8:] == ["a=1", "", None, "1-1"]
    assert found["coded"][:2] == ["'=x", "y"]
    assert found["number"] == [-1.5] * 12
    assert "'=name" in found


@pytest.mark.parametrize(("name", "safe"), [("a.csv", True), ("a.tsv", True), ("a.csv.gz", True), ("a.jsonl", False)])
def test_only_csv_is_changed(name: str, safe: bool, tmp_path: Path) -> None:
    import duckdb

    assert write_batches(TABLE.schema, iter(TABLE.to_batches()), tmp_path / name, safe_csv=True) == 12
    reader = "read_json" if name.endswith("jsonl") else "read_csv"
    rows = duckdb.sql(f"SELECT text FROM {reader}('{tmp_path / name}')").fetchall()
    assert (rows[0] == ("'=1+1",)) == safe


def test_nothing_is_changed_unless_asked_for(tmp_path: Path) -> None:
    write_batches(TABLE.schema, iter(TABLE.to_batches()), tmp_path / "a.csv")
    assert "'" not in (tmp_path / "a.csv").read_text()
