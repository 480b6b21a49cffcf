"""Descent of a smooth convex function of many variables, some of which have a least value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tallybayes.core.batch import Array

MEMORY = 8  # pairs of steps and changes of the slope that stand for the curvature (Nocedal, 1980)
TOLERANCE = 1e-4  # of the value: less than any noise
MOST_CUTS = 12  # of a step that gains nothing

Objective = Callable[[Array], tuple[float, Array]]


def minimised(objective: Objective, start: Array, curvature: Array, least: Array, steps: int) -> Array:
    """Return where a function is smallest, after so many steps at most.

    L-BFGS that begins with the curvature of each variable, so that frequent words and rare ones take steps of their
    own size. Variables that are at their least value and would fall stay there.

    Parameters
    ----------
    objective : callable
        The value and the slope at a place.
    start : ndarray
    curvature : ndarray
        Second derivatives, about.
    least : ndarray
        The least value of each variable.
    steps : int

    Returns
    -------
    ndarray
    """
    at, (value, slope) = start, objective(start)
    memory: list[tuple[Array, Array, float]] = []
    for _ in range(steps):
        free = (at > least) | (slope < 0)
        direction = -_solved(np.where(free, slope, 0.0), memory, curvature) * free
        if not direction @ slope < 0:
            return at
        taken = _step(objective, at, value, slope, direction, least)
        if taken is None:
            return at
        new, lower, changed = taken
        moved, bent = new - at, changed - slope
        if (along := float(moved @ bent)) > 1e-12 * float(moved @ moved):
            memory = [*memory[1 - MEMORY :], (moved, bent, along)]
        is_done = value - lower <= TOLERANCE * abs(value)
        at, value, slope = new, lower, changed
        if is_done:
            break
    return at


def _step(
    objective: Objective, at: Array, value: float, slope: Array, direction: Array, least: Array
) -> tuple[Array, float, Array] | None:
    """Where a step leads that is short enough to gain, with the value and slope there; None if none does."""
    size = 1.0
    for _ in range(MOST_CUTS):
        new = np.maximum(at + size * direction, least)
        lower, changed = objective(new)
        if lower <= value + 1e-4 * float(slope @ (new - at)):
            return new, lower, changed
        size *= 0.4
    return None


def _solved(slope: Array, memory: Sequence[tuple[Array, Array, float]], curvature: Array) -> Array:
    """The slope divided by the curvature, as far as past steps show it."""
    q, parts = slope.copy(), []
    for moved, bent, along in reversed(memory):
        part = float(moved @ q) / along
        parts.append(part)
        q -= part * bent
    q /= curvature
    for (moved, bent, along), part in zip(memory, reversed(parts), strict=True):
        q += (part - float(bent @ q) / along) * moved
    return q
