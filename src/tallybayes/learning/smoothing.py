"""The pseudocount, and the length that documents are brought to, chosen by exact leave-one-out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Rows, every_nth
from tallybayes.core.model import Model
from tallybayes.core.tally import count
from tallybayes.errors import DataError

MOST_ROWS = 50_000  # rows that are left out in turn; the tally is always that of all rows
LENGTHS = (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, None)  # of documents; None leaves them as they are
IMPOSSIBLE = -700.0  # log probability of the impossible: a single such row must not decide
EXPONENTS = np.linspace(-6.0, 3.0, 10)  # alpha is searched between 1e-6 and 1e3


def with_alpha(model: Model, block: str, alpha: float) -> Model:
    """The same tally read with another pseudocount in one block."""
    family: Any = model.settings.families[block]
    families = {**model.settings.families, block: replace(family, alpha=alpha)}
    return replace(model, settings=replace(model.settings, families=families))


def _comparable(model: Model, rows: Rows) -> tuple[NDArray[np.bool_], NDArray[np.int32], Array]:
    """Which rows have others of their class, and the class and weight of each row."""
    if rows.labels is None or rows.labels.codes is None:
        raise DataError("leave-one-out needs the label of each row")
    codes, weight = rows.labels.codes, rows.labels.weight
    # The only row of its class cannot be predicted from the others, whatever the smoothing.
    return model.tally.class_weight[codes] - weight > 1e-9 * weight, codes, weight


def best_alpha(model: Model, block: str, batch: Rows, n_jobs: int | None = None) -> float:
    """Return the pseudocount that makes the labels of held-out rows likeliest.

    Maximises Σ_n w_n log P(y_n | x_n, all rows but n): a grid over powers of ten first, then between the neighbours
    of the best. Of large batches a subsample of at most 50,000 rows is used; every row stays in the tally.

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

    rows = every_nth(batch, MOST_ROWS)
    counted, codes, weight = _comparable(model, rows)
    if not counted.any():
        return 1.0

    def loss(exponent: float) -> float:
        log_posterior = with_alpha(model, block, 10.0**exponent).leave_one_out(rows, n_jobs)
        own = log_posterior[np.arange(rows.n_rows), codes]
        # A weak pull towards 1 (a decade counts little) where the rows do not care, as when they are separable.
        return 0.5 * (exponent / 2.0) ** 2 - float((weight[counted] * own[counted]).sum())

    losses = [loss(exponent) for exponent in EXPONENTS]
    best = int(np.argmin(losses))
    bounds = EXPONENTS[max(best - 1, 0)], EXPONENTS[min(best + 1, len(EXPONENTS) - 1)]
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.02})
    return float(10.0 ** (found.x if found.fun < losses[best] else EXPONENTS[best]))


def best_document_length(
    model: Model, block: str, batch: Rows, n_jobs: int | None = None
) -> tuple[float | None, Model]:
    """Return the length that makes the labels of held-out documents likeliest, and the model of that length.

    Words of a document depend on each other, so the posterior of a long document is too close to 0 or 1. Scaled to a
    few words, it is about as confident as it is right. None leaves the counts as they are.

    Parameters
    ----------
    model : Model
        A model that has learned the batch.
    block : str
        The block whose family has the ``document_length``.
    batch : Rows
        Labelled rows.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    length : float or None
    model : Model
    """
    rows = every_nth(batch, MOST_ROWS)
    _, codes, weight = _comparable(model, rows)
    own = np.arange(rows.n_rows), codes

    def of_length(length: float | None) -> Model:
        family: Any = model.settings.families[block]
        families = {**model.settings.families, block: replace(family, document_length=length)}
        return Model(replace(model.settings, families=families), count(batch, families, n_jobs))

    def loss(candidate: Model) -> float:
        return -float((weight * np.maximum(candidate.leave_one_out(rows, n_jobs)[own], IMPOSSIBLE)).sum())

    candidates = [of_length(length) for length in LENGTHS]
    best = int(np.argmin([loss(candidate) for candidate in candidates]))
    return LENGTHS[best], candidates[best]
