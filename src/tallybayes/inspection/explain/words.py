"""The evidence of the single words of a text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Csr, Rows
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.tokens import Vocabulary
from tallybayes.data.tags import as_listed
from tallybayes.inspection.explain._values import difference

LONGEST_MARKED = 100_000  # characters of a text whose words are marked
FAINT = 0.02  # share of the strongest below which a word is not marked

Pieces = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Word:
    """The evidence of one word of a text, all its occurrences together."""

    word: str
    times: int
    log_odds: float


@dataclass(frozen=True)
class Words:
    """The evidence of the words of a text; with ``absent`` and an offset they add up to that of the column."""

    words: tuple[Word, ...]  # those that are known, strongest first
    unknown: int  # different words that were never learned: no evidence
    absent: float  # evidence of the words that do not occur, with Bernoulli words
    pieces: Pieces  # the text in pieces, each with its share of the evidence; none if very long
    are_tags: bool = False

    def __str__(self) -> str:
        if not self.words:
            return f"no {self.noun}" if not self.unknown else f"no known {self.noun}"
        of = f" of {len(self.words) + self.unknown:,}" if self.unknown else ""
        return plural(len(self.words), f"known {self.noun}") + of

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        listed = [{"word": w.word, "times": w.times, "log_odds": w.log_odds} for w in self.words]
        return {"words": listed, "unknown": self.unknown, "absent": self.absent}

    @property
    def noun(self) -> str:
        """What they are called: a pair of words is a token."""
        if self.are_tags:
            return "tag"
        return "token" if any(" " in each.word for each in self.words) else "word"


def words_of(model: Model, batch: Rows, block: str, values: Mapping[str, Any], mine: int, theirs: int) -> Words:
    """The evidence of the words of a text for one class against another."""
    column = model.texts[block]
    assert column.tokens is not None
    places, scores, nothing = _word_scores(model, batch, block)
    odds = {int(p): difference(w[mine], w[theirs]) for p, w in zip(places, scores, strict=True)}
    value, are_tags = values[column.name], column.kind == "tags"
    text = value if isinstance(value, str) else as_listed(value)
    spans = column.tokens.spans(text)
    times = Counter(token for token, _, _, _ in spans)
    if isinstance(column.levels, Vocabulary):
        known = sorted(times)
        place = dict(zip(known, Vocabulary.of(known).places_in(column.levels).tolist(), strict=True))
    else:
        place = {token: column.tokens.place(token) for token in times}
    # Words of one hash are one feature, whose evidence is shared among them.
    sharing = Counter(place[token] for token, _, _, _ in spans)
    each = {token: odds[p] / sharing[p] for token, p in place.items() if p in odds}
    found = [Word(token, times[token], amount * times[token]) for token, amount in each.items()]
    ranked = tuple(sorted(found, key=lambda word: (-abs(word.log_odds), word.word)))
    absent = difference(nothing[mine], nothing[theirs])
    pieces = _pieces(text, spans, each)
    if are_tags:  # whatever is between them
        pieces = tuple(part for tag, n in times.items() for part in ((tag, n * each.get(tag, 0.0)), (", ", 0.0)))[:-1]
    return Words(ranked, len(times) - len(each), absent, pieces, are_tags)


def _word_scores(model: Model, batch: Rows, name: str) -> tuple[NDArray[Any], Array, Array]:
    """The known words of the one text of a block, their scores (m, K), and the score (K,) of an empty text."""
    x: Any = model.words.of_known(name, batch.rows(0, 1).blocks[name].x)
    family, params, m = model.settings.families[name], model.scoring[name], len(x.column)
    nothing = family.log_prob(params, Csr(x.data[:0], x.column[:0], np.zeros(2, x.start.dtype), x.n_columns))[0]
    single = Csr(x.data, x.column, np.arange(m + 1, dtype=x.start.dtype), x.n_columns)
    places = model.words.known[name][x.column] if name in model.words.known else x.column
    return places, family.log_prob(params, single) - nothing, nothing


def _pieces(text: str, spans: Sequence[tuple[str, int, int, int]], each: Mapping[str, float]) -> Pieces:
    """The text split into words, each with its share of the evidence of the tokens that it is part of."""
    if len(text) > LONGEST_MARKED:
        return ()
    words: list[tuple[int, int]] = []
    amount: list[float] = []
    for token, first, last, n in spans:
        if not words or words[-1] != (first, last):
            words.append((first, last))
            amount.append(0.0)
        part = range(max(0, len(words) - n), len(words))
        for i in part:
            amount[i] += each.get(token, 0.0) / len(part)
    pieces: list[tuple[str, float]] = []
    at = 0
    for (first, last), share in zip(words, amount, strict=True):
        pieces += [(text[at:first], 0.0)] if first > at else []
        pieces.append((text[first:last], share))
        at = last
    return (*pieces, (text[at:], 0.0)) if at < len(text) else tuple(pieces)


def marked_html(pieces: Sequence[tuple[str, float]]) -> str:
    """A text with evidence for the class on green and evidence against it on red, the stronger the deeper."""
    largest = max((abs(amount) for _, amount in pieces if math.isfinite(amount)), default=0.0) or 1.0
    shown = []
    for text, amount in pieces:
        depth = min(1.0, abs(amount) / largest)
        colour = f"rgba({'46,160,67' if amount > 0 else '218,54,51'},{0.6 * depth:.2f})"
        words = escape(text).replace("\n", "<br>")
        shown.append(words if depth < FAINT else f"<mark style='color:inherit;background:{colour}'>{words}</mark>")
    return "".join(shown)
