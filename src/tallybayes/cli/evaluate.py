"""``tallybayes evaluate``: a model on labelled rows."""

from __future__ import annotations

import argparse

from tallybayes.cli.screen import console, evaluation_rows, notes, opened, print_json, read_model
from tallybayes.inspection.evaluate import evaluated

MOST_ROWS = 1_000_000  # beyond which rows are sampled: their probabilities are held in memory


def run(options: argparse.Namespace) -> None:
    """Predict the labels of rows and compare them with the true ones."""
    model, _ = read_model(options.model)
    with notes(options), opened(options.data, options) as file:
        rows, n_rows = evaluation_rows(file, model, options, MOST_ROWS)
        # More rows than are held in memory, exactly as many as were learned: these are they.
        learned = True if rows.n_rows == MOST_ROWS and n_rows == model.provenance.rows else None
        evaluation = evaluated(model, rows, options.folds or options.method, learned=learned)
    if options.json:
        print_json(evaluation.as_dict())
    else:
        console().print(str(evaluation))
