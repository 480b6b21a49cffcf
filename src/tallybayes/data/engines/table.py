"""A table in an engine: what its columns hold, and how it is asked in the words of narwhals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals as nw

from tallybayes.core.readings import Reading
from tallybayes.data.engines.lists import listed_in_engine, plain_in_duckdb
from tallybayes.data.engines.polars_readings import measured_polars, read_polars
from tallybayes.data.engines.question import Question, asked_by_partition
from tallybayes.data.engines.worker_readings import measured_by_workers, read_by_workers
from tallybayes.data.files import BATCH
from tallybayes.data.frames import Table, read_table
from tallybayes.data.labels import is_missing
from tallybayes.data.reading import Measure, expressions, measured_sql
from tallybayes.data.sql import quoted
from tallybayes.data.survey import Seen
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
    renamed: Mapping[str, str] = field(default_factory=dict)  # columns that have another name in the frame

    format = "lazy"
    whole = True

    @classmethod
    def of(cls, data: Any) -> Lazy:
        """The table, whatever the engine."""
        return data if isinstance(data, Lazy) else cls(nw.from_native(data))._with_plain_names()

    def _with_plain_names(self) -> Lazy:
        """The same table; to Spark a dot or a backtick in a name is syntax, so such columns get other names there."""
        names = self.frame.collect_schema().names() if self.is_spark else []
        renamed = {name: f"tb_column_{place}" for place, name in enumerate(names) if "." in name or "`" in name}
        if not renamed:
            return self
        native = nw.to_native(self.frame).toDF(*(renamed.get(name, name) for name in names))
        return Lazy(nw.from_native(native), renamed)

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
            names = {there: name for name, there in self.renamed.items()}
            return {names.get(name, name): kind for name, kind in self.frame.collect_schema().items()}

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
        if kind.is_temporal():
            return "date"
        return "empty" if self._is_empty_type(name) else "other"

    def _is_empty_type(self, name: str) -> bool:
        """Whether the type of a column is that of no value, which narwhals has none for."""
        native = nw.to_native(self.frame)
        if self.engine == "duckdb":
            return str(native.types[native.columns.index(name)]) == '"NULL"'
        return self.engine == "polars" and str(native.collect_schema()[name]) == "Null"

    # ------------------------------------------------------------------------------------------ asking

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Whatever an engine complains of is an error in the data, in one paragraph."""
        try:
            yield
        except (TallybayesError, KeyboardInterrupt):
            raise
        except Exception as error:
            message = " ".join(str(error).split())[:400]
            raise DataError(f"{self.name} could not be counted: {message or type(error).__name__}") from error

    def ask(self, question: Question) -> list[tuple[Any, ...]]:
        """The result of a question, a row for every combination of its keys."""
        with self.errors():
            if self.engine == "dask":
                found = asked_by_partition(nw.to_native(self.frame), question)
            else:
                found = question(self.frame).collect()
            return [tuple(None if is_missing(cell) else cell for cell in row) for row in found.iter_rows()]

    def column(self, name: str) -> nw.Expr:
        """A column as it is."""
        return nw.col(self.renamed.get(name, name))

    def _chosen(self, names: Sequence[str]) -> list[nw.Expr]:
        return [self.column(name).alias(name) for name in dict.fromkeys(names)]

    def lit(self, number: float) -> nw.Expr:
        """A number that is a float: to PostgreSQL 1.0 is a decimal, whatever Ibis thinks of it."""
        return nw.lit(str(number)).cast(nw.Float64) if self.engine == "ibis" else nw.lit(number)

    def flag(self, condition: nw.Expr) -> nw.Expr:
        """One where it holds, zero elsewhere."""
        return nw.when(condition).then(self.lit(1.0)).otherwise(self.lit(0.0))

    def number(self, name: str) -> nw.Expr:
        """A column as floats; NaN is a missing value."""
        column = self.column(name)
        if self.schema[name] == nw.Boolean and self.engine == "ibis":  # PostgreSQL does not cast true to one
            column = nw.when(~column.is_null()).then(self.flag(column))
        x = column.cast(nw.Float64)
        # SQLite, of all engines, has neither NaN nor a word for it.
        has_nan = self.schema[name].is_float() and not self._is_sqlite
        if not has_nan:
            return x
        # DuckDB takes isnan(x) for false where the statistics of a Parquet file, which know no NaN, seem to say so.
        return nw.when(~(x.exp() if self.is_duckdb else x).is_nan()).then(x)

    def value(self, name: str) -> nw.Expr:
        """A column as levels or labels: text, numbers, true or false."""
        storage = self.storage(name)
        if storage == "text":
            return self.column(name) if self.schema[name] == nw.String else self.column(name).cast(nw.String)
        return self.number(name) if storage == "number" else self.column(name)

    @property
    def is_spark(self) -> bool:
        """Whether the rows are on Spark, be it through Spark Connect."""
        return self.engine not in ENGINES

    @property
    def is_spread(self) -> bool:
        """Whether the rows are on workers, which count for themselves."""
        return self.is_spark or self.engine == "dask"

    @cached_property
    def is_duckdb(self) -> bool:
        """Whether DuckDB counts the rows, be it through Ibis."""
        return self.engine == "duckdb" or (
            self.engine == "ibis" and nw.to_native(self.frame).get_backend().name == "duckdb"
        )

    @cached_property
    def _is_sqlite(self) -> bool:
        return self.engine == "ibis" and nw.to_native(self.frame).get_backend().name == "sqlite"

    def first(self, rows: int, columns: Sequence[str]) -> Table:
        """Some rows, whichever come first."""
        with self.errors():
            return read_table(self.frame.select(*self._chosen(columns)).head(rows).collect().to_native())

    def labelled(self, columns: Sequence[str], target: str) -> nw.LazyFrame[Any]:
        """Some columns of the rows that have a label."""
        return self.frame.filter(~self.value(target).is_null()).select(*self._chosen([*columns, target]))

    def with_plain_types(self) -> Lazy:
        """The same table with lists of tags as text, and DuckDB's times in a type that its functions take."""
        if self.engine == "duckdb":
            return Lazy(nw.from_native(plain_in_duckdb(nw.to_native(self.frame))), self.renamed)
        lists = [name for name, kind in self.schema.items() if isinstance(kind, nw.List) and kind.inner == nw.String]
        found = listed_in_engine(self.engine, nw.to_native(self.frame), {self.renamed.get(n, n): n for n in lists})
        return self if found is None else Lazy(nw.from_native(found), self.renamed)

    def without(self, name: str, value: int) -> Lazy:
        """The same table with a number of a column read as a missing value."""
        column = self.column(name)
        changed = nw.when(column != value).then(column).alias(self.renamed.get(name, name))
        return Lazy(self.frame.with_columns(changed), self.renamed)

    def counted(self, weight: str) -> Lazy:
        """The same table without the rows whose weight is zero."""
        if self.storage(weight) not in ("number", "integer", "boolean"):
            return self
        column = self.number(weight)
        return Lazy(self.frame.filter((column != 0) | column.is_null()), self.renamed)

    @property
    def can_read(self) -> bool:
        """Whether columns can be read from others, such as the parts of a date, where the rows are."""
        return self.engine != "ibis"

    def read_as(self, readings: Mapping[str, Reading]) -> Lazy:
        """The same table with columns that are read from others."""
        if not readings or not self.can_read:
            return self
        native = nw.to_native(self.frame)
        if self.engine == "polars":
            return Lazy(nw.from_native(read_polars(native, readings)))
        if self.is_spread:
            there = {self.renamed.get(name, name): _there(each, self.renamed) for name, each in readings.items()}
            return Lazy(nw.from_native(read_by_workers(self.engine, native, there)), self.renamed)
        found = expressions(readings, self.storage)
        changed = ", ".join(f"{found[name][0]} AS {quoted(name)}" for name in found if name in self.schema)
        added = "".join(f", {found[name][0]} AS {quoted(name)}" for name in found if name not in self.schema)
        return Lazy(nw.from_native(native.project(f"*{f' REPLACE ({changed})' if changed else ''}{added}")))

    def measured(self, target: str) -> Measure:
        """How columns that are read from others are measured, among the rows that have a label."""
        native = nw.to_native(self.frame.filter(~self.value(target).is_null()))
        if self.engine == "polars":
            return measured_polars(native)
        if self.is_spread:
            measure = measured_by_workers(self.engine, native)
            return lambda asked: measure({key: _there(each, self.renamed) for key, each in asked.items()})

        def query(sql: str) -> list[tuple[Any, ...]]:
            with self.errors():
                found: list[tuple[Any, ...]] = native.query("tb_rows", sql.replace("{scan}", "tb_rows")).fetchall()
                return found

        return measured_sql(query, self.storage)

    @property
    def draws(self) -> bool:
        """Whether the engine draws samples, so that all its rows need not travel: it is not in this process."""
        return self.is_spread or (self.engine == "ibis" and not self.is_duckdb and not self._is_sqlite)

    def tables(self, columns: Sequence[str], target: str | None = None) -> Iterator[Table]:
        """The rows, or those that have a label, a part at a time where the engine hands them out so."""
        chosen = self.frame.select(*self._chosen(columns)) if target is None else self.labelled(columns, target)
        native = nw.to_native(chosen)
        with self.errors():
            if self.engine == "duckdb":
                yield from _tables_of(native.to_arrow_reader(BATCH))
            elif self.engine == "ibis" and native.get_backend().name != "duckdb":  # whose batches Ibis cannot read
                yield from _tables_of(native.to_pyarrow_batches(chunk_size=BATCH))
            elif self.engine == "polars":
                yield from (read_table(part) for part in native.collect_batches(chunk_size=BATCH) if len(part))
            else:
                yield read_table(chosen.collect().to_native())

    def sample(self, rows: int, columns: Sequence[str], target: str, of: int) -> Table:
        """About so many of the rows that have a label, drawn at random by the engine."""
        native = nw.to_native(self.labelled(columns, target))
        with self.errors():
            if self.engine == "dask":
                drawn = native.sample(frac=rows / of, random_state=1)
            elif self.engine == "ibis":
                drawn = native.sample(rows / of)  # databases take no seed
            else:
                drawn = native.sample(fraction=rows / of, seed=1)
            return read_table(nw.from_native(drawn).collect().to_native())

    def is_numbering(self, name: str, seen: Seen) -> bool:
        """Whether whole numbers that span as many values as there are rows have each of them once."""
        with self.errors():
            different = self.frame.select(self.column(name).n_unique()).collect().item()
        return bool(different == seen.high - seen.low + 1)


def _there(reading: Reading, renamed: Mapping[str, str]) -> Reading:
    """The reading of a column that may have another name in the engine."""
    return replace(reading, source=renamed.get(reading.source, reading.source))


def _tables_of(batches: Any) -> Iterator[Table]:
    from tallybayes.data.arrow import tables_of  # with PyArrow, which a frame does without

    return tables_of(batches)
