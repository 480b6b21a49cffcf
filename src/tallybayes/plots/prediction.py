"""Plots of one prediction: the evidence of each column, and the effect of the prior."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import tallybayes.plots._style as style
from tallybayes.core.schema import Level
from tallybayes.errors import DataError
from tallybayes.inspection import charts
from tallybayes.inspection.charts import PriorSweep
from tallybayes.inspection.charts._model import model_of, rows_of
from tallybayes.inspection.explain import Explanation, chance, explain, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def evidence(
    model: Any, row: Any = None, *, against: Level | None = None, most: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw one prediction from the prior to the posterior, with the log odds that each column adds.

    Parameters
    ----------
    model : Model, estimator or Explanation
    row : mapping of column to value, or a table of one row
        Not needed where an `Explanation` is given.
    against : class, optional
        The class to compare with; the runner-up if not given.
    most : int
        Steps to draw; the weakest ones are summed up.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    found = model if isinstance(model, Explanation) else _explained(model, row, against)
    ax = style.axes_of(ax, (7.0, 0.36 * min(most, len(found.evidence)) + 1.5))
    steps = [("prior", found.prior)]
    columns = [
        (f"{style.short(e.column, 24)} = {style.short(shown(e.value), 18)}", e.log_odds)
        for e in found.evidence
        if e.log_odds
    ]
    steps += columns[:most]
    if columns[most:]:
        steps.append((f"{len(columns) - most} others", math.fsum(odds for _, odds in columns[most:])))
    finite = [odds for _, odds in steps if math.isfinite(odds)]
    edge = 1.3 * (sum(map(abs, finite)) or 1.0)  # where an impossible value is drawn to
    at, room = 0.0, 0.0
    for i, (_, odds) in enumerate(steps):
        odds = max(-edge, min(edge, odds))
        ax.barh(i, odds, left=at, height=0.62, color=style.FOR if odds > 0 else style.AGAINST)
        if i + 1 < len(steps):
            ax.plot([at + odds] * 2, [i - 0.31, i + 1.31], color=style.ink(), linewidth=0.6, alpha=0.5)
        at, room = at + odds, max(room, abs(at), abs(at + odds))
    for i, (_, odds) in enumerate(steps):
        ax.annotate(style.signed(odds), (1.01, i), xycoords=("axes fraction", "data"), va="center", fontsize="small")
    ax.axvline(0.0, color=style.ink(), linewidth=0.8)
    ax.set_yticks(range(len(steps)), [name for name, _ in steps])
    ax.set_xlim(*style.padded(ax.get_xlim()))
    ax.invert_yaxis()
    mine, theirs = (style.short(label, 20) for label in (found.label, found.against))
    ax.set_xlabel(style.wrapped(ax, f"log odds of {mine} against {theirs}"))
    posterior = f"P({style.short(found.label, 20)}) {chance(found.posterior[found.label], 3)}"
    ax.set_title(style.wrapped(ax, f"{posterior}, log odds {style.signed(found.total)}"), fontsize="medium")
    style.clear(ax)
    return ax


def _explained(model: Any, row: Any, against: Level | None) -> Explanation:
    if row is None:
        raise DataError("pass the row to explain, or an Explanation")
    if hasattr(model, "explain"):
        found: Explanation = model.explain(row, against)
        return found
    core = model_of(model)
    single = [row] if isinstance(row, dict) else row
    rows = rows_of(core, single)
    return explain(core, rows, getattr(rows, "table").row(0), against)  # noqa: B009


def priors(model: Any, row: Any = None, label: Level | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior of one row as the prior of one class goes from 0 to 1.

    Parameters
    ----------
    model : Model, estimator or PriorSweep
    row : mapping of column to value, or a table of one row
        Not needed with a `PriorSweep`.
    label : class, optional
        Whose prior changes; the likeliest class if not given.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    sweep = model if isinstance(model, PriorSweep) else charts.prior_sweep(model, row, label)
    ax = style.axes_of(ax, (5.2, 3.8))
    for k, each in enumerate(sweep.classes):
        wide = 1.4 * style.LINE if each == sweep.label else 0.7 * style.LINE
        line: dict[str, Any] = {"color": style.colour(k), "linestyle": style.line_style(k), "linewidth": wide}
        ax.plot(sweep.prior, sweep.posterior[:, k], label=style.short(each, 30), **line)
    k = sweep.classes.index(sweep.label)
    ax.plot([sweep.learned], [sweep.found], "o", color=style.colour(k), markeredgecolor=style.ink(), zorder=3)
    ax.axvline(sweep.learned, color=style.ink(), linewidth=0.8, linestyle="--", alpha=0.6)
    ax.set(xlabel=f"prior of {style.short(sweep.label, 40)}", ylabel="posterior", xlim=(0, 1), ylim=(-0.02, 1.02))
    posterior = f"P({style.short(sweep.label, 20)} | row) {chance(sweep.found, 3)}"
    ax.set_title(f"learned {sweep.learned:.3g}, {posterior}", fontsize="medium")
    ax.legend(fontsize="small", frameon=False)
    style.clear(ax)
    return ax
