"""Where mixture components start and how they are put in order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes import Settings, families
from tallybayes.core.batch import Labels
from tallybayes.core.schema import NumberedColumns, Schema
from tallybayes.data.arrays import one_block
from tallybayes.learning import em
from tallybayes.learning import mixtures as components

SETTINGS = Settings({"gaussian": families.Gaussian(1e-6)})
HEAPS = np.concatenate([np.random.default_rng(k).normal(20.0 * k, 1.0, size=(30, 2)) for k in range(4)])


def batch(x: Any = HEAPS, weight: Any = None) -> Any:
    labels = Labels.hard(np.full(len(x), em.UNKNOWN), weight)
    return one_block("gaussian", Schema(NumberedColumns(2, "numeric"), (0,)), x, labels)


def test_seeds_lie_far_apart() -> None:
    heaps = [
        len(set(components.seeds(SETTINGS, batch(), np.ones(120), 4, np.random.default_rng(seed)) // 30))
        for seed in range(20)
    ]
    assert np.mean(heaps) > 3.3  # drawn blindly it would be 2.7


def test_seeds_are_rows_that_count_and_never_the_same() -> None:
    weight = np.where(np.arange(120) < 6, 1.0, 0.0)
    found = components.seeds(SETTINGS, batch(weight=weight), weight, 6, np.random.default_rng(0))
    assert sorted(found) == [0, 1, 2, 3, 4, 5]
    alike = np.ones((8, 2))
    assert len(set(components.seeds(SETTINGS, batch(alike), np.ones(8), 8, np.random.default_rng(0)))) == 8


def test_components_are_numbered_from_the_heaviest() -> None:
    share = np.eye(3)[np.repeat([2, 0, 1, 2], 30)]
    model = components.in_order(components.of_shares(SETTINGS, batch(), (0, 1, 2), share), batch())
    np.testing.assert_array_equal(model.tally.class_weight, [60, 30, 30])
    np.testing.assert_allclose(model.parameters["gaussian"].mean[:, 0], [30, 20, 40], atol=1.0)
    assert model.schema.classes == (0, 1, 2)


def test_a_component_without_rows_is_revived() -> None:
    share = np.eye(3)[np.repeat([0, 0, 1, 1], 30)]  # nothing for the third
    model = components.of_shares(SETTINGS, batch(), (0, 1, 2), share)
    again = components.revived(model, batch())
    assert again is not None
    assert again.tally.class_weight[2] > 0.5
    assert components.revived(em.learn(again, batch()).model, batch()) is None


def test_a_class_of_one_row_begins_with_a_width_whatever_the_unit_of_weight() -> None:
    codes = np.full(120, em.UNKNOWN)
    codes[[0, 30]] = 0, 1
    schema = Schema(NumberedColumns(2, "numeric"), ("a", "b"))
    found = []
    for unit in (1.0, 1e-6):
        rows = replace(batch(), labels=Labels.hard(codes, np.full(120, unit)), schema=schema)
        given = components.of_shares(SETTINGS, rows, ("a", "b"), unit * (codes[:, None] == [0, 1]))
        wide = components.widened(given, rows)
        assert wide.parameters["gaussian"].variance.min() > 10.0 > given.parameters["gaussian"].variance.max()
        found.append(wide.parameters["gaussian"].variance)
    np.testing.assert_allclose(*found)
