"""Gaussian discriminant analysis: the formulas, the algebra, and what happens in the corners."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.covariance import OAS
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from tallybayes import GaussianDiscriminant, GaussianNB, NaiveBayesMixture
from tallybayes.errors import ColumnWarning, DataError, NotAvailableError, RankWarning, UnlearnError

FORMS = ("shared", "full", "diagonal", "spherical")
every_form = pytest.mark.parametrize("covariance", FORMS)
every_data = pytest.mark.parametrize("load", [load_iris, load_wine])


def with_missing(seed: int = 0) -> tuple[Any, Any]:
    x, y = load_iris(return_X_y=True)
    x = x.copy()
    x[np.random.default_rng(seed).random(x.shape) < 0.15] = np.nan
    return x, y


# ---------------------------------------------------------------------------------------------- against others


@every_data
@pytest.mark.parametrize("shrinkage", [None, 0.0, 0.3, 1.0])
def test_shared_is_linear_discriminant_analysis(load: Any, shrinkage: Any) -> None:
    """scikit-learn's solver "lsqr" divides by the number of rows, as maximum likelihood does."""
    x, y = load(return_X_y=True)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(x, y)
    ours = GaussianDiscriminant(shrinkage=shrinkage).fit(x, y)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-8)
    np.testing.assert_allclose(ours.means_, theirs.means_)
    np.testing.assert_allclose(ours.coef_ - ours.coef_[0], theirs.coef_ - theirs.coef_[0], rtol=1e-6, atol=1e-8)


@every_data
@pytest.mark.parametrize("shrinkage", [None, 0.3])
def test_full_is_quadratic_discriminant_analysis(load: Any, shrinkage: Any) -> None:
    x, y = load(return_X_y=True)
    try:
        theirs = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(x, y)
    except TypeError:
        pytest.skip("this scikit-learn divides by the number of rows less one")
    ours = GaussianDiscriminant(covariance="full", shrinkage=shrinkage).fit(x, y)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-8)


@every_data
def test_diagonal_is_naive(load: Any) -> None:
    x, y = load(return_X_y=True)
    naive, ours = GaussianNB(var_smoothing=0.0).fit(x, y), GaussianDiscriminant(covariance="diagonal").fit(x, y)
    np.testing.assert_allclose(ours.predict_joint_log_proba(x), naive.predict_joint_log_proba(x), rtol=1e-9)


@pytest.mark.parametrize("covariance", ["shared", "full"])
def test_densities_are_scipys_with_missing_columns_integrated_out(covariance: Any) -> None:
    x, y = with_missing()
    model = GaussianDiscriminant(covariance=covariance).fit(x, y)
    score = model.predict_joint_log_proba(x) - model.model_.log_prior
    for i in (0, 7, 60, 149):
        seen = ~np.isnan(x[i])
        for k in range(3):
            matrix = model.covariance_ if covariance == "shared" else model.covariance_[k]
            normal = multivariate_normal(model.means_[k][seen], matrix[np.ix_(seen, seen)])
            assert score[i, k] == pytest.approx(normal.logpdf(x[i, seen]), rel=1e-9)


def test_matrices_are_pairwise_complete() -> None:
    x, y = with_missing()
    model = GaussianDiscriminant(covariance="full").fit(x, y)
    own = x[y == 1]
    both = ~np.isnan(own[:, 0]) & ~np.isnan(own[:, 2])
    expected = np.cov(own[both][:, [0, 2]], rowvar=False, bias=True)[0, 1]
    assert model.covariance_[1, 0, 2] == pytest.approx(expected)
    np.testing.assert_allclose(model.means_[1], np.nanmean(own, axis=0))


