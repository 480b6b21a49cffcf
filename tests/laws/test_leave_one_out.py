"""Leave-one-out is what really leaving one out gives: every row is unlearned, or never learned, and scored."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import tallybayes.core.model
from tallybayes.core.batch import Labels
from tallybayes.core.tally import count
from tallybayes.errors import ForbiddenRowWarning
from tallybayes.families import Gaussian

from .cases import CASES, CLASSES, FAMILY_CASES, FORMED_CASES, Table

PRIORS = [
    {"prior": "empirical"},
    {"prior": "empirical", "prior_alpha": 0.5},
    {"prior": "uniform"},
    {"prior": "none"},
    {"prior": {"p": 0.5, "q": 0.2, "r": 0.3}},
]


def close(case):
    """How close leaving out must come, where few rows and three classes make for all the corners there are.

    A class of two numbers has no spread once one is out: what rounding leaves of it is divided by the floor, 1e-9 of
    the column's variance, and scores are of the order of 1e9.
    """
    return {"rtol": 1e-4, "atol": 1e-6} if case.entry.kind == "numeric" else {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.parametrize("case", [case for case in CASES if not case.entry.keeps_structure], ids=str)
@settings(max_examples=12)
@given(data=st.data())
def test_families_score_a_row_as_if_it_had_not_been_counted(case, data):
    table = data.draw(case.anchored_tables())
    got = _family_leave_one_out(case, table, case.matrix(table.x))
    assert_allclose(got, _scores_without(case, table), **close(case))


@pytest.mark.parametrize(("case", "form"), FORMED_CASES, ids=str)
def test_the_form_of_the_matrix_makes_no_difference(case, form):
    table = case.random_table(30)
    table = Table(case.entry.forms[form].fit(table.x), table.codes, table.weight)
    got = _family_leave_one_out(case, table, case.matrix(table.x, form))
    plain = _family_leave_one_out(case, table, case.matrix(table.x))
    want = plain if case.entry.keeps_structure else _scores_without(case, table)
    assert_allclose(got, want, rtol=1e-8, atol=1e-8)


def _family_leave_one_out(case, table, matrix):
    labels = Labels.hard(table.codes, table.weight)
    summary = case.family.tally(matrix, labels, len(CLASSES))
    return case.family.leave_one_out(summary, case.family.estimate(summary), matrix, labels)


def _scores_without(case, table):
    """Log probability (n, K) of each row, from the rows but that one."""

    def scores(i):
        params = case.family.estimate(case.summary(table.take(np.arange(len(table)) != i)))
        return case.family.log_prob(params, case.matrix(table.x[[i]]))[0]

    return np.array([scores(i) for i in range(len(table))])


# A high floor keeps the scores of numbers small, so that it is the prior that is looked at.
STEADY_CASES = [
    replace(case, family=Gaussian(0.1)) if isinstance(case.family, Gaussian) else case
    for case in FAMILY_CASES
    if not (case.entry.keeps_structure or (case.entry.anchor and not isinstance(case.family, Gaussian)))
]


@pytest.mark.parametrize("case", STEADY_CASES, ids=str)
@pytest.mark.parametrize("prior", PRIORS, ids=str)
@given(data=st.data())
def test_models_leave_the_row_out_of_the_prior_too(case, prior, data):
    table = data.draw(case.anchored_tables())
    model, batch = case.model(table, **prior), case.batch(table)
    assert_allclose(model.leave_one_out(batch), _unlearned(model, batch), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_chunks_and_threads_make_no_difference(case, monkeypatch):
    table = case.random_table(30, weights=(1.0, 2.0))
    model, batch = case.model(table), case.batch(table)
    with warnings.catch_warnings(action="ignore", category=ForbiddenRowWarning):
        at_once = model.leave_one_out(batch)
        monkeypatch.setattr(tallybayes.core.chunks, "CHUNK", 7)
        assert_allclose(model.leave_one_out(batch, n_jobs=2), at_once)


def _unlearned(model, batch):
    rows = [batch.rows(i, i + 1) for i in range(batch.n_rows)]
    # Classes and levels stay in leave-one-out, whose scores have a column for each class.
    less = [replace(model, tally=model.tally - count(row, model.settings.families)) for row in rows]
    return np.concatenate([each.log_posterior(row) for each, row in zip(less, rows, strict=True)])
