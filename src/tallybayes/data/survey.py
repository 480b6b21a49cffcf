"""Surveys: the statistics of rows that were counted where they are, and the tally of them.

Files and lazy tables are queried in different ways, with the same record as the result. The schema is inferred from it,
and the tally is the same figures put in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.family import Family
from tallybayes.core.levels import in_order
from tallybayes.core.schema import Column, Level, Schema, plural
from tallybayes.core.summaries import Counts, Moments, Summary
from tallybayes.core.tally import Block, Tally
from tallybayes.data.dates import orders
from tallybayes.data.inference import Profile
from tallybayes.data.truths import known_level
from tallybayes.data.values import Storage
from tallybayes.errors import DataError

Mode = Literal["numbers", "levels", "nothing"]

MOST_LEVELS = 1_000_000  # of one column; more are names or codes, not categories


@dataclass(frozen=True)
class Seen:
    """The statistics of one column in each class."""

    weight: Array  # (K,) rows that have a value
    mean: Array  # (K,) of numbers
    m2: Array  # (K,) Σ (x − mean)²
    low: float
    high: float
    counts: dict[Level, Array]  # (K,) rows of each level
    n_levels: int | None = None  # of a column that has too many to be counted: an identifier

    def spelled(self, levels: Sequence[Level]) -> Seen:
        """The same with true and false counted as a model knows them."""
        counts: dict[Level, Array] = {}
        for level, count in self.counts.items():
            name = known_level(level, levels)
            counts[name] = counts[name] + count if name in counts else count
        return replace(self, counts=counts)


@dataclass(frozen=True)
class Survey:
    """The statistics of the rows that have a label."""

    classes: tuple[Level, ...]
    class_weight: Array  # (K,)
    columns: Mapping[str, Seen]
    unlabelled: int

    @property
    def n_rows(self) -> int:
        """Rows that have a label."""
        return int(self.class_weight.sum())

    def spelled(self, known: Mapping[str, Sequence[Level]]) -> Survey:
        """The same with true and false counted as the levels that a model knows of some columns have them."""
        return replace(self, columns={**self.columns, **{c: self.columns[c].spelled(known[c]) for c in known}})


class NoRowsError(DataError):
    """There is nothing to count."""


def refuse_nothing(name: str, unlabelled: float) -> None:
    """Refuse a table none of whose rows has a label."""
    raise DataError(f"{name} has no row with a label") if unlabelled else NoRowsError(f"{name} has no rows")


def refuse_unlabelled(n_rows: int, unlabelled: str, name: str, target: str) -> None:
    """Rows without a label are an error unless they are to be left out."""
    if n_rows and unlabelled == "error":
        raise DataError(
            f"{plural(n_rows, 'row')} of {name} have no label (column {target!r} is empty there); leave such rows "
            "out, with unlabelled='ignore'"
        )


def refuse_regression(name: str, target: str, classes: Sequence[Level]) -> None:
    """Numbers with fractions are no labels, and neither are dates."""
    if len(classes) > 1 and all(isinstance(k, str) for k in classes) and orders(map(str, classes)):
        raise DataError(
            f"the target {target!r} of {name} holds dates ({classes[0]!r}): a date cannot be a label; bin it"
        )
    for k in classes:
        if isinstance(k, float) and k != np.floor(k):
            raise DataError(
                f"the target {target!r} of {name} holds {k:g}, a number to regress on, not a class; bin it, or "
                "turn it into text if these are labels"
            )
        if isinstance(k, float) and abs(k) > 2.0**53:
            raise DataError(
                f"the target {target!r} of {name} holds {k:.17g}, and floats cannot tell such numbers apart; quote "
                "them, or turn them into text"
            )


def refuse_huge(name: str, low: float, high: float, m2: Array) -> None:
    """Refuse numbers that have no moments."""
    if np.isinf([low, high]).any():
        raise DataError(f"column {name!r} is infinite in some row. Replace infinite values, or leave them empty.")
    if not np.isfinite(m2).all():
        largest = max(low, high, key=abs)
        raise DataError(f"column {name!r} holds {largest:g}, whose square overflows. Rescale the column.")


class Source(Protocol):
    """Rows that are counted where they are."""

    def storage(self, name: str) -> Storage: ...
    def is_numbering(self, name: str, seen: Any) -> bool: ...


def profiles(file: Source, seen: Survey, whole: bool = True) -> dict[str, Profile]:
    """The profile of each column, for the inference of its kind."""

    def one(name: str, column: Seen) -> Profile:
        storage, n_missing = file.storage(name), seen.n_rows - int(column.weight.sum())
        counts_rows = whole and storage == "integer" and column.high - column.low + 1 == seen.n_rows > 20
        levels = range(column.n_levels) if column.n_levels else in_order(column.counts) or None
        return Profile(
            name,
            "empty" if n_missing == seen.n_rows and storage == "text" else storage,
            seen.n_rows,
            n_missing,
            levels=levels,  # type: ignore[arg-type]
            low=column.low,
            high=column.high,
            numbered=counts_rows and not n_missing and not seen.unlabelled and file.is_numbering(name, column),
        )

    return {name: one(name, column) for name, column in seen.columns.items()}


def can_push(schema: Schema, places: Mapping[str, Sequence[int]], families: Mapping[str, Family]) -> bool:
    """Whether a survey has all that the tally of these blocks holds: moments, sums of counts, or weights of levels."""

    def is_seen(block: str) -> bool:
        family = families[block]
        how = family.counted_by()
        if any(schema.columns[p].is_text for p in places[block]):
            return False
        if how == "levels":
            return family.kind == "category"
        return (how == "moments" and not family.of_logs) or (how == "sums" and family.kind == "count")

    return all(map(is_seen, places))


def of_levels(places: Mapping[str, Sequence[int]], families: Mapping[str, Family], schema: Schema) -> list[str]:
    """The blocks of categories, whose tally a survey has to the last digit."""
    return [
        block
        for block, at in places.items()
        if families[block].counted_by() == "levels" and can_push(schema, {block: at}, families)
    ]


def pushed(seen: Survey, schema: Schema, places: Mapping[str, Sequence[int]], families: Mapping[str, Family]) -> Tally:
    """The tally of blocks that a scan can count (`can_push`); a column that was not seen is missing in every row."""
    none = np.zeros(len(schema.classes))
    nothing = Seen(none, none, none, 0.0, 0.0, {})

    def stacked(arrays: list[Array]) -> Array:
        return np.stack(arrays, axis=1) if arrays else np.zeros((len(none), 0))

    def summary(block: str, columns: list[Column]) -> Summary:
        found, how = [seen.columns.get(column.name, nothing) for column in columns], families[block].counted_by()
        if how == "moments":
            return Moments(*(stacked([getattr(one, field) for one in found]) for field in ("weight", "mean", "m2")))
        if how == "levels":
            tables = [_levels(one, column, seen.class_weight) for one, column in zip(found, columns, strict=True)]
            weight = stacked([table.sum(axis=1) for table in tables])
            n_levels = np.array([table.shape[1] for table in tables], dtype=np.int64)
            return Counts(np.concatenate(tables, axis=1), weight, n_levels)
        sums = stacked([_sum(one) for one in found])
        whole = families[block].is_document
        return Counts(sums, seen.class_weight[:, None] if whole else stacked([one.weight for one in found]))

    for block, positions in places.items():
        if families[block].counted_by() == "sums":
            for p in positions:
                _refuse_as_counts(schema.columns[p].name, seen, families[block].is_document)
    blocks = {
        block: Block(list(positions), summary(block, [schema.columns[p] for p in positions]))
        for block, positions in places.items()
    }
    return Tally(schema, seen.class_weight, blocks)


def _levels(one: Seen, column: Column, class_weight: Array) -> Array:
    """Rows (K, C) of each class and level."""
    none = np.zeros(len(class_weight))
    counts = one.counts
    if not counts and one.weight.any():  # whole numbers, only 0 and 1: their mean is the share of ones
        ones = np.rint(one.mean * one.weight)
        counts = {0: one.weight - ones, 1: ones}
    table = [class_weight - one.weight if level is None else counts.get(level, none) for level in column.levels or ()]
    return np.stack(table, axis=1) if table else np.zeros((len(none), 0))


def _sum(one: Seen) -> Array:
    """Σ x; whole where it is so but for rounding."""
    total = one.mean * one.weight
    return np.where(np.abs(total - np.rint(total)) <= 1e-12 * np.abs(total), np.rint(total), total)


def _refuse_as_counts(name: str, seen: Survey, is_document: bool) -> None:
    column = seen.columns.get(name)
    if column is not None and column.low < 0:
        raise DataError(f"column {name!r} holds the count {column.low:g}. Negative values in data cannot be counted.")
    if is_document and (column is None or column.weight.sum() < seen.n_rows):
        raise DataError(
            f"column {name!r} has missing values. Counts cannot be missing: fill them, or use family 'poisson'."
        )
