"""Keys of rows: by what they hold, whatever holds it and wherever they stand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tallybayes.core import keys
from tallybayes.core.batch import Labels
from tallybayes.core.schema import Column, Schema
from tallybayes.data.arrow import arrow_table
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch

FRAME = pl.DataFrame(
    {
        "x": [1.5, None, -0.0, float("nan"), 3.0],
        "n": [1, 2, 3, 2**40, -7],
        "yes": [True, False, None, True, True],
        "word": ["a", None, "Straße", "true", ""],
        "text": ["one two", "one", None, "three", "one two"],
    }
)
COLUMNS = tuple(map(Column, FRAME.columns, ("numeric", "numeric", "boolean", "category", "text")))


def keys_of(table: object, columns: tuple[Column, ...] = COLUMNS) -> keys.Keys:
    labels = Labels.hard(np.array([0, 1, 0, 1, 0], dtype=np.int32))
    return TableBatch(Schema(columns, ("no", "yes")), read_table(table), {}, labels).keys()


@pytest.mark.parametrize("made", ["pandas", "arrow table", "dict", "columns"])
def test_the_same_rows_have_the_same_keys(made: str) -> None:
    tables = {
        "pandas": FRAME.to_pandas,
        "arrow table": lambda: arrow_table(FRAME.to_arrow()),
        "dict": lambda: {name: FRAME[name].to_list() for name in FRAME.columns},
        "columns": lambda: FRAME.select(FRAME.columns[::-1]),
    }
    np.testing.assert_array_equal(keys_of(tables[made]()), keys_of(FRAME))
    np.testing.assert_array_equal(keys_of(FRAME, COLUMNS[::-1]), keys_of(FRAME))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", ">f8", "O"])
def test_numbers_have_the_keys_of_their_values(dtype: str) -> None:
    values = np.array([0, 1, 2, 100, 3])
    expected, found = np.zeros((2, 5), dtype=np.uint64)
    keys.add_numbers(expected, values.astype(np.float64), 7)
    keys.add_numbers(found, np.repeat(values, 2).astype(dtype)[::2], 7)
    np.testing.assert_array_equal(found, expected)
    assert len(set(expected.tolist())) == 5


def test_levels_have_the_keys_of_their_values() -> None:
    numbers, levels = np.zeros((2, 3), dtype=np.uint64)
    keys.add_numbers(numbers, np.array([5.0, np.nan, 2.0]), 7)
    keys.add_levels(levels, np.array([1, -1, 0]), (2, 5), 7)
    np.testing.assert_array_equal(levels, numbers)
    assert keys.key_of("ab") == keys.key_of(np.str_("ab")) != keys.key_of("ba")
    assert keys.key_of(None) == keys.key_of(float("nan")) == keys.key_of(np.nan)
    with pytest.raises(ValueError, match="out of range"):
        keys.add_levels(levels, np.array([2, 0, 0]), (2,), 7)


def test_copies_are_numbered_whatever_the_batches() -> None:
    rng = np.random.default_rng(0)
    found = rng.integers(0, 300, 2000).astype(np.uint64)
    expected = np.array([np.count_nonzero(found[:i] == key) for i, key in enumerate(found)])
    np.testing.assert_array_equal(keys.copies(found), expected)
    for size in (1, 7, 100, 2000):
        seen = keys.SeenKeys()
        numbers = np.concatenate([seen.numbered(found[i : i + size]) for i in range(0, 2000 if size > 1 else 50, size)])
        np.testing.assert_array_equal(numbers, expected[: len(numbers)])
    assert len(np.unique(keys.copy_keys(keys.RowKeys(found, found)))) == 2000


def test_the_smallest_keys_are_in_order() -> None:
    found = keys.mixed(np.arange(1000))
    np.testing.assert_array_equal(found[keys.smallest(found, 10)], np.sort(found)[:10])
    np.testing.assert_array_equal(found[keys.smallest(found, 5000)], np.sort(found))
