"""Lists of tags in the tables of engines, as text: each engine joins them in its own words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tallybayes.core.tokens import LISTED
from tallybayes.data.dates import coarser_in_sql
from tallybayes.data.sql import quoted
from tallybayes.data.tags import listed_in_sql


def plain_in_duckdb(relation: Any) -> Any:
    """A relation of DuckDB with lists as text, and times in a type that its functions take."""
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    changed = listed_in_sql(types) | coarser_in_sql(types)
    replaced = ", ".join(f"{sql} AS {quoted(name)}" for name, (sql, _) in changed.items())
    return relation.project(f"* REPLACE ({replaced})") if changed else relation


def listed_in_engine(engine: str, native: Any, names: Collection[str]) -> Any:
    """The table with these columns of lists as text; None where there are none."""
    if not names:
        return None
    if engine == "polars":
        import polars as pl

        return native.with_columns(
            (pl.lit(LISTED) + pl.col(name).list.drop_nulls().list.join(LISTED)).alias(name) for name in names
        )
    if engine == "ibis":
        import ibis  # type: ignore[import-untyped, import-not-found, unused-ignore]

        def text(column: Any) -> Any:
            joined = column.join(LISTED).fill_null("")
            return ibis.cases((column.notnull(), ibis.literal(LISTED) + joined), else_=None)

        return native.mutate(**{name: text(native[name]) for name in names})
    if engine == "dask":
        return None  # whose lists are objects to it
    from pyspark.sql import functions as f

    joined = {name: f.array_join(native[name], LISTED) for name in names}
    return native.withColumns({name: f.concat(f.lit(LISTED), text) for name, text in joined.items()})
