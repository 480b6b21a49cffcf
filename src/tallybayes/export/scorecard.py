"""A scorecard as one SQL query: the score of every row, and the points of each column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.export.dialects import dialect_of
from tallybayes.export.portable import Scorer, check_plain
from tallybayes.export.sql_query import Query
from tallybayes.inspection.card import Scorecard


def scorecard_sql(
    card: Scorecard, table: str | Sequence[str], dialect: str = "duckdb", keep: Sequence[str] | None = None
) -> str:
    """One SELECT that returns ``score`` and ``points_COLUMN`` for every row, equal to those of Python.

    Parameters
    ----------
    card : Scorecard
    table : str or sequence of str
        Name of the table; several names where a schema or a catalogue stands before it.
    dialect : {"duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake"}, default="duckdb"
    keep : sequence of str, optional
        Columns of the table to return beside them, such as a key; those the card reads if not given.

    Returns
    -------
    str

    Examples
    --------
    >>> import duckdb
    >>> from tallybayes import datasets, learn
    >>> from tallybayes.inspection.scorecard import scorecard
    >>> card = scorecard(learn(datasets.tennis(), "play"))
    >>> days = duckdb.sql("SELECT 'sunny' AS outlook, 'cool' AS temperature, 'high' AS humidity, 'weak' AS wind")
    >>> duckdb.sql(scorecard_sql(card, "days", keep=["outlook"])).fetchall()[0][:2]
    ('sunny', 484)
    """
    read = {c.name: c.reading for c in card.model.schema.columns if c.reading is not None}
    scorer = Scorer((str(card.label),), np.array([card.base_points]), np.zeros(1), card.terms)
    readings = {name: reading for name, reading in read.items() if name in scorer.columns}
    if readings and dialect != "duckdb":
        raise NotAvailableError(
            f"column {next(iter(readings))!r} is read from another (a date, or numbers as text), which only DuckDB can"
        )
    scorer = Scorer(scorer.classes, scorer.prior, scorer.fallback, scorer.terms, None, readings)
    check_plain(scorer)
    query = Query(scorer, dialect_of(dialect), scorer.inputs if keep is None else tuple(keep))
    outputs = ["score", *(f"points_{column.name}" for column in card.columns)]
    if taken := [name for name in query.keep if name in outputs]:
        raise SettingError(f"the query returns a column {taken[0]!r} already; leave it out of keep")
    parts = [next(query.added(term)) for term in scorer.terms]
    total = " + ".join([query.dialect.number(card.base_points), *(f"({part})" for part in parts)])
    kept = query.coded(table)
    whole = "CAST({} AS BIGINT)" if card.rounding else "{}"
    named = [
        f"{whole.format(f'({part})')} AS {query.dialect.identifier(name)}"
        for part, name in zip((total, *parts), outputs, strict=True)
    ]
    first = [f"{called} AS {query.dialect.identifier(name)}" for name, called in zip(query.keep, kept, strict=True)]
    return query.finished(f"{query.own}coded", [*first, *named])
