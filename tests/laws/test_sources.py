"""One law for every place that rows may be in: the tally is the same."""

import warnings
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import tallybayes
from tallybayes import NaiveBayes
from tallybayes.data.engines import Lazy, count_lazy
from tallybayes.data.frames import read_table
from tallybayes.data.opening import open_source
from tests.blocks import block_added
from tests.engines import LAZY, NAMES, Engines, mixed_frame

pytestmark = pytest.mark.filterwarnings(  # of the engines
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
)
OPTIONS = {"kind": {"visits": "count"}, "family": {"size": "lognormal", "spent": "zero_inflated", "f32": "exponential"}}


FEW = [name for name in NAMES if name != "spark"]  # a question takes Spark a second, so it is asked less often


@pytest.fixture(scope="module")
def frame():
    return mixed_frame()


@pytest.fixture(scope="module")
def engines(frame, tmp_path_factory, request):
    return Engines(frame, tmp_path_factory.mktemp("rows"), request)


def same(found, expected, rtol):
    assert found.schema.classes == expected.schema.classes
    assert [(c.name, c.kind, c.levels) for c in found.schema.columns] == [
        (c.name, c.kind, c.levels) for c in expected.schema.columns
    ]
    np.testing.assert_array_equal(found.class_weight, expected.class_weight)
    assert found.blocks.keys() == expected.blocks.keys()
    for name, block in expected.blocks.items():
        for field, values in block.summary.arrays().items():
            ours = found.blocks[name].summary.arrays()[field]
            whole = np.array_equal(values, np.rint(values)) or field in ("weight", "rest_weight", "n_levels")
            # A quarter is exact in binary, so sums of weights are, too.
            np.testing.assert_allclose(ours, values, rtol=0 if whole else rtol, atol=1e-9 if field == "mean" else 0)


@pytest.mark.parametrize(
    ("name", "weight"),
    # A CSV has no types: true and false are words there.
    [(name, None) for name in NAMES if name != "csv"] + [(name, "worth") for name in FEW if name != "csv"],
)
def test_the_tally_does_not_depend_on_where_the_rows_are(engines, name, weight):
    drop = ["worth"] if weight is None else []
    expected = tallybayes.tally(engines["polars"], target="label", weight=weight, drop=drop)
    same(tallybayes.tally(engines[name], target="label", weight=weight, drop=drop), expected, 1e-9)


@pytest.mark.parametrize("name", FEW)
def test_moments_are_those_of_exact_arithmetic(engines, frame, name):
    tally = tallybayes.tally(engines[name], target="label", weight="worth")
    block = tally.blocks["gaussian"]
    for column in ("far", "apart", "i8", "i16", "i32", "u8", "u16", "f32", "same"):
        j = [tally.schema.columns[c].name for c in block.columns].index(column)
        for k, label in enumerate(tally.schema.classes):
            rows = frame.filter((pl.col("label") == label) & pl.col(column).is_not_null())
            x, w = ([Fraction(v) for v in rows[name].to_list()] for name in (column, "worth"))
            mean = sum(map(Fraction.__mul__, w, x)) / sum(w)
            m2 = sum(b * (a - mean) ** 2 for a, b in zip(x, w, strict=True))
            close = 1e-6 if name == "csv" and column == "f32" else 1e-9  # single precision is written in fewer digits
            assert block.summary.weight[k, j] == sum(w)
            assert block.summary.mean[k, j] == pytest.approx(float(mean), rel=1e-12, abs=1e-6)
            assert block.summary.m2[k, j] == pytest.approx(float(m2), rel=close)


@pytest.mark.parametrize(("name", "weight"), [(n, "worth") for n in LAZY] + [(n, None) for n in FEW if n in LAZY])
def test_every_family_is_counted_in_the_engine(engines, name, weight):
    drop = ["worth"] if weight is None else []
    expected = tallybayes.tally(engines["polars"], target="label", weight=weight, drop=drop, missing="level", **OPTIONS)
    assert {"gaussian", "lognormal", "zero_inflated", "exponential", "categorical", "poisson"} <= set(expected.blocks)
    same(
        tallybayes.tally(engines[name], target="label", weight=weight, drop=drop, missing="level", **OPTIONS),
        expected,
        1e-9,
    )


