"""Gaussian Naive Bayes."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.core.batch import Array, Batch, Rows
from tallybayes.core.model import Model
from tallybayes.core.settings import Prior
from tallybayes.estimators._checks import given_prior
from tallybayes.estimators._matrices import MatrixNB
from tallybayes.families.gaussian import Gaussian, Normals
from tallybayes.learning.options import EM, Unlabelled


class GaussianNB(MatrixNB):
    """Naive Bayes for numbers: each column a normal distribution per class.

    A drop-in replacement of scikit-learn's class of the same name. On top of it: missing values (NaN) are taken as
    they are, `partial_fit` gives the same model for every split of the rows, rows can be unlearned, estimators add,
    and leave-one-out is exact without refitting.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        P(y) of each class; learned from the data if None.
    var_smoothing : float, default=1e-9
        Fraction of the largest column variance that is added to every variance.
    variance : {"class", "shared"}, default="class"
        A variance for each class, or one a column for all: then the boundary is linear (`coef_`).
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
    class_count_, class_prior_ : ndarray of shape (n_classes,)
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Mean and variance (the added part included) of each class and column.
    epsilon_ : float
        What was added to the variances.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    n_iter_, converged_ : int and bool
        Steps of "em", 1 without, and whether they ended by themselves.
    log_likelihood_path_ : ndarray of shape (n_iter_,)
        Penalised log likelihood after each step; it never falls.
    model_ : Model
        The record behind the estimator.
    tally_ : Tally
        What was counted.
    n_parameters_, n_joint_parameters_ : int
    coef_, intercept_ : ndarray
        The linear view, with ``variance="shared"``.

    Examples
    --------
    >>> import numpy as np
    >>> from tallybayes import GaussianNB
    >>> X = np.array([[-1, -1], [-2, -1], [-3, np.nan], [1, 1], [2, 1], [3, 2]])
    >>> model = GaussianNB().fit(X, ["west"] * 3 + ["east"] * 3)
    >>> model.predict([[-0.8, np.nan]])
    array(['west'], dtype='<U4')
    >>> model.unlearn(X[:1], ["west"]).class_count_
    array([3., 2.])
    """

    _block = "gaussian"
    _kind = "numeric"
    _sparse = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MatrixNB._parameter_constraints,
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "variance": [StrOptions({"class", "shared"})],
    }

    def __init__(
        self,
        *,
        priors: ArrayLike | None = None,
        var_smoothing: float = 1e-9,
        variance: Literal["class", "shared"] = "class",
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        unlabelled: Unlabelled = "error",
        em: EM | None = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.variance = variance
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        self.unlabelled = unlabelled
        self.em = em

    def _family(self) -> Gaussian:
        return Gaussian(float(self.var_smoothing), self.variance)

    def _prior(self, classes: NDArray[Any]) -> Prior:
        return "empirical" if self.priors is None else given_prior(self.priors, classes)

    def _is_single(self, batch: Batch) -> bool:
        # As in scikit-learn, a model that has seen only float32 returns float32; it computes in float64.
        return _is_single(batch)

    def _current(self, batch: Batch) -> Model:
        model = super()._current(batch)
        single = model.provenance.is_single and _is_single(batch)
        return replace(model, provenance=replace(model.provenance, is_single=single))

    def _output(self, values: Array, batch: Rows) -> Array:
        return values.astype(np.float32) if self.model_.provenance.is_single and _is_single(batch) else values

    def _with_prior_parameter(self, prior: Any) -> None:
        uniform = np.full(len(self.classes_), 1 / len(self.classes_))
        self.priors = None if prior == "empirical" else uniform if prior == "uniform" else prior

    @property
    def _normals(self) -> Normals:
        return self.model_.parameters[self._block]

    def _kept(self, values: Any) -> Any:
        return values.astype(np.float32) if self.model_.provenance.is_single else values

    @property
    def theta_(self) -> Array:
        """Mean of each class and column, shape (n_classes, n_features)."""
        return self._kept(self._normals.mean)

    @property
    def var_(self) -> Array:
        """Variance of each class and column, the added part included, shape (n_classes, n_features)."""
        return self._kept(self._normals.variance)

    @property
    def epsilon_(self) -> float:
        """What was added to the variances."""
        return self._kept(np.float64(self._normals.epsilon))

    @property
    def class_count_(self) -> Array:
        """Weight of the rows of each class, shape (n_classes,)."""
        return self._kept(super().class_count_)

    @property
    def class_prior_(self) -> Array:
        """P(y), shape (n_classes,)."""
        return self._kept(np.exp(self.model_.log_prior))


def _is_single(batch: Any) -> bool:
    """Whether the numbers are of single precision."""
    (block,) = batch.blocks.values()
    return bool(block.x.dtype == np.float32)
