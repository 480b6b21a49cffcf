"""Plots of what columns say: their importance, the evidence of their values, and that of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tallybayes.inspection.charts as charts
import tallybayes.plots._style as style
from tallybayes.errors import DataError
from tallybayes.inspection.charts import EvidenceShape, Importance
from tallybayes.inspection.charts._model import model_of
from tallybayes.inspection.uncertainty import USUAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 32  # letters of a name
MOST_LEVELS = 20


def importance(
    model: Any, X: Any = None, y: Any = None, *, most: int = 15, level: float = USUAL, ax: Axes | None = None
) -> Axes:
    """Draw how much each column moves a prediction on average, with its interval.

    Parameters
    ----------
    model : Importance, Model or estimator
    X, y : table and labels, or labelled Rows, optional
        Rows that the width of the intervals is averaged over.
    most : int
        Columns to draw.
    level : float, default=0.9
        Of the intervals.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    found = model if isinstance(model, Importance) else charts.importance(model, X, y, level=level)
    shown = found.columns[:most][::-1]
    ax = style.axes_of(ax, (6.0, 0.9 + 0.3 * max(len(shown), 1)))
    value, at = np.array([each.value for each in shown]), np.arange(len(shown))
    spread = np.array([[each.value - each.low for each in shown], [each.high - each.value for each in shown]])
    ax.barh(at, value, color=style.colour(0), height=0.6)
    if len(shown):
        ax.errorbar(value, at, xerr=spread, fmt="none", ecolor=style.ink(), elinewidth=1.0, capsize=2.5)
        ax.set_xlim(0.0, min(1.05 * float((value + spread[1]).max()), 2.2 * float(value.max())))
    ax.set_yticks(at, [style.short(each.column, LONGEST) for each in shown])
    ax.set_xlabel("importance: mean size of the evidence (log odds)")
    style.clear(ax, "left")
    ax.tick_params(axis="y", length=0)
    return ax


def shape(model: Any, column: str | None = None, *, level: float = USUAL, ax: Axes | None = None) -> Axes:
    """Draw the evidence of the values of a column, with its interval: a curve of numbers, or bars of levels.

    Parameters
    ----------
    model : EvidenceShape, Model or estimator
    column : str, optional
        The column; not needed for a record.
    level : float, default=0.9
        Of the intervals.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    found = _shape_of(model, column, level)
    if found.kind == "pair":
        return pair(found, ax=ax)
    if found.kind == "levels":
        return _levels(found, ax)
    ax = style.axes_of(ax, (5.6, 3.6))
    at = found.points if found.stepped else found.middles
    for k, label in enumerate(found.classes):
        odds, spread = found.log_odds[k], found.spread[k]
        if found.stepped:
            ax.stairs(odds, at, baseline=None, color=style.colour(k), linewidth=style.LINE, label=str(label))
            low, high = (np.append(ends, ends[-1]) for ends in (odds - spread, odds + spread))
            ax.fill_between(at, low, high, step="post", color=style.colour(k), alpha=0.18, linewidth=0)
        else:
            ax.plot(at, odds, style.line_style(k), color=style.colour(k), linewidth=style.LINE, label=str(label))
            ax.fill_between(at, odds - spread, odds + spread, color=style.colour(k), alpha=0.18, linewidth=0)
    top = 1.15 * found.highest()
    _rug(ax, found, top)
    ax.axhline(0.0, color=style.ink(), linewidth=0.8)
    ax.set(
        xlabel=style.wrapped(ax, style.short(found.column, 90)), ylabel="evidence (log odds)", ylim=(-1.25 * top, top)
    )
    ax.set_title(style.wrapped(ax, _title(found)), fontsize="medium")
    if len(found.classes) > 1:
        ax.legend(fontsize="small", frameon=False)
    style.clear(ax)
    return ax


def pair(model: Any, column: str | None = None, *, level: float = USUAL, ax: Axes | None = None) -> Axes:
    """Draw what two columns say together beyond each alone, as a map of their values.

    Parameters
    ----------
    model : EvidenceShape, Model or estimator
    column : str, optional
        The name of the pair, also as ``"Pclass × Sex"``; the most important one if not given.
    level : float, default=0.9
        Of the intervals.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    parts = {} if isinstance(model, EvidenceShape) else _parts_of_pairs(model)
    short = {" × ".join(names): name for name, names in parts.items()}
    found = _shape_of(model, None if column is None else short.get(column, column), level, pairs=True)
    if found.kind != "pair":
        raise DataError(f"{found.column!r} is no pair; draw it with plots.shape")
    grid = found.log_odds.reshape(len(found.classes), len(found.levels), len(found.others))
    share = found.share.reshape(grid.shape[1:])
    which = int(np.abs(grid * share).sum(axis=(1, 2)).argmax())
    rows, columns = (np.sort(np.argsort(-share.sum(axis=a), kind="stable")[:MOST_LEVELS]) for a in (1, 0))
    odds, top = grid[which][np.ix_(rows, columns)], found.highest()
    ax = style.axes_of(ax, (1.9 + 0.6 * len(columns), 1.3 + 0.4 * len(rows)))
    style.pyplot()
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("evidence", [style.AGAINST, style.background(), style.FOR])
    ax.imshow(odds, cmap=shades, vmin=-top, vmax=top, aspect="auto")
    for (i, j), value in np.ndenumerate(odds):
        ink = "white" if abs(value) > 0.6 * top else style.ink()
        ax.text(j, i, f"{value:+.1f}", ha="center", va="center", fontsize="x-small", color=ink)
    ax.set_xticks(range(len(columns)), [style.short(found.others[c], 12) for c in columns], rotation=45, ha="right")
    ax.set_yticks(range(len(rows)), [style.short(found.levels[r], 18) for r in rows])
    left, right = (style.short(name, 40) for name in parts.get(found.column, ("", "")))
    ax.set_ylabel(left + _some(len(rows), len(found.levels)))
    ax.set_xlabel(right + _some(len(columns), len(found.others)))
    title = f"{style.short(found.column, 60)}: evidence for {style.short(found.classes[which], 20)}"
    ax.set_title(style.wrapped(ax, title), fontsize="medium")
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


