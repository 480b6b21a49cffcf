"""What a model believes of each column, class by class: densities of numbers, chances of levels, telling words.

Columns are ranked by mutual information, how much knowing the value tells of the class on average:
I(x; y) = Σ_k P(k) Σ_x P(x | k) log [P(x | k) / P(x)], in nats. It is that of the model, not of any rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.batch import Array, Batch, Codes, Rows
from tallybayes.families import DOCUMENTS
from tallybayes.families._ellipsoids import Ellipsoids
from tallybayes.families._linear import Linear
from tallybayes.families._tables import Tables
from tallybayes.families.gaussian import Normals
from tallybayes.model import Model
from tallybayes.pictures._model import listed, model_of, prior_of, rows_of, rows_with_labels, spark
from tallybayes.schema import Column, Level, amount, plural
from tallybayes.tally import Summary
from tallybayes.tokens import Vocabulary

POINTS = 97  # of a curve
DRAWS = 256  # values a class that the information of other than normal columns is averaged over
NODES = 64  # the same of normal ones, which are not drawn but are those of Gauss and Hermite
CELLS = 4_000_000  # log probabilities that are held at a time
MOST_BARS = 12
HISTOGRAM_BINS = 32
MOST_COUNT = 200  # largest number of events that a picture goes up to


@dataclass(frozen=True)
class Curves:
    """Densities of a number: at points, or constant between them.

    Parameters
    ----------
    points : ndarray of shape (m,) or, stepped, (m + 1,)
    density : ndarray of shape (K, m)
    stepped : bool
        Whether ``density[:, i]`` holds from ``points[i]`` to ``points[i + 1]``.
    spike : ndarray of shape (K,), optional
        Probability of exactly zero, where that is told apart.
    histogram : tuple of ndarray, optional
        Edges (b + 1,) and density (K, b) of the rows themselves.
    """

    points: Array
    density: Array
    stepped: bool = False
    spike: Array | None = None
    histogram: tuple[Array, Array] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        told: dict[str, Any] = {
            "points": listed(self.points),
            "density": listed(self.density),
            "stepped": self.stepped,
            "spike": None if self.spike is None else listed(self.spike),
        }
        if self.histogram is not None:
            told["histogram"] = {"edges": listed(self.histogram[0]), "density": listed(self.histogram[1])}
        return told


@dataclass(frozen=True)
class Bars:
    """Chances of levels, counts or words.

    Parameters
    ----------
    levels : tuple of str
    chance : ndarray of shape (K, C)
        P(level | class).
    words : bool
        Whether these are words of one bag, whose chances are shares of all words.
    """

    levels: tuple[str, ...]
    chance: Array
    words: bool = False

    def most_telling(self, prior: Array, most: int = MOST_BARS) -> Bars:
        """The levels that tell most, in their order, the rest put together."""
        if len(self.levels) <= most:
            return self
        kept = np.sort(np.argsort(-_shares(self.chance, prior), kind="stable")[: most if self.words else most - 1])
        levels = [self.levels[c] for c in kept]
        chance = self.chance[:, kept]
        if not self.words:
            rest = np.delete(self.chance, kept, axis=1).sum(axis=1, keepdims=True)
            levels.append(plural(len(self.levels) - len(kept), "other"))
            chance = np.concatenate((chance, rest), axis=1)
        return replace(self, levels=tuple(levels), chance=chance)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {"levels": list(self.levels), "chance": listed(self.chance), "words": self.words}


@dataclass(frozen=True)
class ColumnPicture:
    """What a model believes of one column.

    Parameters
    ----------
    column : str
        Its name; of a bag of words "words".
    kind : str
        What its values are.
    family : str
        The distribution.
    classes : tuple
    prior : ndarray of shape (K,)
    information : float
        Mutual information of value and class, in nats; of a bag of words, that of one word.
    weight : float
        How much of its evidence is believed.
    missing : float
        Share of the rows in which it has no value.
    shape : Curves or Bars
    """

    column: str
    kind: str
    family: str
    classes: tuple[Level, ...]
    prior: Array
    information: float
    weight: float
    missing: float
    shape: Curves | Bars

    def __str__(self) -> str:
        missing = f", {self.missing:.1%} missing" if self.missing > 0 else ""
        weight = "" if self.weight == 1.0 else f", weight {self.weight:.2f}"
        lines = [f"{self.column}: {self.family}, tells {self.information:.3f} nats{weight}{missing}"]
        wide = max(len(str(label)) for label in self.classes)
        if isinstance(self.shape, Curves):
            curves = self.shape
            step = max(1, curves.density.shape[1] // 48)
            shown = curves.density[:, ::step]
            top = float(shown.max(initial=0.0))
            for k, label in enumerate(self.classes):
                zero = "" if curves.spike is None else f"  zero {curves.spike[k]:.1%}"
                lines.append(f"  {label!s:{wide}} {spark(shown[k], top)}{zero}")
            ends = f"{curves.points[0]:.4g}", f"{curves.points[-1]:.4g}"
            lines.append(f"  {'':{wide}} {ends[0]}{ends[1]:>{max(1, shown.shape[1] - len(ends[0]))}}")
            return "\n".join(lines)
        bars = self.shape.most_telling(self.prior)
        name = min(max(map(len, bars.levels), default=0), 30)
        lines.append(f"  {'':{name}} " + " ".join(f"{label!s:>8.8}" for label in self.classes))
        for c, level in enumerate(bars.levels):
            lines.append(f"  {level:{name}.{name}} " + " ".join(f"{p:8.2%}" for p in bars.chance[:, c]))
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "column": self.column,
            "kind": self.kind,
            "family": self.family,
            "classes": list(self.classes),
            "information": self.information,
            "weight": self.weight,
            "missing": self.missing,
            **self.shape.as_dict(),
        }


def column_pictures(model: Any, data: Any = None, columns: Sequence[str] | None = None) -> tuple[ColumnPicture, ...]:
    """What the model believes of each column, the most telling first.

    Parameters
    ----------
    model : Model or estimator
    data : table, Rows or (X, y), optional
        Rows whose histogram is put beside the curves; labelled ones by class.
    columns : sequence of str, optional
        Only these.

    Returns
    -------
    tuple of ColumnPicture

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> model = NaiveBayes(classical=True).fit(datasets.tennis(), target="play")
    >>> pictures = column_pictures(model)
    >>> [picture.column for picture in pictures]
    ['humidity', 'outlook', 'wind', 'temperature']
    >>> print(pictures[2])
    wind: categorical, tells 0.020 nats
                   no      yes
      strong   57.14%   36.36%
      weak     42.86%   63.64%
    """
    data, model = rows_with_labels(model, data), model_of(model)
    batch = None if data is None else _encoded(rows_of(model, data))
    found = [picture for name in model.tally.blocks for picture in _block(model, name, batch, columns)]
    return tuple(sorted(found, key=lambda picture: -picture.information))


def _encoded(rows: Rows, most: int = 20_000) -> Batch:
    """The rows, or evenly spread some where they are many: a histogram needs no more."""
    step = max(1, -(-rows.n_rows // most))
    rows = rows if step == 1 else rows.take(np.arange(0, rows.n_rows, step))
    return rows.rows(0, rows.n_rows)


def _block(model: Model, name: str, batch: Batch | None, wanted: Sequence[str] | None) -> Iterator[ColumnPicture]:
    """Pictures of the columns of a block."""
    params, block, prior = model.parameters[name], model.tally.blocks[name], prior_of(model)
    weights = {} if model.settings.weights is None else model.settings.weights.columns
    seen = np.asarray(block.summary.arrays()["weight"])
    total = float(model.tally.class_weight.sum())

    def picture(j: int, information: float, shape: Curves | Bars) -> ColumnPicture:
        column = model.schema.columns[block.columns[j]]
        here = float(seen[:, min(j, seen.shape[1] - 1)].sum()) if seen.ndim == 2 else total
        missing = max(0.0, 1.0 - here / total) if total > 0 else 0.0
        weight = weights.get(column.name, 1.0)
        kind = column.kind
        return ColumnPicture(
            column.name, kind, name, model.schema.classes, prior, max(0.0, information), weight, missing, shape
        )

    if name in model.texts:
        if isinstance(model.texts[name].levels, Vocabulary):
            yield _text(model, name, prior)
        return
    if name in DOCUMENTS:
        if isinstance(params, Linear) and name == "multinomial":
            yield _words(model, name, params, prior)
        return
    places = [j for j, p in enumerate(block.columns) if wanted is None or model.schema.columns[p].name in set(wanted)]
    if isinstance(params, Tables):
        for j in places:
            column, logs = model.schema.columns[block.columns[j]], params.of_column(j)
            chance = np.exp(logs)
            if name != "pair":
                sharing = params.sharing[params.start[j] : params.start[j + 1] - 1]
                chance = chance / sharing
                information = float(_shares(chance, prior).sum())
            else:
                assert column.parts is not None
                count = block.summary.select(np.array([j], dtype=np.intp)).arrays()["count"]
                information = _gain(count, logs, prior, column.parts[1].n_cells)
            if column.edges is not None:
                yield picture(j, information, _binned(column, chance, block.summary, j))
            else:
                yield picture(j, information, Bars(_names(column), chance))
        return
    yield from (picture(j, *found) for j, found in _numbers(model, name, params, places, batch, prior))


def _shares(chance: Array, prior: Array) -> Array:
    """What each level (C,) adds to the mutual information."""
    mix = prior @ chance
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(chance > 0, chance * np.log(chance / mix), 0.0)
    return np.asarray(prior @ each)


def _gain(count: Array, lift: Array, prior: Array, n_right: int) -> float:
    """How much likelier the classes of a pair's rows become when the two columns are also taken together, in nats."""
    total = float(count.sum())
    if not total > 0:
        return 0.0
    grid = count.reshape(len(count), -1, n_right) + 0.5  # half a row for what was never seen
    share = grid / grid.sum(axis=(1, 2), keepdims=True)
    apart = share.sum(axis=2)[:, :, None] * share.sum(axis=1)[:, None, :]
    with np.errstate(divide="ignore"):
        naive = np.log(apart).reshape(count.shape) + np.log(prior)[:, None]
    both = naive + lift
    gain = (both - np.logaddexp.reduce(both, axis=0)) - (naive - np.logaddexp.reduce(naive, axis=0))
    return float(np.where(count > 0, count * gain, 0.0).sum()) / total


