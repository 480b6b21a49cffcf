"""Counting where the rows are: one scan of the files gives what their columns are and what is in them.

DuckDB groups by the class and answers, for each column of numbers, how many, the mean, the variance (Welford's, merged
as ours are), and the range; for each other column, how often each value occurs. The schema is inferred from that, and
the tally is the same figures put in order. Nothing is read twice, but for columns of very many values.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from tallybayes.batch import Array
from tallybayes.errors import DataError
from tallybayes.infer import Profile
from tallybayes.schema import Column, Level, Schema, in_order, plural
from tallybayes.sources.files import LOOK, File, Progress, TypeConflict, quoted
from tallybayes.sources.values import Storage
from tallybayes.tally import Block, Counts, Moments, Summary, Tally

Mode = Literal["numbers", "levels", "nothing"]

PUSHED = {"gaussian", "categorical", "poisson", "multinomial"}  # blocks that a scan can count
MOST_LEVELS = 1_000_000  # of one column; more are names or codes, not categories
WIDE = LOOK // 5  # different values among the first rows beyond which a column is counted by itself
NO_NAN = "'nan'::DOUBLE"


@dataclass(frozen=True)
class Seen:
    """What was seen of one column in each class."""

    weight: Array  # (K,) rows that have a value
    mean: Array  # (K,) of numbers
    m2: Array  # (K,) Σ (x − mean)²
    low: float
    high: float
    counts: dict[Level, Array]  # (K,) rows of each level
    n_levels: int | None = None  # of a column that has too many to be counted: an identifier


@dataclass(frozen=True)
class Survey:
    """What was seen of the rows that have a label."""

    classes: tuple[Level, ...]
    class_weight: Array  # (K,)
    columns: Mapping[str, Seen]
    unlabelled: int

    @property
    def n_rows(self) -> int:
        """Rows that have a label."""
        return int(self.class_weight.sum())


def survey(
    file: File, target: str, modes: Mapping[str, Mode], unlabelled: str = "error", progress: Progress | None = None
) -> Survey:
    """Count the rows of files by class.

    Parameters
    ----------
    file : File
    target : str
        The column of class labels.
    modes : mapping of column to {"numbers", "levels", "nothing"}
        What is to be counted of each column.
    unlabelled : {"error", "ignore"}
        What to do with rows that have no label.
    progress : callable, optional

    Returns
    -------
    Survey
    """
    wide, centre = _look(file, target, modes)
    asked = {name: "nothing" if name in wide else mode for name, mode in modes.items()}
    fields = [field for name, mode in asked.items() for field in _fields(file, name, mode, centre.get(name, 0.0))]
    label = _label(file, target)
    sql = f"SELECT {', '.join([f'{label} AS label', 'count(*)', *fields])} FROM {{scan}} GROUP BY label"
    rows = file.query(sql, progress)
    holes = sum(row[1] for row in rows if row[0] is None)
    refuse_unlabelled(holes, unlabelled, file.name, target)
    by_label = {row[0]: row for row in rows if row[0] is not None}
    if not by_label:
        raise DataError(f"{file.name} has no row with a label" if rows else f"{file.name} has no rows")
    classes = in_order(by_label)
    refuse_regression(file.name, target, classes)
    columns, at = {}, 2
    for name, mode in asked.items():
        width = len(_fields(file, name, mode, 0.0))
        columns[name] = _seen(name, mode, [by_label[k][at : at + width] for k in classes], centre.get(name, 0.0))
        at += width
    columns.update({name: _seen_alone(file, name, label, classes) for name in wide})
    return Survey(classes, np.array([float(by_label[k][1]) for k in classes]), columns, holes)


def _look(file: File, target: str, modes: Mapping[str, Mode]) -> tuple[list[str], dict[str, float]]:
    """What the first rows say: which columns have very many values, and where the numbers lie.

    A target of very many values is an error, and a column without any asks for a look at all rows.
    """
    words, numbers = ([name for name, mode in modes.items() if mode == m] for m in ("levels", "numbers"))
    fields = [f"count(DISTINCT {quoted(name)})" for name in (target, *words)]
    fields += [f"avg({_number(file, name)})" for name in numbers]
    sql = f"SELECT count(*), count({quoted(target)}), {', '.join(fields)} FROM (FROM {{scan}} LIMIT {LOOK})"
    ((n_rows, n_labelled, n_labels, *found),) = file.query(sql)
    if n_labels > max(1000, n_labelled // 2):
        raise DataError(
            f"the target {target!r} of {file.name} has {n_labels:,} different values in the first "
            f"{plural(n_rows, 'row')}: that is no label but a number, a name or a code; bin it, or choose another"
        )
    n_levels, means = found[: len(words)], found[len(words) :]
    if n_rows == LOOK and not file.whole and file.format in ("csv", "json") and 0 in n_levels:
        raise TypeConflict(f"the first rows of {file.name} do not tell the type of every column")
    # A mean that is infinite or not there shifts nothing; the scan will tell.
    centre = {name: mean for name, mean in zip(numbers, means, strict=True) if mean and np.isfinite(mean)}
    return [name for name, number in zip(words, n_levels, strict=True) if number > WIDE], centre


def _label(file: File, target: str) -> str:
    storage = file.storage(target)
    if storage in ("date", "other"):
        raise DataError(f"the target {target!r} of {file.name} holds {file.types[target]}, which cannot be a label")
    return _value(file, target)


def _value(file: File, name: str) -> str:
    """A value as a level: holes are NULL, everything else is text, a number, true or false."""
    kind, column = file.types[name], quoted(name)
    if file.storage(name) == "number":
        return f"nullif({column}::DOUBLE, {NO_NAN})"
    return column if kind == "VARCHAR" or file.storage(name) in ("integer", "boolean") else f"{column}::VARCHAR"


def _number(file: File, name: str) -> str:
    """A value as a number; NaN is a hole."""
    plain = f"{quoted(name)}::DOUBLE"
    return f"nullif({plain}, {NO_NAN})" if file.storage(name) == "number" else plain


def _fields(file: File, name: str, mode: Mode, centre: float) -> list[str]:
    """What is asked of a column. Numbers are counted about a value amid them, so that 1e8 + noise keeps its noise."""
    if mode == "numbers":
        x = _number(file, name)
        shifted = f"({x} - {centre!r}::DOUBLE)"
        return [f"count({x})", f"avg({shifted})", f"var_pop({shifted})", f"min({x})", f"max({x})"]
    return [f"histogram({_value(file, name)})"] if mode == "levels" else [f"count({quoted(name)})"]


def _seen(name: str, mode: Mode, cells: list[tuple[Any, ...]], centre: float) -> Seen:
    none = np.zeros(len(cells))
    if mode == "levels":
        return _of_levels([cell[0] or {} for cell in cells])
    weight = np.array([float(cell[0]) for cell in cells])
    if mode == "nothing":
        return Seen(weight, none, none, 0.0, 0.0, {})
    shift, variance = (np.array([cell[i] or 0.0 for cell in cells]) for i in (1, 2))
    low = min((cell[3] for cell in cells if cell[3] is not None), default=0.0)
    high = max((cell[4] for cell in cells if cell[4] is not None), default=0.0)
    if np.isinf([low, high]).any():
        raise DataError(f"column {name!r} is infinite in some row. Replace infinite values, or leave them empty.")
    m2 = variance * weight
    if not np.isfinite(m2).all():
        largest = max(low, high, key=abs)
        raise DataError(f"column {name!r} holds {largest:g}, whose square overflows. Rescale the column.")
    return Seen(weight, np.where(weight > 0, shift + centre, 0.0), m2, low, high, {})


def _of_levels(histograms: Sequence[Mapping[Any, int]]) -> Seen:
    counts: dict[Level, Array] = {}
    for k, histogram in enumerate(histograms):
        for value, number in histogram.items():
            level = float(value) if isinstance(value, decimal.Decimal) else value
            counts.setdefault(level, np.zeros(len(histograms)))[k] += number
    weight = sum(counts.values(), np.zeros(len(histograms)))
    none = np.zeros(len(histograms))
    return Seen(weight, none, none, 0.0, 0.0, counts)


def _seen_alone(file: File, name: str, label: str, classes: Sequence[Level]) -> Seen:
    """A column of many values, grouped by itself, so that DuckDB can put what it must remember on disk."""
    value, place = _value(file, name), {k: i for i, k in enumerate(classes)}
    ((n_levels, n_present),) = file.query(f"SELECT count(DISTINCT {value}), count({value}) FROM {{scan}}")
    if n_levels == n_present:
        weights = dict(file.query(f"SELECT {label} AS label, count({value}) FROM {{scan}} GROUP BY label"))
        weight = np.array([float(weights[k]) for k in classes])
        return Seen(weight, weight * 0.0, weight * 0.0, 0.0, 0.0, {}, n_levels)
    if n_levels > MOST_LEVELS:
        raise DataError(
            f"column {name!r} of {file.name} has {n_levels:,} different values, too many for a category; leave it out "
            f"with drop=[{name!r}] or --drop {name}"
        )
    found: list[dict[Any, int]] = [{} for _ in classes]
    sql = f"SELECT {label} AS label, {value} AS value, count(*) FROM {{scan}} GROUP BY ALL"
    for k, level, number in file.query(sql):
        if k is not None and level is not None:
            found[place[k]][level] = number
    return _of_levels(found)


def refuse_unlabelled(holes: int, unlabelled: str, name: str, target: str) -> None:
    """Rows without a label are an error unless they are to be left out."""
    if holes and unlabelled == "error":
        raise DataError(
            f"{plural(holes, 'row')} of {name} have no label (column {target!r} is empty there); leave such rows "
            "out, with unlabelled='ignore' or --unlabelled ignore"
        )


def refuse_regression(name: str, target: str, classes: Sequence[Level]) -> None:
    """Numbers with fractions are no labels."""
    for k in classes:
        if isinstance(k, float) and k != np.floor(k):
            raise DataError(
                f"the target {target!r} of {name} holds {k:g}, a number to regress on, not a class; bin it, or "
                "turn it into text if these are labels"
            )


# ---------------------------------------------------------------------------------------------- what it means


class Source(Protocol):
    """Rows that are counted where they are."""

    def storage(self, name: str) -> Storage: ...
    def is_numbering(self, name: str, seen: Any) -> bool: ...


def profiles(file: Source, seen: Survey, whole: bool = True) -> dict[str, Profile]:
    """What a look at each column says, for the inference of its kind."""

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


def pushed(seen: Survey, schema: Schema, places: Mapping[str, Sequence[int]]) -> Tally:
    """The tally of blocks that a scan can count.

    Parameters
    ----------
    seen : Survey
    schema : Schema
        Its classes are those of the survey; a column that was not seen is a hole in every row.
    places : mapping of block to positions of its columns
        Only blocks of `PUSHED`.
    """
    none = np.zeros(len(schema.classes))
    nothing = Seen(none, none, none, 0.0, 0.0, {})

    def stacked(arrays: list[Array]) -> Array:
        return np.stack(arrays, axis=1) if arrays else np.zeros((len(none), 0))

    def summary(block: str, columns: list[Column]) -> Summary:
        found = [seen.columns.get(column.name, nothing) for column in columns]
        if block == "gaussian":
            return Moments(*(stacked([getattr(one, field) for one in found]) for field in ("weight", "mean", "m2")))
        if block == "categorical":
            tables = [_levels(one, column, seen.class_weight) for one, column in zip(found, columns, strict=True)]
            weight = stacked([table.sum(axis=1) for table in tables])
            n_levels = np.array([table.shape[1] for table in tables], dtype=np.int64)
            return Counts(np.concatenate(tables, axis=1), weight, n_levels)
        sums = stacked([_sum(one) for one in found])
        weight = seen.class_weight[:, None] if block == "multinomial" else stacked([one.weight for one in found])
        return Counts(sums, weight)

    for block in ("poisson", "multinomial"):
        for p in places.get(block, ()):
            _refuse_as_counts(schema.columns[p].name, seen, block)
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
    """Σ x; whole where the numbers are."""
    total = one.mean * one.weight
    return np.where(np.abs(total - np.rint(total)) < 1e-6, np.rint(total), total)


def _refuse_as_counts(name: str, seen: Survey, block: str) -> None:
    column = seen.columns.get(name)
    if column is not None and column.low < 0:
        raise DataError(f"column {name!r} holds the count {column.low:g}. Negative values in data cannot be counted.")
    if block == "multinomial" and (column is None or column.weight.sum() < seen.n_rows):
        raise DataError(f"column {name!r} has holes. Counts cannot have holes: fill them, or use family 'poisson'.")
