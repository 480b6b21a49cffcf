"""Leave-one-out of normal distributions in closed form: a covariance matrix less one row, inverted by its change.

Without a row x of class k and weight w, with z = x − μ_k, the mean moves to μ_k − w z / (W − w) and the matrix becomes
a Σ − b z zᵀ. Its inverse and determinant follow from those of Σ (Sherman and Morrison 1950), in the axes of Σ, where
shrinkage only moves the eigenvalues.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Labels
from tallybayes.core.scatter import Scatter

CLEAR = 1e-5  # how far from losing a direction a matrix must stay, beside the variance of all rows


def leave_one_out(
    summary: Scatter, form: str, shrinkage: float, x: Array, labels: Labels
) -> tuple[Array, NDArray[np.bool_]]:
    """Log densities (n, K) without each row, and for which rows they hold; the others are computed row by row."""
    y, w = labels.codes, labels.weight
    assert y is not None
    columns = summary.columns()
    whole = columns.merged()
    total, own = float(summary.weight.sum()), summary.weight[:, 0, 0]
    n, k = x.shape[0], len(own)
    out, fine = np.zeros((n, k)), np.zeros(n, dtype=bool)
    if not total > 0 or not (whole.m2 > 0).all():
        return out, fine
    with np.errstate(all="ignore"):  # rows that this does not hold for are set aside at the end
        rest, others = own[y] - w, total - w
        spread = (whole.m2 - (w * total / others)[:, None] * (x - whole.mean) ** 2) / others[:, None]  # of all rows
        z = x - columns.mean[y]
        if form == "shared":
            a, b = total / others, w * own[y] / rest / others
        else:
            a, b = own[y] / rest, w * own[y] / rest**2
        matrices = summary.pooled()[None] if form == "shared" else summary.covariance()
        known = own > 0
        for j in range(k):
            moved = (y == j) | (form == "shared")  # rows that move this class's matrix when they are left out
            deviation = np.where((y == j)[:, None], z * (own[y] / rest)[:, None], x - columns.mean[j])
            score = _Score(matrices[j % len(matrices)], form, shrinkage)
            value, floor = score(deviation, z, np.where(moved, a, 1.0), np.where(moved, b, 0.0), spread)
            out[:, j] = value
            fine_here = (floor > CLEAR) & np.isfinite(value)
            fine = fine_here if j == 0 else fine & fine_here
    enough = (rest > 1e-6 * own[y]) & (spread > 1e-6 * whole.m2 / total).all(axis=1)
    return out, fine & enough & known.all() & ~np.isnan(x).any(axis=1)


class _Score:
    """Log densities under one matrix, changed a little for each row."""

    def __init__(self, matrix: Array, form: str, shrinkage: float) -> None:
        d = len(matrix)
        self.form, self.shrinkage, self.size = form, shrinkage, d
        self.trace = float(np.trace(matrix)) / d
        self.diagonal = np.diag(matrix)
        # Standardised, so that columns of very different units do not spoil the axes; shrinkage acts on the units.
        varied = (self.diagonal > 0) & (shrinkage == 0.0)
        self.unit = np.sqrt(np.where(varied, self.diagonal, 1.0))
        self.value, self.axes = np.linalg.eigh(matrix / np.outer(self.unit, self.unit))

    def __call__(self, deviation: Array, z: Array, a: Array, b: Array, spread: Array) -> tuple[Array, Array]:
        """Log density (n,) at deviations from the mean under a Σ − b z zᵀ, and how clear of zero its variances are."""
        mean = a * self.trace - b * (z**2).sum(axis=1) / self.size  # what it is shrunk towards
        if self.form == "spherical":
            variance = np.repeat(mean[:, None], self.size, axis=1)
            return self._independent(deviation, variance), (variance / spread).min(axis=1)
        if self.form == "diagonal":
            variance = a[:, None] * self.diagonal - b[:, None] * z**2
            variance = (1.0 - self.shrinkage) * variance + self.shrinkage * mean[:, None]
            return self._independent(deviation, variance), (variance / spread).min(axis=1)
        keep = 1.0 - self.shrinkage
        u, v = (deviation / self.unit) @ self.axes, (z / self.unit) @ self.axes
        g = keep * a[:, None] * self.value + self.shrinkage * mean[:, None]
        h = keep * b
        vv, uv, uu = (v**2 / g).sum(axis=1), (u * v / g).sum(axis=1), (u**2 / g).sum(axis=1)
        left = 1.0 - h * vv  # what of the determinant the row leaves
        log_det = np.log(g).sum(axis=1) + np.log(left) + 2.0 * np.log(self.unit).sum()
        score = -0.5 * (self.size * np.log(2.0 * np.pi) + log_det + uu + h * uv**2 / left)
        return score, left * (g / (spread / self.unit**2).max(axis=1, keepdims=True)).min(axis=1)

    def _independent(self, deviation: Array, variance: Array) -> Array:
        return -0.5 * (np.log(2.0 * np.pi * variance) + deviation**2 / variance).sum(axis=1)
