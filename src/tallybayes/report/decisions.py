"""What the page needs to move a threshold: how many rows of a class, and of others, are above each."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.core.evaluation import Evaluation

MOST = 400  # thresholds of all classes, but at least some of each
LEAST = 60


def decisions(evaluation: Evaluation | None) -> list[dict[str, Any]] | None:
    """The rankings of the classes as plain values, for JSON; None where there are none."""
    if evaluation is None or not evaluation.rankings:
        return None
    classes = evaluation.classes[1:] if len(evaluation.classes) == 2 else evaluation.classes
    found, most = [], max(LEAST, MOST // len(evaluation.rankings))
    for label, ranking in zip(classes, evaluation.rankings, strict=True):
        kept = np.unique(np.linspace(0, len(ranking.threshold) - 1, most).round().astype(np.intp))
        found.append(
            {
                "class": str(label),
                "threshold": [float(f"{p:.4g}") for p in ranking.threshold[kept].tolist()],
                "positive": [float(f"{w:.6g}") for w in ranking.positive[kept].tolist()],
                "negative": [float(f"{w:.6g}") for w in ranking.negative[kept].tolist()],
                "area": ranking.area,
            }
        )
    return found
