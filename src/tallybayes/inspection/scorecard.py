"""Scorecards: a model of tables as points that are looked up and added.

points(cell) = factor · Σ_k c_k s_k(cell), where s are the logs that the model adds and c the coefficients of the margin
(`inspection.reasons`); factor = points to double the odds / log 2, and the base points are
base − factor · log odds + factor · margin of the prior. So score = base + factor · log(odds of the row / given odds).
Beside the points stand the counts, the weight of evidence log (g_i/G) / (b_i/B) of each line as it was counted, and the
information value Σ_i (g_i/G − b_i/B) · WoE_i of each column (Good 1950; Siddiqi 2006).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.calibration import Temperature
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Level
from tallybayes.core.summaries import Counts
from tallybayes.core.terms import ByBin, ByLevel, ByPair, part_of
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.inspection.card import Scorecard
from tallybayes.inspection.card_lines import CardColumn, lines_of
from tallybayes.inspection.reasons import LARGEST, margin_coefficients, scored_class

POINTS, BASE, ODDS = 20.0, 600.0, 50.0


def scorecard(
    model: Model,
    points_to_double_odds: float = POINTS,
    base: float = BASE,
    odds: float = ODDS,
    rounding: bool = True,
    label: Level | None = None,
) -> Scorecard:
    """Return a model as a scorecard; every column has to be a table of levels or bins.

    Parameters
    ----------
    model : Model
    points_to_double_odds : float, default=20
    base : float, default=600
        The score of a row whose odds are ``odds`` to one.
    odds : float, default=50
    rounding : bool, default=True
        Whether points are whole numbers: then a score is exactly their sum.
    label : class, optional
        Whose odds they are; of two classes, the second. Of more it is compared with the geometric mean of the others.

    Returns
    -------
    Scorecard

    Examples
    --------
    >>> from tallybayes import datasets, learn
    >>> card = scorecard(learn(datasets.tennis(), "play"))
    >>> card.base_points, [(str(line), line.points) for line in card.columns[2].lines]
    (504.0, [('high', -19), ('normal', 23)])
    """
    numbers = {"points_to_double_odds": points_to_double_odds, "odds": odds}
    for name, value in numbers.items():
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            raise SettingError(f"{name} must be a number above 0, not {value!r}")
    k = scored_class(model, label)
    coefficients, factor = margin_coefficients(model, k), points_to_double_odds / math.log(2.0)
    factor_in = factor / _temperature(model)
    prior = np.clip(model.prior_score, -LARGEST, LARGEST) @ coefficients
    first = base - factor * math.log(odds) + factor_in * float(prior)
    _check_tables(model)
    tables = {
        name: _points(np.clip(model.scoring[name].table, -LARGEST, LARGEST) @ coefficients, factor_in, rounding)
        for name in model.tally.blocks
    }
    found = sorted(_columns(model, tables, k, rounding), key=lambda each: each[0])
    return Scorecard(
        model.schema.classes[k],
        model.schema.classes,
        tuple(column for _, column, _ in found),
        float(_rounded(np.array(first))) if rounding else first,
        float(points_to_double_odds),
        float(base),
        float(odds),
        bool(rounding),
        tuple(term for _, _, term in found),
        {name: np.ascontiguousarray(points[:, None]) for name, points in tables.items()},
        model,
    )


def _temperature(model: Model) -> float:
    """What log odds are divided by at last."""
    calibration = model.settings.calibration
    if calibration is None:
        return 1.0
    if isinstance(calibration, Temperature):
        return float(calibration.temperature)
    raise NotAvailableError("points add up to log odds, which isotonic calibration bends: calibrate by 'temperature'")


def _check_tables(model: Model) -> None:
    """Refuse columns that are no tables, with the way out."""
    for name, block in model.tally.blocks.items():
        if model.settings.families[name].is_coded and isinstance(block.summary, Counts):
            continue
        column = model.schema.columns[block.columns[0]]
        if column.is_text or column.kind == "block":
            out = "drop the column" if column.is_text else "learn with readable=True"
        else:
            out = f"learn with readable=True, or with family={{{column.name!r}: 'binned'}}"
        raise NotAvailableError(
            f"a scorecard is made of tables, and column {column.name!r} is read as {model.settings.families[name].name}"
            f", which is none; {out}"
        )


def _rounded(points: Array) -> Array:
    """Whole points, halves upwards, wherever they are worked out."""
    return np.asarray(np.floor(points + 0.5))


def _points(margins: Array, factor: float, rounding: bool) -> Array:
    points = factor * margins
    return _rounded(points) if rounding else points


def _columns(
    model: Model, tables: Mapping[str, Array], k: int, rounding: bool
) -> Iterator[tuple[int, CardColumn, ByLevel | ByBin | ByPair]]:
    """The columns that are used, with their places, and the same as terms of points."""
    total = model.tally.class_weight
    for name, block in model.tally.blocks.items():
        summary, params = block.summary, model.scoring[name]
        assert isinstance(summary, Counts)
        assert summary.n_levels is not None
        ends = np.cumsum(summary.n_levels)
        for j, p in enumerate(block.columns):
            cells = slice(int(params.start[j]), int(params.start[j + 1]))
            points = tables[name][cells]
            if not np.abs(params.table[cells] @ _differences(model.n_classes)).max(initial=0.0) > 0.0:
                continue  # alike for every class: no evidence
            counts = summary.count[:, int(ends[j] - summary.n_levels[j]) : int(ends[j])].T
            column = model.schema.columns[p]
            lines = lines_of(column, counts, points, total, k, rounding)
            yield p, CardColumn(column.name, lines), _term(column, points)


def _differences(n_classes: int) -> Array:
    """What takes the logs of the classes to their differences from the first (K, K − 1)."""
    return np.concatenate((-np.ones((1, n_classes - 1)), np.eye(n_classes - 1)))


def _term(column: Column, points: Array) -> ByLevel | ByBin | ByPair:
    """The points of a column as a term with a single score."""
    cells, unseen = points[:-1, None], points[-1:]
    if column.parts is not None:
        left, right = map(part_of, column.parts)
        return ByPair((left, right), cells.reshape(column.parts[0].n_cells, column.parts[1].n_cells, 1))
    if column.edges is not None:
        first = np.concatenate(([True], np.diff(points[:-1]) != 0.0))
        return ByBin(column.name, np.array(column.edges)[first[1:]], cells[first])
    levels = tuple(column.levels or ())
    known = len(levels) - (bool(levels) and levels[-1] is None)
    missing = points[known : known + 1] if known < len(levels) else np.zeros(1)
    return ByLevel(column.name, levels[:known], cells[:known], missing, unseen)
