"""Naive Bayes in exact fractions, by counting rows one by one: writes fractions.json.

An implementation that shares nothing with the package: no arrays, no logarithms, no tallies. Weights and pseudocounts
are fractions that floating-point numbers hold exactly. Leave-one-out really leaves each row out and counts again.

    python tests/oracles/make_fractions.py
"""

from __future__ import annotations

import json
from fractions import Fraction as F
from math import prod
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_name("fractions.json")

ROWS = [  # three columns of small whole numbers, a label, a weight
    ((0, 2, 1), "b", F(1)),
    ((1, 0, 1), "a", F(3, 2)),
    ((2, 2, 0), "c", F(1)),
    ((0, 1, 1), "b", F(1, 4)),
    ((1, 1, 0), "a", F(2)),
    ((0, 0, 2), "c", F(1, 2)),
    ((2, 2, 1), "a", F(1)),
    ((0, 2, 0), "b", F(3)),
    ((1, 0, 0), "c", F(1)),
    ((0, 1, 2), "a", F(1)),
]
CLASSES = ["a", "b", "c"]
LEVELS = [3, 3, 3]
COLUMNS = range(3)

Rows = list[tuple[tuple[int, ...], str, F]]


def of_class(rows: Rows, k: str) -> Rows:
    return [row for row in rows if row[1] == k]


def weight(rows: Rows) -> F:
    return sum((w for _, _, w in rows), F(0))


def prior(rows: Rows) -> list[F]:
    return [weight(of_class(rows, k)) / weight(rows) for k in CLASSES]


def categorical(rows: Rows, a: F) -> list[list[list[F]]]:
    """P(x_d = c | k) by column, class and level."""

    def table(d: int, k: str) -> list[F]:
        mine = of_class(rows, k)
        mass = weight(mine) + a * LEVELS[d]
        return [(weight([row for row in mine if row[0][d] == c]) + a) / mass for c in range(LEVELS[d])]

    return [[table(d, k) for k in CLASSES] for d in COLUMNS]


def bernoulli(rows: Rows, a: F) -> list[list[F]]:
    """P(x_d > 0 | k) by class and column."""

    def chance(d: int, k: str) -> F:
        mine = of_class(rows, k)
        return (weight([row for row in mine if row[0][d] > 0]) + a) / (weight(mine) + 2 * a)

    return [[chance(d, k) for d in COLUMNS] for k in CLASSES]


def shares(rows: Rows, a: F) -> list[F]:
    """Share of each column in all that the rows counted."""
    counted = [sum((w * x[d] for x, _, w in rows), F(0)) + a for d in COLUMNS]
    return [c / sum(counted) for c in counted]


def multinomial(rows: Rows, a: F) -> list[list[F]]:
    return [shares(of_class(rows, k), a) for k in CLASSES]


def complement(rows: Rows, a: F) -> list[list[F]]:
    """Shares in all classes but the one."""
    return [shares([row for row in rows if row[1] != k], a) for k in CLASSES]


def poisson(rows: Rows, a: F) -> list[list[F]]:
    """Events per row, as if a rows of one event had been there."""

    def rate(d: int, k: str) -> F:
        mine = of_class(rows, k)
        return (sum((w * x[d] for x, _, w in mine), F(0)) + a) / (weight(mine) + a)

    return [[rate(d, k) for d in COLUMNS] for k in CLASSES]


def gaussian(rows: Rows) -> dict[str, list[list[F]]]:
    """Mean and variance by class and column; every variance of all rows."""

    def mean(mine: Rows, d: int) -> F:
        return sum((w * x[d] for x, _, w in mine), F(0)) / weight(mine)

    def variance(mine: Rows, d: int) -> F:
        return sum((w * (x[d] - mean(mine, d)) ** 2 for x, _, w in mine), F(0)) / weight(mine)

    by_class = [of_class(rows, k) for k in CLASSES]
    return {
        "mean": [[mean(mine, d) for d in COLUMNS] for mine in by_class],
        "variance": [[variance(mine, d) for d in COLUMNS] for mine in by_class],
        "variance_of_all": [[variance(rows, d) for d in COLUMNS]],
    }


def likelihoods(family: str, rows: Rows, a: F, x: tuple[int, ...]) -> list[F]:
    """P(x | k) of each class, without the part that all classes share."""
    if family == "categorical":
        tables = categorical(rows, a)
        return [prod((tables[d][k][x[d]] for d in COLUMNS), start=F(1)) for k in range(3)]
    if family == "bernoulli":
        chances = bernoulli(rows, a)
        return [prod((p[d] if x[d] > 0 else 1 - p[d] for d in COLUMNS), start=F(1)) for p in chances]
    return [prod((p[d] ** x[d] for d in COLUMNS), start=F(1)) for p in multinomial(rows, a)]


def posterior(family: str, rows: Rows, a: F, x: tuple[int, ...]) -> list[F]:
    joint = [p * q for p, q in zip(prior(rows), likelihoods(family, rows, a, x), strict=True)]
    return [j / sum(joint) for j in joint]


def left_out(family: str, a: F) -> list[list[F]]:
    return [posterior(family, ROWS[:i] + ROWS[i + 1 :], a, ROWS[i][0]) for i in range(len(ROWS))]


def compute() -> dict[str, Any]:
    """All numbers, as fractions."""
    smoothed = {"0": F(0), "1/2": F(1, 2), "1": F(1)}
    tables = {"categorical": categorical, "bernoulli": bernoulli, "multinomial": multinomial}
    return {
        "x": [x for x, _, _ in ROWS],
        "y": [y for _, y, _ in ROWS],
        "weight": [w for _, _, w in ROWS],
        "prior": prior(ROWS),
        "tables": {family: {name: make(ROWS, a) for name, a in smoothed.items()} for family, make in tables.items()},
        "posterior": {
            family: {name: [posterior(family, ROWS, a, x) for x, _, _ in ROWS] for name, a in smoothed.items()}
            for family in tables
        },
        "leave_one_out": {
            family: {name: left_out(family, a) for name, a in smoothed.items() if a > 0} for family in tables
        },
        "complement": {name: complement(ROWS, a) for name, a in smoothed.items() if a > 0},
        "poisson": {name: poisson(ROWS, a) for name, a in smoothed.items()},
        "gaussian": gaussian(ROWS),
    }


def as_json() -> str:
    """The numbers as text: a fraction is written as one."""
    return json.dumps(compute(), default=str, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    STORED.write_text(as_json())
