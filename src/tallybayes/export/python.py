"""A scorer as the source of one Python function, which needs nothing but Python."""

from __future__ import annotations

import inspect
import keyword
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tallybayes.core import spelling
from tallybayes.core.calibration import Isotonic, Temperature
from tallybayes.core.model import Model
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
from tallybayes.errors import SettingError
from tallybayes.export.portable import NAMES, Scorer, check_plain
from tallybayes.export.python_readings import reading_lines, source_lines
from tallybayes.export.reasons import CONTRIBUTIONS, RANKING, Ranked, entries
from tallybayes.inspection.reasons import LEAST, ReasonPlan


def to_python(model: Model, name: str = "predict_proba", reasons: ReasonPlan | None = None) -> str:
    """The source of a function of that name, from a dict of column to value to a dict of label to probability.

    With a plan of reasons there are two more functions of a row, ``contributions`` and ``reasons``.
    """
    taken = ("contributions", "reasons") if reasons is not None else ()
    if not name.isidentifier() or keyword.iskeyword(name) or name in taken:
        raise SettingError(f"{name!r} cannot be the name of a function")
    scorer = Scorer.of(model, texts=True, readings=True)
    check_plain(scorer)
    lines_of = Lines()
    read = [line for column, reading in scorer.readings.items() for line in reading_lines(column, reading)]
    body = [*read, *(line for term in scorer.terms for line in lines_of.added(term))]
    body += _ending(scorer, lines_of.tables)
    more = [] if reasons is None else _with_reasons(Ranked.of(reasons, model, scorer.terms), scorer, lines_of, read)
    labels = ", ".join(f"{_text(label)}: p[{k}]" for k, label in enumerate(scorer.classes))
    tables = (f"_{n} = {table}" for n, table in enumerate(lines_of.tables))
    start = f"    s = list({_text(scorer.prior)})"
    scored = (f"    {line}" for line in body)
    start = f"    row = dict(row)\n{start}" if scorer.readings else start
    imports = [*IMPORTS, *(source_lines() if scorer.readings else ())]
    if any(isinstance(term, Text) for term in scorer.terms):
        imports += _tokenising()
    helpers = (*HELPERS, *SOFTMAX)
    lines = [
        *imports,
        *tables,
        "",
        "",
        f"def {name}(row):",
        *helpers,
        start,
        *scored,
        f"    return {{{labels}}}",
        *more,
    ]
    return "\n".join(lines) + "\n"


def _with_reasons(ranked: Ranked, scorer: Scorer, lines_of: Lines, read: list[str]) -> list[str]:
    """The lines of the functions of contributions and of reasons."""
    body = list(read)
    for term, column in zip(scorer.terms, ranked.owners, strict=True):
        body += [f"s = [0.0] * {len(scorer.prior)}", *lines_of.added(term), f"keep({column!a}, s)"]
    copied = ["    row = dict(row)"] if read else []
    labels = _text(scorer.classes)
    ending = f"    return {{column: dict(zip({labels}, s)) for column, s in found.items()}}"
    return [
        *("", "", f"COEFFICIENTS = {_text(ranked.plan.coefficients)}", f"LEAST = {LEAST!r}"),
        f"REASONS = {_text(entries(ranked))}",
        *("", "", "def contributions(row):", *CONTRIBUTIONS, *HELPERS[1:], *copied),
        *(f"    {line}" for line in body),
        *(ending, "", "", f"def reasons(row, most={ranked.plan.most}):", *RANKING),
    ]


IMPORTS = (
    '"""Written by tallybayes: a Naive Bayes model as one function."""',
    "",
    "from bisect import bisect_left, bisect_right",
    "from math import exp, inf, log",
    "",
)
HELPERS = (
    '    """Return the probability of each class. A column that is None, NaN or not in the row is missing."""',
    "    def value(column):",
    "        x = row.get(column)",
    "        return None if x is None or x != x else x",
    "",
    "    def number(column):",
    "        x = value(column)",
    "        if x is None:",
    '            raise ValueError(f"{column!r} is missing, and it is a part of a whole that must be complete")',
    "        return x",
    "",
)
SOFTMAX = (
    "    def softmax(s):",
    "        top = max(s)",
    "        e = [exp(v - top) for v in s]",
    "        total = sum(e)",
    "        return [v / total for v in e]",
    "",
)
ADD = "s = [a + b for a, b in zip(s, {})]"
IF_SOME = "if x is not None:"


def _tokenising() -> list[str]:
    """The lines of the functions that find the tokens of a text."""
    source = inspect.getsource(spelling)
    return [*source[source.index("import math") :].splitlines(), ""]


