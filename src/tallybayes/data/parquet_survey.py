"""Surveys of plain Parquet files by our own kernels: they read what is stored, which takes half as long as a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import MISSING, Array, Codes, Labels
from tallybayes.core.schema import Level
from tallybayes.core.threads import ahead
from tallybayes.data.arrow import EnumValues
from tallybayes.data.files import File
from tallybayes.data.frames import Table
from tallybayes.data.parquet import stored_tables
from tallybayes.data.progress import Progress
from tallybayes.data.survey import Mode, Seen
from tallybayes.data.values import Values

FAR = 16.0  # ranges that numbers may lie from zero before they are counted about a centre of their own
MANY = 8192  # values of a column in one part, beyond which a query counts them


class ManyValuesError(Exception):
    """A column has too many values to be counted so, or lists a missing one among them."""


class Counting:
    """What was counted so far; a class is known by its place, in the order in which classes come."""

    def __init__(self, modes: Mapping[str, Mode]) -> None:
        self._modes = modes
        self.classes: dict[Level, int] = {}  # those that are listed, although no row may have them
        self.weight = np.zeros(0)
        self.unlabelled = 0
        self._numbers = {name: _Numbers() for name, mode in modes.items() if mode == "numbers"}
        self._levels = {name: _Levels() for name, mode in modes.items() if mode == "levels"}
        self._whole = [name for name, mode in modes.items() if mode == "nothing"]

    def add(self, table: Table, target: str) -> None:
        """Count the rows of a part."""
        values, places = coded(table.columns[target])
        codes = np.array([*(placed(self.classes, value) for value in values), MISSING], dtype=np.int32)[places]
        if (missing := int((codes < 0).sum())) > 0:
            self.unlabelled += missing
            rows = np.flatnonzero(codes >= 0)
            table, codes = table.take(rows), codes[rows]
        labels, n_classes = Labels.hard(codes), len(self.classes)
        self.weight = grown(self.weight, n_classes) + labels.class_weight(n_classes)
        for name, numbers in self._numbers.items():
            numbers.add(np.asarray(table.columns[name].numbers(0, table.n_rows), dtype=np.float64), labels, n_classes)
        for name, levels in self._levels.items():
            levels.add(table.columns[name], labels, n_classes)

    def columns(self, order: NDArray[np.intp]) -> dict[str, Seen]:
        """The statistics of each column, with the classes in some order."""
        none = np.zeros(len(order))
        found = {name: Seen(self.weight[order], none, none, 0.0, 0.0, {}) for name in self._whole}
        found |= {name: numbers.seen(order) for name, numbers in self._numbers.items()}
        found |= {name: levels.seen(order) for name, levels in self._levels.items()}
        return {name: found[name] for name in self._modes}


class _Numbers:
    """The moments and the range of a column of numbers."""

    def __init__(self) -> None:
        self._moments = [np.zeros((0, 1))] * 3  # about the centre
        self._centre: float | None = None
        self.low, self.high = np.inf, -np.inf

    def add(self, values: NDArray[Any], labels: Labels, n_classes: int) -> None:
        """Count some more; infinite ones are left to those who name them."""
        low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
        if low != low:  # a value is missing; looking for that in the first place takes longer
            low, high = np.fmin.reduce(values, initial=np.inf), np.fmax.reduce(values, initial=-np.inf)
        self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
        if max(-self.low, self.high) < np.inf and low <= high:
            self._moments = [grown(each, n_classes) for each in self._moments]
            centre = self._near(float(low), float(high))
            kernels.add_moments((values - centre if centre else values)[:, None], labels, *self._moments)

    def _near(self, low: float, high: float) -> float:
        """A number that all others are near, seen from zero: then the mean of 1e8 + noise has digits left for it."""
        if self._centre is None:
            middle = 0.5 * low + 0.5 * high
            self._centre = middle if abs(middle) > FAR * (high - low) else 0.0
        return self._centre

    def seen(self, order: NDArray[np.intp]) -> Seen:
        """What was counted, with the classes in some order."""
        low, high = (self.low, self.high) if self.low <= self.high else (0.0, 0.0)  # no value at all
        weight, mean, m2 = (grown(each, order.max() + 1)[order, 0] for each in self._moments)
        return Seen(weight, np.where(weight > 0, mean + (self._centre or 0.0), 0.0), m2, low, high, {})


class _Levels:
    """How often each value of a column occurs."""

    def __init__(self) -> None:
        self._place: dict[Level, int] = {}
        self._table = np.zeros((0, 0))  # (values, K)

    def add(self, column: Values, labels: Labels, n_classes: int) -> None:
        """Count some more."""
        values, places = coded(column)
        n_levels = np.array([len(values)], dtype=np.int64)
        found = kernels.code_counts(Codes(places[:, None], n_levels), labels, n_classes)
        rows = [placed(self._place, value) for value in values]
        self._table = grown(grown(self._table, len(self._place)).T, n_classes).T
        np.add.at(self._table, rows, found)

    def seen(self, order: NDArray[np.intp]) -> Seen:
        """What was counted, with the classes in some order."""
        table, none = grown(self._table.T, order.max() + 1)[order], np.zeros(len(order))
        counts = {value: table[:, place] for value, place in self._place.items() if table[:, place].any()}
        return Seen(table.sum(axis=1), none, none, 0.0, 0.0, counts)


def placed(known: dict[Level, int], value: Level) -> int:
    """The place of a value; a new one comes last."""
    return known.setdefault(value, len(known))


def grown(table: Array, n: int) -> Array:
    """A table with at least so many rows; new ones are zero."""
    return table if len(table) >= n else np.concatenate((table, np.zeros((n - len(table), *table.shape[1:]))))


def coded(values: Values) -> tuple[list[Any], NDArray[np.int32]]:
    """The different values of a column, and the place of each row's among them."""
    if isinstance(values, EnumValues):
        if len(values.listed.values) > MANY or None in values.listed.values:
            raise ManyValuesError
        return list(values.listed.values), values.listed.places
    different = list(values.distinct())
    if len(different) > MANY:
        raise ManyValuesError
    return different, values.codes(0, len(values), different)


