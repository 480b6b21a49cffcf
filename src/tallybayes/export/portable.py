"""A scorer as plain data: what a fitted model does to a row, without the tally it came from.

The score of class k is ``prior[k]`` and what every term adds; the probabilities are the softmax of the scores, and a
calibration may follow. Weights of the evidence are multiplied in already. Every export (JSON, Python, SQL, ONNX) is
written from this record and nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tallybayes.core.batch import Array
from tallybayes.core.calibration import Curve, Isotonic, Temperature
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Level
from tallybayes.core.tokens import Tokens, Vocabulary
from tallybayes.errors import NotAvailableError, SettingError
from tallybayes.families import DOCUMENTS, Lognormal
from tallybayes.families._ellipsoids import Ellipsoids
from tallybayes.families._linear import Linear
from tallybayes.families._tables import Tables
from tallybayes.families.gaussian import Normals
from tallybayes.families.zero_inflated import SpikedParameters
from tallybayes.learning.mixtures import Pooled

FORMAT, VERSION = "tallybayes scorer", 1


@dataclass(frozen=True)
class ByLevel:
    """A value is looked up: ``scores[i]`` where it is ``levels[i]``."""

    column: str
    levels: tuple[Level, ...]
    scores: Array  # (C, K)
    missing: Array  # (K,) what a hole adds
    unseen: Array  # (K,) what a value that is no level adds


@dataclass(frozen=True)
class ByBin:
    """A number is looked up between edges: ``scores[i]`` where i edges are at or below it; a hole adds nothing."""

    column: str
    edges: Array  # (B - 1,) rising
    scores: Array  # (B, K)
    above: bool = False  # a number has to be above an edge to pass it; at the edge is not enough


@dataclass(frozen=True)
class Part:
    """One of the two columns of a pair, and which place of the table a value has: that of its level or bin."""

    column: str
    levels: tuple[Level, ...] | None
    edges: Array | None
    missing: int | None  # place of a hole; without one the pair adds nothing


@dataclass(frozen=True)
class ByPair:
    """Two values are looked up together; a hole without a place or a value that is no level adds nothing."""

    parts: tuple[Part, Part]
    scores: Array  # (A, B, K)

    @property
    def column(self) -> str:
        """The name it has in messages."""
        return f"{self.parts[0].column} × {self.parts[1].column}"


@dataclass(frozen=True)
class Normal:
    """A bell curve: ``log_norm − ½ (x − mean)² · precision``; a hole adds nothing.

    With ``log`` it is one of the logarithm of x, and a number that is not above zero adds nothing.
    """

    column: str
    mean: Array  # (K,)
    precision: Array  # (K,)
    log_norm: Array  # (K,)
    log: bool = False


@dataclass(frozen=True)
class Spike:
    """Zero adds ``zero``; any other number adds ``other`` and what ``rest`` says of it; a hole adds nothing."""

    column: str
    zero: Array  # (K,)
    other: Array  # (K,)
    rest: Normal


@dataclass(frozen=True)
class Line:
    """``offset + slope · x`` for x ≥ 0; a hole adds nothing. A slope of −inf times a zero is zero."""

    column: str
    slope: Array  # (K,)
    offset: Array  # (K,)


@dataclass(frozen=True)
class Bag:
    """``Σ slopes[i] · x_i`` over counts that are one document. They have no holes; a slope of −inf times zero is zero.

    With a ``length`` the counts of a row are first scaled so that they sum to it; a row of zeros stays as it is.
    """

    columns: tuple[str, ...]
    slopes: Array  # (V, K)
    length: float | None = None


@dataclass(frozen=True)
class Ellipsoid:
    """Numbers that vary together: ``log_norm − ½ Σ_r (Σ_i (x_i − mean_i) / scale_i · axes_ir)²``, without holes."""

    columns: tuple[str, ...]
    mean: Array  # (K, d)
    scale: Array  # (d,)
    axes: Array  # (K, d, d)
    log_norm: Array  # (K,)


@dataclass(frozen=True)
class Text:
    """``offset + Σ slopes[i] · amount_i`` over the words of a text, counted as ``tokens`` says; a hole adds nothing.

    With a ``length`` the amounts of the words that are known are scaled so that they sum to it; ``binary`` ones are 1
    for a word that occurs.
    """

    column: str
    tokens: Tokens
    words: tuple[str, ...]
    slopes: Array  # (V, K)
    offset: Array  # (K,)
    length: float | None = None
    binary: bool = False


Term = ByLevel | ByBin | ByPair | Normal | Spike | Line | Bag | Ellipsoid | Text
NAMES: dict[type, str] = {
    ByLevel: "levels",
    ByBin: "bins",
    ByPair: "pair",
    Part: "part",
    Normal: "normal",
    Spike: "spike",
    Line: "line",
    Bag: "bag",
    Ellipsoid: "ellipsoid",
    Text: "text",
    Tokens: "tokens",
    Temperature: "temperature",
    Isotonic: "isotonic",
    Curve: "curve",
    Pooled: "pooled",
}


@dataclass(frozen=True)
class Scorer:
    """All that is needed to turn a row into probabilities.

    Parameters
    ----------
    classes : tuple
        What is answered, in the order of the probabilities.
    prior : ndarray of shape (K,)
        The score before any evidence.
    fallback : ndarray of shape (K,)
        Log probabilities of a row whose every score is −inf.
    terms : tuple of Term
        What each column, pair of columns or bag of counts adds to the scores.
    calibration : Temperature, Isotonic or Pooled, optional
        What is done to the log probabilities at the end.

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
    calibration: Temperature | Isotonic | Pooled | None = None

    @classmethod
    def of(cls, model: Model, texts: bool = False) -> Scorer:
        """The scorer of a model; one with columns of text only for those who can cut texts into words."""
        if model.texts and not texts:
            names = ", ".join(repr(column.name) for column in model.texts.values())
            raise NotAvailableError(f"the text in {names} is cut into words, which only to_json can tell of")
        calibration, classes = model.settings.calibration, model.schema.classes
        if isinstance(calibration, Pooled):
            labels = {k: c[0] for c, k in zip(classes, calibration.group, strict=True)}  # type: ignore[index]
            classes = tuple(labels[k] for k in range(len(labels)))
        elif not isinstance(calibration, Temperature | Isotonic | None):
            raise NotAvailableError(f"a calibration of type {type(calibration).__name__} cannot be exported")
        placed = [each for name in model.tally.blocks for each in _terms(model, name)]
        terms = tuple(term for _, term in sorted(placed, key=lambda each: each[0]))
        return cls(classes, model.prior_score, model.fallback, terms, calibration)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are evidence, each once."""
        return tuple(dict.fromkeys(name for term in self.terms for name in names_of(term)))

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
        }

    def to_json(self, indent: int | None = None) -> str:
        """The record as JSON; floats are written so that they are read back exactly."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False, indent=indent)


