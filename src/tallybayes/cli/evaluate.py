"""``tallybayes evaluate``: a model on labelled rows."""

from __future__ import annotations

import argparse

from tallybayes.cli.costs import costs_of
from tallybayes.cli.screen import console, evaluation_rows, label_of, notes, opened, print_json, read_model
from tallybayes.core.evaluation import Evaluation
from tallybayes.errors import SettingError
from tallybayes.inspection.evaluate import evaluated, scored_rows
from tallybayes.inspection.subgroups import Subgroups, subgroups

MOST_ROWS = 1_000_000  # beyond which rows are sampled: their probabilities are held in memory


def run(options: argparse.Namespace) -> None:
    """Predict the labels of rows and compare them with the true ones."""
    model, _ = read_model(options.model)
    if options.costs and options.by:
        raise SettingError("--costs are of all rows: leave out --by")
    costs = costs_of(options.costs, model.schema.classes) if options.costs else None
    with notes(options), opened(options.data, options) as file:
        by = [name.strip() for name in options.by.split(",")] if options.by else []
        rows, n_rows = evaluation_rows(file, model, options, MOST_ROWS, by)
        # More rows than are held in memory, exactly as many as were learned: these are they.
        learned = True if rows.n_rows == MOST_ROWS and n_rows == model.provenance.rows else None
        method = options.method if options.folds is None else options.folds
        evaluation: Evaluation | Subgroups
        if by:
            label = None if options.label is None else label_of(model.schema.classes, options.label)
            evaluation = subgroups(
                scored_rows(model, rows, method, learned=learned), by[0] if len(by) == 1 else by, label
            )
        else:
            evaluation = evaluated(model, rows, method, learned=learned, costs=costs)
    if options.json:
        print_json(evaluation.as_dict())
    else:
        console().print(str(evaluation))