class Lines:
    """The lines that add terms to the scores ``s``; what they look up goes to the tables."""

    def __init__(self) -> None:
        self.tables: list[str] = []

    def table(self, values: Any) -> str:
        """The name of a table of the module."""
        self.tables.append(_text(values))
        return f"_{len(self.tables) - 1}"

    def added(self, term: Term) -> Iterator[str]:
        """The lines of any term."""
        yield from getattr(self, NAMES[type(term)])(term)

    def levels(self, term: ByLevel) -> Iterator[str]:
        places = self.table(dict(zip(term.levels, term.scores, strict=True)))
        yield f"x = value({term.column!a})"
        missing, unseen = _text(term.missing), _text(term.unseen)
        yield ADD.format(f"{missing} if x is None else {places}.get(x, {unseen})")

    def bins(self, term: ByBin) -> Iterator[str]:
        find = "bisect_left" if term.above else "bisect_right"
        yield f"x = value({term.column!a})"
        yield IF_SOME
        yield "    " + ADD.format(f"{self.table(term.scores)}[{find}({self.table(term.edges)}, x)]")

    def pair(self, term: ByPair) -> Iterator[str]:
        for letter, part in zip("ab", term.parts, strict=True):
            yield f"x = value({part.column!a})"
            yield f"{letter} = {self.place(part)}"
        yield "if a is not None and b is not None:"
        yield "    " + ADD.format(f"{self.table(term.scores)}[a][b]")

    def place(self, part: Part) -> str:
        """The place of x in the table of a pair."""
        if part.edges is not None:
            return f"None if x is None else bisect_right({self.table(part.edges)}, x)"
        assert part.levels is not None
        levels = self.table({level: p for p, level in enumerate(part.levels)})
        return f"{part.missing!r} if x is None else {levels}.get(x)"

    def normal(self, term: Normal) -> Iterator[str]:
        yield f"x = value({term.column!a})"
        yield f"if {_has_density(term)}:"
        yield "    " + ADD.format(_density(term))

    def spike(self, term: Spike) -> Iterator[str]:
        yield f"x = value({term.column!a})"
        yield IF_SOME
        yield "    " + ADD.format(f"{_text(term.other)} if x else {_text(term.zero)}")
        yield f"if {_has_density(term.rest)} and x != 0:"
        yield "    " + ADD.format(_density(term.rest))

    def line(self, term: Line) -> Iterator[str]:
        parts = zip(term.slope, term.offset, strict=True)
        yield f"x = value({term.column!a})"
        yield IF_SOME if term.least is None else f"if x is not None and x >= {_text(term.least)}:"
        yield "    " + ADD.format(f"({', '.join(f'{_text(o)} + ({_text(s)} * x if x else 0.0)' for s, o in parts)})")

    def formula(self, term: Formula) -> Iterator[str]:
        yield f"x = value({term.column!a})"
        yield IF_SOME if term.above is None else f"if x is not None and x > {_text(term.above)}:"
        yield "    " + ADD.format(f"({', '.join(_expression(e) for e in by_class(term.expression))},)")

    def bag(self, term: Bag) -> Iterator[str]:
        yield f"x = [number(c) for c in {self.table(term.columns)}]"
        if term.length is not None:
            yield f"scale = {_text(term.length)} / sum(x) if sum(x) else 1.0"
            yield "x = [v * scale for v in x]"
        yield f"for v, slopes in zip(x, {self.table(term.slopes)}):"
        yield "    if v:"
        yield "        s = [a + v * b for a, b in zip(s, slopes)]"

    def text(self, term: Text) -> Iterator[str]:
        places = self.table({word: place for place, word in enumerate(term.words)})
        asked = ("words", "lower", "ngrams", "characters", "stop_words", "damped", "scaled", "separator")
        tokens = ", ".join(f"{name}={_text(getattr(term.tokens, name))}" for name in asked)
        yield f"x = value({term.column!a})"
        yield IF_SOME
        yield "    " + ADD.format(_text(term.offset))
        yield f"    found = [({places}[t], n) for t, n in amounts_of(x, {tokens}).items() if t in {places}]"
        if term.length is not None:
            yield f"    scale = {_text(term.length)} / sum(n for _, n in found) if found else 1.0"
            yield "    found = [(i, n * scale) for i, n in found]"
        yield f"    for i, n in {'((i, 1.0) for i, _ in found)' if term.binary else 'found'}:"
        yield f"        s = [a + n * b for a, b in zip(s, {self.table(term.slopes)}[i])]"
        if term.correction is not None:
            yield "    if found:"
            yield "        " + ADD.format(_text(term.correction))

    def ellipsoid(self, term: Ellipsoid) -> Iterator[str]:
        yield f"x = [number(c) for c in {self.table(term.columns)}]"
        for k, (mean, axes, norm) in enumerate(zip(term.mean, term.axes, term.log_norm, strict=True)):
            yield f"z = [(v - m) / u for v, m, u in zip(x, {_text(mean)}, {_text(term.scale)})]"
            along = f"[sum(a * b for a, b in zip(z, axis)) for axis in {self.table(axes.T)}]"
            yield f"s[{k}] += {_text(norm)} - 0.5 * sum(v * v for v in {along})"

    def together(self, term: Together) -> Iterator[str]:
        n, far, d = term.degrees, _text(term.farthest), len(term.columns)
        yield f"x = [value(c) for c in {self.table(term.columns)}]"
        yield "if None not in x:"
        units = f"{_text(term.centre)}, {_text(term.scale)}"
        yield f"    x = [min(max((v - c) / u, -{far}), {far}) for v, c, u in zip(x, {units})]"
        classes = zip(term.mean, term.axes.transpose(0, 2, 1), term.precision, term.log_norm, strict=True)
        for k, (mean, axes, precision, norm) in enumerate(classes):
            yield f"    z = [v - m for v, m in zip(x, {_text(mean)})]"
            yield f"    q = sum(sum(a * b for a, b in zip(z, axis)) ** 2 for axis in {self.table(axes)})"
            alone = f"sum(log(1.0 + v * v * p / {_text(n)}) for v, p in zip(z, {_text(precision)}))"
            both = f"{_text(0.5 * (n + 1))} * {alone} - {_text(0.5 * (n + d))} * log(1.0 + q / {_text(n)})"
            yield f"    s[{k}] += {_text(term.power)} * ({_text(norm)} + {both})"


