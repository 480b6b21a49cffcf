"""Counting where the rows are: one scan of the files gives what their columns are and what is in them.

DuckDB groups by the class and returns, for each column of numbers, how many, their sum and sum of squares about a
central value, and the range; for each other column, how often each value occurs. Only columns of very many values, and
numbers that the first rows did not predict, are read a second time.
"""

from __future__ import annotations

import decimal
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.levels import in_order
from tallybayes.core.schema import Level
from tallybayes.data.files import FIRST, File
from tallybayes.data.first_rows import FirstRows, inspect
from tallybayes.data.frames import Table
from tallybayes.data.progress import Progress
from tallybayes.data.sql import quoted
from tallybayes.data.survey import (
    MOST_LEVELS,
    Mode,
    Seen,
    Survey,
    refuse_huge,
    refuse_nothing,
    refuse_regression,
    refuse_unlabelled,
)
from tallybayes.errors import DataError

NO_NAN = "'nan'::DOUBLE"
LOSSY = 100.0  # how far a class may lie from the centre, in variances, before it is counted again, in the exact way


def survey(
    file: File,
    target: str,
    modes: Mapping[str, Mode],
    unlabelled: str = "error",
    progress: Progress | None = None,
    opening: Table | None = None,
) -> Survey:
    """Count the rows of files by class; ``opening`` is their first `FIRST` rows, if they were read already."""
    if opening is None:
        opening = file.first(FIRST, [target, *(name for name, mode in modes.items() if mode != "nothing")])
    opened = inspect(file, target, modes, opening)
    asked: dict[str, Mode] = {name: "nothing" if name in opened.wide else mode for name, mode in modes.items()}
    label = label_of(file, target)
    found = _stored(file, target, asked, unlabelled, progress)
    found = found or _queried(file, target, asked, opened, unlabelled, progress)
    columns = {**found.columns, **{name: _seen_by_itself(file, name, label, found.classes) for name in opened.wide}}
    return replace(found, columns=columns)


def _stored(
    file: File, target: str, asked: Mapping[str, Mode], unlabelled: str, progress: Progress | None
) -> Survey | None:
    """What our own kernels count of the columns of a Parquet file; None where a query has to."""
    if file.format != "parquet":
        return None
    from tallybayes.data.parquet_survey import counted  # with PyArrow's reader, which few uses need

    found = counted(file, target, asked, progress)
    if found is None:
        return None
    there = [k for k, place in found.classes.items() if found.weight[place]]
    classes = _classes(file, target, there, found.unlabelled, unlabelled)
    order = np.array([found.classes[k] for k in classes], dtype=np.intp)
    columns = found.columns(order)
    for name, mode in asked.items():
        if mode == "numbers":
            refuse_huge(name, columns[name].low, columns[name].high, columns[name].m2)
    return Survey(classes, found.weight[order], columns, found.unlabelled)


def _queried(
    file: File,
    target: str,
    asked: Mapping[str, Mode],
    opened: FirstRows,
    unlabelled: str,
    progress: Progress | None,
) -> Survey:
    """What DuckDB counts."""
    label = label_of(file, target)
    found = _asked(file, label, {name: _fields(file, name, mode, opened) for name, mode in asked.items()}, progress)
    unknown = found.pop(None, (0, {}))[0]
    classes = _classes(file, target, found, unknown, unlabelled)
    cells = {name: [found[k][1][name] for k in classes] for name in asked}
    doubtful = [name for name, mode in asked.items() if mode == "numbers" and _is_doubtful(cells[name], name, opened)]
    if doubtful:
        opened = opened.with_exact({name: _better_centre(cells[name], name, opened) for name in doubtful})
        again = _asked(file, label, {name: _fields(file, name, "numbers", opened) for name in doubtful}, progress)
        cells |= {name: [again[k][1][name] for k in classes] for name in doubtful}
    columns = {name: _seen(name, mode, cells[name], opened) for name, mode in asked.items()}
    return Survey(classes, np.array([float(found[k][0]) for k in classes]), columns, unknown)


def _classes(file: File, target: str, found: Collection[Level], unknown: int, unlabelled: str) -> tuple[Level, ...]:
    """The classes in order; an error if the rows cannot be learned."""
    refuse_unlabelled(unknown, unlabelled, file.name, target)
    if not found:
        refuse_nothing(file.name, unknown)
    classes = in_order(found)
    refuse_regression(file.name, target, classes)
    return classes


Cells = tuple[Any, ...]  # what was counted of one column, in one class


def _asked(
    file: File, label: str, fields: Mapping[str, list[str]], progress: Progress | None
) -> dict[Level | None, tuple[int, dict[str, Cells]]]:
    """For each label the number of rows, and the fields of each column."""
    listed = [field for some in fields.values() for field in some]
    sql = f"SELECT {', '.join([f'{label} AS label', 'count(*)', *listed])} FROM {{scan}} GROUP BY 1"
    found: dict[Level | None, tuple[int, dict[str, Cells]]] = {}
    for k, n_rows, *values in file.query(sql, progress):
        rest = iter(values)
        found[k] = n_rows, {name: tuple(islice(rest, len(some))) for name, some in fields.items()}
    return found


def label_of(file: File, target: str) -> str:
    """A label in SQL; NULL where there is none."""
    storage = file.storage(target)
    if storage in ("date", "other"):
        raise DataError(f"the target {target!r} of {file.name} holds {file.types[target]}, which cannot be a label")
    return _value(file, target)


