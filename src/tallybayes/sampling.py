"""New rows like those that were learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.batch import Array
from tallybayes.model import Model


def sampled(
    model: Model, n: int, rng: np.random.Generator, missing: bool = False
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Draw rows as columns of values, and the class code of each.

    Parameters
    ----------
    model : Model
    n : int
        Number of rows.
    rng : numpy.random.Generator
    missing : bool
        Leave cells empty as often as they were in training.

    Returns
    -------
    columns : dict of str to ndarray
        In the order of the schema; ignored columns are left out.
    codes : ndarray of shape (n,)
    """
    drawn, codes = model.sample(n, rng)
    columns: dict[str, NDArray[Any]] = {}
    for name, block in model.tally.blocks.items():
        matrix: Any = getattr(drawn[name], "matrix", drawn[name])
        for j, p in enumerate(block.columns):
            column = model.schema.columns[p]
            values = matrix[:, j]
            if column.levels is not None:
                values = np.array(column.levels, dtype=object)[values]
            if missing:
                share = _share_present(model, name, j)
                hole: Any = np.nan if column.levels is None else None
                values = np.where(rng.random(n) < share[codes], values, hole)
            columns[column.name] = values
    return {c.name: columns[c.name] for c in model.schema.columns if c.name in columns}, codes


def _share_present(model: Model, block: str, column: int) -> Array:
    """Share of the rows of each class (K,) in which a column has a value."""
    weight = model.tally.blocks[block].summary.arrays()["weight"]
    seen = weight[:, min(column, weight.shape[1] - 1)]
    total = model.tally.class_weight
    return np.divide(seen, total, out=np.zeros_like(total), where=total > 0)