def _names(column: Column) -> tuple[str, ...]:
    if column.parts is not None:
        left, right = (_names(part) for part in column.parts)
        return tuple(f"{a}, {b}" for a in left for b in right)
    if column.edges is not None:
        cuts = [f"{edge:g}" for edge in column.edges]
        return (f"< {cuts[0]}", *(f"{a} – {b}" for a, b in pairwise(cuts)), f"≥ {cuts[-1]}")
    return tuple("(missing)" if level is None else str(level) for level in column.levels or ())


def _binned(column: Column, chance: Array, summary: Summary, j: int) -> Curves | Bars:
    """Chances of bins as densities, with the counts themselves as the histogram."""
    edges = np.array(column.edges)
    if len(edges) < 2:
        return Bars(_names(column) if len(edges) else ("any number",), chance)
    bounds = np.concatenate(([2 * edges[0] - edges[1]], edges, [2 * edges[-1] - edges[-2]]))
    width = np.diff(bounds)
    count = summary.select(np.array([j], dtype=np.intp)).arrays()["count"]
    total = count.sum(axis=1, keepdims=True)
    share = np.divide(count, total, out=np.zeros_like(count), where=total > 0)
    return Curves(bounds, chance / width, stepped=True, histogram=(bounds, share / width))


def _words(model: Model, name: str, params: Linear, prior: Array) -> ColumnPicture:
    logs, _ = params.weights()
    chance = np.exp(logs - logs.max(axis=1, keepdims=True))
    chance = chance / chance.sum(axis=1, keepdims=True)
    shares = _shares(chance, prior)
    most = np.argsort(-shares, kind="stable")[: 10 * MOST_BARS]
    columns = model.tally.blocks[name].columns
    words = tuple(model.schema.columns[columns[v]].name for v in most.tolist())
    shape = Bars(words, chance[:, most], words=True)
    return ColumnPicture("words", "count", name, model.schema.classes, prior, float(shares.sum()), 1.0, 0.0, shape)


def _text(model: Model, name: str, prior: Array) -> ColumnPicture:
    """The words of a column of text that tell most, by their shares of all words, half a word for what was not seen."""
    column, summary = model.texts[name], model.tally.blocks[name].summary
    arrays = summary.arrays()
    chance = arrays["count"] + 0.5
    chance = chance / chance.sum(axis=1, keepdims=True)
    shares = _shares(chance, prior)
    most = np.argsort(-shares, kind="stable")[: 10 * MOST_BARS]
    words = tuple(str((column.levels or ())[v]) for v in most.tolist())
    total = float(model.tally.class_weight.sum())
    missing = max(0.0, 1.0 - float(arrays["weight"].max(axis=1).sum()) / total) if total > 0 else 0.0
    weights = {} if model.settings.weights is None else model.settings.weights.columns
    shape = Bars(words, chance[:, most], words=True)
    family, weight = model.settings.families[name].name, weights.get(column.name, 1.0)
    told = float(shares.sum())
    return ColumnPicture(column.name, "text", family, model.schema.classes, prior, told, weight, missing, shape)


# ------------------------------------------------------------------------------------------ numbers


def _numbers(
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
