"""Reason codes: which columns took most from the score of a row, against a reference.

The score of a class is its margin, a sum over the columns: score = s_k − Σ_j≠k q_j·s_j, with q the shares of the other
classes by the prior. Of two classes it is the log odds. What a column takes away is its part in the reference less its
part in the row. A pair, or a block of numbers, is shared equally among its columns, so that reasons are always columns
of the table, or labels that group them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array, Batch, Encoded, Rows
from tallybayes.core.model import Model
from tallybayes.core.schema import Level
from tallybayes.core.summaries import Counts
from tallybayes.data.columns import rows as rows_of
from tallybayes.data.frames import read_table
from tallybayes.data.tables import TableBatch
from tallybayes.errors import DataError, MissingExtraError, SettingError, nearest
from tallybayes.inspection.sampling import sampled

MOST = 4  # reasons of a row, by default
LARGEST = 1e6  # nats, in the place of infinitely many
LEAST = 1e-9  # nats: losses that differ by less are equal, and one below it is none
DRAWN = 2_000  # rows that stand for the population where a column has no table of counts
DRAWN_TEXTS = 100
CELLS = 4_000_000  # contributions that are held at a time


@dataclass(frozen=True)
class Reason:
    """A column, or a label of several, and how much it took from the score, in nats."""

    name: str
    loss: float


@dataclass(frozen=True)
class Reasons(Sequence[tuple[Reason, ...]]):
    """The reasons of each row, the largest loss first; a row that lost nothing has none.

    Examples
    --------
    >>> found = Reasons("good", ((Reason("income", 0.5),), ()))
    >>> found[0][0].name, len(found[1])
    ('income', 0)
    """

    label: Level  # the class whose score it is
    rows: tuple[tuple[Reason, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> tuple[Reason, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[Reason, ...]]: ...
    def __getitem__(self, place: Any) -> Any:
        return self.rows[place]

    def __str__(self) -> str:
        lines = [f"what took most from the score of {self.label}"]
        for number, reasons in enumerate(self.rows):
            listed = ", ".join(f"{each.name} {-each.loss:+.3f}" for each in reasons)
            lines.append(f"  row {number}: {listed or 'nothing'}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        rows = [[{"reason": each.name, "loss": each.loss} for each in row] for row in self.rows]
        return {"label": self.label, "reasons": rows}

    def as_frame(self) -> Any:
        """A pandas DataFrame with a line for each reason: row, rank, reason and loss."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise MissingExtraError("as_frame() needs pandas: pip install pandas") from None
        lines = [(i, r, e.name, e.loss) for i, row in enumerate(self.rows) for r, e in enumerate(row, 1)]
        return pd.DataFrame(lines, columns=["row", "rank", "reason", "loss"])


