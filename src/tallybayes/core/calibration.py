"""Calibration: maps from raw to calibrated posteriors, fitted on the scores of rows that were held out.

A Naive Bayes model counts the evidence of dependent columns more than once, so its posteriors are mostly too close to
0 and 1. A calibration leaves the evidence as it is and corrects how much is concluded from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.keys import stratified_folds
from tallybayes.errors import SettingError

FOLDS = 5  # of rows that are calibrated by the others
LEAST_ROWS = 10  # with fewer rows nothing is fitted
MOST_ROWS = 100_000  # rows that the temperature is fitted to, evenly spread; one number needs no more
TEMPERATURES = 0.1, 1000.0  # the range that is searched
SPREAD = 3.0  # of the normal prior on log T: a temperature of 20 or 1/20 is nothing unusual
PULL = 0.01  # precision of the normal prior on intercepts: weaker than one row
NEWTON_STEPS = 50
FAR = 1e9  # log odds that stand for infinite ones, which cannot be interpolated


@dataclass(frozen=True)
class Temperature:
    """All log posteriors divided by one number: log softmax(log p / T). The likeliest class stays the likeliest.

    Parameters
    ----------
    temperature : float
        T > 1 makes the model less sure, T < 1 more, T = 1 leaves it as it is.

    Examples
    --------
    >>> Temperature(2.0).apply(np.log([[0.9, 0.1]])).round(4)
    array([[-0.2877, -1.3863]])
    """

    temperature: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise SettingError(f"the temperature must be a number above 0, not {self.temperature!r}")

    def check(self, n_classes: int) -> None:
        """One number is for any classes."""

    def apply(self, log_posterior: Array) -> Array:
        """Calibrate log posteriors (n, K); what was impossible stays impossible."""
        return _normalised(log_posterior / self.temperature)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {"kind": "temperature", "temperature": self.temperature}


@dataclass(frozen=True)
class Affine:
    """Log posteriors divided by one number, and an intercept added for each class: log softmax(log p / T + b).

    A temperature alone keeps the likeliest class. Where the evidence for one class is larger throughout, as it is where
    its rows have more words of their own, only intercepts correct it (Platt 1999, for two classes).

    Parameters
    ----------
    temperature : float
    intercepts : tuple of float
        One for each class; only their differences matter.

    Examples
    --------
    >>> np.exp(Affine(2.0, (0.0, math.log(3.0))).apply(np.log([[0.9, 0.1]]))).round(4)
    array([[0.5, 0.5]])
    """

    temperature: float
    intercepts: tuple[float, ...]

    def __post_init__(self) -> None:
        Temperature(self.temperature)
        if not all(map(math.isfinite, self.intercepts)):
            raise SettingError(f"the intercepts must be finite numbers, not {self.intercepts!r}")

    def check(self, n_classes: int) -> None:
        """Refuse other classes than those with intercepts."""
        if len(self.intercepts) != n_classes:
            raise SettingError(f"{len(self.intercepts)} intercepts calibrate other classes than these {n_classes}")

    def apply(self, log_posterior: Array) -> Array:
        """Calibrate log posteriors (n, K); what was impossible stays impossible."""
        return _normalised(log_posterior / self.temperature + np.array(self.intercepts))

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {"kind": "affine", "temperature": self.temperature, "intercepts": list(self.intercepts)}


@dataclass(frozen=True)
class Curve:
    """A rising line through knots: the calibrated probability of a class by its raw log odds.

    Log odds are in the order of the probabilities, but do not round to 1 where the model is very sure.
    """

    log_odds: tuple[float, ...]
    probability: tuple[float, ...]

    def __post_init__(self) -> None:
        odds, probability = self._knots
        rising = np.isfinite(odds).all() and np.all(np.diff(odds) >= 0)
        within = np.all((probability >= 0) & (probability <= 1))
        if not len(odds) or len(odds) != len(probability) or not rising or not within:
            raise SettingError("a curve has a probability for each of its log odds, which rise")

    @cached_property
    def _knots(self) -> tuple[Array, Array]:
        return np.array(self.log_odds), np.array(self.probability)

    def __call__(self, log_odds: Array) -> Array:
        """The calibrated probability (n,)."""
        return np.interp(log_odds, *self._knots)


@dataclass(frozen=True)
class Isotonic:
    """A rising curve for each class against the rest, renormalised over the classes (Zadrozny and Elkan 2002).

    Parameters
    ----------
    curves : tuple of Curve
        One for each class; of two classes only one for the second, since the first has what it leaves.
    margin : float
        How far probabilities stay away from 0 and 1: a curve that never met an exception is not sure of none.

    Examples
    --------
    >>> halfway = Isotonic((Curve((-2.0, 2.0), (0.25, 0.75)),), margin=0.01)
    >>> np.exp(halfway.apply(np.log([[0.5, 0.5], [0.001, 0.999]]))).round(3)
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """

    curves: tuple[Curve, ...]
    margin: float

    def __post_init__(self) -> None:
        if not self.curves or not 0.0 <= self.margin <= 0.5:
            raise SettingError(f"an isotonic calibration has curves and a margin from 0 to 0.5, not {self.margin!r}")

    def check(self, n_classes: int) -> None:
        """Refuse curves that are not those of so many classes."""
        if len(self.curves) != (1 if n_classes == 2 else n_classes):
            raise SettingError(f"{len(self.curves)} curves calibrate other classes than these {n_classes}")

    def __repr__(self) -> str:
        knots = sum(len(curve.log_odds) for curve in self.curves)
        return f"Isotonic({max(len(self.curves), 2)} classes, {knots} knots)"

    def apply(self, log_posterior: Array) -> Array:
        """Calibrate log posteriors (n, K)."""
        raw = _normalised(log_posterior)
        odds = _log_odds(raw)[:, -len(self.curves) :]
        columns = [curve(column) for curve, column in zip(self.curves, odds.T, strict=True)]
        own = np.clip(np.stack(columns, axis=1), self.margin, 1.0 - self.margin)
        calibrated = np.concatenate((1.0 - own, own), axis=1) if len(self.curves) == 1 else own
        total = calibrated.sum(axis=1, keepdims=True)
        # With a margin of 0 every curve may be 0; then the raw posterior is all there is.
        given = np.where(total > 0, calibrated, np.exp(raw))
        with np.errstate(divide="ignore"):
            return np.log(given / np.where(total > 0, total, 1.0))

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        curves = [{"log_odds": list(c.log_odds), "probability": list(c.probability)} for c in self.curves]
        return {"kind": "isotonic", "margin": self.margin, "curves": curves}


Calibration = Temperature | Affine | Isotonic
Kind = Literal["temperature", "affine", "isotonic"]


def fit(kind: Kind, log_posterior: Array, codes: NDArray[Any], weight: Array) -> Calibration:
    """Fit a calibration to the log posteriors of rows that were not learned, such as leave-one-out gives.

    Fewer than 10 rows, or rows of a single class, give ``Temperature(1.0)``, which changes nothing.

    Parameters
    ----------
    kind : {"temperature", "affine", "isotonic"}
        One number by log loss, one and an intercept a class, or a curve a class by isotonic regression. Curves bend to
        any shape, but need some thousand rows to be better than the number.
    log_posterior : ndarray of shape (n, K)
    codes : ndarray of shape (n,)
        Class codes.
    weight : ndarray of shape (n,)
        A row of weight w counts as w rows.

    Returns
    -------
    Temperature, Affine or Isotonic

    Examples
    --------
    >>> sure = np.log([[0.999, 0.001]] * 100)  # but wrong every fourth time
    >>> calibration = fit("temperature", sure, np.array([0, 0, 0, 1] * 25), np.ones(100))
    >>> np.exp(calibration.apply(sure[:1])).round(2)
    array([[0.75, 0.25]])
    """
    fits: dict[str, Callable[[Array, NDArray[Any], Array], Calibration]] = {
        "temperature": _temperature,
        "affine": _affine,
        "isotonic": _isotonic,
    }
    if kind not in fits:
        raise SettingError(f"calibration must be 'temperature', 'isotonic' or None, not {kind!r}")
    counted = weight > 0
    log_posterior, codes, weight = log_posterior[counted], codes[counted], weight[counted]
    if len(codes) < LEAST_ROWS or np.all(codes == codes[0]):
        return Temperature(1.0)
    return fits[kind](log_posterior, codes, weight)


def cross_fitted(
    kind: Kind,
    log_posterior: Array,
    codes: NDArray[Any],
    weight: Array,
    fold: NDArray[np.intp] | None = None,
) -> Array:
    """Calibrate held-out log posteriors (n, K) by the others: each fold by what is fitted to the rest.

    A calibration flatters the very rows that it was fitted to; figures of these do not flatter. Parameters are those of
    `fit`, and the fold (n,) of each row; rows in the order of their keys need none.
    """
    fold, out = stratified_folds(codes, FOLDS) if fold is None else fold, np.empty_like(log_posterior)
    for number in np.unique(fold):
        rest, held = fold != number, fold == number
        out[held] = fit(kind, log_posterior[rest], codes[rest], weight[rest]).apply(log_posterior[held])
    return out


def _temperature(log_posterior: Array, codes: NDArray[Any], weight: Array) -> Temperature:
    own = log_posterior[np.arange(len(codes)), codes]
    possible = np.isfinite(own)  # a row whose class is impossible is lost at every temperature alike
    chosen = np.flatnonzero(possible)[:: max(1, -(-len(codes) // MOST_ROWS))]
    log_posterior, codes, weight, rows = log_posterior[chosen], codes[chosen], weight[chosen], np.arange(len(chosen))

    def loss(log_temperature: float) -> float:
        calibrated = Temperature(math.exp(log_temperature)).apply(log_posterior)
        # Without a single error the temperature would fall to zero. The prior, weaker than one row, prevents it.
        return 0.5 * (log_temperature / SPREAD) ** 2 - float((weight * calibrated[rows, codes]).sum())

    bounds = math.log(TEMPERATURES[0]), math.log(TEMPERATURES[1])
    found = _lowest(loss, *bounds)
    return Temperature(math.exp(found) if loss(found) < loss(0.0) else 1.0)


def _affine(log_posterior: Array, codes: NDArray[Any], weight: Array) -> Affine:
    """Temperature and intercepts by log loss: Newton's method, since the loss is convex in 1/T and the intercepts."""
    n_classes = log_posterior.shape[1]
    finite = np.maximum(log_posterior, -FAR)
    centred = finite - finite.mean(axis=1, keepdims=True)
    hit = np.eye(n_classes)[codes]
    at = np.concatenate(([1.0 / _temperature(log_posterior, codes, weight).temperature], np.zeros(n_classes)))

    def loss(at: Array) -> float:
        scores = _normalised(at[0] * centred + at[1:])
        return _pull(at) - float((weight * scores[np.arange(len(codes)), codes]).sum())

    for _ in range(NEWTON_STEPS):
        share = np.exp(_normalised(at[0] * centred + at[1:]))
        slope, bend = _derivatives(centred, share, hit, weight)
        slope += PULL * at * (np.arange(len(at)) > 0)
        bend += PULL * np.eye(len(at))
        step = np.linalg.solve(bend, slope)
        now, size = loss(at), 1.0
        while size > 1e-6 and (at[0] - size * step[0] <= 0 or loss(at - size * step) > now):
            size /= 2.0
        at = at - size * step
        if np.abs(size * step).max() < 1e-9:
            break
    temperature = float(np.clip(1.0 / at[0], *TEMPERATURES))
    return Affine(temperature, tuple((at[1:] - at[1:].mean()).tolist()))


