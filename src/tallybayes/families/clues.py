"""Clues: the words of a document with the strongest evidence, each by its presence.

P(v | k) = (n_kv + a) / (n_k + 2a) is the probability that word v occurs in a document of class k. The evidence of a
word for a class is its log against the mean over the classes, e_vk = log P(v | k) − mean_j log P(v | j). For each class
the ``most`` words of a document with the strongest evidence count, of equal ones no more than ``alike``, and the score
of a class is Σ e_vk over them.

Words of one document depend on each other: a Naive Bayes model that counts them all is far too confident, the more so
the longer the document is. After Graham (2002) and Robinson (2003), who used the 15 to 150 strongest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Csr, Documents, Labels
from tallybayes.core.family import Family
from tallybayes.core.schema import Kind
from tallybayes.core.summaries import Counts
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.families._linear import Dense
from tallybayes.families._variances import of_share

NO_PROBABILITY = "clues rank classes, they are no probability of x; use the multinomial family for P(x)"


@dataclass(frozen=True)
class Hints:
    """Parameters of a block of clues: in how many documents each word occurs."""

    count: Array  # (V, K) documents of the class with the word
    weight: Array  # (K,) documents of the class
    alpha: float
    power: float = 1.0  # weight of the evidence

    @cached_property
    def evidence(self) -> Array:
        """Evidence (V, K) of each word; zero for one that never occurred."""
        return word_evidence(self.count, self.weight, self.alpha)

    def weighted(self, weights: Array) -> Hints:
        """The same with weighted evidence; all words of a document have one weight."""
        return Hints(self.count, self.weight, self.alpha, self.power * float(weights.max(initial=0.0)))


class Present(NamedTuple):
    """The words of each document, row by row."""

    start: NDArray[np.int64]  # (n + 1,) first word of each document
    word: NDArray[Any]

    @classmethod
    def of(cls, x: NDArray[Any] | Csr) -> Present:
        """The cells above zero."""
        if not isinstance(x, Csr):
            row, word = np.nonzero(Dense.of(x, 0.0, takes_missing=False).value)
            return cls(np.searchsorted(row, np.arange(len(x) + 1)), word)
        x = x if isinstance(x, Documents) else kernels.in_order(x)  # a document has each of its words once
        x.check_columns()
        there = np.asarray(x.data > 0.0)
        before = np.concatenate(([0], np.cumsum(there)))
        return cls(before[x.start], x.column[there])

    @property
    def row(self) -> NDArray[np.intp]:
        """The document of each word."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


