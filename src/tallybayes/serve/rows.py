"""Rows from the body of a request, checked and turned into a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes.core.batch import Labels
from tallybayes.core.levels import united
from tallybayes.core.model import Model
from tallybayes.core.schema import Schema
from tallybayes.data.columns import bag_of, grown, listed, refuse_lost
from tallybayes.data.frames import Table, read_table
from tallybayes.data.labels import distinct, encode_labels, is_missing, objects
from tallybayes.data.tables import TableBatch
from tallybayes.errors import DataError

NOTHING = ""  # stands for the columns of rows without any
MOST_NEW_CLASSES = 100  # that one request may add: more are identifiers, and every class costs every prediction
CELLS = (str, int, float, bool, type(None))
FORMS = "the body must be {'row': {column: value}}, {'rows': [{…}, …]} or {'columns': {column: [value, …]}}"


def table_of(model: Model, body: Any, most_rows: int, extra: tuple[str, ...] = ()) -> tuple[Table, bool]:
    """The rows of a body, and whether it is a single one; columns that the model does not know are refused first."""
    if not isinstance(body, dict):
        raise DataError(f"{FORMS}, not {_kind(body)}")
    given = [name for name in ("row", "rows", "columns") if name in body]
    if unknown := sorted(set(body) - {"row", "rows", "columns", *extra}):
        raise DataError(f"the body has an unknown field {unknown[0]!r}; {FORMS}")
    if len(given) != 1:
        raise DataError(FORMS)
    (name,) = given
    value = body[name]
    if name == "columns":
        columns = _columns(value)
        check_known(model, columns)
        _check_number(max(map(len, columns.values()), default=0), most_rows)
    else:
        rows = [value] if name == "row" else value
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise DataError(f"{name!r} must be {'an object' if name == 'row' else 'a list of objects'}")
        _check_number(len(rows), most_rows)
        names = dict.fromkeys(key for row in rows for key in row)
        check_known(model, names)
        columns = {key: [row.get(key) for row in rows] for key in names}
        if rows and not columns:
            columns = {NOTHING: [None] * len(rows)}
    tags = {column.name for column in model.schema.columns if column.kind == "tags"}
    for key, values in columns.items():
        for kind in set(map(type, values)):
            if kind is list and key in tags:
                _check_tags(key, values)
            elif kind not in CELLS:
                raise DataError(f"column {key!r} holds {_kind(kind())}; a value is text, a number, true, false or null")
    table = read_table(columns)
    _check_number(table.n_rows, most_rows)
    return table, name == "row"


def _check_tags(column: str, values: Sequence[Any]) -> None:
    cells = [cell for cell in values if cell is not None]
    if not all(isinstance(cell, list) and all(isinstance(tag, str) for tag in cell) for cell in cells):
        raise DataError(f"column {column!r} holds tags: a value is text, a list of texts or null, the same in all rows")


def _check_number(n_rows: int, most: int) -> None:
    if not n_rows:
        raise DataError("the body has no row")
    if n_rows > most:
        raise DataError(f"{n_rows:,} rows are too many; send at most {most:,} at a time")


def _columns(value: Any) -> dict[str, list[Any]]:
    if not isinstance(value, dict) or not all(isinstance(values, list) for values in value.values()):
        raise DataError("'columns' must be an object of lists")
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", type(None): "null", bool: "a boolean"}
    return names.get(type(value), "a number")


def places_of(model: Model) -> dict[str, Sequence[int]]:
    """Which columns each block reads."""
    return model.tally.places


def batch_of(model: Model, table: Table) -> TableBatch:
    """The rows as the model reads them: an unknown column is an error, an absent one is missing."""
    return TableBatch(model.schema, known(model, table), places_of(model))


def known(model: Model, table: Table) -> Table:
    """The table, if the model knows all of its columns."""
    names = _names(model)
    if NOTHING in table.columns and NOTHING not in names:
        table = Table({}, table.n_rows)
    if bag := bag_of(model):
        refuse_lost([name for name in names if name not in table.columns], bag)
    return table


def _names(model: Model) -> list[str]:
    return [column.name for column in model.schema.columns if not column.is_derived]


def check_known(model: Model, columns: Iterable[str]) -> None:
    """Refuse columns that the model was not trained with."""
    names = _names(model)
    have = set(names)
    if extra := [name for name in columns if name not in have]:
        some = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        raise DataError(f"the model was not trained with {listed(extra)}; its columns are {some}")


def labelled_of(
    model: Model, table: Table, body: Mapping[str, Any], *, new_levels: bool = False, new_classes: bool = False
) -> TableBatch:
    """The rows as the model reads them, with labels; unseen levels and classes may be added to the schema."""
    labels = body.get("labels")
    if "label" in body and labels is None:
        labels = [body["label"]]
    if not isinstance(labels, list) or len(labels) != table.n_rows:
        raise DataError(f"'labels' must be a list of {table.n_rows:,}, a label for each row")
    if any(is_missing(label) for label in labels) or not all(isinstance(label, CELLS) for label in labels):
        raise DataError("every label must be text, a number, true or false")
    weight = body.get("weight")
    if weight is not None and (
        not isinstance(weight, list)
        or len(weight) != table.n_rows
        or not all(type(w) in (int, float) and 0 <= w < float("inf") for w in weight)
    ):
        raise DataError(f"'weight' must be a list of {table.n_rows:,} numbers of at least 0")
    table, schema = known(model, table), model.schema
    values = objects(labels)
    if new_classes:
        found = distinct(values)
        if (n_new := len({*found.tolist()} - {*schema.classes})) > MOST_NEW_CLASSES:
            raise DataError(
                f"the labels have {n_new:,} new classes, more than a service adds at once "
                f"({MOST_NEW_CLASSES}); if they are labels, learn them with 'tallybayes update'"
            )
        schema = Schema(schema.columns, tuple(united(schema.classes, tuple(found.tolist()))))
    if new_levels:  # also to unlearn: rows with an unseen level were never learned; the tally refuses them
        schema = Schema(grown(schema.columns, table), schema.classes)
    codes = encode_labels(values, objects(schema.classes))
    weights = None if weight is None else np.array(weight, dtype=np.float64)
    return TableBatch(schema, table, places_of(model), Labels.hard(codes, weights))
