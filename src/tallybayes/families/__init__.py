"""Event models, one a file, all in the same order: record, formula, tally, estimate, log_prob, …"""

from tallybayes.families._family import Family
from tallybayes.families.bernoulli import Bernoulli
from tallybayes.families.categorical import Categorical
from tallybayes.families.complement import Complement
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.multinomial import Multinomial
from tallybayes.families.multinormal import Multinormal
from tallybayes.families.poisson import Poisson

FAMILIES: dict[str, type] = {
    family.name: family for family in (Gaussian, Bernoulli, Categorical, Multinomial, Complement, Poisson, Multinormal)
}

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Categorical",
    "Complement",
    "Family",
    "Gaussian",
    "Multinomial",
    "Multinormal",
    "Poisson",
]
