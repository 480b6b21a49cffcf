"""Records behind every picture: what is drawn, as numbers that also print as text and JSON. Nothing here draws."""

from tallybayes.inspection.charts.boundary import Boundary, boundary
from tallybayes.inspection.charts.columns import column_pictures
from tallybayes.inspection.charts.concerns import Concern, concerns
from tallybayes.inspection.charts.evidence import EvidenceShape, evidence_shapes
from tallybayes.inspection.charts.importance import Importance, importance
from tallybayes.inspection.charts.nomogram import Nomogram, nomogram
from tallybayes.inspection.charts.shapes import Bars, ColumnPicture, Curves
from tallybayes.inspection.charts.sweeps import EMPath, LearningCurve, PriorSweep, em_path, learning_curve, prior_sweep

__all__ = [
    "Bars",
    "Boundary",
    "ColumnPicture",
    "Concern",
    "Curves",
    "EMPath",
    "EvidenceShape",
    "Importance",
    "LearningCurve",
    "Nomogram",
    "PriorSweep",
    "boundary",
    "column_pictures",
    "concerns",
    "em_path",
    "evidence_shapes",
    "importance",
    "learning_curve",
    "nomogram",
    "prior_sweep",
]