def _pull(at: Array) -> float:
    """The weak prior that keeps the intercepts finite where no row is misplaced."""
    return 0.5 * PULL * float((at[1:] ** 2).sum())


def _derivatives(centred: Array, share: Array, hit: Array, weight: Array) -> tuple[Array, Array]:
    """Slope (1 + K) and curvature (1 + K, 1 + K) of the log loss in 1/T and the intercepts."""
    off = weight[:, None] * (share - hit)
    slope = np.concatenate(([(off * centred).sum()], off.sum(axis=0)))
    mean = (share * centred).sum(axis=1, keepdims=True)
    both = (weight[:, None] * share * (centred - mean)).sum(axis=0)
    bend = np.zeros((len(slope), len(slope)))
    bend[0, 0] = float((weight[:, None] * share * (centred - mean) ** 2).sum())
    bend[0, 1:] = bend[1:, 0] = both
    bend[1:, 1:] = np.diag((weight[:, None] * share).sum(axis=0)) - (share * weight[:, None]).T @ share
    return slope, bend


def _lowest(loss: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that first falls and then rises is lowest, by golden section: SciPy takes longer to import."""
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = loss(left), loss(right)
    while high - low > 1e-6:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = loss(right)
    return (low + high) / 2.0


def _isotonic(log_posterior: Array, codes: NDArray[Any], weight: Array) -> Isotonic:
    n_classes = log_posterior.shape[1]
    odds = _log_odds(_normalised(log_posterior))
    classes = range(n_classes) if n_classes > 2 else (1,)
    curves = tuple(_curve(odds[:, k], codes == k, weight) for k in classes)
    # Half a row's worth of doubt between two classes, and the same for each when there are more.
    return Isotonic(curves, min(1.0 / (n_classes * float(weight.sum())), 0.5 / n_classes))


def _curve(log_odds: Array, hit: NDArray[np.bool_], weight: Array) -> Curve:
    """The rising step curve nearest to the hits, as the two ends of each step."""
    from scipy.optimize import isotonic_regression  # slow to import and seldom needed

    at, place = np.unique(log_odds, return_inverse=True)
    weights = np.bincount(place, weights=weight)
    steps = isotonic_regression(np.bincount(place, weights=weight * hit) / weights, weights=weights)
    ends = np.unique(np.concatenate((steps.blocks[:-1], steps.blocks[1:] - 1)))
    return Curve(tuple(at[ends].tolist()), tuple(steps.x[ends].tolist()))


def _normalised(log_scores: Array) -> Array:
    """Log softmax over the classes; a row that no class allows is given to all alike."""
    top = log_scores.max(axis=1, keepdims=True)
    forbidden = np.isneginf(top)
    shifted = log_scores - np.where(forbidden, 0.0, top)
    shifted[forbidden[:, 0]] = 0.0
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _log_odds(log_posterior: Array) -> Array:
    """Log p − log(1 − p) of each class, without the rounding of a p close to 1."""
    best = np.arange(len(log_posterior)), log_posterior.argmax(axis=1)
    others = log_posterior.copy()
    others[best] = -np.inf
    against = np.log1p(-np.exp(others))  # exact enough, for these probabilities are 1/2 at most
    runner_up = np.maximum(others.max(axis=1), -FAR)
    with np.errstate(divide="ignore"):
        against[best] = runner_up + np.log(np.exp(others - runner_up[:, None]).sum(axis=1))
    return np.clip(log_posterior - against, -FAR, FAR)
