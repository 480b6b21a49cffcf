"""What each column is: names, kinds, levels and classes.

A schema is a plain record. Two schemas of the same columns unite: their classes and levels are joined by name, so
that tallies made apart can be added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from tallybayes.core.levels import Level as Level  # what reads a schema names levels
from tallybayes.core.levels import in_given_order, positions, some_of, united
from tallybayes.core.notebook import grid, panel
from tallybayes.core.readings import Reading
from tallybayes.core.tokens import Tokens, Vocabulary
from tallybayes.errors import SchemaError

Kind = Literal["numeric", "category", "boolean", "count", "text", "tags", "date", "pair", "block", "ignored"]

WIDEST = 40  # characters of a name that a printed table makes room for


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table.

    Parameters
    ----------
    name : str
        Its name, unique in the schema.
    kind : {"numeric", "category", "boolean", "count", "text", "tags", "date", "pair", "block", "ignored"}
        What its values mean; tags are several in a cell, an ignored column is no evidence, a date is read in parts
        that are columns of their own, a pair is two other columns taken together, a block several numeric ones.
    levels : sequence, optional
        The values a category may take; the position of a level is its code. A level that never occurs still
        takes its share of the smoothing. Of text, the words, and of tags, these: a `Vocabulary`, or a range if they
        are hashed.
    reason : str, optional
        Why the column was taken to be of this kind.
    lasting : str, optional
        What of the reason holds for any rows, such as "text"; it is left when other rows come or go.
    whole : bool
        Whether its numbers are stored as whole numbers.
    edges : tuple of float, optional
        Where the bins of a number that is counted in bins begin: bin b holds ``edges[b - 1] <= x < edges[b]``. Two
        tallies with different edges meet in those that both have, which both can be counted in exactly.
    parts : tuple of Column, optional
        The two columns of a pair, each with the levels or edges that the pair distinguishes, or those of a block.
    tokens : Tokens, optional
        How text is tokenised.
    declared : sequence, optional
        Levels that were declared, as those of an enumeration are: they stay when no row has them.
    order : {"", "line", "circle"}
        Whether the levels follow one another, as those of an ordered category or of months do.
    reading : Reading, optional
        How its values are read from those of the table, where they are not the same.

    Examples
    --------
    >>> Column("wind", "category", ("strong", "weak"))
    Column(wind: category of 2 levels)
    """

    name: str
    kind: Kind
    levels: Sequence[Level] | None = None
    reason: str = field(default="", compare=False)
    lasting: str = field(default="", compare=False)
    whole: bool = False
    edges: tuple[float, ...] | None = None
    parts: tuple[Column, ...] | None = None
    tokens: Tokens | None = None
    declared: Sequence[Level] = ()
    reading: Reading | None = None
    order: Literal["", "line", "circle"] = ""

    def __repr__(self) -> str:
        noun = "levels" if self.tokens is None else "tags" if self.kind == "tags" else "words"
        of = "" if self.levels is None else f" of {len(self.levels)} {noun}"
        of = of if self.edges is None else f" in {plural(self.n_cells, 'bin')}"
        return f"Column({self.name}: {self.kind}{of})"

    def changed(self, **fields: Any) -> Column:
        """The same with other fields: what `dataclasses.replace` does, quick enough for thousands of columns."""
        new = object.__new__(type(self))
        for name in self.__slots__:
            object.__setattr__(new, name, fields[name] if name in fields else getattr(self, name))
        return new

    @property
    def is_derived(self) -> bool:
        """Whether it is made of other columns, as a pair, a block or a part of a date is, and not one of the table."""
        return self.kind in ("pair", "block") or self.parent is not None

    @property
    def parent(self) -> str | None:
        """The column of the table that it is a part of, as a month is one of a date."""
        return None if self.reading is None or self.reading.date is None else self.reading.source

    @property
    def is_read_from_text(self) -> bool:
        """Whether its numbers or dates are written as text in a table."""
        if self.reading is None:
            return False
        return self.reading.number is not None or (
            self.reading.date is not None and self.reading.date.order in ("ymd", "dmy", "mdy", "hms")
        )

    @property
    def is_text(self) -> bool:
        """Whether its cells are tokenised: a text, or several tags."""
        return self.kind in ("text", "tags")

    @property
    def is_evidence(self) -> bool:
        """Whether it is a column of the table, or a part of one, that counts."""
        return self.kind not in ("ignored", "date", "pair", "block")

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns whose cells its matrix holds: those of a block of numbers, else itself."""
        return self.parts if self.kind == "block" and self.parts is not None else (self,)

    @property
    def n_cells(self) -> int:
        """What the counts of a class have for the column: a cell for every level, bin or combination; else one."""
        if self.parts is not None:
            return math.prod([part.n_cells for part in self.parts])
        if self.edges is not None:
            return len(self.edges) + 1
        return 1 if self.levels is None else len(self.levels)

    @property
    def _reading(self) -> tuple[str, Kind, bool, int]:
        """What two columns must have in common if their counts are to be added."""
        return self.name, self.kind, self.edges is None, len(self.parts or ())

    def covers(self, other: Column) -> bool:
        """Whether this column has all levels of the other, and no finer bins."""
        if self._reading != other._reading:
            return False
        if self.parts is not None and other.parts is not None:
            return all(map(Column.covers, self.parts, other.parts))
        if self.tokens != other.tokens:
            return False
        if isinstance(self.levels, Vocabulary) and isinstance(other.levels, Vocabulary):
            return bool((other.levels.places_in(self.levels) >= 0).all())
        if self.edges is not None and other.edges is not None and self.edges != other.edges:
            return set(self.edges) <= set(other.edges)
        return self.levels == other.levels or set(other.levels or ()) <= set(self.levels or ())

    def cells_in(self, larger: Column) -> NDArray[np.intp]:
        """Where each cell goes in those of a column that covers this one."""
        if self.parts is not None and larger.parts is not None:
            cells = np.zeros(1, dtype=np.intp)
            for mine, theirs in zip(self.parts, larger.parts, strict=True):
                cells = (cells[:, None] * theirs.n_cells + mine.cells_in(theirs)).ravel()
            return cells
        if self.edges is not None and larger.edges is not None:
            return np.searchsorted(larger.edges, [-np.inf, *self.edges], side="right")
        return np.zeros(1, dtype=np.intp) if self.levels is None else positions(self.levels, larger.levels or ())

    def unite(self, other: Column) -> Column:
        """Return the column with the levels of both, and the edges that both have."""
        if self._reading != other._reading:
            raise SchemaError(
                f"column {self.name!r} ({self.kind}) meets column {other.name!r} ({other.kind}); "
                "give both tables the same columns in the same order, with the same kinds, counted alike"
            )
        if self.parts is not None and other.parts is not None:
            return replace(self, parts=tuple(map(Column.unite, self.parts, other.parts)))
        if self.tokens != other.tokens:
            raise SchemaError(
                f"the text of column {self.name!r} was tokenised in two ways; count both with the same tokens"
            )
        levels, edges = self.levels, self.edges
        if levels is not None and other.levels is not None and levels != other.levels:
            levels = united(levels, other.levels)
            levels = levels if not self.order else in_given_order(self.declared, levels)
        if edges is not None and other.edges is not None and edges != other.edges:
            edges = tuple(sorted(set(edges) & set(other.edges)))
        declared = self.declared if self.declared == other.declared else united(self.declared, other.declared)
        reading = self.reading
        if reading != other.reading:
            reading = (reading or Reading(self.name)).unite(other.reading or Reading(self.name), self.name)
        return replace(
            self, levels=levels, edges=edges, whole=self.whole and other.whole, declared=declared, reading=reading
        )

    def trimmed(self, used: NDArray[np.bool_]) -> Column:
        """Return the column with the levels that are used and those that were declared; bins stay."""
        if self.levels is None or self.edges is not None or used.all() or not used.any():  # without a value, it stays
            return self
        levels: Sequence[Level]
        if isinstance(self.levels, Vocabulary):
            if self.tokens is not None and self.tokens.is_chosen:
                return self
            levels = self.levels.select(used)
        elif isinstance(self.levels, range):  # numbered from 0, so only the last can go; and hashes are no levels
            if self.tokens is not None:
                return self
            levels = self.levels[: max(int(used.nonzero()[0].max(initial=-1)) + 1, len(self.declared))]
        else:
            stay = set(self.declared)
            levels = tuple(v for v, seen in zip(self.levels, used.tolist(), strict=True) if seen or v in stay)
        return replace(self, levels=levels).restated()

    def restated(self) -> Column:
        """Return the column with a reason that holds for other rows, too."""
        if not self.lasting:
            return self
        if self.levels is None:
            return replace(self, reason=self.lasting)
        if self.tokens is not None:
            return replace(self, reason=f"{self.lasting}, {words(self)}")
        named = [level for level in self.levels if level is not None]
        missing = "; missing is a level" if len(named) < len(self.levels) else ""
        return replace(self, reason=f"{self.lasting}, {plural(len(named), 'level')}{missing}")


@dataclass(frozen=True, slots=True)
class NumberedColumns(Sequence[Column]):
    """The columns ``x0, x1, …`` of an array, made when they are asked for: 100,000 words cost nothing."""

    n_columns: int
    kind: Kind

    def __post_init__(self) -> None:
        if not 0 <= self.n_columns < 2**31:
            raise SchemaError(f"there cannot be {self.n_columns:,} columns")
        if self.kind in ("text", "tags", "pair"):  # which have words or parts
            raise SchemaError(f"the columns of an array cannot be {self.kind}")

    def __len__(self) -> int:
        return self.n_columns

    @overload
    def __getitem__(self, position: int) -> Column: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Column]: ...
    def __getitem__(self, position: int | slice) -> Column | Sequence[Column]:
        if isinstance(position, slice):
            return tuple(self[p] for p in range(self.n_columns)[position])
        return Column(f"x{range(self.n_columns)[position]}", self.kind)


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table and the classes of its target.

    Parameters
    ----------
    columns : sequence of Column
    classes : tuple
        Class labels; the position of a label is its code.
    declared : tuple
        Classes that were declared: they stay when no row has them.

    Examples
    --------
    >>> Schema((Column("wind", "category", ("strong", "weak")),), ("no", "yes"))
    Schema(1 column, 2 classes)
    """

    columns: Sequence[Column]
    classes: tuple[Level, ...]
    declared: tuple[Level, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.columns, NumberedColumns) and len(set(names := self.names)) < len(names):
            repeated = next(name for name in names if names.count(name) > 1)
            raise SchemaError(f"two columns have the name {repeated!r}; rename one")

    def __repr__(self) -> str:
        return f"Schema({plural(len(self.columns), 'column')}, {plural(len(self.classes), 'class')})"

    def __str__(self) -> str:
        return f"{self.described()}\nclasses: {some_of(self.classes)}"

    def described(self) -> str:
        """Return the columns as a table: name, kind and why."""
        shown = [("column", "kind", "why"), *((c.name, c.kind, c.reason) for c in self.columns)]
        # One very long name should not push all others off a narrow terminal.
        wide, narrow = (min(max(len(row[i]) for row in shown), WIDEST) for i in (0, 1))
        return "\n".join(f"{name:{wide}}  {kind:{narrow}}  {why}".rstrip() for name, kind, why in shown)

    def _repr_html_(self) -> str:
        rows = [(c.name, c.kind, c.reason) for c in self.columns]
        title = f"{plural(len(self.columns), 'column')}, {plural(len(self.classes), 'class')}"
        return panel(title, grid(("column", "kind", "why"), rows), f"<p>classes: {escape(some_of(self.classes))}</p>")

    @property
    def is_numbered(self) -> bool:
        """Whether the columns are those of an array, which are made when they are asked for."""
        return isinstance(self.columns, NumberedColumns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def unite(self, other: Schema) -> Schema:
        """Return the schema of the rows of both: all classes and levels, and what of the reasons holds for all."""
        if len(self.columns) != len(other.columns):
            raise SchemaError(
                f"{plural(len(self.columns), 'column')} meet {plural(len(other.columns), 'column')}; "
                "give both tables the same columns in the same order"
            )
        columns = self.columns
        if self.columns != other.columns:
            columns = tuple(mine.unite(theirs) for mine, theirs in zip(self.columns, other.columns, strict=True))
        classes, declared = united(self.classes, other.classes), united(self.declared, other.declared)
        return Schema(columns, tuple(classes), tuple(declared)).restated()

    def restated(self) -> Schema:
        """Return the schema with reasons that hold for other rows, too."""
        if isinstance(self.columns, NumberedColumns):
            return self
        return replace(self, columns=tuple(column.restated() for column in self.columns))

    def check(self) -> None:
        """Refuse a schema that names a class or a level twice, or whose columns contradict themselves."""
        if len(set(self.classes)) < len(self.classes):
            raise SchemaError("it names a class twice")
        if not isinstance(self.columns, NumberedColumns):
            for column in self.columns:
                _check_column(column)

    def covers(self, other: Schema) -> bool:
        """Whether this schema has all columns, levels and classes of the other, in whatever order."""
        if not set(other.classes) <= set(self.classes) or len(self.columns) != len(other.columns):
            return False
        return self.columns == other.columns or all(map(Column.covers, self.columns, other.columns))


def _check_column(column: Column) -> None:
    """Refuse text without words, words without text, levels twice and bins out of order."""
    is_tokenised = column.tokens is not None and (column.kind != "tags" or column.tokens.words == "tags")
    if column.is_text != is_tokenised:
        raise SchemaError(f"column {column.name!r} does not define how its text is tokenised")
    if column.kind in ("numeric", "count") and column.levels is not None:
        raise SchemaError(f"column {column.name!r} has levels, but is {column.kind}")
    if column.tokens is None:
        if isinstance(column.levels, Vocabulary):
            raise SchemaError(f"column {column.name!r} has words, but is no text")
    elif column.tokens.hashed is not None:
        if column.levels != range(1 << column.tokens.hashed):
            raise SchemaError(f"column {column.name!r} has other words than its hash gives")
    elif not isinstance(column.levels, Vocabulary) or not column.levels.is_sound():
        raise SchemaError(f"the words of column {column.name!r} are not in order")
    parts, numbers = column.parts or (), ("numeric", None, None, None)
    fits = len(parts) == (2 if column.kind == "pair" else 0)
    if column.kind == "block":
        fits = len(parts) > 0 and all((p.kind, p.levels, p.edges, p.parts) == numbers for p in parts)
    if not fits or (column.parts is not None and not parts):
        raise SchemaError(f"column {column.name!r} is made of columns that it cannot be made of")
    for part in (column, *parts):
        levels = part.levels
        if not isinstance(levels, range | Vocabulary | None) and len(set(levels)) < len(levels):
            raise SchemaError(f"column {column.name!r} has a level twice")
        edges = np.asarray(() if part.edges is None else part.edges)
        # Whole numbers that no float can hold are objects to NumPy.
        if edges.dtype.kind not in "fiu" or not (np.isfinite(edges).all() and np.all(np.diff(edges) > 0)):
            raise SchemaError(f"the bins of column {column.name!r} are not in order")


def block_of(column: Column, family: str) -> str:
    """The block that a family's columns are counted in: one for all of them, but each text is a document of its own."""
    return f"{family}:{column.name}" if column.is_text else family


def words(column: Column) -> str:
    """How many words a column of text has; tokens, where they are more or less than words."""
    if column.kind == "tags" and not isinstance(column.levels, range):
        return plural(len(column.levels or ()), "tag")
    if isinstance(column.levels, range):
        return f"{plural(len(column.levels), 'hashed number')} for the words"
    whole = column.tokens is None or (column.tokens.ngrams == (1, 1) and column.tokens.characters is None)
    return plural(len(column.levels or ()), "word" if whole else "token")


def amount(weight: float) -> str:
    """Spell out a sum of weights: whole numbers in full, others to six digits."""
    return f"{weight:,.0f}" if float(weight).is_integer() else f"{weight:,.6g}"


def plural(number: int, noun: str) -> str:
    """Spell out a number of things: ``plural(2, "class")`` is ``2 classes``."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if noun.endswith(("s", "ch")) else f"{noun}s"
    return f"{number:,} {noun}"
