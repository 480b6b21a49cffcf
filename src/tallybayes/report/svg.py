"""Records as inline SVG: no library, no inline style; the page's style sheet gives the colours, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from tallybayes.core.evaluation import Bin, Evaluation
from tallybayes.core.metrics import wilson
from tallybayes.inspection.charts.nomogram import round_numbers


def reliability(evaluation: Evaluation) -> str:
    """Accuracy of predictions by their confidence."""
    side, edge = 280, 44
    low = max(
        0.0, min([0.5, *(b.confidence for b in evaluation.reliability), *(b.accuracy for b in evaluation.reliability)])
    )
    low = np.floor(low * 10) / 10

    def x(value: float) -> str:
        return rounded(edge + (side - edge - 18) * (value - low) / (1 - low))

    def y(value: float) -> str:
        return rounded(side - edge - (side - edge - 18) * (value - low) / (1 - low))

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
        f'r="{rounded(3 + 9 * np.sqrt(b.weight / evaluation.weight))}"><title>{b.weight:,.6g} rows, '
        f"confidence {b.confidence:.1%}, accuracy {b.accuracy:.1%}</title></circle>"
        for b in evaluation.reliability
    )
    bars = "".join(_interval(b, x, y, low) for b in many)
    even = f'<line class="even" x1="{x(low)}" y1="{y(low)}" x2="{x(1)}" y2="{y(1)}"/>'
    label = f'<text x="{side / 2:g}" y="{side - 4}" text-anchor="middle">mean confidence</text>'
    return picture(
        side,
        side,
        "accuracy by confidence",
        f'{marks}{even}{bars}<path class="line k0" d="{path}"/>{dots}{label}',
    )


def _interval(each: Bin, x: Any, y: Any, floor: float) -> str:
    """The interval of the accuracy of a bin."""
    within = wilson(each.accuracy, each.weight)
    at = x(each.confidence)
    return f'<line class="whisker" x1="{at}" x2="{at}" y1="{y(max(within.low, floor))}" y2="{y(within.high)}"/>'


def legend(classes: Sequence[Any]) -> str:
    """The colours of classes."""
    marks = "".join(
        f'<li><svg class="key" width="12" height="12" aria-hidden="true"><rect class="bar k{i}" width="12" height="12" '
        f'rx="2"/></svg>{escape(str(label))}</li>'
        for i, label in enumerate(classes)
    )
    return f'<ul class="legend">{marks}</ul>'


def picture(wide: float, high: float, label: str, content: str, kind: str = "picture") -> str:
    """A picture with a name for those who do not see it."""
    return (
        f'<svg class="{kind}" viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="{escape(label, quote=True)}">'
        f"{content}</svg>"
    )


def rounded(value: float) -> str:
    """A coordinate in tenths: more cannot be seen."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def clipped(text: str, most: int) -> str:
    """A text in a narrow place."""
    return text if len(text) <= most else text[: most - 1] + "…"
