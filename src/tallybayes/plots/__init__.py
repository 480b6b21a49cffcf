"""Pictures of models and records with matplotlib (the extra ``plot``).

Every function takes a model or a record and, optionally, axes to draw on, and returns the axes. The records are in
`inspection.charts` and `inspection.evaluate`, where they also print as text and JSON. Fonts, grids and backgrounds are
those of the user's style. So are the colours of classes where the style has some; otherwise they are the ones of
Okabe and Ito, which people with colour-vision deficiency can distinguish, on light and on dark backgrounds.
"""

from tallybayes.plots._style import COLOURS
from tallybayes.plots.boundary import decision_boundary
from tallybayes.plots.columns import features
from tallybayes.plots.decisions import costs, gain, precision_recall, roc
from tallybayes.plots.importance import importance, pair, shape
from tallybayes.plots.learning import em_path, learning_curve
from tallybayes.plots.nomogram import nomogram
from tallybayes.plots.prediction import evidence, priors
from tallybayes.plots.quality import confusion, reliability

__all__ = [
    "COLOURS",
    "confusion",
    "costs",
    "decision_boundary",
    "em_path",
    "evidence",
    "features",
    "gain",
    "importance",
    "learning_curve",
    "nomogram",
    "pair",
    "precision_recall",
    "priors",
    "reliability",
    "roc",
    "shape",
]
