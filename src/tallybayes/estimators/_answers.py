"""What a model of a table tells people: the evidence for a row, the words of a class, new rows, a summary."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.schema import MOST_SHOWN, WIDEST, amount, plural
from tallybayes.core.settings import EvidenceWeights
from tallybayes.data.tables import table_like
from tallybayes.errors import DataError
from tallybayes.estimators._tables import ReadsTables
from tallybayes.inspection.explain import Explanation, TopWord, explain, top_words
from tallybayes.inspection.predictions import Answers, predict_file
from tallybayes.inspection.sampling import sampled
from tallybayes.learning.prior_shift import PriorShift, estimate_prior


class AnswersOfTables(ReadsTables):
    """Questions to a model of a table."""

    @property
    def weights_(self) -> EvidenceWeights | None:
        """How much of each column's evidence is believed; None where all of it is."""
        return self.model_.settings.weights

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

    def explain(self, row: Any, against: Any = None) -> Explanation:
        """Return the evidence for the prediction of one row.

        Parameters
        ----------
        row : mapping of column to value, or a table of one row
        against : class label, optional
            The class to compare with; the runner-up if not given.

        Returns
        -------
        Explanation
        """
        if not isinstance(row, Mapping) and getattr(row, "ndim", 0) == 1 and hasattr(row, "to_dict"):
            row = row.to_dict()  # a row of a pandas frame
        if isinstance(row, Mapping) and not any(isinstance(value, (list, tuple, np.ndarray)) for value in row.values()):
            row = [{**dict.fromkeys(self.schema_.names[: self.n_features_in_]), **row}]  # what is not told is missing
        batch = self._rows(row)
        self._refuse_components("explain")
        if batch.n_rows != 1:
            raise DataError(f"explain takes one row, this table has {batch.n_rows}")
        return explain(self.model_, batch, batch.table.row(0), against)

    def top_words(self, label: Any, n: int = 20, *, column: str | None = None) -> tuple[TopWord, ...]:
        """Return the words that mark a class: frequent in it, and more so than in the others.

        Parameters
        ----------
        label : class label
        n : int, default=20
            How many.
        column : str, optional
            The column of text; the first if there are several.

        Returns
        -------
        tuple of TopWord
            The most telling first; each has ``word``, ``log_odds``, ``here`` and ``elsewhere``.
        """
        check_is_fitted(self)
        self._refuse_components("top_words")
        return top_words(self.model_, label, n, column)

    def predict_file(self, source: Any, out: Any, **options: Any) -> int:
        """Write the predictions for a file to another, in constant memory.

        Parameters
        ----------
        source : path
            CSV, Parquet, JSON lines or Arrow; a file, or a pattern of files.
        out : path
            CSV, Parquet or JSON lines, by its suffix.
        **options
            Fields of `inspection.predictions.Answers`: ``beside``, ``threshold``, ``least``, ``top``, ``reasons``.

        Returns
        -------
        int
            Number of rows.
        """
        check_is_fitted(self)
        return predict_file(self.model_, source, out, Answers(**options))

    def estimate_prior(self, X: Any, **options: Any) -> PriorShift:
        """Estimate the class mix of another population from its rows, without their labels.

        EM on the prior alone (Saerens, Latinne and Decaestecker 2002); pass the result's ``prior`` to `with_prior`.

        Parameters
        ----------
        X : table
            Unlabelled rows of that population.
        **options
            ``tol`` and ``max_iter``.

        Returns
        -------
        PriorShift
        """
        batch = self._rows(X)
        self._refuse_components("estimate_prior")
        return estimate_prior(self.model_, batch, n_jobs=self.n_jobs, **options)

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
        return table_like(columns, getattr(self, "_made_by", "dict")), self._class_of(codes)

    def _repr_html_(self) -> str:
        shown = super()._repr_html_()
        if not hasattr(self, "model_"):
            return shown
        rows = "".join(f"<tr><td>{escape(name)}<td>{weight}<td>{p}" for name, weight, p in self._class_table())
        classes = f"<table><thead><tr><th>class<th>rows<th>prior</thead>{rows}</table>"
        return f"{shown}{self.schema_._repr_html_()}{classes}"

    def _class_table(self) -> list[tuple[str, str, str]]:
        """Name, rows and prior of the classes; where they are very many, the commonest."""
        prior = self._pooled_weight(np.exp(self.model_.log_prior))
        commonest = np.argsort(-self.class_count_, kind="stable")[:MOST_SHOWN]
        shown = [(str(self.classes_[k]), amount(self.class_count_[k]), f"{prior[k]:.4f}") for k in np.sort(commonest)]
        hidden = len(self.classes_) - len(shown)
        return shown if not hidden else [*shown, (f"and {plural(hidden, 'other class')}", "", "")]

    def summary(self) -> str:
        """Return what was learned from what, as text."""
        check_is_fitted(self)
        total, classes = self.class_count_.sum(), self._class_table()
        wide = min(max(len("class"), *(len(name) for name, _, _ in classes)), WIDEST)
        lines = [
            f"{type(self).__name__}: {amount(total)} row{'' if total == 1 else 's'}, "
            f"{plural(self.n_features_in_, 'column')}, {plural(len(self.classes_), 'class')}, "
            f"{plural(self.n_parameters_, 'parameter')}",
            "",
            self.schema_.described(),
            "",
        ]
        for name, weight, p in [("class", "rows", "prior"), *classes]:
            lines.append(f"{name:{wide}}  {weight:>12}  {p:>6}".rstrip())
        return "\n".join([*lines, *self._told()])

    def _told(self) -> list[str]:
        """The columns by how much they tell, where that was looked at."""
        plan = getattr(self, "_plan", None)
        if plan is None or not plan.lost:
            return []
        weights = {} if self.weights_ is None else self.weights_.columns
        ranked = sorted(plan.lost.items(), key=lambda each: -each[1])
        wide = min(max(len(name) for name, _ in ranked), 2 * WIDEST)
        lines = ["", f"{'what tells most':{wide}}  weight  log loss without it"]
        for name, lost in ranked[:MOST_SHOWN]:
            lines.append(f"{name:{wide}}  {weights.get(name, 1.0):6.3f}  {lost:+.4f}")
        more = len(ranked) - MOST_SHOWN
        return [*lines, *([f"and {plural(more, 'column')} more"] if more > 0 else []), *plan.notes]
