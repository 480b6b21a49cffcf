"""Expectation-maximisation as a function; that it climbs, whatever the family, is a law (`tests/laws/test_em.py`)."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tallybayes
from tallybayes import Model, Settings, families
from tallybayes.core.batch import Labels
from tallybayes.data.arrays import one_block
from tallybayes.errors import DataError, SettingError
from tallybayes.learning import em


def begun(x: Any, y: Any, family: Any = None) -> Model:
    family = family or families.Gaussian(0.01)
    return Model(Settings({family.name: family}), tallybayes.tally(x, y, family))


def rows(model: Model, x: Any, codes: Any = None, weight: Any = None) -> Any:
    codes = np.full(len(x), em.UNKNOWN) if codes is None else np.asarray(codes, dtype=np.int32)
    return one_block(next(iter(model.settings.families)), model.schema, np.asarray(x), Labels.hard(codes, weight))


X = np.array([[0.0], [9.0], [0.4], [0.6], [9.2], [8.8]])


def test_one_step_by_hand() -> None:
    """Coin tosses: two coins, three rows of which the last is unlabelled; the shares in fractions."""
    family = families.Bernoulli(alpha=0.0)
    x = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]])
    start = begun(x[:3], [0, 0, 1], family)
    half = replace(start, settings=replace(start.settings, families={"bernoulli": families.Bernoulli(alpha=1.0)}))
    batch = rows(half, x, [0, 0, 1, -1])
    # P(yes | 0) = 2/4, 3/4, 1/4 and P(yes | 1) = 2/3, 1/3, 2/3; priors 2/3 and 1/3; the row is no, yes, yes.
    zero, one = 2 / 3 * (2 / 4 * 3 / 4 * 1 / 4), 1 / 3 * (1 / 3 * 1 / 3 * 2 / 3)
    share = em.responsibilities(half, batch)
    np.testing.assert_allclose(share[3], [zero / (zero + one), one / (zero + one)])
    found = em.learn(half, batch, max_iter=1)
    np.testing.assert_allclose(found.model.tally.class_weight, [2 + share[3, 0], 1 + share[3, 1]])


def test_the_record_reads_well() -> None:
    start = begun(X[:2], ["low", "high"])
    found = em.learn(start, rows(start, X))
    assert repr(found).startswith(f"Learned(converged in {found.n_iter} steps, log likelihood -")
    short = em.learn(start, rows(start, X), max_iter=1)
    assert repr(short).startswith("Learned(not converged after 1 step,")


def test_rows_without_any_label_need_none() -> None:
    start = begun(X[:2], ["low", "high"])
    bare = replace(rows(start, X), labels=None)
    assert em.learn(start, bare).log_likelihood_path == em.learn(start, rows(start, X)).log_likelihood_path


def test_every_step_is_reported() -> None:
    start, given = begun(X[:2], ["low", "high"]), []
    found = em.learn(start, rows(start, X), report=lambda step, value: given.append((step, value)))
    assert given == list(enumerate(found.log_likelihood_path, 1))


@pytest.mark.parametrize(("max_iter", "tol"), [(0, 1e-3), (-1, 1e-3), (10, -1.0), (10, float("nan"))])
def test_steps_that_mean_nothing(max_iter: int, tol: float) -> None:
    start = begun(X[:2], ["low", "high"])
    with pytest.raises(SettingError, match="tol must be at least 0 and max_iter at least 1"):
        em.learn(start, rows(start, X), max_iter=max_iter, tol=tol)


def test_rows_that_weigh_nothing() -> None:
    start = begun(X[:2], ["low", "high"])
    with pytest.raises(DataError, match="weight zero"):
        em.learn(start, rows(start, X, weight=np.zeros(6)))


def test_soft_labels_are_refused() -> None:
    start = begun(X[:2], ["low", "high"])
    with pytest.raises(DataError, match="hard labels"):
        em.learn(start, replace(rows(start, X), labels=Labels.soft(np.ones((6, 2)))))


def test_a_step_that_loses_is_not_taken() -> None:
    """A high floor on the variance makes plain steps lose in the end; the model before is kept."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(40, 2)), rng.normal(0, 0.01, size=(40, 2))])
    start = begun(x, np.repeat([0, 1], 40), families.Gaussian(0.5))
    found = em.learn(start, rows(start, x), tol=0.0, max_iter=300)
    assert found.converged
    assert (np.diff(found.log_likelihood_path) >= 0).all()
    evidence = found.model.log_evidence(rows(start, x)).sum()
    assert evidence == pytest.approx(found.log_likelihood_path[-1])


def test_no_table_of_rows_by_classes_by_columns_is_made() -> None:
    n, k, d = 40_000, 8, 30
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n, d)), rng.integers(k, size=n)
    start = begun(x, y)
    batch = rows(start, x)
    em.learn(start, batch, max_iter=1)  # what is loaded on first use does not count
    tracemalloc.start()
    em.learn(start, batch, max_iter=3, tol=0.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 8 * n * k  # bytes; n·k·d would be 30 tables of n by k
