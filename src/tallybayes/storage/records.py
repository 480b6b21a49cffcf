"""Frozen dataclasses to JSON and back, each field checked against its annotation.

A record is ``{"is": "Gaussian", "var_smoothing": 1e-9, …}``; its arrays are kept apart, by name. Only classes of a
list that the caller gives are ever made, so a file cannot ask for anything else.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import ModelFileError, SettingError

TAG = "is"
SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
Arrays = dict[str, NDArray[Any]]


class Encoder:
    """Turns values into what JSON can hold; arrays are collected in ``arrays`` under the path that led to them."""

    def __init__(self, records: Mapping[str, type]) -> None:
        self.names = {cls: name for name, cls in records.items()}
        self.arrays: Arrays = {}

    def __call__(self, value: Any, path: str = "") -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return {TAG: "float", "value": str(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if type(value) in self.names:
            inner = {f.name: self(getattr(value, f.name), _below(path, f.name)) for f in fields(value)}
            return {TAG: self.names[type(value)], **inner}
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, range):
            return {TAG: "range", "of": [value.start, value.stop, value.step]}
        if isinstance(value, tuple):
            return [self(item, _below(path, i)) for i, item in enumerate(value)]
        if isinstance(value, (set, frozenset)):
            kind, items = type(value).__name__, sorted(value, key=lambda item: (type(item).__name__, str(item)))
            return {TAG: kind, "of": [self(item) for item in items]}
        if isinstance(value, list):
            return {TAG: "list", "of": [self(item, _below(path, i)) for i, item in enumerate(value)]}
        if isinstance(value, Mapping):
            pairs = enumerate(value.items())
            return {
                TAG: "map",
                "of": [[self(k), self(v, _below(path, k if isinstance(k, str) else i))] for i, (k, v) in pairs],
            }
        where = f" ({path})" if path else ""
        raise SettingError(
            f"a {type(value).__name__} cannot be written to a model file{where}; labels, levels and settings must be "
            "text, numbers, true, false or None"
        )

    def _array(self, array: NDArray[Any], path: str) -> Any:
        if array.dtype.kind in "OU":
            kind = "object" if array.dtype.kind == "O" else "text"
            return {TAG: "values", "dtype": kind, "of": [self(item) for item in array.tolist()]}
        if array.dtype.kind not in "fiub":
            raise SettingError(f"an array of {array.dtype} cannot be written to a model file ({path})")
        if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous:
            self.arrays[path] = np.ascontiguousarray(array.T)  # sums of another layout differ in the last digit
            return {TAG: "array", "name": path, "order": "F"}
        self.arrays[path] = np.ascontiguousarray(array)
        return {TAG: "array", "name": path}


class Decoder:
    """The way back; whatever is not exactly as the encoder writes it is a ModelFileError."""

    def __init__(self, records: Mapping[str, type], arrays: Arrays) -> None:
        self.records, self.arrays, self.used = records, arrays, set[str]()

    def __call__(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self(item) for item in value)
        if not isinstance(value, dict):
            return value
        tag = value.get(TAG)
        if not isinstance(tag, str):
            raise ModelFileError("it holds an object without a type")
        if tag in self.records:
            return self._record(self.records[tag], value)
        plain: dict[str, Callable[[dict[str, Any]], Any]] = {
            "float": lambda v: SPECIAL[v["value"]],
            "array": self._array,
            "values": lambda v: _values([self(item) for item in v["of"]], v["dtype"]),
            "range": lambda v: _range(*map(_index, v["of"])),
            "list": lambda v: [self(item) for item in v["of"]],
            "set": lambda v: {self(item) for item in v["of"]},
            "frozenset": lambda v: frozenset(self(item) for item in v["of"]),
            "map": lambda v: {self(key): self(item) for key, item in v["of"]},
        }
        if tag not in plain:
            raise ModelFileError(f"it holds a {tag!r}, which this version does not know")
        try:
            return plain[tag](value)
        except ModelFileError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelFileError(f"it holds a {tag} that is damaged") from error

    def _record(self, cls: type, value: dict[str, Any]) -> Any:
        name, hints = value[TAG], hints_of(cls)
        given = {key: self(item) for key, item in value.items() if key != TAG}
        # A field that is missing has its default: a file of an older version lacks the newer ones.
        unknown = [key for key in given if key not in hints]
        if unknown:
            raise ModelFileError(f"a {name} has no field {unknown[0]!r}")
        for key, item in given.items():
            if not fits(item, hints[key]):
                raise ModelFileError(f"{key!r} of a {name} is a {type(item).__name__}, which it cannot be")
        try:
            return cls(**given)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"a {name} cannot be made: {error}") from error

    def _array(self, value: dict[str, Any]) -> NDArray[Any]:
        name = value["name"]
        if name not in self.arrays or name in self.used:
            raise ModelFileError(f"the array {name!r} is missing or used twice")
        self.used.add(name)
        return self.arrays[name].T if value.get("order") == "F" else self.arrays[name]


def _below(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def _range(*of: int) -> range:
    found = range(*of)
    len(found)  # an OverflowError where it cannot be counted
    return found


def _index(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(value)
    return value


def _values(items: list[Any], kind: str) -> NDArray[Any]:
    if kind == "text" and all(isinstance(item, str) for item in items):
        return np.array(items, dtype=str)
    if kind != "object":
        raise ValueError(kind)
    values = np.empty(len(items), dtype=object)
    values[:] = items
    return values


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """The annotation of each field."""
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls)}


def fits(value: Any, hint: Any) -> bool:
    """Whether a decoded value fits an annotation.

    Examples
    --------
    >>> fits((1.0, 2.0), float | tuple[float, ...]), fits("much", float | tuple[float, ...])
    (True, False)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in inner)
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in inner)
    if origin is tuple:
        each = inner[:1] * len(value) if inner[1:] == (...,) and isinstance(value, tuple) else inner
        return isinstance(value, tuple) and len(value) == len(each) and all(map(fits, value, each))
    if origin is np.ndarray:
        (dtype,) = get_args(inner[1])
        return isinstance(value, np.ndarray) and (dtype is Any or value.dtype == np.dtype(dtype))
    if origin is Sequence:
        if isinstance(value, range):
            return fits(0, inner[0])
        if is_dataclass(value):
            held = _holds(value.__class__)
            return held is inner[0] or (held is str and inner[0] is Hashable)
        return isinstance(value, (tuple, list)) and all(fits(item, inner[0]) for item in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    if hint is Hashable:  # a level or a label
        return value is None or isinstance(value, (str, int, float))
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return type(value) is int
    if hint is types.NoneType:
        return value is None
    if getattr(hint, "_is_protocol", False):
        return is_dataclass(value) and all(hasattr(value, name) for name in _demanded(hint))
    return isinstance(hint, type) and not is_typeddict(hint) and isinstance(value, hint)


@cache
def _holds(cls: type) -> Any:
    """What a record that is a sequence is one of; None where it is no sequence."""
    bases = (base for base in getattr(cls, "__orig_bases__", ()) if get_origin(base) is Sequence)
    return next((get_args(base)[0] for base in bases), None)


@cache
def _demanded(protocol: type) -> tuple[str, ...]:
    """The methods and names of a protocol."""
    own = {*vars(protocol), *vars(protocol).get("__annotations__", {})}
    return tuple(sorted(name for name in own if not name.startswith("_")))
