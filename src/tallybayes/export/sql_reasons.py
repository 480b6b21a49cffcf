"""Reason codes in SQL: what each name adds to the margin, and the steps that rank the losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.core.terms import ByBin, ByLevel, ByPair, Term
from tallybayes.export.reasons import Ranked
from tallybayes.export.sql_query import Query
from tallybayes.inspection.reasons import LARGEST, LEAST


def loss_columns(query: Query, ranked: Ranked) -> list[tuple[str, str]]:
    """For each name that is used, what it adds to the margin and what it took from it, in columns of a query."""
    number, plan = query.dialect.number, ranked.plan
    added: dict[int, list[str]] = {e: [] for e in ranked.used}
    for term, shares in zip(query.scorer.terms, ranked.shares, strict=True):
        of_class = list(query.added(_clipped(term)))
        margin = " + ".join(
            f"{number(c)} * ({x})" for c, x in zip(plan.coefficients.tolist(), of_class, strict=True) if c
        )
        for e, share in shares:
            added[e].append(f"{number(share)} * ({margin})" if share != 1.0 else f"({margin})")
    sums = {e: " + ".join(parts) for e, parts in added.items()}
    return [(sums[e], f"{number(plan.reference[e])} - ({sums[e]})") for e in ranked.used]


def ranking(query: Query, kept: list[str], ranked: Ranked) -> list[tuple[str, str]]:
    """Add the steps that rank the losses; returns the names and losses of the reasons, as columns to be passed on.

    Each reason takes three steps: the largest loss that is left, the first name that has it, and what is left then.
    """
    own, d, plan = query.own, query.dialect, ranked.plan
    left, found, over = [f"{own}l{e}" for e in ranked.used], list[tuple[str, str]](), query.steps[-1][0]
    n = min(plan.most, len(left))
    for r in range(n):
        passed = [*kept, *(name for pair in found for name in pair)]
        top, chosen, lost = f"{own}t{r}", f"{own}r{r}", f"{own}v{r}"
        query.step(f"top{r}", over, [*passed, *left, f"{d.largest(left)} AS {top}"])
        near = f"{top} - {d.number(LEAST)}"
        places = _first(left, [d.literal(plan.names[e]) for e in ranked.used], near, top, d.number(LEAST))
        losses = _first(left, left, near, top, d.number(LEAST))
        query.step(f"reason{r}", f"{own}top{r}", [*passed, *left, f"{places} AS {chosen}", f"{losses} AS {lost}"])
        found.append((chosen, lost))
        if r + 1 < n:
            named = zip(left, ranked.used, strict=True)
            gone = d.number(-LARGEST * 10)
            rest = [
                f"CASE WHEN {chosen} = {d.literal(plan.names[e])} THEN {gone} ELSE {x} END AS {x}" for x, e in named
            ]
            query.step(f"left{r}", f"{own}reason{r}", [*passed, chosen, lost, *rest])
        over = query.steps[-1][0]
    return found


def _first(left: Sequence[str], values: Sequence[str], near: str, top: str, least: str) -> str:
    whens = " ".join(f"WHEN {x} >= {near} THEN {value}" for x, value in zip(left, values, strict=True))
    return f"CASE WHEN {top} <= {least} THEN NULL {whens} END"


def outputs(ranked: Ranked, contributions: bool) -> Iterator[str]:
    """Names of the columns that a query has for reasons and contributions."""
    for r in range(1, min(ranked.plan.most, len(ranked.used)) + 1):
        yield from (f"reason_{r}", f"loss_{r}")
    if contributions:
        yield from (f"c_{ranked.plan.names[e]}" for e in ranked.used)


def _clipped(term: Term) -> Term:
    """The term with finite numbers in its tables, as reasons count impossibilities."""
    if not isinstance(term, ByLevel | ByBin | ByPair) or np.isfinite(term.scores).all():
        return term
    held: dict[str, Any] = {"scores": np.clip(term.scores, -LARGEST, LARGEST)}
    if isinstance(term, ByLevel):
        held |= {name: np.clip(getattr(term, name), -LARGEST, LARGEST) for name in ("missing", "unseen")}
    return replace(term, **held)
