"""The method of Liu and Nocedal (1989): smooth functions of many variables, by slopes alone."""

from __future__ import annotations

from collections.abc import Callable

from tallybayes.core.batch import Array

MEMORY = 10  # steps that the curvature is known from
MOST_STEPS = 100


def minimise(
    objective: Callable[[Array], tuple[float, Array]], start: Array, tolerance: float, most: int = MOST_STEPS
) -> Array:
    """Return where a function, given with its slope, is least; it ends when a step gains less than the tolerance.

    Examples
    --------
    >>> bowl = lambda at: (float(((at - 3.0) ** 2).sum()), 2.0 * (at - 3.0))
    >>> minimise(bowl, np.zeros(2), 1e-12).round(6)
    array([3., 3.])
    """
    at, (value, slope) = start, objective(start)
    steps: list[tuple[Array, Array]] = []
    for _ in range(most):
        direction = -_curved(slope, steps)
        if not (fall := float(direction @ slope)) < 0:
            break
        for halving in range(20):
            after = at + 0.5**halving * direction
            new_value, new_slope = objective(after)
            if new_value <= value + 1e-4 * 0.5**halving * fall:
                break
        else:
            break
        if float((after - at) @ (new_slope - slope)) > 0:
            steps = [*steps[-MEMORY + 1 :], (after - at, new_slope - slope)]
        gained, at, value, slope = value - new_value, after, new_value, new_slope
        if gained < tolerance:
            break
    return at


def _curved(slope: Array, steps: list[tuple[Array, Array]]) -> Array:
    """The slope divided by the curvature that the last steps showed."""
    q, found = slope.copy(), []
    for step, change in reversed(steps):
        share = float(step @ q) / float(step @ change)
        q -= share * change
        found.append(share)
    if steps:
        step, change = steps[-1]
        q *= float(step @ change) / float(change @ change)
    for (step, change), share in zip(steps, reversed(found), strict=True):
        q += (share - float(change @ q) / float(step @ change)) * step
    return q
