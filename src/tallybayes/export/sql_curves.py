"""Isotonic calibration in SQL: curves that are lines through knots."""

from __future__ import annotations

from tallybayes.core.calibration import Curve, Isotonic
from tallybayes.errors import NotAvailableError
from tallybayes.export.dialects import Dialect
from tallybayes.export.sql_query import Query


def isotonic_steps(query: Query, calibration: Isotonic, kept: list[str]) -> list[str]:
    """Add the steps; returns the columns that are in proportion to the probabilities."""
    d, own, number = query.dialect, query.own, query.dialect.number
    if calibration.margin <= 0:
        raise NotAvailableError("curves without a margin cannot be written as SQL; fit the calibration again")
    shifted = [f"{own}d{k}" for k in range(query.n_classes)]
    classes = [1] if len(calibration.curves) == 1 else list(range(query.n_classes))
    others = {k: [name for j, name in enumerate(shifted) if j != k] for k in classes}
    rivals = [f"{d.largest(others[k])} AS {own}r{k}" for k in classes]
    query.step("rivals", f"{own}shifted", [*kept, *shifted, *rivals])
    odds = []
    for k in classes:
        total = " + ".join(d.exponential(f"{name} - {own}r{k}") for name in others[k])
        odds.append(f"{own}d{k} - {own}r{k} - LN({total}) AS {own}o{k}")
    query.step("odds", f"{own}rivals", [*kept, *odds])
    curves = [f"{_curve(d, c, f'{own}o{k}')} AS {own}h{k}" for c, k in zip(calibration.curves, classes, strict=True)]
    query.step("curves", f"{own}odds", [*kept, *curves])
    low, high = number(calibration.margin), number(1.0 - calibration.margin)
    heights = [f"{own}h{k}" for k in classes]
    held = [f"CASE WHEN {h} < {low} THEN {low} WHEN {h} > {high} THEN {high} ELSE {h} END" for h in heights]
    if len(held) == 1:
        held = [f"{number(1.0)} - ({held[0]})", held[0]]
    query.step("held", f"{own}curves", [*kept, *(f"{h} AS {own}p{k}" for k, h in enumerate(held))])
    return [f"{own}p{k}" for k in range(query.n_classes)]


def _curve(dialect: Dialect, curve: Curve, x: str) -> str:
    """A line through knots, level outside them; the stretch is halved until one is left."""
    number, at, height = dialect.number, curve.log_odds, curve.probability

    def between(first: int, last: int) -> str:
        if last - first == 1:
            slope = (height[last] - height[first]) / (at[last] - at[first])
            return f"{number(height[first])} + {number(slope)} * ({x} - {number(at[first])})"
        middle = (first + last) // 2
        return f"CASE WHEN {x} < {number(at[middle])} THEN {between(first, middle)} ELSE {between(middle, last)} END"

    last = len(at) - 1
    inside = between(0, last) if last else number(height[0])
    low, high = f"{x} <= {number(at[0])}", f"{x} >= {number(at[-1])}"
    return f"CASE WHEN {low} THEN {number(height[0])} WHEN {high} THEN {number(height[-1])} ELSE {inside} END"
