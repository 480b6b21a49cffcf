"""The tally of known columns of a table in an engine, whatever family reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.family import Family, refusal
from tallybayes.core.schema import Column, Level, Schema
from tallybayes.core.summaries import Counts, Moments, cell_grid
from tallybayes.core.tally import Block, Tally
from tallybayes.data.engines.sums import VALUE, grouped, level_sums, moments_of, ranges_of, sums_of
from tallybayes.data.engines.survey import centres
from tallybayes.data.engines.table import Lazy
from tallybayes.data.labels import check_total
from tallybayes.data.survey import Seen
from tallybayes.data.truths import MEANING, known_level
from tallybayes.errors import DataError, NotAvailableError


def count_lazy(
    lazy: Lazy,
    schema: Schema,
    places: Mapping[str, Sequence[int]],
    families: Mapping[str, Family],
    target: str,
    weight: str | None,
) -> Tally:
    """The tally of columns that are known, whatever family reads them; every sum is the engine's."""
    if weight is not None:
        _check_weights(lazy, weight)
    classes = schema.classes
    totals = {label: float(total or 0.0) for label, total in grouped(lazy, target, weight, {})}
    class_weight = np.array([totals.get(k, 0.0) for k in classes])
    if not class_weight.any():
        raise DataError("Sample weights must contain at least one non-zero number.")
    counter = Counter(lazy, target, weight, classes, class_weight)
    blocks = {}
    for block, positions in places.items():
        columns = [schema.columns[p] for p in positions]
        blocks[block] = Block(list(positions), counter.summary(block, columns, families[block]))
    return Tally(schema, class_weight, blocks)


def _check_weights(lazy: Lazy, weight: str) -> None:
    if lazy.storage(weight) not in ("number", "integer"):
        raise DataError(f"the weights in column {weight!r} of {lazy.name} are no numbers")
    low, high, known, rows = ranges_of(lazy, {weight: lazy.number(weight)})[weight]
    if known < rows or low is None or low < 0 or high is None or not np.isfinite(high):
        worst = "missing" if known < rows else f"{low if low is not None and low < 0 else high:g}"
        raise DataError(f"a weight must be finite and non-negative, but it is {worst} in some row of {lazy.name}")
    check_total(high)


