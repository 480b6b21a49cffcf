"""Expectation-maximisation climbs, whatever the family: the penalised log likelihood never falls."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import tallybayes.learning.em
from tallybayes.core.batch import Labels
from tallybayes.core.model import Model
from tallybayes.learning import em

from .cases import CASES, FORMED_CASES, Table
from .compare import assert_same_tally

# Complement weights and clues are no probabilities, and pairs correct those of other columns.
PROBABLE = [c for c in CASES if c.family.name not in ("complement", "clues") and not c.family.is_correction]
PRIORS = [{}, {"prior_alpha": 0.5}, {"prior": "uniform"}, {"prior": {"p": 0.5, "q": 0.2, "r": 0.3}}]


def partly_labelled(case, table, known):
    """The rows as a batch, of which only some have a label."""
    codes = np.where(known, table.codes, em.UNKNOWN).astype(np.int32)
    return replace(case.batch(table), labels=Labels.hard(codes, table.weight))


def objective(model, batch):
    """The penalised log likelihood, written out."""
    codes, weight = batch.labels.codes, batch.labels.weight
    own = model.log_evidence(batch)
    known = np.flatnonzero(codes >= 0)
    own[known] = model.log_joint(batch)[known, codes[known]] + model.log_base(batch)[known]
    return float((weight * np.where(weight > 0, own, 0.0)).sum()) + em.log_penalty(model)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("case", PROBABLE, ids=str)
@settings(max_examples=5)  # of each of 200 combinations
@given(data=st.data())
def test_no_step_lowers_the_likelihood(case, prior, data):
    table = data.draw(case.tables(min_rows=3, weights=(0.5, 1.0, 2.0)))
    known = np.array(data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table))))
    batch = partly_labelled(case, table, known)
    found = em.learn(case.model(case.random_table(20), **prior), batch, max_iter=15, tol=0.0)
    path = np.array(found.log_likelihood_path)
    assert len(path) == found.n_iter
    assert np.isfinite(path).all()
    assert (np.diff(path) >= 0).all(), path
    with warnings.catch_warnings():
        assert path[-1] == pytest.approx(objective(found.model, batch), rel=1e-9, abs=1e-9)


# What spreads counts, or merges cells, does not maximise the likelihood of the counts: steps may have to be refused.
OTHERS = [c for c in PROBABLE if c.entry.kind != "numeric" and not c.entry.keeps_structure]
PLAIN = [c for c in OTHERS if not hasattr(c.family, "bandwidth")]


@pytest.mark.parametrize("case", PLAIN, ids=str)
def test_no_step_has_to_be_refused(case):
    """Without a floor on variances it is the algorithm that climbs, not the refusal of steps that would not."""
    table = case.random_table(300, weights=(0.5, 1.0, 2.0))
    batch = partly_labelled(case, table, np.arange(300) < 60)
    start = case.model(table.take(np.arange(60)), prior_alpha=0.1)
    values = []
    model = replace(start, tally=em.learn(start, batch, max_iter=1).model.tally)
    for _ in range(8):
        values.append(objective(model, batch))
        share = em.responsibilities(model, batch) * table.weight[:, None]
        model = replace(model, tally=case.count(replace(batch, labels=Labels.soft(share))))
    assert np.diff(values).min() >= -1e-9 * abs(values[0])
    assert_allclose(em.learn(start, batch, max_iter=8, tol=0.0).log_likelihood_path, values, rtol=1e-10)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_that_all_have_labels_are_counted(case):
    table = case.random_table(40)
    found = em.learn(case.model(table), case.batch(table))
    assert_same_tally(found.model.tally, case.tally(table))


@pytest.mark.parametrize("case", [c for c in CASES if getattr(c.family, "shrinkage", None) is None], ids=str)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_chunks_and_threads_make_no_difference(case, n_jobs, monkeypatch):
    table = case.random_table(80, weights=(0.5, 1.0))
    batch = partly_labelled(case, table, np.arange(80) % 4 == 0)
    start = case.model(table.take(np.arange(0, 80, 4)))
    at_once = em.learn(start, batch, max_iter=3, tol=0.0)
    monkeypatch.setattr(tallybayes.learning.em, "CHUNK", 7)
    monkeypatch.setattr(tallybayes.learning.em._Step, "_chunk", lambda self, model: 7)
    in_parts = em.learn(start, batch, max_iter=3, tol=0.0, n_jobs=n_jobs)
    assert_same_tally(in_parts.model.tally, at_once.model.tally)


@pytest.mark.parametrize(("case", "form"), FORMED_CASES, ids=str)
def test_the_form_of_the_matrix_makes_no_difference(case, form):
    table = case.random_table(60, weights=(1.0,))
    table = Table(case.entry.forms[form].fit(table.x), table.codes, table.weight)
    codes = np.where(np.arange(60) < 20, table.codes, em.UNKNOWN).astype(np.int32)
    start = case.model(table.take(np.arange(20)))
    plain, formed = (
        em.learn(start, case.batch(table, f, Labels.hard(codes)), max_iter=3, tol=0.0).model for f in (None, form)
    )
    probe = case.batch(case.random_table(20, seed=1))
    assert_allclose(formed.log_joint(probe), plain.log_joint(probe), rtol=1e-6)


def test_a_model_is_a_fixed_point_of_its_own_shares():
    case = CASES[0]
    table = case.random_table(200, weights=(1.0,))
    batch = partly_labelled(case, table, np.zeros(200, dtype=bool))
    found = em.learn(case.model(table), batch, tol=0.0, max_iter=500)
    again = em.learn(found.model, batch, tol=0.0, max_iter=1)
    assert isinstance(again.model, Model)
    assert again.log_likelihood_path[-1] == pytest.approx(found.log_likelihood_path[-1], rel=1e-9)
