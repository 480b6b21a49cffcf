"""Pairs that are found by what corrections of their cells would gain."""

from itertools import product

import numpy as np
import pytest

from tallybayes import NaiveBayes, load
from tallybayes.core import pair_kernels

LEVELS = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def rule() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Every row of five columns, in order, and a rule of thresholds on sums of two columns."""
    rows = np.array(list(product(range(4), range(4), range(3), range(3), range(3))))
    a, b, c, d, e = rows.T
    y = np.where((e == 0) | (c == 0) | (a + b > 4), "no", np.where((a + b < 3) & (d + e > 2), "good", "fair"))
    return {f"x{j}": np.array(LEVELS, dtype=object)[rows[:, j]] for j in range(5)}, y


def test_gains_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    n, levels = 500, np.array([2, 5, 3])
    codes = rng.integers(-1, levels[:, None], size=(3, n)).astype(np.int32)
    for n_classes, width in ((2, 4), (3, 8), (5, 16)):
        terms = np.zeros((n, width), dtype=np.float32)
        terms[:, :n_classes] = rng.normal(size=(n, n_classes))
        terms[:, n_classes : 2 * n_classes] = rng.random((n, n_classes))
        pairs = np.array([[0, 1], [2, 1], [0, 2]])
        found = pair_kernels.interaction_gains(codes, levels, terms, n_classes, pairs, 2.0)
        for (i, j), gain in zip(pairs, found, strict=True):
            want = 0.0
            for a, b in product(range(levels[i]), range(levels[j])):
                here = terms[(codes[i] == a) & (codes[j] == b)].sum(axis=0, dtype=float)
                g, h = here[:n_classes], here[n_classes : 2 * n_classes]
                want += 0.5 * float(((g**2 - h) / (n_classes / (n_classes - 1) * h + 2.0)).sum())
            assert gain == pytest.approx(want, rel=1e-4)


def test_combinations_that_decide_are_corrected(rule, tmp_path, monkeypatch):
    X, y = rule
    monkeypatch.setattr("tallybayes.learning.screening.BEYOND_CHANCE", 1e9)  # so that none is found by counting
    learned, rest = np.arange(len(y)) % 4 > 0, np.arange(len(y)) % 4 == 0
    part = {name: values[learned] for name, values in X.items()}
    model, alone = (NaiveBayes(max_pairs=most).fit(part, y[learned]) for most in (None, 0))
    other = {name: values[rest] for name, values in X.items()}
    assert model.score(other, y[rest]) > max(0.95, alone.score(other, y[rest]))
    weights = model.weights_.columns
    corrected = [c.name for c in model.schema_.columns if c.kind == "pair" and weights[c.name] == 0.0]
    assert corrected, weights
    assert set(corrected) <= set(model.model_.settings.offsets)
    model.save(tmp_path / "model.tally")
    np.testing.assert_array_equal(load(tmp_path / "model.tally").predict_proba(other), model.predict_proba(other))
    assert len([c for c in model.schema_.columns if c.kind == "pair"]) <= 2 * len(X)


def test_given_pairs_are_the_only_ones(rule):
    X, y = rule
    model = NaiveBayes(pairs=[("x0", "x1")]).fit(X, y)
    assert [c.name for c in model.schema_.columns if c.kind == "pair"] == ["x0 together with x1"]
