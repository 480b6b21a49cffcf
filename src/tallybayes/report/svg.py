"""Records as inline SVG: no library, no inline style; the page's style sheet gives the colours, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.evaluation import Evaluation
from tallybayes.inspection.charts import Bars, ColumnPicture, Curves
from tallybayes.inspection.charts.nomogram import round_numbers

WIDE, HIGH = 320, 132  # of a column's picture
MOST_CLASSES = 6  # that are drawn in one picture: as many as there are distinguishable colours
MOST_POINTS = 49


def most_frequent(picture: ColumnPicture) -> list[int]:
    """The classes that are drawn, in their order."""
    return sorted(np.argsort(-picture.prior, kind="stable")[:MOST_CLASSES].tolist())


def column(picture: ColumnPicture) -> str:
    """The picture of one column."""
    if isinstance(picture.shape, Curves):
        return _curves(picture, picture.shape)
    return _bars(picture, picture.shape)


def _curves(picture: ColumnPicture, curves: Curves) -> str:
    classes = most_frequent(picture)
    points, density, base = curves.points, curves.density[classes], HIGH - 20
    if not curves.stepped and len(points) > MOST_POINTS:
        points, density = points[::2], density[:, ::2]
    low, high = float(points[0]), float(points[-1])
    top = float(np.quantile(density.max(axis=0), 0.99)) * 1.05 if density.size else 1.0
    top = max(top, float(density.max(initial=0.0)) / 4.0) or 1.0  # one spike should not flatten all else

    def x(value: float) -> str:
        return _short(4 + (WIDE - 8) * (value - low) / ((high - low) or 1.0))

    def y(value: float) -> str:
        return _short(base - (base - 6) * min(1.0, value / top))

    drawn = []
    for i, k in enumerate(classes):
        if curves.histogram is not None:
            edges, heights = curves.histogram
            drawn.append(f'<path class="area k{i}" d="{_steps(edges, heights[k], x, y)}Z"/>')
    for i in range(len(classes)):
        if curves.stepped:
            path = _steps(points, density[i], x, y)
        else:
            path = "M" + "L".join(f"{x(a)} {y(b)}" for a, b in zip(points.tolist(), density[i].tolist(), strict=True))
        drawn.append(f'<path class="line k{i}" d="{path}"/>')
    marks = "".join(
        f'<line class="axis" x1="{x(v)}" x2="{x(v)}" y1="{base}" y2="{base + 4}"/>'
        f'<text x="{x(v)}" y="{base + 16}" text-anchor="middle">{_number(v)}</text>'
        for v in round_numbers(low + 0.06 * (high - low), high - 0.06 * (high - low), 5)
    )
    if curves.spike is not None:
        zeros = ", ".join(f"{picture.classes[k]} {curves.spike[k]:.0%}" for k in classes)
        marks += f'<text x="{WIDE - 4}" y="12" text-anchor="end">zero: {escape(zeros)}</text>'
    axis = f'<line class="axis" x1="4" x2="{WIDE - 4}" y1="{base}" y2="{base}"/>'
    return svg(WIDE, HIGH, f"{picture.column}: density by class", "".join(drawn) + axis + marks)


def _steps(edges: Array, heights: Array, x: Any, y: Any) -> str:
    path = [f"M{x(float(edges[0]))} {y(0.0)}"]
    for left, right, height in zip(edges[:-1].tolist(), edges[1:].tolist(), heights.tolist(), strict=True):
        path.append(f"L{x(left)} {y(height)}L{x(right)} {y(height)}")
    return "".join([*path, f"L{x(float(edges[-1]))} {y(0.0)}"])


def _bars(picture: ColumnPicture, shape: Bars) -> str:
    bars, classes = shape.most_informative(picture.prior, 8), most_frequent(picture)
    thick, gap, left = (9, 8, 112) if len(classes) <= 3 else (6, 8, 112)
    top = float(bars.chance[classes].max(initial=0.0)) or 1.0
    step = thick * len(classes) + gap
    drawn = []
    for c, level in enumerate(bars.levels):
        middle = c * step + thick * len(classes) / 2 + 4
        whole = f"<title>{escape(level)}</title>" if len(level) > 17 else ""
        drawn.append(
            f'<text x="{left - 6}" y="{_short(middle + 4)}" text-anchor="end">{escape(_clip(level, 17))}{whole}</text>'
        )
        for i, k in enumerate(classes):
            p = float(bars.chance[k, c])
            title = f"{picture.classes[k]}: {bars.formatted(p, 2)}"
            drawn.append(
                f'<rect class="bar k{i}" x="{left}" y="{_short(c * step + 4 + i * thick)}" '
                f'width="{_short((WIDE - left - 44) * p / top)}" height="{thick - 1}">'
                f"<title>{escape(title)}</title></rect>"
            )
            if thick >= 9:
                at = left + (WIDE - left - 44) * p / top + 4
                high = c * step + 12 + i * thick
                drawn.append(f'<text class="small" x="{_short(at)}" y="{_short(high)}">{bars.formatted(p)}</text>')
    return svg(WIDE, step * len(bars.levels) + 4, f"{picture.column}: probability by class", "".join(drawn))


def reliability(evaluation: Evaluation) -> str:
    """Accuracy of predictions by their confidence."""
    side, edge = 280, 44
    low = max(
        0.0, min([0.5, *(b.confidence for b in evaluation.reliability), *(b.accuracy for b in evaluation.reliability)])
    )
    low = np.floor(low * 10) / 10

    def x(value: float) -> str:
        return _short(edge + (side - edge - 18) * (value - low) / (1 - low))

    def y(value: float) -> str:
        return _short(side - edge - (side - edge - 18) * (value - low) / (1 - low))

    marks = ""
    for value in round_numbers(low, 1.0, 6):
        marks += f'<text x="{x(value)}" y="{side - edge + 16}" text-anchor="middle">{value:.0%}</text>'
        marks += f'<text x="{edge - 6}" y="{float(y(value)) + 4:g}" text-anchor="end">{value:.0%}</text>'
        marks += f'<line class="grid" x1="{x(low)}" x2="{x(1)}" y1="{y(value)}" y2="{y(value)}"/>'
    many = [
        b for b in evaluation.reliability if b.weight >= 0.01 * evaluation.weight
    ]  # a few rows are a dot and no trend
    path = "M" + "L".join(f"{x(b.confidence)} {y(b.accuracy)}" for b in many)
    dots = "".join(
        f'<circle class="dot k0" cx="{x(b.confidence)}" cy="{y(b.accuracy)}" '
        f'r="{_short(3 + 9 * np.sqrt(b.weight / evaluation.weight))}"><title>{b.weight:,.6g} rows, '
        f"confidence {b.confidence:.1%}, accuracy {b.accuracy:.1%}</title></circle>"
        for b in evaluation.reliability
    )
    even = f'<line class="even" x1="{x(low)}" y1="{y(low)}" x2="{x(1)}" y2="{y(1)}"/>'
    label = f'<text x="{side / 2:g}" y="{side - 4}" text-anchor="middle">mean confidence</text>'
    return svg(
        side,
        side,
        "accuracy by confidence",
        f'{marks}{even}<path class="line k0" d="{path}"/>{dots}{label}',
    )


def legend(classes: Sequence[Any]) -> str:
    """The colours of classes."""
    marks = "".join(
        f'<li><svg class="key" width="12" height="12" aria-hidden="true"><rect class="bar k{i}" width="12" height="12" '
        f'rx="2"/></svg>{escape(str(label))}</li>'
        for i, label in enumerate(classes)
    )
    return f'<ul class="legend">{marks}</ul>'


def svg(wide: float, high: float, label: str, content: str) -> str:
    """A picture of that size."""
    return (
        f'<svg class="picture" viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="{escape(label, quote=True)}">'
        f"{content}</svg>"
    )


def _short(value: float) -> str:
    """A coordinate in tenths: more cannot be seen."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _number(value: float) -> str:
    """A number on an axis; years have no commas."""
    return f"{value:.10g}" if abs(value) < 10_000 else f"{value:,.10g}"


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
