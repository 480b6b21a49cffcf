"""Other ways to tokenise the texts of a table, among which held-out loss chooses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tallybayes.core.tokens import Tokens
from tallybayes.data.tables import TableBatch
from tallybayes.data.vocabularies import with_own_words
from tallybayes.learning.options import Options

CHARACTERS = (2, 5)  # of runs inside words
MANY_CELLS = 20_000_000  # entries × classes from which on only what is asked for is tried: it doubles the time


def other_tokens(batch: TableBatch, options: Options) -> Iterator[Tokens]:
    """What is tried beside the tokens that the only column of text has.

    Counts that are not scaled to one length suit short texts of very different lengths; single words suit texts that
    are few; and runs of characters suit words of many forms.
    """
    (text,) = (column for column in batch.schema.columns if column.kind == "text")
    tokens, choose = text.tokens, options.choose_tokens
    assert tokens is not None
    if choose is None:
        counted = batch.table.columns[text.name].learned_words(tokens, options.n_jobs)
        is_small = len(counted.documents.data) * len(batch.schema.classes) <= MANY_CELLS
        choose = ("scaled",) if options.tokens is None and is_small else ()
    if "scaled" in choose:
        yield replace(tokens, scaled=not tokens.scaled)
    if "ngrams" in choose and tokens.ngrams != (1, 1) and not tokens.is_chosen:
        yield replace(tokens, ngrams=(1, 1))
    if "characters" in choose and tokens.characters is None and not tokens.is_chosen:
        yield replace(tokens, ngrams=(1, 1), characters=CHARACTERS)


def with_tokens(batch: TableBatch, tokens: Tokens, n_jobs: int | None) -> TableBatch:
    """The rows with their text tokenised in another way."""
    columns = tuple(
        replace(c, tokens=tokens, levels=c.levels if _same_words(c.tokens, tokens) else None)
        if c.tokens is not None
        else c
        for c in batch.schema.columns
    )
    return with_own_words(replace(batch, schema=replace(batch.schema, columns=columns)), n_jobs=n_jobs)


def described(tokens: Tokens) -> str:
    """How texts are tokenised, for people."""
    words = "single words" if tokens.ngrams == (1, 1) else "words and pairs of words"
    if tokens.characters is not None:
        words = "runs of {} to {} characters in words".format(*tokens.characters)
    return f"{words}, {'scaled to one length' if tokens.scaled else 'not scaled to one length'}"


def _same_words(mine: Tokens | None, theirs: Tokens) -> bool:
    return theirs.hashed is not None or (mine is not None and mine.counted == theirs.counted)
