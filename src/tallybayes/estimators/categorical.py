"""Categorical Naive Bayes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.core.batch import Array, Codes, Matrix
from tallybayes.core.schema import Column
from tallybayes.data.arrays import MOST_LEVELS, ordinal_codes
from tallybayes.errors import DataError
from tallybayes.estimators._discrete import CONSTRAINTS, DiscreteNB, pseudocount
from tallybayes.families.categorical import Categorical
from tallybayes.learning.options import EM, Unlabelled


class CategoricalNB(DiscreteNB):
    """Naive Bayes for categories numbered 0 … C − 1: each column a table of probabilities per class.

    A drop-in replacement of scikit-learn's class of the same name. On top of it: missing values (NaN), categories
    never seen in training, exact unlearning, addition, leave-one-out and ``alpha="auto"``.

    Parameters
    ----------
    alpha : float or "auto", default=1.0
        Pseudocount of every level: (n_c + alpha) / (n + C alpha). 0 is maximum likelihood; "auto" maximises the
        leave-one-out likelihood of the labels.
    force_alpha : bool, default=True
        If False, alpha is at least 1e-10.
    fit_prior : bool, default=True
        Learn P(y) from the data; otherwise all classes are alike.
    class_prior : array-like of shape (n_classes,), default=None
        P(y) of each class, if given.
    min_categories : int or array-like of shape (n_features,), default=None
        Number of levels to assume at least; one that never occurs still takes its share of the smoothing.
    unseen : {"ignore", "smooth"}, default="ignore"
        Evidence of an unseen category: none, or the probability that the smoothing gives one level.
    prior_alpha : float, default=0.0
        Pseudocount of every class in the learned prior.
    n_jobs, unlabelled, em
        As in `GaussianNB`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    category_count_, feature_log_prob_ : list of ndarray of shape (n_classes, n_categories)
        Weight, and log probability, of each class and level, a table a column.
    n_categories_ : ndarray of shape (n_features,)
    alpha_ : float
        The chosen pseudocount, with ``alpha="auto"``.
    n_features_in_, feature_names_in_, n_iter_, converged_, log_likelihood_path_
        As in `GaussianNB`.
    model_ : Model
    tally_ : Tally
    n_parameters_, n_joint_parameters_ : int

    Examples
    --------
    >>> from tallybayes import CategoricalNB
    >>> model = CategoricalNB(alpha=0).fit([[0, 1], [1, 0], [1, 1]], ["no", "yes", "yes"])
    >>> model.predict([[1, 7]])  # 7 was never seen: no evidence
    array(['yes'], dtype='<U3')
    """

    _block = "categorical"
    _kind = "category"
    _sparse = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
        "unseen": [StrOptions({"ignore", "smooth"})],
    }

    def __init__(
        self,
        *,
        alpha: float | Literal["auto"] = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        min_categories: ArrayLike | None = None,
        unseen: Literal["ignore", "smooth"] = "ignore",
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        unlabelled: Unlabelled = "error",
        em: EM | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.unseen = unseen
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        self.unlabelled = unlabelled
        self.em = em

    def _family(self) -> Categorical:
        return Categorical(pseudocount(self.alpha, self.n_features_in_, self.force_alpha), self.unseen)

    def _encode(self, x: Any, learning: bool) -> Codes:
        codes, n_levels = ordinal_codes(x, learning, self.n_jobs)
        return Codes(codes, np.maximum(n_levels, self._least_levels(len(n_levels))))

    def _schema_columns(self, x: Matrix) -> tuple[Column, ...]:
        assert isinstance(x, Codes)
        least = self._least_levels(x.shape[1]).tolist()
        return tuple(
            Column(column.name, "category", range(n), declared=range(declared))
            for column, n, declared in zip(self._plain_columns(x.shape[1]), x.n_levels.tolist(), least, strict=True)
        )

    def _least_levels(self, n_columns: int) -> NDArray[np.int64]:
        """The declared number of levels of each column."""
        if self.min_categories is None:
            return np.ones(n_columns, dtype=np.int64)
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu":
            raise DataError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.ndim and least.shape != (n_columns,):
            raise DataError(
                f"'min_categories' should have shape ({n_columns},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )
        if (least > MOST_LEVELS).any():
            raise DataError(f"'min_categories' must be at most {MOST_LEVELS:,}, the largest table that is made")
        return np.broadcast_to(least, (n_columns,)).astype(np.int64)

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """Number of levels of each column, shape (n_features,)."""
        return self._summary.n_levels

    @property
    def category_count_(self) -> list[Array]:
        """Weight of each class and level, an array of shape (n_classes, n_categories) a column."""
        return np.split(self._summary.count, np.cumsum(self.n_categories_)[:-1], axis=1)

    @property
    def feature_log_prob_(self) -> list[Array]:
        """Log probability of each class and level, an array of shape (n_classes, n_categories) a column."""
        tables = self.model_.parameters[self._block]
        return [tables.of_column(j) for j in range(len(self.n_categories_))]
