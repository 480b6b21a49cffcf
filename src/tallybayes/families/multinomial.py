"""Multinomial: a bag of counted words, one distribution over the vocabulary per class.

P(x | m, k) = m!/(Π_v x_v!) Π_v θ_kv^x_v, θ_kv = (t_kv + a) / (Σ_v t_kv + a·V). The coefficient is the same for all
classes: it is `log_base`, and counts for P(x) but not for the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Csr, Labels
from tallybayes.core.family import (
    MOST_DRAWN,
    Counting,
    Family,
    by_slices,
    left_of,
    per_column,
    pseudocounts,
    quiet_log,
    weighted_logs,
)
from tallybayes.core.schema import Column, Kind
from tallybayes.core.summaries import Counts, totals
from tallybayes.core.terms import Bag, Text
from tallybayes.errors import DataError, NotAvailableError, SettingError
from tallybayes.families._linear import (
    Linear,
    Slopes,
    log_factorials,
    row_totals,
    sparse_of,
    times_log,
    vetoes,
)
from tallybayes.families._variances import HALF, of_words


@dataclass(frozen=True)
class Words(Linear):
    """Parameters of a multinomial block."""

    takes_missing: ClassVar[bool] = False
    log_theta: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (V, K)
    summary: Counts = field(default_factory=lambda: Counts(np.zeros((0, 0)), np.zeros((0, 1))))

    @cached_property
    def total(self) -> Array:
        """Words (K,) of each class."""
        return self.summary.class_total


@dataclass(frozen=True)
class Multinomial(Family):
    """A distribution over the words, per class; the whole block is one bag.

    Parameters
    ----------
    alpha : float or tuple of float, default=1.0
        Pseudocount of every word; one number, or one a column.
    document_length : float, optional
        Scale the counts of each row so that they sum to this: a long document then counts no more than a short one.
    idf : bool, default=False
        Multiply the counts of a word by log((1 + n) / (1 + d)) + 1, where d of the n rows have the word. The tally
        stays as it was counted, so that rows can come and go.

    Examples
    --------
    >>> from tallybayes.core.batch import Labels
    >>> family = Multinomial(alpha=0.0)
    >>> x = np.array([[2, 1], [1, 0]])
    >>> np.exp(family.estimate(family.tally(x, Labels.hard(np.zeros(2, np.int32)), 1)).log_theta)
    array([[0.75],
           [0.25]])
    """

    alpha: float | tuple[float, ...] = 1.0
    document_length: float | None = None
    idf: bool = False
    name: ClassVar[str] = "multinomial"
    kind: ClassVar[Kind] = "count"
    reads: ClassVar[tuple[Kind, ...]] = ("count", "numeric", "text")
    textbook: ClassVar[tuple[Kind, ...]] = ("text",)
    summary: ClassVar[type[Counts]] = Counts
    least: ClassVar[float] = 0.0
    is_document: ClassVar[bool] = True
    by_column: ClassVar[frozenset[str]] = frozenset({"alpha"})
    by_rivals: ClassVar[bool | None] = False

    def __post_init__(self) -> None:
        if self.document_length is not None and not 0.0 < self.document_length < np.inf:
            raise SettingError(f"document_length must be a number above 0, not {self.document_length!r}")

    def counted_by(self) -> Counting | None:
        return "sums" if self.document_length is None and not self.idf else None

    def tally(self, x: NDArray[Any] | Csr, labels: Labels, n_classes: int) -> Counts:
        return bag_of_words(of_length(x, self.document_length), labels, n_classes, self.idf)

    def estimate(self, summary: Counts) -> Words:
        if self.idf:
            return estimate_by_rarity(self, summary)
        alpha = per_column(self.alpha, summary.count.shape[1])
        log_theta = log_shares(summary.count.T, alpha)
        if alpha.min(initial=1.0) > 0:  # nothing has probability zero
            return Words(Slopes(log_theta), None, log_theta, summary)
        absent = np.isneginf(log_theta)
        return Words(Slopes(np.where(absent, 0.0, log_theta)), vetoes(absent), log_theta, summary)

    def log_prob(self, params: Words, x: NDArray[Any] | Csr) -> Array:
        return params.log_prob(of_length(x, self.document_length))

    def contributions(self, params: Words, x: NDArray[Any] | Csr) -> Array:
        return params.contributions(of_length(x, self.document_length))

    def variances(self, summary: Counts, params: Words, x: NDArray[Any] | Csr, weights: Array) -> Array:
        alpha = per_column(self.alpha, summary.count.shape[1])
        rarity = inverse_frequency(summary) if self.idf else np.ones(len(alpha))
        share = 1.0 / np.maximum(summary.count + alpha, summary.count + HALF).T
        mass = np.maximum(summary.count.sum(axis=1) + alpha.sum(), 1.0)
        return of_words(of_length(x, self.document_length), weights * rarity, share, mass)

    def leave_one_out(self, summary: Counts, params: Words, x: NDArray[Any] | Csr, labels: Labels) -> Array:
        assert labels.codes is not None
        refuse_idf(self.idf)
        x = of_length(x, self.document_length)
        out, k, n_words = params.log_prob(x), labels.codes, summary.count.shape[1]
        words, length = kernels.words_without(sparse_of(x), labels, summary.count.T, pseudocounts(self.alpha))
        mass = left_of(params.total[k], labels.weight * length) + per_column(self.alpha, n_words).sum()
        # Nothing left of the class and no smoothing: all words alike, as in `estimate`.
        left = mass > 0
        share = np.where(left, words, 0.0) - times_log(length, np.where(left, mass, 1.0))
        own = np.where(left, share, -length * np.log(n_words))
        out[np.arange(len(out)), k] = own
        return out

    def as_weighted(self, x: Csr) -> Csr:
        """The amounts of words that have weights of their own, as they are counted."""
        refuse_idf(self.idf)
        return sparse_of(of_length(x, self.document_length))

    def each_word_without(self, summary: Counts, params: Words, x: Csr, labels: Labels) -> Array:
        """Leave-one-out scores (nnz, K) of the entries."""
        assert labels.codes is not None
        x = self.as_weighted(x)
        entries = Entry.of(x, labels)
        scores = params.finite.slope[x.column]
        alpha = per_column(self.alpha, summary.count.shape[1])
        have = left_of(summary.count[entries.own, x.column], entries.taken) + alpha[x.column]
        mass = left_of(params.total[entries.own], entries.taken_in_all) + alpha.sum()
        scores[np.arange(len(scores)), entries.own] = quiet_log(have) - quiet_log(mass)
        return np.asarray(scores * x.data[:, None])

    def log_base(self, x: NDArray[Any] | Csr) -> Array:
        if self.idf:
            raise NotAvailableError("counts times idf rank classes, they are no probability of x; use idf=False")
        x = of_length(x, self.document_length)
        return log_factorials(row_totals(x)[:, None]) - log_factorials(x)

    def log_penalty(self, params: Words) -> float:
        return weighted_logs(per_column(self.alpha, len(params.log_theta))[:, None], params.log_theta)

    def linear(self, params: Words) -> tuple[Array, Array]:
        if self.document_length is not None:
            raise NotAvailableError(
                "counts scaled to one length are not linear in the counts; use document_length=None"
            )
        return params.weights()

    def sample(self, params: Words, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        return sample_words(np.exp(params.log_theta), mean_length(params.summary), codes, rng)

    def n_parameters(self, params: Words) -> int:
        n_words, n_classes = params.log_theta.shape
        return n_classes * (n_words - 1)

    def joint_size(self, params: Words) -> int:
        raise NotAvailableError(
            "documents can be of any length, so their full joint has no finite number of parameters"
        )

    def terms(self, params: Words, columns: Sequence[Column]) -> Iterator[tuple[int, Bag]]:
        yield 0, params.bag(columns, self.document_length)

    def text_term(self, params: Words, column: Column, words: tuple[str, ...]) -> Text:
        return params.text(column, words, self.document_length)


@dataclass(frozen=True)
class Entry:
    """What an entry's row takes with it when it is left out."""

    own: NDArray[Any]  # (nnz,) class of the row
    taken: Array  # (nnz,) weight of the entry
    taken_in_all: Array  # (nnz,) of all entries of its row

    @classmethod
    def of(cls, x: Csr, labels: Labels) -> Entry:
        row = np.repeat(np.arange(x.shape[0]), np.diff(x.start))
        taken = labels.weight[row] * x.data
        assert labels.codes is not None
        in_all: Array = np.bincount(row, taken, x.shape[0]).astype(np.float64, copy=False)
        return cls(labels.codes[row], taken, in_all[row])


