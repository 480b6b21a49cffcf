"""Weights of classes: the rows of a class count so many times, as if each had that weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Literal

import numpy as np

from tallybayes.core.batch import Array, Labels
from tallybayes.core.schema import Level, Schema
from tallybayes.errors import SettingError, nearest

ClassWeight = Literal["balanced"] | Mapping[Level, float] | None


def class_factors(given: ClassWeight, classes: tuple[Level, ...], weight: Array) -> dict[Level, float]:
    """How many times the rows of each class count, as scikit-learn's ``compute_class_weight`` has it.

    Parameters
    ----------
    given : "balanced", mapping of class to weight, or None
        "balanced" makes all classes weigh the same: Σ w / (K · Σ w of the class). A class that a mapping does not name
        has weight 1.
    classes : tuple
    weight : ndarray of shape (K,)
        Total weight of the rows of each class.

    Returns
    -------
    dict of class to float

    Examples
    --------
    >>> class_factors("balanced", ("no", "yes"), np.array([4.0, 2.0]))
    {'no': 0.75, 'yes': 1.5}
    """
    if given is None:
        return {}
    if isinstance(given, str):
        mean = float(weight.sum()) / len(classes)
        shares = zip(classes, weight.tolist(), strict=True)
        return {label: mean / total if total > 0 else 1.0 for label, total in shares}
    for label in (label for label in given if label not in classes):
        raise SettingError(f"class_weight names {label!r}, which is no class; {nearest(label, classes, 'the data')}")
    return {label: float(factor) for label, factor in given.items()}


def check_factors(given: Mapping[Level, float]) -> None:
    """Refuse weights of classes that are no finite numbers above 0."""
    for label, factor in given.items():
        if not (isinstance(factor, Real) and not isinstance(factor, bool) and 0 < float(factor) < np.inf):
            raise SettingError(f"class_weight of the class {label!r} must be a number above 0, not {factor!r}")


def as_array(factors: Mapping[Level, float], schema: Schema) -> Array:
    """The weights (K,) in the order of the classes."""
    return np.array([factors.get(label, 1.0) for label in schema.classes])


def weighted_labels(labels: Labels, factors: Mapping[Level, float], schema: Schema) -> Labels:
    """Labels whose rows count as often as their classes are to."""
    if not factors or labels.codes is None:
        return labels
    each = np.append(as_array(factors, schema), 1.0)[labels.codes]  # an unknown class, −1, has weight 1
    return replace(labels, weight=labels.weight * each)
