"""Which class is likeliest over two columns of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import tallybayes.plots._style as style
from tallybayes.inspection import charts
from tallybayes.inspection.charts import Boundary
from tallybayes.inspection.charts._model import model_of, rows_of, rows_with_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def decision_boundary(
    model: Any, columns: tuple[str, str] | None = None, X: Any = None, y: Any = None, *, ax: Axes | None = None
) -> Axes:
    """Draw which class is likeliest, and how likely, over two columns of numbers; all other columns are missing.

    Where the log odds of two classes are linear the separating line is drawn with its w and b, and where the columns
    are normal each class has ellipses of one and two standard deviations.

    Parameters
    ----------
    model : Model, estimator or Boundary
    columns : two column names, optional
        The two most informative numbers if not given.
    X, y : table and labels, or labelled Rows, optional
        Rows to draw as points.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    found = model if isinstance(model, Boundary) else charts.boundary(model, columns, X, y)
    ax = style.axes_of(ax, (5.6, 4.6))
    extent = _surface(ax, found)
    rows = rows_with_labels(model, X, y)
    if rows is not None and not isinstance(model, Boundary):
        _points(ax, model_of(model), rows, found)
    _ellipses(ax, found)
    if found.line is not None:
        _line(ax, found)
    for k, label in enumerate(found.classes):
        ax.plot([], [], "s", color=style.colour(k), label=str(label))
    unused = {} if isinstance(model, Boundary) else _unused(model_of(model))
    names = [f"{style.short(name, 40)}{unused.get(name, '')}" for name in found.columns]
    ax.set(xlabel=names[0], ylabel=names[1], xlim=extent[:2], ylim=extent[2:])
    ax.legend(fontsize="small", framealpha=0.8)
    return ax


def _surface(ax: Axes, found: Boundary) -> tuple[float, float, float, float]:
    """Draw the likeliest class as a colour, paler where it is less certain; returns the ends of both axes."""
    from matplotlib.colors import to_rgb

    best, certain = found.posterior.argmax(axis=2), found.posterior.max(axis=2)
    colours = np.array([to_rgb(style.colour(k)) for k in range(len(found.classes))])
    least = 1.0 / len(found.classes)
    strength = 0.45 * (certain - least) / (1.0 - least)
    surface = np.concatenate((colours[best], strength[:, :, None]), axis=2)
    extent = (float(found.x[0]), float(found.x[-1]), float(found.y[0]), float(found.y[-1]))
    ax.imshow(surface, origin="lower", extent=extent, aspect="auto", interpolation="bilinear", zorder=0)
    for k in range(len(found.classes)):
        others = np.delete(found.posterior, k, axis=2).max(axis=2)
        if found.line is None and np.ptp(np.sign(found.posterior[:, :, k] - others)):
            with np.errstate(divide="ignore"):
                ahead = np.clip(np.log(found.posterior[:, :, k]) - np.log(others), -50, 50)
            ax.contour(found.x, found.y, ahead, levels=[0.0], colors=style.ink(), linewidths=1.0)
    return extent


def _ellipses(ax: Axes, found: Boundary) -> None:
    """Draw one and two standard deviations around the mean of each class, where the columns are normal."""
    from matplotlib.patches import Ellipse

    if found.mean is None or found.covariance is None:
        return
    for k, (mean, covariance) in enumerate(zip(found.mean, found.covariance, strict=True)):
        value, vector = np.linalg.eigh(covariance)
        angle = math.degrees(math.atan2(vector[1, 1], vector[0, 1]))
        for n in (1, 2):
            wide, high = 2 * n * np.sqrt(value[::-1])
            shape = {"facecolor": "none", "edgecolor": style.colour(k), "linewidth": style.LINE if n == 1 else 1.0}
            ax.add_patch(Ellipse(tuple(mean), wide, high, angle=angle, **shape))


def _unused(model: Any) -> dict[str, str]:
    """What is added to the names of columns that have no weight."""
    weights = zip(model.schema.names, model.column_weights.tolist(), strict=True)
    return {name: " (no weight: not used)" for name, weight in weights if not weight}


def _points(ax: Axes, model: Any, rows: Any, found: Boundary) -> None:
    table = getattr(rows_of(model, rows), "table", None)
    codes = None if rows.labels is None else rows.labels.codes
    if table is not None:
        x, y = (table.columns[name].numbers(0, table.n_rows) for name in found.columns)
    else:
        blocks = {c: b.x[:, j] for b in rows.rows(0, rows.n_rows).blocks.values() for j, c in enumerate(b.columns)}
        names = list(model.schema.names)
        x, y = (blocks[names.index(name)] for name in found.columns)
    marks = "osD^vP*X"
    for k in range(len(found.classes)):
        mine = np.ones(len(x), dtype=bool) if codes is None else codes == k
        edge: dict[str, Any] = {"linewidths": 0.4, "edgecolors": style.ink()}
        ax.scatter(x[mine], y[mine], s=14, color=style.colour(k), marker=marks[k % len(marks)], **edge)
        if codes is None:
            break


def _line(ax: Axes, found: Boundary) -> None:
    assert found.line is not None
    (w0, w1), b = found.line
    if abs(w1) > 1e-12 * abs(w0):
        x = np.array([found.x[0], found.x[-1]])
        ax.plot(x, -(w0 * x + b) / w1, color=style.ink(), linewidth=style.LINE)
    else:
        ax.axvline(-b / w0, color=style.ink(), linewidth=style.LINE)
    ax.set_title(f"w = ({w0:.3g}, {w1:.3g}), b = {b:.3g}", fontsize="medium")
