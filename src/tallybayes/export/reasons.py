"""Reason codes in the exports: which term belongs to which column, and how losses are ranked.

`inspection.reasons` defines them; here they are written down as JSON and Python from the terms of the scorer
(`export.sql_reasons` does it as SQL).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.core.model import Model
from tallybayes.core.terms import Bag, ByPair, Ellipsoid, Term, Together, names_of
from tallybayes.errors import NotAvailableError
from tallybayes.inspection.reasons import LARGEST, LEAST, ReasonPlan


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
