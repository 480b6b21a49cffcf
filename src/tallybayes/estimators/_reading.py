"""Methods of fitted estimators that read a model: from a file, or what it says of columns and other rows.

`Fitted` and `TableNB` take these functions for their methods.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tallybayes.core.batch import Array, Rows
from tallybayes.core.importance import importance_of
from tallybayes.errors import MissingExtraError, ModelFileError
from tallybayes.inspection.explain import TopWord
from tallybayes.inspection.explain import top_words as top_words_of
from tallybayes.inspection.overview import Overview
from tallybayes.inspection.overview import overview as overview_of
from tallybayes.inspection.predictions import PredictionColumns
from tallybayes.inspection.predictions import predict_file as predict_file_by
from tallybayes.inspection.reasons import MOST, Reasons
from tallybayes.inspection.reasons import reasons as reasons_of
from tallybayes.learning.prior_shift import PriorShift
from tallybayes.learning.prior_shift import estimate_prior as estimate_prior_of


def load(cls: type[Any], path: str | os.PathLike[str]) -> Any:
    """Read a fitted estimator of this class from a file; `tallybayes.load` reads one of any class.

    Parameters
    ----------
    path : path
        A file that `save` or the command line wrote.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is no model file, or holds an estimator of another class.
    """
    from tallybayes.estimators.saved import load as load_any  # which knows all classes

    found = load_any(path)
    if not isinstance(found, cls):
        name = type(found).__name__
        raise ModelFileError(
            f"{path} holds a {name}, not a {cls.__name__}; read it with {name}.load or tallybayes.load"
        )
    return found


def contributions(self: Any, X: Any, *, as_frame: bool = False) -> Array | Any:
    """Return log P(x_d | y) of each row, class and column.

    With ``model_.prior_score``, log P(y) unless weights were learned, they add up to `predict_joint_log_proba`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    as_frame : bool, default=False
        Whether to return a pandas DataFrame: a line for each row and class, and columns ``prior``, one for every
        column of the model, and ``total``, their sum.

    Returns
    -------
    ndarray of shape (n_samples, n_classes, n_features), or DataFrame
    """
    parts = self.model_.contributions(self._rows(X))
    if not as_frame:
        return parts
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("as_frame=True needs pandas: pip install pandas") from None

    n_rows, _, n_columns = parts.shape
    lines = pd.MultiIndex.from_product([range(n_rows), self.classes_.tolist()], names=["row", "class"])
    frame = pd.DataFrame(parts.reshape(-1, n_columns), index=lines, columns=list(self.model_.schema.names))
    prior = np.tile(self.model_.prior_score, n_rows)
    total = frame.sum(axis=1) + prior
    frame.insert(0, "prior", prior, allow_duplicates=True)
    frame.insert(len(frame.columns), "total", total, allow_duplicates=True)
    return frame


def reasons(
    self: Any,
    X: Any,
    most: int = MOST,
    reference: Any = "population",
    groups: Mapping[str, Sequence[str]] | None = None,
    label: Any = None,
) -> Reasons:
    """Return reason codes: the columns that took most from the score of each row.

    Parameters
    ----------
    X : rows as `predict` takes them
    most : int, default=4
        How many reasons a row has at most; columns that took nothing are none.
    reference : {"population", "best"} or table, default="population"
        What a row is compared with: the mean of the rows that were learned, the best value of each column, or a row;
        of several rows, their mean.
    groups : mapping of label to columns, optional
        Columns that are one reason, under a name of their own.
    label : class, optional
        Whose score it is; of two classes, the second by default.

    Returns
    -------
    Reasons
        A tuple of reasons, each with ``name`` and ``loss`` in nats, for every row.

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> model = NaiveBayes(classical=True).fit(datasets.tennis(), target="play")
    >>> day = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "wind": ["strong"]}
    >>> print(model.reasons(day, most=2))
    what took most from the score of yes
      row 0: outlook -0.748, humidity -0.738
    """
    batch = self._rows(X)
    return reasons_of(self.model_, batch, most, _row_of(self, reference), groups, label)


def _row_of(self: Any, reference: Any) -> Any:
    """A reference as rows of the model, unless it is a word, or a row by name."""
    if isinstance(reference, str | Mapping | Rows):
        return reference
    return self._rows(reference)


def importance(self: Any) -> dict[str, float]:
    """Mean absolute evidence of each column, pair and block, in nats, the largest first.

    It is the mean of the absolute log odds, as `explain` shows them, on training rows that were left out of their own
    counts; for a model that was not refined, on rows that it draws itself.
    """
    check_is_fitted(self)
    return importance_of(self.model_)


def overview(self: Any, X: Any = None, y: Any = None) -> Overview:
    """Return an overview of the model: a verdict, warnings, columns by importance and what was left out.

    Parameters
    ----------
    X, y : optional
        Labelled rows, to look for columns that depend on each other.

    Returns
    -------
    Overview
    """
    check_is_fitted(self)
    return overview_of(self, X, y)


def top_words(self: Any, label: Any, n: int = 20, *, column: str | None = None) -> tuple[TopWord, ...]:
    """Return the words that are typical of a class: frequent in it, and more so than in the others.

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
        The strongest first; each has ``word``, ``log_odds``, ``here`` and ``elsewhere``.
    """
    check_is_fitted(self)
    return top_words_of(self.model_, label, n, column)


def predict_file(self: Any, source: Any, out: Any, *, safe_csv: bool = False, **options: Any) -> int:
    """Write the predictions for a file to another, in constant memory.

    Parameters
    ----------
    source : path
        CSV, Parquet, JSON lines or Arrow; a file, or a pattern of files.
    out : path
        CSV, Parquet or JSON lines, by its suffix.
    safe_csv : bool, default=False
        Whether texts of a CSV file that begin like a formula get an apostrophe, for spreadsheets.
    **options
        ``beside``, ``threshold``, ``least``, …: the fields of `inspection.predictions.PredictionColumns`.

    Returns
    -------
    int
        Number of rows.
    """
    check_is_fitted(self)
    return predict_file_by(self.model_, source, out, PredictionColumns(**options), safe_csv=safe_csv)


def estimate_prior(self: Any, X: Any, **options: Any) -> PriorShift:
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
    rows = self._rows(X)
    return estimate_prior_of(self.model_, rows, n_jobs=self.n_jobs, **options)
