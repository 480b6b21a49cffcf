"""``tallybayes update``, ``unlearn``, ``merge`` and ``blank``: models that have seen more rows, or fewer."""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import add
from typing import Any

from tallybayes import storage
from tallybayes.cli.screen import (
    beside,
    console,
    known_source,
    note,
    notes,
    opened,
    print_json,
    progress,
    read_model,
    rows_of,
)
from tallybayes.core.merging import new_classes
from tallybayes.core.model import Model
from tallybayes.core.tally import Tally
from tallybayes.data.files import File
from tallybayes.data.sources import Facts
from tallybayes.errors import DataError, LabelWarning, UnlearnError
from tallybayes.inspection.receipts import Receipt
from tallybayes.storage import Saved
from tallybayes.storage.lock import locked


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    {"update": update, "unlearn": unlearn, "merge": merge, "blank": blank}[options.command](options)


def update(options: argparse.Namespace) -> None:
    """Learn more rows."""
    with _changing(options) as (model, saved, file):
        model.provenance.refuse_guesses("learning more rows")
        counted, facts = _counted(model, file, options)
        _tell_of_new(model, counted, options)
        with warnings.catch_warnings():  # they are noted above
            warnings.simplefilter("ignore", LabelWarning)
            changed = model.with_rows(counted, facts.n_rows)
        _write(changed, saved, options.output or options.model, options)
    shown = repr(changed.tally)
    _print({"rows": facts.n_rows, "unlabelled": facts.unlabelled, "tally": shown}, shown, options)


def _tell_of_new(model: Model, counted: Tally, options: argparse.Namespace) -> None:
    """Note classes that the model does not know, or refuse them."""
    for sentence in new_classes(model.schema.classes, counted.schema.classes):
        if options.strict:
            raise DataError(f"{sentence}{'' if sentence.endswith('?') else ';'} nothing was learned (--strict)")
        note(f"note: {sentence}{'' if sentence.endswith('?') else ';'} it is learned as a class of its own", options)


def unlearn(options: argparse.Namespace) -> None:
    """Forget rows, with a receipt."""
    with _changing(options) as (model, saved, file):
        model.provenance.refuse_guesses("unlearning")
        counted, facts = _counted(model, file, options)
        changed = model.without_rows(counted, facts.n_rows)
        rows = dict(zip(counted.schema.classes, facts.class_rows, strict=True))
        receipt = Receipt.between(model.tally, changed.tally, rows)
        if not changed.tally.class_weight.any():
            raise UnlearnError("nothing would be left of the model; delete the file instead")
        _write(changed, saved, options.output or options.model, options)
    _print(receipt.as_dict(), str(receipt), options)


def merge(options: argparse.Namespace) -> None:
    """Put models together: their tallies add up, and so do their rows."""
    with locked(options.output, options.wait):  # it may be one of them
        models, saved = zip(*map(read_model, options.models), strict=True)
        merged = _merged(models, options)
        _write(merged, saved[0], options.output, options)
    if models[0].settings.calibration is not None and merged.settings.calibration is None:
        note("note: the calibration was fitted to the rows of one model; it is left out", options)
    _print({"models": len(models), "tally": repr(merged.tally)}, repr(merged.tally), options)


def _merged(models: Sequence[Model], options: argparse.Namespace) -> Model:
    if options.base is not None:
        base, _ = read_model(options.base)
        return reduce(add, (model.since(base) for model in models), base)
    for state, times in Counter(model.lineage.states[-1:] for model in models).items():
        if state and times > 1:
            named = [
                path for path, model in zip(options.models, models, strict=True) if model.lineage.states[-1:] == state
            ]
            note(
                f"note: {' and '.join(dict.fromkeys(named))} is named {times} times, and its rows count as often",
                options,
            )
    return reduce(add, models)


def blank(options: argparse.Namespace) -> None:
    """Write a copy that has learned nothing: rows counted with it can be merged with those of the model."""
    model, saved = read_model(options.model)
    _write(model.blank(), saved, options.output, options)


@contextmanager
def _changing(options: argparse.Namespace) -> Iterator[tuple[Model, Saved | None, File]]:
    """A model and the file of rows, while nobody else changes the model that is to be written."""
    with opened(options.data, options) as file, locked(options.output or options.model, options.wait):
        yield *read_model(options.model), file


def _counted(model: Model, file: File, options: argparse.Namespace) -> tuple[Tally, Facts]:
    """The rows of a file, counted as the model counts."""
    with notes(options), progress(options, f"counting {options.data}", rows_of(file)) as report:
        source = known_source(file, model, options, report)
        return source.count(source.grown(model.schema), model.tally.places, model.settings.families), source.facts


def _write(model: Model, saved: Saved | None, path: str, options: argparse.Namespace) -> None:
    storage.write(model, path, None if saved is None else saved.grown(model))
    note(f"written to {path}", options)


def _print(record: dict[str, Any], text: str, options: argparse.Namespace) -> None:
    with beside(options):
        if options.json:
            print_json(record)
        else:
            console().print(text)
