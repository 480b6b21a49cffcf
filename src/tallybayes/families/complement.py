"""Complement: each class weighed by how unlike all the other classes' words are (Rennie et al. 2003).

The weight of word v in class k is −log of v's smoothed share among the words of all classes but k. It is a score
for ranking classes, not a probability: there is no prior in it and no P(x).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.batch import Array, Csr, Labels
from tallybayes.errors import NotAvailableError
from tallybayes.families._family import left_of, per_column, quiet_log
from tallybayes.families._linear import Entries, Linear, Slopes
from tallybayes.families.multinomial import bag_of_words, log_shares, mean_length, sample_words
from tallybayes.tally import Counts


@dataclass(frozen=True)
class Rivals(Linear):
    """Parameters of a complement block: the weights, and the counts they came from."""

    summary: Counts = field(default_factory=lambda: Counts(np.zeros((0, 0)), np.zeros((0, 1))))
    alpha: Array = field(default_factory=lambda: np.zeros(0))

    takes_holes: ClassVar[bool] = False


HEAVIEST = 1e100  # weight of a word that no other class has: a great deal, but 0·∞ would be no number


@dataclass(frozen=True)
class Complement:
    """Weights from the words of the other classes.

    Parameters
    ----------
    alpha : float or tuple of float, default=1.0
        Pseudocount of every word; one number, or one a column.
    norm : bool, default=False
        Divide the weights of a class by their sum.

    Examples
    --------
    >>> from tallybayes.batch import Labels
    >>> family = Complement()
    >>> x = np.array([[2, 0], [0, 2]])
    >>> params = family.estimate(family.tally(x, Labels.hard(np.arange(2, dtype=np.int32)), 2))
    >>> family.log_prob(params, x).argmax(axis=1)
    array([0, 1])
    """

    alpha: float | tuple[float, ...] = 1.0
    norm: bool = False
    name: ClassVar[str] = "complement"

    def tally(self, x: NDArray[Any] | Csr, labels: Labels, n_classes: int) -> Counts:
        return bag_of_words(x, labels, n_classes)

    def estimate(self, summary: Counts) -> Rivals:
        alpha = per_column(self.alpha, summary.count.shape[1])
        weight = log_shares(summary.count.T, alpha, of_others=True, finish=_turn)
        if self.norm:
            total = weight.sum(axis=0)
            weight /= np.where(total > 0, total, 1.0)  # a single word weighs nothing in every class
        return Rivals(Slopes(weight), None, summary, alpha)

    def log_prob(self, params: Rivals, x: NDArray[Any] | Csr) -> Array:
        return params.log_prob(x)

    def contributions(self, params: Rivals, x: NDArray[Any] | Csr) -> Array:
        return params.contributions(x)

    def leave_one_out(self, summary: Counts, params: Rivals, x: NDArray[Any] | Csr, labels: Labels) -> Array:
        """A row's words are among the others of every class but its own, so its own class does not change."""
        assert labels.codes is not None
        out, e, k, w = params.log_prob(x), Entries.of(x), labels.codes, labels.weight
        alpha = per_column(self.alpha, summary.count.shape[1])
        length, n_words = e.total(e.value), len(alpha)
        for j, others in enumerate(_others(summary.count.T).T):
            full = (others + alpha)[e.column]
            left = left_of(others[e.column], np.where(k[e.row] == j, 0.0, w[e.row] * e.value)) + alpha[e.column]
            mass = left_of(np.full(len(out), others.sum()), np.where(k == j, 0.0, w * length)) + alpha.sum()
            some = mass > 0
            log_mass = np.log(np.where(some, mass, 1.0))
            weight = np.where(left > 0, log_mass[e.row] - _log_or_zero(left), HEAVIEST)
            score = e.total(e.value * np.where(some[e.row], weight, np.log(n_words)))
            if self.norm:
                # The sum over all words, from the sum with the row in and the words that the row has.
                n_heavy = (others + alpha == 0).sum() + e.total((left == 0) & (full > 0))
                logs = _log_or_zero(others + alpha).sum() + e.total(_log_or_zero(left) - _log_or_zero(full))
                total = (n_words - n_heavy) * log_mass - logs + HEAVIEST * n_heavy
                total = np.where(some, total, n_words * np.log(n_words))
                score /= np.where(total > 0, total, 1.0)
            out[:, j] = np.where(k == j, out[:, j], score)
        return out

    def log_base(self, x: NDArray[Any] | Csr) -> Array:
        raise NotAvailableError(
            "complement weights rank classes, they are no probability of x; use MultinomialNB for P(x)"
        )

    def log_penalty(self, params: Rivals) -> float:
        return 0.0

    def linear(self, params: Rivals) -> tuple[Array, Array]:
        return params.weights()

    def sample(self, params: Rivals, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        """Draw from each class's own words: the counts are the multinomial model's."""
        theta = np.exp(log_shares(params.summary.count.T, params.alpha))
        return sample_words(theta, mean_length(params.summary), codes, rng)

    def n_parameters(self, params: Rivals) -> int:
        n_words, n_classes = params.finite.slope.shape
        return n_classes * (n_words - 1)

    def joint_size(self, params: Rivals) -> int:
        raise NotAvailableError(
            "documents can be of any length, so their full joint has no finite number of parameters"
        )


def _others(count: Array) -> Array:
    """Counts (V, K) of all classes but the one."""
    others = np.subtract(count.sum(axis=1, keepdims=True), count, order="C")
    return np.maximum(others, 0.0, out=others)


def _turn(log_share: Array) -> None:
    """The rarer among the others, the heavier: −log of the share, in place."""
    np.negative(log_share, out=log_share)
    np.minimum(log_share, HEAVIEST, out=log_share)


def _log_or_zero(count: Array) -> Array:
    """The logarithm where there is one, zero otherwise."""
    return np.where(count > 0, quiet_log(count), 0.0)