def names_of(term: Term) -> tuple[str, ...]:
    """The columns that a term reads."""
    if isinstance(term, ByPair):
        return term.parts[0].column, term.parts[1].column
    return term.columns if isinstance(term, Bag | Ellipsoid) else (term.column,)


def to_json(model: Model, indent: int | None = None) -> str:
    """What a model does to a row, as JSON."""
    return Scorer.of(model, texts=True).to_json(indent)


# ------------------------------------------------------------------------------------------ from parameters to terms


def _terms(model: Model, block: str) -> Iterator[tuple[int, Term]]:
    """The terms of a block with the place of their column; what adds nothing to any class is left out."""
    if model.settings.weights is not None and model.settings.weights.by_class is not None:
        raise NotAvailableError("a model whose weights differ by class is not written elsewhere; fit it with 'auto'")
    params, family = model.scoring[block], model.settings.families[block]
    places = model.tally.blocks[block].columns
    columns = [model.schema.columns[c] for c in places]
    names = [column.name for column in columns]
    if block in model.texts:
        yield places[0], _text(model, block, params, family)
    elif isinstance(params, Ellipsoids):
        yield places[0], _ellipsoid(params, names)
    elif family.name in DOCUMENTS:
        yield places[0], Bag(tuple(names), _slopes(params)[0], getattr(family, "document_length", None))
    else:
        weighs = model.weight_of(block)
        make = next(make for kind, make in MAKERS.items() if isinstance(params, kind))
        for j, column in enumerate(columns):
            if weighs[j] != 0.0:
                yield from ((places[j], term) for term in make(params, family, j, column))


def _of_table(params: Tables, family: Any, j: int, column: Column) -> Iterator[Term]:
    scores = np.array(params.of_column(j).T)
    unseen = params.table[params.start[j + 1] - 1]
    if not scores.size or not (scores.any() or unseen.any()):
        return
    if column.parts is not None:
        parts = tuple(map(_part, column.parts))
        yield ByPair((parts[0], parts[1]), scores.reshape(*(part.n_cells for part in column.parts), -1))
    elif column.edges is not None:
        first = np.concatenate(([True], (scores[1:] != scores[:-1]).any(axis=1)))  # merged bins are told apart no more
        yield ByBin(column.name, np.array(column.edges)[first[1:]], scores[first])
    else:
        levels = tuple(column.levels or ())
        holes = bool(levels) and levels[-1] is None
        missing = scores[-1] if holes else np.zeros(scores.shape[1])
        known = len(levels) - holes
        yield ByLevel(column.name, levels[:known], scores[:known], missing, unseen)


