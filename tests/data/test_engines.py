"""Tables that stay in their engine: what is refused, what is drawn, and what a failure leaves behind."""

import math
import warnings

import duckdb
import numpy as np
import polars as pl
import pytest

import tallybayes
import tallybayes.learning.learn as learn
from tallybayes import NaiveBayes
from tallybayes.core.schema import Column, Schema
from tallybayes.data.engines import Lazy, count_lazy
from tallybayes.errors import DataError, SettingError
from tallybayes.families import Kernel
from tests.engines import Engines, mixed_frame

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

ROWS = pl.DataFrame(
    {
        "x": [1.0, math.nan, None, 4.0, 5.0, 7.0],
        "c": ["a", "b", None, "a", "b", "a"],
        "y": ["no", "no", "no", "yes", "yes", "yes"],
    }
)


def test_nan_is_a_missing_value_as_null_is():
    tally = tallybayes.tally(ROWS.lazy(), target="y")
    np.testing.assert_array_equal(tally.blocks["gaussian"].summary.weight[:, 0], [1, 3])
    np.testing.assert_array_equal(tally.blocks["gaussian"].summary.mean[:, 0], [1, 16 / 3])


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ({}, {"target": "nix"}, "LazyFrame has no column 'nix' for the target"),
        ({}, {}, "needs the column of class labels"),
        ({}, {"target": "y", "weight": "nix"}, "no column 'nix' for the weights"),
        ({}, {"target": "y", "weight": "x"}, "finite and non-negative, but it is nan"),
        ({"x": [1.0, -2.0, 1, 1, 1, 1]}, {"target": "y", "weight": "x"}, "but it is -2"),
        ({"x": [0.0] * 6}, {"target": "y", "weight": "x"}, "at least one non-zero"),
        ({"x": [1.0, math.inf, 1, 1, 1, 1]}, {"target": "y"}, "'x' is infinite in some row"),
        ({"x": [1e200, -1e200, 1, 1, 1, 1]}, {"target": "y"}, "squares overflow"),
        ({"c": [[1]] * 6}, {"target": "y"}, "'c' holds lists"),
        ({"y": [0.5, 1.5] * 3}, {"target": "y"}, "a number to regress on"),
        ({"y": ["a", "a", "b", "b", "b", None]}, {"target": "y"}, "1 row of the Polars LazyFrame have no label"),
        ({"y": pl.Series([None] * 6, dtype=pl.String)}, {"target": "y", "unlabelled": "ignore"}, "no row with a label"),
        ({"y": pl.Series([[1]] * 6)}, {"target": "y"}, "which cannot be a label"),
        ({"x": [-1.0] * 6}, {"target": "y", "family": {"x": "lognormal"}}, "a lognormal number is above 0"),
        ({"x": [-1.0] * 6}, {"target": "y", "family": {"x": "exponential"}}, "at least 0"),
        ({}, {"target": "y", "kind": {"x": "count"}, "family": {"x": "multinomial"}}, "has missing values"),
    ],
)
def test_bad_tables_are_refused(changed, options, message):
    rows = ROWS.with_columns(**{name: pl.Series(values, strict=False) for name, values in changed.items()})
    with pytest.raises((DataError, SettingError), match=message):
        tallybayes.tally(rows.lazy(), **options)


def test_rows_without_a_label_can_be_left_out():
    rows = ROWS.with_columns(y=pl.Series(["no", "no", None, "yes", "yes", None]))
    assert tallybayes.tally(rows.lazy(), target="y", unlabelled="ignore").class_weight.tolist() == [2, 2]


def test_an_empty_table_says_so():
    with pytest.raises(DataError, match="has no rows"):
        tallybayes.tally(ROWS.lazy().filter(pl.col("y") == "?"), target="y")


def test_numbers_of_rows_are_no_evidence():
    rows = pl.DataFrame({"id": range(50), "x": [float(i % 7) for i in range(50)], "y": [i % 2 for i in range(50)]})
    assert [c.kind for c in tallybayes.tally(rows.lazy(), target="y").schema.columns] == ["ignored", "numeric"]


def test_a_connection_that_is_lost_leaves_the_model_as_it_was(tmp_path):
    connection = duckdb.connect(str(tmp_path / "rows.db"))
    connection.execute("CREATE TABLE rows AS SELECT i % 3 AS c, i / 7 AS x, i % 2 AS y FROM range(100) r(i)")
    model = NaiveBayes(classical=True).fit(connection.table("rows"), target="y")
    before, lost = model.model_, connection.table("rows")
    connection.execute("DROP TABLE rows")
    with pytest.raises(DataError, match="the DuckDB relation could not be counted"):
        model.fit(lost, target="y")
    assert model.model_ is before
    connection.close()


@pytest.mark.parametrize("name", ["polars lazy", "duckdb", "ibis duckdb"])
def test_a_large_table_is_planned_by_a_sample_and_counted_in_full(name, tmp_path, request, monkeypatch):
    monkeypatch.setattr(learn, "SAMPLE", 1000)
    frame = mixed_frame(4000).select("i16", "mood", "spent", "label")
    table = Engines(frame, tmp_path, request)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NaiveBayes().fit(table, target="label")
    assert model.class_count_.sum() == 4000
    assert model.score(frame.drop("label"), frame["label"].to_numpy()) > 0.6


def test_the_target_must_be_the_name_of_a_column():
    with pytest.raises(SettingError, match="target of a lazy table must be the name"):
        NaiveBayes().fit(ROWS.lazy(), [1, 2, 3])


def test_a_column_of_many_bins_is_counted_in_dask():
    """Each edge that is one more step inwards would be too deep."""
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    x = np.arange(3000) / 10.0
    frame = pd.DataFrame({"x": x, "y": np.where(np.arange(3000) % 2, "a", "b")})
    column = Column("x", "numeric", edges=tuple(np.arange(1, 500) / 2.0))
    places, families = {"kernel": [0]}, {"kernel": Kernel()}
    lazy = Lazy.of(dd.from_pandas(frame, npartitions=2))
    counted = count_lazy(lazy, Schema((column,), ("a", "b")), places, families, "y", None).blocks["kernel"].summary
    bins = np.searchsorted(column.edges, x, side="right")
    np.testing.assert_array_equal(counted.count.sum(axis=0), np.bincount(bins, minlength=500))
