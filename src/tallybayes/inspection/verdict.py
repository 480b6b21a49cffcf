"""How good a model is, in one plain sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallybayes.core.evaluation import Evaluation
from tallybayes.core.model import Model
from tallybayes.core.schema import Level

SCALES = (100, 1_000, 10_000)  # rows that right predictions are counted out of


@dataclass(frozen=True)
class Verdict:
    """How good a model is on rows that had no part in it, beside always guessing the most frequent class."""

    right: int  # rows whose prediction is right, out of
    of: int
    baseline: int  # of which so many are of the most frequent class
    guess: Level  # that class
    text: str

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "right": self.right,
            "of": self.of,
            "baseline": self.baseline,
            "guess": self.guess,
            "text": self.text,
        }


def verdict(model: Model, evaluation: Evaluation | None = None) -> Verdict | None:
    """How good a model is, in one plain sentence; None where it was never evaluated.

    Parameters
    ----------
    model : Model
    evaluation : Evaluation, optional
        Its figures; those that were measured in learning if not given.

    Returns
    -------
    Verdict or None

    Examples
    --------
    >>> from tallybayes import NaiveBayes, datasets
    >>> table = datasets.tennis()
    >>> model = NaiveBayes(classical=True).fit(table, target="play")
    >>> print(verdict(model.model_, model.evaluate(table)))
    Right for 50 of 100 rows it has not seen; always guessing 'yes' is right for 64. That is no better than guessing.
    """
    evaluation = evaluation or model.provenance.evaluation
    if evaluation is None:
        return None
    right, baseline = float(evaluation.accuracy), evaluation.baseline_accuracy
    guess = evaluation.classes[int(evaluation.support.argmax())]
    if model.n_classes < 2:
        return Verdict(100, 100, 100, guess, f"Every row has the class '{guess}', so every prediction will be that.")
    of = _scale(right, baseline, evaluation.n_rows)
    counted, guessed = round(right * of), round(baseline * of)
    shown = "every row" if right == 1.0 else f"{counted:,} of {of:,} rows"
    text = f"Right for {shown} it has not seen; always guessing '{guess}' is right for {guessed:,}"
    text += f" of {of:,}." if right == 1.0 else "."
    return Verdict(counted, of, guessed, guess, f"{text}{_more(evaluation)}")


def _scale(right: float, baseline: float, n_rows: int) -> int:
    """Out of how many rows figures are given: more than 100 where these would hide the errors, or the difference."""
    for of in SCALES:
        hides = round(right * of) == of and right < 1.0
        if not hides and (round(right * of) != round(baseline * of) or right == baseline):
            return of
        if of > n_rows:
            return max(n_rows, SCALES[0])
    return SCALES[-1]


def _more(evaluation: Evaluation) -> str:
    """Whether the model is better than guessing, where that is in doubt."""
    if evaluation.accuracy.low > evaluation.baseline_accuracy:
        return ""
    if evaluation.log_loss.high < evaluation.baseline_log_loss:
        loss = f"log loss {float(evaluation.log_loss):.3f} instead of {evaluation.baseline_log_loss:.3f}"
        return f" Its probabilities tell more than its guesses: {loss}."
    return " That is no better than guessing."
