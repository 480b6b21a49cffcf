"""Columns of very many values, such as ticket numbers or zip codes, do no harm: neither alone nor in pairs.

The real tables are those of the folder that the environment variable TALLYBAYES_DATA names; without it only the made
table is tried.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tallybayes import NaiveBayes

FOLDER = os.environ.get("TALLYBAYES_DATA")
NEEDS_DATA = pytest.mark.skipif(not FOLDER, reason="TALLYBAYES_DATA names no folder of real tables")
MOST = 0.002  # nats a row that such a column may cost


def loss(train: pd.DataFrame, test: pd.DataFrame, target: str) -> float:
    """Log loss on rows that were held out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NaiveBayes().fit(train, target=target)
        found = model.predict_proba(test.drop(columns=target))
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    chosen = found[np.arange(len(test)), [place[label] for label in test[target]]]
    return float(-np.log(np.maximum(chosen, 1e-15)).mean())


def codes(n: int, seed: int, most: int) -> list[str]:
    return [f"Z{code:05}" for code in np.random.default_rng(seed).integers(0, most, n)]


def test_random_codes_cost_nothing_on_a_made_table() -> None:
    rng = np.random.default_rng(1)
    n = 3000
    x, town = rng.normal(size=n), rng.choice(list("abcd"), n)
    y = np.where(x + (town == "a") + rng.normal(size=n) > 0.5, "yes", "no")
    table = pd.DataFrame({"x": x, "town": town, "y": y})
    more = table.assign(code=codes(n, 2, 2000))
    assert loss(more[:2000], more[2000:], "y") - loss(table[:2000], table[2000:], "y") < MOST


def test_a_column_that_few_rows_have_is_paired_by_those_rows() -> None:
    rng = np.random.default_rng(4)
    n = 800
    cabin, town = rng.integers(0, 60, n), rng.choice(["a", "b"], n)
    y = np.where((cabin % 2 == 0) ^ (town == "a"), "yes", "no")
    for known, paired in ((150, False), (n, True)):  # of 60 levels four rows each are 240
        some = [f"c{code}" if i < known else None for i, code in enumerate(cabin)]
        model = NaiveBayes().fit(pd.DataFrame({"cabin": some, "town": town, "y": y}), target="y")
        assert any(column.kind == "pair" for column in model.schema_.columns) is paired


@NEEDS_DATA
@pytest.mark.parametrize(("as_text", "most"), [(True, 100_000), (False, 100_000), (True, 5_000), (True, 20_000)])
def test_random_codes_cost_nothing_on_adult(as_text: bool, most: int) -> None:
    folder = Path(str(FOLDER))
    train, test = (pd.read_csv(folder / f"adult_{part}.csv.gz") for part in ("train", "test"))
    test["class"] = test["class"].str.rstrip(".")
    train, test = train[:12_000], test[:8_000]
    before = loss(train, test, "class")

    def cost(seed: int) -> float:
        made = [np.array(codes(len(part), each, most)) for part, each in ((train, seed), (test, seed + 100))]
        made = made if as_text else [np.array([int(code[1:]) for code in part]) for part in made]
        return loss(train.assign(code=made[0]), test.assign(code=made[1]), "class") - before

    assert np.mean([cost(seed) for seed in (3, 4, 5)]) < MOST  # of one alone chance is as large


@NEEDS_DATA
@pytest.mark.parametrize("column", ["Ticket", "Cabin"])
def test_tickets_and_cabins_cost_nothing_on_titanic(column: str) -> None:
    table = pd.read_csv(Path(str(FOLDER)) / "titanic.csv").drop(columns=["PassengerId", "Name"])
    differences = []
    for seed in range(1, 5):  # of 891 rows one shuffle says little: Cabin costs from -0.005 to 0.002
        rows = table.sample(frac=1.0, random_state=seed).reset_index(drop=True)
        plain = rows.drop(columns=column)
        for fold in range(5):
            held = rows.index % 5 == fold
            both = (loss(each[~held], each[held], "Survived") for each in (rows, plain))
            differences.append(next(both) - next(both))
    assert np.mean(differences) < MOST
