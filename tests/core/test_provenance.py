"""What a model keeps of how it came about when it changes."""

from dataclasses import replace

import numpy as np
import pytest

from tallybayes import NaiveBayes
from tallybayes.core.metrics import score
from tallybayes.errors import DataError, LabelWarning

ROWS = {"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b", "a", "b"]}
MORE = {"x": [5.0, 6.0], "c": ["a", "b"]}


@pytest.fixture
def model():
    """A model that was evaluated when it was learned."""
    fitted = NaiveBayes(classical=True).fit(ROWS, ["no", "no", "yes", "yes"])
    figures = score(np.log(np.full((4, 2), 0.5)), np.array([0, 0, 1, 1]), ["no", "yes"], method="5 folds")
    model = fitted.model_
    fitted.model_ = replace(model, provenance=replace(model.provenance, evaluation=figures.of(n_learned=4)))
    return fitted


def test_rows_learned_later_leave_the_figures_of_then(model):
    before = model.model_.provenance.evaluation
    model.partial_fit(MORE, ["no", "yes"])
    provenance = model.model_.provenance
    assert provenance.evaluation is before
    assert (provenance.evaluation.n_learned, provenance.rows) == (4, 6)
    model.unlearn(MORE, ["no", "yes"])
    assert model.model_.provenance.evaluation is before
    assert model.model_.provenance.rows == 4


def test_models_of_other_rows_were_never_evaluated_together(model):
    other = model.blank().partial_fit(MORE, ["no", "yes"])
    assert other.model_.provenance.evaluation is None
    assert (model + other).model_.provenance.evaluation is None
    assert (other + model).model_.provenance.evaluation is None


def test_adding_nothing_keeps_the_figures(model):
    figures = model.model_.provenance.evaluation
    assert model.model_.blank().provenance.evaluation is None
    assert (model.model_ + model.model_.blank()).provenance.evaluation == figures
    assert (model.model_.blank() + model.model_).provenance.evaluation == figures


def test_another_prior_and_fewer_columns_are_another_model(model):
    assert model.model_.with_prior("uniform").provenance.evaluation is None
    assert model.model_.select(["x"]).provenance.evaluation is None
    assert model.model_.without_refinement().provenance.evaluation is None


def test_rows_since_a_base_were_never_evaluated(model):
    base = model.model_
    model.partial_fit(MORE, ["no", "yes"])
    since = model.model_.since(base)
    assert (since.provenance.evaluation, since.provenance.rows) == (None, 2)
    assert (base + since).provenance.rows == 6
    assert model.model_.since(model.model_).provenance.rows == 0
    assert (base + base.since(base)).provenance.evaluation == base.provenance.evaluation


def test_figures_are_part_of_the_value(model):
    mine = model.model_
    figures = mine.provenance.evaluation
    assert mine == replace(mine, provenance=replace(mine.provenance, evaluation=replace(figures, date="2020-01-01")))
    assert mine != replace(mine, provenance=replace(mine.provenance, evaluation=replace(figures, n_rows=5)))
    assert mine != replace(mine, provenance=replace(mine.provenance, evaluation=None))


def test_models_of_targets_of_other_names_do_not_add_in_silence():
    one, other = (NaiveBayes(classical=True).fit({**ROWS, name: list("pqpq")}, target=name) for name in "tu")
    with pytest.warns(LabelWarning, match="one model predicts 't', the other 'u'"):
        assert (one + other).model_.provenance.target == "t"


@pytest.mark.parametrize("weight", [1e154, 1e308])
def test_weights_that_no_sum_can_hold_are_refused(weight):
    with pytest.raises(DataError, match="rescale the weights"):
        NaiveBayes().fit(ROWS, list("pqpq"), sample_weight=[weight] * 4)
