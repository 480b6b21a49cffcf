"""Estimators for tables: what `NaiveBayes` and `TextNB` share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.batch import Batch, Labels
from tallybayes.core.evaluation import CalibrationReport, Evaluation
from tallybayes.core.levels import united
from tallybayes.core.model import Model
from tallybayes.core.schema import Schema
from tallybayes.core.settings import EvidenceWeights, Prior
from tallybayes.core.tally import Tally
from tallybayes.data.columns import bag_of, grown, matched, split_target, with_warnings
from tallybayes.data.frames import Table, read_table, table_like
from tallybayes.data.labels import row_weights
from tallybayes.data.plain import one_row
from tallybayes.data.progress import shown
from tallybayes.data.sources import Source, TableSource
from tallybayes.data.tables import TableBatch
from tallybayes.data.targets import name_of
from tallybayes.errors import ColumnWarning, DataError, SettingError
from tallybayes.estimators._checks import (
    Target,
    check_size,
    common_type,
    given_prior,
    unchanged_on_error,
)
from tallybayes.estimators._fitted import Fitted
from tallybayes.estimators._reading import estimate_prior, importance, overview, predict_file, top_words
from tallybayes.inspection.explain import Explanation, explain
from tallybayes.inspection.sampling import sampled
from tallybayes.inspection.summary import summary
from tallybayes.learning.learn import learn
from tallybayes.learning.textbook import settings_of_tally


class TableNB(Fitted):
    """A classifier of tables, whatever their columns; a subclass defines its options (`_options`)."""

    prior: Prior | Sequence[float]
    verbose: int
    strict: bool = False
    decay: float = 1.0

    @property
    def schema_(self) -> Schema:
        """What each column is, and why."""
        return self.model_.schema

    @property
    def weights_(self) -> EvidenceWeights | None:
        """The weight of each column's evidence; None where all are one."""
        return self.model_.settings.weights

    importance_, overview = property(importance), overview
    top_words, predict_file, estimate_prior = top_words, predict_file, estimate_prior

    @property
    def evaluation_(self) -> Evaluation | None:
        """The figures that were measured, on rows without a part in the model, when it was learned; or None."""
        return self.model_.provenance.evaluation

    @property
    def calibration_(self) -> CalibrationReport:
        """Performance before and after calibration, on rows that had no part in either."""
        provenance = self.model_.provenance
        if provenance.uncalibrated is None or provenance.evaluation is None:
            raise AttributeError("the model was not calibrated, or changed since")
        return CalibrationReport(provenance.uncalibrated, provenance.evaluation)

    # ------------------------------------------------------------------------------------------ learning

    def _fit(self, source: Source) -> Self:
        """Learn a source, forgetting everything learned before."""
        with unchanged_on_error(self), shown("reading rows") if self.verbose else nullcontext() as bar:
            options = replace(self._options(), progress=None if bar is None else bar.phase)
            before = vars(self).get("model_")  # where expectation-maximisation may begin
            self._forget()
            self._learn(source, options, before)
        return self

    def _keep(self, model: Model) -> None:
        super()._keep(model)
        names = [column.name for column in model.schema.columns if not column.is_derived]
        self.n_features_in_ = len(names)
        if model.provenance.named:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _partial_fit(self, X: Any, y: Any, classes: Any, weight: Any) -> Self:
        """Learn more rows; new levels and classes are taken in."""
        options = self._options()
        if isinstance(options.alpha, str) or options.calibration is not None:
            raise SettingError("alpha='auto' and calibration need all rows at once: use fit, or leave them out")
        with unchanged_on_error(self):
            X, y, name = self._split(X, y)
            target = Target.of(y, options.unlabelled)
            if target.nothing_known:
                return self
            target.refuse_missing()
            if "model_" in vars(self):
                X, labels, weight = target.labelled(self._read(X), weight)
                if X.n_rows and not row_weights(weight, X.n_rows).any():  # no row counts, nothing changes
                    return self
                batch = self._known(X, labels, weight, learning=True)
                model = self.model_.learn(batch, self.n_jobs, decay=self.decay)
                labels_type = common_type(self.classes_, Target.coded(labels, None)[0])
            else:
                source = self._table_source(X, target, weight, name)
                model, labels_type = learn(source, options=replace(options, stream=True)), source.facts.labels
            if classes is not None:
                expected = tuple(np.asarray(classes).tolist())
                declared = tuple(united(model.schema.declared, expected))
                known = Schema(model.schema.columns, tuple(united(model.schema.classes, expected)), declared)
                model = replace(model, tally=model.tally.align(known))
            self._keep(replace(model, provenance=replace(model.provenance, labels=labels_type)))
        return self

    def _source(self, X: Any, y: Any, weight: Any) -> Source:
        if isinstance(weight, str):
            X, weight = split_target(X, weight)
        X, y, name = self._split(X, y)
        return self._table_source(X, Target.of(y, self.unlabelled), weight, name)

    def _split(self, X: Any, y: Any) -> tuple[Any, Any, str | None]:
        """The table without its labels, the labels, and the column that held them."""
        if y is None and "model_" in vars(self):  # a fitted one knows which column it was
            y = self.model_.provenance.target
        return (*split_target(X, y), y) if isinstance(y, str) else (X, y, name_of(y))

    def _table_source(self, X: Any, target: Target, weight: Any, name: str | None) -> TableSource:
        """Rows and labels to be learned from nothing."""
        table, labels, weight = target.labelled(self._read(X), weight)
        check_size(table, self, len(labels))
        if name is not None and name in table.columns:  # it is a column like the others
            if np.array_equal(table.columns[name].as_labels(), target.labels):
                text = f"column {name!r} holds the labels: leave it out of the table"
                warnings.warn(text, ColumnWarning, stacklevel=4)
            name = None
        return TableSource.of(table, target, weight, name, self.n_jobs)

    # ------------------------------------------------------------------------------------------ reading rows

    def _read(self, X: Any) -> Table:
        """Hook for what else than tables may be learned."""
        return read_table(X)

    def _labelled(self, X: Any, y: Any, weight: Any, learning: bool = False) -> TableBatch:
        X, y, _ = self._split(X, y)
        return self._known(self._read(X), Target.checked(y), weight, learning, self.classes_)

    def _known(
        self, table: Table, labels: Any, weight: Any, learning: bool, classes: NDArray[Any] | None = None
    ) -> TableBatch:
        """A table of known columns with its labels; in learning new levels are taken in."""
        check_size(table, self, len(labels))
        weights = row_weights(weight, table.n_rows)
        rows = np.flatnonzero(weights)
        if learning and 0 < len(rows) < table.n_rows:  # a row of weight zero brings no level and no class
            table, labels, weights = table.take(rows), labels[rows], weights[rows]
        table = self._matched(table)
        columns = grown(self.schema_.columns, table, self.n_jobs) if learning else tuple(self.schema_.columns)
        found, codes = Target.coded(labels, classes)
        encoded = Labels.hard(codes, weights)
        schema = Schema(columns, tuple(found.tolist()))
        batch = TableBatch(schema, table, self.tally_.places, encoded)
        return batch if learning else with_warnings(batch)

    def _rows(self, X: Any) -> TableBatch:
        check_is_fitted(self)
        table = self._read(X)
        check_size(table, self)
        return with_warnings(TableBatch(self.schema_, self._matched(table), self.tally_.places))

    def _one_row(self, X: Any) -> Batch | None:
        return one_row(self.model_, X) if "model_" in vars(self) else None

    def _matched(self, table: Table) -> Table:
        model, how = self.model_, self.model_.provenance
        return matched(table, model.schema, bag_of(model), how.named, self.strict, how.target, type(self).__name__)

    # ------------------------------------------------------------------------------------------ inspecting

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on labelled rows; a label that was never learned is an error, not a miss.

        Parameters
        ----------
        X : table
        y : array-like of shape (n_samples,) or str
            Class labels, or the name of the column that holds them.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return self.evaluate(X, y, sample_weight, method="test").accuracy.value

    def explain(self, row: Any, against: Any = None, *, interval: float | None = None) -> Explanation:
        """Return the evidence for the prediction of one row.

        Parameters
        ----------
        row : mapping of column to value, or a table of one row
        against : class label, optional
            The class to compare with; the runner-up if not given.
        interval : float, optional
            The share of intervals that cover, such as 0.9: evidence and probabilities then have intervals.

        Returns
        -------
        Explanation
        """
        if not isinstance(row, Mapping) and getattr(row, "ndim", 0) == 1 and hasattr(row, "to_dict"):
            row = row.to_dict()  # a row of a pandas frame
        if isinstance(row, Mapping) and not any(isinstance(value, (list, tuple, np.ndarray)) for value in row.values()):
            names = [column.name for column in self.schema_.columns if not column.is_derived]
            row = [{**dict.fromkeys(names), **row}]  # what is not given is missing
        batch = self._rows(row)
        if batch.n_rows != 1:
            raise DataError(f"explain takes one row, this table has {batch.n_rows}")
        return explain(self.model_, batch, batch.table.row(0), against, interval)

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, missing: bool = False
    ) -> tuple[Any, NDArray[Any]]:
        """Draw rows like those that were learned.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None
        missing : bool, default=False
            Leave cells empty as often as they were in training.

        Returns
        -------
        X : table
            The evidence columns, in what the training rows came in.
        y : ndarray of shape (n_samples,)
        """
        rng = self._generator(n_samples, random_state)
        columns, codes = sampled(self.model_, int(n_samples), rng, missing)
        return table_like(columns, self.model_.provenance.made_by), self.classes_[codes]

    def summary(self) -> str:
        """Return the training data, the columns, the classes and what is important, as text."""
        check_is_fitted(self)
        return summary(self.model_, type(self).__name__)

    def _repr_html_(self) -> str:
        shown = super()._repr_html_()
        if "model_" not in vars(self):
            return shown
        return f"{shown}{self.model_._repr_html_()}"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        shown = super()._repr_mimebundle_(**kwargs)
        return shown | {"text/html": self._repr_html_()} if "text/html" in shown else shown

    # ------------------------------------------------------------------------------------------ other models

    def _with_prior_parameter(self, prior: Any) -> None:
        self.prior = prior if isinstance(prior, str) else given_prior(prior, self.classes_)  # type: ignore[assignment]

    def blank(self) -> Self:
        """Return an estimator that reads tables as this one does and has learned nothing yet.

        What each column is, its bins, the pairs and the weights are kept, so that rows counted elsewhere with
        `partial_fit` can be added to this one.

        Returns
        -------
        estimator
        """
        check_is_fitted(self)
        return self._like(self.model_.blank())

    def since(self, base: Self) -> Self:
        """Return the estimator of the rows that this one learned after it was a copy of the base.

        Copies of one base that learned on share its rows: ``first + second.since(base)`` counts them once.

        Parameters
        ----------
        base : estimator
            What this one was before it learned on.

        Returns
        -------
        estimator
        """
        check_is_fitted(self)
        return self._like(self.model_.since(base.model_))

    def select(self, columns: Iterable[str]) -> Self:
        """Return the model of some columns only, uncalibrated; nothing is counted again.

        Parameters
        ----------
        columns : iterable of str

        Returns
        -------
        estimator
        """
        check_is_fitted(self)
        if isinstance(columns, str):
            raise SettingError(f"select takes a list of columns: [{columns!r}]")
        names, params = list(columns), self.get_params(deep=False)
        smaller: dict[str, Any] = {
            option: {name: value for name, value in given.items() if str(name) in names}
            for option, given in params.items()
            if isinstance(given, Mapping) and option not in ("prior", "class_weight")  # which are by class
        }
        if "calibration" in params:
            smaller["calibration"] = None  # it was fitted to the evidence of all columns
        return self._like(self.model_.select(names), **smaller)

    @classmethod
    def from_tally(cls, tally: Tally, **params: Any) -> Self:
        """Make a fitted estimator from a tally of a table.

        Parameters
        ----------
        tally : Tally
        **params
            Parameters of the estimator.

        Returns
        -------
        estimator
        """
        estimator = cls(**params)
        estimator._validate_params()
        options = estimator._options()
        options.refuse_choices("a tally alone")
        tally = tally.without("block")  # its units are settings
        estimator._keep(Model(settings_of_tally(tally, options), tally))
        return estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
