"""Values and their log odds as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallybayes.core.levels import few_of
from tallybayes.core.listings import readable
from tallybayes.core.schema import Column

LONGEST = 60  # characters of a value that are shown


def shown(value: Any) -> str:
    """A value as it is read."""
    if value is None:
        return "(missing)"
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST].rstrip()}…"
    return readable(value) if isinstance(value, float) else str(value)


def chance(p: float, digits: int = 4) -> str:
    """A probability, never rounded to certainty.

    Examples
    --------
    >>> chance(0.25), chance(0.99999997), chance(1.0)
    ('= 0.25', '> 0.9999', '= 1')
    """
    rounded = f"{p:.{digits}g}"
    return f"> {1.0 - 10.0**-digits:g}" if rounded == "1" and p < 1.0 else f"= {rounded}"


def percent(p: float) -> str:
    """A probability in per cent, never rounded to certainty.

    Examples
    --------
    >>> percent(0.635), percent(0.99999), percent(0.00001), percent(1.0)
    ('63.5 %', '> 99.9 %', '< 0.1 %', '100.0 %')
    """
    if 0.0 < p < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if 0.9995 <= p < 1.0 else f"{100.0 * p:.1f} %"


def value_of(column: Column, values: Mapping[str, Any]) -> Any:
    """The value as a person reads it; that of a pair is both, that of a block begins with the first two."""
    if column.parts is None:
        return values.get(column.name)
    each = [values.get(part.name) for part in column.parts]
    return None if None in each else few_of([shown(value) for value in each])


def difference(mine: float, theirs: float) -> float:
    """The difference of two logs; two impossibilities cancel."""
    return 0.0 if mine == theirs else float(mine - theirs)