@dataclass(frozen=True)
class Clues(Family):
    """The words of a document with the strongest evidence for each class.

    Parameters
    ----------
    alpha : float, default=0.05
        Pseudocount of a word's presence and of its absence. The smaller, the stronger the evidence of a
        word that only one class has used.
    most : int, default=15
        How many words of a document count for each class.
    alike : int, default=15
        How many words of exactly equal evidence count. Words that occurred in the same documents (the host of a mailing
        list in five headers) have equal counts, and together say little more than one of them.

    Examples
    --------
    >>> from tallybayes.core.batch import Labels
    >>> family = Clues(alpha=1.0, most=1)
    >>> x = np.array([[3, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> params = family.estimate(family.tally(x, Labels.hard(np.array([0, 0, 1], np.int32)), 2))
    >>> family.contributions(params, x[:1]).round(3)
    array([[[ 0.405, -0.144,  0.   ],
            [-0.405,  0.144,  0.   ]]])
    """

    alpha: float = 0.05
    most: int = 15
    alike: int = 15
    name: ClassVar[str] = "clues"
    kind: ClassVar[Kind] = "count"
    summary: ClassVar[type[Counts]] = Counts
    least: ClassVar[float] = 0.0
    is_document: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise SettingError(
                f"clues need alpha above 0: one word that a class never used would decide; got {self.alpha!r}"
            )
        if not 1 <= self.most < 2**31:
            raise SettingError(f"at least 1 word has to count, not {self.most!r}")
        if not 1 <= self.alike < 2**31:
            raise SettingError(f"at least 1 of equal words has to count, not {self.alike!r}")

    def tally(self, x: NDArray[Any] | Csr, labels: Labels, n_classes: int) -> Counts:
        count, _ = kernels.event_sums(x, labels, n_classes, 0.0, missing=False)
        return Counts(count, labels.class_weight(n_classes)[:, None])

    def estimate(self, summary: Counts) -> Hints:
        return Hints(np.ascontiguousarray(summary.count.T), summary.weight[:, 0], self.alpha)

    def log_prob(self, params: Hints, x: NDArray[Any] | Csr) -> Array:
        present = Present.of(x)
        return params.power * self._score(present, params.evidence[present.word])

    def contributions(self, params: Hints, x: NDArray[Any] | Csr) -> Array:
        present = Present.of(x)
        evidence = params.evidence[present.word]
        chosen = kernels.strongest(evidence, present.start, self.most, self.alike)
        parts = np.zeros((x.shape[0], params.count.shape[1], params.count.shape[0]))
        parts[present.row[chosen], :, present.word[chosen]] = params.power * evidence[chosen]
        return parts

    def variances(self, summary: Counts, params: Hints, x: NDArray[Any] | Csr, weights: Array) -> Array:
        present = Present.of(x)
        chosen = kernels.strongest(params.evidence[present.word], present.start, self.most, self.alike)
        row, word = present.row[chosen], present.word[chosen]
        count = params.count[word]
        each = of_share(count, count + self.alpha, params.weight + 2.0 * self.alpha)
        each = each * np.square(weights[np.minimum(word, len(weights) - 1)])[:, None]
        if isinstance(x, Csr):
            return np.stack([np.bincount(row, weights=v, minlength=x.shape[0]) for v in each.T], axis=1)
        parts = np.zeros((len(x), each.shape[1], len(params.count)))
        parts[row, :, word] = each
        return parts

    def leave_one_out(self, summary: Counts, params: Hints, x: NDArray[Any] | Csr, labels: Labels) -> Array:
        present = Present.of(x)
        counts = params.count, params.weight, self.alpha
        evidence = kernels.word_scores_without(*counts, present.start, present.word, labels)
        return params.power * self._score(present, evidence)

    def _score(self, present: Present, evidence: Array) -> Array:
        chosen = kernels.strongest(evidence, present.start, self.most, self.alike)
        n_rows, row, evidence = len(present.start) - 1, present.row[chosen], evidence[chosen]
        columns = [np.bincount(row, weights=column, minlength=n_rows) for column in evidence.T]
        return np.stack(columns, axis=1).astype(np.float64, copy=False)

    def log_base(self, x: NDArray[Any] | Csr) -> Array:
        raise NotAvailableError(NO_PROBABILITY)

    def linear(self, params: Hints) -> tuple[Array, Array]:
        raise NotAvailableError("which clues count depends on the document, so the score is not linear in it")

    def sample(self, params: Hints, codes: NDArray[Any], rng: np.random.Generator) -> Array:
        """Draw which words are there, each by itself."""
        chance = (params.count + params.alpha) / (params.weight + 2.0 * params.alpha)
        chance = np.where(params.count.sum(axis=1, keepdims=True) > 0, chance, 0.0)
        return (rng.random((len(codes), len(chance))) < chance.T[codes]).astype(np.float64)

    def n_parameters(self, params: Hints) -> int:
        return params.count.size

    def joint_size(self, params: Hints) -> int:
        return 1 << len(params.count)


def word_evidence(count: Array, weight: Array, alpha: float) -> Array:
    """Evidence (V, K) of words for each class against the mean of the classes; zero for words that never occurred."""
    logs = np.log(count + alpha) - np.log(weight + 2.0 * alpha)
    logs -= logs.mean(axis=1, keepdims=True)
    logs[~count.any(axis=1)] = 0.0
    return logs
