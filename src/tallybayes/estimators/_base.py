"""What all drop-in estimators share: scikit-learn's conventions around a `Model`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted

from tallybayes import evaluate, storage
from tallybayes.audit import Receipt
from tallybayes.batch import Array, Labels, Matrix, Rows
from tallybayes.errors import CellError, ColumnWarning, DataError, NotAvailableError, SchemaError, SettingError
from tallybayes.estimators._checks import check_matrix, check_target, coded, unchanged_on_error
from tallybayes.estimators._unlabelled import LearnsUnlabelled
from tallybayes.evaluate import Evaluation
from tallybayes.exports import Exports
from tallybayes.families import Family
from tallybayes.model import Model
from tallybayes.schema import Column, Kind, NumberedColumns, Schema
from tallybayes.settings import Prior, Settings
from tallybayes.sources.arrays import columns_of, is_sparse, one_block, sparse_rows
from tallybayes.sources.labels import row_weights
from tallybayes.tally import Tally, count


class BaseNB(LearnsUnlabelled, Exports, ClassifierMixin, BaseEstimator):
    """A Naive Bayes classifier whose columns are all of one family.

    A subclass says which family its parameters describe (`_family`), what its prior is called (`_given_prior`) and
    how a matrix becomes the family's (`_encode`); everything else is here. The fitted state is ``model_``, a record;
    learning replaces it, so a call that fails leaves the estimator as it was.
    """

    model_: Model
    classes_: NDArray[Any]
    n_features_in_: int

    _block: ClassVar[str]  # name of the family, and of the only block
    _kind: ClassVar[Kind]
    _sparse: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnsUnlabelled._em_constraints,
        "prior_alpha": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    # ------------------------------------------------------------------------------------------ for subclasses

    def _family(self) -> Family:
        """The family that the parameters describe."""
        raise NotImplementedError

    def _prior(self, classes: NDArray[Any]) -> Prior:
        """The prior that the parameters describe."""
        raise NotImplementedError

    def _encode(self, x: Any, learning: bool) -> Matrix:
        """Turn a checked matrix into the family's; ``learning`` when its rows are to be counted."""
        return sparse_rows(x) if is_sparse(x) else x

    def _plain_columns(self, n_columns: int) -> Sequence[Column]:
        """The columns by name or number, without levels."""
        return columns_of(n_columns, self._kind, getattr(self, "feature_names_in_", None))

    def _schema_columns(self, x: Matrix) -> Sequence[Column]:
        """The columns as a batch of rows shows them."""
        return self._plain_columns(x.shape[1])

    # ------------------------------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels. Rows may lack one (None, NaN, −1 among integers) if ``unlabelled`` says what to do then.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; 1 if not given.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self):
            before = getattr(self, "model_", None) if self.warm_start else None
            self._forget()
            self._validate_params()
            X, y, sample_weight, known = self._sorted_out(*self._split(X, y), sample_weight)
            batch, self.classes_ = self._labelled(X, y, sample_weight, None)
            told = batch if known is None else batch.take(np.flatnonzero(known))
            if not told.labels or not told.labels.weight.any():
                raise DataError("Sample weights must contain at least one non-zero number.")
            self._learn(told)
            self._choose_smoothing(told)
            self._learn_unlabelled(batch, known, before)
            self._calibrate_on(told)
        self._note_empty_columns()
        n_classes = len(self.classes_)
        if 2 * n_classes > batch.n_rows > 10:
            warnings.warn(
                f"The target has {n_classes} classes in {batch.n_rows} rows, more than half: is it a label at all?",
                UserWarning,
                stacklevel=2,
            )
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; any split of the rows into calls, in any order, gives the same model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), optional
            All classes that will ever occur; needed at the first call.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; 1 if not given.

        Returns
        -------
        self : object
        """
        self._refuse_components("partial_fit")
        with unchanged_on_error(self):
            self._validate_params()
            known: NDArray[Any] | None = getattr(self, "classes_", None)
            if known is None and classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            if classes is not None:
                declared = unique_labels(classes)
                if known is not None and not np.array_equal(known, declared):
                    raise ValueError(
                        f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}"
                    )
                known = np.asarray(declared)
            if self._nothing_told(y):
                return self
            X, y, sample_weight, holes = self._sorted_out(X, y, sample_weight)
            self._refuse_holes(holes)
            batch, self.classes_ = self._labelled(X, y, sample_weight, known)
            self._learn(batch)
        return self

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget rows that were learned, as if they had never been there; `receipt_` tells what was removed.

        Parameters
        ----------
        X, y, sample_weight
            The rows as they were learned.

        Returns
        -------
        self : object

        Raises
        ------
        UnlearnError
            If the rows were not learned; the estimator is then unchanged.
        """
        check_is_fitted(self)
        self._refuse_guesses("unlearn")
        with unchanged_on_error(self):
            batch, _ = self._labelled(X, y, sample_weight, self.classes_)
            before, after = self.model_, self.model_.unlearn(batch, self.n_jobs)
            self.model_ = replace(after, tally=after.tally.trimmed())
            assert batch.labels is not None
            self.receipt_ = Receipt.of(batch.labels, before.tally, self.model_.tally)
        return self

    def _note_empty_columns(self) -> None:
        for block in self.tally_.blocks.values():
            weight = block.summary.arrays()["weight"]
            empty = np.flatnonzero(weight.sum(axis=0) == 0) if weight.shape[1] == len(block.columns) else ()
            if len(empty):
                names = ", ".join(repr(self.tally_.schema.columns[block.columns[j]].name) for j in empty[:5])
                warnings.warn(f"no value at all in column {names}: it is no evidence", ColumnWarning, stacklevel=3)

    def _split(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Hook for labels that are a column of the table."""
        return X, y

    def _calibrate_on(self, batch: Rows) -> None:
        """Hook for what is fitted to the finished model."""

    def _forget(self) -> None:
        for name in ("_group", "_guessed"):
            if hasattr(self, name):
                delattr(self, name)
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _learn(self, batch: Rows) -> None:
        settings = Settings({self._block: self._family()}, self._prior(self.classes_), float(self.prior_alpha))
        settings.log_prior(batch.schema, np.ones(len(self.classes_)))  # a bad prior fails before any row is counted
        counted = count(batch, settings.families, self.n_jobs)
        self.model_ = Model(settings, counted + self.model_.tally if hasattr(self, "model_") else counted)

    def _choose_smoothing(self, batch: Rows) -> None:
        """Hook for ``alpha="auto"``."""

    def _labelled(
        self, X: Any, y: Any, weight: Any, classes: NDArray[Any] | None, learning: bool = True
    ) -> tuple[Rows, NDArray[Any]]:
        """Check rows, labels and weights and make them a batch; unknown classes are found in the labels."""
        x = check_matrix(self, X, reset=not hasattr(self, "model_"), sparse=self._sparse)
        labels = check_target(y)
        if len(labels) != x.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: [{x.shape[0]}, {len(labels)}]"
            )
        classes, codes = coded(labels, classes)
        row_weight = row_weights(weight, x.shape[0])
        encoded = self._encoded(x, learning)
        schema = Schema(self._schema_columns(encoded), tuple(classes.tolist()))
        return one_block(self._block, schema, encoded, Labels.hard(codes, row_weight)), classes

    def _rows(self, X: Any) -> Rows:
        """Check rows to be scored and make them a batch."""
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        x = check_matrix(self, X, reset=False, sparse=self._sparse)
        return one_block(self._block, self.model_.schema, self._encoded(x, learning=False))

    def _encoded(self, x: Any, learning: bool) -> Matrix:
        try:
            return self._encode(x, learning)
        except CellError as error:
            raise error.named([column.name for column in self._plain_columns(x.shape[1])]) from None

    # ------------------------------------------------------------------------------------------ predicting

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        batch = self._rows(X)
        return self.classes_[self.model_.predict(batch, self.n_jobs)]

    def predict_proba(self, X: Any) -> Array:
        """Return P(y | x) of each row and class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        batch = self._rows(X)
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
        batch = self._rows(X)
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
        batch = self._rows(X)
        return self._output(self._pooled(self.model_.log_joint(batch, self.n_jobs)), batch)

    def _exported(self, name: str, *options: Any) -> Any:
        check_is_fitted(self)
        return self.model_._exported(name, *options)

    def _output(self, values: Array, batch: Rows) -> Array:
        """Hook for estimators that answer in the precision of their input."""
        return values

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
        check_is_fitted(self)
        self._refuse_components("log_likelihood")
        batch, _ = self._labelled(X, y, sample_weight, self.classes_, learning=False)
        return self.model_.log_likelihood(batch, self.n_jobs)

    def contributions(self, X: Any) -> Array:
        """Return log P(x_d | y) of each row, class and column.

        Their sum over the columns plus ``log P(y)`` is `predict_joint_log_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes, n_features)
        """
        batch = self._rows(X)
        self._refuse_components("contributions")
        return self.model_.contributions(batch)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Return log P(y | x) of the training rows, each as if it alone had not been learned.

        Exact and in closed form: nothing is refitted.

        Parameters
        ----------
        X, y, sample_weight
            Rows as they were learned: all of them or some.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        self._refuse_components("leave_one_out")
        batch, _ = self._labelled(X, y, sample_weight, self.classes_, learning=False)
        return self.model_.leave_one_out(batch, self.n_jobs)

    def labelled_rows(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Return rows and their labels as the model reads them, for what looks at the rows behind a picture.

        Parameters
        ----------
        X, y, sample_weight
            Rows as `fit` takes them.

        Returns
        -------
        Rows
        """
        check_is_fitted(self)
        return self._labelled(X, y, sample_weight, self.classes_, learning=False)[0]

    def evaluate(
        self, X: Any, y: Any, sample_weight: Any = None, *, method: Any = "leave-one-out", seed: int = 0
    ) -> Evaluation:
        """Return how good the predictions are: accuracy, log loss, calibration and more.

        Parameters
        ----------
        X, y, sample_weight
            Rows as they were learned for leave-one-out and k-fold; any labelled rows for "test".
        method : {"leave-one-out", "test"}, int or array-like of shape (n_samples,), default="leave-one-out"
            Leave out each training row in turn, one of so many folds, or the folds that an array numbers; all exact
            and without refitting. "test" scores the rows as they are.
        seed : int, default=0
            How the folds are shuffled.

        Returns
        -------
        Evaluation
        """
        check_is_fitted(self)
        if not (isinstance(method, str) and method == "test"):
            self._refuse_components("leave-one-out")
        batch, _ = self._labelled(X, y, sample_weight, self.classes_, learning=False)
        if not isinstance(method, str):
            folds = int(method) if isinstance(method, Integral) else np.asarray(method)
            return evaluate.k_fold(self.model_, batch, folds, seed, self.n_jobs)
        if method == "leave-one-out":
            return evaluate.leave_one_out(self.model_, batch, self.n_jobs)
        if method != "test":
            raise SettingError(f"method must be 'leave-one-out', 'test' or a number of folds, not {method!r}")
        assert batch.labels is not None
        assert batch.labels.codes is not None
        log_posterior = self.model_.log_posterior(batch, self.n_jobs)
        classes = tuple(self.classes_.tolist())
        return evaluate.score(log_posterior, batch.labels.codes, classes, batch.labels.weight)

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
        x = drawn[self._block]
        return getattr(x, "matrix", x), self._class_of(codes)

    def _generator(self, n: int, random_state: Any) -> np.random.Generator:
        """The dice for a sample of n rows."""
        check_is_fitted(self)
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n_samples must be a whole number of at least 1, not {n!r}")
        return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4))

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
            A tally of this estimator's family, from `Tally.of`, a file or another estimator's ``tally_``.
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
        classes = np.array(tally.schema.classes)
        if like is not None and like.dtype.kind == "O":
            classes = classes.astype(object)
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
        params = self.get_params(deep=False)
        fitted = {name: value for name, value in vars(self).items() if name not in {*params, "model_"}}
        storage.write(self.model_, path, storage.Saved(type(self).__name__, params, fitted))

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

    def _set_prior(self, prior: Any) -> None:
        """Make a prior, "empirical", "uniform" or a list, the one that the parameters describe."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        return tags


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
