"""The records of the picture of a column: curves of numbers, bars of levels and words, and mutual information."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.schema import Level, plural
from tallybayes.inspection.charts._model import AsDict, listed, spark

MOST_BARS = 12


@dataclass(frozen=True)
class Curves(AsDict):
    """Densities of a number: at points, or constant between them.

    Parameters
    ----------
    points : ndarray of shape (m,) or, stepped, (m + 1,)
    density : ndarray of shape (K, m)
    stepped : bool
        Whether ``density[:, i]`` holds from ``points[i]`` to ``points[i + 1]``.
    spike : ndarray of shape (K,), optional
        Probability of exactly zero, where that is separate.
    histogram : tuple of ndarray, optional
        Edges (b + 1,) and density (K, b) of the rows themselves.
    """

    points: Array
    density: Array
    stepped: bool = False
    spike: Array | None = None
    histogram: tuple[Array, Array] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        record = super().as_dict()
        if record.pop("histogram") is not None:
            record["histogram"] = dict(zip(("edges", "density"), listed(self.histogram), strict=True))
        return record


@dataclass(frozen=True)
class Bars(AsDict):
    """Probabilities of levels, counts or words.

    Parameters
    ----------
    levels : tuple of str
    chance : ndarray of shape (K, C)
        P(level | class).
    words : bool
        Whether these are words of one bag, whose probabilities are shares of all words.
    lift : bool
        Whether these are pairs of levels, and ``chance`` how many times as often they come together as they would if
        the two columns had nothing to do with each other.
    """

    levels: tuple[str, ...]
    chance: Array
    words: bool = False
    lift: bool = False

    def formatted(self, chance: float, digits: int = 1) -> str:
        """A probability or a lift as text."""
        if self.lift:
            return f"×{chance:.2f}" if chance < 10.0 else f"×{chance:.0f}"
        return f"{chance:.{digits}%}" if chance >= 0.001 or not chance else f"{100 * chance:.1g}%"

    def most_informative(self, prior: Array, most: int = MOST_BARS) -> Bars:
        """The most informative levels, in their order, the rest put together."""
        if len(self.levels) <= most:
            return self
        apart = self.words or self.lift  # these have no sum that means anything
        kept = np.sort(np.argsort(-shares(self.chance, prior), kind="stable")[: most - (not apart)])
        levels = [self.levels[c] for c in kept]
        chance = self.chance[:, kept]
        if not apart:
            rest = np.delete(self.chance, kept, axis=1).sum(axis=1, keepdims=True)
            levels.append(plural(len(self.levels) - len(kept), "other"))
            chance = np.concatenate((chance, rest), axis=1)
        return replace(self, levels=tuple(levels), chance=chance)


@dataclass(frozen=True)
class ColumnPicture:
    """The distribution of one column by class.

    Parameters
    ----------
    column : str
        Its name; of a bag of words "words".
    kind : str
        What its values are.
    family : str
        The distribution.
    classes : tuple
    prior : ndarray of shape (K,)
    information : float
        Mutual information of value and class, in nats; of a bag of words, that of one word.
    weight : float
        The weight of its evidence.
    missing : float
        Share of the rows in which it has no value.
    shape : Curves or Bars
    """

    column: str
    kind: str
    family: str
    classes: tuple[Level, ...]
    prior: Array
    information: float
    weight: float
    missing: float
    shape: Curves | Bars

    def __str__(self) -> str:
        missing = f", {self.missing:.1%} missing" if self.missing > 0 else ""
        weight = "" if self.weight == 1.0 else f", weight {self.weight:.2f}"
        lines = [f"{self.column}: {self.family}, mutual information {self.information:.3f} nats{weight}{missing}"]
        wide = max(len(str(label)) for label in self.classes)
        if isinstance(self.shape, Curves):
            curves = self.shape
            step = max(1, curves.density.shape[1] // 48)
            shown = curves.density[:, ::step]
            top = float(shown.max(initial=0.0))
            for k, label in enumerate(self.classes):
                zero = "" if curves.spike is None else f"  zero {curves.spike[k]:.1%}"
                lines.append(f"  {label!s:{wide}} {spark(shown[k], top)}{zero}")
            ends = f"{curves.points[0]:.4g}", f"{curves.points[-1]:.4g}"
            lines.append(f"  {'':{wide}} {ends[0]}{ends[1]:>{max(1, shown.shape[1] - len(ends[0]))}}")
            return "\n".join(lines)
        bars = self.shape.most_informative(self.prior)
        name = min(max(map(len, bars.levels), default=0), 30)
        lines.append(f"  {'':{name}} " + " ".join(f"{label!s:>8.8}" for label in self.classes))
        for c, level in enumerate(bars.levels):
            lines.append(
                f"  {level:{name}.{name}} " + " ".join(f"{bars.formatted(p, 2):>8}" for p in bars.chance[:, c].tolist())
            )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "column": self.column,
            "kind": self.kind,
            "family": self.family,
            "classes": list(self.classes),
            "information": self.information,
            "weight": self.weight,
            "missing": self.missing,
            **self.shape.as_dict(),
        }


def shares(chance: Array, prior: Array) -> Array:
    """What each level (C,) adds to the mutual information."""
    mix = prior @ chance
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(chance > 0, chance * np.log(chance / mix), 0.0)
    return np.asarray(prior @ each)
