"""Records behind every picture: what is drawn, as numbers that also print as text and JSON. Nothing here draws."""

from tallybayes.pictures.boundary import Boundary, boundary
from tallybayes.pictures.columns import column_pictures
from tallybayes.pictures.concerns import Concern, concerns
from tallybayes.pictures.nomogram import Nomogram, nomogram
from tallybayes.pictures.shapes import Bars, ColumnPicture, Curves
from tallybayes.pictures.sweeps import EMPath, LearningCurve, PriorSweep, em_path, learning_curve, prior_sweep

__all__ = [
    "Bars",
    "Boundary",
    "ColumnPicture",
    "Concern",
    "Curves",
    "EMPath",
    "LearningCurve",
    "Nomogram",
    "PriorSweep",
    "boundary",
    "column_pictures",
    "concerns",
    "em_path",
    "learning_curve",
    "nomogram",
    "prior_sweep",
]
