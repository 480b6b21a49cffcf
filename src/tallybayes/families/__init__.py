"""Event models, one a file, all in the same order: record, formula, what it declares, tally, estimate, log_prob, …"""

from tallybayes.core.family import Family as Family
from tallybayes.core.schema import Kind
from tallybayes.families.bernoulli import Bernoulli as Bernoulli
from tallybayes.families.binned import Binned as Binned
from tallybayes.families.categorical import Categorical as Categorical
from tallybayes.families.clues import Clues as Clues
from tallybayes.families.complement import Complement as Complement
from tallybayes.families.correlation import Correlation as Correlation
from tallybayes.families.exponential import Exponential as Exponential
from tallybayes.families.gamma import Gamma as Gamma
from tallybayes.families.gaussian import Gaussian as Gaussian
from tallybayes.families.grouped import Grouped as Grouped
from tallybayes.families.hierarchical import Hierarchical as Hierarchical
from tallybayes.families.kernel import Kernel as Kernel
from tallybayes.families.lognormal import Lognormal as Lognormal
from tallybayes.families.multinomial import Multinomial as Multinomial
from tallybayes.families.multinormal import Multinormal as Multinormal
from tallybayes.families.ordered import Cyclic as Cyclic
from tallybayes.families.ordered import Ordered as Ordered
from tallybayes.families.pair import Pair as Pair
from tallybayes.families.poisson import Poisson as Poisson
from tallybayes.families.zero_inflated import ZeroInflated as ZeroInflated

# All families that are imported above, by name. What each can do is declared in its own file and nowhere else.
FAMILIES: dict[str, type[Family]] = {
    each.name: each for each in list(vars().values()) if Family in getattr(each, "__mro__", ())[1:]
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
