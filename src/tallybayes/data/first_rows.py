"""How columns of files are best counted, from their first rows.

Nothing here decides what is counted, only how: whatever the first rows did not show, the scan finds out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.schema import plural
from tallybayes.data.files import FIRST, File, TypeConflict
from tallybayes.data.frames import Table
from tallybayes.data.survey import Mode
from tallybayes.data.values import Values
from tallybayes.errors import DataError

WIDE = FIRST // 5  # different values beyond which a column is counted by itself
FAR = 25.0  # how far a class may lie from the centre, in variances, before it is summed in the slower, exact way


@dataclass(frozen=True)
class FirstRows:
    """How the columns are best counted."""

    wide: frozenset[str]  # columns of very many values
    centre: Mapping[str, float]  # of numbers: a central value
    with_missing: frozenset[str]  # numbers with missing values, which may be NaN
    far: frozenset[str]  # numbers with a class whose spread would drown in the squares about the centre

    def with_exact(self, centre: Mapping[str, float]) -> FirstRows:
        """The same, but these numbers are counted about another centre, in the exact way."""
        missing, far = self.with_missing | {*centre}, self.far | {*centre}
        return replace(self, centre={**self.centre, **centre}, with_missing=missing, far=far)


def inspect(file: File, target: str, modes: Mapping[str, Mode], opening: Table) -> FirstRows:
    """Inspect the first rows.

    A target of very many values is an error; the type of a column without any value is inferred from all rows.
    """
    labels = opening.columns[target]
    _refuse_names(file, target, labels)
    n_levels = {name: _n_levels(opening.columns[name]) for name, mode in modes.items() if mode == "levels"}
    unknown = 0 in n_levels.values() and opening.n_rows == FIRST
    if unknown and not file.whole and file.format in ("csv", "json"):
        raise TypeConflict(f"the first rows of {file.name} do not show the type of every column")
    wide = frozenset(name for name, number in n_levels.items() if number > WIDE)
    codes = labels.codes(0, len(labels), labels.distinct())
    numbers = {name: _numbers(opening.columns[name]) for name, mode in modes.items() if mode == "numbers"}
    centre = {name: _centre(x) for name, x in numbers.items()}
    with_missing = frozenset(name for name, x in numbers.items() if np.isnan(x).any())
    far = frozenset(name for name, x in numbers.items() if _has_far_class(x - centre[name], codes))
    return FirstRows(wide, centre, with_missing, far)


def _refuse_names(file: File, target: str, labels: Values) -> None:
    n_labels, n_labelled = _n_levels(labels), len(labels) - labels.n_missing
    if n_labels > max(1000, n_labelled // 2):
        raise DataError(
            f"the target {target!r} of {file.name} has {n_labels:,} different values in the first "
            f"{plural(len(labels), 'row')}: that is no label but a number, a name or a code; bin it, or choose another"
        )


def _n_levels(values: Values) -> int:
    try:
        return len(values.distinct())
    except TypeError:  # lists and records, which only DuckDB can compare
        return len(values) - values.n_missing


def _numbers(values: Values) -> Array:
    return np.asarray(values.numbers(0, len(values)), dtype=np.float64)


def _centre(x: Array) -> float:
    """The mean; zero where it is infinite or unknown."""
    known = x[~np.isnan(x)]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(known.mean()) if len(known) else 0.0
    return mean if np.isfinite(mean) else 0.0


def _has_far_class(shifted: Array, codes: NDArray[np.int32]) -> bool:
    known = (codes >= 0) & np.isfinite(shifted)
    codes, shifted = codes[known], shifted[known]
    with np.errstate(over="ignore", invalid="ignore"):
        n, first, second = (np.bincount(codes, weights=shifted**power) for power in range(3))
        shift = first / np.maximum(n, 1.0)
        return bool((n * shift**2 > FAR * (second - n * shift**2))[n > 1].any())
