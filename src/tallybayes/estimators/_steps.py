"""How expectation-maximisation went; `Fitted` takes these functions for its attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.provenance import Steps

ONLY = "only where rows without labels were learned (unlabelled='em')"


def n_iter(self: Any) -> int:
    """Steps of expectation-maximisation; 1 without, since counting takes a single pass."""
    steps = self.model_.provenance.steps
    return 1 if steps is None else int(steps.n_iter)


def converged(self: Any) -> bool:
    """Whether the steps ended by themselves."""
    steps = self.model_.provenance.steps
    return steps is None or bool(steps.converged)


def log_likelihood_path(self: Any) -> Array:
    """Penalised log likelihood after each step of expectation-maximisation, shape (n_iter_,)."""
    return np.array(_taken(self, "a path").path)


def unlabelled_weight(self: Any) -> float:
    """How much an unlabelled row counted beside a labelled one."""
    return _taken(self, "such a weight").weight


def _taken(self: Any, what: str) -> Steps:
    steps: Steps | None = self.model_.provenance.steps
    if steps is None:
        raise AttributeError(f"there is {what} {ONLY}")
    return steps
