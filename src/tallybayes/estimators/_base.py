"""What all drop-in estimators share: learning rows in scikit-learn's conventions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.batch import Array, Labels, Matrix, Rows
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Schema
from tallybayes.core.settings import Settings
from tallybayes.core.tally import count
from tallybayes.data.arrays import columns_of, is_sparse, one_block, sparse_rows
from tallybayes.data.labels import class_array, row_weights
from tallybayes.errors import CellError, ColumnWarning, DataError
from tallybayes.estimators._checks import (
    check_lengths,
    check_matrix,
    check_target,
    coded,
    unchanged_on_error,
    warn_of_many_classes,
)
from tallybayes.estimators._predicting import Predicts
from tallybayes.inspection.receipts import Receipt


class BaseNB(Predicts):
    """A Naive Bayes classifier whose columns are all of one family.

    A subclass says which family its parameters describe (`_family`), what its prior is called (`_prior`) and how a
    matrix becomes the family's (`_encode`). Learning is here; what a fitted estimator is and what it answers is in the
    classes above.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Predicts._em_constraints,
        "prior_alpha": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    # ------------------------------------------------------------------------------------------ for subclasses

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
        warn_of_many_classes(len(self.classes_), batch.n_rows, stacklevel=3)
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
            if classes is not None:
                schema = replace(self.tally_.schema, declared=tuple(self.classes_.tolist()))
                self.model_ = replace(self.model_, tally=replace(self.tally_, schema=schema))
        return self

    def unlearn(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget rows that were learned, as if they had never been there; `receipt_` tells what was removed.

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
        self._refuse_guesses("unlearn")
        with unchanged_on_error(self):
            batch, _ = self._labelled(X, y, sample_weight, self.classes_)
            before = self.model_
            self.model_ = before.unlearn(batch, self.n_jobs).trimmed()
            self.classes_ = class_array(self.model_.schema.classes, self.classes_.dtype)
            assert batch.labels is not None
            self.receipt_ = Receipt.of(batch.labels, before.tally, self.model_.tally)
        return self

    def _note_empty_columns(self) -> None:
        for block in self.tally_.blocks.values():
            weight = self._known_weight(block.summary)
            empty = np.flatnonzero(weight.sum(axis=0) == 0) if weight.shape[1] == len(block.columns) else ()
            if len(empty):
                names = ", ".join(repr(self.tally_.schema.columns[block.columns[j]].name) for j in empty[:5])
                warnings.warn(f"no value at all in column {names}: it is no evidence", ColumnWarning, stacklevel=3)

    def _known_weight(self, summary: Any) -> Array:
        """Weight of the values of each column (K, d), or (K, 1) where all columns share it."""
        return np.asarray(summary.arrays()["weight"])

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
        check_lengths(x.shape[0], len(labels))
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
