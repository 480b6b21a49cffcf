"""A model in a few lines: training data, columns, classes and what is important."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tallybayes.core.equality import same_value
from tallybayes.core.importance import importance_of
from tallybayes.core.levels import MOST_SHOWN, some_of
from tallybayes.core.model import Model
from tallybayes.core.offsets import described
from tallybayes.core.schema import WIDEST, amount, plural

FEW = 10  # items of a list that are shown
PRIORS = {"empirical": "the class shares of the training rows", "uniform": "every class alike", "none": "none"}


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
    offsets = {name: model.settings.offsets[name] for name in model.schema.names if name in model.settings.offsets}
    notes = ["", *(f"{kind}: {some_of(names)}" for kind, names in described(offsets).items())] if offsets else []
    return "\n".join([*lines, *_importance(model), *notes])


def _importance(model: Model) -> list[str]:
    """The columns by importance, where it was measured."""
    if not model.provenance.importance:
        return []
    weights = {} if model.settings.weights is None else model.settings.weights.columns
    ranked = [each for each in importance_of(model).items() if each[0] in model.schema.names]
    wide = min(max(len("column"), *(len(name) for name, _ in ranked)), 2 * WIDEST)
    lines = ["", f"{'column':{wide}}  importance  weight"]
    for name, nats in ranked[:MOST_SHOWN]:
        lines.append(f"{name:{wide}}  {nats:10.3f}  {weights.get(name, 1.0):6.3f}")
    more = len(ranked) - MOST_SHOWN
    return [*lines, *([f"and {plural(more, 'column')} more"] if more > 0 else []), *model.provenance.notes]


def settings_of(model: Model) -> dict[str, str]:
    """How the tally is read, in words; the family of each column is in its reason."""
    settings, blocks = model.settings, model.tally.blocks
    families: dict[str, int] = {}
    for name, family in settings.families.items():
        alpha = np.unique(getattr(family, "alpha", ()))
        smoothed = f", pseudocount {alpha[0]:g}" if len(alpha) == 1 else ""
        families[f"{family.name}:{smoothed}"] = families.get(f"{family.name}:{smoothed}", 0) + len(blocks[name].columns)
    noted = {"weights": "none: the evidence of every column counts once"} if settings.weights is None else {}
    return {
        "families": ", ".join(_family(name, n) for name, n in families.items()),
        **({"tried": _tried(model.provenance.tried)} if model.provenance.tried else {}),
        "prior": PRIORS.get(str(settings.prior)) or in_words(settings.prior),
        **({"prior_alpha": f"{settings.prior_alpha:g}"} if settings.prior_alpha else {}),
        **noted,
        **{kind: some_of(names) for kind, names in described(settings.offsets).items()},
        "calibration": "none" if settings.calibration is None else in_words(settings.calibration),
        "parameters": f"{model.n_parameters:,}",
    }


def _tried(tried: Mapping[str, float]) -> str:
    """The ways to read texts that were compared, the best first."""
    ranked = sorted(tried.items(), key=lambda item: item[1])
    return "; ".join(f"{way} (held-out loss {loss:.4f})" for way, loss in ranked)


def _family(name: str, n_columns: int) -> str:
    family, _, smoothed = name.partition(":")
    return f"{family} ({plural(n_columns, 'column')}{smoothed})"


def in_words(value: Any) -> str:
    """A setting as people read it, not as Python writes it.

    Examples
    --------
    >>> in_words({"yes": 0.5, "no": 0.5}), in_words(("a", "b")), in_words(True), in_words(None)
    ('yes 0.5, no 0.5', 'a, b', 'yes', 'none')
    """
    if value is None or isinstance(value, bool):
        return "none" if value is None else "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {in_words(item)}" for name, item in value.items()) or "none"
    if is_dataclass(value):
        given = {f.name: getattr(value, f.name) for f in fields(value)}
        usual = {f.name: f.default for f in fields(value)}
        changed = {name: item for name, item in given.items() if not same_value(item, usual[name])}
        words = in_words(changed) if all(np.size(item) < FEW for item in changed.values()) else ""
        return f"{type(value).__name__.lower()} {words}".strip()
    if isinstance(value, (float, np.floating)):
        return f"{value:g}"
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        shown = [in_words(item) for item in list(value)[:FEW]]
        return ", ".join([*shown, *(["…"] if len(value) > FEW else [])]) or "none"
    return str(value)
