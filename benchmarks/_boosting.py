"""Boosted trees of other packages, as they come, behind the encodings that each asks for.

Each takes the names of the numeric and the categorical columns. They use as many threads as OMP_NUM_THREADS says, all
cores without it.
"""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from typing import Any, Self

import numpy as np

NEEDS = {  # the module that a contestant imports, and the package that has it
    "LightGBM": ("lightgbm", "lightgbm"),
    "CatBoost": ("catboost", "catboost"),
    "EBM": ("interpret", "interpret-core"),
}


def missing(contestant: str) -> str | None:
    """The package that a contestant lacks here, if any."""
    module, package = NEEDS.get(contestant, ("", ""))
    return package if module and find_spec(module) is None else None


class Boosted:
    """A model of another package; columns are numbered, because some packages refuse signs in their names."""

    def __init__(self, numeric: list[str], categorical: list[str]) -> None:
        self.numeric, self.categorical = numeric, categorical

    def fit(self, X: Any, y: Any) -> Self:
        with warnings.catch_warnings(action="ignore"):
            self.model = self.make(X).fit(self.encoded(X), y)
        self.classes_ = np.asarray(self.model.classes_)
        return self

    def predict_proba(self, X: Any) -> Any:
        with warnings.catch_warnings(action="ignore"):
            return self.model.predict_proba(self.encoded(X))

    def make(self, X: Any) -> Any:
        raise NotImplementedError

    def encoded(self, X: Any) -> Any:
        """The table with numbers as float64 and the other columns by ``encode_levels``."""
        numeric = set(self.numeric)
        columns = {
            f"c{i}": X[name].astype(float) if name in numeric else self.encode_levels(X[name])
            for i, name in enumerate(X.columns)
        }
        return X.iloc[:, :0].assign(**columns)

    def encode_levels(self, column: Any) -> Any:
        return column.astype(str).where(column.notna(), "")

    def level_names(self, X: Any) -> list[str]:
        return [f"c{i}" for i, name in enumerate(X.columns) if name not in set(self.numeric)]


class LightGBM(Boosted):
    """LightGBM; categories are declared by their type, and it keeps the levels that it has learned."""

    def make(self, X: Any) -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=threads(), random_state=0, verbose=-1)

    def encode_levels(self, column: Any) -> Any:
        return column.astype(str).where(column.notna(), None).astype("category")


class CatBoost(Boosted):
    """CatBoost; categories are declared, a missing one is a level."""

    def make(self, X: Any) -> Any:
        from catboost import CatBoostClassifier

        return CatBoostClassifier(
            cat_features=self.level_names(X),
            thread_count=threads(),
            random_seed=0,
            verbose=False,
            allow_writing_files=False,
        )


class EBM(Boosted):
    """The explainable boosting machine of interpret-core; kinds of columns are declared."""

    def make(self, X: Any) -> Any:
        from interpret.glassbox import ExplainableBoostingClassifier

        levels = set(self.level_names(X))
        kinds = ["nominal" if f"c{i}" in levels else "continuous" for i in range(X.shape[1])]
        return ExplainableBoostingClassifier(feature_types=kinds, n_jobs=threads(), random_state=0)

    def encode_levels(self, column: Any) -> Any:
        return column.astype(str).where(column.notna(), None).astype(object)


def threads() -> int:
    """Threads that a model may use."""
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
