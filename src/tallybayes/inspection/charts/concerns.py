"""Warnings about a model: dependent columns, classes of few rows, columns that may leak the class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Codes, Labels
from tallybayes.core.schema import amount
from tallybayes.inspection.charts._model import model_of, prior_of, rows_of, rows_with_labels
from tallybayes.inspection.charts.columns import column_pictures, encoded
from tallybayes.inspection.charts.shapes import ColumnPicture

FEW = 20  # rows of a class that are too few
LEAK = 0.95  # share of the entropy of the class that a single column should not explain
DEPENDENT = 0.3  # share of a column's own information that another one repeats within the classes
MOST_COLUMNS = 60  # that are compared two by two, the most informative ones
BINS = 8  # that numbers are compared in
MOST_LEVELS = 20


@dataclass(frozen=True)
class Concern:
    """A warning about a model."""

    kind: str  # "leak", "few rows" or "dependent"
    columns: tuple[str, ...]  # or classes, where these are few
    strength: float  # between 0 and 1
    text: str

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {"kind": self.kind, "columns": list(self.columns), "strength": self.strength, "text": self.text}


def concerns(
    model: Any, data: Any = None, pictures: Sequence[ColumnPicture] | None = None, most: int = 12
) -> tuple[Concern, ...]:
    """Warnings about a model.

    Parameters
    ----------
    model : Model or estimator
    data : labelled Rows or (X, y), optional
        Rows that columns are compared on; without them only those that the model took together are named.
    pictures : sequence of ColumnPicture, optional
        Those of the model, where they are made already.
    most : int
        Of each kind, the strongest.

    Returns
    -------
    tuple of Concern

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> for concern in concerns(NaiveBayes().fit(datasets.tennis(), target="play")):
    ...     print(concern)
    class no has 5 rows: too few to learn its columns well
    class yes has 9 rows: too few to learn its columns well
    """
    data, model = rows_with_labels(model, data), model_of(model)
    pictures = column_pictures(model) if pictures is None else pictures
    prior = prior_of(model)
    entropy = -float(sum(p * np.log(p) for p in prior.tolist() if p > 0))
    found = []
    for picture in pictures:
        share = picture.information / entropy if entropy > 0 and picture.kind != "pair" else 0.0
        if share >= LEAK:
            text = f"{picture.column} alone explains {share:.0%} of the class: was it known before the class was?"
            found.append(Concern("leak", (picture.column,), min(1.0, share), text))
    few = [
        Concern("few rows", (str(label),), 1.0 - weight / FEW, _few(label, weight))
        for label, weight in zip(model.schema.classes, model.tally.class_weight.tolist(), strict=True)
        if weight < FEW
    ]
    found += sorted(few, key=lambda concern: -concern.strength)[:most]
    if data is not None:
        found += _dependent(model, data, pictures, most)
    else:
        for column in [c for c in model.schema.columns if c.parts is not None][:most]:
            assert column.parts is not None
            names = tuple(part.name for part in column.parts)
            text = f"{names[0]} and {names[1]} depend on each other within the classes; the model takes them together"
            found.append(Concern("dependent", names, 0.5, text))
    return tuple(found)


def _few(label: Any, weight: float) -> str:
    rows = "1 row" if weight == 1 else f"{amount(weight)} rows"
    return f"class {label} has {rows}: too few to learn its columns well"


def _dependent(model: Any, data: Any, pictures: Sequence[ColumnPicture], most: int) -> list[Concern]:
    """Columns that repeat each other within the classes, by conditional mutual information."""
    batch = encoded(rows_of(model, data))
    labels = batch.labels
    if labels is None or labels.codes is None:
        return []
    compared = [p.column for p in pictures if p.kind not in ("pair", "ignored")][:MOST_COLUMNS]
    codes: dict[str, NDArray[np.int64]] = {}
    for name, block in batch.blocks.items():
        if model.settings.families[name].is_correction or not isinstance(block.x, (np.ndarray, Codes)):
            continue
        matrix = block.x.matrix if isinstance(block.x, Codes) else block.x
        for j, p in enumerate(block.columns):
            column = model.schema.columns[p]
            if column.name in compared:
                coded = isinstance(block.x, Codes) and column.edges is None
                codes[column.name] = _levels(matrix[:, j]) if coded else _bins(matrix[:, j])
    taken = {frozenset(part.name for part in c.parts) for c in model.schema.columns if c.parts is not None}
    weighted = model.settings.weights is not None
    counted = "the learned weights allow for it" if weighted else "their evidence is counted twice"
    names, found = [name for name in compared if name in codes], []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            share = _repeated(codes[a], codes[b], labels, model.n_classes)
            if share >= DEPENDENT:
                effect = "the model takes them together" if {a, b} in taken else counted
                text = f"{a} and {b} are redundant within the classes ({share:.0%} shared): {effect}"
                found.append(Concern("dependent", (a, b), share, text))
    return sorted(found, key=lambda concern: -concern.strength)[:most]


def _levels(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Codes from 0, the rare ones together; −1 for a missing value."""
    known = codes[codes >= 0]
    if not len(known):
        return np.full(len(codes), -1, dtype=np.int64)
    common = np.argsort(-np.bincount(known), kind="stable")[: MOST_LEVELS - 1]
    place = np.full(int(known.max()) + 1, MOST_LEVELS - 1, dtype=np.int64)
    place[common] = np.arange(len(common))
    return np.where(codes >= 0, place[np.maximum(codes, 0)], -1)


def _bins(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """The octile of each number; −1 for a missing value."""
    values = np.asarray(numbers, dtype=np.float64)
    known = np.isfinite(values) if np.issubdtype(np.asarray(numbers).dtype, np.floating) else values >= 0
    if not known.any():
        return np.full(len(values), -1, dtype=np.int64)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.where(known, np.searchsorted(edges, values, side="right"), -1)


def _repeated(a: NDArray[np.int64], b: NDArray[np.int64], labels: Labels, n_classes: int) -> float:
    """I(a; b | class) as a share of the smaller of the two entropies, less what chance would give."""
    assert labels.codes is not None
    known = (a >= 0) & (b >= 0)
    total = float(labels.weight[known].sum())
    if total < 2 * FEW:
        return 0.0
    n_a, n_b = int(a.max()) + 1, int(b.max()) + 1
    cell = (labels.codes[known].astype(np.int64) * n_a + a[known]) * n_b + b[known]
    table = np.bincount(cell, weights=labels.weight[known], minlength=n_classes * n_a * n_b)
    joint = table.reshape(n_classes, n_a, n_b) / total
    left, right, classes = joint.sum(axis=2), joint.sum(axis=1), joint.sum(axis=(1, 2))
    shared = _entropy(left) + _entropy(right) - _entropy(joint) - _entropy(classes)
    chance = (n_a - 1) * (n_b - 1) * n_classes / (2.0 * total)  # Miller 1955
    least = min(_entropy(left), _entropy(right)) - _entropy(classes)
    return max(0.0, shared - chance) / least if least > 1e-9 else 0.0


def _entropy(table: Array) -> float:
    p = table[table > 0]
    return -float((p * np.log(p)).sum())
