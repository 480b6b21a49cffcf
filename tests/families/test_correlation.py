"""Numbers that vary together: against SciPy, and what leaving out, clipping and missing values do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_t, t

from tallybayes.core.batch import Labels
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Schema
from tallybayes.core.settings import EvidenceWeights, Settings
from tallybayes.core.tally import count
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch
from tallybayes.errors import DataError, SchemaError, SettingError
from tallybayes.families import Correlation
from tallybayes.families.correlation import standardised, together

NAMES = ("a", "b", "c")
SCHEMA = Schema(
    (
        *(Column(name, "numeric") for name in NAMES),
        Column("a, b and c together", "block", parts=tuple(Column(name, "numeric") for name in NAMES)),
    ),
    ("no", "yes"),
)
SHRINKAGE = (0.5, 8.0, math.inf)


def rows(n=60, n_classes=2, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    turn = rng.normal(size=(n_classes, d, d))
    return np.einsum("ni,nij->nj", rng.normal(size=(n, d)), turn[y]) + y[:, None], Labels.hard(y)


def fitted(x, labels, shrinkage=8.0, n_classes=2):
    family = Correlation(*standardised(x), shrinkage)
    summary = family.tally(x, labels, n_classes)
    return family, summary, family.estimate(summary)


def model_of(x, labels, family=None):
    family = family or Correlation(*standardised(x))
    batch = TableBatch(SCHEMA, read_table(dict(zip(NAMES, x.T, strict=True))), {"correlation": [3]}, labels)
    return Model(Settings({"correlation": family}), count(batch, {"correlation": family})), batch


@pytest.mark.parametrize("shrinkage", SHRINKAGE)
@pytest.mark.parametrize("d", [1, 2, 20])
def test_it_is_student_t_of_all_over_that_of_each(shrinkage, d):
    x, labels = rows(200, 3, d)
    family, _, params = fitted(x, labels, shrinkage, 3)
    z = np.clip((x - family.centre) / family.scale, -5, 5)
    for k in range(3):
        want = np.atleast_1d(multivariate_t(params.mean[k], params.matrix[k], df=5).logpdf(z))
        alone = t(5, params.mean[k], np.sqrt(np.diag(params.matrix[k]))).logpdf(z).sum(axis=1)
        assert_allclose(family.log_prob(params, x)[:, k], want - alone, atol=1e-10)


@pytest.mark.parametrize("shrinkage", SHRINKAGE)
def test_the_matrix_of_a_class_is_shrunk_towards_the_one_within_all(shrinkage):
    x, labels = rows(50)
    family, _, params = fitted(x, labels, shrinkage)
    z = (x - family.centre) / family.scale
    own = [z[labels.codes == k] - z[labels.codes == k].mean(axis=0) for k in range(2)]
    within = sum(part.T @ part for part in own) / 50 + 1e-3 * np.eye(3)
    for part, matrix in zip(own, params.matrix, strict=True):
        rows_of_prior = 1e12 if math.isinf(shrinkage) else shrinkage * 3
        want = (part.T @ part + rows_of_prior * within) / (len(part) + rows_of_prior)
        assert_allclose(matrix, want, atol=1e-9)


@pytest.mark.parametrize("shrinkage", SHRINKAGE)
@pytest.mark.parametrize("weights", [(1.0,), (0.0, 0.5, 1.0, 2.7)])
def test_leave_one_out_is_refitting_without_the_row(shrinkage, weights):
    x, labels = rows(40, 3, 4)
    labels = Labels.hard(labels.codes, np.random.default_rng(1).choice(weights, 40))
    x[3, 1] = np.nan
    x[5:7] *= 30  # clipped
    labels.codes[0], labels.weight[0] = 3, 1.0  # the only row of its class; and class 4 has none
    family, summary, params = fitted(x, labels, shrinkage, 5)
    got = family.leave_one_out(summary, params, x, labels)
    for i in range(40):
        others = np.delete(np.arange(40), i)
        refitted = family.estimate(family.tally(x[others], labels.take(others), 5))
        assert_allclose(got[i], family.log_prob(refitted, x[i : i + 1])[0], atol=1e-9)


@pytest.mark.parametrize("shrinkage", SHRINKAGE)
def test_leave_one_out_where_a_row_is_all_the_spread_there_is(shrinkage):
    x = np.array([[0.0, 0.0], [0.0, 0.0], [4.0, 4.0], [1.0, 1.0], [1.0, 1.0]])
    labels = Labels.hard(np.array([0, 0, 0, 1, 1], np.int32))
    family = Correlation(shrinkage=shrinkage)
    summary = family.tally(x, labels, 2)
    got = family.leave_one_out(summary, family.estimate(summary), x, labels)
    for i in range(5):
        others = np.delete(np.arange(5), i)
        refitted = family.estimate(family.tally(x[others], labels.take(others), 2))
        assert_allclose(got[i], family.log_prob(refitted, x[i : i + 1])[0], atol=1e-9)


def test_units_do_not_matter():
    x, labels = rows()
    scores = [f.log_prob(p, y) for y in (x, x * (1e10, 1e-10, -1.0)) for f, _, p in [fitted(y, labels)]]
    assert_allclose(scores[0], scores[1], atol=1e-9)
    extreme, _, params = fitted(x * (1e300, 1e-300, 1.0), labels)
    assert_allclose(extreme.log_prob(params, x * (1e300, 1e-300, 1.0)), scores[0], atol=1e-9)


def test_units_are_those_of_the_rows_in_any_order_and_by_weight():
    x, _ = rows()
    x[3, 1] = np.nan
    assert standardised(x) == standardised(x[::-1])
    assert standardised(np.concatenate((x, x[:5]))) == standardised(x, np.where(np.arange(60) < 5, 2.0, 1.0))
    assert standardised(x[:50]) == standardised(x, (np.arange(60) < 50).astype(float))
    centre, scale = standardised(x)
    assert_allclose((centre, scale), (np.nanmean(x, axis=0), np.nanstd(x, axis=0)), rtol=1e-12)


def test_what_is_far_out_is_clipped():
    family, _, params = fitted(*rows())
    far = family.log_prob(params, np.array([[1e9, 0.0, 0.0], [1e300, 0.0, 0.0]]))
    assert_array_equal(far[0], far[1])


def test_a_missing_number_is_no_evidence_and_is_not_counted():
    x, labels = rows()
    family, summary, params = fitted(x, labels)
    lacking = np.where(np.arange(3) == 1, np.nan, x)
    assert_array_equal(family.log_prob(params, lacking), 0.0)
    assert_array_equal(family.leave_one_out(summary, params, lacking, labels), 0.0)
    both = family.tally(np.concatenate((x, lacking)), Labels.hard(np.tile(labels.codes, 2)), 2)
    assert_array_equal(both.weight, summary.weight)
    assert_allclose(both.product, summary.product, atol=1e-12)


def test_one_number_says_nothing_beyond_itself():
    x, labels = rows(d=1)
    family, _, params = fitted(x, labels)
    assert_allclose(family.log_prob(params, x), 0.0, atol=1e-12)


def test_an_infinite_number_is_an_error_that_names_its_column():
    x, labels = rows()
    x[7, 1] = np.inf
    with pytest.raises(DataError, match="'b'"):
        model_of(x, labels, Correlation())


def test_a_model_reads_the_block_from_its_columns():
    x, labels = rows()
    model, batch = model_of(x, labels)
    family, params = model.settings.families["correlation"], model.parameters["correlation"]
    want = family.log_prob(params, x)
    assert_allclose(model.contributions(batch)[:, :, 3], want, atol=1e-12)
    weighted = Model(
        Settings(model.settings.families, weights=EvidenceWeights({SCHEMA.columns[3].name: 0.5})), model.tally
    )
    assert_allclose(weighted.contributions(batch)[:, :, 3], 0.5 * want, atol=1e-12)
    posterior = weighted.leave_one_out(batch)
    assert_allclose(np.exp(posterior).sum(axis=1), 1.0)
    assert weighted.generative.tally.blocks == {}


def test_learning_and_unlearning_rows_is_exact():
    x, labels = rows()
    model, batch = model_of(x, labels)
    family = model.settings.families["correlation"]
    some, rest = np.arange(20), np.arange(20, 60)
    first, others = (model_of(x[i], labels.take(i), family)[0] for i in (some, rest))
    for got, want in ((first + others, model), (model.unlearn(batch.take(some)), others)):
        for name, array in want.tally.blocks["correlation"].summary.arrays().items():
            assert_allclose(got.tally.blocks["correlation"].summary.arrays()[name], array, atol=1e-10)


def test_models_of_other_units_do_not_add():
    x, labels = rows()
    with pytest.raises(SettingError, match="read their columns differently"):
        model_of(x, labels)[0] + model_of(2 * x, labels)[0]


@pytest.mark.parametrize("settings", [((0.0,), ()), ((0.0,), (0.0,)), ((np.nan,), (1.0,)), ((0.0,), (1.0,), 0.0)])
def test_units_that_are_none_are_refused(settings):
    with pytest.raises(SettingError, match="above 0"):
        Correlation(*settings)


def test_units_of_other_columns_are_refused():
    x, labels = rows()
    family = Correlation(*standardised(x[:, :2]))
    with pytest.raises(SettingError, match="units of 2 numbers for a block of 3"):
        family.estimate(Correlation().tally(x, labels, 2))


@pytest.mark.parametrize("parts", [None, (), (Column("a", "text"),), (Column("a", "numeric", edges=(1.0,)),)])
def test_a_block_is_made_of_numbers(parts):
    with pytest.raises(SchemaError, match="cannot be made of"):
        Schema((Column("all", "block", parts=parts),), ("no", "yes")).check()


def test_a_name_is_not_taken_twice():
    columns = [Column(name, "numeric") for name in NAMES]
    assert together(columns, {"a, b and c together"}).name == "a, b and c taken together"


def test_a_block_stays_where_all_of_its_columns_do():
    model, _ = model_of(*rows())
    assert model.select(["c", "a", "b"]).tally.blocks["correlation"].columns == [3]
    assert model.select(["a", "b"]).tally.blocks == {}


@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_several_shrinkages_at_once_are_what_each_is_alone(n_classes):
    x, labels = rows(n_classes=n_classes)
    x[3, 1] = np.nan
    family, several = Correlation(*standardised(x)), (0.5, 8.0, 32.0, math.inf)
    summary = family.tally(x, labels, n_classes + 1)  # of the last class there is no row
    for shrinkage, found in zip(several, family.log_probs(summary, x, several), strict=True):
        alone = Correlation(family.centre, family.scale, shrinkage)
        assert_allclose(found, alone.log_prob(alone.estimate(summary), x), rtol=0, atol=1e-11)
        assert not found[3].any()
        assert found[0].any()
