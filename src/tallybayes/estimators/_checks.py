"""scikit-learn's border: what comes in is checked here, once, and becomes a batch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d, validate_data

from tallybayes.data.labels import class_array, encode_labels, factorise, is_hole
from tallybayes.errors import DataError


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave the estimator exactly as it was if anything goes wrong inside."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def check_matrix(estimator: Any, x: Any, *, reset: bool, sparse: bool) -> Any:
    """Validate X as scikit-learn does, but leave the search for odd values to the kernels, which pass over it anyway.

    A plain matrix of numbers of the right width needs none of scikit-learn's conversions, and skipping them is what
    makes the prediction of a single row cheap.
    """
    if (
        type(x) is np.ndarray
        and x.ndim == 2
        and x.dtype.kind in "fiub"
        and x.size
        and (reset or (x.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_")))
    ):
        if reset:
            vars(estimator).pop("feature_names_in_", None)
            estimator.n_features_in_ = x.shape[1]
        return x
    accept = "csr" if sparse else False
    return validate_data(estimator, x, accept_sparse=accept, ensure_all_finite=False, reset=reset)


def check_target(y: Any) -> NDArray[Any]:
    """The labels as an array, refused where they are numbers to regress on."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Pass the labels as y; NaiveBayes also "
            "takes target=…, the name of their column"
        )
    if isinstance(y, (list, tuple)) and _needs_objects(y):
        y = np.array(y, dtype=object)
    labels = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)
    if labels.dtype.kind == "f":
        if np.isnan(labels).any():
            row = int(np.flatnonzero(np.isnan(labels))[0])
            raise _without_label(row)
        if np.isinf(labels).any():
            raise DataError("Input y contains infinity or a value too large for a label")
        if (labels != np.floor(labels)).any():
            row = int(np.flatnonzero(labels != np.floor(labels))[0])
            raise DataError(
                f"Unknown label type: continuous. The target holds {labels[row]:g} (row {row}), a number to regress "
                "on, not a class; bin it, or turn it into text if these are labels"
            )
    return labels


def _needs_objects(labels: Sequence[Any]) -> bool:
    """Whether NumPy would change labels: a missing one to "nan", 1 beside "a" to "1", and "a\\0" to "a"."""
    if any(map(is_hole, labels)):
        return True
    texts = [isinstance(label, str) for label in labels]
    return any(texts) and (not all(texts) or any(label.endswith("\0") for label in labels))


def check_lengths(n_rows: int, n_labels: int) -> None:
    """Refuse labels of other rows."""
    if n_rows != n_labels:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_labels}]")


def warn_of_many_classes(n_classes: int, n_rows: int, stacklevel: int) -> None:
    """Say so where a target looks like a number or a name."""
    if 2 * n_classes > n_rows > 10:
        warnings.warn(
            f"The target has {n_classes} classes in {n_rows} rows, more than half: is it a label at all?",
            UserWarning,
            stacklevel=stacklevel,
        )


def generator(random_state: Any) -> np.random.Generator:
    """NumPy's dice for what scikit-learn calls a random state."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4))


def _without_label(row: int) -> DataError:
    return DataError(
        f"Input y contains NaN or None: row {row} has no label; leave such rows out (unlabelled='ignore'), or learn "
        "from them too (unlabelled='em')"
    )


def coded(labels: NDArray[Any], classes: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The classes, those that occur if none are given, and the class code of each label."""
    if classes is not None:
        holes = [i for i, label in enumerate(labels.tolist()) if is_hole(label)] if labels.dtype.kind == "O" else []
        if holes:
            raise _without_label(holes[0])
        return classes, encode_labels(labels, classes)
    classes, codes = factorise(labels)
    if not len(classes):
        raise DataError("Input y contains NaN or None only: no row has a label")
    if codes.min() < 0:
        raise _without_label(int(np.argmin(codes)))
    if classes.dtype.kind in "OT" and all(isinstance(label, str) for label in classes):
        classes = class_array(classes.tolist())
    return classes, codes
