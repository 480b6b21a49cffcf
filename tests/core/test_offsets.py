"""Offsets: tables that are added to the scores, matched by the names of levels and classes or by bins."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tallybayes.core.offsets import Offset, averaged
from tallybayes.core.schema import Column
from tallybayes.errors import SchemaError
from tests.refined import refined, table, with_offsets

CLASSES = ("no", "yes")


def bins(*edges, name="n"):
    return Column(name, "numeric", edges=edges)


def offset(cells, *values):
    return Offset(cells, CLASSES, np.outer(values, [1.0, -1.0]))


def test_levels_and_classes_are_matched_by_name():
    mine = offset(Column("c", "category", ("a", "b", None)), 1.0, 2.0, 3.0)
    found = mine.among(Column("c", "category", ("b", "z", None)), ("maybe", "yes", "no"))
    assert_array_equal(found, [[0, -2, 2], [0, 0, 0], [0, -3, 3]])


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ((1.0, 2.0), [1, 2, 4]),
        ((), [7 / 3]),
        ((1.5,), [1.5, 3]),
        ((0.0, 1.0, 1.5, 2.0), [1, 1, 2, 2, 4]),
        ((9.0,), [7 / 3, 4]),
    ],
)
def test_a_bin_has_the_mean_of_the_cells_that_it_covers(edges, expected):
    assert_allclose(offset(bins(1.0, 2.0), 1.0, 2.0, 4.0).among(bins(*edges), CLASSES)[:, 0], expected)


def test_a_constant_is_added_to_every_bin():
    assert_array_equal(offset(Column("n", "numeric"), 3.0).among(bins(1.0, 2.0), CLASSES)[:, 0], [3, 3, 3])


def test_the_parts_of_a_pair_are_matched_one_by_one():
    levels, number = Column("c", "category", ("a", "b")), bins(1.0)
    mine = offset(Column("c × n", "pair", parts=(levels, number)), 1.0, 2.0, 3.0, 4.0)
    now = Column("c × n", "pair", parts=(replace(levels, levels=("z", "b", "a")), bins(0.5, 1.0)))
    assert_array_equal(mine.among(now, CLASSES)[:, 0].reshape(3, 3), [[0, 0, 0], [3, 3, 4], [1, 1, 2]])


def test_a_mean_has_the_cells_of_both():
    one = offset(Column("c", "category", ("a", "b")), 1.0, 2.0)
    two = Offset(Column("c", "category", ("b", "d")), ("no", "so"), np.array([[4.0, 8.0], [12.0, 0.0]]))
    both = one.mean(two, 0.25)
    assert both.cells.levels == ("a", "b", "d")
    assert both.classes == ("no", "so", "yes")
    assert_allclose(both.table, [[0.75, 0, -0.75], [2.5, 2.0, -1.5], [3.0, 0.0, 0.0]])
    number = offset(bins(1.0), 1.0, 2.0).mean(offset(bins(2.0), 3.0, 5.0), 0.5)
    assert number.cells.edges == (1.0, 2.0)
    assert_allclose(number.table[:, 0], [2.0, 2.5, 3.5])


def test_a_column_without_an_offset_on_one_side_counts_as_zero_there():
    mine = offset(bins(1.0), 1.0, 2.0)
    assert_allclose(averaged({}, {"n": mine}, 0.25)["n"].table, mine.table * 0.25)
    assert_allclose(averaged({"n": mine}, {}, 0.25)["n"].table, mine.table * 0.75)


@pytest.mark.parametrize(
    "wrong",
    [
        Offset(bins(2.0, 1.0), CLASSES, np.zeros((3, 2))),
        Offset(bins(1.0), CLASSES, np.zeros((3, 2))),
        Offset(bins(1.0), ("no", "no"), np.zeros((2, 2))),
        Offset(bins(1.0), CLASSES, np.full((2, 2), np.nan)),
        Offset(bins(1.0, name="m"), CLASSES, np.zeros((2, 2))),
        Offset(Column("n", "numeric", ("a",)), CLASSES, np.zeros((1, 2))),
    ],
)
def test_an_offset_that_does_not_fit_is_refused(wrong):
    with pytest.raises(SchemaError, match="offset"):
        wrong.check(Column("n", "numeric"))


# ------------------------------------------------------------------------------------------ models


def scores_by_hand(model, rows):
    """The log joint from the plain evidence, weights and offsets, value by value."""
    unrefined = replace(model, settings=replace(model.settings, weights=None, offsets={}))
    batch = refined()._rows(rows)
    parts = unrefined.contributions(batch) * model.column_weights
    for p, column in enumerate(model.schema.columns):
        parts[:, :, p] += [
            added(model, column, {name: values[i] for name, values in rows.items()}) for i in range(batch.n_rows)
        ]
    return parts


def place(column, row):
    value = row.get(column.name)
    if column.kind == "text":
        return 0 if set(str(value).split()) & set(column.levels or ()) else None
    if column.parts:
        a, b = (place(part, row) for part in column.parts)
        return None if a is None or b is None else a * column.parts[1].n_cells + b
    if column.levels is not None:
        return column.levels.index(value) if value in column.levels else None
    return None if value is None else sum(edge <= value for edge in column.edges or ())


def added(model, column, row):
    offset = model.settings.offsets.get(column.name)
    coded = column.levels is not None or column.edges is not None or column.parts is not None
    cells = column if coded else offset.cells
    found = place(cells, row)
    shown = offset.among(column if coded and column.kind != "text" else offset.cells, model.schema.classes)
    return np.zeros(model.n_classes) if found is None else shown[found]


def test_scores_are_weighted_evidence_and_offsets():
    estimator, (rows, _) = refined(), table(60, 9, new_values=True)
    model, batch = estimator.model_, estimator._rows(rows)
    parts = scores_by_hand(model, rows)
    assert_allclose(model.contributions(batch), parts, atol=1e-9)
    assert_allclose(model.log_joint(batch), parts.sum(axis=2) + model.prior_score, atol=1e-9)
    assert_allclose(model.posterior(batch), np.exp(model.log_posterior(batch)), atol=1e-9)


def test_a_row_without_values_has_no_offset():
    model = refined().model_
    nothing = refined()._rows({name: [None] for name in table(1, 0)[0]})
    missing = model.contributions(nothing)[0, :, [n != "town" for n in model.schema.names]]
    assert not missing.any()


def test_leave_one_out_leaves_out_counts_and_keeps_offsets():
    estimator, (rows, labels) = refined(), table(300, 3)
    model, batch = estimator.model_, estimator._labelled(rows, labels, None)
    plain = replace(model, settings=replace(model.settings, offsets={}))
    more = model.leave_one_out(batch) - plain.leave_one_out(batch)
    expected = (model.contributions(batch) - plain.contributions(batch)).sum(axis=2)
    assert_allclose(more - more[:, :1], expected - expected[:, :1], atol=1e-8)


def test_unlearning_keeps_offsets_but_those_of_levels_that_are_gone():
    estimator, (rows, labels) = refined(), table(300, 3)
    model = estimator.model_
    of_owl = [i for i, town in enumerate(rows["town"]) if town == "🦉"]
    gone = {name: [values[i] for i in of_owl] for name, values in rows.items()}
    left = model.unlearn(estimator._labelled(gone, [labels[i] for i in of_owl], None))
    left.check()
    for name in ("town", "town together with mood"):
        assert "🦉" not in str(
            left.settings.offsets[name].cells.levels or left.settings.offsets[name].cells.parts[0].levels
        )
    kept = [level for level in model.settings.offsets["town"].cells.levels if level != "🦉"]
    column = Column("town", "category", tuple(kept))
    now, before = (m.settings.offsets["town"].among(column, model.schema.classes) for m in (left, model))
    assert_array_equal(now, before)
    assert left.settings.offsets["height"] == model.settings.offsets["height"]


def test_without_refinement_has_the_families_and_nothing_else():
    model = refined().model_
    plain = model.without_refinement()
    plain.check()
    assert plain.settings.weights is None
    assert not plain.settings.offsets
    assert "pair" not in plain.settings.families
    assert set(plain.schema.names) == {n for n in model.schema.names if "together" not in n}
    assert (plain + plain.blank()) == plain


def test_merging_averages_and_blank_changes_nothing():
    model = refined().model_
    assert model + model.blank() == model
    assert model.blank() + model == model
    other = with_offsets(model, seed=5)
    both = model + other
    name = model.schema.names[0]
    mine, theirs = (m.settings.offsets[name].table for m in (model, other))
    assert_allclose(both.settings.offsets[name].table, (mine + theirs) / 2)


def test_select_keeps_the_offsets_of_its_columns():
    model = refined().model_.select(["height", "town", "mood"])
    model.check()
    assert set(model.settings.offsets) == {"height", "town", "mood", "town together with mood"}
