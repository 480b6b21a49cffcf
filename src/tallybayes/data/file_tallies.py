"""Learning from files and lazy tables: counted where they are, streamed through the families where that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tallybayes.core.schema import Column, Schema, in_order
from tallybayes.core.tally import Tally
from tallybayes.data.columns import Overrides, inferred
from tallybayes.data.engines import Lazy, is_lazy, survey_lazy
from tallybayes.data.files import LOOK, File, Progress, is_file, known_column, open_file
from tallybayes.data.inference import infer, kind_for
from tallybayes.data.known import as_learned, check_columns, settled
from tallybayes.data.pushdown import survey
from tallybayes.data.streaming import labelled, streamed, with_chosen_words
from tallybayes.data.survey import Mode, Survey, can_push, profiles, pushed
from tallybayes.data.tables import Table, TableBatch, profile
from tallybayes.errors import DataError, SettingError
from tallybayes.families import Family, family_of

SAMPLE = 50_000  # rows that are drawn where something is chosen or judged by looking at rows

Families = Callable[[Schema], Mapping[str, Family]]  # the families that are to count columns of such a schema


@dataclass(frozen=True)
class Learned:
    """What was learned of a file."""

    tally: Tally
    places: Mapping[str, Sequence[int]]  # block → positions of its columns
    file: File | Lazy
    target: str
    weight: str | None  # the column of row weights
    n_rows: tuple[int, ...]  # rows of each class
    unlabelled: int  # rows without a label, left out

    def sample(self, rows: int = SAMPLE) -> TableBatch:
        """Some of the rows, drawn at random: all of them if there are no more."""
        schema = self.tally.schema
        columns = [c.name for c in schema.columns if c.kind != "ignored" and c.name in self.file.types]
        extra = [self.target] if self.weight is None else [self.target, self.weight]
        table = self.file.sample(rows, [*dict.fromkeys([*columns, *extra])], present=self.target)
        return labelled(table, schema, self.places, self.target, self.weight)


def is_source(data: Any) -> bool:
    """Whether the rows are in files or in an engine, and are counted there."""
    return is_file(data) or is_lazy(data)


def open_source(data: Any) -> File | Lazy:
    """The files or the table, ready to be asked."""
    return open_file(data) if is_file(data) else Lazy.of(data)


def learn_file(
    data: Any,
    target: str | None,
    told: Overrides,
    families: Families | None = None,
    *,
    weight: str | None = None,
    unlabelled: str = "error",
    progress: Progress | None = None,
) -> Learned:
    """Infer what the columns of a file are, and tally its rows."""
    check_unlabelled(unlabelled)
    file, seen, texts = settled(
        open_source(data), lambda file: _looked(file, target, told, weight, unlabelled, progress)
    )
    told_so = replace(told, kind={**told.kind, **dict.fromkeys(texts, "text")})
    columns = inferred(Table(profiles(file, seen), seen.n_rows), told_so, whole=True)  # type: ignore[arg-type]
    why = {name: reason for name, reason in texts.items() if name not in told.kind}
    columns = tuple(replace(c, reason=why[c.name], lasting="text") if c.name in why else c for c in columns)
    schema = Schema(columns, seen.classes)
    schema = with_chosen_words(file, schema, _target(file, target))
    places = told.places(schema)
    usual = {block: family_of(block)() for block in places}
    chosen = families(schema) if families is not None else usual
    return _learned(file, seen, schema, places, chosen, _target(file, target), weight, progress)


def _looked(
    file: File | Lazy,
    target: str | None,
    told: Overrides,
    weight: str | None,
    unlabelled: str,
    progress: Progress | None,
) -> tuple[File | Lazy, Survey, dict[str, str]]:
    """What was seen of the rows, and which columns are text, with the reason."""
    label, extra = _target(file, target), None if weight is None else known_column(file, weight, "weights")
    names = [name for name in file.names if name not in (label, extra)]
    told.check(names)
    modes = {name: _mode(file, name, told) for name in names}
    words = [name for name, mode in modes.items() if mode == "levels"]
    texts = {name: "as told" for name in words if told.kind.get(name) == "text"}
    unsure = [name for name in words if name not in {*told.kind, *told.family} and file.storage(name) == "text"]
    counted = [name for name, mode in modes.items() if mode != "nothing" and name not in texts]
    # A file is parsed once for all that is looked at in its first rows; an engine is asked for what it must tell.
    asked = unsure if isinstance(file, Lazy) else [label, *counted]
    opening = file.first(LOOK, asked) if asked else Table({}, 0)
    texts |= _sentences(opening, unsure)
    modes |= dict.fromkeys(texts, "nothing")
    if isinstance(file, Lazy):
        return file, survey_lazy(file, label, modes, unlabelled), texts
    return file, survey(file, label, modes, unlabelled, progress, opening), texts


def _sentences(opening: Table, names: Sequence[str]) -> dict[str, str]:
    """Columns that the first rows show to be text, with the reason."""
    columns = [infer(profile(name, opening.columns[name])) for name in names]
    # Not how many of the first rows are different: there are others.
    return {column.name: column.reason.split(",")[0] for column in columns if column.kind == "text"}


def count_file(
    data: Any,
    target: str | None,
    known: Schema,
    places: Mapping[str, Sequence[int]],
    families: Mapping[str, Family],
    *,
    weight: str | None = None,
    unlabelled: str = "error",
    progress: Progress | None = None,
) -> Learned:
    """Tally the rows of a file whose columns are known; new levels and classes are found."""
    check_unlabelled(unlabelled)
    check_columns(open_file(data), known, {target, weight})

    def looked(file: File) -> tuple[File, Survey]:
        file = as_learned(file, known, _target(file, target))
        evidence = [c for c in known.columns if c.kind != "ignored" and c.name in file.types]
        modes: dict[str, Mode] = {c.name: "numbers" if c.levels is None else "levels" for c in evidence}
        modes |= {c.name: "nothing" for c in evidence if c.kind == "text"}
        return file, survey(file, _target(file, target), modes, unlabelled, progress)

    file, seen = settled(open_file(data), looked)
    schema = Schema(tuple(_with_levels(column, seen) for column in known.columns), seen.classes)
    return _learned(file, seen, schema, places, families, _target(file, target), weight, progress)


def recounted(
    learned: Learned,
    schema: Schema,
    places: Mapping[str, Sequence[int]],
    families: Mapping[str, Family],
    progress: Progress | None = None,
) -> Learned:
    """The same rows, read in another way."""
    n_rows = sum(learned.n_rows) + learned.unlabelled
    tally = streamed(learned.file, schema, places, families, learned.target, learned.weight, n_rows, progress)
    return replace(learned, tally=tally, places=places)


def _learned(
    file: File | Lazy,
    seen: Survey,
    schema: Schema,
    places: Mapping[str, Sequence[int]],
    families: Mapping[str, Family],
    target: str,
    weight: str | None,
    progress: Progress | None,
) -> Learned:
    """The tally: put in order what was seen, or count again where no query can."""
    if weight is None and can_push(schema, places, families):
        tally = pushed(seen, schema, places, families)
    else:
        n_rows = seen.n_rows + seen.unlabelled
        tally = streamed(file, schema, places, families, target, weight, n_rows, progress)
    rows = tuple(int(n) for n in seen.class_weight)
    return Learned(tally, places, file, target, weight, rows, seen.unlabelled)


def _mode(file: File | Lazy, name: str, told: Overrides) -> Mode:
    storage = file.storage(name)
    chosen = kind_for(told.family[name], storage) if name in told.family else None
    kind = told.kind.get(name, chosen)
    if kind == "text" and storage not in ("text", "empty"):
        raise DataError(f"column {name!r} of {file.name} holds {storage}, not text")
    if name in told.drop or kind == "ignored" or storage in ("other", "date", "empty"):
        return "nothing"
    if kind in ("category", "boolean"):
        return "levels"
    if kind in ("numeric", "count") and storage == "boolean":
        return "numbers"
    return "numbers" if storage in ("number", "integer") else "levels"


def _with_levels(column: Column, seen: Survey) -> Column:
    """A known column with the levels that these rows have, and no others: tallies unite them by name."""
    if column.parts is not None:
        return replace(column, parts=(_with_levels(column.parts[0], seen), _with_levels(column.parts[1], seen)))
    if column.levels is None or column.kind in ("ignored", "text") or column.name not in seen.columns:
        return column
    known = set(column.levels)
    new = [level for level in seen.columns[column.name].counts if level not in known]
    if not new:
        return column
    levels = in_order([*(level for level in column.levels if level is not None), *new])
    return replace(column, levels=(*levels, None) if None in known else levels)


def _target(file: File | Lazy, target: str | None) -> str:
    if target is None:
        raise DataError(f"a tally of {file.name} needs the column of class labels: target=…")
    return known_column(file, target, "target")


def check_unlabelled(unlabelled: str) -> None:
    if unlabelled not in ("error", "ignore"):
        raise SettingError(f"unlabelled must be 'error' or 'ignore', not {unlabelled!r}")
