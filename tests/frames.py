"""The same table in every form that is read: frames of three libraries, a dict of columns, a list of dicts."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pandas as pd
import polars as pl
import pytest

from tallybayes.data.datasets import penguins

# PyArrow is large and optional: a user's machine may lack it, but the project's own must not.
needs_pyarrow = pytest.mark.skipif(
    find_spec("pyarrow") is None and os.environ.get("CI") != "true", reason="PyArrow is not installed"
)


def arrow(columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table(columns)


def rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": arrow}
FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {**FRAMES, "dict": dict, "rows": rows}


def _each(makers: dict[str, Callable[[dict[str, Any]], Any]]) -> Any:
    marks = {"pyarrow": [needs_pyarrow]}
    return pytest.mark.parametrize(
        "make", [pytest.param(make, id=name, marks=marks.get(name, [])) for name, make in makers.items()]
    )


every_form = _each(FORMS)
every_frame = _each(FRAMES)


def birds() -> tuple[dict[str, list[Any]], list[str]]:
    """The penguins as columns and their species: numbers, text and missing values."""
    columns = penguins()
    return columns, columns.pop("species")


def taken(columns: dict[str, list[Any]], keep: Any) -> dict[str, list[Any]]:
    """Some rows of a dict of columns, by number."""
    return {name: [values[i] for i in keep] for name, values in columns.items()}
