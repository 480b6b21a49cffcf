"""Zero-inflated: numbers of which many are exactly zero, and the others a bell curve or a lognormal one.

P(x | k) is P(zero | k) at zero, and (1 − P(zero | k)) · density of the rest elsewhere: two families side by side, a
yes-or-no for being zero and one for the others, to which a zero is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import column_kernels
from tallybayes.core.batch import Array, Labels
from tallybayes.core.equality import ByValue
from tallybayes.core.family import Counting, Numbers
from tallybayes.core.schema import Column, Kind
from tallybayes.core.summaries import Counts, Index, Moments
from tallybayes.core.terms import Normal, Spike
from tallybayes.families._compiled import Compiled
from tallybayes.families.bernoulli import Bernoulli, Chances
from tallybayes.families.gaussian import Gaussian, Normals
from tallybayes.families.lognormal import Lognormal

LEAST_ZEROS = 0.05  # share of zeros from which on it is a candidate


@dataclass(frozen=True, eq=False)
class Spiked(ByValue):
    """How often a number is not zero, and the moments of those that are not."""

    other: Counts
    rest: Moments

    def __add__(self, more: Spiked) -> Spiked:
        return Spiked(self.other + more.other, self.rest + more.rest)

    def __sub__(self, less: Spiked) -> Spiked:
        return Spiked(self.other - less.other, self.rest - less.rest)

    def __mul__(self, factor: float) -> Spiked:
        return Spiked(self.other * factor, self.rest * factor)

    def align(self, classes: Index, cells: Index) -> Spiked:
        """Re-index onto a larger set of classes."""
        return Spiked(self.other.align(classes, cells), self.rest.align(classes, cells))

    def restrict(self, classes: Index, cells: Index) -> Spiked:
        """The summary of some classes; the inverse of `align`."""
        return Spiked(self.other.restrict(classes, cells), self.rest.restrict(classes, cells))

    def select(self, columns: NDArray[np.intp]) -> Spiked:
        """The summary of some columns."""
        return Spiked(self.other.select(columns), self.rest.select(columns))

    @property
    def column_weight(self) -> Array:
        """Weight of the values of each column."""
        return self.other.column_weight

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was counted, by name."""
        rest = {f"rest_{name}": array for name, array in self.rest.arrays().items()}
        return {**self.other.arrays(), **rest}

    def check(self, n_classes: int, columns: Sequence[Column]) -> None:
        """Refuse a summary that is not one of such columns, or that no rows can have."""
        self.other.check(n_classes, columns)
        self.rest.check(n_classes, columns)


@dataclass(frozen=True)
class SpikedParameters:
    """Parameters of both families."""

    other: Chances
    rest: Normals

    def weighted(self, weights: Array) -> SpikedParameters:
        """The same, each column's logs times its weight (d,)."""
        return SpikedParameters(self.other.weighted(weights), self.rest.weighted(weights))


