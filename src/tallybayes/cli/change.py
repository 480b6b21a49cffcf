"""``tallybayes update``, ``unlearn`` and ``merge``: models that have seen more rows, or fewer."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from tallybayes import storage
from tallybayes.cli.screen import console, note, notes, opened, print_json, progress, read_model, rows_of, target_of
from tallybayes.core.equality import same_value
from tallybayes.core.model import Model
from tallybayes.data.file_sources import Learned, count_file
from tallybayes.errors import SchemaError, UnlearnError
from tallybayes.inspection.receipts import Receipt
from tallybayes.storage import Saved

APART = (
    "; models that were trained apart choose families and pairs of their own: train both with --classical, or count "
    "the second table into the first model with update"
)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    {"update": update, "unlearn": unlearn, "merge": merge}[options.command](options)


def update(options: argparse.Namespace) -> None:
    """Learn more rows."""
    model, saved = read_model(options.model)
    learned = _counted(model, saved, options)
    tally = model.tally + learned.tally
    changed = replace(model, tally=tally)
    _write(changed, saved, options.output or options.model, options)
    _tell({"rows": sum(learned.n_rows), "unlabelled": learned.unlabelled, "tally": repr(tally)}, repr(tally), options)


def unlearn(options: argparse.Namespace) -> None:
    """Forget rows, with a receipt."""
    model, saved = read_model(options.model)
    learned = _counted(model, saved, options)
    after = replace(model, tally=model.tally - learned.tally).trimmed().tally
    receipt = Receipt.between(model.tally, after, dict(zip(learned.tally.schema.classes, learned.n_rows, strict=True)))
    if not after.class_weight.any():
        raise UnlearnError("nothing would be left of the model; delete the file instead")
    _write(replace(model, tally=after), saved, options.output or options.model, options)
    _tell(receipt.as_dict(), str(receipt), options)


def merge(options: argparse.Namespace) -> None:
    """Put models together: the tallies add, the settings are those of the first."""
    models, saved = zip(*map(read_model, options.models), strict=True)
    for path, times in Counter(map(os.path.realpath, options.models)).items():
        if times > 1:
            note(f"note: {path} is named {times} times, and its rows count as often", options)
    for path, other in zip(options.models[1:], models[1:], strict=True):
        if other.settings != models[0].settings:
            note(f"note: {path} has other settings than {options.models[0]}, whose settings are kept", options)
        if missing := set(models[0].schema.names) ^ set(other.schema.names):
            pairs = {c.name for model in (models[0], other) for c in model.schema.columns if c.kind == "pair"}
            told = f"{path} and {options.models[0]} differ in the column {min(missing)!r}"
            raise SchemaError(told + (APART if missing <= pairs else "; only models of the same columns can be merged"))
        if not same_value(other.tally.places, models[0].tally.places):
            raise SchemaError(f"{path} and {options.models[0]} read their columns differently{APART}")
    tally = reduce(add, (model.tally for model in models))
    settings = models[0].settings
    if settings.calibration is not None and len(models) > 1:
        note("note: the calibration was fitted to the rows of one model; it is left out", options)
        settings = replace(settings, calibration=None)
    _write(Model(settings, tally), saved[0], options.output, options)
    _tell({"models": len(models), "tally": repr(tally)}, repr(tally), options)


def _counted(model: Model, saved: Saved | None, options: argparse.Namespace) -> Learned:
    target = target_of(saved, options)
    places = model.tally.places
    with (
        notes(options),
        opened(options.data, options) as file,
        progress(options, f"counting {options.data}", rows_of(file)) as report,
    ):
        return count_file(
            file,
            target,
            model.schema,
            places,
            model.settings.families,
            weight=options.weight,
            unlabelled=options.unlabelled,
            progress=report,
        )


def _write(model: Model, saved: Saved | None, path: str, options: argparse.Namespace) -> None:
    storage.write(model, path, None if saved is None else saved.grown(model))
    note(f"written to {path}", options)


def _tell(record: dict[str, Any], text: str, options: argparse.Namespace) -> None:
    if options.json:
        print_json(record)
    else:
        console().print(text)