def of_length(x: NDArray[Any] | Csr, length: float | None) -> NDArray[Any] | Csr:
    """The rows with their counts scaled to one sum; empty rows stay empty, and bad counts are left for the kernels."""
    if length is None:
        return x
    values = np.asarray(x.data if isinstance(x, Csr) else x, dtype=np.float64)
    if not (values >= 0).all() or np.isinf(values).any():
        return x
    if not isinstance(x, Csr):
        total = values.sum(axis=1, keepdims=True)
        return values * (length / np.where(total > 0, total, 1.0))
    entries = np.diff(x.start)
    total = np.bincount(np.repeat(np.arange(len(entries)), entries), weights=values, minlength=len(entries))
    return Csr(values * np.repeat(length / np.where(total > 0, total, 1.0), entries), x.column, x.start, x.n_columns)


def bag_of_words(x: NDArray[Any] | Csr, labels: Labels, n_classes: int, idf: bool = False) -> Counts:
    """Σ w·x of each class and word, and the weight (K, 1) of the class: a bag has no missing values."""
    count, _ = kernels.event_sums(x, labels, n_classes, None, missing=False)
    having = kernels.event_sums(x, labels, n_classes, 0.0, missing=False)[0] if idf else None
    return Counts(count, labels.class_weight(n_classes)[:, None], having=having)


