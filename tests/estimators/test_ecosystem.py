"""The estimators among scikit-learn's tools: cloning, pickling, pipelines, searches, frames, routing, threads."""

from __future__ import annotations

import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

import tallybayes

from .matrices import (
    BERNOULLI,
    CATEGORICAL,
    COMPLEMENT,
    GAUSSIAN,
    MULTINOMIAL,
    Kind,
    each,
    every_estimator,
    every_peer,
)


def roundtrip_joblib(estimator: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {
    "pickle": lambda estimator: pickle.loads(pickle.dumps(estimator)),
    "joblib": roundtrip_joblib,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


# ---------------------------------------------------------------------------------------------- copies


@every_estimator
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("asked", [False, True], ids=["fresh", "after predicting"])
def test_copies_answer_alike(kind: Kind, how: str, asked: bool) -> None:
    x, y = kind.data()
    model = kind.ours(prior_alpha=1.0).fit(x, np.array(["b", "a", "c"])[y])
    expected = clone(model).fit(x, np.array(["b", "a", "c"])[y]).predict_proba(x)
    if asked:
        model.predict(x)
    twin = COPIES[how](model)
    assert twin is not model
    assert twin.get_params() == model.get_params()
    np.testing.assert_array_equal(twin.predict_proba(x), expected)


@every_estimator
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_learns_on_its_own(kind: Kind, how: str) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y)
    COPIES[how](model).partial_fit(x, y)
    np.testing.assert_array_equal(model.class_count_, np.bincount(y))


@every_estimator
def test_a_pickle_carries_the_tally_and_not_the_tables(kind: Kind) -> None:
    """Parameters are a function of the tally, so a model that has predicted is no heavier than a fresh one."""
    x, y = kind.data(d=40)
    fresh, used = kind.ours().fit(x, y), kind.ours().fit(x, y)
    used.predict(x)
    assert len(pickle.dumps(used)) == len(pickle.dumps(fresh))


@every_estimator
def test_a_clone_has_the_parameters_and_nothing_else(kind: Kind) -> None:
    model = kind.ours(prior_alpha=2.0, n_jobs=1).fit(*kind.data())
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not [name for name in vars(twin) if name.endswith("_")]
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(twin)


@every_estimator
def test_parameters_set_after_fit_count_from_the_next_fit(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y)
    before = model.predict_proba(x)
    new = {"var_smoothing": 0.5} if kind is GAUSSIAN else {"alpha": 9.0}
    model.set_params(**new)
    np.testing.assert_array_equal(model.predict_proba(x), before)
    np.testing.assert_array_equal(model.fit(x, y).predict_proba(x), kind.ours(**new).fit(x, y).predict_proba(x))
    assert np.abs(model.predict_proba(x) - before).max() > 1e-6


@pytest.mark.parametrize("change", [{"fit_prior": False}, {"class_prior": [0.1, 0.2, 0.7]}, {"prior_alpha": 9.0}])
def test_no_fitted_attribute_follows_a_parameter_that_is_set_later(change: dict[str, Any]) -> None:
    x, y = COMPLEMENT.data()
    y[:30] = 0
    model = tallybayes.ComplementNB().fit(x, y)
    before = model.class_log_prior_
    np.testing.assert_array_equal(model.set_params(**change).class_log_prior_, before)


# ---------------------------------------------------------------------------------------------- pipelines, searches


@every_estimator
def test_pipeline(kind: Kind) -> None:
    x, y = kind.data()
    model = make_pipeline(FunctionTransformer(), kind.ours()).fit(x, y)
    np.testing.assert_array_equal(model.predict_proba(x), kind.ours().fit(x, y).predict_proba(x))
    assert model.score(x, y) == pytest.approx((model.predict(x) == y).mean())
    assert is_classifier(model)


def test_text_pipeline() -> None:
    texts = ["free money now", "free offer", "meeting at noon", "lunch at noon"]
    model = make_pipeline(CountVectorizer(), tallybayes.MultinomialNB()).fit(texts, ["spam", "spam", "ham", "ham"])
    assert model.predict(["free lunch money"]).tolist() == ["spam"]


def test_encoder_pipeline_passes_unknown_categories_as_missing_values() -> None:
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    model = make_pipeline(encoder, tallybayes.CategoricalNB())
    model.fit([["red"], ["red"], ["blue"]], ["warm", "warm", "cold"])
    np.testing.assert_allclose(model.predict_proba([["green"]]), [[1 / 3, 2 / 3]])


@every_estimator
def test_grid_search(kind: Kind) -> None:
    x, y = kind.data()
    grid = {"var_smoothing": [1e-9, 10.0]} if kind is GAUSSIAN else {"alpha": [0.1, 1.0, "auto"]}
    search = GridSearchCV(kind.ours(), grid, cv=3, scoring="neg_log_loss", error_score="raise").fit(x, y)
    assert set(search.best_params_) == set(grid)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_estimator_.predict(x).shape == y.shape


@every_peer
def test_cross_validation_scores_are_those_of_scikit_learn(kind: Kind) -> None:
    x, y = kind.data()
    params = {"min_categories": 6} if kind is CATEGORICAL else {}
    for scoring in ("accuracy", "neg_log_loss"):
        ours, theirs = (cross_val_score(w(**params), x, y, cv=4, scoring=scoring) for w in (kind.ours, kind.theirs))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@every_estimator
def test_cross_val_predict(kind: Kind) -> None:
    x, y = kind.data()
    posterior = cross_val_predict(kind.ours(), x, y, cv=3, method="predict_proba")
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


@every_estimator
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(kind: Kind, method: str) -> None:
    x, y = kind.data(k=2)
    calibrated = CalibratedClassifierCV(kind.ours(), method=method, cv=3).fit(x, y)
    np.testing.assert_allclose(calibrated.predict_proba(x).sum(axis=1), 1.0)
    frozen = CalibratedClassifierCV(FrozenEstimator(kind.ours().fit(x, y)), method=method).fit(x, y)
    np.testing.assert_allclose(frozen.predict_proba(x).sum(axis=1), 1.0)


@every_estimator
def test_ensembles(kind: Kind) -> None:
    x, y = kind.data()
    models = [("one", kind.ours()), ("two", kind.ours(prior_alpha=5.0))]
    for ensemble in (VotingClassifier(models, voting="soft"), StackingClassifier(models, cv=3)):
        assert ensemble.fit(x, y).predict_proba(x).shape == (len(y), 3)
    assert OneVsRestClassifier(kind.ours()).fit(x, y).predict(x).shape == y.shape


def test_permutation_importance_finds_the_column_that_tells() -> None:
    x, y = GAUSSIAN.data()
    x[:, 3] += 100 * y
    found = permutation_importance(tallybayes.GaussianNB().fit(x, y), x, y, n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() == 3


# ---------------------------------------------------------------------------------------------- weights on their way


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@every_estimator
def test_weights_are_routed_to_fit(kind: Kind) -> None:
    x, y = kind.data()
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    model = Pipeline([("same", FunctionTransformer()), ("bayes", kind.ours().set_fit_request(sample_weight=True))])
    model.fit(x, y, sample_weight=weight)
    direct = kind.ours().fit(x, y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict_proba(x), direct.predict_proba(x))
    unasked = Pipeline([("same", FunctionTransformer()), ("bayes", kind.ours().set_fit_request(sample_weight=False))])
    with pytest.raises(TypeError, match="sample_weight"):
        unasked.fit(x, y, sample_weight=weight)


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_to_score() -> None:
    x, y = GAUSSIAN.data()
    weight = (y == 1).astype(float) + 1e-3
    model = tallybayes.GaussianNB().set_fit_request(sample_weight=False).set_score_request(sample_weight=True)
    scores = cross_validate(model, x, y, params={"sample_weight": weight}, cv=3, return_estimator=True)
    assert all(fitted.class_count_.sum() == 60 for fitted in scores["estimator"])  # the weights went past fit
    plain = cross_val_score(tallybayes.GaussianNB(), x, y, cv=3)
    assert not np.allclose(scores["test_score"], plain)


@pytest.mark.usefixtures("routing")
@every_estimator
def test_batches_can_be_routed_too(kind: Kind) -> None:
    model = kind.ours().set_partial_fit_request(classes=True, sample_weight=True)
    request = model.get_metadata_routing().partial_fit.requests
    assert request == {"classes": True, "sample_weight": True}


# ---------------------------------------------------------------------------------------------- frames

NAMES = ["a", "b", "c", "d", "e"]
FRAMES = {"pandas": lambda x: pd.DataFrame(x, columns=NAMES), "polars": lambda x: pl.DataFrame(x, schema=NAMES)}


@every_estimator
@pytest.mark.parametrize("library", FRAMES)
def test_frames(kind: Kind, library: str) -> None:
    x, y = kind.data()
    frame = FRAMES[library](x)
    model = kind.ours().fit(frame, y)
    np.testing.assert_array_equal(model.feature_names_in_, NAMES)
    np.testing.assert_array_equal(model.predict_proba(frame), kind.ours().fit(x, y).predict_proba(x))


@pytest.mark.parametrize("library", FRAMES)
def test_labels_from_a_series(library: str) -> None:
    x, y = GAUSSIAN.data()
    labels = np.array(["b", "a", "c"])[y]
    series = pd.Series(labels) if library == "pandas" else pl.Series(labels)
    model = tallybayes.GaussianNB().fit(FRAMES[library](x), series)
    assert model.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("library", FRAMES)
def test_set_output_in_a_pipeline(library: str) -> None:
    x, y = GAUSSIAN.data()
    frame = FRAMES[library](x)
    scale = ColumnTransformer([("scaled", StandardScaler(), ["a", "b"])], remainder="passthrough")
    model = make_pipeline(scale, tallybayes.GaussianNB()).set_output(transform=library)
    model.fit(frame, y)
    assert model[-1].feature_names_in_.tolist() == ["scaled__a", "scaled__b", *(f"remainder__{c}" for c in "cde")]
    assert model.predict(frame).shape == y.shape


@every_estimator
def test_columns_with_missing_values_in_a_frame(kind: Kind) -> None:
    x, y = kind.data()
    frame = pd.DataFrame(x, columns=NAMES).astype("Float64")
    frame.loc[3, "b"] = pd.NA
    if kind.ours().__sklearn_tags__().input_tags.allow_nan:
        with_missing = np.array(x, dtype=float)
        with_missing[3, 1] = np.nan
        np.testing.assert_array_equal(
            kind.ours().fit(frame, y).predict_proba(frame), kind.ours().fit(with_missing, y).predict_proba(with_missing)
        )
    else:
        with pytest.raises(ValueError, match="column 'b' holds NaN"):
            kind.ours().fit(frame, y)


@every_peer
def test_feature_names_are_checked_as_scikit_learn_does(kind: Kind) -> None:
    x, y = kind.data()
    frame = pd.DataFrame(x, columns=NAMES)
    for which in (kind.ours, kind.theirs):
        model = which().fit(frame, y)
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            model.predict(x)
        with pytest.raises(ValueError, match="should match those that were passed during fit"):
            model.predict(frame[NAMES[::-1]])
        with pytest.raises(ValueError, match="unseen at fit time"):
            model.predict(frame.rename(columns={"a": "z"}))
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            which().fit(x, y).predict(frame)
        with pytest.raises(TypeError, match="all input features have string names"):
            which().fit(frame.rename(columns={"a": 0}), y)


@every_estimator
def test_refitting_without_names_forgets_them(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(pd.DataFrame(x, columns=NAMES), y).fit(x, y)
    assert not hasattr(model, "feature_names_in_")


@each(GAUSSIAN, MULTINOMIAL, CATEGORICAL)
def test_errors_name_the_column_of_the_frame(kind: Kind) -> None:
    x, y = kind.data()
    bad = np.array(x, dtype=float)
    bad[7, 3] = np.inf if kind is GAUSSIAN else -1.0
    with pytest.raises(ValueError, match=r"column 'd' .*row 8"):
        kind.ours().fit(pd.DataFrame(bad, columns=NAMES), y)


# ---------------------------------------------------------------------------------------------- to be looked at


@every_estimator
def test_repr(kind: Kind) -> None:
    assert repr(kind.ours()) == f"{kind.name}()"
    assert repr(kind.ours(prior_alpha=1.0)) == f"{kind.name}(prior_alpha=1.0)"


@every_estimator
def test_html_repr(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours(prior_alpha=1.5)
    assert "Not fitted" in model._repr_html_()
    page = make_pipeline(FunctionTransformer(), model.fit(x, y))._repr_html_()
    assert kind.name in page
    assert "prior_alpha" in page
    assert "1.5" in page


@every_estimator
def test_help_lists_every_parameter_and_attribute(kind: Kind) -> None:
    """A user finds each parameter, and each fitted attribute, in the docstring of the class."""
    model = kind.ours().fit(*kind.data())
    text = kind.ours.__doc__
    fitted = {name for name in dir(kind.ours) if name.endswith("_") and not name.startswith("_")}
    for name in {*model.get_params(), *(name for name in fitted if hasattr(model, name)), "classes_", "n_features_in_"}:
        assert name in text, name


# ---------------------------------------------------------------------------------------------- many at a time


@every_estimator
def test_threads_may_predict_on_one_model_at_once(kind: Kind) -> None:
    x, y = kind.data(n=600)
    alone = kind.ours().fit(x, y).predict_proba(x)
    for _ in range(5):  # parameters are estimated on first use: let the threads race for it
        model = kind.ours().fit(x, y)
        with ThreadPoolExecutor(8) as pool:
            for answer in pool.map(lambda _: model.predict_proba(x), range(16)):  # noqa: B023
                np.testing.assert_array_equal(answer, alone)


@each(GAUSSIAN, BERNOULLI)
def test_processes_may_share_a_model(kind: Kind) -> None:
    x, y = kind.data()
    scores = cross_val_score(kind.ours(), x, y, cv=2, n_jobs=2)
    np.testing.assert_array_equal(scores, cross_val_score(kind.ours(), x, y, cv=2))
