"""Performance of predictions: accuracy, log loss, Brier score, confusion and calibration, as a record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.schema import Level, plural
from tallybayes.errors import DataError
from tallybayes.inspection.listings import Listing, amount, as_html, as_text, short

Z = 1.959963984540054  # the normal quantile of 95 % intervals
EPS = float(np.finfo(np.float64).eps)  # probabilities of 0 count as this much, as in scikit-learn
BINS = 15  # of the reliability table
WIDTH = 80  # columns of a terminal
MOST_CLASSES = 20  # that are printed
MOST_MISTAKES = 10  # that are printed where the confusion matrix is too wide


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


@dataclass(frozen=True)
class Evaluation:
    """Performance of a model on labelled rows; prints as a table. A row of weight w counts as w rows.

    Parameters
    ----------
    method : str
        How the rows were held out: "leave-one-out", "5-fold", "test".
    classes : tuple
    n_rows : int
    accuracy, log_loss, brier : Interval
        Share of rows whose predicted class is right (Wilson's interval); mean −log P(y | x), and mean Σ_k of the
        squared differences between P(k | x) and 1 for the right class or 0 for a wrong one (normal intervals).
    confusion : ndarray of shape (K, K)
        Weight by true (first axis) and predicted class. Precision, recall, F1 and the baselines follow from it.
    reliability : tuple of Bin
        Confidence and accuracy by confidence; only bins that have rows.
    """

    method: str
    classes: tuple[Level, ...]
    n_rows: int
    accuracy: Interval
    log_loss: Interval
    brier: Interval
    confusion: Array
    reliability: tuple[Bin, ...]

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return float(self.confusion.sum())

    @property
    def support(self) -> Array:
        """Weight (K,) of the rows of each class."""
        return self.confusion.sum(axis=1)

    @property
    def predicted(self) -> Array:
        """Weight (K,) of the rows that were predicted as each class."""
        return self.confusion.sum(axis=0)

    @property
    def precision(self) -> Array:
        """Share (K,) of the rows predicted as each class that are of it; 0 where there are none."""
        return _share(self.confusion.diagonal(), self.predicted)

    @property
    def recall(self) -> Array:
        """Share (K,) of the rows of each class that were predicted as it; 0 where there are none."""
        return _share(self.confusion.diagonal(), self.support)

    @property
    def f1(self) -> Array:
        """Harmonic mean (K,) of precision and recall; 0 where neither has a row."""
        return _share(2.0 * self.confusion.diagonal(), self.predicted + self.support)

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
    def baseline_accuracy(self) -> float:
        """Accuracy of always predicting the majority class."""
        return float(self.support.max()) / self.weight

    @property
    def baseline_log_loss(self) -> float:
        """Log loss of always predicting the class frequencies."""
        share = self.support[self.support > 0] / self.weight
        return max(0.0, -float(share @ np.log(share)))

    # ------------------------------------------------------------------------------------------ printing

    def __repr__(self) -> str:
        figures = f"accuracy {float(self.accuracy):.4f}, log loss {float(self.log_loss):.4f}, ECE {self.ece:.4f}"
        return f"Evaluation({self.method}, {plural(self.n_rows, 'row')}: {figures})"

    def __str__(self) -> str:
        return "\n\n".join([self._title(), *(as_text(listing) for listing in self._listings())])

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._title())}</p>\n" + "\n".join(map(as_html, self._listings()))

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        per_class = zip(self.classes, self.precision, self.recall, self.f1, self.support, strict=True)
        return {
            "method": self.method,
            "n_rows": self.n_rows,
            "weight": self.weight,
            "accuracy": asdict(self.accuracy),
            "log_loss": asdict(self.log_loss),
            "brier": asdict(self.brier),
            "balanced_accuracy": self.balanced_accuracy,
            "macro_f1": self.macro_f1,
            "ece": self.ece,
            "baseline_accuracy": self.baseline_accuracy,
            "baseline_log_loss": self.baseline_log_loss,
            "classes": [
                {"class": _plain(k), "precision": float(p), "recall": float(r), "f1": float(f), "support": float(s)}
                for k, p, r, f, s in per_class
            ],
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
        elif self.confusion.sum() > self.confusion.trace():
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
        alone = {
            "balanced accuracy": self.balanced_accuracy,
            "macro F1": self.macro_f1,
            "calibration error (ECE)": self.ece,
        }
        lines = [
            (name, f"{i.value:.4f}", f"{i.low:.4f} – {i.high:.4f}", baseline)
            for name, (i, baseline) in with_interval.items()
        ]
        lines += [(name, f"{value:.4f}", "", "") for name, value in alone.items()]
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
        lines = [(short(label, 20), *map(amount, row)) for label, row in zip(self.classes, self.confusion, strict=True)]
        return Listing(("true \\ predicted", *(short(label, 12) for label in self.classes)), lines)

    def _mistakes(self) -> Listing:
        wrong = self.confusion.copy()
        np.fill_diagonal(wrong, 0.0)
        largest = np.argsort(-wrong, axis=None, kind="stable")[:MOST_MISTAKES]
        pairs = [divmod(int(cell), len(self.classes)) for cell in largest if wrong.flat[cell] > 0]
        lines = [(short(self.classes[t], 30), short(self.classes[p], 30), amount(wrong[t, p])) for t, p in pairs]
        return Listing(("true", "predicted", "errors"), lines)


@dataclass(frozen=True)
class CalibrationReport:
    """Performance before and after calibration, by leave-one-out."""

    before: Evaluation
    after: Evaluation

    def __str__(self) -> str:
        pairs = (("log loss", "log_loss"), ("accuracy", "accuracy"))
        lines = [f"{'leave-one-out':24} {'before':>8} {'after':>8}"]
        for name, field in pairs:
            lines.append(f"{name:24} {getattr(self.before, field).value:8.4f} {getattr(self.after, field).value:8.4f}")
        return "\n".join([*lines, f"{'calibration error (ECE)':24} {self.before.ece:8.4f} {self.after.ece:8.4f}"])


def score(
    log_posterior: Array,
    codes: NDArray[Any],
    classes: Sequence[Level],
    weight: Array | None = None,
    method: str = "test",
) -> Evaluation:
    """Compare log posteriors with the true classes.

    Parameters
    ----------
    log_posterior : ndarray of shape (n, K)
        Log P(y | x).
    codes : ndarray of shape (n,)
        Position of each row's class in ``classes``.
    classes : sequence
        Class labels.
    weight : ndarray of shape (n,), optional
        How much each row counts; one if not given.
    method : str
        How the rows were held out, for the title.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> posterior = np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])
    >>> print(score(np.log(posterior), np.array([0, 1, 1, 1]), ["ham", "spam"]))
    test: 4 rows, 2 classes
    <BLANKLINE>
                              value    95 % interval  baseline
    accuracy                 0.7500  0.3006 – 0.9544    0.7500
    log loss                 0.4004  0.0957 – 0.7050    0.5623
    Brier score              0.2500  0.0000 – 0.5218
    balanced accuracy        0.8333
    macro F1                 0.7333
    calibration error (ECE)  0.3000
    <BLANKLINE>
    class  precision  recall      F1  rows
    ham       0.5000  1.0000  0.6667     1
    spam      1.0000  0.6667  0.8000     3
    <BLANKLINE>
    true \\ predicted  ham  spam
    ham                 1     0
    spam                1     2
    <BLANKLINE>
    confidence   rows  mean confidence  accuracy
    0.53 – 0.60     1           0.6000    0.0000
    0.67 – 0.73     1           0.7000    1.0000
    0.73 – 0.80     1           0.8000    1.0000
    0.87 – 0.93     1           0.9000    1.0000
    """
    codes, n_classes = np.asarray(codes, dtype=np.intp), len(classes)
    weight = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
    _check(log_posterior, codes, n_classes, weight)
    rows, predicted = np.arange(len(codes)), log_posterior.argmax(axis=1)
    own = np.clip(log_posterior[rows, codes], math.log(EPS), math.log1p(-EPS))
    error = np.exp(log_posterior)
    confidence = error[rows, predicted]
    error[rows, codes] -= 1.0
    cells = np.bincount(codes * n_classes + predicted, weights=weight, minlength=n_classes**2)
    confusion = cells.reshape(n_classes, n_classes).astype(np.float64, copy=False)
    return Evaluation(
        method,
        tuple(classes),
        len(codes),
        _wilson(float(confusion.trace()), float(confusion.sum())),
        _mean(-own, weight),
        _mean((error**2).sum(axis=1), weight),
        confusion,
        _reliability(confidence, predicted == codes, weight),
    )


def _check(log_posterior: Array, codes: NDArray[Any], n_classes: int, weight: Array) -> None:
    if log_posterior.shape != (len(codes), n_classes) or weight.shape != (len(codes),):
        raise DataError(
            f"the log posteriors have the shape {log_posterior.shape}, the weights {weight.shape}; "
            f"expected {(len(codes), n_classes)} and {(len(codes),)}"
        )
    if not weight.sum() > 0:
        raise DataError("an evaluation needs rows of positive weight; there are none")
    if codes.min() < 0 or codes.max() >= n_classes:
        raise DataError(f"class codes must be between 0 and {n_classes - 1}; unlabelled rows cannot be evaluated")


def _share(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _wilson(hits: float, n: float) -> Interval:
    """A proportion with Wilson's score interval (1927), which behaves near 0 and 1."""
    p, z2 = hits / n, Z**2 / n
    centre, half = (p + z2 / 2) / (1 + z2), math.sqrt(p * (1 - p) * z2 + z2**2 / 4) / (1 + z2)
    return Interval(p, max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half)))


def _mean(values: Array, weight: Array) -> Interval:
    """A mean of values that cannot be negative, with the normal interval."""
    total = float(weight.sum())
    mean = float((weight * values).sum()) / total
    half = Z * math.sqrt(float((weight * (values - mean) ** 2).sum())) / total
    return Interval(mean, max(0.0, mean - half), mean + half)


def _reliability(confidence: Array, hit: NDArray[np.bool_], weight: Array) -> tuple[Bin, ...]:
    edges = np.linspace(0.0, 1.0, BINS + 1)
    place = np.clip(np.searchsorted(edges, confidence) - 1, 0, BINS - 1)
    total, confident, right = (
        np.bincount(place, weights=weight * values, minlength=BINS) for values in (1.0, confidence, hit)
    )
    return tuple(
        Bin(float(low), float(high), float(w), float(c / w), float(r / w))
        for low, high, w, c, r in zip(edges[:-1], edges[1:], total, confident, right, strict=True)
        if w > 0
    )


def _plain(label: Level) -> str | int | float | bool | None:
    return label if label is None or isinstance(label, (str, int, float)) else str(label)
