"""Tallies that may be shown."""

import numpy as np
import pytest

import tallybayes
from tallybayes import NaiveBayes, Tally, families
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.inspection.privacy import WARNING, release
from tests.engines import mixed_frame

ROWS = mixed_frame(300).drop("worth", "far", "apart", "i32", "i16", "u16", "same")
BOUNDS = {
    "i8": (-128, 127),
    "u8": (0, 255),
    "f32": (-10, 20),
    "visits": (0, 30),
    "size": (1e-3, 1e3),
    "spent": (0, 1e3),
}
OPTIONS = {
    "kind": {"visits": "count"},
    "family": {"size": "lognormal", "spent": "zero_inflated", "f32": "exponential"},
}


@pytest.fixture(scope="module")
def tally():
    return tallybayes.tally(ROWS, target="label", **OPTIONS)


def figures(tally):
    yield tally.class_weight
    for block in tally.blocks.values():
        yield from block.summary.arrays().values()


def test_without_a_limit_on_the_loss_the_tally_is_what_it_was(tally):
    found = tallybayes.private(tally, 1e12, bounds=BOUNDS, seed=0)
    for ours, theirs in zip(figures(found), figures(tally), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_noise_has_the_scale_that_the_budget_asks_for(delta):
    plain = tallybayes.tally(np.full((1000, 1), 3.0), ["a"] * 1000, families.Gaussian())
    named = {"bounds": {"x0": (-6, 10)}, "delta": delta}
    drawn = [release(plain, 2.0, seed=s, **named) for s in range(3000)]
    assert drawn[0].n_queries == 4  # the class, and weight, sum and squares of the column
    assert drawn[0].mechanism == ("Gaussian" if delta else "Laplace")
    rho = (np.sqrt(np.log(1 / 1e-9) + 2) - np.sqrt(np.log(1 / 1e-9))) ** 2
    scale = np.sqrt(4 / (2 * rho)) if delta else np.sqrt(2) * 4 / 2.0
    weights = np.array([one.tally.class_weight[0] for one in drawn])
    assert weights.mean() == pytest.approx(1000, abs=4 * scale / np.sqrt(3000))
    assert weights.std() == pytest.approx(scale, rel=0.1)
    # The sum about the middle of the bounds, 2, has a sensitivity of 8.
    sums = np.array(
        [(m.mean[0, 0] - 2) * m.weight[0, 0] for m in (one.tally.blocks["gaussian"].summary for one in drawn)]
    )
    assert sums.std() == pytest.approx(8 * scale, rel=0.1)


def test_every_column_is_accounted_for(tally):
    found = release(tally, 1.0, bounds=BOUNDS)
    # the classes; i8 and u8: 3 each; f32, visits: 2 each; size: 3; spent: 5; yes, town, mood: 1 each
    assert found.n_queries == 1 + 6 + 4 + 3 + 5 + 3
    assert (found.epsilon, found.delta) == (1.0, 0.0)
    assert WARNING in str(found)
    assert "What it does not protect" in str(found)


def test_two_releases_differ_and_what_cannot_be_is_not_released(tally):
    first, second = (tallybayes.private(tally, 0.01, bounds=BOUNDS) for _ in range(2))
    assert not np.array_equal(first.class_weight, second.class_weight)
    for values in figures(first):
        assert np.isfinite(values).all()
    assert all((b.summary.arrays()["weight"] >= 0).all() for b in first.blocks.values())
    assert (first.blocks["gaussian"].summary.m2 >= 0).all()
    assert all("300" not in column.reason for column in first.schema.columns)


def test_a_model_reads_it_like_any_other(tally):
    params = {"classical": True, **OPTIONS}
    private = NaiveBayes.from_tally(tallybayes.private(tally * 1e6, 5.0, 1e-9, bounds=BOUNDS, seed=1), **params)
    exact = NaiveBayes.from_tally(tally, **params)
    rows = ROWS.drop("label")
    assert (private.predict(rows) == exact.predict(rows)).mean() > 0.95


def test_small_counts_are_left_out_with_their_names():
    table = {"town": ["Rome"] * 40 + ["Bonn"] * 40 + ["my village"] * 2, "y": [0, 1] * 41}
    tally = tallybayes.tally(table, target="y")
    found = tallybayes.private(tally, None, min_cell=5)
    assert found.schema.columns[0].levels == ("Bonn", "Rome")
    np.testing.assert_array_equal(found.blocks["categorical"].summary.count, [[20, 20], [20, 20]])
    assert "my village" not in repr(tallybayes.private(tally, 5.0, min_cell=10, seed=0).schema.columns[0].levels)


def test_small_counts_of_pairs_are_left_out():
    rng = np.random.default_rng(0)
    table = {
        "a": rng.choice(["x", "y"], 400).tolist(),
        "b": rng.choice(["u", "v", "rare"], 400, p=[0.5, 0.49, 0.01]).tolist(),
    }
    model = NaiveBayes(pairs=[("a", "b")]).fit(table, rng.integers(0, 2, 400))
    found = tallybayes.private(model.tally_, None, min_cell=20)
    pair = found.schema.columns[-1]
    assert [part.levels for part in pair.parts] == [("x", "y"), ("u", "v")]
    assert found.blocks["pair"].summary.count.shape == (2, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a number above 0"),
        ({"epsilon": 1, "delta": 0.5}, "delta must be far below"),
        ({"epsilon": 1}, "needs bounds that are known beforehand"),
        ({"epsilon": 1, "bounds": {**BOUNDS, "i8": (5, 5)}}, "must be two rising numbers"),
        ({"epsilon": 1, "bounds": {**BOUNDS, "i8": (0, 1)}}, "clip the rows"),
        ({"epsilon": 1, "bounds": {**BOUNDS, "size": (0, 9)}}, "lower bound must be above 0"),
        ({"epsilon": 1, "bounds": BOUNDS, "logs": ["spent"]}, "'spent' is read by its logarithm"),
        ({"epsilon": 1, "bounds": BOUNDS, "min_cell": -1}, "min_cell must be at least 0"),
        ({"epsilon": 1, "bounds": BOUNDS, "most_weight": 0}, "most_weight must be"),
    ],
)
def test_bad_requests_are_refused(tally, options, message):
    with pytest.raises(SettingError, match=message):
        tallybayes.private(tally, **options)


def test_what_has_no_noise_here_says_so():
    rng = np.random.default_rng(0)
    scatter = tallybayes.tally(rng.normal(size=(30, 2)), [0, 1] * 15, families.Multinormal())
    with pytest.raises(NotAvailableError, match="products of columns"):
        tallybayes.private(scatter, 1.0, bounds={"x0": (-9, 9), "x1": (-9, 9)})
    with pytest.raises(SettingError, match="nothing to release"):
        tallybayes.private(Tally.empty(), 1.0)
