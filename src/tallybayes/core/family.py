"""The contract of a family: one event model over a block of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Labels, columns_of
from tallybayes.core.schema import Column, Kind
from tallybayes.core.terms import Term, Text
from tallybayes.core.threads import map_rows, threads_for
from tallybayes.core.trials import Trial
from tallybayes.errors import CellError, NotAvailableError, SchemaError, UnlearnError

MOST_DRAWN = 1e18  # the largest mean of a count that can be drawn at random
Evidence = NDArray[np.float32]  # (n, K, P) of each column and class
Counting = Literal["moments", "levels", "sums", "spike"]  # what an engine can be asked for, see `Family.counted_by`


@dataclass(frozen=True)
class Numbers:
    """What is known of a numeric column when candidates for its family are chosen."""

    low: float  # smallest value
    high: float  # largest value
    zeros: float  # share of values that are exactly zero


class Family(Protocol):
    """An event model. Frozen; holds hyperparameters only, never data.

    A family works on a block of columns at once. Axes are always (row, class, column). To add one, inherit from this
    class, write the methods without a body in a file of its own and add it to ``families.FAMILIES``. What it can do is
    declared here and nowhere else: the laws in ``tests/laws`` then test it.
    """

    name: ClassVar[str]
    kind: ClassVar[Kind]  # of its columns, where a whole array is read by it
    reads: ClassVar[tuple[Kind, ...]] = ()  # of the columns of a table it can be chosen for; the first is the usual one
    textbook: ClassVar[tuple[Kind, ...]] = ()  # kinds of which it is the textbook family
    summary: ClassVar[type[Any]]  # what `tally` returns
    least: ClassVar[float] = -np.inf  # smallest number it can hold
    above_least: ClassVar[bool] = False  # numbers must be larger than ``least``
    is_document: ClassVar[bool] = False  # all columns of a block are one thing, such as the words of a text
    is_coded: ClassVar[bool] = False  # reads codes of levels, bins or pairs
    in_bins: ClassVar[bool] = False  # reads a number in fine bins; all such families share their fine counts
    is_correction: ClassVar[bool] = False  # corrects the evidence of other columns; no distribution of its own
    has_spike: ClassVar[bool] = False  # zero has a probability of its own, beside a density of all other numbers
    by_column: ClassVar[frozenset[str]] = frozenset()  # settings that a block may have one of for each column
    counts_by: ClassVar[frozenset[str]] = frozenset()  # settings that the counts depend on, not only how they are read
    by_rivals: ClassVar[bool | None] = None  # whether words are scored by the other classes; None: they have no weights
    text_alpha: ClassVar[float] = 1.0  # usual pseudocount of the words of a text

    def check(self, columns: Sequence[Column], summary: Any) -> None:
        """Refuse columns that the family does not read, and a summary that it does not make: a file may name any."""
        if not isinstance(summary, self.summary):
            raise SchemaError(f"{self.name} does not count {type(summary).__name__}")
        known = {*self.reads, self.kind, "text" if self.is_document and not self.is_correction else self.kind}
        if other := [column for column in columns if column.kind not in known]:
            raise SchemaError(f"{self.name} does not read the column {other[0].name!r}, which is {other[0].kind}")
        if binned := [column.name for column in columns if column.edges is not None and not self.in_bins]:
            raise SchemaError(f"{self.name} does not count in bins, which the column {binned[0]!r} has")

    # ------------------------------------------------------------------------------------------ the model

    def tally(self, x: Any, labels: Labels, n_classes: int) -> Any:
        """Summarise the rows of each class."""

    def estimate(self, summary: Any) -> Any:
        """Turn a summary into parameters. Pure: estimating twice gives the same."""

    def log_prob(self, params: Any, x: Any) -> Array:
        """Log probability (n, K) of each row's block under each class."""

    def contributions(self, params: Any, x: Any) -> Array:
        """The same (n, K, d), column by column; the sum over the columns is `log_prob`."""

    def variances(self, summary: Any, params: Any, x: Any, weights: Array) -> Array:
        """Sampling variance (n, K, d) of the contributions with weights (d,) on them; of documents (n, K).

        By the delta method on the counts, as if the classes had been counted apart.
        """
        raise NotAvailableError(f"{self.name} columns have no intervals")

    def leave_one_out(self, summary: Any, params: Any, x: Any, labels: Labels) -> Array:
        """`log_prob` (n, K) of each training row, the row itself left out of the summary."""

    def log_base(self, x: Any) -> Array:
        """The part (n,) of the log probability that is the same for every class and left out of `log_prob`."""
        return np.zeros(x.shape[0])

    def log_penalty(self, params: Any) -> float:
        """Log density of the parameters under the prior whose mode `estimate` is, up to a constant."""
        return 0.0  # most smoothing is the mode of no fixed prior

    def linear(self, params: Any) -> tuple[Array, Array]:
        """Weights (K, d) and bias (K,) whose linear score is `log_prob` up to a term that all classes share."""
        raise NotAvailableError(f"{self.name} columns are not linear in x, so there are no linear weights")

    def sample(self, params: Any, codes: NDArray[Any], rng: np.random.Generator) -> Any:
        """Draw one row for every class code."""

    def n_parameters(self, params: Any) -> int:
        """Free parameters of this block."""

    def joint_size(self, params: Any) -> int:
        """Numbers a class would need for this block without the naive assumption, plus one."""
        raise NotAvailableError(f"{self.name} columns have no full joint of a finite number of parameters")

    # ------------------------------------------------------------------------------------------ how it is chosen

    @classmethod
    def usual(cls) -> Family:
        """The family with its usual settings for a column of a mixed table."""
        return cls()

    @classmethod
    def reader(cls, kind: Kind) -> str:
        """Name of the family that counts a column of this kind, where this family was chosen for it."""
        return cls.name

    def suits(self, numbers: Numbers) -> bool:
        """Whether it is a candidate for a numeric column: it can hold all its numbers."""
        if self.kind != "numeric" or "numeric" not in self.reads:
            return False
        return numbers.low > self.least if self.above_least else numbers.low >= self.least

    def tuned(self, summary: Any, trial: Trial) -> tuple[Sequence[Family], Array]:
        """For each column the family with the settings whose loss is least, and that loss (d,) in nats a row.

        A loss is the column's alone, leave-one-out, and what leave-one-out does not see of the structure.
        """

        def without_rows(j: int) -> Array:
            part, x = summary.select(np.array([j])), columns_of(trial.x, [j])
            return self.leave_one_out(part, self.estimate(part), x, trial.labels)

        return [self] * trial.x.shape[1], trial.losses(without_rows)

    def evidence_without(self, summary: Any, x: Any, labels: Labels, out: Evidence, places: Sequence[int]) -> None:
        """Leave-one-out evidence of each column against that of the row's own class, into their places (n, K, P)."""
        assert labels.codes is not None
        rows = np.arange(len(out))
        for j, place in enumerate(places):
            family, part, column = for_columns(self, [j]), summary.select(np.array([j])), columns_of(x, [j])
            scores = family.leave_one_out(part, family.estimate(part), column, labels)
            with np.errstate(invalid="ignore"):  # impossible in all classes is no number, and so no evidence to weigh
                out[:, :, place] = scores - scores[rows, labels.codes][:, None]

    def by_itself(self) -> Family:
        """The family such that no column's parameters depend on the other columns of the block."""
        return self

    # ------------------------------------------------------------------------------------------ how it is written down

    @property
    def of_logs(self) -> bool:
        """Whether its moments are those of the logarithm of the numbers."""
        return False

    def counted_by(self) -> Counting | None:
        """How an engine can count it: moments, weights of levels, sums, a spike beside moments; None if it cannot."""
        return "levels" if self.is_coded else None

    def described(self) -> str:
        """The family of one column, for people."""
        return self.name

    def terms(self, params: Any, columns: Sequence[Column]) -> Iterator[tuple[int, Term]]:
        """What is added to the scores, as plain data, each with the place of its column in the block."""
        raise NotAvailableError(f"{self.name} columns cannot be exported")

    def text_term(self, params: Any, column: Column, words: tuple[str, ...]) -> Text:
        """What a column of text adds to the scores."""
        raise NotAvailableError(
            f"which words of {column.name!r} count depends on the text, so there is no table of them to export"
        )

    def factors(self, params: Any, column: int, value: Any) -> tuple[str, ...] | None:
        """P(value | class) of a column as it is written by hand, such as a normal density; None for a plain number."""
        return None

    # ------------------------------------------------------------------------------------------ how it is drawn

    def marginals(self, params: Any, x: Any) -> Array:
        """Log density (n, K, d) of each column by itself."""
        return self.contributions(params, x)

    def nodes(self, params: Any, most: int) -> tuple[Array, Array] | None:
        """Values (K, m, d) that stand for each class, and the share (m,) of each; None where they must be drawn."""
        return None

    def reach(self, params: Any, values: Array) -> tuple[Array, Array]:
        """From where to where (d,) curves are drawn, by likely values (K, m, d)."""
        return values.min(axis=(0, 1)), values.max(axis=(0, 1))

    def normal(self, params: Any, columns: Sequence[int]) -> tuple[Array, Array] | None:
        """Mean (K, m) and covariance (K, m, m) of some columns, where these are normal."""
        return None


