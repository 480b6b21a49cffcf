"""``tallybayes predict``: predictions for a file."""

from __future__ import annotations

import argparse
from typing import Any

from tallybayes.cli.codes import reason_codes
from tallybayes.cli.costs import costs_of
from tallybayes.cli.screen import label_of, note, notes, opened, progress, read_model, rows_of
from tallybayes.core.schema import plural
from tallybayes.errors import SettingError
from tallybayes.inspection.predictions import PredictionColumns, predict_file


def run(options: argparse.Namespace) -> None:
    """Stream the rows through the model."""
    model, _ = read_model(options.model)
    output = PredictionColumns(
        not options.only,
        top=options.top,
        reasons=options.explain,
        coverage=options.coverage,
        codes=reason_codes(model, options),
        costs=costs_of(options.costs, model.schema.classes) if options.costs else None,
        **_thresholds(model, options.threshold),
    )
    with notes(options), opened(options.data, options) as file:
        total = rows_of(file)
        with progress(options, f"predicting {options.data}", total) as report:
            update = None if report is None else lambda done: report(done / total if total else 0.0)
            chosen: dict[str, Any] = {"format": options.format, "safe_csv": options.safe_csv, "progress": update}
            n_rows = predict_file(model, file, options.output, output, **chosen)
    if options.output != "-":
        note(f"{plural(n_rows, 'prediction')} written to {options.output}", options)


def _thresholds(model: Any, texts: list[str]) -> dict[str, Any]:
    """P, or LABEL=P."""
    found: dict[str, Any] = {"threshold": 0.0, "least": {}}
    for text in texts:
        label, equals, p = text.rpartition("=")
        try:
            value = float(p)
        except ValueError:
            raise SettingError(f"--threshold must be a probability or LABEL=probability, not {text!r}") from None
        if equals:
            found["least"][label_of(model.schema.classes, label)] = value
        else:
            found["threshold"] = value
    return found
