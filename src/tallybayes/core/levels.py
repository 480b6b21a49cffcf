"""Lists of levels or classes: joined, put in order, found in one another and shown."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.tokens import Vocabulary
from tallybayes.errors import SchemaError

Level = Hashable  # a value that a category or a class label may take
MOST_SHOWN = 30  # classes that are listed before "and so many more"


def united(mine: Sequence[Level], theirs: Sequence[Level]) -> Sequence[Level]:
    """Join two lists of levels or classes; the order does not depend on which came first.

    Equal lists keep their declared order; otherwise the union is sorted.
    """
    if (
        isinstance(mine, range)
        and isinstance(theirs, range)
        and mine.start == theirs.start
        and mine.step == theirs.step
    ):
        return mine if len(mine) >= len(theirs) else theirs
    if isinstance(mine, Vocabulary) and isinstance(theirs, Vocabulary):
        return mine.unite(theirs)
    if tuple(mine) == tuple(theirs) or not theirs:
        return tuple(mine)
    if not mine:
        return tuple(theirs)
    if None in mine or None in theirs:  # the level of the missing is always the last
        return (*united(*(tuple(v for v in values if v is not None) for values in (mine, theirs))), None)
    return in_order({*mine, *theirs})


def in_given_order(declared: Sequence[Level], levels: Iterable[Level]) -> tuple[Level, ...]:
    """Levels with those that were declared first, in their order; missing is the last."""
    found = list(levels)
    first = [level for level in declared if level in found and level is not None]
    rest = in_order(level for level in found if level not in first and level is not None)
    return (*first, *rest, *([None] if None in found else []))


def in_order(values: Iterable[Level]) -> tuple[Level, ...]:
    """Sort values of any type: as they compare, or by type and spelling where they do not."""
    values = list(values)
    try:
        return tuple(sorted(values))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(values, key=lambda value: (type(value).__name__, str(value))))


def positions(values: Sequence[Level], within: Sequence[Level]) -> NDArray[np.intp]:
    """Position of each value in a longer list that holds them all."""
    if isinstance(within, range) and within[: len(values)] == values:
        return np.arange(len(values), dtype=np.intp)
    if isinstance(values, Vocabulary) and isinstance(within, Vocabulary):
        return values.places_in(within).astype(np.intp)
    place = {value: p for p, value in enumerate(within)}
    try:
        return np.fromiter((place[value] for value in values), dtype=np.intp, count=len(values))
    except KeyError as error:
        raise SchemaError(f"{error.args[0]!r} is not among {', '.join(map(str, list(within)[:20]))}") from None


def few_of(texts: Sequence[str]) -> str:
    """List texts: ``a, b and c`` and, where they are more, ``a, b and 3 more``."""
    first, last = (texts[:-1], texts[-1]) if len(texts) < 4 else (texts[:2], f"{len(texts) - 2} more")
    return f"{', '.join(first)} and {last}"


def some_of(values: Sequence[Level]) -> str:
    """List values, and how many more there are where there are too many to read."""
    shown = ", ".join(map(str, values[:MOST_SHOWN]))
    return shown if len(values) <= MOST_SHOWN else f"{shown} and {len(values) - MOST_SHOWN:,} more"
