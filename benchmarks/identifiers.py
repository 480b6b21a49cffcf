"""What columns that nearly number the rows cost: log loss of held-out rows with them, less that without them.

Titanic has a ticket number and a cabin; adult gets a random code of five digits, as text, as a category and as a
number. Every split learns 70 % of the rows and scores the others. The mark: no column costs more than 0.002 nats.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchmarks._real import folder
from tallybayes import NaiveBayes

MARK = 0.002


def run(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks identifiers")
    parser.add_argument("--splits", type=int, default=50, help="of titanic; adult has a tenth (50)")
    options = parser.parse_args(arguments)
    where = folder()
    if where is None:
        sys.exit("no tables: set TALLYBAYES_DATA to a folder with titanic.csv and adult_train.csv.gz")
    print(f"{'':36} {'costs':>8} {'± s.e.':>8}")
    titanic = pd.read_csv(where / "titanic.csv")
    shown("titanic: Ticket", [cost(titanic, "Survived", ["Ticket"], seed) for seed in range(options.splits)])
    shown("titanic: Cabin", [cost(titanic, "Survived", ["Cabin"], seed) for seed in range(options.splits)])
    both = [cost(titanic, "Survived", ["Ticket", "Cabin"], seed) for seed in range(options.splits)]
    shown("titanic: both", both)
    adult = pd.read_csv(where / "adult_train.csv.gz")
    code = np.random.default_rng(0).integers(10_000, 100_000, len(adult))
    seeds = range(max(options.splits // 10, 1))
    text, number = adult.assign(code=code.astype(str)), adult.assign(code=code)
    shown("adult: a random code as text", [cost(text, "class", ["code"], seed) for seed in seeds])
    kept = [cost(text, "class", ["code"], seed, {"code": "category"}) for seed in seeds]
    shown("adult: the same, kind='category'", kept)
    shown("adult: a random code as a number", [cost(number, "class", ["code"], seed) for seed in seeds])


def cost(frame: pd.DataFrame, target: str, names: list[str], seed: int, kind: dict[str, str] | None = None) -> float:
    """Log loss of held-out rows with some columns, less that without them."""
    learned = np.random.default_rng(seed).random(len(frame)) < 0.7
    rows, held = frame[learned], frame[~learned]
    with_them = NaiveBayes(kind=kind).fit(rows, target=target)
    without = NaiveBayes(drop=names).fit(rows, target=target)
    return float(with_them.evaluate(held).log_loss) - float(without.evaluate(held).log_loss)


def shown(what: str, costs: list[float]) -> None:
    error = np.std(costs, ddof=1) / np.sqrt(len(costs)) if len(costs) > 1 else np.nan
    print(
        f"{what:36} {np.mean(costs):+8.4f} {error:8.4f}{'  above the mark' if np.mean(costs) > MARK else ''}",
        flush=True,
    )
