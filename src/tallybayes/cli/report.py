"""``tallybayes report``: one page on a model."""

from __future__ import annotations

import argparse
import os
from typing import Any

from tallybayes import report
from tallybayes.cli.drift import compared
from tallybayes.cli.screen import beside, console, evaluation_rows, note, notes, opened, print_json, read_model
from tallybayes.data.streams import is_stream


def run(options: argparse.Namespace) -> None:
    """Write the page and print its warnings."""
    model, _ = read_model(options.model)
    target = options.target or model.provenance.target
    method = "test" if options.test else "auto"
    settings: dict[str, Any] = {"title": options.title, "target": target, "method": method}
    with notes(options):
        if options.against is not None:
            settings["drift"] = compared(options.model, options.against, options)
        by = [name.strip() for name in options.by.split(",")] if options.by else []
        if by:
            settings["by"] = by[0] if len(by) == 1 else by
        if options.data is None:
            made = report.write(model, options.output, **settings)
        else:
            with opened(options.data, options) as file:
                rows, _ = evaluation_rows(file, model, options, report.MOST_ROWS, by)
                made = report.write(model, options.output, rows, **settings)
    with beside(options):
        if options.json:
            print_json(made.as_dict())
            return
        for concern in made.concerns:
            console().print(str(concern))
    size = "" if is_stream(options.output) else f", {os.path.getsize(options.output):,} bytes"
    note(f"written to {options.output}{size}", options)
