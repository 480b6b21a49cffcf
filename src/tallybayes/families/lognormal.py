"""Lognormal: positive numbers whose logarithm is a bell curve per class, such as incomes, sizes and waiting times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Labels
from tallybayes.core.summaries import Moments
from tallybayes.errors import CellError, NotAvailableError
from tallybayes.families.gaussian import Gaussian, Normals


@dataclass(frozen=True)
class Lognormal:
    """A normal distribution of log x, per class and column; a number that is not positive is no evidence.

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        Fraction of a column's variance (of the logs, over all rows) that is added to every class's.

    Examples
    --------
    >>> family = Lognormal()
    >>> x = np.exp([[1.0], [2.0], [3.0]])
    >>> family.estimate(family.tally(x, Labels.hard(np.zeros(3, np.int32)), 1)).mean.round(6)
    array([[2.]])
    """

    var_smoothing: float = 1e-9
    name: ClassVar[str] = "lognormal"

    @property
    def _normal(self) -> Gaussian:
        return Gaussian(self.var_smoothing, ignore_constants=True, floor="own")

    def tally(self, x: NDArray[Any], labels: Labels, n_classes: int) -> Moments:
        bad = np.argwhere(np.asarray(x, dtype=np.float64) <= 0)
        if len(bad):
            row, column = bad[0].tolist()
            raise CellError(
                f"holds {x[row, column]:g}, and a lognormal number is above 0", "Use another family.", row, column
            )
        return self._normal.tally(_logs(x), labels, n_classes)

    def estimate(self, summary: Moments) -> Normals:
        return self._normal.estimate(summary)

    def log_prob(self, params: Normals, x: NDArray[Any]) -> Array:
        return self._normal.log_prob(params, _logs(x))

    def contributions(self, params: Normals, x: NDArray[Any]) -> Array:
        return self._normal.contributions(params, _logs(x))

    def leave_one_out(self, summary: Moments, params: Normals, x: NDArray[Any], labels: Labels) -> Array:
        return self._normal.leave_one_out(summary, params, _logs(x), labels)

    def log_base(self, x: NDArray[Any]) -> Array:
        return np.asarray(-np.nansum(_logs(x), axis=1))  # d log x / dx = 1 / x

    def log_penalty(self, params: Normals) -> float:
        return 0.0  # the smoothing is the mode of no fixed prior

    def linear(self, params: Normals) -> tuple[Array, Array]:
        raise NotAvailableError("a lognormal column is not linear in x")

    def sample(self, params: Normals, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        return np.asarray(np.exp(self._normal.sample(params, codes, rng)))

    def n_parameters(self, params: Normals) -> int:
        return self._normal.n_parameters(params)

    def joint_size(self, params: Normals) -> int:
        return self._normal.joint_size(params)


def _logs(x: NDArray[Any]) -> Array:
    x = np.asarray(x, dtype=np.float64)
    return np.log(x, out=np.full_like(x, np.nan), where=x > 0)
