"""Plots of performance: calibration and confusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tallybayes.plots._style as style
from tallybayes.core.evaluation import Evaluation
from tallybayes.core.metrics import wilson
from tallybayes.errors import DataError
from tallybayes.inspection.charts._model import model_of, rows_with_labels
from tallybayes.inspection.evaluate import evaluated

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability(model: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the accuracy of predictions by their confidence, with 95 % intervals; on the diagonal they are calibrated.

    Parameters
    ----------
    model : Evaluation, Model or estimator
    X, y : table and labels, or labelled Rows, optional
        Labelled rows, evaluated as `evaluate` does; without them an `Evaluation`, or the stored one of the model.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    evaluation, ax = _evaluated(model, X, y), style.axes_of(ax, (4.6, 4.4))
    x, y = ([getattr(b, field) for b in evaluation.reliability] for field in ("confidence", "accuracy"))
    share = np.array([b.weight for b in evaluation.reliability]) / evaluation.weight
    ax.plot([0, 1], [0, 1], color=style.ink(), linewidth=0.8, linestyle="--", alpha=0.6)
    within = [wilson(b.accuracy, b.weight) for b in evaluation.reliability]
    ends = [[i.value - i.low for i in within], [i.high - i.value for i in within]]
    ax.errorbar(x, y, yerr=ends, fmt="none", ecolor=style.ink(), elinewidth=0.9, alpha=0.6, zorder=1)
    ax.plot(x, y, color=style.colour(0), linewidth=style.LINE, zorder=2)
    ax.scatter(x, y, s=18 + 260 * share, color=style.colour(0), edgecolors=style.background(), zorder=3)
    low = max(0.0, min([*x, *y, 1.0 / len(evaluation.classes)]) - 0.05)
    ax.set(xlim=(low, 1.02), ylim=(low, 1.02), xlabel="mean confidence", ylabel="accuracy")
    title = f"{evaluation.method}: calibration error {evaluation.ece:.3f}"
    ax.set_title(style.wrapped(ax, title), fontsize="medium")
    style.clear(ax)
    return ax


def confusion(model: Any, X: Any = None, y: Any = None, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw true against predicted classes, as shares of the true class; numbers are rows.

    Parameters
    ----------
    model : Evaluation, Model or estimator
    X, y : table and labels, or labelled Rows, optional
        Labelled rows, evaluated as `evaluate` does; without them an `Evaluation`, or the stored one of the model.
    most : int
        Classes to draw, the most frequent.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    evaluation = _evaluated(model, X, y)
    kept, table, weight = evaluation.confusion_of(most)
    labels, total = [style.short(label, 14) for label in kept], weight[:, None]
    share = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    ax = style.axes_of(ax, (2.4 + 0.62 * len(kept), 2.2 + 0.5 * len(kept)))
    style.pyplot()
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("share", [style.background(), style.FOR])
    ax.imshow(share, cmap=shades, vmin=0.0, vmax=1.0)
    for (i, j), value in np.ndenumerate(table):
        if value or i == j:
            ink = "white" if share[i, j] > 0.5 else style.ink()
            ax.text(j, i, f"{value:,.4g}", ha="center", va="center", color=ink, fontsize="small")
    ax.set_xticks(range(len(kept)), labels, rotation=45 if max(map(len, labels)) > 6 else 0, ha="center")
    ax.set_yticks(range(len(kept)), labels)
    ax.set(xlabel="predicted", ylabel="true")
    title = f"{evaluation.method}: accuracy {float(evaluation.accuracy):.3f}"
    ax.set_title(style.wrapped(ax, title), fontsize="medium")
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


def _evaluated(model: Any, X: Any, y: Any) -> Evaluation:
    if isinstance(model, Evaluation):
        return model
    core = model_of(model)
    if X is not None:
        return evaluated(core, rows_with_labels(model, X, y))
    if core.provenance.evaluation is None:
        raise DataError("pass labelled rows, or an Evaluation")
    return core.provenance.evaluation