@dataclass(frozen=True)
class ReasonPlan:
    """What reasons are worked out with: the class, the names that reasons can have, and the reference."""

    label: Level
    names: tuple[str, ...]  # E columns or labels
    shares: Array  # (D, E) which share of each column of the schema each name has
    reference: Array  # (E,) nats
    coefficients: Array  # (K,) of the scores of the classes in the margin
    most: int = MOST

    def losses(self, contributions: Array) -> Array:
        """What each name took from the score (n, E), from contributions (n, K, D)."""
        return np.asarray(self.reference - margins(contributions, self.coefficients) @ self.shares)

    def ranked(self, losses: Array) -> NDArray[np.intp]:
        """The names of the largest losses of each row, the first of equal ones first; −1 where none is left."""
        left, rows = losses.copy(), np.arange(len(losses))
        n = min(self.most, losses.shape[1])
        found = np.full((len(losses), n), -1, dtype=np.intp)
        for place in range(n):
            top = left.max(axis=1)
            best = (left >= (top - LEAST)[:, None]).argmax(axis=1)
            found[:, place] = np.where(top > LEAST, best, -1)
            left[rows, best] = -np.inf
        return found

    def of(self, model: Model, batch: Rows) -> Reasons:
        """The reasons of rows."""
        return Reasons(self.label, tuple(row for part in self.by_parts(model, batch) for row in part))

    def by_parts(self, model: Model, batch: Rows) -> Iterator[list[tuple[Reason, ...]]]:
        """The same, so many rows at a time that their contributions are held easily."""
        step = max(1, CELLS // (model.n_classes * max(1, len(model.schema.columns))))
        for first in range(0, batch.n_rows, step):
            part = batch.rows(first, min(first + step, batch.n_rows))
            losses = self.losses(model.contributions(part))
            pairs = zip(self.ranked(losses).tolist(), losses, strict=True)
            yield [tuple(Reason(self.names[e], float(lost[e])) for e in row if e >= 0) for row, lost in pairs]


def reasons(
    model: Model,
    batch: Rows,
    most: int = MOST,
    reference: Any = "population",
    groups: Mapping[str, Sequence[str]] | None = None,
    label: Level | None = None,
) -> Reasons:
    """Return the columns that took most from the score of each row.

    Parameters
    ----------
    model : Model
    batch : Rows
    most : int, default=4
        How many reasons a row has at most.
    reference : {"population", "best"} or table, default="population"
        What a row is compared with: the mean of all rows that were learned, the best value of each column, or a row;
        of several rows, their mean.
    groups : mapping of label to columns, optional
        Columns that are one reason, under a name of their own.
    label : class, optional
        Whose score it is; of two classes, the second by default.

    Returns
    -------
    Reasons

    Examples
    --------
    >>> from tallybayes import datasets, learn, rows
    >>> model = learn(datasets.tennis(), "play")
    >>> day = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "wind": ["strong"]}
    >>> [each.name for each in reasons(model, rows(model, day))[0]]
    ['outlook', 'humidity', 'wind']
    """
    return reason_plan(model, most, reference, groups, label).of(model, batch)


def reason_plan(
    model: Model,
    most: int = MOST,
    reference: Any = "population",
    groups: Mapping[str, Sequence[str]] | None = None,
    label: Level | None = None,
) -> ReasonPlan:
    """What the reasons of any rows are worked out with; the arguments are those of `reasons`."""
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise SettingError(f"the number of reasons must be a whole number of at least 1, not {most!r}")
    k = scored_class(model, label)
    coefficients = margin_coefficients(model, k)
    names, shares = _named(model, groups or {})
    parts = _reference(model, coefficients, reference)
    return ReasonPlan(model.schema.classes[k], names, shares, parts @ shares, coefficients, int(most))


def scored_class(model: Model, label: Level | None) -> int:
    """The position of the class whose score is meant: of two classes the second, unless one is named."""
    classes = model.schema.classes
    if len(classes) < 2:
        raise DataError("with a single class there is no score")
    if label is None:
        if len(classes) > 2:
            shown = ", ".join(map(repr, classes[:5]))
            raise SettingError(f"which class is the score of? Of more than two name one with label=…: {shown}")
        return 1
    if label not in classes:
        raise DataError(f"there is no class {label!r}; {nearest(label, classes)}")
    return classes.index(label)


def margin_coefficients(model: Model, k: int) -> Array:
    """What the score of each class counts in the margin of one (K,): 1, and less the share of each of the others."""
    others = np.exp(model.log_prior)
    others[k] = 0.0
    n = len(others) - 1
    shares = others / others.sum() if others.sum() > 0 else np.full(n + 1, 1.0 / n)
    coefficients = -shares
    coefficients[k] = 1.0
    return np.asarray(coefficients)


def margins(contributions: Array, coefficients: Array) -> Array:
    """The part of each column in the margin (n, D), from contributions (n, K, D); two impossibilities cancel."""
    held = np.clip(contributions, -LARGEST, LARGEST)
    return np.asarray(np.einsum("nkd,k->nd", held, coefficients))


def _named(model: Model, groups: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], Array]:
    """The names that reasons can have, and the share (D, E) of each column of the schema that each has."""
    columns = model.schema.columns
    known = [c.name for c in columns if c.is_evidence]
    label_of = _labels(groups, known)
    names = tuple(dict.fromkeys(label_of.get(name, name) for name in known))
    place = {name: e for e, name in enumerate(names)}
    shares = np.zeros((len(columns), len(names)))
    for d, column in enumerate(columns):
        parts = [part.name for part in column.parts] if column.parts is not None else [column.name]
        for part in parts:
            if part in label_of or part in place:
                shares[d, place[label_of.get(part, part)]] += 1.0 / len(parts)
    return names, shares


