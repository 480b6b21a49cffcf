"""Leave-one-out evidence of a sample of the training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import fitting
from tallybayes.core.batch import Array
from tallybayes.core.model import Model
from tallybayes.data.tables import TableBatch

COMPARED_ROWS = 10_000  # rows on which models are compared
LEARNED_ROWS = 50_000  # rows that weights and pairs are learned from
MOST_CELLS = 16_000_000  # of evidence, in float32
MOST_SCORES = 600_000  # rows × classes that a few weights are learned from or judged on; of more rows, every so many
SLICE = 1 << 17  # numbers worked on at a time
AT_ONCE = 1 << 21  # cells of evidence that are held for all classes


@dataclass(frozen=True)
class HeldOut:
    """Leave-one-out evidence of each other class against a row's own, term by term."""

    terms: NDArray[np.float32]  # (n, K − 1, 1 + P) what the other classes have more than the row's own; prior first
    codes: NDArray[Any]  # (n,) class codes
    weight: Array  # (n,) of the rows

    @classmethod
    def of(cls, evidence: NDArray[np.float32], prior: Array, codes: NDArray[Any], weight: Array) -> HeldOut:
        """From the evidence (n, K, P) of the columns and the log prior (K,)."""
        n, n_classes, columns = evidence.shape
        terms = np.empty((n, n_classes - 1, columns + 1), dtype=np.float32)
        terms[:, :, 0] = prior[_others(codes, n_classes)] - prior[codes][:, None]
        fitting.against_own(evidence, codes, terms, 1)
        return cls(terms, codes, weight)

    @property
    def n_terms(self) -> int:
        """The prior and the columns."""
        return self.terms.shape[2]

    def take(self, rows: Any) -> HeldOut:
        """Some of the rows."""
        return HeldOut(self.terms[rows], self.codes[rows], self.weight[rows])

    def without(self, rows: NDArray[np.bool_]) -> HeldOut:
        """The same rows, some of which count for nothing."""
        return replace(self, weight=np.where(rows, 0.0, self.weight))

    def subsample(self) -> HeldOut:
        """As many of the rows as it takes to compare models."""
        return self.take(slice(None, None, max(1, -(-len(self.codes) // COMPARED_ROWS))))

    def joined(self, model: Model, sample: TableBatch, places: Mapping[str, list[int]], used: Sequence[int]) -> HeldOut:
        """The same rows with the evidence of the columns of another model."""
        terms = np.empty((*self.terms.shape[:2], self.n_terms + len(used)), dtype=np.float32)
        terms[:, :, : self.n_terms] = self.terms
        _write(model, sample, places, used, terms, self.n_terms)
        return replace(self, terms=terms)

    def against(self, weights: Array) -> Array:
        """Log odds (n, K − 1) of the other classes against the row's own."""
        flat = self.terms.reshape(-1, self.n_terms) @ weights.astype(np.float32)
        return flat.reshape(self.terms.shape[:2]).astype(np.float64)

    def losses(self, weights: Array) -> Array:
        """−log P(y_n | x_n), shape (n,)."""
        return fitting.rival_losses(self.terms, self.weight, weights)

    def single_losses(self) -> Array:
        """Mean loss (P,) of each column by itself."""
        few, found = self.take(slice(None, None, max(1, len(self.codes) // 5000))), np.empty(self.n_terms - 1)
        width = max(1, SLICE // max(few.terms.shape[0] * few.terms.shape[1], 1))  # columns at a time
        for first in range(0, len(found), width):
            own = few.terms[:, :, first + 1 : first + 1 + width] + few.terms[:, :, :1]
            found[first : first + width] = losses_of(own.astype(np.float64)).mean(axis=0)
        return found

    def loss_increases(self, weights: Array) -> Array:
        """How much the mean loss rises (1 + P,) without each term, the prior's first."""
        total = max(float(self.weight.sum()), 1e-300)
        return fitting.loss_rises(self.terms, self.weight, weights) / total

    def log_posterior(self, weights: Array) -> Array:
        """Log P(y | x), shape (n, K)."""
        against = self.against(weights)
        out = np.repeat(-losses_of(against)[:, None], against.shape[1] + 1, axis=1)
        rows = np.arange(len(out))[:, None]
        out[rows, _others(self.codes, against.shape[1] + 1)] += against
        return out


def _others(codes: NDArray[Any], n_classes: int) -> NDArray[np.intp]:
    """The codes (n, K − 1) of the classes that a row does not belong to."""
    others = np.arange(n_classes - 1)[None]
    return np.asarray(others + (others >= np.asarray(codes)[:, None]))


def losses_of(against: Array) -> Array:
    """log(1 + Σ exp) over the second axis, without overflow."""
    top = np.maximum(against.max(axis=1, initial=0.0), 0.0)
    return np.asarray(top + np.log(np.exp(-top) + np.exp(against - top[:, None]).sum(axis=1)))


def held_out(model: Model, sample: TableBatch, places: Mapping[str, list[int]], used: Sequence[int]) -> HeldOut:
    """Leave-one-out evidence of the sample, the columns in the order of ``used``."""
    assert sample.labels is not None
    prior = np.maximum(model.log_prior, -1e3)  # a class that never occurs stays out of it
    nothing = np.empty((sample.n_rows, model.n_classes, 0), dtype=np.float32)
    codes: Any = sample.labels.codes
    return HeldOut.of(nothing, prior, codes, sample.labels.weight).joined(model, sample, places, used)


def _write(
    model: Model,
    sample: TableBatch,
    places: Mapping[str, list[int]],
    used: Sequence[int],
    terms: NDArray[np.float32],
    first: int,
) -> None:
    """Write the evidence of columns of rows that are left out of what was learned into terms, from ``first`` on."""
    assert sample.labels is not None
    assert sample.labels.codes is not None
    batch, order = replace(sample, schema=model.schema, places=places), {p: place for place, p in enumerate(used)}
    step = max(1, AT_ONCE // max(model.n_classes * len(used), 1))
    for at in range(0, sample.n_rows, step):
        some = slice(at, min(at + step, sample.n_rows))
        evidence = np.empty((some.stop - at, model.n_classes, len(used)), dtype=np.float32)
        # Against the row's own class before it is rounded: the unit of a column shifts the logs of all classes alike.
        model.left_out.each_column(batch.rows(at, some.stop), evidence, order)
        fitting.against_own(evidence, sample.labels.codes[some], terms[some], first)
