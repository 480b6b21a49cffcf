"""Clusters of mixed tables."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from tallybayes import CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, NaiveBayes, NaiveBayesMixture
from tallybayes.errors import DataError, SettingError
from tallybayes.learning import em
from tests.frames import FORMS


def numbers(n: int = 600, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    return rng.normal(size=(n, 4)) + 4.0 * np.eye(3, 4)[y], y


def table(n: int = 500) -> tuple[dict[str, list[Any]], Any]:
    """Three groups told apart only by numbers and categories together, with missing values."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    size = np.where(rng.random(n) < 0.1, np.nan, rng.normal(6.0 * (y > 0)))
    word = np.where(rng.random(n) < 0.1, rng.integers(3, size=n), np.where(y == 2, 2, 0))
    other = np.where(rng.random(n) < 0.1, rng.integers(3, size=n), np.where(y == 2, 1, 0))
    levels = ["red", "green", "blue"]
    return {
        "size": [None if np.isnan(v) else v for v in size.tolist()],
        "colour": [None if rng.random() < 0.05 else levels[w] for w in word],
        "wood": [["oak", "ash", "elm"][w] for w in other],
    }, y


# ---------------------------------------------------------------------------------------------- against others


@pytest.mark.parametrize("steps", [1, 2, 10, 60])
def test_numbers_as_scikit_learn_clusters_them(steps: int) -> None:
    """GaussianMixture with diagonal covariances, begun at the same means, variances and weights."""
    x, _ = numbers()
    share = np.random.default_rng(3).dirichlet(np.full(3, 0.3), size=len(x))
    weight = share.sum(axis=0)
    mean = share.T @ x / weight[:, None]
    variance = share.T @ x**2 / weight[:, None] - mean**2
    begun = {"weights_init": weight / weight.sum(), "means_init": mean, "precisions_init": 1.0 / variance}
    theirs = GaussianMixture(3, covariance_type="diag", max_iter=steps, tol=0.0, reg_covar=0.0, **begun)
    with pytest.warns(match="did not converge"):
        theirs.fit(x)
    plain = GaussianNB(var_smoothing=0.0)
    ours = NaiveBayesMixture(3, estimator=plain, init=share, max_iter=steps, tol=0.0).fit(x)
    assert ours.score(x) == pytest.approx(theirs.score(x), abs=1e-9)
    assert ours.log_likelihood_path_[-1] / len(x) == pytest.approx(theirs.score(x), abs=1e-9)
    order = np.argsort(-theirs.weights_)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x)[:, order], atol=1e-7)
    assert ours.bic(x) == pytest.approx(theirs.bic(x))
    assert ours.aic(x) == pytest.approx(theirs.aic(x))


def test_a_classifier_whose_labels_are_all_missing_is_a_mixture() -> None:
    """The responsibilities of expectation-maximisation on NaiveBayes, all labels hidden, are the mixture's."""
    x, y = numbers()
    taught = GaussianNB().fit(x, y)
    batch = taught._rows(x)
    found = em.learn(taught.model_, batch, max_iter=30, tol=0.0)
    mixture = NaiveBayesMixture(3, estimator=GaussianNB(), init=taught.predict_proba(x), max_iter=29, tol=0.0).fit(
        x
    )  # the shares are the first step
    assert mixture.log_likelihood_path_[-1] == pytest.approx(found.log_likelihood_path[-1], rel=1e-9)


# ---------------------------------------------------------------------------------------------- what is found


@pytest.mark.parametrize("form", FORMS)
def test_mixed_tables_with_missing_values(form: str) -> None:
    columns, y = table()
    if form == "pyarrow":
        pytest.importorskip("pyarrow")
    model = NaiveBayesMixture(3, random_state=0).fit(FORMS[form](columns))
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert (np.diff(model.log_likelihood_path_) >= 0).all()
    np.testing.assert_array_equal(model.predict(FORMS[form](columns)), model.labels_)
    np.testing.assert_allclose(model.predict_proba(FORMS[form](columns)).sum(axis=1), 1.0)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert (np.diff(model.weights_) <= 0).all()  # the heaviest first
    drawn, clusters = model.sample(50, random_state=0)
    assert set(clusters) <= {0, 1, 2}
    assert model.predict(drawn).shape == (50,)
    assert "(next: " in str(model.classifier_.explain(pd.DataFrame(columns).iloc[[0]]))


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_runs_repeat_and_number_clusters_alike(init: str) -> None:
    x, _ = numbers()
    first, again = (NaiveBayesMixture(3, init=init, random_state=7).fit(x) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, again.labels_)
    other = NaiveBayesMixture(3, init=init, random_state=8, n_init=6, tol=1e-6).fit(x)
    assert (first.labels_ == other.labels_).mean() > 0.98
    assert first.classifier_.model_.schema.classes == (0, 1, 2)


def test_the_number_of_clusters_is_found() -> None:
    x, y = numbers()
    model = NaiveBayesMixture("auto", random_state=0).fit(x)
    assert model.n_components_ == 3
    assert min(model.bic_path_, key=model.bic_path_.__getitem__) == 3
    assert model.bic_path_[3] == pytest.approx(model.bic(x))
    assert adjusted_rand_score(y, model.labels_) > 0.9
    small = NaiveBayesMixture("auto", max_components=2, random_state=0).fit(x)
    assert small.n_components_ == 2


