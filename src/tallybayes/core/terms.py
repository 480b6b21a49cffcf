"""What columns add to the scores of a row, as plain data: the terms that every export is written from.

The score of a class is its prior and what every term adds. Families make these records from their parameters; the
exports (JSON, Python, SQL, ONNX) and the report write them down or evaluate them, and know no family.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.schema import Column, Level
from tallybayes.core.tokens import Tokens

DEGREES = 5.0  # degrees of freedom of numbers that vary together
FARTHEST = 5.0  # standard deviations beyond which such a number is clipped


@dataclass(frozen=True)
class ByLevel:
    """A value is looked up: ``scores[i]`` where it is ``levels[i]``."""

    column: str
    levels: tuple[Level, ...]
    scores: Array  # (C, K)
    missing: Array  # (K,) what a missing value adds
    unseen: Array  # (K,) what an unseen category adds


@dataclass(frozen=True)
class ByBin:
    """A number is looked up between edges: ``scores[i]`` where i edges are at or below it; nothing if missing."""

    column: str
    edges: Array  # (B - 1,) rising
    scores: Array  # (B, K)
    above: bool = False  # a number has to be above an edge to pass it; at the edge is not enough


@dataclass(frozen=True)
class Part:
    """One of the two columns of a pair, and which place of the table a value has: that of its level or bin."""

    column: str
    levels: tuple[Level, ...] | None
    edges: Array | None
    missing: int | None  # place of a missing value; without one the pair adds nothing


@dataclass(frozen=True)
class ByPair:
    """Two values are looked up together; a missing value without a place or an unseen category adds nothing."""

    parts: tuple[Part, Part]
    scores: Array  # (A, B, K)

    @property
    def column(self) -> str:
        """The name it has in messages."""
        return f"{self.parts[0].column} × {self.parts[1].column}"


@dataclass(frozen=True)
class Normal:
    """A bell curve: ``log_norm − ½ (x − mean)² · precision``; a missing value adds nothing.

    With ``log`` it is one of the logarithm of x, and a number that is not above zero adds nothing.
    """

    column: str
    mean: Array  # (K,)
    precision: Array  # (K,)
    log_norm: Array  # (K,)
    log: bool = False


@dataclass(frozen=True)
class Spike:
    """Zero adds ``zero``; any other number adds ``other`` and what ``rest`` adds; a missing value adds nothing."""

    column: str
    zero: Array  # (K,)
    other: Array  # (K,)
    rest: Normal


@dataclass(frozen=True)
class Line:
    """``offset + slope · x``; a missing value adds nothing, nor does a number below ``least``.

    A slope of −inf times a zero is zero.
    """

    column: str
    slope: Array  # (K,)
    offset: Array  # (K,)
    least: float | None = None


# A number x, constants (K,), or an operation on expressions: ("add", a, b, …), ("mul", a, b, …) or ("log", a).
Expression = Any


@dataclass(frozen=True)
class Formula:
    """An expression in x; a missing value adds nothing, nor does a number that is not above ``above``."""

    column: str
    expression: Expression
    above: float | None = None


@dataclass(frozen=True)
class Bag:
    """``Σ slopes[i] · x_i`` over counts that are one document, none of them missing; a slope of −inf times 0 is 0.

    With a ``length`` the counts of a row are first scaled so that they sum to it; a row of zeros stays as it is.
    """

    columns: tuple[str, ...]
    slopes: Array  # (V, K)
    length: float | None = None


@dataclass(frozen=True)
class Ellipsoid:
    """Numbers that vary together: ``log_norm − ½ Σ_r (Σ_i (x_i − mean_i) / scale_i · axes_ir)²``; none is missing."""

    columns: tuple[str, ...]
    mean: Array  # (K, d)
    scale: Array  # (d,)
    axes: Array  # (K, d, d)
    log_norm: Array  # (K,)


@dataclass(frozen=True)
class Together:
    """What numbers say together beyond each alone, by Student's t; nothing where any of them is missing.

    With u = (x − centre) / scale, held within ±``farthest``, less the mean, and ν = ``degrees``: ``power`` times
    ``log_norm + ½(ν+1) Σ_i log(1 + u_i² precision_i / ν) − ½(ν+d) log(1 + Σ_r (Σ_i u_i axes_ir)² / ν)``.
    """

    columns: tuple[str, ...]
    centre: Array  # (d,)
    scale: Array  # (d,)
    mean: Array  # (K, d)
    axes: Array  # (K, d, d)
    precision: Array  # (K, d)
    log_norm: Array  # (K,)
    power: float = 1.0  # weight of the evidence
    degrees: float = DEGREES
    farthest: float = FARTHEST


@dataclass(frozen=True)
class Text:
    """``offset + Σ slopes[i] · amount_i`` over the words of a text, counted by ``tokens``; nothing if missing.

    With a ``length`` the amounts of the words that are known are scaled so that they sum to it; ``binary`` ones are 1
    for a word that occurs. A text in which some word is known adds ``correction``, too.
    """

    column: str
    tokens: Tokens
    words: tuple[str, ...]
    slopes: Array  # (V, K)
    offset: Array  # (K,)
    length: float | None = None
    binary: bool = False
    correction: Array | None = None  # (K,)


Term = ByLevel | ByBin | ByPair | Normal | Spike | Line | Formula | Bag | Ellipsoid | Together | Text


def names_of(term: Term) -> tuple[str, ...]:
    """The columns that a term reads."""
    if isinstance(term, ByPair):
        return term.parts[0].column, term.parts[1].column
    return term.columns if isinstance(term, Bag | Ellipsoid | Together) else (term.column,)


def part_of(column: Column) -> Part:
    """One side of a pair."""
    if column.edges is not None:
        return Part(column.name, None, np.array(column.edges), None)
    levels = tuple(column.levels or ())
    missing = bool(levels) and levels[-1] is None
    known = len(levels) - missing
    return Part(column.name, levels[:known], None, known if missing else None)


def evaluated(expression: Expression, x: Array) -> Array:
    """An expression at numbers x, which broadcast with its constants.

    Examples
    --------
    >>> evaluated(("add", np.array([1.0]), ("mul", np.array([2.0]), "x")), np.array([3.0]))
    array([7.])
    """
    if isinstance(expression, str):
        return x
    if not isinstance(expression, tuple):
        return np.asarray(expression)
    operation, first, *rest = expression
    value = evaluated(first, x)
    if operation == "log":
        return np.asarray(np.log(value))
    for each in rest:
        value = value + evaluated(each, x) if operation == "add" else value * evaluated(each, x)
    return value


def by_class(expression: Expression) -> list[Expression]:
    """The expression of each class, its constants plain numbers."""
    if not isinstance(expression, tuple):
        return [expression] if isinstance(expression, str) else np.atleast_1d(expression).tolist()
    parts = [by_class(each) for each in expression[1:]]
    n_classes = max(map(len, parts))
    each = zip(*(part * (n_classes // len(part)) for part in parts), strict=True)
    return [(expression[0], *of_class) for of_class in each]


def at_column(expression: Expression, column: int) -> Expression:
    """The expression of one column, from one whose constants are those of all columns (K, d)."""
    if isinstance(expression, tuple):
        return (expression[0], *(at_column(each, column) for each in expression[1:]))
    return expression if isinstance(expression, str) else np.atleast_1d(np.asarray(expression)[..., column])
