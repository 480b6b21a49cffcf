"""What the commands share: printing, progress, and reading models, files and values."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.segment import Segment

import tallybayes.data.progress as data_progress
from tallybayes.cli.wording import in_options, shown
from tallybayes.core.model import Model
from tallybayes.core.schema import Column, Level
from tallybayes.data.files import File, open_file
from tallybayes.data.paths import COMPRESSED
from tallybayes.data.scans import FileSource, Scan
from tallybayes.data.streams import is_stream
from tallybayes.data.tables import TableBatch
from tallybayes.errors import DataError, nearest
from tallybayes.storage import Saved, read_all


class Screen(Console):
    """A console that shows names as they are, and leaves a closed pipe to the command line, where it is no error."""

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
        for part in super().render(renderable, options):
            yield part if part.is_control else Segment(shown(part.text), part.style)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Screen:
    """Where results are printed; rich honours NO_COLOR and detects terminals."""
    return Screen(highlight=False, markup=False, soft_wrap=True)


def print_json(record: Any) -> None:
    """Print a record as JSON; what is infinite or not a number is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        if isinstance(value, (np.generic, np.ndarray)):
            return plain(value.tolist())
        return None if isinstance(value, float) and not np.isfinite(value) else value

    print(json.dumps(plain(record), indent=2, ensure_ascii=False, default=str))


def note(text: str, options: argparse.Namespace) -> None:
    """Print a note, not a result, to the standard error."""
    if not options.quiet:
        print(shown(text), file=sys.stderr)


def beside(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """Results are printed to the standard error where the standard output is the file to write."""
    return redirect_stdout(sys.stderr) if options.output in ("-", "/dev/stdout", "/dev/fd/1") else nullcontext()


@contextmanager
def notes(options: argparse.Namespace) -> Iterator[None]:
    """Print warnings of the library as notes."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        note(f"note: {in_options(str(message), options)}", options)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def progress(
    options: argparse.Namespace, what: str, rows: int | None = None
) -> AbstractContextManager[data_progress.Bar | None]:
    """A progress bar on the standard error, updated with the share that is done; none if it is not a terminal."""
    return nullcontext() if options.quiet else data_progress.shown(what, rows)


@contextmanager
def opened(path: str, options: argparse.Namespace) -> Iterator[File]:
    """The file of a path; the standard input or a pipe is kept in a temporary file, since it is read more than once."""
    if not is_stream(path):
        yield _open(path, options)
        return
    with tempfile.TemporaryDirectory() as directory:
        kept = os.path.join(directory, "standard-input" + Path(path).suffix)
        with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as given, open(kept, "wb") as file:
            shutil.copyfileobj(given, file)
        yield _open(kept, options)


def missing_words(options: argparse.Namespace) -> list[str]:
    """The words for a missing value that were given, one by one or as a list."""
    listed = [word for text in options.missing_values for word in text.split(",")]
    return [*options.missing_value, *(word.strip() for word in listed)]


def _open(path: str, options: argparse.Namespace) -> File:
    given = (getattr(options, name, None) for name in ("encoding", "delimiter", "decimal"))
    return open_file(path, missing_words(options), *given)


def rows_of(file: File) -> int | None:
    """Number of rows where it is known, or can be estimated from the first lines, without reading them all."""
    if file.format == "parquet":
        return int(file.query("SELECT count(*) FROM {scan}")[0][0])
    if file.format == "arrow" or file.paths[0].endswith(COMPRESSED):
        return None
    with open(file.paths[0], "rb") as lines:
        start = lines.read(1 << 20)
    return file.size * start.count(b"\n") // len(start)


def read_model(path: str) -> tuple[Model, Saved | None]:
    """A model, and the estimator that was saved with it."""
    return read_all(path)


def known_source(
    file: File, model: Model, options: argparse.Namespace, report: Callable[[float], None] | None = None
) -> FileSource:
    """Labelled rows of a file for a model: the column of labels is as given, or as in training."""
    target = options.target or model.provenance.target
    if target is None:
        raise DataError("the model has no name for the column of its labels; give it with --target COLUMN")
    return FileSource(file, Scan(target, options.weight, options.unlabelled, report))


def evaluation_rows(
    file: File, model: Model, options: argparse.Namespace, most: int, also: Sequence[str] = ()
) -> tuple[TableBatch, int]:
    """Labelled rows of a file to evaluate a model on, at most so many, sampled by content; and how many there are."""
    source = known_source(file, model, options)
    rows = source.known_rows(model.schema, model.tally.places, most, also)
    if rows.n_rows < source.facts.n_rows:
        note(f"evaluated on {rows.n_rows:,} of the {source.facts.n_rows:,} rows, sampled at random", options)
    return rows, source.facts.n_rows


def value_of(column: Column, text: str) -> Any:
    """A typed value as the column stores it: text, a number, a level, or missing."""
    if text == "":
        return None
    if column.kind in ("text", "tags", "date") or column.is_read_from_text:
        return text
    if column.levels is None:
        try:
            return float(text)
        except ValueError:
            raise DataError(f"column {column.name!r} is numeric, so it cannot be {text!r}") from None
    return next((level for level in column.levels if level is not None and str(level).lower() == text.lower()), text)


def _is_number(label: Level, text: str) -> bool:
    """Whether a label is the number that a text shows, such as 1.0 and "1"."""
    try:
        return not isinstance(label, str) and float(text) == label
    except ValueError:
        return False


def label_of(classes: tuple[Level, ...], text: str) -> Level:
    """The class of that name."""
    for label in (*(c for c in classes if str(c) == text), *(c for c in classes if _is_number(c, text))):
        return label
    raise DataError(f"there is no class {text!r}; {nearest(text, classes)}")
