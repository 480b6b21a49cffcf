"""Intervals of evidence and of probabilities, in closed form from the counts behind them.

The counts of a class are a sample: the log of a share of c rows has the variance 1/c − 1/N, a mean or a variance that
of its estimate, and what is computed from them follows by the delta method. Classes are counted apart, so the variance
of log odds is the sum of both. Learned weights add theirs, the inverse of the Fisher information of a logistic model of
the same evidence. Which columns, pairs, families and offsets were chosen is taken as it is: what other rows would have
changed there is not in the intervals, nor is what the model cannot express.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Csr, Documents, Matrix, Rows, mask_scores
from tallybayes.core.importance import corrections
from tallybayes.core.model import Model
from tallybayes.core.tally import named_cells
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.inspection.sampling import sampled
from tallybayes.learning.stacking import PULL

USUAL = 0.9  # of intervals, the share that covers
FARTHEST = 700.0  # log odds beyond which a probability is zero or one
DRAWN, FEW_DRAWN = 1_000, 200  # rows that the information on the weights is averaged over; of texts


def quantile(level: float) -> float:
    """The standard deviations on either side of an interval.

    Examples
    --------
    >>> round(quantile(0.9), 3)
    1.645
    """
    if not (isinstance(level, float) and 0.0 < level < 1.0):
        raise SettingError(f"the level of an interval is a number between 0 and 1, such as 0.9, not {level!r}")
    return NormalDist().inv_cdf(0.5 + level / 2.0)


@dataclass(frozen=True)
class Odds:
    """Standard deviations of the log odds of one class against another."""

    columns: Array  # (n, D) of the evidence of each column
    prior: float  # of the prior
    total: Array  # (n,) of all together


@dataclass(frozen=True)
class Uncertainty:
    """How far the evidence and the probabilities of a model may be off, as it has learned from so many rows.

    Parameters
    ----------
    model : Model

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> days = datasets.tennis()
    >>> model = NaiveBayes(classical=True).fit(days, target="play")
    >>> row = model.labelled_rows(days).take(np.array([0]))
    >>> known = Uncertainty(model.model_)
    >>> dict(zip(model.model_.schema.names, known.odds(row, 0, 1).columns[0].round(2).tolist()))
    {'outlook': 0.61, 'temperature': 0.68, 'humidity': 0.47, 'wind': 0.49}
    >>> known.probabilities(row)[0].round(2)  # of no and of yes
    array([[0.22, 0.95],
           [0.05, 0.78]])
    """

    model: Model

    def odds(self, batch: Rows, mine: int, theirs: int) -> Odds:
        """Standard deviations of the log odds of a class against another, by their positions."""
        of_counts = variances(self.model, batch)[:, [mine, theirs]].sum(axis=1)
        by_weight = self._slopes(batch)
        slopes = by_weight[:, mine] - by_weight[:, theirs]  # (n, P)
        prior = float(prior_variances(self.model)[[mine, theirs]].sum())
        own = self._by_column(slopes**2)
        total = of_counts.sum(axis=1) + prior + np.einsum("ni,ij,nj->n", slopes, self.covariance, slopes)
        prior_sd = float(np.sqrt(prior + own[0, -1])) if len(own) else 0.0
        return Odds(np.sqrt(of_counts + own[:, :-1]), prior_sd, np.sqrt(total))

    def of_values(self, batch: Rows) -> tuple[Array, Array]:
        """Contributions (n, K, D) and the variance of each, weights included, of rows that have only some blocks."""
        parts, found = self.model.contributions(batch), variances(self.model, batch)
        return parts, found + self._by_column(self._slopes(batch) ** 2)[:, :, :-1] if len(self.learned) else found

    def _by_column(self, squares: Array) -> Array:
        """Squared slopes (…, P) times the variance of their weight, at the places of all columns and of the prior."""
        found = np.zeros((*squares.shape[:-1], len(self.model.schema.columns) + 1))
        found[..., self.learned] = squares * np.diag(self.covariance)
        return found

    def probabilities(self, batch: Rows, level: float = USUAL) -> Array:
        """The interval (n, K, 2) of P(y | x) of each row and class.

        On the scale of log odds, where the estimate is nearly normal: the variance of log p_k − log Σ_j p_j over the
        other classes is v_k + Σ_j q_j² v_j, q_j their shares of the rest. The ends are calibrated as the probability
        is. A share ``level`` of the intervals covers what would be learned from endless rows like those seen.
        """
        wide, model = quantile(level), self.model
        by_class = variances(model, batch).sum(axis=2) + prior_variances(model)
        slopes = self._slopes(batch)
        joint = np.maximum(model.log_joint(batch), -1e300)
        logs = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        ends = np.empty((*logs.shape, 2))
        for k in range(model.n_classes if model.n_classes > 1 else 0):
            others = np.delete(logs, k, axis=1)
            rest = np.logaddexp.reduce(others, axis=1)
            share = np.exp(others - rest[:, None])
            slope = slopes[:, k] - np.einsum("nk,nkd->nd", share, np.delete(slopes, k, axis=1))
            spread = by_class[:, k] + (share**2 * np.delete(by_class, k, axis=1)).sum(axis=1)
            spread = np.sqrt(spread + np.einsum("ni,ij,nj->n", slope, self.covariance, slope))
            for side, sign in enumerate((-1.0, 1.0)):
                odds = np.clip(logs[:, k] - rest + sign * wide * spread, -FARTHEST, FARTHEST)
                moved = np.insert(others - rest[:, None], k, odds, axis=1)
                moved -= np.logaddexp.reduce(moved, axis=1, keepdims=True)
                if model.settings.calibration is not None:
                    moved = model.settings.calibration.apply(moved)
                ends[:, k, side] = np.exp(moved[:, k])
        return np.sort(ends, axis=2) if model.n_classes > 1 else np.ones_like(ends)

    @cached_property
    def learned(self) -> NDArray[np.intp]:
        """The places (P,) of the columns whose weights were learned, and last, one beyond the columns, of the prior.

        A weight of zero is none: what is not used has no interval. Nor have texts whose words have weights.
        """
        weights = self.model.settings.weights
        if weights is None or self.model.n_classes < 2:
            return np.zeros(0, dtype=np.intp)
        own = np.array([name not in weights.words for name in self.model.schema.names])
        columns = np.flatnonzero(own & (self.model.column_weights != 0))
        return np.append(columns, len(own)) if weights.prior not in (0.0, 1.0) else columns  # one is not learned

    @cached_property
    def covariance(self) -> Array:
        """Covariance (P, P) of the learned weights.

        The inverse of n times the mean information in a row, over rows that the model draws itself, and of what pulls
        weights to where they start.
        """
        model, size = self.model, len(self.learned)
        if not size:
            return np.zeros((0, 0))
        n_rows = FEW_DRAWN if model.texts else DRAWN
        try:
            table, _ = sampled(model, n_rows, np.random.default_rng(0), missing=True)
        except NotAvailableError:
            return np.zeros((size, size))
        batch = TableBatch(model.schema, read_table(table), model.tally.places)
        slopes, p = self._slopes(batch), model.posterior(batch)
        middle = np.einsum("nk,nkd->nd", p, slopes)
        each = slopes * np.sqrt(p)[:, :, None]
        information = np.tensordot(each, each, axes=((0, 1), (0, 1))) - middle.T @ middle
        rows = float(model.tally.class_weight.sum()) / n_rows
        return np.linalg.inv(rows * information + 2.0 * PULL * np.eye(size))

    def _slopes(self, batch: Rows) -> Array:
        """What a unit of each learned weight adds to the score of each class (n, K, P)."""
        model, learned = self.model, self.learned
        if not len(learned):
            return np.zeros((batch.n_rows, model.n_classes, 0))
        parts = model.contributions(batch) - corrections(model, batch.rows(0, batch.n_rows))
        columns = learned[learned < parts.shape[2]]
        slopes = parts[:, :, columns] / model.column_weights[columns]
        if len(columns) < len(learned) and model.settings.weights is not None:
            prior = np.maximum(model.prior_score, -FARTHEST) / model.settings.weights.prior
            slopes = np.concatenate((slopes, np.broadcast_to(prior[:, None], (*parts.shape[:2], 1))), axis=2)
        slopes = np.clip(np.nan_to_num(slopes), -FARTHEST, FARTHEST)
        return np.asarray(slopes - slopes.mean(axis=1, keepdims=True))


def variances(model: Model, batch: Rows) -> Array:
    """Sampling variance (n, K, D) of the contributions of each column, weights included.

    Parameters
    ----------
    model : Model
    batch : Rows

    Returns
    -------
    ndarray of shape (n, K, D)
    """
    found = np.zeros((batch.n_rows, model.n_classes, len(model.schema.columns)))
    for name, block in batch.rows(0, batch.n_rows).blocks.items():
        if name not in model.tally.blocks:
            continue
        x = model.words.of_known(name, block.x)
        x = x.dense() if isinstance(x, Csr) and not isinstance(x, Documents) else x
        work = named_cells(partial(_of_block, model, name), model.schema, block.columns, 0)
        each = mask_scores(block.x, work(x))
        found[:, :, list(block.columns)] = each if each.ndim == 3 else each[:, :, None]
    return found


def _of_block(model: Model, name: str, x: Matrix) -> Array:
    family, summary, weights = model.settings.families[name], model.words.summary(name), model.weight_of(name)
    names = [model.schema.columns[p].name for p in model.tally.blocks[name].columns]
    if name in model.offsets and len(names) == len(
        weights
    ):  # an offset for each value is known no better than its rows
        own = [each in model.settings.offsets and not model.settings.offsets[each].is_constant for each in names]
        weights = np.where(own, np.maximum(np.abs(weights), 1.0), weights)
    return family.variances(summary, model.parameters[name], x, weights)


def prior_variances(model: Model) -> Array:
    """Sampling variance (K,) of what the prior adds to the scores: that of the log of each class's count.

    A prior that was given, and not learned, has none.
    """
    if model.settings.prior != "empirical":
        return np.zeros(model.n_classes)
    rows = model.tally.class_weight
    spread = 1.0 / np.sqrt(np.maximum(rows, 0.5))
    slope = 1.0 if model.settings.weights is None else model.settings.weights.prior
    return np.asarray((slope * spread) ** 2)