def _some(shown: int, of: int) -> str:
    """A note where there is no room for all values."""
    return f"\nthe {shown} most frequent of {of} levels" if shown < of else ""


def _parts_of_pairs(model: Any) -> dict[str, list[str]]:
    """The names of the two columns of each pair."""
    columns = model_of(model).schema.columns
    return {c.name: [part.name for part in c.parts or ()] for c in columns if c.kind == "pair"}


def _shape_of(model: Any, column: str | None, level: float, pairs: bool = False) -> EvidenceShape:
    if isinstance(model, EvidenceShape):
        return model
    if column is None and not pairs:
        raise DataError("name the column whose evidence is to be drawn")
    found = charts.evidence_shapes(model, None if column is None else [column], level=level)
    found = tuple(each for each in found if not pairs or column is not None or each.kind == "pair")
    if not found:
        what = "the model has no pairs" if column is None else f"{column!r} is a text, or has nothing to draw"
        raise DataError(f"{what}; `importance_` lists what is evidence")
    return found[0]


def _levels(found: EvidenceShape, ax: Axes | None) -> Axes:
    order = found.by_evidence()
    if len(order) > MOST_LEVELS:
        often = set(np.argsort(-found.share, kind="stable")[:MOST_LEVELS].tolist())
        order = np.array([c for c in order.tolist() if c in often])
    n, at = len(found.classes), np.arange(len(order))[::-1]
    ax = style.axes_of(ax, (5.6, 1.1 + (0.16 + 0.16 * n) * len(order)))
    for k, label in enumerate(found.classes):
        y = at + 0.8 * ((n - 1) / 2 - k) / n
        odds = found.log_odds[k, order]
        colours = [style.FOR if v > 0 else style.AGAINST for v in odds] if n == 1 else style.colour(k)
        ax.barh(y, odds, height=0.74 / n, color=colours, label=str(label))
        ax.errorbar(odds, y, xerr=found.spread[k, order], fmt="none", ecolor=style.ink(), elinewidth=0.8, capsize=2)
    ax.axvline(0.0, color=style.ink(), linewidth=0.8)
    ax.set_yticks(at, [style.short(found.levels[c], LONGEST) for c in order.tolist()])
    ax.set_xlim(-1.6 * found.highest(), 1.6 * found.highest())
    ax.set(xlabel=f"evidence (log odds){_some(len(order), len(found.levels))}")
    ax.set_title(style.wrapped(ax, f"{style.short(found.column, 60)}: {_title(found)}"), fontsize="medium")
    if n > 1:
        ax.legend(fontsize="small", frameon=False)
    style.clear(ax, "left")
    ax.tick_params(axis="y", length=0)
    return ax


def _rug(ax: Axes, found: EvidenceShape, top: float) -> None:
    """Where the rows are, along the lower edge."""
    points, height = found.histogram()
    tall = -1.25 * top + 0.22 * top * height
    if found.stepped:
        ax.stairs(tall, points, baseline=-1.25 * top, fill=True, color=style.ink(), alpha=0.3)
    else:
        ax.fill_between(points, -1.25 * top, tall, color=style.ink(), alpha=0.3, linewidth=0)


def _title(found: EvidenceShape) -> str:
    if found.against is not None:
        title = f"{style.short(found.classes[0], 20)} against {style.short(found.against, 20)}"
    else:
        title = "each class against the others"
    return f"{title}, {found.level:.0%} intervals" + ("" if found.log_odds.any() else " (no weight: not used)")
