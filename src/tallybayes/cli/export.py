"""``tallybayes sql`` and ``tallybayes export``: a model in another language."""

from __future__ import annotations

import argparse

from tallybayes import export
from tallybayes.cli.codes import reason_codes
from tallybayes.cli.screen import note, read_model
from tallybayes.core.model import Model
from tallybayes.core.schema import plural
from tallybayes.data.atomic import replacing
from tallybayes.errors import SettingError


def run(options: argparse.Namespace) -> None:
    """Write the query, the function, the record or the graph."""
    model, _ = read_model(options.model)
    if options.command == "export" and options.to == "onnx":
        if options.output == "-":
            raise SettingError("an ONNX graph is binary: give a file with -o")
        made = export.to_onnx(model, options.missing_text).SerializeToString()
    else:
        made = _text(model, options).encode()
    with replacing(options.output) as temporary:
        temporary.write_bytes(made)
    if options.output != "-":
        note(f"{plural(len(made), 'byte')} written to {options.output}", options)


def _text(model: Model, options: argparse.Namespace) -> str:
    codes = reason_codes(model, options)
    if options.command == "sql":
        if options.contributions and codes is None:
            raise SettingError("--contributions are those of reason codes: say how many with --reasons N")
        chosen = (options.table, options.dialect, not options.no_proba, options.keep or None, options.coverage)
        return export.to_sql(model, *chosen, codes, options.contributions)
    if options.to == "json":
        return f"{export.to_json(model, 1, codes)}\n"
    return export.to_python(model, reasons=codes)
