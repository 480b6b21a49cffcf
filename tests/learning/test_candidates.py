"""The family of each column: what is tried, what wins, and what is said of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tallybayes import NaiveBayes
from tallybayes.core.family import Numbers
from tallybayes.families import (
    Binned,
    Gaussian,
    Kernel,
    Lognormal,
    ZeroInflated,
    numeric_families,
)
from tallybayes.learning.candidates import Choice, candidates
from tallybayes.learning.reading import joined

RNG = np.random.default_rng(0)
N = 2000
Y = RNG.integers(0, 2, N)
SPIKE = RNG.random(N) < 0.3


def chosen(values, y=Y, **params):
    """The family that a column alone is given."""
    model = NaiveBayes(max_pairs=0, weights=None, **params).fit({"x": values}, y)
    return next(iter(model.model_.settings.families.values())), model.schema_.columns[0]


@pytest.mark.parametrize(
    ("low", "zeros", "names"),
    [
        (-1.0, 0.5, {"kernel", "binned", "gaussian"}),
        (0.0, 0.0, {"kernel", "binned", "gaussian", "exponential"}),
        (0.0, 0.5, {"kernel", "binned", "gaussian", "exponential", "zero_inflated"}),
        (0.1, 0.0, {"kernel", "binned", "gaussian", "exponential", "lognormal"}),
    ],
)
def test_only_families_that_can_hold_the_numbers_are_tried(low, zeros, names):
    found = candidates(Numbers(low, 9.0, zeros), numeric_families())
    tested = {"kernel", "binned", "gaussian", "exponential", "zero_inflated", "lognormal"}
    assert set(found) & tested == names


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (np.random.default_rng(2).normal(1.5 * Y, 1.0 + Y), {"gaussian"}),
        (RNG.lognormal(0.8 * Y, 1.0), {"lognormal"}),
        (RNG.exponential(1.0 + 2.0 * Y), {"exponential"}),
        (np.where(SPIKE, 0.0, RNG.lognormal(3 * Y, 1.5)), {"zero_inflated"}),
        ((RNG.random(N) + RNG.integers(0, 3, N) * 2 + Y) % 6, {"kernel", "binned"}),
    ],
    ids=["bell", "lognormal", "exponential", "spike", "comb"],
)
def test_the_family_that_drew_the_numbers_wins(values, names):
    assert chosen(values)[0].name in names


@pytest.mark.parametrize("name", list(numeric_families()))
def test_a_family_for_all_numbers_can_be_given(name):
    assert chosen(RNG.lognormal(Y), numeric=name)[0].name == name


def test_a_family_of_one_column_can_be_given_beside_any_that_are_chosen():
    comb = (RNG.random(N) + RNG.integers(0, 3, N) * 2 + Y) % 6
    x = {"a": RNG.normal(Y), "b": comb, "c": RNG.lognormal(Y)}
    for name in ("binned", "kernel", "gaussian", "exponential"):
        model = NaiveBayes(family={"c": name}, max_pairs=0).fit(x, Y)
        place = model.schema_.names.index("c")
        assert place in model.tally_.blocks[name].columns
        assert np.isfinite(model.predict_log_proba(x)).all()


@pytest.mark.parametrize("numeric", ["gaussian", "auto"])
def test_the_settings_of_bell_curves_count(numeric):
    values = np.random.default_rng(5).normal(Y)
    family, _ = chosen(values, numeric=numeric, variance="shared", var_smoothing=0.1)
    assert (family.variance, family.var_smoothing) == ("shared", 0.1)


def test_the_reason_names_the_family_and_the_runner_up():
    family, column = chosen(RNG.lognormal(0.8 * Y, 1.0))
    assert family.name == "lognormal"
    assert "; lognormal (log loss alone 0." in column.reason
    assert column.reason.endswith(")")
    assert column.lasting == "numbers; lognormal"


@pytest.mark.parametrize("numeric", ["gaussian", "binned"])
def test_a_family_without_a_rival_has_no_runner_up(numeric):
    assert chosen(RNG.normal(Y), numeric=numeric)[1].reason.endswith(f"; {numeric}")


def test_a_choice_is_described():
    assert Choice(Gaussian(), 0.5).reason == "gaussian"
    assert Choice(Gaussian(), 0.5, "lognormal", 0.6).reason == "gaussian (log loss alone 0.5000; lognormal 0.6000)"
    assert Kernel(4.0).described() == "kernel 4 bins wide"
    assert Kernel(0.0).described() == "every bin by itself"
    assert ZeroInflated("lognormal").described() == "zero or lognormal"


@pytest.mark.parametrize("value", [3.0, 0.0, -1e9])
def test_a_constant_is_no_evidence(value):
    model = NaiveBayes().fit({"k": np.full(N, value), "x": RNG.normal(Y)}, Y)
    assert model.schema_.columns[0].reason.startswith("constant")
    parts = model.contributions({"k": [value, 77.0], "x": [0.0, 0.0]})[:, :, 0]
    assert_allclose(parts[:, 0], parts[:, 1])


def test_ids_do_not_pass_chance_for_evidence():
    # Every level occurs about twice: leave-one-out shows that they predict nothing.
    zips = RNG.integers(0, N // 2, N).astype(str)
    family, _ = chosen(zips)
    assert family.strength == (1e6,)
    assert chosen(np.array(list("ab"))[Y])[0].strength == (2.0,)


def test_columns_of_a_block_keep_their_own_settings():
    assert joined([Kernel(1.0, 2.0), Kernel(0.0, 8.0)]) == Kernel((1.0, 0.0), (2.0, 8.0))
    assert joined([Binned(2.0), Binned(32.0)]) == Binned((2.0, 32.0), (32.0, 32.0), (0.0, 0.0))
    assert joined([Lognormal(), Lognormal()]) == Lognormal()
    assert joined([ZeroInflated("lognormal")] * 2) == ZeroInflated("lognormal")


def test_a_class_of_nearly_one_number_gets_no_narrow_curve() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 200)
    size = np.where(rng.random(400) < 0.4, 0.0, np.exp(rng.normal(size=400)))
    size[y == "a"] = 0.0
    size[0] = 3.0  # the only amount of its class
    model = NaiveBayes(max_pairs=0).fit({"size": size, "other": rng.normal(size=400)}, y)
    assert "zero or lognormal" not in model.schema_.columns[0].reason
    evidence = model.contributions({"size": [0.1, 1.0, 2.9, 50.0], "other": [0.0] * 4})[:, :, 0]
    assert np.ptp(evidence, axis=1).max() < 20.0
