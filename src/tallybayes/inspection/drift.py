"""Drift: how rows differ from those that a model learned, column by column, from the counts of both alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.listings import Listing, as_html, as_text, short
from tallybayes.core.model import Model
from tallybayes.core.notebook import panel
from tallybayes.core.schema import Level, plural
from tallybayes.core.tally import Tally
from tallybayes.errors import DataError
from tallybayes.inspection.drift_cells import Compared, compared_columns
from tallybayes.inspection.drift_counts import Sample, counted
from tallybayes.inspection.drift_tests import adjusted, chi_square, distance, stability_index
from tallybayes.learning.learn import learn
from tallybayes.learning.options import Options
from tallybayes.learning.prior_shift import PriorShift, prior_of_scores

LEVEL = 0.05  # share of false alarms among the columns that are called changed
PLAIN = Options(numeric="binned", weights=None, pairs=())  # how rows are counted where no model says how
MOST_NAMED = 5  # levels that are printed
MODERATE, LARGE = 0.1, 0.2  # of the stability index, by custom


@dataclass(frozen=True)
class ColumnDrift:
    """How the values of one column, and what they say about the classes, changed."""

    name: str
    psi: float  # population stability index
    js: float  # Jensen–Shannon distance
    p: float  # chance of such a difference if nothing changed
    q: float  # the same, adjusted for the number of columns
    missing: tuple[float, float]  # share of rows without a value, before and after
    missing_q: float
    new: tuple[Level, ...]  # levels that were not there before
    vanished: tuple[Level, ...]  # levels that are not there any more
    evidence: float | None  # mean change of the log odds, in nats; None without labels
    evidence_q: float | None
    cells: tuple[str, ...]  # that are compared
    before: tuple[float, ...]  # shares of the cells
    after: tuple[float, ...]
    is_approximate: bool = False  # of a curve, not of counts
    missing_psi: float = 0.0  # stability index of the shares of rows with a value and without

    @property
    def largest(self) -> float:
        """The stability index of the values or of the share of missing ones, whichever is larger."""
        return max(self.psi, self.missing_psi)

    @property
    def has_values(self) -> bool:
        """Whether both sides have values that can be compared."""
        return max(self.missing) < 1.0

    @property
    def is_changed(self) -> bool:
        """Whether values, missing values or evidence changed beyond chance."""
        return min(self.q, self.missing_q, 1.0 if self.evidence_q is None else self.evidence_q) < LEVEL


@dataclass(frozen=True)
class Drift:
    """How rows differ from those of before; prints as a table.

    Parameters
    ----------
    rows : (float, float)
        Weight of the rows before and after.
    columns : tuple of ColumnDrift
        Those that both sides have, the largest stability index first.
    classes : mapping, optional
        Shares of the classes before and after; None without labels.
    class_psi, class_p : float
        Stability index of the class mix, and the chance of such a difference.
    prior : PriorShift, optional
        Of rows without labels: the class mix that explains them best.
    not_compared : tuple of (str, str)
        Columns that could not be compared, and why.
    """

    rows: tuple[float, float]
    columns: tuple[ColumnDrift, ...]
    classes: dict[Level, tuple[float, float]] | None
    class_psi: float = 0.0
    class_p: float = 1.0
    prior: PriorShift | None = None
    not_compared: tuple[tuple[str, str], ...] = ()

    @property
    def largest(self) -> float:
        """The largest stability index, of values, of the share of missing ones, or of the class mix."""
        return max([self.class_psi, *(column.largest for column in self.columns)])

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns that changed beyond chance."""
        return tuple(column.name for column in self.columns if column.is_changed)

    def __repr__(self) -> str:
        changed = f"{len(self.changed)} of {plural(len(self.columns), 'column')} changed"
        return f"Drift({changed}; largest stability index {self.largest:.3f})"

    def _listing(self) -> Listing:
        header = ("column", "PSI", "JS", "q", "missing", "evidence", "", "levels")
        return Listing(header, [_line(column) for column in self.columns])

    def notes(self, stars: bool = True) -> Iterator[str]:
        """What there is to say besides the columns."""
        if stars and self.changed:
            yield f"* beyond chance (false discovery rate {LEVEL:.0%})"
        if self.classes is not None:
            mix = ", ".join(f"{k}: {a:.1%} → {b:.1%}" for k, (a, b) in list(self.classes.items())[:10])
            yield f"classes {mix} (PSI {self.class_psi:.3f}, p {small(self.class_p)})"
        if self.prior is not None:
            shares = ", ".join(f"{k}: {p:.1%}" for k, p in list(self.prior.prior.items())[:10])
            yield f"no labels; the class mix that explains the rows best: {shares}"
        if any(column.is_approximate for column in self.columns):
            yield "~ compared as curves, since only their moments were counted"
        for name, why in self.not_compared:
            yield f"not compared: {name} ({why})"

    def __str__(self) -> str:
        head = f"{self.rows[0]:,.0f} rows before, {self.rows[1]:,.0f} after; {self!r}"
        return "\n\n".join([head, as_text(self._listing()), "\n".join(self.notes())]).rstrip()

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes())
        note = f"{self.rows[0]:,.0f} rows before, {self.rows[1]:,.0f} after"
        return panel(repr(self)[len("Drift(") : -1], as_html(self._listing()), notes, note=note)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        classes = None if self.classes is None else {str(k): list(pair) for k, pair in self.classes.items()}
        return {
            "rows": list(self.rows),
            "largest": self.largest,
            "changed": list(self.changed),
            "columns": [vars(column) | {"changed": column.is_changed} for column in self.columns],
            "classes": classes,
            "class_psi": self.class_psi,
            "class_p": self.class_p,
            "prior": None if self.prior is None else {str(k): p for k, p in self.prior.prior.items()},
            "not_compared": [list(pair) for pair in self.not_compared],
        }


