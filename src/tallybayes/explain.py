"""Why a prediction is what it is: the evidence of each column, and the sum worked out as in a lecture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.batch import Array, Csr, Rows
from tallybayes.errors import DataError, NotAvailableError
from tallybayes.families import Categorical
from tallybayes.families._family import per_column
from tallybayes.families.binned import coarse_edges, partition
from tallybayes.families.gaussian import Normals
from tallybayes.model import Model
from tallybayes.schema import Column, Level, Schema, plural
from tallybayes.tally import Counts, Moments
from tallybayes.tokens import Vocabulary

MOST_WORDS = 10  # of a text, that are listed
LONGEST = 60  # characters of a value that are shown
LONGEST_MARKED = 100_000  # characters of a text whose words are marked
FAINT = 0.02  # share of the strongest below which a word is not marked

Pieces = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Word:
    """What one word of a text says, all its occurrences together."""

    word: str
    times: int
    log_odds: float


@dataclass(frozen=True)
class Words:
    """What the words of a text say; with ``absent`` they add up to the evidence of the column."""

    words: tuple[Word, ...]  # those that are known, strongest first
    unknown: int  # different words that were never learned: no evidence
    absent: float  # what speaks by not being there, with Bernoulli words
    pieces: tuple[tuple[str, float], ...]  # the text in pieces, each with its share of the evidence; none if very long

    def __str__(self) -> str:
        if not self.words:
            return "no word" if not self.unknown else "no known word"
        of = f" of {len(self.words) + self.unknown:,}" if self.unknown else ""
        return plural(len(self.words), f"known {self.noun}") + of

    @property
    def noun(self) -> str:
        """What they are called: a pair of words is a token."""
        return "token" if any(" " in each.word for each in self.words) else "word"


@dataclass(frozen=True)
class Evidence:
    """What one column says: log P(value | label) − log P(value | against), in nats."""

    column: str
    value: Any
    log_odds: float
    pair: bool = False  # two columns together
    words: Words | None = None  # of a text

    @property
    def what(self) -> str:
        """The column and its value, in a few words."""
        return f"{self.column} = {shown(self.value)}" if self.words is None else f"{self.column}: {self.words}"

    def lines(self) -> list[tuple[str, float]]:
        """What is shown of it: the whole, and for a text its strongest words."""
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
            found.append(("  words that are not there", self.words.absent))
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

    def __str__(self) -> str:
        told = [e for e in self.evidence if e.value is not None or e.log_odds]
        silent = [e.column for e in self.evidence if e.value is None and not e.log_odds and not e.pair]
        parts = [("prior", self.prior), *(line for e in told for line in e.lines())]
        wide = max(len(name) for name, _ in parts)
        largest = max((abs(amount) for _, amount in parts if math.isfinite(amount)), default=1.0) or 1.0
        lines = [f"{self.label} rather than {self.against}: P({self.label}) = {self.posterior[self.label]:.4g}"]
        for name, amount in parts:
            size = round(20 * min(1.0, abs(amount) / largest))
            lines.append(f"  {name:{wide}} {amount + 0.0:+9.3f} {('█' if amount > 0 else '░') * size}".rstrip())
        lines.append(f"  {'total':{wide}} {self.total:+9.3f}")
        return "\n".join(lines + ([f"  no value: {', '.join(silent)}"] if silent else []))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name).replace('  ', '&emsp;')}<td style='text-align:right'>{amount + 0.0:+.3f}"
            for name, amount in [("prior", self.prior), *(line for e in self.evidence for line in e.lines())]
        )
        texts = "".join(f"<p>{marked_html(e.words.pieces)}</p>" for e in self.evidence if e.words is not None)
        head = f"{self.label} rather than {self.against}: P({self.label}) = {self.posterior[self.label]:.4g}"
        total = f"<tr><td>total<td style='text-align:right'>{self.total:+.3f}"
        return f"<p>{escape(head)}</p><table>{rows}{total}</table>{texts}"

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "label": self.label,
            "against": self.against,
            "prior": self.prior,
            "evidence": [
                {"column": e.column, "value": e.value, "log_odds": e.log_odds, **_words_as_dict(e.words)}
                for e in self.evidence
            ],
            "total": self.total,
            "posterior": {str(label): p for label, p in self.posterior.items()},
        }


def _words_as_dict(words: Words | None) -> dict[str, Any]:
    if words is None:
        return {}
    listed = [{"word": w.word, "times": w.times, "log_odds": w.log_odds} for w in words.words]
    return {"words": listed, "unknown": words.unknown, "absent": words.absent}


def marked_html(pieces: Sequence[tuple[str, float]]) -> str:
    """A text with what speaks for the class on green and what speaks against it on red, the stronger the deeper."""
    largest = max((abs(amount) for _, amount in pieces if math.isfinite(amount)), default=0.0) or 1.0
    shown = []
    for text, amount in pieces:
        depth = min(1.0, abs(amount) / largest)
        colour = f"rgba({'46,160,67' if amount > 0 else '218,54,51'},{0.6 * depth:.2f})"
        words = escape(text).replace("\n", "<br>")
        shown.append(words if depth < FAINT else f"<mark style='color:inherit;background:{colour}'>{words}</mark>")
    return "".join(shown)


def shown(value: Any) -> str:
    """A value as it is read."""
    if value is None:
        return "(missing)"
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST].rstrip()}…"
    return f"{value:g}" if isinstance(value, float) else str(value)


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
        raise DataError(f"there is no class {against!r}; the model has {', '.join(map(str, classes))}")
    parts, posterior = model.contributions(batch)[0], model.posterior(batch)[0]
    ranked = np.argsort(-posterior, kind="stable")
    best = int(ranked[0]) if against is None or classes.index(against) != ranked[0] else int(ranked[1])
    other = int(ranked[1]) if against is None else classes.index(against)
    words = {
        name: _words(model, batch, name, values, best, other)
        for name in model.tally.blocks
        if name in model.texts and values.get(model.texts[name].name) is not None
    }
    said = {model.texts[name].name: each for name, each in words.items()}
    evidence = strongest(model.schema, values, parts[best], parts[other], said)
    prior = _minus(float(model.prior_score[best]), float(model.prior_score[other]))
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
    """What each column says for one class against another, by its log probabilities (D,); the strongest first."""
    said = words or {}
    evidence = [
        Evidence(c.name, _value(c, values), _minus(mine[d], theirs[d]), c.parts is not None, said.get(c.name))
        for d, c in enumerate(schema.columns)
        if c.kind != "ignored"
    ]
    return tuple(sorted(evidence, key=lambda e: -abs(e.log_odds)))


def _words(model: Model, batch: Rows, block: str, values: Mapping[str, Any], mine: int, theirs: int) -> Words:
    """What the words of a text say for one class against another."""
    column = model.texts[block]
    assert column.tokens is not None
    places, said, nothing = _words_said(model, batch, block)
    odds = {int(p): _minus(w[mine], w[theirs]) for p, w in zip(places, said, strict=True)}
    spans = column.tokens.spans(values[column.name])
    times: dict[str, int] = {}
    for token, _, _, _ in spans:
        times[token] = times.get(token, 0) + 1
    if isinstance(column.levels, Vocabulary):
        known = sorted(times)
        place = dict(zip(known, Vocabulary.of(known).places_in(column.levels).tolist(), strict=True))
    else:
        place = {token: column.tokens.place(token) for token in times}
    # Words of one hash are one thing: what it says is shared among them.
    sharing = Counter(place[token] for token, _, _, _ in spans)
    each = {token: odds[p] / sharing[p] for token, p in place.items() if p in odds}
    found = [Word(token, times[token], amount * times[token]) for token, amount in each.items()]
    ranked = tuple(sorted(found, key=lambda word: (-abs(word.log_odds), word.word)))
    absent = _minus(nothing[mine], nothing[theirs])
    return Words(ranked, len(times) - len(each), absent, _pieces(values[column.name], spans, each))


def _words_said(model: Model, batch: Rows, name: str) -> tuple[NDArray[Any], Array, Array]:
    """The known words of the one text of a block, what each says (m, K), and what a text without them says (K,)."""
    x: Any = model.words.of_known(name, batch.rows(0, 1).blocks[name].x)
    family, params, m = model.settings.families[name], model.scoring[name], len(x.column)
    nothing = family.log_prob(params, Csr(x.data[:0], x.column[:0], np.zeros(2, x.start.dtype), x.n_columns))[0]
    alone = Csr(x.data, x.column, np.arange(m + 1, dtype=x.start.dtype), x.n_columns)
    places = model.words.known[name][x.column] if name in model.words.known else x.column
    return places, family.log_prob(params, alone) - nothing, nothing


def _pieces(text: str, spans: Sequence[tuple[str, int, int, int]], each: Mapping[str, float]) -> Pieces:
    """The text cut at its words, with what the tokens that a word is part of say, shared among their words."""
    if len(text) > LONGEST_MARKED:
        return ()
    words: list[tuple[int, int]] = []
    amount: list[float] = []
    for token, first, last, n in spans:
        if not words or words[-1] != (first, last):
            words.append((first, last))
            amount.append(0.0)
        part = range(max(0, len(words) - n), len(words))
        for i in part:
            amount[i] += each.get(token, 0.0) / len(part)
    pieces: list[tuple[str, float]] = []
    at = 0
    for (first, last), said in zip(words, amount, strict=True):
        pieces += [(text[at:first], 0.0)] if first > at else []
        pieces.append((text[first:last], said))
        at = last
    return (*pieces, (text[at:], 0.0)) if at < len(text) else tuple(pieces)


def _value(column: Column, values: Mapping[str, Any]) -> Any:
    """The value as a person reads it; that of a pair is both."""
    if column.parts is None:
        return values.get(column.name)
    both = [values.get(part.name) for part in column.parts]
    return None if None in both else " and ".join(map(shown, both))


def _total(prior: float, amounts: list[float]) -> float:
    """The sum; where impossibilities stand on both sides, neither side is ahead."""
    return 0.0 if {math.inf, -math.inf} <= {prior, *amounts} else prior + math.fsum(amounts)


def _minus(mine: float, theirs: float) -> float:
    """The difference of two logs; two impossibilities cancel."""
    return 0.0 if mine == theirs else float(mine - theirs)


@dataclass(frozen=True)
class Hallmark:
    """A value that is commoner in one class than in the others, and how much knowing it tells, in nats."""

    column: str
    text: str
    strength: float


def hallmarks(model: Model, most: int = 5) -> dict[Level, tuple[Hallmark, ...]]:
    """What marks each class: its share of the divergence of P(value | class) from P(value | other classes).

    Parameters
    ----------
    model : Model
    most : int
        Marks of each class, the strongest first.

    Returns
    -------
    dict of class to tuple of Hallmark
    """
    found: dict[Level, list[Hallmark]] = {label: [] for label in model.schema.classes}
    if model.n_classes < 2:
        return dict.fromkeys(found, ())
    for name, block in model.generative.tally.blocks.items():
        if name in model.texts:
            for label in found if isinstance(model.texts[name].levels, Vocabulary) else ():
                marks = top_words(model, label, most, model.texts[name].name)
                found[label] += [Hallmark(mark.column, str(mark), mark.strength) for mark in marks]
            continue
        for j, p in enumerate(block.columns):
            column, one = model.schema.columns[p], block.summary.select(np.array([j], dtype=np.intp))
            for k, label in enumerate(model.schema.classes):
                if isinstance(one, Moments):
                    found[label] += _of_numbers(column.name, one, k, logs=name == "lognormal")
                elif isinstance(one, Counts) and column.edges is not None:
                    found[label] += _of_bins(column.name, column.edges, one.count, k)
                elif isinstance(one, Counts) and column.levels is not None:
                    named = [f"{column.name} = {shown(level)}" for level in column.levels]
                    found[label] += _of_levels(column.name, named, one.count, k)
    return {label: tuple(sorted(marks, key=lambda mark: -mark.strength)[:most]) for label, marks in found.items()}


@dataclass(frozen=True)
class TopWord:
    """A word that marks a class."""

    word: str
    column: str
    log_odds: float  # log of its share of the words of the class, over that of all others
    here: float  # how much of it the class has
    elsewhere: float  # and all others
    strength: float  # what it tells on average, in nats: share × log odds

    def __str__(self) -> str:
        return f"{self.column}: {self.word} (×{math.exp(self.log_odds):.3g})"


def top_words(model: Model, label: Level, most: int = 20, column: str | None = None) -> tuple[TopWord, ...]:
    """The words that mark a class: frequent in it, and more so than in the others.

    Parameters
    ----------
    model : Model
        A model with a column of text.
    label : class label
    most : int
    column : str, optional
        The column of text, where there are several.

    Returns
    -------
    tuple of TopWord
        The most telling first.
    """
    if label not in model.schema.classes:
        raise DataError(f"there is no class {label!r}; the model has {', '.join(map(str, model.schema.classes))}")
    texts = {text.name: block for block, text in model.texts.items()}
    if not texts or (column is not None and column not in texts):
        raise DataError(f"there is no column of text{'' if column is None else f' {column!r}'} in the model")
    name = column if column is not None else next(iter(texts))
    text = model.texts[texts[name]]
    if not isinstance(text.levels, Vocabulary):
        raise NotAvailableError("words that are hashed are not known by name; learn them with hashed=None")
    summary: Any = model.tally.blocks[texts[name]].summary
    count, k = summary.count, model.schema.classes.index(label)
    own = count[k]
    others = np.maximum(count.sum(axis=0) - own, 0.0)
    p, q = ((c + 0.5) / (c + 0.5).sum() for c in (own, others))
    odds = np.log(p / q)
    strength = p * odds
    most = min(most, len(odds))
    best = np.argpartition(-strength, most - 1)[:most] if 0 < most < len(odds) else np.arange(len(odds))
    ranked = sorted(best.tolist(), key=lambda v: (-strength[v], v))[:most]
    return tuple(
        TopWord(text.levels[v], name, float(odds[v]), float(own[v]), float(others[v]), float(strength[v]))
        for v in ranked
        if strength[v] > 0
    )


def _of_bins(name: str, edges: tuple[float, ...], count: Array, k: int) -> list[Hallmark]:
    """The same of the bins that matter."""
    group = partition(count.T)
    merged = np.stack([count[:, group == g].sum(axis=1) for g in range(group[-1] + 1)], axis=1)
    cuts = coarse_edges(edges, group)
    low = [f"{name} below {cuts[0]:g}"] if cuts else [name]
    between = [f"{name} from {a:g} to {b:g}" for a, b in pairwise(cuts)]
    high = [f"{name} from {cuts[-1]:g}"] if cuts else []
    return _of_levels(name, [*low, *between, *high], merged, k)


def _of_levels(column: str, named: Sequence[str], count: Array, k: int) -> list[Hallmark]:
    """p log(p / q) of each level, with half a row for what was never seen."""
    own, others = (counts + 0.5 for counts in (count[k], np.delete(count, k, axis=0).sum(axis=0)))
    p, q = own / own.sum(), others / others.sum()
    return [
        Hallmark(column, f"{what} ({mine:.0%}, others {theirs:.0%})", mine * np.log(mine / theirs))
        for what, mine, theirs in zip(named, p, q, strict=True)
        if mine > theirs
    ]


def _of_numbers(name: str, one: Moments, k: int, logs: bool) -> list[Hallmark]:
    """The divergence of one normal distribution from another; the moments of logs are told as those of numbers."""
    rest = Moments(*(np.delete(field, k, axis=0) for field in (one.weight, one.mean, one.m2))).merged()
    weight, mean = float(one.weight[k, 0]), float(one.mean[k, 0])
    if not (weight and one.m2[k, 0] and rest.m2[0, 0]):
        return []
    variance, other = float(one.m2[k, 0]) / weight, float(rest.m2[0, 0] / rest.weight[0, 0])
    apart = mean - float(rest.mean[0, 0])
    strength = 0.5 * (math.log(other / variance) + (variance + apart**2) / other - 1.0)

    def told(middle: float, spread: float) -> str:
        return f"{math.exp(middle):.4g} ×÷ {math.exp(spread):.3g}" if logs else f"{middle:.4g} ± {spread:.3g}"

    how = f"{told(mean, math.sqrt(variance))} (others {told(float(rest.mean[0, 0]), math.sqrt(other))})"
    return [Hallmark(name, f"{name} {how}", strength)]


@dataclass(frozen=True)
class Step:
    """One line of a calculation by hand: a factor of each class, as it is written, and its logarithm."""

    what: str
    factors: tuple[str, ...]
    logs: tuple[float, ...]


def steps(model: Model, batch: Rows, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Work out the log joint of one row: the prior, then a factor for each column that has a value.

    Parameters
    ----------
    model : Model
    batch : Rows
        One row.
    values : mapping of str to value
        The same row as a person reads it.

    Returns
    -------
    tuple of Step
        Their logs add up to the log joint.
    """
    said = model.contributions(batch)[0]
    weights = model.settings.weights
    power = _power(1.0 if weights is None else weights.prior)
    prior = Step("P(class)", tuple(f"{p}{power}" for p in prior_ratios(model)), tuple(model.prior_score.tolist()))
    worked_out = [prior]
    for name, block in model.tally.blocks.items():
        for j, p in enumerate(block.columns):
            column = model.schema.columns[p]
            value = _value(column, values)
            if value is None and not said[:, p].any():
                continue
            logs = tuple(said[:, p].tolist())
            weight = 1.0 if weights is None else weights.columns.get(column.name, 1.0)
            if weights is not None and weights.by_class is not None:  # a power of its own for every class
                worked_out.append(Step(f"{column.name} = {shown(value)}", tuple(f"e^{log:.4g}" for log in logs), logs))
                continue
            plain = tuple(log / weight for log in logs) if weight else logs
            factors = tuple(f"{f}{_power(weight)}" for f in _factors(model, name, j, column, value, plain))
            worked_out.append(Step(f"{column.name} = {shown(value)}", factors, logs))
    return tuple(worked_out)


