"""Sections of the report on drift and on subgroups, and a page of drift alone."""

from __future__ import annotations

from html import escape

from tallybayes.core.evaluation import Interval
from tallybayes.core.schema import plural
from tallybayes.inspection.drift import LEVEL, ColumnDrift, Drift, small
from tallybayes.inspection.subgroups import GroupFigures, Subgroups
from tallybayes.report.assets import asset, policy
from tallybayes.report.parts import listing
from tallybayes.report.svg import picture
from tallybayes.report.tips import tip

Section = tuple[str, str, str]  # id, title, content
WIDE, HIGH = 320, 96
MOST_PICTURES = 24


def drift_section(found: Drift) -> Section:
    """The table of drift, and a small picture of each column that changed."""
    rows = [_row(column) for column in found.columns]
    head = ("column", "changed", "PSI", "JS distance", "chance", "missing before", "missing after", "evidence")
    shown = [column for column in found.columns if column.is_changed and column.before][:MOST_PICTURES]
    cards = "".join(f'<div class="card"><h3>{escape(c.name)}</h3>{cells(c)}</div>' for c in shown)
    lead = f"{found.rows[0]:,.0f} rows before, {found.rows[1]:,.0f} after: {len(found.changed)} of "
    lead += f"{plural(len(found.columns), 'column')} changed beyond chance (false discovery rate {LEVEL:.0%})."
    notes = "".join(f"<p>{escape(note)}</p>" for note in found.notes(stars=False))
    legend = "<p>Areas are the rows before, lines those after.</p>" if cards else ""
    table = listing("drift", head, rows, numbers=6)
    content = f'<div class="para">{lead}{tip("drift")}</div>{table}{notes}{legend}<div class="grid">{cards}</div>'
    return "drift", "Drift", content


def _row(column: ColumnDrift) -> tuple[str, ...]:
    changed = "yes" if column.is_changed else ""
    evidence = "" if column.evidence is None else f"{column.evidence:.3f}"
    before, after = (f"{share:.1%}" for share in column.missing)
    name = f"{'~' if column.is_approximate else ''}{column.name}"
    compared = (f"{column.psi:.3f}", f"{column.js:.3f}", small(column.q)) if column.has_values else ("–",) * 3
    return name, changed, *compared, before, after, evidence


def cells(column: ColumnDrift) -> str:
    """The shares of the cells before, as areas, and after, as lines."""
    n, top = len(column.before), max([*column.before, *column.after], default=1.0) or 1.0
    base, step = HIGH - 16, (WIDE - 8) / max(n, 1)

    def height(share: float) -> float:
        return base - (base - 6) * share / top

    drawn = []
    for i, (before, after, name) in enumerate(zip(column.before, column.after, column.cells, strict=True)):
        left, right = 4 + i * step, 4 + (i + 0.92) * step
        title = f"<title>{escape(name)}: {before:.1%} → {after:.1%}</title>"
        drawn.append(
            f'<path class="area k0" d="M{left:.1f} {base}L{left:.1f} {height(before):.1f}L{right:.1f} '
            f'{height(before):.1f}L{right:.1f} {base}Z">{title}</path>'
            f'<path class="line k1" d="M{left:.1f} {height(after):.1f}L{right:.1f} {height(after):.1f}"/>'
        )
    axis = f'<line class="axis" x1="4" x2="{WIDE - 4}" y1="{base}" y2="{base}"/>'
    first, last = (escape(name[:22]) for name in (column.cells[0], column.cells[-1]))
    ends = (
        f'<text x="4" y="{HIGH - 3}">{first}</text><text x="{WIDE - 4}" y="{HIGH - 3}" text-anchor="end">{last}</text>'
    )
    return picture(WIDE, HIGH, f"{column.name}: before and after", "".join(drawn) + axis + ends)


def subgroup_section(found: Subgroups) -> Section:
    """The figures of each subgroup."""
    head = (found.by, "few", "rows", "accuracy", "log loss", "ROC area", "predicted", "actual", "calibration", "ECE")
    rows = [_figures(each) for each in (*found.groups, found.overall)]
    lead = f"{found.method}; rates of {found.label}; 95 % intervals. Few: too few rows for figures that mean much."
    return "subgroups", "Subgroups", f"<p>{escape(lead)}</p>{listing('subgroups', head, rows, numbers=8)}"


def _figures(each: GroupFigures) -> tuple[str, ...]:
    def shown(figure: Interval | None) -> str:
        return "" if figure is None else f"{figure.value:.3f} ({figure.low:.3f} – {figure.high:.3f})"

    intervals = (each.accuracy, each.log_loss, each.area, each.positive_rate, each.base_rate, each.gap)
    return each.group, "few" if each.is_small else "", f"{each.n_rows:,}", *map(shown, intervals), f"{each.ece:.3f}"


def drift_page(found: Drift) -> str:
    """A page of drift alone, that needs nothing else."""
    _, title, content = drift_section(found)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        f"<title>{title}</title><style>{asset('page.css')}</style></head>\n"
        f"<body><header><h1>{title}</h1></header><main><section><h2>Columns</h2>{content}</section></main></body></html>\n"
    )
