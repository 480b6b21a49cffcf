"""Columns that are to be tables of few lines, or whose evidence must not turn: bins, groups of levels, directions.

Such a column is read in bins or groups and nothing else. Its weight is never negative, and it has no corrections and no
part in a block of numbers; a monotone one is in no pair either. So what holds for its bins holds for the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.core.batch import Array, Batch
from tallybayes.core.schema import Column, Schema
from tallybayes.core.summaries import Counts
from tallybayes.core.tally import Tally
from tallybayes.errors import SettingError, nearest
from tallybayes.families import Binned, Family, Grouped
from tallybayes.learning.candidates import Choice, choose
from tallybayes.learning.options import Options


def check_constraints(schema: Schema, options: Options) -> None:
    """Refuse constraints of columns that are not there, or that cannot have them."""
    if not options.monotone and not isinstance(options.max_bins, Mapping):
        return  # a hundred thousand numbered columns are not made one by one for nothing
    columns = {column.name: column for column in schema.columns}
    given = {"monotone": options.monotone, "max_bins": options.max_bins}
    for option, names in given.items():
        for name in names if isinstance(names, Mapping) else ():
            if name not in columns:
                raise SettingError(f"{option} names {name!r}, which is no column; {nearest(name, columns)}")
    for name in options.monotone:
        if columns[name].kind != "numeric":
            raise SettingError(
                f"column {name!r} is {columns[name].kind}, and only numbers can have monotone evidence; "
                f"if it holds numbers, pass kind={{{name!r}: 'numeric'}}"
            )
    if options.monotone and len(schema.classes) != 2:
        raise SettingError("monotone evidence is that of one class against the other: it needs two classes")
    for pair in options.given_pairs or ():
        if inside := [name for name in pair if name in options.monotone]:
            raise SettingError(f"column {inside[0]!r} is to be monotone, so it cannot be paired")


def table_family(column: Column, options: Options) -> str | None:
    """The family of a column that is to be a table of few lines; None where it is free."""
    if column.kind == "numeric":
        return Binned.name if options.is_table(column.name) else None
    most = options.bins_of(column.name)
    is_long = most is not None and column.kind == "category" and len(column.levels or ()) > most
    return Grouped.name if is_long else None


def choose_within(
    rows: Batch,
    tally: Tally,
    prior: Array,
    names: Mapping[int, list[str]],
    families: Mapping[str, Family],
    options: Options,
) -> dict[int, Choice]:
    """`candidates.choose`, each column within its constraints; columns of the same ones are chosen together."""
    alike: dict[tuple[int | None, float], dict[int, list[str]]] = {}
    for p, tried in names.items():
        name = tally.schema.columns[p].name
        constraint = options.bins_of(name), _direction(tally, p, options.monotone.get(name))
        alike.setdefault(constraint, {})[p] = tried
    found: dict[int, Choice] = {}
    for (most, direction), group in alike.items():
        own = dict(families)
        if most is not None or direction:
            own = {name: _within(family, most, direction) for name, family in families.items()}
        found |= choose(rows, tally, prior, group, own)
    return found


def _within(family: Family, most: int | None, direction: float) -> Family:
    """The family with so many bins or groups at most, and evidence that does not turn."""
    if isinstance(family, Binned | Grouped) and most is not None:
        family = replace(family, max_bins=float(most))
    return replace(family, monotone=direction) if isinstance(family, Binned) else family


def _direction(tally: Tally, p: int, given: Any) -> float:
    """1 or −1 as given, or as the share of the second class changes with the number, by its rank; 0 where free."""
    if given != "auto":
        return float(given or 0)
    block = tally.blocks[Binned.name]
    summary, j = block.summary, list(block.columns).index(p)
    assert isinstance(summary, Counts)
    assert summary.n_levels is not None
    end = int(summary.n_levels[: j + 1].sum())
    count = summary.count[:, end - int(summary.n_levels[j]) : end]
    total = count.sum(axis=0)
    rank = np.cumsum(total) - total / 2.0
    means = (count @ rank) / np.maximum(count.sum(axis=1), 1e-300)
    return 1.0 if means[1] >= means[0] else -1.0
