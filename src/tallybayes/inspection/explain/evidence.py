"""The evidence for one prediction, column by column."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np

from tallybayes.core.batch import Array, Rows
from tallybayes.core.importance import corrections
from tallybayes.core.listings import short
from tallybayes.core.model import Model
from tallybayes.core.notebook import Bar, Cell, grid, panel
from tallybayes.core.offsets import CONSTANT, CORRECTION
from tallybayes.core.schema import Level, Schema, plural
from tallybayes.errors import DataError, nearest
from tallybayes.inspection.explain._values import difference, percent, shown, value_of
from tallybayes.inspection.explain.words import Words, marked_html, words_of
from tallybayes.inspection.uncertainty import Uncertainty, quantile

MOST_WORDS = 10  # of a text, that are listed
ROOM = 40  # characters for the names of columns that are folded into one line
LEAST = 0.0005  # nats that are shown as 0.000
NAMED = 4  # columns that a note lists
FAINTEST = 0.025  # share of the strongest evidence below which it has no bar
BARS, LEAST_BARS = 20, 8  # characters of the longest bar, and where there is little room
SILENT = "little each"


class Line(NamedTuple):
    """A line of an explanation."""

    name: str
    amount: float  # log odds
    spread: float | None = None  # half the width of the interval


@dataclass(frozen=True)
class Evidence:
    """The evidence of one column: log P(value | label) − log P(value | against), in nats, weighted and corrected."""

    column: str
    value: Any
    log_odds: float
    pair: bool = False  # several columns together
    words: Words | None = None  # of a text
    unseen: bool = False  # an unseen category, which is no evidence
    correction: float = 0.0  # the part of it that is an offset
    is_constant: bool = False  # the same for every value of the column
    spread: float | None = None  # half the width of its interval, where one was asked for

    @property
    def what(self) -> str:
        """The column and its value, in a few words."""
        if self.words is not None:
            return f"{self.column}: {self.words}"
        return f"{self.column} = {shown(self.value)}{' (never seen)' if self.unseen else ''}"

    def lines(self) -> list[Line]:
        """The lines to print: the column, and for a text its strongest words."""
        found = [Line(self.what, self.log_odds, self.spread)]
        if self.words is None:
            return found
        for word in self.words.words[:MOST_WORDS]:
            times = f" ×{word.times:,}" if word.times > 1 else ""
            found.append(Line(f"  {word.word}{times}", word.log_odds))
        if rest := self.words.words[MOST_WORDS:]:
            amount = math.fsum(word.log_odds for word in rest)
            found.append(Line(f"  {plural(len(rest), f'other {self.words.noun}')}", amount))
        if self.words.absent:
            found.append(Line(f"  absent {self.words.noun if self.words.are_tags else 'word'}s", self.words.absent))
        if self.correction:
            found.append(Line(f"  {CONSTANT if self.is_constant else CORRECTION}", self.correction))
        return found


@dataclass(frozen=True)
class Explanation:
    """The evidence for one prediction; prior and evidence add up to the total."""

    label: Level  # the likeliest class
    against: Level  # the class it is compared with
    prior: float  # log P(label) − log P(against)
    evidence: tuple[Evidence, ...]  # strongest first
    total: float  # log odds of the label
    posterior: dict[Level, float]  # P(y | x)
    level: float | None = None  # of the intervals, where they were asked for
    intervals: dict[Level, tuple[float, float]] = field(default_factory=dict)  # of P(y | x)
    prior_spread: float | None = None  # half the width of the interval of the prior
    total_spread: float | None = None  # and of the total

    def __repr__(self) -> str:
        return f"Explanation({self._head})"

    @property
    def _head(self) -> str:
        ranked = sorted(self.posterior, key=lambda label: -self.posterior[label])[:2]
        beside = "next" if ranked == [self.label, self.against] else "compared with"
        if self.label not in self.intervals:
            return f"{self.label}: {percent(self.posterior[self.label])} ({beside}: {self.against})"
        low, high = self.intervals[self.label]
        within = f"{percent(low)} to {percent(high)}"
        return f"{self.label}: {percent(self.posterior[self.label])}, from {within} ({beside}: {self.against})"

    @property
    def _lines(self) -> list[Line]:
        known = [e for e in self.evidence if (e.value is not None or e.log_odds) and e not in self._silent]
        lines = [Line("prior", self.prior, self.prior_spread), *(line for e in known for line in e.lines())]
        if not self._silent:
            return lines
        return [*lines, Line(f"{SILENT}: {_named(self._silent)}", math.fsum(e.log_odds for e in self._silent))]

    @property
    def _silent(self) -> tuple[Evidence, ...]:
        """Columns that have a value and little evidence, where there are several: one line for all."""
        largest = max((abs(e.log_odds) for e in self.evidence if math.isfinite(e.log_odds)), default=0.0)
        least = max(LEAST, FAINTEST * largest)
        found = tuple(
            e for e in self.evidence if abs(e.log_odds) < least and not e.unseen and (e.value is not None or e.log_odds)
        )
        return found if len(found) > 1 else ()

    @property
    def _missing(self) -> str:
        names = [e.column for e in self.evidence if e.value is None and not e.log_odds and not e.pair]
        return f"missing: {', '.join(names)}" if names else ""

    @property
    def _notes(self) -> list[str]:
        offsets = [e for e in self.evidence if e.correction and e.words is None]
        kinds = [
            (CORRECTION, [e for e in offsets if not e.is_constant]),
            (CONSTANT, [e for e in offsets if e.is_constant]),
        ]
        found = [f"with a {kind}: {_some([e.column for e in of])}" for kind, of in kinds if of]
        return [self._missing, *found] if self._missing else found

    def __str__(self) -> str:
        return self.in_width(None)

    def in_width(self, width: int | None) -> str:
        """The evidence as text, in lines of at most so many characters where a width is given."""
        parts = self._lines
        wide, bars = max(len(line.name) for line in parts), BARS
        if width is not None:
            room = width - len(f"{0.0:9.3f}{self._within(0.0)}") - 4  # the figures and the blanks around them
            bars = max(min(BARS, room - wide), LEAST_BARS)
            wide = max(min(wide, room - bars), LEAST_BARS)
        largest = max((abs(line.amount) for line in parts if math.isfinite(line.amount)), default=1.0) or 1.0
        lines = [self._head]
        for name, amount, spread in parts:
            bar = ("█" if amount > 0 else "░") * round(bars * min(1.0, abs(amount) / largest))
            figures = f"{amount + 0.0:+9.3f}{self._within(spread)}"
            lines.append(f"  {_folded(name, wide):{wide}} {figures} {bar}".rstrip())
        lines.append(f"  {'total':{wide}} {self.total:+9.3f}{self._within(self.total_spread)}".rstrip())
        notes = self._notes
        if width is not None:
            notes = [line for note in notes for line in textwrap.wrap(note, max(width - 2, 20))]
        return "\n".join(lines + [f"  {note}" for note in notes])

    def _within(self, spread: float | None) -> str:
        """Half the width of an interval, in a column of its own where intervals were asked for."""
        if self.level is None:
            return ""
        return f" ± {spread:.3f}" if spread is not None and math.isfinite(spread) else " " * 8

    def _repr_html_(self) -> str:
        finite = [abs(line.amount) + (line.spread or 0.0) for line in self._lines if math.isfinite(line.amount)]
        largest = max(finite, default=1.0) or 1.0
        rows: list[Sequence[Cell]] = []
        for name, amount, spread in [*self._lines, Line("total", self.total, self.total_spread)]:
            bar = Bar(amount / largest, True, (spread or 0.0) / largest) if math.isfinite(amount) else None
            rows.append((name, f"{amount + 0.0:+.3f}", self._within(spread).strip(), None if name == "total" else bar))
        texts = [f"<p>{marked_html(e.words.pieces)}</p>" for e in self.evidence if e.words is not None]
        notes = [f"<p>{escape(note)}</p>" for note in self._notes]
        return panel(self._head, grid(("", "log odds", "", ""), rows), *notes, *texts)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "label": self.label,
            "against": self.against,
            "prior": self.prior,
            "evidence": [
                {"column": e.column, "value": e.value, "log_odds": e.log_odds}
                | ({} if e.spread is None else {"interval": [e.log_odds - e.spread, e.log_odds + e.spread]})
                | ({"constant" if e.is_constant else "correction": e.correction} if e.correction else {})
                | ({} if e.words is None else e.words.as_dict())
                for e in self.evidence
            ],
            "total": self.total,
            "posterior": {str(label): p for label, p in self.posterior.items()},
        } | self._intervals()

    def _intervals(self) -> dict[str, Any]:
        """The intervals as plain values; nothing where none were asked for."""
        if self.level is None or self.prior_spread is None or self.total_spread is None:
            return {}
        ends = {"prior": (self.prior, self.prior_spread), "total": (self.total, self.total_spread)}
        odds = {name: [middle - spread, middle + spread] for name, (middle, spread) in ends.items()}
        of_classes = {str(label): list(each) for label, each in self.intervals.items()}
        return {"intervals": {"level": self.level, **odds, "posterior": of_classes}}


def _folded(name: str, wide: int) -> str:
    """A name in at most so many characters; how far it is set in stays."""
    text = name.lstrip()
    indent = name[: len(name) - len(text)]
    return name if len(name) <= wide else indent + short(text, max(wide - len(indent), 2))


def _some(names: Sequence[str]) -> str:
    """The first names and how many more there are: the columns of a large model would fill the screen."""
    return (
        ", ".join(names)
        if len(names) <= NAMED
        else f"{', '.join(names[: NAMED - 1])} and {len(names) - NAMED + 1} more"
    )


def explain(
    model: Model,
    batch: Rows,
    values: Mapping[str, Any],
    against: Level | None = None,
    interval: float | None = None,
) -> Explanation:
    """Return the evidence for the prediction of one row.

    Parameters
    ----------
    model : Model
    batch : Rows
        One row.
    values : mapping of str to value
        The same row as a person reads it.
    against : class label, optional
        The class to compare with; the runner-up if not given.
    interval : float, optional
        The share of intervals that cover, such as 0.9: the evidence and the probabilities then have intervals.

    Returns
    -------
    Explanation
    """
    classes = model.schema.classes
    if len(classes) < 2:
        raise DataError("with a single class there is nothing to explain")
    if against is not None and against not in classes:
        raise DataError(f"there is no class {against!r}; {nearest(against, classes)}")
    parts, posterior = model.contributions(batch)[0], model.posterior(batch)[0]
    ranked = np.argsort(-posterior, kind="stable")
    best = int(ranked[0]) if against is None or classes.index(against) != ranked[0] else int(ranked[1])
    other = int(ranked[1]) if against is None else classes.index(against)
    words = {
        text.name: words_of(model, batch, block, values, best, other)
        for block, text in model.texts.items()
        if values.get(text.name) is not None
    }
    offsets = corrections(model, batch.rows(0, 1))[0]
    odds = dict(zip(model.schema.names, (offsets[best] - offsets[other]).tolist(), strict=True))
    found = strongest(model.schema, values, parts[best], parts[other], words)
    constant = {name for name, offset in model.settings.offsets.items() if offset.is_constant}
    evidence = tuple(replace(e, correction=odds[e.column], is_constant=e.column in constant) for e in found)
    prior = difference(float(model.prior_score[best]), float(model.prior_score[other]))
    found_here = Explanation(
        classes[best],
        classes[other],
        prior,
        evidence,
        _total(prior, [e.log_odds for e in evidence]),
        dict(zip(classes, posterior.tolist(), strict=True)),
    )
    return found_here if interval is None else _with_intervals(found_here, model, batch, interval)


def _with_intervals(found: Explanation, model: Model, batch: Rows, level: float) -> Explanation:
    """The same with the interval of each figure."""
    classes, known, wide = model.schema.classes, Uncertainty(model), quantile(level)
    odds = known.odds(batch, classes.index(found.label), classes.index(found.against))
    spread = dict(zip(model.schema.names, (wide * odds.columns[0]).tolist(), strict=True))
    ends = known.probabilities(batch, level)[0].tolist()
    return replace(
        found,
        evidence=tuple(replace(e, spread=spread[e.column]) for e in found.evidence),
        level=level,
        intervals={label: (low, high) for label, (low, high) in zip(classes, ends, strict=True)},
        prior_spread=wide * odds.prior,
        total_spread=wide * float(odds.total[0]),
    )


def strongest(
    schema: Schema, values: Mapping[str, Any], mine: Array, theirs: Array, words: Mapping[str, Words] | None = None
) -> tuple[Evidence, ...]:
    """The evidence of each column for one class against another, by its log probabilities (D,); strongest first."""
    words, evidence = words or {}, []
    for d, c in enumerate(schema.columns):
        if c.kind not in ("ignored", "date"):
            value, odds = value_of(c, values), difference(mine[d], theirs[d])
            unseen = c.kind == "category" and not odds and value is not None and value not in (c.levels or ())
            evidence.append(Evidence(c.name, value, odds, c.parts is not None, words.get(c.name), unseen))
    return tuple(sorted(evidence, key=lambda e: -abs(e.log_odds)))


def _named(evidence: Sequence[Evidence]) -> str:
    """The columns that there is room for, and how many more there are."""
    shown: list[str] = []
    for each in evidence:
        if not each.pair and len(", ".join([*shown, each.column])) <= ROOM:
            shown.append(each.column)
    more = len(evidence) - len(shown)
    return f"{', '.join(shown)}{f' and {more} more' if more else ''}" if shown else plural(more, "column")


def _total(prior: float, amounts: list[float]) -> float:
    """The sum; where impossibilities stand on both sides, neither side is ahead."""
    return 0.0 if {math.inf, -math.inf} <= {prior, *amounts} else prior + math.fsum(amounts)
