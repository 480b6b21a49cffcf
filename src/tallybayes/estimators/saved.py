"""Estimators from model files."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from tallybayes import estimators
from tallybayes.core.model import Model
from tallybayes.core.schema import NumberedColumns
from tallybayes.data.labels import class_array
from tallybayes.errors import ModelFileError
from tallybayes.estimators._base import BaseNB
from tallybayes.estimators.discriminant import GaussianDiscriminant
from tallybayes.estimators.mixed import NaiveBayes
from tallybayes.estimators.mixture import NaiveBayesMixture
from tallybayes.estimators.text import TextNB
from tallybayes.storage import Saved, read_all

ESTIMATORS: dict[str, type[Any]] = {
    **{cls.__name__: cls for cls in (NaiveBayes, TextNB, GaussianDiscriminant, NaiveBayesMixture)},
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
        saved = _bare(model)
    try:
        return _made(model, saved)
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be read as a model: {error}") from error
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{path} holds an estimator that cannot be made: {error}") from error


def _bare(model: Model) -> Saved:
    """What an estimator is that is made for a model alone."""
    names = {"feature_names_in_": np.array(model.schema.names, dtype=object)}
    fitted = {} if isinstance(model.schema.columns, NumberedColumns) else names
    return Saved("NaiveBayes", {}, fitted, class_array(model.schema.classes).dtype.str)


def _made(model: Model, saved: Saved) -> Any:
    """The estimator that was saved, with its model."""
    cls, fitted = _class_of(saved), dict(saved.fitted)
    if issubclass(cls, NaiveBayesMixture):
        reader = fitted.pop("classifier_", None)
        if not isinstance(reader, Saved) or not issubclass(_class_of(reader), BaseNB):
            raise ModelFileError("its clusters are those of no classifier")
        estimator = _with_attributes(_unfitted(saved), fitted)
        estimator.classifier_ = _made(model, reader)
    else:
        classes = fitted.pop("classes_", None) if not saved.labels else saved.classes(model)
        estimator = _with_attributes(_unfitted(saved), fitted)
        _check(estimator, model, classes)
        estimator.classes_ = classes
    estimator.n_features_in_ = _n_columns(model)
    estimator.model_ = model
    return estimator


def _class_of(saved: Saved) -> type[Any]:
    if saved.estimator not in ESTIMATORS:
        raise ModelFileError(f"this version knows no estimator {saved.estimator!r}")
    return ESTIMATORS[saved.estimator]


def _unfitted(saved: Saved) -> Any:
    """The estimator with its parameters; one of them may be an estimator, too."""
    params = {name: _unfitted(value) if isinstance(value, Saved) else value for name, value in saved.params.items()}
    estimator = _class_of(saved)(**params)
    estimator._validate_params()
    return estimator


def _with_attributes(estimator: Any, fitted: dict[str, Any]) -> Any:
    for name, value in fitted.items():
        # Only what fitting gives: a file must not put anything in the place of a method.
        if not re.fullmatch(r"_[a-z][a-z_]*|[a-z_]+_", name) or hasattr(estimator, name):
            raise ModelFileError(f"an estimator has no fitted attribute {name!r}")
        setattr(estimator, name, value)
    return estimator


def _check(estimator: BaseNB, model: Model, classes: Any) -> None:
    """Refuse an estimator that is not one of such a model."""
    if not isinstance(classes, np.ndarray) or classes.tolist() != list(model.schema.classes):
        raise ModelFileError("its estimator has other classes than its model")
    if not isinstance(estimator, NaiveBayes) and set(model.tally.blocks) != {estimator._block}:
        raise ModelFileError(f"a {type(estimator).__name__} does not read a tally of {sorted(model.tally.blocks)}")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and names.tolist() != list(model.schema.names[: _n_columns(model)]):
        raise ModelFileError("its estimator has other columns than its model")


def _n_columns(model: Model) -> int:
    """Columns of the table: the pairs are always the last columns of the model."""
    pairs = model.tally.blocks.get("pair")
    return len(model.schema.columns) - (0 if pairs is None else len(pairs.columns))