def test_auto_is_the_oracle_approximating_shrinkage() -> None:
    x, y = load_wine(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    model = GaussianDiscriminant(covariance="full", shrinkage="auto").fit(x, y)
    for k in range(3):
        theirs = OAS().fit(x[y == k])
        assert model.shrinkage_[k] == pytest.approx(theirs.shrinkage_)
        np.testing.assert_allclose(model.covariance_[k], theirs.covariance_)
    units = 10.0 ** np.linspace(-8, 8, x.shape[1])
    scaled = GaussianDiscriminant(covariance="full", shrinkage="auto").fit(x * units, y)
    np.testing.assert_allclose(scaled.predict_proba(x * units), model.predict_proba(x), atol=1e-9)


@every_data
def test_directions_are_those_of_linear_discriminant_analysis(load: Any) -> None:
    x, y = load(return_X_y=True)
    theirs, ours = LinearDiscriminantAnalysis().fit(x, y), GaussianDiscriminant().fit(x, y)
    mine, other = ours.transform(x), theirs.transform(x)
    assert mine.shape == other.shape
    for j in range(2):
        assert abs(np.corrcoef(mine[:, j], other[:, j])[0, 1]) == pytest.approx(1.0)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
    within = sum((y == k).mean() * np.cov(mine[y == k], rowvar=False, bias=True) for k in range(3))
    np.testing.assert_allclose(within, np.eye(2), atol=1e-9)
    assert list(ours.get_feature_names_out()) == ["gaussiandiscriminant0", "gaussiandiscriminant1"]
    missing_value = x[:1].copy()
    missing_value[0, 0] = np.nan
    assert np.isfinite(ours.transform(missing_value)).all()


# ---------------------------------------------------------------------------------------------- the linear view


def test_coefficients_give_the_log_odds() -> None:
    x, y = load_iris(return_X_y=True)
    x, y = x[y > 0], y[y > 0]
    model = GaussianDiscriminant().fit(x, y)
    log_odds = x @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.predict_proba(x)[:, 1], 1.0 / (1.0 + np.exp(-log_odds)))
    np.testing.assert_allclose(model.to_logistic_regression().predict_proba(x), model.predict_proba(x))
    with pytest.raises(NotAvailableError, match="covariance='shared'"):
        _ = GaussianDiscriminant(covariance="full").fit(x, y).coef_


# ---------------------------------------------------------------------------------------------- the algebra


@every_form
@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto"])
@pytest.mark.parametrize("missing", [False, True])
def test_leave_one_out_is_refitting(covariance: Any, shrinkage: Any, missing: bool) -> None:
    x, y = with_missing() if missing else load_iris(return_X_y=True)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 150)
    model = GaussianDiscriminant(covariance=covariance, shrinkage=shrinkage).fit(x, y, weight)
    found = model.leave_one_out(x, y, weight)
    for i in range(0, 150, 17):
        rest = np.arange(150) != i
        again = clone(model).fit(x[rest], y[rest], weight[rest])
        np.testing.assert_allclose(found[i], again.predict_log_proba(x[i : i + 1])[0], rtol=1e-7, atol=1e-9)


def test_leave_one_out_needs_learned_rows() -> None:
    x, y = load_iris(return_X_y=True)
    with pytest.raises(UnlearnError):
        GaussianDiscriminant(covariance="full").fit(x, y).leave_one_out(x[:1] + 100.0, y[:1])


@every_form
@pytest.mark.parametrize("missing", [False, True])
def test_batches_sums_and_unlearning(covariance: Any, missing: bool) -> None:
    x, y = with_missing() if missing else load_iris(return_X_y=True)
    whole = GaussianDiscriminant(covariance=covariance).fit(x, y)
    parts = np.array_split(np.random.default_rng(0).permutation(150), 4)
    model = GaussianDiscriminant(covariance=covariance)
    for part in parts:
        model.partial_fit(x[part], y[part], classes=[0, 1, 2])
    np.testing.assert_allclose(model.predict_proba(x), whole.predict_proba(x), rtol=1e-7, atol=1e-12)
    half, other = (GaussianDiscriminant(covariance=covariance).fit(x[i::2], y[i::2]) for i in (0, 1))
    np.testing.assert_allclose((half + other).covariance_, whole.covariance_, rtol=1e-9)
    whole.unlearn(x[1::2], y[1::2])
    np.testing.assert_allclose(whole.covariance_, half.covariance_, rtol=1e-8)
    with pytest.raises(UnlearnError):
        half.unlearn(x[1::2] * 3.0, y[1::2])


