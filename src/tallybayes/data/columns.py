"""The columns of a mixed table: what they are, and how a later table's are matched to them."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tallybayes.core.levels import in_given_order, united
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Schema, words
from tallybayes.core.threads import map_each, threads_for
from tallybayes.core.tokens import Tokens, Vocabulary
from tallybayes.data.finding import NOTHING, Found, part_column
from tallybayes.data.frames import Table, profile, read_table
from tallybayes.data.inference import (
    Profile,
    as_given,
    in_order_as_given,
    infer,
    kind_for,
    tokens_for,
    with_missing_level,
)
from tallybayes.data.overrides import Overrides
from tallybayes.data.reading import read_as
from tallybayes.data.tables import TableBatch
from tallybayes.data.truths import known_level
from tallybayes.data.values import Values
from tallybayes.errors import ColumnWarning, DataError, SettingError


def split_target(data: Any, target: str) -> tuple[Table, Any]:
    """Take the target out of the table of which it is a column."""
    table = read_table(data)
    if target not in table.columns:
        near = difflib.get_close_matches(target, table.columns, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; it has {listed(list(table.columns))}"
        raise DataError(f"the table has no column {target!r}{hint}")
    columns = {name: values for name, values in table.columns.items() if name != target}
    return replace(table, columns=columns, matrix=None), table.columns[target].as_labels()


def inferred(
    table: Table, given: Overrides, whole: bool, n_jobs: int | None = None, found: Found = NOTHING
) -> tuple[Column, ...]:
    """What each column of a table is: as given, or inferred from its values; ``whole`` if no more rows will come.

    ``found`` is how some of the columns were read.
    """
    names = list(table.columns)
    given.check(names)
    storage = {name: table.columns[name].storage for name in given.family}
    tags = {name: "tags" for name, tokens in given.tokens.items() if tokens.words == "tags"}
    kinds = {**{name: kind_for(family, storage[name]) for name, family in given.family.items()}, **tags, **given.kind}

    def column(name: str) -> Column:
        if name in given.drop or kinds.get(name) == "ignored":
            return Column(name, "ignored", reason="dropped, as given" if name in given.drop else "as given")
        if name in found.dates:
            return Column(name, "date")
        values, reading = table.columns[name], found.columns.get(name)
        if reading is not None and reading.date is not None and name not in kinds:
            levels = part_column(name, reading.date)
            if levels is not None:
                is_level = given.missing.get(name, given.default_missing) == "level"
                return with_missing_level(levels) if is_level else levels
        own = given.tokens.get(name)
        if kinds.get(name) == "text" and not isinstance(values, Profile):  # its distinct values are not needed
            text = as_given(Profile(name, values.storage, len(values), values.n_missing), "text")
            return _tokenised(text, given.default_tokens if own is None else own, whole)
        seen = profile(name, values)
        if kinds.get(name) in ("category", "boolean") and seen.levels is None:
            seen = replace(seen, levels=table.columns[name].distinct())
        if name in given.ordered:
            return in_order_as_given(seen, given.ordered[name])
        known = as_given(seen, kinds[name]) if name in kinds else infer(seen, whole and table.named)
        if known.is_text:
            return _tokenised(known, tokens_for(known, own, given.default_tokens, seen.levels), whole)
        is_level = given.missing.get(name, given.default_missing) == "level"
        return with_missing_level(known) if is_level and known.levels is not None else known

    columns = found.finished(tuple(map_each(column, names, threads_for(table.n_rows * len(names), n_jobs))))
    if not any(c.is_evidence for c in columns):
        warnings.warn("no column is evidence, so every row gets the prior (see schema_)", ColumnWarning, stacklevel=4)
    return columns


def grown(columns: Sequence[Column], table: Table, n_jobs: int | None = None) -> tuple[Column, ...]:
    """The columns with what a later table adds: levels, and fractions where there were whole numbers only."""
    table = read_as(table, columns)

    def more(column: Column) -> Column:
        if column.parts is not None:
            return replace(column, parts=tuple(map(more, column.parts)))
        if column.name not in table.columns:
            return column
        values = table.columns[column.name]
        if column.tokens is not None:
            return _with_more_words(column, values, n_jobs)
        if column.levels is None:
            return replace(column, whole=column.whole and values.storage != "number")
        known = set(column.levels)
        new = tuple(v for v in values.distinct() if v not in known and known_level(v, column.levels) not in known)
        if not new:
            return column
        levels = united(tuple(level for level in column.levels if level is not None), new)
        levels = levels if not column.order else in_given_order(column.declared, levels)
        return replace(column, levels=(*levels, None) if None in known else tuple(levels))

    return tuple(map_each(more, columns, threads_for(table.n_rows * len(columns), n_jobs)))


def _tokenised(column: Column, tokens: Tokens, whole: bool) -> Column:
    """The column of text with how it is tokenised; its words are found where rows are counted."""
    if tokens.is_chosen and not whole:
        raise SettingError(
            "min_count and max_features need all documents at once: use fit, or leave them out, or hash the words"
        )
    if tokens.hashed is None:
        return replace(column, tokens=tokens)
    found = replace(column, tokens=tokens, levels=range(1 << tokens.hashed))
    return replace(found, reason=f"{column.reason}; {words(found)}")


def _with_more_words(column: Column, values: Values, n_jobs: int | None) -> Column:
    """The column of text with the words that more documents add; a vocabulary that was chosen stays as it is."""
    assert column.tokens is not None
    if values.storage != "text":
        return column
    found = values.learned_words(column.tokens, n_jobs).words
    if column.tokens.is_chosen or not isinstance(found, Vocabulary):
        return column
    assert isinstance(column.levels, Vocabulary)
    return replace(column, levels=column.levels.unite(found))


def refuse_lost(absent: Sequence[str], bag: Sequence[str]) -> None:
    """The columns of a bag of counts are shares of one total, so none of them can be missing."""
    if lost := [name for name in absent if name in bag]:
        raise DataError(
            f"the table lacks {listed(lost)} of the multinomial counts, which are shares of one total, so none can be "
            "missing; add it, with 0 where nothing was counted, or learn these columns with family 'poisson'"
        )


def rows(model: Model, data: Any) -> TableBatch:
    """Read a table as a model does, its columns matched by name: what `Model.predict` and its kin take.

    Parameters
    ----------
    model : Model
    data : pandas, Polars or PyArrow frame, mapping of columns, sequence of mappings, or array

    Returns
    -------
    TableBatch

    Examples
    --------
    >>> from tallybayes import datasets, learn, rows
    >>> model = learn(datasets.tennis(), "play")
    >>> days = {"outlook": ["rainy"], "temperature": ["mild"], "humidity": ["high"], "wind": ["strong"]}
    >>> model.predict(rows(model, days)), model.schema.classes
    (array([0]), ('no', 'yes'))
    """
    provenance = model.provenance
    table = matched(
        read_table(data), model.schema, bag_of(model), provenance.named, False, provenance.target, "the model"
    )
    return with_warnings(TableBatch(model.schema, table, model.tally.places))


def bag_of(model: Model) -> list[str]:
    """The columns of bags of counts, by name: they are shares of one total, so none of them may be missing."""
    bags = (block for name, block in model.tally.blocks.items() if model.settings.families[name].is_document)
    columns = (model.schema.columns[p] for block in bags for p in block.columns)
    return [column.name for column in columns if not column.is_text and column.kind != "block"]


def with_warnings(batch: TableBatch) -> TableBatch:
    """Rows to be scored; warn of columns of which no value was ever seen. A single row may well have a new category."""
    if batch.n_rows > 1:
        for sentence in batch.unseen():
            warnings.warn(sentence, ColumnWarning, stacklevel=5)
    return batch


def matched(
    table: Table, schema: Schema, bag: Sequence[str], named: bool, strict: bool, target: str | None, who: str
) -> Table:
    """The table with its columns under the names that the model has; warn of missing and of additional columns."""
    base = [column for column in schema.columns if not column.is_derived]
    known = [column.name for column in base]
    if not (table.named and named):
        if len(table.columns) != len(known):
            raise ValueError(
                f"X has {len(table.columns)} features, but {who} is expecting {len(known)} features as input."
            )
        if table.named != named:
            has, was = ("does not have valid", "with") if named else ("has", "without")
            warnings.warn(f"X {has} feature names, but {who} was fitted {was} feature names", UserWarning, stacklevel=5)
        return replace(table, columns=dict(zip(known, table.columns.values(), strict=True)))
    absent = [c.name for c in base if c.kind != "ignored" and c.name not in table.columns]
    refuse_lost(absent, bag)
    if absent and strict:
        raise DataError(f"the table lacks {listed(absent)}; strict=False would count that as missing")
    if absent:
        warnings.warn(f"the table lacks {listed(absent)}: counted as missing in every row", ColumnWarning, stacklevel=5)
    extra = [name for name in table.columns if name not in {*known, target}]
    if extra:
        warnings.warn(f"the model never saw {listed(extra)}: ignored", ColumnWarning, stacklevel=5)
    return table


def listed(names: Sequence[str]) -> str:
    """Name some columns."""
    shown = ", ".join(map(repr, names[:5]))
    return f"column{'s' if len(names) > 1 else ''} {shown}" + (f" and {len(names) - 5} more" if len(names) > 5 else "")
