"""The scikit-learn shell: each estimator translates its parameters, learns, and forwards to its model."""

from tallybayes.estimators.bernoulli import BernoulliNB
from tallybayes.estimators.categorical import CategoricalNB
from tallybayes.estimators.complement import ComplementNB
from tallybayes.estimators.gaussian import GaussianNB
from tallybayes.estimators.multinomial import MultinomialNB
from tallybayes.estimators.poisson import PoissonNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB", "PoissonNB"]