def inverse_frequency(summary: Counts) -> Array:
    """log((1 + n) / (1 + d)) + 1 of each word (V,), of n rows of which d have it."""
    if summary.having is None:
        raise DataError("the tally does not contain the number of rows of each word; count again with idf=True")
    return np.asarray(np.log((1.0 + summary.weight.sum()) / (1.0 + summary.having.sum(axis=0))) + 1.0)


def estimate_by_rarity(family: Any, summary: Counts) -> Any:
    """The parameters of a family with idf: those of the counts times the rarity of each word, read in the same way."""
    rarity = inverse_frequency(summary)
    plain = replace(family, idf=False).estimate(replace(summary, count=summary.count * rarity, having=None))
    return replace(plain.weighted(rarity), summary=summary)


def refuse_idf(idf: bool) -> None:
    """Leaving a row out changes how frequent its words are, and with it the weight of every word of every class."""
    if idf:
        raise NotAvailableError("leave-one-out is exact and fast without idf only; use idf=False")


def log_shares(
    count: Array, alpha: Array, of_others: bool = False, finish: Callable[[Array], object] | None = None
) -> Array:
    """Log of each word's smoothed share (V, K) in its class, or in all classes but the one.

    All words are alike where there is nothing to share. ``finish`` changes the logs in place. Worked out slice by
    slice and in place: with a large vocabulary, moving memory costs more than logarithms.
    """
    total = totals(count)
    total = (total.sum() - total if of_others else total) + alpha.sum()
    nothing = total <= 0.0
    log_total = np.log(np.where(nothing, 1.0, total))
    shares = kernels.aligned(*count.shape)

    def work(words: slice) -> None:
        part = shares[words]
        if of_others:
            np.subtract(count[words].sum(axis=1, keepdims=True), count[words], out=part)
            np.maximum(part, 0.0, out=part)
            part += alpha[words, None]
        else:
            np.add(count[words], alpha[words, None], out=part)
        with np.errstate(divide="ignore"):  # a true zero is meant
            np.log(part, out=part)
        part -= log_total
        if nothing.any():
            part[:, nothing] = -np.log(len(count))
        if finish is not None:
            finish(part)

    by_slices(work, count.shape)
    return shares


def mean_length(summary: Counts) -> Array:
    """Mean number of words (K,) in the rows of each class."""
    weight = summary.weight[:, 0]
    return np.divide(summary.class_total, weight, out=np.zeros_like(weight), where=weight > 0)


def sample_words(theta: Array, length: Array, codes: NDArray[Any], rng: np.random.Generator) -> Array:
    """Draw bags (n, V) whose lengths are Poisson around the class's mean length."""
    theta, drawn = theta / theta.sum(axis=0), np.zeros((len(codes), len(theta)))
    for k in np.unique(codes):
        rows = codes == k
        drawn[rows] = rng.multinomial(rng.poisson(min(length[k], MOST_DRAWN), size=int(rows.sum())), theta[:, k])
    return drawn
