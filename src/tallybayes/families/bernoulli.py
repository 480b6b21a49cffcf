"""Bernoulli: yes or no, a probability of yes per class and column.

P(x | k) = Π_d p_kd^x_d (1 − p_kd)^(1 − x_d), p_kd = (n_kd1 + a) / (n_kd + 2a).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Csr, Labels
from tallybayes.core.family import Family, by_slices, left_of, per_column, pseudocounts, weighted_logs
from tallybayes.core.schema import Column, Kind
from tallybayes.core.summaries import Counts
from tallybayes.core.terms import ByBin, Line, Text
from tallybayes.errors import DataError, NotAvailableError
from tallybayes.families._linear import Dense, Entries, Linear, Slopes, vetoes
from tallybayes.families._variances import of_share
from tallybayes.families.categorical import Categorical


class Chances(Linear):
    """Parameters of a Bernoulli block: slope = log P(yes) − log P(no), offset = log P(no)."""

    @property
    def log_yes(self) -> Array:
        """Log P(yes), shape (d, K)."""
        assert self.finite.offset is not None
        log_yes = self.finite.slope + self.finite.offset
        return log_yes if self.veto is None else np.where(self.veto.slope > 0, -np.inf, log_yes)

    def no_and_yes(self, j: int) -> tuple[Array, Array]:
        """What no and yes add (K,) in one column."""
        assert self.finite.offset is not None
        no, yes = self.finite.offset[j].copy(), self.finite.offset[j] + self.finite.slope[j]
        if self.veto is not None:
            assert self.veto.offset is not None
            no[self.veto.offset[j] > 0] = -np.inf
            yes[self.veto.offset[j] + self.veto.slope[j] > 0] = -np.inf
        return no, yes

    @cached_property
    def _sums(self) -> dict[Any, Any]:
        """What leave-one-out asked for: it comes with many chunks of rows."""
        return {}

    def all_no(self, counts: tuple[Array, Array, Array], amount: float) -> tuple[Array, Array]:
        """`kernels.all_no_without`, worked out once."""
        if ("weight", amount) not in self._sums:
            self._sums["weight", amount] = kernels.all_no_without(*counts, amount)
        return self._sums["weight", amount]

    def all_no_up_to(self, counts: tuple[Array, Array, Array], exponent: int) -> kernels.NoSeries:
        """`kernels.all_no_series` for weights up to that power of two, worked out once."""
        if ("power", exponent) not in self._sums:
            self._sums["power", exponent] = kernels.all_no_series(*counts, 2.0**exponent)
        return self._sums["power", exponent]


FEW = 16  # different weights of rows, up to which each is worth a pass over all columns


@dataclass(frozen=True)
class Bernoulli(Family):
    """A probability of yes, per class and column.

    Parameters
    ----------
    alpha : float or tuple of float, default=1.0
        Pseudocount of yes and of no; one number, or one a column.
    threshold : float or None, default=0.0
        Values above it are yes. None takes the values as they are: they must be 0 or 1.

    Examples
    --------
    >>> from tallybayes.core.batch import Labels
    >>> family = Bernoulli(alpha=1.0)
    >>> x = np.array([[1], [1], [0]])
    >>> np.exp(family.estimate(family.tally(x, Labels.hard(np.zeros(3, np.int32)), 1)).log_yes)
    array([[0.6]])
    """

    alpha: float | tuple[float, ...] = 1.0
    threshold: float | None = 0.0
    name: ClassVar[str] = "bernoulli"
    kind: ClassVar[Kind] = "boolean"
    reads: ClassVar[tuple[Kind, ...]] = ("boolean", "category", "text", "tags")
    textbook: ClassVar[tuple[Kind, ...]] = ("tags",)
    summary: ClassVar[type[Counts]] = Counts
    by_column: ClassVar[frozenset[str]] = frozenset({"alpha"})

    @classmethod
    def reader(cls, kind: Kind) -> str:
        return cls.name if kind in ("text", "tags") else Categorical.name  # yes and no are two levels

    def tally(self, x: NDArray[Any] | Csr, labels: Labels, n_classes: int) -> Counts:
        if isinstance(x, Csr) and self.threshold is not None and self.threshold < 0:
            raise DataError("the zeros of a sparse matrix are not stored, so a threshold below 0 needs a dense one")
        return Counts(*kernels.event_sums(x, labels, n_classes, self.threshold))

    def estimate(self, summary: Counts) -> Chances:
        n_classes, d = summary.count.shape
        alpha = per_column(self.alpha, d)[:, None]
        weight = np.broadcast_to(summary.weight.T, (d, n_classes))
        slope, offset = kernels.aligned(d, n_classes), np.empty((d, n_classes))

        def work(columns: slice) -> None:
            yes, no = _log_chances(summary.count.T[columns], weight[columns], alpha[columns])
            with np.errstate(invalid="ignore"):  # the infinities are sorted out below
                np.subtract(yes, no, out=slope[columns])
            offset[columns] = no

        by_slices(work, (d, n_classes))
        if alpha.min(initial=1.0) > 0:  # nothing has probability zero
            return Chances(Slopes(slope, offset))
        yes, no = _log_chances(summary.count.T, weight, alpha)
        never, always = np.isneginf(yes), np.isneginf(no)
        finite_no = np.where(always, 0.0, no)
        slopes = Slopes(np.where(never, 0.0, yes) - finite_no, finite_no)
        return Chances(slopes, vetoes(never.astype(np.float64) - always, always))

    def log_prob(self, params: Chances, x: NDArray[Any] | Csr) -> Array:
        return params.log_prob(x, self.threshold)

    def contributions(self, params: Chances, x: NDArray[Any] | Csr) -> Array:
        return params.contributions(x, self.threshold)

    def variances(self, summary: Counts, params: Chances, x: NDArray[Any] | Csr, weights: Array) -> Array:
        alpha = per_column(self.alpha, summary.count.shape[1])
        no, mass = summary.weight - summary.count, summary.weight + 2.0 * alpha
        yes = of_share(summary.count, summary.count + alpha, mass) * np.square(weights)  # (K, d)
        no = of_share(no, no + alpha, mass) * np.square(weights)
        if not isinstance(x, Csr):
            values, seen = Dense.of(x, self.threshold)
            found = np.where(values[:, None, :] > 0.5, yes, no)
            return found if seen is None else found * seen[:, None, :]
        entries = Entries.of(x, self.threshold)
        more = entries.value[:, None] * (yes - no).T[entries.column]
        return np.stack([entries.total(column) for column in more.T], axis=1) + no.sum(axis=1)

    def leave_one_out(self, summary: Counts, params: Chances, x: NDArray[Any] | Csr, labels: Labels) -> Array:
        out = params.log_prob(x, self.threshold)
        if isinstance(x, Csr):
            own = self._own_sparse(summary, params, x, labels)
        else:
            own = self._own_dense(summary, x, labels)
        out[np.arange(len(out)), labels.codes] = own
        return out

    def _own_dense(self, summary: Counts, x: NDArray[Any], labels: Labels) -> Array:
        assert labels.codes is not None
        codes, w = labels.codes, labels.weight
        values, seen = Dense.of(x, self.threshold)
        took = w[:, None] if seen is None else w[:, None] * seen
        alpha = per_column(self.alpha, values.shape[1])
        yes, no = _log_chances(
            left_of(summary.count[codes], took * values), left_of(summary.weight[codes] + 0.0 * took, took), alpha
        )
        terms = np.where(values > 0.5, yes, no)
        return np.asarray((terms if seen is None else np.where(seen > 0, terms, 0.0)).sum(axis=1))

    def _own_sparse(self, summary: Counts, params: Chances, x: Csr, labels: Labels) -> Array:
        """All columns as if they were no; then the yes of each row."""
        assert labels.codes is not None
        counts = summary.count.T, summary.weight.T, pseudocounts(self.alpha)
        own, zeros = np.empty((2, len(labels.weight)))
        amounts = np.unique(labels.weight)
        if len(amounts) <= FEW:  # a sum over all columns for each
            for amount in amounts.tolist():
                these = labels.weight == amount
                own[these], zeros[these] = (sums[labels.codes[these]] for sums in params.all_no(counts, amount))
        else:  # a series for all weights between two powers of two
            power = np.frexp(labels.weight)[1]
            for exponent in np.unique(power).tolist():
                these = np.flatnonzero(power == exponent)
                series = params.all_no_up_to(counts, exponent)
                own[these], zeros[these] = kernels.all_no_of_rows(labels.take(these), *counts, series)
        kernels.yes_without(x, labels, self.threshold, *counts, own, zeros)
        return np.where(zeros > 0.5, -np.inf, own)

    def log_penalty(self, params: Chances) -> float:
        assert params.finite.offset is not None
        alpha = per_column(self.alpha, len(params.finite.slope))[:, None]
        return weighted_logs(alpha, params.log_yes + params.finite.offset)

    def linear(self, params: Chances) -> tuple[Array, Array]:
        return params.weights()

    def sample(self, params: Chances, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        p, threshold = np.exp(params.log_yes.T)[codes], self.threshold or 0.0
        # Yes lies above the threshold and no does not, so that a draw reads as it was meant.
        return np.where(rng.random(p.shape) < p, max(1.0, threshold + 1.0), min(0.0, threshold))

    def n_parameters(self, params: Chances) -> int:
        return params.finite.slope.size

    def joint_size(self, params: Chances) -> int:
        return 1 << len(params.finite.slope)

    def terms(self, params: Chances, columns: Sequence[Column]) -> Iterator[tuple[int, Line | ByBin]]:
        if self.threshold is None and params.veto is None:
            yield from params.lines(columns)
            return
        edge = np.array([0.5 if self.threshold is None else float(self.threshold)])
        for j, column in enumerate(columns):
            yield j, ByBin(column.name, edge, np.stack(params.no_and_yes(j)), above=True)

    def text_term(self, params: Chances, column: Column, words: tuple[str, ...]) -> Text:
        if params.veto is not None:
            raise NotAvailableError(
                f"words of {column.name!r} that veto a class cannot be exported; use an alpha above 0"
            )
        return params.text(column, words, binary=True)


def _log_chances(yes: Array, weight: Array, alpha: Array) -> tuple[Array, Array]:
    """Log probability of yes and of no; one half each where there is neither a row nor smoothing."""
    mass = weight + 2.0 * alpha
    half = mass == 0.0
    log_mass = np.log(np.where(half, 2.0, mass))
    no = np.subtract(weight, yes, order="C")
    no[no <= 1e-12 * weight] = 0.0  # what rounding leaves is nothing
    no += alpha
    yes = np.add(yes, alpha, order="C")
    if half.any():
        yes, no = np.where(half, 1.0, yes), np.where(half, 1.0, no)
    with np.errstate(divide="ignore"):  # a true zero is meant
        np.log(yes, out=yes)
        np.log(no, out=no)
    yes -= log_mass
    no -= log_mass
    return yes, no
