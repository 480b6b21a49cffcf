"""What wrong decisions cost, and the decision that costs least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.schema import Level
from tallybayes.errors import SettingError


def cost_matrix(costs: Any, classes: Sequence[Level]) -> Array:
    """The cost (K, K) of each true class (first axis) and prediction.

    Parameters
    ----------
    costs : mapping or array-like of shape (K, K)
        ``{(true, predicted): cost}``; pairs that are not named cost nothing. An array has the classes in their order.
    classes : sequence
        Class labels.

    Examples
    --------
    >>> cost_matrix({("bad", "good"): 5, ("good", "bad"): 1}, ["bad", "good"])
    array([[0., 5.],
           [1., 0.]])
    """
    n_classes = len(classes)
    if isinstance(costs, Mapping):
        matrix, place = np.zeros((n_classes, n_classes)), {label: k for k, label in enumerate(classes)}
        for pair, cost in costs.items():
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(label in place for label in pair)):
                raise SettingError(
                    f"costs must be {{(true, predicted): cost}} of the classes {list(classes)}, not {pair!r}"
                )
            matrix[place[pair[0]], place[pair[1]]] = _number(cost)
    else:
        matrix = np.asarray(costs, dtype=np.float64)
    if matrix.shape != (n_classes, n_classes) or not np.isfinite(matrix).all():
        raise SettingError(f"costs must be finite numbers, {n_classes} rows (true) of {n_classes} (predicted)")
    if not (matrix > matrix.diagonal()[:, None]).any():
        raise SettingError("costs must make some wrong prediction more costly than the right one")
    return matrix


def cheapest(posterior: Array, costs: Array) -> NDArray[np.intp]:
    """The class (n,) whose prediction is expected to cost least, Σ_k P(k | x)·cost(k, ·); or the likelier of equals."""
    expected = posterior @ costs
    best = expected.argmin(axis=1)[:, None]
    rounding = 1e-12 * np.take_along_axis(posterior @ np.abs(costs), best, axis=1)  # of what was summed, and no more
    tied = expected <= np.take_along_axis(expected, best, axis=1) + rounding
    return np.asarray(np.where(tied, posterior, -1.0).argmax(axis=1), dtype=np.intp)


def _number(cost: Any) -> float:
    try:
        return float(cost)
    except (TypeError, ValueError, OverflowError):
        raise SettingError(f"a cost must be a number, not {cost!r:.40}") from None
