"""Spark: predictions for a DataFrame, and an estimator for pipelines of pyspark.ml (needs the extra ``spark``).

Learning needs nothing of this: ``NaiveBayes().fit(frame, target=…)`` and ``tally(frame, target=…)`` take a Spark
DataFrame as they take any other table, and Spark counts.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from tallybayes.errors import DataError, needs

needs("pyspark", "spark")

from pyspark.ml import Estimator, Model  # noqa: E402  only after it is known to be there
from pyspark.ml.param import Param, Params, TypeConverters  # noqa: E402
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable  # noqa: E402

from tallybayes.estimators.mixed import NaiveBayes  # noqa: E402
from tallybayes.estimators.saved import load  # noqa: E402
from tallybayes.inspection.predictions import PredictionColumns, prediction_fields, with_predictions  # noqa: E402


def predict(model: Any, frame: Any, **options: Any) -> Any:
    """Add the predictions of a model to a Spark DataFrame, batch by batch where the rows are.

    Parameters
    ----------
    model : Model or fitted NaiveBayes
    frame : pyspark.sql.DataFrame
    **options
        ``beside``, ``threshold``, ``least``, …: the fields of `inspection.predictions.PredictionColumns`.

    Returns
    -------
    pyspark.sql.DataFrame
        The rows with ``prediction`` and ``p_LABEL`` for every class, or what the options ask for.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    model, output = getattr(model, "model_", model), PredictionColumns(**options)
    output.check(model.schema.classes)
    if taken := [name for name in output.names(model.schema.classes) if output.beside and name in frame.columns]:
        raise DataError(f"the Spark DataFrame already has a column {taken[0]!r}; rename it")
    if not set(frame.columns) & set(model.schema.names):
        raise DataError(f"the Spark DataFrame has none of the columns that the model knows: {model.schema.names[:5]}")
    wanted = frame if output.beside else frame.select(*(_quoted(c) for c in frame.columns if c in model.schema.names))
    kept = list(to_arrow_schema(wanted.schema)) if output.beside else []
    schema = pa.schema([*kept, *prediction_fields(model, output)])

    def score(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows:
                own = pa.schema([*(batch.schema if output.beside else []), *prediction_fields(model, output)])
                yield with_predictions(model, batch, output, own)

    return wanted.mapInArrow(score, from_arrow_schema(schema))


def _quoted(name: str) -> str:
    """The name of a column to Spark, which takes a dot for the way into a record."""
    return "`" + name.replace("`", "``") + "`"


class _Columns(Params):
    """Parameters that the estimator and its model share."""

    labelCol: Param[str] = Param(Params._dummy(), "labelCol", "column of class labels", TypeConverters.toString)
    reasons: Param[int] = Param(Params._dummy(), "reasons", "how many reasons to add to each row", TypeConverters.toInt)

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._setDefault(labelCol="label", reasons=0)
        self._set(**given)


class NaiveBayesEstimator(_Columns, Estimator, DefaultParamsReadable, DefaultParamsWritable):
    """`NaiveBayes` as a stage of a pyspark.ml Pipeline; it takes the columns as they are.

    Parameters
    ----------
    labelCol : str, default="label"
        Column of class labels.
    weightCol : str, default=""
        Column of row weights; none if empty.
    reasons : int, default=0
        How many of the strongest reasons are added to each row.
    options : dict
        Parameters of `NaiveBayes`.
    """

    weightCol: Param[str] = Param(Params._dummy(), "weightCol", "column of row weights", TypeConverters.toString)
    options: Param[str] = Param(Params._dummy(), "options", "those of NaiveBayes, as JSON", TypeConverters.toString)

    def __init__(self, options: dict[str, Any] | None = None, **given: Any) -> None:
        super().__init__(**given)
        self._setDefault(weightCol="", options="{}")
        self._set(options=json.dumps(options or {}))

    def _fit(self, dataset: Any) -> NaiveBayesModel:
        options = json.loads(self.getOrDefault(self.options))
        weight = self.getOrDefault(self.weightCol) or None
        target = self.getOrDefault(self.labelCol)
        fitted = NaiveBayes(**options).fit(dataset, target=target, sample_weight=weight)
        return NaiveBayesModel.of(fitted, labelCol=target, reasons=self.getOrDefault(self.reasons))


class NaiveBayesModel(_Columns, Model, DefaultParamsReadable, DefaultParamsWritable):
    """A fitted stage: adds ``prediction`` and ``p_LABEL`` to the rows. Its model file is one of its parameters."""

    file: Param[str] = Param(Params._dummy(), "file", "the model file, in base 64", TypeConverters.toString)

    @classmethod
    def of(cls, fitted: NaiveBayes, **given: Any) -> NaiveBayesModel:
        """The stage of a fitted estimator."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tally")
            fitted.save(path)
            with open(path, "rb") as file:
                text = base64.b64encode(file.read()).decode()
        return cls(file=text, **given)

    @property
    def fitted(self) -> NaiveBayes:
        """The estimator of scikit-learn's kind."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tally")
            with open(path, "wb") as file:
                file.write(base64.b64decode(self.getOrDefault(self.file)))
            return load(path)

    def _transform(self, dataset: Any) -> Any:
        return predict(self.fitted, dataset, reasons=self.getOrDefault(self.reasons))
