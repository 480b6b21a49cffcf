"""Tallies that may be shown."""

import numpy as np
import pytest

import tallybayes
from tallybayes import NaiveBayes, Tally, families
from tallybayes.core.schema import Column, Schema
from tallybayes.core.tokens import Tokens
from tallybayes.errors import NotAvailableError, PrivacyWarning, SettingError
from tallybayes.inspection import noise as noises
from tallybayes.inspection.privacy import WARNING, release, spent
from tests.engines import mixed_frame
from tests.inspection import audit

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
    found = tallybayes.private(tally, 1e12, bounds=BOUNDS, schema=tally.schema, seed=0)
    for ours, theirs in zip(figures(found), figures(tally), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_noise_has_the_scale_that_the_budget_asks_for(delta):
    plain = tallybayes.tally(np.full((1000, 1), 3.0), ["a"] * 1000, families.Gaussian())
    named = {"bounds": {"x0": (-6, 10)}, "delta": delta, "schema": plain.schema}
    drawn = [release(plain, 2.0, seed=s, **named) for s in range(1500)]
    assert drawn[0].n_queries == 4  # the class, and weight, sum and squares of the column
    assert drawn[0].mechanism == ("Gaussian" if delta else "Laplace")
    rho = (np.sqrt(np.log(1 / 1e-9) + 2) - np.sqrt(np.log(1 / 1e-9))) ** 2
    scale = np.sqrt(4 / (2 * rho)) if delta else np.sqrt(2) * 4 / 2.0
    weights = np.array([one.tally.class_weight[0] for one in drawn])
    assert weights.mean() == pytest.approx(1000, abs=4 * scale / np.sqrt(1500))
    assert weights.std() == pytest.approx(scale, rel=0.1)
    # The sum about the middle of the bounds, 2, has a sensitivity of 8.
    sums = np.array(
        [(m.mean[0, 0] - 2) * m.weight[0, 0] for m in (one.tally.blocks["gaussian"].summary for one in drawn)]
    )
    assert sums.std() == pytest.approx(8 * scale, rel=0.1)


def test_every_column_is_accounted_for(tally):
    found = release(tally, 1.0, bounds=BOUNDS, schema=tally.schema)
    # the classes; i8 and u8: 3 each; f32, visits: 2 each; size: 3; spent: 5; yes, town, mood: 1 each
    assert found.n_queries == 1 + 6 + 4 + 3 + 5 + 3
    assert (found.epsilon, found.delta) == (1.0, 0.0)
    assert WARNING in str(found)
    assert "What it does not protect" in str(found)


def test_two_releases_differ_and_what_cannot_be_is_not_released(tally):
    first, second = (tallybayes.private(tally, 0.01, bounds=BOUNDS, schema=tally.schema) for _ in range(2))
    assert not np.array_equal(first.class_weight, second.class_weight)
    for values in figures(first):
        assert np.isfinite(values).all()
    assert all((b.summary.arrays()["weight"] >= 0).all() for b in first.blocks.values())
    assert (first.blocks["gaussian"].summary.m2 >= 0).all()
    assert all("300" not in column.reason for column in first.schema.columns)


def test_a_model_reads_it_like_any_other(tally):
    params = {"classical": True, **OPTIONS}
    many = tallybayes.private(tally * 1e6, 5.0, 1e-9, bounds=BOUNDS, schema=tally.schema, seed=1)
    private = NaiveBayes.from_tally(many, **params)
    exact = NaiveBayes.from_tally(tally, **params)
    rows = ROWS.drop("label")
    assert (private.predict(rows) == exact.predict(rows)).mean() > 0.95


def test_small_counts_are_left_out_with_their_names():
    table = {"town": ["Rome"] * 40 + ["Bonn"] * 40 + ["my village"] * 2, "y": [0, 1] * 41}
    tally = tallybayes.tally(table, target="y")
    found = tallybayes.private(tally, None, min_cell=5)
    assert found.schema.columns[0].levels == ("Bonn", "Rome")
    np.testing.assert_array_equal(found.blocks["categorical"].summary.count, [[20, 20], [20, 20]])
    private = tallybayes.private(tally, 5.0, schema=tally.schema, min_cell=10, seed=0)
    assert "my village" not in repr(private.schema.columns[0].levels)


def test_small_counts_of_pairs_are_left_out():
    rng = np.random.default_rng(0)
    table = {
        "a": rng.choice(["x", "y"], 400).tolist(),
        "b": rng.choice(["u", "v", "rare"], 400, p=[0.5, 0.49, 0.01]).tolist(),
    }
    labels = [(one == "x") == (two == "u") for one, two in zip(table["a"], table["b"], strict=True)]
    model = NaiveBayes(pairs=[("a", "b")]).fit(table, labels)
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
        tallybayes.private(tally, schema=tally.schema, **options)


def test_what_has_no_noise_here_says_so():
    rng = np.random.default_rng(0)
    scatter = tallybayes.tally(rng.normal(size=(30, 2)), [0, 1] * 15, families.Multinormal())
    with pytest.raises(NotAvailableError, match="products of columns"):
        tallybayes.private(scatter, 1.0, bounds={"x0": (-9, 9), "x1": (-9, 9)}, schema=scatter.schema)
    with pytest.raises(SettingError, match="nothing to release"):
        tallybayes.private(Tally.empty(), 1.0)


# ---------------------------------------------------------------------------------------------- names

TOWNS = {"town": ["Rome"] * 400 + ["Bonn"] * 400 + ["my village"], "y": ["no", "yes"] * 400 + ["no"]}
KINDS = {"kind": {"town": "category"}}


def test_names_that_were_read_off_the_rows_are_never_released_in_silence():
    counted = tallybayes.tally(TOWNS, target="y", **KINDS)
    with pytest.raises(SettingError, match="names of classes, levels and words show which rows"):
        tallybayes.private(counted, 1.0)
    found = [tallybayes.private(counted, 1.0, 1e-6, seed=s).schema for s in range(50)]
    assert {schema.columns[0].levels for schema in found} == {("Bonn", "Rome")}
    assert {schema.classes for schema in found} == {("no", "yes")}
    with pytest.warns(PrivacyWarning, match="kind of column 'town' was inferred"):
        tallybayes.private(tallybayes.tally(TOWNS, target="y"), 1.0, 1e-6)
    with pytest.raises(SettingError, match="no class has the"):
        tallybayes.private(counted, 0.01, 1e-6)


def test_a_class_of_one_row_is_not_shown():
    table = {"town": ["Rome", "Bonn"] * 400 + ["Rome"], "y": ["no", "yes"] * 400 + ["shot by the mayor"]}
    for seed in range(50):
        found = tallybayes.private(tallybayes.tally(table, target="y", **KINDS), 1.0, 1e-6, seed=seed)
        assert found.schema.classes == ("no", "yes")
        assert found.class_weight.shape == (2,)
        assert found.blocks["categorical"].summary.count.shape == (2, 2)


def test_words_that_one_text_has_are_not_shown_and_hashes_are_no_words():
    table = {"t": ["tea at noon", "cash now"] * 3000 + ["my secret"], "y": ["ham", "spam"] * 3000 + ["ham"]}
    counted = tallybayes.tally(table, target="y", kind={"t": "text"}, family={"t": "multinomial"})
    found = tallybayes.private(counted, 2.0, 1e-6, bounds={"t": (0, 4)}, seed=0)
    assert list(found.schema.columns[0].levels) == ["at", "cash", "noon", "now", "tea"]
    assert found.blocks["multinomial:t"].summary.count.shape == (2, 5)
    with pytest.raises(SettingError, match="'t' needs bounds"):
        tallybayes.private(counted, 2.0, 1e-6)
    model = NaiveBayes(tokens=Tokens(hashed=6), kind={"t": "text"}, classical=True).fit(table, target="y")
    hashed = tallybayes.private(model.tally_, 2.0, 1e-6, bounds={"t": (0, 4)}, seed=0)
    assert hashed.schema.columns[0].levels == range(64)


def test_a_schema_that_was_known_beforehand_decides_what_is_there():
    counted = tallybayes.tally(TOWNS, target="y", **KINDS)
    known = Schema((Column("town", "category", ("Bonn", "Oslo", "Rome")),), ("maybe", "no", "yes"))
    found = tallybayes.private(counted, 5.0, schema=known, seed=0)
    assert (found.schema.classes, found.schema.columns[0].levels) == (known.classes, known.columns[0].levels)
    assert found.blocks["categorical"].summary.count.shape == (3, 3)
    with pytest.raises(SettingError, match="other columns"):
        tallybayes.private(counted, 1.0, schema=Schema((Column("city", "category", ()),), ("no", "yes")))
    with pytest.raises(SettingError, match="cannot be read by the schema"):
        tallybayes.private(counted, 1.0, schema=Schema((Column("town", "text", (), tokens=Tokens()),), ("no", "yes")))


def test_bins_and_pairs_that_were_chosen_by_the_rows_are_refused():
    rng = np.random.default_rng(0)
    model = NaiveBayes(numeric="kernel").fit({"x": rng.normal(size=200)}, rng.integers(0, 2, 200))
    with pytest.raises(SettingError, match="bins or pairs of column 'x'"):
        tallybayes.private(model.tally_, 1.0, 1e-6)
    assert tallybayes.private(model.tally_, 1.0, schema=model.tally_.schema).schema.columns[0].edges is not None


def test_reasons_tell_nothing_of_the_rows(tally):
    found = tallybayes.private(tally, 1.0, bounds=BOUNDS, schema=tally.schema)
    assert all(not any(map(str.isdigit, c.reason.partition(",")[0])) for c in found.schema.columns)


# ---------------------------------------------------------------------------------------------- noise


def test_noise_is_exactly_what_it_is_said_to_be():
    from scipy.stats import chisquare

    dice = noises.random.Random(0)
    places = np.arange(-15, 16)
    for draw, log_p in (
        (lambda: noises.laplace(3, dice), -np.abs(places) / 3),
        (lambda: noises.gaussian(10, dice), -(places**2) / 20),
    ):
        drawn = np.array([draw() for _ in range(30_000)])
        seen = np.array([(drawn == place).sum() for place in places])
        expected = np.exp(log_p) / np.exp(log_p).sum() * seen.sum()
        often = expected > 5
        seen, expected = seen[often], expected[often] * seen[often].sum() / expected[often].sum()
        assert chisquare(seen, expected).pvalue > 1e-3


def test_every_figure_lies_on_a_grid_that_does_not_depend_on_the_rows(tally):
    """Otherwise the last digits of a figure show what it was before noise was added (Mironov 2012)."""
    width = 2.0 ** (1 - noises.FINENESS)
    for factor in (1.0, 1 / 3):
        found = tallybayes.private(tally * factor, 0.5, bounds=BOUNDS, schema=tally.schema)
        for values in (found.class_weight, found.blocks["categorical"].summary.count):
            np.testing.assert_array_equal(values / width, np.rint(values / width))


def test_noise_comes_from_the_system_unless_a_seed_is_given(tally, monkeypatch):
    options = {"bounds": BOUNDS, "schema": tally.schema}
    assert release(tally, 1.0, **options).is_secret
    assert "protects nobody" in str(release(tally, 1.0, seed=1, **options))

    def asked(self, k):
        raise RuntimeError("the system was asked")

    monkeypatch.setattr(noises.random.SystemRandom, "getrandbits", asked)
    release(tally, 1.0, seed=1, **options)
    with pytest.raises(RuntimeError, match="the system was asked"):
        release(tally, 1.0, **options)


def test_releases_add_up(tally):
    options = {"bounds": BOUNDS, "schema": tally.schema}
    assert spent(release(tally, 1.0, **options), release(tally, 0.5, 1e-6, **options)) == (1.5, 1e-6)


# ---------------------------------------------------------------------------------------------- the audit


@pytest.mark.parametrize("name", audit.CASES)
def test_an_attacker_learns_no_more_than_is_claimed(name):
    assert audit.audit(name, 100) <= audit.EPSILON


@pytest.mark.parametrize("name", ["classes and levels", "gaussian, upper bound", "text of many words"])
def test_the_attack_finds_noise_that_is_too_small(name, monkeypatch):
    steps = noises.Noise.steps
    monkeypatch.setattr(noises.Noise, "steps", lambda *args: (steps(*args)[0], max(steps(*args)[1] // 12, 1)))
    assert audit.audit(name, 150) > audit.EPSILON
