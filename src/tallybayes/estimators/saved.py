"""Estimators from model files."""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes import estimators
from tallybayes.core.model import Model
from tallybayes.core.schema import NumberedColumns
from tallybayes.errors import ModelFileError
from tallybayes.estimators._fitted import Fitted
from tallybayes.estimators._matrices import MatrixNB
from tallybayes.estimators.discriminant import GaussianDiscriminant
from tallybayes.estimators.mixed import NaiveBayes
from tallybayes.estimators.mixture import NaiveBayesMixture
from tallybayes.estimators.text import TextNB
from tallybayes.learning.options import EM
from tallybayes.storage import Saved, legacy, read_all

ESTIMATORS: dict[str, type[Any]] = {
    **{cls.__name__: cls for cls in (NaiveBayes, TextNB, GaussianDiscriminant, NaiveBayesMixture)},
    **{name: getattr(estimators, name) for name in estimators.__all__},
}


KEPT = {"receipt_", "responsibilities_"}  # fitted attributes beside the model
GONE = {"calibration_"}  # that files of earlier versions hold: figures of the rows that it was fitted to
CLUSTERS = {"bic_path_", "labels_"}  # those of clusters


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
        saved = Saved("NaiveBayes", {}, {})
    try:
        return _made(model, saved)
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be read as a model: {error}") from error
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{path} holds an estimator that cannot be made: {error}") from error


def _made(model: Model, saved: Saved) -> Any:
    """The estimator that was saved, with its model."""
    cls, fitted = _class_of(saved), dict(saved.fitted)
    if issubclass(cls, NaiveBayesMixture):
        return _clusters(model, saved, fitted)
    if isinstance(model.schema.columns, NumberedColumns):  # those of an array have no names of their own
        model = replace(model, provenance=replace(model.provenance, named=False))
    estimator = _with_attributes(_unfitted(saved), fitted)
    if issubclass(cls, MatrixNB) and set(model.tally.blocks) != {cls._block}:
        raise ModelFileError(f"a {saved.estimator} does not read a tally of {sorted(model.tally.blocks)}")
    if issubclass(cls, MatrixNB):
        (read,) = model.tally.places.values()
        if list(read) != list(range(len(model.schema.columns))):
            raise ModelFileError(f"a {saved.estimator} reads all columns of an array, in their order")
    estimator.n_features_in_ = sum(1 for column in model.schema.columns if not column.is_derived)
    if model.provenance.named:
        names = model.schema.names[: estimator.n_features_in_]
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._keep(model)
    return estimator


def _clusters(model: Model, saved: Saved, fitted: dict[str, Any]) -> NaiveBayesMixture:
    """Clusters, with the classifier that reads their rows."""
    reader = fitted.pop("classifier_", None)
    if not isinstance(reader, Saved) or not issubclass(_class_of(reader), Fitted):
        raise ModelFileError("its clusters are those of no classifier")
    if model.provenance.steps is None:
        raise ModelFileError("its clusters were found in no steps")
    found = _with_attributes(_unfitted(saved), fitted, CLUSTERS)
    found.model_, found.classifier_ = model, _made(model, reader)
    found._describe()
    return found


def _class_of(saved: Saved) -> type[Any]:
    if saved.estimator not in ESTIMATORS:
        raise ModelFileError(f"this version knows no estimator {saved.estimator!r}")
    return ESTIMATORS[saved.estimator]


def _unfitted(saved: Saved) -> Any:
    """The estimator with its parameters; one of them may be an estimator, too."""
    cls = _class_of(saved)
    given = legacy.with_em(saved.params, {*cls._get_param_names()}, EM)
    params = {name: _unfitted(value) if isinstance(value, Saved) else value for name, value in given.items()}
    estimator = cls(**params)
    estimator._validate_params()
    return estimator


def _with_attributes(estimator: Any, fitted: dict[str, Any], known: Set[str] = KEPT) -> Any:
    for name, value in fitted.items():
        if name in GONE:
            continue
        if name not in known:  # a file must not put anything in the place of a method
            raise ModelFileError(f"an estimator has no fitted attribute {name!r}")
        setattr(estimator, name, value)
    return estimator
