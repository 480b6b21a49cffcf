"""A prediction worked out as in a lecture: prior times likelihoods, as fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tallybayes.errors import DataError, NotAvailableError
from tallybayes.families import Categorical
from tallybayes.families._family import per_column
from tallybayes.model import Model
from tallybayes.schema import Level
from tallybayes.tally import Counts


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
    """P(column = level | y) as it was counted: for each level, a ratio for each class.

    Parameters
    ----------
    model : Model
        A model of categories.
    column : str
        The column's name.

    Returns
    -------
    tuple of tuple of Ratio
    """
    family, block = model.settings.families.get("categorical"), model.tally.blocks.get("categorical")
    if block is None or not isinstance(family, Categorical) or not isinstance(block.summary, Counts):
        raise NotAvailableError("only a model of categories can be worked out in fractions")
    names = [model.schema.columns[c].name for c in block.columns]
    if column not in names:
        raise DataError(f"there is no column {column!r}; the model has {', '.join(names)}")
    j, n_levels = names.index(column), block.summary.n_levels
    assert n_levels is not None
    alpha = float(per_column(family.alpha, len(names))[j])
    first = int(n_levels[:j].sum())
    counts = block.summary.count[:, first : first + int(n_levels[j])]
    totals = counts.sum(axis=1) + alpha * int(n_levels[j])
    return tuple(
        tuple(Ratio(count + alpha, total) for count, total in zip(level.tolist(), totals.tolist(), strict=True))
        for level in counts.T
    )


def worked(model: Model, row: Mapping[str, Level]) -> Worked:
    """Work out the prediction of one row; columns that the row does not name are no evidence.

    Parameters
    ----------
    model : Model
        A model of categories.
    row : mapping of str to level
        The values by column name.

    Returns
    -------
    Worked

    Examples
    --------
    >>> from tallybayes import Settings, Tally, families
    >>> family = families.Categorical(alpha=1)
    >>> tally = Tally.of(np.array([["a"], ["b"], ["b"]]), ["no", "no", "yes"], family, names=["letter"])
    >>> work = worked(Model(Settings({"categorical": family}), tally), {"letter": "b"})
    >>> [str(ratio) for ratio in work.factors[0].chance]
    ['2/4', '2/3']
    """
    factors = tuple(
        Factor(column, value, level_ratios(model, column)[_place(model, column, value)]) for column, value in row.items()
    )
    return Worked(model.schema.classes, prior_ratios(model), factors)


def _place(model: Model, column: str, value: Level) -> int:
    levels: Sequence[Level] = next((c.levels or () for c in model.schema.columns if c.name == column), ())
    if value not in levels:
        raise DataError(f"column {column!r} has no level {value!r}; it has {', '.join(map(str, levels))}")
    return list(levels).index(value)
