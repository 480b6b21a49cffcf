"""Density curves of numbers and their mutual information with the class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Batch, Codes
from tallybayes.core.family import Family
from tallybayes.core.model import Model
from tallybayes.core.schema import amount
from tallybayes.inspection.charts.shapes import Bars, Curves

POINTS = 97  # of a curve
DRAWS = 256  # values a class that the information of other than normal columns is averaged over
NODES = 64  # the same of normal ones, which are not drawn but are those of Gauss and Hermite
CELLS = 4_000_000  # log probabilities that are held at a time
HISTOGRAM_BINS = 32
MOST_COUNT = 200  # largest number of events that a picture goes up to


def numbers_of(
    model: Model, name: str, places: Sequence[int], batch: Batch | None, prior: Array
) -> Iterator[tuple[int, tuple[float, Curves | Bars]]]:
    """Density curves of the columns of a block, and the mutual information of each with the class."""
    family, params = model.settings.families[name], model.parameters[name]
    draws, share = _draws(family, params, model.n_classes, len(model.tally.blocks[name].columns))
    information = _information(lambda x: family.marginals(params, x), draws, share, prior)
    low, high = family.reach(params, draws[:, share > 1e-4])
    if family.kind in ("count", "boolean"):
        top = np.full(len(low), 1.0) if family.kind == "boolean" else np.clip(np.ceil(high), 1.0, MOST_COUNT)
        shapes: Iterator[Curves | Bars] = _bars(family, params, places, top)
    else:
        numbers = _numbers(batch, name)
        if isinstance(numbers, np.ndarray):
            low, high = _reach(numbers, low, high)
        flat = ~(high > low)
        low, high = np.where(flat, low - 1.0, low), np.where(flat, high + 1.0, high)
        low = np.maximum(low, family.least)  # of numbers that a family cannot hold there is no density
        histograms = (_histogram(batch, numbers, j, model.n_classes, float(low[j]), float(high[j])) for j in places)
        shapes = _curves(family, params, places, low, high, histograms)
    for j, shape in zip(places, shapes, strict=True):
        yield j, (float(information[j]), shape)


def _draws(family: Family, params: Any, n_classes: int, d: int) -> tuple[Array, Array]:
    """Values (K, m, d) that stand for each class, and how much each of them counts (m,)."""
    cells = n_classes**2 * max(1, d)
    nodes = family.nodes(params, int(np.clip(CELLS // cells, 8, NODES)))
    if nodes is not None:
        return nodes
    per = int(np.clip(CELLS // cells, 8, DRAWS))
    drawn = family.sample(params, np.repeat(np.arange(n_classes), per), np.random.default_rng(0))
    return np.asarray(drawn, dtype=np.float64).reshape(n_classes, per, -1), np.full(per, 1.0 / per)


def _bars(family: Family, params: Any, places: Sequence[int], top: Array) -> Iterator[Bars]:
    """Probabilities of the counts 0, 1, …, up to the top (d,) of each column."""
    grid = np.minimum(np.arange(int(top.max()) + 1.0)[:, None], top)
    logs = family.marginals(params, grid)  # (m, K, d)
    for j in places:
        values = grid[: int(top[j]) + 1, j]
        chance = np.exp(logs[: len(values), :, j].T + family.log_base(values[:, None]))
        yield Bars(tuple(amount(v) for v in values.tolist()), chance)


def _curves(
    family: Family, params: Any, places: Sequence[int], low: Array, high: Array, histograms: Iterator[Any]
) -> Iterator[Curves]:
    """Densities from low to high (d,), and the probability of zero where that is apart."""
    grid = low + (high - low) * np.linspace(0.0, 1.0, POINTS)[:, None]
    at_zero = family.marginals(params, np.zeros((1, grid.shape[1])))[0] if family.has_spike else None
    if family.has_spike or family.least == 0.0:
        grid = np.where(grid == 0.0, 1e-9 * np.maximum(np.abs(high), 1e-300), grid)
    logs = family.marginals(params, grid)  # (m, K, d)
    for j, histogram in zip(places, histograms, strict=True):
        density = np.exp(logs[:, :, j].T + family.log_base(grid[:, j : j + 1]))
        spike = None if at_zero is None else np.exp(at_zero[:, j])
        yield Curves(grid[:, j], density, spike=spike, histogram=histogram)


def _numbers(batch: Batch | None, name: str) -> Any:
    """The numbers of the rows, if there are any."""
    numbers = None if batch is None or name not in batch.blocks else batch.blocks[name].x
    return numbers if numbers is None or isinstance(numbers, (np.ndarray, Codes)) else numbers.dense()


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
