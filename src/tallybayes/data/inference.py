"""Inferring the kind of a column from its values, with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from tallybayes.core.schema import Column, Kind, Level, plural
from tallybayes.core.spelling import UNSPACED
from tallybayes.core.tokens import Tokens
from tallybayes.data.tags import hold_lists, likeliest_separator, separator_of, tag_tokens
from tallybayes.errors import DataError, SettingError, nearest
from tallybayes.families import FAMILIES

IN_UNSPACED = re.compile(f"[{UNSPACED}]")
FEWEST_WORDS = 5  # of values that are mostly different: with fewer they are names, titles or addresses
FEWEST_ROWS = 100  # beyond which values that are nearly all different are no levels
GIVEN = ("numeric", "category", "boolean", "count", "text", "tags", "date", "epoch", "ignored")  # kinds to choose
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
    ordered: bool = False  # whether the levels of an enumeration follow one another

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
    name = profile.name
    if profile.storage == "other":
        raise DataError(
            f"column {name!r} holds lists, records or a mix of types, such as numbers and text; make it one type, or "
            f"leave it out with drop=[{name!r}]"
        )
    if profile.storage == "empty" or profile.n_present == 0:
        return Column(name, "ignored", reason="no value at all", lasting="no value when first learned")
    if profile.storage == "date":
        reason = (
            "a duration, or a date that this engine does not read; derive a number or columns such as month from it"
        )
        return Column(name, "ignored", reason=reason)
    if profile.storage in ("number", "integer"):
        return _numbers(profile, whole)
    if profile.storage == "boolean":
        both, reason = (False, True), f"true or false{_missing_note(profile)}"
        return Column(name, "boolean", both, reason, "true or false", declared=both)
    return _levels(profile, whole)


def _levels(profile: Profile, whole: bool) -> Column:
    """What a column of text or of an enumeration is: tags, texts, an identifier or a category."""
    name, rows = profile.name, plural(profile.n_rows, "row")
    levels = profile.declared if profile.declared is not None else profile.levels or ()
    seen = len(profile.levels or levels)
    asked = profile.declared is None and (whole or hold_lists(profile.levels))
    separator = separator_of(profile.levels or ()) if asked else None
    if separator is not None:
        tags = Column(name, "tags", lasting="tags", tokens=tag_tokens(separator))
        return replace(tags, reason=f"{tags_in_words(profile.levels, separator)}{_missing_note(profile)}")
    if whole and profile.declared is None and profile.n_present > 20 and 2 * seen > profile.n_present:
        length = _mean_words(profile.levels or ())
        if length >= FEWEST_WORDS:
            reason = f"text of about {length:.0f} words, {seen:,} different in {rows}{_missing_note(profile)}"
            return Column(name, "text", reason=reason, lasting="text")
    if whole and seen == profile.n_present > 20:
        reason = f"an identifier: a different value in each of {rows}"
        return Column(name, "ignored", reason=reason, lasting="an identifier")
    if whole and profile.declared is None and profile.n_present > FEWEST_ROWS and 5 * seen >= 4 * profile.n_present:
        # What hardly any two rows share costs more than it can say: of 12,000 rows of adult a random code cost 0.0024.
        reason = f"nearly an identifier: {seen:,} different values in {rows}; kind={{{name!r}: 'category'}} keeps it"
        return Column(name, "ignored", reason=reason, lasting="nearly an identifier")
    what = "ordered levels" if profile.ordered else "enumeration" if profile.declared is not None else "text"
    if seen == 1 and profile.declared is None:
        reason = f"constant: {levels[0]!r} in every row, no evidence"
    else:
        reason = f"{what}, {plural(len(levels), 'level')} in {rows}{_missing_note(profile)}"
    order: Literal["", "line"] = "line" if profile.ordered else ""
    return Column(name, "category", levels, reason, what, declared=profile.declared or (), order=order)


def tags_in_words(cells: Sequence[Level] | None, separator: str) -> str:
    """What cells of tags are, as a reason has it."""
    return "lists of tags" if hold_lists(cells) else f"tags with {separator!r} between them"


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
    return sum(_n_words(value) if isinstance(value, str) else 0 for value in some) / max(len(some), 1)


def _n_words(text: str) -> float:
    """How many words a text has, about; the groups of a telephone number are none.

    Where no blanks are between them, two characters are one.
    """
    unspaced = 0 if text.isascii() else len(IN_UNSPACED.findall(text))
    spaced = IN_UNSPACED.sub(" ", text) if unspaced else text
    return sum(not word.isdigit() for word in spaced.split()) + unspaced / 2


def _figure(number: float) -> str:
    """Whole numbers to the last digit, so that 1484705 is not 1.4847e+06."""
    return f"{number:.0f}" if float(number).is_integer() and abs(number) < 1e15 else f"{number:g}"


def _missing_note(profile: Profile) -> str:
    return f", {profile.n_missing:,} missing" if profile.n_missing else ""


def as_given(profile: Profile, kind: Kind) -> Column:
    """Return the column of a kind that the user has chosen."""
    name = profile.name
    if kind not in get_args(Kind):
        raise SettingError(
            f"kind of column {name!r} must be one of {', '.join(GIVEN)}, or levels in order, not {kind!r}"
        )
    if kind == "ignored":
        return Column(name, "ignored", reason="as given")
    if kind == "date":
        return Column(name, "ignored", reason="no date at all", lasting="no date when first learned")
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
    if kind in ("text", "tags"):
        if profile.storage not in ("text", "empty"):
            raise DataError(f"column {name!r} holds {profile.storage}, not {kind}; convert it to strings")
        return Column(name, kind, reason=f"as given{_missing_note(profile)}", lasting="as given")
    levels = profile.declared if profile.declared is not None else profile.levels or ()
    if kind == "boolean" and len(levels) > 2:
        raise DataError(f"column {name!r} has {len(levels)} different values, so it cannot be boolean; use 'category'")
    reason = f"as given, {plural(len(levels), 'level')}{_missing_note(profile)}"
    return Column(name, kind, levels, reason, "as given", declared=profile.declared or ())


def tokens_for(column: Column, given: Tokens | None, default: Tokens, cells: Sequence[Level] | None) -> Tokens:
    """How a column of text or of tags is tokenised: as given, or as its cells suggest."""
    if column.kind != "tags":
        return default if given is None else given
    if given is not None and given.words != "tags":
        raise SettingError(f"tokens of column {column.name!r}, which holds tags, must be Tokens(words='tags', …)")
    return given or column.tokens or tag_tokens(separator_of(cells or ()) or likeliest_separator(cells or ()))


def in_order_as_given(profile: Profile, levels: tuple[Level, ...]) -> Column:
    """Return the category whose levels the user has given in their order."""
    unknown = [level for level in profile.levels or () if level not in levels]
    if unknown or len(set(levels)) < len(levels):
        what = f"holds {unknown[0]!r}, which is not among" if unknown else "has a level twice in"
        raise DataError(f"column {profile.name!r} {what} the given levels {', '.join(map(repr, levels))}")
    reason = f"as given, {plural(len(levels), 'level')} in order{_missing_note(profile)}"
    return Column(profile.name, "category", levels, reason, "as given, in order", declared=levels, order="line")


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
        hint = nearest(unknown[0], names, "the table")
        raise SettingError(f"{option} names the column {unknown[0]!r}, which there is not; {hint}")
