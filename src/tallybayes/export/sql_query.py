"""A query while it is put together: its steps up to the places of levels and bins, and what each term adds.

Each step is a named query over the one before. What several classes need is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.schema import Level
from tallybayes.core.terms import (
    Bag,
    ByBin,
    ByLevel,
    ByPair,
    Ellipsoid,
    Expression,
    Formula,
    Line,
    Normal,
    Part,
    Spike,
    Term,
    Text,
    Together,
    by_class,
)
from tallybayes.export.dialects import FORBIDDEN, Dialect
from tallybayes.export.portable import NAMES, Scorer
from tallybayes.export.sql_readings import read_first
from tallybayes.export.sql_tags import tag_conditions

FAR = 1e75  # the square of a number below it, times one, is a number
EXACT = 2**53  # up to here whole numbers are exact as floats


class Query:
    """The query while it is put together."""

    def __init__(self, scorer: Scorer, dialect: Dialect, keep: Sequence[str]) -> None:
        self.scorer, self.dialect, self.keep = scorer, dialect, keep
        self.n_classes = len(scorer.prior)
        taken = [name.lower() for name in (*scorer.columns, *keep)]
        # What the steps call their columns must be no column of the table.
        self.own = next(own for own in (f"tb{n or ''}_" for n in count()) if not _begins(taken, own))
        # A column that is compared as it is → its name in the steps: SQLite knows no column "true" of a query.
        self.raw: dict[str, str] = {}
        self.numbers: dict[str, str] = {}  # an expression of the first step, such as the number in a column → its name
        self.places: dict[str, str] = {}  # an expression of the second step → its name
        self.joins: list[tuple[str, str]] = []  # long lists of levels, and what they are compared with
        self.steps: list[tuple[str, str]] = []

    # ------------------------------------------------------------------------------------------ steps

    def coded(self, table: str | Sequence[str]) -> list[str]:
        """Add the steps up to the places of levels and bins; returns what the kept columns are called."""
        d, own, kept = self.dialect, self.own, [f"{self.own}k{j}" for j, _ in enumerate(self.keep)]
        source = ".".join(map(d.identifier, [table] if isinstance(table, str) else table))
        read = self.scorer.readings
        first = read_first(source, read, d, own, {name: self._called(name) for name in read})
        source = first[-1][0] if first else source
        plain = [f"{own}given.{d.identifier(name)} AS {called}" for name, called in zip(self.keep, kept, strict=True)]
        given = [*plain, *(f"{self._given(name)} AS {called}" for name, called in self.raw.items())]
        numbers = [f"{expression} AS {name}" for expression, name in self.numbers.items()]
        self.steps = [*first, *((f"{own}level{j}", rows) for j, (rows, _) in enumerate(self.joins))]
        self.step("rows", f"{source} AS {own}given", [*given, *numbers])
        coded = [f"{expression} AS {name}" for expression, name in self.places.items()]
        joined = (f" LEFT JOIN {own}level{j} ON {own}v{j} = {x}" for j, (_, x) in enumerate(self.joins))
        self.step("coded", f"{own}rows{''.join(joined)}", [*kept, *self.numbers.values(), *coded])
        return kept

    def finished(self, over: str, columns: Sequence[str]) -> str:
        """All steps as one query."""
        once = {f"{self.own}scored": self.dialect.once}  # few numbers a row, and dear
        steps = ",\n".join(f"{name} AS {once.get(name, '')}(\n  {query}\n)" for name, query in self.steps)
        return f"WITH {steps}\nSELECT {', '.join(columns)}\nFROM {over}\n"

    def _called(self, column: str) -> str:
        """The name of a column in the steps: that of one which is read from others is another."""
        read = self.scorer.readings
        name = f"{self.own}part{list(read).index(column)}" if column in read else column
        return self.dialect.identifier(name)

    def step(self, name: str, over: str, columns: Sequence[str]) -> None:
        """Add a step with these columns, over the one of that name or over a table."""
        chosen = ", ".join(columns) or f"1 AS {self.own}row"  # a query has a column, even where none is needed
        self.steps.append((f"{self.own}{name}", f"SELECT {chosen} FROM {over}{self.dialect.fence}"))

    # ------------------------------------------------------------------------------------------ from values to scores

    def _given(self, column: str) -> str:
        """A column of the table, with the name of that: SQLite takes a bare name that the table lacks for a text."""
        return f"{self.own}given.{self._called(column)}"

    def _number(self, column: str) -> str:
        """The number in a column; what is not a number is none."""
        x = f"CAST({self._given(column)} AS {self.dialect.double})"
        return f"CASE WHEN {self.dialect.nan.format(x=x)} THEN NULL ELSE {x} END" if self.dialect.nan else x

    def _x(self, column: str) -> str:
        return self._first(self._number(column))

    def _first(self, expression: str) -> str:
        return self.numbers.setdefault(expression, f"{self.own}x{len(self.numbers)}")

    def _place(self, expression: str) -> str:
        return self.places.setdefault(expression, f"{self.own}i{len(self.places)}")

    def scores(self) -> list[str]:
        """The score of each class, in columns of the second step."""
        added = [list(self.added(term)) for term in self.scorer.terms]
        number = self.dialect.number
        return [" + ".join([number(p), *(of[k] for of in added)]) for k, p in enumerate(self.scorer.prior)]

    def added(self, term: Term) -> Iterator[str]:
        """What a term adds to the score of each class."""
        yield from getattr(self, f"_{NAMES[type(term)]}")(term)

    def _levels(self, term: ByLevel) -> Iterator[str]:
        n, scores = len(term.levels), np.concatenate([term.scores, term.unseen[None], term.missing[None]])
        return self._looked_up(self._level(term.column, term.levels, str(n + 1), str(n + 2)), scores)

    def _bins(self, term: ByBin) -> Iterator[str]:
        return self._or_nothing(self._looked_up(self._bin(self._x(term.column), term.edges, term.above), term.scores))

    def _pair(self, term: ByPair) -> Iterator[str]:
        a, b = (self._part(part) for part in term.parts)
        flat = term.scores.reshape(-1, self.n_classes)
        return self._or_nothing(self._looked_up(f"({a} - 1) * {term.scores.shape[1]} + {b}", flat))

    def _normal(self, term: Normal) -> Iterator[str]:
        return self._or_nothing(self._density(term))

    def _spike(self, term: Spike) -> Iterator[str]:
        number, zero, x = self.dialect.number, self.dialect.number(0.0), self._x(term.column)
        for at_zero, other, rest in zip(term.zero, term.other, self._density(term.rest), strict=True):
            beside = f"{number(other)} + COALESCE({rest}, {zero})"
            yield f"CASE WHEN {x} IS NULL THEN {zero} WHEN {x} = 0 THEN {number(at_zero)} ELSE {beside} END"

    def _line(self, term: Line) -> Iterator[str]:
        number, x = self.dialect.number, self._x(term.column)
        if term.least is not None:
            x = self._place(f"CASE WHEN {x} >= {number(term.least)} THEN {x} END")
        parts = zip(term.slope, term.offset, strict=True)
        return self._or_nothing(f"{number(offset)} + {self._product(slope, x)}" for slope, offset in parts)

    def _formula(self, term: Formula) -> Iterator[str]:
        number, x = self.dialect.number, self._x(term.column)
        some = [] if term.above is None else [f"{x} > {number(term.above)}"]
        # Where a product that is too large is an error, numbers far beyond all others are no evidence.
        some += [f"ABS({x}) < {number(FAR)}"] if self.dialect.raises else []
        x = self._place(f"CASE WHEN {' AND '.join(some)} THEN {x} END") if some else x
        return self._or_nothing(self._expression(each, x) for each in by_class(term.expression))

    def _expression(self, expression: Expression, x: str) -> str:
        if not isinstance(expression, tuple):
            return x if isinstance(expression, str) else self.dialect.number(float(expression))
        operation, *parts = expression
        inner = [self._expression(each, x) for each in parts]
        return f"LN({inner[0]})" if operation == "log" else f"({(' + ' if operation == 'add' else ' * ').join(inner)})"

    def _or_nothing(self, scores: Iterable[str]) -> Iterator[str]:
        """The scores, or zero where the value is missing."""
        return (f"COALESCE({score}, {self.dialect.number(0.0)})" for score in scores)

    def _looked_up(self, place: str, scores: Array) -> Iterator[str]:
        name = self._place(place)
        yield from (self.dialect.cell(of_class.tolist(), name) for of_class in scores.T)

    def _level(self, column: str, levels: tuple[Level, ...], other: str, missing: str) -> str:
        """The place of a level, counted from one, or what values that are unseen or missing have instead."""
        d, own = self.dialect, self.own
        if levels and all(_is_number(level) for level in levels):
            x = self._x(column)  # a column of numbers may hold NaN
        else:
            x = self.raw.setdefault(column, f"{own}c{len(self.raw)}")
            x = f"CAST({x} AS {d.string})" if all(isinstance(level, str) for level in levels) else x
        cells = [d.literal(level) for level in levels]
        if len(levels) > d.few:
            j = len(self.joins)
            self.joins.append((d.rows(cells, f"{own}v{j}", f"{own}n{j}"), x))
            found = f"COALESCE({own}n{j}, {other})"
        else:
            whens = " ".join(f"WHEN {cell} THEN {i}" for i, cell in enumerate(cells, 1))
            found = f"CASE {x} {whens} ELSE {other} END" if cells else other
        return f"CASE WHEN {x} IS NULL THEN {missing} ELSE {found} END"

    def _bin(self, x: str, edges: Array, above: bool = False) -> str:
        """The number of the bin, counted from one, or NULL if missing; the edges are halved until one is left."""
        below = "<=" if above else "<"

        def between(first: int, last: int) -> str:
            if last == first:
                return str(first + 1)
            middle = (first + last) // 2
            edge = self.dialect.number(edges[middle])
            return f"CASE WHEN {x} {below} {edge} THEN {between(first, middle)} ELSE {between(middle + 1, last)} END"

        return f"CASE WHEN {x} IS NULL THEN NULL ELSE {between(0, len(edges))} END"

    def _part(self, part: Part) -> str:
        """The place of a value among those of one side of a pair, counted from one, or NULL."""
        if part.edges is not None:
            return self._bin(self._x(part.column), part.edges)
        missing = "NULL" if part.missing is None else str(part.missing + 1)
        return self._level(part.column, part.levels or (), "NULL", missing)

    def _density(self, term: Normal) -> Iterator[str]:
        number, x = self.dialect.number, self._x(term.column)
        if term.log:
            x = self._place(f"CASE WHEN {x} > 0 THEN LN({x}) END")
        for mean, precision, norm in zip(term.mean, term.precision, term.log_norm, strict=True):
            z = f"({x} - {number(mean)})"
            density = f"{number(norm)} - {number(0.5 * precision)} * {z} * {z}"
            if (
                self.dialect.raises
            ):  # where a product that is too large is an error, what lies that far out is handled before
                far = number(1e140 / max(float(np.sqrt(precision)), 1e-100))
                density = f"CASE WHEN ABS{z} > {far} THEN {number(FORBIDDEN)} ELSE {density} END"
            yield density

    def _product(self, slope: float, x: str) -> str:
        number = self.dialect.number
        if np.isfinite(slope):
            return f"{number(slope)} * {x}"
        return f"CASE WHEN {x} > 0 THEN {number(FORBIDDEN)} WHEN {x} = 0 THEN {number(0.0)} END"

    def _bag(self, term: Bag) -> Iterator[str]:
        x, number, scale = [self._x(column) for column in term.columns], self.dialect.number, ""
        if term.length is not None:
            total = " + ".join(x)
            scaled = f"WHEN {total} > 0 THEN {number(term.length)} / ({total})"
            scale = self._place(f"CASE {scaled} WHEN {total} = 0 THEN {number(1.0)} END") + " * "
        for slopes in term.slopes.T:
            yield f"{scale}({' + '.join(self._product(slope, v) for slope, v in zip(slopes, x, strict=True))})"

    def _text(self, term: Text) -> Iterator[str]:
        """Tags: one that is there adds its slope; each is looked for in a text with separators at both ends."""
        number, zero, one = self.dialect.number, self.dialect.number(0.0), self.dialect.number(1.0)
        cell, conditions = tag_conditions(term, self.dialect, self._given(term.column), self._first)
        has = [self._place(f"CASE WHEN {condition} THEN {one} ELSE {zero} END") for condition in conditions]
        for k, offset in enumerate(term.offset):
            added = "".join(f" + {number(slope)} * {flag}" for slope, flag in zip(term.slopes[:, k], has, strict=True))
            if term.correction is not None and has:
                added += f" + CASE WHEN {' + '.join(has)} > 0 THEN {number(term.correction[k])} ELSE {zero} END"
            yield f"CASE WHEN {cell} IS NULL THEN {zero} ELSE {number(offset)}{added} END"

    def _ellipsoid(self, term: Ellipsoid) -> Iterator[str]:
        number, x = self.dialect.number, [self._x(column) for column in term.columns]
        for mean, axes, norm in zip(term.mean, term.axes / term.scale[:, None], term.log_norm, strict=True):
            along = []
            for axis in axes.T:
                parts = (f"{number(a)} * ({v} - {number(m)})" for a, v, m in zip(axis, x, mean, strict=True))
                along.append(self._place(" + ".join(parts)))
            yield f"({number(norm)} - {number(0.5)} * ({' + '.join(f'{z} * {z}' for z in along)}))"

    def _together(self, term: Together) -> Iterator[str]:
        number, n, d = self.dialect.number, term.degrees, len(term.columns)
        units = zip(term.columns, term.centre, term.scale, strict=True)
        z = [self._first(self._clipped(self._number(name), c, s, term.farthest)) for name, c, s in units]
        for k, mean in enumerate(term.mean):
            u = [f"({v} - {number(m)})" for v, m in zip(z, mean, strict=True)]
            along = []
            for axis in term.axes[k].T:
                parts = (f"{number(a)} * {v}" for a, v in zip(axis, u, strict=True) if a)
                along.append(self._place(" + ".join(parts)))
            each = [f"({number(1.0)} + {number(p / n)} * {v} * {v})" for p, v in zip(term.precision[k], u, strict=True)]
            # The logarithm of a product is cheaper than a sum of them; sixteen factors do not overflow.
            alone = " + ".join(f"LN({' * '.join(each[i : i + 16])})" for i in range(0, d, 16))
            far = f"LN({number(1.0)} + {number(1.0 / n)} * ({' + '.join(f'{v} * {v}' for v in along)}))"
            weights = [number(term.power * w) for w in (term.log_norm[k], 0.5 * (n + 1.0), -0.5 * (n + d))]
            yield from self._or_nothing([f"{weights[0]} + {weights[1]} * ({alone}) + {weights[2]} * {far}"])

    def _clipped(self, x: str, centre: float, scale: float, farthest: float) -> str:
        """A number in standard units; NULL if missing."""
        number, low, high = self.dialect.number, centre - farthest * scale, centre + farthest * scale
        ends = f"WHEN {x} <= {number(low)} THEN {number(-farthest)} WHEN {x} >= {number(high)} THEN {number(farthest)}"
        return f"CASE {ends} ELSE ({x} - {number(centre)}) / {number(scale)} END"


def _begins(names: Sequence[str], own: str) -> bool:
    return any(name.startswith(own) for name in names)


def _is_number(level: Level) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool) and abs(level) <= EXACT
