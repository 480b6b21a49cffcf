"""What an estimator is besides its model, for the file."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from tallybayes.storage import Saved

DERIVED = {  # from the model
    *("model_", "classes_", "classifier_", "n_features_in_", "feature_names_in_", "class_log_prior_"),
    *("n_components_", "n_iter_", "converged_", "log_likelihood_path_"),
}


def saved_of(estimator: Any) -> Saved:
    """What an estimator is besides its model, for the file."""
    params = estimator.get_params(deep=False)
    inner = {name: saved_of(value) for name, value in params.items() if isinstance(value, BaseEstimator)}
    own = sorted(vars(estimator).items())
    fitted = {name: value for name, value in own if name.endswith("_") and name not in {*params, *DERIVED}}
    return Saved(type(estimator).__name__, params | inner, fitted)
