"""Checks of what users pass to estimators, in scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from tallybayes.core.settings import prior_by_class
from tallybayes.data import targets
from tallybayes.data.frames import Table
from tallybayes.errors import DataError, NegativeError


@contextmanager
def unchanged_on_error(estimator: Any, *, fitting: bool = False, drop_in: bool = False) -> Iterator[None]:
    """Leave the estimator exactly as it was if anything goes wrong inside.

    What replaces a class of scikit-learn reports negative counts in scikit-learn's words.

    A failed ``fit`` leaves one trace, as in scikit-learn: the classes of its rows, see `check_declared`.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException as error:
        refused = vars(estimator).get("classes_")
        vars(estimator).clear()
        vars(estimator).update(before)
        if fitting and refused is not None and not np.array_equal(refused, before.get("classes_", refused)):
            estimator._refused_classes = refused
        if drop_in and isinstance(error, NegativeError):
            raise negative_values(estimator, error) from None
        raise
    vars(estimator).pop("_refused_classes", None)


def check_declared(estimator: Any, classes: Any) -> NDArray[Any]:
    """The classes declared to ``partial_fit``, refused where they are not those of the last call.

    Nor may they be declared after a ``fit`` that failed on rows of other classes: that is scikit-learn's rule, and
    keeps rows that belong with the new ones out of the older model that the failure left in place.
    """
    declared = np.asarray(unique_labels(classes))
    for name in ("_refused_classes", "classes_"):
        last = vars(estimator).get(name)
        if last is not None and not np.array_equal(last, declared):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {last!r}")
    return declared


def negative_values(estimator: Any, error: NegativeError) -> NegativeError:
    """The error in scikit-learn's words, followed by ours."""
    return NegativeError(f"Negative values in data passed to {type(estimator).__name__} (input X): {error}")


def check_matrix(estimator: Any, x: Any, *, reset: bool, sparse: bool) -> Any:
    """Validate X as scikit-learn does, but leave the search for invalid values to the kernels, which read it anyway.

    A plain matrix of numbers of the right width needs none of scikit-learn's conversions, and skipping them is what
    makes the prediction of a single row cheap.
    """
    if (
        type(x) is np.ndarray
        and x.ndim == 2
        and x.dtype.kind in "fiub"
        and x.size
        and (reset or (x.shape[1] == estimator.n_features_in_ and "feature_names_in_" not in vars(estimator)))
    ):
        if reset:
            vars(estimator).pop("feature_names_in_", None)
            estimator.n_features_in_ = x.shape[1]
        return x
    accept = "csr" if sparse else False
    return validate_data(estimator, x, accept_sparse=accept, ensure_all_finite=False, reset=reset)


@dataclass(frozen=True)
class Target(targets.Target):
    """Class labels of which some may be missing, in scikit-learn's conventions."""

    @classmethod
    def of(cls, y: Any, unlabelled: str) -> Target:
        """Check labels, see `data.targets.Target`."""
        return super().of(_one_dimension(y), unlabelled)  # type: ignore[return-value]

    def labelled(self, X: Any, weight: Any) -> tuple[Any, NDArray[Any], Any]:
        """Rows, labels and weights without the rows that are left out."""
        if self.nothing_known:
            raise DataError(targets.NO_LABEL)
        if self.keep is None:
            return X, self.labels, weight
        weight = weight if weight is None or np.ndim(weight) == 0 else np.asarray(weight)[self.keep]
        check_lengths(X.n_rows if isinstance(X, Table) else _num_samples(X), self.n_given)
        return _taken(X, self.keep), self.labels, weight

    @staticmethod
    def checked(y: Any) -> NDArray[Any]:
        """The labels as an array, refused where they are numbers to regress on."""
        return targets.checked_labels(_one_dimension(y))

    coded = staticmethod(targets.coded)


def _one_dimension(y: Any) -> Any:
    """Labels as scikit-learn takes them: a column of a matrix will do, with a warning."""
    plain = y is None or isinstance(y, (list, tuple)) or (type(y) is np.ndarray and y.ndim == 1)
    if plain and not (isinstance(y, (list, tuple)) and y and np.ndim(y[0])):
        return y
    return y if getattr(y, "ndim", None) == 1 and hasattr(y, "to_numpy") else column_or_1d(y, warn=True)


def _taken(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of what the user passed."""
    if isinstance(X, Table):
        return X.take(rows)
    return _safe_indexing(X, rows)


def check_lengths(n_rows: int, n_labels: int) -> None:
    """Refuse labels of other rows."""
    if n_rows != n_labels:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_labels}]")


def check_size(table: Table, estimator: Any, n_labels: int | None = None) -> None:
    """Refuse a table without rows or columns, and labels of other rows, in scikit-learn's words."""
    check_lengths(table.n_rows, table.n_rows if n_labels is None else n_labels)
    if table.n_rows == 0 or not table.columns:
        raise ValueError(
            f"Found array with {table.n_rows} sample(s) and {len(table.columns)} feature(s) (shape="
            f"({table.n_rows}, {len(table.columns)})) while a minimum of 1 is required by {type(estimator).__name__}."
        )


def generator(random_state: Any) -> np.random.Generator:
    """NumPy's generator for scikit-learn's ``random_state``."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4))


def given_prior(prior: Any, classes: NDArray[Any]) -> dict[Any, float]:
    """Probabilities in the order of the classes, as a mapping."""
    return prior_by_class(np.asarray(prior, dtype=np.float64), classes.tolist())  # type: ignore[return-value]


def common_type(before: NDArray[Any], more: NDArray[Any]) -> str:
    """The type of labels that holds both; the plainest where they differ."""
    if before.dtype.kind == more.dtype.kind:
        return max(before.dtype, more.dtype, key=lambda kind: kind.itemsize).str
    return "|O" if "O" in (before.dtype.kind, more.dtype.kind) else ""
