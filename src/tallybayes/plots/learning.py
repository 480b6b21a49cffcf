"""Plots of training: by the number of rows, and by the iterations of expectation-maximisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tallybayes.plots._style as style
from tallybayes.inspection import charts
from tallybayes.inspection.charts import EMPath, LearningCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def learning_curve(model: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw the performance of the model by the number of training rows, on rows that had no part in it.

    Parameters
    ----------
    model : Model, estimator or LearningCurve
    X, y : table and labels, or labelled Rows, optional
        Labelled rows; not needed with a `LearningCurve`.
    ax : Axes, optional
    **options
        ``test``, ``sizes`` and ``seed`` of `charts.learning_curve`.

    Returns
    -------
    Axes
    """
    curve = model if isinstance(model, LearningCurve) else charts.learning_curve(model, X, y, **options)
    ax = style.axes_of(ax, (5.6, 3.8))
    low, high = ([getattr(e.accuracy, side) for e in curve.evaluations] for side in ("low", "high"))
    ax.fill_between(curve.n_rows, low, high, color=style.colour(0), alpha=0.15, linewidth=0)
    ax.plot(curve.n_rows, curve.accuracy, "o-", color=style.colour(0), linewidth=style.LINE, markersize=4)
    baseline = curve.evaluations[-1].baseline_accuracy
    ax.axhline(baseline, color=style.ink(), linewidth=0.8, linestyle="--", alpha=0.6)
    ax.annotate("baseline (majority class)", (0.99, baseline), xycoords=("axes fraction", "data"), ha="right",
                va="bottom", fontsize="small")  # fmt: skip
    ax.set_xscale("log")
    ax.set(xlabel="training rows", ylabel=f"accuracy on {curve.n_held_out:,} held-out rows")
    style.clear(ax)
    return ax


def em_path(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the penalised log likelihood after each step of expectation-maximisation; it never falls.

    Parameters
    ----------
    model : estimator, em.Learned or EMPath
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    path = model if isinstance(model, EMPath) else charts.em_path(model)
    ax, steps = style.axes_of(ax, (5.6, 3.6)), np.arange(1, len(path.log_likelihood) + 1)
    ax.plot(steps, path.log_likelihood, "o-", color=style.colour(0), linewidth=style.LINE, markersize=4)
    ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    ax.set(xlabel="step", ylabel="penalised log likelihood")
    ax.set_title("converged" if path.converged else "not converged", fontsize="medium")
    style.clear(ax)
    return ax
