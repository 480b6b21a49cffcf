"""Explanations of predictions and of classes.

=============  ==========================================================
`evidence`     the evidence of each column for one prediction
`words`        the evidence of the words of a text
`profiles`     the values and words that are typical of each class
`by_hand`      a prediction worked out in fractions of counts
=============  ==========================================================
"""

from tallybayes.inspection.explain._values import chance, shown
from tallybayes.inspection.explain.by_hand import (
    LEGEND,
    Factor,
    Ratio,
    Step,
    Worked,
    level_ratios,
    prior_ratios,
    steps,
    worked,
)
from tallybayes.inspection.explain.evidence import Evidence, Explanation, explain, strongest
from tallybayes.inspection.explain.profiles import ProfileEntry, TopWord, class_profiles, top_words
from tallybayes.inspection.explain.words import FAINT, Word, Words, marked_html

__all__ = [
    "FAINT",
    "LEGEND",
    "Evidence",
    "Explanation",
    "Factor",
    "ProfileEntry",
    "Ratio",
    "Step",
    "TopWord",
    "Word",
    "Words",
    "Worked",
    "chance",
    "class_profiles",
    "explain",
    "level_ratios",
    "marked_html",
    "prior_ratios",
    "shown",
    "steps",
    "strongest",
    "top_words",
    "worked",
]
