"""Equality of records by value, arrays included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import numpy as np


class ByValue:
    """Base of frozen dataclasses (made with ``eq=False``) that hold arrays: equal if all their fields are.

    Records of arrays have no hash, as arrays have none.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        compared = (f.name for f in fields(self) if f.compare)  # type: ignore[arg-type]
        return all(same_value(getattr(self, name), getattr(other, name)) for name in compared)


def same_value(a: Any, b: Any) -> bool:
    """Whether two values are equal; arrays by shape and numbers, sequences and mappings by what they hold.

    Examples
    --------
    >>> same_value({"a": (np.ones(2), range(2))}, {"a": [np.ones(2, dtype=np.int8), (0, 1)]})
    True
    """
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    plain = (tuple, list, range)
    if isinstance(a, plain) and isinstance(b, plain) and isinstance(a, Sequence):
        return len(a) == len(b) and all(map(same_value, a, b))
    return bool(a == b)


def overflows(value: Any) -> bool:
    """Whether a record, or anything in it, holds a number that is none or infinitely large; the log of 0 is neither.

    Examples
    --------
    >>> overflows({"a": (1.0, np.array([0.0, np.nan]))}), overflows((-np.inf, 1.0))
    (True, False)
    """
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and not bool((value < np.inf).all())
    if isinstance(value, Mapping):
        return any(map(overflows, value.values()))
    if isinstance(value, (tuple, list)):
        return any(map(overflows, value))
    if is_dataclass(value):
        return any(overflows(getattr(value, f.name)) for f in fields(value))
    return isinstance(value, float) and not value < np.inf
