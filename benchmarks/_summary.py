"""Means of scores over tables with their intervals, ranks, and the tables on which a contestant loses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks._scores import FIGURES, Found, Scores

LARGER = 500  # rows of a table from which on its calibration error is more than noise
POINTS = 0.005  # a loss of accuracy on one table that counts
MARKS = {"accuracy": (0.904, -1), "log loss": (0.238, 1), "ECE": (0.020, 1)}  # of the default; sign 1: at most
BOOTSTRAP = 10_000  # samples of the tables


def line(table: str, contestant: str, figures: Any, note: str = "") -> str:
    return f"{table:<24} {contestant:<33}" + "".join(f"{figure:10.4f}" for figure in figures) + note


def interval(values: Any, seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of a mean: the tables are drawn again with replacement."""
    values = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(seed).integers(len(values), size=(BOOTSTRAP, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def print_means(names: list[str], found: Found, ours: str) -> None:
    """Means of each contestant over the tables that it has, and those of ours minus its own over the same tables."""
    for contestant, of in found.items():
        mine = [of[name].figures for name in names if name in of]
        print(line(f"mean of {len(mine)}", contestant, np.mean(mine, axis=0)))
    print(f"\n{f'{ours} minus':<33}{'tables':>8}" + "".join(f"{f + ' (95 % interval)':>34}" for f in FIGURES[:3]))
    for contestant, of in found.items():
        common = [name for name in names if name in of and name in found[ours]]
        if contestant == ours or not common:
            continue
        gaps = np.array([np.subtract(found[ours][name].figures, of[name].figures) for name in common])
        cells = [
            f"{gap.mean():+.4f} ({low:+.4f} to {high:+.4f})" for gap in gaps.T[:3] for low, high in [interval(gap)]
        ]
        print(f"{contestant:<33}{len(common):8}" + "".join(f"{cell:>34}" for cell in cells))


def print_marks(names: list[str], found: Found, ours: str) -> None:
    """The marks that the means of the default have to meet; they mean nothing over a few tables."""
    mean = np.mean([found[ours][name].figures for name in names], axis=0)
    print(f"\n# {ours}, means of {len(names)} tables (bootstrap over tables)")
    for figure, (mark, sign) in MARKS.items():
        value, sort = mean[FIGURES.index(figure)], "≤" if sign > 0 else "≥"
        met = "met" if sign * value <= sign * mark else "missed"
        low, high = interval([found[ours][name].figures[FIGURES.index(figure)] for name in names])
        print(f"# {figure} {value:.4f} ({low:.4f} to {high:.4f}), mark {sort} {mark}: {met}")
    below = [peer for peer, of in found.items() if peer != ours and _gap(names, found[ours], of, 1) > 0]
    print(f"# log loss above that of: {', '.join(below) or 'none'} (over the tables that both have)")


def _gap(names: list[str], ours: dict[str, Scores], theirs: dict[str, Scores], figure: int) -> float:
    both = [name for name in names if name in ours and name in theirs]
    return float(np.mean([ours[name].figures[figure] - theirs[name].figures[figure] for name in both] or [0.0]))


def print_ranks(names: list[str], found: Found) -> None:
    """Mean ranks over the tables that all contestants have, and the calibration error of the larger tables."""
    common = [name for name in names if all(name in of for of in found.values())]
    if not common:
        print("\n# no ranks: there is no table that all contestants have")
        return
    figures = np.array([[of[name].figures for name in common] for of in found.values()])  # (contestant, table, figure)
    ranks = [rankdata(sign * figures[:, :, f], axis=0) for f, sign in ((0, -1), (1, 1))]
    larger = [next(iter(found.values()))[name].n_rows >= LARGER for name in common]
    of_folds = np.array([[of[name].ece_of_folds for name in common] for of in found.values()])
    titles = ("rank by accuracy", "by log loss", f"ECE, >= {LARGER} rows", "of its folds")
    print(f"\n{f'mean of {len(common)} tables (standard error)':<36}" + "".join(f"{title:>20}" for title in titles))
    for i, contestant in enumerate(found):
        cells = [f"{rank[i].mean():.2f} ({rank[i].std() / np.sqrt(len(common)):.2f})" for rank in ranks]
        ece = (figures[i, larger, 2].mean(), of_folds[i, larger].mean()) if any(larger) else (np.nan, np.nan)
        print(f"{contestant:<36}" + "".join(f"{cell:>20}" for cell in cells) + f"{ece[0]:20.4f}{ece[1]:20.4f}")


def losses(names: list[str], ours: dict[str, Scores], theirs: dict[str, Scores]) -> list[str]:
    """Tables on which ours is more than half a point of accuracy below, with the standard error of the difference.

    It is that of the paired difference where both were tested on the same rows.
    """
    worse = []
    for name in names:
        mine, other = ours[name].right.astype(float), theirs[name].right.astype(float)
        gap = other.mean() - mine.mean()
        paired = len(mine) == len(other)
        variance = (other - mine).var() / len(mine) if paired else mine.var() / len(mine) + other.var() / len(other)
        if gap > POINTS:
            worse.append(f"{name} ({100 * gap:.1f} points, standard error {100 * np.sqrt(variance):.1f})")
    return worse


def draw(figures: dict[str, Any], picture: Path, ours: str) -> None:
    """Accuracy and log loss (tables, figures) of each contestant: a dot for each table, and the means."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("# no picture: it needs matplotlib")
        return
    figure = Figure(figsize=(8.4, 1.0 + 0.36 * len(figures)), dpi=150, facecolor="white", layout="constrained")
    titles = ("accuracy (more is better)", "log loss (less is better)")
    for f, (axes, title) in enumerate(zip(figure.subplots(1, 2, sharey=True), titles, strict=True)):
        for place, (contestant, of) in enumerate(figures.items()):
            values, colour = np.asarray(of)[:, f], "#c0392b" if contestant == ours else "#34495e"
            axes.scatter(
                np.maximum(values, 0.01), np.full(len(values), place), s=14, color=colour, alpha=0.3, linewidths=0
            )
            axes.scatter(values.mean(), place, s=120, marker="|", color=colour, linewidths=2.5)
            axes.annotate(f"{values.mean():.3f}", (values.mean(), place - 0.22), ha="center", fontsize=8, color=colour)
        axes.set(xlabel=title, ylim=(len(figures) - 0.6, -0.6))
        axes.set_yticks(range(len(figures)), list(figures), fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    axes.set_xscale("log")
    axes.set_xticks([0.01, 0.1, 1.0], ["≤ 0.01", "0.1", "1"])
    figure.savefig(picture)
    print(f"# {picture}")
