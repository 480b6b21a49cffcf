"""The scikit-learn shell: the only place with trailing underscores, ``X`` and ``sample_weight``."""

from tallybayes.estimators.bernoulli import BernoulliNB
from tallybayes.estimators.categorical import CategoricalNB
from tallybayes.estimators.gaussian import GaussianNB
from tallybayes.estimators.multinomial import ComplementNB, MultinomialNB, PoissonNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB", "PoissonNB"]
