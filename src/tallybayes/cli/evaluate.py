"""``tallybayes evaluate``: a model on labelled rows."""

from __future__ import annotations

import argparse

from tallybayes.cli.screen import console, note, notes, opened, print_json, read_model, target_of
from tallybayes.errors import DataError
from tallybayes.evaluate import score
from tallybayes.files import labelled_rows

MOST_ROWS = 1_000_000  # beyond which rows are drawn: their probabilities are held in memory


def run(options: argparse.Namespace) -> None:
    """Predict the labels of rows and hold them against the true ones."""
    model, saved = read_model(options.model)
    target = target_of(saved, options)
    with notes(options), opened(options.data, options) as file:
        rows, n_rows, n_unlabelled = labelled_rows(file, model.schema, model.tally, target, options.weight, MOST_ROWS)
        if n_unlabelled and options.unlabelled == "error":
            raise DataError(
                f"{n_unlabelled:,} rows of {file.name} have no label; leave them out, or use --unlabelled ignore"
            )
        assert rows.labels is not None
        assert rows.labels.codes is not None
        log_posterior = model.log_posterior(rows)
    judged = score(log_posterior, rows.labels.codes, model.schema.classes, rows.labels.weight)
    if judged.n_rows < n_rows - n_unlabelled:
        note(f"judged on {judged.n_rows:,} of the {n_rows:,} rows, drawn at random", options)
    if options.json:
        print_json(judged.as_dict())
    else:
        console().print(str(judged))