@pytest.mark.parametrize("name", LAZY)
def test_bins_and_pairs_are_counted_in_the_engine(engines, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NaiveBayes(
            pairs=[("town", "mood"), ("far", "mood")], drop=["worth"], numeric="kernel", weights="learn"
        ).fit(engines["polars"], target="label")
    places = {block: list(b.columns) for block, b in model.tally_.blocks.items()}
    assert {"kernel", "pair"} <= set(places)
    found = count_lazy(Lazy.of(engines[name]), model.schema_, places, model.model_.settings.families, "label", None)
    same(found, model.tally_, 1e-9)


@pytest.fixture(scope="module")
def with_block(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = NaiveBayes(classical=True, drop=["worth"]).fit(frame, target="label").model_
    return block_added(plain, read_table(frame), frame["label"].to_list(), ("far", "i16", "size"))


@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_vary_together_are_counted_wherever_the_rows_are(engines, with_block, name):
    source, model = open_source(engines[name], "label"), with_block
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = source.grown(model.schema)
    places = {"correlation": model.tally.places["correlation"]}
    found = source.count(schema, places, model.settings.families).blocks["correlation"].summary
    for field, values in model.tally.blocks["correlation"].summary.arrays().items():
        np.testing.assert_allclose(found.arrays()[field], values, rtol=0 if field == "weight" else 1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in FEW if name in LAZY])
def test_a_model_is_fitted_where_the_rows_are(engines, frame, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = NaiveBayes(drop=["worth"]).fit(frame, target="label")
        there = NaiveBayes(drop=["worth"]).fit(engines[name], target="label")
    # All rows are the sample that the plan is made from, but an engine may give them in another order.
    np.testing.assert_array_equal(there.class_count_, here.class_count_)
    rows = frame.drop("label", "worth")
    agree = there.predict(rows) == here.predict(rows)
    assert agree.mean() > 0.97


@pytest.fixture(scope="module")
def letters(tmp_path_factory, request):
    rng, n = np.random.default_rng(1), 300
    y = rng.integers(0, 2, n)
    words = ["win", "cash", "now", "it's", "free"], ["see", "you", "at", "lunch", "now"]
    texts = [" ".join(rng.choice(words[k], 1 + rng.poisson(5))) if rng.random() > 0.1 else None for k in y]
    topics = [rng.choice(["sea", "war", "it's", "so; so"], 2, p=[0.1 + 0.5 * k, 0.6 - 0.5 * k, 0.1, 0.2]) for k in y]
    lists = [tags.tolist()[: rng.integers(0, 3)] if rng.random() > 0.1 else None for tags in topics]
    frame = pl.DataFrame({"body": texts, "yes": y == 1, "worth": rng.integers(0, 4, n) / 4})
    frame = frame.with_columns(tags=pl.Series(["|".join(tags) or None if tags else None for tags in lists]))
    frame = frame.with_columns(label=pl.Series([("spam", "mail")[k] for k in y]))
    return Engines(frame, tmp_path_factory.mktemp("letters"), request)


@pytest.mark.parametrize(
    ("name", "weight"),
    [(name, None) for name in ["parquet", *LAZY]] + [(name, "worth") for name in LAZY if name in FEW],
)
def test_words_are_the_same_wherever_the_texts_are(letters, name, weight):
    kind = {"body": "text", "tags": "tags"}
    options = {"target": "label", "weight": weight, "kind": kind, "drop": [] if weight else ["worth"]}
    expected = tallybayes.tally(letters["polars"], **options)
    same(tallybayes.tally(letters[name], **options), expected, 1e-9)
