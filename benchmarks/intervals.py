"""Intervals of evidence and of probabilities: how many cover the truth of tables whose truth is known.

Each table has two classes and five columns that are independent within them: two categories, two normal numbers and a
count. The truth of a row is the log odds of each column, and its probability, by the distributions that the rows were
drawn from. The mark is 87 to 93 % of intervals of 90 %, over 200 tables of 400 rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tallybayes import NaiveBayes
from tallybayes.inspection.uncertainty import Uncertainty, quantile

LEVEL = 0.9
NEW = 20  # rows of each table that are predicted


class Column(NamedTuple):
    """A column whose distribution in each of two classes is known."""

    draw: Callable[[np.ndarray], np.ndarray]  # of class codes
    logs: Callable[[np.ndarray], np.ndarray]  # (n, 2) of values


def category(rng: np.random.Generator, n_levels: int = 4) -> Column:
    share = rng.dirichlet(np.full(n_levels, 2.0), size=2)
    draw = lambda y: np.array([rng.choice(n_levels, p=share[k]) for k in y])  # noqa: E731
    return Column(draw, lambda x: np.log(share[:, x]).T)


def number(rng: np.random.Generator) -> Column:
    mean, spread = rng.normal(0, 1, 2), rng.uniform(0.7, 1.5, 2)
    logs = lambda x: -np.log(spread) - 0.5 * ((x[:, None] - mean) / spread) ** 2  # noqa: E731
    return Column(lambda y: rng.normal(mean[y], spread[y]), logs)


def events(rng: np.random.Generator) -> Column:
    rate = rng.uniform(0.5, 5.0, 2)
    return Column(lambda y: rng.poisson(rate[y]), lambda x: x[:, None] * np.log(rate) - rate)


def covered(seed: int, n_rows: int, **options: Any) -> dict[str, float]:
    """The share of intervals of one table that cover: of the evidence by kind of column, and of the probability."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet([5.0, 5.0])
    makers = {"category": category, "number": number, "events": events, "category 2": category, "number 2": number}
    columns = {name: make(rng) for name, make in makers.items()}
    y, new = rng.choice(2, n_rows, p=prior), rng.choice(2, NEW, p=prior)
    table, rows = ({name: column.draw(codes) for name, column in columns.items()} for codes in (y, new))
    as_read = lambda of: {k: v.astype(str) if k.startswith("category") else v for k, v in of.items()}  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NaiveBayes(kind={"events": "count"}, **options).fit(as_read(table), np.array(["a", "b"])[y])
    core, batch = model.model_, model._rows(as_read(rows))
    known, parts = Uncertainty(core), core.contributions(batch)
    spread = quantile(LEVEL) * known.odds(batch, 0, 1).columns
    found, total = {}, np.log(prior[0] / prior[1]) + np.zeros(NEW)
    for name, column in columns.items():
        truth, d = column.logs(rows[name]) @ [1.0, -1.0], core.schema.names.index(name)
        total += truth
        found[name] = float((np.abs(parts[:, 0, d] - parts[:, 1, d] - truth) <= spread[:, d]).mean())
    ends, p = known.probabilities(batch, LEVEL)[:, 0], 1.0 / (1.0 + np.exp(-total))
    return found | {"probability": float(((ends[:, 0] <= p) & (p <= ends[:, 1])).mean())}


def run(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks intervals")
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--rows", type=int, default=400)
    options = parser.parse_args(arguments)
    for name, settings in (("textbook", {"classical": True}), ("default", {})):
        runs = [covered(seed, options.rows, **settings) for seed in range(options.tables)]
        shares = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        print(f"{name:10} {'  '.join(f'{key} {share:.3f}' for key, share in shares.items())}", flush=True)
    print(f"\n{options.tables} tables of {options.rows} rows; mark: 0.87 to 0.93 of intervals of {LEVEL:.0%}")
