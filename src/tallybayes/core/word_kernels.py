"""Leave-one-out evidence of the words of documents, worked out where it is needed and never stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import iadd

import numpy as np
from numpy.typing import NDArray

from tallybayes import _native
from tallybayes.core.batch import Array, Csr, Labels
from tallybayes.core.threads import map_rows, threads_for


@dataclass(frozen=True)
class TextRows:
    """Documents as amounts of words."""

    start: NDArray[np.int64]  # (n + 1,) the entries of document i are start[i]:start[i + 1]
    word: NDArray[np.int32]  # (nnz,)
    amount: NDArray[np.float32]  # (nnz,)
    length: Array  # (n,) amount of all words of the document, also of those without an entry
    labels: Labels  # whose weight is how much the document counts

    @property
    def n_rows(self) -> int:
        """Number of documents."""
        return len(self.length)

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], Array]:
        """What the kernels take."""
        return self.start, self.word, self.amount, self.length


def placed_words(x: Csr, place: NDArray[np.int32], labels: Labels) -> tuple[TextRows, NDArray[np.int64]]:
    """Documents as amounts of the words that have a place (V,), and how many words of each (n,) have the place −1."""
    n, room = x.shape[0], len(x.column) + 1
    start, singles, length = np.zeros(n + 1, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    word, amount = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
    column, data = np.asarray(x.column, dtype=np.int32), np.asarray(x.data, dtype=np.float32)
    n_entries = _native.placed_words(
        np.asarray(x.start, dtype=np.int64), column, data, place, start, word, amount, length, singles
    )
    return TextRows(start, word[:n_entries], amount[:n_entries], length, labels), singles


def documents_with(x: Csr) -> NDArray[np.int32]:
    """How many documents (V,) have each word."""
    documents = np.zeros(x.n_columns, dtype=np.int32)
    _native.documents_with(np.asarray(x.column, dtype=np.int32), documents)
    return documents


def counts_of(count: Array, words: NDArray[np.intp], n_jobs: int | None = None) -> NDArray[np.float32]:
    """The rows of counts (V, K) that belong to some words."""
    found = np.empty((len(words), count.shape[1]), dtype=np.float32)
    count, words = np.ascontiguousarray(count), words.astype(np.int64)
    threads = threads_for(found.size, n_jobs)

    def part(a: int, b: int) -> None:
        _native.counts_of(count, words[a:b], found[a:b])

    for _ in map_rows(part, len(words), max(1, -(-len(words) // threads)), threads):
        pass
    return found


@dataclass(frozen=True)
class WordTable:
    """What each class has of every word, or all the other classes together."""

    amount: NDArray[np.float32]  # (V, K) smoothed
    total: NDArray[np.float32]  # (V,) in all classes, not smoothed
    mass: Array  # (K,) smoothed amount of all words, also of those that are not in the table
    alpha: float
    rivals: bool  # whether the amounts are those of the other classes

    def slopes(self, x: TextRows, factor: Array, base: Array, n_jobs: int | None) -> tuple[Array, Array]:
        """The derivatives (V,) of the loss of documents in the factor of each word, first and second.

        The score of a document is its ``base`` (n, K) plus what its words say, each times its factor (V,); each
        document is left out of the counts that score it, and those without weight are passed over.
        """
        threads = threads_for(len(x.word) * self.amount.shape[1], n_jobs)
        times = factor.astype(np.float32)

        def part(first: int, last: int) -> Array:
            slopes = np.zeros((len(self.total), 2))
            args = x.labels.codes, x.labels.weight, base, times, first, last, slopes
            _native.word_slopes(*x.arrays, *self._arrays, *args)
            return slopes

        total = reduce(iadd, map_rows(part, x.n_rows, max(1, -(-x.n_rows // threads)), threads))
        return total[:, 0], total[:, 1]

    def scores(self, x: TextRows, rows: NDArray[np.int64], weights: NDArray[np.float32], n_jobs: int | None) -> Array:
        """Scores (rows, M, K) of documents that are not in the counts, by M weights (V, M) of every word.

        It is the last that is asked of a table: its amounts become what each word says, which is no less memory.
        """
        scores, evidence = np.empty((len(rows), weights.shape[1], self.amount.shape[1])), self.amount
        _native.word_evidence(*self._arrays)
        threads = threads_for(len(x.word) * self.amount.shape[1], n_jobs)

        def part(a: int, b: int) -> None:
            _native.word_scores(*x.arrays, evidence, rows[a:b], weights, scores[a:b])

        for _ in map_rows(part, len(rows), max(1, -(-len(rows) // threads)), threads):
            pass
        return scores

    @property
    def _arrays(self) -> tuple[NDArray[np.float32], NDArray[np.float32], Array, float, bool]:
        return self.amount, self.total, self.mass, self.alpha, self.rivals


@dataclass(frozen=True)
class WordCounts:
    """What was counted of the words of documents, from which tables without some of the documents are made."""

    x: TextRows
    count: NDArray[np.float32]  # (V, K)
    class_total: Array  # (K,) amount of all words
    n_words: int  # known, also those that are not in the table
    others: NDArray[np.int64]  # (n,) words of each document that no other has, which are not in the table
    alpha: float
    rivals: bool

    def table(self, without: NDArray[np.int64]) -> WordTable:
        """The table of all documents but some, by number."""
        labels, n_classes = self.x.labels, len(self.class_total)
        assert labels.codes is not None
        amount, total = self.count.copy(), np.empty(len(self.count), dtype=np.float32)
        args = labels.codes, labels.weight, without, self.alpha, self.rivals, amount, total
        n_left = _native.word_table(*self.x.arrays, *args) + self.n_words - len(self.count)
        n_left -= int(self.others[without].sum())
        taken = labels.weight[without] * self.x.length[without]
        left = self.class_total - np.bincount(labels.codes[without], weights=taken, minlength=n_classes)
        mass = (left.sum() - left if self.rivals else left) + self.alpha * n_left
        return WordTable(amount, total, np.ascontiguousarray(mass), self.alpha, self.rivals)
