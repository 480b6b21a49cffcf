"""Defects that other implementations of Naive Bayes had, by number: each is a test here."""

from __future__ import annotations

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import clone

import tallybayes
from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    Model,
    MultinomialNB,
    PoissonNB,
    Settings,
    families,
)
from tallybayes.core.batch import Batch, Codes, Encoded, Labels
from tallybayes.core.schema import Column, Schema
from tallybayes.core.tally import count
from tallybayes.errors import DataError, ForbiddenRowWarning

ESTIMATORS = [GaussianNB, BernoulliNB, CategoricalNB, MultinomialNB, ComplementNB, PoissonNB]
SMOOTHED = [BernoulliNB, CategoricalNB, MultinomialNB, ComplementNB, PoissonNB]
TAKES_MISSING = [GaussianNB, BernoulliNB, CategoricalNB, PoissonNB]
SPARSE = [BernoulliNB, MultinomialNB, ComplementNB, PoissonNB]

every = pytest.mark.parametrize("nb", ESTIMATORS)
every_smoothed = pytest.mark.parametrize("nb", SMOOTHED)
all_missing = pytest.mark.parametrize("nb", TAKES_MISSING)
every_sparse = pytest.mark.parametrize("nb", SPARSE)


def small_counts(n: int = 60, d: int = 4, k: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Small whole numbers, which every estimator can read, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return rng.poisson(rng.uniform(0.3, 2.0, (k, d))[y]), y


def joint(model: Any, x: Any) -> Any:
    return model.predict_joint_log_proba(x)


def class_prior(model: Any) -> Any:
    return model.class_prior_ if isinstance(model, GaussianNB) else np.exp(model.class_log_prior_)


def given_prior(nb: Any, prior: Any) -> Any:
    return nb(**{"priors" if nb is GaussianNB else "class_prior": prior})


# ---------------------------------------------------------------------------------------------- numbers


@every
def test_pitfall_01_many_columns_do_not_underflow(nb: Any) -> None:
    x, y = small_counts(n=100, d=3000)
    posterior = nb().fit(x, y).predict_proba(x)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)


@every_sparse
def test_pitfall_01_a_hundred_thousand_columns(nb: Any) -> None:
    rng = np.random.default_rng(0)
    x = sp.csr_array((rng.random(100_000), rng.integers(0, 100_000, 100_000), np.arange(51) * 2000), (50, 100_000))
    posterior = nb().fit(x, np.arange(50) % 3).predict_proba(x)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)


def test_pitfall_02_tails_are_finite_and_ordered() -> None:
    model = GaussianNB().fit([[-1.0], [1.0], [9.0], [11.0]], [0, 0, 1, 1])
    far = joint(model, np.array([[40.0], [400.0], [4000.0], [1e6]]))
    assert np.isfinite(far).all()
    assert (np.diff(far, axis=0) < 0).all()  # the further out, the less likely
    assert (far[:, 1] > far[:, 0]).all()  # and the nearer class stays the likelier


def test_pitfall_03_the_maximum_is_subtracted_before_the_exponential() -> None:
    x = np.full((1, 5000), 3.0)
    model = GaussianNB(priors=[0.5, 0.5]).fit(np.repeat([[-1.0], [1.0], [-1.001], [1.001]], 5000, axis=1), [0, 0, 1, 1])
    log_joint = joint(model, x)
    assert log_joint.max() < -10_000  # its exponential is zero
    expected = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(x), expected, rtol=1e-9)
    assert model.score_samples(x)[0] == pytest.approx(logsumexp(log_joint))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_pitfall_04_large_offset_keeps_the_variance(order: Any, n_jobs: int) -> None:
    x = np.array([[1e8], [1e8 + 1], [1e8 + 2]], order=order)
    y = np.zeros(3)
    assert GaussianNB(var_smoothing=0.0, n_jobs=n_jobs).fit(x, y).var_ == pytest.approx(2 / 3)
    assert GaussianNB(var_smoothing=0.0, variance="shared").fit(x, y).var_ == pytest.approx(2 / 3)
    batches = GaussianNB(var_smoothing=0.0)
    for row in x:
        batches.partial_fit(row[None], [0], classes=[0])
    assert batches.var_ == pytest.approx(2 / 3)


