"""Rows without a label: found, left out, or learned by expectation-maximisation; the same in every estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, column_or_1d

from tallybayes.core.batch import Array, Batch, Labels, Rows
from tallybayes.core.model import Model
from tallybayes.core.schema import Schema
from tallybayes.data.labels import is_hole, row_weights
from tallybayes.errors import DataError, NotAvailableError
from tallybayes.estimators._checks import check_lengths
from tallybayes.learning import em
from tallybayes.learning import mixtures as components


@dataclass(frozen=True)
class Told:
    """Labels of which some are missing."""

    labels: NDArray[Any]  # (n,) a label that occurs stands in for those that are missing
    known: NDArray[np.bool_]  # (n,) which rows have a label of their own

    @classmethod
    def of(cls, y: Any) -> Told:
        """Find the labels that are missing: None, NaN, and −1 among integers."""
        if isinstance(y, (list, tuple)) and any(map(is_hole, y)):
            y = np.array(y, dtype=object)  # NumPy would turn a hole into a label called "nan"
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
        return cls(labels, known)


class LearnsUnlabelled:
    """What estimators do with rows that have no label.

    Mixed into `BaseNB`. ``unlabelled="em"`` learns them with `tallybayes.learning.em`, whatever the family.
    """

    model_: Model
    classes_: NDArray[Any]
    n_jobs: int | None

    _em_constraints: ClassVar[dict[str, list[Any]]] = {
        "unlabelled": [StrOptions({"error", "ignore", "em"})],
        "unlabelled_weight": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "components_per_class": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "keep_responsibilities": ["boolean"],
        "verbose": ["verbose"],
    }

    def _set_em(
        self,
        unlabelled: Any,
        unlabelled_weight: Any,
        components_per_class: int,
        max_iter: int,
        tol: float,
        warm_start: bool,
        keep_responsibilities: bool,
        verbose: int,
    ) -> None:
        """Keep the parameters; called by the constructors, which have to spell them out for scikit-learn."""
        self.unlabelled = unlabelled
        self.unlabelled_weight = unlabelled_weight
        self.components_per_class = components_per_class
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.keep_responsibilities = keep_responsibilities
        self.verbose = verbose

    # ------------------------------------------------------------------------------------------ before learning

    def _sorted_out(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any, NDArray[np.bool_] | None]:
        """Leave out unlabelled rows, or say which they are; None where every row has a label."""
        if self.unlabelled == "error" or y is None:
            return X, y, weight, None
        told = Told.of(y)
        if told.known.all():
            return X, told.labels, weight, None
        if not told.known.any():
            raise DataError("no row has a label; NaiveBayesMixture finds groups without any")
        if labels_are_signs(y, told):
            raise DataError(
                f"-1 stands for a missing label with unlabelled={self.unlabelled!r}, and then all rows are of one "
                "class; if -1 is a class, number the classes otherwise"
            )
        if self.unlabelled == "em":
            return X, told.labels, weight, told.known
        rows = np.flatnonzero(told.known)
        weight = None if weight is None else row_weights(weight, len(told.known))[rows]
        return self._some_rows(X, rows, len(told.known)), told.labels[rows], weight, None

    def _nothing_told(self, y: Any) -> bool:
        """Whether a batch has no label at all, and that is no matter."""
        return self.unlabelled == "ignore" and y is not None and not Told.of(y).known.any()

    def _refuse_holes(self, known: NDArray[np.bool_] | None) -> None:
        if known is not None:
            raise DataError(
                f"row {int(np.argmin(known))} has no label: expectation-maximisation looks at all rows at once, so "
                "partial_fit cannot learn it; use fit, or unlabelled='ignore'"
            )

    def _some_rows(self, X: Any, rows: NDArray[Any], n_labels: int) -> Any:
        """Some rows of what the user passed."""
        check_lengths(_num_samples(X), n_labels)
        return _safe_indexing(X, rows)

    # ------------------------------------------------------------------------------------------ learning

    def _learn_unlabelled(self, batch: Rows, known: NDArray[np.bool_] | None, before: Model | None) -> None:
        """Go on from the model of the labelled rows to one of all rows."""
        if self.unlabelled != "em" or (known is None and self.components_per_class == 1):
            self.n_iter_, self.converged_ = 1, True  # counting takes a single pass
            return
        start = replace(self.model_, settings=replace(self.model_.settings, calibration=None))
        absent = start.tally.class_weight == 0
        if absent.any():
            raise DataError(
                f"class {start.schema.classes[int(np.argmax(absent))]!r} has no labelled row that counts, so there is "
                "nothing to start from; label one, or take the class out"
            )
        rows = batch.rows(0, batch.n_rows)
        assert rows.labels is not None
        assert rows.labels.codes is not None
        if known is not None:
            rows = replace(rows, labels=Labels(np.where(known, rows.labels.codes, em.UNKNOWN), rows.labels.weight))
        start = self._with_chosen_alpha(start, rows)
        rows = em.weighing(rows, self._chosen_weight(start, rows))
        group = None
        if self.components_per_class > 1:
            start, group = components.parted(start, rows, int(self.components_per_class), np.random.default_rng(0))
        if before is not None and _alike(before.schema, start.schema):
            start = replace(start, tally=before.tally)
        else:
            start = components.widened(start, rows)
        found = self._climb(start, rows, group, report=self._report if self.verbose else None)
        self._group, model = group, found.model
        self.model_ = model
        if group is not None:
            self.model_ = replace(model, settings=replace(model.settings, calibration=components.Pooled(group)))
        self._keep_path(found)
        self._guessed = True
        if self.keep_responsibilities:
            self.responsibilities_ = em.responsibilities(model, rows, group)

    def _with_chosen_alpha(self, start: Model, rows: Batch) -> Model:
        """Hook for ``alpha="auto"``: the start whose smoothing suits all rows, not only the labelled ones."""
        return start

    def _chosen_weight(self, start: Model, rows: Batch) -> float:
        """How much an unlabelled row counts beside a labelled one."""
        if not isinstance(self.unlabelled_weight, str):
            return float(self.unlabelled_weight)
        self.unlabelled_weight_ = em.best_weight(start, rows, self._learned)
        return self.unlabelled_weight_

    def _learned(self, start: Model, rows: Batch) -> em.Learned:
        return self._climb(components.widened(start, rows), rows)

    def _climb(self, start: Model, rows: Batch, group: Any = None, report: em.Report | None = None) -> em.Learned:
        steps = {"max_iter": int(self.max_iter), "tol": float(self.tol)}
        return em.learn(start, rows, group=group, n_jobs=self.n_jobs, report=report, **steps)  # type: ignore[arg-type]

    def _keep_path(self, found: em.Learned) -> None:
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self.log_likelihood_path_ = np.array(found.log_likelihood_path)

    def _report(self, step: int, value: float) -> None:
        print(f"[{type(self).__name__}] step {step}: penalised log likelihood {value:.6f}", flush=True)

    # ------------------------------------------------------------------------------------------ afterwards

    def _pooled(self, log_joint: Array) -> Array:
        """Log joints of the classes, where those of components were computed."""
        group = getattr(self, "_group", None)
        return log_joint if group is None else components.Pooled(group).apply(log_joint)

    def _pooled_weight(self, weight: Array) -> Array:
        """Weight of the classes, where that of components was counted."""
        group = getattr(self, "_group", None)
        return weight if group is None else np.bincount(group, weights=weight).astype(np.float64, copy=False)

    def _class_of(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Labels of classes, or of the classes that components belong to."""
        group = getattr(self, "_group", None)
        return self.classes_[codes if group is None else np.asarray(group)[codes]]

    def _refuse_components(self, verb: str) -> None:
        if getattr(self, "_group", None) is not None:
            raise NotAvailableError(f"{verb} needs one component a class; fit with components_per_class=1")

    def _refuse_guesses(self, verb: str) -> None:
        if getattr(self, "_guessed", False):
            raise NotAvailableError(
                f"{verb} is exact only where every row had a label: what the unlabelled rows were taken for depends "
                "on all the others; fit again instead"
            )


def labels_are_signs(y: Any, told: Told) -> bool:
    """Whether the labels are −1 and one other number: two classes rather than one and rows without a label."""
    labels = np.asarray(y)
    return labels.dtype.kind == "i" and len(np.unique(told.labels)) == 1


def _alike(one: Schema, two: Schema) -> bool:
    """Whether tallies of both schemas have the same shape and mean the same."""
    if one.classes != two.classes or len(one.columns) != len(two.columns):
        return False
    same = zip(one.columns, two.columns, strict=True)
    return one.columns == two.columns or all((a.name, a.kind, a.levels) == (b.name, b.kind, b.levels) for a, b in same)
