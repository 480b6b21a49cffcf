"""Parquet files that are read as they are stored, beside what DuckDB reads of them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallybayes import learn
from tallybayes.data.files import open_file
from tallybayes.data.frames import Table
from tallybayes.data.parquet import stored_tables
from tallybayes.data.parquet_survey import counted
from tallybayes.data.pushdown import survey
from tallybayes.data.survey import Mode, Survey
from tallybayes.errors import DataError
from tallybayes.learning.options import Options

RNG = np.random.default_rng(0)
N = 3000


def plain(n: int = N) -> pa.Table:
    """Columns of all plain types, with missing values."""
    rng = np.random.default_rng(n)
    gaps = rng.random(n) < 0.1
    words = np.array(["low", "middle", "high", "", "grün"])[rng.integers(5, size=n)]
    cut = [word[: 1 + i // 1000] for i, word in enumerate(words)]  # each part of the file has words of its own
    return pa.table(
        {
            "float": pa.array(rng.normal(size=n), mask=gaps),
            "nan": np.where(gaps, np.nan, rng.normal(size=n)),
            "single": rng.normal(size=n).astype(np.float32),
            "long": pa.array(rng.integers(-(2**60), 2**60, size=n), mask=gaps),
            "byte": rng.integers(0, 200, size=n).astype(np.uint8),
            "flag": pa.array(rng.random(n) < 0.3, mask=gaps),
            "word": pa.array(cut, mask=gaps),
            "large": pa.array(cut, type=pa.large_string()),
            "category": pa.DictionaryArray.from_arrays(2 * rng.integers(2, size=n), ["north", "unused", "south"]),
            "label": words.tolist(),
        }
    )


def written(folder: Path, table: pa.Table, name: str = "rows.parquet", **how: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / name, **how)
    return folder / name


def rows(tables: Any) -> list[list[Any]]:
    """All rows of some tables, missing numbers as None."""
    whole = Table.joined(list(tables))
    cells = [[values.value(i) for i in range(whole.n_rows)] for values in whole.columns.values()]
    return [[None if v != v else v for v in column] for column in cells]


WAYS: list[dict[str, Any]] = [{}, {"row_group_size": 700}, {"use_dictionary": False}, {"compression": "zstd"}]


@pytest.mark.parametrize("listed", [(), ("word", "large", "category", "label")])
@pytest.mark.parametrize(
    "how", [{}, {"row_group_size": 700}, {"use_dictionary": False}, {"compression": "zstd"}], ids=str
)
def test_the_rows_are_those_that_duckdb_reads(tmp_path: Path, listed: tuple[str, ...], how: dict[str, Any]) -> None:
    file = open_file(written(tmp_path, plain(), **how))
    found = stored_tables(file, file.names, listed)
    assert found is not None
    assert rows(found) == rows(file.tables(file.names))


def test_files_of_a_pattern_follow_one_another(tmp_path: Path) -> None:
    for i in range(3):
        written(tmp_path, plain(100 * (i + 1)), f"part-{i}.parquet")
    file = open_file(tmp_path / "*.parquet")
    found = stored_tables(file, ["word", "float"], ["word"])
    assert found is not None
    assert rows(found) == rows(file.tables(["word", "float"]))


DATES = pa.array([datetime.date(2024, 1, 1 + i % 28) for i in range(N)])
OTHERS = {
    "date": DATES,
    "decimal": pa.array(RNG.integers(100, size=N).tolist()).cast(pa.decimal128(22, 2)),
    "record": pa.array([{"a": 1}] * N),
    "list": pa.array([[1, 2]] * N),
    "a.b": RNG.normal(size=N),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_columns_are_left_to_duckdb(tmp_path: Path, name: str) -> None:
    file = open_file(written(tmp_path, plain().append_column(name, pa.array(OTHERS[name]))))
    assert stored_tables(file, ["float", name], []) is None
    assert stored_tables(file, ["float"], []) is not None


def test_what_a_query_changes_is_left_to_duckdb(tmp_path: Path) -> None:
    file = open_file(written(tmp_path, plain()))
    assert stored_tables(file.counted("byte"), ["float"], []) is None
    assert stored_tables(file.without("long", -1), ["float"], []) is None
    assert stored_tables(open_file(written(tmp_path / "float=1.5", plain())), ["float"], []) is None
    written(tmp_path / "several", plain().drop_columns("float"), "other.parquet")
    written(tmp_path / "several", plain())
    assert stored_tables(open_file(tmp_path / "several" / "*.parquet"), ["float"], []) is None


def test_a_file_that_breaks_off_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, plain(), compression="none")
    file = open_file(path)
    damaged = bytearray(path.read_bytes())
    damaged[4:400] = b"\xff" * 396
    path.write_bytes(bytes(damaged))
    found = stored_tables(file, ["float"], [])
    assert found is not None
    with pytest.raises(DataError, match=r"rows\.parquet cannot be read"):
        list(found)


def test_rows_without_a_label_are_left_out(tmp_path: Path) -> None:
    table = plain().select(["float", "nan", "word", "large"])
    several = written(tmp_path, table, "all.parquet", row_group_size=500)
    labelled = written(tmp_path, table.filter(table["word"].is_valid()), "labelled.parquet")
    ours, other = (learn(path, "word", Options(unlabelled="ignore")) for path in (several, labelled))
    assert ours.tally == other.tally
    assert ours.tally.class_weight.sum() < N


def same(found: Survey, wanted: Survey) -> None:
    """Both have the same statistics."""
    assert found.classes == wanted.classes
    assert found.unlabelled == wanted.unlabelled
    np.testing.assert_array_equal(found.class_weight, wanted.class_weight)
    assert found.columns.keys() == wanted.columns.keys()
    for name, seen in found.columns.items():
        want = wanted.columns[name]
        assert (seen.low, seen.high, seen.n_levels) == (want.low, want.high, want.n_levels), name
        np.testing.assert_array_equal(seen.weight, want.weight, err_msg=name)
        largest = max(abs(want.low), abs(want.high))
        np.testing.assert_allclose(seen.mean, want.mean, rtol=1e-12, atol=1e-14 * largest, err_msg=name)
        np.testing.assert_allclose(seen.m2, want.m2, rtol=1e-9, err_msg=name)
        assert {value: count.tolist() for value, count in seen.counts.items()} == {
            value: count.tolist() for value, count in want.counts.items()
        }, name


MODES: dict[str, Mode] = {
    "float": "numbers", "nan": "numbers", "single": "numbers", "long": "numbers", "byte": "nothing", "flag": "levels",
    "word": "levels", "large": "levels", "category": "levels",
}  # fmt: skip


@pytest.mark.parametrize("how", WAYS, ids=str)
@pytest.mark.parametrize("target", ["label", "byte", "flag", "word", "category"])
def test_our_kernels_survey_what_a_query_does(tmp_path: Path, target: str, how: dict[str, Any]) -> None:
    file = open_file(written(tmp_path, plain(), **how))
    modes = {name: mode for name, mode in MODES.items() if name != target}
    ours = counted(file, target, modes, None)
    assert ours is not None
    assert ours.weight.sum() + ours.unlabelled == N
    wrapped = file.with_columns({"single": ('"single"', "FLOAT")})  # the same, as a query
    assert counted(wrapped, target, modes, None) is None
    same(survey(file, target, modes, "ignore"), survey(wrapped, target, modes, "ignore"))


def test_classes_that_come_late_are_counted(tmp_path: Path) -> None:
    table = plain().sort_by("label")
    file = open_file(written(tmp_path, table, row_group_size=400))
    wrapped = file.with_columns({"single": ('"single"', "FLOAT")})
    same(survey(file, "label", MODES), survey(wrapped, "label", MODES))


@pytest.mark.parametrize(("name", "mode"), [("nan", "levels"), ("long", "levels"), ("word", "nothing")])
def test_what_is_not_counted_here_is_left_to_a_query(tmp_path: Path, name: str, mode: Mode) -> None:
    file = open_file(written(tmp_path, plain()))
    assert counted(file, "label", {name: mode}, None) is None
    assert counted(file, "nan", {"float": "numbers"}, None) is None


def test_columns_of_many_values_are_left_to_a_query(tmp_path: Path) -> None:
    table = plain(20_000)
    names = pa.array([f"name {i // 2}" for i in range(20_000)])
    for column in (names, names.dictionary_encode()):
        file = open_file(written(tmp_path, table.append_column("name", column)))
        assert counted(file, "label", {"name": "levels"}, None) is None


@pytest.mark.parametrize(("value", "message"), [(np.inf, "is infinite"), (1e200, "square overflows")])
def test_numbers_without_moments_are_refused(tmp_path: Path, value: float, message: str) -> None:
    table = plain()
    numbers = np.where(np.arange(N) == 2900, value, np.asarray(table["nan"]))
    file = open_file(written(tmp_path, table.append_column("huge", pa.array(numbers))))
    with pytest.raises(DataError, match=message):
        survey(file, "label", {**MODES, "huge": "numbers"})
