"""Performance of a filter on messages whose class is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tallybayes.core.schema import plural
from tallybayes.mail.verdicts import DEFAULT, Label, Thresholds, Verdict


@dataclass(frozen=True)
class MailEvaluation:
    """Verdicts on spam and on ham, counted."""

    spam: dict[Label, int]
    ham: dict[Label, int]
    correct: int  # messages that a threshold of one half classifies correctly

    @classmethod
    def of(cls, spam: Sequence[Verdict], ham: Sequence[Verdict]) -> MailEvaluation:
        """Count the verdicts on messages that are spam, and on messages that are ham."""
        right = sum(v.probability >= 0.5 for v in spam) + sum(v.probability < 0.5 for v in ham)
        return cls(_counted(spam), _counted(ham), right)

    @classmethod
    def of_probabilities(
        cls, spam: Sequence[float], ham: Sequence[float], thresholds: Thresholds = DEFAULT
    ) -> MailEvaluation:
        """Count the verdicts that follow from probabilities of spam."""
        return cls.of(*([Verdict(thresholds.label(p), p, 1) for p in part] for part in (spam, ham)))

    def __add__(self, other: MailEvaluation) -> MailEvaluation:
        """The verdicts on the messages of both."""
        spam, ham = (
            {label: mine[label] + theirs[label] for label in mine}
            for mine, theirs in ((self.spam, other.spam), (self.ham, other.ham))
        )
        return MailEvaluation(spam, ham, self.correct + other.correct)

    @property
    def n_messages(self) -> int:
        """Number of messages."""
        return sum(self.spam.values()) + sum(self.ham.values())

    @property
    def recall(self) -> float:
        """Share of the spam that was classified as spam."""
        return self.spam["spam"] / max(sum(self.spam.values()), 1)

    @property
    def false_positives(self) -> int:
        """Ham that was classified as spam."""
        return self.ham["spam"]

    @property
    def unsure(self) -> int:
        """Messages that were classified as unsure."""
        return self.spam["unsure"] + self.ham["unsure"]

    @property
    def accuracy(self) -> float:
        """Share of the messages that a threshold of one half classifies correctly."""
        return self.correct / max(self.n_messages, 1)

    def __str__(self) -> str:
        lines = [f"{'classified as':14}{'spam':>8}{'unsure':>8}{'ham':>8}"]
        for label, found in (("spam", self.spam), ("ham", self.ham)):
            name = f"{sum(found.values()):,} {label}"
            lines.append(f"{name:14}{found['spam']:8,}{found['unsure']:8,}{found['ham']:8,}")
        figures = f"recall {self.recall:.3f} with {plural(self.false_positives, 'false positive')}"
        return "\n".join([*lines, f"{figures}; accuracy at threshold 0.5: {self.accuracy:.4f}"])

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "spam": self.spam,
            "ham": self.ham,
            "recall": self.recall,
            "false_positives": self.false_positives,
            "unsure": self.unsure,
            "accuracy": self.accuracy,
        }


def _counted(verdicts: Sequence[Verdict]) -> dict[Label, int]:
    found = Counter(verdict.label for verdict in verdicts)
    return {"spam": found["spam"], "unsure": found["unsure"], "ham": found["ham"]}
