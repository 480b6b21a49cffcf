"""One message against a model file, without NumPy: what a delivery and the server need, and no more.

A model file has the words in order and the counts of each, as bytes that can be searched as they are. Reading it as a
model would take longer than everything else that a delivery does. Verdicts are those of `filter.classify`.
"""

from __future__ import annotations

import json
import math
import os
from array import array
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self

from tallybayes._native import ClueScorer
from tallybayes.errors import DataError, ModelFileError
from tallybayes.mail.verdicts import DEFAULT, UNDECIDED, Thresholds, Verdict

VERSION = 2  # of model files that are read here
BLOCK = "clues:message"
ARRAYS = {
    "text": ("model.tally.schema.columns.0.levels.text", "U8"),
    "start": ("model.tally.schema.columns.0.levels.start", "I64"),
    "count": (f"model.tally.blocks.{BLOCK}.summary.count", "F64"),
    "weight": ("model.tally.class_weight", "F64"),
}


class Unusual(Exception):
    """The file holds a model that only the ordinary reader can read, or none."""


class Scorer(NamedTuple):
    """A filter as one message needs it."""

    native: Any
    both: bool  # whether messages of both classes were learned
    temperature: float
    intercept: float
    thresholds: Thresholds

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a filter.

        Raises
        ------
        DataError
            If there is none.
        Unusual
            If it has to be read as a model.
        """
        try:
            with open(path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            raise DataError(no_database(path)) from None
        try:
            return cls._parsed(data)
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError, ModelFileError) as error:
            raise Unusual(str(error)) from error

    @classmethod
    def _parsed(cls, data: bytes) -> Self:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        content = json.loads(header["__metadata__"]["tallybayes"])
        settings, tally = content["model"]["settings"], content["model"]["tally"]
        (column,), ((name, family),) = tally["schema"]["columns"], settings["families"]["of"]
        usual = (
            content["version"] == VERSION
            and (name, family["is"], column["name"]) == (BLOCK, "Clues", "message")
            and column["tokens"]["words"] == "lines"
            and tally["schema"]["classes"] == ["ham", "spam"]
            and settings["prior"] == "uniform"
            and settings["weights"] is None
            and not settings["offsets"]["of"]
        )
        if not usual:
            raise Unusual("it is not a mail filter")
        arrays = {key: _array(data, header[name], 8 + length, dtype) for key, (name, dtype) in ARRAYS.items()}
        ham, spam = memoryview(arrays.pop("weight")).cast("d").tolist()
        ((_, block),) = tally["blocks"]["of"]
        if block["summary"]["count"].get("order") != "F":  # a row for each class
            arrays["count"] = _by_word(arrays["count"])
        most, alike = family["most"], family.get("alike", 15)
        native = ClueScorer(**arrays, ham=ham, spam=spam, alpha=family["alpha"], most=most, alike=alike)
        chosen = dict(content["model"]["provenance"]["chosen"]["of"])
        thresholds = DEFAULT.changed(chosen.get("spam_from"), chosen.get("ham_below"))
        return cls(native, ham > 0 and spam > 0, *_scale(settings["calibration"]), thresholds)

    def classify(self, document: str, thresholds: Thresholds | None = None) -> Verdict:
        """The verdict on a message whose tokens are one a line."""
        odds, known = self.native.log_odds(document)
        if not self.both:
            return Verdict("unsure", UNDECIDED, known)
        calibrated = odds / self.temperature + self.intercept
        probability = 1.0 / (1.0 + math.exp(-calibrated)) if calibrated > -700.0 else 0.0
        return Verdict((thresholds or self.thresholds).label(probability) if known else "unsure", probability, known)


def no_database(path: str | os.PathLike[str]) -> str:
    """The message for a filter that does not exist."""
    return f"there is no database {os.fspath(path)} yet; mail train or mail learn makes one"


def _by_word(count: bytes) -> bytes:
    """Counts of two classes, one after the other, as pairs: one for each word."""
    by_class = array("d", count)
    by_word, n_words = array("d", bytes(len(count))), len(by_class) // 2
    by_word[0::2], by_word[1::2] = by_class[:n_words], by_class[n_words:]
    return by_word.tobytes()


def _array(data: bytes, described: Mapping[str, Any], first: int, dtype: str) -> bytes:
    begin, end = described["data_offsets"]
    if described["dtype"] != dtype or not 0 <= begin <= end <= len(data) - first:
        raise Unusual("its arrays are damaged")
    return data[first + begin : first + end]


def _scale(calibration: Mapping[str, Any] | None) -> tuple[float, float]:
    """What log odds of spam are divided by, and what is added to them then."""
    if calibration is None:
        raise Unusual("it is not calibrated")
    if calibration["is"] == "Temperature":
        return calibration["temperature"], 0.0
    if calibration["is"] != "Affine":
        raise Unusual("it has another calibration")
    ham, spam = calibration["intercepts"]
    return calibration["temperature"], spam - ham


class Judge(Protocol):
    """Anything that classifies one message."""

    @property
    def thresholds(self) -> Thresholds: ...
    def classify(self, document: str, thresholds: Thresholds | None = None) -> Verdict: ...


class ModelJudge(NamedTuple):
    """A filter that was read as a model."""

    model: Any

    @property
    def thresholds(self) -> Thresholds:
        """Those that were chosen when the filter was trained."""
        from tallybayes.mail import filter

        return filter.thresholds_of(self.model)

    def classify(self, document: str, thresholds: Thresholds | None = None) -> Verdict:
        """The verdict on a message whose tokens are one a line."""
        from tallybayes.mail import filter

        return filter.classify(self.model, [document], thresholds)[0]


def read_judge(path: str | os.PathLike[str]) -> Judge:
    """Read a filter in the quickest way that its file allows.

    Raises
    ------
    DataError
        If there is none.
    ModelFileError
        If the file is damaged, or a model of something else.
    """
    try:
        return Scorer.read(path)
    except Unusual:
        from tallybayes.mail import database

        return ModelJudge(database.read(path))
