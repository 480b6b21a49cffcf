"""The base of the estimators with a pseudocount: alpha, its lower bound, and the parameters of the prior."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

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


class DiscreteNB(MatrixNB):
    """A classifier of a matrix with a pseudocount ``alpha`` and the prior by ``fit_prior`` and ``class_prior``."""

    alpha: Any
    fit_prior: bool
    class_prior: Any
    _chosen_parameters: ClassVar[tuple[str, ...]] = ("alpha",)

    def _choices(self) -> list[str]:
        values = ((name, getattr(self, name)) for name in self._chosen_parameters)
        return [name for name, value in values if isinstance(value, str) and value == "auto"]

    def _prior(self, classes: NDArray[Any]) -> Prior:
        if self.class_prior is not None:
            return given_prior(self.class_prior, classes)
        return "empirical" if self.fit_prior else "uniform"

    def _with_prior_parameter(self, prior: Any) -> None:
        self.fit_prior, self.class_prior = prior != "uniform", None if isinstance(prior, str) else prior

    @property
    def class_log_prior_(self) -> Array:
        """Log P(y), shape (n_classes,)."""
        return self.model_.log_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def feature_count(self: Any) -> Array:
    """Σ w·x of each class and column, shape (n_classes, n_features); of yes and no the weight of yes."""
    return self._summary.count
