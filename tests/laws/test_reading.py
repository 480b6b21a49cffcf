"""What a tally is read as: parameters, log joints, evidence, posteriors."""

import warnings
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import tallybayes.core.model
from tallybayes.core.batch import MISSING, UNSEEN, Codes
from tallybayes.errors import ForbiddenRowWarning, NotAvailableError

from .cases import CASES, CLASSES, FORMED_CASES, N_LEVELS, WIDTH

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_form = pytest.mark.parametrize(("case", "form"), FORMED_CASES, ids=str)


@each_case
@given(data=st.data())
def test_estimating_is_pure(case, data):
    summary = case.summary(data.draw(case.tables()))
    before = {name: array.copy() for name, array in summary.arrays().items()}
    _assert_same_record(case.family.estimate(summary), case.family.estimate(summary))
    for name, array in summary.arrays().items():
        assert_array_equal(array, before[name])


def _assert_same_record(one, two):
    if is_dataclass(one):
        one, two = (tuple(getattr(each, field.name) for field in fields(each)) for each in (one, two))
    if isinstance(one, dict):
        assert list(one) == list(two)
        one, two = tuple(one.values()), tuple(two.values())
    if not isinstance(one, tuple):
        assert_array_equal(one, two)
        return
    for mine, theirs in zip(one, two, strict=True):
        _assert_same_record(mine, theirs)


@each_case
@given(data=st.data())
def test_contributions_and_prior_add_up_to_the_log_joint(case, data):
    model = case.model(data.draw(case.tables()), prior_alpha=0.5)
    rows = case.batch(data.draw(case.tables()))
    parts = model.contributions(rows)
    assert parts.shape == (rows.n_rows, len(CLASSES), len(rows.schema.columns))
    assert_allclose(parts.sum(axis=2) + model.log_prior, model.log_joint(rows), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("case", [case for case in CASES if case.entry.takes_missing], ids=str)
@given(data=st.data())
def test_a_row_without_a_value_has_the_prior(case, data):
    model = case.model(data.draw(case.tables()), prior_alpha=0.5)
    nothing = case.encoded(case.matrix(np.full((1, WIDTH), np.nan)))
    assert_allclose(model.log_joint(nothing)[0], model.log_prior)


@each_case
@given(data=st.data(), prior=st.sampled_from(["empirical", "uniform", "none", {"p": 0.2, "q": 0.0, "r": 0.8}]))
def test_posteriors_sum_to_one(case, data, prior):
    model = case.model(data.draw(case.tables()), prior=prior)
    rows = case.batch(data.draw(case.tables()))
    with _forbidden_rows_allowed():
        posterior, log_posterior, best = model.posterior(rows), model.log_posterior(rows), model.predict(rows)
    assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(np.exp(log_posterior), posterior, rtol=1e-9, atol=1e-300)
    assert_array_equal(posterior[np.arange(len(best)), best], posterior.max(axis=1))


@each_case
def test_a_row_unlike_any_other_still_has_a_posterior(case):
    unusual = 1e6 * case.random_table(5, seed=1).x
    if case.entry.kind == "category":
        codes = np.array([[UNSEEN, 1, 0], [MISSING, UNSEEN, UNSEEN], [100, 100, 100]])
        matrix = Codes(codes, N_LEVELS)
    else:
        matrix = case.matrix(unusual)
    with _forbidden_rows_allowed():
        posterior = case.model(case.random_table(40)).posterior(case.encoded(matrix))
    assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)


@each_form
def test_the_form_of_the_matrix_changes_no_score(case, form):
    model = case.model(case.random_table(50))
    x = case.entry.forms[form].fit(case.random_table(40, seed=1).x)
    plain, formed = case.encoded(case.matrix(x)), case.encoded(case.matrix(x, form))
    assert_allclose(model.log_joint(formed), model.log_joint(plain), rtol=1e-12)
    assert_allclose(model.contributions(formed), model.contributions(plain), rtol=1e-12)


@each_case
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_are_scored_alike_alone_and_together(case, n_jobs, monkeypatch):
    model, table = case.model(case.random_table(50)), case.random_table(10, seed=1)
    alone = [model.log_joint(case.batch(table.take([i])))[0] for i in range(len(table))]
    monkeypatch.setattr(tallybayes.core.chunks, "CHUNK", 3)
    assert_allclose(model.log_joint(case.batch(table), n_jobs), alone, rtol=1e-12)


@each_case
def test_linear_weights_rank_the_classes_as_the_scores_do(case):
    model = case.model(case.random_table(50, weights=(1.0,)))
    x = np.nan_to_num(case.random_table(10, seed=1).x)
    threshold = getattr(case.family, "threshold", None)
    try:
        weights, bias = case.family.linear(model.parameters[case.family.name])
    except NotAvailableError as reason:
        pytest.skip(str(reason))
    linear = (x if threshold is None else x > threshold) @ weights.T + bias
    scores = case.family.log_prob(model.parameters[case.family.name], case.matrix(x))
    # Up to a term that all classes share.
    assert_allclose(linear - linear[:, :1], scores - scores[:, :1], rtol=1e-9, atol=1e-9)


def _forbidden_rows_allowed():
    return warnings.catch_warnings(action="ignore", category=ForbiddenRowWarning)
