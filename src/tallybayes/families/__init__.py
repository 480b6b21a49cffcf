"""Event models, one a file, all in the same order: record, formula, tally, estimate, log_prob, …"""

from tallybayes.core.family import Family
from tallybayes.core.schema import Kind
from tallybayes.families.bernoulli import Bernoulli
from tallybayes.families.binned import Binned
from tallybayes.families.categorical import Categorical
from tallybayes.families.clues import Clues
from tallybayes.families.complement import Complement
from tallybayes.families.exponential import Exponential
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.hierarchical import Hierarchical
from tallybayes.families.kernel import Kernel
from tallybayes.families.lognormal import Lognormal
from tallybayes.families.multinomial import Multinomial
from tallybayes.families.multinormal import Multinormal
from tallybayes.families.pair import Pair
from tallybayes.families.poisson import Poisson
from tallybayes.families.zero_inflated import ZeroInflated

# The one list of families: what each can do is declared in its own file.
FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (
        Gaussian,
        Bernoulli,
        Categorical,
        Multinomial,
        Complement,
        Clues,
        Poisson,
        Hierarchical,
        Kernel,
        Binned,
        Lognormal,
        Exponential,
        ZeroInflated,
        Pair,
        Multinormal,
    )
}


def family_of(block: str) -> type[Family]:
    """The family that counts a block: its name is the family's, of a text with the column's behind it."""
    return FAMILIES[block.split(":")[0]]


def textbook_family(kind: Kind) -> str:
    """Name of the textbook family of a kind of column."""
    return next(name for name, family in FAMILIES.items() if kind in family.textbook)


def numeric_families() -> dict[str, Family]:
    """The families that a numeric column of a table may have, with their usual settings."""
    found = {name: family for name, family in FAMILIES.items() if family.kind == "numeric" and family.reads}
    return {name: family.usual() for name, family in found.items()}


__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Binned",
    "Categorical",
    "Clues",
    "Complement",
    "Exponential",
    "Family",
    "Gaussian",
    "Hierarchical",
    "Kernel",
    "Lognormal",
    "Multinomial",
    "Multinormal",
    "Pair",
    "Poisson",
    "ZeroInflated",
    "family_of",
    "numeric_families",
    "textbook_family",
]