def test_pitfall_04_large_offset_after_unlearning() -> None:
    x = 1e8 + np.arange(6.0)[:, None]
    model = GaussianNB(var_smoothing=0.0).fit(x, np.zeros(6)).unlearn(x[3:], np.zeros(3))
    assert model.var_ == pytest.approx(2 / 3, rel=1e-6)


def test_pitfall_04_float32_gives_no_negative_variance() -> None:
    x = np.array([[1e8], [1e8 + 8], [1e8 + 16]], dtype=np.float32)  # its steps are 8 wide out there
    assert GaussianNB(var_smoothing=0.0).fit(x, np.zeros(3)).var_ == pytest.approx(64 * 2 / 3)
    constant = np.full((1000, 1), 0.1, dtype=np.float32)
    assert (GaussianNB().fit(constant, np.zeros(1000)).var_ >= 0).all()


@pytest.mark.parametrize("scale", [1e-10, 1e10])
def test_pitfall_05_scale_changes_no_prediction(scale: float) -> None:
    """The floor is a fraction of the largest column's variance, so one column scales with it, and many without it."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    x = rng.normal(size=(90, 4)) + y[:, None]
    one = GaussianNB().fit(x[:, :1], y), GaussianNB().fit(x[:, :1] * scale, y)
    np.testing.assert_allclose(one[0].predict_proba(x[:, :1]), one[1].predict_proba(x[:, :1] * scale), rtol=1e-9)
    scales = np.array([1.0, scale, 1.0, 1.0])
    for variance in ("class", "shared"):
        many = [GaussianNB(var_smoothing=0.0, variance=variance).fit(x * s, y) for s in (1.0, scales)]
        np.testing.assert_allclose(many[0].predict_proba(x), many[1].predict_proba(x * scales), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-10, 1e10])
def test_pitfall_05_scale_of_counts(scale: float) -> None:
    """Yes and no have no unit; shares of words have none either, as long as nothing is added to them."""
    x, y = small_counts()
    yes_no = BernoulliNB().fit(x, y), BernoulliNB().fit(x * scale, y)
    np.testing.assert_array_equal(yes_no[0].predict_proba(x), yes_no[1].predict_proba(x * scale))
    for nb in (MultinomialNB, ComplementNB):
        plain, scaled = (nb(alpha=0.0, fit_prior=False).fit((x + 1) * s, y) for s in (1.0, scale))
        np.testing.assert_allclose(scaled.feature_log_prob_, plain.feature_log_prob_, rtol=1e-9)
        np.testing.assert_array_equal(scaled.predict((x + 1) * scale), plain.predict(x + 1))


@every
def test_pitfall_06_any_batches_any_order_any_threads(nb: Any) -> None:
    x, y = small_counts()
    x = x * np.array([1, 1, 1, 3])
    whole = joint(nb(n_jobs=1).fit(x, y), x)
    rng = np.random.default_rng(1)
    for n_batches, n_jobs in [(1, 1), (2, 3), (7, 2), (60, 1)]:
        model = nb(n_jobs=n_jobs)
        for rows in np.array_split(rng.permutation(60), n_batches):
            model.partial_fit(x[rows], y[rows], classes=[0, 1, 2])
        np.testing.assert_allclose(joint(model, x), whole, rtol=1e-10)


@every
def test_pitfall_07_rows_of_no_weight_change_nothing(nb: Any) -> None:
    x, y = small_counts()
    weight = np.ones(60)
    weight[:20] = 0.0
    x[0] = 500 if nb is not CategoricalNB else x[0]  # would lift the variance floor
    with_them, without = nb().fit(x, y, sample_weight=weight), nb().fit(x[20:], y[20:])
    np.testing.assert_allclose(joint(with_them, x[20:]), joint(without, x[20:]), rtol=1e-12)
    if nb is GaussianNB:
        assert with_them.epsilon_ == pytest.approx(without.epsilon_, rel=1e-12)


# ---------------------------------------------------------------------------------------------- little data


@every
def test_pitfall_08_little_data(nb: Any) -> None:
    x, y = small_counts()
    one_row = nb().partial_fit(x[:1], y[:1], classes=[0, 1, 2])
    assert one_row.predict(x[:1]) == y[:1]
    y[:] = np.minimum(y, 1)
    y[5] = 2
    lonely = nb().fit(x, y)  # a class with one row
    constant = nb().fit(np.where(np.arange(4) == 2, 1, x), y)
    within = nb().fit(np.where((np.arange(4) == 2) & (y[:, None] == 0), 1, x), y)  # constant within class 0 only
    for model, rows in ((one_row, x[:1]), (lonely, x), (constant, x), (within, x)):
        assert np.isfinite(model.predict_proba(rows)).all()
        np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0)


def test_pitfall_08_nothing_varies_at_all() -> None:
    model = GaussianNB().fit([[3.0], [3.0], [3.0]], [0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[3.0]]), [[1 / 3, 2 / 3]])
    np.testing.assert_allclose(model.predict_proba([[50.0]]), [[1 / 3, 2 / 3]])  # as unlikely in either class
    assert not np.isnan(model.contributions([[50.0]])).any()


NO_SMOOTHING = [
    *((nb, np.asarray) for nb in (BernoulliNB, CategoricalNB, MultinomialNB, PoissonNB)),
    *((nb, sp.csr_array) for nb in (BernoulliNB, MultinomialNB, PoissonNB)),
]


@pytest.mark.parametrize(("nb", "form"), NO_SMOOTHING)
def test_pitfall_09_no_smoothing_no_nan(nb: Any, form: Any) -> None:
    x, y = np.eye(3, dtype=int), np.array(["a", "b", "b"])
    model = nb(alpha=0.0).fit(form(x), y)
    np.testing.assert_allclose(model.predict_proba(form(x)), [[1, 0], [0, 1], [0, 1]])  # a true zero stays one
    np.testing.assert_array_equal(np.isneginf(model.predict_log_proba(form(x))), [[0, 1], [1, 0], [1, 0]])
    forbidden = form(np.ones((500, 3), dtype=int))
    for ask in (model.predict_proba, model.predict_log_proba, model.predict):
        with pytest.warns(ForbiddenRowWarning, match="500 rows") as caught:
            answer = ask(forbidden)
        assert len(caught) == 1  # no flood
    assert set(answer) == {"b"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForbiddenRowWarning)
        np.testing.assert_allclose(model.predict_proba(forbidden), np.tile([1 / 3, 2 / 3], (500, 1)))
    assert not np.isnan(model.contributions(forbidden)).any()
    assert np.isneginf(model.score_samples(forbidden)).all()


def test_pitfall_09_no_smoothing_of_complement_weights() -> None:
    x, y = np.eye(3, dtype=int), np.array([0, 1, 1])
    model = ComplementNB(alpha=0.0).fit(x, y)
    assert np.isfinite(model.predict_proba(np.vstack([x, x + 1]))).all()


@every
def test_pitfall_10_a_class_without_weight(nb: Any) -> None:
    x, y = small_counts()
    weight = (y != 1).astype(float)
    model = nb().fit(x, y, sample_weight=weight)
    assert model.class_count_[1] == 0
    posterior = model.predict_proba(x)
    assert np.isfinite(posterior).all()
    if nb is not ComplementNB:  # which knows no prior
        assert (posterior[:, 1] == 0).all()
        others = nb().fit(x[y != 1], y[y != 1]).predict_proba(x)
        np.testing.assert_allclose(posterior[:, [0, 2]], others, rtol=1e-9)


@every
@pytest.mark.parametrize("prior", ["empirical", "uniform"])
def test_pitfall_10_a_class_absent_from_a_batch(nb: Any, prior: str) -> None:
    x, y = small_counts()
    model = given_prior(nb, [1 / 3] * 3 if prior == "uniform" else None)
    for k in (2, 0):  # class 1 has not come yet
        model.partial_fit(x[y == k], y[y == k], classes=[0, 1, 2])
    posterior = model.predict_proba(x)
    assert np.isfinite(posterior).all()
    model.partial_fit(x[y == 1], y[y == 1])
    whole = given_prior(nb, [1 / 3] * 3 if prior == "uniform" else None).fit(x, y)
    np.testing.assert_allclose(joint(model, x), joint(whole, x), rtol=1e-10)


@every
@pytest.mark.parametrize("learned", [True, False])
def test_pitfall_11_a_single_class(nb: Any, learned: bool) -> None:
    x, _ = small_counts()
    model = nb() if learned else given_prior(nb, [1.0])
    model.fit(x, np.full(60, "only"))
    np.testing.assert_array_equal(model.predict(x[:3]), ["only"] * 3)
    np.testing.assert_allclose(model.predict_proba(x[:3]), 1.0)
    np.testing.assert_allclose(model.predict_log_proba(x[:3]), 0.0, atol=1e-12)


def test_pitfall_12_declared_levels_take_their_share_of_the_smoothing() -> None:
    model = CategoricalNB(min_categories=4).fit([[0], [1], [1]], [0, 0, 0])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]), [[2 / 7, 3 / 7, 1 / 7, 1 / 7]])
    assert model.n_categories_ == [4]
    exact = CategoricalNB(min_categories=4, alpha=0.0).fit([[0], [1], [1]], [0, 0, 0])
    np.testing.assert_allclose(np.exp(exact.feature_log_prob_[0]), [[1 / 3, 2 / 3, 0, 0]])


@every
def test_pitfall_12_declared_classes_do_not_shift_the_others(nb: Any) -> None:
    x, y = small_counts()
    labels = np.array(["b", "d", "f"])[y]
    model = nb().partial_fit(x, labels, classes=["a", "b", "c", "d", "e", "f", "g"])
    plain = nb().fit(x, labels)
    np.testing.assert_allclose(joint(model, x)[:, [1, 3, 5]], joint(plain, x), rtol=1e-10)
    assert (model.class_count_[[0, 2, 4, 6]] == 0).all()


@every
@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.7, 0.6, -0.3], [0.5, 0.4, 0.2], [0.5, np.nan, 0.5]], ids=str)
def test_pitfall_13_priors_that_are_none(nb: Any, prior: Any) -> None:
    x, y = small_counts()
    model = given_prior(nb, prior)
    with pytest.raises(ValueError, match=r"[Pp]rior"):
        model.fit(x, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("nb", [GaussianNB, BernoulliNB, CategoricalNB, MultinomialNB, PoissonNB])
def test_pitfall_13_a_prior_of_zero_and_one_that_lasts(nb: Any) -> None:
    x, y = small_counts()
    posterior = given_prior(nb, [0.5, 0.0, 0.5]).fit(x, y).predict_proba(x)
    assert (posterior[:, 1] == 0).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    model = given_prior(nb, [0.2, 0.3, 0.5])
    for rows in np.array_split(np.arange(60), 3):
        model.partial_fit(x[rows], y[rows], classes=[0, 1, 2])
        np.testing.assert_allclose(class_prior(model), [0.2, 0.3, 0.5])


# ---------------------------------------------------------------------------------------------- categories


@pytest.mark.parametrize("code", [10**9, -1, -(10**9), 2**62])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_pitfall_14_strange_codes_are_no_table_size(code: int, dtype: Any) -> None:
    x = np.array([[0, 1], [1, code], [1, 0]], dtype=dtype)
    with pytest.raises(DataError, match=r"column 'x1' holds the code .*OrdinalEncoder"):
        CategoricalNB().fit(x, [0, 1, 1])


@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float64])
def test_pitfall_15_unseen_categories_at_prediction(unseen: Any, dtype: Any) -> None:
    model = CategoricalNB(unseen=unseen).fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    posterior = model.predict_proba(np.array([[2, 1], [100, 100]], dtype=dtype))
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    if unseen == "ignore":
        np.testing.assert_allclose(posterior[1], [1 / 3, 2 / 3])


@pytest.mark.parametrize("code", [10**9, 2**31, 2**62])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
def test_pitfall_15_a_huge_code_is_only_unseen_at_prediction(code: int, dtype: Any) -> None:
    """No table is made for it there."""
    model = CategoricalNB().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    np.testing.assert_allclose(model.predict_proba(np.array([[code, code]], dtype=dtype)), [[1 / 3, 2 / 3]])


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_pitfall_16_tables_sum_to_one(alpha: float) -> None:
    rng = np.random.default_rng(0)
    levels = np.arange(1, 40)
    x = (rng.random((200, 39)) * levels).astype(int)
    for table in CategoricalNB(alpha=alpha).fit(x, rng.integers(0, 3, 200)).feature_log_prob_:
        np.testing.assert_allclose(np.exp(table).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("nb", [MultinomialNB])
@pytest.mark.parametrize("d", [1, 2, 39])
def test_pitfall_16_shares_of_words_sum_to_one(nb: Any, d: int) -> None:
    x, y = small_counts(d=d)
    np.testing.assert_allclose(np.exp(nb().fit(x, y).feature_log_prob_).sum(axis=1), 1.0, rtol=1e-12)


# ---------------------------------------------------------------------------------------------- labels and shapes


@every
@pytest.mark.parametrize(
    "names",
    [
        np.array(["zoo", "Ant", "mid"]),
        np.array([7, -3, 0]),
        np.array([2.0, -1.0, 0.0]),
        np.array(["zoo", "Ant", "mid"], dtype=object),
        np.array([30, -100, 100], dtype=np.int8),
        np.array([False, True, True]),
        pd.Categorical(["zoo", "Ant", "mid"], categories=["zoo", "mid", "Ant", "never"], ordered=True),
    ],
    ids=["str", "int", "float", "object", "int8", "bool", "category"],
)
def test_pitfall_17_any_labels_in_any_order(nb: Any, names: Any) -> None:
    x, y = small_counts()
    labels = names[y]
    model = nb().fit(x, labels)
    assert model.classes_.tolist() == sorted(set(np.asarray(names).tolist()))
    order = np.searchsorted(model.classes_, np.asarray(labels))
    np.testing.assert_array_equal(model.class_count_, np.bincount(order))
    one_by_one = [model.predict(row[None])[0] for row in x]
    np.testing.assert_array_equal(model.predict(x), one_by_one)
    assert (model.predict(x) == np.asarray(labels)).mean() > 0.4  # not a permutation of the labels


@every
def test_pitfall_18_shapes_that_all_differ(nb: Any) -> None:
    x, y = small_counts(n=60, d=5, k=3)
    model = nb().fit(x, y)
    for n in (1, 2, 4, 7):
        assert model.predict(x[:n]).shape == (n,)
        assert model.predict_proba(x[:n]).shape == (n, 3)
        assert model.contributions(x[:n]).shape == (n, 3, 5)
        np.testing.assert_allclose(joint(model, x[:n]), joint(model, x)[:n], rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_pitfall_19_the_threshold_counts_at_predict_too(form: Any) -> None:
    x, y = small_counts()
    model, ready = BernoulliNB(binarize=1.0).fit(form(x), y), BernoulliNB(binarize=None).fit((x > 1) * 1, y)
    np.testing.assert_allclose(model.predict_proba(form(x)), ready.predict_proba((x > 1) * 1), rtol=1e-12)
    np.testing.assert_array_equal(
        model.predict_proba(form(np.ones((1, 4)))), model.predict_proba(form(np.zeros((1, 4))))
    )


@every_sparse
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_pitfall_20_sparse_equals_dense(nb: Any, index: Any) -> None:
    x, y = small_counts()
    x[::7] = 0  # empty rows
    coo = sp.coo_array(x)
    # Every entry in two halves, zeros stored as well, shuffled within the row.
    rows, columns = np.tile(coo.row, 2), np.tile(coo.col, 2)
    order = np.lexsort((np.random.default_rng(0).random(len(rows)), rows))
    start = np.searchsorted(rows[order], np.arange(61)).astype(index)
    messy = sp.csr_array((np.tile(coo.data / 2, 2)[order], columns[order].astype(index), start), shape=x.shape)
    zeros = sp.csr_array((x.ravel() * 1.0, np.tile(np.arange(4), 60), np.arange(61) * 4), shape=x.shape)
    dense = nb().fit(x, y)
    for matrix in (messy, zeros, sp.csc_array(x), coo, sp.csr_matrix(x)):
        model = nb().fit(matrix, y)
        np.testing.assert_allclose(joint(model, matrix), joint(dense, x), rtol=1e-12)


# ---------------------------------------------------------------------------------------------- bad cells


def snapshot(model: Any) -> bytes:
    return pickle.dumps(model)


@pytest.mark.parametrize("nb", [MultinomialNB, ComplementNB])
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array])
def test_pitfall_21_bad_counts_name_the_column_and_change_nothing(nb: Any, bad: float, form: Any) -> None:
    x, y = small_counts()
    model = nb().fit(x, y)
    before = snapshot(model)
    x = x.astype(float)
    x[59, 2] = bad
    with pytest.raises(DataError, match=r"column 'x2' .*row 60"):
        model.partial_fit(form(x), y)
    with pytest.raises(DataError, match=r"column 'x2' .*row 60"):
        model.predict(form(x))
    assert snapshot(model) == before


@all_missing
def test_pitfall_22_a_row_without_a_value_gives_the_prior(nb: Any) -> None:
    x, y = small_counts()
    y[:30] = 0
    model = nb().fit(x, y)
    np.testing.assert_allclose(model.predict_proba(np.full((2, 4), np.nan)), np.tile(np.bincount(y) / 60, (2, 1)))


@all_missing
def test_pitfall_22_a_column_without_a_value_is_ignored_with_a_note(nb: Any) -> None:
    x, y = small_counts()
    with_missing = x.astype(float)
    with_missing[:, 2] = np.nan
    with pytest.warns(UserWarning, match="'x2'"):
        model = nb().fit(with_missing, y)
    without = nb().fit(np.delete(x, 2, axis=1), y)
    np.testing.assert_allclose(
        model.predict_proba(with_missing), without.predict_proba(np.delete(x, 2, axis=1)), rtol=1e-9
    )


@all_missing
def test_pitfall_22_a_column_without_a_value_in_one_batch(nb: Any) -> None:
    x, y = small_counts()
    with_missing = x.astype(float)
    with_missing[:20, 2] = np.nan
    model = nb().partial_fit(with_missing[:20], y[:20], classes=[0, 1, 2]).partial_fit(with_missing[20:], y[20:])
    np.testing.assert_allclose(joint(model, x), joint(nb().fit(with_missing, y), x), rtol=1e-10)


@every
def test_pitfall_23_fractional_weights_are_not_truncated(nb: Any) -> None:
    x, y = small_counts()
    half = nb().fit(x, y, sample_weight=np.full(60, 0.5))
    np.testing.assert_allclose(half.class_count_, [10.0, 10.0, 10.0])
    twice = nb().fit(x, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    again = nb().fit(np.vstack([x, x[y == 0]]), np.append(y, y[y == 0]))
    np.testing.assert_allclose(joint(twice, x), joint(again, x), rtol=1e-10)


@pytest.mark.parametrize("nb", [MultinomialNB, ComplementNB, PoissonNB])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_pitfall_23_fractional_counts_are_not_truncated(nb: Any, form: Any) -> None:
    x, y = small_counts()
    model = nb().fit(form(x * 0.25), y)
    np.testing.assert_allclose(model.feature_count_, np.stack([x[y == k].sum(axis=0) / 4 for k in range(3)]))


def test_pitfall_24_the_variance_floor_knows_no_codes() -> None:
    """A model of numbers and categories: the codes vary a thousand times more than the numbers."""
    rng = np.random.default_rng(0)
    numbers, codes = rng.normal(size=(40, 2)), rng.integers(0, 100, (40, 1)) * 10
    schema = Schema(
        (Column("a", "numeric"), Column("b", "category", range(1000)), Column("c", "numeric")), ("no", "yes")
    )
    blocks = {
        "gaussian": Encoded((0, 2), numbers),
        "categorical": Encoded((1,), Codes(codes, np.array([1000]))),
    }
    settings = Settings({"gaussian": families.Gaussian(var_smoothing=0.5), "categorical": families.Categorical()})
    batch = Batch(schema, blocks, 40, Labels.hard(np.arange(40, dtype=np.int32) % 2))
    model = Model(settings, count(batch, settings.families))
    assert model.parameters["gaussian"].epsilon == pytest.approx(0.5 * numbers.var(axis=0).max())


def test_pitfall_25_parameters_are_counted_once() -> None:
    """`tests/estimators/test_extensions.py` has the other settings."""
    x, y = small_counts()  # 4 columns, 3 classes
    levels = x.max(axis=0) + 1
    assert CategoricalNB().fit(x, y).n_parameters_ == 3 * (levels - 1).sum() + 2
    assert BernoulliNB().fit(x, y).n_parameters_ == 3 * 4 + 2
    assert GaussianNB().fit(x, y).n_parameters_ == 2 * 3 * 4 + 2
    assert MultinomialNB().fit(x, y).n_parameters_ == 3 * 3 + 2


# ---------------------------------------------------------------------------------------------- the wrong target


@every
def test_pitfall_29_a_number_to_regress_on_is_no_label(nb: Any) -> None:
    x, y = small_counts()
    with pytest.raises(DataError, match=r"Unknown label type: continuous.*0\.25 \(row 1\)"):
        nb().fit(x, y + 0.25 - y[0])


@every
def test_pitfall_29_more_classes_than_half_the_rows_is_suspicious(nb: Any) -> None:
    x, _ = small_counts()
    with pytest.warns(UserWarning, match="40 classes in 60 rows, more than half"):
        nb().fit(x, np.arange(60) % 40)
    nb().fit(x, np.arange(60) % 30)  # half is not more than half: no warning


# ---------------------------------------------------------------------------------------------- state

BROKEN: dict[str, Any] = {
    "infinite": lambda m, x, y: m.partial_fit(np.where(x > 1, np.inf, x), y),
    "too many columns": lambda m, x, y: m.partial_fit(np.hstack([x, x]), y),
    "too few labels": lambda m, x, y: m.partial_fit(x, y[1:]),
    "unknown label": lambda m, x, y: m.partial_fit(x, y + 1),
    "other classes": lambda m, x, y: m.partial_fit(x, y, classes=[5, 6]),
    "negative weight": lambda m, x, y: m.partial_fit(x, y, sample_weight=np.full(60, -1.0)),
    "weights too few": lambda m, x, y: m.partial_fit(x, y, sample_weight=np.ones(3)),
    "never learned": lambda m, x, y: m.unlearn(np.repeat(x, 3, axis=0), np.repeat(y, 3)),
    "fit without rows": lambda m, x, y: m.fit(x[:0], y[:0]),
    "fit without weight": lambda m, x, y: m.fit(x, y, sample_weight=np.zeros(60)),
}


@every
@pytest.mark.parametrize("case", BROKEN)
def test_pitfall_30_a_failed_call_leaves_the_model_as_it_was(nb: Any, case: str) -> None:
    x, y = small_counts()
    model = nb().fit(x, y)
    before = snapshot(model)
    with pytest.raises(ValueError):  # noqa: PT011  each has its own words, tested elsewhere
        BROKEN[case](model, x, y)
    assert snapshot(model) == before


@every
def test_pitfall_30_a_failed_first_call_leaves_nothing_behind(nb: Any) -> None:
    x, y = small_counts()
    model = nb()
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        model.partial_fit(x, y, classes=[0, 1])
    assert vars(model) == vars(nb())


@every
def test_pitfall_31_copies_and_threads(nb: Any) -> None:
    """`tests/estimators/test_ecosystem.py` has the rest."""
    x, y = small_counts()
    model = nb().fit(x, y)
    expected = nb().fit(x, y).predict_proba(x)
    for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model), clone(model).fit(x, y)):
        np.testing.assert_array_equal(twin.predict_proba(x), expected)
    with ThreadPoolExecutor(8) as pool:
        for answer in pool.map(lambda _: model.predict_proba(x), range(16)):
            np.testing.assert_array_equal(answer, expected)
    model.set_params(prior_alpha=5.0)
    np.testing.assert_array_equal(model.predict_proba(x), expected)


def test_pitfall_31_tallies_and_models_pickle() -> None:
    x, y = small_counts()
    tally = tallybayes.tally(x, y, families.Gaussian())
    twin = pickle.loads(pickle.dumps(Model(Settings({"gaussian": families.Gaussian()}), tally)))
    np.testing.assert_array_equal(twin.tally.class_weight, tally.class_weight)
    np.testing.assert_array_equal(twin.parameters["gaussian"].mean, GaussianNB().fit(x, y).theta_)
