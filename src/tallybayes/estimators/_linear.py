"""The linear view of estimators whose scores are linear; `Fitted` takes these functions for its attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.errors import NotAvailableError


def linear_view(model: Model) -> tuple[Array, Array]:
    """Weights and biases of the classes, or of their log odds where there are two."""
    if len(model.tally.blocks) != 1 or model.settings.weights is not None:
        raise NotAvailableError("a mixed table has no single linear form; read the evidence with explain")
    if model.settings.offsets:
        raise NotAvailableError(
            "corrections learned from rows have no linear form; without_refinement() leaves them out"
        )
    ((block, family),) = model.settings.families.items()
    weights, bias = family.linear(model.parameters[block])
    bias = bias + model.log_prior
    if not np.isfinite(bias).all():
        raise NotAvailableError("a class with a prior of zero has an infinite bias; use prior_alpha > 0")
    if len(weights) == 2:
        return weights[1:] - weights[:1], bias[1:] - bias[:1]
    return weights, bias


def coef(self: Any) -> Array:
    """Weights of the linear view: one row for two classes (as in LogisticRegression), else one a class."""
    return linear_view(self.model_)[0]


def intercept(self: Any) -> Array:
    """Bias of the linear view: ``X @ coef_.T + intercept_`` is the log odds, or log joints up to a shared term."""
    return linear_view(self.model_)[1]


def to_logistic_regression(self: Any) -> Any:
    """Return a fitted scikit-learn LogisticRegression that gives the same probabilities.

    Returns
    -------
    LogisticRegression
        Fitted as if by itself; `BernoulliNB` expects it to be given 0 and 1.
    """
    from sklearn.linear_model import LogisticRegression

    check_is_fitted(self)
    if len(self.classes_) < 2:
        raise NotAvailableError("logistic regression needs at least two classes")
    twin = LogisticRegression()
    twin.coef_, twin.intercept_ = (np.ascontiguousarray(part) for part in linear_view(self.model_))
    twin.classes_, twin.n_features_in_, twin.n_iter_ = self.classes_, self.n_features_in_, np.zeros(1, dtype=np.int32)
    if "feature_names_in_" in vars(self):
        twin.feature_names_in_ = self.feature_names_in_
    return twin
