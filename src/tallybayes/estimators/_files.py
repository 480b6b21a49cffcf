"""Fitting an estimator to files."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from tallybayes.errors import SettingError
from tallybayes.estimators._checks import unchanged_on_error
from tallybayes.files import Learned, learn_file
from tallybayes.sources.files import Progress, open_file

Estimator = TypeVar("Estimator", bound=Any)


def fit_file(estimator: Estimator, path: Any, target: Any, weight: Any) -> Estimator:
    """Learn the rows of files, forgetting everything learned before."""
    learn_into(estimator, path, target, weight)
    return estimator


def learn_into(
    estimator: Any, path: Any, target: Any, weight: Any, unlabelled: str = "error", progress: Progress | None = None
) -> Learned:
    """The same, answering what was learned of the files."""
    file = open_file(path)
    for what, name in (("target", target), ("sample_weight", weight)):
        if name is not None and not isinstance(name, str):
            raise SettingError(f"{what} of a file must be the name of one of its columns")
    with unchanged_on_error(estimator):
        estimator._forget()
        estimator._validate_params()
        learned = learn_file(
            file,
            target,
            estimator._overrides(),
            lambda schema: estimator._settings(schema).families,
            weight=weight,
            unlabelled=unlabelled,
            progress=progress,
        )
        estimator._made_by, estimator._target = "pyarrow", learned.target
        estimator._adopt(learned.tally)
        if isinstance(estimator.alpha, str) or estimator.calibration is not None:
            estimator._choose_smoothing(learned.sample())
    estimator._note_empty_columns()
    n_classes, n_rows = len(learned.tally.schema.classes), sum(learned.n_rows)
    if 2 * n_classes > n_rows > 10:
        warnings.warn(
            f"The target has {n_classes} classes in {n_rows} rows, more than half: is it a label at all?",
            UserWarning,
            stacklevel=3,
        )
    return learned
