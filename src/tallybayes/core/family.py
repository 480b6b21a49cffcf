"""The contract of a family: one event model over a block of columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Labels
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.errors import UnlearnError


class Family(Protocol):
    """An event model. Frozen; holds hyperparameters only, never data.

    A family works on a block of columns at once. Axes are always (row, class, column). To add one, write these
    methods in a file of its own and add it to ``families.FAMILIES``: the laws in ``tests/laws`` then test it.
    """

    name: ClassVar[str]

    def tally(self, x: Any, labels: Labels, n_classes: int) -> Any:
        """Summarise the rows of each class."""

    def estimate(self, summary: Any) -> Any:
        """Turn a summary into parameters. Pure: estimating twice gives the same."""

    def log_prob(self, params: Any, x: Any) -> Array:
        """Log probability (n, K) of each row's block under each class."""

    def contributions(self, params: Any, x: Any) -> Array:
        """The same (n, K, d), column by column; the sum over the columns is `log_prob`."""

    def leave_one_out(self, summary: Any, params: Any, x: Any, labels: Labels) -> Array:
        """`log_prob` (n, K) of each training row, the row itself left out of the summary."""

    def log_base(self, x: Any) -> Array:
        """The part (n,) of the log probability that is the same for every class and left out of `log_prob`."""

    def log_penalty(self, params: Any) -> float:
        """Log density of the parameters under the prior whose mode `estimate` is, up to a constant."""

    def linear(self, params: Any) -> tuple[Array, Array]:
        """Weights (K, d) and bias (K,) whose linear score is `log_prob` up to a term that all classes share."""

    def sample(self, params: Any, codes: NDArray[Any], rng: np.random.Generator) -> Any:
        """Draw one row for every class code."""

    def n_parameters(self, params: Any) -> int:
        """Free parameters of this block."""

    def joint_size(self, params: Any) -> int:
        """Numbers a class would need for this block without the naive assumption, plus one."""


DOCUMENTS = frozenset({"multinomial", "complement", "clues"})  # families to which all columns of a block are one thing

SLICE = 1 << 17  # cells worked on at a time, so that they stay in the cache


def by_slices(work: Callable[[slice], None], shape: tuple[int, int]) -> None:
    """Work on a large table slice by slice, on all cores."""
    n_rows, n_columns = shape
    step = max(1, SLICE // max(n_columns, 1))
    for _ in map_rows(
        lambda first, last: work(slice(first, last)), n_rows, step, threads_for(n_rows * n_columns, None)
    ):
        pass


def totals(table: Array) -> Array:
    """Sum of the rows (K,) of a tall narrow table, many rows at a stride.

    Not as a product with ones: the threads of a BLAS keep spinning after it and take the cores from ours.
    """
    n_rows, n_columns = table.shape
    tall = n_rows // 64 * 64
    if not table.flags.c_contiguous or tall == 0:
        return np.asarray(table.sum(axis=0))
    folded = table[:tall].reshape(-1, 64 * n_columns).sum(axis=0)
    return folded.reshape(64, n_columns).sum(axis=0) + table[tall:].sum(axis=0)


def per_column(alpha: float | tuple[float, ...], n_columns: int) -> Array:
    """A pseudocount for every column."""
    return np.array(np.broadcast_to(np.asarray(alpha, dtype=np.float64), (n_columns,)))


def for_columns(family: Family, columns: list[int]) -> Family:
    """The family of some columns of its block: settings that differ by column are narrowed to them."""
    given = {f.name: getattr(family, f.name) for f in fields(family) if f.init}  # type: ignore[arg-type]
    narrowed = {name: tuple(v[j] for j in columns) for name, v in given.items() if isinstance(v, tuple)}
    return replace(family, **narrowed) if narrowed else family  # type: ignore[type-var]


def pseudocounts(alpha: float | tuple[float, ...]) -> Array:
    """The pseudocounts as the kernels take them: one for all columns (1,), or one for each (d,)."""
    return np.atleast_1d(np.asarray(alpha, dtype=np.float64))


def quiet_log(values: Array) -> Array:
    """The logarithm, with −inf for zero and no warning: a true zero is meant."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def weighed_logs(amount: Array, logs: Array) -> float:
    """Σ amount·log, where nothing times anything is nothing."""
    with np.errstate(invalid="ignore"):
        return float(np.where(amount > 0, amount * logs, 0.0).sum())


def left_of(have: Array, taken: Array | float) -> Array:
    """What remains of counts when a row's own are taken out; what rounding leaves of nothing is zero."""
    left = have - taken
    if np.any(left < -1e-9 * np.maximum(have, 1e-300)):
        raise UnlearnError(
            "a row holds more than its class does: leave-one-out needs the rows, labels and weights that the model "
            "was fitted on"
        )
    return np.where(left > 1e-12 * have, left, 0.0)
