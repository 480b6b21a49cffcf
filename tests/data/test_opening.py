"""Every kind of table is opened as a source of labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tallybayes import NaiveBayes
from tallybayes.data.opening import open_source
from tallybayes.data.overrides import Overrides
from tallybayes.errors import DataError, SettingError

ROWS = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "c": ["u", "v", "u", "u"], "y": ["a", "b", "b", "a"]})
USUAL = Overrides.of(None, None, None, "ignore", None)


@pytest.mark.parametrize("rows", [ROWS, ROWS.to_pandas(), ROWS.to_dict(as_series=False), ROWS.to_dicts(), ROWS.lazy()])
def test_a_table_knows_its_labels(rows: Any) -> None:
    source = open_source(rows, "y")
    assert [(c.name, c.kind) for c in source.profile(USUAL).columns] == [("x", "numeric"), ("c", "category")]
    assert source.profile(USUAL).classes == ("a", "b")
    assert (source.facts.target, source.facts.n_rows, source.facts.class_rows) == ("y", 4, (2, 2))
    assert open_source(source, None) is source


def test_labels_may_be_an_array() -> None:
    source = open_source(ROWS.drop("y"), [1, "a", 1, "a"], weight=np.ones(4))
    assert source.profile(USUAL).classes == (1, "a")
    assert source.facts.labels == "|O"
    assert source.facts.target is None


@pytest.mark.parametrize("unlabelled", ["ignore", "em"])
@pytest.mark.parametrize("route", ["frame", "csv", "lazy"])
def test_rows_without_a_label(route: str, unlabelled: str, tmp_path: Path) -> None:
    rows = pl.concat([ROWS.with_columns(y=pl.Series([0, 1, -1, 2]))] * 2)
    rows.write_csv(tmp_path / "rows.csv")
    data: Any = {"frame": rows, "csv": tmp_path / "rows.csv", "lazy": rows.lazy()}[route]
    source = open_source(data, "y", unlabelled=unlabelled)
    schema = source.profile(USUAL)
    assert schema.classes == (0, 1, 2)
    assert (source.facts.n_rows, source.facts.unlabelled) == (6, 2 if unlabelled == "ignore" else 0)
    assert source.sample(schema, {}, 100).n_rows == 6
    assert source.all_rows(schema, {}).n_rows == (6 if unlabelled == "ignore" else 8)
    assert open_source(data, "y").profile(USUAL).classes == (-1, 0, 1, 2)
    one = rows.filter(pl.col("y") < 1)
    with pytest.raises(DataError, match="-1 stands for a missing label"):
        open_source(one if route == "frame" else one.lazy(), "y", unlabelled=unlabelled).profile(USUAL)


@pytest.mark.parametrize(
    ("data", "target", "options", "message"),
    [
        (ROWS.lazy(), [1, 2, 3, 4], {}, "must be the name of one of its columns"),
        (ROWS.lazy(), None, {}, "needs the column of class labels"),
        (ROWS.lazy(), "z", {}, "has no column 'z' for the target"),
        (ROWS, "y", {"unlabelled": "guess"}, "unlabelled must be 'error', 'ignore' or 'em'"),
        (ROWS, "x", {"weight": "w"}, "has no column 'w'"),
        (ROWS, [0.5, 1.0, 1.0, 2.0], {}, "a number to regress on"),
        (ROWS, ["a", None, "b", "b"], {}, "row 2 has no label"),
        (ROWS, [None] * 4, {"unlabelled": "ignore"}, "no row has a label"),
        (ROWS, ["a", "b"], {}, "inconsistent numbers of samples"),
    ],
)
def test_what_cannot_be_opened(data: Any, target: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, SettingError), match=message):
        open_source(data, target, **options)


@pytest.mark.parametrize("n", [6, 400, 30_000])
@pytest.mark.parametrize("word", ["inf", "-Infinity", "1e999"])
def test_an_infinite_number_is_an_error_from_every_source(n: int, word: str, tmp_path: Path) -> None:
    labels, numbers = ["a", "b"] * (n // 2), [str(i % 9) for i in range(n)]
    numbers[n // 2] = word
    (tmp_path / "rows.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(numbers, labels, strict=True)))
    pl.DataFrame({"x": [float(x) for x in numbers], "y": labels}).write_parquet(tmp_path / "rows.parquet")
    for model in (NaiveBayes(), NaiveBayes(classical=True)):
        for source in ("rows.csv", "rows.parquet"):
            with pytest.raises(DataError, match="column 'x' is infinite"):
                model.fit(tmp_path / source, target="y")
        with pytest.raises(DataError, match="column 'x' is infinite"):
            model.fit({"x": [float(x) for x in numbers]}, labels)