def _line(column: ColumnDrift) -> tuple[str, ...]:
    first, last = column.missing
    missing = f"{first:.1%} → {last:.1%}{'*' if column.missing_q < LEVEL else ''}" if first or last else ""
    said = ""
    if column.evidence is not None and column.evidence_q is not None:
        said = f"{column.evidence:.3f}{'*' if column.evidence_q < LEVEL else ''}"
    named = [f"new: {_named(column.new)}"] if column.new else []
    named += [f"gone: {_named(column.vanished)}"] if column.vanished else []
    size = "large" if column.largest >= LARGE else "moderate" if column.largest >= MODERATE else ""
    name = f"{'~' if column.is_approximate else ''}{short(column.name, 30)}"
    star = "*" if column.q < LEVEL else ""
    compared = (f"{column.psi:.3f}", f"{column.js:.3f}", f"{small(column.q)}{star}")
    return (
        name,
        *(compared if column.has_values else ("–", "–", "–")),
        missing,
        said,
        size,
        "; ".join(named),
    )


def small(chance: float) -> str:
    """A chance in two digits; of one that is next to nothing no more than that it is."""
    return f"{chance:.2g}" if chance >= 1e-4 else "< 0.0001"


def _named(levels: Sequence[Level]) -> str:
    shown = ", ".join(short(level, 20) for level in levels[:MOST_NAMED])
    return shown if len(levels) <= MOST_NAMED else f"{shown} and {len(levels) - MOST_NAMED} more"


def drift(old: Any, new: Any, target: str | None = None) -> Drift:
    """Return how rows differ from those of before, from what was counted of both.

    Parameters
    ----------
    old : Model, estimator, Tally, table or path
        What was learned; a slice of a ledger is a model. Of rows, numbers are counted in bins.
    new : Model, estimator, Tally, table or path
        Other rows, counted alike. A table, a file or a pattern of files is counted as the old model counts, with the
        labels in the column that it learned them from, or without.
    target : str, optional
        The column of the labels, where the old side is rows.

    Returns
    -------
    Drift
        ``largest`` is the largest stability index, ``changed`` the columns that changed beyond chance at a false
        discovery rate of 5 %. The rows of both sides have to be different ones.

    Examples
    --------
    >>> from tallybayes import datasets, learn
    >>> penguins = datasets.penguins()
    >>> model = learn(penguins, "species")
    >>> drift(model, penguins | {"island": ["Dream"] * len(penguins["island"])}).changed
    ('island',)
    """
    before, model = _tally_of(old if target is None else learn(old, target, PLAIN))
    after = _after(model, new)
    pairs, not_compared = compared_columns(before, after.tally, after.labelled)
    old_rows, new_rows = float(before.class_weight.sum()), float(after.tally.class_weight.sum())
    if not old_rows > 0 or not new_rows > 0:
        raise DataError("drift needs rows on both sides")
    labelled = after.labelled and set(after.tally.schema.classes) == set(before.schema.classes)
    columns = _columns(pairs, labelled, old_rows, new_rows)
    classes, psi, p = _class_mix(before, after.tally) if after.labelled else (None, 0.0, 1.0)
    prior = None
    if not after.labelled and after.scores is not None and model is not None:
        prior = prior_of_scores(model, after.scores, np.ones(len(after.scores)))
    return Drift((old_rows, new_rows), columns, classes, psi, p, prior, tuple(not_compared))


