"""Against numbers that other libraries gave when the scripts beside this file were run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import tallybayes
from tallybayes.core.summaries import Moments
from tallybayes.core.tally import Block, Tally

from . import make_scipy, make_sklearn

HERE = Path(__file__).parent

# ---------------------------------------------------------------------------------------------- SciPy

SCIPY = json.loads(make_scipy.STORED.read_text())
EXACT = {  # maximum likelihood
    "gaussian": tallybayes.GaussianNB(var_smoothing=0.0),
    "bernoulli": tallybayes.BernoulliNB(alpha=0.0),
    "poisson": tallybayes.PoissonNB(alpha=0.0),
    "multinomial": tallybayes.MultinomialNB(alpha=0.0),
}


@pytest.mark.parametrize("family", EXACT)
def test_log_evidence_by_scipy(family: str) -> None:
    x, y = np.array(SCIPY["x"][family]), np.array(SCIPY["y"])
    np.testing.assert_allclose(EXACT[family].fit(x, y).score_samples(x), SCIPY["log_evidence"][family], rtol=1e-10)


# ---------------------------------------------------------------------------------------------- scikit-learn

SKLEARN = json.loads(make_sklearn.STORED.read_text())


@pytest.mark.parametrize("name", make_sklearn.SETTINGS)
def test_state_and_joint_by_scikit_learn(name: str) -> None:
    x = np.array(SKLEARN["x"])
    model = getattr(tallybayes, name)(**make_sklearn.SETTINGS[name]).fit(x, SKLEARN["y"])
    for field, stored in SKLEARN["state"][name].items():
        found = getattr(model, field)
        if field == "classes_":
            assert found.tolist() == stored
            continue
        tables = found if isinstance(found, list) else [found]
        expected = stored if isinstance(found, list) else [stored]
        for mine, theirs in zip(tables, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-15, err_msg=field)
    np.testing.assert_allclose(model.predict_joint_log_proba(x), SKLEARN["log_joint"][name], rtol=1e-10)


# ---------------------------------------------------------------------------------------------- R


def stored_csv(name: str) -> list[dict[str, str]]:
    with (HERE / f"e1071_{name}.csv").open() as file:
        return list(csv.DictReader(file))


def posterior(name: str, classes: Any) -> Any:
    return np.array([[float(row[label]) for label in classes] for row in stored_csv(name)])


def iris(case: str) -> tuple[Any, Any]:
    """The flowers; with every seventh cell missing as the R script makes it (R counts from one)."""
    data = load_iris()
    x = data.data.copy()
    if case == "iris_missing":
        row, column = np.indices(x.shape) + 1
        x[(row + 3 * column) % 7 == 0] = np.nan
    return x, data.target_names[data.target]


def with_sample_variance(tally: Tally) -> Tally:
    """The tally whose squares, divided by n, give the variance that R has: divided by n − 1."""
    block = tally.blocks["gaussian"]
    moments = block.summary
    m2 = moments.m2 * moments.weight / (moments.weight - 1)
    larger = Block(block.columns, Moments(moments.weight, moments.mean, m2))
    return Tally(tally.schema, tally.class_weight, {"gaussian": larger})


@pytest.mark.parametrize("case", ["iris", "iris_missing"])
def test_means_and_spreads_by_r(case: str) -> None:
    x, y = iris(case)
    moments = tallybayes.GaussianNB().fit(x, y).tally_.blocks["gaussian"].summary
    found = {"mean": moments.mean, "sd": np.sqrt(moments.m2 / (moments.weight - 1))}
    columns, classes = ["Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width"], np.unique(y).tolist()
    table = stored_csv(f"{case}_tables")
    assert len(table) == 4 * 3 * 2
    for row in table:
        k, j = classes.index(row["class"]), columns.index(row["column"])
        assert found[row["entry"]][k, j] == pytest.approx(float(row["value"]), rel=1e-12), row


@pytest.mark.parametrize("case", ["iris", "iris_missing"])
def test_posteriors_of_flowers_by_r(case: str) -> None:
    x, y = iris(case)
    tally = with_sample_variance(tallybayes.GaussianNB().fit(x, y).tally_)
    model = tallybayes.GaussianNB.from_tally(tally, var_smoothing=0.0)
    np.testing.assert_allclose(
        model.predict_proba(x), posterior(f"{case}_posterior", model.classes_), rtol=1e-9, atol=1e-300
    )


def tennis() -> tuple[Any, Any, list[str], list[list[str]]]:
    """Codes, labels, names of the columns and their levels."""
    import importlib.resources

    text = importlib.resources.files("tallybayes").joinpath("data/tennis.csv").read_text()
    header, *days = csv.reader(text.splitlines())
    levels = [sorted(set(column)) for column in zip(*days, strict=True)][:-1]
    codes = [[known.index(value) for known, value in zip(levels, day[:-1], strict=True)] for day in days]
    return np.array(codes), np.array([day[-1] for day in days]), header[:-1], levels


@pytest.mark.parametrize("laplace", [0, 1])
def test_tables_of_tennis_by_r(laplace: int) -> None:
    x, y, columns, levels = tennis()
    model = tallybayes.CategoricalNB(alpha=laplace).fit(x, y)
    table = stored_csv(f"tennis_tables_laplace_{laplace}")
    assert len(table) == 2 * (3 + 3 + 2 + 2)
    for row in table:
        j, k = columns.index(row["column"]), model.classes_.tolist().index(row["class"])
        found = np.exp(model.feature_log_prob_[j][k, levels[j].index(row["entry"])])
        assert found == pytest.approx(float(row["value"]), rel=1e-14, abs=0), row


def test_posteriors_of_tennis_by_r() -> None:
    x, y, *_ = tennis()
    model = tallybayes.CategoricalNB(alpha=1).fit(x, y)
    expected = posterior("tennis_posterior_laplace_1", model.classes_)
    np.testing.assert_allclose(model.predict_proba(x), expected, rtol=1e-12)
