"""Rows without a label, in every estimator: refused, left out or learned."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import tallybayes
from tallybayes import EM, GaussianNB, MultinomialNB, NaiveBayes
from tallybayes.errors import DataError, NotAvailableError, SettingError

from .matrices import ALL, COMPLEMENT, Kind

every_estimator = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
KNOWN = np.arange(120) % 4 == 0


def partly(kind: Kind) -> tuple[Any, Any, Any]:
    """Rows, all labels, and labels of which three in four are missing."""
    x, y = kind.data(n=120)
    return x, y, np.where(KNOWN, y, -1)


def blobs(n: int = 400, apart: float = 3.0, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 3)) + apart * y[:, None], y


def table(n: int = 300) -> tuple[pd.DataFrame, Any]:
    """Numbers, categories, yes and no, with missing values; two classes."""
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=n)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(3 * y)),
            "colour": np.array(["red", "green", "blue"])[(rng.integers(3, size=n) * (rng.random(n) < 0.4) + y) % 3],
            "flag": rng.random(n) < 0.2 + 0.6 * y,
        }
    )
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    return frame, np.array(["no", "yes"])[y]


# ---------------------------------------------------------------------------------------------- what is missing


MISSING = {
    "None in a list": lambda y: [None if v < 0 else "ab"[v] for v in y],
    "None in an array": lambda y: np.array([None if v < 0 else "ab"[v] for v in y], dtype=object),
    "NaN": lambda y: np.where(y < 0, np.nan, y),
    "-1": lambda y: y,
    "-1 in int8": lambda y: y.astype(np.int8),
    "pandas NA": lambda y: pd.array([pd.NA if v < 0 else int(v) for v in y], dtype="Int64"),
    "pandas text": lambda y: pd.Series([None if v < 0 else "ab"[v] for v in y]),
    "a list of integers": lambda y: y.tolist(),
}


@pytest.mark.parametrize("form", MISSING)
@pytest.mark.parametrize("estimator", [GaussianNB(), NaiveBayes()], ids=["GaussianNB", "NaiveBayes"])
def test_every_way_to_leave_a_label_out(form: str, estimator: Any) -> None:
    x, y = blobs()
    given_labels = np.where(np.arange(400) < 40, y, -1)
    model = clone(estimator).set_params(unlabelled="em").fit(x, MISSING[form](given_labels))
    assert len(model.classes_) == 2
    assert model.classes_.dtype.kind != "O"
    assert ((model.predict(x) == model.classes_[1]) == (y == 1)).mean() > 0.99
    few = clone(estimator).set_params(unlabelled="ignore").fit(x, MISSING[form](given_labels))
    assert few.class_count_.sum() == 40
    expected = clone(estimator).fit(x[:40], MISSING[form](y[:40]))  # rows are dealt into folds by what they hold
    np.testing.assert_allclose(few.predict_proba(x), expected.predict_proba(x), rtol=1e-9)


@every_estimator
def test_the_default_refuses_and_says_what_to_do(kind: Kind) -> None:
    x, y = kind.data()
    with_missing = np.where(np.arange(len(y)) == 7, None, y)
    with pytest.raises(DataError, match=r"row 8 has no label.*unlabelled='ignore'.*unlabelled='em'"):
        kind.ours().fit(x, with_missing)


def test_minus_one_is_a_class_by_default() -> None:
    x, y = blobs()
    signs = np.where(y == 1, 1, -1)
    assert GaussianNB().fit(x, signs).classes_.tolist() == [-1, 1]
    for mode in ("em", "ignore"):
        with pytest.raises(DataError, match="-1 stands for a missing label"):
            GaussianNB(unlabelled=mode).fit(x, signs)


@pytest.mark.parametrize("estimator", [GaussianNB, NaiveBayes, MultinomialNB])
@pytest.mark.parametrize("labels", [[-1, -1, -1], [None, None, None], [np.nan] * 3])
@pytest.mark.parametrize("mode", ["em", "ignore"])
def test_no_label_at_all(estimator: Any, labels: Any, mode: str) -> None:
    with pytest.raises(DataError, match="no row has a label; NaiveBayesMixture"):
        estimator(unlabelled=mode).fit(np.ones((3, 2)) * np.arange(3)[:, None], labels)


def test_a_class_whose_rows_do_not_count() -> None:
    x, y = blobs(40)
    weight = np.where(y == 1, 0.0, 1.0)
    with pytest.raises(DataError, match="class 1 has no labelled row that counts"):
        GaussianNB(unlabelled="em").fit(x, np.where(np.arange(40) < 20, y, -1), weight)


@pytest.mark.parametrize(
    "params",
    [
        {"unlabelled": "guess"},
        {"em": {"weight": 0.5}},
        {"em": "auto"},
    ],
    ids=str,
)
@every_estimator
def test_bad_settings_are_named(kind: Kind, params: dict[str, Any]) -> None:
    x, y = kind.data()
    with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter"):
        kind.ours(**params).fit(x, y)


# ---------------------------------------------------------------------------------------------- what is learned


@every_estimator
def test_every_estimator_learns_unlabelled_rows(kind: Kind) -> None:
    x, _, given_labels = partly(kind)
    few, model = kind.ours(unlabelled="ignore").fit(x, given_labels), kind.ours(unlabelled="em").fit(x, given_labels)
    assert model.class_count_.sum() == pytest.approx(120)
    assert model.n_iter_ > 1
    assert model.converged_
    assert np.isfinite(model.predict_proba(x)).all()
    assert np.abs(model.predict_proba(x) - few.predict_proba(x)).max() > 1e-3
    if kind is COMPLEMENT:
        with pytest.raises(NotAvailableError, match="no probability"):
            _ = model.log_likelihood_path_
    else:
        assert len(model.log_likelihood_path_) == model.n_iter_
        assert (np.diff(model.log_likelihood_path_) >= 0).all()


@every_estimator
def test_sparse_is_dense(kind: Kind) -> None:
    x, _, given_labels = partly(kind)
    if not kind.ours().__sklearn_tags__().input_tags.sparse:
        pytest.skip("takes no sparse matrices")
    dense, thin = (kind.ours(unlabelled="em").fit(form(x), given_labels) for form in (np.asarray, sparse.csr_array))
    np.testing.assert_allclose(dense.predict_proba(x), thin.predict_proba(x), rtol=1e-8)


@every_estimator
def test_labels_that_are_all_there_make_no_difference(kind: Kind) -> None:
    x, y = kind.data()
    plain = kind.ours().fit(x, y)
    for mode in ("em", "ignore"):
        model = kind.ours(unlabelled=mode).fit(x, y)
        np.testing.assert_array_equal(model.predict_proba(x), plain.predict_proba(x))
        assert (model.n_iter_, model.converged_) == (1, True)


@every_estimator
def test_rows_that_weigh_nothing_say_nothing(kind: Kind) -> None:
    x, _, given_labels = partly(kind)
    few = kind.ours(unlabelled="ignore").fit(x, given_labels)
    without = kind.ours(unlabelled="em", em=EM(weight=0.0)).fit(x, given_labels)
    np.testing.assert_allclose(without.predict_proba(x), few.predict_proba(x), rtol=1e-9)
    weight = np.where(given_labels < 0, 0.0, 1.0)
    np.testing.assert_allclose(
        kind.ours(unlabelled="em").fit(x, given_labels, weight).predict_proba(x), few.predict_proba(x), rtol=1e-9
    )


def test_the_weight_of_unlabelled_rows_is_that_of_the_rows() -> None:
    x, y = blobs()
    given_labels = np.where(np.arange(400) < 40, y, -1)
    half = GaussianNB(unlabelled="em", em=EM(weight=0.5)).fit(x, given_labels)
    same = GaussianNB(unlabelled="em").fit(x, given_labels, np.where(given_labels < 0, 0.5, 1.0))
    np.testing.assert_allclose(half.theta_, same.theta_)
    assert half.class_count_.sum() == pytest.approx(40 + 180)


def test_unlabelled_rows_help() -> None:
    x, y = blobs(1000, apart=1.2)
    given_labels = np.where(np.arange(1000) < 6, y, -1)
    few, model = (GaussianNB(unlabelled=mode, var_smoothing=1e-3).fit(x, given_labels) for mode in ("ignore", "em"))
    assert model.score(x, y) > few.score(x, y) + 0.02


@pytest.mark.parametrize("options", [{}, {"em": EM(weight="auto")}, {"alpha": "auto"}])
def test_mixed_tables_with_missing_values_and_weights(options: dict[str, Any]) -> None:
    frame, y = table()
    given_labels = np.where(np.arange(300) < 30, y, None)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 300)
    model = NaiveBayes(unlabelled="em", **options).fit(frame, given_labels, weight)
    assert (np.diff(model.log_likelihood_path_) >= 0).all()
    assert model.score(frame, y) > 0.9
    np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1.0)
    joint = model.predict_joint_log_proba(frame)
    np.testing.assert_allclose(np.logaddexp.reduce(joint, axis=1), model.score_samples(frame), rtol=1e-9)
    assert set(model.sample(20, random_state=0)[1]) <= {"no", "yes"}
    assert model.class_count_.shape == (2,)


@pytest.mark.parametrize("mode", ["em", "ignore"])
@pytest.mark.parametrize("form", ["pandas", "dict", "rows"])
def test_labels_may_be_a_column_of_the_table(mode: str, form: str) -> None:
    frame, y = table()
    frame["target"] = np.where(np.arange(300) < 30, y, None)
    forms = {"pandas": frame, "dict": frame.to_dict("list"), "rows": frame.to_dict("records")}
    model = NaiveBayes(unlabelled=mode).fit(forms[form], target="target")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.class_count_.sum() == pytest.approx(300 if mode == "em" else 30)
    assert "target" not in model.schema_.names
    assert model.predict(forms[form]).shape == (300,)


def test_calibration_comes_last() -> None:
    frame, y = table()
    given_labels = np.where(np.arange(300) < 60, y, None)
    plain, honest = (NaiveBayes(unlabelled="em", calibration=c).fit(frame, given_labels) for c in (None, "temperature"))
    assert honest.model_.settings.calibration is not None
    assert honest.calibration_.before.method == "leave-one-out of the counts, estimated labels kept"
    assert honest.evaluate(frame[:60], given_labels[:60]).method == "test"
    np.testing.assert_allclose(honest.tally_.class_weight, plain.tally_.class_weight)


# ---------------------------------------------------------------------------------------------- settings


def test_auto_takes_no_notice_of_rows_that_mislead() -> None:
    """The unlabelled rows come from elsewhere: two heaps that have nothing to do with the classes."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    x = rng.normal(size=(80, 4)) + [[1.5, 0, 0, 0]] * y[:, None]
    heaps = rng.normal(size=(800, 4)) + 30 * rng.integers(2, size=800)[:, None] * [0, 1, 1, 1]
    all_rows, given_labels = np.vstack([x, heaps]), np.concatenate([y, np.full(800, -1)])
    auto = GaussianNB(unlabelled="em", em=EM(weight="auto")).fit(all_rows, given_labels)
    assert auto.unlabelled_weight_ <= 0.03
    assert GaussianNB(unlabelled="em").fit(all_rows, given_labels).score(x, y) < auto.score(x, y) - 0.1


