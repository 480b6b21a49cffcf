"""The words of columns of text: a vocabulary is open, and then that of the rows at hand, or it was chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tallybayes.core.schema import Column, Schema, words
from tallybayes.core.tokens import Tokens, Vocabulary
from tallybayes.data.frames import Table
from tallybayes.data.tables import TableBatch
from tallybayes.data.values import Values
from tallybayes.data.words import Counted


def opened(schema: Schema) -> Schema:
    """The schema with its vocabularies open again: rows that are counted bring their own words.

    A vocabulary that was chosen or is hashed is the same for all rows.
    """
    columns = tuple(replace(c, levels=None) if _is_open(c) else c for c in schema.columns)
    return schema if not any(map(_is_open, schema.columns)) else replace(schema, columns=columns)


def _is_open(column: Column) -> bool:
    return column.tokens is not None and not column.tokens.is_chosen and not isinstance(column.levels, range)


def with_own_words(batch: TableBatch, table: Table | None = None, n_jobs: int | None = None) -> TableBatch:
    """The rows with the words that they have, or those of a larger table, where the vocabulary is open."""
    if not any(c.tokens is not None and c.levels is None for c in batch.schema.columns):
        return batch
    source = batch.table if table is None else table

    def own(column: Column) -> Column:
        if column.tokens is None or column.levels is not None:
            return column
        values = source.columns.get(column.name)
        found = nothing(column.tokens) if values is None else words_of(values, column.tokens, n_jobs)
        return with_words(column, found)

    return replace(batch, schema=replace(batch.schema, columns=tuple(map(own, batch.schema.columns))))


def with_words(column: Column, found: Vocabulary | range, n_all: int = 0) -> Column:
    """The column of text with its words; its reason shows how many there are."""
    known = replace(column, levels=found)
    kept = f" of {n_all:,} kept" if n_all > len(found) else ""
    return replace(known, reason=f"{column.reason.split('; ')[0]}; {words(known)}{kept}")


def words_of(values: Values, tokens: Tokens, n_jobs: int | None = None) -> Vocabulary | range:
    """The words that the documents of a column have."""
    if values.storage != "text":
        return nothing(tokens)
    counted = values.learned_words(tokens, n_jobs)
    if isinstance(counted.words, range) or counted.all_occur:
        return counted.words
    used = np.zeros(len(counted.words), dtype=bool)  # those of some rows of a larger table are fewer
    used[counted.documents.column] = True
    return counted.words if used.all() else counted.words.select(used)


def nothing(tokens: Tokens) -> Vocabulary | range:
    """The words of no document."""
    return Vocabulary.of([]) if tokens.hashed is None else range(1 << tokens.hashed)


def with_chosen_words(schema: Schema, tables: Iterable[Table], n_jobs: int | None = None) -> Schema:
    """The schema with the words that are frequent enough in all rows, where words are to be chosen."""
    asked = {c.name: c.tokens for c in schema.columns if c.tokens is not None and c.tokens.is_chosen}
    total: dict[str, Counted] = {}
    for table in tables if asked else ():
        for name, tokens in asked.items():
            values = table.columns[name]
            if values.storage == "text":
                part = values.learned_words(tokens, n_jobs).as_one()
                total[name] = total[name].joined(part).as_one() if name in total else part

    def chosen(column: Column) -> Column:
        if column.name not in asked:
            return column
        if column.name not in total:
            return with_words(column, nothing(asked[column.name]))
        found = total[column.name]
        return with_words(column, found.chosen(asked[column.name]), len(found.words))

    return replace(schema, columns=tuple(map(chosen, schema.columns))) if asked else schema