def _value(file: File, name: str) -> str:
    """A value as a level: NULL if missing, otherwise text, a number, true or false."""
    kind, column = file.types[name], quoted(name)
    if file.storage(name) == "number":
        return f"nullif({column}::DOUBLE, {NO_NAN})"
    return column if kind == "VARCHAR" or file.storage(name) in ("integer", "boolean") else f"{column}::VARCHAR"


def _number(file: File, name: str) -> str:
    """A value as a number; NaN is a missing value."""
    plain = f"{quoted(name)}::DOUBLE"
    return f"nullif({plain}, {NO_NAN})" if file.storage(name) == "number" else plain


def _fields(file: File, name: str, mode: Mode, opened: FirstRows) -> list[str]:
    """What is counted of a column. Numbers are summed about a central value, so that 1e8 + noise keeps its noise."""
    if mode != "numbers":
        return [f"histogram({_value(file, name)})"] if mode == "levels" else [f"count({quoted(name)})"]
    x = _number(file, name) if name in opened.with_missing else f"{quoted(name)}::DOUBLE"
    shifted = f"({x} - {opened.centre[name]!r}::DOUBLE)"
    # Welford's way holds where a class is far from the centre, but divides for every row.
    spread = [f"avg({shifted})", f"var_pop({shifted})"]
    sums = [f"sum({shifted})", f"sum({shifted} * {shifted})"]
    return [f"count({x})", *(spread if name in opened.far else sums), f"min({x})", f"max({x})"]


def _moments(cells: list[Cells], name: str, opened: FirstRows) -> tuple[Array, Array, Array]:
    """Weight, mean about the centre and variance of numbers in each class."""
    weight, first, second = (np.array([cell[i] or 0.0 for cell in cells], dtype=np.float64) for i in range(3))
    if name in opened.far:
        return weight, first, second
    n = np.maximum(weight, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = first / n
        variance = second / n - mean**2
    same = np.array([cell[3] == cell[4] for cell in cells])  # what does not vary does so exactly
    return weight, mean, np.where(same, 0.0, np.maximum(variance, 0.0))


def _is_doubtful(cells: list[Cells], name: str, opened: FirstRows) -> bool:
    """Whether NaN got into the sums, or a class is so far from the centre that its spread may be rounding."""
    if any(cell[4] is not None and np.isnan(cell[4]) for cell in cells):  # to DuckDB the largest of all numbers
        return True
    _, mean, variance = _moments(cells, name, opened)
    varies = np.array([cell[3] != cell[4] for cell in cells])
    with np.errstate(over="ignore", invalid="ignore"):
        return name not in opened.far and bool((varies & (mean**2 > LOSSY * variance)).any())


def _better_centre(cells: list[Cells], name: str, opened: FirstRows) -> float:
    """The mean of all rows, where the first scan shows it."""
    weight, shift, _ = _moments(cells, name, opened)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(weight @ shift / max(weight.sum(), 1.0)) + opened.centre[name]
    return mean if np.isfinite(mean) else opened.centre[name]


def _seen(name: str, mode: Mode, cells: list[Cells], opened: FirstRows) -> Seen:
    none = np.zeros(len(cells))
    if mode == "levels":
        return _of_levels([cell[0] or {} for cell in cells])
    if mode == "nothing":
        return Seen(np.array([float(cell[0]) for cell in cells]), none, none, 0.0, 0.0, {})
    low = min((cell[3] for cell in cells if cell[3] is not None), default=0.0)
    high = max((cell[4] for cell in cells if cell[4] is not None), default=0.0)
    refuse_huge(name, low, high, np.zeros(1))
    weight, shift, variance = _moments(cells, name, opened)
    refuse_huge(name, low, high, variance * weight)
    return Seen(weight, np.where(weight > 0, shift + opened.centre[name], 0.0), variance * weight, low, high, {})


def _of_levels(histograms: Sequence[Mapping[Any, int]]) -> Seen:
    counts: dict[Level, Array] = {}
    for k, histogram in enumerate(histograms):
        for value, number in histogram.items():
            level = float(value) if isinstance(value, decimal.Decimal) else value
            counts.setdefault(level, np.zeros(len(histograms)))[k] += number
    weight = sum(counts.values(), np.zeros(len(histograms)))
    none = np.zeros(len(histograms))
    return Seen(weight, none, none, 0.0, 0.0, counts)


def _seen_by_itself(file: File, name: str, label: str, classes: Sequence[Level]) -> Seen:
    """A column of many values, grouped by itself, so that DuckDB can put what it must remember on disk."""
    value, place = _value(file, name), {k: i for i, k in enumerate(classes)}
    ((n_levels, n_present),) = file.query(f"SELECT count(DISTINCT {value}), count({value}) FROM {{scan}}")
    if n_levels == n_present:
        weights = dict(file.query(f"SELECT {label} AS label, count({value}) FROM {{scan}} GROUP BY 1"))
        weight = np.array([float(weights[k]) for k in classes])
        return Seen(weight, weight * 0.0, weight * 0.0, 0.0, 0.0, {}, n_levels)
    if n_levels > MOST_LEVELS:
        raise DataError(
            f"column {name!r} of {file.name} has {n_levels:,} different values, too many for a category; leave it out "
            f"with drop=[{name!r}]"
        )
    found: list[dict[Any, int]] = [{} for _ in classes]
    sql = f"SELECT {label} AS label, {value} AS value, count(*) FROM {{scan}} GROUP BY ALL"
    for k, level, number in file.query(sql):
        if k is not None and level is not None:
            found[place[k]][level] = number
    return _of_levels(found)
