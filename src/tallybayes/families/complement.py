"""Complement: each class weighted by how unlike all the other classes' words are (Rennie et al. 2003).

The weight of word v in class k is −log of v's smoothed share among the words of all classes but k. It is a score
for ranking classes, not a probability: there is no prior in it and no P(x).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Csr, Labels
from tallybayes.core.family import BEYOND, Family, per_column, pseudocounts
from tallybayes.core.schema import Column, Kind
from tallybayes.core.summaries import Counts, totals
from tallybayes.core.terms import Bag, Text
from tallybayes.errors import NotAvailableError, UnlearnError
from tallybayes.families._linear import LaterSlopes, Linear, sparse_of
from tallybayes.families._variances import HALF, of_words
from tallybayes.families.multinomial import (
    bag_of_words,
    estimate_by_rarity,
    inverse_frequency,
    log_shares,
    mean_length,
    refuse_idf,
    sample_words,
)


@dataclass(frozen=True)
class Rivals(Linear):
    """Parameters of a complement block: the weights, and the counts they came from."""

    summary: Counts = field(default_factory=lambda: Counts(np.zeros((0, 0)), np.zeros((0, 1))))
    alpha: Array = field(default_factory=lambda: np.zeros(0))

    takes_missing: ClassVar[bool] = False

    @cached_property
    def count(self) -> Array:
        """Words (V, K) of each class, those of a word side by side."""
        return np.ascontiguousarray(self.summary.count.T)

    @cached_property
    def word_total(self) -> Array:
        """How often each word (V,) occurs in all classes."""
        return self.summary.cell_total

    @cached_property
    def other_total(self) -> Array:
        """Words (K,) of all classes but the one."""
        total = self.summary.class_total
        return np.asarray(total.sum() - total)

    @cached_property
    def sums(self) -> tuple[Array, Array]:
        """Σ log of the smoothed counts of the others that are not zero, and how many are zero, both (K,)."""
        others = np.maximum(self.word_total[:, None] - self.count, 0.0) + self.alpha[:, None]
        nothing = others == 0.0
        return totals(np.log(np.where(nothing, 1.0, others))), nothing.sum(axis=0).astype(np.float64)


HEAVIEST = 1e100  # weight of a word that no other class has: a great deal, but 0·∞ would be no number


@dataclass(frozen=True)
class Complement(Family):
    """Weights from the words of the other classes.

    Parameters
    ----------
    alpha : float or tuple of float, default=1.0
        Pseudocount of every word; one number, or one a column.
    norm : bool, default=False
        Divide the weights of a class by their sum.
    idf : bool, default=False
        Multiply the counts of a word by log((1 + n) / (1 + d)) + 1, where d of the n rows have the word. The tally
        stays as it was counted, so that rows can come and go.

    Examples
    --------
    >>> from tallybayes.core.batch import Labels
    >>> family = Complement()
    >>> x = np.array([[2, 0], [0, 2]])
    >>> params = family.estimate(family.tally(x, Labels.hard(np.arange(2, dtype=np.int32)), 2))
    >>> family.log_prob(params, x).argmax(axis=1)
    array([0, 1])
    """

    alpha: float | tuple[float, ...] = 1.0
    norm: bool = False
    idf: bool = False
    name: ClassVar[str] = "complement"
    kind: ClassVar[Kind] = "count"
    reads: ClassVar[tuple[Kind, ...]] = ("text",)
    summary: ClassVar[type[Counts]] = Counts
    least: ClassVar[float] = 0.0
    is_document: ClassVar[bool] = True
    by_column: ClassVar[frozenset[str]] = frozenset({"alpha"})
    text_alpha: ClassVar[float] = 0.1
    by_rivals: ClassVar[bool | None] = True

    def tally(self, x: NDArray[Any] | Csr, labels: Labels, n_classes: int) -> Counts:
        return bag_of_words(x, labels, n_classes, self.idf)

    def estimate(self, summary: Counts) -> Rivals:
        if self.idf:
            return estimate_by_rarity(self, summary)
        alpha = per_column(self.alpha, summary.count.shape[1])
        return Rivals(LaterSlopes(partial(_weights, summary, alpha, self.norm)), None, summary, alpha)

    def log_prob(self, params: Rivals, x: NDArray[Any] | Csr) -> Array:
        return params.log_prob(x)

    def contributions(self, params: Rivals, x: NDArray[Any] | Csr) -> Array:
        return params.contributions(x)

    def variances(self, summary: Counts, params: Rivals, x: NDArray[Any] | Csr, weights: Array) -> Array:
        if self.norm:
            raise NotAvailableError("weights that are divided by their sum have no intervals; use norm=False")
        rarity = inverse_frequency(summary) if self.idf else np.ones(summary.count.shape[1])
        others = np.maximum(summary.cell_total - summary.count, 0.0)
        alpha = per_column(self.alpha, others.shape[1])
        share = 1.0 / np.maximum(others + alpha, others + HALF).T
        return of_words(x, weights * rarity, share, np.maximum(others.sum(axis=1) + alpha.sum(), 1.0))

    def leave_one_out(self, summary: Counts, params: Rivals, x: NDArray[Any] | Csr, labels: Labels) -> Array:
        """A row's words are among the others of every class but its own, so its own class does not change."""
        refuse_idf(self.idf)
        sums = params.sums if self.norm else np.zeros((2, len(summary.count)))
        args = params.word_total, params.other_total, params.alpha.sum(), HEAVIEST, self.norm, *sums
        return kernels.rivals_without(sparse_of(x), labels, params.count, pseudocounts(self.alpha), *args)

    def as_weighted(self, x: Csr) -> Csr:
        """The amounts of words that have weights of their own, as they are counted."""
        refuse_idf(self.idf)
        if self.norm:
            raise NotAvailableError("words have no weights of their own where they are divided by their sum")
        return x

    def each_word_without(self, summary: Counts, params: Rivals, x: Csr, labels: Labels) -> Array:
        """Leave-one-out scores (nnz, K) of the entries."""
        x, totals = self.as_weighted(x), (params.word_total, params.other_total)
        terms, beyond = kernels.rival_words(x, labels, params.count, totals, params.alpha, HEAVIEST)
        if beyond:
            raise UnlearnError(BEYOND)
        return terms

    def log_base(self, x: NDArray[Any] | Csr) -> Array:
        raise NotAvailableError(
            "complement weights rank classes, they are no probability of x; use MultinomialNB for P(x)"
        )

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

    def terms(self, params: Rivals, columns: Sequence[Column]) -> Iterator[tuple[int, Bag]]:
        yield 0, params.bag(columns)

    def text_term(self, params: Rivals, column: Column, words: tuple[str, ...]) -> Text:
        return params.text(column, words)


def _weights(summary: Counts, alpha: Array, norm: bool) -> Array:
    """The weight (V, K) of each word in each class."""
    weight = log_shares(summary.count.T, alpha, of_others=True, finish=_negate)
    if norm:
        total = weight.sum(axis=0)
        weight /= np.where(total > 0, total, 1.0)  # a single word has weight zero in every class
    return weight


def _negate(log_share: Array) -> None:
    """−log of the share, in place: the rarer a word is in the other classes, the larger its weight."""
    np.negative(log_share, out=log_share)
    np.minimum(log_share, HEAVIEST, out=log_share)
