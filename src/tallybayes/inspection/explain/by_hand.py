"""A prediction worked out by hand, as in a lecture: factors that are fractions of counts, and their product."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tallybayes.core.batch import Array, Rows
from tallybayes.core.family import per_column
from tallybayes.core.importance import corrections
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Level
from tallybayes.core.summaries import Counts
from tallybayes.errors import DataError, NotAvailableError
from tallybayes.families import Categorical
from tallybayes.inspection.explain._values import shown, value_of

LEGEND = {  # what the letters before the values mean
    "P": "P: the probability of the value in the class",
    "p": "p: a density, which may be above 1",
    "r": "r: how much more frequent the values are together in the class than by themselves; may be above 1",
    "s": "s: the score of a text, the product of what its words weigh",
    "c": "c: a correction or a constant learned from rows, which may be above 1",
    "^": "^: the learned weight of the evidence; 0 would be no evidence, 1 all of it",
}


@dataclass(frozen=True)
class Step:
    """One line of a calculation by hand: a factor of each class, as it is written, and its logarithm."""

    what: str
    factors: tuple[str, ...]
    logs: tuple[float, ...]

    @property
    def letters(self) -> set[str]:
        """The letters of the legend that the line uses."""
        found = {what[:1] for what in self.what.split(" × ") if what[1:2] == "("}
        return found | ({"^"} if any("^" in f.replace("e^", "") for f in self.factors) else set())


def steps(model: Model, batch: Rows, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Work out the log joint of one row: the prior, then a factor for each column that says something.

    The row is given as the model reads it and, in ``values``, as a person does. The logs add up to the log joint. A
    column without a value, or of weight 0, is no factor.
    """
    evidence, offsets = model.contributions(batch)[0], corrections(model, batch.rows(0, 1))[0]
    weights = model.settings.weights
    ratios = tuple(_raised(str(p), 1.0 if weights is None else weights.prior) for p in prior_ratios(model))
    found = [Step("P(class)", ratios, tuple(model.prior_score.tolist()))]
    for name, block in model.tally.blocks.items():
        for j, p in enumerate(block.columns):
            column = model.schema.columns[p]
            value = value_of(column, values)
            if evidence[:, p].any():
                found.append(_step(model, name, j, value, evidence[:, p], offsets[:, p]))
    return tuple(found)


def _step(model: Model, block: str, j: int, value: Any, evidence: Array, offsets: Array) -> Step:
    """The factors of one column: what the family says to the power of its weight, times the correction."""
    column = model.schema.columns[model.tally.blocks[block].columns[j]]
    weight = float(model.column_weights[model.tally.blocks[block].columns[j]])
    log = "log " if model.settings.families[block].of_logs else ""
    named, logs = f"{log}{column.name} = {log}{shown(value)}", tuple(evidence.tolist())
    added = tuple(f"{np.exp(o):.4g}" for o in offsets.tolist())
    if not weight:
        return Step(f"c({named})", added, logs)
    plain = tuple(((evidence - offsets) / weight).tolist())
    factors = tuple(_raised(f, weight) for f in _factors(model, block, j, column, value, plain))
    what = f"{_letter(model, block, column)}({named})"
    if offsets.any():
        return Step(f"{what} × c({column.name})", tuple(map(" × ".join, zip(factors, added, strict=True))), logs)
    return Step(what, factors, logs)


def _letter(model: Model, block: str, column: Column) -> str:
    """What is multiplied, as the legend has it."""
    if column.parts is not None:
        return "r"
    family = model.settings.families[block]
    if block in model.texts or family.is_document:
        return "s"
    return "P" if family.is_coded else "p"


def _raised(factor: str, weight: float) -> str:
    """A factor to the power of its weight, as it is written."""
    return (
        factor if weight == 1.0 or factor == "1" else f"{f'({factor})' if {*factor} & {*'/^'} else factor}^{weight:.3g}"
    )


def _factors(model: Model, block: str, j: int, column: Column, value: Any, logs: tuple[float, ...]) -> tuple[str, ...]:
    """The factors as fractions of counts, as normal densities, or as plain numbers."""
    family = model.settings.families[block]
    if block in model.texts or column.kind == "block":  # the product may be beyond what a float holds
        return tuple(f"e^{log:.4g}" for log in logs)
    written = family.factors(model.parameters[block], j, value)
    if written is not None:
        return written
    if isinstance(family, Categorical) and value in (column.levels or ()):
        return tuple(map(str, level_ratios(model, column.name)[list(column.levels or ()).index(value)]))
    return tuple(f"{np.exp(log):.4g}" for log in logs)


class Ratio(NamedTuple):
    """A fraction as it was counted, not reduced: 3/9 stays 3/9."""

    top: float
    bottom: float

    def __str__(self) -> str:
        return f"{self.top:g}/{self.bottom:g}"

    def __float__(self) -> float:
        return self.top / self.bottom


