"""True and false by their meaning: a column that was ``true`` in one table may be ``True`` or 1 in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import UNSEEN
from tallybayes.core.schema import Level
from tallybayes.data.sql import literal, quoted
from tallybayes.data.values import Values

WORDS = ({True: "true", False: "false"}, {True: "True", False: "False"}, {True: "TRUE", False: "FALSE"})
DIGITS = {True: "1", False: "0"}
MOST_LEVELS = 50  # of a column that may have true and false among them
SQL_TYPES: dict[type, str] = {str: "VARCHAR", int: "BIGINT", bool: "BOOLEAN"}
MEANING = {word: truth for words in (*WORDS, DIGITS) for truth, word in words.items()}


def truth(value: Any) -> bool | None:
    """What a value means as true or false; None if it is neither.

    Examples
    --------
    >>> truth("TRUE"), truth(0), truth("no")
    (True, False, None)
    """
    return MEANING.get(value) if isinstance(value, str) else bool(value) if value in (0, 1) else None


def spelling(levels: Sequence[Level] | None) -> Mapping[bool, Level]:
    """How a column writes true and false; empty where it does not, or has two levels for one of them.

    Examples
    --------
    >>> spelling(("False", "True", None)), spelling(("no", "yes")), spelling((0, 1, 2))
    ({False: 'False', True: 'True'}, {}, {})
    >>> spelling((False, True, "unknown"))
    {False: False, True: True}
    """
    if levels is None or len(levels) > MOST_LEVELS:
        return {}
    known = [level for level in levels if level is not None]
    found = [level for level in known if truth(level) is not None]
    if len(found) < len(known):  # beside other levels 0 and 1 are numbers
        found = [level for level in found if isinstance(level, bool) or (isinstance(level, str) and level.isalpha())]
        if len(found) != 2:
            return {}
    written = {key: level for level in found if (key := truth(level)) is not None}
    return written if len(written) == len(found) else {}


def known_level(value: Level, levels: Sequence[Level]) -> Level:
    """The level that means the same, or the value itself."""
    meaning = truth(value)
    return value if meaning is None else spelling(levels).get(meaning, value)


def by_meaning(codes: NDArray[np.int32], values: Values, first: int, levels: Sequence[Level]) -> NDArray[np.int32]:
    """The codes of a range of rows, with true and false found however they are written."""
    if not (codes == UNSEEN).any() or not spelling(levels):
        return codes
    truths = [truth(level) for level in levels]
    for words in (*WORDS, DIGITS) if values.storage == "text" else ({True: True, False: False},):
        others = [None if key is None else words[key] for key in truths]
        codes = np.where(codes == UNSEEN, values.codes(first, first + len(codes), others), codes)
    return codes


def spelled_in_sql(name: str, levels: Sequence[Level] | None, storage: str) -> tuple[str, str] | None:
    """The column of a file with true and false written as the levels are, and its type; None if they are already."""
    written = spelling(levels)
    kinds = {SQL_TYPES.get(type(level)) for level in levels or () if level is not None} if written else set()
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None or (storage != "text" and (kind != "BOOLEAN" or storage == "boolean")):
        return None
    cases = " ".join(
        f"WHEN {literal(word)} THEN {literal(str(level))}::{kind}"
        for key, level in written.items()
        for word in (WORDS[0][key], DIGITS[key])
    )
    return f"CASE lower({quoted(name)}::VARCHAR) {cases} ELSE {quoted(name)}::{kind} END", kind
