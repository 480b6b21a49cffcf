"""The controls of the what-if form: one for every column with evidence, the most important first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.core.schema import Column, Level
from tallybayes.core.terms import Bag, ByLevel, ByPair, Ellipsoid, Text, names_of
from tallybayes.export.portable import Scorer
from tallybayes.inspection.charts import Bars, ColumnPicture, Curves, Importance

MOST_TAGS = 30  # that have a button, the most informative
MOST_LEVELS = 100  # that are listed; of more, the most frequent are suggested


def controls(
    scorer: Scorer, columns: Sequence[Column], pictures: Sequence[ColumnPicture], matters: Importance
) -> list[dict[str, Any]]:
    """The controls as plain values, for JSON, the most important columns first; the columns are those of the schema."""
    bags = [term for term in scorer.terms if isinstance(term, Bag)]
    in_bags = {name for bag in bags for name in bag.columns}
    whole = {name for term in scorer.terms if isinstance(term, Ellipsoid) for name in term.columns}  # cannot be missing
    known = {column.name: column for column in columns}
    shown = {picture.column: picture for picture in pictures if picture.kind != "pair"}
    rank = {each.column: i for i, each in enumerate(matters.columns)}
    found = [_words(bag) for bag in bags]
    dates = {column.parent for column in columns if column.name in scorer.readings} - {None}
    for name in sorted(scorer.columns, key=lambda name: rank.get(name, len(rank))):
        parent = known[name].parent if name in known else None
        if parent in dates:
            found.append(_date(parent, columns))
            dates.remove(parent)
        elif name not in in_bags and name in known and parent is None:
            found.append(_control(known[name], scorer, shown.get(name), required=name in whole))
    made = {control["column"] for control in found} | in_bags
    unused = [each for each in matters.unused if each.column not in made and known[each.column].parent is None]
    return [*found, *({"is": "unused", "column": each.column, "why": each.why} for each in unused)]


def _date(parent: str | None, columns: Sequence[Column]) -> dict[str, Any]:
    """One box for a date, whatever parts of it are evidence."""
    parts = [column for column in columns if column.parent == parent]
    order = next(c.reading.date.order for c in parts if c.reading is not None and c.reading.date is not None)
    clock = any(c.reading is not None and c.reading.date is not None and c.reading.date.part == "hour" for c in parts)
    kind = "time" if order == "hms" else "datetime-local" if clock else "date"
    return {"is": "date", "column": parent, "input": kind, "parts": [column.name for column in parts]}


def _words(bag: Bag) -> dict[str, Any]:
    """One box for all words of a bag."""
    return {"is": "words", "column": "words", "words": list(bag.columns)}


def _control(column: Column, scorer: Scorer, picture: ColumnPicture | None, required: bool) -> dict[str, Any]:
    control: dict[str, Any] = {"column": column.name}
    terms = [term for term in scorer.terms if column.name in names_of(term)]
    if any(isinstance(term, Text) for term in terms):
        words = picture.shape.levels if picture is not None and isinstance(picture.shape, Bars) else ()
        if column.kind == "tags" and column.tokens is not None:
            return control | {"is": "tags", "tags": list(words[:MOST_TAGS]), "separator": column.tokens.separator}
        return control | {"is": "text"}
    if column.levels is not None:
        levels = [level for level in column.levels if level is not None]
        unseen = any(isinstance(t, ByLevel) and np.any(np.nan_to_num(t.unseen, neginf=-1.0)) for t in terms)
        suggested = levels
        if len(levels) > MOST_LEVELS and picture is not None and isinstance(picture.shape, Bars):
            chance = dict(zip(picture.shape.levels, picture.prior @ picture.shape.chance, strict=True))
            suggested = sorted(levels, key=lambda level: -chance.get(str(level), 0.0))[:MOST_LEVELS]
        control |= {"is": "levels", "levels": levels, "other": unseen}
        if suggested is not levels:
            control["suggested"] = [str(level) for level in suggested]
        control["typical"] = _typical_levels(levels, picture)
        return control
    low, high = _reach(picture, terms)
    if not (math.isfinite(high - low) and high > low):  # beyond what a float holds
        low, high = 0.0, 1.0
    step = 1.0 if column.whole or column.kind == "count" else 10.0 ** math.floor(math.log10((high - low) / 100.0))
    low, high = step * math.floor(low / step), step * math.ceil(high / step)
    low = max(0.0, low) if column.kind == "count" else low
    digits = max(0, -math.floor(math.log10(step)))
    control |= {"is": "number", "low": round(low, digits), "high": round(high, digits), "step": step}
    control |= {"required": required, "digits": digits}
    control["typical"] = [round(value, digits) for value in _typical_numbers(picture, len(scorer.prior))]
    return control


def _reach(picture: ColumnPicture | None, terms: Sequence[Any]) -> tuple[float, float]:
    if picture is not None and isinstance(picture.shape, Curves):
        return float(picture.shape.points[0]), float(picture.shape.points[-1])
    if picture is not None and isinstance(picture.shape, Bars) and not picture.shape.words:
        numbers = [_number(level) for level in picture.shape.levels]
        if all(number is not None for number in numbers) and len(numbers) > 1:
            return float(numbers[0] or 0.0), float(numbers[-1] or 0.0)
    parts = [part for term in terms if isinstance(term, ByPair) for part in term.parts if part.edges is not None]
    edges = [float(edge) for part in parts for edge in (part.edges if part.edges is not None else ())]
    edges += [float(edge) for term in terms for edge in getattr(term, "edges", ())]
    if not edges:
        return 0.0, 1.0
    room = (max(edges) - min(edges)) or 1.0
    return min(edges) - room / 4, max(edges) + room / 4


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _typical_levels(levels: Sequence[Level], picture: ColumnPicture | None) -> list[int]:
    """Position of the likeliest level of each class."""
    if picture is None or not isinstance(picture.shape, Bars) or not levels:
        return []
    return [int(k) for k in picture.shape.chance[:, : len(levels)].argmax(axis=1)]


def _typical_numbers(picture: ColumnPicture | None, n_classes: int) -> list[float]:
    """Where the density of each class is highest."""
    if picture is None:
        return [0.0] * n_classes
    shape = picture.shape
    if isinstance(shape, Bars):
        return [_number(shape.levels[int(c)]) or 0.0 for c in shape.chance.argmax(axis=1)]
    at = 0.5 * (shape.points[1:] + shape.points[:-1]) if shape.stepped else shape.points
    return [float(at[int(i)]) for i in shape.density.argmax(axis=1)]
