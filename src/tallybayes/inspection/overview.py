"""An overview of a model: a verdict, warnings, the columns by importance, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallybayes.core.evaluation import Evaluation
from tallybayes.core.importance import importance_of
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, plural
from tallybayes.inspection.charts._model import model_of, rows_with_labels
from tallybayes.inspection.charts.concerns import Concern, concerns
from tallybayes.inspection.verdict import Verdict, verdict


@dataclass(frozen=True)
class Used:
    """A column, pair or block that a model uses."""

    column: str
    kind: str
    importance: float  # mean absolute evidence, in nats
    weight: float  # of its evidence
    title: str  # what it is called where there is little room
    is_corrected: bool = False  # whether a correction learned from rows is evidence besides


@dataclass(frozen=True)
class LeftOut:
    """A column that a model does not use, and why."""

    column: str
    why: str


@dataclass(frozen=True)
class Overview:
    """An overview of a model."""

    verdict: Verdict | None  # None where it was never evaluated
    warnings: tuple[Concern, ...]
    columns: tuple[Used, ...]  # the most important first
    left_out: tuple[LeftOut, ...]

    def __str__(self) -> str:
        lines = [str(self.verdict) if self.verdict else "Not evaluated."]
        lines += [f"warning: {concern}" for concern in self.warnings]
        wide = max((len(used.title) for used in self.columns), default=0)
        lines += [f"{'column':{max(wide, 6)}}  importance  weight"] if self.columns else []
        lines += [f"{u.title:{max(wide, 6)}}  {u.importance:10.3f}  {u.weight:6.2f}" for u in self.columns]
        return "\n".join([*lines, *(f"left out: {gone.column} ({gone.why})" for gone in self.left_out)])

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "verdict": None if self.verdict is None else self.verdict.as_dict(),
            "warnings": [concern.as_dict() for concern in self.warnings],
            "importance": [
                {"column": u.column, "kind": u.kind, "importance": u.importance, "weight": u.weight}
                for u in self.columns
            ],
            "left_out": [{"column": gone.column, "why": gone.why} for gone in self.left_out],
        }


def overview(model: Any, X: Any = None, y: Any = None, *, evaluation: Evaluation | None = None) -> Overview:
    """Return an overview of a model: what `tallybayes train` prints.

    Parameters
    ----------
    model : Model or estimator
    X : table or labelled Rows, optional
        Rows to look for dependent columns in.
    y : array-like of shape (n_samples,) or str, optional
        Their labels, unless they are the column of the table that the model learned them from.
    evaluation : Evaluation, optional
        The figures of the verdict; those that were measured in fitting if not given.

    Returns
    -------
    Overview

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> print(overview(NaiveBayes().fit(datasets.tennis(), target="play")))
    Right for 50 of 100 rows it has not seen; always guessing 'yes' is right for 64. That is no better than guessing.
    warning: the classes no (5 rows) and yes (9) have too few rows to learn from
    column       importance  weight
    humidity          0.773    1.00
    outlook           0.655    1.00
    wind              0.443    1.00
    temperature       0.264    1.00
    """
    rows, core = rows_with_labels(model, X, y), model_of(model)
    found = concerns(core, rows, evaluation=evaluation)
    return Overview(verdict(core, evaluation), found, *_columns(core))


def _columns(model: Model) -> tuple[tuple[Used, ...], tuple[LeftOut, ...]]:
    by_name = {column.name: column for column in model.schema.columns}
    weights = {} if model.settings.weights is None else model.settings.weights.columns
    corrected = {name for name, offset in model.settings.offsets.items() if not offset.is_constant}
    used = [
        Used(name, c.kind, nats, float(weights.get(name, 1.0)), title(c), name in corrected)
        for name, nats in importance_of(model).items()
        if (c := by_name.get(name)) is not None and c.kind != "date"  # whose parts are columns of their own
    ]
    says = [u for u in used if u.weight or u.importance]
    together = {part.name for u in says for part in by_name[u.column].parts or ()}
    kept = tuple(u for u in used if u in says or u.column in together)
    ignored = [LeftOut(c.name, c.reason or "as given") for c in model.schema.columns if c.kind == "ignored"]
    silent = [LeftOut(u.column, _why_silent(by_name[u.column], bool(says))) for u in used if u not in kept]
    return kept, (*ignored, *silent)


def _why_silent(column: Column, has_others: bool) -> str:
    if column.reason.startswith("constant"):
        return column.reason.removesuffix(", no evidence")
    return "adds nothing to the others: weight 0" if has_others else "says nothing about the class"


def title(column: Column) -> str:
    """What a column is called where there is little room: a pair as a product, a block by its size."""
    names = [part.name for part in column.parts or ()]
    if column.kind == "pair":
        return " × ".join(names)
    return f"{plural(len(names), 'number')} together" if column.kind == "block" else column.name