def _power(weight: float) -> str:
    """How a factor that is not believed as it is, is written."""
    return "" if weight == 1.0 else f"^{weight:.3g}"


def _factors(model: Model, block: str, j: int, column: Column, value: Any, logs: tuple[float, ...]) -> tuple[str, ...]:
    """The factors as fractions of counts, as normal densities, or as plain numbers."""
    params = model.parameters[block]
    if block in model.texts:  # the product over all words may be beyond what a float holds
        return tuple(f"e^{log:.4g}" for log in logs)
    if isinstance(params, Normals) and params.precision[:, j].any():
        spread = np.sqrt(params.variance[:, j])
        return tuple(f"N({value:g}; {m:.4g}, {s:.3g})" for m, s in zip(params.mean[:, j], spread, strict=True))
    if block == "categorical" and value in (column.levels or ()):
        return tuple(map(str, level_ratios(model, column.name)[list(column.levels or ()).index(value)]))
    return tuple(f"{math.exp(log):.4g}" for log in logs)


class Ratio(NamedTuple):
    """A fraction as it was counted, not reduced: 3/9 stays 3/9."""

    top: float
    bottom: float

    def __str__(self) -> str:
        return f"{self.top:g}/{self.bottom:g}"

    def __float__(self) -> float:
        return self.top / self.bottom


