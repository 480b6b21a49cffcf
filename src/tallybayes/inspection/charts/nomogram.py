"""Nomograms: a Naive Bayes model as a chart to be read with a ruler (Možina, Demšar, Kattan and Zupan 2004).

Every value of every column is worth points, its log odds for one class against another. Points add up, and a scale
turns their sum into a probability. With two classes that is the posterior; with more it is P(label | label or against).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.core.schema import Level
from tallybayes.errors import DataError
from tallybayes.inspection.charts._model import AsDict, model_of, place_of
from tallybayes.inspection.charts.columns import column_pictures
from tallybayes.inspection.charts.shapes import Bars, ColumnPicture, Curves

MOST_VALUES = 9  # marks on the line of a column
SCALE = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)  # marks on that of probabilities


@dataclass(frozen=True)
class Line:
    """One column: the points of its values, and the log odds that they stand for."""

    column: str
    values: tuple[str, ...]
    log_odds: tuple[float, ...]
    numbers: bool = False


@dataclass(frozen=True)
class Nomogram(AsDict):
    """Points of every value, and the probability of every sum.

    Parameters
    ----------
    label, against : class
    prior : float
        Log odds before any evidence.
    lines : tuple of Line
        The columns, that with the widest line first.
    unit : float
        Log odds that one point stands for: the strongest value is worth 100.
    temperature : float
        What the sum is divided by before it becomes a probability, where the model is calibrated so.
    """

    label: Level
    against: Level
    prior: float
    lines: tuple[Line, ...]
    unit: float
    temperature: float = 1.0

    def points(self, log_odds: float) -> float:
        """Log odds as points."""
        return log_odds / self.unit

    def probability(self, points: float) -> float:
        """P(label | label or against) of a sum of points."""
        odds = (self.prior + points * self.unit) / self.temperature
        return 1.0 / (1.0 + math.exp(-odds)) if odds > -700.0 else 0.0

    def sum_for(self, probability: float) -> float:
        """The sum of points that makes a probability."""
        return (self.temperature * math.log(probability / (1.0 - probability)) - self.prior) / self.unit

    def __str__(self) -> str:
        lines = [f"points for {self.label} against {self.against}"]
        wide = max((len(line.column) for line in self.lines), default=0)
        for line in self.lines:
            values = ", ".join(f"{v} {self.points(o):+.0f}" for v, o in zip(line.values, line.log_odds, strict=True))
            lines.append(f"  {line.column:{wide}}  {values}")
        marks = ", ".join(f"{self.sum_for(p):+.0f} is {p:g}" for p in SCALE)
        return "\n".join([*lines, f"  {'sum':{wide}}  {marks}"])


def nomogram(model: Any, label: Level | None = None, against: Level | None = None, most: int = 12) -> Nomogram:
    """The points of every value of the most informative columns; pairs have no line, `evidence_shapes` maps them.

    Parameters
    ----------
    model : Model or estimator
    label : class, optional
        The class that the points are for; the last class if not given.
    against : class, optional
        The class it is compared with; the most frequent other class if not given.
    most : int
        Columns to show, those with the widest lines.

    Returns
    -------
    Nomogram

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> chart = nomogram(NaiveBayes(classical=True).fit(datasets.tennis(), target="play"))
    >>> print(chart)
    points for yes against no
      outlook      overcast +100, rainy -10, sunny -58
      humidity     high -56, normal +67
      wind         strong -38, weak +33
      temperature  cool +24, hot -34, mild +9
      sum          -622 is 0.001, -430 is 0.01, -293 is 0.05, -231 is 0.1, -140 is 0.25, -49 is 0.5, +42 is 0.75, ...
    >>> round(chart.probability(-58 - 56 - 38 + 24), 2)
    0.28
    """
    model = model_of(model)
    classes = model.schema.classes
    if len(classes) < 2:
        raise DataError("with a single class there is nothing to compare")
    if any(map(model.is_document, model.tally.blocks)):
        raise DataError("a bag of words has a line for every word: too many to draw; see class_profiles or features")
    mine = len(classes) - 1 if label is None else place_of(model, label)
    others = np.where(np.arange(len(classes)) == mine, -1.0, model.tally.class_weight)
    theirs = int(others.argmax()) if against is None else place_of(model, against)
    if mine == theirs:
        raise DataError(f"{classes[mine]!r} cannot be compared with itself; name another class")
    pictures = [picture for picture in column_pictures(model) if picture.kind != "pair"]
    lines = [_line(model, picture, mine, theirs) for picture in pictures]
    lines.sort(key=lambda line: -_width(line))
    lines = [line for line in lines if _width(line) > 0][:most]
    finite = [abs(odds) for line in lines for odds in line.log_odds if math.isfinite(odds)]
    prior = float(model.prior_score[mine] - model.prior_score[theirs])
    temperature = getattr(model.settings.calibration, "temperature", 1.0)
    unit = max(finite, default=1.0) / 100.0 or 0.01
    return Nomogram(classes[mine], classes[theirs], prior, tuple(lines), unit, temperature)


def _width(line: Line) -> float:
    finite = [odds for odds in line.log_odds if math.isfinite(odds)]
    return max(finite) - min(finite) if finite else 0.0


def _line(model: Model, picture: ColumnPicture, mine: int, theirs: int) -> Line:
    """The log odds of a column's values: of all levels, or of numbers evenly spread."""
    shape = picture.shape
    if isinstance(shape, Bars):
        chance, names = shape.chance, shape.levels
        points = picture.weight * _odds(chance, mine, theirs)
        points = points + _correction(model, picture.column, mine, theirs, np.arange(len(names)), by_cell=True)
        if len(names) > MOST_VALUES:  # the two ends and the most informative ones
            odds = _odds(chance, mine, theirs)
            kept = np.sort(np.argsort(-np.abs(odds) * (chance[mine] + chance[theirs]), kind="stable")[:MOST_VALUES])
            points, names = points[kept], tuple(names[c] for c in kept)
        return Line(picture.column, names, tuple(points.tolist()))
    assert isinstance(shape, Curves)
    middle = 0.5 * (shape.points[1:] + shape.points[:-1]) if shape.stepped else shape.points
    values = round_numbers(float(shape.points[0]), float(shape.points[-1]), MOST_VALUES)
    every = picture.weight * _odds(shape.density, mine, theirs)
    near = np.searchsorted(shape.points, values, side="right") - 1
    odds = every[np.clip(near, 0, len(every) - 1)] if shape.stepped else np.interp(values, middle, every)
    odds = odds + _correction(model, picture.column, mine, theirs, np.array(values))
    return Line(picture.column, tuple(f"{x:,.10g}" for x in values), tuple(odds.tolist()), numbers=True)


