"""``tallybayes update``, ``unlearn`` and ``merge``: models that have seen more rows, or fewer."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from functools import reduce
from operator import add
from typing import Any

from tallybayes import storage
from tallybayes.cli.screen import (
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
from tallybayes.core.model import Model
from tallybayes.core.tally import Tally
from tallybayes.data.sources import Facts
from tallybayes.errors import UnlearnError
from tallybayes.inspection.receipts import Receipt
from tallybayes.storage import Saved


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    {"update": update, "unlearn": unlearn, "merge": merge}[options.command](options)


def update(options: argparse.Namespace) -> None:
    """Learn more rows."""
    model, saved = read_model(options.model)
    model.provenance.refuse_guesses("learning more rows")
    counted, facts = _counted(model, options)
    changed = model.with_rows(counted, facts.n_rows)
    _write(changed, saved, options.output or options.model, options)
    shown = repr(changed.tally)
    _print({"rows": facts.n_rows, "unlabelled": facts.unlabelled, "tally": shown}, shown, options)


def unlearn(options: argparse.Namespace) -> None:
    """Forget rows, with a receipt."""
    model, saved = read_model(options.model)
    model.provenance.refuse_guesses("unlearning")
    counted, facts = _counted(model, options)
    changed = model.without_rows(counted, facts.n_rows)
    rows = dict(zip(counted.schema.classes, facts.class_rows, strict=True))
    receipt = Receipt.between(model.tally, changed.tally, rows)
    if not changed.tally.class_weight.any():
        raise UnlearnError("nothing would be left of the model; delete the file instead")
    _write(changed, saved, options.output or options.model, options)
    _print(receipt.as_dict(), str(receipt), options)


def merge(options: argparse.Namespace) -> None:
    """Put models together: their tallies add up, and so do their rows."""
    models, saved = zip(*map(read_model, options.models), strict=True)
    for path, times in Counter(map(os.path.realpath, options.models)).items():
        if times > 1:
            note(f"note: {path} is named {times} times, and its rows count as often", options)
    merged: Model = reduce(add, models)
    if models[0].settings.calibration is not None and merged.settings.calibration is None:
        note("note: the calibration was fitted to the rows of one model; it is left out", options)
    _write(merged, saved[0], options.output, options)
    _print({"models": len(models), "tally": repr(merged.tally)}, repr(merged.tally), options)


def _counted(model: Model, options: argparse.Namespace) -> tuple[Tally, Facts]:
    """The rows of a file, counted as the model counts."""
    with (
        notes(options),
        opened(options.data, options) as file,
        progress(options, f"counting {options.data}", rows_of(file)) as report,
    ):
        source = known_source(file, model, options, report)
        return source.count(source.grown(model.schema), model.tally.places, model.settings.families), source.facts


def _write(model: Model, saved: Saved | None, path: str, options: argparse.Namespace) -> None:
    storage.write(model, path, None if saved is None else saved.grown(model))
    note(f"written to {path}", options)


def _print(record: dict[str, Any], text: str, options: argparse.Namespace) -> None:
    if options.json:
        print_json(record)
    else:
        console().print(text)
