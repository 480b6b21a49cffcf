"""Reason codes in the exports: which term belongs to which column, and how losses are ranked.

`inspection.reasons` defines them; here they are written down as JSON, Python and SQL from the terms of the scorer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.core.model import Model
from tallybayes.core.terms import Bag, ByBin, ByLevel, ByPair, Ellipsoid, Term, Together, names_of
from tallybayes.errors import NotAvailableError
from tallybayes.inspection.reasons import LARGEST, LEAST, ReasonPlan

if TYPE_CHECKING:
    from tallybayes.export.sql import Query


@dataclass(frozen=True)
class Ranked:
    """Reasons for the terms of a scorer: the names that some term belongs to, and the shares that they have."""

    plan: ReasonPlan
    owners: tuple[str, ...]  # the column of the schema of each term
    shares: tuple[tuple[tuple[int, float], ...], ...]  # of each term: names by position, and their shares
    used: tuple[int, ...]  # names that some term belongs to

    @classmethod
    def of(cls, plan: ReasonPlan, model: Model, terms: Sequence[Term]) -> Ranked:
        """Which names the terms belong to."""
        names = model.schema.names
        owners = tuple(owner(term, model) for term in terms)
        rows = [plan.shares[names.index(name)] for name in owners]
        shares = tuple(tuple((e, float(row[e])) for e in np.flatnonzero(row).tolist()) for row in rows)
        return cls(plan, owners, shares, tuple(sorted({e for each in shares for e, _ in each})))

    def as_dict(self) -> dict[str, Any]:
        """The record as what JSON can hold, as `docs/how-to/exports.md` describes it."""
        plan = self.plan
        return {
            "label": plan.label,
            "most": plan.most,
            "names": list(plan.names),
            "reference": plan.reference.tolist(),
            "coefficients": plan.coefficients.tolist(),
            "terms": [[list(each) for each in shares] for shares in self.shares],
            "least": LEAST,
        }


def owner(term: Term, model: Model) -> str:
    """The column of the schema that a term is what it adds."""
    if isinstance(term, Bag | Ellipsoid):
        raise NotAvailableError(
            "columns that are one document, or one distribution, have no parts in exports; use contributions and "
            "reasons of the estimator"
        )
    if isinstance(term, ByPair | Together):
        parts = names_of(term)
        found = (c for c in model.schema.columns if c.parts is not None and tuple(p.name for p in c.parts) == parts)
        return next(found).name
    return names_of(term)[0]


def clipped(term: Term) -> Term:
    """The term with finite numbers in its tables, as reasons count impossibilities."""
    if not isinstance(term, ByLevel | ByBin | ByPair) or np.isfinite(term.scores).all():
        return term
    held: dict[str, Any] = {"scores": np.clip(term.scores, -LARGEST, LARGEST)}
    if isinstance(term, ByLevel):
        held |= {name: np.clip(getattr(term, name), -LARGEST, LARGEST) for name in ("missing", "unseen")}
    return replace(term, **held)


# ------------------------------------------------------------------------------------------ Python

CONTRIBUTIONS = (
    '    """Return what each column, pair and block adds to the score of each class, in nats."""',
    "    found = {}",
    "",
    "    def keep(column, s):",
    "        known = found.get(column, [0.0] * len(s))",
    "        found[column] = [a + b for a, b in zip(known, s)]",
    "",
)
RANKING = (
    '    """Return the names that took most from the score, and how much, the largest loss first."""',
    "    parts, losses, found = contributions(row), [], []",
    "    for name, reference, shares in REASONS:",
    "        for column, share in shares:",
    "            scores = parts.get(column, {}).values()",
    f"            reference -= share * sum(c * max(v, -{LARGEST!r}) for c, v in zip(COEFFICIENTS, scores))",
    "        losses.append(reference)",
    "    left = list(losses)",
    "    while left and len(found) < most and max(left) > LEAST:",
    "        top = max(left)",
    "        place = next(i for i, v in enumerate(left) if v >= top - LEAST)",
    "        found.append((REASONS[place][0], losses[place]))",
    "        left[place] = -inf",
    "    return found",
)


def entries(ranked: Ranked) -> list[tuple[str, float, list[tuple[str, float]]]]:
    """For each name that is used: its reference, and the share that it has of each column, pair and block."""
    columns: dict[int, dict[str, float]] = {e: {} for e in ranked.used}
    for name, shares in zip(ranked.owners, ranked.shares, strict=True):
        for e, share in shares:
            columns[e][name] = share
    plan = ranked.plan
    return [(plan.names[e], float(plan.reference[e]), list(columns[e].items())) for e in ranked.used]


# ------------------------------------------------------------------------------------------ SQL


def loss_columns(query: Query, ranked: Ranked) -> list[tuple[str, str]]:
    """For each name that is used, what it adds to the margin and what it took from it, in columns of a query."""
    number, plan = query.dialect.number, ranked.plan
    added: dict[int, list[str]] = {e: [] for e in ranked.used}
    for term, shares in zip(query.scorer.terms, ranked.shares, strict=True):
        of_class = list(query._added(clipped(term)))
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
        query._step(f"top{r}", over, [*passed, *left, f"{d.largest(left)} AS {top}"])
        near = f"{top} - {d.number(LEAST)}"
        places = _first(left, [d.literal(plan.names[e]) for e in ranked.used], near, top, d.number(LEAST))
        losses = _first(left, left, near, top, d.number(LEAST))
        query._step(f"reason{r}", f"{own}top{r}", [*passed, *left, f"{places} AS {chosen}", f"{losses} AS {lost}"])
        found.append((chosen, lost))
        if r + 1 < n:
            named = zip(left, ranked.used, strict=True)
            gone = d.number(-LARGEST * 10)
            rest = [
                f"CASE WHEN {chosen} = {d.literal(plan.names[e])} THEN {gone} ELSE {x} END AS {x}" for x, e in named
            ]
            query._step(f"left{r}", f"{own}reason{r}", [*passed, chosen, lost, *rest])
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
