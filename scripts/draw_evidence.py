"""Draw what copies of one column do to a posterior as docs/explanation/double-counting.png; needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tallybayes import NaiveBayes

TEXTBOOK, WEIGHTED = "#34495e", "#c0392b"


def copies(values: Any, n: int) -> dict[str, Any]:
    return {f"copy {j}": values for j in range(n)}


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    ill = rng.random(2000) < 0.5
    reading, label = rng.normal(ill), np.where(ill, "ill", "well")
    grid, numbers = np.linspace(-3.0, 4.0, 200), range(1, 9)
    figure = Figure(figsize=(8.4, 3.6), dpi=150, facecolor="white", layout="constrained")
    curves, losses = figure.subplots(1, 2)
    curves.plot(grid, 1.0 / (1.0 + np.exp(0.5 - grid)), color="#bbbbbb", linewidth=6, label="the truth")
    found: dict[bool, list[float]] = {True: [], False: []}
    for n in numbers:
        for classical in (True, False):
            model = NaiveBayes(classical=classical, max_pairs=0).fit(copies(reading, n), label)
            found[classical].append(float(model.evaluate(copies(reading, n), label).log_loss))
            if n in (1, 2, 4) and (classical or n == 4):
                name = f"textbook, {n} cop{'y' if n == 1 else 'ies'}" if classical else "weighted, 4 copies"
                colour, style = (TEXTBOOK, {1: ":", 2: "--", 4: "-"}[n]) if classical else (WEIGHTED, "-")
                curves.plot(grid, model.predict_proba(copies(grid, n))[:, 0], style, color=colour, label=name)
    curves.set(xlabel="reading", ylabel="P(ill | reading)", title="The same reading, once or more often")
    losses.plot(numbers, found[True], "o-", color=TEXTBOOK, label="textbook")
    losses.plot(numbers, found[False], "o-", color=WEIGHTED, label="weighted")
    losses.axhline(np.log(2), color="#bbbbbb", linestyle="--", label="knowing nothing")
    losses.set(xlabel="copies of the column", ylabel="log loss, leave-one-out", title="What it costs", ylim=(0, None))
    for axes in (curves, losses):
        axes.legend(frameon=False, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path("docs/explanation/double-counting.png"))