@dataclass(frozen=True)
class Counter:
    """How the summary of each kind of block is asked for."""

    lazy: Lazy
    target: str
    weight: str | None
    classes: tuple[Level, ...]
    class_weight: Array

    def summary(self, block: str, columns: Sequence[Column], family: Family) -> Any:
        """The summary of a block of columns."""
        how = None if any(column.is_text for column in columns) else family.counted_by()
        if how == "levels":
            return self.coded(columns)
        known = [column for column in columns if column.name in self.lazy.types]
        x = {column.name: self.lazy.number(column.name) for column in known}
        if how == "spike":
            return self.spiked(columns, x, family)
        if how is not None and family.least > -np.inf:
            self.refuse_below(x, family.least, refusal(family), family.above_least)
        if how == "moments":
            return self.logs(columns, x) if family.of_logs else self.moments(columns, x)
        if how == "sums":
            return self.events(columns, x, family.is_document)
        raise NotAvailableError(
            f"{block} columns cannot be counted in {self.lazy.name}; bring the rows to this process"
        )

    def moments(self, columns: Sequence[Column], x: Mapping[str, nw.Expr], logs: bool = False) -> Moments:
        """Moments of an expression for each column."""
        centre = centres(self.lazy, {name: name for name in x}, logs)
        seen = moments_of(self.lazy, x, centre, self.target, self.weight, self.classes)
        none = np.zeros(len(self.classes))
        nothing = Seen(none, none, none, 0.0, 0.0, {})
        found = [seen.get(column.name, nothing) for column in columns]
        return Moments(
            *(np.stack([getattr(one, field) for one in found], axis=1) for field in ("weight", "mean", "m2"))
        )

    def logs(self, columns: Sequence[Column], x: Mapping[str, nw.Expr]) -> Moments:
        """Moments of the logarithms."""
        return self.moments(columns, {name: nw.when(v > 0).then(v).log() for name, v in x.items()}, logs=True)

    def spiked(self, columns: Sequence[Column], x: Mapping[str, nw.Expr], family: Family) -> Any:
        """How many are not zero, and the moments of those."""
        rest = {name: nw.when(v != 0).then(v) for name, v in x.items()}
        if family.of_logs:
            self.refuse_below(x, 0.0, "a number of which the logarithm is taken is above 0", strictly=False)
            moments = self.moments(columns, {name: v.log() for name, v in rest.items()}, logs=True)
        else:
            moments = self.moments(columns, rest)
        flags = {name: nw.when(~v.is_null()).then(self.lazy.flag(v != 0)) for name, v in x.items()}
        other = self.events(columns, flags)
        return family.summary(other, moments)

    def events(self, columns: Sequence[Column], x: Mapping[str, nw.Expr], is_document: bool = False) -> Counts:
        """Σ w·x and Σ w; the counts of a document have the weight of the class."""
        found = sums_of(self.lazy, {f"tb_{j}": (v, 0.0) for j, v in enumerate(x.values())}, self.target, self.weight)
        key, none = {name: f"tb_{j}" for j, name in enumerate(x)}, np.zeros(5)
        table = np.array(
            [
                [found[k][1][key[c.name]] if k in found and c.name in key else none for c in columns]
                for k in self.classes
            ]
        )
        weight = table[:, :, 0]
        if is_document:
            if np.any(weight < self.class_weight[:, None]):
                name = columns[int(np.argwhere(weight < self.class_weight[:, None])[0, 1])].name
                raise DataError(
                    f"column {name!r} has missing values. Counts cannot be missing: fill them, or use family 'poisson'."
                )
            weight = self.class_weight[:, None]
        return Counts(np.ascontiguousarray(table[:, :, 1]), np.ascontiguousarray(weight))

    def refuse_below(self, x: Mapping[str, nw.Expr], least: float, why: str, strictly: bool) -> None:
        """Numbers that a family cannot read are an error that names the column."""
        for name, (value, *_) in ranges_of(self.lazy, x).items() if x else ():
            if value is not None and (value <= least if strictly else value < least):
                raise DataError(f"column {name!r} holds {value:g}, and {why}. Use another family.")

    # ------------------------------------------------------------------------------------------ levels, bins, pairs

    def coded(self, columns: Sequence[Column]) -> Counts:
        """Weight of every level, bin or combination."""
        plain = [c.name for c in columns if c.parts is None and c.edges is None and c.name in self.lazy.types]
        levels = level_sums(self.lazy, plain, self.target, self.weight)
        tables = []
        for column in columns:
            if column.parts is not None:
                rows, keys = self.paired(column)
            elif column.edges is not None:
                rows, keys = (
                    grouped(self.lazy, self.target, self.weight, {VALUE: self.bin(column)}, complete=True),
                    [None],
                )
            else:
                rows, keys = levels.get(column.name, []), [column]
            tables.append(self.table(column, rows, keys))
        n_levels, n_right = cell_grid(columns)
        weight = np.stack([table.sum(axis=1) for table in tables], axis=1)
        return Counts(np.concatenate(tables, axis=1), weight, n_levels, n_right)

    def bin(self, column: Column) -> nw.Expr:
        """The number of the bin: how many edges are at or below; the edges are halved until one is left."""
        x, edges = self.lazy.number(column.name), column.edges or ()

        def between(first: int, last: int) -> nw.Expr:
            if first == last:
                return nw.lit(first)
            middle = (first + last) // 2
            lower, upper = between(first, middle), between(middle + 1, last)
            return nw.when(x < nw.lit(edges[middle])).then(lower).otherwise(upper)

        return nw.when(~x.is_null()).then(between(0, len(edges)))

    def paired(self, column: Column) -> tuple[list[tuple[Any, ...]], list[Any]]:
        assert column.parts is not None
        if any(part.name not in self.lazy.types for part in column.parts):
            return [], list(column.parts)
        parts = [part if part.edges is None else None for part in column.parts]
        keys = {
            f"tb_{side}": self.bin(part) if part.edges is not None else self.lazy.value(part.name)
            for side, part in enumerate(column.parts)
        }
        return grouped(self.lazy, self.target, self.weight, keys), parts

    def table(self, column: Column, rows: Sequence[tuple[Any, ...]], keys: Sequence[Column | None]) -> Array:
        """Weights (K, cells) from rows (label, key, …, weight); a key is a bin, or a level of a column."""
        out = np.zeros((len(self.classes), column.n_cells))
        place = {k: i for i, k in enumerate(self.classes)}
        codes = [None if key is None else _codes(key) for key in keys]
        n_right = 1 if column.parts is None else column.parts[1].n_cells
        for label, *cells, total in rows:
            at = [cell if code is None else code.get(cell) for cell, code in zip(cells, codes, strict=True)]
            if label in place and None not in at:
                left, right = (*map(int, at), 0)[:2]  # type: ignore[arg-type]
                out[place[label]][left * n_right + right] += float(total or 0.0)
        if column.parts is None and column.levels and column.levels[-1] is None:  # what has no value is a level
            out[:, -1] = self.class_weight - out[:, :-1].sum(axis=1)
        return out


def _codes(column: Column) -> dict[Any, int]:
    """The code of each level, and of true and false however an engine writes them."""
    codes = {level: i for i, level in enumerate(column.levels or ())}
    others = {word: known_level(word, column.levels or ()) for word in (*MEANING, True, False)}
    return {**{word: codes[level] for word, level in others.items() if level in codes}, **codes}
