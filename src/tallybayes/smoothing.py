"""The pseudocount, chosen by exact leave-one-out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.batch import Rows
from tallybayes.errors import DataError
from tallybayes.model import Model

MOST_ROWS = 50_000  # rows that are left out in turn; the tally is always that of all rows
EXPONENTS = np.linspace(-6.0, 3.0, 10)  # alpha is looked for between 1e-6 and 1e3


def with_alpha(model: Model, block: str, alpha: float) -> Model:
    """The same tally read with another pseudocount in one block."""
    family: Any = model.settings.families[block]
    families = {**model.settings.families, block: replace(family, alpha=alpha)}
    return replace(model, settings=replace(model.settings, families=families))


def best_alpha(model: Model, block: str, batch: Rows, n_jobs: int | None = None) -> float:
    """Return the pseudocount that makes the labels of left-out rows likeliest.

    Maximises Σ_n w_n log P(y_n | x_n, all rows but n): a grid over powers of ten first, then between the neighbours
    of the best. Large batches are thinned to at most 50,000 rows, evenly spread; every row stays in the tally.

    Parameters
    ----------
    model : Model
        A model that has learned the batch.
    block : str
        The block whose family has the ``alpha``.
    batch : Rows
        Labelled rows.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    float
    """
    from scipy.optimize import minimize_scalar  # slow to import and seldom needed

    step = max(1, -(-batch.n_rows // MOST_ROWS))
    rows = batch if step == 1 else batch.take(np.arange(0, batch.n_rows, step))
    if rows.labels is None or rows.labels.codes is None:
        raise DataError("the choice of alpha needs the label of each row")
    codes, weight = rows.labels.codes, rows.labels.weight
    # The only row of its class cannot be foretold from the others, whatever the smoothing.
    judged = model.tally.class_weight[codes] - weight > 1e-9 * weight
    if not judged.any():
        return 1.0

    def loss(exponent: float) -> float:
        log_posterior = with_alpha(model, block, 10.0**exponent).leave_one_out(rows, n_jobs)
        own = log_posterior[np.arange(rows.n_rows), codes]
        # A weak pull towards 1 (a decade counts little) where the rows do not care, as when they are separable.
        return 0.5 * (exponent / 2.0) ** 2 - float((weight[judged] * own[judged]).sum())

    losses = [loss(exponent) for exponent in EXPONENTS]
    best = int(np.argmin(losses))
    bounds = EXPONENTS[max(best - 1, 0)], EXPONENTS[min(best + 1, len(EXPONENTS) - 1)]
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.02})
    return float(10.0 ** (found.x if found.fun < losses[best] else EXPONENTS[best]))
