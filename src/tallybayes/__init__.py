"""Naive Bayes you can audit: learns any table in one pass, explains every prediction, forgets rows exactly.

Public names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "BernoulliNB": "estimators",
    "CategoricalNB": "estimators",
    "ComplementNB": "estimators",
    "CountTokens": "estimators.tokens",
    "GaussianDiscriminant": "estimators.discriminant",
    "GaussianNB": "estimators",
    "MultinomialNB": "estimators",
    "NaiveBayes": "estimators.mixed",
    "NaiveBayesMixture": "estimators.mixture",
    "Options": "learning.options",
    "PoissonNB": "estimators",
    "EM": "learning.options",
    "TextNB": "estimators.text",
    "Tokens": "core.tokens",
    "Ledger": "storage.ledger",
    "Model": "core.model",
    "Settings": "core.settings",
    "Tally": "core.tally",
    "datasets": "data.datasets",
    "drift": "inspection.drift",
    "em": "learning.em",
    "errors": "errors",
    "evaluate": "inspection.evaluate",
    "families": "families",
    "learn": "learning.learn",
    "load": "estimators.saved",
    "charts": "inspection.charts",
    "plots": "plots",
    "rows": "data.columns",
    "private": "inspection.privacy",
    "storage": "storage",
    "tally": "data.tallies",
}

MODULES = {"charts", "datasets", "em", "errors", "evaluate", "families", "plots", "storage"}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tallybayes' has no attribute {name!r}")
    module = import_module(f"tallybayes.{_HOME[name]}")
    return module if name in MODULES else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*_HOME, *(name for name in globals() if name.startswith("__"))})