def test_large_offsets_lose_nothing() -> None:
    x, y = load_iris(return_X_y=True)
    near, far = GaussianDiscriminant().fit(x, y), GaussianDiscriminant().fit(x + 1e7, y)
    np.testing.assert_allclose(far.covariance_, near.covariance_, rtol=1e-6)
    np.testing.assert_allclose(far.predict_proba(x + 1e7), near.predict_proba(x), atol=1e-5)


@pytest.mark.parametrize("covariance", ["shared", "full", "diagonal"])
def test_units_make_no_difference(covariance: Any) -> None:
    x, y = load_iris(return_X_y=True)
    units = np.array([1e-10, 1.0, 1e10, 1e3])
    plain, scaled = (GaussianDiscriminant(covariance=covariance).fit(x * u, y) for u in (1.0, units))
    np.testing.assert_allclose(scaled.predict_proba(x * units), plain.predict_proba(x), atol=1e-9)


@every_form
def test_contributions_add_up(covariance: Any) -> None:
    x, y = with_missing()
    model = GaussianDiscriminant(covariance=covariance).fit(x, y)
    found = model.contributions(x).sum(axis=2) + model.model_.log_prior
    np.testing.assert_allclose(found, model.predict_joint_log_proba(x), rtol=1e-9)


@pytest.mark.parametrize(
    ("covariance", "number"), [("shared", 12 + 10), ("full", 12 + 30), ("diagonal", 12 + 12), ("spherical", 12 + 3)]
)
def test_parameters_are_counted(covariance: Any, number: int) -> None:
    assert GaussianDiscriminant(covariance=covariance).fit(*load_iris(return_X_y=True)).n_parameters_ == number + 2


def test_settings_change_the_answer() -> None:
    x, y = load_iris(return_X_y=True)
    x = x[:, :2]
    plain = GaussianDiscriminant().fit(x, y).predict_proba(x)
    for change in (
        {"covariance": "full"},
        {"shrinkage": 0.5},
        {"shrinkage": "auto"},
        {"prior": [0.1, 0.1, 0.8]},
        {"prior": {0: 0.1, 1: 0.1, 2: 0.8}},
    ):
        assert np.abs(GaussianDiscriminant(**change).fit(x, y).predict_proba(x) - plain).max() > 1e-3, change
    uneven = np.arange(150) < 130
    flat, smooth, own = (
        GaussianDiscriminant(**p).fit(x[uneven], y[uneven]).priors_
        for p in ({"prior": "uniform"}, {"prior_alpha": 50.0}, {})
    )
    assert np.ptp(flat) < 1e-12 < np.ptp(smooth) < np.ptp(own)
    again = GaussianDiscriminant().fit(x, y).with_prior("uniform")
    assert again.prior == "uniform"


# ---------------------------------------------------------------------------------------------- without labels


def test_rows_without_labels_are_learned() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    x = rng.multivariate_normal([0, 0], [[1, 0.95], [0.95, 1]], size=600) + 1.2 * np.array([[0, 0], [1, -1]])[y]
    given = np.where(np.arange(600) < 12, y, -1)
    few, model = (GaussianDiscriminant(unlabelled=mode).fit(x, given) for mode in ("ignore", "em"))
    assert model.score(x, y) > 0.95
    assert model.score(x, y) >= few.score(x, y)
    assert (np.diff(model.log_likelihood_path_) >= 0).all()
    mixture = NaiveBayesMixture(2, estimator=GaussianDiscriminant(covariance="full"), random_state=0, n_init=10).fit(x)
    assert max((mixture.labels_ == y).mean(), (mixture.labels_ != y).mean()) > 0.95


# ---------------------------------------------------------------------------------------------- corners


