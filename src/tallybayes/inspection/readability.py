"""What a model that can be read costs, beside one that may be anything: held-out figures of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallybayes.core.evaluation import Evaluation


@dataclass(frozen=True)
class Readability:
    """The held-out performance of a readable model and of the one without limits.

    Examples
    --------
    >>> import numpy as np
    >>> from tallybayes.core.metrics import score
    >>> few, many = (score(np.log([[1 - p, p], [p, 1 - p]]), np.array([1, 0]), ["no", "yes"]) for p in (0.8, 0.9))
    >>> print(Readability(few, many))
    readable: log loss 0.2231, without the limit 0.1054 (costs 0.1178); ROC area 1.0000, without 1.0000; held-out rows
    """

    readable: Evaluation
    free: Evaluation

    @property
    def cost(self) -> float:
        """Log loss that is paid for it, in nats a row."""
        return float(self.readable.log_loss) - float(self.free.log_loss)

    def __str__(self) -> str:
        mine, other = float(self.readable.log_loss), float(self.free.log_loss)
        change = f"costs {self.cost:.4f}" if self.cost >= 0 else f"gains {-self.cost:.4f}"
        areas = [self.readable.roc_auc, self.free.roc_auc]
        area = "" if None in areas else f"; ROC area {areas[0]:.4f}, without {areas[1]:.4f}"
        return f"readable: log loss {mine:.4f}, without the limit {other:.4f} ({change}){area}; held-out rows"

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        pairs = {"readable": self.readable, "without_limit": self.free}
        return {"cost": self.cost} | {
            name: {"log_loss": float(each.log_loss), "roc_auc": each.roc_auc, "accuracy": float(each.accuracy)}
            for name, each in pairs.items()
        }
