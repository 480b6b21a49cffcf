"""Attack released tallies: ``python -m tests.inspection.audit 2000``.

Of two neighbouring tables, which differ by one row at the bounds, many releases are made. The attacker knows both
tables and the noise, and guesses from a release which table it is of: by the likelihood ratio of all its figures. A
rule that says "the table with the row" in a share p of its releases and in a share q of the others shows that epsilon
is at least log((p − delta) / q). The rule is chosen on one half of the releases; p and q are bounded on the other by
Clopper and Pearson's intervals, so that the bound holds but with the chance ``ERROR``. It must not exceed the claimed
epsilon.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import log
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

import tallybayes
from tallybayes import families
from tallybayes.core.summaries import Counts, Moments
from tallybayes.core.tally import Tally
from tallybayes.families.zero_inflated import Spiked
from tallybayes.inspection.privacy import release

ERROR = 1e-3  # chance of a false alarm, of one case
EPSILON = 1.0


@dataclass(frozen=True)
class Case:
    """Two neighbouring tables, and how they are released."""

    without: Tally
    with_row: Tally
    options: dict[str, Any] = field(default_factory=dict)
    delta: float = 0.0

    def released(self, tally: Tally, seed: int) -> Tally:
        """One release."""
        schema = self.with_row.schema  # known to everybody
        return release(tally, EPSILON, self.delta, schema=schema, seed=seed, **self.options).tally


# ---------------------------------------------------------------------------------------------- tables


def of_table(rows: dict[str, list[Any]], row: dict[str, Any], counting: Any = None, **options: Any) -> Case:
    """Tables without and with a row, whose target is y; both have all levels of the larger one."""
    counting = dict(counting or {})
    rows = {name: values * 20 for name, values in rows.items()}  # so many that hardly a figure is clipped at zero
    more = {name: [*values, row[name]] for name, values in rows.items()}
    with_row = tallybayes.tally(more, target="y", **counting)
    without = tallybayes.tally(rows, target="y", **counting)
    return Case(without, with_row, options, options.pop("delta", 0.0))


def of_matrix(x: Any, row: Any, family: Any, **options: Any) -> Case:
    """The same for a matrix."""
    x = np.vstack([x] * 20)
    y = [0, 1] * (len(x) // 2)
    named: dict[str, Any] = {"classes": [0, 1]}
    with_row = tallybayes.tally(np.vstack((x, [row])), [*y, 1], family, **named)
    return Case(tallybayes.tally(np.asarray(x), y, family, **named), with_row, options)


def numbers(family: str, low: float, high: float, value: float, **options: Any) -> Case:
    """A column of numbers within bounds, and a row at one of them."""
    values = np.linspace(low, high, 20).tolist()
    counting = {"kind": {"x": "count" if family == "poisson" else "numeric"}, "family": {"x": family}}
    values = [round(v) for v in values] if family == "poisson" else values
    table = {"x": values, "y": ["a", "b"] * 10}
    return of_table(table, {"x": value, "y": "a"}, counting, bounds={"x": (low, high)}, **options)


def weighted() -> Case:
    """A row of the largest weight among rows that weigh less."""
    table = {"c": ["u", "v"] * 10, "x": [1.0, 3.0] * 10, "w": [0.5, 2.5] * 10, "y": ["a", "b", "b", "a"] * 5}
    row = {"c": "u", "x": 10.0, "w": 5.0, "y": "a"}
    counting = {"weight": "w", "kind": {"x": "numeric", "c": "category"}}
    return of_table(table, row, counting, bounds={"x": (0, 10)}, most_weight=5.0)


def texts(family: str, text: str) -> Case:
    """A text of as many tokens as are allowed, of many words or of one over and over."""
    table = {"t": ["a b", "b c", "c d", "d e"] * 5, "y": ["p", "q"] * 10}
    counting = {"kind": {"t": "text"}, "family": {"t": family}}
    return of_table(table, {"t": text, "y": "p"}, counting, bounds={"t": (0, 8)})


X = np.random.default_rng(0).integers(0, 4, (20, 3))
CASES: dict[str, Callable[[], Case]] = {
    "classes and levels": lambda: of_table(
        {"c": ["u", "v"] * 10, "d": ["s", "t", "t", "s"] * 5, "y": ["a", "b"] * 10},
        {"c": "u", "d": "t", "y": "a"},
        {"kind": {"c": "category", "d": "category"}},
    ),
    "a level of that row alone": lambda: of_table(
        {"c": ["u", "v"] * 10, "y": ["a", "b"] * 10}, {"c": "new", "y": "a"}, {"kind": {"c": "category"}}
    ),
    "a class of that row alone": lambda: of_table(
        {"c": ["u", "v"] * 10, "y": ["a", "b"] * 10}, {"c": "u", "y": "new"}, {"kind": {"c": "category"}}
    ),
    "missing": lambda: of_table(
        {"c": ["u", "v"] * 10, "y": ["a", "b"] * 10},
        {"c": None, "y": "a"},
        {"kind": {"c": "category"}, "missing": "level"},
    ),
    "gaussian, upper bound": lambda: numbers("gaussian", -2.0, 6.0, 6.0),
    "gaussian, lower bound": lambda: numbers("gaussian", -2.0, 6.0, -2.0),
    "gaussian, middle": lambda: numbers("gaussian", -2.0, 6.0, 2.0),
    "gaussian, far from zero": lambda: numbers("gaussian", 1e6, 1e6 + 3.0, 1e6),
    "gaussian, Gaussian noise": lambda: numbers("gaussian", -2.0, 6.0, 6.0, delta=1e-5),
    "gamma": lambda: numbers("gamma", 0.1, 9.0, 9.0),
    "lognormal, lower bound": lambda: numbers("lognormal", 0.01, 10.0, 0.01),
    "exponential": lambda: numbers("exponential", 0.0, 7.0, 7.0),
    "poisson": lambda: numbers("poisson", 0.0, 9.0, 9),
    "zero-inflated": lambda: numbers("zero_inflated", 0.0, 9.0, 9.0),
    "weights": weighted,
    "text of many words": lambda: texts("multinomial", "a b c d e f g h"),
    "text of one word": lambda: texts("multinomial", "a a a a a a a a"),
    "text, Bernoulli": lambda: texts("bernoulli", "a b c d e f g h"),
    "text, complement": lambda: texts("complement", "a b c d e f g h"),
    "Bernoulli of a matrix": lambda: of_matrix(X > 1, [True] * 3, families.Bernoulli(), bounds=bounds(1)),
    "multinomial of a matrix": lambda: of_matrix(X, [3] * 3, families.Multinomial(), bounds=bounds(3)),
    "multinomial with idf": lambda: of_matrix(X, [3] * 3, families.Multinomial(idf=True), bounds=bounds(3)),
}


def bounds(most: float) -> dict[str, tuple[float, float]]:
    """Bounds of the columns of the matrix."""
    return {f"x{j}": (0.0, most) for j in range(X.shape[1])}


# ---------------------------------------------------------------------------------------------- the attack


def figures(tally: Tally, options: dict[str, Any]) -> Iterator[NDArray[np.float64]]:
    """What noise was added to, as far as a released tally shows it."""
    yield tally.class_weight
    for name, block in tally.blocks.items():
        ranges = [options.get("bounds", {}).get(tally.schema.columns[c].name, (0.0, 0.0)) for c in block.columns]
        middles = [np.mean(np.log(r) if families.family_of(name)().of_logs else r) for r in ranges]
        yield from _sums(block.summary, np.array(middles))


def _sums(summary: Any, middle: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    if isinstance(summary, Counts):
        yield summary.count
        yield summary.weight
        if summary.having is not None:
            yield summary.having
    elif isinstance(summary, Moments):
        shift = np.where(summary.weight > 0, summary.mean - middle, 0.0)
        yield from (summary.weight, summary.weight * shift, summary.m2 + summary.weight * shift**2)
    else:
        assert isinstance(summary, Spiked)
        yield from _sums(summary.other, middle)
        yield from _sums(summary.rest, middle)


def vector(tally: Tally, options: dict[str, Any]) -> NDArray[np.float64]:
    """All figures of a released tally."""
    return np.concatenate([np.ravel(each) for each in figures(tally, options)])


def scores(case: Case, releases: int, first: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How much more likely each release is with the row, of tables without it and with it."""
    schema = case.with_row.schema
    exact = [vector(tally.align(schema), case.options) for tally in (case.without, case.with_row)]
    drawn = [
        np.array([vector(case.released(tally, 2 * s + side), case.options) for s in range(first, first + releases)])
        for side, tally in enumerate((case.without, case.with_row))
    ]
    spread = drawn[0].std(axis=0) + 1e-12
    power = 2 if case.delta else 1

    def likelihood(x: NDArray[np.float64]) -> NDArray[np.float64]:
        apart = np.abs((x - exact[0]) / spread) ** power - np.abs((x - exact[1]) / spread) ** power
        return np.asarray(apart.sum(axis=1))

    return likelihood(drawn[0]), likelihood(drawn[1])