def refusal(family: Family | type[Family]) -> str:
    """Why a family cannot hold numbers below its least."""
    if family.kind == "count":
        return "counts cannot be negative"
    article = "an" if family.name[0] in "aeiou" else "a"
    return f"{article} {family.name} number is {'above' if family.above_least else 'at least'} {family.least:g}"


def refuse_below_least(family: Family, x: NDArray[Any]) -> None:
    """Refuse numbers that a family cannot hold, by their cell."""
    values = np.asarray(x, dtype=np.float64)
    bad = np.argwhere(values <= family.least if family.above_least else values < family.least)
    if len(bad):
        row, column = bad[0].tolist()
        raise CellError(f"holds {values[row, column]:g}, and {refusal(family)}", "Use another family.", row, column)


SLICE = 1 << 17  # cells worked on at a time, so that they stay in the cache


def by_slices(work: Callable[[slice], None], shape: tuple[int, int]) -> None:
    """Work on a large table slice by slice, on all cores."""
    n_rows, n_columns = shape
    step = max(1, SLICE // max(n_columns, 1))
    for _ in map_rows(
        lambda first, last: work(slice(first, last)), n_rows, step, threads_for(n_rows * n_columns, None)
    ):
        pass


def per_column(alpha: float | tuple[float, ...], n_columns: int) -> Array:
    """A pseudocount for every column."""
    given = np.asarray(alpha, dtype=np.float64)
    return np.full(n_columns, given) if given.ndim == 0 else np.array(np.broadcast_to(given, (n_columns,)))


def for_columns(family: Family, columns: list[int]) -> Family:
    """The family of some columns of its block: settings that differ by column are narrowed to them."""
    given = {f.name: getattr(family, f.name) for f in fields(family) if f.init}  # type: ignore[arg-type]
    several = {name: v for name, v in given.items() if isinstance(v, tuple) and name in family.by_column}
    narrowed = {name: tuple(v[j] for j in columns) for name, v in several.items()}
    return replace(family, **narrowed) if narrowed else family  # type: ignore[type-var]


def pseudocounts(alpha: float | tuple[float, ...]) -> Array:
    """The pseudocounts as the kernels take them: one for all columns (1,), or one for each (d,)."""
    return np.atleast_1d(np.asarray(alpha, dtype=np.float64))


def quiet_log(values: Array) -> Array:
    """The logarithm, with −inf for zero and no warning: a true zero is meant."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def log_total(logs: Array) -> Array:
    """Log Σ_k exp(logs), shape (n,), of logs (n, K)."""
    top = logs.max(axis=1)
    shift = np.where(np.isneginf(top), 0.0, top)
    return quiet_log(np.exp(logs - shift[:, None]).sum(axis=1)) + shift


def weighted_logs(amount: Array, logs: Array) -> float:
    """Σ amount·log, where nothing times anything is nothing."""
    with np.errstate(invalid="ignore"):
        return float(np.where(amount > 0, amount * logs, 0.0).sum())


BEYOND = "a row holds more than its class: leave-one-out needs the rows, labels and weights the model was fitted on"


def left_of(have: Array, taken: Array | float) -> Array:
    """What remains of counts when a row's own are taken out; what rounding leaves of nothing is zero."""
    left = have - taken
    if np.any(left < -1e-9 * np.maximum(have, 1e-300)):
        raise UnlearnError(BEYOND)
    return np.where(left > 1e-12 * have, left, 0.0)
