"""One law for every order of the same rows and of the same columns: they give one model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

from tallybayes import NaiveBayes
from tests.laws.test_route import mixed, sample_fewer

CLOSE = 1e-9


def digits(n: int = 1_200, d: int = 64, n_classes: int = 5) -> pl.DataFrame:
    """Small whole numbers in many columns, like the pixels of digits."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, n_classes, n)
    centres = rng.uniform(0, 16, (n_classes, d)) * (rng.random(d) < 0.8)
    pixels = np.clip(np.rint(centres[y] + rng.normal(0, 4, (n, d)) * (centres[y] > 0)), 0, 16).astype(np.int64)
    return pl.DataFrame({f"p{j}": pixels[:, j] for j in range(d)} | {"label": [f"d{k}" for k in y]})


def alternating(n: int = 1_000) -> pl.DataFrame:
    """Case and control in turn, with a column that repeats."""
    rng = np.random.default_rng(3)
    y = np.arange(n) % 2
    return pl.DataFrame(
        {
            "x": np.round(rng.normal(y, 2.0), 2),
            "turn": np.arange(n) % 7,
            "kind": rng.choice(["u", "v", "w"], n),
            "label": np.where(y, "case", "control"),
        }
    )


TABLES = {"mixed": lambda: mixed(800), "digits": digits, "alternating": alternating}


def learned(frame: pl.DataFrame, **params: Any) -> NaiveBayes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return NaiveBayes(**params).fit(frame.drop("worth", strict=False), target="label")


def orders(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The same rows in other orders."""
    rng, first = np.random.default_rng(4), next(name for name in frame.columns if name != "label")
    return {
        "shuffled": frame[rng.permutation(len(frame)).tolist()],
        "backwards": frame.reverse(),
        "by class": frame.sort("label", maintain_order=True),
        "by value": frame.sort(first, maintain_order=True),
    }


def assert_same(found: NaiveBayes, expected: NaiveBayes, rows: pl.DataFrame, what: str) -> None:
    rows = rows.drop("label", "worth", strict=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p, q = found.predict_proba(rows), expected.predict_proba(rows)
    np.testing.assert_allclose(p, q, rtol=0, atol=CLOSE, err_msg=what)


ROW_CASES = [(name, params) for name in TABLES for params in ({}, {"classical": True})]


@pytest.mark.parametrize(("name", "params"), [*ROW_CASES, ("mixed", {"calibration": "isotonic"})], ids=str)
def test_the_order_of_rows_does_not_matter(name: str, params: dict[str, Any]) -> None:
    frame = TABLES[name]()
    expected = learned(frame, **params)
    for order, rows in orders(frame).items():
        assert_same(learned(rows, **params), expected, frame[:400], order)


@pytest.mark.parametrize("params", [{}, {"classical": True}], ids=str)
@pytest.mark.parametrize("name", TABLES)
def test_the_order_of_columns_does_not_matter(name: str, params: dict[str, Any]) -> None:
    frame = TABLES[name]()
    expected, rng = learned(frame, **params), np.random.default_rng(6)
    for order in (frame.columns[::-1], rng.permutation(frame.columns).tolist()):
        assert_same(learned(frame.select(order), **params), expected, frame[:400], str(order[:4]))


def test_the_order_of_more_rows_than_are_sampled_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    sample_fewer(monkeypatch)
    frame = mixed(3_000).drop("note")
    expected = learned(frame)
    for order in ("shuffled", "by class"):
        assert_same(learned(orders(frame)[order]), expected, frame[:400], order)


def correlated(n: int = 900, d: int = 8, n_classes: int = 3) -> pl.DataFrame:
    """Numbers that vary together, differently in each class, and two of them in steps."""
    rng = np.random.default_rng(8)
    y = rng.integers(0, n_classes, n)
    mix = rng.normal(0, 1, (n_classes, d, d)) / 2 + np.eye(d)
    x = np.einsum("nd,nde->ne", rng.normal(0.3 * y[:, None], 1.0, (n, d)), mix[y])
    x[:, -2:] = np.rint(x[:, -2:])
    return pl.DataFrame({f"v{j}": x[:, j] for j in range(d)} | {"label": [f"k{k}" for k in y]})


@pytest.mark.parametrize("params", [{}, {"max_pairs": 0}, {"classical": True}], ids=str)
@pytest.mark.parametrize("name", ["digits", "correlated"])
def test_the_order_of_the_columns_of_an_array_does_not_matter(name: str, params: dict[str, Any]) -> None:
    frame = digits(1_500, 20, 4) if name == "digits" else correlated()
    x, y = frame.drop("label").to_numpy(), frame["label"].to_numpy()
    one, rng = NaiveBayes(**params).fit(x, y), np.random.default_rng(7)
    for order in (np.arange(x.shape[1])[::-1], rng.permutation(x.shape[1])):
        other = NaiveBayes(**params).fit(x[:, order], y)
        np.testing.assert_allclose(other.predict_proba(x[:, order]), one.predict_proba(x), rtol=0, atol=CLOSE)