def _tally_of(given: Any) -> tuple[Tally, Model | None]:
    found = getattr(given, "model_", given)
    if isinstance(found, Sample):
        return found.tally, None
    if isinstance(found, Model):
        return found.tally, found
    if isinstance(found, Tally):
        return found, None
    raise DataError(
        f"drift starts from a model, an estimator or a tally, not from {type(given).__name__}; of rows, name the "
        "column of labels with target=…"
    )


def _after(model: Model | None, new: Any) -> Sample:
    found = getattr(new, "model_", new)
    if isinstance(found, Sample):
        return found
    if isinstance(found, Model | Tally):
        tally = found.tally if isinstance(found, Model) else found
        return Sample(tally, round(float(tally.class_weight.sum())), True)
    if model is None:
        raise DataError(
            "rows are counted as the old model counts; a tally alone cannot: pass the model, or two tallies"
        )
    return counted(model, os.fspath(found) if isinstance(found, os.PathLike) else found)


def _columns(pairs: Sequence[Compared], labelled: bool, old: float, new: float) -> tuple[ColumnDrift, ...]:
    """The columns with tests that are adjusted for their number."""
    p = [pair.chance for pair in pairs]
    gone = [_missing_chance(pair, old, new) for pair in pairs]
    said = [pair.evidence_chance if labelled else None for pair in pairs]
    tested = [chance for chance in said if chance is not None]
    q, gone_q, said_q = adjusted(p), adjusted(gone), iter(adjusted(tested))
    found = []
    for place, pair in enumerate(pairs):
        index = stability_index(*_known_and_missing(pair, old, new))
        shown = ColumnDrift(
            pair.name, pair.psi, pair.js, p[place], q[place],
            (1.0 - pair.known[0] / old, 1.0 - pair.known[1] / new), gone_q[place],
            pair.new, pair.vanished, None, None, pair.cells, *pair.shares, pair.is_approximate, index,
        )  # fmt: skip
        if said[place] is not None:
            shown = replace(shown, evidence=pair.evidence, evidence_q=next(said_q))
        found.append(replace(shown, missing=tuple(max(0.0, round(s, 12)) for s in shown.missing)))  # type: ignore[arg-type]
    return tuple(sorted(found, key=lambda column: -column.largest))


def _missing_chance(pair: Compared, old: float, new: float) -> float:
    return chi_square(*_known_and_missing(pair, old, new))


def _known_and_missing(pair: Compared, old: float, new: float) -> tuple[Array, Array]:
    """Rows with a value and without, before and after."""
    first, last = (
        np.array([known, max(rows - known, 0.0)]) for known, rows in zip(pair.known, (old, new), strict=True)
    )
    return first, last


def _class_mix(old: Tally, new: Tally) -> tuple[dict[Level, tuple[float, float]], float, float]:
    classes = list(dict.fromkeys((*old.schema.classes, *new.schema.classes)))

    def weights(tally: Tally) -> Array:
        known = dict(zip(tally.schema.classes, tally.class_weight.tolist(), strict=True))
        return np.array([known.get(label, 0.0) for label in classes])

    mine, theirs = weights(old), weights(new)
    shares = zip(classes, (mine / mine.sum()).tolist(), (theirs / theirs.sum()).tolist(), strict=True)
    found = {label: (a, b) for label, a, b in shares}
    return found, stability_index(mine, theirs), chi_square(mine, theirs)


__all__ = ["ColumnDrift", "Drift", "distance", "drift"]