@dataclass(frozen=True)
class Factor:
    """P(column = value | y) of each class."""

    column: str
    value: Level
    chance: tuple[Ratio, ...]


@dataclass(frozen=True)
class Worked:
    """One prediction with all that went into it."""

    classes: tuple[Level, ...]
    prior: tuple[Ratio, ...]
    factors: tuple[Factor, ...]

    @property
    def joint(self) -> tuple[float, ...]:
        """P(x, y) of each class: the prior times the factors."""
        chances = zip(self.prior, *(factor.chance for factor in self.factors), strict=True)
        return tuple(math.prod(map(float, column)) for column in chances)

    @property
    def evidence(self) -> float:
        """P(x), by total probability."""
        return math.fsum(self.joint)

    @property
    def posterior(self) -> tuple[float, ...]:
        """P(y | x) of each class; the prior where every class forbids the row."""
        if self.evidence == 0:
            return tuple(map(float, self.prior))
        return tuple(joint / self.evidence for joint in self.joint)

    @property
    def best(self) -> Level:
        """The likeliest class."""
        return self.classes[int(np.argmax(self.posterior))]

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        by_class = [str(label) for label in self.classes]
        return {
            "prior": dict(zip(by_class, map(str, self.prior), strict=True)),
            "factors": [
                {"column": f.column, "value": f.value, "chance": dict(zip(by_class, map(str, f.chance), strict=True))}
                for f in self.factors
            ],
            "joint": dict(zip(by_class, self.joint, strict=True)),
            "evidence": self.evidence,
            "posterior": dict(zip(by_class, self.posterior, strict=True)),
        }


