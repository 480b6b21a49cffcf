"""The textbook reading of a table: a family for each column, as the options say or as its kind suggests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tallybayes.core.family import Family, for_columns
from tallybayes.core.schema import Schema
from tallybayes.core.settings import Settings
from tallybayes.core.tally import Tally
from tallybayes.errors import SchemaError
from tallybayes.families import (
    FAMILIES,
    Bernoulli,
    Binned,
    Categorical,
    Complement,
    Exponential,
    Gaussian,
    Hierarchical,
    Kernel,
    Lognormal,
    Multinomial,
    Poisson,
    ZeroInflated,
)
from tallybayes.learning.options import Options

# The families that a number may have, with their usual settings.
NUMERIC: dict[str, Family] = {
    "gaussian": Gaussian(ignore_constants=True, floor="own"),
    "kernel": Kernel(),
    "binned": Binned(),
    "lognormal": Lognormal(),
    "exponential": Exponential(),
    "zero_inflated": ZeroInflated("lognormal"),
}
TEXT_ALPHA = {"multinomial": 1.0, "bernoulli": 1.0, "complement": 0.1}  # usual pseudocounts of words
DOCUMENTS: dict[str, Any] = {"multinomial": Multinomial, "bernoulli": Bernoulli, "complement": Complement}


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
        **NUMERIC,
        "gaussian": Gaussian(float(options.var_smoothing), options.variance, ignore_constants=True),
        "categorical": Categorical(pseudocount("categorical"), options.unseen, float(options.min_count)),
        "poisson": Poisson(pseudocount("poisson")),
        "multinomial": Multinomial(pseudocount("multinomial")),
        "hierarchical": Hierarchical(unseen=options.unseen),
    }
    for block, at in places.items():
        column = schema.columns[at[0]]
        if column.kind == "text":
            families[block] = _document(block.split(":")[0], options.given_alpha(column.name), options.idf)
    return Settings({name: families[name] for name in places}, options.prior, float(options.prior_alpha))


def settings_of_tally(tally: Tally, options: Options) -> Settings:
    """How a tally is read where nothing is known of how it came about: families with their usual settings."""
    settings, given = textbook_settings(tally.schema, options), options.overrides.family
    for block, columns in tally.places.items():
        for name in (tally.schema.columns[p].name for p in columns):
            if given.get(name, block.split(":")[0]) != block.split(":")[0]:
                raise SchemaError(f"column {name!r} was counted as {block.split(':')[0]}, not as {given[name]}")
    usual = {name: NUMERIC.get(name) or FAMILIES[name.split(":")[0]]() for name in tally.blocks}
    return replace(settings, families={name: settings.families.get(name, family) for name, family in usual.items()})


def _document(name: str, alpha: float | None, idf: bool) -> Family:
    """The family of the words of a text."""
    extra = {"idf": True} if idf and name != "bernoulli" else {}
    return DOCUMENTS[name](TEXT_ALPHA[name] if alpha is None else alpha, **extra)


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
            if smoothed or column.name in overrides.family or column.kind in ("count", "text"):
                found[column.name] = for_columns(settings.families[name], [j])
    plain = options.min_count == 0 and options.unseen == "ignore"
    category = None if plain else Categorical(1.0, options.unseen, float(options.min_count))
    return Given(options.numeric, category, found)
