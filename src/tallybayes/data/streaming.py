"""Rows of files batch by batch, with their labels: what is counted by the families, and texts by their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import MISSING, Labels
from tallybayes.core.schema import Column, Schema, words
from tallybayes.core.tally import Tally, count
from tallybayes.core.tokens import Tokens, Vocabulary
from tallybayes.data.engines import Lazy, count_lazy, summed_tables
from tallybayes.data.files import File, Progress, known_column
from tallybayes.data.labels import encode, encode_labels, row_weights
from tallybayes.data.tables import Table, TableBatch
from tallybayes.data.values import Values
from tallybayes.data.words import Counted
from tallybayes.errors import DataError, SettingError
from tallybayes.families import Family


def streamed(
    file: File | Lazy,
    schema: Schema,
    places: Mapping[str, Sequence[int]],
    families: Mapping[str, Family],
    target: str,
    weight: str | None,
    n_rows: int,
    progress: Progress | None,
) -> Tally:
    """Count batch after batch: the families do what no query can. Rows of an engine stay there."""
    if isinstance(file, Lazy):
        return _counted_there(file, schema, places, families, target, weight)
    wanted = [c.name for c in schema.columns if c.kind != "ignored" and c.name in file.types]
    extra = [] if weight is None else [known_column(file, weight, "weights")]
    names = [*dict.fromkeys([*wanted, target, *extra])]
    total, done = Tally.empty(), 0
    for table in tables(file, names):
        part = with_own_words(labelled(table, schema, places, target, weight))
        total = total + count(part, families)
        done += table.n_rows
        if progress is not None:
            progress(min(1.0, done / max(n_rows, 1)))
    if not total.class_weight.any():
        raise DataError("Sample weights must contain at least one non-zero number.")
    return replace(total, schema=replace(total.schema, columns=tuple(map(_told, schema.columns, total.schema.columns))))


def _counted_there(
    file: Lazy,
    schema: Schema,
    places: Mapping[str, Sequence[int]],
    families: Mapping[str, Family],
    target: str,
    weight: str | None,
) -> Tally:
    """The tally of rows in an engine: it sums what a query can, and texts are counted by our own kernels."""
    texts = {name: at for name, at in places.items() if schema.columns[at[0]].kind == "text"}
    others = {name: at for name, at in places.items() if name not in texts}
    tally = count_lazy(file, schema, others, families, target, weight)
    if not texts:
        return tally

    def words_of_part(table: Table) -> Tally:
        return count(with_own_words(labelled(table, schema, texts, target, weight)), families)

    names = [schema.columns[at[0]].name for at in texts.values()]
    found = summed_tables(file, [*dict.fromkeys([*names, target, *([weight] if weight else [])])], words_of_part)
    columns = tuple(map(_told, schema.columns, found.schema.columns))
    whole = replace(found.schema, columns=columns)
    blocks = {**tally.align(whole).blocks, **found.blocks}
    return Tally(whole, tally.align(whole).class_weight, {name: blocks[name] for name in places})


def _told(before: Column, after: Column) -> Column:
    """A column after counting; that of a text says how many words it has."""
    return after if after.tokens is None else replace(after, reason=f"{before.reason.split('; ')[0]}; {words(after)}")


def with_own_words(batch: TableBatch) -> TableBatch:
    """The rows with the words that they have, and no others: tallies unite them by name.

    A vocabulary that was chosen or is hashed is the same for all rows.
    """

    def own(column: Column) -> Column:
        if column.tokens is None or column.tokens.is_chosen or column.name not in batch.table.columns:
            return column
        found = words_of(batch.table.columns[column.name], column.tokens)
        return replace(column, levels=found)

    columns = tuple(own(column) for column in batch.schema.columns)
    return replace(batch, schema=replace(batch.schema, columns=columns))


def words_of(values: Values, tokens: Tokens) -> Vocabulary | range:
    """The words of all documents of a column."""
    if values.storage != "text":
        return Vocabulary.of([]) if tokens.hashed is None else range(1 << tokens.hashed)
    return values.learned_words(tokens).words


def with_chosen_words(file: File | Lazy, schema: Schema, target: str) -> Schema:
    """The schema with the words that are frequent enough in the rows that have a label, which takes a look at all."""
    asked = [c for c in schema.columns if c.tokens is not None and c.tokens.is_chosen]
    if not asked:
        return schema
    if isinstance(file, Lazy):
        raise SettingError(
            f"min_count and max_features choose words by a look at all rows, which stay in {file.name}; count all "
            "words, or hash them, with Tokens(hashed=20)"
        )
    total: dict[str, Counted] = {}
    for table in tables(file, [*(c.name for c in asked), target]):
        rows = labelled(table, schema, {}, target)
        for column in asked:
            assert column.tokens is not None
            values = rows.table.columns[column.name]
            if values.storage == "text":
                part = values.learned_words(column.tokens).as_one()
                total[column.name] = total[column.name].joined(part).as_one() if column.name in total else part
    none = Vocabulary.of([])
    chosen = {c.name: total[c.name].chosen(c.tokens) if c.name in total else none for c in asked if c.tokens}
    columns = (replace(c, levels=chosen[c.name]) if c.name in chosen else c for c in schema.columns)
    return replace(schema, columns=tuple(columns))


def tables(file: File, columns: Sequence[str] | None = None) -> Any:
    """Stream the rows of a file as tables."""
    import pyarrow as pa

    from tallybayes.data.arrow import arrow_table

    for batch in file.batches(columns):
        if batch.num_rows:
            yield arrow_table(pa.Table.from_batches([batch]))


def labelled(
    table: Table, schema: Schema, places: Mapping[str, Sequence[int]], target: str, weight: str | None = None
) -> TableBatch:
    """A table with its labels and weights, ready to be counted; rows without a label are left out."""
    labels = table.columns[target].as_labels().astype(object)
    present = encode(labels, objects([])) != MISSING
    if not present.all():
        table, labels = table.take(np.flatnonzero(present)), labels[present]
    weights = None if weight is None else table.columns[weight].numbers(0, table.n_rows)
    codes = encode_labels(labels, objects(schema.classes))
    others = {name: values for name, values in table.columns.items() if name not in (target, weight)}
    return TableBatch(
        schema, replace(table, columns=others), places, Labels.hard(codes, row_weights(weights, table.n_rows))
    )


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """Values as an array of objects, whatever they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