@dataclass(frozen=True)
class ZeroInflated(Compiled):
    """A spike at zero and a distribution of everything else, per class and column.

    Parameters
    ----------
    rest : {"gaussian", "lognormal"}, default="gaussian"
        What the numbers other than zero are.
    alpha : float, default=1.0
        Pseudocount of zero and of not zero.
    var_smoothing : float, default=1e-9
        Fraction of a column's variance that is added to every class's.

    Examples
    --------
    >>> family = ZeroInflated(alpha=0.0)
    >>> x = np.array([[0.0], [0.0], [0.0], [5.0]])
    >>> summary = family.tally(x, Labels.hard(np.zeros(4, np.int32)), 1)
    >>> float(summary.other.count[0, 0]), float(summary.rest.mean[0, 0])
    (1.0, 5.0)
    """

    rest: Literal["gaussian", "lognormal"] = "gaussian"
    alpha: float = 1.0
    var_smoothing: float = 1e-9
    name: ClassVar[str] = "zero_inflated"
    kind: ClassVar[Kind] = "numeric"
    reads: ClassVar[tuple[Kind, ...]] = ("numeric", "count")
    summary: ClassVar[type[Spiked]] = Spiked
    has_spike: ClassVar[bool] = True

    @classmethod
    def usual(cls) -> ZeroInflated:
        return cls("lognormal")

    def suits(self, numbers: Numbers) -> bool:
        return numbers.low >= 0 and numbers.zeros > LEAST_ZEROS

    @property
    def of_logs(self) -> bool:
        return self.rest == "lognormal"

    def counted_by(self) -> Counting:
        return "spike"

    def described(self) -> str:
        return f"zero or {self.rest}"

    @property
    def _families(self) -> tuple[Bernoulli, Gaussian | Lognormal]:
        rest: Gaussian | Lognormal = Lognormal(self.var_smoothing)
        if self.rest == "gaussian":
            rest = Gaussian(self.var_smoothing, ignore_constants=True, floor="own")
        return Bernoulli(self.alpha, threshold=0.5), rest

    def tally(self, x: NDArray[Any], labels: Labels, n_classes: int) -> Spiked:
        spike, rest = self._families
        other, numbers = _split(x)
        return Spiked(spike.tally(other, labels, n_classes), rest.tally(numbers, labels, n_classes))

    def estimate(self, summary: Spiked) -> SpikedParameters:
        spike, rest = self._families
        return SpikedParameters(spike.estimate(summary.other), rest.estimate(summary.rest))

    def log_prob(self, params: SpikedParameters, x: NDArray[Any]) -> Array:
        (spike, rest), (other, numbers) = self._families, _split(x)
        return spike.log_prob(params.other, other) + rest.log_prob(params.rest, numbers)

    def contributions(self, params: SpikedParameters, x: NDArray[Any]) -> Array:
        (spike, rest), (other, numbers) = self._families, _split(x)
        return spike.contributions(params.other, other) + rest.contributions(params.rest, numbers)

    def variances(self, summary: Spiked, params: SpikedParameters, x: NDArray[Any], weights: Array) -> Array:
        (spike, rest), (other, numbers) = self._families, _split(x)
        mine = spike.variances(summary.other, params.other, other, weights)
        return mine + rest.variances(summary.rest, params.rest, numbers, weights)

    def leave_one_out(self, summary: Spiked, params: SpikedParameters, x: NDArray[Any], labels: Labels) -> Array:
        (spike, rest), (other, numbers) = self._families, _split(x)
        return spike.leave_one_out(summary.other, params.other, other, labels) + rest.leave_one_out(
            summary.rest, params.rest, numbers, labels
        )

    def _columns(self, summary: Spiked) -> column_kernels.Tallied:
        return column_kernels.spiked(summary.other, summary.rest, self.alpha, self.var_smoothing, self.of_logs)

    def log_base(self, x: NDArray[Any]) -> Array:
        return self._families[1].log_base(_split(x)[1])

    def sample(self, params: SpikedParameters, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        spike, rest = self._families
        other = spike.sample(params.other, codes, rng)
        return np.where(other > 0, rest.sample(params.rest, codes, rng), 0.0)

    def n_parameters(self, params: SpikedParameters) -> int:
        spike, rest = self._families
        return spike.n_parameters(params.other) + rest.n_parameters(params.rest)

    def joint_size(self, params: SpikedParameters) -> int:
        spike, rest = self._families
        return spike.joint_size(params.other) * rest.joint_size(params.rest)

    def terms(self, params: SpikedParameters, columns: Sequence[Column]) -> Iterator[tuple[int, Spike]]:
        for j, column in enumerate(columns):
            zero, other = params.other.no_and_yes(j)
            nothing = np.zeros_like(zero)
            rest = params.rest.term(column.name, j, self.of_logs)
            yield (
                j,
                Spike(column.name, zero, other, rest or Normal(column.name, nothing, nothing, nothing, self.of_logs)),
            )


def _split(x: NDArray[Any]) -> tuple[Array, Array]:
    """Whether each number is not zero, as 0 and 1, and the numbers without the zeros; missing values stay missing."""
    x = np.asarray(x, dtype=np.float64)
    return np.where(np.isnan(x), np.nan, x != 0), np.where(x == 0, np.nan, x)
