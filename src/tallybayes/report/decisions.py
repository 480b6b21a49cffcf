"""What the page needs to move a threshold: how many rows of a class, and of others, are above each."""

from __future__ import annotations

from typing import Any

from tallybayes.core.evaluation import Evaluation
from tallybayes.core.ranking import ROUND


def decisions(evaluation: Evaluation | None) -> list[dict[str, Any]] | None:
    """Of each class the weight of its rows, and of others, at or above 0, 0.5, … 100 %; None where there is none."""
    if evaluation is None or not evaluation.rankings:
        return None
    classes = evaluation.classes[1:] if len(evaluation.classes) == 2 else evaluation.classes
    found = []
    for label, ranking in zip(classes, evaluation.rankings, strict=True):
        rows = dict(zip(("positive", "negative"), ranking.above(ROUND[::-1]), strict=True))
        found.append({"class": str(label)} | {k: [float(f"{w:.6g}") for w in v.tolist()] for k, v in rows.items()})
    return found
