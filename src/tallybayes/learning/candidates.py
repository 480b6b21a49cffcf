"""Which distribution a column has: the one whose leave-one-out evidence foretells the classes best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes.core.batch import Array, Codes, Labels, Matrix, columns_of
from tallybayes.core.tally import Tally
from tallybayes.families import Binned, Family, Kernel, ZeroInflated
from tallybayes.families.binned import partition_cost

BANDWIDTHS = (0.0, 1.0, 2.0, 4.0, 8.0)
STRENGTHS = (2.0, 8.0, 32.0, 128.0)


@dataclass(frozen=True)
class Choice:
    """The family of one column, and how well it foretells the classes alone."""

    family: Family
    loss: float  # nats a row, leave-one-out
    runner_up: str = ""
    runner_up_loss: float = np.inf

    @property
    def reason(self) -> str:
        """For people."""
        if not self.runner_up:
            return described(self.family)
        return f"{described(self.family)} (log loss alone {self.loss:.4f}; {self.runner_up} {self.runner_up_loss:.4f})"


def described(family: Any) -> str:
    """A family of one column in a few words."""
    if isinstance(family, Kernel):
        width = float(np.ravel(family.bandwidth)[0])
        return f"kernel {width:g} bin{'' if width == 1 else 's'} wide" if width else "every bin by itself"
    if isinstance(family, ZeroInflated):
        return "zero or lognormal"
    return str(family.name)


@dataclass(frozen=True)
class Judge:
    """Some learned rows, to try families on."""

    blocks: Mapping[str, Any]  # encoded, by family
    labels: Labels
    prior: Array  # (K,) log prior

    def of_column(self, x: Matrix) -> Trial:
        """The rows as one column shows them: rows of the same code, class and weight are all alike and tried once."""
        labels, weight = self.labels, self.labels.weight
        if not isinstance(x, Codes):
            return Trial(x, labels, weight, self.prior)
        assert labels.codes is not None
        alike = x.matrix[:, 0].astype(np.int64) * len(self.prior) + labels.codes
        if np.ptp(weight) > 0:
            _, size = np.unique(weight, return_inverse=True)
            alike = alike * (size.max() + 1) + size
        _, first, times = np.unique(alike, return_index=True, return_counts=True)
        return Trial(x.take(first), labels.take(first), times * weight[first], self.prior)


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


def candidates(low: float, zeros: float) -> list[str]:
    """The families that suit a number of at least ``low`` of which a share is zero."""
    names = ["kernel", "binned", "gaussian"]
    if low > 0:
        names.append("lognormal")
    if low >= 0:
        names.append("exponential")
    if low >= 0 and zeros > 0.05:
        names.append("zero_inflated")
    return names


def choose(judge: Judge, tally: Tally, column: int, names: list[str], families: Mapping[str, Family]) -> Choice:
    """Return the best of some families, by name, for one column of the schema."""
    tried = []
    for name in names:
        block = "kernel" if name == "binned" else name  # both read the same fine counts
        place = list(tally.blocks[block].columns).index(column)
        summary: Any = tally.blocks[block].summary.select(np.array([place]))
        trial = judge.of_column(columns_of(judge.blocks[block].x, [place]))
        family = _with_settings(families[name], trial, summary)
        loss = trial.loss(family, summary)
        if isinstance(family, Binned):  # leave-one-out keeps the partition, which all rows had a say in
            loss += partition_cost(family.estimate(summary).n_groups[0], float(summary.weight.sum()))
        tried.append((loss, family))
    tried.sort(key=lambda each: each[0])
    loss, best = tried[0]
    others = [(other, f) for other, f in tried[1:] if f.name != best.name]
    if not others:
        return Choice(best, loss)
    return Choice(best, loss, described(others[0][1]), others[0][0])


def _with_settings(family: Any, trial: Trial, summary: Any) -> Family:
    """A family with the settings that do best: first how smooth, then how strongly pooled."""
    if family.name == "kernel":
        widths = BANDWIDTHS if int(summary.n_levels[0]) > 3 else (0.0,)
        family = min((replace(family, bandwidth=h) for h in widths), key=lambda f: trial.loss(f, summary))
    if family.name in ("kernel", "binned", "hierarchical"):
        family = min((replace(family, strength=s) for s in STRENGTHS), key=lambda f: trial.loss(f, summary))
    return family
