"""What the estimators can do beyond scikit-learn's."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

import tallybayes
from tallybayes import Tally, families
from tallybayes.errors import DataError, SchemaError, SettingError, UnlearnError
from tallybayes.estimators._fitted import Fitted

from .matrices import (
    ALL,
    BERNOULLI,
    CATEGORICAL,
    COMPLEMENT,
    GAUSSIAN,
    MULTINOMIAL,
    POISSON,
    Kind,
    each,
    every_estimator,
    every_generative,
    every_peer,
    every_smoothed,
    every_sparse,
)

all_missing = each(GAUSSIAN, BERNOULLI, CATEGORICAL, POISSON)  # a bag of words has no missing values
every_prior = every_generative  # complement weights use no prior


def with_missing_values(x: Any, share: float = 0.2) -> Any:
    return np.where(np.random.default_rng(9).random(x.shape) < share, np.nan, x)


def assert_same_model(ours: Any, other: Any, x: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_array_equal(ours.classes_, other.classes_)
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(x), other.predict_joint_log_proba(x), rtol=tolerance, atol=tolerance
    )


# ---------------------------------------------------------------------------------------------- missing values


@all_missing
def test_a_missing_value_is_no_evidence_at_prediction(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y)
    with_missing = np.array(x, dtype=float)
    with_missing[:, 1] = np.nan
    without = model.predict_joint_log_proba(x) - model.contributions(x)[:, :, 1]
    np.testing.assert_allclose(model.predict_joint_log_proba(with_missing), without, rtol=1e-10)


@all_missing
def test_a_missing_value_is_no_evidence_in_training(kind: Kind) -> None:
    """Each column is learned from the rows that have it, as if it were the only column."""
    x, y = kind.data()
    with_missing = with_missing_values(x)
    params = {"var_smoothing": 0.0} if kind is GAUSSIAN else {}
    model = kind.ours(**params).fit(with_missing, y)
    for j in range(x.shape[1]):
        has = ~np.isnan(with_missing[:, j])
        alone = kind.ours(**params).fit(x[has][:, [j]], y[has])
        np.testing.assert_allclose(model.contributions(x)[:, :, j], alone.contributions(x[:, [j]])[:, :, 0], rtol=1e-10)
    np.testing.assert_array_equal(model.class_count_, np.bincount(y))  # but the prior counts every row


@each(MULTINOMIAL, COMPLEMENT)
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_a_bag_of_words_has_no_missing_values(kind: Kind, method: str) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y)
    x[3, 2] = np.nan
    with pytest.raises(DataError, match=r"column 'x2' holds NaN \(row 4\)"):
        model.fit(x, y) if method == "fit" else model.predict(x)


@each(BERNOULLI, POISSON)
def test_a_sparse_matrix_has_no_missing_values(kind: Kind) -> None:
    x, y = kind.data()
    x[3, 2] = np.nan
    with pytest.raises(DataError, match=r"column 'x2' holds NaN \(row 4\)"):
        kind.ours().fit(sp.csr_array(x), y)


# ---------------------------------------------------------------------------------------------- unseen categories


def test_an_unseen_category_is_no_evidence() -> None:
    x, y = CATEGORICAL.data()
    model = tallybayes.CategoricalNB().fit(x, y)
    row, with_missing = x[:1].copy(), x[:1].astype(float)
    row[0, 1], with_missing[0, 1] = 40, np.nan
    np.testing.assert_array_equal(model.predict_proba(row), model.predict_proba(with_missing))


def test_an_unseen_category_may_take_the_mass_of_the_smoothing() -> None:
    x, y = CATEGORICAL.data()
    model = tallybayes.CategoricalNB(alpha=0.5, unseen="smooth").fit(x, y)
    row = np.full((1, 5), 40)
    expected = np.log(0.5 / (model.class_count_[:, None] + 0.5 * model.n_categories_))
    np.testing.assert_allclose(model.contributions(row)[0], expected)


def test_an_unseen_category_becomes_a_level_in_partial_fit() -> None:
    x, y = CATEGORICAL.data()
    model = tallybayes.CategoricalNB().fit(x, y)
    before = model.n_categories_.copy()
    more = np.full((1, 5), 11)
    model.partial_fit(more, [0])
    np.testing.assert_array_equal(before, [2, 3, 4, 5, 6])
    np.testing.assert_array_equal(model.n_categories_, [12] * 5)
    assert_same_model(model, tallybayes.CategoricalNB().fit(np.vstack([x, more]), np.append(y, 0)), x)


def test_without_smoothing_an_unseen_category_that_takes_its_mass_is_impossible() -> None:
    x, y = CATEGORICAL.data()
    model = tallybayes.CategoricalNB(alpha=0.0, unseen="smooth").fit(x, y)
    with pytest.warns(tallybayes.errors.ForbiddenRowWarning, match="1 row had probability zero"):
        np.testing.assert_allclose(model.predict_proba([[40, 1, 1, 1, 1]]), [model.class_count_ / len(y)])


# ---------------------------------------------------------------------------------------------- the algebra


@every_estimator
@pytest.mark.parametrize("weighted", [False, True])
def test_partial_fit_gives_the_same_model_for_every_split(kind: Kind, weighted: bool) -> None:
    x, y = kind.data()
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.2, 3.0, len(y)) if weighted else np.ones(len(y))
    whole = kind.ours().fit(x, y, sample_weight=weight)
    for cuts in ([], [1], [10, 11, 60], range(1, len(y))):
        order = rng.permutation(len(y))
        model = kind.ours()
        for rows in np.split(order, cuts):
            model.partial_fit(x[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
        assert_same_model(model, whole, x)


@every_estimator
def test_unlearned_rows_might_never_have_been_there(kind: Kind) -> None:
    x, y = kind.data()
    weight = np.random.default_rng(3).uniform(0.2, 3.0, len(y))
    model = kind.ours().fit(x, y, sample_weight=weight)
    assert model.unlearn(x[:30], y[:30], sample_weight=weight[:30]) is model
    assert_same_model(model, kind.ours().fit(x[30:], y[30:], sample_weight=weight[30:]), x)


@all_missing
def test_unlearning_rows_with_missing_values(kind: Kind) -> None:
    x, y = kind.data()
    with_missing = with_missing_values(x)
    model = kind.ours().fit(with_missing, y).unlearn(with_missing[:30], y[:30])
    assert_same_model(model, kind.ours().fit(with_missing[30:], y[30:]), with_missing)


@every_estimator
def test_weighted_rows_can_be_unlearned_to_the_last(kind: Kind) -> None:
    """In another order than they were learned: what rounding leaves must not look like rows that were never there."""
    x, y = kind.data(n=6000)
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.0, 1.0, len(y))
    model = kind.ours().fit(x, y, sample_weight=weight)
    for rows in np.array_split(rng.permutation(len(y)), 600):
        model.unlearn(x[rows], y[rows], sample_weight=weight[rows])
    np.testing.assert_allclose(model.class_count_, 0.0, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(x[:3]).sum(axis=1), 1.0)


@every_estimator
def test_a_model_that_unlearned_everything_knows_nothing(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y).unlearn(x, y)
    np.testing.assert_allclose(model.predict_proba(x), 1 / 3)
    assert_same_model(model.partial_fit(x, y), kind.ours().fit(x, y), x)


@every_estimator
def test_rows_that_were_never_learned_cannot_be_unlearned(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y)
    before = model.predict_joint_log_proba(x)
    with pytest.raises(UnlearnError, match="were not in the tally"):
        model.unlearn(np.repeat(x, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_array_equal(model.predict_joint_log_proba(x), before)


def test_levels_that_were_never_learned_cannot_be_unlearned() -> None:
    x, y = CATEGORICAL.data()
    with pytest.raises(UnlearnError, match="levels that it has never seen"):
        tallybayes.CategoricalNB().fit(x, y).unlearn(x[:1] + 20, y[:1])


@every_estimator
def test_fitted_estimators_add(kind: Kind) -> None:
    x, y = kind.data()
    names = np.array(["ham", "spam", "junk"])[y]
    north, south = kind.ours().fit(x[:30], names[:30]), kind.ours().fit(x[30:], names[30:])
    both = north + south
    assert_same_model(both, kind.ours().fit(x, names), x)
    assert both.classes_.dtype == north.classes_.dtype
    assert north.class_count_.sum() == 30  # the parts are left as they were


@every_estimator
def test_classes_are_united_by_name_when_estimators_add(kind: Kind) -> None:
    x, y = kind.data()
    names = np.array(["b", "a", "c"])[y]
    south, north = names == "c", names != "c"
    both = kind.ours().fit(x[south], names[south]) + kind.ours().fit(x[north], names[north])
    assert_same_model(both, kind.ours().fit(x, names), x)


@every_estimator
def test_only_equal_settings_add(kind: Kind) -> None:
    x, y = kind.data()
    with pytest.raises(SettingError, match="differ in prior_alpha"):
        kind.ours().fit(x, y) + kind.ours(prior_alpha=1.0).fit(x, y)
    with pytest.raises(TypeError):
        kind.ours().fit(x, y) + 1


def test_only_equal_columns_add() -> None:
    x, y = GAUSSIAN.data()
    one, other = (tallybayes.GaussianNB().fit(pd.DataFrame(x, columns=list(names)), y) for names in ("abcde", "abcdf"))
    with pytest.raises(SchemaError, match=r"'e'.*'f'"):
        one + other


@every_estimator
@pytest.mark.parametrize("names", [["a", "b", "c", "d", "e"], ["x0", "x1", "x2", "x3", "x4"]], ids=["names", "x0…"])
def test_feature_names_survive_adding(kind: Kind, names: list[str]) -> None:
    x, y = kind.data()
    model = kind.ours().fit(pd.DataFrame(x, columns=names), y)
    np.testing.assert_array_equal((model + model).feature_names_in_, names)


@every_estimator
def test_tally_is_what_was_counted(kind: Kind) -> None:
    x, y = kind.data()
    tally = kind.ours().fit(x, y).tally_
    assert isinstance(tally, Tally)
    np.testing.assert_array_equal(tally.class_weight, np.bincount(y))
    assert list(tally.blocks) == [kind.ours._block]


@every_estimator
def test_from_tally_reads_it_with_any_setting(kind: Kind) -> None:
    x, y = kind.data()
    setting = {"var_smoothing": 0.1} if kind is GAUSSIAN else {"alpha": 0.1}
    tally = kind.ours().fit(x, y).tally_
    model = kind.ours.from_tally(tally, **setting)
    check_is_fitted(model)
    assert_same_model(model, kind.ours(**setting).fit(x, y), x)


def test_from_tally_of_an_array() -> None:
    x, y = GAUSSIAN.data()
    frame = pd.DataFrame(x, columns=list("abcde"))
    model = tallybayes.GaussianNB.from_tally(tallybayes.tally(x, y, families.Gaussian(), names=list("abcde")))
    assert_same_model(model, tallybayes.GaussianNB().fit(frame, y), frame)
    np.testing.assert_array_equal(model.feature_names_in_, list("abcde"))


def test_from_tally_wants_its_own_family_and_good_parameters() -> None:
    x, y = MULTINOMIAL.data()
    tally = tallybayes.PoissonNB().fit(x, y).tally_
    with pytest.raises(SchemaError, match="MultinomialNB reads a tally of 'multinomial' columns"):
        tallybayes.MultinomialNB.from_tally(tally)
    with pytest.raises(ValueError, match="'alpha' parameter"):
        tallybayes.PoissonNB.from_tally(tally, alpha=-1)
    with pytest.raises(ValueError, match="Number of priors"):
        tallybayes.PoissonNB.from_tally(tally, class_prior=[0.5, 0.5])


# ---------------------------------------------------------------------------------------------- leave one out


def really_left_out(kind: Kind, params: dict[str, Any], x: Any, y: Any, weight: Any, row: int) -> Any:
    """log P(y | x) of one row by a model that was fitted on all the others."""
    rest = np.arange(len(y)) != row
    model = kind.ours(**params).partial_fit(x[rest], y[rest], classes=np.unique(y), sample_weight=weight[rest])
    return model.predict_log_proba(x[[row]])[0]


LOO = [
    (GAUSSIAN, {}),
    (GAUSSIAN, {"variance": "shared"}),
    (GAUSSIAN, {"var_smoothing": 0.3}),  # the floor changes with the row that is left out
    (GAUSSIAN, {"priors": [0.2, 0.3, 0.5]}),
    (BERNOULLI, {}),
    (BERNOULLI, {"alpha": [0.1, 0.2, 0.5, 1.0, 3.0], "prior_alpha": 2.0}),
    (CATEGORICAL, {"min_categories": [2, 3, 4, 5, 6]}),
    (MULTINOMIAL, {}),
    (MULTINOMIAL, {"alpha": [0.1, 0.2, 0.5, 1.0, 3.0]}),
    (COMPLEMENT, {}),
    (COMPLEMENT, {"norm": True}),
    (POISSON, {}),
    (POISSON, {"fit_prior": False}),
]


@pytest.mark.parametrize(("kind", "params"), LOO, ids=[f"{kind.name} {params}" for kind, params in LOO])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_leave_one_out_equals_refitting(kind: Kind, params: dict[str, Any], weighted: bool) -> None:
    x, y = kind.data(n=24)
    weight = np.random.default_rng(4).uniform(0.2, 3.0, len(y)) if weighted else np.ones(len(y))
    closed = kind.ours(**params).fit(x, y, sample_weight=weight).leave_one_out(x, y, sample_weight=weight)
    refitted = [really_left_out(kind, params, x, y, weight, row) for row in range(len(y))]
    np.testing.assert_allclose(closed, refitted, rtol=1e-8, atol=1e-8)


@every_peer
def test_leave_one_out_equals_refitting_with_scikit_learn(kind: Kind) -> None:
    x, y = kind.data(n=30)
    params: dict[str, Any] = {"min_categories": 6} if kind is CATEGORICAL else {}
    closed = kind.ours(**params).fit(x, y).leave_one_out(x, y)
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        peer = kind.theirs(**params).fit(x[rest], y[rest])
        np.testing.assert_allclose(closed[row], peer.predict_log_proba(x[[row]])[0], rtol=1e-8, atol=1e-8)


@all_missing
def test_leave_one_out_of_rows_with_missing_values(kind: Kind) -> None:
    x, y = kind.data(n=24)
    with_missing, weight = with_missing_values(x), np.ones(len(y))
    params: dict[str, Any] = {"min_categories": [2, 3, 4, 5, 6]} if kind is CATEGORICAL else {}
    closed = kind.ours(**params).fit(with_missing, y).leave_one_out(with_missing, y)
    refitted = [really_left_out(kind, params, with_missing, y, weight, row) for row in range(len(y))]
    np.testing.assert_allclose(closed, refitted, rtol=1e-8, atol=1e-8)


@every_sparse
@pytest.mark.parametrize("halves", [False, True], ids=["", "duplicates"])
def test_leave_one_out_of_sparse_rows(kind: Kind, halves: bool) -> None:
    x, y = kind.data()
    sparse = sp.csr_array(x)
    if halves:
        sparse = sp.csr_array(
            (np.repeat(sparse.data / 2, 2), np.repeat(sparse.indices, 2), sparse.indptr * 2), shape=x.shape
        )
    closed = kind.ours().fit(sparse, y).leave_one_out(sparse, y)
    np.testing.assert_allclose(closed, kind.ours().fit(x, y).leave_one_out(x, y), rtol=1e-9, atol=1e-9)


@every_prior
def test_the_only_row_of_its_class_is_impossible_without_itself(kind: Kind) -> None:
    x, y = kind.data(n=20, k=2)
    y[7] = 2
    left_out = kind.ours().fit(x, y).leave_one_out(x, y)
    assert left_out[7, 2] == -np.inf
    np.testing.assert_allclose(np.exp(left_out).sum(axis=1), 1.0)


@every_estimator
def test_some_of_the_rows_can_be_left_out(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y)
    np.testing.assert_allclose(model.leave_one_out(x[5:9], y[5:9]), model.leave_one_out(x, y)[5:9], rtol=1e-12)


@every_estimator
def test_leave_one_out_wants_the_rows_that_were_learned(kind: Kind) -> None:
    x, y = kind.data()
    with pytest.raises(UnlearnError, match="fitted on"):
        kind.ours().fit(x, y).leave_one_out(x, y, sample_weight=np.full(len(y), 1000.0))


# ---------------------------------------------------------------------------------------------- alpha="auto"


def left_out_likelihood(kind: Kind, alpha: Any, x: Any, y: Any) -> float:
    model = kind.ours(alpha=alpha).fit(x, y)
    return float(model.leave_one_out(x, y)[np.arange(len(y)), y].sum())


@every_smoothed
def test_auto_beats_every_fixed_alpha(kind: Kind) -> None:
    x, y = kind.data(n=60, d=12)
    chosen = left_out_likelihood(kind, "auto", x, y)
    fixed = [left_out_likelihood(kind, alpha, x, y) for alpha in np.logspace(-6, 3, 46)]
    assert chosen >= max(fixed) - 1e-3 * abs(max(fixed))
    assert max(fixed) - min(fixed) > 1.0  # the choice matters


@every_smoothed
def test_auto_is_the_fixed_alpha_that_it_chose(kind: Kind) -> None:
    x, y = kind.data(n=60, d=12)
    model = kind.ours(alpha="auto").fit(x, y)
    assert_same_model(model, kind.ours(alpha=model.alpha_).fit(x, y), x)
    assert not hasattr(kind.ours().fit(x, y), "alpha_")


@every_sparse
def test_auto_of_sparse_rows(kind: Kind) -> None:
    x, y = kind.data(n=60, d=12)
    dense, sparse = (kind.ours(alpha="auto").fit(form(x), y) for form in (np.asarray, sp.csr_array))
    assert sparse.alpha_ == pytest.approx(dense.alpha_, rel=1e-6)


@each(BERNOULLI, CATEGORICAL, POISSON)
def test_auto_of_rows_with_missing_values(kind: Kind) -> None:
    x, y = kind.data(n=60, d=12)
    assert 1e-6 <= kind.ours(alpha="auto").fit(with_missing_values(x), y).alpha_ <= 1e3


@every_smoothed
def test_auto_needs_all_rows_at_once(kind: Kind) -> None:
    x, y = kind.data()
    auto = kind.ours(alpha="auto")
    assert not hasattr(auto, "partial_fit")
    with pytest.raises(AttributeError) as refused:
        auto.partial_fit(x, y, classes=[0, 1, 2])
    assert "alpha='auto' needs all rows at once" in str(refused.value.__cause__)


@every_smoothed
def test_auto_cannot_choose_from_a_tally(kind: Kind) -> None:
    """Without rows there is nothing to leave out: taking some alpha in silence would be a lie."""
    x, y = kind.data()
    with pytest.raises(SettingError, match="auto"):
        kind.ours.from_tally(kind.ours().fit(x, y).tally_, alpha="auto")


@every_smoothed
def test_estimators_with_a_chosen_alpha_do_not_add(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours(alpha="auto").fit(x, y)
    with pytest.raises(SettingError, match="auto"):
        model + model


@each(BERNOULLI, CATEGORICAL, MULTINOMIAL, POISSON)  # complement weights know no prior that would rule a class out
def test_auto_with_rows_of_no_weight(kind: Kind) -> None:
    """A class that has rows but no weight: nothing to choose by, nothing to warn of."""
    x, y = kind.data(n=60)
    weight = (y < 2).astype(float)
    model = kind.ours(alpha="auto").fit(x, y, sample_weight=weight)
    lighter = kind.ours(alpha="auto").fit(x[y < 2], y[y < 2])
    assert model.alpha_ == pytest.approx(lighter.alpha_)


@every_smoothed
def test_auto_where_no_row_can_be_left_out(kind: Kind) -> None:
    x, _ = kind.data(n=9)
    model = kind.ours(alpha="auto").fit(x[:2], [0, 1])
    assert model.alpha_ == 1.0


# ---------------------------------------------------------------------------------------------- P(x, y)


def densities(model: Any, x: Any) -> Any:
    """log P(x | y) of each row and class, by SciPy's distributions."""
    if isinstance(model, tallybayes.GaussianNB):
        return stats.norm.logpdf(x[:, None], model.theta_, np.sqrt(model.var_)).sum(axis=2)
    if isinstance(model, tallybayes.BernoulliNB):
        return stats.bernoulli.logpmf(x[:, None].astype(int), np.exp(model.feature_log_prob_)).sum(axis=2)
    if isinstance(model, tallybayes.PoissonNB):
        return stats.poisson.logpmf(x[:, None], model.rate_).sum(axis=2)
    if isinstance(model, tallybayes.MultinomialNB):
        theta = np.exp(model.feature_log_prob_)
        return np.stack([stats.multinomial.logpmf(x, x.sum(axis=1), p / p.sum()) for p in theta], axis=1)
    return sum(table[:, x[:, j]].T for j, table in enumerate(model.feature_log_prob_))


