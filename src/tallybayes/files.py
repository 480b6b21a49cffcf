"""Learning from files and lazy tables: counted where they are, streamed through the families where that cannot be.

`Tally.of("loans.parquet", target="paid")` comes here, and so do `NaiveBayes.fit`, and the commands that learn. Files
are DuckDB's; relations, lazy frames, Ibis tables, Spark and Dask data frames are counted by their own engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tallybayes.batch import MISSING, Labels
from tallybayes.errors import DataError, SettingError
from tallybayes.families import FAMILIES, Family
from tallybayes.infer import KIND_OF_FAMILY, infer
from tallybayes.schema import Column, Schema, in_order, words
from tallybayes.sources import Tally
from tallybayes.sources.columns import Overrides, inferred, matched, split_target
from tallybayes.sources.files import LOOK, File, Progress, TypeConflict, is_file, known_column, open_file, quoted
from tallybayes.sources.labels import encode, encode_labels, row_weights
from tallybayes.sources.lazy import Lazy, count_lazy, is_lazy, summed_tables, survey_lazy
from tallybayes.sources.pushdown import survey
from tallybayes.sources.survey import PUSHED, Mode, Survey, profiles, pushed, refuse_regression, refuse_unlabelled
from tallybayes.sources.tables import Table, TableBatch, profile, read_table
from tallybayes.sources.values import Values
from tallybayes.sources.words import Counted
from tallybayes.tally import SOURCES, count
from tallybayes.tokens import Tokens, Vocabulary

SAMPLE = 50_000  # rows that are drawn where something is chosen or judged by looking at rows

T = TypeVar("T")
Families = Callable[[Schema], Mapping[str, Family]]  # the families that are to count columns of such a schema


@dataclass(frozen=True)
class Learned:
    """What was learned of a file."""

    tally: Tally
    places: Mapping[str, Sequence[int]]  # block → positions of its columns
    file: File | Lazy
    target: str
    weight: str | None  # the column of row weights
    n_rows: tuple[int, ...]  # rows of each class
    unlabelled: int  # rows without a label, left out

    def sample(self, rows: int = SAMPLE) -> TableBatch:
        """Some of the rows, drawn at random: all of them if there are no more."""
        schema = self.tally.schema
        columns = [c.name for c in schema.columns if c.kind != "ignored" and c.name in self.file.types]
        extra = [self.target] if self.weight is None else [self.target, self.weight]
        table = self.file.sample(rows, [*dict.fromkeys([*columns, *extra])], present=self.target)
        return labelled(table, schema, self.places, self.target, self.weight)


def is_source(data: Any) -> bool:
    """Whether the rows are in files or in an engine, and are counted there."""
    return is_file(data) or is_lazy(data)


def open_source(data: Any) -> File | Lazy:
    """The files or the table, ready to be asked."""
    return open_file(data) if is_file(data) else Lazy.of(data)


def tally_file(
    data: Any,
    target: str | None = None,
    *,
    kind: Mapping[str, Any] | None = None,
    family: Mapping[str, str] | None = None,
    drop: Sequence[str] | None = None,
    missing: Any = "ignore",
    weight: str | None = None,
    unlabelled: str = "error",
    progress: Progress | None = None,
) -> Tally:
    """Tally the rows of a file, of all files of a pattern, or of a table in a database, in Spark or in Dask.

    Parameters
    ----------
    data : path or str, or lazy table
        CSV, TSV, Parquet, JSON lines or Arrow; or a DuckDB relation, a Polars LazyFrame, an Ibis table, a Spark or Dask
        DataFrame.
    target : str
        The column of class labels.
    kind, family, drop, missing
        As in `NaiveBayes`.
    weight : str, optional
        The column of row weights.
    unlabelled : {"error", "ignore"}
        What to do with rows that have no label.
    progress : callable, optional
        Told now and then the share that is done.

    Returns
    -------
    Tally

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "days.csv"
    >>> _ = path.write_text("wind,degrees,play\\nstrong,12.5,no\\nweak,,yes\\nweak,21,yes\\n")
    >>> tally_file(path, target="play")
    Tally(3 rows; no: 1, yes: 2; 2 columns)
    """
    told = Overrides.of(kind, family, drop, missing, None)
    return learn_file(data, target, told, weight=weight, unlabelled=unlabelled, progress=progress).tally


def learn_file(
    data: Any,
    target: str | None,
    told: Overrides,
    families: Families | None = None,
    *,
    weight: str | None = None,
    unlabelled: str = "error",
    progress: Progress | None = None,
) -> Learned:
    """Infer what the columns of a file are, and tally its rows."""
    _check(unlabelled)

    def looked(file: File | Lazy) -> tuple[File | Lazy, Survey]:
        extra = None if weight is None else known_column(file, weight, "weights")
        names = [name for name in file.names if name not in (_target(file, target), extra)]
        told.check(names)
        modes = {name: _mode(file, name, told) for name in names}
        unsure = _unsure(file, [name for name, mode in modes.items() if mode == "levels"], told)
        # A file is parsed once for all that is looked at in its first rows; an engine is asked for what it must tell.
        asked = unsure if isinstance(file, Lazy) else [_target(file, target), *_counted(modes, told)]
        opening = file.first(LOOK, asked) if asked else Table({}, 0)
        texts.clear()
        texts.update({name: "as told" for name in names if modes[name] == "levels" and told.kind.get(name) == "text"})
        texts.update(_texts(opening, unsure))
        modes |= dict.fromkeys(texts, "nothing")
        if isinstance(file, Lazy):
            return file, survey_lazy(file, _target(file, target), modes, unlabelled)
        return file, survey(file, _target(file, target), modes, unlabelled, progress, opening)

    texts: dict[str, str] = {}
    file, seen = settled(open_source(data), looked)
    told_so = replace(told, kind={**told.kind, **dict.fromkeys(texts, "text")})
    columns = inferred(Table(profiles(file, seen), seen.n_rows), told_so, whole=True)  # type: ignore[arg-type]
    why = {name: reason for name, reason in texts.items() if name not in told.kind}
    columns = tuple(replace(c, reason=why[c.name], lasting="text") if c.name in why else c for c in columns)
    schema = Schema(columns, seen.classes)
    schema = _with_chosen_words(file, schema, _target(file, target))
    places = told.places(schema)
    usual = {block: FAMILIES[block.split(":")[0]]() for block in places}
    chosen = families(schema) if families is not None else usual
    return _learned(file, seen, schema, places, chosen, _target(file, target), weight, progress)


def count_file(
    data: Any,
    target: str | None,
    known: Schema,
    places: Mapping[str, Sequence[int]],
    families: Mapping[str, Family],
    *,
    weight: str | None = None,
    unlabelled: str = "error",
    progress: Progress | None = None,
) -> Learned:
    """Tally the rows of a file whose columns are known; new levels and classes are found."""
    _check(unlabelled)
    check_columns(open_file(data), known, {target, weight})

    def looked(file: File) -> tuple[File, Survey]:
        file = as_learned(file, known, _target(file, target))
        evidence = [c for c in known.columns if c.kind != "ignored" and c.name in file.types]
        modes: dict[str, Mode] = {c.name: "numbers" if c.levels is None else "levels" for c in evidence}
        modes |= {c.name: "nothing" for c in evidence if c.kind == "text"}
        return file, survey(file, _target(file, target), modes, unlabelled, progress)

    file, seen = settled(open_file(data), looked)
    schema = Schema(tuple(_with_levels(column, seen) for column in known.columns), seen.classes)
    return _learned(file, seen, schema, places, families, _target(file, target), weight, progress)


def recounted(
    learned: Learned,
    schema: Schema,
    places: Mapping[str, Sequence[int]],
    families: Mapping[str, Family],
    progress: Progress | None = None,
) -> Learned:
    """The same rows, read in another way."""
    n_rows = sum(learned.n_rows) + learned.unlabelled
    tally = _streamed(learned.file, schema, places, families, learned.target, learned.weight, n_rows, progress)
    return replace(learned, tally=tally, places=places)


def settled(file: Any, work: Callable[[Any], T]) -> T:
    """Work on a file; where a value does not fit the types that the first rows suggest, again with a look at all."""
    try:
        return work(file)
    except TypeConflict:
        if file.whole:
            raise
        return work(file.looked_through())


def as_learned(file: File, known: Schema, target: str | None = None) -> File:
    """The file with the columns that a model knows read as it learned them: ``007`` is text where it was text."""
    wanted: dict[str, str] = {}
    asked = [(c.name, c.levels, c.kind) for c in known.columns if c.kind != "ignored"]
    for name, levels, kind in [*asked, (target, known.classes, "category")]:
        if name is None or name not in file.types:
            continue
        storage = file.storage(name)
        values = [level for level in levels or () if level is not None] if kind != "text" else []
        if kind == "text":
            wanted |= {name: "VARCHAR"} if storage != "text" else {}
        elif kind in ("numeric", "count") and storage not in ("number", "integer", "boolean"):
            wanted[name] = "DOUBLE"
        elif values and all(isinstance(level, str) for level in values) and storage != "text":
            wanted[name] = "VARCHAR"
        elif values and all(isinstance(level, bool) for level in values) and storage != "boolean":
            wanted[name] = "BOOLEAN"
    return file.cast(wanted) if wanted else file


def check_columns(file: File, known: Schema, others: Collection[str | None]) -> None:
    """Say which columns the file lacks, and which the model never saw."""
    table = Table(dict.fromkeys(file.names), 0)  # type: ignore[arg-type]
    known_names = {column.name for column in known.columns}
    if not known_names & set(file.names):
        raise DataError(
            f"{file.name} has none of the columns that the model knows ({', '.join(list(known.names)[:5])}); it has "
            f"{', '.join(file.names[:5])}"
        )
    left = {name: values for name, values in table.columns.items() if name not in others}
    matched(replace(table, columns=left), known, (), True, False, None, "the model")


def _learned(
    file: File | Lazy,
    seen: Survey,
    schema: Schema,
    places: Mapping[str, Sequence[int]],
    families: Mapping[str, Family],
    target: str,
    weight: str | None,
    progress: Progress | None,
) -> Learned:
    """The tally: put in order what was seen, or count again where no query can."""
    if weight is None and set(places) <= PUSHED:
        tally = pushed(seen, schema, places)
    else:
        n_rows = seen.n_rows + seen.unlabelled
        tally = _streamed(file, schema, places, families, target, weight, n_rows, progress)
    rows = tuple(int(n) for n in seen.class_weight)
    return Learned(tally, places, file, target, weight, rows, seen.unlabelled)


def _streamed(
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


def _unsure(file: File | Lazy, names: Sequence[str], told: Overrides) -> list[str]:
    """Columns that may be text or categories."""
    return [name for name in names if name not in {*told.kind, *told.family} and file.storage(name) == "text"]


def _counted(modes: Mapping[str, Mode], told: Overrides) -> list[str]:
    """Columns that a scan counts, or may count."""
    return [name for name, mode in modes.items() if mode != "nothing" and told.kind.get(name) != "text"]


def _texts(opening: Table, names: Sequence[str]) -> dict[str, str]:
    """Columns that the first rows show to be sentences, with the reason."""
    columns = [infer(profile(name, opening.columns[name])) for name in names]
    # Not how many of the first rows are different: there are others.
    return {column.name: column.reason.split(",")[0] for column in columns if column.kind == "text"}


def _with_chosen_words(file: File | Lazy, schema: Schema, target: str) -> Schema:
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


def labelled_rows(
    data: Any, schema: Schema, tally: Tally, target: str, weight: str | None, most: int
) -> tuple[TableBatch, int, int]:
    """Rows with their labels, at most so many, drawn at random; how many there are; and how many have no label."""
    places = {name: block.columns for name, block in tally.blocks.items()}
    check_columns(open_file(data), schema, {target, weight})

    def drawn(file: File) -> tuple[TableBatch, int, int]:
        file = as_learned(file, schema, known_column(file, target, "target"))
        names = [c.name for c in schema.columns if c.kind != "ignored" and c.name in file.types]
        extra = [target] if weight is None else [target, known_column(file, weight, "weights")]
        ((n_rows, n_labelled),) = file.query(f"SELECT count(*), count({quoted(target)}) FROM {{scan}}")
        if not n_labelled:
            raise DataError(f"{file.name} has no row with a label")
        table = file.sample(most, [*dict.fromkeys([*names, *extra])], present=target)
        return labelled(table, schema, places, target, weight), n_rows, n_rows - n_labelled

    return settled(open_file(data), drawn)


def tables(file: File, columns: Sequence[str] | None = None) -> Any:
    """Stream the rows of a file as tables."""
    import pyarrow as pa

    from tallybayes.sources.arrow import arrow_table

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


def _check(unlabelled: str) -> None:
    if unlabelled not in ("error", "ignore"):
        raise SettingError(f"unlabelled must be 'error' or 'ignore', not {unlabelled!r}")


def _target(file: File | Lazy, target: str | None) -> str:
    if target is None:
        raise DataError(f"a tally of {file.name} needs the column of class labels: target=…")
    return known_column(file, target, "target")


def _mode(file: File | Lazy, name: str, told: Overrides) -> Mode:
    kind = told.kind.get(name, KIND_OF_FAMILY.get(told.family.get(name, ""), None))
    storage = file.storage(name)
    if kind == "text" and storage not in ("text", "empty"):
        raise DataError(f"column {name!r} of {file.name} holds {storage}, not text")
    if name in told.drop or kind == "ignored" or storage in ("other", "date", "empty"):
        return "nothing"
    if kind in ("category", "boolean"):
        return "levels"
    if kind in ("numeric", "count") and storage == "boolean":
        return "numbers"
    return "numbers" if storage in ("number", "integer") else "levels"


def _with_levels(column: Column, seen: Survey) -> Column:
    """A known column with the levels that these rows have, and no others: tallies unite them by name."""
    if column.parts is not None:
        return replace(column, parts=(_with_levels(column.parts[0], seen), _with_levels(column.parts[1], seen)))
    if column.levels is None or column.kind in ("ignored", "text") or column.name not in seen.columns:
        return column
    known = set(column.levels)
    new = [level for level in seen.columns[column.name].counts if level not in known]
    if not new:
        return column
    levels = in_order([*(level for level in column.levels if level is not None), *new])
    return replace(column, levels=(*levels, None) if None in known else levels)


def is_table(data: Any) -> bool:
    """Whether the data is a frame in memory, or a dict of columns."""
    return isinstance(data, Mapping) or isinstance(nw.from_native(data, pass_through=True), nw.DataFrame)


def tally_table(
    data: Any,
    target: str | None = None,
    *,
    kind: Mapping[str, Any] | None = None,
    family: Mapping[str, str] | None = None,
    drop: Sequence[str] | None = None,
    missing: Any = "ignore",
    weight: str | None = None,
    unlabelled: str = "error",
) -> Tally:
    """Tally the rows of a frame in memory; the parameters are those of `tally_file`.

    Examples
    --------
    >>> tally_table({"wind": ["strong", "weak", "weak"], "play": ["no", "yes", "yes"]}, target="play")
    Tally(3 rows; no: 1, yes: 2; 1 column)
    """
    _check(unlabelled)
    if target is None:
        raise DataError("a tally of a table needs the column of class labels: target=…")
    told, table = Overrides.of(kind, family, drop, missing, None), read_table(data)
    rest, labels = split_target(table, target)
    labels = objects(list(labels))
    present = encode(labels, objects([])) != MISSING
    refuse_unlabelled(int((~present).sum()), unlabelled, "the table", target)
    if weight is not None and weight not in table.columns:
        raise DataError(f"the table has no column {weight!r} for the weights")
    seen = replace(rest, columns={name: values for name, values in rest.columns.items() if name != weight})
    columns = inferred(seen, told, whole=True)
    classes = in_order(set(labels[present].tolist()))
    refuse_regression("the table", target, classes)
    schema = Schema(columns, classes)
    places = told.places(schema)
    rows = labelled(table, schema, places, target, weight)
    return count(rows, {block: FAMILIES[block.split(":")[0]]() for block in places})


SOURCES.append((is_source, tally_file))
SOURCES.append((is_table, tally_table))
