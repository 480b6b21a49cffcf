"""Values to codes: one encoder for class labels and for category levels."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from numbers import Real
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import MISSING, UNSEEN, Array
from tallybayes.core.levels import in_order
from tallybayes.core.schema import Level
from tallybayes.core.summaries import MOST_WEIGHT
from tallybayes.errors import DataError, UnknownLabelError, row_number

SMALL_RANGE = 1 << 16  # integers this close together are looked up in a table
SAMPLE = 1 << 12  # rows by which it is decided whether a column repeats a few objects


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values, sorted, without missing ones (None, NaN)."""
    offset = _offset(values)
    if offset is not None:
        seen = np.bincount(_shifted(values, offset))
        return (np.flatnonzero(seen) + offset).astype(values.dtype)
    if values.dtype.kind in "OUST":
        listed = values.tolist()
        return objects(in_order(v for v in _named(set(listed), listed) if not is_missing(v)), values.dtype)
    found = np.unique(values)
    return found[~np.isnan(found)] if found.dtype.kind == "f" else found


def factorise(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The different values, sorted, and the position of each value among them; `MISSING` for a missing value."""
    if values.dtype.kind == "O" and len(values) > SAMPLE and (few := _shared_objects(values)) is not None:
        some, place = few
        levels, codes = factorise(some)
        return levels, codes[place]
    offset = _offset(values)
    if offset is None and values.dtype.kind in "OUT":
        listed = values.tolist()
        found = in_order(value for value in _named(dict.fromkeys(listed), listed) if not is_missing(value))
        return objects(found, values.dtype), _looked_up(listed, {value: p for p, value in enumerate(found)})
    if offset is None:
        levels = distinct(values)
        return levels, encode(values, levels)
    shifted = _shifted(values, offset)
    seen = np.zeros(int(shifted.max(initial=0)) + 1, dtype=bool)
    seen[shifted] = True
    present = np.flatnonzero(seen)
    code = np.zeros(len(seen), dtype=np.int32)
    code[present] = np.arange(len(present))
    return (present + offset).astype(values.dtype), code[shifted]


def _named(found: Iterable[Any], listed: list[Any]) -> Iterable[Any]:
    """The different values; of those that are equal a whole number rather than another, whichever came first."""
    found = list(found)
    if not any(isinstance(value, (bool, int, float)) for value in found) or len(set(map(type, listed))) == 1:
        return found
    rank = {int: 0, float: 1, bool: 2}
    every = sorted({(type(value), value) for value in listed}, key=lambda one: rank.get(one[0], 3))
    best: dict[Any, Any] = {}
    for _, value in every:
        best.setdefault(value, value)
    return [best[value] for value in found]


def _shared_objects(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
    """The objects that the first rows hold and which of them each row holds, or None where others follow.

    Text made from a list of levels repeats the same few objects. Comparing addresses is several times faster than
    hashing what is there.
    """
    address = _addresses(values)
    found, row = np.unique(address[:SAMPLE], return_index=True)
    place = np.minimum(np.searchsorted(found, address), len(found) - 1)
    return (values[row], place) if np.array_equal(found[place], address) else None


def _addresses(values: NDArray[Any]) -> NDArray[np.intp]:
    """Where the objects of an array are, read in place."""
    integer = np.dtype(np.intp)
    seen_as = {**values.__array_interface__, "typestr": integer.str, "descr": integer.descr}
    return np.asarray(SimpleNamespace(__array_interface__=seen_as))


def encode(values: NDArray[Any], levels: Sequence[Level] | NDArray[Any]) -> NDArray[np.int32]:
    """Position of each value among the levels; `MISSING` for a missing value, `UNSEEN` for anything else."""
    known = levels if isinstance(levels, np.ndarray) else _comparable(levels, values)
    if values.dtype.kind == "f" and known.dtype.kind in "biuf":
        return _encode_floats(values, known)
    offset = _offset(values)
    if offset is not None and known.dtype.kind in "biuf":
        shifted = _shifted(values, offset)
        table = np.full(int(shifted.max(initial=0)) + 1, UNSEEN, dtype=np.int32)
        for p, level in enumerate(known.tolist()):  # Python's integers neither wrap nor round
            place = level - offset
            if 0 <= place < len(table) and place == int(place):
                table[int(place)] = p
        return table[shifted]
    return _looked_up(values.tolist(), {value: p for p, value in enumerate(known.tolist())})


def _looked_up(listed: list[Any], place_of: dict[Any, int]) -> NDArray[np.int32]:
    try:
        return np.fromiter(map(place_of.__getitem__, listed), dtype=np.int32, count=len(listed))
    except KeyError:  # something is unseen or missing
        found = ((place_of.get(v, UNSEEN) if not is_missing(v) else MISSING) for v in listed)
        return np.fromiter(found, dtype=np.int32, count=len(listed))


def encode_labels(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Class code of each label; a missing or an unknown label is an error."""
    codes = encode(labels, classes)
    if codes.min(initial=0) < 0:
        row = int(np.flatnonzero(codes < 0)[0])
        if codes[row] == MISSING:
            raise DataError(f"row {row_number(row)} has no label (Input y contains NaN or None); leave such rows out")
        unknown = distinct(labels[codes == UNSEEN])
        near = difflib.get_close_matches(str(unknown[0]), [str(c) for c in classes], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UnknownLabelError(
            f"The target label(s) {unknown.tolist()} in y do not exist in the initial classes {classes.tolist()} "
            f"(row {row_number(row)}){hint}"
        )
    return codes


def class_array(classes: Sequence[Level], dtype: Any = None) -> NDArray[Any]:
    """Class labels as an array of this dtype, or of the plainest that holds them exactly where it does not.

    Examples
    --------
    >>> class_array((1, 2), np.int8).dtype, class_array((1, 300), np.int8).dtype, class_array((1, "a")).dtype
    (dtype('int8'), dtype('int64'), dtype('O'))
    """
    kinds = {type(label) for label in classes}
    dtype = None if dtype is None else np.dtype(dtype)
    if kinds <= {str} and not any(str(label).endswith("\0") for label in classes):  # NumPy strips a trailing NUL
        if dtype is not None and dtype.kind in "OT":
            return np.array(classes, dtype=dtype)
        found = np.array(classes, dtype=str)
        wider = dtype is not None and dtype.kind == "U" and dtype.itemsize > found.itemsize
        return found.astype(dtype) if wider else found
    if kinds in ({bool}, {int}, {float}, {int, float}):
        for wanted in [None] if dtype is None else [dtype, None]:
            exact = _exact(classes, wanted)
            if exact is not None:
                return exact
    return objects(classes)


def _exact(classes: Sequence[Level], dtype: Any) -> NDArray[Any] | None:
    """Numbers as an array; None where it would not hold them exactly."""
    try:
        found = np.array(classes, dtype=dtype)
    except (OverflowError, TypeError, ValueError):
        return None
    return found if found.dtype.kind in "biufO" and found.tolist() == list(classes) else None


def row_weights(weight: Any, n_rows: int) -> Array:
    """Row weights as the kernels read them: ones by default; negative, infinite and immense ones are errors."""
    if weight is None:
        return np.ones(n_rows)
    if isinstance(weight, Real):
        weight = np.full(n_rows, float(weight))
    values = np.ascontiguousarray(weight, dtype=np.float64)
    if values.ndim != 1:
        raise DataError("Sample weights must be 1D array or scalar")
    if values.shape != (n_rows,):
        raise DataError(f"sample_weight.shape == {values.shape}, expected {(n_rows,)}!")
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(f"a weight must be finite and non-negative, but it is {values[row]:g} in row {row_number(row)}")
    with np.errstate(over="ignore"):
        total = values.sum()
    check_total(float(total))
    return values


def check_total(weight: float) -> None:
    """Refuse rows that weigh more together than a model file may hold."""
    if weight > MOST_WEIGHT:
        raise DataError(f"the rows weigh {weight:g}, and {MOST_WEIGHT:g} is the most that adds up; rescale the weights")


def objects(values: Sequence[Any] | NDArray[Any], dtype: Any = object) -> NDArray[Any]:
    """Values as an array of objects, or of another type, one a cell whatever they are."""
    array = np.empty(len(values), dtype=dtype)
    array[:] = values
    return array


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, pandas.NA or not equal to itself (NaN, NaT)."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be true or false
        return True
    except ValueError:  # an array is not one value, and so not a missing one
        return False


def _comparable(levels: Sequence[Level], values: NDArray[Any]) -> NDArray[Any]:
    """Levels to compare with values: numbers with numbers, everything else as objects; NumPy would make texts of 1."""
    found = np.asarray(levels) if values.dtype.kind in "biuf" else None
    return found if found is not None and found.dtype.kind in "biuf" else objects(levels)


def _encode_floats(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int32]:
    if not len(known):
        return np.where(np.isnan(values), MISSING, UNSEEN).astype(np.int32)
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known[order], values), len(known) - 1)
    codes = np.where(known[order][place] == values, order[place], UNSEEN)
    return np.where(np.isnan(values), MISSING, codes).astype(np.int32)


def _offset(values: NDArray[Any]) -> int | None:
    """The smallest of integers that lie close together, or None where a table look-up does not serve."""
    if values.dtype.kind == "b":
        return 0
    if values.dtype.kind not in "iu" or not len(values):
        return None
    low, high = int(values.min()), int(values.max())
    return low if high < 2**63 and high - low < max(SMALL_RANGE, 4 * len(values)) else None


def _shifted(values: NDArray[Any], offset: int) -> NDArray[np.intp]:
    if values.dtype.kind == "b":
        return values.astype(np.intp)
    if values.dtype.kind == "i":
        values = values.astype(np.int64, copy=False)  # small integers would wrap round
    return (values - values.dtype.type(offset)).astype(np.intp)
