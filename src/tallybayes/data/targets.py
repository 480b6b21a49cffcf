"""Class labels of rows in memory: checked, coded, and those that are missing found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tallybayes.core.schema import Level
from tallybayes.data.labels import class_array, encode_labels, factorise, is_missing, objects
from tallybayes.errors import DataError, SettingError, row_number

NO_LABEL = "no row has a label; NaiveBayesMixture finds groups without any"


@dataclass(frozen=True)
class Target:
    """Class labels of which some may be missing."""

    labels: NDArray[Any]  # (n,) a label that occurs stands in for those that are missing
    known: NDArray[np.bool_] | None  # (n,) which rows have a label of their own, where some are to be estimated
    keep: NDArray[np.intp] | None = None  # the rows that have a label, where the others are left out
    n_given: int = 0  # rows that were given
    nothing_known: bool = False  # no row has a label, and that is no matter

    @classmethod
    def of(cls, y: Any, unlabelled: str) -> Target:
        """Check labels; None, NaN, and −1 among integers are missing labels unless ``unlabelled`` is "error"."""
        check_unlabelled(unlabelled)
        if unlabelled == "error" or y is None:
            return cls(checked_labels(y), None)
        labels, known = _split(label_array(y))
        if known.all():
            return cls(checked_labels(labels), None)
        if not known.any():
            if unlabelled == "ignore":
                return cls(labels, None, nothing_known=True)
            raise DataError(NO_LABEL)
        if np.asarray(y).dtype.kind == "i":
            refuse_signs(np.unique(labels).tolist(), unlabelled)
        if unlabelled == "em":
            return cls(checked_labels(labels), known)
        rows = np.flatnonzero(known)
        return cls(checked_labels(labels[rows]), None, rows, len(labels))

    @property
    def left_out(self) -> int:
        """Rows that are left out."""
        return 0 if self.keep is None else self.n_given - len(self.keep)

    def refuse_missing(self) -> None:
        """Rows that are to be estimated need all rows at once."""
        if self.known is not None:
            raise DataError(
                f"row {row_number(int(np.argmin(self.known)))} has no label: expectation-maximisation needs all "
                "rows at once, so partial_fit cannot learn it; use fit, or unlabelled='ignore'"
            )


def check_unlabelled(unlabelled: str) -> None:
    """Refuse what is not known to do with rows that have no label."""
    if unlabelled not in ("error", "ignore", "em"):
        raise SettingError(f"unlabelled must be 'error', 'ignore' or 'em', not {unlabelled!r}")


def refuse_signs(classes: Sequence[Level], unlabelled: str) -> None:
    """Labels that are −1 and one other number are two classes rather than one and rows without a label."""
    if len(classes) == 1:
        raise DataError(
            f"-1 stands for a missing label with unlabelled={unlabelled!r}, and then all rows are of one class; if "
            "-1 is a class, number the classes otherwise"
        )


def label_array(y: Any) -> NDArray[Any]:
    """Labels as an array of one dimension, as they are."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Pass the labels as y; NaiveBayes also "
            "takes target=…, the name of their column"
        )
    if isinstance(y, (list, tuple)) and _needs_objects(y):
        return objects(y)
    labels = _exact(y)
    if labels.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {labels.shape} instead.")
    return labels


def name_of(y: Any) -> str | None:
    """The name of a series of labels, if it has one."""
    column = nw.from_native(y, series_only=True, pass_through=True)
    return column.name if isinstance(column, nw.Series) and isinstance(column.name, str) and column.name else None


def _exact(y: Any) -> NDArray[Any]:
    """Labels as an array; a column of integers or booleans with missing values as objects, for floats round them."""
    if isinstance(y, (np.ndarray, list, tuple)):
        return np.asarray(y)
    column = nw.from_native(y, series_only=True, pass_through=True)
    whole = isinstance(column, nw.Series) and (column.dtype.is_integer() or column.dtype == nw.Boolean)
    return objects(column.to_list()) if whole and column.null_count() else np.asarray(y)


def _needs_objects(labels: Sequence[Any]) -> bool:
    """Whether NumPy would change labels: a missing one to "nan", 1 beside "a" to "1", and "a\\0" to "a"."""
    if any(map(is_missing, labels)):
        return True
    texts = [isinstance(label, str) for label in labels]
    return any(texts) and (not all(texts) or any(label.endswith("\0") for label in labels))


def _split(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels with another in the place of missing ones, and which are not missing."""
    if labels.dtype.kind == "O":
        known = np.fromiter((not is_missing(v) for v in labels), dtype=bool, count=len(labels))
        whole = class_array(labels[known].tolist() or [0])  # numbers or text again, where they are all of a kind
        if whole.dtype.kind in "iubU":
            plain = np.zeros(len(labels), dtype=whole.dtype)
            plain[known] = whole
            labels = plain
    else:
        known = ~np.isnan(labels) if labels.dtype.kind == "f" else np.ones(len(labels), dtype=bool)
    if labels.dtype.kind == "i":
        known = known & (labels != -1)
    if not known.all() and known.any():
        labels = labels.copy()
        labels[~known] = labels[known][0]
    return labels, known


def checked_labels(y: Any) -> NDArray[Any]:
    """The labels as an array, refused where they are numbers to regress on."""
    labels = label_array(y)
    if labels.dtype.kind == "f":
        if np.isnan(labels).any():
            raise _without_label(int(np.flatnonzero(np.isnan(labels))[0]))
        if np.isinf(labels).any():
            raise DataError("Input y contains infinity or a value too large for a label")
        if (labels != np.floor(labels)).any():
            row = int(np.flatnonzero(labels != np.floor(labels))[0])
            raise DataError(
                f"Unknown label type: continuous. The target holds {labels[row]:g} (row {row_number(row)}), a number "
                "to regress on, not a class; bin it, or turn it into text if these are labels"
            )
    return labels


def _without_label(row: int) -> DataError:
    return DataError(
        f"Input y contains NaN or None: row {row_number(row)} has no label; leave such rows out (unlabelled='ignore'), "
        "or learn from them too (unlabelled='em')"
    )


def coded(labels: NDArray[Any], classes: NDArray[Any] | None = None) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The classes, those that occur if none are given, and the class code of each label."""
    if classes is not None:
        missing = (
            [i for i, label in enumerate(labels.tolist()) if is_missing(label)] if labels.dtype.kind == "O" else []
        )
        if missing:
            raise _without_label(missing[0])
        return classes, encode_labels(labels, classes)
    classes, codes = factorise(labels)
    if not len(classes):
        raise DataError("Input y contains NaN or None only: no row has a label")
    if codes.min() < 0:
        raise _without_label(int(np.argmin(codes)))
    if classes.dtype.kind in "OT" and all(isinstance(label, str) for label in classes):
        classes = class_array(classes.tolist())
    return classes, codes
