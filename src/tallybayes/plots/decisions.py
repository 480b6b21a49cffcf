"""Plots of decisions: how well probabilities rank rows, and what a threshold costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tallybayes.plots._style as style
from tallybayes.core.evaluation import Evaluation
from tallybayes.core.ranking import Ranking
from tallybayes.core.schema import Level
from tallybayes.errors import DataError
from tallybayes.plots.quality import _evaluated

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def roc(model: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the ROC curve: the share of a class that is found against the share of the others that is taken for it.

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
    ax.plot([0, 1], [0, 1], color=style.ink(), linewidth=0.8, linestyle="--", alpha=0.6)
    for k, label, ranking in _ranked(evaluation):
        x, y = (np.append(0.0, values) for values in (ranking.false_positive_rate, ranking.recall))
        _line(ax, x, y, k, f"{style.short(label, 20)}: {ranking.area:.3f}", evaluation)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="false positive rate", ylabel="recall (true positive rate)")
    return _titled(ax, f"{evaluation.method.partition(',')[0]}: area {evaluation.roc_auc:.3f}", evaluation)


def precision_recall(model: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the share of the predictions of a class that are right against the share of the class that is found.

    Parameters
    ----------
    model, data, ax
        As of `roc`.

    Returns
    -------
    Axes
    """
    evaluation, ax = _evaluated(model, X, y), style.axes_of(ax, (4.6, 4.4))
    for k, label, ranking in _ranked(evaluation):
        x, y = np.append(0.0, ranking.recall), np.append(ranking.precisions[:1], ranking.precisions)
        _line(ax, x, y, k, f"{style.short(label, 20)}: {ranking.precision:.3f}", evaluation)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="recall", ylabel="precision")
    return _titled(
        ax, f"{evaluation.method.partition(',')[0]}: average precision {evaluation.average_precision:.3f}", evaluation
    )


def gain(model: Any, X: Any = None, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the share of a class that is found if so many of the rows are selected, the likeliest first.

    Parameters
    ----------
    model, data, ax
        As of `roc`.

    Returns
    -------
    Axes
    """
    evaluation, ax = _evaluated(model, X, y), style.axes_of(ax, (4.6, 4.4))
    ax.plot([0, 1], [0, 1], color=style.ink(), linewidth=0.8, linestyle="--", alpha=0.6)
    for k, label, ranking in _ranked(evaluation):
        x, y = np.append(0.0, ranking.selected), np.append(0.0, ranking.recall)
        _line(ax, x, y, k, style.short(label, 20), evaluation)
    ax.set(
        xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="share of the rows selected", ylabel="share of the class found"
    )
    return _titled(ax, f"{evaluation.method.partition(',')[0]}: gain", evaluation)


def costs(
    model: Any, X: Any = None, y: Any = None, *, missed: float = 1.0, false_alarm: float = 1.0, ax: Axes | None = None
) -> Axes:
    """Draw the mean cost of a row against the probability from which the second of two classes is predicted.

    Parameters
    ----------
    model, data, ax
        As of `roc`.
    missed : float
        Cost of a row of the class that is not predicted as it.
    false_alarm : float
        Cost of another row that is predicted as it.

    Returns
    -------
    Axes
    """
    evaluation, ax = _evaluated(model, X, y), style.axes_of(ax, (5.2, 3.8))
    if len(evaluation.rankings) != 1:
        raise DataError(f"a threshold decides between two classes; there are {len(evaluation.classes)}")
    (_, label, ranking), mean = next(iter(_ranked(evaluation))), evaluation.rankings[0].costs(missed, false_alarm)
    best = int(mean.argmin())
    ax.plot(ranking.threshold, mean, color=style.colour(0), linewidth=style.LINE, drawstyle="steps-post")
    ax.scatter([ranking.threshold[best]], [mean[best]], color=style.colour(1), zorder=3)
    where = f"least: {mean[best]:.3g} at {ranking.threshold[best]:.2f}"
    ax.annotate(
        where, (ranking.threshold[best], mean[best]), xytext=(4, -14), textcoords="offset points", fontsize="small"
    )
    ax.set(xlim=(-0.02, 1.02), ylim=(0, None))
    ax.set(xlabel=f"{style.short(label, 24)} is predicted from this probability on", ylabel="mean cost of a row")
    ax.set_title(
        f"{evaluation.method.partition(',')[0]}: missed {missed:g}, false alarm {false_alarm:g}", fontsize="medium"
    )
    style.clear(ax)
    return ax


def _ranked(evaluation: Evaluation) -> list[tuple[int, Level, Ranking]]:
    """The classes that are ranked, with their places."""
    if not evaluation.rankings:
        raise DataError("rankings are of 2 to 20 classes; evaluate the model again if it comes from an earlier version")
    places = range(len(evaluation.classes))[-len(evaluation.rankings) :]
    return [(k, evaluation.classes[k], r) for k, r in zip(places, evaluation.rankings, strict=True)]


def _line(ax: Axes, x: Any, y: Any, k: int, label: str, evaluation: Evaluation) -> None:
    place = k if len(evaluation.rankings) > 1 else 0
    ax.plot(x, y, color=style.colour(place), linestyle=style.line_style(place), linewidth=style.LINE, label=label)


def _titled(ax: Axes, title: str, evaluation: Evaluation) -> Axes:
    ax.set_title(title, fontsize="medium")
    if len(evaluation.rankings) > 1:
        ax.legend(frameon=False, fontsize="small")
    style.clear(ax)
    return ax
