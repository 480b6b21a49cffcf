"""Fitting an estimator to files, and to tables in databases and other engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from tallybayes.data.engines import Lazy
from tallybayes.data.file_sources import Learned, learn_file, open_source, recounted
from tallybayes.data.files import Progress
from tallybayes.errors import SettingError
from tallybayes.estimators._checks import unchanged_on_error, warn_of_many_classes
from tallybayes.learning import refinement as planning
from tallybayes.learning.weights import LEAST_ROWS

Estimator = TypeVar("Estimator", bound=Any)


def fit_file(estimator: Estimator, path: Any, target: Any, weight: Any) -> Estimator:
    """Learn the rows of files, forgetting everything learned before."""
    learn_into(estimator, path, target, weight)
    return estimator


def learn_into(
    estimator: Any, path: Any, target: Any, weight: Any, unlabelled: str = "error", progress: Progress | None = None
) -> Learned:
    """The same, answering what was learned of the files."""
    file = open_source(path)
    for what, name in (("target", target), ("sample_weight", weight)):
        if name is not None and not isinstance(name, str):
            of = "a lazy table" if isinstance(file, Lazy) else "a file"
            raise SettingError(f"{what} of {of} must be the name of one of its columns")
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
        if not estimator.classical and sum(learned.n_rows) >= LEAST_ROWS and len(learned.tally.schema.classes) > 1:
            learned = _planned(estimator, learned, progress)
        estimator._adopt(learned.tally)
        if isinstance(estimator.alpha, str) or estimator.calibration is not None:
            rows = learned.sample()
            estimator._choose_smoothing(rows)
            estimator._calibrate_on(rows)
    estimator._note_empty_columns()
    warn_of_many_classes(len(learned.tally.schema.classes), sum(learned.n_rows), stacklevel=4)
    return learned


def _planned(estimator: Any, learned: Learned, progress: Progress | None) -> Learned:
    """Choose from a sample how the columns are read, and count all rows so."""
    rows = learned.sample()
    base = estimator._settings(learned.tally.schema)
    estimator._plan, model = planning.make(rows, base, estimator._wishes(rows), estimator.n_jobs)
    places = estimator._plan.places(model.schema)
    if rows.n_rows == sum(learned.n_rows):  # the sample was all there is
        return replace(learned, tally=model.tally, places=places)
    return recounted(learned, model.schema, places, model.settings.families, progress)
