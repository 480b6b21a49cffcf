"""Rows of tables in engines: summed by a query where that can be, streamed through the families where it cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tallybayes.core.family import Family
from tallybayes.core.schema import Schema
from tallybayes.core.tally import Tally, count
from tallybayes.data.engines import Lazy, count_lazy, summed_tables, survey_lazy
from tallybayes.data.files import FIRST
from tallybayes.data.finding import NOTHING, Found, refuse_dates
from tallybayes.data.frames import Table
from tallybayes.data.overrides import Overrides
from tallybayes.data.reading import Measure
from tallybayes.data.samples import drawn
from tallybayes.data.scans import FileSource, read_by, restated
from tallybayes.data.sources import Places
from tallybayes.data.survey import Mode, Survey
from tallybayes.data.tables import TableBatch
from tallybayes.data.vocabularies import with_own_words
from tallybayes.errors import SettingError


class EngineSource(FileSource):
    """The rows of a table in an engine: a DuckDB relation, a Polars LazyFrame, an Ibis, Spark or Dask table.

    Rows of Spark, Dask and database servers stay there: a sample is drawn by the engine's own means, and is another one
    each time that the engine says so.
    """

    _first: tuple[list[str], Table] = [], Table({}, 0)  # the first rows of these columns, where they were asked for

    def _opening(self, file: Lazy, unsure: Sequence[str], counted: Sequence[str]) -> Table:
        known, table = self._first
        if set(unsure) <= set(known):
            return table
        return file.first(FIRST, unsure) if unsure else Table({}, 0)

    def _survey(
        self,
        file: Lazy,
        modes: Mapping[str, Mode],
        opening: Table | None = None,
    ) -> Survey:
        return survey_lazy(file, self.scan.target, modes, self.scan.unlabelled)

    def _as_learned(self, file: Lazy, schema: Schema) -> Lazy:
        return read_by(file, schema)

    def _found(self, file: Lazy, overrides: Overrides, whole: bool) -> Found:
        if file.can_read:
            return super()._found(file, overrides, whole)
        texts = [name for name in file.names if file.storage(name) == "text" and name not in self.scan.columns]
        unsure = [name for name in texts if name not in overrides.drop and name not in overrides.kind]
        self._first = unsure, file.first(FIRST, unsure) if unsure else Table({}, 0)
        refuse_dates(self._first[1], file.name)
        return NOTHING

    def _measure(self, file: Lazy) -> Measure:
        return file.measured(self.scan.target)

    def _chosen_words(self, schema: Schema, columns: Sequence[str]) -> Schema:
        if self.file.is_spread:
            raise SettingError(
                f"min_count and max_features choose words by reading all rows, which stay in {self.file.name}; count "
                "all words, or hash them, with Tokens(hashed=20)"
            )
        return super()._chosen_words(schema, columns)

    def _tables(self, columns: Sequence[str]) -> Iterator[Table]:
        return self.file.tables([*dict.fromkeys([*columns, *self.scan.columns])], self.scan.target)

    def _drawn(self, schema: Schema, most: int) -> TableBatch:
        if not self.file.draws or self.seen.n_rows <= most:
            return super()._drawn(schema, most)
        names = [*self._evidence(schema), *self.scan.columns]
        table = self.file.sample(most, names, self.scan.target, self.seen.n_rows)
        ranges = {name: (column.low, column.high) for name, column in self.seen.columns.items()}
        return drawn(lambda: iter([self.scan.labelled(table, schema, {})]), most, ranges, table.n_rows)

    def _streamed(self, schema: Schema, places: Places, families: Mapping[str, Family]) -> Tally:
        """The tally of rows in an engine: it sums what a query can; texts and blocks are counted by our own kernels."""
        if self.file.engine in ("polars", "duckdb"):  # in this process, where the kernels are as near
            return super()._streamed(schema, places, families)
        ours = {name: at for name, at in places.items() if schema.columns[at[0]].kind in ("text", "tags", "block")}
        others = {name: at for name, at in places.items() if name not in ours}
        tally = count_lazy(self.file, schema, others, families, self.scan.target, self.scan.weight)
        if not ours:
            return tally
        scan = replace(self.scan, progress=None)

        def part(table: Table) -> Tally:
            return count(with_own_words(scan.labelled(table, schema, ours)), families)

        inputs = dict.fromkeys(each.name for at in ours.values() for each in schema.columns[at[0]].inputs)
        names = [name for name in inputs if name in self.file.types]
        found = restated(summed_tables(self.file, [*names, *self.scan.columns], scan.target, part), schema)
        whole = tally.align(found.schema)
        blocks = {**whole.blocks, **found.blocks}
        return Tally(found.schema, whole.class_weight, {name: blocks[name] for name in places})
