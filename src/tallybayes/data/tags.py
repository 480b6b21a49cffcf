"""Tags: several values in a cell, written with a separator between them or held as a list.

A list is read as text with an unprintable character (`LISTED`) before each of its tags, which the tokeniser splits by
itself; so files, frames and engines hand out the same texts, and a tag of a list may hold any separator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from tallybayes.core.schema import Level
from tallybayes.core.spelling import tags_of
from tallybayes.core.tokens import LISTED, Tokens
from tallybayes.data.sql import quoted

SEPARATORS = "|;,"  # in the order in which they are tried
SAMPLED = 2000  # different cells by which it is seen whether they hold tags
FEWEST_CELLS = 8  # different ones
MOST_TAGS = 1000
LONGEST_TAG = 40  # characters; what is longer is a phrase
MOST_WORDS = 3  # of a tag, on average


def tag_tokens(separator: str) -> Tokens:
    """How cells of tags are read."""
    return Tokens(words="tags", separator=separator, lower=False)


def separator_of(cells: Sequence[Level]) -> str | None:
    """The separator of cells that clearly hold tags: few different ones, which most cells share; None of others.

    Examples
    --------
    >>> films = ["drama|crime", "drama", "comedy|crime", "comedy", "crime", "war|drama", "war", "comedy|drama|war"]
    >>> separator_of(films), separator_of(["Oslo, Norway", "Rome, Italy", "Bonn, Germany"]), separator_of([])
    ('|', None, None)
    """
    some = [cell for cell in cells[:: max(1, len(cells) // SAMPLED)] if isinstance(cell, str)]
    if hold_lists(some):
        return SEPARATORS[0]
    return next((separator for separator in SEPARATORS if _are_tags(some, separator)), None)


def _are_tags(cells: Sequence[str], separator: str) -> bool:
    several = sum(separator in cell for cell in cells)
    if len(cells) < FEWEST_CELLS or 5 * several < len(cells):
        return False
    lists = [tags_of(cell, separator) for cell in cells]
    times = Counter(tag for tags in lists for tag in set(tags))
    if not times or len(times) > MOST_TAGS or 2 * len(times) > len(cells) or max(map(len, times)) > LONGEST_TAG:
        return False
    words = sum(len(tag.split()) for tag in times) / len(times)
    shared = sum(n > 1 for n in times.values())
    # Parts that always stand in one place, such as a town and its country, are no set.
    lengths = {len(tags) for tags in lists}
    return words <= MOST_WORDS and 2 * shared > len(times) and len(lengths) > 1


def likeliest_separator(cells: Iterable[Level]) -> str:
    """The separator of cells that are known to hold tags: the one that most of them have."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    return max(SEPARATORS + "/\n\t ", key=lambda each: sum(each in text.strip() for text in texts))


# ------------------------------------------------------------------------------------------ lists


def hold_lists(cells: Sequence[Level] | None) -> bool:
    """Whether cells that were read as text are lists."""
    return any(isinstance(cell, str) and cell.startswith(LISTED) for cell in (cells or ())[:100])


def as_listed(tags: Iterable[Any]) -> str:
    """A list of tags as text; what is missing in it is left out."""
    return LISTED + LISTED.join(str(tag) for tag in tags if tag is not None)


def from_listed(cell: Any) -> Any:
    """A cell as it was: the tags of a list, or any other value."""
    return tags_of(cell, LISTED) if isinstance(cell, str) and cell.startswith(LISTED) else cell


def lists_as_text(cells: Sequence[Any]) -> list[str | None] | None:
    """Lists of text as text; None where the cells are anything else: lists of numbers may be vectors.

    Examples
    --------
    >>> lists_as_text([["drama", "crime"], None, []])
    ['\\x1fdrama\\x1fcrime', None, '\\x1f']
    >>> lists_as_text([["drama"], 7]) is None
    True
    """
    if not any(isinstance(cell, _LISTS) for cell in cells):
        return None
    found: list[str | None] = []
    for cell in cells:
        if isinstance(cell, _LISTS):
            tags = cell.tolist() if isinstance(cell, np.ndarray) else cell
            if not all(tag is None or isinstance(tag, str) for tag in tags):
                return None
            found.append(as_listed(sorted(tags) if isinstance(tags, set | frozenset) else tags))
        elif cell is None or cell != cell:
            found.append(None)
        else:
            return None
    return found


_LISTS = (list, tuple, set, frozenset, np.ndarray)


def text_of_lists(series: nw.Series[Any]) -> nw.Series[Any] | None:
    """A column of lists as text; None where it is another."""
    cells = lists_as_text(series.to_list())
    if cells is None:
        return None
    return nw.new_series(series.name, cells, nw.String, backend=series.implementation)


def listed_in_sql(types: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """DuckDB's columns of lists of text as text, and their type."""
    lists = [name for name, kind in types.items() if kind == "VARCHAR[]"]
    # A list in which all is missing has no text in DuckDB; one that is missing itself stays so.
    text = "CASE WHEN {x} IS NOT NULL THEN chr(31) || coalesce(array_to_string({x}, chr(31)), '') END"
    return {name: (text.format(x=quoted(name)), "VARCHAR") for name in lists}
