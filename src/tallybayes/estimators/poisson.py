"""Naive Bayes for counts of events."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.core.batch import Array
from tallybayes.estimators._discrete import CONSTRAINTS, DiscreteNB, feature_count, pseudocount
from tallybayes.families.poisson import Poisson
from tallybayes.learning.options import EM, Unlabelled


class PoissonNB(DiscreteNB):
    """Naive Bayes for how often things happened: each column a rate of events per class.

    Unlike the multinomial model it uses how many events there were in all, and takes missing values (NaN) in dense
    data.

    Parameters
    ----------
    alpha : float or "auto", default=1.0
        Rows of one event a column that are added to every class: (t + alpha) / (n + alpha). 0 is maximum
        likelihood; "auto" maximises the leave-one-out likelihood of the labels.
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
    feature_count_, rate_ : ndarray of shape (n_classes, n_features)
        Events, and events per row, of each class and column.
    alpha_ : float
        The chosen pseudocount, with ``alpha="auto"``.
    n_features_in_, feature_names_in_, n_iter_, converged_, log_likelihood_path_
        As in `GaussianNB`.
    model_ : Model
    tally_ : Tally
    n_parameters_ : int
    coef_, intercept_ : ndarray
        The linear view.

    Examples
    --------
    >>> from tallybayes import PoissonNB
    >>> model = PoissonNB(alpha=0).fit([[0], [2], [7], [9]], ["quiet", "quiet", "busy", "busy"])
    >>> model.rate_
    array([[8.],
           [1.]])
    """

    _block = "poisson"
    _kind = "count"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: checks for name, checks in CONSTRAINTS.items() if name != "force_alpha"},
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        alpha: float | Literal["auto"] = 1.0,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        unlabelled: Unlabelled = "error",
        em: EM | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        self.unlabelled = unlabelled
        self.em = em

    def _family(self) -> Poisson:
        return Poisson(pseudocount(self.alpha, self.n_features_in_))

    @property
    def rate_(self) -> Array:
        """Events per row of each class and column, shape (n_classes, n_features)."""
        return self.model_.parameters[self._block].rate

    feature_count_ = property(feature_count)
