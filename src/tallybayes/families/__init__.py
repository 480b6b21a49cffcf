"""Event models, one a file, all in the same order: record, formula, tally, estimate, log_prob, …"""

from tallybayes.core.family import DOCUMENTS, Family
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

FAMILIES: dict[str, type] = {
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

__all__ = [
    "DOCUMENTS",
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
]