def counted(file: File, target: str, modes: Mapping[str, Mode], progress: Progress | None) -> Counting | None:
    """The statistics of all rows; None where a query has to find them."""
    parts = _parts(file, target, modes)
    if parts is None:
        return None
    found, done, n_rows = Counting(modes), 0, _n_rows(file)
    try:
        for table in ahead(parts):
            found.add(table, target)
            done += table.n_rows
            if progress is not None:
                progress(min(1.0, done / max(n_rows, 1)))
    except ManyValuesError:
        return None
    return found


def _parts(file: File, target: str, modes: Mapping[str, Mode]) -> Iterator[Table] | None:
    """The rows, where all columns are of the types that are counted here."""
    types = {name: file.storage(name) for name in (target, *modes)}
    texts = [name for name, kind in types.items() if kind == "text" and (name == target or modes[name] == "levels")]
    exact = types[target] in ("text", "integer", "boolean") and all(
        types[name] in ("text", "boolean") for name, mode in modes.items() if mode == "levels"
    )
    if not exact or not _are_whole(file, [name for name, mode in modes.items() if mode == "nothing"]):
        return None
    return stored_tables(file, [*(n for n, mode in modes.items() if mode != "nothing"), target], texts)


def _are_whole(file: File, names: list[str]) -> bool:
    """Whether columns that nothing is counted of are said to have a value in every row."""
    return not names or all(_says_whole(pq.read_metadata(path), names) for path in file.paths)


def _says_whole(stored: Any, names: list[str]) -> bool:
    for number in range(stored.num_row_groups):
        group = stored.row_group(number)
        columns = {c.path_in_schema: c for c in map(group.column, range(group.num_columns))}
        for name in names:
            known = columns[name].statistics if name in columns else None
            if known is None or not known.has_null_count or known.null_count:
                return False
    return True


def _n_rows(file: File) -> int:
    return sum(pq.read_metadata(path).num_rows for path in file.paths)
