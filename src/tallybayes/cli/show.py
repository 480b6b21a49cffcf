"""``tallybayes show``: the content of a model file."""

from __future__ import annotations

import argparse
import os
import textwrap
from typing import Any

import numpy as np

from tallybayes.cli.overview import WIDEST, print_columns, print_warnings
from tallybayes.cli.screen import Screen, console, print_json, read_model
from tallybayes.cli.wording import in_options
from tallybayes.core.model import Model
from tallybayes.core.schema import WIDEST as WIDEST_NAME
from tallybayes.core.schema import NumberedColumns, amount, plural
from tallybayes.inspection.overview import overview
from tallybayes.inspection.summary import in_words, settings_of

NARROW = 40  # characters beside names and kinds in which a reason can be read
MOST = 40  # columns and classes that are listed


def run(options: argparse.Namespace) -> None:
    """Print schema, class table, settings and size."""
    model, saved = read_model(options.model)
    size, target = os.path.getsize(options.model), model.provenance.target
    estimator = saved.estimator if saved is not None else None
    if options.json:
        print_json(_record(model, size, target, estimator))
        return
    screen = console()
    screen.print(f"{options.model}: {estimator or 'Model'}, {plural(size, 'byte')}", end="\n\n")
    if not model.schema.is_numbered:
        _print_overview(model, screen)
    _print_schema(model, screen, options)
    screen.print(f"{f'class ({target})' if target else 'class':20} {'rows':>14} {'prior':>8}")
    prior = np.exp(model.log_prior)
    for label, weight, p in list(zip(model.schema.classes, model.tally.class_weight, prior, strict=True))[:MOST]:
        screen.print(f"{label!s:20} {amount(weight):>14} {p:8.4f}")
    screen.print()
    settings = settings_of(model)
    wide = max(map(len, settings))
    for name, setting in settings.items():
        _print_wrapped(f"{name:{wide}}  ", setting, screen)
    evaluation, chosen = model.provenance.evaluation, model.provenance.options
    if evaluation is not None:
        screen.print("", *evaluation.lines(model.provenance.rows), sep="\n")
    if options.verbose and evaluation is not None:
        screen.print("", str(evaluation), sep="\n")
    if options.verbose and chosen is not None:
        screen.print("", "options other than the defaults", sep="\n")
        screen.print("\n".join(f"{name:20} {in_words(value)}" for name, value in chosen.items()) or "none")


def _print_overview(model: Model, screen: Screen) -> None:
    """The verdict, the warnings and the columns by importance."""
    found = overview(model)
    if found.verdict is not None:
        screen.print("\n".join(textwrap.wrap(found.verdict.text, min(screen.width, WIDEST))))
    print_warnings(found.warnings, screen)
    screen.print()
    print_columns(found.columns, screen, MOST)
    screen.print()


def _print_wrapped(head: str, text: str, screen: Screen) -> None:
    """Print a line; on a terminal what does not fit goes on below its beginning."""
    width = screen.width if screen.is_terminal else 10_000
    lines = textwrap.wrap(text, max(width - len(head), 30), break_long_words=False) or [""]
    screen.print(head + f"\n{' ' * len(head)}".join(lines))


def _print_schema(model: Model, screen: Screen, options: argparse.Namespace) -> None:
    """Print what each column is; where a reason does not fit beside the name, it stands below it."""
    columns = model.schema.columns
    if isinstance(columns, NumberedColumns):
        screen.print(f"{plural(len(columns), 'column')} of kind {columns.kind}, without names", end="\n\n")
        return
    lines = in_options(model.schema.described(), options).splitlines()
    width = screen.width if screen.is_terminal else 10_000
    where = lines[0].index("why")
    for line, column in zip(lines[: MOST + 1], (None, *columns), strict=False):
        at = where if column is None else where + max(len(column.name) - WIDEST_NAME, 0)
        head, why = line[:at], line[at:]
        if len(line) <= width or not why.strip():
            screen.print(line)
        elif width - at >= NARROW:
            _print_wrapped(head, why, screen)
        else:
            screen.print(head.rstrip())
            _print_wrapped("    ", why, screen)
    screen.print(f"… {len(lines) - 1 - MOST} more\n" if len(lines) > MOST + 1 else "")


def _record(model: Model, size: int, target: Any, estimator: str | None) -> dict[str, Any]:
    columns = [] if isinstance(model.schema.columns, NumberedColumns) else model.schema.columns
    prior = np.exp(model.log_prior).tolist()
    return {
        "estimator": estimator,
        "target": target,
        "bytes": size,
        "n_columns": len(model.schema.columns),
        "columns": [
            {"name": c.name, "kind": c.kind, "n_levels": None if c.levels is None else len(c.levels), "why": c.reason}
            for c in columns
        ],
        "classes": [
            {"class": label, "rows": weight, "prior": p}
            for label, weight, p in zip(model.schema.classes, model.tally.class_weight.tolist(), prior, strict=True)
        ],
        "settings": settings_of(model),
        **({} if model.schema.is_numbered else overview(model).as_dict()),
        "rows": model.provenance.rows,
        "options": model.provenance.options,
        "evaluation": None if model.provenance.evaluation is None else model.provenance.evaluation.as_dict(),
    }
