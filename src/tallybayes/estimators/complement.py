"""Complement Naive Bayes for documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike, NDArray

from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.core.settings import Prior, checked_prior
from tallybayes.errors import NotAvailableError
from tallybayes.estimators._discrete import CONSTRAINTS, DiscreteNB, feature_count, pseudocount
from tallybayes.families.complement import Complement
from tallybayes.learning.options import EM, Unlabelled

NO_EVIDENCE = "complement weights rank classes, they are no probability of x; use MultinomialNB for P(x)"


class ComplementNB(DiscreteNB):
    """Naive Bayes for documents of unequal classes: words weighted by the other classes (Rennie et al. 2003).

    A drop-in replacement of scikit-learn's class of the same name. On top of it: exact unlearning, addition,
    leave-one-out, ``alpha="auto"`` and the linear view.

    Parameters
    ----------
    alpha : float, array-like of shape (n_features,) or "auto", default=1.0
        Pseudocount of every word; "auto" maximises the leave-one-out likelihood of the labels.
    force_alpha : bool, default=True
        If False, alpha is at least 1e-10.
    fit_prior : bool, default=True
        As in `MultinomialNB`, but for `class_log_prior_` only: complement weights use no prior.
    class_prior : array-like of shape (n_classes,), default=None
        For `class_log_prior_` only.
    norm : bool, default=False
        Divide the weights of a class by their sum.
    prior_alpha : float, default=0.0
        For `class_log_prior_` only.
    n_jobs, unlabelled, em
        As in `GaussianNB`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    feature_all_ : ndarray of shape (n_features,)
        Count of each word over all classes.
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Count, and weight, of each class and word.
    alpha_ : float
        The chosen pseudocount, with ``alpha="auto"``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    n_iter_, converged_ : int and bool
        Steps of "em", 1 without, and whether they ended by themselves.
    model_ : Model
    tally_ : Tally
    n_parameters_ : int
    coef_, intercept_ : ndarray
        The linear view.

    Examples
    --------
    >>> from tallybayes import ComplementNB
    >>> model = ComplementNB().fit([[2, 1, 0], [1, 0, 0], [0, 1, 3]], ["ham", "ham", "spam"])
    >>> model.predict([[0, 0, 1]])
    array(['spam'], dtype='<U4')
    """

    _block = "complement"
    _kind = "count"
    _missing = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**CONSTRAINTS, "norm": ["boolean"]}

    def __init__(
        self,
        *,
        alpha: ArrayLike | Literal["auto"] = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        norm: bool = False,
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        unlabelled: Unlabelled = "error",
        em: EM | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        self.unlabelled = unlabelled
        self.em = em

    def _family(self) -> Complement:
        return Complement(pseudocount(self.alpha, self.n_features_in_, self.force_alpha), bool(self.norm))

    def _prior(self, classes: NDArray[Any]) -> Prior:
        self._nominal_prior(classes)  # not used, but an error if it is none
        return "none"

    def _keep(self, model: Model) -> None:
        super()._keep(model)
        settings = replace(model.settings, prior=self._nominal_prior(self.classes_))
        self._nominal_log_prior = settings.log_prior(model.schema, model.tally.class_weight)

    @property
    def class_log_prior_(self) -> Array:
        """Log P(y), shape (n_classes,), which the scores do not use."""
        return self._nominal_log_prior

    def _nominal_prior(self, classes: NDArray[Any]) -> Prior:
        """The prior that the parameters describe."""
        prior = super()._prior(classes)
        if isinstance(prior, Mapping):
            checked_prior(prior, tuple(classes.tolist()))
        return prior

    @property
    def score_samples(self) -> Any:
        """Not available: complement weights are no probability of x."""
        raise NotAvailableError(NO_EVIDENCE)

    @property
    def log_likelihood(self) -> Any:
        """Not available: complement weights are no probability of x."""
        raise NotAvailableError(NO_EVIDENCE)

    @property
    def log_likelihood_path_(self) -> Any:
        """Not available: complement weights are no probability of x, so "em" has no likelihood to climb."""
        raise NotAvailableError(NO_EVIDENCE)

    def with_prior(self, prior: Any) -> Any:
        """Not available: complement weights use no prior."""
        raise NotAvailableError("complement weights use no prior, so it cannot be changed; use MultinomialNB")

    @property
    def feature_all_(self) -> Array:
        """Count of each word over all classes, shape (n_features,)."""
        return self.feature_count_.sum(axis=0)

    @property
    def feature_log_prob_(self) -> Array:
        """Weight of each word in each class, shape (n_classes, n_features)."""
        return self.model_.parameters[self._block].finite.slope.T

    feature_count_ = property(feature_count)
