"""The evidence for one prediction, column by column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from tallybayes.core.batch import Array, Rows
from tallybayes.core.importance import corrections
from tallybayes.core.model import Model
from tallybayes.core.offsets import CONSTANT, CORRECTION
from tallybayes.core.schema import Level, Schema, plural
from tallybayes.errors import DataError, nearest
from tallybayes.inspection.explain._values import difference, percent, shown, value_of
from tallybayes.inspection.explain.words import Words, marked_html, words_of

MOST_WORDS = 10  # of a text, that are listed
ROOM = 40  # characters for the names of columns that are folded into one line
LEAST = 0.0005  # nats that are shown as 0.000
FAINTEST = 0.025  # share of the strongest evidence below which it has no bar
SILENT = "next to nothing"


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

    @property
    def what(self) -> str:
        """The column and its value, in a few words."""
        if self.words is not None:
            return f"{self.column}: {self.words}"
        return f"{self.column} = {shown(self.value)}{' (never seen)' if self.unseen else ''}"

    def lines(self) -> list[tuple[str, float]]:
        """The lines to print: the column, and for a text its strongest words."""
        found = [(self.what, self.log_odds)]
        if self.words is None:
            return found
        for word in self.words.words[:MOST_WORDS]:
            times = f" ×{word.times:,}" if word.times > 1 else ""
            found.append((f"  {word.word}{times}", word.log_odds))
        if rest := self.words.words[MOST_WORDS:]:
            found.append(
                (f"  {plural(len(rest), f'other {self.words.noun}')}", math.fsum(word.log_odds for word in rest))
            )
        if self.words.absent:
            found.append((f"  absent {self.words.noun if self.words.are_tags else 'word'}s", self.words.absent))
        if self.correction:
            found.append((f"  {CONSTANT if self.is_constant else CORRECTION}", self.correction))
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

    def __repr__(self) -> str:
        return f"Explanation({self._head})"

    @property
    def _head(self) -> str:
        ranked = sorted(self.posterior, key=lambda label: -self.posterior[label])[:2]
        beside = "next" if ranked == [self.label, self.against] else "compared with"
        return f"{self.label}: {percent(self.posterior[self.label])} ({beside}: {self.against})"

    @property
    def _lines(self) -> list[tuple[str, float]]:
        known = [e for e in self.evidence if (e.value is not None or e.log_odds) and e not in self._silent]
        lines = [("prior", self.prior), *(line for e in known for line in e.lines())]
        if not self._silent:
            return lines
        return [*lines, (f"{SILENT}: {_named(self._silent)}", math.fsum(e.log_odds for e in self._silent))]

    @property
    def _silent(self) -> tuple[Evidence, ...]:
        """Columns that have a value and say next to nothing, where there are several: one line for all."""
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
        found = [f"with a {kind}: {', '.join(e.column for e in of)}" for kind, of in kinds if of]
        return [self._missing, *found] if self._missing else found

    def __str__(self) -> str:
        parts = self._lines
        wide = max(len(name) for name, _ in parts)
        largest = max((abs(amount) for _, amount in parts if math.isfinite(amount)), default=1.0) or 1.0
        lines = [self._head]
        for name, amount in parts:
            size = round(20 * min(1.0, abs(amount) / largest))
            lines.append(f"  {name:{wide}} {amount + 0.0:+9.3f} {('█' if amount > 0 else '░') * size}".rstrip())
        lines.append(f"  {'total':{wide}} {self.total:+9.3f}")
        return "\n".join(lines + [f"  {note}" for note in self._notes])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name).replace('  ', '&emsp;')}<td style='text-align:right'>{amount + 0.0:+.3f}"
            for name, amount in self._lines
        )
        texts = "".join(f"<p>{marked_html(e.words.pieces)}</p>" for e in self.evidence if e.words is not None)
        total = f"<tr><td>total<td style='text-align:right'>{self.total:+.3f}"
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes)
        return f"<p>{escape(self._head)}</p><table>{rows}{total}</table>{notes}{texts}"

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "label": self.label,
            "against": self.against,
            "prior": self.prior,
            "evidence": [
                {"column": e.column, "value": e.value, "log_odds": e.log_odds}
                | ({"constant" if e.is_constant else "correction": e.correction} if e.correction else {})
                | ({} if e.words is None else e.words.as_dict())
                for e in self.evidence
            ],
            "total": self.total,
            "posterior": {str(label): p for label, p in self.posterior.items()},
        }


def explain(model: Model, batch: Rows, values: Mapping[str, Any], against: Level | None = None) -> Explanation:
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
    return Explanation(
        classes[best],
        classes[other],
        prior,
        evidence,
        _total(prior, [e.log_odds for e in evidence]),
        dict(zip(classes, posterior.tolist(), strict=True)),
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
