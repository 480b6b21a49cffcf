"""Estimators from model files."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from tallybayes import estimators
from tallybayes.core.model import Model
from tallybayes.core.schema import NumberedColumns
from tallybayes.errors import ModelFileError
from tallybayes.estimators._base import BaseNB
from tallybayes.estimators.mixed import NaiveBayes
from tallybayes.estimators.text import TextNB
from tallybayes.storage import Saved, read_all

ESTIMATORS: dict[str, type[BaseNB]] = {
    "NaiveBayes": NaiveBayes,
    "TextNB": TextNB,
    **{name: getattr(estimators, name) for name in estimators.__all__},
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted estimator from a file.

    Parameters
    ----------
    path : path
        A file that `save` or the command line wrote.

    Returns
    -------
    estimator
        Of the class that was saved; a `NaiveBayes` where the file holds a model or a tally alone.

    Raises
    ------
    ModelFileError
        If the file is no model file, is damaged, or is of a version to come.

    Examples
    --------
    >>> import tempfile, tallybayes
    >>> path = os.path.join(tempfile.mkdtemp(), "iris.tally")
    >>> tallybayes.GaussianNB().fit([[1.0], [2.0], [7.0]], ["low", "low", "high"]).save(path)
    >>> tallybayes.load(path).predict([[1.5]])
    array(['low'], dtype='<U4')
    """
    model, saved = read_all(path)
    if saved is None:
        saved = Saved("NaiveBayes", {}, _bare(model))
    try:
        return _made(model, saved)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{path} holds an estimator that cannot be made: {error}") from error


def _bare(model: Model) -> dict[str, Any]:
    """The fitted attributes of an estimator that is made for a model."""
    classes = {"classes_": np.array(model.schema.classes)}
    if isinstance(model.schema.columns, NumberedColumns):
        return classes
    return {**classes, "feature_names_in_": np.array(model.schema.names, dtype=object)}


def _made(model: Model, saved: Saved) -> BaseNB:
    if saved.estimator not in ESTIMATORS:
        raise ModelFileError(f"this version knows no estimator {saved.estimator!r}")
    cls = ESTIMATORS[saved.estimator]
    estimator = cls(**saved.params)
    estimator._validate_params()
    for name, value in saved.fitted.items():
        # Only what fitting gives: a file must not put anything in the place of a method.
        if not re.fullmatch(r"_[a-z][a-z_]*|[a-z_]+_", name) or hasattr(estimator, name):
            raise ModelFileError(f"an estimator has no fitted attribute {name!r}")
        setattr(estimator, name, value)
    classes = getattr(estimator, "classes_", None)
    if not isinstance(classes, np.ndarray) or classes.tolist() != list(model.schema.classes):
        raise ModelFileError("its estimator has other classes than its model")
    if not issubclass(cls, NaiveBayes) and set(model.tally.blocks) != {cls._block}:
        raise ModelFileError(f"a {saved.estimator} does not read a tally of {sorted(model.tally.blocks)}")
    names = getattr(estimator, "feature_names_in_", None)
    n_pairs = sum(column.kind == "pair" for column in model.schema.columns)  # always the last ones
    n_columns = len(model.schema.columns) - n_pairs
    if names is not None and names.tolist() != list(model.schema.names[:n_columns]):
        raise ModelFileError("its estimator has other columns than its model")
    estimator.n_features_in_ = n_columns
    estimator.model_ = model
    return estimator
