"""The user's options for single columns: kinds, families, tokens, what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from tallybayes.core.schema import Schema, block_of
from tallybayes.core.tokens import Tokens
from tallybayes.data.inference import check_known
from tallybayes.errors import SettingError
from tallybayes.families import FAMILIES, textbook_family


@dataclass(frozen=True)
class Overrides:
    """The user's options for single columns, by name."""

    kind: Mapping[str, Any]  # kinds, and "epoch" for dates in seconds since 1970
    family: Mapping[str, str]
    drop: frozenset[str]
    missing: Mapping[str, str]
    default_missing: str  # of columns that `missing` does not name
    alpha: Mapping[str, float]
    tokens: Mapping[str, Tokens]
    default_tokens: Tokens  # of texts that `tokens` does not name
    default_text: str  # the family of texts that `family` does not name
    decimal: str | None = None  # the decimal mark of numbers that are written as text
    dates: Any = None  # "dmy" or "mdy", where the values do not decide
    missing_values: Mapping[str, tuple[Any, ...]] | tuple[Any, ...] = ()  # what stands for a missing value
    ordered: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # levels that were given in their order

    @classmethod
    def of(
        cls,
        kind: Any,
        family: Any,
        drop: Any,
        missing: Any,
        alpha: Any,
        tokens: Any = None,
        default_tokens: Tokens | None = None,
        default_text: str | None = None,
    ) -> Overrides:
        """Columns of a frame may be called by their numbers, so names are compared as text."""

        def named(given: Any) -> dict[str, Any]:
            return {str(name): value for name, value in given.items()} if isinstance(given, Mapping) else {}

        for_all = missing if isinstance(missing, str) else "ignore"
        dropped = frozenset(map(str, drop if drop is not None else ()))
        kinds = named(kind)
        listed = {name: tuple(levels) for name, levels in kinds.items() if isinstance(levels, (list, tuple))}
        kinds |= dict.fromkeys(listed, "category")
        options = kinds, named(family), dropped, named(missing), for_all, named(alpha), named(tokens)
        default_tokens = tokens if isinstance(tokens, Tokens) else default_tokens or Tokens()
        return cls(*options, default_tokens, default_text or textbook_family("text"), ordered=listed)

    def missing_values_of(self, name: str) -> tuple[Any, ...]:
        """What stands for a missing value in a column."""
        given = self.missing_values
        return tuple(given.get(name, ())) if isinstance(given, Mapping) else given

    def places(self, schema: Schema) -> dict[str, list[int]]:
        """Which columns each family reads, by position."""
        texts = {column.name: self.default_text for column in schema.columns if column.kind == "text"}
        return blocks_of(schema, {**texts, **self.family})

    def check(self, names: list[str]) -> None:
        """Refuse columns that do not exist and values that mean nothing."""
        if isinstance(self.missing_values, Mapping):
            check_known("missing_values", self.missing_values, names)
        for option in ("kind", "family", "drop", "missing", "alpha", "tokens"):
            check_known(option, getattr(self, option), names)
        known = [name for name, family in FAMILIES.items() if family.reads]
        for name, chosen in self.family.items():
            if chosen not in known:
                raise SettingError(f"family of column {name!r} must be one of {', '.join(known)}, not {chosen!r}")
            if name in self.kind and self.kind[name] not in FAMILIES[chosen].reads:
                raise SettingError(f"column {name!r} cannot be of kind {self.kind[name]!r} and family {chosen!r}")
        for name, missing in self.missing.items():
            if missing not in ("ignore", "level"):
                raise SettingError(f"missing of column {name!r} must be 'ignore' or 'level', not {missing!r}")
        for name, tokens in self.tokens.items():
            if not isinstance(tokens, Tokens):
                raise SettingError(f"tokens of column {name!r} must be Tokens(…), not {tokens!r}")
        for name, alpha in self.alpha.items():
            if not (isinstance(alpha, Real) and 0 <= alpha < float("inf")):
                raise SettingError(f"alpha of column {name!r} must be a number of at least 0, not {alpha!r}")


def blocks_of(schema: Schema, family: Mapping[str, str]) -> dict[str, list[int]]:
    """Which columns each family reads, by position."""
    places: dict[str, list[int]] = {}
    for p, column in enumerate(schema.columns):
        if column.is_evidence:
            chosen = FAMILIES[family.get(column.name) or textbook_family(column.kind)]
            places.setdefault(block_of(column, chosen.reader(column.kind)), []).append(p)
    return places
