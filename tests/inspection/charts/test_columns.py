"""Column pictures: their numbers are the model's, whatever the family."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tallybayes import BernoulliNB, GaussianDiscriminant, GaussianNB, MultinomialNB, NaiveBayes, PoissonNB
from tallybayes.data import datasets
from tallybayes.families import numeric_families
from tallybayes.inspection.charts import Bars, Curves, column_pictures

RNG = np.random.default_rng(0)
LABELS = np.repeat(["a", "b"], 200)
NUMBERS = {
    "near": RNG.normal(np.repeat([0.0, 1.0], 200)),
    "far": RNG.normal(np.repeat([0.0, 4.0], 200)),
    "noise": RNG.normal(size=400),
}


def picture(model: object, column: str, X: object = None, y: object = None) -> object:
    return next(p for p in column_pictures(model, X, y) if p.column == column)


@pytest.mark.parametrize("numeric", list(numeric_families()))
def test_curves_are_densities(numeric: str) -> None:
    columns = {name: np.exp(values / 4) for name, values in NUMBERS.items()}
    model = NaiveBayes(numeric=numeric, weights=None, max_pairs=0).fit(columns, LABELS)
    for each in column_pictures(model):
        curves = each.shape
        assert isinstance(curves, Curves)
        width = np.diff(curves.points)
        density = curves.density if curves.stepped else (curves.density[:, 1:] + curves.density[:, :-1]) / 2
        mass = (density * width).sum(axis=1) + (0.0 if curves.spike is None else curves.spike)
        assert np.all(mass > 0.8), each.column
        assert np.all(mass < 1.02), each.column
        assert 0 <= each.information <= np.log(2) + 1e-9


@pytest.mark.parametrize("numeric", ["gaussian", "kernel", "binned"])
def test_the_most_telling_column_is_first(numeric: str) -> None:
    model = NaiveBayes(numeric=numeric, weights=None, max_pairs=0).fit(NUMBERS, LABELS)
    names = [each.column for each in column_pictures(model)]
    assert names == ["far", "near", "noise"]


def test_the_information_of_normal_columns_is_that_of_the_integral() -> None:
    model = NaiveBayes(classical=True, variance="shared").fit(NUMBERS, LABELS)
    params = model.model_.parameters["gaussian"]
    for j, name in enumerate(NUMBERS):
        x = np.linspace(-12, 16, 20001)
        p = np.exp(-0.5 * (x[:, None] - params.mean[:, j]) ** 2 * params.precision[:, j] + params.log_norm[:, j])
        mix = p.mean(axis=1)
        exact = 0.5 * np.sum(np.where(p > 0, p * np.log(p / mix[:, None]), 0.0)) * (x[1] - x[0])
        assert picture(model, name).information == pytest.approx(exact, abs=1e-3)


def test_bars_are_the_smoothed_shares() -> None:
    model = NaiveBayes(classical=True).fit(datasets.tennis(), target="play")
    shape = picture(model, "outlook").shape
    assert isinstance(shape, Bars)
    assert shape.levels == ("overcast", "rainy", "sunny")
    np.testing.assert_allclose(shape.chance, [[1 / 8, 3 / 8, 4 / 8], [5 / 12, 4 / 12, 3 / 12]])


def test_rare_levels_share_their_chance() -> None:
    table = {"letter": list("aaaabbbbcdef") * 5}
    model = NaiveBayes(classical=True, min_count=10).fit(table, ["x", "y"] * 30)
    np.testing.assert_allclose(picture(model, "letter").shape.chance.sum(axis=1), 1.0)


def test_many_levels_are_put_together() -> None:
    table = {"town": [f"t{i % 40}" for i in range(400)]}
    shape = picture(NaiveBayes(classical=True).fit(table, LABELS), "town").shape
    few = shape.most_informative(np.array([0.5, 0.5]))
    assert few.levels[-1] == "29 others"
    np.testing.assert_allclose(few.chance.sum(axis=1), 1.0)


def test_rows_give_histograms_by_class() -> None:
    model = NaiveBayes(classical=True).fit(NUMBERS, LABELS)
    edges, height = picture(model, "far", NUMBERS, LABELS).shape.histogram
    inside = (NUMBERS["far"][:200] >= edges[0]) & (NUMBERS["far"][:200] <= edges[-1])
    assert (height[0] * np.diff(edges)).sum() == pytest.approx(inside.mean())
    assert inside.mean() > 0.95


@pytest.mark.parametrize("numeric", [name for name, family in numeric_families().items() if family.least == 0])
def test_curves_beside_rows_begin_where_the_numbers_can(numeric: str) -> None:
    columns = {"wait": RNG.exponential(np.repeat([1.0, 2.0], 200))}
    model = NaiveBayes(numeric=numeric, weights=None, max_pairs=0).fit(columns, LABELS)
    shape = picture(model, "wait", columns, LABELS).shape
    assert shape.points[0] >= 0
    assert np.isfinite(shape.density).all()


def test_counts_in_bins_are_their_own_histogram() -> None:
    model = NaiveBayes(numeric="binned", weights=None, max_pairs=0).fit(NUMBERS, LABELS)
    edges, height = picture(model, "far").shape.histogram
    np.testing.assert_allclose((height * np.diff(edges)).sum(axis=1), 1.0)


def test_missing_cells_are_given() -> None:
    with_missing = {"near": np.where(np.arange(400) % 4, NUMBERS["near"], np.nan)}
    assert picture(NaiveBayes(classical=True).fit(with_missing, LABELS), "near").missing == pytest.approx(0.25)


def test_words_are_one_picture() -> None:
    counts = RNG.poisson([[3, 1, 1], [1, 1, 3]], size=(200, 2, 3)).reshape(400, 3)
    (each,) = column_pictures(MultinomialNB().fit(counts, np.tile(["a", "b"], 200)))
    assert isinstance(each.shape, Bars)
    assert each.shape.words
    assert each.shape.levels[2] == "x1"  # the word that tells nothing
    np.testing.assert_allclose(each.shape.chance.sum(axis=1), 1.0)


def test_a_text_is_a_picture_of_its_words() -> None:
    texts = ["cheap money", "a meeting today"] * 20
    model = NaiveBayes(kind={"body": "text"}, classical=True).fit({"body": texts, "n": range(40)}, ["spam", "ham"] * 20)
    each = picture(model, "body")
    assert each.kind == "text"
    assert {"cheap", "money", "meeting"} <= set(each.shape.levels)
    assert "money" in str(each)


def test_counts_have_chances_of_numbers() -> None:
    counts = RNG.poisson(np.repeat([[2.0], [5.0]], 200, axis=0))
    (each,) = column_pictures(PoissonNB().fit(counts, LABELS))
    assert each.shape.levels[:3] == ("0", "1", "2")
    np.testing.assert_allclose(each.shape.chance.sum(axis=1), 1.0, atol=5e-2)


def test_yes_and_no() -> None:
    flags = RNG.random((400, 1)) < np.repeat([[0.2], [0.7]], 200, axis=0)
    (each,) = column_pictures(BernoulliNB().fit(flags.astype(float), LABELS))
    np.testing.assert_allclose(each.shape.chance.sum(axis=1), 1.0)


def test_arrays_and_discriminants() -> None:
    X = np.column_stack(list(NUMBERS.values()))
    for model in (GaussianNB().fit(X, LABELS), GaussianDiscriminant().fit(X, LABELS)):
        found = column_pictures(model, X, LABELS)
        assert [each.column for each in found] == ["x1", "x0", "x2"]


def test_pairs_have_a_picture() -> None:
    a, b = RNG.integers(0, 2, 2000), RNG.integers(0, 2, 2000)
    table = {"a": np.array(["n", "y"])[a], "b": np.array(["n", "y"])[b], "c": RNG.normal(size=2000)}
    model = NaiveBayes(pairs=[("a", "b")]).fit(table, np.where(a ^ b, "odd", "even"))
    pair = next(each for each in column_pictures(model) if each.kind == "pair")
    assert pair.information > 0.5
    assert len(pair.shape.levels) == 4
    assert pair.shape.lift
    assert "×2.00" in str(pair)  # even: a and b come together twice as often as if they were independent
    assert "%" not in str(pair)
    assert set(pair.shape.most_informative(pair.prior, 3).levels) < set(pair.shape.levels)  # no sum of what is no share


def test_chances_are_read_as_shares_however_small() -> None:
    bars = Bars(("a", "b"), np.ones((2, 2)))
    assert [bars.formatted(p) for p in (0.5, 0.00053, 0.0)] == ["50.0%", "0.05%", "0.0%"]


def test_records_are_plain() -> None:
    penguins = datasets.penguins()
    species = penguins.pop("species")
    model = NaiveBayes().fit(penguins, species)
    for each in column_pictures(model, penguins, species):
        assert json.loads(json.dumps(each.as_dict()))["column"] == each.column
        assert each.column in str(each)


def test_some_columns_only() -> None:
    model = NaiveBayes(classical=True).fit(NUMBERS, LABELS)
    assert [each.column for each in column_pictures(model, columns=["noise"])] == ["noise"]
