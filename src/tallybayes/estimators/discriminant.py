"""Gaussian discriminant analysis."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.batch import Array
from tallybayes.core.settings import Prior
from tallybayes.errors import DataError, RankWarning
from tallybayes.estimators._matrices import MatrixNB, prior_by_class
from tallybayes.families._ellipsoids import LEAST, Ellipsoids
from tallybayes.families.multinormal import Multinormal
from tallybayes.learning.options import EM, Unlabelled


class GaussianDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MatrixNB):
    """Gaussian discriminant analysis: numbers that vary together, a normal distribution per class.

    y is drawn with the prior's probabilities and x from N(μ_y, Σ): μ and Σ are estimated by maximum likelihood, and
    the posterior follows by Bayes' rule. What is counted, weighted scatter matrices, can be added and taken back like
    every tally: `partial_fit`, `unlearn`, ``+`` and exact `leave_one_out`.

    A missing value (NaN) is no evidence. In training each pair of columns is counted over the rows that have both;
    in prediction the missing columns are integrated out.

    Parameters
    ----------
    covariance : {"shared", "full", "diagonal", "spherical"}, default="shared"
        One matrix for all classes, which makes the boundary linear (`coef_`), one for each class, only its diagonal
        (then it is `GaussianNB`), or only the mean of that.
    shrinkage : float in [0, 1], "auto" or None, default=None
        How far a matrix is moved towards the mean of its diagonal. A number acts in the columns' own units, as in
        scikit-learn; "auto" (Chen et al. 2010) on standardised columns, from the tally alone.
    prior : {"empirical", "uniform"}, mapping of class to probability, or array-like, default="empirical"
        P(y).
    prior_alpha : float, default=0.0
        Pseudocount of every class in the empirical prior.
    n_jobs : int, default=None
        Threads; None takes all cores for large inputs.
    unlabelled, em
        What to do with rows that have no label, as in `GaussianNB`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_, priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    covariance_ : ndarray of shape (n_features, n_features) or (n_classes, n_features, n_features)
        As used: shrunk, and with a least variance in every direction.
    shrinkage_ : ndarray of shape (1,) or (n_classes,)
        How far each matrix was moved.
    coef_, intercept_ : ndarray
        The linear view, with ``covariance="shared"``.
    scalings_ : ndarray of shape (n_features, n_directions)
        The discriminant directions, the one that separates classes best first; `transform` projects on them.
    explained_variance_ratio_ : ndarray of shape (n_directions,)
        Share of the variance between classes that each direction shows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    model_ : Model
    tally_ : Tally
    n_iter_, converged_, log_likelihood_path_
        Of expectation-maximisation, as in `GaussianNB`.

    Examples
    --------
    >>> import numpy as np
    >>> from tallybayes import GaussianDiscriminant
    >>> X = np.array([[0, 0], [1, 2], [2, 3], [3, 5], [0, 2], [1, 4], [2, 5], [3, 7]])
    >>> model = GaussianDiscriminant().fit(X, ["low"] * 4 + ["high"] * 4)
    >>> model.predict([[1.0, 1.5], [1.0, 4.5]])
    array(['low', 'high'], dtype='<U4')
    >>> model.transform(X).shape
    (8, 1)
    """

    _block = "multinormal"
    _kind = "numeric"
    _sparse = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MatrixNB._parameter_constraints,
        "covariance": [StrOptions({"shared", "full", "diagonal", "spherical"})],
        "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), None],
        "prior": [StrOptions({"empirical", "uniform"}), Mapping, "array-like"],
    }

    def __init__(
        self,
        *,
        covariance: Literal["shared", "full", "diagonal", "spherical"] = "shared",
        shrinkage: float | Literal["auto"] | None = None,
        prior: Prior | ArrayLike = "empirical",
        prior_alpha: float = 0.0,
        n_jobs: int | None = None,
        unlabelled: Unlabelled = "error",
        em: EM | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.prior = prior
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs
        self.unlabelled = unlabelled
        self.em = em

    def _family(self) -> Multinormal:
        given: Any = self.shrinkage
        number = given is not None and not isinstance(given, str)
        return Multinormal(self.covariance, float(given) if number else given)

    def _prior(self, classes: NDArray[Any]) -> Prior:
        return prior_by_class(self.prior, classes)

    def _with_prior_parameter(self, prior: Any) -> None:
        self.prior = prior

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        super().fit(X, y, sample_weight)
        self._warn_of_rank()
        return self

    fit.__doc__ = MatrixNB.fit.__doc__

    def _warn_of_rank(self) -> None:
        """Warn of a matrix that has directions without any variance."""
        params = self._ellipsoids
        width = len(params.evidence)
        lacking = np.flatnonzero(params.rank < width)
        if not len(lacking) or self.covariance in ("diagonal", "spherical"):  # these need no rank
            return
        shared = len(params.covariance) == 1
        whose = "shared by the classes" if shared else f"of class {self.model_.schema.classes[lacking[0]]!r}"
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        warnings.warn(
            f"the covariance matrix {whose}{more} has rank {params.rank[lacking[0]]} in {width} columns: too few rows, "
            "or columns that determine each other. The directions in which nothing varies were given a variance of "
            "1e-9 of the columns'; shrinkage='auto' or covariance='shared' gives more stable results",
            RankWarning,
            stacklevel=3,
        )

    @property
    def _ellipsoids(self) -> Ellipsoids:
        return self.model_.parameters[self._block]

    # ------------------------------------------------------------------------------------------ directions

    def transform(self, X: Any) -> Array:
        """Project rows on the discriminant directions, in which classes lie furthest apart; for plots.

        The coordinates are centred, and within the classes their variance is one. A missing value is put at the
        mean of its column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_directions)
        """
        batch = self._rows(X)
        x = np.asarray(batch.rows(0, batch.n_rows).blocks[self._block].x, dtype=np.float64)
        if np.isinf(x).any():
            raise DataError("X is infinite somewhere; replace such values, with NaN if they stand for missing ones")
        middle = self._summary.columns().merged().mean[0]
        return np.where(np.isnan(x), 0.0, x - middle) @ self.scalings_

    @property
    def scalings_(self) -> Array:
        """The discriminant directions, shape (n_features, n_directions)."""
        return self._directions()[0]

    @property
    def explained_variance_ratio_(self) -> Array:
        """Share of the variance between classes in each direction."""
        value = self._directions()[1]
        return value / value.sum() if value.sum() > 0 else value

    @property
    def _n_features_out(self) -> int:
        return self.scalings_.shape[1]

    def _directions(self) -> tuple[Array, Array]:
        """Axes of the variance between classes beside that within them, and how much each shows."""
        check_is_fitted(self)
        params, columns = self._ellipsoids, self._summary.columns()
        within = Multinormal("shared", self._family().shrinkage).estimate(self._summary).covariance[0]
        unit = np.where(params.scale > 0, params.scale, 1.0)
        value, axes = np.linalg.eigh(within / np.outer(unit, unit))
        varied = value > 2.0 * LEAST  # no direction is taken where nothing varies within the classes
        white = np.where(params.scale > 0, 1.0 / unit, 0.0)[:, None] * np.where(varied, axes / np.sqrt(value), 0.0)
        share = columns.weight / np.maximum(columns.weight.sum(axis=0), np.finfo(float).tiny)
        apart = np.sqrt(share) * (params.mean - columns.merged().mean)
        _, spread, directions = np.linalg.svd(apart @ white, full_matrices=False)
        n = min(len(self.classes_) - 1, len(unit))
        found = (white @ directions.T)[:, :n]
        sign = np.where(found[np.abs(found).argmax(axis=0), np.arange(n)] < 0, -1.0, 1.0)  # the same at every run
        return found * sign, spread[:n] ** 2

    # ------------------------------------------------------------------------------------------ reading the model

    @property
    def means_(self) -> Array:
        """Mean of each class and column, shape (n_classes, n_features)."""
        return self._ellipsoids.mean

    @property
    def covariance_(self) -> Array:
        """The covariance matrix of all classes, or one for each."""
        matrices = self._ellipsoids.covariance
        return matrices[0] if self.covariance == "shared" else matrices

    @property
    def shrinkage_(self) -> Array:
        """How far each matrix was moved towards the mean of its diagonal."""
        return self._ellipsoids.shrinkage

    @property
    def priors_(self) -> Array:
        """P(y), shape (n_classes,)."""
        return np.exp(self.model_.log_prior)
