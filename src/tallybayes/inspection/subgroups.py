"""Performance by subgroup: figures, rates and calibration of each, with intervals, on the same held-out scores.

Area under the ROC curve: interval by DeLong, DeLong and Clarke-Pearson (1988). Calibration: the mean probability of the
class less the share of rows that are of it, and the expected calibration error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.evaluation import Interval
from tallybayes.core.listings import Listing, as_html, as_text, readable, short
from tallybayes.core.metrics import Z, score, wilson
from tallybayes.core.notebook import panel
from tallybayes.core.schema import Level, plural
from tallybayes.errors import DataError, MissingExtraError, SettingError, nearest
from tallybayes.inspection.evaluate import Scored
from tallybayes.inspection.reasons import scored_class

FEW_ROWS = 100  # a smaller group is flagged
FEW_OF_A_CLASS = 10  # and so is one with fewer rows than this of the class, or of the others
MOST_GROUPS = 50
MOST_NUMBERS = 12  # different numbers that are groups; of more there are quarters
MISSING = "(missing)"


@dataclass(frozen=True)
class GroupFigures:
    """The performance of a model on the rows of one group."""

    group: str
    n_rows: int
    accuracy: Interval
    log_loss: Interval
    area: Interval | None  # under the ROC curve of the class; None where all rows are of one kind
    positive_rate: Interval  # share of the rows that are predicted to be of the class
    base_rate: Interval  # share that are
    gap: Interval  # mean probability of the class less the base rate
    ece: float
    is_small: bool  # too few rows, or too few of a kind, for figures that mean much

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Subgroups:
    """The performance of a model by subgroup; prints as a table."""

    by: str
    label: Level  # the class whose rates they are
    method: str
    overall: GroupFigures
    groups: tuple[GroupFigures, ...]

    def _listing(self) -> Listing:
        header = (self.by, "rows", "accuracy", "log loss", "ROC area", "predicted", "actual", "calibration", "ECE", "")
        return Listing(header, [_line(each) for each in (*self.groups, self.overall)])

    def __str__(self) -> str:
        title = f"{self.method}: by {self.by}, rates of {self.label}; 95 % intervals"
        small = any(each.is_small for each in self.groups)
        return "\n\n".join([title, as_text(self._listing()), *([f"few: {_few()}"] if small else [])])

    def _repr_html_(self) -> str:
        small = f"<p>few: {_few()}</p>" if any(each.is_small for each in self.groups) else ""
        note = f"{self.method}; rates of {self.label}; 95 % intervals"
        return panel(f"by {self.by}", as_html(self._listing()), small, note=note)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "by": self.by,
            "label": self.label,
            "method": self.method,
            "overall": self.overall.as_dict(),
            "groups": [each.as_dict() for each in self.groups],
        }

    def as_frame(self) -> Any:
        """A pandas DataFrame with a line for each group."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise MissingExtraError("as_frame() needs pandas: pip install pandas") from None
        return pd.DataFrame([dict(_flat(each)) for each in (*self.groups, self.overall)])


def _few() -> str:
    return f"fewer than {FEW_ROWS} rows, or fewer than {FEW_OF_A_CLASS} of the class or of the others"


def _line(figures: GroupFigures) -> tuple[str, ...]:
    def shown(each: Interval | None) -> str:
        return "" if each is None else f"{each.value:.3f} ({each.low:.3f} – {each.high:.3f})"

    intervals = (figures.accuracy, figures.log_loss, figures.area, figures.positive_rate, figures.base_rate)
    gap = f"{figures.gap.value:+.3f} ({figures.gap.low:+.3f} – {figures.gap.high:+.3f})"
    few = "few" if figures.is_small else ""
    return (short(figures.group, 30), f"{figures.n_rows:,}", *map(shown, intervals), gap, f"{figures.ece:.3f}", few)


def _flat(figures: GroupFigures) -> Iterator[tuple[str, Any]]:
    for name, value in vars(figures).items():
        if isinstance(value, Interval):
            yield from ((name, value.value), (f"{name}_low", value.low), (f"{name}_high", value.high))
        else:
            yield name, value


def subgroups(scored: Scored, by: Any, label: Level | None = None) -> Subgroups:
    """Return the performance of scored rows by subgroup.

    Parameters
    ----------
    scored : Scored
        Labelled rows and their held-out probabilities, as `evaluate.scored_rows` gives them.
    by : str, sequence of str, or array-like of shape (n,)
        A column of the table, columns that are crossed, or the group of each row. Many different numbers are quarters.
    label : class, optional
        Whose rates they are; of two classes, the second.

    Returns
    -------
    Subgroups
    """
    k = scored_class(scored.model, label)
    name, groups = _groups(scored.batch, by)
    names = sorted(set(groups.tolist()))
    if len(names) > MOST_GROUPS:
        raise SettingError(f"{name} has {len(names):,} different values; at most {MOST_GROUPS} are groups")
    found = tuple(_figures(scored, k, str(each), np.flatnonzero(groups == each)) for each in names)
    overall = _figures(scored, k, "all rows", np.arange(scored.batch.n_rows))
    return Subgroups(name, scored.model.schema.classes[k], scored.method, overall, found)


# ------------------------------------------------------------------------------------------ groups


