"""Rows on which the families of columns are compared, and the leave-one-out loss of each column alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Labels, Matrix


@dataclass(frozen=True)
class Trial:
    """Training rows of some columns of a block, with the log prior that the evidence of each column is added to."""

    x: Matrix
    labels: Labels
    prior: Array  # (K,) log prior
    cells: NDArray[np.int32] | None = None  # (n, d) where rows of one cell mostly have the same value; -1 if missing

    @cached_property
    def sizes(self) -> tuple[NDArray[np.int32], int]:
        """The place (n,) of each row's weight among the different weights, and how many there are."""
        weight = self.labels.weight
        if len(weight) == 0 or (weight == weight[0]).all():
            return np.zeros(len(weight), dtype=np.int32), 1
        different, place = np.unique(weight, return_inverse=True)
        return place.astype(np.int32), len(different)

    def losses(self, leave_one_out: Callable[[int], Array]) -> Array:
        """Mean of −log P(y | x) (d,) of each column alone, from its leave-one-out evidence (n, K)."""
        codes, times = self.labels.codes, self.labels.weight
        assert codes is not None
        found = np.empty(self.x.shape[1])
        for j in range(len(found)):
            scores = leave_one_out(j) + self.prior
            top = scores.max(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                losses = top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - scores[np.arange(len(top)), codes]
            found[j] = (times * np.where(np.isnan(losses), np.inf, losses)).sum() / times.sum()
        return found


def least(families: Sequence[Any], losses: Array) -> tuple[list[Any], Array]:
    """For each column the family whose loss (d, S) is least, of equal ones the first, and that loss (d,)."""
    best = losses.argmin(axis=1)
    return [families[i] for i in best.tolist()], losses[np.arange(len(best)), best]
