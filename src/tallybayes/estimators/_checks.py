"""scikit-learn's border: what comes in is checked here, once, and becomes a batch."""

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

from tallybayes.core.model import Model
from tallybayes.data.labels import encode_labels, factorise, is_hole
from tallybayes.data.tables import Table
from tallybayes.errors import DataError, NegativeError


@contextmanager
def unchanged_on_error(estimator: Any, *, fitting: bool = False) -> Iterator[None]:
    """Leave the estimator exactly as it was if anything goes wrong inside, and report it in scikit-learn's words.

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
        if isinstance(error, NegativeError):
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
        last = getattr(estimator, name, None)
        if last is not None and not np.array_equal(last, declared):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {last!r}")
    return declared


def negative_values(estimator: Any, error: NegativeError) -> NegativeError:
    """The error in scikit-learn's words, followed by ours."""
    return NegativeError(f"Negative values in data passed to {type(estimator).__name__} (input X): {error}")


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
        """Check labels; None, NaN, and −1 among integers are missing ones if ``unlabelled`` says what to do then."""
        if unlabelled == "error" or y is None:
            return cls(cls.checked(y), None)
        labels, known = _told_apart(y)
        if known.all():
            return cls(cls.checked(labels), None)
        if not known.any():
            if unlabelled == "ignore":
                return cls(labels, None, nothing_known=True)
            raise DataError(NO_LABEL)
        if np.asarray(y).dtype.kind == "i" and len(np.unique(labels)) == 1:
            raise DataError(
                f"-1 stands for a missing label with unlabelled={unlabelled!r}, and then all rows are of one class; if "
                "-1 is a class, number the classes otherwise"
            )
        if unlabelled == "em":
            return cls(cls.checked(labels), known)
        rows = np.flatnonzero(known)
        return cls(cls.checked(labels[rows]), None, rows, len(labels))

    @property
    def left_out(self) -> int:
        """Rows that are left out."""
        return 0 if self.keep is None else self.n_given - len(self.keep)

    def refuse_missing(self) -> None:
        """Rows that are to be estimated need all rows at once."""
        if self.known is not None:
            raise DataError(
                f"row {int(np.argmin(self.known))} has no label: expectation-maximisation looks at all rows at once, "
                "so partial_fit cannot learn it; use fit, or unlabelled='ignore'"
            )

    def labelled(self, X: Any, weight: Any) -> tuple[Any, NDArray[Any], Any]:
        """Rows, labels and weights without the rows that are left out."""
        if self.nothing_known:
            raise DataError(NO_LABEL)
        if self.keep is None:
            return X, self.labels, weight
        weight = weight if weight is None or np.ndim(weight) == 0 else np.asarray(weight)[self.keep]
        check_lengths(X.n_rows if isinstance(X, Table) else _num_samples(X), self.n_given)
        return _taken(X, self.keep), self.labels, weight

    @staticmethod
    def checked(y: Any) -> NDArray[Any]:
        """The labels as an array, refused where they are numbers to regress on."""
        return check_target(y)

    @staticmethod
    def coded(labels: NDArray[Any], classes: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """The classes, those that occur if none are given, and the class code of each label."""
        return coded(labels, classes)


NO_LABEL = "no row has a label; NaiveBayesMixture finds groups without any"


def _told_apart(y: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels with another in the place of missing ones, and which are not missing."""
    if isinstance(y, (list, tuple)) and any(map(is_hole, y)):
        y = np.array(y, dtype=object)  # NumPy would turn a missing value into a label called "nan"
    labels = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)
    if labels.dtype.kind == "O":
        known = np.fromiter((not is_hole(v) for v in labels), dtype=bool, count=len(labels))
        whole = np.array(list(labels[known]) or [0])  # numbers or text again, where they are all of a kind
        if whole.ndim == 1 and whole.dtype.kind in "iubU" and len({type(v) for v in labels[known]}) == 1:
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


def _taken(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of what the user passed."""
    if isinstance(X, Table):
        return X.take(rows)
    return _safe_indexing(X, rows)


def check_target(y: Any) -> NDArray[Any]:
    """The labels as an array, refused where they are numbers to regress on."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Pass the labels as y; NaiveBayes also "
            "takes target=…, the name of their column"
        )
    if isinstance(y, (list, tuple)) and any(map(is_hole, y)):
        y = np.array(y, dtype=object)  # NumPy would turn a hole into a label called "nan"
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


def check_lengths(n_rows: int, n_labels: int) -> None:
    """Refuse labels of other rows."""
    if n_rows != n_labels:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_labels}]")


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
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        classes = classes.astype(str)
    return classes, codes


def given_prior(prior: Any, classes: NDArray[Any]) -> dict[Any, float]:
    """Probabilities in the order of the classes, as a mapping."""
    values = np.asarray(prior, dtype=np.float64)
    if values.shape != (len(classes),):
        raise ValueError(
            f"Number of priors must match number of classes: got {values.size} for the classes {classes.tolist()}."
        )
    return dict(zip(classes.tolist(), values.tolist(), strict=True))


def class_array(model: Model) -> NDArray[Any]:
    """The class labels as an array of the type that they had."""
    classes, kind = model.schema.classes, model.provenance.labels
    if kind and kind != "object" and not kind.startswith("<U"):
        return np.array(classes, dtype=kind)
    plain = np.array(classes) if kind != "object" and len(set(map(type, classes))) <= 1 else None
    if plain is not None and plain.ndim == 1 and plain.tolist() == list(classes):
        return plain
    found = np.empty(len(classes), dtype=object)
    found[:] = classes
    return found
