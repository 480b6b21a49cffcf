"""Families of numbers that compiled code compares and leaves out, each column as a block of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import NDArray

from tallybayes.core.batch import Array, Labels
from tallybayes.core.column_kernels import Tallied
from tallybayes.core.family import Evidence, Family
from tallybayes.core.trials import Trial


class Compiled(Family):
    """Base of such families: they say how their columns are tallied."""

    @abstractmethod
    def _columns(self, summary: Any) -> Tallied:
        """Each column as a block of its own."""

    def tuned(self, summary: Any, trial: Trial) -> tuple[list[Self], Array]:
        return [self] * trial.x.shape[1], self._columns(summary).losses(trial)

    def evidence_without(
        self, summary: Any, x: NDArray[Any], labels: Labels, out: Evidence, places: Sequence[int]
    ) -> None:
        self._columns(summary).evidence(x, labels, out, places)
