"""Rows that stay where they are: DuckDB relations, Polars lazy frames, Ibis tables, Spark and Dask data frames.

All of them are asked in the words of narwhals. The questions are sums, minima, maxima and counts, grouped by the class
and perhaps a level or a bin; what comes back is as large as the tally. Numbers are cast to floats before they are
multiplied, and summed about a value amid them, so that 1e8 + noise keeps its noise in every engine.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from tallybayes.batch import Array
from tallybayes.errors import DataError, NotAvailableError, TallybayesError
from tallybayes.infer import CODED
from tallybayes.schema import Column, Level, Schema, in_order, plural
from tallybayes.sources.files import BATCH, LOOK
from tallybayes.sources.labels import is_hole
from tallybayes.sources.survey import MOST_LEVELS, Mode, Seen, Survey, refuse_regression, refuse_unlabelled
from tallybayes.sources.tables import Table, read_table
from tallybayes.sources.values import Storage
from tallybayes.tally import Block, Counts, Moments, Tally, cell_grid

LABEL, WEIGHT, VALUE, COLUMN = "tb_label", "tb_weight", "tb_value", "tb_column"
MOST_ON_SPARK = 10  # columns in one question
LOSSY = 1e4  # how far a class may lie from the centre, in variances, before it is summed about its own mean
ENGINES = {"duckdb": "DuckDB relation", "polars": "Polars LazyFrame", "ibis": "Ibis table", "dask": "Dask DataFrame"}


def is_lazy(data: Any) -> bool:
    """Whether the rows are in an engine that is asked for them."""
    try:
        found = data if isinstance(data, Lazy) else nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:  # of a frame with two columns of one name, which is refused where it is read
        return False
    return isinstance(found, Lazy | nw.LazyFrame)


@dataclass(frozen=True)
class Question:
    """Sums, minima and maxima of expressions, for every combination of keys.

    Answers of parts of the rows can be put together by `merge`, so it does not matter who is asked.
    """

    chosen: Sequence[nw.Expr]  # the keys and what is summed, named
    keys: Sequence[str]
    sums: Sequence[str] = ()
    counts: Sequence[str] = ()  # of these how many there are
    ranges: Sequence[str] = ()  # of these the least and the largest
    conditions: Sequence[nw.Expr] = ()  # which rows count
    derived: Sequence[nw.Expr] = ()  # from the chosen, in a second step

    def __call__(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """The question, put to a table."""
        frame = frame.select(*self.chosen)
        for condition in self.conditions:
            frame = frame.filter(condition)
        frame = frame.with_columns(*self.derived) if self.derived else frame
        ends = [f(nw.col(name)).alias(f"{name}_{end}") for name in self.ranges for end, f in ENDS.items()]
        known = (nw.col(name).count().alias(f"{name}_0") for name in self.counts)
        return frame.group_by(*self.keys).agg(*(nw.col(name).sum() for name in self.sums), *known, *ends)

    def merge(self, answers: Sequence[Any]) -> Any:
        """The answers of parts of the rows as one."""
        frame = nw.concat([nw.from_native(answer) for answer in answers])
        ends = [f(nw.col(f"{name}_{end}")) for name in self.ranges for end, f in ENDS.items()]
        added = [*self.sums, *(f"{name}_0" for name in self.counts)]
        return frame.group_by(*self.keys).agg(*(nw.col(name).sum() for name in added), *ends).to_native()

    @property
    def names(self) -> list[str]:
        """What an answer is made of."""
        ends = [f"{name}_{end}" for name in self.ranges for end in ENDS]
        return [*self.keys, *self.sums, *(f"{name}_0" for name in self.counts), *ends]


ENDS: dict[str, Any] = {"low": nw.Expr.min, "high": nw.Expr.max}


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
                found = _asked_by_partition(nw.to_native(self.frame), question)
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

    # ------------------------------------------------------------------------------------------ counting

    def _labels(self, target: str, weight: str | None) -> list[nw.Expr]:
        w = self.lit(1.0) if weight is None else self.number(weight)
        return [self.value(target).alias(LABEL), w.alias(WEIGHT)]

    def grouped(
        self, target: str, weight: str | None, keys: Mapping[str, nw.Expr], complete: bool = False
    ) -> list[tuple[Any, ...]]:
        """Rows (label, key, …, weight) of every combination that occurs; ``complete`` leaves out holes."""
        known = [LABEL, *(keys if complete else ())]
        chosen = [*self._labels(target, weight), *(x.alias(name) for name, x in keys.items())]
        present = [~nw.col(name).is_null() for name in known]
        return self.ask(Question(chosen, [LABEL, *keys], [WEIGHT], conditions=present))

    def levels(self, names: Sequence[str], target: str, weight: str | None = None) -> dict[str, list[tuple[Any, ...]]]:
        """Rows (label, level, weight) of each column. Where a question is a job, all columns of text are one."""
        texts = [name for name in names if self.storage(name) == "text" and self.is_spark]
        found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in names}
        if texts:
            places = {f"tb_{place}": name for place, name in enumerate(texts)}
            chosen = [*self._labels(target, weight), *(self.value(name).alias(key) for key, name in places.items())]
            index = [LABEL, WEIGHT]
            long = self.frame.select(*chosen).unpivot(list(places), index=index, variable_name=COLUMN, value_name=VALUE)
            keys = [LABEL, COLUMN, VALUE]
            present = [~nw.col(name).is_null() for name in keys]
            question = Question([nw.col(name) for name in (*keys, WEIGHT)], keys, [WEIGHT], conditions=present)
            for label, key, level, total in Lazy(long).ask(question):
                found[places[key]].append((label, level, total))
        for name in (name for name in names if name not in texts):
            found[name] = self.grouped(target, weight, {VALUE: self.value(name)}, complete=True)
        return found

    def ranges(self, columns: Mapping[str, nw.Expr]) -> dict[str, tuple[float | None, float | None, float, float]]:
        """The least and the largest of expressions, how many rows have a value, and how many there are."""
        keys = {f"tb_{j}": name for j, name in enumerate(columns)}
        chosen = [self.lit(1.0).alias(WEIGHT), *(x.alias(key) for key, x in zip(keys, columns.values(), strict=True))]
        known = [self.flag(~nw.col(key).is_null()).alias(f"{key}_n") for key in keys]
        derived = [nw.lit(0).alias(LABEL), *known]
        sums = [WEIGHT, *(f"{key}_n" for key in keys)]
        ((_, rows, *cells),) = self.ask(Question(chosen, [LABEL], sums, ranges=list(keys), derived=derived))
        n = len(keys)
        return {name: (cells[n + 2 * j], cells[n + 2 * j + 1], cells[j], rows) for j, name in enumerate(columns)}

    def sums(
        self, columns: Mapping[str, tuple[nw.Expr, float]], target: str, weight: str | None, only: Level | None = None
    ) -> dict[Level | None, tuple[float, dict[str, Array]]]:
        """For each label the weight, and of each expression Σ w, Σ w·(x − c), Σ w·(x − c)², min and max; c is given.

        Rows of weight zero are no rows.
        """
        answer: dict[Level | None, tuple[float, dict[str, Array]]] = {}
        # Of very long questions Spark makes code that Java will not compile.
        step = MOST_ON_SPARK if self.is_spark else max(len(columns), 1)
        for first in range(0, max(len(columns), 1), step):
            some = list(columns)[first : first + step]
            question = self._sums({name: columns[name] for name in some}, target, weight, only)
            for row in self.ask(question):
                found = {name: 0.0 if cell is None else cell for name, cell in zip(question.names, row, strict=True)}
                label, total = row[0], float(found[WEIGHT])
                one = "{}_1" if weight is not None else "{}"
                fields = ("{}_0", one, "{}_2", "{}_low", "{}_high")
                by_name = {name: np.array([float(found[field.format(name)]) for field in fields]) for name in some}
                answer[label] = total, {**answer.get(label, (0.0, {}))[1], **by_name}
        return answer

    def _sums(
        self, columns: Mapping[str, tuple[nw.Expr, float]], target: str, weight: str | None, only: Level | None
    ) -> Question:
        w, names = nw.col(WEIGHT), list(columns)
        conditions = [] if weight is None else [w > 0]
        if only is not None:
            conditions.append(nw.col(LABEL) == nw.lit(only))  # type: ignore[arg-type]
        shifted = ((x - nw.lit(centre)).alias(name) for name, (x, centre) in columns.items())
        chosen = [*self._labels(target, weight), *shifted]
        if weight is None:
            squares = [(nw.col(name) * nw.col(name)).alias(f"{name}_2") for name in names]
            sums = [WEIGHT, *names, *(f"{name}_2" for name in names)]
            return Question(chosen, [LABEL], sums, names, names, conditions, squares)
        parts = []
        for name in names:
            x = nw.col(name)
            known = nw.when(~x.is_null()).then(w)
            parts += [known.alias(f"{name}_0"), (w * x).alias(f"{name}_1"), (w * x * x).alias(f"{name}_2")]
        sums = [WEIGHT, *(f"{name}_{power}" for name in names for power in (0, 1, 2))]
        return Question(chosen, [LABEL], sums, (), names, conditions, parts)

    def moments(
        self, columns: Mapping[str, nw.Expr], centre: Mapping[str, float], target: str, weight: str | None, classes: Any
    ) -> dict[str, Seen]:
        """Weight, mean, centred squares and range of expressions, by class."""
        asked = {f"tb_{j}": (x, centre.get(name, 0.0)) for j, (name, x) in enumerate(columns.items())}
        found = self.sums(asked, target, weight)
        seen = {}
        for key, name in zip(asked, columns, strict=True):
            table = np.array([found[k][1][key] if k in found else np.zeros(5) for k in classes]).reshape(-1, 5)
            seen[name] = self._centred(name, table, asked[key], target, weight, classes)
        return seen

    def _centred(
        self, name: str, table: Array, asked: tuple[nw.Expr, float], target: str, weight: str | None, classes: Any
    ) -> Seen:
        total, first, second, low, high = table.T
        known = total > 0
        if not np.isfinite(low[known] + high[known]).all():
            raise DataError(f"column {name!r} is infinite in some row. Replace infinite values, or leave them empty.")
        if not np.isfinite(second).all():
            raise DataError(f"column {name!r} holds numbers whose squares overflow. Rescale the column.")
        x, centre = asked
        shift = np.divide(first, total, out=np.zeros_like(first), where=known)
        m2 = np.maximum(second - total * shift**2, 0.0)
        mean = shift + centre
        for k in np.flatnonzero(known & (low < high) & (total * shift**2 > LOSSY * m2)).tolist():
            again = self.sums({"tb_0": (x, float(mean[k]))}, target, weight, only=classes[k])
            part = again[classes[k]][1]["tb_0"]
            step = part[1] / part[0]
            mean[k], m2[k] = mean[k] + step, part[2] - part[0] * step**2
        same = known & (low == high)  # what does not vary does so exactly
        mean, m2 = np.where(same, low + centre, mean), np.where(same, 0.0, m2)
        ends = (float(low[known].min()) + centre, float(high[known].max()) + centre) if known.any() else (0.0, 0.0)
        return Seen(total, np.where(known, mean, 0.0), m2, *ends, {})


def _asked_by_partition(native: Any, question: Question) -> nw.DataFrame[Any]:
    """Dask: each partition answers for itself, and the answers are put together as a tree."""
    from dask.base import compute
    from dask.delayed import delayed

    answers = [delayed(_answered)(part, question) for part in native.to_delayed()]
    while len(answers) > 1:
        answers = [delayed(question.merge)(answers[i : i + 8]) for i in range(0, len(answers), 8)]
    (found,) = compute(*answers)  # type: ignore[no-untyped-call, unused-ignore]
    return nw.from_native(found, eager_only=True)


def summed_tables(lazy: Lazy, names: Sequence[str], work: Callable[[Table], Tally]) -> Tally:
    """Σ work over the rows, part by part: on the workers of Spark and Dask, else here, a batch at a time."""
    native = nw.to_native(lazy.frame.select(*names))
    with lazy.errors():
        if lazy.is_spark:
            found = native.mapInArrow(_Parts(work), "part binary").toLocalIterator()
            return sum((pickle.loads(bytes(row[0])) for row in found), Tally.empty())
        if lazy.engine == "dask":
            from dask.base import compute
            from dask.delayed import delayed

            parts = [delayed(_worked)(part, work) for part in native.to_delayed()]
            while len(parts) > 1:
                parts = [delayed(sum)(parts[i : i + 8], Tally.empty()) for i in range(0, len(parts), 8)]
            return compute(*parts)[0]  # type: ignore[no-untyped-call, no-any-return, unused-ignore]
        if lazy.engine == "duckdb":
            return sum(map(work, _tables(native.to_arrow_reader(BATCH))), Tally.empty())
        if lazy.engine == "ibis" and native.get_backend().name != "duckdb":  # whose batches Ibis cannot read
            return sum(map(work, _tables(native.to_pyarrow_batches(chunk_size=BATCH))), Tally.empty())
        return work(read_table(nw.from_native(native).collect().to_native()))


@dataclass(frozen=True)
class _Parts:
    """What a worker of Spark does: a tally of its rows, as bytes."""

    work: Callable[[Table], Tally]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        tally = sum(map(self.work, _tables(batches)), Tally.empty())
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(tally)], pa.binary())], ["part"])


def _tables(batches: Iterable[Any]) -> Iterator[Table]:
    import pyarrow as pa

    from tallybayes.sources.arrow import arrow_table  # with PyArrow, which a frame does without

    for batch in batches:
        if batch.num_rows:
            yield arrow_table(pa.Table.from_batches([batch]))


def _worked(part: Any, work: Callable[[Table], Tally]) -> Tally:
    return work(read_table(part)) if len(part) else Tally.empty()


def _answered(part: Any, question: Question) -> Any:
    return question(nw.from_native(part).lazy()).collect().to_native()


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


# ------------------------------------------------------------------------------------------ a look at all columns


def survey_lazy(lazy: Lazy, target: str, modes: Mapping[str, Mode], unlabelled: str = "error") -> Survey:
    """Count the rows of a table by class; each row once, whatever its weight."""
    if lazy.storage(target) in ("date", "other"):
        raise DataError(f"the target {target!r} of {lazy.name} holds {lazy.types[target]}, which cannot be a label")
    numbers = [name for name, mode in modes.items() if mode == "numbers" or _counts_truth(lazy, name, mode)]
    levels = [name for name, mode in modes.items() if mode == "levels" and name not in numbers]
    others = [name for name in modes if name not in numbers and name not in levels]
    expressions = {name: lazy.number(name) for name in numbers}
    # Of all others only holes are counted.
    expressions |= {name: nw.when(~nw.col(name).is_null()).then(lazy.lit(0.0)) for name in others}
    centre = centres(lazy, {name: name for name in numbers})
    asked = {f"tb_{j}": (x, centre.get(name, 0.0)) for j, (name, x) in enumerate(expressions.items())}
    found = lazy.sums(asked, target, None)
    holes = int(found.get(None, (0.0, {}))[0])
    refuse_unlabelled(holes, unlabelled, lazy.name, target)
    classes = in_order(label for label in found if label is not None)
    if not classes:
        raise DataError(f"{lazy.name} has no row with a label" if holes else f"{lazy.name} has no rows")
    class_weight = np.array([found[k][0] for k in classes])
    n_rows = int(class_weight.sum())
    if len(classes) > max(1000, n_rows // 2):
        raise DataError(
            f"the target {target!r} of {lazy.name} has {len(classes):,} different values in {plural(n_rows, 'row')}: "
            "that is no label but a number, a name or a code; bin it, or choose another"
        )
    refuse_regression(lazy.name, target, classes)
    seen: dict[str, Seen] = {}
    for key, name in zip(asked, expressions, strict=True):
        table = np.array([found[k][1][key] for k in classes]).reshape(-1, 5)
        one = lazy._centred(name, table, asked[key], target, None, classes)
        seen[name] = _of_truth(one) if _counts_truth(lazy, name, modes[name]) else one
    for name, rows in lazy.levels(levels, target).items():
        seen[name] = _of_levels(lazy, name, rows, classes)
    return Survey(classes, class_weight, {name: seen[name] for name in modes}, holes)


def centres(lazy: Lazy, columns: Mapping[str, str], logs: bool = False) -> dict[str, float]:
    """A value amid the numbers (or their logs) of each column, from the first rows: by key, for the column it names."""
    names = list(dict.fromkeys(columns.values()))
    table = lazy.first(LOOK // 8, names) if names else None  # to be amid them a few will do
    found = {}
    for key, name in columns.items():
        assert table is not None
        values = (
            np.asarray(table.columns[name].numbers(0, table.n_rows), dtype=np.float64) if table.n_rows else np.zeros(0)
        )
        values = values[np.isfinite(values)]
        values = np.log(values[values > 0]) if logs else values
        found[key] = float(values.mean()) if len(values) else 0.0
    return found


def _counts_truth(lazy: Lazy, name: str, mode: Mode) -> bool:
    """Whether a column of true and false is counted by the sum of the true ones."""
    return mode == "levels" and lazy.storage(name) == "boolean"


def _of_truth(one: Seen) -> Seen:
    true = np.rint(one.mean * one.weight)
    counts: dict[Level, Array] = {False: one.weight - true, True: true}
    return Seen(one.weight, one.mean * 0.0, one.m2 * 0.0, 0.0, 0.0, {k: v for k, v in counts.items() if v.any()})


def _of_levels(lazy: Lazy, name: str, rows: Sequence[tuple[Any, ...]], classes: tuple[Level, ...]) -> Seen:
    place, counts = {k: i for i, k in enumerate(classes)}, dict[Level, Array]()
    for label, level, number in rows:
        counts.setdefault(level, np.zeros(len(classes)))[place[label]] += float(number)
    weight = sum(counts.values(), np.zeros(len(classes)))
    none = np.zeros(len(classes))
    if len(counts) > MOST_LEVELS and len(counts) < weight.sum():
        raise DataError(
            f"column {name!r} of {lazy.name} has {len(counts):,} different values, too many for a category; leave it "
            f"out with drop=[{name!r}]"
        )
    return Seen(weight, none, none, 0.0, 0.0, counts)


# ------------------------------------------------------------------------------------------ a tally of known columns


def count_lazy(
    lazy: Lazy,
    schema: Schema,
    places: Mapping[str, Sequence[int]],
    families: Mapping[str, Any],
    target: str,
    weight: str | None,
) -> Tally:
    """The tally of columns that are known, whatever family reads them; every sum is the engine's."""
    if weight is not None:
        _check_weights(lazy, weight)
    classes = schema.classes
    totals = {label: float(total or 0.0) for label, total in lazy.grouped(target, weight, {})}
    class_weight = np.array([totals.get(k, 0.0) for k in classes])
    if not class_weight.any():
        raise DataError("Sample weights must contain at least one non-zero number.")
    counter = Counter(lazy, target, weight, classes, class_weight)
    blocks = {}
    for block, positions in places.items():
        columns = [schema.columns[p] for p in positions]
        blocks[block] = Block(list(positions), counter.summary(block, columns, families[block]))
    return Tally(schema, class_weight, blocks)


