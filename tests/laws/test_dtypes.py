"""One column of every dtype, from every library that has it: one model, or one clear error."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from tallybayes import NaiveBayes
from tallybayes.errors import DataError

N = 40
LABELS = ["a", "b"] * (N // 2)
OTHER = [float(i % 5) for i in range(N)]
TEXTS = ["u", "v", "w", "u"] * (N // 4)
INTS = [1, 2, 3, 5] * (N // 4)
DECIMALS = [decimal.Decimal(i % 7) / 4 for i in range(N)]
DURATIONS = [datetime.timedelta(seconds=i % 7) for i in range(N)]
DAYS = [datetime.date(2020, 1, 1 + i % 9) for i in range(N)]


def arrow(values: Any, kind: Any) -> pd.Series[Any]:
    return pd.Series(pd.array(values, dtype=pd.ArrowDtype(kind)))


DTYPES: dict[str, list[Any]] = {
    "text": [
        TEXTS,
        *(arrow(TEXTS, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())),
        arrow(TEXTS, pa.dictionary(pa.int32(), pa.string())),
        *(pl.Series(TEXTS, dtype=kind) for kind in (pl.String, pl.Categorical)),
        *(pa.array(TEXTS, type=kind) for kind in (pa.string(), pa.large_string(), pa.string_view())),
        pa.array(TEXTS).dictionary_encode(),
    ],
    "integers": [
        INTS,
        np.array(INTS, dtype=np.uint8),
        pd.Series(INTS, dtype="Int16"),
        arrow(INTS, pa.int8()),
        *(pl.Series(INTS, dtype=kind) for kind in (pl.Int8, pl.UInt64, pl.Int128)),
        pa.array(INTS, type=pa.uint32()),
    ],
    "decimals": [
        DECIMALS,
        pd.Series(DECIMALS),
        arrow(DECIMALS, pa.decimal128(10, 2)),
        pl.Series(DECIMALS),
        *(pa.array(DECIMALS, type=kind) for kind in (pa.decimal128(10, 2), pa.decimal256(40, 2))),
    ],
    "nothing": [
        [None] * N,
        pd.Series([None] * N, dtype=object),
        pd.Series([np.nan] * N),
        arrow([None] * N, pa.null()),
        arrow([None] * N, pa.string()),
        pl.Series([None] * N),
        pl.Series([None] * N, dtype=pl.Float64),
        pa.nulls(N),
        pa.nulls(N, pa.float64()),
    ],
    "durations": [
        DURATIONS,
        np.array(DURATIONS, dtype="timedelta64[us]"),
        pd.Series(DURATIONS),
        arrow(DURATIONS, pa.duration("us")),
        pl.Series(DURATIONS),
        pa.array(DURATIONS),
    ],
    "dates": [DAYS, pd.Series(pd.to_datetime(DAYS)), arrow(DAYS, pa.date32()), pl.Series(DAYS), pa.array(DAYS)],
    "booleans": [
        [True, False] * (N // 2),
        pd.Series([True, False] * (N // 2), dtype="boolean"),
        arrow([True, False] * (N // 2), pa.bool_()),
        pl.Series([True, False] * (N // 2)),
        pa.array([True, False] * (N // 2)),
    ],
    "bytes": [[b"x", b"y"] * (N // 2), pl.Series([b"x", b"y"] * (N // 2)), pa.array([b"x", b"y"] * (N // 2))],
    "tags": [
        [["a", "b"], ["a"]] * (N // 2),
        pd.Series([["a", "b"], ["a"]] * (N // 2)),
        pl.Series([["a", "b"], ["a"]] * (N // 2)),
        pa.array([["a", "b"], ["a"]] * (N // 2)),
    ],
    "lists": [[[1], [2]] * (N // 2), pl.Series([[1], [2]] * (N // 2)), pa.array([[1], [2]] * (N // 2))],
}


def table(values: Any) -> Any:
    makers = ((pd.Series, pd.DataFrame), (pl.Series, pl.DataFrame), ((pa.Array, pa.ChunkedArray), pa.table))
    make: Any = next((make for kind, make in makers if isinstance(values, kind)), dict)  # type: ignore[arg-type]
    return make({"c": values, "other": OTHER})


def outcome(given: Any, **target: str) -> tuple[Any, ...]:
    """Everything about the model, or its error."""
    try:
        model = NaiveBayes(classical=True).fit(given, *([] if target else [LABELS]), **target)
    except DataError as error:
        return ("error", str(error))
    column = model.schema_.columns[0]
    return (
        column.kind,
        column.reason,
        column.levels,
        model.predict_proba({"other": [1.0], "c": [None]}).round(12).tolist(),
    )


@pytest.mark.filterwarnings("ignore::tallybayes.errors.ColumnWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_model_from_every_library(dtype: str, tmp_path: Path) -> None:
    first = outcome(table(DTYPES[dtype][0]))
    assert (first[0] == "error") == (dtype in ("bytes", "lists"))
    for values in DTYPES[dtype]:
        given = table(values)
        assert outcome(given) == first, type(values)
        if first[0] == "error":
            continue
        model = NaiveBayes(classical=True).fit(given, LABELS)
        before = model.predict_proba(given)
        model.partial_fit(given, LABELS).unlearn(given, LABELS)
        np.testing.assert_allclose(model.predict_proba(given), before, rtol=1e-9)
        if isinstance(given, pa.Table):
            parquet.write_table(given.append_column("label", pa.array(LABELS)), tmp_path / "rows.parquet")
            assert outcome(tmp_path / "rows.parquet", target="label") == first, str(given.schema)
