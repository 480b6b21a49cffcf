"""Rows scored by models that were learned anew without them, choices included."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import keys
from tallybayes.core.batch import Array, Labels, Rows
from tallybayes.core.evaluation import LEAVE_ONE_OUT
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.data.tables import TableBatch
from tallybayes.errors import DataError, SettingError
from tallybayes.learning.stacking import losses

N_FOLDS = 5  # where no number is given


@dataclass(frozen=True)
class Unseen:
    """Scores of rows by models that have not seen them."""

    scores: Array  # (n, K)
    labels: Labels
    method: str  # for people
    n_folds: int = 0
    prior: Array | None = None  # (n, K) log prior that is in the scores, where another may take its place

    @property
    def mean_loss(self) -> float:
        """Mean log loss of the rows."""
        weight = self.labels.weight
        return float(weight @ losses(self.scores, self.labels)) / max(float(weight.sum()), 1e-300)

    def log_posterior(self, log_prior: Array) -> Array:
        """Log P(y | x), shape (n, K), under a prior (K,)."""
        scores = self.scores if self.prior is None else self.scores - self.prior + log_prior
        top = scores.max(axis=1, keepdims=True)
        return np.asarray(scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))


def refitted_folds(rows: Any, learned: Callable[[Any], Model], fold: NDArray[np.intp]) -> Array:
    """Score each fold by a model that is learned from all the others.

    Parameters
    ----------
    rows : Rows
        Labelled rows.
    learned : callable
        Learns some of the rows from nothing; the model has the classes of all rows.
    fold : ndarray of shape (n,)
        The fold of each row, numbered from 0; `dealt` makes them.

    Returns
    -------
    ndarray of shape (n, K)
        Log posteriors.
    """
    scores: Array | None = None
    with warnings.catch_warnings():  # they were given when the whole table was learned
        warnings.simplefilter("ignore")
        for number in range(int(fold.max()) + 1):
            model, held = learned(rows.take(np.flatnonzero(fold != number))), np.flatnonzero(fold == number)
            part = model.log_posterior(as_read(model, rows.take(held)))
            scores = np.empty((rows.n_rows, model.n_classes)) if scores is None else scores
            scores[held] = part
    assert scores is not None
    return scores


def dealt(rows: Rows, n_folds: int, seed: int = 0) -> NDArray[np.intp]:
    """The fold (n,) of each row by what it holds, every fold with its share of each class.

    Any order of the rows gives the same folds; another seed gives others.
    """
    if not 2 <= n_folds <= rows.n_rows:
        raise SettingError(f"folds must be between 2 and the {plural(rows.n_rows, 'row')} of the data, not {n_folds}")
    if rows.labels is None or rows.labels.codes is None:
        raise DataError("an evaluation needs the label of each row")
    key = keys.copy_keys(rows.keys())
    with np.errstate(over="ignore"):
        order = np.argsort(keys.mixed(key + np.uint64(seed)) if seed else key, kind="stable")
    fold = np.empty(rows.n_rows, dtype=np.intp)
    fold[order] = keys.stratified_folds(rows.labels.codes[order], n_folds)
    return fold


def as_read(model: Model, rows: Any) -> Rows:
    """Rows as a model reads them that was learned from others of the same table."""
    if isinstance(rows, TableBatch):
        return replace(rows, schema=model.schema, places=model.tally.places, labels=None)
    return replace(rows, schema=model.schema, labels=None)


def method_of(n_folds: int, repeated: bool = False) -> str:
    """What an evaluation is called by the folds of learning, or by others for which all learning is repeated.

    Their figures differ a little: the folds of learning start from the fit to all rows, the others from nothing.
    """
    how = "all learning repeated without each" if repeated else "each learned anew without its rows"
    return f"{plural(n_folds, 'fold')}, {how}"


def leave_one_out_of(model: Model) -> str:
    """What leave-one-out is called: exact for counts alone; where more was learned from the rows, that stays."""
    kept = "estimated labels" if model.provenance.guessed else "choices" if model.is_chosen else ""
    return f"{LEAVE_ONE_OUT} of the counts, {kept} kept" if kept else LEAVE_ONE_OUT
