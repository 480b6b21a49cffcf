"""Gamma: positive numbers that are skewed but less so than lognormal ones, such as durations, amounts and sizes.

log P(x | k) = c(a) + a (log u − u + 1) − log x, with u = x/μ, c(a) = a log a − a − log Γ(a) and the shape a = μ²/σ²
that has the mean and the variance of the class: the estimate by moments, which unlike maximum likelihood needs no
other summary. − log x is the same for all classes: it is `log_base`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels
from tallybayes.core.batch import Array, Labels
from tallybayes.core.family import Evidence, Numbers
from tallybayes.core.schema import Column
from tallybayes.core.summaries import Moments, check_numbers
from tallybayes.core.trials import Trial
from tallybayes.families._moments import Densities, OfMoments, location_and_variance

NARROW = 1.1  # times the smallest number; where no number is larger, a gamma distribution is a bell curve


@dataclass(frozen=True)
class Gamma(OfMoments):
    """A gamma distribution per class and column; a number that is not positive is no evidence.

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        Fraction of a column's variance (over all rows) that is added to every class's.

    Examples
    --------
    >>> from tallybayes.core.batch import Labels
    >>> family = Gamma()
    >>> x = np.array([[1.0], [2.0], [3.0]])
    >>> params = family.estimate(family.tally(x, Labels.hard(np.zeros(3, np.int32)), 1))
    >>> float(params.by_name["shape"].round(6)[0, 0]), float(params.by_name["mean"][0, 0])
    (6.0, 2.0)
    """

    var_smoothing: float = 1e-9
    name: ClassVar[str] = "gamma"
    least: ClassVar[float] = 0.0
    above_least: ClassVar[bool] = True

    def suits(self, numbers: Numbers) -> bool:
        return super().suits(numbers) and numbers.high > NARROW * numbers.low

    def check(self, columns: Sequence[Column], summary: Moments) -> None:
        super().check(columns, summary)
        check_numbers("mean", summary.mean, summary.mean.shape, self.least)

    def estimate(self, summary: Moments) -> Densities:
        mean, variance, evidence = location_and_variance(summary, self.var_smoothing)
        mean, one = np.where(evidence, mean, 1.0), np.ones_like(mean)
        shape = np.where(evidence, mean**2 / variance, 1.0)
        used = np.where(evidence, shape, 0.0)  # a column that never varied adds nothing
        u = ("mul", "x", 1.0 / mean)
        log_density = (
            "add",
            np.where(evidence, _constant(shape), 0.0),
            ("mul", used, ("add", ("log", u), ("mul", -one, u), one)),
        )
        return Densities(log_density, {"shape": shape, "mean": mean})

    def variances(self, summary: Moments, params: Densities, x: NDArray[Any], weights: Array) -> Array:
        """By dl/dm = a(u − 1)/m and dl/da = log a − ψ(a) + log u − u + 1, u = x/m; both estimates are uncorrelated."""
        from scipy.special import digamma  # slow to import

        shape, mean = params.by_name["shape"], params.by_name["mean"]
        numbers = self._held(x)[:, None, :]
        u = np.where(np.isnan(numbers), 1.0, numbers) / mean
        by_shape = np.log(shape) - digamma(shape) + np.log(u) - u + 1.0
        found = shape * (u - 1.0) ** 2 + 2.0 * shape * (shape + 1.0) * by_shape**2
        varied = location_and_variance(summary, self.var_smoothing)[2]
        found = found / np.maximum(summary.weight, 1.0) * np.square(weights)
        return np.where(np.isnan(numbers) | ~varied, 0.0, found)

    def tuned(self, summary: Moments, trial: Trial) -> tuple[list[Gamma], Array]:
        return [self] * trial.x.shape[1], column_kernels.gamma(summary, self.var_smoothing).losses(trial)

    def evidence_without(
        self, summary: Moments, x: NDArray[Any], labels: Labels, out: Evidence, places: Sequence[int]
    ) -> None:
        column_kernels.gamma(summary, self.var_smoothing).evidence(x, labels, out, places)

    def log_base(self, x: NDArray[Any]) -> Array:
        return np.asarray(-np.nansum(np.log(self._held(x)), axis=1))

    def sample(self, params: Densities, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        shape = params.by_name["shape"][codes]
        return rng.gamma(shape, params.by_name["mean"][codes] / shape)


def _constant(shape: Array) -> Array:
    """a log a − a − log Γ(a); by Stirling's series where the three are large and nearly cancel."""
    from scipy.special import gammaln  # slow to import

    series = 0.5 * np.log(shape / (2.0 * np.pi)) - 1.0 / (12.0 * shape) + 1.0 / (360.0 * shape**3)
    return np.where(shape > 100.0, series, shape * np.log(shape) - shape - gammaln(shape))
