"""A class mix that differs from the one learned, estimated from unlabelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tallybayes.core.batch import Array, Rows
from tallybayes.core.model import Model
from tallybayes.core.schema import Level, plural
from tallybayes.errors import DataError
from tallybayes.learning.options import check_steps


@dataclass(frozen=True)
class PriorShift:
    """The class mix of a population and how it was found; ``model.with_prior(shift.prior)`` uses it.

    Parameters
    ----------
    prior : mapping of class to probability
    n_iter : int
        Steps taken.
    converged : bool
        Whether the last step changed no probability by more than the tolerance.
    log_likelihood_path : tuple of float
        Log likelihood of the rows before the first step and after each; never falls, but for rounding.
    """

    prior: Mapping[Level, float]
    n_iter: int
    converged: bool
    log_likelihood_path: tuple[float, ...]

    def __repr__(self) -> str:
        mix = ", ".join(f"{label}: {share:.4g}" for label, share in self.prior.items())
        end = "converged in" if self.converged else "not converged after"
        return f"PriorShift({mix}; {end} {plural(self.n_iter, 'step')})"


def estimate_prior(
    model: Model, batch: Rows, tol: float = 1e-8, max_iter: int = 1000, n_jobs: int | None = None
) -> PriorShift:
    """Estimate the class mix of unlabelled rows, where P(x | y) is as learned.

    Expectation-maximisation on the prior alone (Saerens, Latinne and Decaestecker 2002):
    p_k ← Σ_n w_n P(y=k | x_n, p) / Σ_n w_n, from the model's prior. Classes of prior zero keep it. Labels in the
    batch are ignored, the weights of its rows are not.

    Parameters
    ----------
    model : Model
    batch : Rows
        Rows of the population, labelled or not.
    tol : float
        The steps end when none changes a probability by more.
    max_iter : int
        Most steps to take.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    PriorShift

    Examples
    --------
    >>> from tallybayes import Settings, families, tally
    >>> from tallybayes.data.arrays import one_block
    >>> rng, family = np.random.default_rng(0), families.Gaussian()
    >>> x = rng.normal(size=(200, 1)) + np.repeat([[0.0], [3.0]], 100, axis=0)
    >>> model = Model(Settings({"gaussian": family}), tally(x, ["ham"] * 100 + ["spam"] * 100, family))
    >>> mailbox = rng.normal(size=(1000, 1)) + np.repeat([[0.0], [3.0]], [900, 100], axis=0)
    >>> shift = estimate_prior(model, one_block("gaussian", model.schema, mailbox))
    >>> round(shift.prior["spam"], 1), shift.converged
    (0.1, True)
    """
    check_steps(tol, max_iter)
    if not batch.n_rows:
        raise DataError("the class mix of no rows is unknown; pass rows of the population")
    return prior_of_scores(model, model.log_joint(batch, n_jobs), _row_weight(batch), tol, max_iter)


def prior_of_scores(
    model: Model, log_joint: Array, weight: Array, tol: float = 1e-8, max_iter: int = 1000
) -> PriorShift:
    """The same from the log joint (n, K) of the rows by the model, and their weights (n,)."""
    living = np.flatnonzero(np.isfinite(model.log_prior))
    if len(living) < 2:
        raise DataError("the mix of a single class is always 1; a model of at least two classes is needed")
    log_ratio = log_joint[:, living] - model.log_prior[living]
    prior = np.exp(model.log_prior[living])
    found, path, converged = _climb(log_ratio, weight, prior / prior.sum(), tol, max_iter)
    mix = np.zeros(model.n_classes)
    mix[living] = found
    return PriorShift(dict(zip(model.schema.classes, mix.tolist(), strict=True)), len(path) - 1, converged, tuple(path))


def _row_weight(batch: Rows) -> Array:
    """The weight of each row (n,); one by default."""
    if batch.labels is None:
        return np.ones(batch.n_rows)
    return batch.labels.weight if batch.labels.codes is not None else batch.labels.weight.sum(axis=1)


def _climb(log_ratio: Array, weight: Array, prior: Array, tol: float, max_iter: int) -> tuple[Array, list[float], bool]:
    """Steps of expectation-maximisation: the mix, the log likelihoods on the way and whether it converged."""
    top = log_ratio.max(axis=1)
    informative = (weight > 0) & np.isfinite(top)  # a row that every class forbids is no evidence
    if not informative.any():
        raise DataError("the class mix needs rows that count and that some class allows; there are none")
    weight, top = weight[informative], top[informative]
    ratio = np.exp(log_ratio[informative] - top[:, None])  # (n, K), the likeliest class of each row at 1

    def log_likelihood(evidence: Array) -> float:
        return float((weight * (np.log(evidence) + top)).sum())

    evidence, converged = ratio @ prior, False
    path = [log_likelihood(evidence)]
    while len(path) <= max_iter and not converged:
        before, prior = prior, prior * ((weight / evidence) @ ratio) / weight.sum()
        evidence = ratio @ prior
        path.append(log_likelihood(evidence))
        converged = bool(np.abs(prior - before).max() <= tol)
    return prior / prior.sum(), path, converged
