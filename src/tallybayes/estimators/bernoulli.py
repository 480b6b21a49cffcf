"""Bernoulli Naive Bayes."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from tallybayes.core.batch import Array, Csr, Matrix
from tallybayes.data.arrays import is_sparse, sparse_rows
from tallybayes.errors import CellError
from tallybayes.estimators._discrete import CONSTRAINTS, DiscreteNB, feature_count, pseudocount
from tallybayes.families.bernoulli import Bernoulli
from tallybayes.learning.options import EM, Unlabelled


class BernoulliNB(DiscreteNB):
    """Naive Bayes for yes and no: each column a probability of yes per class.

    A drop-in replacement of scikit-learn's class of the same name. On top of it: missing values (NaN) in dense data,
    exact unlearning, addition, leave-one-out, ``alpha="auto"`` and the linear view.

    Parameters
    ----------
    alpha : float, array-like of shape (n_features,) or "auto", default=1.0
        Pseudocount of yes and of no: (n_1 + alpha) / (n + 2 alpha). 0 is maximum likelihood; "auto" maximises the
        leave-one-out likelihood of the labels.
    force_alpha : bool, default=True
        If False, alpha is at least 1e-10.
    binarize : float or None, default=0.0
        Values above it are yes. None means that the data is 0 and 1 already.
    fit_prior : bool, default=True
        Learn P(y) from the data; otherwise all classes are alike.
    class_prior : array-like of shape (n_classes,), default=None
        P(y) of each class, if given.
    prior_alpha : float, default=0.0
        Pseudocount of every class in the learned prior.
    n_jobs, unlabelled, em
        As in `GaussianNB`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weight of yes, and log P(yes), of each class and column.
    alpha_ : float
        The chosen pseudocount, with ``alpha="auto"``.
    n_features_in_, feature_names_in_, n_iter_, converged_, log_likelihood_path_
        As in `GaussianNB`.
    model_ : Model
    tally_ : Tally
    n_parameters_, n_joint_parameters_ : int
    coef_, intercept_ : ndarray
        The linear view: log odds = ``X @ coef_.T + intercept_`` for X of 0 and 1.

    Examples
    --------
    >>> from tallybayes import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 1], [1, 0], [0, 0], [0, 1]], [1, 1, 0, 0])
    >>> model.predict_proba([[1, 1]]).round(3)
    array([[0.25, 0.75]])
    >>> model.n_parameters_, model.n_joint_parameters_
    (5, 7)
    """

    _block = "bernoulli"
    _kind = "boolean"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: ArrayLike | Literal["auto"] = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        unlabelled: Unlabelled = "error",
        em: EM | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        self.unlabelled = unlabelled
        self.em = em

    def _family(self) -> Bernoulli:
        alpha = pseudocount(self.alpha, self.n_features_in_, self.force_alpha)
        return Bernoulli(alpha, None if self.binarize is None else float(self.binarize))

    def _encode(self, x: Any, learning: bool) -> Matrix:
        # Duplicate entries are parts of one value, so they are summed before it is held against the threshold.
        rows = sparse_rows(x, canonical=True) if is_sparse(x) else x
        if self.binarize is None:
            values = rows.data if isinstance(rows, Csr) else rows
            if np.nanmax(values, initial=0) > 1:
                row, column = np.argwhere((rows.dense() if isinstance(rows, Csr) else rows) > 1)[0]
                raise CellError("holds more than 1", "Set binarize to a threshold.", int(row), int(column))
        return rows

    feature_count_ = property(feature_count)

    @property
    def feature_log_prob_(self) -> Array:
        """Log P(yes) in each class and column, shape (n_classes, n_features)."""
        return self.model_.parameters[self._block].log_yes.T
