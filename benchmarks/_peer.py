"""What a scikit-learn user would wire up for a mixed table: encoders, two models, and their product."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import OrdinalEncoder


class Combined:
    """GaussianNB on the numbers and CategoricalNB on the ordinal codes of the rest, joined by Bayes' rule.

    Code 0 is kept for missing and unseen levels, which scikit-learn's CategoricalNB cannot take otherwise; missing
    numbers are filled with the mean.
    """

    def __init__(self, numeric: list[str], categorical: list[str]) -> None:
        self.numeric, self.categorical = numeric, categorical

    def fit(self, X: Any, y: Any) -> Self:
        self.parts: list[Any] = []
        if self.numeric:
            self.filler = SimpleImputer(keep_empty_features=True)
            self.parts.append(GaussianNB().fit(self.filler.fit_transform(X[self.numeric]), y))
        if self.categorical:
            self.encoder = OrdinalEncoder(
                handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1, dtype=np.int64
            )
            codes = self.encoder.fit_transform(X[self.categorical]) + 1
            least = [len(levels) + 1 for levels in self.encoder.categories_]
            self.parts.append(CategoricalNB(min_categories=least).fit(codes, y))
        self.classes_ = self.parts[0].classes_
        return self

    def predict_log_proba(self, X: Any) -> Any:
        scores = []
        if self.numeric:
            scores.append(self.parts[0].predict_joint_log_proba(self.filler.transform(X[self.numeric])))
        if self.categorical:
            scores.append(self.parts[-1].predict_joint_log_proba(self.encoder.transform(X[self.categorical]) + 1))
        joint = sum(scores)
        if len(scores) == 2:  # the prior is in both
            joint = joint - self.parts[-1].class_log_prior_
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> Any:
        return np.exp(self.predict_log_proba(X))
