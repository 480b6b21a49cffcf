"""The spam filter: a model of one column of text that uses the strongest clues of a message.

The settings were chosen by cross-validation on the training messages of the benchmark (``python -m benchmarks mail``);
none was chosen on its test messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from itertools import islice
from typing import Any, Literal

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
from tallybayes.errors import DataError, ModelFileError, UnlearnError
from tallybayes.families import Clues

CLASSES = HAM, SPAM = "ham", "spam"
Label = Literal["ham", "spam", "unsure"]
TOKENS = Tokens(words="lines", lower=False)
COLUMN = Column("message", "text", Vocabulary.of([]), reason="given", lasting="given", tokens=TOKENS)
BLOCK = block_of(COLUMN, Clues.name)
# Clues of one message are correlated: seven nats of their sum are worth about one. Fitted where messages are many.
TEMPERATURE = calibration.Temperature(7.0)
AT_ONCE = 2000  # messages that are tokenised at a time
MANY = 100  # messages of each class from which the temperature is fitted


@dataclass(frozen=True)
class Thresholds:
    """Probabilities from which a message is spam and below which it is ham; between them it is unsure.

    The default 0.9 treats a false positive as nine times as bad as a miss.

    Parameters
    ----------
    spam : float
        Least probability of spam.
    ham : float
        A message with less than this probability is ham.
    """

    spam: float = 0.9
    ham: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 <= self.ham <= self.spam <= 1.0:
            raise DataError(
                f"thresholds are probabilities, that of ham not above that of spam; got {self.ham} and {self.spam}"
            )

    def label(self, probability: float) -> Label:
        """The verdict on a message with that probability of spam."""
        return "spam" if probability >= self.spam else "ham" if probability < self.ham else "unsure"


DEFAULT = Thresholds()


@dataclass(frozen=True)
class Verdict:
    """The verdict on a message."""

    label: Label
    probability: float  # of spam
    known: int  # tokens of the message that the filter has learned

    def __str__(self) -> str:
        return f"{self.label} {self.probability:.4f}" + ("" if self.known else " (no known token)")

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return asdict(self)


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

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return self.verdict.as_dict() | {
            "clues": [asdict(clue) for clue in self.clues],
            "total": self.total,
            "temperature": self.temperature,
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
    settings = Settings({BLOCK: Clues()}, prior="uniform", calibration=TEMPERATURE)
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
    declared = replace(model.schema, declared=CLASSES)  # ham and spam stay, even without a message
    try:
        return replace(model, tally=replace(model.tally, schema=declared)).unlearn(
            rows(documents, [label] * len(documents))
        )
    except UnlearnError:
        which = "this message was" if len(documents) == 1 else "some of these messages were"
        raise UnlearnError(f"{which} not learned as {label}, so nothing was changed") from None


def train(ham: Sequence[str], spam: Sequence[str]) -> tuple[Model, Array]:
    """A filter that has learned these messages, and the leave-one-out probability of spam of each: ham first.

    The temperature is fitted to these probabilities where there are enough messages of both classes.
    """
    return trained(rows([*ham, *spam], [HAM] * len(ham) + [SPAM] * len(spam)))


def trained(batch: Batch) -> tuple[Model, Array]:
    """The same from rows that are tokenised already."""
    model = empty().learn(batch)
    raw = replace(model, settings=replace(model.settings, calibration=None)).leave_one_out(batch)
    assert batch.labels is not None
    assert batch.labels.codes is not None
    fitted: calibration.Calibration = TEMPERATURE
    if model.tally.class_weight.min() >= MANY:
        fitted = calibration.fit("temperature", raw, batch.labels.codes, batch.labels.weight)
    model = replace(model, settings=replace(model.settings, calibration=fitted))
    return model, np.exp(fitted.apply(raw))[:, 1]


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


def classify(model: Model, documents: Sequence[str], thresholds: Thresholds = DEFAULT) -> list[Verdict]:
    """The verdicts on messages; a filter that knows only one class, or no token of a message, is unsure."""
    words = _known(model, documents)
    known = np.diff(words.start).tolist()
    if not model.tally.class_weight.all():
        return [Verdict("unsure", 0.5, n) for n in known]
    spam = model.posterior(Batch(model.schema, {BLOCK: Encoded([0], words)}, len(documents)))[:, 1].tolist()
    return [Verdict(thresholds.label(p) if n else "unsure", p, n) for p, n in zip(spam, known, strict=True)]


def _known(model: Model, documents: Sequence[str]) -> Documents:
    """Documents as counts of the tokens that the filter knows."""
    levels = model.schema.columns[0].levels
    assert levels is not None
    return _counted(documents).within(levels, TOKENS)


def explain(model: Model, document: str, thresholds: Thresholds = DEFAULT) -> Case:
    """The verdict on a message and its clues; the verdict follows from their sum."""
    words = _known(model, [document])
    parts = model.settings.families[BLOCK].contributions(model.parameters[BLOCK], words)[0]
    odds = parts[1] - parts[0]
    used = np.flatnonzero(odds)
    clues = _clues(model, used[np.argsort(-np.abs(odds[used]), kind="stable")], odds)
    fitted = model.settings.calibration
    temperature = fitted.temperature if isinstance(fitted, calibration.Temperature) else 1.0
    return Case(classify(model, [document], thresholds)[0], tuple(clues), float(odds.sum()), temperature)


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
