"""Records that are changed many times while a model is learned."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def changed(record: T, **values: Any) -> T:
    """The same frozen dataclass with other fields: `dataclasses.replace` without its checks, and several times as fast.

    Examples
    --------
    >>> from tallybayes.core.settings import Settings
    >>> changed(Settings({}, prior="uniform"), prior_alpha=1.0)
    Settings(families={}, prior='uniform', prior_alpha=1.0, calibration=None, weights=None, offsets={})
    """
    kind: Any = type(record)
    new, own = object.__new__(kind), vars(record)
    kept = {name: own[name] for name in _names(kind)}  # not what was worked out from them
    vars(new).update(kept | values)
    return new


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))
