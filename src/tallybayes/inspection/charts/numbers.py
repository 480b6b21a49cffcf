"""Curves of numbers that are scored by a formula, and how much they tell of the class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Batch, Codes
from tallybayes.core.model import Model
from tallybayes.core.schema import amount
from tallybayes.families._ellipsoids import Ellipsoids
from tallybayes.families.gaussian import Normals
from tallybayes.inspection.charts.shapes import Bars, Curves

POINTS = 97  # of a curve
DRAWS = 256  # values a class that the information of other than normal columns is averaged over
NODES = 64  # the same of normal ones, which are not drawn but are those of Gauss and Hermite
CELLS = 4_000_000  # log probabilities that are held at a time
HISTOGRAM_BINS = 32
MOST_COUNT = 200  # largest number of events that a picture goes up to


def numbers_of(
    model: Model, name: str, params: Any, places: list[int], batch: Batch | None, prior: Array
) -> Iterator[tuple[int, tuple[float, Curves | Bars]]]:
    """Curves of the columns of a block that are scored by a formula."""
    family, block = model.settings.families[name], model.tally.blocks[name]
    n_classes = model.n_classes
    if isinstance(params, Ellipsoids):  # each column alone is normal, too
        variance = np.broadcast_to(np.einsum("kii->ki", params.covariance), params.mean.shape)
        score: Any = lambda x: _normal_logs(x, params.mean, variance)  # noqa: E731
        draws, share = _nodes(params.mean, variance)
    elif name in ("gaussian", "lognormal") and isinstance(params, Normals):
        score = lambda x: family.contributions(params, x)  # noqa: E731
        draws, share = _nodes(params.mean, np.where(params.precision > 0, params.variance, 0.0))
        draws = np.exp(np.clip(draws, -700.0, 700.0)) if name == "lognormal" else draws
    else:
        score = lambda x: family.contributions(params, x)  # noqa: E731
        per = int(np.clip(CELLS // (n_classes**2 * max(1, len(block.columns))), 8, DRAWS))
        codes = np.repeat(np.arange(n_classes), per)
        drawn = family.sample(params, codes, np.random.default_rng(0))
        drawn = drawn.dense() if hasattr(drawn, "dense") else np.asarray(drawn, dtype=np.float64)
        draws, share = drawn.reshape(n_classes, per, -1), np.full(per, 1.0 / per)
    information = _information(score, draws, share, prior)
    counted = name in ("poisson", "bernoulli", "multinomial")
    likely = draws[:, share > 1e-4]
    low, high = likely.min(axis=(0, 1)), likely.max(axis=(0, 1))
    if name == "lognormal":
        low = np.where(low < 0.1 * high, 0.0, low)
        high = np.minimum(high, np.exp(np.minimum(params.mean + 2.0 * np.sqrt(params.variance), 700.0)).max(axis=0))
    numbers = None if batch is None or name not in batch.blocks else batch.blocks[name].x
    if numbers is not None and not isinstance(numbers, (np.ndarray, Codes)):
        numbers = numbers.dense()
    if isinstance(numbers, np.ndarray) and not counted:
        low, high = _reach(numbers, low, high)
    if counted:
        top = np.full(len(low), 1.0) if name == "bernoulli" else np.clip(np.ceil(high), 1.0, MOST_COUNT)
        grid = np.minimum(np.arange(int(top.max()) + 1.0)[:, None], top)
    else:
        flat = ~(high > low)
        low, high = np.where(flat, low - 1.0, low), np.where(flat, high + 1.0, high)
        grid = low + (high - low) * np.linspace(0.0, 1.0, POINTS)[:, None]
    at_zero = score(np.zeros((1, grid.shape[1])))[0] if name == "zero_inflated" else None
    if at_zero is not None or name in ("lognormal", "exponential"):
        grid = np.where(grid == 0.0, 1e-9 * np.maximum(np.abs(high), 1e-300), grid)
    logs = score(grid)  # (m, K, d)
    for j in places:
        if counted:
            values = grid[: int(top[j]) + 1, j]
            chance = np.exp(logs[: len(values), :, j].T + family.log_base(values[:, None]))
            shape: Curves | Bars = Bars(tuple(amount(v) for v in values.tolist()), chance)
        else:
            spike = None if at_zero is None else np.exp(at_zero[:, j])
            histogram = _histogram(batch, numbers, j, n_classes, float(low[j]), float(high[j]))
            density = np.exp(logs[:, :, j].T + family.log_base(grid[:, j : j + 1]))
            shape = Curves(grid[:, j], density, spike=spike, histogram=histogram)
        yield j, (float(information[j]), shape)


def _normal_logs(x: Array, mean: Array, variance: Array) -> Array:
    wide = np.where(variance > 0, variance, 1.0)
    logs = -0.5 * (np.log(2.0 * np.pi * wide) + (x[:, None, :] - mean) ** 2 / wide)
    return np.where(variance > 0, logs, 0.0)


def _nodes(mean: Array, variance: Array) -> tuple[Array, Array]:
    """Values (K, m, d) that stand for each class, and how much each of them counts (m,)."""
    n_classes, d = mean.shape
    m = int(np.clip(CELLS // (n_classes**2 * max(1, d)), 8, NODES))
    z, share = np.polynomial.hermite_e.hermegauss(m)
    return mean[:, None, :] + np.sqrt(variance)[:, None, :] * z[:, None], share / share.sum()


def _information(score: Any, draws: Array, share: Array, prior: Array) -> Array:
    """Mutual information (d,): the mean of log P(x | own class) − log P(x) over values of each class."""
    total = np.zeros(draws.shape[2])
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in np.flatnonzero(prior > 0).tolist():
            logs = score(draws[k])  # (m, K, d)
            top = logs.max(axis=1, keepdims=True)
            mix = np.log((prior[:, None] * np.exp(logs - top)).sum(axis=1)) + top[:, 0]
            total += prior[k] * (share @ np.nan_to_num(logs[:, k] - mix, nan=0.0, posinf=0.0, neginf=0.0))
    return total


def _reach(numbers: NDArray[Any], low: Array, high: Array) -> tuple[Array, Array]:
    """From where to where the rows reach, a few far ones left aside."""
    low, high = low.copy(), high.copy()
    for j in range(numbers.shape[1]):
        known = numbers[:, j][np.isfinite(numbers[:, j])]
        if len(known):
            a, b = np.quantile(known, (0.005, 0.995))
            room = 0.05 * (b - a)
            low[j], high[j] = a - room, b + room
    return low, high


def _histogram(
    batch: Batch | None, numbers: Any, j: int, n_classes: int, low: float, high: float
) -> tuple[Array, Array] | None:
    """Edges and densities (K, b) of the rows by class; without labels all classes share them."""
    if batch is None or not isinstance(numbers, np.ndarray):
        return None
    values = np.asarray(numbers[:, j], dtype=np.float64)
    edges, present = np.linspace(low, high, HISTOGRAM_BINS + 1), values[np.isfinite(values)]
    if high - low <= 2 * HISTOGRAM_BINS and np.array_equal(present, np.rint(present)):
        edges = np.arange(np.floor(low), np.ceil(high) + 1.0) - 0.5  # whole numbers have a bin each
    labels = batch.labels
    codes = None if labels is None else labels.codes
    weight = np.ones(len(values)) if labels is None or labels.codes is None else labels.weight
    known, height = np.isfinite(values), np.zeros((n_classes, len(edges) - 1))
    for k in range(n_classes):
        mine = known if codes is None else known & (codes == k)
        total = float(weight[mine].sum())
        if total > 0:
            count, _ = np.histogram(values[mine], bins=edges, weights=weight[mine])
            height[k] = count / total / np.diff(edges)
    return edges, height
