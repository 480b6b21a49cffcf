"""Naive Bayes for counts: multinomial, complement and Poisson."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.core.batch import Array, Rows
from tallybayes.core.settings import Prior, checked_prior
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.estimators._discrete import DiscreteNB
from tallybayes.families.complement import Complement
from tallybayes.families.multinomial import Multinomial
from tallybayes.families.poisson import Poisson
from tallybayes.learning.em import Learned
from tallybayes.learning.smoothing import best_document_length


class CountsNB(DiscreteNB):
    """What the estimators for counts share."""

    _kind = "count"

    @property
    def feature_count_(self) -> Array:
        """Σ w·x of each class and column, shape (n_classes, n_features)."""
        return self._summary.count

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


class MultinomialNB(CountsNB):
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
        Scale the counts of each document to this sum before they are counted or scored, so that a long document is
        no surer than a short one. "auto" takes the length that makes the labels of left-out rows likeliest.
    prior_alpha : float, default=0.0
        Pseudocount of every class in the learned prior.
    n_jobs : int, default=None
        Threads; None takes all cores for large inputs.
    unlabelled : {"error", "ignore", "em"}, default="error"
        What to do with a row that has no label (None, NaN, −1 among integers): refuse it, leave it out, or learn it
        by expectation-maximisation. With "error" −1 is a label like any other.
    unlabelled_weight : float or "auto", default=1.0
        How much an unlabelled row counts beside a labelled one; "auto" takes what makes the labels of left-out rows
        likeliest.
    components_per_class : int, default=1
        Mixture components of each class, with "em".
    max_iter : int, default=100
        Most steps of "em".
    tol : float, default=1e-3
        The steps end when one gains less in log likelihood a row.
    warm_start : bool, default=False
        Begin with the model of the last fit instead of that of the labelled rows.
    keep_responsibilities : bool, default=False
        Keep `responsibilities_`, what share of each row each class (or component) got.
    verbose : int, default=0
        Print every step.

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
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    n_iter_, converged_ : int and bool
        Steps of "em", 1 without, and whether they ended by themselves.
    log_likelihood_path_ : ndarray of shape (n_iter_,)
        Penalised log likelihood after each step; it never falls.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DiscreteNB._parameter_constraints,
        "document_length": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), None],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        document_length: Any = None,
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        unlabelled: Any = "error",
        unlabelled_weight: Any = 1.0,
        components_per_class: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        warm_start: bool = False,
        keep_responsibilities: bool = False,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.document_length = document_length
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        steps = max_iter, tol, warm_start, keep_responsibilities, verbose
        self._set_em(unlabelled, unlabelled_weight, components_per_class, *steps)

    def _family(self) -> Multinomial:
        length = self.document_length
        if isinstance(length, str):
            length = getattr(self, "document_length_", None)
        return Multinomial(self._alpha(), None if length is None else float(length))

    def _choose_smoothing(self, batch: Rows) -> None:
        if isinstance(self.document_length, str):
            self.document_length_, self.model_ = best_document_length(self.model_, self._block, batch, self.n_jobs)
        super()._choose_smoothing(batch)

    def _refuse_auto(self, of: str) -> None:
        super()._refuse_auto(of)
        if isinstance(self.document_length, str):
            raise SettingError(f"document_length='auto' is chosen by looking at rows, not at {of}; give it a number")

    @property
    def feature_log_prob_(self) -> Array:
        """Log share of each word in each class, shape (n_classes, n_features)."""
        return self.model_.parameters[self._block].log_theta.T


NO_EVIDENCE = "complement weights rank classes, they are no probability of x; use MultinomialNB for P(x)"


class ComplementNB(CountsNB):
    """Naive Bayes for documents of unequal classes: words weighed by the other classes (Rennie et al. 2003).

    A drop-in replacement of scikit-learn's class of the same name. On top of it: exact unlearning, addition,
    leave-one-out, ``alpha="auto"`` and the linear view.

    Parameters
    ----------
    alpha : float, array-like of shape (n_features,) or "auto", default=1.0
        Pseudocount of every word; "auto" maximises the leave-one-out likelihood of the labels.
    force_alpha : bool, default=True
        If False, alpha is at least 1e-10.
    fit_prior : bool, default=True
        Only tells `class_log_prior_`: complement weights use no prior.
    class_prior : array-like of shape (n_classes,), default=None
        Only tells `class_log_prior_`.
    norm : bool, default=False
        Divide the weights of a class by their sum.
    prior_alpha : float, default=0.0
        Only tells `class_log_prior_`.
    n_jobs : int, default=None
        Threads; None takes all cores for large inputs.
    unlabelled : {"error", "ignore", "em"}, default="error"
        What to do with a row that has no label (None, NaN, −1 among integers): refuse it, leave it out, or learn it
        by expectation-maximisation. With "error" −1 is a label like any other.
    unlabelled_weight : float or "auto", default=1.0
        How much an unlabelled row counts beside a labelled one; "auto" takes what makes the labels of left-out rows
        likeliest.
    components_per_class : int, default=1
        Mixture components of each class, with "em".
    max_iter : int, default=100
        Most steps of "em".
    tol : float, default=1e-3
        The steps end when one gains less in log likelihood a row.
    warm_start : bool, default=False
        Begin with the model of the last fit instead of that of the labelled rows.
    keep_responsibilities : bool, default=False
        Keep `responsibilities_`, what share of each row each class (or component) got.
    verbose : int, default=0
        Print every step.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**DiscreteNB._parameter_constraints, "norm": ["boolean"]}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        unlabelled: Any = "error",
        unlabelled_weight: Any = 1.0,
        components_per_class: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        warm_start: bool = False,
        keep_responsibilities: bool = False,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        steps = max_iter, tol, warm_start, keep_responsibilities, verbose
        self._set_em(unlabelled, unlabelled_weight, components_per_class, *steps)

    def _family(self) -> Complement:
        return Complement(self._alpha(), bool(self.norm))

    def _prior(self, classes: NDArray[Any]) -> Prior:
        self._nominal_prior = super()._prior(classes)  # unused, but an error if it is none
        if isinstance(self._nominal_prior, Mapping):
            checked_prior(self._nominal_prior, tuple(classes.tolist()))
        return "none"

    @property
    def score_samples(self) -> Any:
        """Not available: complement weights are no probability of x."""
        raise NotAvailableError(NO_EVIDENCE)

    @property
    def log_likelihood(self) -> Any:
        """Not available: complement weights are no probability of x."""
        raise NotAvailableError(NO_EVIDENCE)

    @property
    def log_likelihood_path_(self) -> Any:  # type: ignore[override]
        """Not available: complement weights are no probability of x, so "em" has no likelihood to climb."""
        raise NotAvailableError(NO_EVIDENCE)

    def _keep_path(self, found: Learned) -> None:
        self.n_iter_, self.converged_ = found.n_iter, found.converged

    def with_prior(self, prior: Any) -> Any:
        """Not available: complement weights use no prior."""
        raise NotAvailableError("complement weights use no prior, so it cannot be changed; use MultinomialNB")

    @property
    def class_log_prior_(self) -> Array:
        """Log P(y), shape (n_classes,): what the prior would be, were it used."""
        settings = replace(self.model_.settings, prior=self._nominal_prior)
        return settings.log_prior(self.model_.schema, self.class_count_)

    @property
    def feature_all_(self) -> Array:
        """Count of each word over all classes, shape (n_features,)."""
        return self.feature_count_.sum(axis=0)

    @property
    def feature_log_prob_(self) -> Array:
        """Weight of each word in each class, shape (n_classes, n_features)."""
        return self.model_.parameters[self._block].finite.slope.T


