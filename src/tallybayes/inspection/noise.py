"""Noise of differential privacy that is exact: whole numbers on a grid, from the cryptographic source of the system.

Floating-point noise betrays the number that it was added to: only some sums can be rounded to what is seen (Mironov
2012). Here a figure is rounded to a multiple of a power of two, and a whole number of such steps is added, drawn
without any rounding (Canonne, Kamath and Steinke 2020): what figures can come out does not depend on the rows.

The sums of the tally were rounded in their turn, in an order that one row more can change (Casacuberta et al. 2022).
The sensitivity has room for it: see `Noise.steps`.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from tallybayes.core.batch import Array

FINENESS = 30  # binary digits of a sensitivity that the grid resolves
SLACK = 2.0**-10  # rounding that the sums may have, as a share of the largest value times the largest weight


def happens(exponent: Fraction, dice: random.Random) -> bool:
    """True with the probability exp(−exponent), exactly.

    Examples
    --------
    >>> dice = random.Random(0)
    >>> round(sum(happens(Fraction(1, 2), dice) for _ in range(10_000)) / 10_000, 1)  # exp(-0.5) = 0.607
    0.6
    """
    top, bottom = exponent.numerator, exponent.denominator
    while top > bottom:
        if not _within_one(1, 1, dice):
            return False
        top -= bottom
    return _within_one(top, bottom, dice)


def _within_one(top: int, bottom: int, dice: random.Random) -> bool:
    """True with the probability exp(−top/bottom) for an exponent from 0 to 1: how long a run of successes lasts."""
    run = 1
    while dice.randrange(bottom * run) < top:
        run += 1
    return run % 2 == 1


def laplace(scale: int, dice: random.Random) -> int:
    """A whole number x with a probability proportional to exp(−|x| / scale)."""
    while True:
        rest = dice.randrange(scale)
        if not _within_one(rest, scale, dice):
            continue
        wholes = 0
        while _within_one(1, 1, dice):
            wholes += 1
        size = rest + scale * wholes
        if dice.getrandbits(1):
            if size:  # else zero would be drawn twice as often
                return -size
        else:
            return size


def gaussian(variance: int, dice: random.Random) -> int:
    """A whole number x with a probability proportional to exp(−x² / (2 · variance))."""
    scale = math.isqrt(variance) + 1
    while True:
        x = laplace(scale, dice)
        if happens(Fraction((abs(x) * scale - variance) ** 2, 2 * variance * scale**2), dice):
            return x


@dataclass(frozen=True)
class Noise:
    """Noise for queries that share one budget.

    Parameters
    ----------
    mechanism : {"Laplace", "Gaussian"}
    scale : float
        Of a query with sensitivity one and rows of weight one: the scale of Laplace's noise, or the standard deviation.
    most_weight : float
        The largest weight that a row may have had.
    dice : random.Random
        Where the noise comes from; ``random.SystemRandom()`` but in tests.
    """

    mechanism: Literal["Laplace", "Gaussian"]
    scale: float
    most_weight: float
    dice: random.Random

    def steps(self, sensitivity: float, magnitude: float, cells: int) -> tuple[float, int]:
        """The width of the grid, and how many of its steps one row can change a table of cells by.

        That is the sensitivity, one step for each cell, which may be rounded the other way, and the rounding of the
        sums: at most n² · 2⁻⁵³ of the largest weighted value for n rows added up one by one, so ``SLACK`` covers two
        million rows in the worst case. Whole numbers of rows are exact in any case.
        """
        most = sensitivity * self.most_weight
        width = 2.0 ** (math.frexp(most)[1] - FINENESS)
        rounding = 2.0 * SLACK * magnitude * self.most_weight
        return width, math.floor(most / width) + cells + math.ceil(rounding / width)

    def added(self, values: Array, sensitivity: float, magnitude: float | None = None) -> Array:
        """The values of a query with noise.

        Parameters
        ----------
        values : ndarray
            All that one row changes by no more than the sensitivity, in sum, times its weight.
        sensitivity : float
        magnitude : float, optional
            The largest number that was added up for one row, if it is not the sensitivity.
        """
        width, most = self.steps(sensitivity, magnitude or sensitivity, values.size)
        if self.mechanism == "Laplace":
            scale = math.ceil(most * self.scale)
            noise = (laplace(scale, self.dice) for _ in range(values.size))
        else:
            variance = math.ceil(Fraction(most * self.scale) ** 2)
            noise = (gaussian(variance, self.dice) for _ in range(values.size))
        found = [(round(value / width) + n) * width for value, n in zip(values.ravel().tolist(), noise, strict=True)]
        return np.array(found, dtype=np.float64).reshape(values.shape)

    def exceeded(self, sensitivity: float, cells: int, chance: float) -> float:
        """A number that the noise of one cell is above with at most that chance.

        Both distributions have tails no heavier than their continuous ones: exp(−t/b), and exp(−t²/2σ²).
        """
        width, most = self.steps(sensitivity, sensitivity, cells)
        spread = width * math.ceil(most * self.scale)
        far = math.log(1.0 / chance)
        return spread * (far if self.mechanism == "Laplace" else math.sqrt(2.0 * far))
