"""What a filter says of a message: spam, ham or unsure. Nothing else is imported: deliveries wait for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tallybayes.errors import DataError

Label = Literal["ham", "spam", "unsure"]


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

    def changed(self, spam: float | None, ham: float | None) -> Thresholds:
        """The same with those that are given; a threshold of spam that is lowered takes that of ham with it."""
        spam = self.spam if spam is None else spam
        return Thresholds(spam, min(self.ham, spam) if ham is None else ham)


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


UNDECIDED = 0.5  # the probability of spam where only one class was learned
