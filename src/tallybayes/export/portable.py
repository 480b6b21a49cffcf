"""A scorer as plain data: what a fitted model does to a row, without the tally it came from.

The score of class k is ``prior[k]`` and what every term adds; the probabilities are the softmax of the scores, and a
calibration may follow. Weights of the evidence are multiplied in, and offsets added, already. Every export (JSON,
Python, SQL, ONNX) is written from this record and nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.calibration import Curve, Isotonic, Temperature
from tallybayes.core.model import Model
from tallybayes.core.readings import DatePart, NumberText, Reading
from tallybayes.core.schema import Column, Level
from tallybayes.core.terms import (
    Bag,
    ByBin,
    ByLevel,
    ByPair,
    Ellipsoid,
    Formula,
    Line,
    Normal,
    Part,
    Spike,
    Term,
    Text,
    Together,
    names_of,
)
from tallybayes.core.tokens import Tokens, Vocabulary
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.export.reasons import Ranked
from tallybayes.inspection.reasons import ReasonPlan

FORMAT, VERSION = "tallybayes scorer", 1


NAMES: dict[type, str] = {
    ByLevel: "levels",
    ByBin: "bins",
    ByPair: "pair",
    Part: "part",
    Normal: "normal",
    Spike: "spike",
    Line: "line",
    Formula: "formula",
    Bag: "bag",
    Ellipsoid: "ellipsoid",
    Together: "together",
    Text: "text",
    Tokens: "tokens",
    Temperature: "temperature",
    Isotonic: "isotonic",
    Curve: "curve",
    Reading: "reading",
    NumberText: "number_text",
    DatePart: "date_part",
}


@dataclass(frozen=True)
class Scorer:
    """All that is needed to turn a row into probabilities.

    Parameters
    ----------
    classes : tuple
        The labels, in the order of the probabilities.
    prior : ndarray of shape (K,)
        The score before any evidence.
    fallback : ndarray of shape (K,)
        Log probabilities of a row whose every score is −inf.
    terms : tuple of Term
        What each column, pair, block of numbers or bag of counts adds to the scores.
    calibration : Temperature or Isotonic, optional
        What is done to the log probabilities at the end.
    readings : mapping of column to Reading
        Columns that are read from others: numbers that are written as text, and parts of dates.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> table = {"wind": ["weak", "weak", "strong"]}
    >>> model = NaiveBayes(classical=True, alpha=1).fit(table, ["yes", "yes", "no"]).model_
    >>> Scorer.of(model).terms[0].levels
    ('strong', 'weak')
    """

    classes: tuple[Level, ...]
    prior: Array
    fallback: Array
    terms: tuple[Term, ...]
    calibration: Temperature | Isotonic | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model, texts: bool = False, readings: bool = False, tags: bool = False) -> Scorer:
        """The scorer of a model; one with columns of text or tags, or read from others, only where that can be done."""
        unable = [c for c in model.texts.values() if not (texts or (tags and c.kind == "tags"))]
        if unable:
            names, what = ", ".join(repr(column.name) for column in unable), "the text"
            by = "is tokenised by rules that neither SQL nor ONNX can write down; use to_python or to_json"
            if all(column.kind == "tags" for column in unable):
                what, by = "the tags", "cannot be split in ONNX; use to_sql, to_python or to_json"
            raise NotAvailableError(f"{what} in {names} {by}")
        calibration, classes = model.settings.calibration, model.schema.classes
        if not isinstance(calibration, Temperature | Isotonic | None):
            raise NotAvailableError(f"a calibration of type {type(calibration).__name__} cannot be exported")
        placed = [each for name in model.tally.blocks for each in _terms(model, name)]
        terms = tuple(term for _, term in sorted(placed, key=lambda each: each[0]))
        scorer = cls(classes, model.prior_score, model.fallback, terms, calibration)
        used = set(scorer.columns)
        read = {c.name: c.reading for c in model.schema.columns if c.reading is not None and c.name in used}
        if read and not readings:
            raise NotAvailableError(
                f"column {next(iter(read))!r} is read from {next(iter(read.values())).source!r} (a date, or numbers as "
                "text), which ONNX cannot do; to_json, to_python and to_sql can, or derive it before"
            )
        return replace(scorer, readings=read)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are evidence, each once."""
        return tuple(dict.fromkeys(name for term in self.terms for name in names_of(term)))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns of a row: for those that are read from others, these."""
        read = self.readings
        return tuple(dict.fromkeys(read[name].source if name in read else name for name in self.columns))

    def as_dict(self) -> dict[str, Any]:
        """The record as what JSON can hold, as `docs/how-to/exports.md` describes it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "classes": [_plain(label) for label in self.classes],
            "prior": _plain(self.prior),
            "fallback": _plain(self.fallback),
            "terms": [_plain(term) for term in self.terms],
            "calibration": _plain(self.calibration),
            **({"readings": {name: _plain(each) for name, each in self.readings.items()}} if self.readings else {}),
        }

    def to_json(self, indent: int | None = None) -> str:
        """The record as JSON; floats are written so that they are read back exactly."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False, indent=indent)


def to_json(model: Model, indent: int | None = None, reasons: ReasonPlan | None = None) -> str:
    """What a model does to a row, as JSON; with a plan of reasons, what they are worked out with, too."""
    scorer = Scorer.of(model, texts=True, readings=True)
    if reasons is None:
        return scorer.to_json(indent)
    record = scorer.as_dict() | {"reasons": Ranked.of(reasons, model, scorer.terms).as_dict()}
    return json.dumps(record, ensure_ascii=False, allow_nan=False, indent=indent)


# ------------------------------------------------------------------------------------------ from parameters to terms


def _terms(model: Model, block: str) -> Iterator[tuple[int, Term]]:
    """The terms of a block with the place of their column; what adds nothing to any class is left out."""
    params, family = model.scoring[block], model.settings.families[block]
    places = model.tally.blocks[block].columns
    lookup = model.offsets.get(block)
    if block in model.texts:
        column = model.texts[block]
        text = family.text_term(params, column, _words(model, block, column))
        yield places[0], text if lookup is None else replace(text, correction=lookup.table[0])
        return
    weights, columns = model.weight_of(block), [model.schema.columns[c] for c in places]
    for j, term in family.terms(params, columns):
        if weights[j] != 0.0 or family.is_coded or (family.is_document and not family.is_correction):
            yield places[j], term
    if lookup is not None and not family.is_coded:  # those of codes are in the tables
        for one in lookup.by_column():
            j = int(one.columns[0])
            yield places[j], ByBin(columns[j].name, one.edges, one.table[:-1])


def _words(model: Model, block: str, column: Column) -> tuple[str, ...]:
    """The words of a text that were counted at all."""
    if column.tokens is None or not isinstance(column.levels, Vocabulary):
        raise NotAvailableError(f"the words of {column.name!r} are hashed, so they cannot be listed; use hashed=None")
    words = column.levels[:]
    return tuple(words[v] for v in model.words.known[block].tolist()) if block in model.words.known else words


# ------------------------------------------------------------------------------------------ plain values


def check_plain(scorer: Scorer) -> None:
    """Refuse labels and levels that cannot be spelled."""
    found: list[ByLevel | Part] = [term for term in scorer.terms if isinstance(term, ByLevel)]
    found += [part for term in scorer.terms if isinstance(term, ByPair) for part in term.parts]
    for value in (*scorer.classes, *(level for each in found for level in each.levels or ())):
        _plain(value)


def _plain(value: Any) -> Any:
    """A record, an array or a value as what JSON can hold; what is infinite is spelled as text."""
    if type(value) in NAMES:
        return {"is": NAMES[type(value)], **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, np.ndarray):
        return value.tolist() if np.isfinite(value).all() else [_plain(item) for item in value.tolist()]
    if isinstance(value, tuple | list | range):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return "-Infinity" if value < 0 else "Infinity" if value > 0 else "NaN"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise SettingError(
        f"a {type(value).__name__} cannot be exported; labels and levels must be text, numbers, true or false"
    )
