"""What a notebook shows of a record: one quiet style, light and dark, that folds and draws bars without a script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

# The colours of the text are those of the page, so that nothing has to be known of its theme.
STYLE = """<style>
.tallybayes{font:13px/1.45 system-ui,sans-serif;margin:.3em 0;max-width:60em}
.tallybayes summary{cursor:pointer;font-weight:600;margin:.25em 0}
.tallybayes details details{margin-left:1em}.tallybayes p{margin:.3em 0}
.tallybayes table{border-collapse:collapse;margin:.3em 0 .6em;font-size:13px;border:0}
.tallybayes th,.tallybayes td{padding:.15em .9em .15em 0;text-align:left!important;background:none!important;border:0;
vertical-align:middle;font-variant-numeric:tabular-nums;max-width:34em;overflow-wrap:break-word;white-space:normal}
.tallybayes th{font-weight:600;border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent)}
.tallybayes tr{background:none!important}
.tallybayes .n{text-align:right!important;white-space:nowrap}
.tallybayes .soft{opacity:.7}
.tallybayes .track{position:relative;display:block;width:11em;height:.8em}
.tallybayes .track i{position:absolute;top:0;bottom:0;border-radius:1px}
.tallybayes .track b{position:absolute;top:calc(50% - .5px);height:1px;background:currentColor;opacity:.8}
.tallybayes .for{background:#2f86bd}.tallybayes .against{background:#c8601f}
.tallybayes .middle{left:50%;width:1px;background:currentColor;opacity:.35}
</style>"""


class Bar(NamedTuple):
    """A bar in a cell of a table: from the left, or to either side of the middle."""

    share: float  # of the width, or of half of it; negative to the left
    from_middle: bool = False
    spread: float = 0.0  # half the width of the interval, in the same unit


Cell = str | float | Bar | None
MOST, LONGEST = 30, 1_000  # classes or bars, and columns, that are listed


def panel(title: str, *parts: str, note: str = "") -> str:
    """A record that folds: its title, and what is in it."""
    soft = f' <span class="soft">{escape(note)}</span>' if note else ""
    body = "".join(parts)
    return (
        f'{STYLE}<div class="tallybayes"><details open><summary>{escape(title)}{soft}</summary>{body}</details></div>'
    )


def folded(title: str, *parts: str) -> str:
    """A part that is folded away at first."""
    return f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details>"


def grid(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table; texts of its first column and of those without a number are left aligned."""
    top = "".join(f"<th{_class(head, rows, i)}>{escape(name)}</th>" for i, name in enumerate(head))
    top = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    lines = ("".join(f"<td{_class(head, rows, i)}>{_cell(cell)}</td>" for i, cell in enumerate(row)) for row in rows)
    return f"<table>{top}<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def _class(head: Sequence[str], rows: Sequence[Sequence[Cell]], i: int) -> str:
    cells = [row[i] for row in rows if i < len(row) and row[i] not in (None, "")]
    numbers = i > 0 and cells and all(isinstance(cell, float) or _is_figure(cell) for cell in cells)
    return ' class="n"' if numbers else ""


def _is_figure(cell: Cell) -> bool:
    return isinstance(cell, str) and cell[:1] in "+-−±0123456789" and not any(c.isalpha() for c in cell)


def _cell(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Bar):
        return _drawn(cell)
    text = f"{cell:,.4g}" if isinstance(cell, float) else cell
    return escape(text).replace("  ", "&emsp;")


def _drawn(bar: Bar) -> str:
    share = max(-1.0, min(1.0, bar.share))
    side = "for" if share >= 0 else "against"
    if not bar.from_middle:
        inside = f'<i class="{side}" style="left:0;width:{100 * share:.1f}%"></i>'
        ends = max(0.0, share - bar.spread), min(1.0, share + bar.spread)
    else:
        left, wide = 50.0 + 50.0 * min(share, 0.0), 50.0 * abs(share)
        inside = f'<i class="middle"></i><i class="{side}" style="left:{left:.1f}%;width:{wide:.1f}%"></i>'
        ends = 0.5 + 0.5 * max(-1.0, share - bar.spread), 0.5 + 0.5 * min(1.0, share + bar.spread)
    if bar.spread > 0:
        inside += f'<b style="left:{100 * ends[0]:.1f}%;width:{100 * (ends[1] - ends[0]):.1f}%"></b>'
    return f'<span class="track">{inside}</span>'


def model_panel(
    title: str, tally: Any, log_prior: Any, importance: Mapping[str, float], weights: Mapping[str, float]
) -> str:
    """A model: its classes, the columns by importance where it was measured, and why each column is read as it is."""
    total, classes = float(tally.class_weight.sum()), tally.schema.classes
    often = sorted(range(len(classes)), key=lambda k: -tally.class_weight[k])[:MOST]
    rows: list[Sequence[Cell]] = [
        (str(classes[k]), _amount(tally.class_weight[k]), f"{math.exp(log_prior[k]):.4f}",
         Bar(tally.class_weight[k] / total if total else 0.0)) for k in sorted(often)
    ]  # fmt: skip
    hidden = len(classes) - len(rows)
    more = f"<p>and {hidden} other class{'' if hidden == 1 else 'es'}</p>" if hidden else ""
    ranked = sorted(importance.items(), key=lambda each: -each[1])[:MOST]
    top = max((value for _, value in ranked), default=1.0) or 1.0
    bars = [
        (name, f"{value:.3f}", f"{weights.get(name, 1.0):.2f}", Bar(value / top)) for name, value in ranked if value
    ]
    matters = [grid(("column", "importance", "weight", ""), bars)] if bars else []
    read = [(c.name, c.kind, c.reason) for c in tally.schema.columns[:LONGEST]]
    columns = folded(f"columns ({len(tally.schema.columns):,})", grid(("column", "kind", "why"), read))
    note = f"{_amount(total)} rows, {len(classes):,} class{'' if len(classes) == 1 else 'es'}"
    return panel(title, grid(("class", "rows", "prior", ""), rows), more, *matters, columns, note=note)


def _amount(weight: float) -> str:
    return f"{weight:,.0f}" if weight == round(weight) else f"{weight:,.2f}"