def _check_weights(lazy: Lazy, weight: str) -> None:
    if lazy.storage(weight) not in ("number", "integer"):
        raise DataError(f"the weights in column {weight!r} of {lazy.name} are no numbers")
    low, high, known, rows = lazy.ranges({weight: lazy.number(weight)})[weight]
    if known < rows or low is None or low < 0 or high is None or not np.isfinite(high):
        worst = "missing" if known < rows else f"{low if low is not None and low < 0 else high:g}"
        raise DataError(f"a weight must be finite and non-negative, but it is {worst} in some row of {lazy.name}")


@dataclass(frozen=True)
class Counter:
    """How the summary of each kind of block is asked for."""

    lazy: Lazy
    target: str
    weight: str | None
    classes: tuple[Level, ...]
    class_weight: Array

    def summary(self, block: str, columns: Sequence[Column], family: Any) -> Any:
        """The summary of a block of columns."""
        if block in CODED:
            return self.coded(columns)
        known = [column for column in columns if column.name in self.lazy.types]
        x = {column.name: self.lazy.number(column.name) for column in known}
        if block == "gaussian":
            return self.moments(columns, x)
        if block == "lognormal":
            return self.logs(columns, x)
        if block == "zero_inflated":
            return self.spiked(columns, x, family)
        if block in ("poisson", "exponential", "multinomial") and getattr(family, "document_length", None) is None:
            return self.events(columns, x, block)
        raise NotAvailableError(
            f"{block} columns cannot be counted in {self.lazy.name}; bring the rows to this process"
        )

    def moments(self, columns: Sequence[Column], x: Mapping[str, nw.Expr], logs: bool = False) -> Moments:
        """Moments of an expression for each column."""
        centre = centres(self.lazy, {name: name for name in x}, logs)
        seen = self.lazy.moments(x, centre, self.target, self.weight, self.classes)
        none = np.zeros(len(self.classes))
        nothing = Seen(none, none, none, 0.0, 0.0, {})
        found = [seen.get(column.name, nothing) for column in columns]
        return Moments(
            *(np.stack([getattr(one, field) for one in found], axis=1) for field in ("weight", "mean", "m2"))
        )

    def logs(self, columns: Sequence[Column], x: Mapping[str, nw.Expr]) -> Moments:
        """Moments of the logarithms."""
        self.refuse_below(x, 0.0, "a lognormal number is above 0", strictly=True)
        return self.moments(columns, {name: nw.when(v > 0).then(v).log() for name, v in x.items()}, logs=True)

    def spiked(self, columns: Sequence[Column], x: Mapping[str, nw.Expr], family: Any) -> Any:
        """How many are not zero, and the moments of those."""
        rest = {name: nw.when(v != 0).then(v) for name, v in x.items()}
        if family.rest == "lognormal":
            self.refuse_below(x, 0.0, "a lognormal number is above 0", strictly=False)
            moments = self.moments(columns, {name: v.log() for name, v in rest.items()}, logs=True)
        else:
            moments = self.moments(columns, rest)
        flags = {name: nw.when(~v.is_null()).then(self.lazy.flag(v != 0)) for name, v in x.items()}
        other = self.events(columns, flags, "")
        return family.summary(other, moments)

    def events(self, columns: Sequence[Column], x: Mapping[str, nw.Expr], block: str) -> Counts:
        """Σ w·x and Σ w."""
        if block:
            what = "an exponential number is at least 0" if block == "exponential" else "counts cannot be negative"
            self.refuse_below(x, 0.0, what, strictly=False)
        found = self.lazy.sums({f"tb_{j}": (v, 0.0) for j, v in enumerate(x.values())}, self.target, self.weight)
        key, none = {name: f"tb_{j}" for j, name in enumerate(x)}, np.zeros(5)
        table = np.array(
            [
                [found[k][1][key[c.name]] if k in found and c.name in key else none for c in columns]
                for k in self.classes
            ]
        )
        weight = table[:, :, 0]
        if block == "multinomial":
            if np.any(weight < self.class_weight[:, None]):
                name = columns[int(np.argwhere(weight < self.class_weight[:, None])[0, 1])].name
                raise DataError(
                    f"column {name!r} has holes. Counts cannot have holes: fill them, or use family 'poisson'."
                )
            weight = self.class_weight[:, None]
        return Counts(np.ascontiguousarray(table[:, :, 1]), np.ascontiguousarray(weight))

    def refuse_below(self, x: Mapping[str, nw.Expr], least: float, why: str, strictly: bool) -> None:
        """Numbers that a family cannot read are an error that names the column."""
        for name, (value, *_) in self.lazy.ranges(x).items() if x else ():
            if value is not None and (value <= least if strictly else value < least):
                raise DataError(f"column {name!r} holds {value:g}, and {why}. Use another family.")

    # ------------------------------------------------------------------------------------------ levels, bins, pairs

    def coded(self, columns: Sequence[Column]) -> Counts:
        """Weight of every level, bin or combination."""
        plain = [c.name for c in columns if c.parts is None and c.edges is None and c.name in self.lazy.types]
        levels = self.lazy.levels(plain, self.target, self.weight)
        tables = []
        for column in columns:
            if column.parts is not None:
                rows, keys = self.paired(column)
            elif column.edges is not None:
                rows, keys = (
                    self.lazy.grouped(self.target, self.weight, {VALUE: self.bin(column)}, complete=True),
                    [None],
                )
            else:
                rows, keys = levels.get(column.name, []), [column]
            tables.append(self.table(column, rows, keys))
        n_levels, n_right = cell_grid(columns)
        weight = np.stack([table.sum(axis=1) for table in tables], axis=1)
        return Counts(np.concatenate(tables, axis=1), weight, n_levels, n_right)

    def bin(self, column: Column) -> nw.Expr:
        """The number of the bin: how many edges are at or below."""
        x, edges = self.lazy.number(column.name), column.edges or ()
        passed = nw.when(~x.is_null()).then(nw.lit(0))
        for edge in edges:
            passed = passed + nw.when(x >= nw.lit(edge)).then(nw.lit(1)).otherwise(nw.lit(0))
        return passed

    def paired(self, column: Column) -> tuple[list[tuple[Any, ...]], list[Any]]:
        assert column.parts is not None
        if any(part.name not in self.lazy.types for part in column.parts):
            return [], list(column.parts)
        parts = [part if part.edges is None else None for part in column.parts]
        keys = {
            f"tb_{side}": self.bin(part) if part.edges is not None else self.lazy.value(part.name)
            for side, part in enumerate(column.parts)
        }
        return self.lazy.grouped(self.target, self.weight, keys), parts

    def table(self, column: Column, rows: Sequence[tuple[Any, ...]], keys: Sequence[Column | None]) -> Array:
        """Weights (K, cells) from rows (label, key, …, weight); a key is a bin, or a level of a column."""
        out = np.zeros((len(self.classes), column.n_cells))
        place = {k: i for i, k in enumerate(self.classes)}
        codes = [None if key is None else {level: i for i, level in enumerate(key.levels or ())} for key in keys]
        n_right = 1 if column.parts is None else column.parts[1].n_cells
        for label, *cells, total in rows:
            at = [cell if code is None else code.get(cell) for cell, code in zip(cells, codes, strict=True)]
            if label in place and None not in at:
                left, right = (*map(int, at), 0)[:2]  # type: ignore[arg-type]
                out[place[label]][left * n_right + right] += float(total or 0.0)
        if column.parts is None and column.levels and column.levels[-1] is None:  # what has no value is a level
            out[:, -1] = self.class_weight - out[:, :-1].sum(axis=1)
        return out