@every_generative
def test_score_samples_is_the_log_evidence(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y)
    prior = np.log(np.bincount(y) / len(y))
    np.testing.assert_allclose(model.score_samples(x), logsumexp(densities(model, x) + prior, axis=1), rtol=1e-9)


@every_generative
def test_log_likelihood_is_that_of_rows_and_labels(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y)
    own = (densities(model, x) + np.log(np.bincount(y) / len(y)))[np.arange(len(y)), y]
    assert model.log_likelihood(x, y) == pytest.approx(own.sum(), rel=1e-9)
    weight = np.random.default_rng(4).uniform(0, 2, len(y))
    assert model.log_likelihood(x, y, sample_weight=weight) == pytest.approx((weight * own).sum(), rel=1e-9)


@each(MULTINOMIAL, POISSON)
def test_score_samples_of_sparse_rows(kind: Kind) -> None:
    x, y = kind.data()
    x *= 2
    model, sparse = kind.ours().fit(x, y), sp.csr_array(x)
    halves = sp.csr_array(
        (np.repeat(sparse.data / 2, 2), np.repeat(sparse.indices, 2), sparse.indptr * 2), shape=x.shape
    )
    np.testing.assert_allclose(model.score_samples(sparse), model.score_samples(x))
    np.testing.assert_allclose(model.score_samples(halves), model.score_samples(x))  # 2! is not 1!·1!


