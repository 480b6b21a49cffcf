"""Columns that are tables of few lines, and evidence that never turns."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import NaiveBayes
from tallybayes.errors import SettingError
from tallybayes.families._few import few_groups
from tallybayes.families.binned import monotone_groups
from tallybayes.learning.constraints import check_constraints
from tallybayes.learning.options import Options
from tests.export.cases import mixed_table


def evidence(model, name, values):
    """Log odds of the second class that a column adds, at these values."""
    place = model.schema_.names.index(name)
    other = [each for each in model.schema_.names if each != name and not model.schema_.columns[0].is_derived]
    rows = {name: values, **{each: [None] * len(values) for each in other if "×" not in each}}
    parts = model.contributions(rows)
    return parts[:, 1, place] - parts[:, 0, place]


def zigzag(seed, n=300):
    """A number that goes up and down with the label, and two others."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    chance = 1 / (1 + np.exp(-np.sin(3 * x) * rng.uniform(0.5, 3) - rng.normal() * x))
    y = (rng.random(n) < chance).astype(int)
    return {
        "x": x.tolist(),
        "z": (x + rng.normal(size=n)).tolist(),
        "c": [("a", "b")[v] for v in rng.integers(0, 2, n)],
    }, y


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), direction=st.sampled_from([1, -1, "auto"]))
def test_monotone_evidence_has_no_violation(seed, direction):
    table, y = zigzag(seed)
    model = NaiveBayes(monotone={"x": direction}).fit(table, y)
    found = np.diff(evidence(model, "x", np.linspace(-4, 4, 801).tolist()))
    if direction == "auto":
        assert (found >= 0).all() or (found <= 0).all()
    else:
        assert (direction * found >= 0).all()
    assert not any("x" in {p.name for p in c.parts} for c in model.schema_.columns if c.parts is not None)


def test_it_stays_monotone_when_rows_are_learned_later():
    table, y = zigzag(1)
    model = NaiveBayes(monotone={"x": 1}, weights=None, max_pairs=0).fit(table, y)
    more, labels = zigzag(2)
    model.partial_fit(more, labels)
    assert (np.diff(evidence(model, "x", np.linspace(-4, 4, 201).tolist())) >= 0).all()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=30),
    st.sampled_from([1.0, -1.0]),
    st.sampled_from([0.5, 2.0, 128.0]),
)
def test_pooling_leaves_no_violator(cells, direction, strength):
    from tallybayes.families._tables import pooled_tables

    count = np.array(cells, dtype=float)
    group = monotone_groups(count, np.arange(len(count)), direction, strength)
    merged = np.stack([np.bincount(group, count[:, k]) for k in range(2)], axis=1)
    table = pooled_tables(merged, np.array([len(merged)]), np.array([strength])).of_column(0)
    assert (direction * np.diff(table[1] - table[0]) >= 0).all()
    assert (np.diff(group) >= 0).all()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60),
    st.integers(1, 8),
)
def test_few_bins_are_few_large_and_turn_once(cells, most):
    count = np.array(cells, dtype=float)
    group = few_groups(count, most)
    assert group[0] == 0
    assert set(np.diff(group)) <= {0, 1}
    assert group[-1] < most
    merged = np.stack([np.bincount(group, count[:, k]) for k in range(2)], axis=1)
    total = merged.sum(axis=1)
    if len(total) > 1:
        assert total.min() >= 0.05 * total.sum()
        turns = np.sign(np.diff(merged[:, 1] / total))
        assert (np.diff(turns[turns != 0]) != 0).sum() <= 1


def test_a_bin_of_a_large_table_may_be_a_small_share_of_it():
    count = np.array([[90_000.0, 10_000.0], [300.0, 900.0], [30.0, 90.0]])
    assert few_groups(count, 6).tolist() == [0, 1, 1]
    assert few_groups(count / 100, 6).tolist() == [0, 0, 0]


def test_a_readable_model_is_tables_of_few_lines_and_nothing_else():
    table, labels = mixed_table(500, 3, n_classes=3)
    model = NaiveBayes(readable=True, drop=["visits"]).fit(table, labels)
    assert set(model.model_.tally.blocks) <= {"binned", "hierarchical", "grouped", "ordered", "cyclic"}
    card = model.scorecard(label="low")
    assert max(len([line for line in c.lines if not line.conditions[0].special]) for c in card.columns) <= 6
    fewer = NaiveBayes(readable=True, drop=["visits"], max_bins={"height": 2}).fit(table, labels)
    height = next(c for c in fewer.scorecard(label="low").columns if c.name == "height")
    assert len([line for line in height.lines if not line.conditions[0].special]) <= 2


def test_max_bins_alone_keeps_pairs_and_other_columns_free():
    table, labels = mixed_table(500, 3, n_classes=2)
    model = NaiveBayes(max_bins={"in come": 3, "town": 3}, drop=["visits"]).fit(table, labels)
    families = {
        c.name: b for b, block in model.tally_.blocks.items() for c in [model.schema_.columns[p] for p in block.columns]
    }
    assert families["in come"] == "binned"
    assert families["town"] == "grouped"
    assert len(np.unique(evidence(model, "in come", np.geomspace(10, 1e5, 400).tolist()))) <= 3


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"monotone": {"hight": 1}}, "height"),
        ({"monotone": {"mood": 1}}, "only numbers"),
        ({"monotone": {"height": 1}, "pairs": [("height", "mood")]}, "cannot be paired"),
        ({"monotone": {"height": 2}}, "'auto'"),
        ({"max_bins": 1}, "at least 2"),
        ({"readable": True, "classical": True}, "classical"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, message):
    table, labels = mixed_table(60, 3, n_classes=2)
    with pytest.raises(SettingError, match=message):
        NaiveBayes(**asked).fit(table, labels)


def test_monotone_needs_two_classes():
    table, labels = mixed_table(60, 3, n_classes=3)
    with pytest.raises(SettingError, match="two classes"):
        NaiveBayes(monotone={"height": 1}).fit(table, labels)


def test_without_constraints_no_column_is_looked_at():
    schema = SimpleNamespace(columns=None, classes=("a", "b"))  # a matrix may have a hundred thousand of them
    check_constraints(schema, Options())
    with pytest.raises(TypeError):
        check_constraints(schema, Options(max_bins={"x": 3}))
