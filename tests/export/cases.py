"""Fitted models of every kind, each with rows to score: mixed tables with missing and unseen values."""

import functools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDiscriminant,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
)
from tallybayes.families import numeric_families
from tests.blocks import with_block

TOWNS = ("Rome", "O'Hara", 'say "hi"', "Zürich;\n--", "Århus", "🦉", "", "NULL")


@dataclass(frozen=True)
class Case:
    """An estimator that was fitted, and rows it has not seen, column by column."""

    estimator: Any
    rows: dict[str, list[Any]]

    @functools.cached_property
    def expected(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            named = isinstance(self.estimator, NaiveBayes)
            return self.estimator.predict_proba(self.rows if named else self.matrix)

    @property
    def matrix(self):
        return np.array([[np.nan if v is None else v for v in column] for column in self.rows.values()], dtype=float).T

    @property
    def dicts(self):
        return [dict(zip(self.rows, row, strict=True)) for row in zip(*self.rows.values(), strict=True)]


def mixed_table(n, seed, new_values=False, n_classes=3):
    """Columns of every kind that depend on each other and on the label, with missing values; and the labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    towns = rng.integers(0, len(TOWNS), n)
    mood = np.where(rng.random(n) < 0.6, towns % 3, rng.integers(0, 3, n))
    mood[(y == 1) & (mood == 2)] = 0  # the combination never occurs
    table = {
        "height": rng.normal(1.7 + 0.1 * y, 0.2, n).tolist(),
        "in come": np.exp(rng.normal(7 + 0.4 * y, 1.0, n)).tolist(),
        'quo"ted': np.where(rng.random(n) < 0.3 + 0.2 * y, 0.0, np.abs(rng.normal(5 + y, 1, n))).tolist(),
        "wait": rng.exponential(1.0 + y, n).tolist(),
        "two;hills": (rng.normal(0, 0.5, n) + np.where(rng.random(n) < 0.5, -1, 1) * (1 + y)).tolist(),
        "town": [TOWNS[t] for t in towns],
        "mood": [("bad", "fair", "good")[m] for m in mood],
        "smoker": (rng.random(n) < 0.2 + 0.2 * y).tolist(),
        "visits": rng.poisson(1 + y).tolist(),
        "code": rng.integers(10, 14, n).tolist(),
    }
    for name, has_missing in (
        ("height", 0.1),
        ("in come", 0.05),
        ("town", 0.1),
        ("smoker", 0.1),
        ("visits", 0.05),
    ):
        table[name] = [
            None if missing_value else v
            for missing_value, v in zip(rng.random(n) < has_missing, table[name], strict=True)
        ]
    if new_values:
        table["town"] = ["Nowhere" if new else v for new, v in zip(rng.random(n) < 0.1, table["town"], strict=True)]
        table["code"] = [99 if new else v for new, v in zip(rng.random(n) < 0.1, table["code"], strict=True)]
        table["height"][0] = 60.0  # far out
        table["wait"][1:3] = table["in come"][1:3] = [-0.5, 0.0]  # which some distributions do not have
    return table, [("low", "mid", "it's high")[k] for k in y]


KINDS = {"code": "category", "visits": "count"}
SIGNED = {"lognormal": ("two;hills", 'quo"ted'), "exponential": ("two;hills",), "zero_inflated": ("two;hills",)}
NUMERIC = tuple(numeric_families())
SIGNED = {name: ("two;hills", 'quo"ted') for name, f in numeric_families().items() if f.least == 0} | SIGNED


@functools.lru_cache
def mixed(n_classes=3, drop=(), **params):
    table, y = mixed_table(600, 7, n_classes=n_classes)
    family = dict(params.pop("family", ()))
    kind = {name: kind for name, kind in KINDS.items() if name not in drop and name not in family}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = NaiveBayes(kind=kind, family=family or None, drop=list(drop), **params).fit(table, y)
    rows = mixed_table(200, 8, new_values=True, n_classes=n_classes)[0]
    if "multinomial" in family.values():
        rows["wait"] = [abs(wait) for wait in rows["wait"]]  # a count
    return Case(estimator, rows)


@functools.lru_cache
def matrix(name, estimator, has_missing=False, **params):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 200)
    if name == "numbers":
        x, new = (rng.normal(np.arange(4) * y_[:, None], 1 + y_[:, None]) for y_ in (y, rng.integers(0, 3, 60)))
    elif name == "counts":
        x, new = (rng.poisson(0.5 + (np.arange(4) == y_[:, None])).astype(float) for y_ in (y, y[:60]))
        new[0] = 0
    else:
        x, new = (rng.integers(0, 4, (n, 4)).astype(float) for n in (200, 60))
    if has_missing:
        for part in (x, new):
            part[rng.random(part.shape) < 0.1] = np.nan
    fitted = estimator(**params).fit(x, np.array(["a", "b", "c"])[y])
    return Case(fitted, {f"x{j}": [None if np.isnan(v) else v for v in new[:, j].tolist()] for j in range(4)})


def offsets():
    from tests.refined import refined, table  # which is made from the table above

    return Case(refined(text=False), table(200, 8, text=False, new_values=True)[0])


@functools.lru_cache
def with_a_block(**params):
    (table, y), numbers = mixed_table(600, 7), ("height", "in come", "wait", "two;hills")
    case = mixed(**params)
    return Case(with_block(case.estimator, table, y, numbers), case.rows)


CASES = {
    "offsets": offsets,
    "planned": lambda: mixed(),
    "planned, two classes": lambda: mixed(n_classes=2),
    "planned, holes are levels": lambda: mixed(missing="level", max_pairs=2),
    "planned, temperature": lambda: mixed(calibration="temperature"),
    "planned, isotonic": lambda: mixed(calibration="isotonic"),
    "planned, isotonic, two classes": lambda: mixed(n_classes=2, calibration="isotonic"),
    "pairs": lambda: mixed(pairs=(("town", "mood"), ("height", "code"))),
    "block": lambda: with_a_block(),
    "block, classical": lambda: with_a_block(classical=True),
    "classical": lambda: mixed(classical=True),
    "classical, smooth unseen": lambda: mixed(classical=True, unseen="smooth", missing="level", variance="shared"),
    "classical, zeros": lambda: mixed(classical=True, alpha=0.0, drop=("height",)),
    "classical, rare levels": lambda: mixed(classical=True, min_count=80),
    "classical, uniform prior": lambda: mixed(classical=True, prior="uniform"),
    **{
        f"numbers as {family}": functools.partial(mixed, numeric=family, drop=SIGNED.get(family, ()))
        for family in NUMERIC
    },
    "multinomial counts": lambda: mixed(
        classical=True, drop=("visits",), family=(("code", "multinomial"), ("wait", "multinomial")), alpha=0.5
    ),
    "GaussianNB": lambda: matrix("numbers", GaussianNB),
    "GaussianNB, holes": lambda: matrix("numbers", GaussianNB, has_missing=True),
    "GaussianDiscriminant": lambda: matrix("numbers", GaussianDiscriminant),
    "GaussianDiscriminant, full": lambda: matrix("numbers", GaussianDiscriminant, covariance="full"),
    "BernoulliNB": lambda: matrix("counts", BernoulliNB),
    "BernoulliNB, zeros, threshold": lambda: matrix("counts", BernoulliNB, alpha=0.0, binarize=1.0),
    "MultinomialNB": lambda: matrix("counts", MultinomialNB),
    "MultinomialNB, length": lambda: matrix("counts", MultinomialNB, document_length=5.0),
    "ComplementNB": lambda: matrix("counts", ComplementNB, norm=True),
    "PoissonNB": lambda: matrix("counts", PoissonNB),
    "CategoricalNB": lambda: matrix("codes", CategoricalNB, has_missing=True),
}