class PoissonNB(CountsNB):
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
    n_jobs : int, default=None
        Threads; None takes all cores for large inputs.
    unlabelled : {"error", "ignore", "em"}, default="error"
        What to do with a row that has no label (None, NaN, −1 among integers): refuse it, leave it out, or learn it
        by expectation-maximisation. With "error" −1 is a label like any other.
    unlabelled_weight : float or "auto", default=1.0
        How much an unlabelled row counts beside a labelled one; "auto" takes what makes the labels of left-out rows
        likeliest.
    components_per_class : int, default=1
        Mixture components of each class, with "em".
    max_iter : int, default=100
        Most steps of "em".
    tol : float, default=1e-3
        The steps end when one gains less in log likelihood a row.
    warm_start : bool, default=False
        Begin with the model of the last fit instead of that of the labelled rows.
    keep_responsibilities : bool, default=False
        Keep `responsibilities_`, what share of each row each class (or component) got.
    verbose : int, default=0
        Print every step.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    feature_count_, rate_ : ndarray of shape (n_classes, n_features)
        Events, and events per row, of each class and column.
    alpha_ : float
        The chosen pseudocount, with ``alpha="auto"``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    n_iter_, converged_ : int and bool
        Steps of "em", 1 without, and whether they ended by themselves.
    log_likelihood_path_ : ndarray of shape (n_iter_,)
        Penalised log likelihood after each step; it never falls.
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
    force_alpha = True  # read by DiscreteNB; no parameter of this class

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: checks for name, checks in DiscreteNB._parameter_constraints.items() if name != "force_alpha"},
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        unlabelled: Any = "error",
        unlabelled_weight: Any = 1.0,
        components_per_class: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        warm_start: bool = False,
        keep_responsibilities: bool = False,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        steps = max_iter, tol, warm_start, keep_responsibilities, verbose
        self._set_em(unlabelled, unlabelled_weight, components_per_class, *steps)

    def _family(self) -> Poisson:
        return Poisson(self._alpha())

    @property
    def rate_(self) -> Array:
        """Events per row of each class and column, shape (n_classes, n_features)."""
        return self.model_.parameters[self._block].rate

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