def test_other_estimators_read_matrices() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    words = rng.poisson(np.array([[3, 3, 0.2, 0.2, 1], [0.2, 0.2, 3, 3, 1]])[y])
    model = NaiveBayesMixture(2, estimator=MultinomialNB(), random_state=0).fit(sparse.csr_array(words))
    assert adjusted_rand_score(y, model.labels_) > 0.9
    codes = np.minimum(words, 3)
    model = NaiveBayesMixture(2, estimator=CategoricalNB(), random_state=0).fit(codes)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_weights_are_rows_that_often() -> None:
    x, _ = numbers(200)
    often = np.random.default_rng(0).integers(0, 4, size=200)
    share = np.random.default_rng(3).dirichlet(np.ones(3), size=200)
    heavy = NaiveBayesMixture(3, init=share, max_iter=20, tol=0.0).fit(x, sample_weight=often)
    many = np.repeat(np.arange(200), often)
    repeated = NaiveBayesMixture(3, init=share[many], max_iter=20, tol=0.0).fit(x[many])
    np.testing.assert_allclose(heavy.predict_proba(x), repeated.predict_proba(x), atol=1e-7)


def test_settings_change_what_they_should(capsys: pytest.CaptureFixture[str]) -> None:
    x, _ = numbers(300)
    short = NaiveBayesMixture(3, max_iter=2, tol=0.0, n_init=1, random_state=0).fit(x)
    assert (short.n_iter_, short.converged_) == (2, False)
    loose, tight = (NaiveBayesMixture(3, tol=tol, n_init=1, random_state=0).fit(x) for tol in (1e-1, 1e-8))
    assert loose.n_iter_ < tight.n_iter_
    one, many = (NaiveBayesMixture(6, n_init=n, random_state=0, tol=1e-6).fit(x) for n in (1, 8))
    assert many.log_likelihood_path_[-1] >= one.log_likelihood_path_[-1]
    NaiveBayesMixture(2, verbose=1, n_init=2, random_state=0).fit(x)
    assert capsys.readouterr().out.count("[NaiveBayesMixture] 2 components: Learned(converged") == 2
    warm = NaiveBayesMixture(3, warm_start=True, max_iter=5, tol=0.0, random_state=0).fit(x)
    reached = warm.log_likelihood_path_[-1]
    assert warm.fit(x).log_likelihood_path_[0] >= reached


# ---------------------------------------------------------------------------------------------- corners


def test_one_component_is_the_table_itself() -> None:
    columns, _ = table()
    model = NaiveBayesMixture(1).fit(columns)
    assert model.labels_.max() == 0
    alone = NaiveBayes(var_smoothing=1e-6).fit(columns, ["all"] * 500)
    np.testing.assert_allclose(model.score_samples(columns), alone.score_samples(columns))


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"n_components": 0}, "The 'n_components' parameter"),
        ({"n_components": "many"}, "The 'n_components' parameter"),
        ({"n_init": 0}, "The 'n_init' parameter"),
        ({"max_iter": 0}, "The 'max_iter' parameter"),
        ({"tol": -1.0}, "The 'tol' parameter"),
        ({"init": "best"}, "The 'init' parameter"),
        ({"max_components": 0}, "The 'max_components' parameter"),
        ({"n_components": 9}, "9 components for 8 rows"),
        ({"init": np.ones((8, 3))}, "init must be shares"),
        ({"init": -np.ones((8, 2))}, "init must be shares"),
        ({"n_components": "auto", "init": np.ones((8, 2))}, "fix the number"),
        ({"estimator": GaussianMixture()}, "must be one of tallybayes' classifiers"),
        ({"estimator": ComplementNB()}, "has no likelihood"),
        ({"estimator": NaiveBayes(alpha="auto")}, "alpha='auto'"),
    ],
    ids=str,
)
def test_bad_settings_say_so(params: dict[str, Any], says: str) -> None:
    with pytest.raises((ValueError, DataError, SettingError), match=says):
        NaiveBayesMixture(**params).fit(np.arange(16.0).reshape(8, 2))


def test_rows_that_weigh_nothing_are_no_rows() -> None:
    x = np.arange(16.0).reshape(8, 2)
    with pytest.raises(DataError, match="at least one non-zero"):
        NaiveBayesMixture(2).fit(x, sample_weight=np.zeros(8))
    with pytest.raises(DataError, match="3 components for 2 rows"):
        NaiveBayesMixture(3).fit(x, sample_weight=[1, 1, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    "x",
    [
        np.ones((10, 2)),
        np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0),  # components without any spread
        np.column_stack([np.arange(10.0), np.full(10, 3.0)]),
        np.column_stack([np.r_[np.full(9, np.nan), 1.0], np.arange(10.0)]),
        np.r_[np.zeros((9, 1)), [[1e6]]],
    ],
    ids=["all alike", "two points", "a constant", "mostly missing", "one far off"],
)
@pytest.mark.parametrize("k", [1, 2, 4, 10])
@pytest.mark.filterwarnings("ignore:no column is evidence")
def test_degenerate_tables_give_no_nan(x: Any, k: int) -> None:
    model = NaiveBayesMixture(k, random_state=0).fit(x)
    assert np.isfinite(model.predict_proba(x)).all()
    assert np.isfinite(model.score_samples(x)).all()
    assert np.isfinite(model.log_likelihood_path_).all()
    assert model.weights_.sum() == pytest.approx(1.0)


def test_a_component_that_loses_its_rows_begins_anew() -> None:
    x, _ = numbers()
    share = np.zeros((len(x), 3))
    share[:, 0] = 1.0  # nothing is left for the others
    model = NaiveBayesMixture(3, init=share).fit(x)
    assert model.weights_.min() > 0.05


def test_a_fit_that_fails_leaves_the_clusters_as_they_were() -> None:
    x, _ = numbers(100)
    model = NaiveBayesMixture(2, random_state=0).fit(x)
    before = model.predict_proba(x)
    with pytest.raises(DataError):
        model.set_params(n_components=101).fit(x)
    np.testing.assert_array_equal(model.predict_proba(x), before)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(x), before)
    assert not hasattr(clone(model), "model_")
