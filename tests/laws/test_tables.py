"""The laws of the tally for whole tables: mixed columns, holes and weights, in every form that is read.

Categories are declared and kinds are told wherever a model is fitted on part of the rows, so that it knows the same
columns as the model of all rows.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tallybayes import NaiveBayes, Tokens
from tallybayes.core.metrics import score
from tallybayes.core.schema import Schema
from tallybayes.core.summaries import Moments
from tallybayes.core.tally import Tally
from tallybayes.errors import ColumnWarning
from tallybayes.learning.folds import dealt
from tests.frames import FORMS, birds, needs_pyarrow, taken

from .compare import assert_same_tally

CLASSES = ["p", "q", "r"]
KIND = {
    "city": "category",
    "flag": "category",
    "side": "numeric",
    "mass": "numeric",
    "visits": "count",
    "note": "text",
    "topics": "tags",
}

SETTINGS = {
    "plain": {},
    "shared": {"variance": "shared", "prior": "uniform", "unseen": "smooth", "family": {"note": "bernoulli"}},
    "rare": {
        "min_count": 2,
        "prior_alpha": 0.5,
        "alpha": {"city": 2.0, "flag": 0.3},
        "family": {"note": "complement"},
    },
    "holes": {"missing": "level", "prior": {"p": 0.5, "q": 0.2, "r": 0.3}, "alpha": 0.2},
}
every_setting = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)


def naive_bayes(settings):
    # A floor on the variance that is worth its name: rounding is not divided by next to nothing.
    # The words are hashed: without its row a vocabulary would be smaller, and so would the smoothing.
    return NaiveBayes(classical=True, kind=KIND, tokens=Tokens(hashed=4), var_smoothing=0.1, **settings)


# Two complete rows of each class stay in every model: a column that is constant without its row has no spread but what
# rounding leaves, and scores would be divided by it.
ANCHORS = {
    "city": list("abcabc"),
    "flag": [True, False, True, True, False, False],
    "side": [-1.0, 0.25, 1.5, 3.0, 2.0, -0.5],
    "mass": [1e4, 1e4 + 2, 1e4 + 7, 1e4 + 1, 1e4 + 3, 1e4 + 4],
    "visits": [1, 0, 2, 5, 3, 4],
    "note": ["to be", "or not", "to be or!", "not to", "be not", "or or to be"],
    "topics": ["war|love", "love", "war", "sea|war", "sea", "love | sea"],  # every tag twice: none is a row's own
}
N = len(ANCHORS["city"])


def tables(least=2, most=8):
    """A mixed table with missing values, a label and a weight for every row; the first rows are the anchors."""
    width = len(ANCHORS) + 2  # bytes of a row: drawing cell by cell takes most of the time
    drawn = st.tuples(st.integers(least, most), st.binary(min_size=width * most, max_size=width * most))
    return drawn.map(lambda each: _table(np.frombuffer(each[1], dtype=np.uint8).reshape(-1, width)[: each[0]]))


def _table(rows):
    cells = iter(rows.T.tolist())

    def chosen(values):
        return [values[cell % len(values)] for cell in next(cells)]

    def column(name, values):
        return [*ANCHORS[name], *chosen([None, *values])]

    x = pd.DataFrame(
        {
            "city": pd.Categorical(column("city", list("abc")), categories=list("abcd")),
            "flag": pd.Categorical(column("flag", [False, True]), categories=[False, True]),
            "side": np.array(column("side", [-2.0, 0.5, 1.0, 3.25]), dtype=float),
            "mass": np.array(column("mass", [1e4, 1e4 + 1, 1e4 + 5]), dtype=float),
            "visits": np.array(column("visits", [0.0, 1.0, 7.0]), dtype=float),
            "note": column("note", ["", "to to", "be!", "or not to be"]),
            "topics": column("topics", ["", "war|war", "sea", "love|sea|war"]),
        }
    )
    y = np.array([*CLASSES, *CLASSES, *chosen(CLASSES)])
    return x, y, np.array([1.0] * N + chosen([0.5, 1.0, 1.0, 2.0, 3.7]))


def fitted(settings, x, y, weight):
    """A model that knows all classes, whether they occur or not."""
    return naive_bayes(settings).partial_fit(x, y, classes=CLASSES, sample_weight=weight)


def without_reasons(tally):
    """Reasons tell how many rows were seen, in which two ways to the same counts may differ."""
    columns = tuple(replace(column, reason="", lasting="", whole=False) for column in tally.schema.columns)
    return Tally(Schema(columns, tally.schema.classes), tally.class_weight, tally.blocks)


# ---------------------------------------------------------------------------------------------- leaving out


@every_setting
@given(table=tables())
def test_leave_one_out_is_refitting_without_the_row(settings, table):
    x, y, weight = table
    found = fitted(settings, x, y, weight).leave_one_out(x[N:], y[N:], weight[N:])

    def refitted(i):
        rest = np.delete(np.arange(len(y)), i)
        return fitted(settings, x.iloc[rest], y[rest], weight[rest]).predict_log_proba(x.iloc[[i]])[0]

    assert_allclose(found, [refitted(i) for i in range(N, len(y))], rtol=1e-9, atol=1e-9)


@every_setting
@given(table=tables(), n_folds=st.integers(2, 4), seed=st.integers(0, 3))
def test_k_fold_is_refitting_without_the_fold(settings, table, n_folds, seed):
    x, y, weight = table
    codes, model = np.searchsorted(CLASSES, y), fitted(settings, x, y, weight)
    fold, log_posterior = dealt(model.labelled_rows(x, y, weight), n_folds, seed), np.empty((len(y), 3))
    assume(all(np.ptp(x["side"][:N][fold[:N] != number]) > 1 for number in range(n_folds)))
    found = model.evaluate(x, y, weight, method=n_folds, seed=seed)
    for number in range(n_folds):
        out, rest = fold == number, fold != number
        log_posterior[out] = fitted(settings, x[rest], y[rest], weight[rest]).predict_log_proba(x[out])
    expected = score(log_posterior, codes, CLASSES, weight)
    assert found.log_loss.value == pytest.approx(expected.log_loss.value, rel=1e-8, abs=1e-8)
    assert found.brier.value == pytest.approx(expected.brier.value, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["pandas", "polars", "rows"])
def test_real_rows_with_missing_values_are_left_out_exactly(form, weighted):
    """Every seventh penguin, each really left out of the other 343."""
    x, y = birds()
    y = np.array(y)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.5], 344) if weighted else np.ones(344)
    table, some = FORMS[form](x), np.arange(0, 344, 7)
    model = NaiveBayes(classical=True).fit(table, y, weight)
    found = model.leave_one_out(table, y, weight)[some]

    def refitted(i):
        rest = np.delete(np.arange(344), i)
        return NaiveBayes(classical=True).fit(taken(x, rest), y[rest], weight[rest]).predict_log_proba(taken(x, [i]))[0]

    assert_allclose(found, [refitted(i) for i in some], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another number"])
@given(value=st.sampled_from([0.0, 0.1, 7.0, 1 / 3, -123.456]), n=st.integers(8, 40))
def test_a_column_that_one_row_alone_varies_is_constant_without_it(beside, value, n):
    """A constant is no evidence; what rounding leaves of the row must not pass for a spread of the others."""
    x = {"mostly": [value] * (n - 1) + [value + 3.0], "city": list("aabb" + "ab" * n)[:n]}
    if beside:
        x["side"] = np.sin(np.arange(n)).tolist()
    y, rest, last = np.array(CLASSES * n)[:n], range(n - 1), [n - 1]
    expected = NaiveBayes(classical=True).fit(taken(x, rest), y[rest]).predict_log_proba(taken(x, last))
    model = NaiveBayes(classical=True).fit(x, y)
    assert_allclose(model.leave_one_out(x, y)[last], expected, rtol=1e-6, atol=1e-6)
    assert_allclose(model.unlearn(taken(x, last), y[last]).predict_log_proba(taken(x, last)), expected, atol=1e-6)


# ---------------------------------------------------------------------------------------------- forgetting


@every_setting
@given(table=tables(), whole=st.booleans(), data=st.data())
def test_unlearning_is_fitting_the_rest(settings, table, whole, data):
    x, y, weight = table
    weight = np.ceil(weight) if whole else weight
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y))))
    assume(gone.any() and not gone.all())
    rest = ~gone
    given = isinstance(settings.get("prior"), dict)  # which names all classes, so none of them may go
    assume(not given or set(y[rest]) == set(y))
    model = fitted(settings, x, y, weight)
    learned = without_reasons(model.tally_)
    found = without_reasons(model.unlearn(x[gone], y[gone], weight[gone]).tally_)
    expected = without_reasons(fitted(settings, x[rest], y[rest], weight[rest]).tally_)
    assert_same_tally(found, expected, scale=learned)
    if whole:  # counts are whole numbers, and those are exact
        assert_array_equal(found.class_weight, expected.class_weight)
        assert_array_equal(found.blocks["categorical"].summary.count, expected.blocks["categorical"].summary.count)


def test_unlearned_penguins_leave_moments_to_a_billionth():
    x, y = birds()
    y, gone, rest = np.array(y), range(0, 344, 3), [i for i in range(344) if i % 3]
    found = NaiveBayes(classical=True).fit(x, y).unlearn(taken(x, gone), y[::3]).tally_
    expected = NaiveBayes(classical=True).fit(taken(x, rest), y[rest]).tally_
    for name, block in expected.blocks.items():
        mine = found.blocks[name].summary
        if not isinstance(mine, Moments):
            assert_array_equal(mine.count, block.summary.count)
            continue
        assert_array_equal(mine.weight, block.summary.weight)
        assert_allclose(mine.mean, block.summary.mean, rtol=1e-9)
        assert_allclose(mine.m2, block.summary.m2, rtol=1e-9)


# ---------------------------------------------------------------------------------------------- where rows come from


@st.composite
def plain_columns(draw):
    """Columns as they come, whatever they turn out to be: text, numbers, yes and no, all with missing values."""
    n = draw(st.integers(6, 30))

    def column(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    letters = st.text("ab NÅß\n'\"<", max_size=2)
    return {
        "text": column(st.none() | letters),
        "word": column(letters),
        "real": column(st.none() | st.floats(-1e6, 1e6, width=32)),
        "whole": column(st.integers(-5, 40)),
        "flag": column(st.booleans()),
        "holed flag": column(st.none() | st.booleans()),
        "nothing": [None] * n,
    }


@pytest.mark.parametrize("form", [pytest.param(f, marks=needs_pyarrow if f == "pyarrow" else ()) for f in FORMS])
@given(columns=plain_columns(), seed=st.integers(0, 9))
def test_the_form_of_the_table_makes_no_difference(form, columns, seed):
    rng = np.random.default_rng(seed)
    n = len(columns["text"])
    y, weight = rng.choice(CLASSES, n), rng.choice([0.5, 1.0, 2.0], n)
    table = FORMS[form](columns)
    with warnings.catch_warnings(action="ignore", category=ColumnWarning):  # all columns may turn out constant
        model, expected = (
            NaiveBayes(classical=True).fit(table, y, weight),
            NaiveBayes(classical=True).fit(columns, y, weight),
        )
    assert str(model.schema_) == str(expected.schema_)
    assert_same_tally(without_reasons(model.tally_), without_reasons(expected.tally_), exact=True)
    assert_array_equal(model.predict_joint_log_proba(table), expected.predict_joint_log_proba(columns))


@pytest.mark.parametrize("form", [pytest.param(f, marks=needs_pyarrow if f == "pyarrow" else ()) for f in FORMS])
@given(seed=st.integers(0, 100))
def test_numbers_in_an_array_are_numbers_in_a_table(form, seed):
    rng = np.random.default_rng(seed)
    array, y = rng.normal(size=(30, 3)) * [1, 100, 1e-3], rng.choice(CLASSES, 30)
    array[rng.random((30, 3)) < 0.2] = np.nan
    table = {f"x{j}": [None if np.isnan(v) else v for v in array[:, j].tolist()] for j in range(3)}
    model, expected = (
        NaiveBayes(classical=True).fit(FORMS[form](table), y),
        NaiveBayes(classical=True).fit(array, y),
    )
    assert str(model.schema_) == str(expected.schema_)
    assert_same_tally(model.tally_, expected.tally_, scale=expected.tally_)
    assert_allclose(model.predict_proba(FORMS[form](table)), expected.predict_proba(array), rtol=1e-9)


# ---------------------------------------------------------------------------------------------- batches and order


@every_setting
@given(table=tables(), data=st.data())
def test_batches_in_any_order_add_up(settings, table, data):
    x, y, weight = table
    order = np.array(data.draw(st.permutations(range(len(y)))))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(y) - 1), max_size=3)))
    model = naive_bayes(settings)
    for part in np.split(order, cuts):
        model.partial_fit(x.iloc[part], y[part], classes=CLASSES, sample_weight=weight[part])
    expected = fitted(settings, x, y, weight)
    assert_same_tally(without_reasons(model.tally_), without_reasons(expected.tally_))
    asked = model.predict_joint_log_proba(x), expected.predict_joint_log_proba(x)
    assert_allclose(*asked, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["pandas", "polars", "dict"])
@given(seed=st.integers(0, 100), n_jobs=st.integers(1, 4))
def test_the_order_of_rows_and_the_number_of_threads_make_no_difference(form, seed, n_jobs):
    x, y = birds()
    order = np.random.default_rng(seed).permutation(344)
    shuffled = NaiveBayes(classical=True, n_jobs=n_jobs).fit(FORMS[form](taken(x, order)), np.array(y)[order])
    expected = NaiveBayes(classical=True).fit(x, y)
    assert_same_tally(without_reasons(shuffled.tally_), without_reasons(expected.tally_))


@every_setting
@given(table=tables(), data=st.data())
def test_sites_add_up_to_the_whole(settings, table, data):
    x, y, weight = table
    here = np.array(data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y))))
    assume(here.any() and not here.all())
    north, south = (fitted(settings, x[part], y[part], weight[part]) for part in (here, ~here))
    expected = fitted(settings, x, y, weight)
    for both in (north + south, south + north):
        assert_same_tally(without_reasons(both.tally_), without_reasons(expected.tally_))


# ---------------------------------------------------------------------------------------------- evidence


@every_setting
@given(table=tables(), data=st.data())
def test_contributions_add_up_and_explanations_too(settings, table, data):
    x, y, weight = table
    model = fitted(settings, x, y, weight)
    asked = x.assign(city=["z", *x["city"].astype(object)[1:]])  # a level never seen is among them
    parts, joint = model.contributions(asked), model.predict_joint_log_proba(asked)
    assert_allclose(parts.sum(axis=2) + model.model_.log_prior, joint, rtol=1e-12, atol=1e-12)
    row = data.draw(st.integers(0, len(y) - 1))
    against = data.draw(st.sampled_from(CLASSES))
    found = model.explain(asked.iloc[[row]], against=against)
    own = dict(zip(CLASSES, joint[row], strict=True))
    assert found.total == pytest.approx(own[found.label] - own[against], rel=1e-9, abs=1e-9)
    assert found.total == found.prior + math.fsum(e.log_odds for e in found.evidence)
