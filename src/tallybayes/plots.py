"""Pictures of models and records with matplotlib (the extra ``plot``).

Every function takes a model or a record and, optionally, axes to draw on, and returns the axes. What is drawn is in
`tallybayes.pictures` and `tallybayes.evaluate`, where it also prints as text and JSON. Fonts, grids and backgrounds
are those of the user's style. So are the colours of classes where the style has some; otherwise they are the ones of
Okabe and Ito, which people with colour-vision deficiency tell apart, on light and on dark ground.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes import pictures
from tallybayes.errors import DataError, needs
from tallybayes.evaluate import Evaluation
from tallybayes.evaluate import leave_one_out as _leave_one_out
from tallybayes.explain import Explanation, explain, shown
from tallybayes.pictures import Bars, Boundary, Curves, EMPath, LearningCurve, Nomogram, PriorSweep
from tallybayes.pictures._model import model_of, rows_of, rows_with_labels
from tallybayes.pictures.nomogram import SCALE, round_numbers
from tallybayes.schema import Level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999")  # Okabe and Ito 2008
FOR, AGAINST = "#0072b2", "#d55e00"
STYLES = ("-", "--", ":", "-.")  # for those who see no colours, and for more classes than colours
LINE = 1.8

__all__ = [
    "confusion",
    "decision_boundary",
    "em_path",
    "evidence",
    "features",
    "learning_curve",
    "nomogram",
    "priors",
    "reliability",
]


def features(
    model: Any, data: Any = None, *, columns: Sequence[str] | None = None, most: int = 9, axes: Any = None
) -> Any:
    """Draw what the model believes of each column, class by class, the most telling columns first.

    Parameters
    ----------
    model : Model, estimator or sequence of ColumnPicture
    data : table, Rows or (X, y), optional
        Rows whose histograms are drawn behind the curves.
    columns : sequence of str, optional
        Only these columns.
    most : int
        Columns to draw.
    axes : array of Axes, optional
        As many as there are to be pictures.

    Returns
    -------
    ndarray of Axes
    """
    found = (
        [p for p in model if isinstance(p, pictures.ColumnPicture)]
        if isinstance(model, (list, tuple))
        else [p for p in pictures.column_pictures(model, data, columns) if p.kind != "pair"]
    )[:most]
    if not found:
        raise DataError("there is no column to draw")
    if axes is None:
        wide = min(3, len(found))
        rows = -(-len(found) // wide)
        figure = _pyplot().figure(figsize=(3.4 * wide, 2.4 * rows), layout="constrained")
        axes = figure.subplots(rows, wide, squeeze=False)
        for spare in axes.ravel()[len(found) :]:
            spare.remove()
    flat = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()[: len(found)]
    if len(flat) < len(found):
        raise DataError(f"{len(found)} pictures need as many axes, got {len(flat)}; use most={len(flat)}")
    for i, (ax, picture) in enumerate(zip(flat, found, strict=True)):
        (_curves if isinstance(picture.shape, Curves) else _bars)(ax, picture)
        ax.set_title(f"{_short(picture.column, 28)}\n{picture.information:.2f} nats", fontsize="medium")
        if i == 0:
            ax.legend(fontsize="small", frameon=False)
    return flat


def _curves(ax: Axes, picture: pictures.ColumnPicture) -> None:
    curves = picture.shape
    assert isinstance(curves, Curves)
    for k, label in enumerate(picture.classes):
        colour, style = _colour(k), STYLES[k // len(_cycle()) % len(STYLES)]
        if curves.histogram is not None:
            ax.stairs(curves.histogram[1][k], curves.histogram[0], fill=True, color=colour, alpha=0.18)
        if curves.stepped:
            ax.stairs(curves.density[k], curves.points, color=colour, linewidth=LINE, linestyle=style, label=str(label))
        else:
            ax.plot(curves.points, curves.density[k], style, color=colour, linewidth=LINE, label=str(label))
        if curves.spike is not None:
            ax.annotate(
                f"zero: {curves.spike[k]:.0%}", (0.98, 0.95 - 0.1 * k), xycoords="axes fraction", ha="right", va="top",
                color=colour, fontsize="small",
            )  # fmt: skip
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    _clear(ax, "left")


def _bars(ax: Axes, picture: pictures.ColumnPicture) -> None:
    assert isinstance(picture.shape, Bars)
    bars, n_classes = picture.shape.most_telling(picture.prior, 8), len(picture.classes)
    at = np.arange(len(bars.levels))
    height = 0.8 / n_classes
    for k, label in enumerate(picture.classes):
        offset = (k - (n_classes - 1) / 2) * height
        ax.barh(at + offset, bars.chance[k], height=height * 0.92, color=_colour(k), label=str(label))
    ax.set_yticks(at, [_short(level, 16) for level in bars.levels])
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:.2g}" if bars.words else f"{x:.0%}")
    _clear(ax)


def evidence(
    model: Any, row: Any = None, *, against: Level | None = None, most: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw one prediction from the prior to the posterior, what each column adds in log odds.

    Parameters
    ----------
    model : Model, estimator or Explanation
    row : mapping of column to value, or a table of one row
        Not needed where an `Explanation` is given.
    against : class, optional
        The class to compare with; the runner-up if not given.
    most : int
        Steps to draw; the weakest ones are put together.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    told = model if isinstance(model, Explanation) else _explained(model, row, against)
    ax = _axes(ax, (6.4, 0.36 * min(most, len(told.evidence)) + 1.5))
    steps = [("prior", told.prior)]
    heard = [(f"{e.column} = {_short(shown(e.value), 18)}", e.log_odds) for e in told.evidence if e.log_odds]
    steps += heard[:most]
    if heard[most:]:
        steps.append((f"{len(heard) - most} others", math.fsum(odds for _, odds in heard[most:])))
    finite = [odds for _, odds in steps if math.isfinite(odds)]
    edge = 1.3 * (sum(map(abs, finite)) or 1.0)  # where an impossible value is drawn to
    at, room = 0.0, 0.0
    for i, (_, odds) in enumerate(steps):
        odds = max(-edge, min(edge, odds))
        ax.barh(i, odds, left=at, height=0.62, color=FOR if odds > 0 else AGAINST)
        if i + 1 < len(steps):
            ax.plot([at + odds] * 2, [i - 0.31, i + 1.31], color=_ink(), linewidth=0.6, alpha=0.5)
        at, room = at + odds, max(room, abs(at), abs(at + odds))
    for i, (_, odds) in enumerate(steps):
        ax.annotate(_signed(odds), (1.01, i), xycoords=("axes fraction", "data"), va="center", fontsize="small")
    ax.axvline(0.0, color=_ink(), linewidth=0.8)
    ax.set_yticks(range(len(steps)), [name for name, _ in steps])
    ax.set_xlim(*_padded(ax.get_xlim()))
    ax.invert_yaxis()
    ax.set_xlabel(f"log odds of {told.label} against {told.against}")
    ax.set_title(f"P({_short(told.label, 20)}) {_chance(told.posterior[told.label])}, log odds {_signed(told.total)}")
    _clear(ax)
    return ax


def nomogram(
    model: Any,
    label: Level | None = None,
    against: Level | None = None,
    *,
    most: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the model as a chart to be read with a ruler (Možina et al. 2004).

    The value of each column is looked up on its line, the points above it are added up, and the two lines at the
    bottom turn the sum into a probability.

    Parameters
    ----------
    model : Model, estimator or Nomogram
    label, against : class, optional
        What the points speak for and against; the last class and the commonest other one if not given.
    most : int
        Columns to draw.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    chart = model if isinstance(model, Nomogram) else pictures.nomogram(model, label, against, most)
    ax, ink = _axes(ax, (8.6, 0.62 * len(chart.lines) + 2.4)), _ink()
    reach = 110.0
    ax.hlines(0, -100, 100, color=ink, linewidth=1.0)
    for mark in range(-100, 101, 20):
        ax.vlines(mark, -0.12, 0.0, color=ink, linewidth=0.8)
        ax.text(mark, -0.2, f"{mark:+d}" if mark else "0", ha="center", va="bottom", fontsize="small")
    names = ["points"]
    for i, line in enumerate(chart.lines, start=1):
        names.append(_short(line.column, 24))
        points = [max(-reach, min(reach, chart.points(odds))) for odds in line.log_odds]
        ax.hlines(i, min(points), max(points), color=COLOURS[0], linewidth=2.0)
        _marks(ax, i, points, line.values)
    low, high = _sum_reach(chart)
    total, scale = len(chart.lines) + 1.4, len(chart.lines) + 2.6
    names += ["sum of points", f"P({_short(chart.label, 18)})"]

    def across(points: float) -> float:
        return -100.0 + 200.0 * (points - low) / (high - low)

    for at in (total, scale):
        ax.hlines(at, -100, 100, color=ink, linewidth=1.0)
    for tick in round_numbers(low, high, 13):
        ax.vlines(across(tick), total - 0.12, total, color=ink, linewidth=0.8)
        ax.text(across(tick), total - 0.18, f"{tick:+.0f}", ha="center", va="bottom", fontsize="small")
    for p in SCALE:
        if -100 <= across(chart.sum_for(p)) <= 100:
            ax.vlines(across(chart.sum_for(p)), scale, scale + 0.12, color=ink, linewidth=0.8)
            ax.text(across(chart.sum_for(p)), scale + 0.18, f"{p:g}", ha="center", va="top", fontsize="small")
    ax.set_yticks([0, *range(1, len(chart.lines) + 1), total, scale], names)
    ax.set_ylim(scale + 0.8, -0.8)
    ax.set_xlim(-reach - 4, reach + 4)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.set_title(f"{chart.label} rather than {chart.against}")
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


def _marks(ax: Axes, at: float, points: list[float], values: Sequence[str]) -> None:
    """The values of a line, above and below in turn where they lie close."""
    order, last = sorted(range(len(points)), key=lambda i: points[i]), {True: -math.inf, False: -math.inf}
    for i in order:
        x, text = points[i], _short(values[i], 14)
        half = 1.1 * len(text) + 1.0
        above = x - half > last[True] or last[True] <= last[False]
        ax.vlines(x, at - 0.1, at + 0.1, color=COLOURS[0], linewidth=1.2)
        if x - half < last[above]:
            continue  # no room for its name
        last[above] = x + half
        ax.text(x, at - 0.16 if above else at + 0.16, text, ha="center", va="bottom" if above else "top", fontsize=8)


def _sum_reach(chart: Nomogram) -> tuple[float, float]:
    """From where to where sums of points go, rounded."""
    lines = [[chart.points(o) for o in line.log_odds if math.isfinite(o)] for line in chart.lines]
    low, high = sum(min(p) for p in lines if p), sum(max(p) for p in lines if p)
    low, high = max(low, chart.sum_for(SCALE[0])), min(high, chart.sum_for(SCALE[-1]))
    middle = chart.sum_for(0.5)
    low, high = min(low, middle - 20), max(high, middle + 20)
    return 10 * math.floor(low / 10), 10 * math.ceil(high / 10)


def decision_boundary(
    model: Any, columns: tuple[str, str] | None = None, *, data: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw which class is likeliest, and how likely, over two columns of numbers; all other columns are unknown.

    Where the log odds of two classes are linear the separating line is drawn with its w and b, and where the columns
    are normal each class has ellipses of one and two standard deviations.

    Parameters
    ----------
    model : Model, estimator or Boundary
    columns : two column names, optional
        The two most telling numbers if not given.
    data : Rows or (X, y), optional
        Rows to draw as points.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    found = model if isinstance(model, Boundary) else pictures.boundary(model, columns, data)
    ax = _axes(ax, (5.6, 4.6))
    _pyplot()
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Ellipse

    best, certain = found.posterior.argmax(axis=2), found.posterior.max(axis=2)
    colours = np.array([to_rgb(_colour(k)) for k in range(len(found.classes))])
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
            ax.contour(found.x, found.y, ahead, levels=[0.0], colors=_ink(), linewidths=1.0)
    rows = None if data is None else rows_with_labels(model, data)
    if rows is not None and not isinstance(model, Boundary):
        _points(ax, model_of(model), rows, found)
    if found.mean is not None and found.covariance is not None:
        for k, (mean, covariance) in enumerate(zip(found.mean, found.covariance, strict=True)):
            value, vector = np.linalg.eigh(covariance)
            angle = math.degrees(math.atan2(vector[1, 1], vector[0, 1]))
            for n in (1, 2):
                wide, high = 2 * n * np.sqrt(value[::-1])
                shape = {"facecolor": "none", "edgecolor": _colour(k), "linewidth": LINE if n == 1 else 1.0}
                ax.add_patch(Ellipse(tuple(mean), wide, high, angle=angle, **shape))
    if found.line is not None:
        _line(ax, found)
    for k, label in enumerate(found.classes):
        ax.plot([], [], "s", color=_colour(k), label=str(label))
    ax.set(xlabel=found.columns[0], ylabel=found.columns[1], xlim=extent[:2], ylim=extent[2:])
    ax.legend(fontsize="small", framealpha=0.8)
    return ax


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
        ax.scatter(
            x[mine], y[mine], s=14, color=_colour(k), marker=marks[k % len(marks)], linewidths=0.4, edgecolors=_ink()
        )
        if codes is None:
            break


def _line(ax: Axes, found: Boundary) -> None:
    assert found.line is not None
    (w0, w1), b = found.line
    if abs(w1) > 1e-12 * abs(w0):
        x = np.array([found.x[0], found.x[-1]])
        ax.plot(x, -(w0 * x + b) / w1, color=_ink(), linewidth=LINE)
    else:
        ax.axvline(-b / w0, color=_ink(), linewidth=LINE)
    ax.set_title(f"w = ({w0:.3g}, {w1:.3g}), b = {b:.3g}", fontsize="medium")


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
    judged, ax = _judged(model, data), _axes(ax, (4.6, 4.4))
    x, y = ([getattr(b, field) for b in judged.reliability] for field in ("confidence", "accuracy"))
    share = np.array([b.weight for b in judged.reliability]) / judged.weight
    ax.plot([0, 1], [0, 1], color=_ink(), linewidth=0.8, linestyle="--", alpha=0.6)
    ax.plot(x, y, color=_colour(0), linewidth=LINE, zorder=2)
    ax.scatter(x, y, s=18 + 260 * share, color=_colour(0), edgecolors=_ground(), zorder=3)
    low = max(0.0, min([*x, *y, 1.0 / len(judged.classes)]) - 0.05)
    ax.set(xlim=(low, 1.02), ylim=(low, 1.02), xlabel="mean confidence", ylabel="share that is right")
    ax.set_title(f"{judged.method}: calibration error {judged.ece:.3f}", fontsize="medium")
    _clear(ax)
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
    table, labels = judged.confusion[np.ix_(kept, kept)], [_short(judged.classes[k], 14) for k in kept]
    total = judged.support[kept][:, None]
    share = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    ax = _axes(ax, (1.2 + 0.62 * len(kept) + 1.2, 1.2 + 0.5 * len(kept) + 0.6))
    _pyplot()
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("share", [_ground(), FOR])
    ax.imshow(share, cmap=shades, vmin=0.0, vmax=1.0)
    for (i, j), value in np.ndenumerate(table):
        if value or i == j:
            ink = "white" if share[i, j] > 0.5 else _ink()
            ax.text(j, i, f"{value:,.4g}", ha="center", va="center", color=ink, fontsize="small")
    ax.set_xticks(range(len(kept)), labels, rotation=45 if max(map(len, labels)) > 6 else 0, ha="center")
    ax.set_yticks(range(len(kept)), labels)
    ax.set(xlabel="predicted", ylabel="true")
    ax.set_title(f"{judged.method}: accuracy {float(judged.accuracy):.3f}", fontsize="medium")
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


def learning_curve(model: Any, data: Any = None, *, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw how good the model is after so many rows; tallies are merged, nothing is refitted.

    Parameters
    ----------
    model : Model, estimator or LearningCurve
    data : Rows or (X, y), optional
        Labelled rows; not needed with a `LearningCurve`.
    ax : Axes, optional
    **options
        ``test``, ``sizes`` and ``seed`` of `pictures.learning_curve`.

    Returns
    -------
    Axes
    """
    curve = model if isinstance(model, LearningCurve) else pictures.learning_curve(model, data, **options)
    ax = _axes(ax, (5.6, 3.8))
    low, high = ([getattr(e.accuracy, side) for e in curve.evaluations] for side in ("low", "high"))
    ax.fill_between(curve.n_rows, low, high, color=_colour(0), alpha=0.15, linewidth=0)
    ax.plot(curve.n_rows, curve.accuracy, "o-", color=_colour(0), linewidth=LINE, markersize=4)
    baseline = curve.evaluations[-1].baseline_accuracy
    ax.axhline(baseline, color=_ink(), linewidth=0.8, linestyle="--", alpha=0.6)
    ax.annotate("always the commonest class", (0.99, baseline), xycoords=("axes fraction", "data"), ha="right",
                va="bottom", fontsize="small")  # fmt: skip
    ax.set_xscale("log")
    ax.set(xlabel="rows learned", ylabel=f"accuracy on {curve.n_held_out:,} rows held out")
    _clear(ax)
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
    path = model if isinstance(model, EMPath) else pictures.em_path(model)
    ax, steps = _axes(ax, (5.6, 3.6)), np.arange(1, len(path.log_likelihood) + 1)
    ax.plot(steps, path.log_likelihood, "o-", color=_colour(0), linewidth=LINE, markersize=4)
    ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    ax.set(xlabel="step", ylabel="penalised log likelihood")
    ax.set_title("converged" if path.converged else "not converged", fontsize="medium")
    _clear(ax)
    return ax


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
    sweep = model if isinstance(model, PriorSweep) else pictures.prior_sweep(model, row, label)
    ax = _axes(ax, (5.2, 3.8))
    for k, each in enumerate(sweep.classes):
        wide = 1.4 * LINE if each == sweep.label else 0.7 * LINE
        style = STYLES[k // len(_cycle()) % len(STYLES)]
        ax.plot(sweep.prior, sweep.posterior[:, k], style, color=_colour(k), linewidth=wide, label=str(each))
    k = sweep.classes.index(sweep.label)
    ax.plot([sweep.learned], [sweep.found], "o", color=_colour(k), markeredgecolor=_ink(), zorder=3)
    ax.axvline(sweep.learned, color=_ink(), linewidth=0.8, linestyle="--", alpha=0.6)
    ax.set(xlabel=f"prior of {sweep.label}", ylabel="posterior", xlim=(0, 1), ylim=(-0.02, 1.02))
    ax.set_title(
        f"learned {sweep.learned:.3g}, P({_short(sweep.label, 20)} | row) {_chance(sweep.found)}", fontsize="medium"
    )
    ax.legend(fontsize="small", frameon=False)
    _clear(ax)
    return ax


# ------------------------------------------------------------------------------------------ what they share


def _pyplot() -> Any:
    needs("matplotlib", "plot")
    import matplotlib.pyplot as plt

    return plt


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    return _pyplot().figure(figsize=size, layout="constrained").subplots()


def _cycle() -> Sequence[str]:
    """The colours of the user's style, or those of this package where the style is matplotlib's own."""
    _pyplot()
    import matplotlib as mpl

    cycle = mpl.rcParams["axes.prop_cycle"].by_key().get("color", [])
    plain = mpl.rcParamsDefault["axes.prop_cycle"].by_key().get("color", [])
    dark = mpl.style.library["dark_background"]["axes.prop_cycle"].by_key().get("color", [])
    return COLOURS if not cycle or cycle in (plain, dark) else cycle


def _colour(k: int) -> str:
    cycle = _cycle()
    return cycle[k % len(cycle)]


def _ink() -> str:
    import matplotlib as mpl

    return str(mpl.rcParams["text.color"])


def _ground() -> str:
    import matplotlib as mpl

    return str(mpl.rcParams["axes.facecolor"])


def _clear(ax: Axes, *more: str) -> None:
    """Leave out lines that say nothing."""
    for side in ("top", "right", *more):
        ax.spines[side].set_visible(False)


def _padded(limits: tuple[float, float]) -> tuple[float, float]:
    room = 0.03 * (limits[1] - limits[0])
    return limits[0] - room, limits[1] + room


def _chance(p: float) -> str:
    """A probability, never rounded to certainty."""
    return "> 0.999" if 0.999 < p < 1 else f"= {p:.3g}"


def _signed(odds: float) -> str:
    return f"{odds:+.2f}" if math.isfinite(odds) else ("+∞" if odds > 0 else "−∞")


def _short(text: Any, most: int) -> str:
    """A name in so many letters; a dollar sign would be read as mathematics."""
    named = str(text)
    named = named if len(named) <= most else named[: most - 1] + "…"
    return named.replace("$", r"\$")


def _explained(model: Any, row: Any, against: Level | None) -> Explanation:
    if row is None:
        raise DataError("the evidence is that of one row: pass it, or an Explanation")
    if hasattr(model, "explain"):
        told: Explanation = model.explain(row, against)
        return told
    core = model_of(model)
    single = [row] if isinstance(row, dict) else row
    rows = rows_of(core, single)
    return explain(core, rows, getattr(rows, "table").row(0), against)  # noqa: B009


def _judged(model: Any, data: Any) -> Evaluation:
    if isinstance(model, Evaluation):
        return model
    if data is None:
        raise DataError("pass the rows that the model learned, or an Evaluation")
    return _leave_one_out(model_of(model), rows_with_labels(model, data))
