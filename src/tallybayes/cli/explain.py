"""``tallybayes explain``: the evidence for one prediction, as a chart or as a calculation by hand."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table as Grid
from rich.text import Text

from tallybayes.cli.drawing import waterfall
from tallybayes.cli.screen import Screen, console, label_of, notes, opened, print_json, read_model, value_of
from tallybayes.core.model import Model
from tallybayes.data.frames import Table, read_table
from tallybayes.data.known import as_learned, with_retyping
from tallybayes.data.tables import TableBatch
from tallybayes.errors import DataError, nearest
from tallybayes.inspection.explain import FAINT, LEGEND, Step, explain, steps

NARROWEST = 24  # characters to which the names of a calculation are folded


def run(options: argparse.Namespace) -> None:
    """Explain a row of a file, or one that was typed."""
    model, _ = read_model(options.model)
    options.missing_value, options.missing_values = [], []
    with notes(options):
        table = _typed(model, options.what) if "=" in options.what[0] else _row(model, options)
    places = model.tally.places
    row = TableBatch(model.schema, table, places)
    values = row.table.row(0)
    against = None if options.against is None else label_of(model.schema.classes, options.against)
    with notes(options):
        found = explain(model, row, values, against, options.interval)
        worked = steps(model, row, values) if options.work else ()
    if options.json:
        calculation = [{"what": s.what, "factors": s.factors, "logs": s.logs} for s in worked]
        print_json(found.as_dict() | ({"work": calculation} if worked else {}))
        return
    if options.work:
        _by_hand(model, worked, found.posterior, console())
    if options.plot:
        waterfall(found, console())
    elif not options.work:
        screen = console()
        _chart(found.in_width(screen.width if screen.is_terminal else None), screen)
        for words in (evidence.words for evidence in found.evidence if evidence.words is not None):
            _marked(words.pieces, console())


def _typed(model: Model, texts: Sequence[str]) -> Table:
    known = {column.name: column for column in model.schema.columns if not column.is_derived}
    row: dict[str, Any] = dict.fromkeys(known)
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise DataError(f"expected COLUMN=VALUE, got {text!r}")
        if name.strip() not in known:
            raise DataError(f"there is no column {name.strip()!r}; {nearest(name.strip(), known)}")
        row[name.strip()] = value_of(known[name.strip()], value.strip())
    return read_table([row])


def _row(model: Model, options: argparse.Namespace) -> Table:
    if len(options.what) > 1 or options.row is None or options.row < 1:
        raise DataError("explain takes the values of a row (COLUMN=VALUE …), or a file and --row N, counted from 1")
    with opened(options.what[0], options) as file:
        rows = with_retyping(file, lambda file: as_learned(file, model.schema).first(options.row))
    if rows.n_rows < options.row:
        raise DataError(f"{options.what[0]} has {rows.n_rows:,} rows, so there is no row {options.row:,}")
    import numpy as np

    return rows.take(np.array([options.row - 1]))


def _chart(text: str, screen: Screen) -> None:
    """The bars of an explanation: evidence for the class in green, against it in red."""
    for line in text.splitlines():
        screen.print(line, style="green" if line.endswith("█") else "red" if line.endswith("░") else None)


def _marked(pieces: Sequence[tuple[str, float]], screen: Screen) -> None:
    """The text itself, its words in the same colours, the strongest in bold."""
    largest = max((abs(amount) for _, amount in pieces), default=0.0)
    if not largest or not screen.is_terminal:  # without colours it would only repeat the text
        return
    shown = Text()
    for piece, amount in pieces:
        style = f"{'bold ' if 2 * abs(amount) > largest else ''}{'green' if amount > 0 else 'red'}"
        shown.append(piece, style if abs(amount) > FAINT * largest else None)
    screen.print()
    screen.print(shown)


def _by_hand(model: Model, worked: Sequence[Step], posterior: dict[Any, float], screen: Screen) -> None:
    classes = [str(label) for label in model.schema.classes]
    grid = Grid("factor", *classes, box=box.SIMPLE_HEAD)
    for column in grid.columns[1:]:
        column.no_wrap = True
    for i, step in enumerate(worked):
        grid.add_row(("" if i == 0 else "× ") + step.what, *step.factors)
    grid.add_section()
    for i, step in enumerate(worked):
        grid.add_row(
            ("log " if i == 0 else "+ log ") + step.what.replace(" × c(", " + log c("),
            *(f"{log:.4f}" for log in step.logs),
        )
    grid.add_section()
    joint = [
        math.fsum(logs) if -math.inf not in logs else -math.inf for logs in zip(*(s.logs for s in worked), strict=True)
    ]
    top = max(joint)
    shifted = [math.exp(log - top) if top > -math.inf else 0.0 for log in joint]
    total = math.fsum(shifted)
    grid.add_row("= log P(row, class)", *(f"{log:.4f}" for log in joint))
    grid.add_row("exp(log − largest)", *(f"{value:.4g}" for value in shifted))
    if total:
        grid.add_row(f"÷ their sum {total:.4g}", *(f"{value / total:.4f}" for value in shifted))
    if model.settings.calibration is not None or not total:
        how = "calibrated" if total else "no class allows the row: prior"
        grid.add_row(how, *(f"{p:.4f}" for p in posterior.values()))
    screen.soft_wrap = False
    whole = screen.measure(grid, options=screen.options.update(max_width=100_000)).maximum
    names = max(len(step.what) + len("+ log ") for step in worked)
    # Names are folded where there is little room, but a wrapped line is better than a truncated number.
    screen.width = max(screen.width, whole - max(names - NARROWEST, 0))
    screen.print(grid)
    used = set().union(*(step.letters for step in worked))
    for letter, meaning in LEGEND.items():
        if letter in used:
            screen.print(f"  {meaning}", style="dim")
    best = max(posterior, key=lambda label: posterior[label])
    screen.print(f"  prediction: {best} with probability {posterior[best]:.4f}")