def _labels(groups: Mapping[str, Sequence[str]], known: Sequence[str]) -> dict[str, str]:
    """The label of each column that has one."""
    label_of: dict[str, str] = {}
    for label, members in groups.items():
        for name in [members] if isinstance(members, str) else members:
            if name not in known:
                raise DataError(f"the group {label!r} names {name!r}, which is no column; {nearest(name, known)}")
            if label_of.setdefault(name, label) != label:
                raise SettingError(f"column {name!r} is in two groups, {label_of[name]!r} and {label!r}")
    clash = [label for label in groups if label in known and label_of.get(label) != label]
    if clash:
        raise SettingError(f"the group {clash[0]!r} has the name of a column that is not in it; rename the group")
    return label_of


# ------------------------------------------------------------------------------------------ references


def _reference(model: Model, coefficients: Array, reference: Any) -> Array:
    """The part of each column in the margin of the reference (D,)."""
    if not isinstance(reference, str):
        single = isinstance(reference, Mapping) and not any(_is_list(value) for value in reference.values())
        if not isinstance(reference, Rows):
            reference = rows_of(model, [reference] if single else reference)
        if not reference.n_rows:
            raise DataError("the reference has no row")
        return np.asarray(margins(model.contributions(reference), coefficients).mean(axis=0))
    if reference not in ("population", "best"):
        raise SettingError(f"reference must be 'population', 'best' or a row, not {reference!r}")
    found, is_best = np.zeros(len(model.schema.columns)), reference == "best"
    others = False
    for name, block in model.tally.blocks.items():
        if model.settings.families[name].is_coded and isinstance(block.summary, Counts):
            found[list(block.columns)] = _of_tables(model, name, coefficients, is_best)
        else:
            others = True
    return _of_drawn(model, coefficients, is_best, found) if others else found


def _is_list(value: Any) -> bool:
    return not isinstance(value, str) and hasattr(value, "__len__")


def _of_tables(model: Model, name: str, coefficients: Array, is_best: bool) -> Array:
    """Of each column (d,) of a block of tables, the mean over the rows that were counted, or the best."""
    params, summary = model.scoring[name], model.tally.blocks[name].summary
    assert isinstance(summary, Counts)
    assert summary.n_levels is not None
    total, out = max(float(model.tally.class_weight.sum()), 1e-300), []
    ends = np.cumsum(summary.n_levels)
    for j, (n, end) in enumerate(zip(summary.n_levels.tolist(), ends.tolist(), strict=True)):
        cells = np.clip(params.of_column(j), -LARGEST, LARGEST).T @ coefficients
        weight = summary.count[:, end - n : end].sum(axis=0)
        if is_best:
            gone = total - float(weight.sum()) > 1e-9 * total
            seen = cells[weight > 0]
            out.append(float(max(seen.max(initial=-np.inf), 0.0 if gone or not len(seen) else -np.inf)))
        else:
            out.append(float(weight @ cells) / total)
    return np.array(out)


def _of_drawn(model: Model, coefficients: Array, is_best: bool, known: Array) -> Array:
    """The same of the other columns, over rows that the model draws itself, always the same ones."""
    parts = margins(model.contributions(_drawn(model)), coefficients)
    coded = {
        p
        for name, block in model.tally.blocks.items()
        if model.settings.families[name].is_coded and isinstance(block.summary, Counts)
        for p in block.columns
    }
    found = parts.max(axis=0) if is_best else parts.mean(axis=0)
    return np.array([known[p] if p in coded else value for p, value in enumerate(found.tolist())])


def _drawn(model: Model) -> Rows:
    """Rows that stand for the population."""
    n, rng = DRAWN_TEXTS if model.texts else DRAWN, np.random.default_rng(0)
    if not model.schema.is_numbered:
        table, _ = sampled(model, n, rng, missing=True)
        return TableBatch(model.schema, read_table(table), model.tally.places)
    drawn, codes = model.sample(n, rng)
    blocks = {name: Encoded(model.tally.blocks[name].columns, x) for name, x in drawn.items()}
    return Batch(model.schema, blocks, len(codes))