def lower_bound(without: NDArray[np.float64], with_row: NDArray[np.float64], delta: float) -> float:
    """Below which epsilon is not, but with the chance of an error."""
    half = len(without) // 2
    best = 0.0
    for sign in (1.0, -1.0):  # the row may betray itself, or its absence
        a, b = (sign * without, sign * with_row) if sign > 0 else (sign * with_row, sign * without)
        limits = np.quantile(np.concatenate((a[:half], b[:half])), np.linspace(0.02, 0.98, 49))
        chosen = max(limits, key=lambda t: _bound((b[:half] > t).sum(), (a[:half] > t).sum(), half, delta))
        n = len(a) - half
        best = max(best, _bound((b[half:] > chosen).sum(), (a[half:] > chosen).sum(), n, delta))
    return best


def _bound(hits: int, alarms: int, n: int, delta: float) -> float:
    """log((p − delta) / q) with p at its lower and q at its upper limit; four such limits are taken in all."""
    p = beta.ppf(ERROR / 4, hits, n - hits + 1) if hits else 0.0
    q = beta.ppf(1 - ERROR / 4, alarms + 1, n - alarms) if alarms < n else 1.0
    return log((p - delta) / q) if p > delta else -np.inf


def audit(name: str, releases: int) -> float:
    """The lower bound on epsilon of one case."""
    case = CASES[name]()
    return lower_bound(*scores(case, releases), case.delta)


def main(releases: str = "2000") -> int:
    print(f"claimed epsilon {EPSILON:g}; {int(releases):,} releases of each of two neighbouring tables")
    failed = 0
    for name in CASES:
        start = process_time()
        found = audit(name, int(releases))
        failed += found > EPSILON
        print(f"{name:28} epsilon is at least {found:.3f}   ({process_time() - start:.1f} s)", flush=True)
    print(f"{len(CASES)} cases, {failed} above the claim")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
