"""The textbook model of a table: a family for each column, given by the options or by its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tallybayes.core.family import Family, for_columns
from tallybayes.core.schema import Schema
from tallybayes.core.settings import Settings, prior_by_class
from tallybayes.core.tally import Tally
from tallybayes.errors import SchemaError
from tallybayes.families import (
    Categorical,
    Cyclic,
    Gaussian,
    Grouped,
    Hierarchical,
    Multinomial,
    Ordered,
    Poisson,
    family_of,
    numeric_families,
)
from tallybayes.learning.options import Options


def textbook_settings(schema: Schema, options: Options, alpha: float | None = None) -> Settings:
    """How the tally of such columns is read by the textbook; ``alpha`` is the pseudocount where it was chosen."""
    places, alphas = options.overrides.places(schema), options.overrides.alpha
    given = options.alpha
    general = 1.0 if given is None or isinstance(given, (str, Mapping)) else float(given)
    general = general if alpha is None else alpha

    def pseudocount(block: str) -> Any:
        names = [schema.columns[p].name for p in places.get(block, [])]
        return tuple(float(alphas.get(name, 1.0)) for name in names) if alphas else general

    families: dict[str, Family] = {
        **numeric_families(),
        "gaussian": Gaussian(float(options.var_smoothing), options.variance, ignore_constants=True),
        "categorical": Categorical(pseudocount("categorical"), options.unseen, float(options.min_count)),
        "poisson": Poisson(pseudocount("poisson")),
        "multinomial": Multinomial(pseudocount("multinomial")),
        "hierarchical": Hierarchical(unseen=options.unseen),
        "grouped": Grouped(),
        "ordered": Ordered(),
        "cyclic": Cyclic(),
    }
    for block, at in places.items():
        column = schema.columns[at[0]]
        if column.is_text:
            families[block] = _document(family_of(block), options.given_alpha(column.name), options.idf)
    return Settings(
        {name: families[name] for name in places},
        prior_by_class(options.prior, schema.classes),
        float(options.prior_alpha),
    )


def settings_of_tally(tally: Tally, options: Options) -> Settings:
    """How a tally is read where nothing is known of how it came about: families with their usual settings."""
    settings, given = textbook_settings(tally.schema, options), options.overrides.family
    for block, columns in tally.places.items():
        for column in (tally.schema.columns[p] for p in columns):
            asked = family_of(given[column.name]).reader(column.kind) if column.name in given else None
            if asked not in (None, family_of(block).name):
                raise SchemaError(f"column {column.name!r} was counted as {family_of(block).name}, not as {asked}")
    usual = {name: family_of(name).usual() for name in tally.blocks}
    return replace(settings, families={name: settings.families.get(name, family) for name, family in usual.items()})


def _document(family: Any, alpha: float | None, idf: bool) -> Family:
    """The family of the words of a text."""
    extra = {"idf": True} if idf and family.is_document else {}
    return family(family.text_alpha if alpha is None else alpha, **extra)


@dataclass(frozen=True)
class Given:
    """What the options leave no choice about."""

    numeric: str  # the family of numbers, or "auto"
    category: Family | None  # the family of categories; None for the pooled one that leave-one-out prefers
    families: Mapping[str, Family]  # families of single columns


def given_families(schema: Schema, settings: Settings, options: Options) -> Given:
    """The families that are not to be chosen."""
    overrides, found = options.overrides, {}
    for name, places in overrides.places(schema).items():
        for j, p in enumerate(places):
            column = schema.columns[p]
            smoothed = options.alpha is not None and name == "categorical"
            if smoothed or column.name in overrides.family or column.kind in ("count", "text", "tags"):
                found[column.name] = for_columns(settings.families[name], [j])
    plain = options.min_count == 0 and options.unseen == "ignore"
    category = None if plain else Categorical(1.0, options.unseen, float(options.min_count))
    return Given(options.numeric, category, found)