def _correction(
    model: Model, name: str, mine: int, theirs: int, values: NDArray[Any], by_cell: bool = False
) -> Array | float:
    """The log odds that the offset of a column adds to numbers or, where the column has cells, to those."""
    offset = model.settings.offsets.get(name)
    if offset is None:
        return 0.0
    column = next(column for column in model.schema.columns if column.name == name)
    cells = offset.cells if column.n_cells == 1 and column.levels is None else column
    table = offset.among(cells, model.schema.classes)
    in_cells = by_cell and cells is column
    place = values if in_cells else np.searchsorted(np.array(cells.edges or ()), values, side="right")
    return np.asarray(table[place, mine] - table[place, theirs])


def round_numbers(low: float, high: float, most: int) -> list[float]:
    """Round numbers, evenly spread and at most so many, between two others.

    Examples
    --------
    >>> round_numbers(1.3, 9.2, 5)
    [2.0, 4.0, 6.0, 8.0]
    """
    if not high > low:
        return [low]
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(s * unit for s in (1.0, 2.0, 5.0, 10.0, 20.0) if (high - low) / (s * unit) <= most - 1)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)] or [low]


def _odds(chance: Array, mine: int, theirs: int) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(chance[mine]) - np.log(chance[theirs])
    return np.nan_to_num(odds, nan=0.0, posinf=np.inf, neginf=-np.inf)
