"""Values to codes and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tallybayes.core.batch import MISSING, UNSEEN
from tallybayes.data.labels import SAMPLE, distinct, encode, encode_labels, factorise, is_missing
from tallybayes.errors import DataError

VALUES = {
    "strings": np.array(["b", "a", "b", "ü"]),
    "objects": np.array(["b", "a", "b", "ü"], dtype=object),
    "of several types": np.array([2, "a", 1, "a"], dtype=object),
    "bools": np.array([True, False, True, True]),
    "floats": np.array([0.5, -1.0, 0.5, 1e300]),
    "dates": np.array(["2024-02-01", "2024-01-01", "2024-02-01", "2025-01-01"], dtype="datetime64[D]"),
    "far apart": np.array([10**18, -(10**18), 10**18, 0]),
    "close together": np.array([1003, 1001, 1003, 1002]),
    "beyond int64": np.array([2**64 - 1, 2**64 - 3, 2**64 - 1, 2**64 - 2], dtype=np.uint64),
    # Their difference is no int8 and no int16 any more.
    "all of int8": np.array([127, -128, 127, 0], dtype=np.int8),
    "most of int16": np.array([30_000, -30_000, 30_000, 0], dtype=np.int16),
    "most of uint8": np.array([255, 0, 255, 7], dtype=np.uint8),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_codes_are_positions_among_the_sorted_values(values):
    levels = distinct(values)
    assert levels.dtype == values.dtype
    assert len(levels) == len({*values.tolist()})
    codes = encode(values, levels)
    assert codes.dtype == np.int32
    assert_array_equal(levels[codes], values)
    assert_array_equal(encode(values, levels.tolist()), codes)


@given(values=st.lists(st.integers(-(2**15), 2**15 - 1), min_size=1), dtype=st.sampled_from(["i2", "i4", "i8", "O"]))
def test_integers_of_every_width_are_coded_alike(values, dtype):
    array = np.array(values, dtype=dtype)
    assert distinct(array).tolist() == sorted({*values})
    assert_array_equal(distinct(array)[encode(array, distinct(array))], array)


@pytest.mark.parametrize(
    ("values", "levels", "codes"),
    [
        (np.array(["a", "c", "b"]), ["b", "a"], [1, UNSEEN, 0]),
        (np.array([3, 1, 2]), [2, 3], [1, UNSEEN, 0]),
        (np.array([3, 1, 2]), np.array([2.0, 2.5, 3.0]), [2, UNSEEN, 0]),
        (np.array([3, 1, 2]), np.array(["2", "3"]), [UNSEEN, UNSEEN, UNSEEN]),
        (np.array([0.5, np.nan, 7.0]), np.array([7.0, 0.5]), [1, MISSING, 0]),
        (np.array([0.5, np.nan]), [], [UNSEEN, MISSING]),
        (np.array([True, False]), np.array([True]), [0, UNSEEN]),
        (np.array(["a", None, float("nan")], dtype=object), ["a"], [0, MISSING, MISSING]),
        (np.array([2**40, 5]), np.array([5, 2**40]), [1, 0]),
        (np.array([], dtype=int), [1, 2], []),
    ],
    ids=str,
)
def test_missing_values_and_unknown_values_have_codes_of_their_own(values, levels, codes):
    assert_array_equal(encode(values, levels), codes)


def test_missing_values_are_no_levels():
    assert distinct(np.array(["b", None, "a", float("nan")], dtype=object)).tolist() == ["a", "b"]
    assert distinct(np.array([2.0, np.nan, 1.0])).tolist() == [1.0, 2.0]


def test_words_that_look_like_missing_values_are_words():
    words = np.array(["None", "NA", "nan", ""], dtype=object)
    assert len(distinct(words)) == 4
    assert encode(words, distinct(words)).min() >= 0


@pytest.mark.parametrize(
    "late", [None, "late", float("nan"), "".join(["no", "rth"])], ids=["hole", "new", "nan", "copy"]
)
def test_long_columns_are_listed_by_object_and_by_value_alike(late):
    """Rows that share their objects are told apart by address, but two objects may be the same word."""
    cells = [["north", "south", "".join(["no", "rth"])][i % 3] for i in range(SAMPLE + 10)]
    for cells_ in (cells, [*cells, late], [late, *cells]):
        values = np.array(cells_, dtype=object)
        levels, codes = factorise(values)
        assert levels.tolist() == sorted({cell for cell in cells_ if not is_missing(cell)})
        assert [levels[c] if c >= 0 else None for c in codes] == [None if is_missing(cell) else cell for cell in cells_]
        strided, again = factorise(np.repeat(values, 2)[::2])
        assert_array_equal(strided, levels)
        assert_array_equal(again, codes)


def test_missing_values_of_every_kind():
    pandas = pytest.importorskip("pandas")
    assert all(map(is_missing, (None, float("nan"), np.float32("nan"), np.datetime64("NaT"), pandas.NA, pandas.NaT)))
    assert not any(map(is_missing, (0, "", False, "nan", 0.0)))


# ---------------------------------------------------------------------------------------------- class labels


def test_class_order_is_the_callers():
    assert_array_equal(encode_labels(np.array(["no", "yes"]), np.array(["yes", "no"])), [1, 0])


@pytest.mark.parametrize("labels", [np.array(["a", None], dtype=object), np.array([1.0, np.nan])], ids=str)
def test_a_row_without_a_label_is_named(labels):
    with pytest.raises(DataError, match="row 2 has no label"):
        encode_labels(labels, distinct(labels))


def test_an_unknown_label_is_named_with_the_nearest_known_one():
    labels = np.array(["<=50K", "<=50K", ">50K."])
    with pytest.raises(DataError, match=r"'>50K\.'.*row 3.*did you mean '>50K'\?"):
        encode_labels(labels, np.array(["<=50K", ">50K"]))


def test_a_label_like_no_other_gets_no_hint():
    with pytest.raises(DataError, match=r"\[7\].*row 1\)$"):
        encode_labels(np.array([7]), np.array([1, 2]))


@pytest.mark.parametrize(
    "order", [[1, True, 2.0, "a", 2, None], [True, 1, 2, None, "a", 2.0], [None, True, 2.0, 2, 1, "a"]]
)
def test_equal_values_of_several_types_have_one_name_whichever_comes_first(order):
    values = np.array(order, dtype=object)
    for levels in (distinct(values), factorise(values)[0]):
        assert [(type(level), level) for level in levels] == [(int, 1), (int, 2), (str, "a")]
