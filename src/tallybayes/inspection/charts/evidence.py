"""The evidence of every value of a column, with its interval: curves of numbers, bars of levels, maps of pairs.

What is shown is what `explain` adds up: weights and offsets are in it. With two classes it is the log odds of the
second against the first; with more, those of each class against the mean of the others, weighted by their shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import MISSING, Array, Batch, Codes, Encoded
from tallybayes.core.importance import importance_of
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Level
from tallybayes.errors import DataError, nearest
from tallybayes.inspection.charts._model import AsDict, model_of, prior_of, spark
from tallybayes.inspection.charts.columns import column_pictures, level_names
from tallybayes.inspection.charts.shapes import Bars, ColumnPicture, Curves
from tallybayes.inspection.uncertainty import USUAL, Uncertainty, quantile

LARGEST = 50.0  # log odds, in the place of infinitely many
FAR = 0.002  # share of the rows on either side that a curve leaves out
MOST_BINS = 48  # of a histogram
MOST_WHOLE = 100  # whole numbers that are drawn one by one


@dataclass(frozen=True)
class EvidenceShape(AsDict):
    """The evidence of the values of one column.

    Parameters
    ----------
    column, kind : str
        Its name, and what it is: "number", "levels" or "pair".
    classes : tuple
        The classes that the evidence is for: of two the second.
    against : class, optional
        The class it is against; None for all others.
    points : ndarray of shape (m,) or, stepped, (m + 1,)
        The numbers; none of levels and pairs.
    levels : tuple of str
        The levels (m,); of a pair those of its first column.
    others : tuple of str
        Of a pair the levels of its second column.
    log_odds, spread : ndarray of shape (C, m)
        The evidence for each of the classes, and half the width of its interval; the cells of a pair row by row.
    share : ndarray of shape (m,)
        Share of the rows at each value.
    stepped : bool
        Whether the evidence is the same from each point to the next.
    level : float
        Of the intervals.
    importance, weight, missing : float
    """

    column: str
    kind: str
    classes: tuple[Level, ...]
    against: Level | None
    points: Array
    levels: tuple[str, ...]
    others: tuple[str, ...]
    log_odds: Array
    spread: Array
    share: Array
    stepped: bool
    level: float
    importance: float
    weight: float
    missing: float

    @property
    def middles(self) -> Array:
        """The numbers (m,) that the evidence is drawn at."""
        return 0.5 * (self.points[1:] + self.points[:-1]) if self.stepped else self.points

    def highest(self) -> float:
        """How much evidence a picture has to show: what nearly all rows have, with its interval, and not one spike."""
        size = (np.abs(self.log_odds) + self.spread).max(axis=0, initial=0.0)
        if not size.size or not size.max() > 0:
            return 1.0
        order = np.argsort(size)
        below = np.cumsum(self.share[order])
        usual = size[order][np.searchsorted(below, 0.98 * below[-1])] if below[-1] > 0 else size.max()
        return float(min(1.1 * size.max(), max(1.5 * usual, 0.05)))

    def histogram(self) -> tuple[Array, Array]:
        """Where the rows are: points or, stepped, edges, and heights of at most one, clipped as the evidence is.

        Many bins are put together to some of one width: narrow ones with many rows would hide all others.
        """
        points, height = self.points, self.share
        if self.stepped and len(height) > MOST_BINS:
            points = np.linspace(points[0], points[-1], MOST_BINS + 1)
            height = np.diff(np.interp(points, self.points, np.append(0.0, np.cumsum(self.share))))
        elif self.stepped:
            height = height / np.maximum(np.diff(points), 1e-300)
        usual = float(np.quantile(height, 0.98)) or float(height.max(initial=0.0)) or 1.0
        return points, np.minimum(height / usual, 1.0)

    def by_evidence(self) -> NDArray[np.intp]:
        """The levels, those that speak most for the (first) class first."""
        return np.argsort(-self.log_odds[0], kind="stable")

    def __str__(self) -> str:
        against = "the others" if self.against is None else self.against
        lines = [f"{self.column}: log odds of {self.classes[0]} against {against}, {self.level:.0%} intervals"]
        if self.kind == "number":
            drawn = self.log_odds[:, :: max(1, self.log_odds.shape[1] // 48)]
            for label, each in zip(self.classes, drawn, strict=True):
                ends = f"{each.min():+.2f} to {each.max():+.2f}"
                lines.append(f"  {label!s:12.12} {spark(each - drawn.min())}  {ends}")
            return "\n".join([*lines, f"  from {self.points[0]:.4g} to {self.points[-1]:.4g}"])
        names = self.levels if self.kind == "levels" else [f"{a}, {b}" for a in self.levels for b in self.others]
        wide = min(30, max(map(len, names), default=0))
        for c in self.by_evidence().tolist():
            amount, spread = self.log_odds[0, c], self.spread[0, c]
            lines.append(f"  {names[c]:{wide}.{wide}} {amount:+7.3f} ± {spread:.3f}")
        return "\n".join(lines)


def evidence_shapes(
    model: Any,
    columns: Sequence[str] | None = None,
    *,
    level: float = USUAL,
    pictures: Sequence[ColumnPicture] | None = None,
) -> tuple[EvidenceShape, ...]:
    """The evidence of the values of each column, the most important columns first.

    Parameters
    ----------
    model : Model or estimator
    columns : sequence of str, optional
        Only these.
    level : float, default=0.9
        Of the intervals.
    pictures : sequence of ColumnPicture, optional
        What `column_pictures` found, where it is known already.

    Returns
    -------
    tuple of EvidenceShape

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> model = NaiveBayes(classical=True).fit(datasets.tennis(), target="play")
    >>> print(evidence_shapes(model, ["outlook"])[0])
    outlook: log odds of yes against no, 90% intervals
      overcast  +1.204 ± 1.638
      rainy     -0.118 ± 1.007
      sunny     -0.693 ± 1.007
    """
    model = model_of(model)
    known = [column.name for column in model.schema.columns]
    if columns is not None and (unknown := [name for name in columns if name not in known]):
        raise DataError(f"there is no column {unknown[0]!r}; {nearest(unknown[0], known)}")
    if model.n_classes < 2:
        return ()
    pictures = column_pictures(model, columns=columns) if pictures is None else pictures
    drawn = {picture.column: picture for picture in pictures if columns is None or picture.column in columns}
    if not drawn:
        return ()
    strength, wide = importance_of(model), quantile(level)
    found = [
        shape
        for name in model.tally.blocks
        for shape in _block(Uncertainty(model), name, drawn, strength, (wide, level))
    ]
    return tuple(sorted(found, key=lambda shape: -shape.importance))


def _block(
    known: Uncertainty,
    name: str,
    drawn: dict[str, ColumnPicture],
    strength: dict[str, float],
    interval: tuple[float, float],
) -> Iterator[EvidenceShape]:
    """The shapes of the columns of a block, all worked out at once."""
    model, block = known.model, known.model.tally.blocks[name]
    family = model.settings.families[name]
    if name in model.texts or family.is_document:
        return
    columns = [model.schema.columns[p] for p in block.columns]
    values = [_values(column, family.is_coded, drawn.get(column.name)) for column in columns]
    n_rows = max((len(each) for each in values), default=0)
    if n_rows == 0:
        return
    grid = np.full((n_rows, len(columns)), MISSING if family.is_coded else np.nan)
    for j, each in enumerate(values):
        grid[: len(each), j] = each
    counts = block.summary.n_levels if family.is_coded else None  # type: ignore[attr-defined]
    x: Any = Codes(grid.astype(np.int64), counts) if counts is not None else grid
    parts, spread = known.of_values(Batch(model.schema, {name: Encoded(block.columns, x)}, n_rows))
    classes, odds, sd = _against(model, parts[:, :, list(block.columns)], spread[:, :, list(block.columns)])
    for j, column in enumerate(columns):
        if not len(values[j]):
            continue
        picture, m = drawn[column.name], len(values[j])
        of_rows = _shares(model, name, j, picture, values[j])
        amounts = odds[classes, :m, j], interval[0] * sd[classes, :m, j], of_rows, interval[1]
        yield _shape(model, column, picture, values[j], classes, amounts, strength.get(column.name, 0.0))


def _shape(
    model: Model,
    column: Column,
    picture: ColumnPicture,
    values: Array,
    classes: list[int],
    amounts: tuple[Array, Array, Array, float],
    strength: float,
) -> EvidenceShape:
    """The shape of a column from its log odds, their spread, the shares of the rows and the level of the intervals."""
    drawn, (odds, spread, share, level) = picture.shape, amounts
    is_number = isinstance(drawn, Curves) or (column.levels is None and column.parts is None)
    kind = "pair" if column.parts is not None else "number" if is_number else "levels"
    left, right = ("", "") if column.parts is None else map(level_names, column.parts)
    found = EvidenceShape(
        column.name,
        kind,
        tuple(model.schema.classes[k] for k in classes),
        model.schema.classes[0] if model.n_classes == 2 else None,
        _points(column, drawn, values) if kind == "number" else np.zeros(0),
        tuple(left) if kind == "pair" else () if kind == "number" else level_names(column)[: len(values)],
        tuple(right),
        odds,
        spread,
        share,
        isinstance(drawn, Curves) and drawn.stepped,
        level,
        strength,
        picture.weight,
        picture.missing,
    )
    return _trimmed(found) if kind == "number" and isinstance(drawn, Curves) and not drawn.stepped else found


def _values(column: Column, coded: bool, picture: ColumnPicture | None) -> Array:
    """What a column is asked for: its cells, or numbers along its curve; nothing where it is not drawn."""
    if picture is None:
        return np.zeros(0)
    if coded and column.n_cells:
        return np.arange(column.n_cells, dtype=np.float64)
    if not isinstance(picture.shape, Curves):
        return np.array([float(level.replace(",", "")) for level in picture.shape.levels])
    points = picture.shape.points
    first, last = np.ceil(points[0] - 1e-6), np.floor(points[-1])
    if column.whole and 0 < last - first <= MOST_WHOLE:  # between them there is nothing
        return np.arange(first, last + 1.0)
    if picture.shape.spike is not None:  # a density has no zero, a row may
        points = np.where(np.abs(points) <= 1e-8 * np.abs(points).max(), 0.0, points)
    return points


def _trimmed(shape: EvidenceShape) -> EvidenceShape:
    """The part of a curve that has rows: far beyond them it would only flatten the rest."""
    below = np.cumsum(shape.share)
    kept = slice(max(0, int((below < FAR).sum()) - 1), int((below < below[-1] - FAR).sum()) + 2)
    each = {name: getattr(shape, name)[..., kept] for name in ("points", "log_odds", "spread", "share")}
    return replace(shape, **each)


def _points(column: Column, shape: Curves | Bars, values: Array) -> Array:
    """Where the evidence of numbers is drawn; the bins of whole numbers are around them."""
    if not isinstance(shape, Curves) or not shape.stepped:
        return values
    return shape.points - 0.5 if column.whole else shape.points


def _against(model: Model, parts: Array, variance: Array) -> tuple[list[int], Array, Array]:
    """The classes that are shown, and the log odds and deviations (K, m, d) of each against the mean of the others."""
    prior, n_classes = prior_of(model), model.n_classes
    share = np.where(np.eye(n_classes, dtype=bool), 0.0, np.broadcast_to(prior, (n_classes, n_classes)))
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    held = np.clip(parts, -1e6, 1e6)
    odds = np.einsum("mkd->kmd", held) - np.einsum("kj,mjd->kmd", share, held)
    total = np.einsum("mkd->kmd", variance) + np.einsum("kj,mjd->kmd", share**2, variance)
    frequent = sorted(np.argsort(-prior, kind="stable")[:6].tolist())
    return [1] if n_classes == 2 else frequent, np.clip(odds, -LARGEST, LARGEST), np.sqrt(total)


def _shares(model: Model, name: str, j: int, picture: ColumnPicture, values: Array) -> Array:
    """Share (m,) of the rows at each value."""
    shape, m = picture.shape, len(values)
    if isinstance(shape, Curves) and not shape.stepped:
        found = np.interp(values, shape.points, picture.prior @ shape.density) * np.gradient(values)
        if shape.spike is not None:
            found[values == 0.0] = picture.prior @ shape.spike
    elif model.settings.families[name].is_coded:
        summary = model.tally.blocks[name].summary.select(np.array([j], dtype=np.intp))
        found = summary.arrays()["count"].sum(axis=0)[:m]
    else:
        assert isinstance(shape, Bars)
        found = picture.prior @ shape.chance
    total = float(found.sum())
    return np.asarray(found / total) if total > 0 else np.full(m, 1.0 / max(m, 1))
