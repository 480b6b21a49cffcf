"""Tallies that may be published: with noise on every count and sum, and without names that few rows have.

Differential privacy (Dwork and Roth 2014): whatever is done with the released tally, it hardly depends on whether any
one row was counted. Neighbouring tables differ by one row more or less. Every class weight, table of levels, and sum of
a column is a query that one row changes by no more than its sensitivity; each is released with noise of that scale.
Names of classes, levels and words are data, too: they come from a schema that was known beforehand, or are released
only where more rows have them than one row and its noise can explain (Korolova et al. 2009).
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.schema import Column, NumberedColumns, Schema
from tallybayes.core.summaries import Counts, Moments
from tallybayes.core.tally import Block, Tally
from tallybayes.errors import NotAvailableError, PrivacyWarning, SchemaError, SettingError
from tallybayes.families import family_of
from tallybayes.families.zero_inflated import Spiked
from tallybayes.inspection.names import are_known, by_column, common, is_coded, suppressed
from tallybayes.inspection.noise import Noise

Bounds = Mapping[str, tuple[float, float]]

WARNING = """\
What this protects: one row. Whoever sees the released tally, and knows every other row, can hardly tell whether that
row was counted. A person with several rows is protected that much less.
What it does not protect: the names and kinds of columns, and the schema that was given as known; what is true of the
population, such as that smokers fall ill; the tally that was not released, and models that were made from it. Bounds
and schema must be known beforehand, not read off the data, and rows be clipped to the bounds before they are counted.
Releases add up: two with epsilon 1 are one with epsilon 2."""


@dataclass(frozen=True)
class Release:
    """A private tally and what it cost.

    Parameters
    ----------
    tally : Tally
    epsilon, delta : float
        The privacy that all its figures together have.
    n_queries : int
        Into how many equal parts the budget was split.
    mechanism : {"Laplace", "Gaussian", "none"}
    is_secret : bool
        Whether the noise came from the cryptographic source of the system; noise of a seed protects nobody.
    """

    tally: Tally
    epsilon: float
    delta: float
    n_queries: int
    mechanism: str
    is_secret: bool = True

    def __str__(self) -> str:
        noise = f"{self.mechanism} noise on {self.n_queries:,} queries"
        noise += "" if self.is_secret else ", from a seed: it can be drawn again, and protects nobody"
        return f"{self.tally}\nepsilon {self.epsilon:g}, delta {self.delta:g}, {noise}\n\n{WARNING}"


def spent(*releases: Release) -> tuple[float, float]:
    """The privacy loss of several releases of the same rows together: their epsilons and their deltas add up.

    Examples
    --------
    >>> from tallybayes import tally
    >>> ages = tally({"age": [31.0, 45.0, 62.0], "ill": ["no", "no", "yes"]}, "ill")
    >>> one = release(ages, 0.5, bounds={"age": (0, 120)}, schema=ages.schema)
    >>> spent(one, one)
    (1.0, 0.0)
    """
    return math.fsum(each.epsilon for each in releases), math.fsum(each.delta for each in releases)


def release(
    tally: Tally,
    epsilon: float | None,
    delta: float = 0.0,
    bounds: Bounds | None = None,
    schema: Schema | None = None,
    min_cell: float = 0.0,
    most_weight: float = 1.0,
    logs: Collection[str] = (),
    seed: int | None = None,
) -> Release:
    """Make a tally that may be published.

    Parameters
    ----------
    tally : Tally
        A block of numbers that vary together is left out: for the products of columns no noise is implemented.
    epsilon : float or None
        The privacy loss of the whole release; 1 is usual, 10 is little protection. None adds no noise and protects
        nothing but what `min_cell` removes.
    delta : float, default=0.0
        With 0 the noise is Laplace's. Otherwise it is Gaussian, which is less for many columns, and the privacy may
        fail with this probability: far less than one over the number of rows.
    bounds : mapping of column to (low, high)
        Between which all values of each number lie; of text, 0 and the most tokens of one text. They must be known
        beforehand, and rows be clipped to them before they are counted: a tally cannot check it.
    schema : Schema, optional
        The columns, kinds, levels, words, bins and classes that were known beforehand, such as the schema of a tally of
        public rows. Classes and levels that it lacks are left out, and those that the rows lack are released like the
        others. To pass ``tally.schema`` is to vouch that nothing in it was read off the rows. Without a schema, names
        that few rows have are removed, for which half of `delta` is spent; bins and pairs are refused.
    min_cell : float, default=0.0
        Levels whose weight over all classes, noise included, is below this are removed with their names, and so are
        counts of a class below it.
    most_weight : float, default=1.0
        The largest weight that a row may have had.
    logs : collection of str, optional
        Zero-inflated columns whose other numbers were counted by their logarithm, as ``rest="lognormal"`` does; their
        bounds are still those of the numbers.
    seed : int, optional
        For tests only: noise that can be drawn again protects nobody.

    Returns
    -------
    Release

    Examples
    --------
    >>> from tallybayes import tally
    >>> rows = {"age": [31.0, 45.0, 62.0, 38.0], "smokes": [True, False, True, False], "ill": ["no", "no", "yes", "no"]}
    >>> counted = tally(rows, target="ill")
    >>> release(counted, 1.0, bounds={"age": (0, 120)}, schema=counted.schema).n_queries
    5
    """
    if tally.is_empty:
        raise SettingError("an empty tally has nothing to release")
    _check(epsilon, delta, min_cell, most_weight)
    tally = tally.without("block")
    mechanism: Literal["none", "Laplace", "Gaussian"] = "none"
    plan = Plan(tally, dict(bounds or {}), frozenset(logs))
    n_queries = plan.n_queries()
    if epsilon is not None:
        mechanism = "Gaussian" if delta else "Laplace"
        plan = replace(plan, tally=_with_known_names(tally, schema, delta))
        is_hidden = schema is None and not are_known(tally)
        dice = random.SystemRandom() if seed is None else random.Random(seed)
        noise = Noise(mechanism, _scale(epsilon, delta / 2 if is_hidden else delta, n_queries), most_weight, dice)
        tally = plan.noised(noise)
        tally = common(tally, noise, plan.token_bounds(), delta / 2) if is_hidden else tally
    tally = suppressed(tally, min_cell) if min_cell > 0 else tally
    tally = replace(tally, schema=_without_reasons(tally.schema))
    loss = math.inf if epsilon is None else epsilon
    return Release(tally, loss, delta, n_queries, mechanism, seed is None)


def private(tally: Tally, epsilon: float | None, delta: float = 0.0, **options: Any) -> Tally:
    """Return a tally that may be shown: with noise of differential privacy on everything that was counted.

    The parameters are those of `release`, which also returns what it cost; its text describes what it does and does
    not protect.

    Examples
    --------
    >>> from tallybayes import private, tally
    >>> ages = tally({"age": [31.0, 45.0, 62.0], "ill": ["no", "no", "yes"]}, "ill")
    >>> private(ages, None, bounds={"age": (0, 120)}, min_cell=2).class_weight
    array([2., 1.])
    """
    return release(tally, epsilon, delta, **options).tally


def _check(epsilon: float | None, delta: float, min_cell: float, most_weight: float) -> None:
    if epsilon is not None and not (math.isfinite(epsilon) and epsilon > 0):
        raise SettingError(f"epsilon must be a number above 0, not {epsilon!r}; around 1 is usual")
    if not 0 <= delta < 0.1:
        raise SettingError(f"delta must be far below one over the number of rows, such as 1e-9, not {delta!r}")
    if not (math.isfinite(min_cell) and min_cell >= 0):
        raise SettingError(f"min_cell must be at least 0, not {min_cell!r}")
    if not (math.isfinite(most_weight) and most_weight > 0):
        raise SettingError(f"most_weight must be a number above 0, not {most_weight!r}")


def _scale(epsilon: float, delta: float, n_queries: int) -> float:
    """The scale of the noise of each query with sensitivity one, so that all of them together keep the budget."""
    if delta == 0:  # the losses of the queries add up
        return n_queries / epsilon
    # Zero-concentrated privacy adds up, too, and turns into (epsilon, delta) at the end (Bun and Steinke 2016).
    loss = math.log(1.0 / delta)
    rho = (math.sqrt(loss + epsilon) - math.sqrt(loss)) ** 2
    return math.sqrt(n_queries / (2.0 * rho))


# ------------------------------------------------------------------------------------------------ names


def _with_known_names(tally: Tally, schema: Schema | None, delta: float) -> Tally:
    """The tally with the names of a schema; without one, refuse or warn of what cannot be hidden."""
    if schema is not None:
        return _as_known(tally, schema)
    if isinstance(tally.schema.columns, NumberedColumns):
        columns: list[Column] = []
    else:
        columns = [column for column in tally.schema.columns if column.kind != "ignored"]
    for column in columns:
        if column.edges is not None or column.parts is not None:
            raise SettingError(
                f"the bins or pairs of column {column.name!r} were chosen by looking at the rows, which noise cannot "
                "hide: pass schema= with bins and pairs that were known beforehand, or release a classical tally"
            )
    if delta == 0 and not are_known(tally):
        raise SettingError(
            "the names of classes, levels and words show which rows there are: pass schema= with those that were known "
            "beforehand (schema=tally.schema, if none was read off the rows), or a delta above 0 to hide rare ones"
        )
    inferred = [column.name for column in columns if column.lasting != "as given"]
    if inferred:
        message = f"the kind of column {inferred[0]!r} was inferred from the rows, and is released as it is: give kind="
        warnings.warn(f"{message} to the tally, or schema= to the release", PrivacyWarning, stacklevel=4)
    return tally


def _as_known(tally: Tally, schema: Schema) -> Tally:
    """The tally with the classes and levels of a schema, no others."""
    mine, theirs = tally.schema.columns, schema.columns
    theirs = theirs if isinstance(theirs, NumberedColumns) else tuple(c for c in theirs if c.kind != "block")
    if [c.name for c in mine] != [c.name for c in theirs]:
        raise SettingError("the schema has other columns than the tally; count the rows by the schema")
    for column, known in zip(mine, theirs, strict=True):
        if column.edges != known.edges:
            raise SettingError(f"column {column.name!r} was counted in other bins than those of the schema")
    schema = replace(schema, columns=theirs)
    try:
        return tally.align(tally.schema.unite(schema)).restrict(schema)
    except SchemaError as error:
        raise SettingError(f"the tally cannot be read by the schema: {error}") from None


def _without_reasons(schema: Schema) -> Schema:
    """Reasons contain exact numbers of rows, ranges and values."""
    if isinstance(schema.columns, NumberedColumns):
        return schema
    return replace(schema, columns=tuple(replace(c, reason=c.lasting) for c in schema.columns)).restated()


# ------------------------------------------------------------------------------------------------ figures


@dataclass(frozen=True)
class Plan:
    """The queries of a release: how many each block needs, and their values with noise."""

    tally: Tally
    bounds: dict[str, tuple[float, float]]
    logs: frozenset[str]

    def n_queries(self) -> int:
        """One for the classes, one for each table of levels, two or three for each number."""
        return 1 + sum(self._costs(name, block) * len(block.columns) for name, block in self.tally.blocks.items())

    def _costs(self, name: str, block: Block) -> int:
        summary = block.summary
        if isinstance(summary, Moments):
            return 3
        if isinstance(summary, Spiked):
            return 5
        if isinstance(summary, Counts):
            has_weight = not is_coded(self.tally.schema, block) and not family_of(name).is_document
            return 1 + has_weight + (summary.having is not None)
        raise NotAvailableError(f"a tally of {name} has products of columns, for which no noise is implemented")

    def token_bounds(self) -> dict[str, float]:
        """The most tokens of a text, by column."""
        texts = [c for c in self.tally.schema.columns if c.is_text]
        return {column.name: self._range(column, "multinomial")[1] for column in texts}

    def noised(self, noise: Noise) -> Tally:
        """The tally with noise on everything."""
        class_weight = _positive(noise.added(self.tally.class_weight, 1.0))
        blocks = {
            name: Block(block.columns, self._summary(name, block, class_weight, noise))
            for name, block in self.tally.blocks.items()
        }
        return replace(self.tally, class_weight=class_weight, blocks=blocks)

    def _summary(self, name: str, block: Block, class_weight: Array, noise: Noise) -> Any:
        summary, columns = block.summary, [self.tally.schema.columns[c] for c in block.columns]
        if isinstance(summary, Counts) and summary.n_levels is not None and is_coded(self.tally.schema, block):
            ends = np.cumsum(summary.n_levels)[:-1]
            count = np.hstack([noise.added(cells, 1.0) for cells in np.split(summary.count, ends, axis=1)])
            return replace(summary, count=_positive(count), weight=by_column(_positive(count), summary.n_levels))
        ranges = np.array([self._range(column, name) for column in columns]).reshape(-1, 2)
        if isinstance(summary, Moments):
            return _moments(summary, ranges, noise)
        if isinstance(summary, Spiked):
            other, weight = (_positive(_each(noise, a)) for a in (summary.other.count, summary.other.weight))
            return Spiked(Counts(np.minimum(other, weight), weight), _moments(summary.rest, ranges, noise))
        assert isinstance(summary, Counts)
        return self._events(name, summary, ranges, class_weight, noise)

    def _events(self, name: str, summary: Counts, ranges: Array, class_weight: Array, noise: Noise) -> Counts:
        """Σ w·x of columns of numbers, or of all words of one text."""
        high = np.abs(ranges).max(axis=1)
        texts = summary.n_levels is not None  # whose words are cells of one query
        if not texts and np.any(summary.count > summary.weight * high * (1 + 1e-9)):
            column = int(np.argwhere(summary.count > summary.weight * high * (1 + 1e-9))[0, 1])
            raise _outside(ranges[column])

        def added(table: Array, most: Array) -> Array:
            return _positive(noise.added(table, float(most[0]), 1.0) if texts else _each(noise, table, most))

        count = added(summary.count, high)
        having = None if summary.having is None else added(summary.having, high if texts else np.ones_like(high))
        if family_of(name).is_document:  # its columns have the weight of the class
            weight = np.broadcast_to(class_weight[:, None], summary.weight.shape).copy()
        else:
            weight = _positive(_each(noise, summary.weight))
        return replace(summary, count=count, weight=weight, having=having)

    def _range(self, column: Column, block: str) -> tuple[float, float]:
        if column.name not in self.bounds:
            raise SettingError(
                f"column {column.name!r} needs bounds that are known beforehand: "
                f"bounds={{{column.name!r}: (low, high)}}"
            )
        low, high = map(float, self.bounds[column.name])
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise SettingError(f"the bounds of column {column.name!r} must be two rising numbers, not {(low, high)}")
        reads_logs = family_of(block)().of_logs  # by its usual settings: a tally has no others
        if reads_logs or column.name in self.logs:
            if low <= 0:
                raise SettingError(f"column {column.name!r} is read by its logarithm: its lower bound must be above 0")
            return math.log(low), math.log(high)
        return low, high


def _moments(summary: Moments, ranges: Array, noise: Noise) -> Moments:
    """Noise on the weight and on the sums about the middle of the bounds; impossible values are clipped."""
    middle, half, most = ranges.mean(axis=1), np.ptp(ranges, axis=1) / 2.0, np.abs(ranges).max(axis=1)
    shift = np.where(summary.weight > 0, summary.mean - middle, 0.0)
    outside = (np.abs(shift) > half * (1 + 1e-9)) | (summary.m2 > summary.weight * half**2 * (1 + 1e-9))
    if np.any(outside):
        raise _outside(ranges[int(np.argwhere(outside)[0, 1])])
    first, second = summary.weight * shift, summary.m2 + summary.weight * shift**2
    weight = _positive(_each(noise, summary.weight))
    first = _each(noise, first, half, np.maximum(half, most))
    second = _each(noise, second, half**2, 2.0 * half * (2.0 * half + most))
    some = weight >= 1.0  # of less than a row nothing can be estimated
    mean = np.clip(np.divide(first, weight, out=np.zeros_like(first), where=some), -half, half)
    m2 = np.clip(second - weight * mean**2, 0.0, weight * half**2)
    return Moments(np.where(some, weight, 0.0), np.where(some, mean + middle, 0.0), np.where(some, m2, 0.0))


def _each(noise: Noise, table: Array, sensitivity: Array | None = None, magnitude: Array | None = None) -> Array:
    """Noise on a table (K, d) whose columns are a query each."""
    ones = np.ones(table.shape[1])
    most = ones if sensitivity is None else sensitivity
    size = most if magnitude is None else magnitude
    columns = zip(table.T, most.tolist(), size.tolist(), strict=True)
    return np.stack([noise.added(values, s, m) for values, s, m in columns], axis=1)


def _outside(bounds: Array) -> SettingError:
    return SettingError(
        f"the values of a column lie outside its bounds {tuple(bounds.tolist())}: clip the rows to the bounds before "
        "they are counted"
    )


def _positive(values: Array) -> Array:
    return np.maximum(values, 0.0)
