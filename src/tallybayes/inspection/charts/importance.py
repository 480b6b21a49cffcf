"""How much each column matters: its mean absolute evidence, with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.core.batch import Rows, every_nth
from tallybayes.core.importance import CERTAIN, importance_of
from tallybayes.core.model import Model
from tallybayes.data.columns import bag_of
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch
from tallybayes.errors import NotAvailableError
from tallybayes.inspection.charts._model import AsDict, model_of, rows_of, rows_with_labels
from tallybayes.inspection.sampling import sampled
from tallybayes.inspection.uncertainty import USUAL, Uncertainty, quantile

ROWS, FEW_ROWS = 500, 50  # that deviations are averaged over; of texts
MOST_CELLS = 5_000_000  # of evidence
MOST_COLUMNS = 5_000  # that have intervals


@dataclass(frozen=True)
class Matters:
    """How much one column matters."""

    column: str
    kind: str
    value: float  # mean absolute log odds
    low: float
    high: float
    weight: float
    why: str = ""  # it is not used


@dataclass(frozen=True)
class Importance(AsDict):
    """How much each column matters, the most important first; those that are not used are at the end."""

    columns: tuple[Matters, ...]
    unused: tuple[Matters, ...]
    level: float  # of the intervals

    def __str__(self) -> str:
        wide = max((len(each.column) for each in self.columns), default=0)
        top = max((each.value for each in self.columns), default=1.0) or 1.0
        lines = [
            f"{e.column:{wide}} {e.value:7.3f} ({e.low:.3f} – {e.high:.3f}) {'█' * round(20 * e.value / top)}".rstrip()
            for e in self.columns
        ]
        names = ", ".join(each.column for each in self.unused)
        return "\n".join([*lines, f"not used: {names}"] if names else lines)


def importance(model: Any, X: Any = None, y: Any = None, *, level: float = USUAL) -> Importance:
    """How much each column, pair and block matters: the mean absolute log odds that it adds to a prediction.

    The figure was measured when the model was fitted, on rows left out of the counts. Its interval is at least as wide
    as the counts ask for: the errors of the values of one column are taken to have one sign.

    Parameters
    ----------
    model : Model or estimator
    X : table or Rows, optional
        Rows that the width of the intervals is averaged over; without them the model draws some itself.
    y : array-like of shape (n_samples,) or str, optional
        Their labels.
    level : float, default=0.9
        Of the intervals.

    Returns
    -------
    Importance

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> print(importance(NaiveBayes(classical=True).fit(datasets.tennis(), target="play")))
    humidity      0.738 (0.000 – 1.640) ████████████████████
    outlook       0.649 (0.000 – 1.847) ██████████████████
    wind          0.420 (0.000 – 1.247) ███████████
    temperature   0.248 (0.000 – 1.321) ███████
    """
    data, model = rows_with_labels(model, X, y), model_of(model)
    deviations, wide = _deviations(model, data), quantile(level)
    kinds = {column.name: column for column in model.schema.columns}
    weights = dict(zip(model.schema.names, model.column_weights.tolist(), strict=True))
    found = []
    for name, value in importance_of(model).items():
        spread = wide * deviations.get(name, 0.0)
        low, high = max(0.0, value - spread), value + spread
        found.append(Matters(name, kinds[name].kind, value, low, high, weights[name]))
    split = {column.parent for column in model.schema.columns}  # a date is used by its parts
    left_out = [
        Matters(c.name, c.kind, 0.0, 0.0, 0.0, 0.0, c.reason)
        for c in model.schema.columns
        if c.kind == "ignored" and not c.is_derived and c.name not in split
    ]
    nothing = [e for e in found if not e.value and kinds[e.column].parts is None and e.column not in split]
    unused = tuple(Matters(e.column, e.kind, 0.0, 0.0, 0.0, e.weight, "no evidence on other rows") for e in nothing)
    return Importance(tuple(each for each in found if each.value), (*unused, *left_out), level)


def _deviations(model: Model, data: Any) -> dict[str, float]:
    """The mean deviation of the log odds of each column, of the likeliest class against the next."""
    if model.n_classes < 2 or len(model.schema.columns) > MOST_COLUMNS:
        return {}
    rows: Rows
    most = max(1, min(FEW_ROWS if model.texts else ROWS, MOST_CELLS // (model.n_classes * len(model.schema.columns))))
    if data is None:
        try:
            table, _ = sampled(model, most, np.random.default_rng(0), missing=not bag_of(model))
        except NotAvailableError:
            return {}
        rows = TableBatch(model.schema, read_table(table), model.tally.places)
    else:
        rows = every_nth(rows_of(model, data), most)
    try:
        parts, variance = Uncertainty(model).of_values(rows)
    except NotAvailableError:  # a family without intervals
        return {}
    ranked, at = np.argsort(-model.log_joint(rows), axis=1, kind="stable"), np.arange(rows.n_rows)
    both = variance[at, ranked[:, 0]] + variance[at, ranked[:, 1]]
    odds = np.abs(parts[at, ranked[:, 0]] - parts[at, ranked[:, 1]])
    several = np.minimum(np.nan_to_num(odds), CERTAIN).var(axis=0) / max(rows.n_rows, 1)  # of other rows
    mean = np.sqrt(np.minimum(both, CERTAIN**2)).mean(axis=0)
    return dict(zip(model.schema.names, np.sqrt(mean**2 + several).tolist(), strict=True))