def test_steps_end_where_they_are_given_to() -> None:
    x, y = blobs(apart=1.0)
    given_labels = np.where(np.arange(400) < 10, y, -1)
    short = GaussianNB(unlabelled="em", em=EM(max_iter=2, tol=0.0)).fit(x, given_labels)
    assert (short.n_iter_, short.converged_) == (2, False)
    loose, tight = (GaussianNB(unlabelled="em", em=EM(tol=tol)).fit(x, given_labels) for tol in (1e-2, 1e-6))
    assert loose.n_iter_ < tight.n_iter_


def test_a_warm_start_goes_on_from_the_last_model() -> None:
    x, y = blobs(apart=1.0)
    given_labels = np.where(np.arange(400) < 10, y, -1)
    long = GaussianNB(unlabelled="em", em=EM(max_iter=6, tol=0.0)).fit(x, given_labels)
    model = GaussianNB(unlabelled="em", em=EM(max_iter=3, tol=0.0, warm_start=True)).fit(x, given_labels)
    model.fit(x, given_labels)
    np.testing.assert_allclose(model.log_likelihood_path_[-1], long.log_likelihood_path_[-1], rtol=1e-12)
    np.testing.assert_allclose(
        model.fit(x[:, :2], given_labels).predict_proba(x[:, :2]).sum(axis=1), 1.0
    )  # another shape


