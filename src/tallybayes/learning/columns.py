"""How each column is read by itself: its family, chosen on rows that are counted once for all that are tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes.core.batch import every_nth
from tallybayes.core.family import Numbers
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Schema, block_of
from tallybayes.core.settings import Settings
from tallybayes.core.tally import Block, Tally, count
from tallybayes.data.tables import TableBatch
from tallybayes.families import (
    FAMILIES,
    Cyclic,
    Family,
    Grouped,
    Hierarchical,
    Ordered,
    family_of,
    numeric_families,
    textbook_family,
)
from tallybayes.families.binned import free_groups
from tallybayes.learning.bins import sorted_edges
from tallybayes.learning.candidates import Choice, candidates, columns_of_summary, counted_as, places_in
from tallybayes.learning.constraints import choose_within, table_family
from tallybayes.learning.evidence import COMPARED_ROWS
from tallybayes.learning.options import Options
from tallybayes.learning.reading import Fine, Reading, places_of, settings_of
from tallybayes.learning.remembered import sorted_numbers
from tallybayes.learning.textbook import Given, given_families


def read_columns(batch: TableBatch, base: Settings, options: Options) -> Reading:
    """Choose the family of every column and count the rows by it."""
    numeric = _numeric(base)
    trials = _Trials.of(batch, given_families(batch.schema, base, options), numeric, options)
    tried, places = Schema(trials.columns, batch.schema.classes), trials.places()
    rows, counting = replace(batch, schema=tried, places=places), trials.counting(numeric)
    tally = count(rows, counting, options.n_jobs)
    sample = every_nth(rows, COMPARED_ROWS)
    prior = np.maximum(base.log_prior(tried, tally.class_weight), -1e3)
    choices = choose_within(sample.rows(0, sample.n_rows), tally, prior, trials.names, counting, options)
    chosen = {trials.columns[p].name: choice.family for p, choice in choices.items()}
    families = {**trials.known, **chosen}
    read = tuple(_read(column, families.get(column.name), choices.get(p)) for p, column in enumerate(trials.columns))
    final = Schema(read, batch.schema.classes)
    blocks = {name: _taken(tally, name, at) for name, at in places_of(families, final).items()}
    model = Model(settings_of(families, final, base), Tally(final, tally.class_weight, blocks))
    return Reading(families, model, _fine_bins(tally))


@dataclass(frozen=True)
class _Trials:
    """Which families are to be tried for which columns."""

    columns: tuple[Column, ...]  # with fine edges where a family of bins is among them
    known: Mapping[str, Family]  # families that are known, by column
    names: Mapping[int, list[str]]  # families to be tried, by position

    @classmethod
    def of(cls, batch: TableBatch, given: Given, numeric: Mapping[str, Family], options: Options) -> _Trials:
        fixed = {name: family.by_itself() for name, family in given.families.items()}
        columns: list[Column] = []
        known: dict[str, Family] = {}
        names: dict[int, list[str]] = {}
        for p, column in enumerate(batch.schema.columns):
            if column.is_evidence:
                table = table_family(column, options)
                if column.name in fixed:
                    known[column.name] = fixed[column.name]
                elif table is not None:
                    names[p] = [table]
                elif column.kind == "numeric":
                    names[p] = _tried(batch, column, given.numeric, numeric)
                elif column.kind not in ("category", "boolean"):
                    known[column.name] = FAMILIES[textbook_family(column.kind)]()
                elif given.category is not None:
                    known[column.name] = given.category
                else:
                    names[p] = [smoothed_by(column)]
            tried = [known[column.name]] if column.name in known else [FAMILIES[name] for name in names.get(p, [])]
            in_bins = column.kind == "numeric" and any(family.in_bins for family in tried)
            edges = fine_edges_of(batch, p) if in_bins else None
            columns.append(column if column.edges is edges else column.changed(edges=edges))
        return cls(tuple(columns), known, names)

    def places(self) -> dict[str, list[int]]:
        """The columns of every block that is counted."""
        found: dict[str, list[int]] = {}
        blocks: dict[tuple[str, ...], list[str]] = {}  # of columns for which the same families are tried
        for p, names in self.names.items():
            tried = tuple(names)
            if tried not in blocks:
                blocks[tried] = list(dict.fromkeys(counted_as(FAMILIES[name]) for name in names))
            for name in blocks[tried]:
                found.setdefault(name, []).append(p)
        for p, column in enumerate(self.columns):
            if column.name in self.known:
                found.setdefault(block_of(column, counted_as(self.known[column.name])), []).append(p)
        return found

    def counting(self, numeric: Mapping[str, Family]) -> dict[str, Family]:
        """The families that count the blocks."""
        found: dict[str, Family] = {
            **{family.name: family() for family in (Hierarchical, Grouped, Ordered, Cyclic)},
            **numeric,
        }
        for column in self.columns:
            if column.name in self.known:
                family = self.known[column.name]
                found.setdefault(block_of(column, family.name), family)
        return found


def smoothed_by(column: Column) -> str:
    """The family of a category: one of neighbours where levels have some; a missing value is nobody's neighbour."""
    neighbours = len(column.levels or ()) > 2 and None not in (column.levels or ())
    return {"line": Ordered.name, "circle": Cyclic.name}.get(column.order if neighbours else "", Hierarchical.name)


