"""What the first rows of files say, before all of them are counted: what must be asked with care, and about what.

Nothing here decides what is counted, only how: whatever the first rows did not show, the scan finds out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.batch import Array
from tallybayes.core.schema import plural
from tallybayes.data.files import LOOK, File, TypeConflict
from tallybayes.data.survey import Mode
from tallybayes.data.tables import Table
from tallybayes.data.values import Values
from tallybayes.errors import DataError

WIDE = LOOK // 5  # different values beyond which a column is counted by itself
FAR = 25.0  # how far a class may lie from the centre, in variances, before it is asked with care


@dataclass(frozen=True)
class Glance:
    """How the columns are best asked for."""

    wide: frozenset[str]  # columns of very many values
    centre: Mapping[str, float]  # of numbers: a value amid them
    holed: frozenset[str]  # numbers with holes, which may be NaN
    far: frozenset[str]  # numbers with a class whose spread would drown in the squares about the centre

    def with_care(self, centre: Mapping[str, float]) -> Glance:
        """The same, but these numbers are asked for about another centre, in the way that always holds."""
        return replace(self, centre={**self.centre, **centre}, holed=self.holed | {*centre}, far=self.far | {*centre})


def glance(file: File, target: str, modes: Mapping[str, Mode], opening: Table) -> Glance:
    """Look at the first rows.

    A target of very many values is an error, and a column without any asks for a look at all rows.

    Parameters
    ----------
    file : File
    target : str
    modes : mapping of column to what is to be counted of it
    opening : Table
        The first rows.

    Returns
    -------
    Glance
    """
    labels = opening.columns[target]
    _refuse_names(file, target, labels)
    n_levels = {name: _n_levels(opening.columns[name]) for name, mode in modes.items() if mode == "levels"}
    untold = 0 in n_levels.values() and opening.n_rows == LOOK
    if untold and not file.whole and file.format in ("csv", "json"):
        raise TypeConflict(f"the first rows of {file.name} do not tell the type of every column")
    wide = frozenset(name for name, number in n_levels.items() if number > WIDE)
    codes = labels.codes(0, len(labels), labels.distinct())
    numbers = {name: _numbers(opening.columns[name]) for name, mode in modes.items() if mode == "numbers"}
    centre = {name: _centre(x) for name, x in numbers.items()}
    holed = frozenset(name for name, x in numbers.items() if np.isnan(x).any())
    far = frozenset(name for name, x in numbers.items() if _has_far_class(x - centre[name], codes))
    return Glance(wide, centre, holed, far)


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
    except TypeError:  # lists and records, which only DuckDB can tell apart
        return len(values) - values.n_missing


def _numbers(values: Values) -> Array:
    return np.asarray(values.numbers(0, len(values)), dtype=np.float64)


def _centre(x: Array) -> float:
    """The mean; one that is infinite or not there shifts nothing, and the scan will tell."""
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