def test_responsibilities_on_request() -> None:
    x, y = blobs()
    given_labels = np.where(np.arange(400) < 40, y, -1)
    assert not hasattr(GaussianNB(unlabelled="em").fit(x, given_labels), "responsibilities_")
    model = GaussianNB(unlabelled="em", em=EM(keep_responsibilities=True)).fit(x, given_labels)
    np.testing.assert_allclose(model.responsibilities_[40:], model.predict_proba(x)[40:])
    np.testing.assert_array_equal(model.responsibilities_[:40], np.eye(2)[y[:40]])


def test_steps_are_printed_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = blobs()
    given_labels = np.where(np.arange(400) < 40, y, -1)
    model = GaussianNB(unlabelled="em", em=EM(verbose=1)).fit(x, given_labels)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("[EM] step 1: penalised log likelihood -")


@pytest.mark.parametrize("wrong", [{"weight": -1.0}, {"weight": "best"}, {"max_iter": 0}, {"tol": -1e-3}], ids=str)
def test_steps_that_cannot_be_taken_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=next(iter(wrong))):
        EM(**wrong)


# ---------------------------------------------------------------------------------------------- batches, forgetting


@every_estimator
def test_batches_leave_unlabelled_rows_out(kind: Kind) -> None:
    x, _, given_labels = partly(kind)
    model = kind.ours(unlabelled="ignore")
    for part in np.split(np.arange(120), 3):
        model.partial_fit(x[part], given_labels[part], classes=[0, 1, 2])
    model.partial_fit(x[:3], np.full(3, -1))  # a batch of which nothing is known
    whole = kind.ours(unlabelled="ignore").fit(x, given_labels)
    np.testing.assert_allclose(model.predict_proba(x), whole.predict_proba(x), rtol=1e-9)
    with pytest.raises(DataError, match=r"row 2 has no label.*use fit"):
        kind.ours(unlabelled="em").partial_fit(x, given_labels, classes=[0, 1, 2])