@dataclass(frozen=True)
class Factor:
    """P(column = value | y) of each class."""

    column: str
    value: Level
    chance: tuple[Ratio, ...]


@dataclass(frozen=True)
class Worked:
    """One prediction with all that went into it."""

    classes: tuple[Level, ...]
    prior: tuple[Ratio, ...]
    factors: tuple[Factor, ...]

    @property
    def joint(self) -> tuple[float, ...]:
        """P(x, y) of each class: the prior times the factors."""
        chances = zip(self.prior, *(factor.chance for factor in self.factors), strict=True)
        return tuple(math.prod(map(float, column)) for column in chances)

    @property
    def evidence(self) -> float:
        """P(x), by total probability."""
        return math.fsum(self.joint)

    @property
    def posterior(self) -> tuple[float, ...]:
        """P(y | x) of each class; the prior where every class forbids the row."""
        if self.evidence == 0:
            return tuple(map(float, self.prior))
        return tuple(joint / self.evidence for joint in self.joint)

    @property
    def best(self) -> Level:
        """The likeliest class."""
        return self.classes[int(np.argmax(self.posterior))]

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        by_class = [str(label) for label in self.classes]
        return {
            "prior": dict(zip(by_class, map(str, self.prior), strict=True)),
            "factors": [
                {"column": f.column, "value": f.value, "chance": dict(zip(by_class, map(str, f.chance), strict=True))}
                for f in self.factors
            ],
            "joint": dict(zip(by_class, self.joint, strict=True)),
            "evidence": self.evidence,
            "posterior": dict(zip(by_class, self.posterior, strict=True)),
        }


def prior_ratios(model: Model) -> tuple[Ratio, ...]:
    """P(y) of each class as it was counted."""
    alpha, weights = model.settings.prior_alpha, model.tally.class_weight
    if model.settings.prior != "empirical":
        return tuple(Ratio(p, 1.0) for p in np.exp(model.log_prior).tolist())
    total = float(weights.sum()) + alpha * len(weights)
    return tuple(Ratio(weight + alpha, total) for weight in weights.tolist())


def level_ratios(model: Model, column: str) -> tuple[tuple[Ratio, ...], ...]:
    """P(column = level | y) in a model of categories, as it was counted: for each level, a ratio for each class."""
    family, block = (of.get(Categorical.name) for of in (model.settings.families, model.tally.blocks))
    if block is None or not isinstance(family, Categorical) or not isinstance(block.summary, Counts):
        raise NotAvailableError("only a model of categories can be worked out in fractions")
    names = [model.schema.columns[c].name for c in block.columns]
    if column not in names:
        raise DataError(f"there is no column {column!r}; the model has {', '.join(names)}")
    j, n_levels = names.index(column), block.summary.n_levels
    assert n_levels is not None
    alpha = float(per_column(family.alpha, len(names))[j])
    first = int(n_levels[:j].sum())
    counts = block.summary.count[:, first : first + int(n_levels[j])].T  # (C, K)
    rare = counts.sum(axis=1) < family.min_count
    n_effective = int((~rare).sum() + rare.any())  # rare levels share one probability
    totals = counts.sum(axis=0) + alpha * n_effective
    chances = np.where(rare[:, None], counts[rare].sum(axis=0), counts) + alpha

    def ratio(count: float, total: float) -> Ratio:
        return Ratio(count, total) if total else Ratio(1.0, float(n_effective))

    return tuple(tuple(map(ratio, level.tolist(), totals.tolist())) for level in chances)


def worked(model: Model, row: Mapping[str, Level]) -> Worked:
    """Work out a model of categories' prediction of one row; columns that the row does not name are no evidence.

    Examples
    --------
    >>> from tallybayes import Settings, families, tally
    >>> family = families.Categorical(alpha=1)
    >>> rows = tally(np.array([["a"], ["b"], ["b"]]), ["no", "no", "yes"], family, names=["letter"])
    >>> work = worked(Model(Settings({"categorical": family}), rows), {"letter": "b"})
    >>> [str(ratio) for ratio in work.factors[0].chance]
    ['2/4', '2/3']
    """
    factors = tuple(
        Factor(column, value, level_ratios(model, column)[_place(model, column, value)])
        for column, value in row.items()
    )
    return Worked(model.schema.classes, prior_ratios(model), factors)


def _place(model: Model, column: str, value: Level) -> int:
    levels: Sequence[Level] = next((c.levels or () for c in model.schema.columns if c.name == column), ())
    if value not in levels:
        raise DataError(f"column {column!r} has no level {value!r}; it has {', '.join(map(str, levels))}")
    return list(levels).index(value)
