"""Inferring the kind of a column from its values, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from tallybayes.core.schema import Column, Kind, Level, plural
from tallybayes.errors import DataError, SettingError
from tallybayes.families import FAMILIES

FEWEST_WORDS = 5  # of values that are mostly different: with fewer they are names, titles or addresses
SAMPLED = 1000  # values whose words are counted


@dataclass(frozen=True)
class Profile:
    """The profile of a column: its storage, its missing values, its levels or its range."""

    name: str
    storage: str  # "number", "integer", "text", "boolean", "date", "empty" or "other"
    n_rows: int
    n_missing: int
    levels: tuple[Level, ...] | None = None  # the different values, of anything but numbers
    declared: tuple[Level, ...] | None = None  # the levels of an enumeration
    low: float = 0.0  # smallest and largest number
    high: float = 0.0
    numbered: bool = False  # whole numbers that count the rows

    @property
    def n_present(self) -> int:
        """Rows that have a value."""
        return self.n_rows - self.n_missing


def infer(profile: Profile, whole: bool = True) -> Column:
    """Return the column that the values suggest, of kind "ignored" where it is no evidence; its reason shows why.

    Unless the values are the ``whole`` column, its kind follows from their type alone, not from what the first of them
    happen to be: no identifiers, and 0 and 1 are numbers.

    Examples
    --------
    >>> infer(Profile("wind", "text", 14, 0, ("strong", "weak"))).reason
    'text, 2 levels in 14 rows'
    """
    name, rows = profile.name, plural(profile.n_rows, "row")
    if profile.storage == "other":
        raise DataError(
            f"column {name!r} holds lists, records or a mix of types, such as numbers and text; make it one type, or "
            f"leave it out with drop=[{name!r}]"
        )
    if profile.storage == "empty" or profile.n_present == 0:
        return Column(name, "ignored", reason="no value at all", lasting="no value when first learned")
    if profile.storage == "date":
        return Column(name, "ignored", reason="a date; derive columns such as month or weekday from it")
    if profile.storage in ("number", "integer"):
        return _numbers(profile, whole)
    levels = profile.declared if profile.declared is not None else profile.levels or ()
    seen = len(profile.levels or levels)
    if profile.storage == "boolean":
        both, reason = (False, True), f"true or false{_missing_note(profile)}"
        return Column(name, "boolean", both, reason, "true or false", declared=both)
    if whole and profile.declared is None and profile.n_present > 20 and 2 * seen > profile.n_present:
        length = _mean_words(profile.levels or ())
        if length >= FEWEST_WORDS:
            reason = f"text of about {length:.0f} words, {seen:,} different in {rows}{_missing_note(profile)}"
            return Column(name, "text", reason=reason, lasting="text")
    if whole and seen == profile.n_present > 20:
        reason = f"an identifier: a different value in each of {rows}"
        return Column(name, "ignored", reason=reason, lasting="an identifier")
    what = "enumeration" if profile.declared is not None else "text"
    if seen == 1 and profile.declared is None:
        reason = f"constant: {levels[0]!r} in every row, no evidence"
    else:
        reason = f"{what}, {plural(len(levels), 'level')} in {rows}{_missing_note(profile)}"
    return Column(name, "category", levels, reason, what, declared=profile.declared or ())


def _numbers(profile: Profile, whole: bool) -> Column:
    """What a column of numbers is."""
    name, rows = profile.name, plural(profile.n_rows, "row")
    if whole and profile.numbered:
        return Column(name, "ignored", reason=f"an identifier: it numbers the {rows}", lasting="an identifier")
    what, integers = ("whole numbers", True) if profile.storage == "integer" else ("numbers", False)
    if whole and integers and (profile.low, profile.high) == (0, 1):
        return Column(name, "boolean", (0, 1), "whole numbers, only 0 and 1", what, declared=(0, 1))
    if profile.low == profile.high:
        # Kept, because it may vary elsewhere: a constant is equally likely in every class, so it is no evidence.
        reason = f"constant: {_figure(profile.low)} in every row, no evidence"
    else:
        reason = f"{what} from {_figure(profile.low)} to {_figure(profile.high)}{_missing_note(profile)}"
    return Column(name, "numeric", None, reason, what, integers)


def _mean_words(values: tuple[Level, ...]) -> float:
    """Mean number of words of the values, by a sample of them."""
    some = values[:: max(1, len(values) // SAMPLED)]
    return sum(len(value.split()) if isinstance(value, str) else 0 for value in some) / max(len(some), 1)


def _figure(number: float) -> str:
    """Whole numbers to the last digit, so that 1484705 is not 1.4847e+06."""
    return f"{number:.0f}" if float(number).is_integer() and abs(number) < 1e15 else f"{number:g}"


def _missing_note(profile: Profile) -> str:
    return f", {profile.n_missing:,} missing" if profile.n_missing else ""


def as_given(profile: Profile, kind: Kind) -> Column:
    """Return the column of a kind that the user has chosen."""
    name = profile.name
    if kind not in get_args(Kind):
        raise SettingError(f"kind of column {name!r} must be one of {', '.join(get_args(Kind))}, not {kind!r}")
    if kind == "ignored":
        return Column(name, "ignored", reason="as given")
    if kind in ("numeric", "count"):
        if profile.storage not in ("number", "integer", "boolean", "empty"):
            example = (profile.levels or profile.declared or ("",))[0]
            raise DataError(
                f"column {name!r} holds {profile.storage} ({example!r}), so it cannot be {kind}; convert it to "
                f"numbers, or use kind={{{name!r}: 'category'}}"
            )
        if kind == "count" and profile.low < 0:
            raise DataError(f"column {name!r} holds {profile.low:g}, and counts cannot be negative; use kind 'numeric'")
        return Column(name, kind, None, f"as given{_missing_note(profile)}", "as given", profile.storage == "integer")
    if kind == "text":
        if profile.storage not in ("text", "empty"):
            raise DataError(f"column {name!r} holds {profile.storage}, not text; convert it to strings")
        return Column(name, "text", reason=f"as given{_missing_note(profile)}", lasting="as given")
    levels = profile.declared if profile.declared is not None else profile.levels or ()
    if kind == "boolean" and len(levels) > 2:
        raise DataError(f"column {name!r} has {len(levels)} different values, so it cannot be boolean; use 'category'")
    reason = f"as given, {plural(len(levels), 'level')}{_missing_note(profile)}"
    return Column(name, kind, levels, reason, "as given", declared=profile.declared or ())


def with_missing_level(column: Column) -> Column:
    """Return a category in which missing is a level of its own, the last."""
    levels = tuple(level for level in column.levels or () if level is not None)
    declared = (*(level for level in column.declared if level is not None), None)
    return replace(column, levels=(*levels, None), declared=declared, reason=f"{column.reason}; missing is a level")


def kind_for(family: str, storage: str) -> Kind:
    """The kind of a column for which a family was chosen, where its kind was not: text is no number."""
    kinds = FAMILIES[family].reads
    return next((kind for kind in kinds if storage != "text" or kind not in ("numeric", "count")), kinds[0])


def check_known(option: str, given: Mapping[str, Any] | Any, names: Any) -> None:
    """Refuse settings for columns that do not exist."""
    unknown = [name for name in given if name not in names]
    if unknown:
        raise SettingError(f"{option} names the column {unknown[0]!r}, but the table has {', '.join(map(str, names))}")
