"""How good the predictions are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tallybayes.plots._style as style
from tallybayes.errors import DataError
from tallybayes.inspection.charts._model import model_of, rows_with_labels
from tallybayes.inspection.evaluate import Evaluation, leave_one_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability(model: Any, data: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw how often predictions of each confidence are right; on the diagonal they are as good as they say.

    Parameters
    ----------
    model : Evaluation, Model or estimator
    data : Rows or (X, y), optional
        The rows that a model learned, to be judged by leave-one-out; not needed with an `Evaluation`.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    judged, ax = _judged(model, data), style.axes_of(ax, (4.6, 4.4))
    x, y = ([getattr(b, field) for b in judged.reliability] for field in ("confidence", "accuracy"))
    share = np.array([b.weight for b in judged.reliability]) / judged.weight
    ax.plot([0, 1], [0, 1], color=style.ink(), linewidth=0.8, linestyle="--", alpha=0.6)
    ax.plot(x, y, color=style.colour(0), linewidth=style.LINE, zorder=2)
    ax.scatter(x, y, s=18 + 260 * share, color=style.colour(0), edgecolors=style.ground(), zorder=3)
    low = max(0.0, min([*x, *y, 1.0 / len(judged.classes)]) - 0.05)
    ax.set(xlim=(low, 1.02), ylim=(low, 1.02), xlabel="mean confidence", ylabel="share that is right")
    ax.set_title(f"{judged.method}: calibration error {judged.ece:.3f}", fontsize="medium")
    style.clear(ax)
    return ax


def confusion(model: Any, data: Any = None, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw true against predicted classes, as shares of the true class; numbers are rows.

    Parameters
    ----------
    model : Evaluation, Model or estimator
    data : Rows or (X, y), optional
        The rows that a model learned, to be judged by leave-one-out; not needed with an `Evaluation`.
    most : int
        Classes to draw, the commonest.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    judged = _judged(model, data)
    kept = np.sort(np.argsort(-judged.support, kind="stable")[:most])
    table, labels = judged.confusion[np.ix_(kept, kept)], [style.short(judged.classes[k], 14) for k in kept]
    total = judged.support[kept][:, None]
    share = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    ax = style.axes_of(ax, (1.2 + 0.62 * len(kept) + 1.2, 1.2 + 0.5 * len(kept) + 0.6))
    style.pyplot()
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("share", [style.ground(), style.FOR])
    ax.imshow(share, cmap=shades, vmin=0.0, vmax=1.0)
    for (i, j), value in np.ndenumerate(table):
        if value or i == j:
            ink = "white" if share[i, j] > 0.5 else style.ink()
            ax.text(j, i, f"{value:,.4g}", ha="center", va="center", color=ink, fontsize="small")
    ax.set_xticks(range(len(kept)), labels, rotation=45 if max(map(len, labels)) > 6 else 0, ha="center")
    ax.set_yticks(range(len(kept)), labels)
    ax.set(xlabel="predicted", ylabel="true")
    ax.set_title(f"{judged.method}: accuracy {float(judged.accuracy):.3f}", fontsize="medium")
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


def _judged(model: Any, data: Any) -> Evaluation:
    if isinstance(model, Evaluation):
        return model
    if data is None:
        raise DataError("pass the rows that the model learned, or an Evaluation")
    return leave_one_out(model_of(model), rows_with_labels(model, data))
