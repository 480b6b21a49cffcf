"""Rows of files and of engines' tables: counted where they are, streamed through the families where that cannot be.

A scan groups the rows by class and shows what the columns are; what it counted on the way is kept, so the textbook
tally of most columns needs no second pass. A sample is drawn in one more pass, by the keys of the rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes.core.batch import Labels
from tallybayes.core.family import Family
from tallybayes.core.levels import in_given_order, in_order
from tallybayes.core.schema import Column, Kind, Schema
from tallybayes.core.tally import Tally, count
from tallybayes.core.threads import ahead
from tallybayes.core.tokens import Tokens
from tallybayes.data.columns import inferred
from tallybayes.data.engines import Lazy
from tallybayes.data.files import FIRST, File, known_column
from tallybayes.data.finding import NOTHING, Found, find, part_column
from tallybayes.data.frames import Table, profile
from tallybayes.data.inference import infer, kind_for, tokens_for
from tallybayes.data.known import as_learned, check_columns, spelled, with_retyping
from tallybayes.data.labels import encode_labels, objects, row_weights
from tallybayes.data.overrides import Overrides
from tallybayes.data.paths import unchanged
from tallybayes.data.progress import Progress
from tallybayes.data.pushdown import label_of, survey
from tallybayes.data.reading import Measure, measured_sql
from tallybayes.data.samples import drawn
from tallybayes.data.sources import Facts, Places, counting, evidence
from tallybayes.data.survey import Mode, NoRowsError, Survey, can_push, of_levels, profiles, pushed
from tallybayes.data.tables import Range, Ranges, TableBatch
from tallybayes.data.targets import refuse_signs
from tallybayes.data.vocabularies import with_chosen_words, with_own_words, with_words
from tallybayes.errors import DataError, nearest

MOST_LISTED = 1000  # values of a column that the engine looks up in a list


@dataclass(frozen=True)
class Scan:
    """Where the labels and weights of rows are, and what is to be done with rows that have no label."""

    target: str
    weight: str | None = None
    unlabelled: str = "error"  # or "ignore"
    progress: Progress | None = None
    n_jobs: int | None = None

    def checked(self, file: Any) -> Scan:
        """The same, if the columns exist."""
        known_column(file, self.target, "target")
        if self.weight is not None:
            known_column(file, self.weight, "weights")
        return self

    @property
    def columns(self) -> list[str]:
        """The columns that hold labels and weights."""
        return [self.target] if self.weight is None else [self.target, self.weight]

    def labelled(self, table: Table, schema: Schema, places: Places) -> TableBatch:
        """Rows that all have a label, those that count, ready to be counted."""
        values = table.columns[self.target]
        codes = values.codes(0, table.n_rows, schema.classes)
        if codes.min(initial=0) < 0:
            codes = encode_labels(objects(list(values.as_labels())), objects(schema.classes))
        weights = None if self.weight is None else table.columns[self.weight].numbers(0, table.n_rows)
        others = {name: values for name, values in table.columns.items() if name not in self.columns}
        labels = Labels.hard(codes, row_weights(weights, table.n_rows))
        return counting(TableBatch(schema, replace(table, columns=others), places, labels))


class FileSource:
    """The rows of files that DuckDB reads: CSV, Parquet, JSON lines and Arrow, larger than memory or not."""

    made_by = "pyarrow"

    def __init__(self, file: Any, scan: Scan) -> None:
        self.file, self.scan = file, scan.checked(file)
        self._seen: Survey | None = None
        self._samples: dict[Any, TableBatch] = {}
        self._levels: dict[str, list[str]] = {}  # all values of columns of text that have few

    def _prepared(self, file: Any) -> Any:
        """The rows that count, lists as text, −1 among integer labels as a missing one where rows may lack a label."""
        file = file.with_plain_types()
        file = file if self.scan.weight is None else file.counted(self.scan.weight)
        signs = self.scan.unlabelled != "error" and file.storage(self.scan.target) == "integer"
        return file.without(self.scan.target, -1) if signs else file

    @property
    def seen(self) -> Survey:
        """What the scan saw."""
        if self._seen is None:
            self.profile(Overrides.of(None, None, None, "ignore", None))
        assert self._seen is not None
        return self._seen

    @property
    def facts(self) -> Facts:
        seen, kinds = self.seen, set(map(type, self.seen.classes))
        kind = "|O" if len(kinds) > 1 else np.array(seen.classes).dtype.str
        rows = tuple(int(n) for n in seen.class_weight)
        lazy = isinstance(self.file, Lazy)
        name = self.file.name.removeprefix("the ") if lazy else os.path.basename(self.file.name)  # folders stay private
        return Facts(self.scan.target, kind, seen.n_rows, seen.unlabelled, self.made_by, True, False, rows, name)

    # ------------------------------------------------------------------------------------------ what columns are

    def profile(self, overrides: Overrides, stream: bool = False) -> Schema:
        def work(file: Any) -> tuple[Any, Found, Survey, dict[str, Column]]:
            file = self._prepared(file)
            found = self._found(file, overrides, not stream)
            file = file.read_as(found.columns)
            return file, found, *self._scanned(file, overrides, found)

        self.file, found, self._seen, texts = with_retyping(self.file, work)
        self._levels = _few_levels(self.file, self._seen, self.scan.target)
        self._refuse_one_sign()
        kinds = {name: column.kind for name, column in texts.items()}
        tokens = {name: column.tokens for name, column in texts.items() if column.tokens is not None}
        given = replace(overrides, kind={**overrides.kind, **kinds}, tokens={**tokens, **overrides.tokens})
        table: Any = Table(profiles(self.file, self._seen), self._seen.n_rows)  # type: ignore[arg-type]
        columns = inferred(table, given, whole=not stream, found=found)
        why = {name: c.reason for name, c in texts.items() if name not in overrides.kind}
        columns = tuple(
            replace(c, reason=c.reason.replace("as given", why[c.name], 1), lasting=c.kind) if c.name in why else c
            for c in columns
        )
        schema = Schema(columns, self._seen.classes)
        chosen = [c.name for c in columns if c.tokens is not None and c.tokens.is_chosen]
        return self._chosen_words(schema, chosen) if chosen else schema

    def _chosen_words(self, schema: Schema, columns: Sequence[str]) -> Schema:
        return with_chosen_words(schema, self._tables(columns))

    def _refuse_one_sign(self) -> None:
        if self.seen.unlabelled and isinstance(self.seen.classes[0], int) and self.scan.unlabelled != "error":
            refuse_signs(self.seen.classes, self.scan.unlabelled)

    def _found(self, file: Any, overrides: Overrides, whole: bool) -> Found:
        """How columns are read from others, by the first rows and what all rows confirm."""
        names = [name for name in file.names if name not in self.scan.columns and name not in overrides.drop]
        given = [name for name in names if name in overrides.kind or overrides.missing_values_of(name)]
        unsure = [name for name in names if file.storage(name) in ("text", "date") or name in given]
        if not unsure:
            return NOTHING
        return find(file.first(FIRST, unsure), overrides, whole, self._measure(file))

    def _measure(self, file: Any) -> Measure:
        labelled = f"{{scan}} WHERE {label_of(file, self.scan.target)} IS NOT NULL"
        return measured_sql(lambda sql: file.query(sql.replace("{scan}", labelled)), file.storage)

    def _scanned(self, file: Any, overrides: Overrides, found: Found) -> tuple[Survey, dict[str, Column]]:
        """What was seen of the rows, and which columns are text or tags, with the reason."""
        names = [name for name in file.names if name not in self.scan.columns]
        overrides.check(names)
        modes = {name: _mode(file, name, overrides, found) for name in names}
        levels = [name for name, mode in modes.items() if mode == "levels"]
        kinds = {name: _given_kind(file, name, overrides) for name in levels}
        texts = {name: Column(name, "text", reason="as given") for name in levels if kinds[name] == "text"}
        tags = [name for name in levels if kinds[name] == "tags"]
        given = {*overrides.kind, *overrides.family, *found.columns}
        unsure = [name for name in levels if name not in given and file.storage(name) == "text"]
        counted = [name for name, mode in modes.items() if mode != "nothing" and name not in texts]
        opening = self._opening(file, [*unsure, *tags], counted)
        texts |= {name: _tags(name, opening.columns[name], overrides.tokens.get(name)) for name in tags}
        columns = [infer(profile(name, opening.columns[name])) for name in unsure]
        # Not how many of the first rows are different: there are others.
        texts |= {c.name: replace(c, reason=c.reason.split(", ")[0]) for c in columns if c.is_text}
        return self._surveyed(file, {**modes, **dict.fromkeys(texts, "nothing")}, opening), texts

    def _opening(self, file: Any, unsure: Sequence[str], counted: Sequence[str]) -> Table:
        """The first rows: a file is parsed once for all that is seen in them."""
        return file.first(FIRST, [self.scan.target, *counted])

    def _surveyed(self, file: Any, modes: Mapping[str, Mode], opening: Table | None = None) -> Survey:
        try:
            return self._survey(file, modes, opening)
        except NoRowsError:
            if self.scan.weight is None:
                raise
            raise DataError("Sample weights must contain at least one non-zero number.") from None

    def _survey(
        self,
        file: Any,
        modes: Mapping[str, Mode],
        opening: Table | None = None,
    ) -> Survey:
        return survey(file, self.scan.target, modes, self.scan.unlabelled, self.scan.progress, opening)

    def known_rows(self, schema: Schema, places: Places, most: int, also: Sequence[str] = ()) -> TableBatch:
        """A sample of rows whose columns a model knows; of what they hold besides, only the columns named are read."""
        check_columns(self.file, schema, set(self.scan.columns))

        def work(file: Any) -> TableBatch:
            self.file = self._prepared(self._as_learned(file, schema))
            self._seen = self._surveyed(self.file, {})
            if lost := [name for name in also if name not in self.file.types]:
                raise DataError(f"{self.file.name} has no column {lost[0]!r}; {nearest(lost[0], self.file.types)}")
            return drawn(self._parts(schema, [*self._evidence(schema), *also]), most, {}, self.seen.n_rows)

        return replace(with_retyping(self.file, work), places=places)

    def grown(self, schema: Schema) -> Schema:
        check_columns(self.file, schema, set(self.scan.columns))

        def work(file: Any) -> tuple[Any, Survey]:
            file = self._prepared(self._as_learned(file, schema))
            known = [c for c in schema.columns if c.is_evidence and c.name in file.types]
            modes: dict[str, Mode] = {c.name: "numbers" if c.levels is None else "levels" for c in known}
            modes |= {c.name: "nothing" for c in known if c.is_text}
            levels = {c.name: c.levels or () for c in known if modes[c.name] == "levels"}
            return file, self._surveyed(file, modes).spelled(levels)

        self.file, self._seen = with_retyping(self.file, work)
        self._refuse_one_sign()
        return Schema(tuple(_with_levels(column, self._seen) for column in schema.columns), self._seen.classes)

    def _as_learned(self, file: Any, schema: Schema) -> Any:
        """The rows with the types that a model knows."""
        file = as_learned(file, schema, self.scan.target)
        return spelled(read_by(file, schema), schema)

    # ------------------------------------------------------------------------------------------ rows

    def _tables(self, columns: Sequence[str]) -> Iterator[Table]:
        """The rows that have a label, a part at a time."""
        names = [*dict.fromkeys([*columns, *self.scan.columns])]
        if not isinstance(self.file, File):
            return ahead(self._queried(names))
        stored = None
        if self.file.format == "parquet" and not self.seen.unlabelled:
            from tallybayes.data.parquet import stored_tables  # with PyArrow's reader, which few uses need

            stored = stored_tables(self.file, names, self._levels)
        tables = self._queried(names) if stored is None else stored
        return ahead(unchanged(tables, self.file.name, self.file.paths, self.file.stamps))

    def _queried(self, names: Sequence[str]) -> Iterator[Table]:
        labelled = f"{label_of(self.file, self.scan.target)} IS NOT NULL"
        return self.file.listed(self._levels).tables(names, labelled)

    def _evidence(self, schema: Schema) -> list[str]:
        return [name for name in evidence(schema) if name in self.file.types]

    def _read(self, schema: Schema, places: Places) -> list[str]:
        """The columns that some blocks are counted from."""
        columns = [schema.columns[p] for at in places.values() for p in at]
        names = dict.fromkeys(part.name for column in columns for part in column.parts or (column,))
        return [name for name in names if name in self.file.types]

    def count(self, schema: Schema, places: Places, families: Mapping[str, Family]) -> Tally:
        if self.scan.weight is None and can_push(schema, places, families):
            return pushed(self.seen, schema, places, families)
        known = [] if self.scan.weight is not None else of_levels(places, families, schema)
        rest = {block: at for block, at in places.items() if block not in known}
        total = self._streamed(schema, rest, families)
        if not known:
            return total
        seen = pushed(self.seen, total.schema, {block: places[block] for block in known}, families)
        blocks = {**seen.blocks, **total.blocks}
        return replace(total, blocks={block: blocks[block] for block in places})

    def _streamed(self, schema: Schema, places: Places, families: Mapping[str, Family]) -> Tally:
        """Count batch after batch: the families do what no query can."""
        total, done = Tally.empty(), 0
        for table in self._tables(self._read(schema, places)):
            part = with_own_words(self.scan.labelled(table, schema, places))
            try:
                total = total + count(part, families, self.scan.n_jobs)
            except DataError as error:
                raise error.moved(done) from None
            done += table.n_rows
            if self.scan.progress is not None:
                self.scan.progress(min(1.0, done / max(self.seen.n_rows, 1)))
        return restated(total, schema)

    def sample(self, schema: Schema, places: Places, most: int) -> TableBatch:
        key = most, evidence(schema)
        if key not in self._samples:
            self._samples[key] = self._drawn(schema, most)
        return with_own_words(replace(self._samples[key], schema=schema, places=places))

    def _drawn(self, schema: Schema, most: int) -> TableBatch:
        """The rows with the smallest keys, in their order."""
        parts = self._parts(schema, self._evidence(schema))
        return drawn(parts, most, self._ranges(schema), self.seen.n_rows)

    def _parts(self, schema: Schema, columns: Sequence[str]) -> Callable[[], Iterator[TableBatch]]:
        """What reads the rows, a part at a time."""
        return lambda: (self.scan.labelled(table, schema, {}) for table in self._tables(columns))

    def _ranges(self, schema: Schema) -> Ranges:
        """The smallest and the largest number of each column, among the rows that count."""
        known = self.seen.columns
        numbers = [c.name for c in schema.columns if c.kind in ("numeric", "count") and c.name in self.file.types]
        if self.scan.weight is None and known.keys() >= set(numbers):
            return {name: (column.low, column.high) for name, column in known.items()}
        found: dict[str, Range] = {}
        for table in self._tables(numbers):
            part = self.scan.labelled(table, schema, {})
            for name, (low, high) in part.ranges().items():
                least, largest = found.get(name, (low, high))
                found[name] = min(low, least), max(high, largest)
        return found

    def all_rows(self, schema: Schema, places: Places) -> TableBatch:
        return self.sample(schema, places, max(self.seen.n_rows, 1))


def _few_levels(file: Any, seen: Survey, target: str) -> dict[str, list[str]]:
    """All values of each column of text that has few, as the scan saw them."""
    levels = {name: tuple(column.counts) for name, column in seen.columns.items()} | {target: seen.classes}
    found = {}
    for name, each in levels.items():
        texts = [level for level in each if isinstance(level, str)]
        few = 0 < len(each) == len(texts) <= MOST_LISTED and file.types[name] == "VARCHAR"
        if few and "\0" not in "".join(texts):  # which would end the query
            found[name] = texts
    return found


def restated(total: Tally, schema: Schema) -> Tally:
    """A tally of many parts; the reasons of texts show how many words there are in all."""
    if not total.class_weight.any():
        raise DataError("Sample weights must contain at least one non-zero number.")

    def column(before: Column, after: Column) -> Column:
        if after.tokens is None or before.levels is not None:
            return after
        return with_words(before, after.levels)  # type: ignore[arg-type]

    columns = tuple(map(column, schema.columns, total.schema.columns))
    return replace(total, schema=replace(total.schema, columns=columns))


def _given_kind(file: Any, name: str, overrides: Overrides) -> Kind | None:
    """The kind of a column as it was given, itself or by its family."""
    family = overrides.family.get(name)
    tokens = overrides.tokens.get(name)
    if tokens is not None and tokens.words == "tags":
        return overrides.kind.get(name, "tags")
    return overrides.kind.get(name, None if family is None else kind_for(family, file.storage(name)))


def _tags(name: str, values: Any, given: Tokens | None) -> Column:
    """A column that was given as tags, by its first rows."""
    column = Column(name, "tags", reason="as given")
    return replace(column, tokens=tokens_for(column, given, Tokens(), () if given else profile(name, values).levels))


def read_by(file: Any, schema: Schema) -> Any:
    """The rows with the columns that a model reads from others."""
    readings = {c.name: c.reading for c in schema.columns if c.reading is not None}
    return file.read_as({name: each for name, each in readings.items() if each.source in file.types})


def _mode(file: Any, name: str, overrides: Overrides, found: Found) -> Mode:
    if name in found.dates:
        return "nothing"
    reading = found.columns.get(name)
    if reading is not None and reading.date is not None and part_column(name, reading.date) is not None:
        return "nothing" if name in overrides.drop else "levels"
    storage, kind = file.storage(name), _given_kind(file, name, overrides)
    if kind in ("text", "tags") and storage not in ("text", "empty"):
        raise DataError(f"column {name!r} of {file.name} holds {storage}, not {kind}")
    if name in overrides.drop or kind == "ignored" or storage in ("other", "date", "empty"):
        return "nothing"
    if kind in ("category", "boolean"):
        return "levels"
    if kind in ("numeric", "count") and storage == "boolean":
        return "numbers"
    return "numbers" if storage in ("number", "integer") else "levels"


def _with_levels(column: Column, seen: Survey) -> Column:
    """A known column with the levels that these rows have, and no others: tallies unite them by name."""
    if column.parts is not None:
        return replace(column, parts=tuple(_with_levels(part, seen) for part in column.parts))
    if column.tokens is not None and not column.tokens.is_chosen and not isinstance(column.levels, range):
        return replace(column, levels=None)
    if column.levels is None or column.kind in ("ignored", "date", "text", "tags") or column.name not in seen.columns:
        return column
    known = set(column.levels)
    new = [level for level in seen.columns[column.name].counts if level not in known]
    if not new:
        return column
    levels = in_order([*(level for level in column.levels if level is not None), *new])
    levels = levels if not column.order else in_given_order(column.declared, levels)
    return replace(column, levels=(*levels, None) if None in known else levels)
