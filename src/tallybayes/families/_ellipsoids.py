"""Parameters of normal distributions over several columns: means, covariance matrices, and what scores a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array

LEAST = 1e-9  # least variance of any direction, as a share of the columns' variance over all rows


@dataclass(frozen=True)
class Ellipsoids:
    """Parameters of a multinormal block. A column that never varied is no evidence."""

    mean: Array  # (K, d)
    covariance: Array  # (K, d, d), or (1, d, d) where all classes share it
    scale: Array  # (d,) spread of each column over all rows; zero where it is no evidence
    rank: NDArray[np.intp]  # (K,) or (1,) directions in which the class varies
    shrinkage: Array  # (K,) or (1,)

    @property
    def variance(self) -> Array:
        """Variance (K, d) of each column by itself."""
        return np.broadcast_to(np.einsum("kii->ki", self.covariance), self.mean.shape)

    @property
    def evidence(self) -> NDArray[np.intp]:
        """Positions of the columns that are evidence."""
        return np.flatnonzero(self.scale > 0)

    def patterns(self, x: Array) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Array]]:
        """Rows that have values in the same columns: their numbers, those columns and their cells."""
        evidence = self.evidence
        seen = ~np.isnan(x[:, evidence])
        if seen.all():
            yield np.arange(len(x)), evidence, x if len(evidence) == x.shape[1] else x[:, evidence]
            return
        patterns, which = np.unique(seen, axis=0, return_inverse=True)
        for p, pattern in enumerate(patterns):
            rows, columns = np.flatnonzero(which.ravel() == p), evidence[pattern]
            if len(columns):  # the others are integrated out: the density of some columns is normal, too
                yield rows, columns, x[np.ix_(rows, columns)]

    def whitened(self, columns: NDArray[np.intp]) -> list[tuple[Array, float]]:
        """For each class what turns standardised deviations into independent ones, and the log of the norm."""
        return self._whole if len(columns) == len(self.evidence) else self._whitened(columns)

    @cached_property
    def _whole(self) -> list[tuple[Array, float]]:
        return self._whitened(self.evidence)

    def _whitened(self, columns: NDArray[np.intp]) -> list[tuple[Array, float]]:
        unit = self.scale[columns]

        def of(matrix: Array) -> tuple[Array, float]:
            value, direction = np.linalg.eigh(matrix[np.ix_(columns, columns)] / np.outer(unit, unit))
            value = np.maximum(value, 1e-3 * LEAST)  # rounding may eat into the least
            log_norm = -0.5 * float(np.log(2.0 * np.pi * value).sum()) - float(np.log(unit).sum())
            return direction / np.sqrt(value), log_norm

        made = [of(matrix) for matrix in self.covariance]
        return made * len(self.mean) if len(made) == 1 else made
