"""Registries of models by scikit-learn's route: MLflow and skops, where they are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallybayes import NaiveBayes, datasets


@pytest.fixture(scope="module")
def penguins() -> tuple[NaiveBayes, Any]:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(datasets.penguins())
    species = table.pop("species")
    return NaiveBayes().fit(table, species), table


def test_skops_keeps_the_model_and_lists_only_types_of_ours(penguins: tuple[NaiveBayes, Any]) -> None:
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    model, table = penguins
    written = skops.dumps(model)
    types = skops.get_untrusted_types(data=written)
    assert types
    assert all(name.startswith("tallybayes.") for name in types)
    again = skops.loads(written, trusted=types)
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


@pytest.mark.filterwarnings("ignore")  # of MLflow, about its own types and pickles
@pytest.mark.parametrize("form", ["cloudpickle", "skops"])
def test_mlflow_keeps_the_model(penguins: tuple[NaiveBayes, Any], form: str, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow.sklearn", reason="MLflow is not installed", exc_type=ImportError)
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    model, table = penguins
    types = skops.get_untrusted_types(data=skops.dumps(model)) if form == "skops" else None
    mlflow.save_model(model, str(tmp_path / "model"), serialization_format=form, skops_trusted_types=types)
    again = mlflow.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
