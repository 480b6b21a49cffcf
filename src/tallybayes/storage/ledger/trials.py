"""Half-lives and windows that are tried: the log loss of rows before they were counted.

Each batch is predicted by a model of what the ledger had before, once for every half-life and window on trial. The
losses are kept with the batch, so that the best of the past is known at any time without rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.data.columns import rows
from tallybayes.errors import LedgerError, ModelFileError
from tallybayes.storage.ledger.blobs import Index

USUAL = (1.0, 4.0, 16.0, 64.0, 256.0)  # periods
LEAST = 1e-12  # the probability of what a model takes for impossible


@dataclass(frozen=True)
class Trials:
    """The half-lives and windows on trial, in periods; the first trial is always that of all rows alike."""

    half_lives: tuple[float, ...] = ()
    windows: tuple[float, ...] = ()

    @classmethod
    def of(cls, half_lives: Any, windows: Any) -> Trials:
        """Trials as given: "auto" for the usual ones, None for none."""
        return cls(_lengths(half_lives, "half_lives"), _lengths(windows, "windows"))

    @classmethod
    def read(cls, text: str) -> Trials:
        """Trials as a file has them."""
        try:
            half_lives, windows = json.loads(text)
            return cls.of(half_lives, windows)
        except (ValueError, TypeError) as error:
            raise ModelFileError("its half-lives on trial are damaged") from error

    def written(self) -> str:
        """Trials as a file has them."""
        return json.dumps([self.half_lives, self.windows])

    def __bool__(self) -> bool:
        return bool(self.half_lives or self.windows)

    def factors(self, period: int, of: Index) -> list[Array]:
        """How much the rows of periods count on each trial, seen from a period."""
        age = np.maximum(period - of, 0).astype(np.float64)
        found = [np.ones(len(of))]
        found += [np.exp2(-age / length) for length in self.half_lives]
        return found + [(age <= length).astype(np.float64) for length in self.windows]

    def losses(self, models: Sequence[Model], data: Any, labels: Sequence[Any]) -> Array:
        """The weight of the rows that count, and the summed log loss of each trial."""
        known = models[0].schema.classes
        usable = [i for i, label in enumerate(labels) if all(label in m.schema.classes for m in models)]
        found = np.zeros(1 + len(models))
        found[0] = len(usable)
        if not usable or len(known) < 2:
            return np.zeros(1 + len(models))
        for j, model in enumerate(models):
            place = {label: k for k, label in enumerate(model.schema.classes)}
            scores = model.posterior(rows(model, data))[usable, [place[labels[i]] for i in usable]]
            found[1 + j] = -np.log(np.maximum(scores, LEAST)).sum()
        return found

    def best(self, losses: Array, what: str) -> float:
        """The half-life or window with the smallest loss; infinite where all rows alike did better."""
        lengths = self.half_lives if what == "half_life" else self.windows
        if not lengths:
            raise LedgerError(
                f"{what}='auto' needs trials: create the ledger with {'half_lives' if what == 'half_life' else what}"
                f"{'' if what == 'half_life' else 's'}='auto', so that rows are predicted before they are counted"
            )
        first = 1 if what == "half_life" else 1 + len(self.half_lives)
        candidates = [losses[0], *losses[first : first + len(lengths)]]
        return (math.inf, *lengths)[int(np.argmin(candidates))]


def _lengths(given: Any, what: str) -> tuple[float, ...]:
    if given is None:
        return ()
    if isinstance(given, str):
        if given != "auto":
            raise LedgerError(f"{what} must be 'auto' or numbers of periods, not {given!r}")
        return USUAL
    found = tuple(given)
    if len(found) > 50 or not all(isinstance(n, (int, float)) and 0 < n < math.inf for n in found):
        raise LedgerError(f"{what} must be at most 50 numbers of periods above 0")
    return tuple(map(float, found))
