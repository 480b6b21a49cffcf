"""What the estimators with a pseudocount share."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from tallybayes.core.batch import Array, Batch, Rows
from tallybayes.core.model import Model
from tallybayes.core.settings import Prior, Settings
from tallybayes.errors import NotAvailableError
from tallybayes.estimators._base import BaseNB
from tallybayes.estimators._fitted import given_prior
from tallybayes.learning import em
from tallybayes.learning.smoothing import best_alpha, with_alpha


def _all_is_given(estimator: Any) -> bool:
    if isinstance(estimator.alpha, str) and estimator.alpha == "auto":
        raise NotAvailableError("alpha='auto' looks at all rows at once: use fit, or give alpha a number")
    if isinstance(getattr(estimator, "document_length", None), str):
        raise NotAvailableError("document_length='auto' looks at all rows at once: use fit, or give it a number")
    return True


class DiscreteNB(BaseNB):
    """What the estimators with a pseudocount share: alpha, its floor, its automatic choice, and the prior's names."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseNB._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"auto"})],
        "force_alpha": ["boolean"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
    }

    def _alpha(self) -> float | tuple[float, ...]:
        """The pseudocount to use: as given, as chosen, or lifted off zero."""
        if isinstance(self.alpha, str):
            return getattr(self, "alpha_", 1.0)
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim and alpha.shape != (self.n_features_in_,):
            raise ValueError(
                "When alpha is an array, it should contains `n_features`. "
                f"Got {alpha.shape[0]} elements instead of {self.n_features_in_}."
            )
        if not (alpha >= 0).all():
            raise ValueError("All values in alpha must be greater than 0.")
        if alpha.min() < 1e-10 and not self.force_alpha:
            warnings.warn(
                "alpha too small will result in numeric errors, setting alpha = 1.0e-10. Use `force_alpha=True` to "
                "keep alpha unchanged.",
                UserWarning,
                stacklevel=5,
            )
            alpha = np.maximum(alpha, 1e-10)
        return tuple(alpha.tolist()) if alpha.ndim else float(alpha)

    def _prior(self, classes: NDArray[Any]) -> Prior:
        if self.class_prior is not None:
            return given_prior(self.class_prior, classes)
        return "empirical" if self.fit_prior else "uniform"

    def _set_prior(self, prior: Any) -> None:
        self.fit_prior, self.class_prior = prior != "uniform", None if isinstance(prior, str) else prior

    @available_if(_all_is_given)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        return super().partial_fit(X, y, classes, sample_weight)

    partial_fit.__doc__ = BaseNB.partial_fit.__doc__

    def _choose_smoothing(self, batch: Rows) -> None:
        if isinstance(self.alpha, str):
            self.alpha_ = best_alpha(self.model_, self._block, batch, self.n_jobs)
            settings = Settings({self._block: self._family()}, self.model_.settings.prior, float(self.prior_alpha))
            self.model_ = Model(settings, self.model_.tally)

    def _with_chosen_alpha(self, start: Model, rows: Batch) -> Model:
        if not isinstance(self.alpha, str):
            return start
        starts = {alpha: with_alpha(start, self._block, alpha) for alpha in em.ALPHAS}
        weight = 1.0 if isinstance(self.unlabelled_weight, str) else float(self.unlabelled_weight)
        self.alpha_ = em.best_alpha(starts, em.weighing(rows, weight), self._learned)
        return starts[self.alpha_]

    @property
    def class_log_prior_(self) -> Array:
        """Log P(y), shape (n_classes,)."""
        return self.model_.log_prior
