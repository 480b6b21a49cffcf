"""What the estimators with a pseudocount share: alpha, its lower bound, and the names of the prior."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.core.batch import Array
from tallybayes.core.settings import Prior
from tallybayes.estimators._checks import given_prior
from tallybayes.estimators._matrices import MatrixNB

SMALLEST = 1e-10  # pseudocount, unless force_alpha

CONSTRAINTS: dict[str, list[Any]] = {
    **MatrixNB._parameter_constraints,
    "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"auto"})],
    "force_alpha": ["boolean"],
    "fit_prior": ["boolean"],
    "class_prior": ["array-like", None],
}


def pseudocount(alpha: Any, n_features: int, force_alpha: bool = True) -> float | tuple[float, ...]:
    """The pseudocount to use: as given or lifted off zero; 1 to begin with where it is to be chosen."""
    if isinstance(alpha, str):
        return 1.0
    values = np.asarray(alpha, dtype=np.float64)
    if values.ndim and values.shape != (n_features,):
        raise ValueError(
            "When alpha is an array, it should contains `n_features`. "
            f"Got {values.shape[0]} elements instead of {n_features}."
        )
    if not (values >= 0).all():
        raise ValueError("All values in alpha must be greater than 0.")
    if values.min() < SMALLEST and not force_alpha:
        warnings.warn(
            "alpha too small will result in numeric errors, setting alpha = 1.0e-10. Use `force_alpha=True` to "
            "keep alpha unchanged.",
            UserWarning,
            stacklevel=5,
        )
        values = np.maximum(values, SMALLEST)
    return tuple(values.tolist()) if values.ndim else float(values)


def prior_of(estimator: Any, classes: NDArray[Any]) -> Prior:
    """The prior that ``fit_prior`` and ``class_prior`` describe."""
    if estimator.class_prior is not None:
        return given_prior(estimator.class_prior, classes)
    return "empirical" if estimator.fit_prior else "uniform"


def set_prior(estimator: Any, prior: Any) -> None:
    """Make a prior the one that ``fit_prior`` and ``class_prior`` describe."""
    estimator.fit_prior, estimator.class_prior = prior != "uniform", None if isinstance(prior, str) else prior


def choices_of(estimator: Any, *names: str) -> list[str]:
    """The parameters that are to be chosen by looking at rows."""
    return [name for name in names if isinstance(value := getattr(estimator, name), str) and value == "auto"]


def class_log_prior(estimator: Any) -> Array:
    """Log P(y), shape (n_classes,)."""
    return estimator.model_.log_prior
