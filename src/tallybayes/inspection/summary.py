"""A model in a few lines: training data, columns, classes and what is important."""

from __future__ import annotations

import numpy as np

from tallybayes.core.model import Model
from tallybayes.core.schema import MOST_SHOWN, WIDEST, amount, plural, some_of


def class_table(model: Model) -> list[tuple[str, str, str]]:
    """Name, rows and prior of the classes; where they are very many, the most frequent."""
    prior, weight, classes = np.exp(model.log_prior), model.tally.class_weight, model.schema.classes
    most = np.argsort(-weight, kind="stable")[:MOST_SHOWN]
    shown = [(str(classes[k]), amount(weight[k]), f"{prior[k]:.4f}") for k in np.sort(most)]
    hidden = len(classes) - len(shown)
    return shown if not hidden else [*shown, (f"and {plural(hidden, 'other class')}", "", "")]


def summary(model: Model, name: str) -> str:
    """The model as text."""
    total, classes = model.tally.class_weight.sum(), class_table(model)
    n_columns = sum(not column.is_derived for column in model.schema.columns)
    wide = min(max(len("class"), *(len(label) for label, _, _ in classes)), WIDEST)
    lines = [
        f"{name}: {amount(total)} row{'' if total == 1 else 's'}, {plural(n_columns, 'column')}, "
        f"{plural(model.n_classes, 'class')}, {plural(model.n_parameters, 'parameter')}",
        "",
        model.schema.described(),
        "",
    ]
    for label, weight, p in [("class", "rows", "prior"), *classes]:
        lines.append(f"{label:{wide}}  {weight:>12}  {p:>6}".rstrip())
    corrected = [name for name in model.schema.names if name in model.settings.offsets]
    notes = ["", f"correction learned from rows: {some_of(corrected)}"] if corrected else []
    return "\n".join([*lines, *_importance(model), *notes])


def _importance(model: Model) -> list[str]:
    """The columns by importance, where it was measured."""
    importance = model.provenance.importance
    if not importance:
        return []
    weights = {} if model.settings.weights is None else model.settings.weights.columns
    ranked = sorted(importance.items(), key=lambda each: -each[1])
    wide = min(max(len(name) for name, _ in ranked), 2 * WIDEST)
    lines = ["", f"{'importance':{wide}}  weight  log loss without it"]
    for name, rise in ranked[:MOST_SHOWN]:
        lines.append(f"{name:{wide}}  {weights.get(name, 1.0):6.3f}  {rise:+.4f}")
    more = len(ranked) - MOST_SHOWN
    return [*lines, *([f"and {plural(more, 'column')} more"] if more > 0 else []), *model.provenance.notes]