def _groups(batch: Any, by: Any) -> tuple[str, NDArray[Any]]:
    """What groups are by, and the group of each row."""
    if isinstance(by, str):
        return by, _of_column(batch, by)
    values = list(by)
    if values and all(isinstance(each, str) for each in values) and len(values) != batch.n_rows:
        columns = [_of_column(batch, each) for each in values]
        crossed = [", ".join(map(str, row)) for row in zip(*columns, strict=True)]
        return " × ".join(values), np.array(crossed, dtype=object)
    if len(values) != batch.n_rows:
        raise DataError(f"there are {plural(batch.n_rows, 'labelled row')}, and groups of {len(values):,}")
    return "group", _named(values)


def _of_column(batch: Any, name: str) -> NDArray[Any]:
    table = getattr(batch, "table", None)
    if table is None:
        raise DataError(f"rows of an array have no column {name!r}; pass the group of each row")
    if name not in table.columns:
        raise DataError(f"there is no column {name!r} to group by; {nearest(name, table.columns, 'the table')}")
    return _named(table.columns[name].as_labels().tolist())


def _named(values: Sequence[Any]) -> NDArray[Any]:
    """The groups by name; many different numbers are four ranges of about as many rows."""
    gone = [value is None or value != value for value in values]
    known = [value for value, missing in zip(values, gone, strict=True) if not missing]
    numbers = known and all(isinstance(v, int | float) and not isinstance(v, bool) for v in known)
    if not numbers or len(set(known)) <= MOST_NUMBERS:
        names = [MISSING if missing else str(value) for value, missing in zip(values, gone, strict=True)]
        return np.array(names, dtype=object)
    edges = np.unique(np.quantile(np.array(known, dtype=float), [0.25, 0.5, 0.75]))
    places = np.searchsorted(edges, [0.0 if m else float(v) for v, m in zip(values, gone, strict=True)], side="right")
    inner = (f"{i}: {readable(a)} – {readable(b)}" for i, (a, b) in enumerate(pairwise(edges.tolist()), 2))
    ends = [f"1: < {readable(edges[0])}", *inner]
    ends.append(f"{len(ends) + 1}: ≥ {readable(edges[-1])}")
    return np.array([MISSING if m else ends[p] for p, m in zip(places.tolist(), gone, strict=True)], dtype=object)


# ------------------------------------------------------------------------------------------ figures


def _figures(scored: Scored, k: int, name: str, rows: NDArray[np.intp]) -> GroupFigures:
    labels = scored.batch.labels
    assert labels is not None
    assert labels.codes is not None
    logs, codes, weight = scored.log_posterior[rows], labels.codes[rows], labels.weight[rows]
    if not weight.sum() > 0:
        raise DataError(f"the group {name!r} has no rows of positive weight")
    found = score(logs, codes, scored.model.schema.classes, weight, scored.method)
    of_class, p = codes == k, np.exp(logs[:, k])
    n = float(weight.sum()) ** 2 / float((weight**2).sum())
    few = min(int(of_class.sum()), int((~of_class).sum())) < FEW_OF_A_CLASS or len(rows) < FEW_ROWS
    share = weight / weight.sum()
    return GroupFigures(
        name,
        len(rows),
        found.accuracy,
        found.log_loss,
        area(p, of_class, weight),
        wilson(float(share @ (logs.argmax(axis=1) == k)), n),
        wilson(float(share @ of_class), n),
        _gap(p, of_class, share),
        found.ece,
        few,
    )


def _gap(p: Array, of_class: NDArray[np.bool_], share: Array) -> Interval:
    """Mean probability less the share of rows that are of the class, with a normal interval."""
    off = p - of_class
    mean = float(share @ off)
    half = Z * math.sqrt(float(share**2 @ (off - mean) ** 2))
    return Interval(mean, mean - half, mean + half)


def area(p: Array, of_class: NDArray[np.bool_], weight: Array) -> Interval | None:
    """Area under the ROC curve with DeLong's interval; None where all rows are of one kind.

    Examples
    --------
    >>> print(area(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, False, True, False]), np.ones(4)))
    0.7500 (0.0570 – 1.0000)
    """
    sides = [(p[kind], weight[kind]) for kind in (of_class, ~of_class)]
    if not all(w.sum() > 0 for _, w in sides):
        return None
    (mine, w), (theirs, v) = sides
    over, under = _above(mine, theirs, v), 1.0 - _above(theirs, mine, w)
    value = min(1.0, float(w @ over) / float(w.sum()))  # rounding may take it beyond
    variance = sum(
        float((each / each.sum()) ** 2 @ (part - value) ** 2) * _unbiased(each)
        for each, part in ((w, over), (v, under))
    )
    half = Z * math.sqrt(variance)
    return Interval(value, max(0.0, value - half), min(1.0, value + half))


def _unbiased(weight: Array) -> float:
    n = float(weight.sum()) ** 2 / float((weight**2).sum())
    return n / (n - 1.0) if n > 1.0 else 1.0


def _above(mine: Array, theirs: Array, weight: Array) -> Array:
    """The share of others that each is above; of equal ones half."""
    order = np.argsort(theirs, kind="stable")
    below = np.concatenate(([0.0], np.cumsum(weight[order])))
    left, right = np.searchsorted(theirs[order], mine, "left"), np.searchsorted(theirs[order], mine, "right")
    return np.asarray((below[left] + below[right]) / (2.0 * below[-1]))