def _expression(expression: Expression) -> str:
    """An expression of one class."""
    if not isinstance(expression, tuple):
        return "x" if isinstance(expression, str) else _text(float(expression))
    operation, *parts = expression
    inner = map(_expression, parts)
    return f"log({next(inner)})" if operation == "log" else f"({(' + ' if operation == 'add' else ' * ').join(inner)})"


def _has_density(term: Normal) -> str:
    return "x is not None and x > 0" if term.log else "x is not None"


def _density(term: Normal) -> str:
    x = "log(x)" if term.log else "x"
    parts = zip(*(map(_text, part) for part in (term.mean, term.precision, term.log_norm)), strict=True)
    # Not z**2, which raises an error where the product is merely infinite.
    densities = (f"{norm} - 0.5 * ({x} - {mean}) * ({x} - {mean}) * {precision}" for mean, precision, norm in parts)
    return f"({', '.join(densities)},)"


def _ending(scorer: Scorer, tables: list[str]) -> Iterator[str]:
    """From scores to probabilities ``p``."""
    yield f"s = s if max(s) > -inf else {_text(scorer.fallback)}"
    calibration = scorer.calibration
    if calibration is None:
        yield "p = softmax(s)"
    elif isinstance(calibration, Temperature):
        yield "top = max(s)"
        yield f"p = softmax([(v - top) / {_text(calibration.temperature)} for v in s])"
    else:
        yield from _isotonic(calibration, tables)


def _isotonic(calibration: Isotonic, tables: list[str]) -> Iterator[str]:
    tables.append(_text([(curve.log_odds, curve.probability) for curve in calibration.curves]))
    first, margin = (1 if len(calibration.curves) == 1 else 0), _text(calibration.margin)
    yield "p = []"
    yield f"for k, (at, height) in enumerate(_{len(tables) - 1}, {first}):"
    yield "    others = [v for j, v in enumerate(s) if j != k]"
    yield "    top = max(others)"
    yield "    if top == -inf or s[k] == -inf:"
    yield "        odds = -1e9 if s[k] == -inf else 1e9"
    yield "    else:"
    yield "        odds = max(min(s[k] - top - log(sum(exp(v - top) for v in others)), 1e9), -1e9)"
    yield "    i = min(max(bisect_right(at, odds), 1), len(at) - 1)"
    yield "    if len(at) == 1 or odds <= at[0]:"
    yield "        h = height[0]"
    yield "    elif odds >= at[-1]:"
    yield "        h = height[-1]"
    yield "    else:"
    yield "        h = height[i - 1] + (height[i] - height[i - 1]) / (at[i] - at[i - 1]) * (odds - at[i - 1])"
    yield f"    p.append(max(min(h, 1.0 - {margin}), {margin}))"
    if first:
        yield "p = [1.0 - p[0], p[0]]"
    yield "total = sum(p)"
    yield "p = [v / total for v in p] if total else softmax(s)"


def _text(value: Any) -> str:
    """A value as Python spells it; tuples, which are made once, for arrays."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)}: {_text(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_text, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float) and math.isinf(value):
        return "-inf" if value < 0 else "inf"
    return ascii(value) if isinstance(value, str) else repr(value)