def test_evidence_of_all_categories_adds_up_to_one() -> None:
    x, y = CATEGORICAL.data(d=3)
    model = tallybayes.CategoricalNB().fit(x, y)
    table = list(itertools.product(*(range(levels) for levels in model.n_categories_)))
    assert np.exp(model.score_samples(table)).sum() == pytest.approx(1.0)


def test_complement_weights_have_no_evidence() -> None:
    model = tallybayes.ComplementNB().fit(*COMPLEMENT.data())
    for name in ("score_samples", "log_likelihood"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="use MultinomialNB"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="use no prior"):
        model.with_prior([0.2, 0.3, 0.5])


@every_estimator
def test_joint_normalised_is_the_posterior(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y)
    joint = model.predict_joint_log_proba(x)
    log_posterior = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(x), log_posterior, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(x), np.exp(log_posterior), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(x), model.classes_[joint.argmax(axis=1)])


# ---------------------------------------------------------------------------------------------- parameters counted

K, D = 3, 5
PARAMETERS = [  # naive, and without the assumption (None where that is not finite)
    (GAUSSIAN, {}, 2 * K * D + K - 1, K * (D + D * (D + 1) // 2) + K - 1),
    (GAUSSIAN, {"variance": "shared"}, K * D + D + K - 1, None),
    (BERNOULLI, {}, K * D + K - 1, K * (2**D - 1) + K - 1),
    (CATEGORICAL, {}, K * (1 + 2 + 3 + 4 + 5) + K - 1, K * (math.factorial(6) - 1) + K - 1),
    (MULTINOMIAL, {}, K * (D - 1) + K - 1, None),
    (POISSON, {}, K * D + K - 1, None),
]


@pytest.mark.parametrize(
    ("kind", "params", "naive", "joint"), PARAMETERS, ids=[f"{case[0].name} {case[1]}" for case in PARAMETERS]
)
def test_number_of_parameters(kind: Kind, params: dict[str, Any], naive: int, joint: int | None) -> None:
    model = kind.ours(**params).fit(*kind.data())
    assert model.n_parameters_ == naive
    if joint is not None:
        assert model.n_joint_parameters_ == joint


@each(MULTINOMIAL, COMPLEMENT, POISSON)
def test_the_joint_of_counts_has_no_number_of_parameters(kind: Kind) -> None:
    model = kind.ours().fit(*kind.data())
    assert not hasattr(model, "n_joint_parameters_")
    with pytest.raises(AttributeError, match="no finite number of parameters"):
        _ = model.n_joint_parameters_


def test_number_of_joint_parameters_is_exact_however_large() -> None:
    x, y = BERNOULLI.data(d=300, k=2)
    assert tallybayes.BernoulliNB().fit(x, y).n_joint_parameters_ == 2 * (2**300 - 1) + 1


# ---------------------------------------------------------------------------------------------- evidence


@every_estimator
def test_contributions_add_up_to_the_joint(kind: Kind) -> None:
    x, y = kind.data()
    x = with_missing_values(x) if kind in (GAUSSIAN, BERNOULLI, CATEGORICAL, POISSON) else x
    model = kind.ours().fit(x, y)
    parts = model.contributions(x)
    assert parts.shape == (len(y), 3, 5)
    prior = 0.0 if kind is COMPLEMENT else np.log(np.bincount(y) / len(y))
    np.testing.assert_allclose(parts.sum(axis=2) + prior, model.predict_joint_log_proba(x), rtol=1e-12, atol=1e-12)


@every_sparse
def test_contributions_of_sparse_rows(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y)
    np.testing.assert_allclose(model.contributions(sp.csc_array(x)), model.contributions(x))


# ---------------------------------------------------------------------------------------------- the linear view


LINEAR = [
    (GAUSSIAN, {"variance": "shared"}),
    (BERNOULLI, {}),
    (BERNOULLI, {"binarize": None}),
    (MULTINOMIAL, {}),
    (COMPLEMENT, {}),
    (COMPLEMENT, {"norm": True}),
    (POISSON, {}),
]
every_linear_model = pytest.mark.parametrize(
    ("kind", "params"), LINEAR, ids=[f"{kind.name} {params}" for kind, params in LINEAR]
)


@every_linear_model
def test_two_classes_have_one_row_of_weights_for_the_log_odds(kind: Kind, params: dict[str, Any]) -> None:
    x, y = kind.data(k=2)
    model = kind.ours(**params).fit(x, y)
    assert model.coef_.shape == (1, 5)
    assert model.intercept_.shape == (1,)
    joint = model.predict_joint_log_proba(x)
    np.testing.assert_allclose((x @ model.coef_.T + model.intercept_)[:, 0], joint[:, 1] - joint[:, 0], atol=1e-9)


@every_linear_model
def test_many_classes_have_a_row_of_weights_each(kind: Kind, params: dict[str, Any]) -> None:
    x, y = kind.data()
    model = kind.ours(**params).fit(x, y)
    assert model.coef_.shape == (3, 5)
    assert model.intercept_.shape == (3,)
    linear, joint = x @ model.coef_.T + model.intercept_, model.predict_joint_log_proba(x)
    np.testing.assert_allclose(linear - linear[:, :1], joint - joint[:, :1], atol=1e-9)


@every_linear_model
@pytest.mark.parametrize("k", [2, 3])
def test_logistic_regression_gives_the_same_probabilities(kind: Kind, params: dict[str, Any], k: int) -> None:
    x, y = kind.data(k=k)
    labels = np.array(["zebra", "ant", "mule"])[y]
    model = kind.ours(**params).fit(pd.DataFrame(x, columns=list("abcde")), labels)
    twin, frame = model.to_logistic_regression(), pd.DataFrame(x, columns=list("abcde"))
    check_is_fitted(twin)
    np.testing.assert_allclose(twin.predict_proba(frame), model.predict_proba(frame), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))


def test_weights_of_two_shared_normals() -> None:
    """w_d = (μ₁ − μ₀)/σ², b = log(π₁/π₀) − Σ (μ₁² − μ₀²)/2σ²."""
    x, y = GAUSSIAN.data(k=2)
    model = tallybayes.GaussianNB(variance="shared").fit(x, y)
    (low, high), variance = model.theta_, model.var_[0]
    np.testing.assert_allclose(model.coef_[0], (high - low) / variance)
    np.testing.assert_allclose(model.intercept_[0], -((high**2 - low**2) / (2 * variance)).sum(), atol=1e-12)


NOT_LINEAR = [
    (GAUSSIAN, {}, "quadratic boundary.*variance='shared'"),
    (CATEGORICAL, {}, "one-hot.*feature_log_prob_"),
    (MULTINOMIAL, {"alpha": 0.0}, "infinite weight.*alpha > 0"),
    (BERNOULLI, {"alpha": 0.0}, "infinite weight.*alpha > 0"),
    (MULTINOMIAL, {"class_prior": [0.5, 0.5, 0.0]}, "prior of zero has an infinite bias"),
]


@pytest.mark.parametrize(
    ("kind", "params", "why"), NOT_LINEAR, ids=[f"{case[0].name} {case[1]}" for case in NOT_LINEAR]
)
def test_no_weights_where_the_model_is_not_linear(kind: Kind, params: dict[str, Any], why: str) -> None:
    x, y = kind.data()
    x[:, 0] = y == 1  # a zero in some class
    model = kind.ours(**params).fit(x, y)
    for name in ("coef_", "intercept_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=why):
            getattr(model, name)
    with pytest.raises(AttributeError, match=why):
        model.to_logistic_regression()


def test_logistic_regression_needs_two_classes() -> None:
    x, y = BERNOULLI.data(k=1)
    with pytest.raises(AttributeError, match="at least two classes"):
        tallybayes.BernoulliNB().fit(x, y).to_logistic_regression()


# ---------------------------------------------------------------------------------------------- the prior


def class_prior(model: Any) -> Any:
    return model.class_prior_ if isinstance(model, tallybayes.GaussianNB) else np.exp(model.class_log_prior_)


@every_estimator
def test_prior_alpha_smooths_the_prior(kind: Kind) -> None:
    x, y = kind.data()
    y = np.where(np.arange(len(y)) < 80, 0, y)
    count = np.bincount(y)
    for alpha in (0.0, 0.5, 10.0):
        model = kind.ours(prior_alpha=alpha).fit(x, y)
        np.testing.assert_allclose(class_prior(model), (count + alpha) / (count.sum() + 3 * alpha))


@every_prior
def test_prior_alpha_shows_in_the_probabilities(kind: Kind) -> None:
    x, y = kind.data()
    y = np.where(np.arange(len(y)) < 80, 0, y)
    plain, smoothed = (kind.ours(prior_alpha=alpha).fit(x, y).predict_joint_log_proba(x) for alpha in (0.0, 10.0))
    assert (smoothed[:, 0] < plain[:, 0]).all()
    assert (smoothed[:, 1:] > plain[:, 1:]).all()


@every_prior
@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        ({"c": 0.5, "a": 0.2, "b": 0.3}, [0.2, 0.3, 0.5]),
        ("uniform", [1 / 3, 1 / 3, 1 / 3]),
        ("empirical", [0.5, 0.25, 0.25]),
    ],
    ids=str,
)
def test_with_prior_keeps_the_evidence(kind: Kind, prior: Any, expected: Any) -> None:
    x, _ = kind.data(n=40)
    y = np.repeat(["a", "b", "c"], [20, 10, 10])
    model = kind.ours().fit(x, y)
    changed = model.with_prior(prior)
    np.testing.assert_allclose(class_prior(changed), expected)
    shift = np.log(expected) - np.log([0.5, 0.25, 0.25])
    np.testing.assert_allclose(
        changed.predict_joint_log_proba(x), model.predict_joint_log_proba(x) + shift, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(class_prior(model), [0.5, 0.25, 0.25])  # the old one is left as it was


@every_prior
@pytest.mark.parametrize(
    ("prior", "why"),
    [
        ([0.5, 0.5], "Number of priors must match"),
        ([0.5, 0.6, 0.1], "sum of the priors should be 1"),
        ([1.5, -0.5, 0.0], "must be non-negative"),
        ({0: 0.5, 1: 0.5}, "prior names the classes"),
        ("flat", "must be 'empirical', 'uniform'"),
    ],
    ids=str,
)
def test_with_prior_refuses_what_is_no_prior(kind: Kind, prior: Any, why: str) -> None:
    model = kind.ours().fit(*kind.data())
    with pytest.raises(ValueError, match=why):
        model.with_prior(prior)


@every_prior
def test_a_new_prior_survives_learning_and_unlearning(kind: Kind) -> None:
    x, y = kind.data()
    model = kind.ours().fit(x, y).with_prior([0.2, 0.3, 0.5])
    np.testing.assert_allclose(class_prior(model.unlearn(x[:9], y[:9])), [0.2, 0.3, 0.5])
    np.testing.assert_allclose(class_prior(model.partial_fit(x[:9], y[:9])), [0.2, 0.3, 0.5])


def test_a_new_prior_keeps_the_precision_of_the_answers() -> None:
    x, y = GAUSSIAN.data()
    x = x.astype(np.float32)
    assert tallybayes.GaussianNB().fit(x, y).with_prior("uniform").predict_proba(x).dtype == np.float32


# ---------------------------------------------------------------------------------------------- threads


@every_estimator
def test_threads_change_nothing(kind: Kind) -> None:
    x, y = kind.data(n=20_000)  # more than one chunk of rows
    one = kind.ours(n_jobs=1).fit(x, y)
    for n_jobs in (2, 3, -1, None):
        many = kind.ours(n_jobs=n_jobs).fit(x, y)
        assert_same_model(many, one, x)
        np.testing.assert_array_equal(many.predict(x), one.predict(x))


@every_sparse
def test_threads_change_nothing_of_sparse_rows(kind: Kind) -> None:
    x, y = kind.data(n=20_000)
    one, three = (kind.ours(n_jobs=n_jobs).fit(sp.csr_array(x), y) for n_jobs in (1, 3))
    assert_same_model(three, kind.ours().fit(x, y), sp.csr_array(x))
    np.testing.assert_array_equal(one.predict(sp.csr_array(x)), three.predict(x))


@every_estimator
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_n_jobs_is_the_number_of_threads(kind: Kind, n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from tallybayes.core import threads as parallel

    started: list[int] = []

    class Pool(parallel.ThreadPoolExecutor):
        def __init__(self, threads: int) -> None:
            started.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(parallel, "ThreadPoolExecutor", Pool)
    x, y = kind.data(n=30_000)
    model = kind.ours(n_jobs=n_jobs).fit(x, y)
    assert set(started) == ({n_jobs} if n_jobs > 1 else set())
    started.clear()
    model.predict(x)
    assert set(started) == ({n_jobs} if n_jobs > 1 else set())


@every_estimator
def test_no_threads_is_no_number_of_threads(kind: Kind) -> None:
    with pytest.raises(ValueError, match="n_jobs"):
        kind.ours(n_jobs=0).fit(*kind.data())


# ---------------------------------------------------------------------------------------------- sampling


@every_estimator
def test_sampling_and_refitting_recovers_the_model(kind: Kind) -> None:
    x, y = kind.data()
    labels = np.array(["b", "c", "a"])[y]
    model = kind.ours().fit(x, labels)
    drawn, classes = model.sample(30_000, random_state=0)
    assert drawn.shape == (30_000, 5)
    assert classes.dtype == labels.dtype
    again = kind.ours().fit(drawn, classes)
    shares = np.full(3, 1 / 3) if kind is COMPLEMENT else np.bincount(y) / len(y)
    np.testing.assert_allclose(again.class_count_ / 30_000, shares, atol=0.02)
    np.testing.assert_allclose(again.predict_proba(x), model.predict_proba(x), atol=0.1)


@every_estimator
def test_sampling_is_repeatable(kind: Kind) -> None:
    model = kind.ours().fit(*kind.data())
    first, second, other = (model.sample(20, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert not np.array_equal(first[0], other[0])


@every_estimator
def test_drawing_no_row_at_all_is_an_error_that_says_so(kind: Kind) -> None:
    model = kind.ours().fit(*kind.data())
    for n_samples in (0, -1):
        with pytest.raises(ValueError, match="n_samples"):
            model.sample(n_samples)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_what_is_said_to_be_yes_and_no_is_checked(form: Any) -> None:
    """binarize=None promises zeros and ones: five times yes would make a probability of more than one."""
    x, y = BERNOULLI.data()
    x[4, 3] = 5
    with pytest.raises(DataError, match=r"column 'x3'.*row 5"):
        tallybayes.BernoulliNB(binarize=None).fit(form(x), y)


def test_yes_is_drawn_above_the_threshold() -> None:
    x, y = BERNOULLI.data()
    drawn, classes = tallybayes.BernoulliNB(binarize=2.0).fit(3 * x, y).sample(500, random_state=0)
    again = tallybayes.BernoulliNB(binarize=2.0).fit(drawn, classes)
    assert 0.2 < again.feature_count_.sum() / drawn.size < 0.8


# ---------------------------------------------------------------------------------------------- every parameter


CHANGES: list[tuple[Kind, dict[str, Any]]] = [
    (GAUSSIAN, {"priors": [0.1, 0.2, 0.7]}),
    (GAUSSIAN, {"var_smoothing": 0.5}),
    (GAUSSIAN, {"variance": "shared"}),
    (GAUSSIAN, {"prior_alpha": 50.0}),
    *((kind, {"alpha": 20.0}) for kind in ALL[1:]),
    *((kind, {"alpha": "auto"}) for kind in ALL[1:]),
    *((kind, {"class_prior": [0.1, 0.2, 0.7]}) for kind in ALL[1:] if kind is not COMPLEMENT),
    *((kind, {"fit_prior": False}) for kind in ALL[1:] if kind is not COMPLEMENT),
    *((kind, {"prior_alpha": 50.0}) for kind in ALL[1:] if kind is not COMPLEMENT),
    (BERNOULLI, {"binarize": 0.5}),
    (CATEGORICAL, {"min_categories": 30}),
    (CATEGORICAL, {"unseen": "smooth"}),
    (COMPLEMENT, {"norm": True}),
    (MULTINOMIAL, {"document_length": 2.0}),
]


@pytest.mark.parametrize(("kind", "change"), CHANGES, ids=[f"{kind.name} {change}" for kind, change in CHANGES])
def test_each_parameter_changes_the_answer(kind: Kind, change: dict[str, Any]) -> None:
    x, y = kind.data()
    y[:30] = 0  # so that the learned prior is not flat
    if kind is BERNOULLI:
        x = x * np.linspace(0.3, 1.0, 5)
    asked = x + 20 if "unseen" in change else x
    plain, changed = kind.ours().fit(x, y), kind.ours(**change).fit(x, y)
    assert np.abs(plain.predict_proba(asked) - changed.predict_proba(asked)).max() > 1e-3


@pytest.mark.parametrize("change", [{"class_prior": [0.1, 0.2, 0.7]}, {"fit_prior": False}, {"prior_alpha": 50.0}])
def test_the_prior_of_complement_weights_is_only_given(change: dict[str, Any]) -> None:
    x, y = COMPLEMENT.data()
    y[:30] = 0
    plain, changed = tallybayes.ComplementNB().fit(x, y), tallybayes.ComplementNB(**change).fit(x, y)
    assert np.abs(plain.class_log_prior_ - changed.class_log_prior_).max() > 0.1
    np.testing.assert_array_equal(plain.predict_proba(x), changed.predict_proba(x))


@pytest.mark.parametrize("kind", ALL[1:-1], ids=lambda kind: kind.name)
def test_force_alpha_changes_the_answer(kind: Kind) -> None:
    x, y = kind.data()
    x[:, 0] = y == 1
    forced = kind.ours(alpha=0.0).fit(x, y)
    with pytest.warns(UserWarning, match="alpha too small"):
        lifted = kind.ours(alpha=0.0, force_alpha=False).fit(x, y)
    tables = zip(forced.feature_log_prob_, lifted.feature_log_prob_, strict=True)
    assert not all(np.allclose(mine, theirs) for mine, theirs in tables)


def test_every_parameter_is_tested() -> None:
    tested = {(kind.name, name) for kind, change in CHANGES for name in change}
    for kind in ALL:
        for name in kind.ours().get_params():
            given = kind is COMPLEMENT and name in ("class_prior", "fit_prior", "prior_alpha")
            elsewhere = name in ("n_jobs", "force_alpha") or name in Fitted._shared_constraints
            assert (kind.name, name) in tested or elsewhere or given, (kind.name, name)


@every_estimator
@pytest.mark.parametrize(("name", "value"), [("prior_alpha", -1.0), ("prior_alpha", "some"), ("n_jobs", 1.5)])
def test_bad_values_of_new_parameters(kind: Kind, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {kind.name} must be"):
        kind.ours(**{name: value}).fit(*kind.data())


@pytest.mark.parametrize(("kind", "params"), [(GAUSSIAN, {"variance": "own"}), (CATEGORICAL, {"unseen": "guess"})])
def test_bad_choices_of_new_parameters(kind: Kind, params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter of {kind.name} must be a str among"):
        kind.ours(**params).fit(*kind.data())


def test_alpha_for_each_yes_and_no() -> None:
    """(n₁ + a_d)/(n + 2 a_d), with a pseudocount for every column."""
    x, y = BERNOULLI.data()
    alpha = np.array([0.1, 0.2, 1.0, 2.0, 5.0])
    model = tallybayes.BernoulliNB(alpha=alpha).fit(x, y)
    yes = np.stack([x[y == k].sum(axis=0) for k in range(3)])
    expected = np.log((yes + alpha) / (np.bincount(y)[:, None] + 2 * alpha))
    np.testing.assert_allclose(model.feature_log_prob_, expected)


def test_shared_variance_is_the_mean_square_around_the_class_means() -> None:
    x, y = GAUSSIAN.data()
    model = tallybayes.GaussianNB(variance="shared", var_smoothing=0.0).fit(x, y)
    within = ((x - model.theta_[y]) ** 2).mean(axis=0)
    np.testing.assert_allclose(model.var_, np.broadcast_to(within, (3, 5)))


def test_poisson_rates() -> None:
    """(t + a)/(n + a): a rows of one event each."""
    x, y = POISSON.data()
    model = tallybayes.PoissonNB(alpha=0.5).fit(x, y)
    events = np.stack([x[y == k].sum(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.rate_, (events + 0.5) / (np.bincount(y)[:, None] + 0.5))
    np.testing.assert_array_equal(model.feature_count_, events)


@every_estimator
def test_rows_that_were_learned_are_known_by_their_tally(kind: Kind) -> None:
    X, y = kind.data(n=180)
    order = np.argsort(y, kind="stable")
    mine, others = order[::2], order[1::2]  # as many of each class in both
    model = kind.ours().fit(X[mine], y[mine])
    assert model.evaluate(X[mine[::-1]], y[mine[::-1]]).method == "leave-one-out"
    assert model.evaluate(X[others], y[others]).method == "test"
