"""Which distribution a column has: the one whose leave-one-out evidence predicts the classes best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tallybayes.core.batch import Array, Codes, Labels, Matrix, columns_of
from tallybayes.core.family import Numbers
from tallybayes.core.tally import Tally
from tallybayes.families import FAMILIES, Family


@dataclass(frozen=True)
class Choice:
    """The family of one column, and how well it predicts the classes alone."""

    family: Family
    loss: float  # nats a row, leave-one-out
    runner_up: str = ""
    runner_up_loss: float = np.inf

    @property
    def reason(self) -> str:
        """For people."""
        if not self.runner_up:
            return self.family.described()
        return f"{self.family.described()} (log loss alone {self.loss:.4f}; {self.runner_up} {self.runner_up_loss:.4f})"


@dataclass(frozen=True)
class TrialRows:
    """Training rows on which the families of a column are compared."""

    blocks: Mapping[str, Any]  # encoded, by family
    labels: Labels
    prior: Array  # (K,) log prior

    def of_column(self, x: Matrix) -> Trial:
        """The values of one column; rows of the same value, class and weight are scored once."""
        labels, weight = self.labels, self.labels.weight
        if isinstance(x, Codes):
            code = x.matrix[:, 0].astype(np.int64)
        elif isinstance(x, np.ndarray):
            value, code = np.unique(x[:, 0], return_inverse=True)
            if len(value) * len(self.prior) > len(code) // 2:  # hardly any are alike
                return Trial(x, labels, weight, self.prior)
        else:
            return Trial(x, labels, weight, self.prior)
        assert labels.codes is not None
        alike = code * len(self.prior) + labels.codes
        if np.ptp(weight) > 0:
            _, size = np.unique(weight, return_inverse=True)
            alike = alike * (size.max() + 1) + size
        _, first, times = np.unique(alike, return_index=True, return_counts=True)
        few = x.take(first) if isinstance(x, Codes) else x[first]
        return Trial(few, labels.take(first), times * weight[first], self.prior)


@dataclass(frozen=True)
class Trial:
    """Rows of one column, how often there are such, and the log prior."""

    x: Matrix
    labels: Labels
    times: Array
    prior: Array

    def loss(self, family: Family, summary: Any) -> float:
        """Mean of −log P(y | x), each row left out of what was learned."""
        assert self.labels.codes is not None
        scores = family.leave_one_out(summary, family.estimate(summary), self.x, self.labels) + self.prior
        top = scores.max(axis=1)
        own = scores[np.arange(len(top)), self.labels.codes]
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - own
        losses = np.where(np.isnan(losses), np.inf, losses)
        return float((self.times * losses).sum() / self.times.sum())


def candidates(numbers: Numbers, families: Mapping[str, Family]) -> list[str]:
    """The families that suit a numeric column, by name."""
    return [name for name, family in families.items() if family.suits(numbers)]


def counted_as(family: Family | type[Family]) -> str:
    """The block that a family's columns are counted in at first: families of bins share their fine counts."""
    return next(each.name for each in FAMILIES.values() if each.in_bins) if family.in_bins else family.name


def choose(
    trial_rows: TrialRows, tally: Tally, column: int, names: list[str], families: Mapping[str, Family]
) -> Choice:
    """Return the best of some families, by name, for one column of the schema; of equal ones the first."""
    tried = []
    for name in names:
        block = counted_as(families[name])
        place = list(tally.blocks[block].columns).index(column)
        summary: Any = tally.blocks[block].summary.select(np.array([place]))
        trial = trial_rows.of_column(columns_of(trial_rows.blocks[block].x, [place]))
        family = families[name].tuned(summary, partial(trial.loss, summary=summary))
        tried.append((trial.loss(family, summary) + family.choice_cost(summary), family))
    tried.sort(key=lambda each: each[0])
    loss, best = tried[0]
    others = [(other, f) for other, f in tried[1:] if f.name != best.name]
    if not others:
        return Choice(best, loss)
    return Choice(best, loss, others[0][1].described(), others[0][0])
