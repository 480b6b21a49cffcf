"""Estimators for matrices whose columns are all of one family: scikit-learn's five and their kin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.batch import Batch, Labels, Matrix
from tallybayes.core.family import Family
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Kind, NumberedColumns, Schema
from tallybayes.core.settings import Prior, Settings
from tallybayes.core.tally import Tally
from tallybayes.data.arrays import columns_of, is_sparse, one_block, sparse_rows
from tallybayes.data.labels import row_weights
from tallybayes.data.sources import Facts, MatrixSource
from tallybayes.errors import CellError, NegativeError, NotAvailableError, SchemaError, SettingError
from tallybayes.estimators._checks import (
    Target,
    check_declared,
    check_lengths,
    check_matrix,
    given_prior,
    negative_values,
    unchanged_on_error,
)
from tallybayes.estimators._fitted import Fitted
from tallybayes.learning.options import EM, Options


def _nothing_to_choose(estimator: Any) -> bool:
    for name in estimator._choices():
        raise NotAvailableError(f"{name}='auto' needs all rows at once: use fit, or give {name} a number")
    return True


class MatrixNB(Fitted):
    """A Naive Bayes classifier whose columns are all of one family.

    A subclass defines its family (`_family`), its prior (`_prior`) and, where rows are not numbers as they are, how
    they are encoded (`_encode`, `_schema_columns`).
    """

    prior_alpha: float

    _kind: ClassVar[Kind]
    _block: ClassVar[str]  # name of the family, and of the only block
    _missing: ClassVar[bool] = True  # whether NaN is taken for a missing value

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Fitted._shared_constraints,
        "prior_alpha": [Interval(Real, 0, None, closed="left")],
    }

    # ------------------------------------------------------------------------------------------ for subclasses

    def _family(self) -> Family:
        """The family that the parameters describe."""
        raise NotImplementedError

    def _prior(self, classes: NDArray[Any]) -> Prior:
        """The prior that the parameters describe."""
        raise NotImplementedError

    def _choices(self) -> list[str]:
        """The parameters that are to be chosen from the rows."""
        return []

    def _encode(self, x: Any, learning: bool) -> Matrix:
        """Turn a checked matrix into the family's; ``learning`` when its rows are to be counted."""
        return sparse_rows(x) if is_sparse(x) else x

    def _schema_columns(self, x: Matrix) -> Sequence[Column]:
        """The columns of a batch of rows."""
        return self._plain_columns(x.shape[1])

    def _plain_columns(self, n_columns: int) -> Sequence[Column]:
        """The columns by name or number, without levels."""
        return columns_of(n_columns, self._kind, vars(self).get("feature_names_in_"))

    # ------------------------------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows, forgetting everything learned before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels. Rows may lack one (None, NaN, −1 among integers) if ``unlabelled`` is not "error".
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; 1 if not given.

        Returns
        -------
        self : object
        """
        with unchanged_on_error(self, fitting=True, drop_in=True):
            self._validate_params()
            before = vars(self).get("model_")  # where expectation-maximisation may begin
            self._forget()
            source = self._source(X, y, sample_weight)
            self._learn(source, self._options(self._prior(self.classes_)), before)
        return self

    @available_if(_nothing_to_choose)  # type: ignore[untyped-decorator]
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
        with unchanged_on_error(self, drop_in=True):
            self._validate_params()
            fitted = "model_" in vars(self)
            if not fitted and classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            known = self.classes_ if classes is None else check_declared(self, classes)
            target = Target.of(y, self.unlabelled)
            if target.nothing_known:
                return self
            target.refuse_missing()
            X, y, sample_weight = target.labelled(X, sample_weight)
            batch = self._batch(X, y, sample_weight, known, learning=True)
            if fitted:
                self._keep(self._current(batch).learn(batch, self.n_jobs))
            else:
                source = MatrixSource(batch, self._facts(batch, known), self.n_jobs)
                self._learn(source, replace(self._options(self._prior(known)), stream=True))
            if classes is not None:  # they stay when their last row is taken back
                schema = replace(self.tally_.schema, declared=tuple(self.classes_.tolist()))
                self.model_ = replace(self.model_, tally=replace(self.tally_, schema=schema))
        return self

    def _current(self, batch: Batch) -> Model:
        """The model as the parameters of now read it: they may have been set since the last call."""
        settings = Settings({self._block: self._family()}, self._prior(self.classes_), float(self.prior_alpha))
        return replace(self.model_, settings=settings)

    def _options(self, prior: Prior = "empirical") -> Options:
        auto = self._choices()
        return Options(
            matrix=self._family(),
            alpha="auto" if "alpha" in auto else None,
            choose_length="document_length" in auto,
            prior=prior,
            prior_alpha=float(self.prior_alpha),
            unlabelled=self.unlabelled,
            em=self.em or EM(),
            n_jobs=self.n_jobs,
        )

    def _source(self, X: Any, y: Any, weight: Any) -> MatrixSource:
        target = Target.of(y, self.unlabelled)
        X, y, weight = target.labelled(X, weight)
        batch = self._batch(X, y, weight, None, learning=True)
        if target.known is not None:
            assert batch.labels is not None
            assert batch.labels.codes is not None
            codes = np.where(target.known, batch.labels.codes, np.int32(-1))
            batch = replace(batch, labels=Labels(codes, batch.labels.weight))
        return MatrixSource(batch, self._facts(batch, self.classes_, target.left_out), self.n_jobs)

    def _facts(self, batch: Batch, classes: NDArray[Any], left_out: int = 0) -> Facts:
        assert batch.labels is not None
        assert batch.labels.codes is not None
        n_rows = int(np.count_nonzero(batch.labels.codes >= 0))
        named = "feature_names_in_" in vars(self)
        return Facts(None, classes.dtype.str, n_rows, left_out, "array", named, self._is_single(batch), source="array")

    def _is_single(self, batch: Batch) -> bool:
        """Hook for estimators that return the precision of their input."""
        return False

    def _batch(self, X: Any, y: Any, weight: Any, classes: NDArray[Any] | None, learning: bool) -> Batch:
        """Check rows, labels and weights and make them a batch; unknown classes are found in the labels."""
        x = check_matrix(self, X, reset="model_" not in vars(self), sparse=self._sparse)
        check_lengths(x.shape[0], len(y))
        classes, codes = Target.coded(y, classes)
        self.classes_ = classes if "model_" not in vars(self) else self.classes_
        row_weight = row_weights(weight, x.shape[0])
        encoded = self._encoded(x, learning)
        schema = Schema(self._schema_columns(encoded), tuple(classes.tolist()))
        return one_block(self._block, schema, encoded, Labels.hard(codes, row_weight))

    def _labelled(self, X: Any, y: Any, weight: Any, learning: bool = False) -> Batch:
        return self._batch(X, Target.checked(y), weight, self.classes_, learning)

    def _rows(self, X: Any) -> Batch:
        if "model_" not in vars(self):
            check_is_fitted(self)
        x = check_matrix(self, X, reset=False, sparse=self._sparse)
        try:
            return one_block(self._block, self.model_.schema, self._encoded(x, learning=False))
        except NegativeError as error:
            raise negative_values(self, error) from None

    def _encoded(self, x: Any, learning: bool) -> Matrix:
        try:
            return self._encode(x, learning)
        except CellError as error:
            raise error.named([column.name for column in self._plain_columns(x.shape[1])]) from None

    # ------------------------------------------------------------------------------------------ the model

    @property
    def _summary(self) -> Any:
        return self.tally_.blocks[self._block].summary

    @property
    def alpha_(self) -> float:
        """The chosen pseudocount, with ``alpha="auto"``."""
        return self._chosen("alpha")

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
        for name in estimator._choices():
            raise SettingError(f"{name}='auto' is chosen from rows, not from a tally; give it a number")
        if set(tally.blocks) != {cls._block}:
            raise SchemaError(
                f"{cls.__name__} reads a tally of {cls._block!r} columns, this one has {sorted(tally.blocks)}"
            )
        columns, classes = tally.schema.columns, np.array(tally.schema.classes)
        estimator.n_features_in_ = len(columns)
        if not (isinstance(columns, NumberedColumns) or all(c.name == f"x{j}" for j, c in enumerate(columns))):
            estimator.feature_names_in_ = np.array(tally.schema.names, dtype=object)
        settings = Settings({cls._block: estimator._family()}, estimator._prior(classes), float(estimator.prior_alpha))
        estimator._keep(Model(settings, tally))
        return estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._missing
        tags.input_tags.positive_only = self._kind in ("count", "category")
        tags.input_tags.categorical = self._kind == "category"
        return tags


# ---------------------------------------------------------------------------------------------- priors by name


def prior_by_class(prior: Any, classes: NDArray[Any]) -> Prior:
    """A prior in any of the forms that parameters take."""
    return prior if isinstance(prior, (str, Mapping)) else given_prior(prior, classes)  # type: ignore[return-value]
