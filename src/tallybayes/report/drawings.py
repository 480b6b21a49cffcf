"""Pictures of evidence as inline SVG: importance, curves with their bands, levels, and maps of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.listings import readable
from tallybayes.inspection.charts.evidence import EvidenceShape
from tallybayes.inspection.charts.importance import Matters
from tallybayes.inspection.charts.nomogram import round_numbers
from tallybayes.report.svg import clipped, picture, rounded

WIDE, HIGH, RUG = 320, 150, 22  # of a curve; the height of the histogram below it
MOST_LEVELS = 12  # the months are one too many for ten
MOST_POINTS = 49
MOST_CELLS = 8  # levels of each side of a map
SHADES = 5

Place = Callable[[float], str]  # where a number is drawn


def evidence(shape: EvidenceShape) -> str:
    """The evidence of the values of one column."""
    return {"number": _curve, "levels": _levels, "pair": _map}[shape.kind](shape)


def importance(each: Matters, top: float) -> str:
    """One bar with its interval."""

    def x(value: float) -> str:
        return rounded(2 + 296 * min(1.0, value / top))

    label = f"{each.column}: importance {each.value:.2f}, from {each.low:.2f} to {each.high:.2f}"
    bar = f'<rect class="bar k0" x="2" y="4" width="{rounded(296 * min(1.0, each.value / top))}" height="10" rx="1"/>'
    return picture(300, 18, label, f"{bar}{_whisker(x(each.low), x(each.high), 9.0, each.high > top)}", "strip")


def _whisker(low: str, high: str, y: float, above: bool = False, below: bool = False) -> str:
    """An interval; an end that lies beyond the picture has no cap."""
    shown = [at for at, is_cut in ((low, below), (high, above)) if not is_cut]
    ends = "".join(f'<line class="whisker" x1="{x}" x2="{x}" y1="{y - 3:g}" y2="{y + 3:g}"/>' for x in shown)
    return f'<line class="whisker" x1="{low}" x2="{high}" y1="{y:g}" y2="{y:g}"/>{ends}'


# ------------------------------------------------------------------------------------------ numbers


def _curve(shape: EvidenceShape) -> str:
    shape = shape if shape.stepped or len(shape.points) <= MOST_POINTS else _thinned(shape)
    top, base = shape.highest(), HIGH - RUG - 18
    low, high = float(shape.points[0]), float(shape.points[-1])

    def x(value: float) -> str:
        return rounded(34 + (WIDE - 42) * (value - low) / ((high - low) or 1.0))

    def y(value: float) -> str:
        return rounded(base / 2 - (base / 2 - 5) * min(max(value / top, -1.0), 1.0))

    stepped = shape.stepped and len(np.unique(shape.log_odds[0])) < shape.log_odds.shape[1]
    at = shape.points if stepped else shape.middles
    drawn = [_axes(x, y, top, low, high, base)]
    if len(shape.classes) <= 3:
        for i, (odds, spread) in enumerate(zip(shape.log_odds, shape.spread, strict=True)):
            upper, lower = (_path(at, odds + sign * spread, x, y, stepped) for sign in (1.0, -1.0))
            drawn.append(f'<path class="area k{i}" d="M{"L".join(upper)}L{"L".join(reversed(lower))}Z"/>')
    for i, odds in enumerate(shape.log_odds):
        drawn.append(f'<path class="line k{i}" d="M{"L".join(_path(at, odds, x, y, stepped))}"/>')
    drawn.append(_rug(shape, x))
    against = f"against {shape.against}" if shape.against is not None else "against the others"
    label = f"{shape.column}: evidence for {', '.join(map(str, shape.classes))} {against} by value"
    return picture(WIDE, HIGH, label, "".join(drawn))


def _thinned(shape: EvidenceShape) -> EvidenceShape:
    """Every second point: more cannot be seen."""
    each = {name: getattr(shape, name)[..., ::2] for name in ("points", "log_odds", "spread", "share")}
    return replace(shape, **each)


def _path(points: Array, values: Array, x: Place, y: Place, stepped: bool) -> list[str]:
    if not stepped:
        return [f"{x(a)} {y(b)}" for a, b in zip(points.tolist(), values.tolist(), strict=True)]
    steps = zip(points[:-1].tolist(), points[1:].tolist(), values.tolist(), strict=True)
    return [f"{x(at)} {y(value)}" for left, right, value in steps for at in (left, right)]


def _axes(x: Place, y: Place, top: float, low: float, high: float, base: float) -> str:
    marks = "".join(
        f'<text x="{x(v)}" y="{HIGH - 3}" text-anchor="middle">{readable(v, 10)}</text>'
        for v in round_numbers(low + 0.06 * (high - low), high - 0.06 * (high - low), 5)
    )
    for value in round_numbers(-top, top, 5):
        kind = "axis" if value == 0.0 else "grid"
        marks += f'<line class="{kind}" x1="{x(low)}" x2="{x(high)}" y1="{y(value)}" y2="{y(value)}"/>'
        marks += f'<text class="small" x="30" y="{float(y(value)) + 3:g}" text-anchor="end">{_signed(value)}</text>'
    return marks


def _signed(value: float) -> str:
    return f"{value:+.3g}" if value else "0"


def _rug(shape: EvidenceShape, x: Place) -> str:
    """Where the rows are: a histogram along the lower edge."""
    points, height = shape.histogram()
    tall = [rounded(HIGH - 16 - (RUG - 4) * value) for value in height.tolist()]
    at = [x(value) for value in points.tolist()]
    if not shape.stepped:
        steps = "L".join(f"{a} {b}" for a, b in zip(at, tall, strict=True))
    else:
        steps = f"{at[0]} {tall[0]}" + "".join(f"V{b}H{a}" for a, b in zip(at[1:], tall, strict=True))
    return f'<path class="rug" d="M{at[0]} {HIGH - 16}L{steps}V{HIGH - 16}Z"/>'


# ------------------------------------------------------------------------------------------ levels


def _levels(shape: EvidenceShape) -> str:
    """Bars from the middle, the levels that speak most for the class first."""
    order, left, room = shape.by_evidence(), 112, WIDE - 112 - 8
    if len(order) > MOST_LEVELS:  # the most frequent ones
        often = set(np.argsort(-shape.share, kind="stable")[:MOST_LEVELS].tolist())
        order = np.array([c for c in order.tolist() if c in often])
    several = len(shape.classes) > 1
    thick = (7 if len(shape.classes) <= 3 else 5) if several else 13
    step, top = thick * len(shape.classes) + 7, shape.highest()

    def x(value: float) -> float:
        return left + room / 2 + room / 2 * min(max(value / top, -1.0), 1.0)

    drawn = []
    for place, c in enumerate(order.tolist()):
        at = place * step + 4
        name, middle = shape.levels[c], at + thick * len(shape.classes) / 2
        drawn.append(_name(name, str(left - 6), rounded(middle + 4), 16, "end", ""))
        for i, label in enumerate(shape.classes):
            odds, spread = float(shape.log_odds[i, c]), float(shape.spread[i, c])
            side = f"k{i}" if several else "plus" if odds > 0 else "minus"
            a, b, y = min(x(0), x(odds)), max(x(0), x(odds)), at + i * thick
            title = escape(f"{name}: {odds:+.2f} ± {spread:.2f} for {label}, {shape.share[c]:.1%} of rows")
            drawn.append(
                f'<rect class="bar {side}" x="{rounded(a)}" y="{rounded(y)}" width="{rounded(b - a)}" '
                f'height="{thick - 1}"><title>{title}</title></rect>'
            )
            if len(shape.classes) <= 3:
                ends = rounded(x(odds - spread)), rounded(x(odds + spread))
                drawn.append(_whisker(*ends, y + (thick - 1) / 2, odds + spread > top, odds - spread < -top))
    high = step * len(order) + 6
    drawn.append(f'<line class="axis" x1="{rounded(x(0))}" x2="{rounded(x(0))}" y1="0" y2="{high}"/>')
    for value in round_numbers(-0.9 * top, 0.9 * top, 7):
        tick = rounded(x(value))
        drawn.append(f'<text class="small" x="{tick}" y="{high + 9}" text-anchor="middle">{_signed(value)}</text>')
    high += 12
    more = len(shape.levels) - len(order)
    note = _name(f"the {len(order)} most frequent of {len(shape.levels)}", str(left), str(high + 10), 60, "start")
    label = f"{shape.column}: evidence for {', '.join(map(str, shape.classes))} by level"
    return picture(WIDE, high + (14 if more else 0), label, "".join(drawn) + (note if more else ""))


# ------------------------------------------------------------------------------------------ pairs


def _map(shape: EvidenceShape) -> str:
    """The cells of a pair, shaded by what they add for the class that they add most to."""
    grid = shape.log_odds.reshape(len(shape.classes), len(shape.levels), len(shape.others))
    share = shape.share.reshape(grid.shape[1:])
    which = int(np.abs(grid * share).sum(axis=(1, 2)).argmax())
    rows, columns = (np.sort(np.argsort(-share.sum(axis=a), kind="stable")[:MOST_CELLS]) for a in (1, 0))
    odds, top = grid[which][np.ix_(rows, columns)], shape.highest()
    left, high = 84, 19
    wide = (WIDE - left - 4) / max(len(columns), 1)
    drawn = []
    for j, c in enumerate(columns.tolist()):
        at = rounded(left + wide * (j + 0.5))
        drawn.append(_name(shape.others[c], at, "11", max(3, int(wide / 5.6)), "middle"))
    for i, r in enumerate(rows.tolist()):
        y = 18 + i * high
        drawn.append(_name(shape.levels[r], str(left - 5), rounded(y + 13), 14, "end"))
        for j, c in enumerate(columns.tolist()):
            value = float(odds[i, j])
            shade = min(SHADES - 1, int(SHADES * min(1.0, abs(value) / top)))
            text = escape(f"{shape.levels[r]}, {shape.others[c]}: {value:+.2f}, {share[r, c]:.1%} of rows")
            drawn.append(
                f'<rect class="cell {"plus" if value > 0 else "minus"} o{shade}" x="{rounded(left + wide * j)}" '
                f'y="{y}" width="{rounded(wide - 1)}" height="{high - 1}"><title>{text}</title></rect>'
            )
    label = f"{shape.column}: evidence for {shape.classes[which]} by both values"
    foot = 18 + high * len(rows)
    note = _name(f"evidence for {shape.classes[which]}", str(left), str(foot + 11), 44, "start")
    return picture(WIDE, foot + 15, label, "".join(drawn) + note)


def _name(text: str, x: str, y: str, most: int, anchor: str, kind: str = "small") -> str:
    whole = f"<title>{escape(text)}</title>" if len(text) > most else ""
    of = f' class="{kind}"' if kind else ""
    return f'<text{of} x="{x}" y="{y}" text-anchor="{anchor}">{escape(clipped(text, most))}{whole}</text>'
