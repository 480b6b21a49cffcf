"""Pairs: found where two columns say more together, and nowhere else."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tallybayes import NaiveBayes, load
from tallybayes.core.batch import Labels
from tallybayes.core.schema import Column
from tallybayes.errors import SettingError
from tallybayes.learning import screening
from tallybayes.learning.reading import Fine
from tallybayes.learning.screening import (
    BEYOND_CHANCE,
    STRENGTHS,
    Grid,
    joining_words,
    pair_column,
    part_of,
    screened,
)

N = 500


def xor(seed=0, n=N, flipped=0.05):
    """Two columns that tell nothing alone and all together, and one beside."""
    rng = np.random.default_rng(seed)
    y, a = rng.integers(0, 2, (2, n))
    b = a ^ y ^ (rng.random(n) < flipped)
    return rng, y, {"a": np.array(["p", "q"])[a], "b": np.array(["r", "s"])[b], "c": rng.normal(size=n)}


def pairs_of(model):
    return [column.name for column in model.schema_.columns if column.kind == "pair"]


# ---------------------------------------------------------------------------------------------- found or not


def test_xor_is_solved_by_a_pair():
    _, y, x = xor()
    model = NaiveBayes().fit(x, y)
    assert pairs_of(model) == ["a together with b"]
    assert model.weights_.columns["a together with b"] > 0.5
    assert model.score(x, y) > 0.93
    assert NaiveBayes(max_pairs=0).fit(x, y).score(x, y) < 0.65
    assert model.schema_.columns[-1].reason == "together they predict held-out rows better than apart"


def test_xor_of_numbers_is_solved_by_a_pair():
    rng, y, x = xor()
    numbers = {name: (values == values[0]) + 0.1 * rng.normal(size=N) for name, values in x.items() if name != "c"}
    model = NaiveBayes().fit(numbers, y)
    assert pairs_of(model) == ["a together with b"]
    assert model.score(numbers, y) > 0.9


@pytest.mark.parametrize("seed", range(4))
def test_independent_columns_make_no_pair(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 1000)
    x = {f"n{i}": rng.normal(y) for i in range(4)} | {f"c{i}": rng.integers(0, 3 + y).astype(str) for i in range(4)}
    assert pairs_of(NaiveBayes().fit(x, y)) == []


def test_columns_that_say_the_same_need_weights_and_hardly_a_pair():
    rng, y, _ = xor()
    a = rng.normal(y)
    model = NaiveBayes().fit({"a": a, "b": a}, y)
    shares = model.weights_.columns
    assert shares["a"] + shares["b"] < 1.5


def test_the_gain_must_be_more_than_chance():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (400, 12)).astype(np.int32)
    labels = Labels.hard(rng.integers(0, 2, 400).astype(np.int32))
    parts = [Column(str(j), "category", ("a", "b", "c")) for j in range(12)]
    even = np.full((400, 2), np.log(0.5))
    assert screened(Grid(parts, codes, labels, 2), even, range(12), 100) == []
    given = np.column_stack((codes, (codes[:, 0] + labels.codes) % 3)).astype(np.int32)
    grid = Grid([*parts, Column("12", "category", ("a", "b", "c"))], given, labels, 2)
    found = screened(grid, even, range(13), 100)
    assert [(c.left, c.right) for c in found] == [(0, 12)]
    assert found[0].gain > np.log(13 * 12 / 2) + BEYOND_CHANCE


def test_a_column_of_chance_and_its_copy_gain_nothing_together():
    codes = np.repeat([0, 1], 100).astype(np.int32)
    labels = Labels.hard((np.arange(200) % 2).astype(np.int32))
    parts = [Column(name, "category", ("p", "q")) for name in "ab"]
    grid = Grid(parts, np.column_stack((codes, codes)), labels, 2)
    assert screened(grid, np.full((200, 2), np.log(0.5)), [0, 1], 5) == []


def test_a_pair_too_large_to_learn_is_not_tried():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 100, (300, 2)).astype(np.int32)
    wide = [Column(n, "category", tuple(range(100))) for n in "ab"]
    grid = Grid(wide, codes, Labels.hard((codes.sum(axis=1) % 2).astype(np.int32)), 2)
    assert screened(grid, np.full((300, 2), np.log(0.5)), [0, 1], 5) == []


def test_a_number_is_paired_in_the_bins_that_matter():
    column = Column("x", "numeric", edges=(1.0, 2.0, 3.0))
    steps = part_of(column, Fine(np.full(4, 50.0), np.array([0, 0, 1, 2])))
    assert steps.edges == (2.0, 3.0)
    assert part_of(column, Fine(np.full(4, 18.0), np.zeros(4, int))).edges == (1.0, 2.0, 3.0)  # nothing matters: evenly
    assert pair_column(steps, Column("c", "category", ("a", "b"))).n_cells == 6


# ---------------------------------------------------------------------------------------- against the formula


def lift(count, strength, taken=0.0):
    """Log of the smoothed joint (A, B) of one class over its margins, a row taken out of each cell in turn."""
    n, a, b = count.sum() - taken, count.sum(axis=1) - taken, count.sum(axis=0) - taken
    left, right = (a + 0.5) / (n + 0.5 * len(a)), (b + 0.5) / (n + 0.5 * len(b))
    with np.errstate(invalid="ignore", divide="ignore"):  # cells that hold less than the row
        return np.log((count - taken) / (left[:, None] * right) + strength) - np.log(n + strength)


def gain(grid, posterior, seen, left, right, strength):
    """What a pair gains, by the definition, one row at a time."""
    a, b = grid.codes[:, left], grid.codes[:, right]
    y, w, shape = grid.labels.codes, grid.labels.weight, [grid.parts[j].n_cells for j in (left, right)]
    count, both = np.zeros((grid.n_classes, *shape)), (a >= 0) & (b >= 0)
    np.add.at(count, (y[both], a[both], b[both]), w[both])
    table = np.array([lift(each, strength) for each in count])
    slope = curvature = 0.0
    for i in seen[both[seen]]:
        evidence = table[:, a[i], b[i]].copy()
        evidence[y[i]] = lift(count[y[i]], strength, w[i])[a[i], b[i]]
        expected = posterior[i] @ evidence
        slope += w[i] * (evidence[y[i]] - expected)
        curvature += w[i] * (posterior[i] @ (evidence - expected) ** 2)
    return slope**2 / (2 * (curvature + 2.0)) if slope > 0 else 0.0


def random_grid(n, n_classes, weighted, seed=0):
    rng = np.random.default_rng(seed)
    levels = [2, 3, 7, 30]
    codes = np.stack([rng.integers(-1, size, n) for size in levels], axis=1).astype(np.int32)
    y = ((codes[:, 0] + codes[:, 1]) % n_classes).astype(np.int32)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else np.full(n, 2.0)
    parts = [Column(str(size), "category", tuple(range(size))) for size in levels]
    posterior = rng.dirichlet(np.ones(n_classes), n)
    return Grid(parts, codes, Labels.hard(y, weight), n_classes), posterior


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
@pytest.mark.parametrize("step", [1, 3])
def test_gains_are_those_of_the_formula(n_classes, weighted, step, monkeypatch):
    grid, posterior = random_grid(700, n_classes, weighted)
    pairs = list(combinations(range(4), 2))
    monkeypatch.setattr(screening, "WORK", -(-posterior.size * len(pairs) // step))
    monkeypatch.setattr(screening, "BEYOND_CHANCE", -np.inf)
    found = screened(grid, np.log(posterior), range(4), 100)
    assert sorted((c.left, c.right) for c in found) == pairs
    for each in found:
        expected = [gain(grid, posterior, np.arange(0, 700, step), each.left, each.right, s) for s in STRENGTHS]
        assert_allclose(each.gain, max(expected), rtol=1e-9, atol=1e-12)
        assert_allclose(expected[STRENGTHS.index(each.strength)], max(expected), rtol=1e-9, atol=1e-12)


def test_without_rows_nothing_is_found():
    grid, posterior = random_grid(0, 2, weighted=False)
    assert screened(grid, np.log(posterior), range(4), 5) == []


# ---------------------------------------------------------------------------------------------- as given


def test_pairs_can_be_given():
    _, y, x = xor()
    model = NaiveBayes(pairs=[("c", "a"), ("a", "b")]).fit(x, y)
    assert pairs_of(model) == ["c together with a", "a together with b"]
    assert model.score(x, y) > 0.93


@pytest.mark.parametrize("pairs", ["auto", [("a", "b")]])
def test_a_pair_is_not_called_what_a_column_is_called(pairs, tmp_path):
    _, y, x = xor()
    x["a together with b"] = x.pop("c")
    model = NaiveBayes(pairs=pairs).fit(x, y)
    assert pairs_of(model) == ["a taken together with b"]
    assert model.score(x, y) > 0.93
    assert {*x, *pairs_of(model)} == set(model.weights_.columns)
    assert len(model.explain({name: column[0] for name, column in x.items()}).evidence) == 4
    model.save(tmp_path / "model.tally")
    assert_array_equal(load(tmp_path / "model.tally").predict_proba(x), model.predict_proba(x))
    twice = model + model.blank().partial_fit(x, y)
    assert_array_equal(twice.class_count_, 2 * model.class_count_)


def test_pairs_of_columns_with_long_names_are_distinguished():
    _, y, x = xor()
    x = {"a": x["a"], "b together with c": x["b"], "a together with b": x["a"], "c": x["b"]}
    given = [("a", "b together with c"), ("a together with b", "c")]
    assert len(set(pairs_of(NaiveBayes(pairs=given).fit(x, y)))) == 2


def test_the_words_between_two_columns_are_in_no_name():
    names = ["a", "b"]
    for taken in range(3):
        words = joining_words(names)
        assert words == "taken " * taken + "together with"
        names.append(pair_column(Column("a", "category", ()), Column("b", "category", ()), words).name)


@pytest.mark.parametrize("none", [{"max_pairs": 0}, {"pairs": []}, {"pairs": ()}], ids=str)
def test_no_pairs_are_none(none):
    _, y, x = xor()
    assert pairs_of(NaiveBayes(**none).fit(x, y)) == []


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_number_is_the_most_there_are(most):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    x = {}
    for i in range(3):
        a = rng.integers(0, 2, 1500)
        x |= {f"a{i}": a.astype(str), f"b{i}": (a ^ y ^ (rng.random(1500) < 0.3)).astype(str)}
    found = pairs_of(NaiveBayes(max_pairs=most).fit(x, y))
    assert len(found) == min(most, 3)
    assert set(found) <= {f"a{i} together with b{i}" for i in range(3)}


def test_pairs_come_in_the_order_of_their_columns():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    a, b = rng.integers(0, 2, (2, 2000))
    x = {"a": a, "a2": a ^ y ^ (rng.random(2000) < 0.4), "b": b, "b2": b ^ y ^ (rng.random(2000) < 0.2)}
    x = {name: np.array(["n", "y"])[values.astype(int)] for name, values in x.items()}
    assert pairs_of(NaiveBayes().fit(x, y)) == ["a together with a2", "b together with b2"]


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        ([("a", "z")], "pairs names the column 'z', but the table has a, b, c"),
        ([("a", "a")], "two different columns"),
        ([("a",)], "two different columns"),
        ([("a", "b", "c")], "two different columns"),
        (["a"], "two different columns"),
        ([("a", "one")], "'one', which is no evidence"),
        ([("a", "b"), ("a", "b")], "twice"),
        ([("a", "b"), ("b", "a")], "twice"),
    ],
)
def test_pairs_that_are_none_are_refused(pairs, problem):
    _, y, x = xor()
    with pytest.raises(SettingError, match=problem):
        NaiveBayes(pairs=pairs).fit({**x, "one": np.full(N, "same")}, y)


@pytest.mark.parametrize("given", [{"max_pairs": n} for n in (-1, 1.5, "all", True)] + [{"pairs": 3}, {"pairs": None}])
def test_what_is_no_number_of_pairs_is_refused(given):
    _, y, x = xor()
    with pytest.raises(ValueError, match="pairs"):
        NaiveBayes(**given).fit(x, y)


# ---------------------------------------------------------------------------------------- many columns, missing values


def test_300_columns_are_screened_in_little_memory():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 4, (60, 300)).astype(float), rng.integers(0, 2, 60)
    tracemalloc.start()
    try:
        NaiveBayes().fit(x, y)
        assert tracemalloc.get_traced_memory()[1] < 72e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("value", [None, "never seen"])
def test_a_pair_of_which_one_is_missing_or_unseen_says_nothing(value):
    _, y, x = xor()
    model = NaiveBayes().fit(x, y)
    place = model.schema_.names.index("a together with b")
    parts = model.contributions({"a": ["p", value], "b": [value, "r"], "c": [0.0, 0.0]})
    assert_allclose(parts[:, :, place], 0.0)
