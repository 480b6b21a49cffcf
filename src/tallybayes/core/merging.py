"""Two models become one: their tallies add where both read their columns alike."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tallybayes.core.family import Family, for_columns
from tallybayes.core.schema import Level, Schema
from tallybayes.core.settings import Settings
from tallybayes.core.tally import Tally
from tallybayes.errors import LabelWarning, SettingError

APART = (
    "the two models were fitted apart and read their columns differently, so their counts do not add up; count the "
    "second table as the first was: first.blank().partial_fit(…), or fit both with classical=True"
)


def new_classes(known: Sequence[Level], given: Sequence[Level]) -> list[str]:
    """A sentence on each class that a model does not know yet, with the one that may have been meant.

    Examples
    --------
    >>> new_classes(("no", "yes"), ("Yes", "no"))
    ["the label 'Yes' is new to the model; did you mean 'yes'?"]
    """
    meant = {plain_label(label): label for label in known}
    return [
        f"the label {label!r} is new to the model"
        + (f"; did you mean {meant[plain_label(label)]!r}?" if plain_label(label) in meant else "")
        for label in given
        if known and label not in known
    ]


def plain_label(label: Level) -> str:
    """A label without what is easily written in two ways."""
    return str(label).strip().rstrip(".").casefold()


def warn_of_twins(known: Sequence[Level], given: Sequence[Level]) -> None:
    """Warn of new classes that are written almost as a known one."""
    for sentence in new_classes(known, given):
        if sentence.endswith("?"):
            warnings.warn(f"{sentence} It is learned as a class of its own", LabelWarning, stacklevel=4)


def merged(mine: Tally, my_settings: Settings, theirs: Tally, their_settings: Settings) -> tuple[Tally, Settings]:
    """The tally of the rows of both, and how it is read: as the first, with weights averaged by rows.

    A calibration was fitted to the rows of one of them, and is left out where both have rows.
    """
    if _table(mine.schema) != _table(theirs.schema):
        mine.schema.unite(theirs.schema)  # which raises an error that names the difference
    if _reading(mine, my_settings) != _reading(theirs, their_settings):
        raise SettingError(APART)
    ours, others = float(mine.class_weight.sum()), float(theirs.class_weight.sum())
    share = others / (ours + others) if ours + others else 0.0
    settings = my_settings.joined(their_settings, share)
    warn_of_twins(mine.schema.classes, theirs.schema.classes)
    return mine + theirs, replace(settings, calibration=None) if ours and others else settings


def _table(schema: Schema) -> list[tuple[str, str]] | Schema:
    """Name and kind of the columns of the table; of an array, the schema itself, which costs nothing."""
    if schema.is_numbered:
        return replace(schema, classes=(), declared=())
    return [(column.name, column.kind) for column in schema.columns if not column.is_derived]


def _reading(tally: Tally, settings: Settings) -> dict[str, tuple[str, dict[str, Any], list[int | str]]]:
    """The family of each block, what its counts depend on and its columns: other readings do not add up."""
    names = None if tally.schema.is_numbered else tally.schema.names
    return {
        block: (
            settings.families[block].name,
            {name: getattr(settings.families[block], name) for name in settings.families[block].counts_by},
            list(each.columns) if names is None else [names[c] for c in each.columns],
        )
        for block, each in tally.blocks.items()
    }


def selected(tally: Tally, families: Mapping[str, Family], names: Sequence[str]) -> tuple[Tally, dict[str, Family]]:
    """The tally of some columns, and its families; a pair or a block stays where all of its columns do."""
    kept, columns = set(names), tally.schema.columns
    derived = [c.name for c in columns if c.parts and {part.name for part in c.parts} <= kept]
    smaller, found = tally.select([*names, *derived]), {}
    for name in smaller.blocks:
        within = [j for j, c in enumerate(tally.blocks[name].columns) if columns[c].name in {*kept, *derived}]
        found[name] = for_columns(families[name], within)
    return smaller, found


def uncorrected(tally: Tally, families: Mapping[str, Family]) -> tuple[Tally, dict[str, Family]]:
    """The tally of the columns of the table, without pairs and blocks, and its families."""
    kept = {name: family for name, family in families.items() if not family.is_correction}
    gone = {c for name, block in tally.blocks.items() if name not in kept for c in block.columns}
    if not gone:
        return tally, kept
    return tally.select([column.name for p, column in enumerate(tally.schema.columns) if p not in gone]), kept
