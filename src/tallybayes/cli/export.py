"""``tallybayes sql`` and ``tallybayes export``: a model in another language."""

from __future__ import annotations

import argparse
import sys

from tallybayes import export
from tallybayes.atomic import replacing
from tallybayes.cli.screen import note, read_model
from tallybayes.schema import plural


def run(options: argparse.Namespace) -> None:
    """Write the query, the function or the record."""
    model, _ = read_model(options.model)
    if options.command == "sql":
        text = export.to_sql(model, options.table, options.dialect, not options.no_proba, options.keep or None)
    elif options.to == "json":
        text = f"{export.to_json(model, indent=1)}\n"
    else:
        text = export.to_python(model)
    if options.output == "-":
        sys.stdout.write(text)
        return
    with replacing(options.output) as temporary:
        size = temporary.write_bytes(text.encode())
    note(f"{plural(size, 'byte')} written to {options.output}", options)
