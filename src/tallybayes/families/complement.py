"""Complement: each class weighed by how unlike all the other classes' words are (Rennie et al. 2003).

The weight of word v in class k is −log of v's smoothed share among the words of all classes but k. It is a score
for ranking classes, not a probability: there is no prior in it and no P(x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.batch import Array, Csr, Labels
from tallybayes.errors import NotAvailableError
from tallybayes.families._family import left_of, per_column, quiet_log
from tallybayes.families._linear import Entries, Slopes
from tallybayes.families.multinomial import Words, bag_of_words, log_shares, mean_length, sample_words
from tallybayes.tally import Counts


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

    def estimate(self, summary: Counts) -> Words:
        count = np.ascontiguousarray(summary.count.T)
        alpha = per_column(self.alpha, len(count))[:, None]
        weight = _capped(-log_shares(_others(count) + alpha))
        if self.norm:
            weight = weight / weight.sum(axis=0)
        return Words(Slopes(weight), None, log_shares(count + alpha), mean_length(summary))

    def log_prob(self, params: Words, x: NDArray[Any] | Csr) -> Array:
        return params.log_prob(x)

    def contributions(self, params: Words, x: NDArray[Any] | Csr) -> Array:
        return params.contributions(x)

    def leave_one_out(self, summary: Counts, params: Words, x: NDArray[Any] | Csr, labels: Labels) -> Array:
        """A row's words are among the others of every class but its own, so its own class does not change."""
        assert labels.codes is not None
        out, e, k, w = params.log_prob(x), Entries.of(x), labels.codes, labels.weight
        alpha = per_column(self.alpha, summary.count.shape[1])
        others = _others(summary.count.T).T
        length, n_words = e.total(e.value), len(alpha)
        for j in range(len(others)):
            full = others[j][e.column] + alpha[e.column]
            left = left_of(others[j][e.column], np.where(k[e.row] == j, 0.0, w[e.row] * e.value)) + alpha[e.column]
            total = others[j].sum() + alpha.sum()
            mass = left_of(np.full(len(out), others[j].sum()), np.where(k == j, 0.0, w * length)) + alpha.sum()
            log_left = np.where(mass[e.row] > 0, quiet_log(left) - quiet_log(mass)[e.row], -np.log(n_words))
            score = e.total(e.value * _capped(-log_left))
            if self.norm:
                change = e.total(_capped(-quiet_log(left)) - _capped(-quiet_log(full)))
                score /= (
                    _capped(-log_shares((others[j] + alpha)[:, None])).sum()
                    + change
                    + n_words * (quiet_log(mass) - np.log(total))
                )
            out[:, j] = np.where(k == j, out[:, j], score)
        return out

    def log_base(self, x: NDArray[Any] | Csr) -> Array:
        raise NotAvailableError(
            "complement weights rank classes, they are no probability of x; use MultinomialNB for P(x)"
        )

    def linear(self, params: Words) -> tuple[Array, Array]:
        return params.weights()

    def sample(self, params: Words, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        """Draw from each class's own words: the counts are the multinomial model's."""
        return sample_words(np.exp(params.log_theta), params.length, codes, rng)

    def n_parameters(self, params: Words) -> int:
        n_words, n_classes = params.log_theta.shape
        return n_classes * (n_words - 1)

    def joint_size(self, params: Words) -> int:
        raise NotAvailableError(
            "documents can be of any length, so their full joint has no finite number of parameters"
        )


def _others(count: Array) -> Array:
    """Counts (V, K) of all classes but the one."""
    return np.maximum(count.sum(axis=1, keepdims=True) - count, 0.0)


def _capped(weight: Array) -> Array:
    """A word that no other class has weighs a great deal, not infinitely: 0·∞ is no number."""
    return np.minimum(weight, 1e100)
