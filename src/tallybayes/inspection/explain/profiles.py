"""Class profiles: the values and the words that are more frequent in a class than in the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.listings import readable
from tallybayes.core.model import Model
from tallybayes.core.schema import Level
from tallybayes.core.summaries import Counts, Moments
from tallybayes.core.tokens import Vocabulary
from tallybayes.errors import DataError, NotAvailableError, nearest
from tallybayes.families.binned import coarse_edges, partition
from tallybayes.inspection.explain._values import shown

LEAST_RATIO = 1.1  # of two shares; a value that is hardly more frequent is not characteristic


@dataclass(frozen=True)
class ProfileEntry:
    """A value that is more frequent in one class than in the others, and its information, in nats."""

    column: str
    text: str
    strength: float


def class_profiles(model: Model, most: int = 5) -> dict[Level, tuple[ProfileEntry, ...]]:
    """The values typical of each class, by their share of the divergence of P(value | class) from the other classes.

    There are at most so many of each class, the strongest first.
    """
    found: dict[Level, list[ProfileEntry]] = {label: [] for label in model.schema.classes}
    if model.n_classes < 2:
        return dict.fromkeys(found, ())
    for name, block in model.generative.tally.blocks.items():
        if name in model.texts:
            for label in found if isinstance(model.texts[name].levels, Vocabulary) else ():
                words = top_words(model, label, most, model.texts[name].name)
                found[label] += [ProfileEntry(word.column, str(word), word.strength) for word in words]
            continue
        for j, p in enumerate(block.columns):
            column, one = model.schema.columns[p], block.summary.select(np.array([j], dtype=np.intp))
            for k, label in enumerate(model.schema.classes):
                if isinstance(one, Moments):
                    found[label] += _of_numbers(column.name, one, k, logs=model.settings.families[name].of_logs)
                elif isinstance(one, Counts) and column.edges is not None:
                    found[label] += _of_bins(column.name, column.edges, one.count, k)
                elif isinstance(one, Counts) and column.levels is not None:
                    named = [f"{column.name} = {shown(level)}" for level in column.levels]
                    found[label] += _of_levels(column.name, named, one.count, k)
    return {label: tuple(sorted(all_, key=lambda entry: -entry.strength)[:most]) for label, all_ in found.items()}


@dataclass(frozen=True)
class TopWord:
    """A word that is typical of a class."""

    word: str
    column: str
    log_odds: float  # log of its share of the words of the class, over that of all others
    here: float  # how much of it the class has
    elsewhere: float  # and all others
    strength: float  # its mean information, in nats: share × log odds

    def __str__(self) -> str:
        return f"{self.column}: {self.word} (×{math.exp(self.log_odds):.3g})"


def top_words(model: Model, label: Level, most: int = 20, column: str | None = None) -> tuple[TopWord, ...]:
    """The words that are typical of a class: frequent in it, and more so than in the others.

    Parameters
    ----------
    model : Model
        A model with a column of text.
    label : class label
    most : int
    column : str, optional
        The column of text, where there are several.

    Returns
    -------
    tuple of TopWord
        The most informative first.
    """
    if label not in model.schema.classes:
        raise DataError(f"there is no class {label!r}; {nearest(label, model.schema.classes)}")
    texts = {text.name: block for block, text in model.texts.items()}
    if not texts or (column is not None and column not in texts):
        raise DataError(f"there is no column of text{'' if column is None else f' {column!r}'} in the model")
    name = column if column is not None else next(iter(texts))
    text = model.texts[texts[name]]
    if not isinstance(text.levels, Vocabulary):
        raise NotAvailableError("words that are hashed are not known by name; learn them with hashed=None")
    summary: Any = model.tally.blocks[texts[name]].summary
    count, k = summary.count, model.schema.classes.index(label)
    own = count[k]
    others = np.maximum(count.sum(axis=0) - own, 0.0)
    p, q = ((c + 0.5) / (c + 0.5).sum() for c in (own, others))
    odds = np.log(p / q)
    strength = p * odds
    most = min(most, len(odds))
    best = np.argpartition(-strength, most - 1)[:most] if 0 < most < len(odds) else np.arange(len(odds))
    ranked = sorted(best.tolist(), key=lambda v: (-strength[v], v))[:most]
    return tuple(
        TopWord(text.levels[v], name, float(odds[v]), float(own[v]), float(others[v]), float(strength[v]))
        for v in ranked
        if strength[v] > 0
    )


def _of_bins(name: str, edges: tuple[float, ...], count: Array, k: int) -> list[ProfileEntry]:
    """The same of the bins that matter."""
    group = partition(count.T)
    merged = np.stack([count[:, group == g].sum(axis=1) for g in range(group[-1] + 1)], axis=1)
    coarse = coarse_edges(edges, group)
    low = [f"{name} below {readable(coarse[0])}"] if coarse else [name]
    between = [f"{name} from {readable(a)} to {readable(b)}" for a, b in pairwise(coarse)]
    high = [f"{name} from {readable(coarse[-1])}"] if coarse else []
    return _of_levels(name, [*low, *between, *high], merged, k)


def _of_levels(column: str, named: Sequence[str], count: Array, k: int) -> list[ProfileEntry]:
    """p log(p / q) of each level, with half a row for what was never seen."""
    own, others = (counts + 0.5 for counts in (count[k], np.delete(count, k, axis=0).sum(axis=0)))
    p, q = own / own.sum(), others / others.sum()
    return [
        ProfileEntry(column, f"{what} ({mine:.0%}, others {theirs:.0%})", mine * np.log(mine / theirs))
        for what, mine, theirs in zip(named, p, q, strict=True)
        if mine > LEAST_RATIO * theirs
    ]


def _of_numbers(name: str, one: Moments, k: int, logs: bool) -> list[ProfileEntry]:
    """The divergence of one normal distribution from another; moments of logs are shown as those of the numbers."""
    rest = Moments(*(np.delete(field, k, axis=0) for field in (one.weight, one.mean, one.m2))).merged()
    weight, mean = float(one.weight[k, 0]), float(one.mean[k, 0])
    if not (weight and one.m2[k, 0] and rest.m2[0, 0]):
        return []
    variance, other = float(one.m2[k, 0]) / weight, float(rest.m2[0, 0] / rest.weight[0, 0])
    if not (variance and other):  # too small for a float
        return []
    apart = mean - float(rest.mean[0, 0])
    strength = 0.5 * (math.log(other) - math.log(variance) + (variance + apart * apart) / other - 1.0)

    def formatted(middle: float, spread: float) -> str:
        low, high = middle - spread, middle + spread
        return (
            f"{readable(math.exp(low), 3)} to {readable(math.exp(high), 3)}"
            if logs
            else f"{readable(middle, 4)} ± {readable(spread, 3)}"
        )

    mine, theirs = formatted(mean, math.sqrt(variance)), formatted(float(rest.mean[0, 0]), math.sqrt(other))
    return [ProfileEntry(name, f"{name} {mine} (others {theirs})", strength)]
