"""A scorecard as a record: how it scores rows, and how it is printed."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tallybayes.core import kernels
from tallybayes.core.batch import Array, Codes, Rows
from tallybayes.core.listings import Listing, short
from tallybayes.core.listings import as_html as listing_html
from tallybayes.core.listings import as_text as listing_text
from tallybayes.core.model import Model
from tallybayes.core.notebook import panel
from tallybayes.core.schema import Level, amount
from tallybayes.core.terms import ByBin, ByLevel, ByPair
from tallybayes.data.columns import rows as rows_of
from tallybayes.errors import MissingExtraError
from tallybayes.inspection.card_lines import CardColumn, Line

WIDEST = 40  # characters of values in a terminal


@dataclass(frozen=True)
class Scorecard:
    """A model as points: the score of a row is the base points and those of the line that it is in for each column.

    Parameters
    ----------
    label : class
        The class whose odds rise with the score.
    classes : tuple
        Those that are counted.
    columns : tuple of CardColumn
        Columns that are used, with their lines; a pair is a table of two columns.
    base_points : float
        What every row has.
    points_to_double_odds, base, odds, rounding
        As asked for.
    terms : tuple
        The same tables as plain data, for exports.
    """

    label: Level
    classes: tuple[Level, ...]
    columns: tuple[CardColumn, ...]
    base_points: float
    points_to_double_odds: float
    base: float
    odds: float
    rounding: bool
    terms: tuple[ByLevel | ByBin | ByPair, ...] = field(repr=False, compare=False)
    tables: Mapping[str, Array] = field(repr=False, compare=False)  # (cells + d, 1) points of each block
    model: Model = field(repr=False, compare=False)

    def score(self, X: Any) -> Array:
        """Return the score of each row (n,), whole numbers where points are rounded."""
        rows = X if isinstance(X, Rows) else rows_of(self.model, X)
        total = np.full(rows.n_rows, self.base_points)
        for name, block in rows.rows(0, rows.n_rows).blocks.items():
            codes = block.x
            assert isinstance(codes, Codes)
            total += kernels.table_scores(codes.matrix, self.model.scoring[name].start, self.tables[name])[:, 0]
        return np.asarray(np.rint(total) if self.rounding else total)

    def log_odds(self, score: Any) -> Array:
        """Return the log odds of the label that a score stands for."""
        factor = self.points_to_double_odds / math.log(2.0)
        return np.asarray((np.asarray(score, dtype=np.float64) - self.base) / factor + math.log(self.odds))

    @property
    def lines(self) -> Iterator[tuple[CardColumn, Line]]:
        """All lines, column by column."""
        return ((column, line) for column in self.columns for line in column.lines)

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def to_html(self) -> str:
        """Return the card as a table of HTML."""
        return as_html(self)

    def to_csv(self) -> str:
        """Return the card as CSV, a line for each bin."""
        return as_csv(self)

    def to_markdown(self) -> str:
        """Return the card as a table of Markdown."""
        return as_markdown(self)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values, for JSON."""
        return {
            "label": self.label,
            "points_to_double_odds": self.points_to_double_odds,
            "base": self.base,
            "odds": self.odds,
            "rounding": self.rounding,
            "base_points": self.base_points,
            "columns": [column.as_dict(self.classes) for column in self.columns],
        }

    def as_frame(self) -> Any:
        """A pandas DataFrame with a line for each bin."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise MissingExtraError("as_frame() needs pandas: pip install pandas") from None
        records = [
            {"column": column.name, "value": str(line), **dict(zip(map(str, self.classes), line.counts, strict=True))}
            | {"woe": line.woe, "iv": line.iv, "points": line.points}
            for column, line in self.lines
        ]
        return pd.DataFrame(records)


# ------------------------------------------------------------------------------------------ printing


def _listing(card: Scorecard, wide: int = 10_000) -> Listing:
    names = [str(label) for label in card.classes]
    lines: list[tuple[str, ...]] = [("base points", "", *[""] * len(names), "", _points(card.base_points, card))]
    for column in card.columns:
        for place, line in enumerate(column.lines):
            name = f"{column.name} (IV {column.iv:.3f})" if place == 0 else ""
            of_class = [amount(count) for count in line.counts]
            lines.append((name, short(str(line), wide), *of_class, f"{line.woe:+.3f}", _points(line.points, card)))
    return Listing(("column", "value", *names, "WoE", "points"), lines)


def _points(points: float, card: Scorecard) -> str:
    return f"{points:.0f}" if card.rounding else f"{points:.2f}"


def _title(card: Scorecard) -> str:
    doubled = f"{card.points_to_double_odds:g} points double the odds"
    return f"score of {card.label}: {card.base:g} points are odds of {card.odds:g} to 1, {doubled}"


def as_text(card: Scorecard) -> str:
    """The card for a terminal."""
    return f"{_title(card)}\n\n{listing_text(_listing(card, WIDEST))}"


def as_html(card: Scorecard) -> str:
    """The card as a table of HTML, in the style of the other records."""
    return panel(_title(card), listing_html(_listing(card)))


def as_markdown(card: Scorecard) -> str:
    """The card as a table of Markdown."""
    listing = _listing(card)
    rows = [listing.header, ["---"] * len(listing.header), *listing.lines]
    return "\n".join(f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in rows) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def as_csv(card: Scorecard) -> str:
    """The card as CSV, the name of its column in every line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["column", "value", *map(str, card.classes), "woe", "iv", "points"])
    writer.writerow(["base points", "", *[""] * len(card.classes), "", "", card.base_points])
    for column, line in card.lines:
        writer.writerow([column.name, str(line), *line.counts, line.woe, line.iv, line.points])
    return out.getvalue()