def prior_ratios(model: Model) -> tuple[Ratio, ...]:
    """P(y) of each class as it was counted."""
    alpha, weights = model.settings.prior_alpha, model.tally.class_weight
    if model.settings.prior != "empirical":
        return tuple(Ratio(p, 1.0) for p in np.exp(model.log_prior).tolist())
    total = float(weights.sum()) + alpha * len(weights)
    return tuple(Ratio(weight + alpha, total) for weight in weights.tolist())


def level_ratios(model: Model, column: str) -> tuple[tuple[Ratio, ...], ...]:
    """P(column = level | y) as it was counted: for each level, a ratio for each class.

    Parameters
    ----------
    model : Model
        A model of categories.
    column : str
        The column's name.

    Returns
    -------
    tuple of tuple of Ratio
    """
    family, block = model.settings.families.get("categorical"), model.tally.blocks.get("categorical")
    if block is None or not isinstance(family, Categorical) or not isinstance(block.summary, Counts):
        raise NotAvailableError("only a model of categories can be worked out in fractions")
    names = [model.schema.columns[c].name for c in block.columns]
    if column not in names:
        raise DataError(f"there is no column {column!r}; the model has {', '.join(names)}")
    j, n_levels = names.index(column), block.summary.n_levels
    assert n_levels is not None
    alpha = float(per_column(family.alpha, len(names))[j])
    first = int(n_levels[:j].sum())
    counts = block.summary.count[:, first : first + int(n_levels[j])].T  # (C, K)
    rare = counts.sum(axis=1) < family.min_count
    n_effective = int((~rare).sum() + rare.any())  # rare levels share one probability
    totals = counts.sum(axis=0) + alpha * n_effective
    shown = np.where(rare[:, None], counts[rare].sum(axis=0), counts) + alpha

    def ratio(count: float, total: float) -> Ratio:
        return Ratio(count, total) if total else Ratio(1.0, float(n_effective))

    return tuple(tuple(map(ratio, level.tolist(), totals.tolist())) for level in shown)


def worked(model: Model, row: Mapping[str, Level]) -> Worked:
    """Work out the prediction of one row; columns that the row does not name are no evidence.

    Parameters
    ----------
    model : Model
        A model of categories.
    row : mapping of str to level
        The values by column name.

    Returns
    -------
    Worked

    Examples
    --------
    >>> from tallybayes import Settings, Tally, families
    >>> family = families.Categorical(alpha=1)
    >>> tally = Tally.of(np.array([["a"], ["b"], ["b"]]), ["no", "no", "yes"], family, names=["letter"])
    >>> work = worked(Model(Settings({"categorical": family}), tally), {"letter": "b"})
    >>> [str(ratio) for ratio in work.factors[0].chance]
    ['2/4', '2/3']
    """
    factors = tuple(
        Factor(column, value, level_ratios(model, column)[_place(model, column, value)])
        for column, value in row.items()
    )
    return Worked(model.schema.classes, prior_ratios(model), factors)


def _place(model: Model, column: str, value: Level) -> int:
    levels: Sequence[Level] = next((c.levels or () for c in model.schema.columns if c.name == column), ())
    if value not in levels:
        raise DataError(f"column {column!r} has no level {value!r}; it has {', '.join(map(str, levels))}")
    return list(levels).index(value)
