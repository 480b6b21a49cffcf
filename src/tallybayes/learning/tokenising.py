"""Other ways to read the texts of a table, among which held-out loss chooses: their tokens, and what is counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tallybayes.core.batch import every_nth
from tallybayes.core.schema import Column
from tallybayes.core.settings import Settings
from tallybayes.core.tokens import Tokens
from tallybayes.data.tables import TableBatch
from tallybayes.data.vocabularies import with_own_words
from tallybayes.learning.options import Options
from tallybayes.learning.textbook import textbook_settings

CHARACTERS = (2, 5)  # of runs inside words
RANGES = ((1, 1), (1, 2), (1, 3))  # of words that are counted together
MANY_CELLS = 20_000_000  # entries × classes from which on only what is asked for is tried: it doubles the time
TRIED_TEXTS = 1_000  # that ways are compared on before the best of them is tried on all


@dataclass(frozen=True)
class Way:
    """How texts are tokenised, and the family that counts their tokens."""

    tokens: Tokens
    family: str

    def __str__(self) -> str:
        words = {(1, 1): "single words", (1, 2): "words and pairs of words"}.get(
            self.tokens.ngrams, "runs of {} to {} words".format(*self.tokens.ngrams)
        )
        if self.tokens.characters is not None:
            words = "runs of {} to {} characters in words".format(*self.tokens.characters)
        if self.family == "bernoulli":
            return f"{words}, {self.family}"
        scale = "scaled to one length" if self.tokens.scaled else "not scaled to one length"
        return f"{words}, {scale}, {self.family}"

    @classmethod
    def usual(cls, batch: TableBatch, options: Options) -> Way:
        """The way that the options ask for, or the usual one."""
        column = _text(batch)
        assert column.tokens is not None
        return cls(column.tokens, options.family.get(column.name, "complement"))

    def others(self, batch: TableBatch, options: Options) -> Iterator[Way]:
        """What is tried beside this way: each differs from it in one respect.

        Counts that are not scaled to one length suit short texts of very different lengths; single words suit texts
        that are few; runs of characters suit words of many forms; and whether words occur, absence included, suits
        texts of a few words.
        """
        choose, tokens = options.choose_tokens, self.tokens
        if choose is None:
            choose = ("scaled",) if options.tokens is None and _n_cells(batch, options) <= MANY_CELLS else ()
        if "scaled" in choose:
            yield replace(self, tokens=replace(tokens, scaled=not tokens.scaled))
        if "ngrams" in choose and not tokens.is_chosen:
            for ngrams in RANGES:
                if ngrams != tokens.ngrams:
                    yield replace(self, tokens=replace(tokens, ngrams=ngrams))
        if "characters" in choose and tokens.characters is None and not tokens.is_chosen:
            yield replace(self, tokens=replace(tokens, ngrams=(1, 1), characters=CHARACTERS))
        if "family" in choose:
            if len(batch.schema.classes) > 2:  # of two classes, the rivals of one are the other
                yield replace(self, family="multinomial")
            single = "ngrams" in choose and not tokens.is_chosen
            yield Way(replace(tokens, ngrams=(1, 1)) if single else tokens, "bernoulli")

    def read(self, batch: TableBatch, options: Options) -> tuple[TableBatch, Settings, Options]:
        """The rows with their text tokenised so, and how they are then read by the textbook."""
        options = replace(options, family={**options.family, _text(batch).name: self.family})
        columns = tuple(
            replace(c, tokens=self.tokens, levels=c.levels if _same_words(c.tokens, self.tokens) else None)
            if c.tokens is not None
            else c
            for c in batch.schema.columns
        )
        batch = with_own_words(replace(batch, schema=replace(batch.schema, columns=columns)), n_jobs=options.n_jobs)
        batch = replace(batch, places=options.overrides.places(batch.schema))
        return batch, textbook_settings(batch.schema, options), options


def few_texts(batch: TableBatch, options: Options) -> TableBatch:
    """The texts that ways are compared on: all, or some where many are to be tried, drawn by what they hold."""
    return batch if options.choose_tokens is None else every_nth(batch, TRIED_TEXTS)


def _text(batch: TableBatch) -> Column:
    (text,) = (column for column in batch.schema.columns if column.kind == "text")
    return text


def _n_cells(batch: TableBatch, options: Options) -> int:
    """Entries × classes."""
    text = _text(batch)
    assert text.tokens is not None
    counted = batch.table.columns[text.name].learned_words(text.tokens, options.n_jobs)
    return len(counted.documents.data) * len(batch.schema.classes)


def _same_words(mine: Tokens | None, theirs: Tokens) -> bool:
    return theirs.hashed is not None or (mine is not None and mine.counted == theirs.counted)