def _part(column: Column) -> Part:
    if column.edges is not None:
        return Part(column.name, None, np.array(column.edges), None)
    levels = tuple(column.levels or ())
    holes = bool(levels) and levels[-1] is None
    known = len(levels) - holes
    return Part(column.name, levels[:known], None, known if holes else None)


def _of_normals(params: Normals, family: Any, j: int, column: Column) -> Iterator[Normal]:
    if params.precision[:, j].any() or params.log_norm[:, j].any():
        part = params.mean[:, j], params.precision[:, j], params.log_norm[:, j]
        yield Normal(column.name, *part, log=isinstance(family, Lognormal))


def _of_spike(params: SpikedParameters, family: Any, j: int, column: Column) -> Iterator[Term]:
    zero, other = _yes_or_no(params.other, j)
    nothing = np.zeros_like(zero)
    kind = Lognormal() if family.rest == "lognormal" else None
    rest = next(_of_normals(params.rest, kind, j, column), Normal(column.name, nothing, nothing, nothing, bool(kind)))
    yield Spike(column.name, zero, other, rest)


def _of_line(params: Linear, family: Any, j: int, column: Column) -> Iterator[Term]:
    if family.name != "bernoulli" or (family.threshold is None and params.veto is None):
        slope, offset = _slopes(params, slice(j, j + 1))
        yield Line(column.name, slope[0], offset[0])
    else:
        edge = 0.5 if family.threshold is None else float(family.threshold)
        yield ByBin(column.name, np.array([edge]), np.stack(_yes_or_no(params, j)), above=True)


def _slopes(params: Linear, columns: slice = slice(None)) -> tuple[Array, Array]:
    """Slopes and offsets (d, K) of some columns, −inf where a veto stands for it."""
    slope, veto = np.array(params.finite.slope[columns]), params.veto
    offset = np.zeros_like(slope) if params.finite.offset is None else np.array(params.finite.offset[columns])
    if veto is not None:
        slope[veto.slope[columns] > 0] = -np.inf
    return slope, offset


def _yes_or_no(params: Linear, j: int) -> tuple[Array, Array]:
    """What no and yes add (K,) in a column of Bernoulli parameters."""
    assert params.finite.offset is not None
    no, yes = params.finite.offset[j].copy(), params.finite.offset[j] + params.finite.slope[j]
    if params.veto is not None:
        assert params.veto.offset is not None
        no[params.veto.offset[j] > 0] = -np.inf
        yes[params.veto.offset[j] + params.veto.slope[j] > 0] = -np.inf
    return no, yes


def _text(model: Model, block: str, params: Linear, family: Any) -> Text:
    column = model.texts[block]
    if column.tokens is None or not isinstance(column.levels, Vocabulary):
        raise NotAvailableError(f"the words of {column.name!r} are hashed, so they cannot be listed; use hashed=None")
    if not isinstance(params, Linear):
        raise NotAvailableError(
            f"which words of {column.name!r} are heard depends on the text, so there is no table of them to export"
        )
    words = column.levels[:]
    if block in model.words.known:
        words = tuple(words[v] for v in model.words.known[block].tolist())
    slopes, offset = _slopes(params)
    binary = family.name == "bernoulli"
    if binary and params.veto is not None:
        raise NotAvailableError(f"words of {column.name!r} that veto a class cannot be exported; use an alpha above 0")
    length = getattr(family, "document_length", None)
    return Text(column.name, column.tokens, words, slopes, offset.sum(axis=0), length, binary)


def _ellipsoid(params: Ellipsoids, names: Sequence[str]) -> Ellipsoid:
    columns = params.evidence
    axes, log_norm = zip(*params.whitened(columns), strict=True)
    chosen = tuple(names[c] for c in columns)
    return Ellipsoid(chosen, params.mean[:, columns], params.scale[columns], np.stack(axes), np.array(log_norm))


MAKERS: dict[type, Callable[..., Iterator[Term]]] = {
    Tables: _of_table,
    Linear: _of_line,
    Normals: _of_normals,
    SpikedParameters: _of_spike,
}


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
