"""Sample new rows from a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.core.tokens import Vocabulary
from tallybayes.data.frames import whole_numbers
from tallybayes.errors import NotAvailableError


def sampled(
    model: Model, n: int, rng: np.random.Generator, missing: bool = False
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Draw rows as columns of values in the order of the schema, without those ignored, and the class code of each.

    Values are ``missing``, if that is wanted, as often as they were in training.
    """
    if not model.generative.tally.blocks:
        raise NotAvailableError("no column of the model is evidence, so there is nothing to draw but labels")
    drawn, codes = model.sample(n, rng)
    columns: dict[str, NDArray[Any]] = {}
    for name, block in model.generative.tally.blocks.items():
        if name in model.texts:
            columns[model.texts[name].name] = _texts(model, name, drawn[name], codes, rng if missing else None)
            continue
        matrix: Any = getattr(drawn[name], "matrix", drawn[name])
        for j, p in enumerate(block.columns):
            column = model.schema.columns[p]
            values = matrix[:, j]
            if column.edges is not None:
                values = inside(column.edges, values, rng)
                values = np.floor(values) if column.whole else values  # a whole number of the same bin
            if column.levels is not None:
                values = np.array(column.levels, dtype=object)[values]
            elif column.whole:
                values = whole_numbers(values)
            if missing:
                gone = rng.random(n) >= _share_present(model, name, j)[codes]
                if gone.any():  # only floats have NaN
                    values = values if values.dtype.kind == "f" else values.astype(object)
                    values = np.where(gone, np.nan if values.dtype.kind == "f" else None, values)
            columns[column.name] = values
    return {c.name: columns[c.name] for c in model.schema.columns if c.name in columns}, codes


def _texts(
    model: Model, name: str, bags: Any, codes: NDArray[np.int64], rng: np.random.Generator | None
) -> NDArray[Any]:
    """Bags of words as texts, the words in alphabetical order."""
    words = model.texts[name].levels
    if not isinstance(words, Vocabulary):
        raise NotAvailableError("hashed tokens are not known by name, so no text can be sampled")
    tokens = model.texts[name].tokens
    between = tokens.separator if tokens is not None and tokens.words == "tags" else " "
    texts = np.empty(bags.shape[0], dtype=object)
    for i in range(len(texts)):
        entries = slice(int(bags.start[i]), int(bags.start[i + 1]))
        pairs = zip(bags.column[entries].tolist(), bags.data[entries].tolist(), strict=True)
        texts[i] = between.join(words[place] for place, times in pairs for _ in range(int(times)))
    if rng is not None:
        texts[rng.random(len(texts)) >= _share_present(model, name, 0)[codes]] = None
    return texts


def inside(edges: tuple[float, ...], bins: NDArray[Any], rng: np.random.Generator) -> Array:
    """Draw a number in each bin; the outer bins are as wide as their neighbours."""
    if not edges:
        return np.zeros(len(bins))
    widths = np.diff(edges) if len(edges) > 1 else np.ones(1)
    bounds = np.concatenate(([edges[0] - widths[0]], edges, [edges[-1] + widths[-1]]))
    low, high = bounds[bins], bounds[np.asarray(bins) + 1]
    return np.asarray(low + (high - low) * rng.random(len(low)))


def _share_present(model: Model, block: str, column: int) -> Array:
    """Share of the rows of each class (K,) in which a column has a value."""
    weight = model.tally.blocks[block].summary.column_weight
    seen = weight[:, min(column, weight.shape[1] - 1)]
    total = model.tally.class_weight
    return np.divide(seen, total, out=np.zeros_like(total), where=total > 0)
