"""The base of all classifiers: a fitted estimator forwards to its model in scikit-learn's conventions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils._param_validation import InvalidParameterError, StrOptions
from sklearn.utils.validation import check_is_fitted

from tallybayes import storage
from tallybayes.core.batch import Array, Batch, Rows
from tallybayes.core.costs import cheapest, cost_matrix
from tallybayes.core.model import Model
from tallybayes.core.tally import Tally
from tallybayes.data.labels import class_array
from tallybayes.data.sources import Source
from tallybayes.errors import SettingError, plain, unlearning
from tallybayes.estimators._checks import generator, given_prior, unchanged_on_error
from tallybayes.estimators._exports import report, to_json, to_onnx, to_python, to_sql
from tallybayes.estimators._judging import evaluate, predict_interval, predict_set, scorecard
from tallybayes.estimators._linear import coef, intercept, to_logistic_regression
from tallybayes.estimators._reading import contributions, load, reasons
from tallybayes.estimators._saving import saved_of
from tallybayes.estimators._steps import converged, log_likelihood_path, n_iter, unlabelled_weight
from tallybayes.inspection.receipts import Receipt
from tallybayes.learning import em
from tallybayes.learning.learn import learn
from tallybayes.learning.options import EM, Options


class Fitted(ClassifierMixin, BaseEstimator):
    """A classifier around a `Model`.

    The fitted state is ``model_``, a record; learning replaces it, so a call that fails leaves the estimator as it was.
    A subclass defines its options (`_options`), how rows and labels become a source (`_source`) and how a model reads
    rows (`_rows`, `_labelled`).
    """

    model_: Model
    classes_: NDArray[Any]
    n_features_in_: int
    n_jobs: int | None
    unlabelled: Literal["error", "ignore", "em"]
    em: EM | None

    _sparse: ClassVar[bool] = True
    _shared_constraints: ClassVar[dict[str, list[Any]]] = {
        "unlabelled": [StrOptions({"error", "ignore", "em"})],
        "em": [EM, None],
        "n_jobs": [Integral, None],
    }

    def _validate_params(self) -> None:
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            raise InvalidParameterError(plain(str(error))) from None

    def _options(self) -> Options:
        """What the parameters ask for."""
        raise NotImplementedError

    def _source(self, X: Any, y: Any, weight: Any) -> Source:
        """Check rows, labels and weights to be learned from nothing."""
        raise NotImplementedError

    def _rows(self, X: Any) -> Rows:
        """Check rows and read them as the model does."""
        raise NotImplementedError

    def _one_row(self, X: Any) -> Batch | None:
        """Hook for estimators that have a shorter way to a single row that is only scored."""
        return None

    def _labelled(self, X: Any, y: Any, weight: Any, learning: bool = False) -> Rows:
        """The same with labels and weights; in learning new levels and classes are taken in."""
        raise NotImplementedError

    def _with_prior_parameter(self, prior: Any) -> None:
        """Make a prior, "empirical", "uniform" or a list, the one that the parameters describe."""
        raise NotImplementedError

    def _output(self, values: Array, batch: Rows) -> Array:
        """Hook for estimators that return the precision of their input."""
        return values

    def _learn(self, source: Source, options: Options, before: Model | None = None) -> None:
        """Learn a source from nothing; what was learned before is only where expectation-maximisation may begin."""
        steps = options.em
        self._keep(learn(source, options=options, before=before if steps.warm_start else None))
        if options.unlabelled == "em" and steps.keep_responsibilities and self.model_.provenance.guessed:
            rows = source.all_rows(self.model_.schema, self.model_.tally.places)
            self.responsibilities_ = em.responsibilities(self.model_, rows)

    def _keep(self, model: Model) -> None:
        """Take on a model as one's own."""
        model.log_prior  # noqa: B018  a bad prior is an error now, not at the first prediction
        self.model_ = model
        self.classes_ = class_array(model.schema.classes, model.provenance.labels or None)

    def _forget(self) -> None:
        """Drop everything that fitting gave."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def unlearn(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget rows that were learned, as if they had never been there; `receipt_` shows what was removed.

        Parameters
        ----------
        X, y, sample_weight
            The rows as they were learned. A table that had its labels in a column may be passed with that column.

        Returns
        -------
        self : object

        Raises
        ------
        UnlearnError
            If the rows were not learned; the estimator is then unchanged.
        """
        check_is_fitted(self)
        with unchanged_on_error(self), unlearning():
            self.model_.provenance.refuse_guesses("unlearning")
            batch, before = self._labelled(X, y, sample_weight, learning=True), self.model_
            self._keep(before.unlearn(batch, self.n_jobs))
            assert batch.labels is not None
            self.receipt_ = Receipt.of(batch.labels, before.tally, self.model_.tally)
        return self

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
        self._options().refuse_choices("two tallies")
        return self._like(self.model_ + other.model_)

    def _like(self, model: Model, **params: Any) -> Self:
        """An estimator of the same parameters, but for some, around another model."""
        other = clone(self).set_params(**params)
        other.n_features_in_ = self.n_features_in_
        if "feature_names_in_" in vars(self):
            other.feature_names_in_ = self.feature_names_in_
        other._keep(model)
        return other

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, whole or not at all; `load` reads it.

        Parameters
        ----------
        path : path
            Any name; ``.tally`` is a good ending.
        """
        check_is_fitted(self)
        storage.write(self.model_, path, saved_of(self))

    def predict(self, X: Any, costs: Any = None) -> NDArray[Any]:
        """Return the likeliest class of each row, or the one whose prediction is expected to cost least.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        costs : mapping or array-like of shape (n_classes, n_classes), optional
            What predictions cost, ``{(true, predicted): cost}``; pairs that are not named cost nothing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        batch = self._one_row(X) or self._rows(X)
        if costs is None:
            return self.classes_[self.model_.predict(batch, self.n_jobs)]
        matrix = cost_matrix(costs, self.model_.schema.classes)
        return self.classes_[cheapest(self.model_.posterior(batch, self.n_jobs), matrix)]

    def predict_proba(self, X: Any) -> Array:
        """Return P(y | x) of each row and class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        batch = self._one_row(X) or self._rows(X)
        return self._output(self.model_.posterior(batch, self.n_jobs), batch)

    def predict_log_proba(self, X: Any) -> Array:
        """Return log P(y | x) of each row and class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        batch = self._one_row(X) or self._rows(X)
        return self._output(self.model_.log_posterior(batch, self.n_jobs), batch)

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log P(x, y) of each row and class, up to the part that is the same for every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        batch = self._one_row(X) or self._rows(X)
        return self._output(self.model_.log_joint(batch, self.n_jobs), batch)

    def score_samples(self, X: Any) -> Array:
        """Return the log evidence, log P(x) = log Σ_k P(y=k) P(x | y=k), of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        batch = self._rows(X)
        return self.model_.log_evidence(batch, self.n_jobs)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the log probability of labelled rows, Σ_n w_n log P(x_n, y_n).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return self.model_.log_likelihood(self.labelled_rows(X, y, sample_weight), self.n_jobs)

    contributions, reasons, load = contributions, reasons, classmethod(load)

    def leave_one_out(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Return the leave-one-out log P(y | x) of training rows.

        Exact and in closed form: nothing is refitted.

        Parameters
        ----------
        X, y, sample_weight
            Rows as they were learned: all of them or some.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self.model_.leave_one_out(self.labelled_rows(X, y, sample_weight), self.n_jobs)

    def labelled_rows(self, X: Any, y: Any = None, sample_weight: Any = None) -> Rows:
        """Return rows and their labels as the model reads them, such as charts need them.

        Parameters
        ----------
        X, y, sample_weight
            Rows as `fit` takes them.

        Returns
        -------
        Rows
        """
        check_is_fitted(self)
        return self._labelled(X, y, sample_weight)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, NDArray[Any]]:
        """Draw rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        """
        rng = self._generator(n_samples, random_state)
        drawn, codes = self.model_.sample(int(n_samples), rng)
        (x,) = drawn.values()
        return x.matrix if hasattr(x, "matrix") else x, self.classes_[codes]

    def _generator(self, n: int, random_state: Any) -> np.random.Generator:
        check_is_fitted(self)
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n_samples must be a whole number of at least 1, not {plain(repr(n))}")
        return generator(random_state)

    @property
    def tally_(self) -> Tally:
        """What was counted."""
        return self.model_.tally

    @property
    def class_count_(self) -> Array:
        """Weight of the rows of each class, shape (n_classes,)."""
        return self.model_.tally.class_weight

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters."""
        return self.model_.n_parameters

    @property
    def n_joint_parameters_(self) -> int:
        """Number of free parameters that the full joint of the same columns would need, an exact integer."""
        return self.model_.n_joint_parameters

    n_iter_, converged_ = property(n_iter), property(converged)
    log_likelihood_path_ = property(log_likelihood_path)
    unlabelled_weight_ = property(unlabelled_weight)

    def _chosen(self, name: str) -> Any:
        """A setting that was chosen from the rows."""
        chosen = self.model_.provenance.chosen
        if name not in chosen:
            raise AttributeError(f"{name} was given, not chosen")
        return chosen[name]

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
        given: Any = prior if isinstance(prior, (str, Mapping)) else given_prior(prior, self.classes_)
        changed = self._like(self.model_.with_prior(given))
        fitted = {*self.get_params(deep=False), "model_"}
        for name in vars(self).keys() - fitted:
            setattr(changed, name, vars(self)[name])
        changed._with_prior_parameter(
            [given[label] for label in self.classes_.tolist()] if isinstance(given, Mapping) else given
        )
        return changed

    to_json, to_python, to_sql, to_onnx, report = to_json, to_python, to_sql, to_onnx, report
    evaluate, predict_set, predict_interval = evaluate, predict_set, predict_interval
    scorecard = scorecard
    coef_, intercept_, to_logistic_regression = property(coef), property(intercept), to_logistic_regression

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        return tags
