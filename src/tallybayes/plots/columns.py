"""Plots of the distribution of each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tallybayes.plots._style as style
from tallybayes.errors import DataError
from tallybayes.inspection import charts
from tallybayes.inspection.charts import Bars, Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def features(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    columns: Sequence[str] | None = None,
    most: int = 9,
    axes: Any = None,
) -> Any:
    """Draw the fitted distribution of each column by class, the most informative columns first.

    Parameters
    ----------
    model : Model, estimator or sequence of ColumnPicture
    X : table or labelled Rows, optional
        Rows whose histograms are drawn behind the curves.
    y : array-like of shape (n_samples,) or str, optional
        Their labels, unless they are the column of the table that the model learned them from.
    columns : sequence of str, optional
        Only these columns.
    most : int
        Columns to draw.
    axes : array of Axes, optional
        One for each column.

    Returns
    -------
    ndarray of Axes
    """
    found = (
        [p for p in model if isinstance(p, charts.ColumnPicture)]
        if isinstance(model, (list, tuple))
        else [p for p in charts.column_pictures(model, X, y, columns) if p.kind != "pair"]
    )[:most]
    if not found:
        raise DataError("there is no column to draw")
    own = None
    if axes is None:
        wide = min(3, len(found))
        rows = -(-len(found) // wide)
        own = style.pyplot().figure(figsize=(3.4 * wide, 2.4 * rows), layout="constrained")
        axes = own.subplots(rows, wide, squeeze=False)
        for spare in axes.ravel()[len(found) :]:
            spare.remove()
    flat = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()[: len(found)]
    if len(flat) < len(found):
        raise DataError(f"{len(found)} plots need as many axes, got {len(flat)}; use most={len(flat)}")
    for ax, picture in zip(flat, found, strict=True):
        (_curves if isinstance(picture.shape, Curves) else _bars)(ax, picture)
        ax.set_title(f"{style.short(picture.column, 28)}\ninformation {picture.information:.2f}", fontsize="medium")
    names = flat[0].get_legend_handles_labels()
    if own is None:
        flat[0].legend(*names, fontsize="small", frameon=False)
    else:  # over a picture it would hide bars
        own.legend(*names, loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    return flat


def _curves(ax: Axes, picture: charts.ColumnPicture) -> None:
    curves = picture.shape
    assert isinstance(curves, Curves)
    for k, label in enumerate(picture.classes):
        colour = style.colour(k)
        line: dict[str, Any] = {
            "linestyle": style.line_style(k),
            "linewidth": style.LINE,
            "label": style.short(label, 30),
        }
        if curves.histogram is not None:
            ax.stairs(curves.histogram[1][k], curves.histogram[0], fill=True, color=colour, alpha=0.18)
        if curves.stepped:
            ax.stairs(curves.density[k], curves.points, color=colour, **line)
        else:
            ax.plot(curves.points, curves.density[k], color=colour, **line)
        if curves.spike is not None:
            ax.annotate(
                f"zero: {curves.spike[k]:.0%}", (0.98, 0.95 - 0.1 * k), xycoords="axes fraction", ha="right", va="top",
                color=colour, fontsize="small",
            )  # fmt: skip
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    style.clear(ax, "left")


def _bars(ax: Axes, picture: charts.ColumnPicture) -> None:
    assert isinstance(picture.shape, Bars)
    bars, n_classes = picture.shape.most_informative(picture.prior, 8), len(picture.classes)
    at = np.arange(len(bars.levels))
    height = 0.8 / n_classes
    for k, label in enumerate(picture.classes):
        offset = (k - (n_classes - 1) / 2) * height
        ax.barh(at + offset, bars.chance[k], height=height * 0.92, color=style.colour(k), label=style.short(label, 30))
    ax.set_yticks(at, [style.short(level, 16) for level in bars.levels])
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:.2g}" if bars.words else f"{x:.0%}")
    style.clear(ax)
