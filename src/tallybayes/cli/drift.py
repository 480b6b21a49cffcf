"""``tallybayes drift``: how rows differ from those that a model learned."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress

from tallybayes.cli.screen import console, note, notes, opened, print_json, read_model
from tallybayes.data.atomic import replacing
from tallybayes.data.streams import is_stream
from tallybayes.errors import ModelFileError
from tallybayes.inspection.drift import Drift, drift
from tallybayes.inspection.drift_counts import counted
from tallybayes.report.drift_section import drift_page


def run(options: argparse.Namespace) -> int:
    """Compare, print and return 1 where a stability index is larger than allowed."""
    found = compared(options.old, options.new, options, options.unlabelled)
    if options.json:
        print_json(found.as_dict())
    else:
        console().print(str(found))
    if options.output is not None:
        with replacing(options.output) as temporary:
            temporary.write_text(drift_page(found), encoding="utf-8")
        note(f"written to {options.output}", options)
    return int(options.fail_above is not None and found.largest > options.fail_above)


def compared(old: str, new: str, options: argparse.Namespace, unlabelled: bool = False) -> Drift:
    """A model file and another, or data."""
    model, _ = read_model(old)
    if not is_stream(new) and os.path.isfile(new):
        with suppress(ModelFileError):  # otherwise it holds rows
            return drift(model, read_model(new)[0])
    with notes(options), opened(new, options) as file:
        return drift(model, counted(model, file, False if unlabelled else None))
