"""An estimator around a fitted model: the model, its tally and its prior in scikit-learn's conventions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from tallybayes import storage
from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.core.schema import Kind, NumberedColumns
from tallybayes.core.settings import Prior, Settings
from tallybayes.core.tally import Tally
from tallybayes.data.labels import class_array
from tallybayes.errors import NotAvailableError, SchemaError, SettingError
from tallybayes.estimators._exports import Exports
from tallybayes.estimators._unlabelled import LearnsUnlabelled
from tallybayes.families import Family


class HoldsModel(LearnsUnlabelled, Exports, ClassifierMixin, BaseEstimator):
    """What an estimator is once it has a model, however it came by it.

    The fitted state is ``model_``, a record; learning replaces it, so a call that fails leaves the estimator as it was.
    """

    model_: Model
    classes_: NDArray[Any]
    n_features_in_: int

    _block: ClassVar[str]  # name of the family, and of the only block
    _kind: ClassVar[Kind]
    _sparse: ClassVar[bool] = True

    # ------------------------------------------------------------------------------------------ for subclasses

    def _family(self) -> Family:
        """The family that the parameters describe."""
        raise NotImplementedError

    def _prior(self, classes: NDArray[Any]) -> Prior:
        """The prior that the parameters describe."""
        raise NotImplementedError

    def _set_prior(self, prior: Any) -> None:
        """Make a prior, "empirical", "uniform" or a list, the one that the parameters describe."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ the tally

    @property
    def tally_(self) -> Tally:
        """What was counted."""
        return self.model_.tally

    @property
    def _summary(self) -> Any:
        return self.tally_.blocks[self._block].summary

    @classmethod
    def from_tally(cls, tally: Tally, **params: Any) -> Self:
        """Make a fitted estimator from a tally.

        Parameters
        ----------
        tally : Tally
            A tally of this estimator's family, from `tallybayes.tally`, a file or another estimator's ``tally_``.
        **params
            Parameters of the estimator.

        Returns
        -------
        estimator
        """
        estimator = cls(**params)
        estimator._validate_params()
        estimator._refuse_auto("a tally alone")
        if set(tally.blocks) != {cls._block}:
            raise SchemaError(
                f"{cls.__name__} reads a tally of {cls._block!r} columns, this one has {sorted(tally.blocks)}"
            )
        estimator._adopt(tally)
        return estimator

    def _adopt(self, tally: Tally, like: NDArray[Any] | None = None) -> None:
        """Take on a tally as one's own."""
        classes = class_array(tally.schema.classes, None if like is None else like.dtype)
        columns = tally.schema.columns
        self.classes_, self.n_features_in_ = classes, len(columns)
        if not (isinstance(columns, NumberedColumns) or _are_numbered(columns)):
            self.feature_names_in_ = np.array(tally.schema.names, dtype=object)
        self.model_ = Model(
            Settings({self._block: self._family()}, self._prior(classes), float(self.prior_alpha)), tally
        )
        self.model_.log_prior  # noqa: B018  a bad prior is an error now

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, whole or not at all; `tallybayes.load` reads it.

        Parameters
        ----------
        path : path
            Any name; ``.tally`` is a good ending.
        """
        check_is_fitted(self)
        storage.write(self.model_, path, saved_of(self))

    def __add__(self, other: Self) -> Self:
        """Return the estimator that has learned the rows of both."""
        if type(self) is not type(other):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = self.get_params(), other.get_params()
        differing = [name for name in mine if not np.array_equal(mine[name], theirs[name])]
        if differing:
            raise SettingError(f"only estimators of equal settings add; these differ in {', '.join(differing)}")
        self._refuse_auto("two tallies")
        for each in (self, other):
            each._refuse_guesses("adding")
        both = clone(self)
        vars(both).update(self._remembered_with(other))
        both._adopt(self.tally_ + other.tally_, like=self.classes_)
        if hasattr(self, "feature_names_in_"):
            both.feature_names_in_ = self.feature_names_in_
        return both

    def _remembered(self) -> dict[str, Any]:
        """What a model made from this one takes over besides the tally."""
        return {}

    def _remembered_with(self, other: Self) -> dict[str, Any]:
        """The same for the sum of two estimators."""
        return self._remembered()

    def _refuse_auto(self, of: str) -> None:
        if isinstance(getattr(self, "alpha", None), str):
            raise SettingError(f"alpha='auto' is chosen by looking at rows, not at {of}; give alpha a number")

    # ------------------------------------------------------------------------------------------ reading the model

    @property
    def class_count_(self) -> Array:
        """Weight of the rows of each class, shape (n_classes,)."""
        return self._pooled_weight(self.model_.tally.class_weight)

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters."""
        return self.model_.n_parameters

    @property
    def n_joint_parameters_(self) -> int:
        """Number of free parameters that the full joint of the same columns would need, an exact integer."""
        return self.model_.n_joint_parameters

    def with_prior(self, prior: Any) -> Self:
        """Return an estimator with the same evidence and another prior; no data is needed.

        Parameters
        ----------
        prior : {"empirical", "uniform"}, mapping of class to probability, or array-like of shape (n_classes,)

        Returns
        -------
        estimator
        """
        check_is_fitted(self)
        self._refuse_components("with_prior")
        if not isinstance(prior, (str, Mapping)):
            prior = given_prior(prior, self.classes_)
        changed = clone(self)
        params = self.get_params(deep=False)
        vars(changed).update({name: value for name, value in vars(self).items() if name not in params})
        changed.model_ = self.model_.with_prior(prior)
        if isinstance(prior, Mapping):
            prior = [prior[label] for label in self.classes_.tolist()]
        changed._set_prior(prior)
        return changed

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        return tags

    # ------------------------------------------------------------------------------------------ the linear view

    @property
    def coef_(self) -> Array:
        """Weights of the linear view: one row for two classes (as in LogisticRegression), else one a class."""
        return self._linear()[0]

    @property
    def intercept_(self) -> Array:
        """Bias of the linear view: ``X @ coef_.T + intercept_`` is the log odds, or log joints up to a shared term."""
        return self._linear()[1]

    def _linear(self) -> tuple[Array, Array]:
        self._refuse_components("the linear view")
        weights, bias = self.model_.settings.families[self._block].linear(self.model_.parameters[self._block])
        bias = bias + self.model_.log_prior
        if not np.isfinite(bias).all():
            raise NotAvailableError("a class with a prior of zero has an infinite bias; use prior_alpha > 0")
        if len(weights) == 2:
            return weights[1:] - weights[:1], bias[1:] - bias[:1]
        return weights, bias

    def to_logistic_regression(self) -> Any:
        """Return a fitted scikit-learn LogisticRegression that gives the same probabilities.

        Returns
        -------
        LogisticRegression
            Fitted as if by itself; `BernoulliNB` expects it to be given 0 and 1.
        """
        from sklearn.linear_model import LogisticRegression

        check_is_fitted(self)
        if len(self.classes_) < 2:
            raise NotAvailableError("logistic regression needs at least two classes")
        twin = LogisticRegression()
        twin.coef_, twin.intercept_ = (np.ascontiguousarray(part) for part in self._linear())
        twin.classes_, twin.n_features_in_, twin.n_iter_ = (
            self.classes_,
            self.n_features_in_,
            np.zeros(1, dtype=np.int32),
        )
        if hasattr(self, "feature_names_in_"):
            twin.feature_names_in_ = self.feature_names_in_
        return twin


def saved_of(estimator: Any) -> storage.Saved:
    """What an estimator is besides its model, for the file."""
    params, own = estimator.get_params(deep=False), vars(estimator)
    inner = {name: saved_of(value) for name, value in params.items() if isinstance(value, BaseEstimator)}
    beside = {*params, "model_", "classes_"}  # the classes are those of the model
    labels = own["classes_"].dtype.str if "classes_" in own else ""
    fitted = {name: value for name, value in sorted(own.items()) if name not in beside}
    return storage.Saved(type(estimator).__name__, params | inner, fitted, labels)


def _are_numbered(columns: Any) -> bool:
    """Whether the columns have no names of their own."""
    return all(column.name == f"x{j}" for j, column in enumerate(columns))


def given_prior(prior: Any, classes: NDArray[Any]) -> dict[Any, float]:
    """Probabilities in the order of the classes, as a mapping."""
    values = np.asarray(prior, dtype=np.float64)
    if values.shape != (len(classes),):
        raise ValueError(
            f"Number of priors must match number of classes: got {values.size} for the classes {classes.tolist()}."
        )
    return dict(zip(classes.tolist(), values.tolist(), strict=True))