@pytest.mark.parametrize("covariance", ["shared", "full"])
def test_columns_that_determine_each_other_are_noted(covariance: Any) -> None:
    x, y = load_iris(return_X_y=True)
    twice = np.column_stack([x, x[:, 0] + x[:, 1]])
    with pytest.warns(RankWarning, match=r"rank 4 in 5 columns.*shrinkage='auto'"):
        model = GaussianDiscriminant(covariance=covariance).fit(twice, y)
    assert model.score(twice, y) > 0.95
    assert np.isfinite(model.predict_proba(twice)).all()


@every_form
def test_more_columns_than_rows(covariance: Any) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    x = rng.normal(size=(12, 30)) + 2.0 * y[:, None]
    with warnings.catch_warnings(action="ignore", category=RankWarning):
        model = GaussianDiscriminant(covariance=covariance).fit(x, y)
        assert np.isfinite(model.predict_proba(x)).all()
        assert np.isfinite(model.leave_one_out(x, y)).all()
    steady = GaussianDiscriminant(covariance=covariance, shrinkage="auto").fit(x, y)
    asked = rng.normal(size=(200, 30)) + 2.0 * (np.arange(200) % 2)[:, None]
    assert steady.score(asked, np.arange(200) % 2) > 0.9


@every_form
@pytest.mark.filterwarnings("ignore::tallybayes.errors.RankWarning")
def test_odd_tables_give_no_nan(covariance: Any) -> None:
    x, y = load_iris(return_X_y=True)
    constant = np.column_stack([x, np.full(150, 7.0)])
    model = GaussianDiscriminant(covariance=covariance).fit(constant, y)
    plain = GaussianDiscriminant(covariance=covariance).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(constant), plain.predict_proba(x), atol=1e-9)
    assert model.transform(constant).shape == (150, 2)
    lonely = GaussianDiscriminant(covariance=covariance).fit(x[:101], y[:101])  # a class of one row
    assert np.isfinite(lonely.predict_proba(x)).all()
    alone = GaussianDiscriminant(covariance=covariance).fit(x[:50], y[:50])  # a single class
    np.testing.assert_array_equal(alone.predict_proba(x), np.ones((150, 1)))
    with pytest.warns(ColumnWarning, match="no value at all in column 'x4'"):
        empty = GaussianDiscriminant(covariance=covariance).fit(np.column_stack([x, np.full(150, np.nan)]), y)
    np.testing.assert_allclose(
        empty.predict_proba(np.column_stack([x, np.full(150, np.nan)])), plain.predict_proba(x), atol=1e-9
    )
    np.testing.assert_allclose(plain.predict_proba(np.full((1, 4), np.nan))[0], plain.priors_)


def test_bad_cells_are_named() -> None:
    x, y = load_iris(return_X_y=True)
    x = x.copy()
    x[3, 2] = np.inf
    with pytest.raises(DataError, match=r"column 'x2' is infinite \(row 4\)"):
        GaussianDiscriminant().fit(x, y)
    model = GaussianDiscriminant().fit(*load_iris(return_X_y=True))
    for verb in ("predict", "transform"):
        with pytest.raises(DataError, match="infinite"):
            getattr(model, verb)(x)


@pytest.mark.parametrize(
    "params", [{"covariance": "tied"}, {"shrinkage": 2.0}, {"shrinkage": "much"}, {"prior": "none"}], ids=str
)
def test_bad_settings_are_named(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter"):
        GaussianDiscriminant(**params).fit(*load_iris(return_X_y=True))


def test_a_model_is_kept_whole() -> None:
    x, y = with_missing()
    model = GaussianDiscriminant(covariance="full").fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    drawn, classes = model.sample(4000, random_state=0)
    refitted = GaussianDiscriminant(covariance="full").fit(drawn, classes)
    np.testing.assert_allclose(refitted.covariance_, model.covariance_, atol=0.03)
    same = GaussianDiscriminant.from_tally(model.tally_, covariance="full")
    np.testing.assert_array_equal(same.predict_proba(x), model.predict_proba(x))
    shared = GaussianDiscriminant.from_tally(model.tally_)  # read anew, without the rows
    np.testing.assert_allclose(shared.predict_proba(x), GaussianDiscriminant().fit(x, y).predict_proba(x))
