"""The distribution of each column by class: densities of numbers, probabilities of levels, informative words.

Columns are ranked by the mutual information of value and class:
I(x; y) = Σ_k P(k) Σ_x P(x | k) log [P(x | k) / P(x)], in nats. It is that of the model, not of any rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tallybayes.core.batch import Array, Batch, Rows, every_nth
from tallybayes.core.listings import readable
from tallybayes.core.model import Model
from tallybayes.core.schema import Column
from tallybayes.core.summaries import Summary
from tallybayes.core.tokens import Vocabulary
from tallybayes.inspection.charts._model import model_of, prior_of, rows_of, rows_with_labels
from tallybayes.inspection.charts.numbers import numbers_of
from tallybayes.inspection.charts.shapes import MOST_BARS, Bars, ColumnPicture, Curves, shares


def column_pictures(
    model: Any, X: Any = None, y: Any = None, columns: Sequence[str] | None = None
) -> tuple[ColumnPicture, ...]:
    """The distribution of each column by class, the most informative columns first.

    Parameters
    ----------
    model : Model or estimator
    X : table or labelled Rows, optional
        Rows whose histogram is put beside the curves; labelled ones by class.
    y : array-like of shape (n_samples,) or str, optional
        Their labels, unless they are the column of the table that the model learned them from.
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
    wind: categorical, mutual information 0.020 nats
                   no      yes
      strong   57.14%   36.36%
      weak     42.86%   63.64%
    """
    data, model = rows_with_labels(model, X, y), model_of(model)
    batch = None if data is None else encoded(rows_of(model, data))
    found = [picture for name in model.tally.blocks for picture in _block(model, name, batch, columns)]
    return tuple(sorted(found, key=lambda picture: -picture.information))


def encoded(rows: Rows, most: int = 20_000) -> Batch:
    """The rows, or evenly spread some where they are many: a histogram needs no more."""
    few = every_nth(rows, most)
    return few.rows(0, few.n_rows)


def _block(model: Model, name: str, batch: Batch | None, wanted: Sequence[str] | None) -> Iterator[ColumnPicture]:
    """Pictures of the columns of a block."""
    family, block, prior = model.settings.families[name], model.tally.blocks[name], prior_of(model)
    if name in model.texts:
        if isinstance(model.texts[name].levels, Vocabulary):
            yield _text(model, name, prior)
        return
    if family.is_document:
        if "numeric" in family.reads:  # counts of a table, which have names
            yield _words(model, name, model.parameters[name], prior)
        return
    names = [model.schema.columns[p].name for p in block.columns]
    places = [j for j, column in enumerate(names) if wanted is None or column in set(wanted)]
    shapes = _coded(model, name, places, prior) if family.is_coded else numbers_of(model, name, places, batch, prior)
    weights = {} if model.settings.weights is None else model.settings.weights.columns
    for j, (information, shape) in shapes:
        if isinstance(shape, Curves) and not np.isfinite(shape.points).all():
            continue  # numbers so large that their logs alone are numbers cannot be drawn
        column, missing = model.schema.columns[block.columns[j]], _missing(model, name, j)
        known = names[j], column.kind, name, model.schema.classes, prior
        yield ColumnPicture(*known, max(0.0, information), weights.get(names[j], 1.0), missing, shape)


def _missing(model: Model, name: str, j: int) -> float:
    """Share of the rows in which a column has no value."""
    seen = np.asarray(model.tally.blocks[name].summary.arrays()["weight"])
    total = float(model.tally.class_weight.sum())
    here = float(seen[:, min(j, seen.shape[1] - 1)].sum()) if seen.ndim == 2 else total
    return max(0.0, 1.0 - here / total) if total > 0 else 0.0


def _coded(
    model: Model, name: str, places: Sequence[int], prior: Array
) -> Iterator[tuple[int, tuple[float, Curves | Bars]]]:
    """Probabilities of levels and bins, and the lift of the combinations of pairs."""
    params, block = model.parameters[name], model.tally.blocks[name]
    for j in places:
        column, logs = model.schema.columns[block.columns[j]], params.of_column(j)
        if column.parts is not None:
            count = block.summary.select(np.array([j], dtype=np.intp)).arrays()["count"]
            gain = _gain(count, logs, prior, column.parts[1].n_cells)
            yield j, (gain, Bars(level_names(column), np.exp(logs), lift=True))
            continue
        chance = np.exp(logs) / params.sharing[params.start[j] : params.start[j + 1] - 1]
        shape = Bars(level_names(column), chance) if column.edges is None else _binned(column, chance, block.summary, j)
        yield j, (float(shares(chance, prior).sum()), shape)


def _gain(count: Array, lift: Array, prior: Array, n_right: int) -> float:
    """The gain in mean log posterior by taking two columns together, in nats."""
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


def level_names(column: Column) -> tuple[str, ...]:
    """The levels, bins or combinations of a column, as people read them."""
    if column.parts is not None:
        left, right = (level_names(part) for part in column.parts)
        return tuple(f"{a}, {b}" for a in left for b in right)
    if column.edges is not None:
        edges = [readable(edge) for edge in column.edges]
        if column.whole:  # from 2 to below 3 is 2
            ends = [f"{a}" if high - low == 1 else f"{a} – {readable(high - 1)}"
                    for a, (low, high) in zip(edges, pairwise(column.edges), strict=False)]  # fmt: skip
            return (f"< {edges[0]}", *ends, f"≥ {edges[-1]}")
        return (f"< {edges[0]}", *(f"{a} – {b}" for a, b in pairwise(edges)), f"≥ {edges[-1]}")
    return tuple("(missing)" if level is None else str(level) for level in column.levels or ())


def _binned(column: Column, chance: Array, summary: Summary, j: int) -> Curves | Bars:
    """Probabilities of bins as densities, with the counts themselves as the histogram."""
    edges = np.array(column.edges)
    if len(edges) < 2:
        return Bars(level_names(column) if len(edges) else ("any number",), chance)
    bounds = np.concatenate(([2 * edges[0] - edges[1]], edges, [2 * edges[-1] - edges[-2]]))
    width = np.diff(bounds)
    count = summary.select(np.array([j], dtype=np.intp)).arrays()["count"]
    total = count.sum(axis=1, keepdims=True)
    share = np.divide(count, total, out=np.zeros_like(count), where=total > 0)
    return Curves(bounds, chance / width, stepped=True, histogram=(bounds, share / width))


def _words(model: Model, name: str, params: Any, prior: Array) -> ColumnPicture:
    logs, _ = params.weights()
    chance = np.exp(logs - logs.max(axis=1, keepdims=True))
    chance = chance / chance.sum(axis=1, keepdims=True)
    columns = model.tally.blocks[name].columns
    information, shape = _bag(chance, prior, lambda v: model.schema.columns[columns[v]].name)
    return ColumnPicture("words", "count", name, model.schema.classes, prior, information, 1.0, 0.0, shape)


def _text(model: Model, name: str, prior: Array) -> ColumnPicture:
    """The most informative words of a column of text, by their shares of all words, each with a count of ½ more.

    Of tags, the share of the rows that have each.
    """
    column, summary = model.texts[name], model.tally.blocks[name].summary
    arrays = summary.arrays()
    chance = arrays["count"] + 0.5
    chance = chance / (arrays["weight"] + 1.0 if column.kind == "tags" else chance.sum(axis=1, keepdims=True))
    information, shape = _bag(chance, prior, lambda v: str((column.levels or ())[v]), column.kind == "tags")
    total = float(model.tally.class_weight.sum())
    missing = max(0.0, 1.0 - float(arrays["weight"].max(axis=1).sum()) / total) if total > 0 else 0.0
    weights = {} if model.settings.weights is None else model.settings.weights.columns
    known = column.name, column.kind, model.settings.families[name].name, model.schema.classes, prior
    return ColumnPicture(*known, information, weights.get(column.name, 1.0), missing, shape)


def _bag(chance: Array, prior: Array, named: Callable[[int], str], tags: bool = False) -> tuple[float, Bars]:
    """The information of words whose shares (K, V) are known, and the most informative of them."""
    each = shares(chance, prior)
    each = each + shares(1.0 - chance, prior) if tags else each  # a tag that is absent says something, too
    most = np.argsort(-each, kind="stable")[: 10 * MOST_BARS]
    return float(each.sum()), Bars(tuple(map(named, most.tolist())), chance[:, most], words=True)
