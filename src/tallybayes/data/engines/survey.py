"""The survey of all columns of a table in an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.levels import in_order
from tallybayes.core.schema import Level, plural
from tallybayes.data.engines.sums import centred, level_sums, sums_of
from tallybayes.data.engines.table import Lazy
from tallybayes.data.files import FIRST
from tallybayes.data.survey import MOST_LEVELS, Mode, Seen, Survey, refuse_nothing, refuse_regression, refuse_unlabelled
from tallybayes.errors import DataError


def survey_lazy(lazy: Lazy, target: str, modes: Mapping[str, Mode], unlabelled: str = "error") -> Survey:
    """Count the rows of a table by class; each row once, whatever its weight."""
    if lazy.storage(target) in ("date", "other"):
        raise DataError(f"the target {target!r} of {lazy.name} holds {lazy.types[target]}, which cannot be a label")
    numbers = [name for name, mode in modes.items() if mode == "numbers" or _counts_truth(lazy, name, mode)]
    levels = [name for name, mode in modes.items() if mode == "levels" and name not in numbers]
    others = [name for name in modes if name not in numbers and name not in levels]
    expressions = {name: lazy.number(name) for name in numbers}
    # Of all others only missing values are counted.
    expressions |= {name: nw.when(~lazy.column(name).is_null()).then(lazy.lit(0.0)) for name in others}
    centre = centres(lazy, {name: name for name in numbers})
    asked = {f"tb_{j}": (x, centre.get(name, 0.0)) for j, (name, x) in enumerate(expressions.items())}
    found = sums_of(lazy, asked, target, None)
    unknown = int(found.get(None, (0.0, {}))[0])
    refuse_unlabelled(unknown, unlabelled, lazy.name, target)
    class_weight = _by_class(lazy, target, {label: rows for label, (rows, _) in found.items()})
    classes = tuple(class_weight)
    seen: dict[str, Seen] = {}
    for key, name in zip(asked, expressions, strict=True):
        table = np.array([found[k][1][key] for k in classes]).reshape(-1, 5)
        one = centred(lazy, name, table, asked[key], target, None, classes)
        seen[name] = _of_truth(one) if _counts_truth(lazy, name, modes[name]) else one
    for name, rows in level_sums(lazy, levels, target).items():
        seen[name] = _of_levels(lazy, name, rows, classes)
    return Survey(classes, np.array(list(class_weight.values())), {name: seen[name] for name in modes}, unknown)


def _by_class(lazy: Lazy, target: str, rows: Mapping[Level, float]) -> dict[Level, float]:
    """The number of rows of each class, in order; None is no class. A target that is no label is refused."""
    classes = in_order(label for label in rows if label is not None)
    if not classes:
        refuse_nothing(lazy.name, rows.get(None, 0.0))
    found = {label: rows[label] for label in classes}
    n_rows = int(sum(found.values()))
    if len(classes) > max(1000, n_rows // 2):
        raise DataError(
            f"the target {target!r} of {lazy.name} has {len(classes):,} different values in {plural(n_rows, 'row')}: "
            "that is no label but a number, a name or a code; bin it, or choose another"
        )
    refuse_regression(lazy.name, target, classes)
    return found


def centres(lazy: Lazy, columns: Mapping[str, str], logs: bool = False) -> dict[str, float]:
    """A central value of the numbers (or their logs) of each column, from the first rows: by key, for the column."""
    names = list(dict.fromkeys(columns.values()))
    table = lazy.first(FIRST // 8, names) if names else None  # a few are enough for a central value
    found = {}
    for key, name in columns.items():
        assert table is not None
        values = (
            np.asarray(table.columns[name].numbers(0, table.n_rows), dtype=np.float64) if table.n_rows else np.zeros(0)
        )
        values = values[np.isfinite(values)]
        values = np.log(values[values > 0]) if logs else values
        found[key] = float(values.mean()) if len(values) else 0.0
    return found


def _counts_truth(lazy: Lazy, name: str, mode: Mode) -> bool:
    """Whether a column of true and false is counted by the sum of the true ones."""
    return mode == "levels" and lazy.storage(name) == "boolean"


def _of_truth(one: Seen) -> Seen:
    true = np.rint(one.mean * one.weight)
    counts: dict[Level, Array] = {False: one.weight - true, True: true}
    return Seen(one.weight, one.mean * 0.0, one.m2 * 0.0, 0.0, 0.0, {k: v for k, v in counts.items() if v.any()})


def _of_levels(lazy: Lazy, name: str, rows: Sequence[tuple[Any, ...]], classes: tuple[Level, ...]) -> Seen:
    place, counts = {k: i for i, k in enumerate(classes)}, dict[Level, Array]()
    for label, level, number in rows:
        counts.setdefault(level, np.zeros(len(classes)))[place[label]] += float(number)
    weight = sum(counts.values(), np.zeros(len(classes)))
    none = np.zeros(len(classes))
    if len(counts) > MOST_LEVELS and len(counts) < weight.sum():
        raise DataError(
            f"column {name!r} of {lazy.name} has {len(counts):,} different values, too many for a category; leave it "
            f"out with drop=[{name!r}]"
        )
    return Seen(weight, none, none, 0.0, 0.0, counts)
