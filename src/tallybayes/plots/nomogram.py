"""Plot of a nomogram: the model as a chart to be read with a ruler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tallybayes.plots._style as style
from tallybayes.core.schema import Level
from tallybayes.inspection import charts
from tallybayes.inspection.charts import Nomogram
from tallybayes.inspection.charts.nomogram import SCALE, round_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REACH = 110.0  # points up to which a line is drawn


def nomogram(
    model: Any,
    label: Level | None = None,
    against: Level | None = None,
    *,
    most: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the model as a chart to be read with a ruler (Možina et al. 2004).

    The value of each column is looked up on its line, the points above it are added up, and the two lines at the
    bottom turn the sum into a probability.

    Parameters
    ----------
    model : Model, estimator or Nomogram
    label, against : class, optional
        The class that positive points favour, and the one that negative points favour; by default the last class and
        the most frequent other one.
    most : int
        Columns to draw.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    chart = model if isinstance(model, Nomogram) else charts.nomogram(model, label, against, most)
    ax = style.axes_of(ax, (8.6, 0.62 * len(chart.lines) + 2.4))
    _points_scale(ax)
    for i, line in enumerate(chart.lines, start=1):
        points = [max(-REACH, min(REACH, chart.points(odds))) for odds in line.log_odds]
        ax.hlines(i, min(points), max(points), color=style.COLOURS[0], linewidth=2.0)
        _marks(ax, i, points, line.values)
    total, scale = len(chart.lines) + 1.4, len(chart.lines) + 2.6
    _sum_scales(ax, chart, total, scale)
    names = ["points", *(style.short(line.column, 24) for line in chart.lines)]
    names += ["sum of points", f"P({style.short(chart.label, 18)})"]
    ax.set_yticks([0, *range(1, len(chart.lines) + 1), total, scale], names)
    ax.set_ylim(scale + 0.8, -0.8)
    ax.set_xlim(-REACH - 4, REACH + 4)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.set_title(f"{chart.label} against {chart.against}")
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


def _points_scale(ax: Axes) -> None:
    """The scale at the top, from -100 to 100 points."""
    ink = style.ink()
    ax.hlines(0, -100, 100, color=ink, linewidth=1.0)
    for mark in range(-100, 101, 20):
        ax.vlines(mark, -0.12, 0.0, color=ink, linewidth=0.8)
        ax.text(mark, -0.2, f"{mark:+d}" if mark else "0", ha="center", va="bottom", fontsize="small")


def _sum_scales(ax: Axes, chart: Nomogram, total: float, scale: float) -> None:
    """The two scales at the bottom: the sum of points, and the probability that it means."""
    low, high = _sum_reach(chart)
    ink = style.ink()

    def across(points: float) -> float:
        return -100.0 + 200.0 * (points - low) / (high - low)

    for at in (total, scale):
        ax.hlines(at, -100, 100, color=ink, linewidth=1.0)
    for tick in round_numbers(low, high, 13):
        ax.vlines(across(tick), total - 0.12, total, color=ink, linewidth=0.8)
        ax.text(across(tick), total - 0.18, f"{tick:+.0f}", ha="center", va="bottom", fontsize="small")
    for p in SCALE:
        if -100 <= across(chart.sum_for(p)) <= 100:
            ax.vlines(across(chart.sum_for(p)), scale, scale + 0.12, color=ink, linewidth=0.8)
            ax.text(across(chart.sum_for(p)), scale + 0.18, f"{p:g}", ha="center", va="top", fontsize="small")


def _marks(ax: Axes, at: float, points: list[float], values: Sequence[str]) -> None:
    """The values of a line, above and below in turn where they lie close."""
    order, last = sorted(range(len(points)), key=lambda i: points[i]), {True: -math.inf, False: -math.inf}
    for i in order:
        x, text = points[i], style.short(values[i], 14)
        half = 1.1 * len(text) + 1.0
        above = x - half > last[True] or last[True] <= last[False]
        ax.vlines(x, at - 0.1, at + 0.1, color=style.COLOURS[0], linewidth=1.2)
        if x - half < last[above]:
            continue  # no room for its name
        last[above] = x + half
        ax.text(x, at - 0.16 if above else at + 0.16, text, ha="center", va="bottom" if above else "top", fontsize=8)


def _sum_reach(chart: Nomogram) -> tuple[float, float]:
    """The range of the sum of points, rounded."""
    lines = [[chart.points(o) for o in line.log_odds if math.isfinite(o)] for line in chart.lines]
    low, high = sum(min(p) for p in lines if p), sum(max(p) for p in lines if p)
    low, high = max(low, chart.sum_for(SCALE[0])), min(high, chart.sum_for(SCALE[-1]))
    middle = chart.sum_for(0.5)
    low, high = min(low, middle - 20), max(high, middle + 20)
    return 10 * math.floor(low / 10), 10 * math.ceil(high / 10)
