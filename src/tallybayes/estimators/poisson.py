"""Naive Bayes for counts of events."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.core.batch import Array
from tallybayes.core.settings import Prior
from tallybayes.estimators._discrete import CONSTRAINTS, choices_of, class_log_prior, prior_of, pseudocount, set_prior
from tallybayes.estimators._matrices import MatrixNB
from tallybayes.families.poisson import Poisson
from tallybayes.learning.options import EM, Unlabelled


class PoissonNB(MatrixNB):
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
    em : EM, optional
        How expectation-maximisation goes with ``unlabelled="em"``: ``EM(weight=0.5, max_iter=200)``.

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
    _kind = "count"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: checks for name, checks in CONSTRAINTS.items() if name != "force_alpha"},
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

    def _choices(self) -> list[str]:
        return choices_of(self, "alpha")

    def _prior(self, classes: NDArray[Any]) -> Prior:
        return prior_of(self, classes)

    def _with_prior_parameter(self, prior: Any) -> None:
        set_prior(self, prior)

    class_log_prior_ = property(class_log_prior)

    def _family(self) -> Poisson:
        return Poisson(pseudocount(self.alpha, self.n_features_in_))

    @property
    def rate_(self) -> Array:
        """Events per row of each class and column, shape (n_classes, n_features)."""
        return self.model_.parameters[self._block].rate

    @property
    def feature_count_(self) -> Array:
        """Σ w·x of each class and column, shape (n_classes, n_features)."""
        return self._summary.count

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags
