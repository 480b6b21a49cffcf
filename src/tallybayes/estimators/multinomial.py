"""Naive Bayes for documents: multinomial word counts."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.core.batch import Array
from tallybayes.estimators._discrete import CONSTRAINTS, DiscreteNB, feature_count, pseudocount
from tallybayes.families.multinomial import Multinomial
from tallybayes.learning.options import EM, Unlabelled


class MultinomialNB(DiscreteNB):
    """Naive Bayes for documents: word counts, one distribution over the words per class.

    A drop-in replacement of scikit-learn's class of the same name. On top of it: exact unlearning, addition,
    leave-one-out, ``alpha="auto"``, the linear view and P(x) with its multinomial coefficient.

    Parameters
    ----------
    alpha : float, array-like of shape (n_features,) or "auto", default=1.0
        Pseudocount of every word: (t_v + alpha) / (Σ t + V alpha). 0 is maximum likelihood; "auto" maximises the
        leave-one-out likelihood of the labels.
    force_alpha : bool, default=True
        If False, alpha is at least 1e-10.
    fit_prior : bool, default=True
        Learn P(y) from the data; otherwise all classes are alike.
    class_prior : array-like of shape (n_classes,), default=None
        P(y) of each class, if given.
    document_length : float or "auto", optional
        Scale the counts of each document to this sum before they are counted or scored, so that a long document
        counts no more than a short one. "auto" takes the length that makes the labels of held-out rows likeliest.
    prior_alpha : float, default=0.0
        Pseudocount of every class in the learned prior.
    n_jobs, unlabelled, em
        As in `GaussianNB`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Count, and log share, of each class and word.
    alpha_ : float
        The chosen pseudocount, with ``alpha="auto"``.
    document_length_ : float or None
        The chosen length, with ``document_length="auto"``; None where documents are best as they are.
    n_features_in_, feature_names_in_, n_iter_, converged_, log_likelihood_path_
        As in `GaussianNB`.
    model_ : Model
    tally_ : Tally
    n_parameters_ : int
    coef_, intercept_ : ndarray
        The linear view: log odds = ``X @ coef_.T + intercept_``.

    Examples
    --------
    >>> from tallybayes import MultinomialNB
    >>> model = MultinomialNB().fit([[2, 1, 0], [1, 0, 0], [0, 1, 3]], ["ham", "ham", "spam"])
    >>> model.predict([[0, 0, 1]])
    array(['spam'], dtype='<U4')
    """

    _block = "multinomial"
    _kind = "count"
    _missing = False
    _chosen_parameters = ("alpha", "document_length")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "document_length": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), None],
    }

    def __init__(
        self,
        *,
        alpha: ArrayLike | Literal["auto"] = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        document_length: float | Literal["auto"] | None = None,
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        unlabelled: Unlabelled = "error",
        em: EM | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.document_length = document_length
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        self.unlabelled = unlabelled
        self.em = em

    def _family(self) -> Multinomial:
        length = None if isinstance(self.document_length, str) else self.document_length
        alpha = pseudocount(self.alpha, self.n_features_in_, self.force_alpha)
        return Multinomial(alpha, None if length is None else float(length))

    @property
    def document_length_(self) -> float | None:
        """The chosen length, with ``document_length="auto"``; None where documents are best as they are."""
        return self._chosen("document_length")

    @property
    def feature_log_prob_(self) -> Array:
        """Log share of each word in each class, shape (n_classes, n_features)."""
        return self.model_.parameters[self._block].log_theta.T

    feature_count_ = property(feature_count)