def test_guesses_cannot_be_taken_back() -> None:
    x, y = blobs()
    model = GaussianNB(unlabelled="em").fit(x, np.where(np.arange(400) < 40, y, -1))
    with pytest.raises(NotAvailableError, match="fit again"):
        model.unlearn(x[:1], y[:1])
    with pytest.raises(NotAvailableError, match="fit again"):
        model + model
    model.fit(x, y).unlearn(x[:1], y[:1])  # every row had a label


# ---------------------------------------------------------------------------------------------- corners


@pytest.mark.parametrize("estimator", [GaussianNB, NaiveBayes])
def test_collapse_and_constants_give_no_nan(estimator: Any) -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([np.repeat([0.0, 1.0], 20), np.full(40, 7.0), rng.normal(size=40)])
    given_labels = np.full(40, -1)
    given_labels[[0, 20]] = 0, 1
    model = estimator(unlabelled="em").fit(x, given_labels)
    assert np.isfinite(model.predict_proba(x)).all()
    assert np.isfinite(model.log_likelihood_path_).all()


def test_words_that_no_labelled_document_has() -> None:
    x = np.array([[3, 0, 0, 0], [0, 3, 0, 0], [2, 0, 2, 0], [0, 2, 0, 2], [0, 0, 3, 0]])
    model = MultinomialNB(alpha=0.0, unlabelled="em").fit(x, [0, 1, -1, -1, -1])
    with warnings.catch_warnings():
        assert model.predict(x).tolist() == [0, 1, 0, 1, 0]
    assert np.isfinite(model.log_likelihood_path_).all()


def test_document_length_is_chosen_and_used() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    topic = np.array([[4, 4, 1, 1, 3], [1, 1, 4, 4, 3]])[y]
    burst = rng.gamma(0.3, 3.0, size=(60, 5))  # words come in bursts, so long documents are too sure
    x = rng.poisson(topic * burst * rng.integers(1, 60, size=60)[:, None])
    auto = MultinomialNB(document_length="auto").fit(x, y)
    assert auto.document_length_ is not None
    plain, given = MultinomialNB().fit(x, y), MultinomialNB(document_length=auto.document_length_).fit(x, y)
    np.testing.assert_array_equal(auto.predict_proba(x), given.predict_proba(x))
    losses = [m.evaluate(x, y).log_loss.value for m in (auto, plain)]
    assert losses[0] < losses[1]
    np.testing.assert_allclose(auto.feature_count_.sum(), auto.document_length_ * (x.sum(axis=1) > 0).sum())
    np.testing.assert_allclose(given.predict_proba(7 * x), given.predict_proba(x))
    with pytest.raises(NotAvailableError, match="document_length"):
        _ = given.coef_
    assert not hasattr(auto, "partial_fit")
    with pytest.raises(DataError, match="'x1' holds the count -1"):
        given.predict([[2, -1, 3, 0, 0]])


def test_estimators_with_unlabelled_rows_are_scikit_learn_estimators() -> None:
    for kind in ALL:
        assert getattr(tallybayes, kind.name)(unlabelled="em").get_params()["unlabelled"] == "em"
