"""Expectation-maximisation: learning from rows whose class is not known.

E-step: each unlabelled row is shared among the classes by its posterior. M-step: the tally of those shares,
added to the tally of the labelled rows, is the next model. Both are the scoring and the counting that every family
has, so there is no code here for any of them.

What never falls from one step to the next is the penalised log likelihood

    Σ_labelled w log P(x, y) + Σ_unlabelled λ w log Σ_k P(x, k) + log P(θ),

where λ is the weight of unlabelled rows and P(θ) the prior whose mode the smoothing is (`Family.log_penalty`). The
floor on Gaussian variances is the mode of no prior, so where it acts a step may lose; such a step is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Batch, Labels, Rows
from tallybayes.core.chunks import CHUNK
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.core.tally import Tally, count
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.errors import DataError, NotAvailableError
from tallybayes.learning.options import check_steps

UNKNOWN = np.int32(-1)  # code of a row whose class is not known
ALPHAS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # pseudocounts that "auto" tries
WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 1.0)  # weights of unlabelled rows that "auto" tries

Report = Callable[[int, float], None]  # called with the number of each step and the log likelihood it reached


@dataclass(frozen=True)
class Learned:
    """A model and how expectation-maximisation came to it.

    Parameters
    ----------
    model : Model
    n_iter : int
        Steps taken.
    converged : bool
        Whether the last step gained less than the tolerance.
    log_likelihood_path : tuple of float
        Penalised log likelihood after each step; it never falls.
    """

    model: Model
    n_iter: int
    converged: bool
    log_likelihood_path: tuple[float, ...]

    def __repr__(self) -> str:
        end = "converged in" if self.converged else "not converged after"
        return f"Learned({end} {plural(self.n_iter, 'step')}, log likelihood {self.log_likelihood_path[-1]:.6g})"


def learn(
    start: Model,
    batch: Rows,
    *,
    max_iter: int = 100,
    tol: float = 1e-3,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> Learned:
    """Learn from rows of which some, or all, have no label.

    Parameters
    ----------
    start : Model
        Where to begin: what the first responsibilities are taken from. Its tally is not kept.
    batch : Rows
        All rows, the labelled ones too. Their labels are hard: a class code and a weight, and the code −1 where the
        class is not known.
    max_iter : int
        Most steps to take.
    tol : float
        The steps end when one gains less than this for each unit of weight.
    n_jobs : int, optional
        Threads.
    report : callable, optional
        Called with the number of each step and the penalised log likelihood it reached.

    Returns
    -------
    Learned

    Examples
    --------
    >>> from tallybayes import Settings, families, tally
    >>> from tallybayes.data.arrays import one_block
    >>> x, family = np.array([[0.0], [9.0], [0.4], [0.6], [9.2], [8.8]]), families.Gaussian(0.01)
    >>> start = Model(Settings({"gaussian": family}), tally(x[:2], ["low", "high"], family))
    >>> codes = np.array([1, 0, -1, -1, -1, -1], dtype=np.int32)  # classes are in alphabetical order
    >>> found = learn(start, one_block("gaussian", start.schema, x, Labels.hard(codes)))
    >>> found.converged, found.model.parameters["gaussian"].mean.round(3).tolist()
    (True, [[9.0], [0.333]])
    """
    check_steps(tol, max_iter)
    rows = batch.rows(0, batch.n_rows)  # a lazy source would encode its cells again at every step
    codes, weight = codes_and_weight(rows)
    total = float(weight.sum())
    if not total > 0:
        raise DataError("all rows have weight zero: nothing can be learned from them")
    base = _log_base(start, rows, weight)
    may_fall = base is None  # scores that are no probabilities have no likelihood to climb
    step = _Step(rows, codes, weight, n_jobs)
    model = replace(start, tally=step(start)[0])
    path: list[float] = []
    converged, before = False, model
    while True:
        tally, value = step(model)
        value += log_penalty(model) + (base or 0.0)
        if path and value < path[-1] and not may_fall:  # the floor on variances, or rounding
            return Learned(before, len(path), True, tuple(path))
        path.append(value)
        if report is not None:
            report(len(path), value)
        converged = len(path) > 1 and abs(path[-1] - path[-2]) <= tol * total
        if converged or len(path) == max_iter:
            return Learned(model, len(path), converged, tuple(path))
        before, model = model, replace(model, tally=tally)


@dataclass(frozen=True)
class _Step:
    """One pass over the rows: scored, shared and counted chunk by chunk, so that a chunk stays in the cache."""

    rows: Batch
    codes: NDArray[np.int32]  # (n,)
    weight: Array  # (n,)
    n_jobs: int | None

    def __call__(self, model: Model) -> tuple[Tally, float]:
        """The tally of the rows as this model shares them, and their log likelihood under it."""
        model.parameters, model.log_prior  # noqa: B018  estimated once, before the threads ask for them
        families, schema, n = model.settings.families, model.schema, self.rows.n_rows

        def work(first: int, last: int) -> tuple[Tally, float]:
            part = replace(self.rows.rows(first, last), schema=schema)
            share, value = shared(model, part, self.codes[first:last], self.weight[first:last])
            return count(replace(part, labels=Labels.soft(share)), families, 1), value

        threads = threads_for(self.rows.size * model.n_classes, self.n_jobs)
        parts = map_rows(work, n, self._chunk(model), threads)
        return reduce(lambda a, b: (add(a[0], b[0]), a[1] + b[1]), parts)

    def _chunk(self, model: Model) -> int:
        """Rows worth counting at a time: enough that adding up the tallies costs little beside."""
        cells = sum(a.size for b in model.tally.blocks.values() for a in b.summary.arrays().values())
        touched = max(1.0, self.rows.size * model.n_classes / max(self.rows.n_rows, 1))
        return max(CHUNK, int(16 * cells / touched))


def shared(model: Model, part: Batch, codes: NDArray[np.int32], weight: Array) -> tuple[Array, float]:
    """How the model shares the weight of each row among its classes (n, K), and Σ w log P(x) under it."""
    joint, each = model.log_joint(part, 1), np.arange(model.n_classes, dtype=np.int32)
    return joint, kernels.responsibilities(joint, model.log_prior, each, codes, weight)


def responsibilities(model: Model, batch: Rows) -> Array:
    """P(class | x, and the label where there is one), shape (n, K)."""
    rows = replace(batch.rows(0, batch.n_rows), schema=model.schema)
    codes, _ = codes_and_weight(rows)
    return shared(model, rows, codes, np.ones(rows.n_rows))[0]


def log_penalty(model: Model) -> float:
    """Log density of the parameters under the prior whose mode the smoothing is, up to a constant."""
    own = sum(model.settings.families[name].log_penalty(params) for name, params in model.parameters.items())
    if model.settings.prior == "empirical" and model.settings.prior_alpha > 0:
        own += model.settings.prior_alpha * float(model.log_prior.sum())
    return own


def with_unlabelled_weight(batch: Batch, unlabelled_weight: float) -> Batch:
    """The same rows, the weight of those without a label multiplied."""
    codes, weight = codes_and_weight(batch)
    return replace(batch, labels=Labels(codes, np.where(codes < 0, unlabelled_weight, 1.0) * weight))


def best_weight(start: Model, batch: Rows, learned: Callable[[Model, Batch], Learned]) -> float:
    """The weight of unlabelled rows under which the labels of held-out rows are likeliest.

    Each labelled row is left out of the tally in turn, exactly; what the unlabelled rows add to it stays.

    Parameters
    ----------
    start : Model
        The model of the labelled rows.
    batch : Rows
        All rows, the code −1 where the class is not known.
    learned : callable
        Runs expectation-maximisation from a model on a batch.

    Returns
    -------
    float
    """
    rows = batch.rows(0, batch.n_rows)
    known = _labelled(rows)
    losses = [
        _leave_one_out_loss(learned(start, with_unlabelled_weight(rows, each)).model if each else start, known)
        for each in WEIGHTS
    ]
    return WEIGHTS[int(np.argmin(losses))]


def best_alpha(starts: Mapping[float, Model], batch: Rows, learned: Callable[[Model, Batch], Learned]) -> float:
    """The smoothing under which, all rows learned, the labels of held-out rows are likeliest.

    What suits the labelled rows alone is too much once there are many more rows.

    Parameters
    ----------
    starts : mapping of float to Model
        The model of the labelled rows with each pseudocount.
    batch, learned
        As in `best_weight`.

    Returns
    -------
    float
    """
    rows = batch.rows(0, batch.n_rows)
    known = _labelled(rows)

    def loss(alpha: float) -> float:
        # A weak pull towards 1 (a decade counts little) where the rows do not care.
        return _leave_one_out_loss(learned(starts[alpha], rows).model, known) + 0.5 * (np.log10(alpha) / 2.0) ** 2

    return min(starts, key=loss)


def _labelled(rows: Batch) -> Batch:
    """The rows whose class is known."""
    codes, weight = codes_and_weight(rows)
    return rows.take(np.flatnonzero((codes >= 0) & (weight > 0)))


def _leave_one_out_loss(model: Model, known: Batch) -> float:
    """Σ w (−log P(y | x)) of labelled rows, each left out of what was learned."""
    assert known.labels is not None
    own = np.arange(known.n_rows), known.labels.codes
    log_posterior = np.maximum(model.leave_one_out(known)[own], -700.0)  # a single impossible row must not decide
    return -float((known.labels.weight * log_posterior).sum())


def codes_and_weight(rows: Batch) -> tuple[NDArray[np.int32], Array]:
    """The class code of each row, −1 where it is not known, and how much the row counts."""
    labels = rows.labels
    if labels is None:
        return np.full(rows.n_rows, UNKNOWN), np.ones(rows.n_rows)
    if labels.codes is None:
        raise DataError("expectation-maximisation takes hard labels, with the code -1 where a class is not known")
    return labels.codes, labels.weight


def _log_base(model: Model, rows: Batch, weight: Array) -> float | None:
    """The part of the log likelihood that no parameter changes; None where scores are no probabilities."""
    try:
        counted = weight > 0  # a row of weight zero adds nothing, even where it is impossible
        return float((weight * model.log_base(rows))[counted].sum())
    except NotAvailableError:
        return None
