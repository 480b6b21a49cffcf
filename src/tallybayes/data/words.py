"""The words of a column of text: tokenised and counted where the text lies, on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Documents
from tallybayes.core.schema import Level
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.core.tokens import Tokens, Vocabulary

WORDS = 100  # a document is about as much work as so many cells


@dataclass(frozen=True)
class Counted:
    """Documents as counts of words, and what the words are: all that occur, in order, or the numbers of hashes."""

    words: Vocabulary | range
    documents: Documents
    all_occur: bool = True  # whether the documents have every word

    def within(self, levels: Sequence[Level], tokens: Tokens) -> Documents:
        """The counts of some words, as they weigh; others are left out."""
        documents = self.documents
        if tokens.damped or tokens.scaled:  # words that are not known have their share of the length of a text
            documents = kernels.scaled_counts(documents, tokens.damped, tokens.scaled)
        if isinstance(self.words, range) or self.words is levels:
            return documents
        assert isinstance(levels, Vocabulary)
        return documents.renumbered(self.words.places_in(levels), len(levels))

    def chosen(self, tokens: Tokens) -> Vocabulary | range:
        """The words that are frequent enough."""
        if isinstance(self.words, range) or not tokens.is_chosen:
            return self.words
        total = np.bincount(self.documents.column, weights=self.documents.data, minlength=len(self.words))
        kept = total >= tokens.min_count
        if tokens.max_features is not None and kept.sum() > tokens.max_features:
            # Of words that are equally frequent, the first in the alphabet.
            most = np.argsort(-np.where(kept, total, -1.0), kind="stable")[: tokens.max_features]
            kept = np.isin(np.arange(len(kept)), most)
        return self.words.select(kept)

    def joined(self, other: Counted) -> Counted:
        """The documents of both, one after another."""
        return _joined(self, other)

    def as_one(self) -> Counted:
        """All documents as a single one."""
        x = self.documents
        count = np.bincount(x.column, weights=x.data, minlength=x.n_columns)
        used = np.flatnonzero(count)
        start = np.array([0, len(used)], dtype=x.start.dtype)
        return replace(self, documents=Documents(count[used], used.astype(x.column.dtype), start, x.n_columns))

    def take(self, rows: NDArray[Any]) -> Counted:
        """Some documents, by number."""
        return replace(self, documents=self.documents.take(rows), all_occur=False)


def count_words(texts: kernels.Texts, tokens: Tokens, first: int, last: int, n_jobs: int | None = 1) -> Counted:
    """Count the words of a range of documents; threads do not change what comes out."""
    tokeniser = tokens.native()
    threads = max(1, min(threads_for((last - first) * WORDS, n_jobs), last - first))

    def part(a: int, b: int) -> Counted:
        documents, words = kernels.count_tokens(texts, first + a, first + b, tokeniser)
        if tokens.words == "tags":  # a set has each once
            documents = replace(documents, data=np.ones_like(documents.data))
        if tokens.hashed is None:
            return Counted(words, documents)
        return Counted(range(1 << tokens.hashed), replace(documents, n_columns=1 << tokens.hashed))

    step = max(1, -(-(last - first) // threads))
    return reduce(_joined, map_rows(part, last - first, step, threads)) if last > first else part(0, 0)


def _joined(mine: Counted, theirs: Counted) -> Counted:
    """The documents of both, one after another."""
    a, b, words = mine.documents, theirs.documents, mine.words
    if isinstance(mine.words, Vocabulary) and isinstance(theirs.words, Vocabulary):
        words, places, others = mine.words.joined(theirs.words)
        a, b = a.renumbered(places, len(words)), b.renumbered(others, len(words))
    missing = None
    if a.missing is not None or b.missing is not None:
        missing = np.concatenate([_missing(each) for each in (a, b)])
    start = np.concatenate((a.start, b.start[1:] + a.start[-1]))
    documents = Documents(
        np.concatenate((a.data, b.data)), np.concatenate((a.column, b.column)), start, len(words), missing
    )
    return Counted(words, documents, mine.all_occur and theirs.all_occur)


def _missing(x: Documents) -> NDArray[np.bool_]:
    return np.zeros(x.shape[0], dtype=bool) if x.missing is None else x.missing


class HoldsText:
    """What a column does if its values are text: its words are counted once, when they are learned."""

    ordered = False  # whether the levels of an enumeration follow one another
    are_lists = False  # whether its texts were lists of tags

    _counted: tuple[Tokens, Counted] | None = None

    def texts(self, first: int = 0, last: int | None = None) -> kernels.Texts:
        """A range of the documents as the kernel reads them."""
        raise NotImplementedError

    def keep_words(self, other: HoldsText, rows: NDArray[Any]) -> None:
        """Take over what another column counted, for some of its rows."""
        self._counted = None if other._counted is None else (other._counted[0], other._counted[1].take(rows))

    def learned_words(self, tokens: Tokens, n_jobs: int | None = None) -> Counted:
        """The words of all documents; kept, so that they are not tokenised again when they are counted by class."""
        if self._counted is None or self._counted[0] != tokens.counted:
            texts = self.texts()
            self._counted = tokens.counted, count_words(texts, tokens, 0, len(texts), n_jobs)
        return self._counted[1]

    def is_tokenised(self, tokens: Tokens | None) -> bool:
        """Whether the words are counted already."""
        return self._counted is not None and tokens is not None and self._counted[0] == tokens.counted

    def words(self, tokens: Tokens, levels: Sequence[Level], first: int, last: int) -> Documents:
        """How often each of the words occurs in a range of documents."""
        if self._counted is not None and self._counted[0] == tokens.counted:
            counted = self._counted[1]
            return replace(counted, documents=counted.documents.rows(first, last)).within(levels, tokens)
        return count_words(self.texts(first, last), tokens, 0, last - first).within(levels, tokens)
