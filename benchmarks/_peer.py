"""What else is there for a mixed table: scikit-learn's models behind their encoders, and Khiops."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler


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


def logistic(numeric: list[str], categorical: list[str]) -> Any:
    """Logistic regression on standardised numbers and one column for each level; missing values become the mean."""
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore")
    columns = ColumnTransformer([("numbers", numbers, numeric), ("levels", levels, categorical)], sparse_threshold=0)
    # The same maximum as by default, in a few steps: on covtype L-BFGS has not arrived after 300.
    return make_pipeline(columns, LogisticRegression(solver="newton-cholesky", max_iter=1000))


def boosting(numeric: list[str], categorical: list[str]) -> Any:
    """Gradient boosting as scikit-learn ships it; categories (254 at most) are declared, so are missing values."""
    levels = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan, max_categories=254
    )
    columns = ColumnTransformer([("levels", levels, categorical), ("numbers", "passthrough", numeric)])
    is_level = np.arange(len(categorical) + len(numeric)) < len(categorical)
    model = HistGradientBoostingClassifier(categorical_features=is_level, random_state=0)
    return make_pipeline(columns, model)


class Khiops:
    """Khiops in the Python that the environment variable TALLYBAYES_KHIOPS names, in a process of its own.

    The seconds that the process reports are those of fit and predict, without its start.
    """

    def __init__(self, numeric: list[str], categorical: list[str], **settings: Any) -> None:
        self.numeric, self.settings = numeric, settings

    def fit(self, X: Any, y: Any) -> Self:
        self.learned = X, y
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        with TemporaryDirectory() as folder:
            place = Path(folder)
            for name, table in (("train", self.learned[0]), ("test", X)):
                table.to_csv(place / f"{name}.csv", index=False)
            about = {"numeric": self.numeric, "settings": self.settings, "y": self.learned[1].tolist()}
            (place / "about.json").write_text(json.dumps(about))
            script = Path(__file__).with_name("_khiops.py")
            # It warns of every table from which it builds no tree; what makes it fail is shown.
            subprocess.run([os.environ["TALLYBAYES_KHIOPS"], "-W", "ignore", script, folder], check=True)
            answer = json.loads((place / "answer.json").read_text())
        self.seconds = answer["seconds"]
        order = [answer["classes"].index(label) for label in self.classes_]
        return np.array(answer["posterior"])[:, order]
