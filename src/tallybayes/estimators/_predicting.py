"""What a fitted estimator says of rows: classes, probabilities, evidence, and how good they are."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.batch import Array, Rows
from tallybayes.errors import SettingError, UnlearnError
from tallybayes.estimators._checks import generator
from tallybayes.estimators._fitted import HoldsModel
from tallybayes.inspection import evaluate
from tallybayes.inspection.evaluate import Evaluation


class Predicts(HoldsModel):
    """Questions about rows; a subclass says how rows are read."""

    n_jobs: int | None

    def _rows(self, X: Any) -> Rows:
        """Check rows to be scored and make them a batch."""
        raise NotImplementedError

    def _labelled(
        self, X: Any, y: Any, weight: Any, classes: NDArray[Any] | None, learning: bool = True
    ) -> tuple[Rows, NDArray[Any]]:
        """Check rows, labels and weights and make them a batch; unknown classes are found in the labels."""
        raise NotImplementedError

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

    def leave_one_out(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
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

    def labelled_rows(self, X: Any, y: Any = None, sample_weight: Any = None) -> Rows:
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
        self, X: Any, y: Any = None, sample_weight: Any = None, *, method: Any = "auto", seed: int = 0
    ) -> Evaluation:
        """Return how good the predictions are: accuracy, log loss, calibration and more.

        Parameters
        ----------
        X, y, sample_weight
            Rows as they were learned for leave-one-out and k-fold; any labelled rows for "test". A table that had its
            labels in a column when it was learned may be passed with that column and without y.
        method : {"auto", "leave-one-out", "test"}, int or array-like of shape (n_samples,), default="auto"
            Leave out each training row in turn, one of so many folds, or the folds that an array numbers; all exact
            and without refitting. "test" scores the rows as they are. "auto" leaves rows out if they are those that
            were learned, all of them, and scores any others as they are; `Evaluation.method` tells which.
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
        if isinstance(method, str) and method == "auto":
            # What was learned of rows without a label is in no row, so those with one are taken for what they are.
            learned = getattr(self, "_guessed", False) or evaluate.are_learned(self.model_, batch, self.n_jobs)
            method = "leave-one-out" if learned else "test"
        if not isinstance(method, str):
            folds = int(method) if isinstance(method, Integral) else np.asarray(method)
            return evaluate.k_fold(self.model_, batch, folds, seed, self.n_jobs)
        if method == "leave-one-out":
            try:
                return evaluate.leave_one_out(self.model_, batch, self.n_jobs)
            except UnlearnError as error:
                raise UnlearnError(f"{error}; other rows are judged with method='test'") from None
        if method != "test":
            raise SettingError(f"method must be 'auto', 'leave-one-out', 'test' or a number of folds, not {method!r}")
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
        return generator(random_state)
