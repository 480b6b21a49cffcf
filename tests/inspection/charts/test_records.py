"""Nomograms, sweeps, boundaries and concerns."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tallybayes import GaussianDiscriminant, GaussianNB, MultinomialNB, NaiveBayes
from tallybayes.data import datasets
from tallybayes.errors import DataError, SettingError
from tallybayes.inspection.charts import (
    boundary,
    concerns,
    em_path,
    evidence_shapes,
    learning_curve,
    nomogram,
    prior_sweep,
)

TENNIS = datasets.tennis()
PLAYED = TENNIS.pop("play")
DAY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}


@pytest.fixture(scope="module")
def tennis() -> NaiveBayes:
    return NaiveBayes(classical=True).fit(TENNIS, PLAYED)


@pytest.fixture(scope="module")
def penguins() -> tuple[NaiveBayes, dict, list]:
    table = datasets.penguins()
    species = table.pop("species")
    return NaiveBayes().fit(table, species), table, species


def test_points_add_up_to_the_posterior(tennis: NaiveBayes) -> None:
    chart = nomogram(tennis)
    points = {line.column: dict(zip(line.values, line.log_odds, strict=True)) for line in chart.lines}
    total = sum(chart.points(points[column][value]) for column, value in DAY.items())
    own = tennis.predict_proba([DAY])[0, 1]
    assert chart.probability(total) == pytest.approx(own, abs=1e-12)
    assert chart.sum_for(own) == pytest.approx(total)
    assert max(abs(chart.points(o)) for line in chart.lines for o in line.log_odds) == pytest.approx(100.0)


def test_a_calibrated_scale() -> None:
    table = {name: values * 20 for name, values in TENNIS.items()}
    model = NaiveBayes(classical=True, calibration="temperature").fit(table, PLAYED * 20)
    chart = nomogram(model)
    points = {line.column: dict(zip(line.values, line.log_odds, strict=True)) for line in chart.lines}
    total = sum(chart.points(points[column][value]) for column, value in DAY.items())
    assert chart.temperature != 1.0
    assert chart.probability(total) == pytest.approx(model.predict_proba([DAY])[0, 1], abs=1e-9)


def test_a_nomogram_compares_two_classes(penguins: tuple) -> None:
    chart = nomogram(penguins[0], "Gentoo", "Chinstrap")
    assert (chart.label, chart.against) == ("Gentoo", "Chinstrap")
    assert json.loads(json.dumps(chart.as_dict()))["label"] == "Gentoo"
    with pytest.raises(DataError, match="cannot be compared with itself"):
        nomogram(penguins[0], "Gentoo", "Gentoo")
    with pytest.raises(DataError, match="there is no class 'Emu'"):
        nomogram(penguins[0], "Emu")
    with pytest.raises(DataError, match="bag of words"):
        nomogram(MultinomialNB().fit([[1, 2], [2, 1]], ["a", "b"]))


def test_a_sweep_goes_through_what_with_prior_gives(tennis: NaiveBayes) -> None:
    sweep = prior_sweep(tennis, DAY, points=11)
    for p, posterior in list(zip(sweep.prior, sweep.posterior, strict=True))[1:-1]:
        other = tennis.with_prior({"no": p, "yes": 1 - p})
        np.testing.assert_allclose(posterior, other.predict_proba([DAY])[0], atol=1e-12)
    assert sweep.posterior[0].tolist() == [0.0, 1.0]
    assert sweep.posterior[-1].tolist() == [1.0, 0.0]
    assert "the likeliest class from" in str(sweep)
    assert json.loads(json.dumps(sweep.as_dict()))["label"] == "no"
    with pytest.raises(DataError, match="one row"):
        prior_sweep(tennis, [DAY, DAY])


def test_weighted_models_sweep_too(penguins: tuple) -> None:
    model, table, _ = penguins
    row = {name: values[0] for name, values in table.items()}
    sweep = prior_sweep(model, row, "Gentoo", points=5)
    other = model.with_prior({"Adelie": 0.5 * 152 / 220, "Chinstrap": 0.5 * 68 / 220, "Gentoo": 0.5})
    np.testing.assert_allclose(sweep.posterior[2], other.predict_proba([row])[0], atol=1e-9)


def test_a_learning_curve_is_that_of_models_fitted_to_so_many_rows() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 3)) + np.repeat([[0.0], [1.5]], 100, axis=0), np.repeat(["a", "b"], 100)
    model = GaussianNB().fit(X, y)
    curve = learning_curve(model, X, y, sizes=[20, 80, 160], seed=3)
    order = np.random.default_rng(3).permutation(200)
    held, order = np.sort(order[:40]), order[40:]
    for n, evaluation in zip(curve.n_rows, curve.evaluations, strict=True):
        rows = np.sort(order[:n])
        again = GaussianNB().fit(X[rows], y[rows]).evaluate(X[held], y[held], method="test")
        assert float(evaluation.log_loss) == pytest.approx(float(again.log_loss), abs=1e-9)
    assert curve.n_held_out == 40
    assert "evaluated on 40 held-out rows" in str(curve)
    assert json.loads(json.dumps(curve.as_dict()))["n_rows"] == [20, 80, 160]
    with pytest.raises(SettingError, match="sizes must lie between"):
        learning_curve(model, X, y, sizes=[0, 10])
    with pytest.raises(DataError, match="labelled rows"):
        learning_curve(model, X)


def test_a_model_with_choices_is_learned_anew_at_every_size() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(150, 6)) + np.repeat([[0.0], [1.0]], 75, axis=0), np.repeat(["a", "b"], 75)
    curve = learning_curve(NaiveBayes(max_pairs=0).fit(X, y), X, y, sizes=[20, 60], seed=3)
    order = np.random.default_rng(3).permutation(150)
    held, order = np.sort(order[:30]), order[30:]
    for n, evaluation in zip(curve.n_rows, curve.evaluations, strict=True):
        rows = np.sort(order[:n])
        again = NaiveBayes(max_pairs=0).fit(X[rows], y[rows]).evaluate(X[held], y[held], method="test")
        assert float(evaluation.log_loss) == pytest.approx(float(again.log_loss), rel=1e-6)


def test_mixed_tables_have_learning_curves(penguins: tuple) -> None:
    model, table, species = penguins
    curve = learning_curve(model, table, species)
    assert curve.n_rows[0] == 10
    assert curve.accuracy[-1] > 0.9


def test_the_line_of_shared_variances() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)) + np.repeat([[0.0, 0.0], [2.0, 1.0]], 50, axis=0), np.repeat([0, 1], 50)
    straight, bent = GaussianNB(variance="shared").fit(X, y), GaussianNB().fit(X, y)
    w, b = boundary(straight).line
    np.testing.assert_allclose(w, straight.coef_[0])
    assert b == pytest.approx(float(straight.intercept_[0]))
    assert boundary(bent).line is None
    found = boundary(bent, points=5)
    across, along = np.meshgrid(found.x, found.y)
    grid = np.column_stack((across.ravel(), along.ravel()))
    np.testing.assert_allclose(found.posterior.reshape(25, 2), bent.predict_proba(grid), atol=1e-12)
    np.testing.assert_allclose(found.mean, bent.theta_)
    np.testing.assert_allclose(np.einsum("kii->ki", found.covariance), bent.var_)


def test_discriminants_have_lines_and_tilted_ellipses() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) @ [[1.0, 0.8], [0.0, 0.6]] + np.repeat([[0.0, 0.0], [2.0, 1.0]], 50, axis=0)
    found = boundary(GaussianDiscriminant(covariance="shared").fit(X, np.repeat([0, 1], 50)))
    assert found.line is not None
    assert abs(found.covariance[0, 0, 1]) > 0.1


def test_a_boundary_of_a_mixed_table(penguins: tuple) -> None:
    model, table, species = penguins
    found = boundary(model, ("bill_length_mm", "bill_depth_mm"), table, species, points=20)
    assert found.posterior.shape == (20, 20, 3)
    assert "A Adelie" in str(found)
    assert json.loads(json.dumps(found.as_dict()))["columns"] == ["bill_length_mm", "bill_depth_mm"]
    with pytest.raises(DataError, match="'island' is no column of numbers"):
        boundary(model, ("island", "bill_depth_mm"))


def test_the_path_of_em() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) + np.repeat([[0.0], [3.0]], 50, axis=0)
    y = np.where(np.arange(100) % 50 < 3, np.repeat([0, 1], 50), -1)
    path = em_path(GaussianNB(unlabelled="em").fit(X, y))
    assert np.all(np.diff(path.log_likelihood) >= 0)
    assert "steps, converged" in str(path)
    with pytest.raises(DataError, match="no path"):
        em_path(object())


def test_concerns_name_what_is_wrong() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 500)
    once = rng.normal(size=1000)
    table = {"once": once, "again": once + 0.05 * rng.normal(size=1000), "free": rng.normal(size=1000), "answer": y}
    found = concerns(NaiveBayes(classical=True).fit(table, y), table, y)
    assert [(c.kind, set(c.columns)) for c in found] == [("leak", {"answer"}), ("dependent", {"once", "again"})]
    assert "counted twice" in found[1].text
    assert json.loads(json.dumps([c.as_dict() for c in found]))


def test_nothing_is_wrong_with_independent_columns() -> None:
    rng = np.random.default_rng(0)
    table = {f"c{j}": rng.normal(size=300) for j in range(5)} | {"d": rng.choice(list("abc"), 300)}
    y = rng.choice(["no", "yes"], 300)
    assert concerns(NaiveBayes(classical=True).fit(table, y), table, y) == ()


def test_whole_numbers_are_drawn_one_by_one_and_narrow_bins_do_not_hide_the_others() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    model = NaiveBayes().fit({"parts": rng.poisson(1 + y) * (rng.random(400) < 0.5)}, y)
    (parts,) = evidence_shapes(model, ["parts"])
    assert np.array_equal(parts.middles, np.rint(parts.middles))
    uneven = replace(parts, points=np.geomspace(1.0, 300.0, 101), share=np.full(100, 0.01), stepped=True)
    edges, height = uneven.histogram()
    assert len(edges) == len(height) + 1 < 50
    assert (height > 0.02).all()


def test_copies_of_rows_are_a_warning_where_they_are_no_chance() -> None:
    penguins = pd.DataFrame(datasets.penguins())

    def copies(frame: pd.DataFrame) -> list[str]:
        model = NaiveBayes(classical=True).fit(frame, target="species")
        return [str(found) for found in concerns(model, frame) if found.kind == "copies"]

    assert copies(penguins) == []
    assert copies(penguins[["island", "sex", "species"]]) == []  # a few levels repeat each other by nature
    assert copies(pd.concat([penguins, penguins[:20]]))[0].startswith("20 of 364 rows are copies of others")