def _tried(batch: TableBatch, column: Column, chosen: str, families: Mapping[str, Family]) -> list[str]:
    """The families to try for a numeric column."""
    if chosen != "auto":
        return [chosen]
    numbers = sorted_numbers(batch, column.name)
    if len(numbers) == 0 or numbers[0] == numbers[-1]:
        return [textbook_family("numeric")]  # which takes a constant for no evidence
    first, last = numbers.searchsorted(0.0), numbers.searchsorted(0.0, side="right")
    seen = Numbers(float(numbers[0]), float(numbers[-1]), float(last - first) / len(numbers))
    return candidates(seen, families)


def fine_edges_of(batch: TableBatch, p: int) -> tuple[float, ...]:
    """The edges that the fine counts of the number at some position have."""
    column = batch.schema.columns[p]
    return sorted_edges(sorted_numbers(batch, column.name)) if column.edges is None else column.edges


def with_own_edges(batch: TableBatch) -> TableBatch:
    """The rows with fine edges that are values of theirs: then no unit decides on which side of them other rows are."""
    columns = list(batch.schema.columns)
    for p, column in enumerate(columns):
        if column.kind == "numeric" and column.name in batch.table.columns:
            known, edges = sorted_numbers(batch, column.name), fine_edges_of(batch, p)
            columns[p] = column.changed(edges=tuple(known[known.searchsorted(edges)].tolist()) if edges else ())
    return replace(batch, schema=replace(batch.schema, columns=tuple(columns)))


def _read(column: Column, family: Family | None, choice: Choice | None) -> Column:
    """The column with its bins, if it is read in bins, and the reason of its family."""
    binned = family is not None and family.in_bins
    reason, lasting = column.reason, column.lasting
    is_told = column.kind == "numeric" or isinstance(family, Ordered | Grouped)
    if choice is not None and is_told and not reason.startswith("constant"):
        reason, lasting = f"{reason}; {choice.reason}", f"{lasting}; {choice.family.described()}"
    elif binned or column.edges is None:
        return column
    return column.changed(edges=column.edges if binned else None, reason=reason, lasting=lasting)


def _taken(tally: Tally, name: str, places: list[int]) -> Block:
    """Some columns of a block that was counted for several families."""
    family = family_of(name)
    block = tally.blocks[name if ":" in name else counted_as(family)]
    return Block(places, columns_of_summary(block.summary, family, places_in(block, places)))


def _fine_bins(tally: Tally) -> dict[int, Fine]:
    """Those of the columns that have some."""
    block = next((block for name, block in tally.blocks.items() if name in FAMILIES and FAMILIES[name].in_bins), None)
    if block is None:
        return {}
    summary: Any = block.summary
    weight, group, ends = summary.count.sum(axis=0), free_groups(summary), np.cumsum(summary.n_levels)[:-1]
    return dict(zip(block.columns, map(Fine, np.split(weight, ends), np.split(group, ends)), strict=True))


def _numeric(base: Settings) -> dict[str, Family]:
    """The families of numbers, with the user's settings of the textbook one."""
    name = textbook_family("numeric")
    chosen = base.families.get(name)
    return numeric_families() | ({} if chosen is None else {name: chosen.by_itself()})
