"""Reports: one self-contained page on a model, with a what-if form that is computed in the page."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tallybayes.core.batch import every_nth
from tallybayes.core.evaluation import Evaluation
from tallybayes.core.model import Model
from tallybayes.data.atomic import replacing
from tallybayes.errors import DataError, NotAvailableError, SettingError, UnlearnError
from tallybayes.export.portable import Scorer
from tallybayes.inspection.charts import column_pictures, concerns, evidence_shapes, importance
from tallybayes.inspection.charts._model import model_of, rows_with_labels
from tallybayes.inspection.drift import Drift
from tallybayes.inspection.evaluate import evaluated, scored_rows
from tallybayes.inspection.explain import class_profiles
from tallybayes.inspection.subgroups import subgroups
from tallybayes.inspection.summary import settings_of
from tallybayes.inspection.verdict import verdict
from tallybayes.report.controls import controls
from tallybayes.report.drift_section import Section, drift_section, subgroup_section
from tallybayes.report.examples import typical_rows
from tallybayes.report.page import Report

__all__ = ["Report", "make", "write"]

MOST_BYTES = 6_000_000  # of parameters in a page that still opens at once
ROOMY = 1_000_000  # up to which all their digits are kept
MOST_ROWS = 50_000  # that the model is evaluated on


def make(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    target: str | None = None,
    method: str = "auto",
    by: Any = None,
    drift: Drift | None = None,
) -> Report:
    """Make a report on a model.

    Parameters
    ----------
    model : Model or estimator
    X : table or labelled Rows, optional
        Rows to evaluate the model on and to draw histograms of; without them the page has the stored figures.
    y : array-like of shape (n_samples,) or str, optional
        Their labels, unless they are the column of the table that the model learned them from.
    title : str, optional
    target : str, optional
        Name of the column of labels.
    method : {"auto", "leave-one-out", "test"}
        How rows are evaluated, as `evaluate` takes it; "auto" takes 50,000 or more for those that were learned.
    by : str, list of str or array-like, optional
        Subgroups of the rows whose figures the page has, too, as `evaluate` takes them.
    drift : Drift, optional
        How other rows differ from those that were learned, for a section of the page.

    Returns
    -------
    Report

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> table = datasets.tennis()
    >>> play = table.pop("play")
    >>> report = make(NaiveBayes(classical=True).fit(table, play), table, play, title="Tennis")
    >>> report.html().startswith("<!doctype html>"), len(report.html()) < 2_000_000
    (True, True)
    """
    if method not in ("auto", "leave-one-out", "test"):
        raise SettingError(f"method must be 'auto', 'leave-one-out' or 'test', not {method!r}")
    rows, core = rows_with_labels(model, X, y), model_of(model)
    rows = None if rows is None else every_nth(rows, MOST_ROWS)
    more = tuple(_more(core, rows, method, by, drift))
    return _report(core, rows, method, title, target or core.provenance.target, more)


def _report(
    core: Model, rows: Any, method: str, title: str | None, target: str | None, more: tuple[Section, ...]
) -> Report:
    pictures = column_pictures(core, rows)
    matters = importance(core, rows)
    scorer, parts = _scorer(core)
    figures = _evaluated(core, rows, method)
    return Report(
        title or (f"Predicting {target}" if target else "Naive Bayes model"),
        target,
        core.schema.classes,
        tuple(core.tally.class_weight.tolist()),
        tuple(np.exp(core.log_prior).tolist()),
        core.schema.columns,
        pictures,
        evidence_shapes(core, pictures=pictures),
        matters,
        concerns(core, rows, pictures=pictures, evaluation=figures),
        class_profiles(core, 6),
        figures,
        settings_of(core),
        core.n_parameters,
        scorer,
        None if parts is None else controls(parts, core.schema.columns, pictures, matters),
        core.provenance.rows,
        verdict(core, figures),
        None if parts is None else typical_rows(core, rows),
        more,
    )


def write(model: Any, path: str | os.PathLike[str], X: Any = None, y: Any = None, **options: Any) -> Report:
    """Write a report to a file, whole or not at all; options are those of `make`."""
    report = make(model, X, y, **options)
    with replacing(path) as temporary:
        temporary.write_text(report.html(), encoding="utf-8", errors="replace")  # half a character of a name
    return report


def _more(model: Model, rows: Any, method: str, by: Any, drift: Drift | None) -> Iterator[Section]:
    """The sections that were asked for."""
    if by is not None:
        if rows is None or rows.labels is None:
            raise DataError("figures by subgroup need labelled rows: pass X and y (--data)")
        yield subgroup_section(subgroups(scored_rows(model, rows, method), by))
    if drift is not None:
        yield drift_section(drift)


def _scorer(model: Model) -> tuple[Any, Scorer | None]:
    """The parameters for the page, unless they are too many or of a family that cannot be exported."""
    if model.n_classes < 2:
        return None, None
    try:
        parts = Scorer.of(model, texts=True, readings=True)
    except NotAvailableError:
        return None, None
    record = parts.as_dict()
    record["terms"] = [_compact(term) for term in record["terms"]]
    if len(json.dumps(record)) > ROOMY:
        record["terms"] = [_rounded(term) for term in record["terms"]]
    return (None, None) if len(json.dumps(record)) > MOST_BYTES else (record, parts)


def _compact(term: dict[str, Any]) -> dict[str, Any]:
    """Words with the same slopes, as nearly all rare ones have, share a row: the page is a third as large."""
    if "slopes" not in term:
        return term
    rows: dict[tuple[Any, ...], int] = {}
    which = [rows.setdefault(tuple(row), len(rows)) for row in term["slopes"]]
    return term if 2 * len(rows) > len(which) else {**term, "slopes": {"rows": [*map(list, rows)], "which": which}}


def _rounded(term: dict[str, Any]) -> dict[str, Any]:
    """Eight digits of the scores of cells, more than the page shows: with 26 classes it is two thirds as large."""
    return {**term, "scores": _short(term["scores"])} if "scores" in term else term


def _short(scores: Any) -> Any:
    if isinstance(scores, list):
        return [_short(each) for each in scores]
    return float(f"{scores:.8g}") if isinstance(scores, float) else scores


def _evaluated(model: Model, rows: Any, method: str) -> Evaluation | None:
    if rows is None or rows.labels is None or rows.labels.codes is None:
        return model.provenance.evaluation
    try:
        return evaluated(model, rows, method, learned=True if rows.n_rows >= MOST_ROWS else None)
    except UnlearnError as error:
        raise UnlearnError(f"{error} (--test)") from None
