"""Scale: multiplying a numeric column by a positive number changes no prediction; nor does the order of columns."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tallybayes import NaiveBayes

N = 900
FACTORS = (1e-10, 3.0, 1000.0, 1e10)


def labels(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 3, N)


def bells(rng: np.random.Generator, y: np.ndarray) -> dict[str, np.ndarray]:
    return {
        name: rng.normal(shift * y, 1.0 + spread * y)
        for name, shift, spread in (("b", 1, 0), ("a", 0, 1), ("c", 0.2, 0.3))
    }


def skewed(rng: np.random.Generator, y: np.ndarray) -> dict[str, np.ndarray]:
    return {"income": rng.lognormal(0.5 * y, 1.0), "wait": rng.exponential(1.0 + y), "tail": rng.standard_t(2, N) + y}


def discrete(rng: np.random.Generator, y: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "die": rng.integers(1, 7, N) + 0.0 + y,
        "tenth": rng.integers(0, 40, N) / 10 + 0.3 * y,
        "two": (rng.random(N) < 0.4) + 0.0,
    }


def zero_inflated(rng: np.random.Generator, y: np.ndarray) -> dict[str, np.ndarray]:
    amount = np.where(rng.random(N) < 0.3 + 0.2 * y, 0.0, rng.lognormal(0.3 * y, 1.0))
    return {"amount": amount, "signed": np.where(rng.random(N) < 0.5, 0.0, rng.normal(y)), "bell": rng.normal(y)}


def constant(rng: np.random.Generator, y: np.ndarray) -> dict[str, np.ndarray]:
    nearly = np.full(N, 2.0)
    nearly[:5] = 3.0
    return {"same": np.full(N, 7.5), "nearly": nearly, "x": rng.normal(y)}


def offset(rng: np.random.Generator, y: np.ndarray) -> dict[str, np.ndarray]:
    return {"year": 2000.0 + rng.integers(0, 30, N) + y, "far": 1e6 + rng.normal(y), "near": rng.normal(y)}


def mixed(rng: np.random.Generator, y: np.ndarray) -> dict[str, object]:
    height = np.where(rng.random(N) < 0.2, np.nan, rng.normal(1.7 + 0.1 * y, 0.2))
    town = np.array(["Rome", "Oslo", "Bonn"])[(y + rng.integers(0, 2, N)) % 3]
    both = rng.integers(0, 4, N)
    return {"height": height, "town": town, "u": both + 0.5 * (both % 2 == y % 2), "v": (both - y) ** 2 + 0.0}


TABLES = (bells, skewed, discrete, zero_inflated, constant, offset, mixed)
OPTIONS = {"default": {}, "auto": {"alpha": "auto"}, "classical": {"classical": True, "var_smoothing": 0.0}}


def made(table: object) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(5)
    y = labels(rng)
    return table(rng, y), np.array(["p", "q", "r"])[y]  # type: ignore[operator]


@functools.cache
def as_it_is(table: object, **options: object) -> NaiveBayes:
    return NaiveBayes(**options).fit(*made(table))


def times(columns: dict[str, np.ndarray], factor: float) -> dict[str, np.ndarray]:
    return {name: values * factor if values.dtype.kind == "f" else values for name, values in columns.items()}


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
@pytest.mark.filterwarnings("ignore::tallybayes.errors.ForbiddenRowWarning")
def test_the_unit_of_a_column_changes_no_prediction(table, options, factor):
    columns, y = made(table)
    plain, scaled = as_it_is(table, **options), NaiveBayes(**options).fit(times(columns, factor), y)
    assert_allclose(scaled.predict_proba(times(columns, factor)), plain.predict_proba(columns), rtol=0, atol=1e-6)
    assert list(scaled.model_.settings.families) == list(plain.model_.settings.families)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
@pytest.mark.filterwarnings("ignore::tallybayes.errors.ForbiddenRowWarning")
def test_the_order_of_the_columns_changes_no_prediction(table, options):
    columns, y = made(table)
    want = as_it_is(table, **options).predict_proba(columns)
    for seed in range(3):
        names = np.random.default_rng(seed).permutation(list(columns)).tolist()
        turned = {name: columns[name] for name in names}
        assert_allclose(NaiveBayes(**options).fit(turned, y).predict_proba(columns), want, rtol=0, atol=1e-9)
