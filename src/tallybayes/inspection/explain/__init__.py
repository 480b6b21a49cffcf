"""Why a prediction is what it is: the evidence of each column, and the sum worked out as in a lecture.

=============  ==========================================================
`evidence`     what each column says for one prediction
`words`        what the words of a text say, one by one
`marks`        what marks each class, whatever the row
`by_hand`      a prediction worked out in fractions of counts
=============  ==========================================================
"""

from tallybayes.inspection.explain._values import chance, shown
from tallybayes.inspection.explain.by_hand import Factor, Ratio, Step, Worked, level_ratios, prior_ratios, steps, worked
from tallybayes.inspection.explain.evidence import Evidence, Explanation, explain, strongest
from tallybayes.inspection.explain.marks import Hallmark, TopWord, hallmarks, top_words
from tallybayes.inspection.explain.words import FAINT, Word, Words, marked_html

__all__ = [
    "FAINT",
    "Evidence",
    "Explanation",
    "Factor",
    "Hallmark",
    "Ratio",
    "Step",
    "TopWord",
    "Word",
    "Words",
    "Worked",
    "chance",
    "explain",
    "hallmarks",
    "level_ratios",
    "marked_html",
    "prior_ratios",
    "shown",
    "steps",
    "strongest",
    "top_words",
    "worked",
]
