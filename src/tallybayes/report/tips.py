"""What each figure of the page means, in one sentence."""

from __future__ import annotations

from html import escape

TIPS = {
    "importance": "How much the column moves a prediction on average: the mean size of its evidence, in log odds, over "
    "held-out rows; the thin line is its 90 % interval, from the counts behind it.",
    "evidence": "Log odds: above zero the value speaks for the class, below against it; 0.7 doubles the odds, 2.3 "
    "makes them ten times as large. The band is the 90 % interval; the grey bars below show where the rows are.",
    "accuracy": "The share of rows whose predicted class is right.",
    "log loss": "How surprised the model is by the right answers, on average: 0 is perfect, and being sure of a wrong "
    "class costs most.",
    "macro F1": "The mean over the classes of how well each is found: 1 is perfect, and rare classes count as much as "
    "frequent ones.",
    "calibration error": "How far the stated probabilities are from the shares that came true, on average.",
    "prediction sets": "The classes that cannot be ruled out: the set of a row should contain the right class for 90 "
    "of 100 rows, and a smaller set says more.",
    "ranking": "The chance that a row of the class gets a higher probability than another row (area under the ROC "
    "curve): 0.5 is guessing, 1 is perfect.",
    "threshold": "The class is predicted if its probability is at least the threshold; a lower threshold finds more "
    "of its rows and raises more false alarms.",
    "confusion": "Each row of the table is a true class, each column a predicted one; rows off the diagonal are "
    "mistakes.",
    "calibration": "Of the predictions made with 80 % confidence, 80 of 100 should be right: on the dashed line they "
    "are. Below it the model is overconfident. The thin lines are 95 % intervals.",
    "precision": "Of the rows that were predicted to be of the class, the share that is.",
    "recall": "Of the rows of the class, the share that was found.",
    "drift": "PSI, the population stability index, is how much the values changed: by custom 0.1 is moderate and 0.2 "
    "large. The JS distance says the same between 0 and 1. Chance: how likely such a difference is if nothing changed, "
    "allowing for the number of columns. Evidence: how much the log odds of the values changed.",
    "prior": "The probability of the class before anything is known of a row.",
    "log odds": "How far a value moves the odds between the two classes; prior and evidence add up to the total.",
}


def tip(name: str) -> str:
    """A question mark that opens what a figure means; nothing needs a script."""
    text = escape(TIPS[name])
    return (
        f'<details class="tip"><summary aria-label="What is this: {escape(name)}?">?</summary><p>{text}</p></details>'
    )
