"""A table in an engine: what its columns hold, and how it is asked in the words of narwhals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw

from tallybayes.data.engines.question import Question, asked_by_partition
from tallybayes.data.labels import is_hole
from tallybayes.data.survey import Seen
from tallybayes.data.tables import Table, read_table
from tallybayes.data.values import Storage
from tallybayes.errors import DataError, TallybayesError

ENGINES = {"duckdb": "DuckDB relation", "polars": "Polars LazyFrame", "ibis": "Ibis table", "dask": "Dask DataFrame"}


def is_lazy(data: Any) -> bool:
    """Whether the rows are in an engine that is asked for them."""
    try:
        found = data if isinstance(data, Lazy) else nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:  # of a frame with two columns of one name, which is refused where it is read
        return False
    return isinstance(found, Lazy | nw.LazyFrame)


@dataclass(frozen=True)
class Lazy:
    """A table in an engine, and what its columns hold."""

    frame: nw.LazyFrame[Any]

    format = "lazy"
    whole = True

    @classmethod
    def of(cls, data: Any) -> Lazy:
        """The table, whatever the engine."""
        return data if isinstance(data, Lazy) else cls(nw.from_native(data))

    @property
    def engine(self) -> str:
        """The name of the engine, in small letters."""
        return self.frame.implementation.value if hasattr(self.frame.implementation, "value") else "unknown"

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"the {ENGINES.get(self.engine, 'Spark DataFrame')}"

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Narwhals' type of each column."""
        with self.errors():
            return dict(self.frame.collect_schema())

    @property
    def types(self) -> dict[str, str]:
        """The types as text."""
        return {name: str(kind) for name, kind in self.schema.items()}

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.schema)

    def storage(self, name: str) -> Storage:
        """What a column holds."""
        kind = self.schema[name]
        if isinstance(kind, nw.Categorical | nw.Enum) or kind == nw.String:
            return "text"
        if kind == nw.Boolean:
            return "boolean"
        if kind.is_integer():
            return "integer"
        if kind.is_float() or kind.is_decimal():
            return "number"
        return "date" if kind.is_temporal() else "other"

    # ------------------------------------------------------------------------------------------ asking

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Whatever an engine complains of is an error in the data, in one paragraph."""
        try:
            yield
        except (TallybayesError, KeyboardInterrupt):
            raise
        except Exception as error:
            said = " ".join(str(error).split())[:400]
            raise DataError(f"{self.name} could not be counted: {said or type(error).__name__}") from error

    def ask(self, question: Question) -> list[tuple[Any, ...]]:
        """The answer to a question, a row for every combination of its keys."""
        with self.errors():
            if self.engine == "dask":
                found = asked_by_partition(nw.to_native(self.frame), question)
            else:
                found = question(self.frame).collect()
            return [tuple(None if is_hole(cell) else cell for cell in row) for row in found.iter_rows()]

    def lit(self, number: float) -> nw.Expr:
        """A number that is a float: to PostgreSQL 1.0 is a decimal, whatever Ibis thinks of it."""
        return nw.lit(str(number)).cast(nw.Float64) if self.engine == "ibis" else nw.lit(number)

    def flag(self, condition: nw.Expr) -> nw.Expr:
        """One where it holds, zero elsewhere."""
        return nw.when(condition).then(self.lit(1.0)).otherwise(self.lit(0.0))

    def number(self, name: str) -> nw.Expr:
        """A column as floats; NaN is a hole."""
        column = nw.col(name)
        if self.schema[name] == nw.Boolean and self.engine == "ibis":  # PostgreSQL does not cast true to one
            column = nw.when(~column.is_null()).then(self.flag(column))
        x = column.cast(nw.Float64)
        # SQLite, of all engines, has neither NaN nor a word for it.
        tells = self.schema[name].is_float() and not self._is_sqlite
        return nw.when(~x.is_nan()).then(x) if tells else x

    def value(self, name: str) -> nw.Expr:
        """A column as levels or labels: text, numbers, true or false."""
        storage = self.storage(name)
        if storage == "text":
            return nw.col(name) if self.schema[name] == nw.String else nw.col(name).cast(nw.String)
        return self.number(name) if storage == "number" else nw.col(name)

    @property
    def is_spark(self) -> bool:
        """Whether the rows are on Spark, be it through Spark Connect."""
        return self.engine not in ENGINES

    @cached_property
    def _is_sqlite(self) -> bool:
        return self.engine == "ibis" and nw.to_native(self.frame).get_backend().name == "sqlite"

    def first(self, rows: int, columns: Sequence[str]) -> Table:
        """Some rows, whichever come first."""
        with self.errors():
            return read_table(self.frame.select(*columns).head(rows).collect().to_native())

    def sample(self, rows: int, columns: Sequence[str], present: str | None = None, of: int | None = None) -> Table:
        """Rows drawn at random: all of them if there are no more."""
        chosen = self.frame.select(*columns)
        if present is not None:
            chosen = chosen.filter(~nw.col(present).is_null())
        with self.errors():
            n_rows = of if of is not None else chosen.select(nw.len()).collect().item()
            native = nw.to_native(chosen)
            share = 1.0 if n_rows <= rows else rows / n_rows
            drawn = nw.from_native(native if share == 1.0 else _drawn(native, self.engine, share))
            return read_table(drawn.collect().to_native())

    def is_numbering(self, name: str, seen: Seen) -> bool:
        """Whether whole numbers that span as many values as there are rows have each of them once."""
        with self.errors():
            different = self.frame.select(nw.col(name).n_unique()).collect().item()
        return bool(different == seen.high - seen.low + 1)


def _drawn(native: Any, engine: str, share: float) -> Any:
    """A share of the rows, drawn at random; the same ones each time where the engine can."""
    if engine == "polars":
        import polars as pl

        lot = pl.int_range(pl.len()).hash(seed=1) % 1_000_003
        return native.filter(lot < int(share * 1_000_003))
    if engine == "duckdb":
        return native.query("tb_rows", f"SELECT * FROM tb_rows USING SAMPLE {100 * share} PERCENT (bernoulli, 1)")
    if engine == "ibis":
        import ibis

        return native.filter(ibis.random() < share)
    if engine == "dask":
        return native.sample(frac=share, random_state=1)
    return native.sample(fraction=share, seed=1)
