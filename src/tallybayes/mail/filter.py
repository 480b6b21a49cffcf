"""The spam filter: a model of one column of text that uses the strongest clues of a message.

The settings were chosen by cross-validation on the training messages of the benchmark (``python -m benchmarks mail``);
none was chosen on its test messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from itertools import islice
from typing import Any

import numpy as np

from tallybayes.core import calibration, kernels
from tallybayes.core.batch import Array, Batch, Documents, Encoded, Labels
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Schema, block_of
from tallybayes.core.settings import Settings
from tallybayes.core.summaries import Counts
from tallybayes.core.tally import count
from tallybayes.core.tokens import Tokens, Vocabulary
from tallybayes.data.words import Counted, count_words
from tallybayes.errors import ModelFileError, UnlearnError
from tallybayes.families import Clues
from tallybayes.mail.verdicts import DEFAULT, UNDECIDED, Thresholds, Verdict

CLASSES = HAM, SPAM = "ham", "spam"
TOKENS = Tokens(words="lines", lower=False)
COLUMN = Column("message", "text", Vocabulary.of([]), reason="given", lasting="given", tokens=TOKENS)
BLOCK = block_of(COLUMN, Clues.name)
# Clues of one message are correlated: seven nats of their sum are worth about one. Fitted where messages are many.
TEMPERATURE = calibration.Temperature(7.0)
SPAM_FROM, HAM_BELOW, PROMISE = "spam_from", "ham_below", "max_false_positives"  # names of what was chosen
AT_ONCE = 2000  # messages that are tokenised at a time
ALIKE = 2  # clues of equal evidence that count


@dataclass(frozen=True)
class Clue:
    """The evidence of one token, and how often it was learned."""

    token: str
    log_odds: float  # of spam, in nats
    spam: float  # messages with the token
    ham: float


@dataclass(frozen=True)
class Case:
    """A verdict and its clues, strongest first."""

    verdict: Verdict
    clues: tuple[Clue, ...]
    total: float  # log odds of spam, the sum of the clues
    temperature: float  # what the total is divided by
    intercept: float  # what is added then

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return self.verdict.as_dict() | {
            "clues": [asdict(clue) for clue in self.clues],
            "total": self.total,
            "temperature": self.temperature,
            "intercept": self.intercept,
        }


# ---------------------------------------------------------------------------------------------- learning


def empty() -> Model:
    """A filter that has learned nothing.

    Examples
    --------
    >>> model = learn(empty(), ["subject:free\\nmoney"], "spam")
    >>> model = learn(model, ["subject:minutes\\nmeeting"], "ham")
    >>> [str(verdict) for verdict in classify(model, ["money", "meeting", "aardvark"])]
    ['unsure 0.6071', 'unsure 0.3929', 'unsure 0.5000 (no known token)']
    """
    settings = Settings({BLOCK: Clues(alike=ALIKE)}, prior="uniform", calibration=TEMPERATURE)
    return Model(settings, count(rows((), ()), settings.families))


def rows(documents: Iterable[str], labels: Sequence[str]) -> Batch:
    """Documents as labelled rows with a vocabulary of their own; tokenised as they come."""
    counted = _counted(documents)
    schema = Schema((replace(COLUMN, levels=counted.words),), CLASSES, declared=CLASSES)
    codes = np.array([CLASSES.index(label) for label in labels], dtype=np.int32)
    return Batch(schema, {BLOCK: Encoded([0], counted.documents)}, len(labels), Labels.hard(codes))


def _counted(documents: Iterable[str]) -> Counted:
    left, parts = iter(documents), []
    while some := list(islice(left, AT_ONCE)):
        parts.append(count_words(kernels.texts_of(some), TOKENS, 0, len(some)))
    return reduce(Counted.joined, parts) if parts else count_words(kernels.texts_of([]), TOKENS, 0, 0)


def learn(model: Model, documents: Sequence[str], label: str) -> Model:
    """The filter that has also learned these messages."""
    return model.learn(rows(documents, [label] * len(documents)))


def unlearn(model: Model, documents: Sequence[str], label: str) -> Model:
    """The filter without these messages; tokens that occurred in no other message are gone."""
    try:
        return without(model, rows(documents, [label] * len(documents)))
    except UnlearnError:
        which = "this message was" if len(documents) == 1 else "some of these messages were"
        raise UnlearnError(f"{which} not learned as {label}, so nothing was changed") from None


def without(model: Model, batch: Batch) -> Model:
    """The filter without these rows."""
    declared = replace(model.schema, declared=CLASSES)  # ham and spam stay, even without a message
    left = replace(model, tally=replace(model.tally, schema=declared)).unlearn(batch)
    return left if left.tally.class_weight.any() else replace(left, tally=empty().tally)


def thresholds_of(model: Model) -> Thresholds:
    """The thresholds that were chosen when the filter was trained, or the usual ones."""
    chosen = model.provenance.chosen
    return DEFAULT.changed(chosen.get(SPAM_FROM), chosen.get(HAM_BELOW))


def adopted(model: Model) -> Model:
    """Check that a model from a file is a filter; one without a temperature gets the default one.

    Raises
    ------
    ModelFileError
        If it is a model of something else.
    """
    columns = [(column.name, column.tokens) for column in model.schema.columns[:2]]
    if (columns, model.schema.classes, [*model.tally.blocks]) != ([(COLUMN.name, TOKENS)], CLASSES, [BLOCK]):
        raise ModelFileError("it is a model, but not a mail filter: mail train makes one")
    return (
        model
        if model.settings.calibration
        else replace(model, settings=replace(model.settings, calibration=TEMPERATURE))
    )


# ---------------------------------------------------------------------------------------------- classifying


def classify(model: Model, documents: Sequence[str], thresholds: Thresholds | None = None) -> list[Verdict]:
    """The verdicts on messages; a filter that knows only one class, or no token of a message, is unsure."""
    thresholds = thresholds or thresholds_of(model)
    words = _known(model, documents)
    known = np.diff(words.start).tolist()
    if not model.tally.class_weight.all():
        return [Verdict("unsure", UNDECIDED, n) for n in known]
    spam = model.posterior(Batch(model.schema, {BLOCK: Encoded([0], words)}, len(documents)))[:, 1].tolist()
    return [Verdict(thresholds.label(p) if n else "unsure", p, n) for p, n in zip(spam, known, strict=True)]


def _known(model: Model, documents: Sequence[str]) -> Documents:
    """Documents as counts of the tokens that the filter knows."""
    levels = model.schema.columns[0].levels
    assert levels is not None
    return _counted(documents).within(levels, TOKENS)


def explain(model: Model, document: str, thresholds: Thresholds | None = None) -> Case:
    """The verdict on a message and its clues; the verdict follows from their sum."""
    words = _known(model, [document])
    parts = model.settings.families[BLOCK].contributions(model.parameters[BLOCK], words)[0]
    odds = parts[1] - parts[0]
    used = np.flatnonzero(odds)
    clues = _clues(model, used[np.argsort(-np.abs(odds[used]), kind="stable")], odds)
    temperature, intercept = scale_of(model.settings.calibration)
    return Case(classify(model, [document], thresholds)[0], tuple(clues), float(odds.sum()), temperature, intercept)


def scale_of(fitted: Any) -> tuple[float, float]:
    """What log odds of spam are divided by, and what is added to them then."""
    if isinstance(fitted, calibration.Affine):
        return fitted.temperature, fitted.intercepts[1] - fitted.intercepts[0]
    return (fitted.temperature if isinstance(fitted, calibration.Temperature) else 1.0), 0.0


def top(model: Model, most: int = 20) -> dict[str, tuple[Clue, ...]]:
    """The strongest tokens of each class."""
    evidence = model.parameters[BLOCK].evidence
    odds = evidence[:, 1] - evidence[:, 0]
    ranked = np.argsort(odds, kind="stable")
    ham, spam = ranked[:most], ranked[::-1][:most]
    return {
        HAM: tuple(_clues(model, ham[odds[ham] < 0], odds)),
        SPAM: tuple(_clues(model, spam[odds[spam] > 0], odds)),
    }


def _clues(model: Model, words: Iterable[int], odds: Array) -> Iterator[Clue]:
    levels, summary = model.schema.columns[0].levels, model.tally.blocks[BLOCK].summary
    assert isinstance(levels, Vocabulary)
    assert isinstance(summary, Counts)
    for word in words:
        ham, spam = summary.count[:, word].tolist()
        yield Clue(levels[int(word)], float(odds[word]), spam, ham)
