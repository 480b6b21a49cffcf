"""Methods of fitted estimators that export the model.

`Fitted` takes these functions for its methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from tallybayes import export
from tallybayes.core.model import Model
from tallybayes.inspection.reasons import ReasonPlan, reason_plan


def fitted_model(estimator: Any) -> Model:
    """The model of an estimator that has one."""
    check_is_fitted(estimator)
    return estimator.model_


def _plan(model: Model, given: Any) -> ReasonPlan | None:
    """What reasons are worked out with, from how many there are to be, or from the arguments of `reasons`."""
    if given is None:
        return None
    return reason_plan(model, **given) if isinstance(given, Mapping) else reason_plan(model, given)


def to_json(self: Any, indent: int | None = None, reasons: int | Mapping[str, Any] | None = None) -> str:
    """Return how the model scores a row, as JSON of a documented form that any language can evaluate.

    Parameters
    ----------
    indent : int, optional
        Blanks that a level of nesting is moved to the right by; without it everything is on one line.
    reasons : int or mapping, optional
        Also write what reason codes are worked out with: how many there are, or the arguments of `reasons`.

    Returns
    -------
    str
    """
    return export.to_json(fitted_model(self), indent, _plan(fitted_model(self), reasons))


def to_python(self: Any, name: str = "predict_proba", reasons: int | Mapping[str, Any] | None = None) -> str:
    """Return the source of one Python function that scores a row, and needs nothing but Python.

    Parameters
    ----------
    name : str, default="predict_proba"
        What the function is called.
    reasons : int or mapping, optional
        Also write the functions ``contributions(row)``, what each column adds to the score of each class, and
        ``reasons(row)``: how many reasons there are, or the arguments of `reasons`.

    Returns
    -------
    str
        A module: the function takes a dict of column to value and returns a dict of label to probability.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> model = NaiveBayes(classical=True).fit({"wind": ["weak", "weak", "strong"]}, ["yes", "yes", "no"])
    >>> space = {}
    >>> exec(model.to_python(), space)
    >>> space["predict_proba"]({"wind": "strong"})
    {'no': 0.571..., 'yes': 0.428...}
    """
    return export.to_python(fitted_model(self), name, _plan(fitted_model(self), reasons))


def to_sql(
    self: Any,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    proba: bool = True,
    keep: Sequence[str] | None = None,
    coverage: float | None = None,
    reasons: int | Mapping[str, Any] | None = None,
    contributions: bool = False,
) -> str:
    """Return one SELECT that scores the rows of a table in the database that holds them.

    Parameters
    ----------
    table : str or sequence of str
        Name of the table; several names where a schema or a catalogue stands before it. It is quoted as it is.
    dialect : {"duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake"}, default="duckdb"
    proba : bool, default=True
        Also return a column ``p_LABEL`` for every class, beside ``prediction``.
    keep : sequence of str, optional
        Columns of the table to return beside them, such as a key; those the model reads if not given.
    coverage : float, optional
        Also return a column ``set_LABEL`` for every class: 1 where it is in the prediction set of that coverage
        (`predict_set`), 0 where it can be ruled out.
    reasons : int or mapping, optional
        Also return ``reason_1``, ``loss_1``, …: how many reasons there are, or the arguments of `reasons`.
    contributions : bool, default=False
        With `reasons`, also return a column ``c_NAME``: what each column adds to the score, in nats.

    Returns
    -------
    str

    Examples
    --------
    >>> import duckdb
    >>> from tallybayes import NaiveBayes
    >>> model = NaiveBayes(classical=True).fit({"wind": ["weak", "weak", "strong"]}, ["yes", "yes", "no"])
    >>> days = duckdb.sql("SELECT 'weak' AS wind")
    >>> duckdb.sql(model.to_sql("days")).fetchall()
    [('weak', 'yes', 0.181..., 0.818...)]
    """
    model = fitted_model(self)
    return export.to_sql(model, table, dialect, proba, keep, coverage, _plan(model, reasons), contributions)


def to_onnx(self: Any, missing_text: str = "", dtype: Literal["float64", "float32"] = "float64") -> Any:
    """Return the model as an ONNX graph (needs the extra ``onnx``).

    Its outputs are ``label`` and ``probabilities``. Where no column holds text, the only input is ``X``, a matrix
    of all columns in their order; otherwise each column that is evidence is an input of its own, of shape (n, 1).
    Booleans are 0 and 1, and a missing value is NaN.

    Parameters
    ----------
    missing_text : str, default=""
        What stands for a missing value in a column of text.
    dtype : {"float64", "float32"}, default="float64"
        The type of the numbers that are given; it calculates with the former in any case.

    Returns
    -------
    onnx.ModelProto
    """
    return export.to_onnx(fitted_model(self), missing_text, dtype)


def report(self: Any, path: Any, X: Any = None, y: Any = None, **options: Any) -> Any:
    """Write a report: one page of HTML that needs nothing else, with a what-if that is computed in the page.

    Parameters
    ----------
    path : path
        Where to write it, such as ``report.html``.
    X : table or labelled Rows, optional
        Rows to evaluate the model on and to draw histograms of; without them the page has the stored figures.
    y : array-like of shape (n_samples,) or str, optional
        Their labels, unless they are the column of the table that the model learned them from.
    **options
        ``title``, ``target`` (what the classes are of) and ``method`` ("leave-one-out", or "test" for other rows).

    Returns
    -------
    Report
        What the page shows, as a record.
    """
    from tallybayes.report import write as write_report  # the page is long, and seldom asked for

    fitted_model(self)
    return write_report(self, path, X, y, **options)
