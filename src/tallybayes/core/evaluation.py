"""The performance of a model as a record: figures with intervals, confusion and calibration."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.conformal import Conformity, SetFigures
from tallybayes.core.equality import ByValue
from tallybayes.core.listings import Listing, amount, as_html, as_text, short
from tallybayes.core.notebook import folded, panel
from tallybayes.core.ranking import Ranking
from tallybayes.core.schema import Level, plural
from tallybayes.errors import SettingError

BINS = 15  # of the reliability table
WIDTH = 80  # columns of a terminal
MOST_CLASSES = 20  # that are printed
MOST_MISTAKES = 10  # that are printed where the confusion matrix is too wide
LEAVE_ONE_OUT = "leave-one-out"  # the method, where it is exact
MOST_CONFUSED = 100  # classes of the confusion matrix: it grows with their square, and is stored in models


@dataclass(frozen=True)
class Interval:
    """A figure and its 95 % confidence interval.

    Examples
    --------
    >>> print(Interval(0.95, 0.9, 0.98))
    0.9500 (0.9000 – 0.9800)
    """

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.high - self.low) and self.low <= self.value <= self.high):
            raise SettingError(f"{self.value!r} does not lie between {self.low!r} and {self.high!r}")

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} – {self.high:.4f})"


@dataclass(frozen=True)
class Bin:
    """Rows whose predicted class has a probability above ``low`` and up to ``high``."""

    low: float
    high: float
    weight: float
    confidence: float  # mean probability of the predicted class
    accuracy: float  # share of the rows whose prediction is right


@dataclass(frozen=True, eq=False)
class Evaluation(ByValue):
    """Performance of a model on labelled rows; prints as a table. A row of weight w counts as w rows.

    It holds sums, never rows, so it can be stored in a model file. Two of them are equal by their figures, whatever the
    day and the name of the source.

    Parameters
    ----------
    method : str
        How the rows were held out: "leave-one-out", "test", or in folds: those of learning, or all repeated.
    classes : tuple
    n_rows : int
    accuracy, log_loss, brier : Interval
        Share of rows whose predicted class is right (Wilson's interval); mean −log P(y | x), and mean Σ_k of the
        squared differences between P(k | x) and 1 for the right class or 0 for a wrong one (Student's intervals over
        the rows). Weights say how much rows count, not how many there are: intervals are those of (Σ w)² / Σ w² rows.
    confusion : ndarray of shape (C, C)
        Weight by true (first axis) and predicted class, of all classes or of the 100 most frequent (`confused`).
    reliability : tuple of Bin
        Confidence and accuracy by confidence; only bins that have rows.
    margins : ndarray of shape (3, K), optional
        Weight by true class, by predicted class, and of the rows predicted correctly by class, where the confusion
        matrix does not have all classes.
    sets : SetFigures, optional
        Prediction sets that should hold the right class of 90 % of the rows.
    conformity : Conformity, optional
        What prediction sets are made from: how probable the right classes of these rows were.
    rankings : tuple of Ranking
        How well the probability of each class ranks the rows; of two classes that of the second, of more than 20 none.
    cost : Interval, optional
        Mean cost of a row if the prediction of least expected cost is made, where costs were given.
    baseline_cost : float
        Mean cost of always making the one prediction that costs least.
    n_folds : int
        Number of folds; 0 where there were none.
    n_learned : int
        Number of rows that the model had learned when it was evaluated; 0 where that is unknown.
    date : str
        The day of the evaluation (UTC), such as "2026-11-17".
    source : str
        What held the rows: the name of a file without its folder, "pandas DataFrame", …
    """

    method: str
    classes: tuple[Level, ...]
    n_rows: int
    accuracy: Interval
    log_loss: Interval
    brier: Interval
    confusion: Array
    reliability: tuple[Bin, ...]
    margins: Array | None = None
    sets: SetFigures | None = None
    conformity: Conformity | None = None
    rankings: tuple[Ranking, ...] = ()
    cost: Interval | None = None
    baseline_cost: float = 0.0
    n_folds: int = 0
    n_learned: int = 0
    date: str = field(default="", compare=False)
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        n_classes = len(self.classes)
        shown, tables = (
            min(n_classes, MOST_CONFUSED),
            [self.confusion, *([] if self.margins is None else [self.margins])],
        )
        shapes = [table.shape for table in tables]
        if shapes[0] != (shown, shown) or shapes[1:] != [(3, n_classes)] * (n_classes > shown):
            raise SettingError(f"an evaluation of {plural(n_classes, 'class')} cannot have tables of {shapes}")
        if not (all(np.isfinite(t).all() and (t >= 0).all() for t in tables) and self.weight > 0):
            raise SettingError("the rows of an evaluation must have weights of at least 0, and not all of them 0")
        if min(self.n_rows - 1, self.n_folds, self.n_learned) < 0 or len(self.reliability) > BINS:
            raise SettingError("an evaluation cannot have so many rows, folds or bins")
        if not (math.isfinite(self.baseline_cost) and len(self.rankings) <= n_classes):
            raise SettingError("an evaluation has a ranking for each class at most, and finite costs")
        if self.conformity is not None and len(self.conformity.classes) not in (0, n_classes):
            raise SettingError("the prediction sets of an evaluation must be for its classes")
        if not re.fullmatch(r"(\d{4}-\d\d-\d\d)?", self.date):
            raise SettingError(f"the date of an evaluation must be a day such as 2026-11-17, not {self.date!r}")

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return float(self.support.sum())

    @property
    def support(self) -> Array:
        """Weight (K,) of the rows of each class."""
        return self.confusion.sum(axis=1) if self.margins is None else self.margins[0]

    @property
    def predicted(self) -> Array:
        """Weight (K,) of the rows that were predicted as each class."""
        return self.confusion.sum(axis=0) if self.margins is None else self.margins[1]

    @property
    def correct(self) -> Array:
        """Weight (K,) of the rows of each class that were predicted as it."""
        return self.confusion.diagonal() if self.margins is None else self.margins[2]

    @property
    def confused(self) -> tuple[Level, ...]:
        """The classes of the confusion matrix: all of them, or the 100 most frequent."""
        return tuple(self.classes[k] for k in most_frequent(self.support))

    def confusion_of(self, most: int) -> tuple[tuple[Level, ...], Array, Array]:
        """The most frequent classes, at most so many, their confusion matrix and the weight of each."""
        weight = self.support[most_frequent(self.support)]
        kept = np.sort(np.argsort(-weight, kind="stable")[:most])
        return tuple(self.confused[k] for k in kept), self.confusion[np.ix_(kept, kept)], weight[kept]

    @property
    def precision(self) -> Array:
        """Share (K,) of the rows predicted as each class that are of it; 0 where there are none."""
        return _share(self.correct, self.predicted)

    @property
    def recall(self) -> Array:
        """Share (K,) of the rows of each class that were predicted as it; 0 where there are none."""
        return _share(self.correct, self.support)

    @property
    def f1(self) -> Array:
        """Harmonic mean (K,) of precision and recall; 0 where neither has a row."""
        return _share(2.0 * self.correct, self.predicted + self.support)

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the classes that occur, as true or as predicted ones."""
        return float(self.f1[self.predicted + self.support > 0].mean())

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes that have rows."""
        return float(self.recall[self.support > 0].mean())

    @property
    def ece(self) -> float:
        """Expected calibration error: mean difference between confidence and accuracy over the bins."""
        return sum(b.weight * abs(b.confidence - b.accuracy) for b in self.reliability) / self.weight

    @property
    def roc_auc(self) -> float | None:
        """Area under the ROC curve, the mean over the classes if there are more than two; None if not measured."""
        return sum(r.area for r in self.rankings) / len(self.rankings) if self.rankings else None

    @property
    def average_precision(self) -> float | None:
        """Mean precision over the rows of a class, the mean over the classes where there are more than two."""
        return sum(r.precision for r in self.rankings) / len(self.rankings) if self.rankings else None

    @property
    def baseline_accuracy(self) -> float:
        """Accuracy of always predicting the majority class."""
        return float(self.support.max()) / self.weight

    @property
    def baseline_log_loss(self) -> float:
        """Log loss of always predicting the class frequencies."""
        share = self.support[self.support > 0] / self.weight
        return max(0.0, -float(share @ np.log(share)))

    def of(self, *, n_folds: int = 0, n_learned: int = 0, source: str = "") -> Evaluation:
        """The same with what it was measured on, and the day of today."""
        return replace(self, n_folds=n_folds, n_learned=n_learned, date=today(), source=source)

    # ------------------------------------------------------------------------------------------ printing

    def __repr__(self) -> str:
        figures = f"accuracy {float(self.accuracy):.4f}, log loss {float(self.log_loss):.4f}, ECE {self.ece:.4f}"
        return f"Evaluation({self.method}, {plural(self.n_rows, 'row')}: {figures})"

    def __str__(self) -> str:
        return "\n\n".join([self._title(), *(as_text(listing) for listing in self._listings())])

    def _repr_html_(self) -> str:
        figures, *others = map(as_html, self._listings())
        names = ("by class", "confusion", "calibration")
        rest = [folded(name, table) for name, table in zip(names, others[-3:], strict=False)]
        return panel(self._title(), figures, *rest)

    def lines(self, rows: int | None = None) -> list[str]:
        """The most important figures for people; ``rows`` are those that the model has learned by now."""
        on = plural(self.n_rows, "row")
        before = f"measured when {self.n_learned:,} of the {rows or 0:,} rows were learned"
        before = before if self.n_learned < (rows or 0) else f"measured when {self.n_learned:,} rows were learned"
        facts = [self.method, on, *([self.source] if self.source else []), *([self.date] if self.date else [])]
        facts += [before] if rows is not None and self.n_learned != rows else []
        return [
            f"accuracy {self.accuracy}, baseline (majority class) {self.baseline_accuracy:.4f}",
            f"log loss {self.log_loss}, baseline (class frequencies) {self.baseline_log_loss:.4f}",
            "; ".join(facts),
        ]

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        per_class = zip(self.classes, self.precision, self.recall, self.f1, self.support, strict=True)
        return {
            "method": self.method,
            "n_folds": self.n_folds,
            "n_rows": self.n_rows,
            "n_learned": self.n_learned,
            "date": self.date,
            "source": self.source,
            "weight": self.weight,
            "accuracy": asdict(self.accuracy),
            "log_loss": asdict(self.log_loss),
            "brier": asdict(self.brier),
            "balanced_accuracy": self.balanced_accuracy,
            "macro_f1": self.macro_f1,
            "ece": self.ece,
            "roc_auc": self.roc_auc,
            "average_precision": self.average_precision,
            "cost": None if self.cost is None else {**asdict(self.cost), "baseline": self.baseline_cost},
            "sets": None if self.sets is None else asdict(self.sets),
            "baseline_accuracy": self.baseline_accuracy,
            "baseline_log_loss": self.baseline_log_loss,
            "classes": [
                {"class": _plain(k), "precision": float(p), "recall": float(r), "f1": float(f), "support": float(s)}
                for k, p, r, f, s in per_class
            ],
            "confused": [_plain(k) for k in self.confused],
            "confusion": self.confusion.tolist(),
            "reliability": [asdict(b) for b in self.reliability],
        }

    def _title(self) -> str:
        weight = "" if self.weight == self.n_rows else f" of weight {amount(self.weight)}"
        return f"{self.method}: {plural(self.n_rows, 'row')}{weight}, {plural(len(self.classes), 'class')}"

    def _listings(self) -> Iterator[Listing]:
        yield self._figures()
        yield self._per_class()
        matrix = self._matrix()
        if max(map(len, as_text(matrix).splitlines())) <= WIDTH:
            yield matrix
        elif float(self.correct.sum()) < self.weight:
            yield self._mistakes()
        yield Listing(
            ("confidence", "rows", "mean confidence", "accuracy"),
            [
                (f"{b.low:.2f} – {b.high:.2f}", amount(b.weight), f"{b.confidence:.4f}", f"{b.accuracy:.4f}")
                for b in self.reliability
            ],
        )

    def _figures(self) -> Listing:
        with_interval = {
            "accuracy": (self.accuracy, f"{self.baseline_accuracy:.4f}"),
            "log loss": (self.log_loss, f"{self.baseline_log_loss:.4f}"),
            "Brier score": (self.brier, ""),
        }
        if self.cost is not None:
            with_interval["mean cost, cheapest predicted"] = (self.cost, f"{self.baseline_cost:.4f}")
        alone = {
            "balanced accuracy": self.balanced_accuracy,
            "macro F1": self.macro_f1,
            "calibration error (ECE)": self.ece,
        }
        if self.roc_auc is not None:
            alone["area under ROC curve"] = self.roc_auc
        lines = [
            (name, f"{i.value:.4f}", f"{i.low:.4f} – {i.high:.4f}", baseline)
            for name, (i, baseline) in with_interval.items()
        ]
        lines += [(name, f"{value:.4f}", "", "") for name, value in alone.items()]
        if self.sets is not None:
            lines.append((f"coverage of {self.sets.asked:.0%} sets", f"{self.sets.covered:.4f}", "", ""))
            lines.append(("mean size of these sets", f"{self.sets.size:.4f}", "", ""))
        return Listing(("", "value", "95 % interval", "baseline"), lines)

    def _per_class(self) -> Listing:
        figures = np.stack((self.precision, self.recall, self.f1), axis=1)
        lines = [
            (short(label, 30), *(f"{value:.4f}" for value in row), amount(support))
            for label, row, support in zip(self.classes, figures, self.support, strict=True)
        ]
        more = len(lines) - MOST_CLASSES
        if more > 0:
            lines[MOST_CLASSES:] = [(f"… {more} more", "", "", "", "")]
        return Listing(("class", "precision", "recall", "F1", "rows"), lines)

    def _matrix(self) -> Listing:
        named = self.confused
        lines = [(short(label, 20), *map(amount, row)) for label, row in zip(named, self.confusion, strict=True)]
        return Listing(("true \\ predicted", *(short(label, 12) for label in named)), lines)

    def _mistakes(self) -> Listing:
        wrong = self.confusion.copy()
        np.fill_diagonal(wrong, 0.0)
        largest = np.argsort(-wrong, axis=None, kind="stable")[:MOST_MISTAKES]
        named = self.confused
        pairs = [divmod(int(cell), len(named)) for cell in largest if wrong.flat[cell] > 0]
        lines = [(short(named[t], 30), short(named[p], 30), amount(wrong[t, p])) for t, p in pairs]
        return Listing(("true", "predicted", "errors"), lines)


@dataclass(frozen=True)
class CalibrationReport:
    """Performance before and after calibration; after it, of rows that it was not fitted to."""

    before: Evaluation
    after: Evaluation

    def __str__(self) -> str:
        pairs = (("log loss", "log_loss"), ("accuracy", "accuracy"))
        lines = [self.after.method, f"{'':24} {'before':>8} {'after':>8}"]
        for name, figure in pairs:
            lines.append(
                f"{name:24} {float(getattr(self.before, figure)):8.4f} {float(getattr(self.after, figure)):8.4f}"
            )
        return "\n".join([*lines, f"{'calibration error (ECE)':24} {self.before.ece:8.4f} {self.after.ece:8.4f}"])


def most_frequent(support: Array) -> NDArray[np.intp]:
    """The places of the classes that the confusion matrix has."""
    return np.sort(np.argsort(-support, kind="stable")[:MOST_CONFUSED])


def today() -> str:
    """The day, UTC, as evaluations bear it."""
    return datetime.now(UTC).date().isoformat()


def _share(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _plain(label: Level) -> str | int | float | bool | None:
    return label if label is None or isinstance(label, (str, int, float)) else str(label)
