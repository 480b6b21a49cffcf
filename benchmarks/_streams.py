"""Streams in which what is to be learned changes: predict the rows of a period, then learn them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

LEAST = 1e-12


@dataclass(frozen=True)
class Stream:
    """Rows in time order; the first ones are learned before anything is predicted."""

    name: str
    rows: pd.DataFrame
    labels: np.ndarray
    per_period: int
    first: int  # periods that are learned first

    def periods(self) -> Iterator[tuple[int, pd.DataFrame, list[Any]]]:
        for number, start in enumerate(range(0, len(self.rows), self.per_period)):
            part = slice(start, start + self.per_period)
            yield number, self.rows.iloc[part], self.labels[part].tolist()


@dataclass(frozen=True)
class Outcome:
    """Accuracy, log loss and rows per second of CPU time."""

    accuracy: float
    log_loss: float
    speed: float


def elec(quick: bool) -> Stream | None:
    """The electricity market of New South Wales, 45,312 half hours in time order; a period is a day."""
    path = Path(os.environ.get("TALLYBAYES_DATA", "")) / "elec.csv.gz"
    if not path.is_file():
        return None
    table = pd.read_csv(path, nrows=4800 if quick else None)
    labels = np.where(table.pop("target") == 1, "up", "down").astype(object)
    return Stream("elec, days of 48 rows", table, labels, 48, 30)


def drift(quick: bool, seed: int = 0) -> Stream:
    """Numbers and categories whose meaning turns round twice, once at a stroke and once bit by bit."""
    rng, n = np.random.default_rng(seed), 3000 if quick else 20_000
    y = rng.integers(0, 2, n)
    time = np.arange(n) / n
    turned = (time >= 0.35) & (rng.random(n) >= np.clip((time - 0.65) / 0.2, 0, 1))
    effect = np.where(turned, 1 - y, y)
    table = {f"number_{j}": rng.normal(0.6 * (effect if j < 3 else y), 1.0) for j in range(5)}
    words = np.array(list("abcde"), dtype=object)
    for j in range(3):
        table[f"word_{j}"] = words[np.minimum(rng.geometric(0.3 + 0.25 * (effect if j < 2 else y)) - 1, 4)]
    return Stream("drift made twice, periods of 50", pd.DataFrame(table), np.where(y == 1, "up", "down"), 50, 10)


def prequential(stream: Stream, predict: Callable[..., Any], learn: Callable[..., None]) -> Outcome:
    """Predict each period by what was learned before it; ``predict`` gives a mapping of label to probability a row."""
    right = loss = scored = 0.0
    began = process_time()
    for number, rows, labels in stream.periods():
        if number >= stream.first:
            found = predict(number, rows)
            best = [max(each, key=each.get) if each else None for each in found]
            right += sum(a == b for a, b in zip(best, labels, strict=True))
            loss -= sum(np.log(max(each.get(label, 0.0), LEAST)) for each, label in zip(found, labels, strict=True))
            scored += len(labels)
        learn(number, rows, labels)
    return Outcome(right / scored, loss / scored, len(stream.rows) / (process_time() - began))


def by_ledger(stream: Stream, folder: Path, half_life: Any) -> Outcome:
    """A ledger whose plan is the default model of the first periods."""
    from tallybayes import Ledger, NaiveBayes, rows

    n = stream.first * stream.per_period
    plan = NaiveBayes().fit(stream.rows.iloc[:n], stream.labels[:n])
    path = folder / f"{abs(hash((stream.name, half_life)))}.ledger"
    lengths = "auto" if half_life == "auto" else None

    def predict(number: int, part: Any) -> Sequence[dict[Any, float]]:
        model = ledger.model(half_life=half_life)
        scores = model.posterior(rows(model, part))
        return [dict(zip(model.schema.classes, row, strict=True)) for row in scores.tolist()]

    with Ledger.create(path, plan, period="step", half_lives=lengths) as ledger:
        return prequential(
            stream, predict, lambda number, part, labels: ledger.add(part, labels, period=number, batch_id=str(number))
        )


def by_river(stream: Stream, make: Callable[[], Any], one_by_one: bool, numbers: bool = False) -> Outcome:
    """A model of river, which learns the rows of a period after it has predicted them, or row by row.

    One that reads numbers only gets a column of 0 and 1 for each level.
    """
    model = make()
    if numbers:
        stream = replace(stream, rows=pd.get_dummies(stream.rows, dtype=float))
    kept: list[Any] = []

    def records(part: Any) -> Any:
        return part.to_dict("records")

    def predict(number: int, part: Any) -> Any:
        if not one_by_one:
            return [model.predict_proba_one(row) for row in records(part)]
        start = number * stream.per_period
        found = []
        for row, label in zip(records(part), stream.labels[start : start + len(part)].tolist(), strict=True):
            found.append(model.predict_proba_one(row))
            model.learn_one(row, label)
        kept.append(number)
        return found

    def learn(number: int, part: Any, labels: Sequence[Any]) -> None:
        if number not in kept[-1:]:
            for row, label in zip(records(part), labels, strict=True):
                model.learn_one(row, label)

    return prequential(stream, predict, learn)
