"""Gamma: positive numbers that are skewed but less so than lognormal ones, such as durations, amounts and sizes.

log P(x | k) = a log b − log Γ(a) + (a − 1) log x − b x, with the shape a = μ²/σ² and the rate b = μ/σ² that have the
mean and the variance of the class: the estimate by moments, which unlike maximum likelihood needs no other summary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.family import Numbers
from tallybayes.core.summaries import Moments
from tallybayes.families._moments import Densities, OfMoments, location_and_variance

NARROW = 1.1  # largest over smallest value, below which a column is no candidate


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
    >>> float(params.by_name["shape"].round(6)[0, 0]), float(params.by_name["rate"].round(6)[0, 0])
    (6.0, 3.0)
    """

    var_smoothing: float = 1e-9
    name: ClassVar[str] = "gamma"
    least: ClassVar[float] = 0.0
    above_least: ClassVar[bool] = True

    def suits(self, numbers: Numbers) -> bool:
        # Numbers that hardly vary beside their size have a shape so large that its terms cancel to noise.
        return super().suits(numbers) and numbers.high > NARROW * numbers.low

    def estimate(self, summary: Moments) -> Densities:
        from scipy.special import gammaln  # slow to import

        mean, variance, evidence = location_and_variance(summary, self.var_smoothing)
        shape, rate = np.where(evidence, mean**2 / variance, 1.0), np.where(evidence, mean / variance, 1.0)
        norm = np.where(evidence, shape * np.log(rate) - gammaln(shape), 0.0)
        slope = np.where(evidence, -rate, 0.0)  # a column that never varied adds nothing
        log_density = ("add", norm, ("mul", shape - 1.0, ("log", "x")), ("mul", slope, "x"))
        return Densities(log_density, {"shape": shape, "rate": rate})

    def sample(self, params: Densities, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        return rng.gamma(params.by_name["shape"][codes], 1.0 / params.by_name["rate"][codes])
